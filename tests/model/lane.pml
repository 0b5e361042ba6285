/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lane.pml - the ring of lines of a lane: numbered words, payload that looks like words, room (portals/lib/lane.c)
 *
 * A message is one or two lines; the first word of a payload line is whatever the sender likes, also the word of a
 * message that is not there. The word of the line behind a message is cleared if it may be old payload; head_pub follows
 * head at some distance; a message that does not fit in front of the end of the ring leaves the rest unused (SKIP).
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
#define NUMBERS	(LINES * 4)

#define FULL(n)	((n) + 1)		/* 0: empty */

byte word[LINES];			/* first word of a line: FULL(line number), or payload */
byte size[LINES];			/* of a message that starts here; 0: SKIP */
byte tag[LINES];			/* payload: number of the message, per line */
byte head, head_pub, sent_tail;
bool done;

active proctype producer() {
	byte tail, seen, n, lines, to_end, k, guess;
	bool dirty[LINES];

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
		:: else -> (head_pub != seen); seen = head_pub
		od;
		to_end = LINES - tail % LINES;
		if
		:: lines > to_end ->
			size[tail % LINES] = 0;
			dirty[tail % LINES] = 0;
			if
			:: dirty[(tail + to_end) % LINES] ->
				dirty[(tail + to_end) % LINES] = 0;
				word[(tail + to_end) % LINES] = 0
			:: else
			fi;
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
			select(guess : 0 .. NUMBERS - 1);
			atomic {
				word[(tail + 1) % LINES] = guess;
				tag[(tail + 1) % LINES] = n;
				dirty[(tail + 1) % LINES] = 1;
				guess = 0
			}
		:: else
		fi;
		dirty[tail % LINES] = 0;
#ifndef BUG_NO_CLEAR
		if
		:: dirty[(tail + lines) % LINES] ->
			dirty[(tail + lines) % LINES] = 0;
			word[(tail + lines) % LINES] = 0
		:: else
		fi;
#endif
#ifndef BUG_WORD_FIRST
		word[tail % LINES] = FULL(tail);
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
	:: word[head % LINES] == FULL(head) ->
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
			:: lines == 2 -> assert(tag[(head + 1) % LINES] == n)
			:: else
			fi;
			n++;
			head = head + lines
		fi;
		if
		:: head - head_pub >= LINES / 4 -> head_pub = head
		:: else
		fi
	:: done && word[head % LINES] != FULL(head) -> break
	od;
	assert(n == MSGS && head == sent_tail)
}
