/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * polled.pml - an entry becomes polled, or is so no longer, while an initiator sends to it (polled.c, nal_put, nal_drain)
 *
 * The owner (one thread) switches its entry on and off, and polls; the initiator sends messages. What each does with the match
 * list is between `inside++` and `inside--`: the owner without the lock of the entry where it is alone.
 *
 * Initiator: looks at the bit. Polled: leaves the message in its lane by a plain store, and looks at the bit again. Else it
 * empties its lane (up to one for a polled entry), then matches: takes a record, the lock, and looks at the bit behind the
 * lock; if it is set now it leaves the message in the lane after all.
 * Owner, on: sets the bit, passes each lane's lock and the entry's, and looks for records of operations in progress there:
 * if there are none it is alone. Off: takes messages under the lock again, passes each
 * lane's lock, clears the bit, makes all others' stores visible (membarrier; or the others have fences),
 * passes each lane's lock, and takes what is in the lanes.
 *
 * Checked: nobody else is in the list, nor changes what stands there, while the owner is without lock; each message is matched
 * once, in order; when the owner has made its last call with the entry switched off, and the initiator has returned from its
 * last, nothing is left.
 */
#ifndef MSGS
#define MSGS	2
#endif
#ifndef CALLS
#define CALLS	5			/* of the owner, the last of which switches off */
#endif

#define BIT	0
#define LANE	1			/* lock words */
#define ENTRY	2
#define HEAD	3
#define STATE	4			/* of the initiator's record */
#define WORD	5			/* + line */
#define CELLS	(WORD + MSGS + 1)

#define OWNER	0
#define PEER	1
#define PROCS	2
#define DEPTH	3
#include "tso.pml"

#define IDLE	0
#define TAKEN	1
#define MOVE	2			/* PREP to LEAVE */

#define FULL	1

byte inside;				/* in the list */
byte moving;				/* operations of the initiator in progress: `pending` of MDs that stand there changes */
byte matched;				/* messages so far */
byte number[MSGS + 1];			/* of the message in that line */
byte calls_done;
bool alone, fences;

/* An access to the list, in two steps, of one who must be the only one; it takes message @h_ */
inline match(h_) {
	atomic { assert(inside == 0); inside++; assert(h_ == matched) };
	atomic { inside--; matched++ }
}

inline lock(me_, a_) {
	do
	:: CAS(me_, a_, 0, me_ + 1, ok);	/* M:polled.lock */
	   if
	   :: ok -> break
	   :: else -> (mem[a_] == 0)
	   fi
	od
}

/* p3l_target_begin() with a record, then the copy, and p3l_target_end(). @ok: it was matched (else it waits) */
inline operation(h_) {
	STORE(PEER, STATE, TAKEN);		/* M:polled.record-plain */
	lock(PEER, ENTRY);
#ifndef BUG_NO_LOOK_BEHIND_LOCK
	b = LOAD(PEER, BIT);			/* M:polled.behind */
#else
	b = 0;
#endif
	if
	:: b ->
		STORE(PEER, ENTRY, 0);		/* M:polled.unlock */
		STORE(PEER, STATE, IDLE);	/* M:polled.wait */
		ok = 0
	:: else ->
#ifndef BUG_RECORD_LATE
		STORE(PEER, STATE, MOVE);	/* M:polled.prep */
#endif
		match(h_);
		moving++;
		STORE(PEER, ENTRY, 0);		/* M:polled.unlock */
#ifdef BUG_RECORD_LATE
		STORE(PEER, STATE, MOVE);
#endif
		moving--;			/* the data move; END; the MD is no longer pending */
		STORE(PEER, STATE, IDLE);	/* M:polled.end */
		ok = 1
	fi
}

/* flush_lane(): up to the first message for a polled entry */
inline flush() {
	if
	:: LOAD(PEER, HEAD) != sent ->		/* M:polled.head */
		lock(PEER, LANE);
		do
		:: h = LOAD(PEER, HEAD);	/* M:lane.head-plain */
		   if
		   :: LOAD(PEER, WORD + h) != FULL -> break /* M:lane.peek */
		   :: else
		   fi;
		   if
		   :: LOAD(PEER, BIT) -> break	/* M:polled.promised */
		   :: else
		   fi;
		   operation(number[h]);
		   if
		   :: ok -> STORE(PEER, HEAD, h + 1) /* M:lane.advance */
		   :: else -> break
		   fi
		od;
		STORE(PEER, LANE, 0)		/* M:lane.unlock */
	:: else
	fi
}

active proctype peer() {
	byte n, sent, h, b, ok, polled;

	do
	:: n < MSGS ->
		n++;
		polled = LOAD(PEER, BIT);	/* M:polled.look */
		if
		:: !polled ->
			flush();
#ifndef BUG_OVERTAKE				/* one that waits for the owner is left there */
			polled = (LOAD(PEER, HEAD) != sent); /* M:polled.left */
#endif
			if
			:: !polled -> operation(n - 1); polled = !ok
			:: else
			fi
		:: else
		fi;
		if
		:: polled ->
			number[sent] = n - 1;
			STORE(PEER, WORD + sent, FULL);	/* M:lane.publish */
			sent++;
			if
			:: fences -> FENCE(PEER)	/* M:sleep.fence */
			:: else
			fi;
#ifndef BUG_NO_SECOND_LOOK
			if
			:: !LOAD(PEER, BIT) -> flush()	/* M:polled.second */
			:: else
			fi
#endif
		:: else
		fi
	:: else -> break
	od;
	atomic { empty(buf[PEER]) -> calls_done++ }
}

/* drain_own() */
inline drain() {
	h = LOAD(OWNER, HEAD);			/* M:lane.ready-head */
	ok = 1;
	if
	:: LOAD(OWNER, WORD + h) == FULL ->	/* M:lane.ready */
		locked = !alone;
		if
		:: locked -> CAS(OWNER, LANE, 0, OWNER + 1, ok) /* M:lane.try */
		:: else
		fi;
		if
		:: ok ->
			do
			:: h = LOAD(OWNER, HEAD);	/* M:lane.head-plain */
			   if
			   :: LOAD(OWNER, WORD + h) != FULL -> break /* M:lane.peek */
			   :: else
			   fi;
			   if
			   :: !alone -> lock(OWNER, ENTRY)
			   :: else
			   fi;
			   match(number[h]);
			   if
			   :: alone -> assert(moving == 0)
			   :: else -> STORE(OWNER, ENTRY, 0) /* M:polled.unlock */
			   fi;
			   STORE(OWNER, HEAD, h + 1)	/* M:lane.advance */
			od;
			if
			:: locked -> STORE(OWNER, LANE, 0) /* M:lane.unlock */
			:: else
			fi
		:: else
		fi
	:: else
	fi
}

/* A message of a third process, in another lane */
inline other() {
	if
	:: alone -> assert(moving == 0)
	:: else -> lock(OWNER, ENTRY)
	fi;
	atomic { assert(inside == 0); inside++ };
	atomic { inside--; assert(!alone || moving == 0) };
	if
	:: !alone -> STORE(OWNER, ENTRY, 0)	/* M:polled.unlock */
	:: else
	fi
}

inline on() {
	XCHG(OWNER, BIT, 1, ok);		/* M:polled.on */
	FENCE(OWNER);				/* M:polled.on-fence */
#ifndef BUG_LANE_NOT_PASSED
	lock(OWNER, LANE);
	STORE(OWNER, LANE, 0);			/* M:lane.unlock */
#endif
#ifndef BUG_ENTRY_NOT_PASSED
	lock(OWNER, ENTRY);
	STORE(OWNER, ENTRY, 0);			/* M:polled.unlock */
#endif
#ifdef BUG_TRUST_LOCKS
	alone = 1
#else
	alone = (LOAD(OWNER, STATE) != MOVE)	/* M:polled.inside */
#endif
}

inline off() {
#ifdef BUG_ALONE_LATE
	XCHG(OWNER, BIT, 0, ok);
#else
	alone = 0;
#ifndef BUG_OFF_AT_ONCE				/* who has the lock may have seen a message that we have taken without */
	lock(OWNER, LANE);
	STORE(OWNER, LANE, 0);			/* M:lane.unlock */
#endif
	XCHG(OWNER, BIT, 0, ok);		/* M:polled.off */
#endif
#ifndef BUG_NO_BARRIER
	if
	:: fences -> FENCE(OWNER)		/* M:polled.off-fence */
	:: else -> MEMBARRIER()			/* M:polled.membarrier */
	fi;
#endif
#ifndef BUG_OFF_TRIES				/* who has the lock may have seen the bit of before */
	lock(OWNER, LANE);
	STORE(OWNER, LANE, 0);			/* M:lane.unlock */
#endif
#ifndef BUG_NO_DRAIN
	drain();
#endif
#ifdef BUG_ALONE_LATE
	alone = 0
#endif
}

active proctype owner() {
	byte n = 1, h, ok;
	bool locked;

	if
	:: fences = 1
	:: fences = 0
	fi;
	do
	:: n < CALLS -> n++; on()
	:: n < CALLS -> n++; off()
	:: n < CALLS -> n++; drain()
	:: n < CALLS -> n++; other()
	:: off(); break
	od;
	atomic { empty(buf[OWNER]) -> calls_done++ }
}

active proctype judge() {
	calls_done == 2 ->
	assert(matched == MSGS);		/* nothing is left in the lane */
	assert(mem[LANE] == 0 && mem[ENTRY] == 0)
}
