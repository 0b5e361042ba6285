/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lane.pml - the ring of lines of a lane: numbered words, lines behind the first, room, late marks (portals/lib/lane.c)
 *
 * A message is one or two lines; the second has a word of its own (MORE). head_pub follows head at some distance; a
 * message that does not fit in front of the end of the ring leaves the rest unused (SKIP). Messages are taken by the owner
 * or, in its place, by their initiator (one process here: who empties it does not matter); the owner also marks the line at
 * the head, with the head that it has read before, laps ago perhaps.
 *
 * Checked: the consumer finds the messages that were sent, whole and in order, and nothing else; the producer does not
 * run into lines that have not been read; it does not stop for ever.
 */
#ifndef LINES
#define LINES	4
#endif
#ifndef MSGS
#define MSGS	4
#endif
#ifndef MARKS
#define MARKS	2
#endif

/* state and number of a line */
#define FULL(n)	((n) * 4 + 1)
#define MORE(n)	((n) * 4)
#define POLL(n)	((n) * 4 + 2)
#define NUMBER(w) ((w) / 4)
#ifdef BUG_NO_MORE
#define SECOND(n) 0			/* payload in place of a word: zeros, as they often are */
#else
#define SECOND(n) MORE(n)
#endif

byte word[LINES];
byte size[LINES];			/* of a message that starts here; 0: SKIP */
byte tag[LINES];			/* payload: number of the message, per line */
byte head, head_pub, sent_tail;
bool done;

active proctype producer() {
	byte tail, seen, n, lines, to_end, k;

	do
	:: n < MSGS ->
		if
		:: lines = 1
		:: lines = 2
		fi;
		/* p3l_lane_room(): twice, for what a skip may waste; one line behind stays free */
		do
#ifdef BUG_ROOM
		:: LINES - (tail - seen) + 1 >= lines -> break
#else
		:: LINES - (tail - seen) > lines + (lines - 1) -> break
#endif
		:: else -> (head_pub != seen); seen = head_pub	/* M:lane.room */
		od;
		to_end = LINES - tail % LINES;
		if
		:: lines > to_end ->
			size[tail % LINES] = 0;
			k = 1;
			do
			:: k < to_end -> word[(tail + k) % LINES] = MORE(tail + k); k++ /* M:lane.skip */
			:: else -> break
			od;
			word[tail % LINES] = FULL(tail);
			tail = tail + to_end
		:: else
		fi;
#ifdef BUG_WORD_FIRST
		word[tail % LINES] = FULL(tail);
#endif
		size[tail % LINES] = lines;
		tag[tail % LINES] = n;
		if
		:: lines == 2 ->
			word[(tail + 1) % LINES] = SECOND(tail + 1);	/* M:lane.more */
			tag[(tail + 1) % LINES] = n
		:: else
		fi;
#ifndef BUG_WORD_FIRST
		word[tail % LINES] = FULL(tail);	/* M:lane.publish */
#endif
		tail = tail + lines;
		n++
	:: else -> break
	od;
	atomic { sent_tail = tail; done = 1 }
}

active proctype consumer() {
	byte n, lines;

	do
	:: word[head % LINES] == FULL(head) ->	/* M:lane.peek */
		lines = size[head % LINES];
		if
		:: lines == 0 -> head = head + LINES - head % LINES
		:: else ->
			assert(n < MSGS);
#ifdef BUG_PUB_EARLY
			head_pub = head + lines;
#endif
			assert(tag[head % LINES] == n);
			if
			:: lines == 2 -> assert(tag[(head + 1) % LINES] == n && word[(head + 1) % LINES] == SECOND(head + 1))
			:: else
			fi;
			n++;
			head = head + lines	/* M:lane.advance */
		fi;
		if
		:: head - head_pub >= LINES / 4 -> head_pub = head	/* M:lane.release */
		:: else
		fi
	:: done && word[head % LINES] != FULL(head) -> break
	od;
	assert(n == MSGS && head == sent_tail)
}

/* p3l_lane_mark() of an owner that is stopped between its steps, while its initiator empties the lane */
active proctype late() {
	byte h, w, k;

	do
	:: k < MARKS ->
		h = head;		/* M:lane.late-head */
		w = word[h % LINES];	/* M:lane.late-look */
		if
		:: w == FULL(h)
#ifndef BUG_LATE_MARK
		:: NUMBER(w) > h
#endif
		:: else ->
			atomic {		/* M:lane.late */
				if
				:: word[h % LINES] == w ->
					word[h % LINES] = POLL(h)
				:: else
				fi
			}
		fi;
		k++
	:: break
	od
}
