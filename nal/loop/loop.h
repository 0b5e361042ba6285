/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * loop.h - a network inside one process, that does everything to frames which networks do
 *
 * Engines are attached to it and joined in pairs; a frame goes from one to the other after `delay`, unless it is
 * lost, comes twice, is overtaken, or has a bit flipped, or the connection has broken. Time is its own: it stands still
 * until loop_step() moves it to the next thing that happens, so that a run depends on nothing but its seed. One thread
 * at a time.
 */
#ifndef LOOP_H
#define LOOP_H

#include "frame/frame.h"

/* What happens to frames, in thousandths of them. */
struct loop_inject {
	uint32_t loss, dup, reorder, flip;
	int64_t delay_ns;
	uint32_t room;			/* frames on their way from one to one, before there is no more room */
	/* Connections are streams: all arrives, and in order, several frames are taken at once, and long ones come in
	 * pieces. loop_stream must be the link then; none of the above but delay and room. */
	bool stream;
	uint32_t reconnect;		/* stream, in thousandths: the connection ends, and is made anew */
	uint32_t disconnect;		/* frames of both ways of a connection: with this one it breaks; 0: never */
	uint64_t seed;
};

struct loop_net;

/* One direction: from an engine's peer to the engine at the other end. */
struct loop_end {
	struct loop_net *net;
	struct fr_engine *from, *to;
	struct fr_peer *here, *there;	/* what the sender calls the receiver, and the other way round */
	uint32_t flying;
	bool waiting, cut;
	struct loop_packet *late;	/* stream: its last frame has not been read */
	struct loop_end *pair;		/* both directions: [0] counts, and is in the list of the broken */
	uint32_t frames;
	struct loop_end *next_broken;
};

struct loop_packet {
	struct loop_packet *next;
	int64_t due;
	struct loop_end *end;
	uint32_t len;
	bool begun;			/* stream: it comes in pieces, of which */
	uint32_t at;			/* so many bytes of its payload have come */
	uint32_t n;			/* pieces that stay where they are */
	struct wire_vec v[FR_SEGS];
	struct fr_peer *whose;
	uint64_t tag;
	uint8_t bytes[];
};

#define LOOP_ENGINES 16

struct loop_net {
	struct loop_inject inject;
	int64_t now;
	uint64_t state;			/* of the random numbers */
	struct loop_packet *packets;	/* by due */
	struct loop_end *broken;	/* to be cut at the next step: a link must not call the engine back */
	struct fr_engine *engine[LOOP_ENGINES];
	unsigned engines;
	uint64_t sent, lost, doubled, overtaken, flipped, cuts;
	uint64_t pieces, placed, faults;	/* stream: fr_piece(), in place, frames read late that were not there */
	bool (*there)(const void *at, size_t n);	/* stream: is that memory there? NULL: all is */
};

extern const struct fr_link loop_link, loop_stream;	/* ctx: the net */

void loop_init(struct loop_net *n, const struct loop_inject *inject);
void loop_attach(struct loop_net *n, struct fr_engine *e);
/* Frames for @pa of engine @a come to @b as from @pb, and the other way round. a and b may be one, with one peer. */
void loop_join(struct loop_net *n, struct loop_end end[2], struct fr_engine *a, struct fr_peer *pa, struct fr_engine *b,
	       struct fr_peer *pb);
/* The connection breaks: frames under way are gone, both ends are told. */
void loop_cut(struct loop_end end[2]);
/* One way of it is another one, by which end->from sends: frames under way there are gone, both engines go on. */
void loop_renew(struct loop_end *end);
/* The connection is another one: frames under way are gone, the engines go on. */
void loop_reconnect(struct loop_end end[2]);
/* The next thing happens: a frame arrives or time has come for something. False: nothing is left to happen. */
bool loop_step(struct loop_net *n);
void loop_fini(struct loop_net *n);

/* "loss=20,dup=10,reorder=50,flip=5,delay=1000,room=64,disconnect=90,seed=7": 0; -1 with the rest that is not
 * understood in @bad. */
int loop_parse(const char *text, struct loop_inject *inject, const char **bad);

#endif
