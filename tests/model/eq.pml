/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * eq.pml - slots of an event queue: writers of several processes, one reader, overrun (portals/lib/eq.c)
 *
 * word = 2 * ticket + 1 when the slot holds the event of that ticket, 2 * ticket while it is being filled. The two halves
 * of an event stand for its fields; both are the ticket. SLOTS is 2 here.
 *
 * Checked: what is read is whole, in the order of tickets, none twice; a loss is noticed; the reader stops at no event
 * for ever; the newest event is never lost.
 */
#ifndef WRITERS
#define WRITERS	2
#endif
#ifndef EVENTS
#define EVENTS	3			/* of each writer */
#endif
#define SLOTS	2
#define ALL	(WRITERS * EVENTS)
#define BASE	2			/* first ticket, so that "a lap before" is not negative */

byte word[SLOTS], a[SLOTS], b[SLOTS];
byte tail = BASE;
byte finished;
byte last_read, lost, dropped_flag, n_read;

proctype writer() {
	byte n, t, s, w;

	do
	:: n < EVENTS ->
		n++;
		atomic { t = tail; tail++ };
		s = t % SLOTS;
#ifndef BUG_NO_LAP
		do
		:: w = word[s];
		   if
		   :: w == 2 * (t - SLOTS) + 1 -> break
		   :: w > 2 * (t - SLOTS) + 1 -> goto drop
		   :: else -> (word[s] != w)	/* waits */
		   fi
		od;
#endif
#ifndef BUG_NO_BUSY
		word[s] = 2 * t;
#endif
#ifdef BUG_VALID_FIRST
		word[s] = 2 * t + 1;
#endif
		a[s] = t;
		b[s] = t;
#ifndef BUG_VALID_FIRST
		word[s] = 2 * t + 1;
#endif
drop:		skip
	:: else -> break
	od;
	atomic { finished++; n = 0; t = 0; s = 0; w = 0 }
}

proctype reader() {
	byte head = BASE, w, x, y, t;

	do
	:: head == BASE + ALL -> break
	:: else ->
		w = word[head % SLOTS];
		if
		:: w < 2 * head + 1 -> (word[head % SLOTS] != w)	/* not posted yet: look again when it has changed */
		:: w == 2 * head + 1 ->
			x = a[head % SLOTS];
			y = b[head % SLOTS];
#ifndef BUG_NO_RECHECK
			if
			:: word[head % SLOTS] != w -> goto overrun
			:: else
			fi;
#endif
			atomic {
				assert(x == head && y == head);		/* whole, and the right one */
				assert(head > last_read);
				if
				:: head > last_read + 1 && last_read >= BASE -> assert(dropped_flag)
				:: else
				fi;
				last_read = head;
				dropped_flag = 0;
				n_read++;
				head++
			}
		:: else ->
overrun:		dropped_flag = 1;
			t = tail;
#ifdef BUG_SKIP_ALL
			head = t
#else
			if
			:: t - SLOTS > head -> head = t - SLOTS
			:: else -> head++
			fi
#endif
		fi
	od;
	assert(last_read == BASE + ALL - 1)	/* the newest one has been read */
}

init {
	byte i;

	atomic {
		word[0] = 2 * (BASE - SLOTS) + 1;
		word[1] = 2 * (BASE - SLOTS + 1) + 1;
		do
		:: i < WRITERS -> run writer(); i++
		:: else -> break
		od;
		run reader()
	}
}
