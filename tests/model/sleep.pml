/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * sleep.pml - going to sleep without a fence on the waker's side, by several threads on one word
 *
 * A sleeper (nal_wait in nal_inbox.c) writes the word, calls membarrier(), looks once more, and sleeps if the word is still
 * what it wrote (futex). A waker (wake in nal_smap.h) stores its message and looks at the word; no fence between: on x86 its
 * message may still be in its store buffer when it looks. Where membarrier() is not to be had both have a fence instead
 * (the first sleeper decides which, once). Each sleeper waits for messages of its own, but all of them sleep on one word,
 * which a waker clears; and one may leave by its time limit.
 *
 * Checked: nobody sleeps on while a message for it is there and all wakers have gone home (an invalid end state).
 */
#ifndef WAKERS
#define WAKERS	1
#endif
#define SLEEPERS 2
#ifndef ROUNDS
#define ROUNDS	1			/* of each waker, for each sleeper */
#endif
#ifndef LIMITS
#define LIMITS	1			/* times that a sleeper leaves by itself */
#endif

#define WORD	0
#define COUNT	1
#define EVENT	2			/* + SLEEPERS * waker + sleeper: messages left */
#define CELLS	(EVENT + SLEEPERS * WAKERS)
#define PROCS	(SLEEPERS + WAKERS)
#define DEPTH	2
#include "tso.pml"

#if WAKERS == 1
#define COME(me) LOAD(me, EVENT + (me))
#else
#define COME(me) (LOAD(me, EVENT + (me)) + LOAD(me, EVENT + SLEEPERS + (me)))
#endif

bool asleep[SLEEPERS];
byte limits;
byte mine[SLEEPERS];			/* what each has written */
bool fences;

proctype sleeper(byte me) {
	byte seen, was;

	do
	:: seen == COME(me) ->			/* M:sleep.ready */
		if
		:: seen == WAKERS * ROUNDS -> break
		:: else
		fi;
		ADD(me, COUNT, 1, was);		/* M:sleep.enter */
#ifdef BUG_SAME_WORD				/* what the word holds says nothing about whose look it was that came before */
		mine[me] = 1;
#else
		d_step {			/* M:sleep.number */
			/* counted in the source: one that stands nowhere any more */
			empty(buf[me]) ->
			mine[me] = 1;
			do
			:: mine[me] == mem[WORD] || mine[me] == mine[1 - me] -> mine[me]++
			:: else -> break
			od
		};
#endif
#ifdef BUG_LOOK_FIRST
		if
		:: COME(me) != seen -> goto leave
		:: else
		fi;
#endif
		STORE(me, WORD, mine[me]);		/* M:sleep.word */
#ifndef BUG_NO_MEMBARRIER
		if
		:: fences -> FENCE(me)		/* M:sleep.membarrier */
		:: else -> MEMBARRIER()		/* M:sleep.membarrier */
		fi;
#else
		FENCE(me);
#endif
#ifndef BUG_LOOK_FIRST
		if
		:: COME(me) != seen -> goto leave /* M:sleep.ready */
		:: else
		fi;
#endif
		atomic {			/* M:sleep.futex */
			empty(buf[me]) ->
#ifdef BUG_NO_COMPARE
			asleep[me] = 1
#else
			asleep[me] = (mem[WORD] == mine[me])
#endif
		};
		if
		:: !asleep[me]
		:: limits < LIMITS -> limits++; asleep[me] = 0
		fi;
leave:
#ifdef BUG_TAKE_THE_WORD
		STORE(me, WORD, 0);
#else
#ifdef BUG_LAST_STORES
		ADD(me, COUNT, 255, was);
		if
		:: was == 1 -> STORE(me, WORD, 0)
		:: else
		fi
#else
		ADD(me, COUNT, 255, was);	/* M:sleep.leave */
		if
		:: was == 1 -> CAS(me, WORD, mine[me], 0, was) /* M:sleep.last */
		:: else
		fi;
#endif
#endif
		mine[me] = 0;
		was = 0
	:: else -> seen = COME(me)		/* M:sleep.ready */
	od
}

proctype waker(byte w) {
	byte n, k, s;

	if
	:: k = 0
	:: k = 1
	fi;
	do
	:: n < ROUNDS * SLEEPERS ->
		n++;
		STORE(SLEEPERS + w, EVENT + SLEEPERS * w + k, (n + 1) / 2); /* M:lane.publish M:eq.valid */
		k = 1 - k;
		if
		:: fences -> FENCE(SLEEPERS + w) /* M:sleep.fence */
		:: else
		fi;
		s = LOAD(SLEEPERS + w, WORD);	/* M:sleep.look */
		if
		:: s ->
			XCHG(SLEEPERS + w, WORD, 0, s);	/* M:sleep.clear */
			if
			:: s -> atomic { asleep[0] = 0; asleep[1] = 0 } /* M:sleep.wake */
			:: else
			fi
		:: else
		fi
	:: else -> break
	od
}

init {
	byte k;

	atomic {
		if
		:: fences = 1
		:: fences = 0
		fi;
		do
		:: k < WAKERS -> run waker(k); k++
		:: else -> break
		od;
		k = 0;
		do
		:: k < SLEEPERS -> run sleeper(k); k++
		:: else -> break
		od
	}
}
