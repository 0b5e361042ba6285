/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * attention.pml - who empties a lane: its owner, inside polling calls, or its initiator (nal_inbox.c, p3l_lane_mark)
 *
 * The word of the next line is EMPTY, POLL (the owner looks again before it leaves), AWAY, or FULL; the initiator puts
 * FULL by an exchange, the owner its marks by compare-and-swap. Stores are x86's: each process has a buffer from which
 * they reach memory in order, later; locked instructions wait until it is empty; loads look into the own buffer first.
 *
 * Checked: each message is taken once, in order; and when the initiator has returned from its calls and the owner has
 * left its last polling call, nothing is left in the lane.
 */
#ifndef MSGS
#define MSGS	3
#endif
#ifndef POLLS
#define POLLS	3
#endif
#define PATIENCE 2

#define EMPTY	0
#define FULL	1
#define POLL	2
#define AWAY	3

#define HEAD	0			/* addresses */
#define LOCK	1
#define WORD	2			/* + line */
#define CELLS	(WORD + MSGS + 1)

#define OWNER	0
#define INIT	1

byte mem[CELLS];
chan buf[2] = [4] of { byte, byte };
byte own[2 * CELLS];			/* newest value in the own buffer */
byte held[2 * CELLS];			/* how many are there */
byte taken[MSGS];
byte next_one;				/* message that must be taken next */
byte calls_done;			/* 1: initiator, 2: owner */

inline store(me, a, v) {
	atomic {
		nfull(buf[me]);
		buf[me]!a, v;
		own[me * CELLS + a] = v;
		held[me * CELLS + a]++
	}
}

inline load(me, a, v) {
	atomic {
		if
		:: held[me * CELLS + a] > 0 -> v = own[me * CELLS + a]
		:: else -> v = mem[a]
		fi
	}
}

/* old value in v; true in ok when it was swapped */
inline cas(me, a, from, to, ok) {
	atomic {
		empty(buf[me]) ->
		if
		:: mem[a] == from -> mem[a] = to; ok = 1
		:: else -> ok = 0
		fi
	}
}

inline xchg(me, a, to, v) {
	atomic { empty(buf[me]) -> v = mem[a]; mem[a] = to }
}

active [2] proctype memory() {		/* buffer of process _pid */
	byte a, v;

end:	do
	:: atomic {
		buf[_pid]?a, v ->
		mem[a] = v;
		held[_pid * CELLS + a]--;
		a = 0; v = 0
	   }
	od
}

/* What nal_drain() does; the lock is held. */
inline drain(me) {
	do
	:: load(me, HEAD, h);		/* M:lane.head-plain */
	   load(me, WORD + h, w);	/* M:lane.peek */
	   if
	   :: w == FULL ->
		atomic {
			assert(taken[h] == 0);
			assert(h == next_one);
			taken[h]++;
			next_one++
		};
		store(me, HEAD, h + 1)	/* M:lane.advance */
	   :: else -> break
	   fi
	od
}

/* drain_own(): a look, then a try for the lock */
inline drain_try(me) {
	load(me, HEAD, h);		/* M:lane.ready-head */
	load(me, WORD + h, w);		/* M:lane.ready */
	if
	:: w == FULL ->
#ifdef BUG_NO_LOCK
		drain(me)
#else
		cas(me, LOCK, 0, me + 1, ok);	/* M:lane.try */
		if
		:: ok -> drain(me); store(me, LOCK, 0)	/* M:lane.unlock */
		:: else
		fi
#endif
	:: else
	fi
}

/* p3l_lane_mark(): news is 1 when a message stands there */
inline mark(me, state) {
	load(me, HEAD, h);		/* M:attention.mark-head */
	load(me, WORD + h, w);		/* M:attention.mark-look */
	if
	:: w == FULL -> news = 1
	:: w == state -> news = 0
	:: else ->
#ifdef BUG_PLAIN_MARK
		store(me, WORD + h, state); news = 0
#else
		cas(me, WORD + h, w, state, ok);	/* M:attention.mark */
		if
		:: ok -> news = 0
		:: else ->
			h2 = h;
			load(me, HEAD, h);	/* M:attention.mark-again */
			news = (h == h2)
		fi
#endif
	fi
}

active proctype owner() {
	byte h, h2, w, ok, news, n, tries;

	do
	:: n < POLLS ->
		n++;
		mark(OWNER, POLL);
		drain_try(OWNER);
#ifndef BUG_NO_AWAY
		tries = 0;
		do
		:: tries < 4 ->
			mark(OWNER, AWAY);
			if
			:: news -> drain_try(OWNER); tries++
			:: else -> break
			fi
		:: else -> break
		od
#endif
	:: break			/* it never calls again */
	od;
	empty(buf[OWNER]);
	calls_done = calls_done | 2
}

active proctype initiator() {
	byte h, w, ok, was, n, patience;

	do
	:: n < MSGS ->
#ifdef BUG_PLAIN_PUT
		load(INIT, WORD + n, was);
		store(INIT, WORD + n, FULL);
#else
		xchg(INIT, WORD + n, FULL, was);	/* M:attention.put */
#endif
		n++;
		if
		:: was == POLL
#ifdef BUG_TRUST_AWAY
		:: was == AWAY
		:: was == EMPTY ->
#else
		:: was != POLL ->
#endif
			patience = 0;
			do
			:: was == AWAY && patience < PATIENCE ->
				load(INIT, WORD + n, w);	/* M:attention.first-look */
				patience++;
				if
				:: w == POLL || w == AWAY -> goto sent
				:: else
				fi
			:: else -> break
			od;
			do		/* p3l_lane_lock(wait) */
			:: cas(INIT, LOCK, 0, INIT + 1, ok);	/* M:lane.try */
			   if
			   :: ok -> break
			   :: else -> atomic { mem[LOCK] == 0 -> skip }
			   fi
			od;
			drain(INIT);
			store(INIT, LOCK, 0)	/* M:lane.unlock */
		fi;
sent:		skip
	:: else -> break
	od;
	empty(buf[INIT]);
	calls_done = calls_done | 1
}

active proctype judge() {
	calls_done == 3 ->
	assert(next_one == MSGS);	/* nothing is left in the lane */
	assert(mem[LOCK] == 0)
}
