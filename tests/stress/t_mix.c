/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_mix.c - all ranks send to all, messages of all sizes, while each switches between polling, waiting, computing and
 * being away: nothing is lost, doubled or damaged, and the order of each pair is kept
 *
 * A sender has WINDOW places of MAX_LEN bytes at each receiver and uses them in turn (remote offset); the receiver
 * gives a place back by a message to the credit portal once it has looked at the bytes. Message number, pair and seed
 * determine length and bytes. Puts that find too many handed copies under way (PTL_NO_SPACE) are made again later.
 */
#include "stress.h"

#define PT_CREDIT	5
#define WINDOW		16
#define MAX_LEN		(128u << 10)

static ptl_handle_eq_t eq;		/* everything that comes in */
static unsigned char *inbox[64], *outbox;
static struct {
	ptl_process_id_t id;
	ptl_handle_md_t md;		/* what is sent to it */
	uint64_t sent, credits;		/* places given back by it */
	uint32_t busy;			/* places at it that hold a message of ours: a bit each */
	uint32_t owed;			/* places given back to it, not told yet: messages of a pair end in any order */
	uint64_t started, ended;	/* from it */
	uint64_t open[WINDOW];		/* message + 1 in each place: started, not ended */
} with[64];
static ptl_handle_md_t credit_md;
static int told;

static uint64_t mix(uint64_t from, uint64_t to, uint64_t n)
{
	uint64_t s = seed ^ from << 48 ^ to << 32 ^ n;

	return t_random(&s);
}

static size_t length_of(int from, int to, uint64_t n)
{
	uint64_t r = mix((uint64_t)from, (uint64_t)to, n);

	switch (r & 15) {
	case 0: return 8192 + (r >> 8) % (MAX_LEN - 8192);
	case 1: case 2: return (r >> 8) % 8193;
	case 3: return 0;
	default: return (r >> 8) % 200;
	}
}

#define BYTES	0x1000000000ull
#define NEXT(i)	((i) < 512 ? 1 : 61)

static unsigned char byte_of(uint64_t r, size_t i)
{
	return (unsigned char)(r >> i % 57);
}

static void write_bytes(unsigned char *p, int from, int to, uint64_t n)
{
	uint64_t r = mix((uint64_t)from, (uint64_t)to, n + BYTES);
	size_t len = length_of(from, to, n);

	for (size_t i = 0; i < len; i += NEXT(i))
		p[i] = byte_of(r, i);
}

/* The length, if all are right. */
static size_t first_wrong(const unsigned char *p, int from, int to, uint64_t n)
{
	uint64_t r = mix((uint64_t)from, (uint64_t)to, n + BYTES);
	size_t len = length_of(from, to, n), i;

	for (i = 0; i < len && p[i] == byte_of(r, i); i += NEXT(i))
		;
	return i < len ? i : len;
}

static int from_of(const ptl_event_t *ev)
{
	for (int r = 0; r < size; r++)
		if (with[r].id.nid == ev->initiator.nid && with[r].id.pid == ev->initiator.pid)
			return r;
	return -1;
}

/* A check about message @n of rank @r failed: everything that may tell why, in one line; once what this rank knows. */
static void wrong(int line, const char *what, uint64_t got, uint64_t want, int r, int rc, const ptl_event_t *ev)
{
	uint64_t n = ev->hdr_data;

	if (atomic_fetch_add(&t_bad_, 1) < 20)
		diag("%s:%d: %s: got %llu, want %llu (T_SEED=%llu); from rank %d, %s, %s, message %llu, pt %u, mlength "
		     "%llu, rlength %llu of %llu, offset %llu, link %u, sequence %u, ni_fail %u; from it %llu started, %llu "
		     "ended, to it %llu sent, %llu credits",
		     __FILE__, line, what, (unsigned long long)got, (unsigned long long)want, (unsigned long long)seed,
		     r, PtlErrorStr((unsigned)rc), PtlEventKindStr(ev->type), (unsigned long long)n,
		     (unsigned)ev->pt_index, (unsigned long long)ev->mlength, (unsigned long long)ev->rlength,
		     (unsigned long long)(r < 0 ? 0 : length_of(r, rank, n)), (unsigned long long)ev->offset,
		     (unsigned)ev->link, (unsigned)ev->sequence, (unsigned)ev->ni_fail_type,
		     (unsigned long long)with[r < 0 ? 0 : r].started, (unsigned long long)with[r < 0 ? 0 : r].ended,
		     (unsigned long long)with[r < 0 ? 0 : r].sent, (unsigned long long)with[r < 0 ? 0 : r].credits);
	if (!told++)
		p_tell();
}

static void event(int rc, const ptl_event_t *ev)
{
#define SAME(got, want, what) do {								\
	if ((uint64_t)(got) != (uint64_t)(want))						\
		wrong(__LINE__, what, (uint64_t)(got), (uint64_t)(want), r, rc, ev);		\
} while (0)
	int r = from_of(ev);
	uint64_t n = ev->hdr_data;
	const unsigned char *p;
	size_t at;

	SAME(rc, PTL_OK, "code of the get");
	SAME(r < 0, 0, "the initiator is nobody");
	SAME(ev->ni_fail_type, PTL_NI_OK, "ni_fail_type");
	if (rc != PTL_OK || r < 0 || ev->ni_fail_type)
		return;
	if (ev->pt_index == PT_CREDIT) {
		if (ev->type == PTL_EVENT_PUT_END) {
			with[r].credits++;
			with[r].busy &= ~(1u << n % WINDOW);
		}
		return;
	}
	if (ev->type == PTL_EVENT_PUT_START) {
		SAME(n, with[r].started, "order of the pair");
		with[r].started++;
		with[r].open[n % WINDOW] = n + 1;
		return;
	}
	SAME(ev->type, PTL_EVENT_PUT_END, "kind of event");
	SAME(with[r].open[n % WINDOW], n + 1, "start of this message, plus one");
	with[r].open[n % WINDOW] = 0;
	with[r].ended++;
	SAME(ev->mlength, length_of(r, rank, n), "length");
	SAME(ev->offset, n % WINDOW * MAX_LEN, "offset");
	p = inbox[r] + n % WINDOW * MAX_LEN;
	at = first_wrong(p, r, rank, n);
	if (at < length_of(r, rank, n)) {
		SAME(p[at], byte_of(mix((uint64_t)r, (uint64_t)rank, n + BYTES), at), "a byte");
		diag("it is byte %zu; from there: %02x %02x %02x %02x %02x %02x %02x %02x", at, p[at],
		     p[at + 1], p[at + 2], p[at + 3], p[at + 4], p[at + 5], p[at + 6], p[at + 7]);
	}
#undef SAME
	with[r].owed |= 1u << n % WINDOW;
}

static void give_credits(void)
{
	for (int r = 0; r < size; r++)
		while (with[r].owed) {
			unsigned place = (unsigned)__builtin_ctz(with[r].owed);
			int rc = PtlPut(credit_md, PTL_NO_ACK_REQ, with[r].id, PT_CREDIT, 0, 0, 0, place);

			if (rc != PTL_OK && rc != PTL_NO_SPACE)
				CHECK_INT(rc, PTL_OK);
			if (rc != PTL_OK)
				break;
			with[r].owed &= ~(1u << place);
		}
}

static void drain(void)
{
	ptl_event_t ev;
	int rc;

	while ((rc = PtlEQGet(eq, &ev)) != PTL_EQ_EMPTY) {
		event(rc, &ev);
		if (rc != PTL_OK && rc != PTL_EQ_DROPPED)
			return;
	}
	give_credits();
}

static void send_one(int to)
{
	uint64_t n = with[to].sent;
	size_t len = length_of(rank, to, n);
	unsigned char *from = outbox;
	int rc;

	if (with[to].busy >> n % WINDOW & 1)
		return;
	/* larger ones are locally complete with SEND_END only: here they have gone when the target gives its credit;
	 * each peer and place has bytes of its own */
	if (len > PTL_INLINE_MAX_NP)
		from += MAX_LEN * (1 + (size_t)to * WINDOW + n % WINDOW);
	write_bytes(from, rank, to, n);
	rc = PtlPutRegion(with[to].md, (ptl_size_t)(from - outbox), len, PTL_NO_ACK_REQ, with[to].id, PT, 0, 0,
			  n % WINDOW * MAX_LEN, n);
	if (rc == PTL_OK) {
		with[to].sent++;
		with[to].busy |= 1u << n % WINDOW;
	} else if (rc != PTL_NO_SPACE) {
		CHECK_INT(rc, PTL_OK);
	}
}

static void t_mixture_of_movers_keeps_order(void)
{
	const char *secs = getenv("T_SECONDS");
	double until = t_now() + (secs ? atof(secs) : 4), give_up;
	uint64_t r = seed + (uint64_t)rank * 977, sent = 0, ended = 0;
	ptl_handle_me_t me;

	OK(PtlEQAlloc(ni, (ptl_size_t)size * WINDOW * 8, PTL_EQ_HANDLER_NONE, &eq));
	outbox = malloc(MAX_LEN * (1 + (size_t)size * WINDOW));
	NEED(outbox);
	for (int i = 0; i < size; i++) {
		inbox[i] = malloc(MAX_LEN * WINDOW + 8);
		NEED(inbox[i]);
		with[i].id = p_id(i);
		OK(PtlMEAttach(ni, PT, with[i].id, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me));
		OK(PtlMDAttach(me, p_md(inbox[i], MAX_LEN * WINDOW, PTL_MD_THRESH_INF,
					PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN, NULL));
		OK(PtlMDBind(ni, p_md(outbox, MAX_LEN * (1 + (size_t)size * WINDOW), PTL_MD_THRESH_INF, 0, PTL_EQ_NONE),
			     PTL_RETAIN, &with[i].md));
	}
	OK(p_post_at(PT_CREDIT, 0, ~0ull, PTL_RETAIN,
		     p_md(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &me,
		     NULL));
	OK(PtlMDBind(ni, p_md(NULL, 0, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &credit_md));
	t_barrier();
	while (t_now() < until && t_bad_ < 10) {
		uint64_t x = t_random(&r);
		ptl_event_t ev;
		int which, rc;

		give_credits();
		switch (x & 7) {
		case 0:		/* away: the library is not called */
			if (x >> 8 & 15)
				sched_yield();
			else
				nanosleep(&(struct timespec){ 0, (long)(x >> 16 & 0xfffff) }, NULL);
			break;
		case 1:		/* compute */
			for (volatile unsigned i = 0; i < (x >> 8 & 0xfff); i++)
				;
			break;
		case 2:		/* wait, perhaps asleep */
			rc = PtlEQPoll(&eq, 1, (ptl_time_t)(x >> 8 & 1), &ev, &which);
			if (rc != PTL_EQ_EMPTY)
				event(rc, &ev);
			break;
		case 3:
		case 4:		/* poll for a while */
			for (unsigned i = 0; i < (x >> 8 & 255); i++) {
				rc = PtlEQGet(eq, &ev);
				if (rc != PTL_EQ_EMPTY)
					event(rc, &ev);
			}
			break;
		default:
			for (unsigned i = 0; i < (x >> 8 & 15) + 1; i++)
				send_one((int)((x >> 16) % (unsigned)size));
		}
	}
	/* how many each has sent; then everybody takes what is still on its way */
	for (int i = 0; i < size; i++) {
		atomic_store(t_word(rank * 12 + i), with[i].sent);
		sent += with[i].sent;
	}
	t_barrier();
	give_up = t_now() + 30;
	for (int i = 0; i < size; i++)
		while ((with[i].ended < atomic_load(t_word(i * 12 + rank)) || with[i].credits < with[i].sent ||
			with[i].owed) && t_now() < give_up && t_bad_ < 10) {
			drain();
			sched_yield();
		}
	for (int i = 0; i < size; i++) {
		uint64_t theirs = atomic_load(t_word(i * 12 + rank));

		ended += with[i].ended;
		if (with[i].started != theirs || with[i].ended != theirs || with[i].credits != with[i].sent)
			diag("%s:%d: with rank %d: it sent %llu, of those %llu started, %llu ended; sent to it %llu, "
			     "credits %llu",
			     __FILE__, __LINE__, i, (unsigned long long)theirs, (unsigned long long)with[i].started,
			     (unsigned long long)with[i].ended, (unsigned long long)with[i].sent,
			     (unsigned long long)with[i].credits);
		CHECK_INT(with[i].started, theirs);
		CHECK_INT(with[i].ended, theirs);
		CHECK_INT(with[i].credits, with[i].sent);
	}
	CHECK_INT(p_drops(), 0);
	CHECK_INT(p_status(PTL_SR_CORRUPT_NP), 0);
	diag("%llu messages sent, %llu received", (unsigned long long)sent, (unsigned long long)ended);
	CHECK(sent > 100);
	if (t_bad_ && !told++)
		p_tell();
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = { T(t_mixture_of_movers_keeps_order), { 0 } };

	return s_main(cases, 12);
}
