/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * sleep.pml - going to sleep without a fence on the waker's side (nal_wait in nal_inbox.c, wake in nal_smap.h)
 *
 * The sleeper stores `sleeping`, calls membarrier(), looks once more, and sleeps if the word is still 1 (futex). A waker
 * stores its message and looks at the word; no fence between: on x86 its message may still be in its store buffer when it
 * looks. membarrier() makes each process that runs pass a full barrier somewhere between its begin and end.
 *
 * Checked: nobody sleeps on while a message is there and all wakers have gone home.
 */
#ifndef WAKERS
#define WAKERS	2
#endif
#ifndef ROUNDS
#define ROUNDS	3
#endif

byte message[WAKERS];			/* memory: messages left so far */
byte buffered[WAKERS];			/* in the waker's store buffer: messages it thinks it has left */
byte sleeping, asleep;
byte sleeping_buf;			/* sleeper's store of 1 that is still in its buffer */
byte seen[WAKERS];
byte home;

proctype drainer(byte id) {		/* the store buffer empties at any time */
end:	do
	:: atomic { message[id] != buffered[id] -> message[id] = buffered[id] }
	od
}

active proctype sleeper_buffer() {
end:	do
	:: atomic { sleeping_buf -> sleeping = 1; sleeping_buf = 0 }
	od
}

proctype waker(byte id) {
	byte n, s;

	do
	:: n < ROUNDS ->
		n++;
		buffered[id] = n;	/* a plain store */
		s = sleeping;		/* a plain load: may pass the store */
		if
		:: s ->
			/* wake_slow(): a locked exchange empties the buffer, then FUTEX_WAKE */
			atomic { message[id] = buffered[id]; s = sleeping; sleeping = 0 };
			if
			:: s -> asleep = 0
			:: else
			fi
		:: else
		fi
	:: else -> break
	od;
	home++
}

inline membarrier() {
#ifndef BUG_NO_MEMBARRIER
	atomic {
		if
		:: sleeping_buf -> sleeping = 1; sleeping_buf = 0
		:: else
		fi
	};
	i = 0;
	do
	:: i < WAKERS -> atomic { message[i] = buffered[i]; i++ }
	:: else -> break
	od
#else
	sleeping_buf == 0		/* a fence of our own only */
#endif
}

inline look() {				/* takes what is there */
	i = 0;
	found = 0;
	do
	:: i < WAKERS ->
		atomic {
			if
			:: message[i] != seen[i] -> seen[i] = message[i]; found = 1
			:: else
			fi;
			i++
		}
	:: else -> break
	od
}

active proctype sleeper() {
	byte i, found;

	do
	:: look();
	   if
	   :: found -> goto again
	   :: else
	   fi;
	   if
	   :: seen[0] == ROUNDS && (WAKERS == 1 || seen[WAKERS - 1] == ROUNDS) -> break
	   :: else
	   fi;
	   sleeping_buf = 1;
#ifndef BUG_LOOK_BEFORE
	   membarrier();
	   look();
#else
	   look();
	   membarrier();
#endif
	   if
	   :: !found ->
		/* FUTEX_WAIT: compare and sleep in one step */
#ifdef BUG_NO_COMPARE
		asleep = 1;
		asleep == 0
#else
		atomic {
			if
			:: sleeping == 1 -> asleep = 1
			:: else
			fi
		};
		asleep == 0
#endif
	   :: else
	   fi;
	   atomic { sleeping = 0; sleeping_buf = 0 };	/* in order behind the store of 1 */
again:	   skip
	od
}

init {
	byte k;

	atomic {
		do
		:: k < WAKERS -> run waker(k); run drainer(k); k++
		:: else -> break
		od
	}
}
