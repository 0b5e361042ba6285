/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * eq.pml - an event queue: writers of several processes, one reader, overrun, events without a ticket (portals/lib/eq.c)
 *
 * word = 2 * ticket + 1 when the slot holds the event of that ticket, 2 * ticket while it is being filled. The two halves
 * of an event stand for its fields; both are the ticket. SLOTS is 2 here. A writer that has waited long for the writer of the
 * lap before gives up, and tells of the loss. Each writer posts its events, and behind the last leaves a message for the
 * reader, who takes it in his call: its event is handed out straight, without a ticket, if nothing is in the queue
 * (p3l_sink_open), else it is posted like any other.
 *
 * Checked: what is read is whole, in the order of tickets, none twice; numbers (ticket + straight ones so far) only grow, by
 * one where nothing is lost; a loss is told, with the next event; an event that has come straight has none before it that its
 * sender posted earlier; the reader stops at no event for ever; the newest event is never lost.
 */
#ifndef WRITERS
#define WRITERS	2
#endif
#ifndef EVENTS
#define EVENTS	2			/* of each writer */
#endif
#define SLOTS	2
#define BASE	2			/* first ticket, so that "a lap before" is not negative */

#ifndef GIVE_UPS
#define GIVE_UPS 1
#endif
#define TICKETS	(BASE + WRITERS * (EVENTS + 1))
#define VOID	200

#define TAIL	0
#define DROPPED	1
#define HOLES	2
#define MESSAGE	3			/* + writer: its lane */
#define WORD	(MESSAGE + WRITERS)	/* + slot */
#define A	(WORD + SLOTS)
#define B	(A + SLOTS)
#define CELLS	(B + SLOTS)
#define READER	WRITERS
#define PROCS	(WRITERS + 1)
#define DEPTH	2
#include "tso.pml"

byte give_ups, finished;
bool gone[TICKETS];			/* given up: no record of it, and no lock behind which it might be (grace in reap.c) */
bool untold[TICKETS];			/* lost, and the reader has not heard of a loss since */
byte newest_of[WRITERS];

/* p3l_eq_post() */
inline post(me_, tk, val) {
	go = 0;
	do
	:: LOAD(me_, WORD + tk % SLOTS) == 2 * (tk - SLOTS) + 1 -> go = 1; break	/* M:eq.lap */
#ifndef BUG_NO_LAP
	:: LOAD(me_, WORD + tk % SLOTS) > 2 * (tk - SLOTS) + 1 -> break		/* M:eq.lap */
	:: LOAD(me_, WORD + tk % SLOTS) < 2 * (tk - SLOTS) + 1 &&		/* M:eq.late */
	   (give_ups < GIVE_UPS || (me_ == READER && gone[tk - SLOTS])) ->
		atomic { give_ups = give_ups + (me_ != READER); gone[tk] = 1; untold[tk] = 1 };
		STORE(me_, DROPPED, 1);						/* M:eq.lost */
#ifndef BUG_NO_HOLE
		STORE(me_, HOLES, 1);						/* M:eq.hole */
#endif
		break
#else
	:: else -> go = 1; break
#endif
	od;
	if
	:: go ->
#ifdef BUG_VALID_FIRST
		STORE(me_, WORD + tk % SLOTS, 2 * tk + 1);
#endif
#ifndef BUG_NO_BUSY
		STORE(me_, WORD + tk % SLOTS, 2 * tk);				/* M:eq.busy */
#endif
		STORE(me_, A + tk % SLOTS, val);				/* M:eq.fill-plain */
		STORE(me_, B + tk % SLOTS, val);				/* M:eq.fill-plain */
#ifndef BUG_VALID_FIRST
		STORE(me_, WORD + tk % SLOTS, 2 * tk + 1);			/* M:eq.valid */
#endif
		go = 0
	:: else
	fi
}

proctype writer(byte me) {
	byte n, t;
	bool go;

	do
	:: n < EVENTS ->
		n++;
#ifdef BUG_TWO_STEPS
		t = LOAD(me, TAIL);
		STORE(me, TAIL, t + 1);
#else
		ADD(me, TAIL, 1, t);						/* M:eq.reserve */
#endif
		newest_of[me] = t;
		post(me, t, t)
	:: else -> break
	od;
	STORE(me, MESSAGE + me, 1);						/* M:lane.publish */
	atomic { empty(buf[me]) -> finished++; n = 0; t = 0 }
}

/* The reader hands out an event whose number is @number; @told: with PTL_EQ_DROPPED. */
inline hand_out(number, told) {
	atomic {
		assert(number > last_number);
		if
		:: told -> k = 0; do :: k < TICKETS -> untold[k] = 0; k++ :: else -> break od
		:: else
		fi;
		k = BASE;
		do				/* every loss before it has been told */
		:: k < head -> assert(!untold[k]); k++
		:: else -> break
		od;
		k = 0;
		assert(number == last_number + 1 || (lost_some));
		last_number = number
	}
}

inline take_message(from) {
	taken = taken | (1 << from);
#ifdef BUG_STRAIGHT_IF_NOT_READY
	if
	:: LOAD(READER, WORD + head % SLOTS) < 2 * head + 1 ->
#else
	t = LOAD(READER, TAIL);							/* M:eq.open */
	if
	:: t == head && !LOAD(READER, DROPPED) ->				/* M:eq.open */
#endif
		assert(newest_of[from] < head);
		hand_out(head + straight, 0);
#ifndef BUG_STRAIGHT_UNCOUNTED
		straight++
#endif
	:: else ->
		ADD(READER, TAIL, 1, t);					/* M:eq.reserve */
		post(READER, t, t)
	fi;
	t = 0
}

/* p3l_eq_next() at a slot that holds this ticket or a later one */
inline next() {
	w = LOAD(READER, WORD + head % SLOTS);					/* M:eq.look */
	x = LOAD(READER, A + head % SLOTS);					/* M:eq.copy-plain */
	y = LOAD(READER, B + head % SLOTS);					/* M:eq.copy-plain */
	if
#ifdef BUG_NO_RECHECK
	:: w == 2 * head + 1 ->
#else
	:: w == 2 * head + 1 && LOAD(READER, WORD + head % SLOTS) == w ->	/* M:eq.again */
#endif
		if
		:: x == VOID && y == VOID -> head++; lost_some = 1
		:: else ->
			assert(x == head && y == head);	/* whole, and the right one */
			w = LOAD(READER, DROPPED);				/* M:eq.dropped-plain */
#ifdef BUG_ALWAYS_TOLD				/* what a writer has written since is taken for told */
			STORE(READER, DROPPED, 0);
#else
			if
#ifdef BUG_TOLD_LATE				/* in the buffer until a writer has written, too */
			:: w -> STORE(READER, DROPPED, 0)
#else
			:: w -> XCHG(READER, DROPPED, 0, y)			/* M:eq.told */
#endif
			:: else
			fi;
#endif
			hand_out(head + straight, w);
			last_read = head;
			lost_some = 0;
			head++
		fi
	:: else ->
		t = LOAD(READER, TAIL);						/* M:eq.tail */
#ifndef BUG_SILENT
		STORE(READER, DROPPED, 1);					/* M:eq.overrun-plain */
#endif
		atomic {
#ifdef BUG_SKIP_ALL
			x = t;
#else
			x = (t - SLOTS > head -> t - SLOTS : head + 1);
#endif
			do
			:: head < x -> untold[head] = 1; head++
			:: else -> break
			od;
			lost_some = 1
		}
	fi;
	atomic { w = 0; x = 0; y = 0; t = 0 }
}

/* fill_holes() in reap.c: per slot, from what it holds on. grace() is in gone[]. */
inline fill_holes() {
	STORE(READER, HOLES, 0);						/* M:eq.holes */
	FENCE(READER);								/* M:eq.holes-fence */
	t = LOAD(READER, TAIL);							/* M:eq.holes-tail */
	w = 0;
	do
	:: w < SLOTS ->
		x = LOAD(READER, WORD + w);					/* M:eq.holes-word */
		x = (x % 2 -> x / 2 + SLOTS : x / 2);
#ifdef BUG_HOLES_FROM_HEAD			/* those before it hold up the writers of later laps */
		x = (x < head -> TICKETS : x);
#endif
		do
		:: x < t && gone[x] ->
			STORE(READER, WORD + w, 2 * x);				/* M:eq.busy */
			STORE(READER, A + w, VOID);				/* M:eq.fill-plain */
			STORE(READER, B + w, VOID);				/* M:eq.fill-plain */
			STORE(READER, WORD + w, 2 * x + 1);			/* M:eq.valid */
			x = x + SLOTS
		:: x < t && !gone[x] ->
			if
			:: x + SLOTS < t && gone[x + SLOTS] -> STORE(READER, HOLES, 1) /* M:eq.left */
			:: else
			fi;
			break
		:: else -> break
		od;
		w++
	:: else -> break
	od;
	atomic { w = 0; x = 0; t = 0 }
}

proctype reader() {
	byte head = BASE, w, x, y, t, k, straight, taken, last_read, last_number = BASE - 1;
	bool lost_some, go;

	do
	:: !(taken & 1) && LOAD(READER, MESSAGE) -> take_message(0)		/* M:lane.ready */
#if WRITERS > 1
	:: !(taken & 2) && LOAD(READER, MESSAGE + 1) -> take_message(1)		/* M:lane.ready */
#endif
	:: LOAD(READER, WORD + head % SLOTS) >= 2 * head + 1 -> next()		/* M:eq.look */
	:: LOAD(READER, WORD + head % SLOTS) < 2 * head + 1 && LOAD(READER, HOLES) -> /* M:eq.reap */
		fill_holes()
	:: finished == WRITERS && taken == (1 << WRITERS) - 1 && LOAD(READER, TAIL) == head -> break /* M:eq.open */
	od;
	assert(last_read == head - 1 || head == BASE || gone[head - 1])	/* the newest one has been read */
}

init {
	byte i;

	atomic {
		mem[TAIL] = BASE;
		mem[WORD] = 2 * (BASE - SLOTS) + 1;
		mem[WORD + 1] = 2 * (BASE - SLOTS + 1) + 1;
		do
		:: i < WRITERS -> run writer(i); i++
		:: else -> break
		od;
		run reader()
	}
}
