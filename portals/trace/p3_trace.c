/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_trace.c - records of what a message goes through, in the library that ptl_trace loads (p3l_trace.h)
 *
 * Only compiled with P3_TRACE. Each thread writes to its own mapping, so nothing here is locked; the counters that name
 * hand-overs belong to one record of an operation each, hence to one thread at a time. A record is there when head.n
 * says so, which is stored behind it: a process may be killed anywhere.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "p3_knobs.h"
#include "p3_log.h"
#include "p3l.h"

#define DEPTH 16

enum { NEW, ON, OFF };

static _Thread_local struct {
	int state;
	struct p3_trace_head *head;
	struct p3_trace_rec *rec;
	uint64_t n, room;
	uint32_t depth;
	struct p3_trace_id stack[DEPTH];
	struct p3_trace_id sunk;	/* the message whose event the call under way returns */
} me;

static uint8_t epoch;			/* interfaces opened so far */
static uint32_t calls;
static bool off;			/* the child of a fork(), or a file that could not be made */
static uint32_t handed[P3L_MAX_SLOTS][P3L_OPS], served[P3L_MAX_SLOTS][P3L_OPS];

uint64_t p3_trace_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The files stay mapped until the process ends; a thread that ends gives its own back. */
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void unmap(void *head)
{
	me.state = OFF;
	munmap(head, P3_TRACE_HEAD + ((struct p3_trace_head *)head)->room * sizeof(struct p3_trace_rec));
}

static void make_key(void)
{
	if (pthread_key_create(&key, unmap))
		off = true;
}

static bool begin(void)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	uint32_t pid = (uint32_t)getpid(), tid = (uint32_t)syscall(SYS_gettid);
	struct p3_trace_head *h = MAP_FAILED;
	size_t len;
	char path[4096];
	ssize_t n;
	int fd;

	me.state = OFF;
	if (!k || !strcmp(k->trace, "none") || off)
		return false;
	pthread_once(&key_once, make_key);
	len = P3_TRACE_HEAD + (size_t)k->trace_records * sizeof(struct p3_trace_rec);
	snprintf(path, sizeof(path), "%s/%u.%u.ptr", k->trace, pid, tid);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && !ftruncate(fd, (off_t)len))	/* sparse: what is not written takes no room */
		h = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED) {
		p3_warn("cannot record to %s (%s): this thread is missing from the trace", path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	close(fd);
	h->size = sizeof(*h);
	h->pid = pid;
	h->tid = tid;
	h->room = (uint64_t)k->trace_records;
	prctl(PR_GET_NAME, h->thread);
	n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (n > 0) {
		const char *base;

		path[n] = 0;
		base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
		snprintf(h->program, sizeof(h->program), "%.*s", (int)sizeof(h->program) - 1, base);
	}
	p3_store_rel(&h->magic, P3_TRACE_MAGIC);
	pthread_setspecific(key, h);
	me.head = h;
	me.rec = (struct p3_trace_rec *)((char *)h + P3_TRACE_HEAD);
	me.room = h->room;
	me.state = ON;
	return true;
}

static inline bool on(void)
{
	if (p3_likely(me.state == ON))
		return !p3_unlikely(off);
	return me.state == NEW && begin();
}

static void put_id(enum p3_trace_kind kind, struct p3_trace_id id, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
		   uint64_t e)
{
	if (!on())
		return;
	if (p3_unlikely(me.n == me.room)) {
		p3_store(&me.head->lost, me.head->lost + 1);
		return;
	}
	id.kind = (uint16_t)kind;
	id.epoch = epoch;
	me.rec[me.n] = (struct p3_trace_rec){ p3_trace_now(), id, { a, b, c, d, e } };
	p3_store_rel(&me.head->n, ++me.n);
}

static struct p3_trace_id top(void)
{
	return me.depth && me.depth <= DEPTH ? me.stack[me.depth - 1] : (struct p3_trace_id){ 0 };
}

static void put(enum p3_trace_kind kind, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e)
{
	put_id(kind, top(), a, b, c, d, e);
}

static struct p3_trace_id name(enum p3_trace_name name, uint32_t from, uint32_t to, uint32_t n)
{
	return (struct p3_trace_id){ .name = (uint8_t)name, .epoch = epoch, .from = from, .to = to, .n = n };
}

static void alias(const struct p3_trace_id *of, struct p3_trace_id id)
{
	uint64_t w[2];

	_Static_assert(sizeof(w) == sizeof(id), "two words");
	memcpy(w, &id, sizeof(w));
	put_id(P3_TR_ALIAS, *of, w[0], w[1], 0, 0, 0);
}

void p3_trace_open(void)
{
	epoch++;
}

void p3_trace_ni(const struct p3l_ni *ni, uint32_t rank, uint32_t size)
{
	if (!ni)
		return;
	put_id(P3_TR_NI, (struct p3_trace_id){ 0 }, ni->nid, ni->pid, ni->slot, rank, size);
}

void p3_trace_child(void)
{
	off = true;
}

void p3_trace_peer(uint32_t slot, uint32_t nid, uint32_t pid)
{
	put_id(P3_TR_PEER, (struct p3_trace_id){ 0 }, slot, nid, pid, 0, 0);
}

void p3_trace_push(const struct p3_trace_id *id)
{
	if (me.depth < DEPTH)
		me.stack[me.depth] = *id;
	me.depth++;
}

void p3_trace_pop(void)
{
	me.depth--;
}

void p3_trace_note(struct p3_trace_id *id)
{
	*id = top();
}

static void push(struct p3_trace_id id)
{
	p3_trace_push(&id);
}

void p3_trace_call(unsigned type, uint32_t md, uint32_t nid, uint32_t pid, uint32_t pt, uint64_t bits,
		   uint64_t hdr_data)
{
	push(name(P3_NAME_CALL, 0, 0, p3_fetch_add(&calls, 1)));
	put(P3_TR_CALL, (uint64_t)type << 32 | md, (uint64_t)nid << 32 | pid, pt, bits, hdr_data);
}

void p3_trace_ret(int rc)
{
	put(P3_TR_RETURN, (uint64_t)rc, 0, 0, 0, 0);
	p3_trace_pop();
}

void p3_trace_lane(const struct p3l_ni *ni, uint32_t from, uint32_t line)
{
	push(name(P3_NAME_LANE, from, ni->slot, line));
}

/* One initiator's record at one target: its uses have an order, the same on both sides. */
static uint32_t use(uint32_t (*count)[P3L_OPS], uint32_t slot, unsigned op)
{
	return slot < P3L_MAX_SLOTS && op < P3L_OPS ? (uint32_t)op << 28 | (count[slot][op]++ & 0xfffffff) : UINT32_MAX;
}

void p3_trace_serve(const struct p3l_ni *ni, uint32_t from, unsigned op)
{
	push(name(P3_NAME_HAND, from, ni->slot, use(served, from, op)));
}

void p3_trace_served(uint64_t from)
{
	put(P3_TR_SERVE, from, 0, 0, 0, 0);
	p3_trace_pop();
}

void p3_trace_hand(const struct p3l_ni *ni, uint32_t from, unsigned op)
{
	struct p3_trace_id id = top();

	put(P3_TR_HAND, ni->slot, 0, 0, 0, 0);
	alias(&id, name(P3_NAME_HAND, from, ni->slot, use(handed, ni->slot, op)));
}

void p3_trace_help(const struct p3l_ni *ni, uint32_t from, uint32_t gen)
{
	push(name(P3_NAME_JOB, from, ni->slot, gen));
}

void p3_trace_job(const struct p3l_ni *ni, uint32_t from, uint32_t gen)
{
	struct p3_trace_id id = top();

	alias(&id, name(P3_NAME_JOB, from, ni->slot, gen));
}

void p3_trace_write(const struct p3l_ni *ni, uint32_t from, uint32_t line, uint32_t bytes)
{
	struct p3_trace_id id = top();

	put(P3_TR_WRITE, ni->slot, bytes, 0, 0, 0);
	alias(&id, name(P3_NAME_LANE, from, ni->slot, line));
}

void p3_trace_take(const struct p3l_ni *ni)
{
	put(P3_TR_TAKE, ni->slot, 0, 0, 0, 0);
}

void p3_trace_frame(uint32_t peer, unsigned channel, uint32_t seq)
{
	push(name(P3_NAME_CAME, peer, channel, seq));
}

void p3_trace_out(const struct p3_trace_id *id, uint32_t peer, unsigned channel, uint32_t seq, uint32_t bytes,
		  bool first)
{
	put_id(P3_TR_OUT, *id, peer, channel, seq, bytes, first);
	alias(id, name(P3_NAME_SENT, channel, peer, seq));
}

/* @from 0: it was not taken, and comes again. */
void p3_trace_in(uint64_t from, uint32_t peer, unsigned channel, uint32_t seq, unsigned type, uint32_t bytes)
{
	if (from)
		put(P3_TR_IN, from, peer, channel, seq, (uint64_t)type << 32 | bytes);
}

void p3_trace_match(const struct p3l_ni *ni, uint32_t pt, uint32_t md, uint64_t bits, uint64_t rlength,
		uint64_t mlength)
{
	put(P3_TR_MATCH, ni->slot, (uint64_t)pt << 32 | md, bits, rlength, mlength);
}

void p3_trace_drop(const struct p3l_ni *ni, uint32_t pt, uint64_t bits, uint64_t rlength, unsigned why)
{
	put(P3_TR_DROP, ni->slot, pt, bits, rlength, why);
}

void p3_trace_copy(uint64_t from, unsigned way, bool in, uint64_t bytes)
{
	put(P3_TR_COPY, from, way, in, bytes, 0);
}

static uint64_t queue(const struct p3l_ni *ni, uint32_t eq)
{
	return eq | (eq < P3L_MAX_EQ ? (uint64_t)(p3_load(&ni->eq[eq].gen) & P3L_GEN_MASK) << 16 : 0);
}

void p3_trace_log(const struct p3l_ni *ni, uint32_t eq, uint32_t ticket, unsigned kind_fail)
{
	put(P3_TR_LOG, ni->slot, queue(ni, eq), ticket, kind_fail, 0);
}

void p3_trace_fetched(const struct p3l_ni *ni, uint32_t eq, uint32_t ticket, unsigned kind_fail, uint64_t hdr_data)
{
	put_id(P3_TR_GET, (struct p3_trace_id){ 0 }, ni->slot, queue(ni, eq), ticket, kind_fail, hdr_data);
}

void p3_trace_sunk(void)
{
	me.sunk = top();
}

void p3_trace_handover(const struct p3l_ni *ni, uint32_t eq, unsigned kind_fail, uint64_t hdr_data)
{
	put_id(P3_TR_HANDOVER, me.sunk, ni->slot, queue(ni, eq), 0, kind_fail, hdr_data);
}

void p3_trace_unlink(const struct p3l_ni *ni, uint32_t md)
{
	put(P3_TR_UNLINK, ni->slot, md, 0, 0, 0);
}

void p3_trace_sleep(uint64_t from)
{
	put(P3_TR_SLEEP, from, 0, 0, 0, 0);
}

void p3_trace_wake(const struct p3l_ni *ni)
{
	put(P3_TR_WAKE, ni->slot, 0, 0, 0, 0);
}
