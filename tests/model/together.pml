/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * together.pml - successive long copies shared with the owner's threads (nal_together.c)
 *
 * The mover announces jobs in one place, one after the other, with different fields and numbers of chunks; the owner's
 * threads look at it at any time, and may stand still anywhere. The word holds generation and next chunk: here two bytes
 * that change in one step. The fields are a value that must be that of the job, and the number of chunks; they are
 * written and read one by one. The owner may die behind any step (the mover sees that).
 *
 * Checked: a chunk is copied with the fields of its own job, while that lasts; by one side only, unless the owner died; when
 * the mover leaves a job, all its chunks have been copied; it does leave.
 */
#ifndef JOBS
#define JOBS	2
#endif
#define HELPERS	2
#define MAX	2			/* chunks */
#define CLOSED	100
#define CHUNKS(job) (1 + ((job) + 1) % 2)	/* 1, 2 */

byte word_gen, word_next;		/* job->word */
byte place, chunks;			/* job->ours, theirs and so on: number of their job; job->chunks */
byte helped;
byte running;				/* job that the mover has not left; 0: none */
byte copied[MAX];			/* of that job */
bool mortal, dead, over;

inline copy(job, k) {
	assert(running == job);
	copied[k]++
}

inline fields(job) {
	if				/* no order between them */
	:: place = job; chunks = CHUNKS(job)	/* M:together.fields-plain */
	:: chunks = CHUNKS(job); place = job
	fi
}

active proctype mover() {
	byte job = 1, k, done;
	bool mine[MAX];

	if
	:: mortal = 1
	:: skip
	fi;
	do
	:: job <= JOBS ->
		done = 0;
		mine[0] = 0;
		mine[1] = 0;
#ifdef BUG_OPEN_FIRST
		atomic { word_gen = job; word_next = 0 };
		running = job;
		fields(job);
		helped = 0;
#else
#ifdef BUG_CLOSE_LATE				/* without the fence behind it */
		fields(job);
		atomic { word_gen = job; word_next = CLOSED };
#else
#ifndef BUG_NO_CLOSE
		atomic { word_gen = job; word_next = CLOSED };	/* M:together.close, p3_fence_rel() */
#endif
		fields(job);
#endif
#ifndef BUG_RESET_LATE
		helped = 0;			/* M:together.reset */
#endif
		atomic { running = job; word_gen = job; word_next = 0 };	/* M:together.open, p3_store_rel() */
#ifdef BUG_RESET_LATE
		helped = 0;
#endif
#endif
		do				/* its own chunks */
		:: atomic { k = word_next; word_next++ };	/* M:together.take */
		   if
		   :: k < CHUNKS(job) -> copy(job, k); mine[k] = 1; done++
		   :: else -> break
		   fi
		od;
#ifndef BUG_NO_WAIT
		if
		:: done + helped >= CHUNKS(job)	/* M:together.wait */
		:: dead ->			/* smartmap_alive() */
			k = 0;
			do
			:: k < CHUNKS(job) ->
				if
				:: !mine[k] && copied[k] == 0 -> copied[k]++
				:: else
				fi;
				k++
			:: else -> break
			od
		fi;
#endif
		atomic {
			k = 0;
			do
			:: k < MAX -> assert(copied[k] == (k < CHUNKS(job) -> 1 : 0)); copied[k] = 0; k++
			:: else -> break
			od;
			k = 0;
			running = 0
		};
		job++
	:: else -> break
	od;
	over = 1
}

/* one call of nal_together_help() after the other */
active [HELPERS] proctype owner() {
	byte gen, n, a, w_gen, k;
	bool other;

	do
	:: over || dead -> break
	:: mortal -> dead = 1
	:: word_next < chunks ->		/* M:together.look before: another thread may take it meanwhile */
		gen = 0;
		do
		:: dead -> break
		:: else ->
#ifdef BUG_TWO_STEPS
			atomic { w_gen = word_gen; k = word_next };
			word_next = k + 1;
#else
			atomic { w_gen = word_gen; k = word_next; word_next++ };	/* M:together.help */
#endif
			if
			:: w_gen != gen ->
				gen = w_gen;
#ifdef BUG_LOOK_EARLY				/* without the fence before it */
				other = word_gen != gen;
#endif
				n = chunks;		/* M:together.read */
				a = place;
#ifndef BUG_LOOK_EARLY
				other = word_gen != gen;	/* M:together.other */
#endif
#ifdef BUG_NO_LOOK
				other = 0;
#endif
				if
				:: other -> break
				:: else
				fi
			:: else
			fi;
			if
			:: k >= n -> break
			:: else
			fi;
#ifdef BUG_COUNT_EARLY
			helped++;
#endif
			atomic {		/* the dead do nothing more */
				if
				:: dead
				:: else ->
					assert(a == gen && n == CHUNKS(gen));
					copy(gen, k)
				fi
			};
#ifndef BUG_COUNT_EARLY
			atomic {
				if
				:: dead
				:: else -> helped++	/* M:together.helped */
				fi
			};
#endif
			if
			:: word_next >= chunks -> break
			:: else
			fi
		od;
		atomic { gen = 0; n = 0; a = 0; w_gen = 0; k = 0; other = 0 }
	od
}
