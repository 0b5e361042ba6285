/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * net.c - PEs that loads and stores do not reach: put, get and atomic operations by Portals
 *
 * Each PE shows its symmetric memory to the others at three portals, by descriptors whose initiators choose the offset:
 * the heap; the writable segments of the program and of its libraries, told apart by match bits; and struct shmemi_ctl.
 * So an object is named by its segment and the offset in that, wherever either lies in the other process. Nobody here
 * has a part in what others do to them; the NAL does it.
 *
 * Own memory is one descriptor over all addresses, or, where it lies in the heap or in the program's data, one over
 * these, which the NAL knows to be in a window.
 *
 * Completion: every put is acknowledged, gets and atomic operations are replied to. The match bits come back with the
 * event: either the address of who waits for this one (struct shmemi_waiter, on the stack of the caller), or the
 * epoch that the operation is counted in, and its PE, which a failed SEND_END does not tell. quiet begins a new epoch
 * and waits until none of the one before is out: only one quiet at a time does so, and an operation that finds the
 * epoch changed behind its back counts itself again, so none is in an epoch that nobody waits for.
 *
 * All events are in one queue, read by whoever waits. Before a call a thread takes as many of its places as the call
 * may log events (net.room), and the reader of each gives one back: so the queue never overflows, and what is under
 * way, with the NAL's memory for it, is bounded.
 *
 * Order (fence): what one thread puts to one PE of another node is made there in the order of the calls: Portals keeps
 * it, since all that goes to one process goes one way. On the node it may be handed to the owner of memory that is out
 * of reach, who copies when it looks: there fence is quiet.
 */
#define _GNU_SOURCE
#include <link.h>
#include <p3rt/p3rt.h>
#include <portals/reserved_ptls.h>
#include <portals3.h>
#include <pthread.h>
#include <sched.h>
#include <smartmap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net.h"

#define PT_HEAP		PTL_PT_SHMEM_FIRST_NP
#define PT_DATA		(PTL_PT_SHMEM_FIRST_NP + 1)
#define PT_CTL		(PTL_PT_SHMEM_FIRST_NP + 2)

#define EVENTS		4096		/* places in the queue, */
#define ROOM		(EVENTS - 8)	/* of which calls take so many */
#define SPINS		200u		/* looks at the queue before a wait sleeps in it */
#define LOOK_STEPS	16u		/* of these, of a millisecond each, between looks whether the node's PEs live */
#define SEGMENTS	64
#define LOOK_NS		INT64_C(100000000)	/* between looks whether others live */
#define MEET_NS		INT64_C(20000000)	/* until one that is lost is asked again, and later: */
#define MEET_MOST_NS	INT64_C(1000000000)

/* Match bits: 0-47 the waiter, or 1 and from bit 1 on the PE; 48 the epoch; 49-63 the key of a segment. */
#define WAITER_BITS	48
#define COUNTED		UINT64_C(1)	/* no struct has an odd address */
#define ANSWERED	UINT64_C(2)	/* not counted, a swap: it has a reply even where its operand was not read */
#define EPOCH_BIT	(UINT64_C(1) << WAITER_BITS)
#define KEY_SHIFT	49
#define KEY_MASK	0x7fffu
#define KEY_IGNORE	((UINT64_C(1) << KEY_SHIFT) - 1)

struct segment {
	uintptr_t lo, hi;
	uint32_t pt, key;
};

static struct {
	ptl_handle_eq_t eq;
	ptl_handle_md_t all, heap, data, ctl;	/* own memory: any; the heap; segment[1]; struct shmemi_ctl */
	ptl_handle_me_t me[SEGMENTS + 1];
	int n_me;
	struct segment segment[SEGMENTS];	/* the heap, the program's data, those of the libraries */
	int n_segments;
	ptl_process_id_t *id;			/* [n_pes] */
	int *leader;				/* [n_nodes] its first PE */
	int64_t room;				/* places in the queue that are left */
	uint32_t epoch, out[2];			/* operations that nobody waits for by name */
	pthread_mutex_t quiet;
	bool leaving;				/* errors are no news any more */
	int64_t look_at;
	int looked;				/* PE that was looked at last */
	struct shmemi_waiter look, met;		/* for the answer; for nobody */
} net = { .quiet = PTHREAD_MUTEX_INITIALIZER };

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- start and end ---- */

/* Libraries may come in another order there; where two have the same key neither is known. */
static uint32_t key_of(const char *name, int index)
{
	const char *base = strrchr(name, '/');
	uint32_t h = 2166136261u;

	for (base = base ? base + 1 : name; *base; base++)
		h = (h ^ (unsigned char)*base) * 16777619u;
	return 1 + (h ^ h >> 15 ^ (uint32_t)index * 2654435761u >> 7) % (KEY_MASK - 1);
}

static int add_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	bool *first = arg;
	uintptr_t relro = 0;

	if (*first) {			/* the program: segment[1] */
		*first = false;
		return 0;
	}
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			relro = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	for (int i = 0; i < info->dlpi_phnum && net.n_segments < SEGMENTS; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;
		uint32_t key = key_of(info->dlpi_name, i);
		bool known = false;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		if (relro > lo && relro < hi)
			lo = (relro + 4095) & ~(uintptr_t)4095;
		for (int k = 2; k < net.n_segments; k++)
			known |= net.segment[k].key == key;
		if (!known && hi > lo)
			net.segment[net.n_segments++] = (struct segment){ lo, hi, PT_DATA, key };
	}
	return 0;
}

/* Memory for others at @pt; @ignore and @how say which match bits fit, and who chooses the offset. */
static int attach_at(uint32_t pt, ptl_ins_pos_t pos, uint64_t bits, uint64_t ignore, unsigned how, const void *at,
		     size_t len, ptl_handle_me_t *me)
{
	ptl_process_id_t any = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY };
	ptl_md_t md = { .start = (void *)(uintptr_t)at, .length = len, .threshold = PTL_MD_THRESH_INF,
			.options = how | PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_EVENT_START_DISABLE |
				   PTL_MD_EVENT_END_DISABLE, .eq_handle = PTL_EQ_NONE };
	ptl_handle_md_t mdh;
	int rc = PtlMEAttach(shmemi.ni, pt, any, bits, ignore, PTL_RETAIN, pos, me);

	if (rc != PTL_OK)
		return rc;
	rc = PtlMDAttach(*me, md, PTL_RETAIN, &mdh);
	if (rc != PTL_OK)
		PtlMEUnlink(*me);
	return rc;
}

int shmemi_net_show(uint32_t pt, uint32_t key, void *at, size_t len, uint32_t *handle)
{
	uint64_t bits = (uint64_t)key << KEY_SHIFT;

	if (!key)			/* 0 bytes at 0 take 0 of all */
		return attach_at(pt, PTL_INS_AFTER, 0, UINT64_MAX, PTL_MD_TRUNCATE, at, len, handle);
	return attach_at(pt, PTL_INS_BEFORE, bits, KEY_IGNORE, PTL_MD_MANAGE_REMOTE, at, len, handle);
}

void shmemi_net_hide(uint32_t handle)
{
	PtlMEUnlink(handle);
}

static int show(uint32_t pt, uint32_t key, const void *at, size_t len)
{
	int rc = attach_at(pt, PTL_INS_AFTER, (uint64_t)key << KEY_SHIFT, KEY_IGNORE, PTL_MD_MANAGE_REMOTE, at, len,
			   &net.me[net.n_me]);

	net.n_me += rc == PTL_OK;
	return rc;
}

static int own_memory(uintptr_t at, size_t len, ptl_handle_md_t *mdh)
{
	ptl_md_t md = { .start = (void *)at, .length = len, .threshold = PTL_MD_THRESH_INF,
			.options = PTL_MD_EVENT_START_DISABLE, .eq_handle = net.eq };

	return PtlMDBind(shmemi.ni, md, PTL_RETAIN, mdh);
}

static int who(void)
{
	unsigned *node = calloc((size_t)shmemi.n_pes, sizeof(*node));
	int rc;

	net.id = calloc((size_t)shmemi.n_pes, sizeof(*net.id));
	net.leader = calloc((size_t)shmemi.n_nodes, sizeof(*net.leader));
	rc = node && net.id && net.leader ? PtlGetNodeMap_np(shmemi.ni, node, (unsigned)shmemi.n_pes) : PTL_NO_SPACE;
	for (int pe = shmemi.n_pes; rc == PTL_OK && pe--;) {
		net.leader[node[pe]] = pe;
		rc = PtlGetRankId(shmemi.ni, (unsigned)pe, &net.id[pe]);
	}
	free(node);
	return rc;
}

static int attach(void)
{
	bool first = true;
	int rc = who();

	net.segment[0] = (struct segment){ shmemi.heap, shmemi.heap + shmemi.heap_size, PT_HEAP, 0 };
	net.segment[1] = (struct segment){ shmemi.data, shmemi.data + shmemi.data_size, PT_DATA, 0 };
	net.n_segments = 2;
	dl_iterate_phdr(add_library, &first);
	if (rc == PTL_OK)
		rc = PtlEQAlloc(shmemi.ni, EVENTS, PTL_EQ_HANDLER_NONE, &net.eq);
	if (rc == PTL_OK)
		rc = own_memory(0, (size_t)1 << WAITER_BITS, &net.all);
	if (rc == PTL_OK)
		rc = own_memory(shmemi.heap, shmemi.heap_size, &net.heap);
	if (rc == PTL_OK)
		rc = own_memory(shmemi.data, shmemi.data_size, &net.data);
	if (rc == PTL_OK)
		rc = own_memory((uintptr_t)shmemi.ctl, sizeof(*shmemi.ctl), &net.ctl);
	for (int i = 0; rc == PTL_OK && i < net.n_segments; i++) {
		const struct segment *s = &net.segment[i];

		rc = show(s->pt, s->key, (void *)s->lo, s->hi - s->lo);
	}
	if (rc == PTL_OK)
		rc = show(PT_CTL, 0, shmemi.ctl, sizeof(*shmemi.ctl));
	return rc;
}

static void detach(void)
{
	for (int i = 0; i < net.n_me; i++)
		PtlMEUnlink(net.me[i]);
	net.n_me = 0;
	if (net.all != PTL_INVALID_HANDLE)
		PtlMDUnlink(net.all);
	if (net.heap != PTL_INVALID_HANDLE)
		PtlMDUnlink(net.heap);
	if (net.data != PTL_INVALID_HANDLE)
		PtlMDUnlink(net.data);
	if (net.ctl != PTL_INVALID_HANDLE)
		PtlMDUnlink(net.ctl);
	if (net.eq != PTL_INVALID_HANDLE)
		PtlEQFree(net.eq);
	free(net.id);
	free(net.leader);
	net.id = NULL;
	net.leader = NULL;
}

int shmemi_net_start(void)
{
	int rc;

	net.eq = net.all = net.heap = net.data = net.ctl = PTL_INVALID_HANDLE;
	net.room = ROOM;
	net.epoch = net.out[0] = net.out[1] = 0;
	net.look_at = 0;
	net.looked = shmemi.pe;
	net.look.left = 0;
	rc = attach();
	if (rc == PTL_OK)
		return 0;
	fprintf(stderr, "shmem[PE %d] error: symmetric memory cannot be shown to PEs of other nodes: %s\n", shmemi.pe,
		PtlErrorStr((unsigned)rc));
	detach();
	return -1;
}

/* ---- events ---- */

static int pe_of(ptl_process_id_t id)
{
	for (int pe = 0; pe < shmemi.n_pes; pe++)
		if (net.id[pe].nid == id.nid && net.id[pe].pid == id.pid)
			return pe;
	return -1;
}

/* Has a PE of another node ended the job? It says so before it ends. */
static void look_leaving(void)
{
	uint32_t leaving = __atomic_load_n(&shmemi.ctl->leaving, __ATOMIC_ACQUIRE);

	if (__builtin_expect(leaving && !net.leaving, 0))
		shmemi_told_to_leave((int)(leaving & 255));
}

/* Or one of this node, and has it ended by itself already? */
static void look_leaving_here(void)
{
	uint32_t leaving = shmemi.shared ? __atomic_load_n(&shmemi.shared->leaving, __ATOMIC_ACQUIRE) : 0;

	if (leaving && !net.leaving)
		shmemi_leave((int)(leaving & 255), false);
}

static void failed(int pe, const ptl_event_t *ev)
{
	if (net.leaving)
		return;
	look_leaving();
	look_leaving_here();
	if (ev->ni_fail_type == PTL_NI_FAULT_NP)
		shmemi_fatal("PE %d or this one: memory of an operation that is under way is not there, or not to be "
			     "reached (PTL_CMA, PTL_ADOPT)", pe);
	shmemi_fatal("PE %d has ended while operations on it are under way", pe);
}

static struct shmemi_waiter *waiter_of(uint64_t bits)
{
	return bits & COUNTED ? NULL : (struct shmemi_waiter *)(uintptr_t)(bits & (EPOCH_BIT - 1) & ~ANSWERED);
}

/* The PE that it is about. */
static int target_of(uint64_t bits)
{
	const struct shmemi_waiter *w = waiter_of(bits);

	return w ? w->pe : (int)((bits & (EPOCH_BIT - 1)) >> 1);
}

/* An operation is over. */
static void over(uint64_t bits)
{
	struct shmemi_waiter *w = waiter_of(bits);

	if (w)
		__atomic_sub_fetch(&w->left, 1, __ATOMIC_RELEASE);
	else
		__atomic_sub_fetch(&net.out[!!(bits & EPOCH_BIT)], 1, __ATOMIC_RELEASE);
}

static void went_wrong(struct shmemi_waiter *w, const ptl_event_t *ev)
{
	__atomic_add_fetch(ev->ni_fail_type == PTL_NI_FAULT_NP ? &w->unreachable : &w->failed, 1, __ATOMIC_RELAXED);
}

static void take(const ptl_event_t *ev)
{
	struct shmemi_waiter *w = waiter_of(ev->match_bits);

	if (ev->type == PTL_EVENT_SEND_END) {
		if (ev->ni_fail_type != PTL_NI_OK) {	/* so it has not been answered, and who waits does */
			if (!w || !w->tolerant)
				failed(target_of(ev->match_bits), ev);
			if (w && w->tolerant && !(ev->match_bits & ANSWERED)) {
				went_wrong(w, ev);
				over(ev->match_bits);
				__atomic_add_fetch(&net.room, 1, __ATOMIC_RELEASE);	/* nor will it be */
			}
		}
	} else if (ev->type == PTL_EVENT_ACK || ev->type == PTL_EVENT_REPLY_END) {
		if (w && w->tolerant && ev->ni_fail_type != PTL_NI_OK)
			went_wrong(w, ev);
		else if (ev->ni_fail_type != PTL_NI_OK)
			failed(pe_of(ev->initiator), ev);
		else if (w && w->tolerant && ev->mlength != ev->rlength)
			__atomic_add_fetch(&w->refused, 1, __ATOMIC_RELAXED);
		else if (ev->mlength != ev->rlength)
			shmemi_fatal("PE %d takes %zu of %zu bytes", pe_of(ev->initiator), (size_t)ev->mlength,
				     (size_t)ev->rlength);
		over(ev->match_bits);
	} else {
		return;			/* of no call: UNLINK */
	}
	__atomic_add_fetch(&net.room, 1, __ATOMIC_RELEASE);
}

static bool drain(void)
{
	ptl_event_t ev;
	bool any = false;

	while (PtlEQGet(net.eq, &ev) == PTL_OK) {
		take(&ev);
		any = true;
	}
	return any;
}

void shmemi_net_progress(void)
{
	drain();
}

/*
 * A PE of this node that has ended, + 1, or 0. Not each operation on it ends by an event: a short put that stands in
 * its inbox is nobody's. Not behind shmemi_net_last(): then they end as they should.
 */
static int look_near(void)
{
	if (!shmemi.shared || net.leaving || __atomic_load_n(&net.look_at, __ATOMIC_RELAXED) == INT64_MAX)
		return 0;
	look_leaving_here();
	for (int pe = 0; pe < shmemi.n_pes; pe++)
		if (shmemi.peer[pe].local >= 0 && pe != shmemi.pe && !smartmap_alive(shmemi.peer[pe].local))
			return pe + 1;
	return 0;
}

/*
 * One step of waiting for something that an event, or another thread with one, brings. The last events of one that has
 * died come first: the caller looks once more behind the step that found it dead, as in shmemi_wait_step().
 */
static void step(struct shmemi_wait *w)
{
	ptl_event_t ev;
	int which;

	if (drain())
		return;
	look_leaving();
	if (w->dead)
		shmemi_fatal("PE %d has ended while this one waits", w->dead - 1);
	if (++w->steps < SPINS) {
		if (shmemi.impatient)
			sched_yield();
		else
			shmemi_pause();
	} else if (PtlEQPoll(&net.eq, 1, 1, &ev, &which) == PTL_OK) {
		take(&ev);
	} else if (w->steps % LOOK_STEPS == 0) {
		w->dead = look_near();
	}
}

/* ---- calls ---- */

/* Before a call that may log @n events. */
static void get_room(int64_t n)
{
	struct shmemi_wait wait = { 0 };

	while (__atomic_sub_fetch(&net.room, n, __ATOMIC_ACQUIRE) < 0) {
		__atomic_add_fetch(&net.room, n, __ATOMIC_RELEASE);
		step(&wait);
	}
}

/* Count an operation on @pe that quiet waits for: its match bits. */
static uint64_t count(int pe)
{
	for (;;) {
		uint32_t e = __atomic_load_n(&net.epoch, __ATOMIC_SEQ_CST);

		__atomic_add_fetch(&net.out[e & 1], 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&net.epoch, __ATOMIC_SEQ_CST) == e)
			return COUNTED | (uint64_t)(unsigned)pe << 1 | (e & 1 ? EPOCH_BIT : 0);
		__atomic_sub_fetch(&net.out[e & 1], 1, __ATOMIC_SEQ_CST);	/* a quiet has begun without it */
	}
}

static void wait_for(struct shmemi_waiter *w)
{
	struct shmemi_wait wait = { 0 };

	while (__atomic_load_n(&w->left, __ATOMIC_ACQUIRE))
		step(&wait);
}

void shmemi_net_quiet(void)
{
	struct shmemi_wait wait = { 0 };
	uint32_t e;

	look_leaving();
	pthread_mutex_lock(&net.quiet);
	e = __atomic_fetch_add(&net.epoch, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&net.out[e & 1], __ATOMIC_ACQUIRE))
		step(&wait);
	pthread_mutex_unlock(&net.quiet);
}

void shmemi_net_fence(void)
{
	if (shmemi.no_windows)
		shmemi_net_quiet();
}

/* The segment of a symmetric object, or NULL. */
static const struct segment *segment_of(const void *sym, size_t len)
{
	for (int i = 0; i < net.n_segments; i++) {
		const struct segment *s = &net.segment[i];

		if ((uintptr_t)sym >= s->lo && (uintptr_t)sym < s->hi && len <= s->hi - (uintptr_t)sym)
			return s;
	}
	return NULL;
}

bool shmemi_net_symmetric(const void *sym, size_t len)
{
	return segment_of(sym, len);
}

/* Where @sym is: portal, offset, and the key in *@bits. */
static const struct segment *place(const char *routine, const void *sym, size_t len, int pe, uint64_t *bits)
{
	const struct segment *s = segment_of(sym, len);

	if (!s)
		shmemi_fatal("%s: %zu bytes at %p are neither in the symmetric heap nor in one variable that PE %d "
			     "has as well",
			     routine, len, (void *)(uintptr_t)sym, pe);
	*bits |= (uint64_t)s->key << KEY_SHIFT;
	return s;
}

/* The descriptor that @own lies in, and where. */
static ptl_handle_md_t own_md(const void *own, size_t len, uint64_t *off)
{
	const struct segment *s = net.segment;

	*off = (uintptr_t)own;
	if (*off >= s[0].lo && *off < s[0].hi && len <= s[0].hi - *off) {
		*off -= s[0].lo;
		return net.heap;
	}
	if (*off >= s[1].lo && *off < s[1].hi && len <= s[1].hi - *off) {
		*off -= s[1].lo;
		return net.data;
	}
	if (*off - (uintptr_t)shmemi.ctl < sizeof(*shmemi.ctl)) {
		*off -= (uintptr_t)shmemi.ctl;
		return net.ctl;
	}
	return net.all;
}

/* After a call: again, when there was no room for it. */
static bool again(const char *routine, int rc, int pe, struct shmemi_wait *wait)
{
	if (rc == PTL_OK)
		return false;
	if (rc != PTL_NO_SPACE)
		shmemi_fatal("%s: PE %d: %s", routine, pe, PtlErrorStr((unsigned)rc));
	step(wait);
	return true;
}

static void put_at(const char *routine, uint32_t pt, uint64_t roff, const void *own, size_t n, int pe, uint64_t bits)
{
	struct shmemi_wait wait = { 0 };
	uint64_t off;
	ptl_handle_md_t md = own_md(own, n, &off);

	get_room(2);			/* SEND_END, ACK */
	while (again(routine, PtlPutRegion(md, off, n, PTL_ACK_REQ, net.id[pe], pt, 0, bits, roff, 0), pe, &wait))
		;
}

/* A short one has been copied when the call returns. */
void shmemi_net_put(const char *routine, void *sym, const void *own, size_t n, int pe, bool nbi)
{
	struct shmemi_waiter w = { .left = 1, .pe = pe };
	bool waits = !nbi && n > PTL_INLINE_MAX_NP;
	uint64_t key = 0;
	const struct segment *s = place(routine, sym, n, pe, &key);

	put_at(routine, s->pt, (uintptr_t)sym - s->lo, own, n, pe, key | (waits ? (uintptr_t)&w : count(pe)));
	if (waits)
		wait_for(&w);
}

static void get_at(const char *routine, uint32_t pt, uint64_t roff, void *own, size_t n, int pe, uint64_t bits)
{
	struct shmemi_wait wait = { 0 };
	uint64_t off;
	ptl_handle_md_t md = own_md(own, n, &off);

	get_room(1);			/* REPLY_END */
	while (again(routine, PtlGetRegion(md, off, n, net.id[pe], pt, 0, bits, roff), pe, &wait))
		;
}

void shmemi_net_get(const char *routine, void *own, const void *sym, size_t n, int pe, bool nbi)
{
	struct shmemi_waiter w = { .left = 1, .pe = pe };
	uint64_t key = 0;
	const struct segment *s = place(routine, sym, n, pe, &key);

	get_at(routine, s->pt, (uintptr_t)sym - s->lo, own, n, pe, key | (nbi ? count(pe) : (uintptr_t)&w));
	if (!nbi)
		wait_for(&w);
}

_Static_assert((int)SHMEMI_AMO_FETCH == (int)PTL_ATOMIC_FETCH_NP && (int)SHMEMI_AMO_SET == (int)PTL_ATOMIC_SET_NP &&
	       (int)SHMEMI_AMO_SWAP == (int)PTL_ATOMIC_SWAP_NP && (int)SHMEMI_AMO_CSWAP == (int)PTL_ATOMIC_CSWAP_NP &&
	       (int)SHMEMI_AMO_ADD == (int)PTL_ATOMIC_ADD_NP && (int)SHMEMI_AMO_AND == (int)PTL_ATOMIC_AND_NP &&
	       (int)SHMEMI_AMO_OR == (int)PTL_ATOMIC_OR_NP && (int)SHMEMI_AMO_XOR == (int)PTL_ATOMIC_XOR_NP &&
	       (int)SHMEMI_AMO_MSWAP == (int)PTL_ATOMIC_MSWAP_NP, "passed on as they are");

/* A number as a word of @size bytes, and back. */
union word {
	uint16_t w2;
	uint32_t w4;
	uint64_t w8;
};

static union word word_of(uint64_t v, unsigned size)
{
	union word w = { 0 };

	if (size == 2)
		w.w2 = (uint16_t)v;
	else if (size == 4)
		w.w4 = (uint32_t)v;
	else
		w.w8 = v;
	return w;
}

static void amo_at(const char *routine, uint32_t pt, uint64_t roff, enum shmemi_amo op, unsigned size, uint64_t value,
		   uint64_t cond, int pe, void *old, uint64_t bits)
{
	union word v = word_of(value, size);
	uint64_t off, v_off;
	ptl_handle_md_t md = own_md(old, size, &off), v_md = own_md(&v, size, &v_off);
	struct shmemi_wait wait = { 0 };

	get_room(2);			/* SEND_END, REPLY_END */
	while (again(routine, PtlAtomic_np(md, off, v_md, v_off, (ptl_atomic_np_t)op, size, net.id[pe], pt, 0, bits,
					   roff, cond), pe, &wait))
		;
}

static void amo_on(const char *routine, enum shmemi_amo op, void *sym, unsigned size, uint64_t value, uint64_t cond,
		   int pe, void *old, uint64_t bits)
{
	const struct segment *s;

	if ((size != 2 && size != 4 && size != 8) || ((uintptr_t)sym & (size - 1)))
		shmemi_fatal("%s: %p is not aligned to %u bytes", routine, sym, size);
	s = place(routine, sym, size, pe, &bits);
	amo_at(routine, s->pt, (uintptr_t)sym - s->lo, op, size, value, cond, pe, old, bits);
}

uint64_t shmemi_net_amo(const char *routine, enum shmemi_amo op, void *sym, unsigned size, uint64_t value,
			uint64_t cond, int pe)
{
	struct shmemi_waiter w = { .left = 1, .pe = pe };
	union word old = { 0 };

	amo_on(routine, op, sym, size, value, cond, pe, &old, (uintptr_t)&w);
	wait_for(&w);
	return size == 2 ? old.w2 : size == 4 ? old.w4 : old.w8;
}

void shmemi_net_amo_nbi(const char *routine, enum shmemi_amo op, void *sym, unsigned size, uint64_t value,
			uint64_t cond, int pe, void *fetch)
{
	amo_on(routine, op, sym, size, value, cond, pe, fetch ? fetch : &shmemi.ctl->unused, count(pe));
}

bool shmemi_net_place(const void *sym, size_t len, struct shmemi_net_to *to)
{
	const struct segment *s = segment_of(sym, len);

	if (s)
		*to = (struct shmemi_net_to){ s->pt, s->key, (uintptr_t)sym - s->lo };
	return s;
}

/* Match bits of an operation that @w is told of. */
static uint64_t counted_in(const struct shmemi_net_to *to, struct shmemi_waiter *w)
{
	__atomic_add_fetch(&w->left, 1, __ATOMIC_RELAXED);
	return (uint64_t)to->key << KEY_SHIFT | (uintptr_t)w;
}

void shmemi_net_put_to(const struct shmemi_net_to *to, const void *own, size_t n, int pe, struct shmemi_waiter *w)
{
	put_at("put", to->pt, to->off, own, n, pe, counted_in(to, w));
}

void shmemi_net_get_to(const struct shmemi_net_to *to, void *own, size_t n, int pe, struct shmemi_waiter *w)
{
	get_at("get", to->pt, to->off, own, n, pe, counted_in(to, w));
}

void shmemi_net_amo_to(const struct shmemi_net_to *to, enum shmemi_amo op, uint64_t value, uint64_t cond, int pe,
		       void *old, struct shmemi_waiter *w)
{
	amo_at("amo", to->pt, to->off, op, 8, value, cond, pe, old ? old : &shmemi.ctl->unused,
	       counted_in(to, w) | ANSWERED);
}

void shmemi_net_step(struct shmemi_wait *w)
{
	step(w);
}

void shmemi_net_ctl(int pe, struct shmemi_ctl *ctl)
{
	struct shmemi_waiter w = { .left = 1, .pe = pe };

	get_at("shmem_init", PT_CTL, 0, ctl, sizeof(*ctl), pe, (uintptr_t)&w);
	wait_for(&w);
}

/* ---- the job ---- */

/*
 * Dissemination by looking: a node says in its first PE how many rounds it has done, and has done round r when the one
 * 2^r further on has done those before. A get that comes before its target shows anything is dropped there, so it is
 * sent again; what was slow, not lost, still comes, to the same place. A lost one costs its place in the queue, so
 * they come ever more seldom: these places last for an hour.
 */
int shmemi_net_meet(void)
{
	shmemi_ctl_of(net.leader[shmemi.node]);		/* now: barriers want it when it is no longer published, too */
	for (uint32_t r = 0; shmemi.pe == net.leader[shmemi.node] && 1 << r < shmemi.n_nodes; r++) {
		uint32_t *there = &shmemi.ctl->there[r];	/* a late answer says nothing in another one */
		int64_t patience = MEET_NS;

		__atomic_store_n(&shmemi.ctl->met, r + 1, __ATOMIC_RELEASE);
		while (__atomic_load_n(there, __ATOMIC_ACQUIRE) <= r) {
			int64_t until = now() + patience;
			struct shmemi_wait wait = { 0 };

			get_at("shmem_init", PT_CTL, offsetof(struct shmemi_ctl, met), there, sizeof(*there),
			       net.leader[(shmemi.node + (1 << r)) % shmemi.n_nodes], (uintptr_t)&net.met);
			while (__atomic_load_n(there, __ATOMIC_ACQUIRE) <= r && now() < until)
				step(&wait);
			patience += patience < MEET_MOST_NS ? patience / 4 : 0;
		}
	}
	if (shmemi.pe == net.leader[shmemi.node])
		__atomic_store_n(&shmemi.ctl->met, 32, __ATOMIC_RELEASE);
	return 0;
}

void shmemi_net_last(void)
{
	__atomic_store_n(&net.look_at, INT64_MAX, __ATOMIC_RELEASE);
	wait_for(&net.look);
}

void shmemi_net_stop(void)
{
	shmemi_net_quiet();
	detach();
}

/*
 * Dissemination among the nodes: in round r each tells the one 2^r further on, by a counter of its first PE, and waits
 * for the one 2^r before. It counts, and does not say a number: another PE of the node may be the last in the next
 * barrier, and what it sends may come before what the last one of this has sent.
 */
void shmemi_net_barrier(uint32_t turn)
{
	int n = shmemi.n_nodes;
	struct shmemi_ctl *own = shmemi_ctl_of(net.leader[shmemi.node]);

	for (int r = 0; 1 << r < n; r++) {
		struct shmemi_wait w = { 0 };
		int to = net.leader[(shmemi.node + (1 << r)) % n];

		amo_at("shmem_barrier", PT_CTL, offsetof(struct shmemi_ctl, round[r]), SHMEMI_AMO_ADD, 4, 1, 0, to,
		       &shmemi.ctl->unused, count(to));
		while ((int32_t)(__atomic_load_n(&own->round[r], __ATOMIC_ACQUIRE) - turn) < 0)
			shmemi_wait_step(&w);
	}
}

/* Who waits for a PE needs an operation that fails when that one ends: a get of a word, which nobody waits for. */
void shmemi_net_look(void)
{
	int64_t t = now(), at = __atomic_load_n(&net.look_at, __ATOMIC_RELAXED);
	int pe = net.looked;

	drain();
	look_leaving();
	if (t < at || !__atomic_compare_exchange_n(&net.look_at, &at, t + LOOK_NS, 0, __ATOMIC_ACQ_REL,
						   __ATOMIC_RELAXED))
		return;
	if (__atomic_load_n(&net.look.left, __ATOMIC_ACQUIRE))
		return;			/* the last one has not been answered: its process is stopped, or slow */
	do
		pe = (pe + 1) % shmemi.n_pes;
	while (shmemi.peer[pe].local >= 0 && pe != net.looked);
	net.looked = pe;
	if (shmemi.peer[pe].local >= 0)
		return;
	__atomic_store_n(&net.look.left, 1, __ATOMIC_RELAXED);
	get_at("shmem_wait", PT_CTL, 0, &shmemi.ctl->unused, sizeof(uint32_t), pe, (uintptr_t)&net.look);
}

void shmemi_net_exit(uint32_t leaving)
{
	int64_t until = now() + 1000000000;

	if (__atomic_exchange_n(&net.leaving, true, __ATOMIC_ACQ_REL))
		return;
	for (int pe = 0; pe < shmemi.n_pes; pe++)
		while (shmemi.peer[pe].local < 0 && now() < until) {
			uint64_t off;
			ptl_handle_md_t md = own_md(&leaving, sizeof(leaving), &off);
			uint64_t bits = count(pe);

			if (PtlPutRegion(md, off, sizeof(leaving), PTL_ACK_REQ, net.id[pe], PT_CTL, 0, bits,
					 offsetof(struct shmemi_ctl, leaving), 0) == PTL_OK)
				break;
			over(bits);
			drain();
			sched_yield();
		}
	while (__atomic_load_n(&net.out[0], __ATOMIC_ACQUIRE) + __atomic_load_n(&net.out[1], __ATOMIC_ACQUIRE) &&
	       now() < until) {
		drain();
		sched_yield();
	}
}
