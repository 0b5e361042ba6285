/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* loop.c - the network of loop.h */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"

static uint64_t rnd(struct loop_net *n, uint64_t below)
{
	uint64_t z = n->state += 0x9e3779b97f4a7c15u;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % below;
}

static bool happens(struct loop_net *n, uint32_t thousandths)
{
	return thousandths && rnd(n, 1000) < thousandths;
}

void loop_init(struct loop_net *n, const struct loop_inject *inject)
{
	memset(n, 0, sizeof(*n));
	n->inject = *inject;
	n->state = inject->seed;
	n->now = 1;
	if (!n->inject.room)
		n->inject.room = 256;
}

void loop_attach(struct loop_net *n, struct fr_engine *e)
{
	if (n->engines < LOOP_ENGINES)
		n->engine[n->engines++] = e;
	e->now = n->now;
}

void loop_join(struct loop_net *n, struct loop_end end[2], struct fr_engine *a, struct fr_peer *pa, struct fr_engine *b,
	       struct fr_peer *pb)
{
	end[0] = (struct loop_end){ .net = n, .from = a, .to = b, .here = pa, .there = pb, .pair = end };
	end[1] = (struct loop_end){ .net = n, .from = b, .to = a, .here = pb, .there = pa, .pair = end };
	pa->link = &end[0];
	if (pb != pa)
		pb->link = &end[1];
}

static void insert(struct loop_net *n, struct loop_packet *k)
{
	struct loop_packet **at = &n->packets;

	while (*at && (*at)->due <= k->due)
		at = &(*at)->next;
	k->next = *at;
	*at = k;
	k->end->flying++;
}

static bool launch(struct loop_end *end, const uint8_t *hdr, const void *payload, uint32_t len, int64_t due)
{
	struct loop_packet *k = malloc(sizeof(*k) + WIRE_HDR + len);

	if (!k)
		return false;			/* as good as lost */
	*k = (struct loop_packet){ .end = end, .due = due, .len = WIRE_HDR + len };
	memcpy(k->bytes, hdr, WIRE_HDR);
	if (len)
		memcpy(k->bytes + WIRE_HDR, payload, len);
	if (happens(end->net, end->net->inject.flip)) {
		uint64_t bit = rnd(end->net, 8 * (uint64_t)k->len);

		k->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		end->net->flipped++;
	}
	insert(end->net, k);
	return true;
}

/* One more frame of this connection: does it break with it? */
static bool breaks(struct loop_net *n, struct loop_end *pair)
{
	if (!n->inject.disconnect || ++pair->frames != n->inject.disconnect)
		return false;
	pair[0].cut = pair[1].cut = true;
	pair->next_broken = n->broken;
	n->broken = pair;
	n->cuts++;
	return true;
}

static int loop_send(void *ctx, struct fr_peer *p, const uint8_t *hdr, const void *payload, uint32_t len)
{
	struct loop_net *n = ctx;
	struct loop_end *end = p->link;
	int64_t due = n->now + n->inject.delay_ns + 1;

	if (end->cut)
		return 0;
	if (end->flying >= n->inject.room) {
		end->waiting = true;
		return 1;
	}
	n->sent++;
	if (breaks(n, end->pair))
		return 0;
	if (happens(n, n->inject.loss)) {
		n->lost++;
		return 0;
	}
	if (happens(n, n->inject.reorder)) {
		due += (int64_t)rnd(n, 20 * (uint64_t)n->inject.delay_ns + 20000);
		n->overtaken++;
	}
	launch(end, hdr, payload, len, due);
	if (happens(n, n->inject.dup)) {
		launch(end, hdr, payload, len, due + (int64_t)rnd(n, 10000));
		n->doubled++;
	}
	return 0;
}

const struct fr_link loop_link = { .send = loop_send, .lossy = true };

static bool there(const struct loop_net *n, const struct wire_vec *v, uint32_t k)
{
	for (uint32_t i = 0; n->there && i < k; i++)
		if (!n->there(v[i].at, v[i].len))
			return false;
	return true;
}

static int stream_send(void *ctx, struct fr_peer *p, const uint8_t *hdr, const void *payload, uint32_t len)
{
	struct wire_vec v = { (void *)(uintptr_t)payload, len };
	struct wire_frame f = { .hdr = hdr, .v = &v, .n = len != 0, .len = len };
	bool fault = false;

	return loop_stream.send_some(ctx, p, &f, 1, &fault) != 1;
}

static void fetch(struct loop_packet *k)
{
	uint8_t *to = k->bytes + WIRE_HDR;

	for (uint32_t j = 0; j < k->n; to += k->v[j++].len)
		memcpy(to, k->v[j].at, k->v[j].len);
	k->n = 0;
}

/* Half of those that stay are read when they arrive, if they are the last of a call. */
static uint32_t stream_send_some(void *ctx, struct fr_peer *p, const struct wire_frame *f, uint32_t count, bool *fault)
{
	struct loop_net *n = ctx;
	struct loop_end *end = p->link;
	uint32_t i;

	for (i = 0; i < count; i++, f++) {
		bool late = f->stays && rnd(n, 2);
		struct loop_packet *k;

		if (end->cut)
			continue;
		if (end->flying >= n->inject.room || end->late || (i && !rnd(n, 4))) {
			end->waiting = true;
			break;
		}
		if (!there(n, f->v, f->n) && !late) {
			*fault = true;
			break;
		}
		k = malloc(sizeof(*k) + WIRE_HDR + f->len);
		if (!k)
			break;
		n->sent++;
		if (breaks(n, end->pair)) {
			free(k);
			continue;
		}
		*k = (struct loop_packet){ .due = n->now + n->inject.delay_ns + 1, .end = end, .len = WIRE_HDR + f->len,
			.n = f->n, .whose = f->whose, .tag = f->tag };
		memcpy(k->bytes, f->hdr, WIRE_HDR);
		for (uint32_t j = 0; j < f->n; j++)
			k->v[j] = f->v[j];
		if (late)
			end->late = k;
		else
			fetch(k);
		insert(n, k);
	}
	return i;
}

const struct fr_link loop_stream = { .send = stream_send, .send_some = stream_send_some, .breaks = true };

static void fetch_late(struct loop_net *n, struct loop_packet *k)
{
	if (!there(n, k->v, k->n)) {
		memset(k->bytes + WIRE_HDR, 0, k->len - WIRE_HDR);
		fr_fault(k->whose, k->tag);
		n->faults++;
		k->n = 0;
	}
	fetch(k);
	k->end->late = NULL;
}

/* More of a frame on a stream. True: that was all of it. */
static bool flow(struct loop_net *n, struct loop_packet *k)
{
	struct loop_end *end = k->end;
	uint32_t left = k->len - WIRE_HDR - k->at, m, room = 0;
	uint8_t *from = k->bytes + WIRE_HDR + k->at;
	struct wire_vec v[3];

	end->to->now = n->now;
	if (k->n)
		fetch_late(n, k);
	if (!k->begun) {
		enum fr_way way = k->len - WIRE_HDR > FR_COPY && rnd(n, 4) ? fr_begin(end->to, end->there, k->bytes) :
			FR_WHOLE;

		if (way == FR_WHOLE)
			fr_input(end->to, end->there, k->bytes, k->len);
		k->begun = way == FR_PIECES;
		return !k->begun;
	}
	m = rnd(n, 3) ? 1 + (uint32_t)rnd(n, left) : left;
	n->pieces++;
	if (rnd(n, 3))
		room = fr_where(end->to, end->there, v, 1 + (uint32_t)rnd(n, 3));
	if (room && !there(n, v, room)) {
		fr_unplaced(end->there);
	} else if (room) {
		uint32_t done = 0;

		for (uint32_t i = 0; i < room && done < m; i++) {
			uint32_t part = m - done < v[i].len ? m - done : (uint32_t)v[i].len;

			memcpy(v[i].at, from + done, part);
			done += part;
		}
		k->at += done;
		n->placed++;
		fr_piece(end->to, end->there, NULL, done);
	} else {
		k->at += m;
		fr_piece(end->to, end->there, from, m);
	}
	return k->at == k->len - WIRE_HDR;
}

static void drop_packets(struct loop_net *n, const struct loop_end *end)
{
	struct loop_packet **at = &n->packets, *k;

	while ((k = *at) != NULL) {
		if (end && k->end != end) {
			at = &k->next;
			continue;
		}
		*at = k->next;
		k->end->flying--;
		if (k == k->end->late)
			k->end->late = NULL;
		free(k);
	}
}

void loop_cut(struct loop_end end[2])
{
	for (int i = 0; i < 2; i++) {
		struct loop_end *e = &end[i];

		e->cut = true;
		drop_packets(e->net, e);
		e->from->now = e->net->now;
		fr_gone(e->from, e->here);
		fr_flush(e->from);
	}
}

void loop_renew(struct loop_end *end)
{
	drop_packets(end->net, end);
	end->waiting = false;
	end->from->now = end->net->now;
	fr_resume(end->from, end->here);
	fr_flush(end->from);
}

void loop_reconnect(struct loop_end end[2])
{
	for (int i = 0; i < 2; i++) {
		drop_packets(end[i].net, &end[i]);
		end[i].waiting = false;
	}
	for (int i = 0; i < 2; i++) {
		end[i].from->now = end[i].net->now;
		fr_resume(end[i].from, end[i].here);
		fr_flush(end[i].from);
		if (end[0].from == end[1].from)
			break;
	}
	end->net->cuts++;
}

static void arrived(struct loop_net *n, struct loop_end *end)
{
	fr_flush(end->to);
	if (end->waiting && end->flying < n->inject.room) {
		end->waiting = false;
		end->from->now = n->now;
		fr_writable(end->from, end->here);
	}
}

static void arrive(struct loop_net *n, struct loop_packet *k)
{
	struct loop_end *end = k->end;

	n->packets = k->next;
	end->flying--;
	end->to->now = n->now;
	fr_input(end->to, end->there, k->bytes, k->len);
	free(k);
	arrived(n, end);
}

/* A piece of the first frame, or, between two of them, of the first of another connection. */
static void arrive_stream(struct loop_net *n)
{
	struct loop_packet **at = &n->packets, *k = *at;
	struct loop_end *end = k->end;

	if (k->begun && rnd(n, 2)) {
		while (*at && (*at)->end == end)
			at = &(*at)->next;
		if (!*at || (*at)->due > n->now)
			at = &n->packets;
	}
	k = *at;
	end = k->end;
	if (happens(n, n->inject.reconnect)) {
		loop_reconnect(end->pair);
		return;
	}
	if (flow(n, k)) {
		while (*at != k)	/* what it has made has been put in */
			at = &(*at)->next;
		*at = k->next;
		end->flying--;
		free(k);
	}
	arrived(n, end);
}

bool loop_step(struct loop_net *n)
{
	struct loop_packet *k;
	struct loop_end *broken = n->broken;
	int64_t next = 0;

	if (broken) {
		n->broken = broken->next_broken;
		loop_cut(broken);
		return true;
	}
	for (unsigned i = 0; i < n->engines; i++) {
		int64_t t;

		n->engine[i]->now = n->now;
		t = fr_timer(n->engine[i]);
		if (t && (!next || t < next))
			next = t;
	}
	k = n->packets;				/* the timers may have sent */
	if (k && (!next || k->due < next))
		next = k->due;
	if (!next)
		return n->broken;
	if (next > n->now)
		n->now = next;
	if (k && k->due <= n->now) {
		if (n->inject.stream)
			arrive_stream(n);
		else
			arrive(n, k);
	}
	return true;
}

void loop_fini(struct loop_net *n)
{
	drop_packets(n, NULL);
}

int loop_parse(const char *text, struct loop_inject *inject, const char **bad)
{
	const struct { const char *name; size_t at; bool wide; uint64_t max; } key[] = {
		{ "loss=", offsetof(struct loop_inject, loss), false, 900 },
		{ "dup=", offsetof(struct loop_inject, dup), false, 900 },
		{ "reorder=", offsetof(struct loop_inject, reorder), false, 900 },
		{ "flip=", offsetof(struct loop_inject, flip), false, 900 },
		{ "room=", offsetof(struct loop_inject, room), false, 100000 },
		{ "disconnect=", offsetof(struct loop_inject, disconnect), false, 1000000000 },
		{ "delay=", offsetof(struct loop_inject, delay_ns), true, 1000000000 },
		{ "seed=", offsetof(struct loop_inject, seed), true, ~0ull },
	};
	struct loop_inject out = *inject;

	while (*text) {
		unsigned long long v;
		char *end;
		size_t i;

		*bad = text;
		for (i = 0; i < sizeof(key) / sizeof(*key); i++)
			if (!strncmp(text, key[i].name, strlen(key[i].name)))
				break;
		if (i == sizeof(key) / sizeof(*key))
			return -1;
		text += strlen(key[i].name);
		if (!isdigit((unsigned char)*text))
			return -1;
		v = strtoull(text, &end, 10);
		if (v > key[i].max || (*end && *end != ',' && *end != ':') || (*end && !end[1]))
			return -1;
		if (key[i].wide)
			*(uint64_t *)(void *)((char *)&out + key[i].at) = v;
		else
			*(uint32_t *)(void *)((char *)&out + key[i].at) = (uint32_t)v;
		text = *end ? end + 1 : end;
	}
	*inject = out;
	return 0;
}
