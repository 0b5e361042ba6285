/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ptl.h - what the Portals tests have in common
 *
 * One suite runs in one process that sends to itself, and in pairs of ranks (2k sends to 2k+1). INI marks what the
 * sending side does, TGT what the target does, p_step() separates phases: a barrier that does not use Portals. While
 * it waits, the target makes no Portals call, unless T_POLL=1: then it polls an empty event queue, so that the same
 * messages take the inbox. Nothing sleeps to be right: p_sync() returns when all earlier messages of the pair have
 * been matched or dropped (a later message of the same pair has been acknowledged).
 */
#ifndef T_PTL_H
#define T_PTL_H

#include "multi.h"
#include "tap.h"

#include <pthread.h>
#include <signal.h>

#include <p3rt/p3rt.h>
#include <portals3.h>

#define PT	4		/* the portal under test */
#define PT_SYNC	9

static ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
static ptl_ni_limits_t lim, *p_desired;	/* in force; wanted by the program, or NULL */
static ptl_process_id_t self, peer;
static const ptl_process_id_t anyone = { PTL_NID_ANY, PTL_PID_ANY };
static int p_ini = 1, p_tgt = 1, p_poll;
static ptl_handle_eq_t ieq, teq;	/* events of the sending side, of the target */
static ptl_handle_eq_t p_idle_eq, p_sync_eq;
static ptl_handle_md_t p_sync_md, p_sync_target_md;
static ptl_handle_me_t p_sync_me;
static double p_patience = 20;		/* seconds for an event; less after the first that never came */

#define INI if (p_ini)
#define TGT if (p_tgt)
/* Cannot go on: alone, leave the case; with other ranks waiting for us, end them all. */
#define NEED(cond) do {								\
	if (!CHECK(cond)) {							\
		if (t_size() > 1)						\
			bail("rank %d: %s:%d: %s", t_rank(), __FILE__, __LINE__, #cond);	\
		return;								\
	}									\
} while (0)
#define OK(call) CHECK_INT(call, PTL_OK)
#define NEED_OK(call) NEED(OK(call))

__attribute__((unused)) static ptl_process_id_t p_id(int rank)
{
	ptl_process_id_t id = { 0, 0 };

	if (PtlGetRankId(ni, (unsigned)rank, &id) != PTL_OK)
		bail("PtlGetRankId(%d)", rank);
	return id;
}

__attribute__((unused)) static ptl_md_t p_md(void *start, size_t len, int threshold, unsigned options,
					     ptl_handle_eq_t eq)
{
	return (ptl_md_t){ .start = start, .length = len, .threshold = threshold, .max_size = 0, .options = options,
			   .user_ptr = (void *)0x5eed, .eq_handle = eq };
}

/* PtlMDUnlink, when what was sent from it has been read: between nodes, when the target has acknowledged it. */
__attribute__((unused)) static int p_unlink_sent(ptl_handle_md_t md)
{
	double until = t_now() + p_patience;
	int rc;

	while ((rc = PtlMDUnlink(md)) == PTL_MD_IN_USE && t_now() < until)
		sched_yield();
	return rc;
}

/* Wait for the next event. Return: the code of PtlEQGet, PTL_EQ_EMPTY when none came in time. */
__attribute__((unused)) static int p_get(ptl_handle_eq_t eq, ptl_event_t *ev)
{
	double until = 0;
	int rc;

	for (unsigned n = 0;; n++) {
		rc = PtlEQGet(eq, ev);
		if (rc != PTL_EQ_EMPTY)
			return rc;
		if (n % 64 != 63)
			continue;
		sched_yield();
		if (!until)
			until = t_now() + p_patience;
		else if (t_now() > until)
			break;
	}
	p_patience = 0.5;
	return PTL_EQ_EMPTY;
}

/* The next @n events are of these kinds, in this order. Returns how many were. */
__attribute__((unused)) static int p_events_(ptl_handle_eq_t eq, ptl_event_t *ev, const ptl_event_kind_t *want, int n,
					     const char *file, int line)
{
	for (int i = 0; i < n; i++) {
		int rc = p_get(eq, &ev[i]);

		if (rc != PTL_OK || ev[i].type != want[i]) {
			atomic_fetch_add(&t_bad_, 1);
			diag("%s:%d: event %d: got %s %s, want %s", file, line, i, PtlErrorStr((unsigned)rc),
			     rc == PTL_OK || rc == PTL_EQ_DROPPED ? PtlEventKindStr(ev[i].type) : "",
			     PtlEventKindStr(want[i]));
			for (; i < n; i++)
				memset(&ev[i], 0xee, sizeof(ev[i]));
			while (PtlEQGet(eq, &(ptl_event_t){ 0 }) == PTL_OK)
				;
			return 0;
		}
		if (ev[i].ni_fail_type != PTL_NI_OK) {
			atomic_fetch_add(&t_bad_, 1);
			diag("%s:%d: event %d: ni_fail_type %u", file, line, i, ev[i].ni_fail_type);
		}
	}
	return n;
}
#define EVENTS(eq, ev, ...)									\
	p_events_(eq, ev, (const ptl_event_kind_t[]){ __VA_ARGS__ },				\
		  (int)(sizeof((const ptl_event_kind_t[]){ __VA_ARGS__ }) / sizeof(ptl_event_kind_t)),	\
		  __FILE__, __LINE__)

/*
 * The events of an acknowledged put into ev[0..]: SEND_START, SEND_END, ACK, and UNLINK last where @unlink. The ACK
 * may be read before SEND_END (5.4 item 8); here it is put back behind it.
 */
__attribute__((unused)) static void p_acked_(ptl_handle_eq_t eq, ptl_event_t *ev, int unlink, const char *file,
					     int line)
{
	static const ptl_event_kind_t want[] = { PTL_EVENT_SEND_START, PTL_EVENT_SEND_END, PTL_EVENT_ACK,
						 PTL_EVENT_UNLINK };

	memset(ev, 0xee, 4 * sizeof(*ev));
	for (int i = 0; i < 3 + unlink; i++)
		if (!t_check_int_(p_get(eq, &ev[i]), PTL_OK, file, line, "event of an acknowledged put"))
			return;
	if (ev[1].type == PTL_EVENT_ACK) {
		ptl_event_t e = ev[1];

		ev[1] = ev[2];
		ev[2] = e;
	}
	for (int i = 0; i < 3 + unlink; i++) {
		t_check_int_(ev[i].type, want[i], file, line, "event kind");
		t_check_int_(ev[i].ni_fail_type, PTL_NI_OK, file, line, "ni_fail_type");
	}
}
#define ACKED(eq, ev, unlink) p_acked_(eq, ev, unlink, __FILE__, __LINE__)

/* No event is there. Only after p_sync() or a barrier behind one does this say something. */
#define NONE(eq) CHECK_INT(PtlEQGet(eq, &(ptl_event_t){ 0 }), PTL_EQ_EMPTY)

/* All earlier messages of this process to @to have been matched or dropped. They may be all that there is room for. */
__attribute__((unused)) static void p_sync_with(ptl_process_id_t to)
{
	ptl_event_t ev;
	int rc;

	while ((rc = PtlPut(p_sync_md, PTL_ACK_REQ, to, PT_SYNC, 0, 0, 0, 0)) == PTL_NO_SPACE)
		sched_yield();
	if (rc == PTL_OK)
		rc = p_get(p_sync_eq, &ev);
	if (rc != PTL_OK || ev.type != PTL_EVENT_ACK)
		bail("rank %d: the synchronising message is not acknowledged: %s", t_rank(), PtlErrorStr((unsigned)rc));
}

__attribute__((unused)) static void p_sync(void)
{
	p_sync_with(peer);
}

/* A barrier. With T_POLL=1 the library is polled meanwhile. */
__attribute__((unused)) static void p_step(void)
{
	struct t_page *p = t_page();
	uint32_t turn = atomic_load(&p->turn);

	if (!p_poll) {
		t_barrier();
		return;
	}
	if (atomic_fetch_add(&p->arrived, 1) + 1 == p->size) {
		atomic_store(&p->arrived, 0);
		atomic_fetch_add(&p->turn, 1);
		return;
	}
	for (unsigned n = 0; atomic_load(&p->turn) == turn; n++) {
		CHECK_INT(PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 }), PTL_EQ_EMPTY);
		if (atomic_load(&p->dead))
			bail("rank %d: another rank has died", t_rank());
		if (n % 256 == 255)
			sched_yield();
	}
}

/* Registers that tests compare. */
__attribute__((unused)) static long long p_status(ptl_sr_index_t i)
{
	ptl_sr_value_t v = -1;

	CHECK_INT(PtlNIStatus(ni, i, &v), PTL_OK);
	return v;
}

__attribute__((unused)) static long long p_drops(void)
{
	return p_status(PTL_SR_DROP_COUNT);
}

/* The same where nothing says that the last message has come: as soon as it is @want, or what it was when
 * patience ended. */
__attribute__((unused)) static long long p_drops_soon(long long want)
{
	double until = t_now() + p_patience;

	while (p_drops() != want && t_now() < until) {
		if (t_size() == 1)	/* nobody but us makes progress */
			PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 });
		sched_yield();
	}
	return p_drops();
}

/* What this rank knows, for whoever reads why a test failed: the registers and, with PTL_DUMP_SIGNAL, the interface. */
__attribute__((unused)) static void p_tell(void)
{
	static const struct reg {
		ptl_sr_index_t i;
		const char *name;
	} sr[] = { { PTL_SR_DROP_COUNT, "drop_count" }, { PTL_SR_DROP_LENGTH, "drop_length" },
		   { PTL_SR_RECV_COUNT, "recv_count" }, { PTL_SR_RECV_LENGTH, "recv_length" },
		   { PTL_SR_SEND_COUNT, "send_count" }, { PTL_SR_SEND_LENGTH, "send_length" },
		   { PTL_SR_CORRUPT_NP, "corrupt" } };
	const char *sig = getenv("PTL_DUMP_SIGNAL");
	char line[512] = "";
	int at = 0;

	for (size_t k = 0; k < sizeof(sr) / sizeof(*sr); k++) {
		ptl_sr_value_t v = -1;
		int rc = PtlNIStatus(ni, sr[k].i, &v);

		at += snprintf(line + at, sizeof(line) - (size_t)at, " %s %lld", sr[k].name, rc ? -1LL : (long long)v);
	}
	diag("%s:%d: registers:%s", __FILE__, __LINE__, line);
	if (sig && atoi(sig) > 0)
		raise(atoi(sig));
}

/* An entry for anyone, with an MD, at the tail of PT (or elsewhere). */
__attribute__((unused)) static int p_post_at(ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_match_bits_t ignore,
					     ptl_unlink_t me_unlink, ptl_md_t md, ptl_unlink_t unlink_op,
					     ptl_handle_me_t *me, ptl_handle_md_t *mdh)
{
	int rc = PtlMEAttach(ni, pt, anyone, bits, ignore, me_unlink, PTL_INS_AFTER, me);

	return rc ? rc : PtlMDAttach(*me, md, unlink_op, mdh);
}

__attribute__((unused)) static int p_post(ptl_match_bits_t bits, ptl_md_t md, ptl_handle_me_t *me,
					  ptl_handle_md_t *mdh)
{
	return p_post_at(PT, bits, 0, PTL_RETAIN, md, PTL_RETAIN, me, mdh);
}

/* Send [p, p+len) with a descriptor of its own that goes by itself; events to @eq. */
__attribute__((unused)) static int p_put_full(const void *p, size_t len, ptl_ack_req_t ack, ptl_pt_index_t pt,
					      ptl_match_bits_t bits, ptl_size_t offset, ptl_hdr_data_t hdr,
					      ptl_handle_eq_t eq)
{
	ptl_md_t md = p_md((void *)(uintptr_t)p, len, ack == PTL_ACK_REQ ? 2 : 1, 0, eq);
	ptl_handle_md_t h;
	int rc = PtlMDBind(ni, md, PTL_UNLINK, &h);

	return rc ? rc : PtlPut(h, ack, peer, pt, 0, bits, offset, hdr);
}

/* The same, without events. */
__attribute__((unused)) static int p_put(const void *p, size_t len, ptl_match_bits_t bits)
{
	return p_put_full(p, len, PTL_NO_ACK_REQ, PT, bits, 0, 0, PTL_EQ_NONE);
}

__attribute__((unused)) static void p_fill(void *p, size_t len, unsigned seed)
{
	unsigned char *c = p;
	uint64_t s = seed;

	for (size_t i = 0; i < len; i++)
		c[i] = (unsigned char)(i % 8 ? s >> i % 8 * 8 : t_random(&s));
}

static void *p_sleeper_(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* T_SERIAL=1: this is a process with two threads, of which one makes all calls, and promises that. */
static void p_serial_(void)
{
	const char *serial = getenv("T_SERIAL");
	pthread_t th;

	if (serial && atoi(serial) && (pthread_create(&th, NULL, p_sleeper_, NULL) || PtlNISerial_np(ni, 1, NULL)))
		bail("PtlNISerial_np");
}

__attribute__((unused)) static void p_init(void)
{
	const char *poll = getenv("T_POLL");
	int max, rc;
	unsigned rank, size;

	setvbuf(stdout, NULL, _IOLBF, 0);
	p_poll = poll && atoi(poll);
	rc = PtlInit(&max);
	if (rc)
		bail("PtlInit: %s", PtlErrorStr((unsigned)rc));
	rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, p_desired, &lim, &ni);
	if (rc)
		bail("PtlNIInit: %s", PtlErrorStr((unsigned)rc));
	p_serial_();
	if (PtlGetRank(ni, &rank, &size) || (int)rank != t_rank() || (int)size != t_size())
		bail("PtlGetRank: not the rank and size that we were started with");
	if (PtlGetId(ni, &self))
		bail("PtlGetId");
	if (t_size() > 1) {
		p_ini = t_rank() % 2 == 0;
		p_tgt = !p_ini;
		peer = (t_rank() ^ 1) < t_size() ? p_id(t_rank() ^ 1) : self;
	} else {
		peer = self;
	}
	if (PtlEQAlloc(ni, 256, PTL_EQ_HANDLER_NONE, &ieq) || PtlEQAlloc(ni, 256, PTL_EQ_HANDLER_NONE, &teq) ||
	    PtlEQAlloc(ni, 2, PTL_EQ_HANDLER_NONE, &p_idle_eq) || PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &p_sync_eq))
		bail("PtlEQAlloc");
	if (p_post_at(PT_SYNC, 0, ~0ull, PTL_RETAIN,
		      p_md(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE), PTL_RETAIN,
		      &p_sync_me, &p_sync_target_md))
		bail("the entry for synchronising messages");
	if (PtlMDBind(ni, p_md(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
			       p_sync_eq), PTL_RETAIN, &p_sync_md))
		bail("the descriptor for synchronising messages");
	t_barrier();
}

__attribute__((unused)) static int p_main(const struct t_case *cases)
{
	int rc;

	p_init();
	rc = t_run(cases);
	t_barrier();
	PtlFini();
	return rc;
}

#endif
