/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * unlink.pml - unlinking against matching: refused while in use, by itself when used up, and handles of what is gone
 * (portals/lib/match.c, md.c, me.c)
 *
 * The owner posts a match entry with its descriptor in one of two lists, unlinks one or the other by its handle, and posts
 * again: the same places in the pools, with the next generation, perhaps in the other list. He also tries handles of what is
 * gone. Initiators match in list 0: begin under the lock of the list, copy, end without it; who ends last of a descriptor that
 * is used up unlinks it.
 *
 * Checked: nothing is copied to a descriptor that has been unlinked; each is freed once, and so is its entry; the UNLINK event
 * is one, and behind the END of all; a handle that is stale is refused and hits nothing; counts come out even; locks are free
 * in the end.
 */
#ifndef INITIATORS
#define INITIATORS 2
#endif
#ifndef ROUNDS
#define ROUNDS	2			/* posts */
#endif

#define LOCK	0			/* + list; 2: the stripe of a descriptor on no list */
#define HEAD	3			/* + list */
#define ME_GEN	5
#define ME_PT	6
#define ME_USED	7
#define FLAGS	8			/* of the MD */
#define GEN	9
#define ME	10			/* of the MD; 0: none */
#define PENDING	11
#define THRESHOLD 12
#define ME_FREE	13			/* free list, of one */
#define MD_FREE	14
#define CELLS	15

#define OWNER	INITIATORS
#define PROCS	(INITIATORS + 1)
#define DEPTH	2
#include "tso.pml"

#define USED	1
#define SPENT	4
#define STRIPE	2

byte moving;				/* operations that copy */
byte live;				/* generation + 1 of the MD that may be copied to; 0: none */
bool me_live;
byte told;				/* UNLINK events of it */

inline lock(me_, p_) {
	do
	:: CAS(me_, LOCK + p_, 0, me_ + 1, ok);	/* M:unlink.lock */
	   if
	   :: ok -> break
	   :: else -> (mem[LOCK + p_] == 0)
	   fi
	od
}

inline unlock(me_, p_) {
	STORE(me_, LOCK + p_, 0)		/* M:unlink.unlock */
}

inline push(me_, a_) {
	CAS(me_, a_, 0, 1, ok);			/* M:unlink.push M:unlink.me-push */
	assert(ok)
}

/* p3l_md_lock(): ok, with list @p locked */
inline md_lock(me_, gen_) {
	do
	:: m = LOAD(me_, ME);			/* M:unlink.md-me */
	   if
	   :: !(LOAD(me_, FLAGS) & USED) -> ok = 0; break	/* M:unlink.md-used */
	   :: else
	   fi;
#ifndef BUG_NO_GENERATION
	   if
	   :: LOAD(me_, GEN) != gen_ -> ok = 0; break	/* M:unlink.md-gen */
	   :: else
	   fi;
#endif
	   p = (m -> LOAD(me_, ME_PT) : STRIPE);	/* M:unlink.me-pt */
	   lock(me_, p);
#ifdef BUG_NO_SECOND_LOOK
	   ok = 1;
	   break;
#else
#ifdef BUG_NO_GENERATION
	   ok = LOAD(me_, ME) == m && (LOAD(me_, FLAGS) & USED);
#else
	   ok = LOAD(me_, ME) == m && (LOAD(me_, FLAGS) & USED) && LOAD(me_, GEN) == gen_; /* M:unlink.md-again */
#endif
#endif
	   if
	   :: ok -> break
	   :: else -> unlock(me_, p)
	   fi
	od;
	m = 0
}

/* p3l_md_free_locked() of an MD whose ME goes with it; the rest of p3l_me_free() */
inline free_locked(me_) {
	atomic { assert(moving == 0 && live == mem[GEN] + 1); live = 0; told = 0 };
	STORE(me_, HEAD + p, 0);		/* M:unlink.out */
#ifdef BUG_PUSH_FIRST
	push(me_, MD_FREE);
	STORE(me_, FLAGS, 0);
	g = LOAD(me_, GEN);
	STORE(me_, GEN, g + 1);
#else
	STORE(me_, FLAGS, 0);			/* M:unlink.unused */
	g = LOAD(me_, GEN);			/* M:unlink.next-gen */
	STORE(me_, GEN, g + 1);			/* M:unlink.next-gen */
	push(me_, MD_FREE);
#endif
	atomic { assert(me_live); me_live = 0 };
	STORE(me_, ME_USED, 0);			/* M:unlink.me-unused */
	g = LOAD(me_, ME_GEN);			/* M:unlink.me-next-gen */
	STORE(me_, ME_GEN, g + 1);		/* M:unlink.me-next-gen */
	g = 0;
	push(me_, ME_FREE)
}

proctype initiator(byte me) {
	byte gen, p, m, left, g;
	bool ok;

	/* p3l_target_begin() */
	lock(me, 0);
	if
	:: LOAD(me, HEAD) && (LOAD(me, FLAGS) & (USED | SPENT)) == USED -> /* M:unlink.head-plain */
		gen = LOAD(me, GEN);		/* M:unlink.op-gen-plain */
#ifndef BUG_COUNTED_LATE
#ifdef BUG_COUNTED_PLAIN
		left = LOAD(me, PENDING);
		STORE(me, PENDING, left + 1);
#else
		ADD(me, PENDING, 1, left);	/* M:unlink.pend */
#endif
#endif
		left = LOAD(me, THRESHOLD) - 1;	/* M:unlink.charge-plain */
		STORE(me, THRESHOLD, left);	/* M:unlink.charge-plain */
		if
		:: left == 0 -> STORE(me, FLAGS, USED | SPENT) /* M:unlink.spent */
		:: else
		fi;
#ifdef BUG_COUNTED_LATE
		unlock(me, 0);
		ADD(me, PENDING, 1, left);
		atomic { assert(live == gen + 1); moving++ };
#else
		atomic { assert(live == gen + 1); moving++ };
		unlock(me, 0);
#endif
		/* the data move; p3l_target_end() */
		atomic { assert(live == gen + 1 && !told); moving-- };
		ADD(me, PENDING, 255, left);	/* M:unlink.unpend */
		if
		:: left == 1 && (LOAD(me, FLAGS) & SPENT) ->	/* M:unlink.last */
			/* p3l_md_done() */
			md_lock(me, gen);
			if
			:: ok ->
				if
#ifdef BUG_DONE_AT_ONCE
				:: 1 ->
#else
				:: (LOAD(me, FLAGS) & SPENT) && !LOAD(me, PENDING) -> /* M:unlink.done */
#endif
					atomic { assert(moving == 0 && !told); told++ };
					free_locked(me)
				:: else
				fi;
				unlock(me, p)
			:: else
			fi
		:: else
		fi
	:: else -> unlock(me, 0)
	fi;
	empty(buf[me])
}

/* PtlMDUnlink: p3l_md_unlink() */
inline md_unlink(gen_) {
	md_lock(OWNER, gen_);
	rc = ok;
	if
	:: ok ->
#ifdef BUG_UNLINK_IN_USE
		free_locked(OWNER);
#else
		if
		:: LOAD(OWNER, PENDING) -> rc = 2	/* M:unlink.md-in-use */
		:: else -> free_locked(OWNER)
		fi;
#endif
		unlock(OWNER, p)
	:: else
	fi
}

/* PtlMEUnlink: p3l_me_lock(), p3l_me_unlink() */
inline me_unlink(gen_) {
	rc = 0;
	p = LOAD(OWNER, ME_PT);				/* M:unlink.me-lock-pt */
	if
	:: LOAD(OWNER, ME_USED) && LOAD(OWNER, ME_GEN) == gen_ ->	/* M:unlink.me-is */
		lock(OWNER, p);
		if
#ifdef BUG_ME_NO_SECOND_LOOK
		:: 1 ->
#else
		:: LOAD(OWNER, ME_USED) && LOAD(OWNER, ME_GEN) == gen_ && LOAD(OWNER, ME_PT) == p ->	/* M:unlink.me-is */
#endif
			if
			:: LOAD(OWNER, PENDING) -> rc = 2	/* M:unlink.me-in-use */
			:: else -> free_locked(OWNER); rc = 1
			fi
		:: else
		fi;
		unlock(OWNER, p)
	:: else
	fi
}

/* p3l_memd_attach() */
inline post() {
	do
	:: CAS(OWNER, MD_FREE, 1, 0, ok);		/* M:unlink.pop */
	   if
	   :: ok -> break
	   :: else ->
		if
		:: (mem[MD_FREE])
		:: goto over				/* PTL_NO_SPACE */
		fi
	   fi
	od;
	STORE(OWNER, ME, 0);				/* M:unlink.make-me */
	STORE(OWNER, FLAGS, 0);				/* M:unlink.make */
	STORE(OWNER, PENDING, 0);			/* M:unlink.make-pending-plain */
	do
	:: CAS(OWNER, ME_FREE, 1, 0, ok);		/* M:unlink.me-pop */
	   if
	   :: ok -> break
	   :: else -> (mem[ME_FREE])
	   fi
	od;
	if
	:: STORE(OWNER, THRESHOLD, 1)			/* M:unlink.threshold */
	:: STORE(OWNER, THRESHOLD, 2)			/* M:unlink.threshold */
	fi;
	if
	:: p = 0
	:: p = 1
	fi;
	lock(OWNER, p);
	STORE(OWNER, ME_PT, p);				/* M:unlink.fill-pt */
	STORE(OWNER, ME_USED, 1);			/* M:unlink.fill-plain */
	STORE(OWNER, ME, 1);				/* M:unlink.join */
	STORE(OWNER, FLAGS, USED);			/* M:unlink.use */
	atomic { live = mem[GEN] + 1; me_live = 1 };
	STORE(OWNER, HEAD + p, 1);			/* M:unlink.link */
	unlock(OWNER, p)
}

proctype owner() {
	byte p, m, n, rc, g;
	bool ok;

	do
	:: n < ROUNDS ->
		n++;
		post();
		if
		:: n > 1 -> md_unlink(n - 2); assert(!rc)	/* stale */
		:: n > 1 -> me_unlink(n - 2); assert(!rc)
		:: skip
		fi;
		if					/* refused: used up by itself later, or never */
		:: md_unlink(n - 1)
		:: me_unlink(n - 1)
		fi;
		rc = 0
	:: else -> break
	:: n > 0 -> break
	od;
over:	empty(buf[OWNER])
}

active proctype judge() {
	timeout ->
	assert(mem[LOCK] == 0 && mem[LOCK + 1] == 0 && mem[LOCK + 2] == 0);
	assert(moving == 0 && mem[PENDING] == 0);
	assert((live == 0) == mem[MD_FREE] && me_live == !mem[ME_FREE])
}

init {
	byte k;

	atomic {
		mem[ME_FREE] = 1;
		mem[MD_FREE] = 1;
		do
		:: k < INITIATORS -> run initiator(k); k++
		:: else -> break
		od;
		run owner()
	}
}
