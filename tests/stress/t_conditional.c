/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_conditional.c - receives posted against a stream of messages (item 12): none is lost between the posted entry and
 * the unexpected queue, and the order of each sender and tag is kept
 *
 * Rank 0 receives as an MPI library would with matching in Portals (9.4): look among the unexpected messages it knows,
 * fetch events of the unexpected queue, and when nothing fits, post an entry on condition that this queue is empty.
 * With "update" as argument the entry is made inactive and brought to life by PtlMDUpdate, as before PtlMEMDPost was.
 * The other ranks (alone: the same process, between two steps of the receiver) send numbered messages.
 */
#include "../api/ptl.h"

#define TAGS	4
#define WINDOW	64		/* messages of one sender that are not received yet */
#define BLOCK	(1u << 16)
#define BLOCKS	4

static ptl_handle_eq_t ueq, peq;	/* unexpected, posted */
static ptl_handle_me_t mark;
static unsigned char *block[BLOCKS];
static unsigned blocks_gone;
static int senders, by_update;
static uint64_t seed;

struct msg {
	int from, ended;
	unsigned tag;
	uint64_t n;
	ptl_seq_t link;
};
static struct msg unex[64 * WINDOW];	/* in order of their PUT_START */
static int n_unex;
static uint64_t next_n[64][TAGS];	/* the number that the next receive of a sender and tag must show */
static uint64_t received[64];
static unsigned hits, misses, refused;

/* message n of a sender has this tag; every message of one tag has a larger number than the one before */
static unsigned tag_of(int from, uint64_t n)
{
	uint64_t s = seed ^ (uint64_t)from << 40 ^ n;

	return (unsigned)(t_random(&s) % TAGS);
}

static uint64_t next_of(int from, unsigned tag, uint64_t n)
{
	while (tag_of(from, n) != tag)
		n++;
	return n;
}

static void post_block(int i)
{
	ptl_handle_me_t me;
	ptl_md_t md = p_md(block[i], BLOCK, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MAX_SIZE | PTL_MD_ACK_DISABLE, ueq);

	md.max_size = 256;
	md.user_ptr = (void *)(intptr_t)i;
	OK(PtlMEAttach(ni, PT, anyone, 0, ~0ull, PTL_UNLINK, PTL_INS_AFTER, &me));
	OK(PtlMDAttach(me, md, PTL_UNLINK, NULL));
}

/* A message has been received: is it the one that had to come? */
static void take(int from, unsigned tag, uint64_t n)
{
	if (from < 0 || from >= 64 || tag >= TAGS) {
		CHECK(!"a message that nobody sent");
		return;
	}
	if (n != next_n[from][tag]) {
		CHECK_INT(n, next_n[from][tag]);
		diag("sender %d tag %u", from, tag);
	}
	next_n[from][tag] = next_of(from, tag, n + 1);
	received[from]++;
	atomic_store(t_word(from), received[from]);	/* the sender may go on */
}

static void unexpected_event(int rc, const ptl_event_t *ev)
{
	CHECK_INT(rc, PTL_OK);
	CHECK_INT(ev->ni_fail_type, 0);
	if (ev->type == PTL_EVENT_PUT_START) {
		if (!CHECK(n_unex < (int)(sizeof(unex) / sizeof(unex[0]))))
			return;
		unex[n_unex++] = (struct msg){ .from = (int)(ev->match_bits >> 32), .tag = (unsigned)ev->match_bits & 0xff,
			.n = ev->hdr_data, .link = ev->link };
	} else if (ev->type == PTL_EVENT_PUT_END) {
		int i = 0;

		while (i < n_unex && (unex[i].link != ev->link || unex[i].n != ev->hdr_data))
			i++;
		if (i < n_unex)		/* else it was taken when it had started only */
			unex[i].ended = 1;
		if (ev->mlength >= 8)
			CHECK(!memcmp((char *)ev->md.start + ev->offset, &ev->hdr_data, 8));
	} else {
		CHECK_INT(ev->type, PTL_EVENT_UNLINK);
		post_block((int)(intptr_t)ev->md.user_ptr);
		blocks_gone++;
	}
}

/* bits as MPI: sender in the upper half, tag below; ignore = any */
static int from_unexpected(ptl_match_bits_t bits, ptl_match_bits_t ignore)
{
	for (int i = 0; i < n_unex; i++) {
		ptl_match_bits_t m = (uint64_t)unex[i].from << 32 | unex[i].tag;

		if ((m ^ bits) & ~ignore)
			continue;
		take(unex[i].from, unex[i].tag, unex[i].n);
		memmove(unex + i, unex + i + 1, (size_t)(n_unex - i - 1) * sizeof(unex[0]));
		n_unex--;
		return 1;
	}
	return 0;
}

static int post(ptl_match_bits_t bits, ptl_match_bits_t ignore, void *buf, ptl_handle_me_t *me, ptl_handle_md_t *mdh)
{
	ptl_md_t md = p_md(buf, 256, 1, PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE, peq);
	int rc;

	if (!by_update)
		return PtlMEMDPost(ni, mark, anyone, bits, ignore, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, me, mdh,
				   ueq);
	md.threshold = 0;
	OK(PtlMEInsert(mark, anyone, bits, ignore, PTL_UNLINK, PTL_INS_BEFORE, me));
	OK(PtlMDAttach(*me, md, PTL_UNLINK, mdh));
	md.threshold = 1;
	rc = PtlMDUpdate(*mdh, NULL, &md, ueq);
	if (rc != PTL_OK)
		OK(PtlMEUnlink(*me));
	return rc;
}

static void send_one(uint64_t n, ptl_handle_md_t h, unsigned char *buf)
{
	int r = t_rank();
	size_t len = 8 + n % 249;

	memcpy(buf, &n, 8);
	OK(PtlPutRegion(h, 0, len, PTL_NO_ACK_REQ, p_id(0), PT, 0, (uint64_t)r << 32 | tag_of(r, n), 0, n));
}

/* Alone, the sender is this process: its messages come between any two steps of the receive. */
static uint64_t own_sent, own_limit;
static ptl_handle_md_t own_md;
static unsigned char own_buf[256];
static void other_side(uint64_t *r)
{
	if (t_size() > 1)
		return;
	while ((t_random(r) & 3) && own_sent < own_limit && own_sent - received[0] < WINDOW)
		send_one(own_sent++, own_md, own_buf);
}

static void receive(uint64_t *r, ptl_match_bits_t bits, ptl_match_bits_t ignore)
{
	unsigned char buf[256];
	ptl_handle_me_t me;
	ptl_handle_md_t mdh;
	ptl_event_t ev;
	double until = t_now() + 30;
	int rc;

	for (;;) {
		if (from_unexpected(bits, ignore)) {
			hits++;
			return;
		}
		other_side(r);
		rc = PtlEQGet(ueq, &ev);
		if (rc != PTL_EQ_EMPTY) {
			unexpected_event(rc, &ev);
			continue;
		}
		other_side(r);
		rc = post(bits, ignore, buf, &me, &mdh);
		if (rc == PTL_OK)
			break;
		if (!CHECK_INT(rc, PTL_MD_NO_UPDATE) || t_now() > until) {
			CHECK(t_now() <= until);
			return;
		}
		refused++;
	}
	misses++;
	for (unsigned i = 0;; i++) {
		other_side(r);
		rc = PtlEQGet(peq, &ev);
		if (rc == PTL_OK && ev.type == PTL_EVENT_PUT_END)
			break;
		if (!CHECK(rc == PTL_EQ_EMPTY || rc == PTL_OK))
			return;
		if (i % 256 == 255) {
			sched_yield();
			if (!CHECK(t_now() < until))
				return;
		}
	}
	CHECK(!memcmp(buf, &ev.hdr_data, 8));
	take((int)(ev.match_bits >> 32), (unsigned)ev.match_bits & 0xff, ev.hdr_data);
	while ((rc = PtlEQGet(peq, &ev)) != PTL_OK)	/* its UNLINK */
		if (!CHECK(rc == PTL_EQ_EMPTY && t_now() < until))
			return;
	CHECK_INT(ev.type, PTL_EVENT_UNLINK);
}

static void receiver(void)
{
	const char *secs = getenv("T_SECONDS");
	double until = t_now() + (secs ? atof(secs) : 3);
	uint64_t r = seed, total = 0, n = 0;

	for (int f = 0; f < 64; f++)
		for (unsigned t = 0; t < TAGS; t++)
			next_n[f][t] = next_of(f, t, 0);
	own_limit = ~0ull;
	while (t_now() < until && !t_bad_) {
		uint64_t x = t_random(&r);
		int from = t_size() > 1 ? 1 + (int)((x >> 8) % (unsigned)senders) : 0;
		ptl_match_bits_t bits, ignore = 0;
		unsigned tag = (unsigned)(x >> 40) % TAGS;

		/* what it asks for must be among what may still be sent: the sender has a window */
		if (next_n[from][tag] >= received[from] + WINDOW)
			tag = tag_of(from, 0), ignore = 0xff;
		bits = (uint64_t)from << 32 | tag;
		if ((x & 7) == 1)
			ignore |= 0xff;				/* any tag */
		if ((x & 7) == 2)
			ignore |= 0xffffffff00000000ull | 0xff;	/* anything */
		receive(&r, bits, ignore);
		n++;
	}
	/* stop the senders, then receive what they have sent: everything, once */
	atomic_store(t_word(200), 1);
	own_limit = own_sent;
	for (int f = 0; f < senders; f++) {
		int from = t_size() > 1 ? f + 1 : 0;
		uint64_t sent;

		if (t_size() > 1) {
			if (!CHECK(t_await(100 + from, 1, 30)))
				return;
			sent = atomic_load(t_word(100 + from)) - 1;
		} else {
			sent = own_sent;
		}
		while (received[from] < sent && !t_bad_)
			receive(&r, (uint64_t)from << 32, 0xff);
		CHECK_INT(received[from], sent);
		total += sent;
	}
	CHECK_INT(n_unex, 0);
	CHECK_INT(p_drops(), 0);
	diag("%llu messages: %u were unexpected, %u met a posted entry; %u posts refused; %u blocks",
	     (unsigned long long)total, hits, misses, refused, blocks_gone);
	CHECK(total > 200);
}

static void sender(void)
{
	unsigned char buf[256] = { 0 };
	ptl_handle_md_t h;
	uint64_t n = 0;

	OK(PtlMDBind(ni, p_md(buf, sizeof(buf), PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &h));
	while (!atomic_load(t_word(200)) && !atomic_load(&t_page()->dead)) {
		if (n - atomic_load(t_word(t_rank())) >= WINDOW) {
			sched_yield();
			continue;
		}
		send_one(n++, h, buf);
	}
	p_sync_with(p_id(0));
	atomic_store(t_word(100 + t_rank()), n + 1);
}

static void t_conditional_post_loses_nothing(void)
{
	senders = t_size() > 1 ? t_size() - 1 : 1;
	if (t_rank() == 0) {
		OK(PtlEQAlloc(ni, 64 * WINDOW * 2, PTL_EQ_HANDLER_NONE, &ueq));
		OK(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &peq));
		OK(PtlMEAttach(ni, PT, (ptl_process_id_t){ 0, 0 }, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &mark));
		for (int i = 0; i < BLOCKS; i++) {
			block[i] = malloc(BLOCK);
			NEED(block[i]);
			post_block(i);
		}
		OK(PtlMDBind(ni, p_md(own_buf, sizeof(own_buf), PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &own_md));
	}
	t_barrier();
	if (t_rank() == 0)
		receiver();
	else
		sender();
	t_barrier();
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = { T(t_conditional_post_loses_nothing), { 0 } };

	by_update = argc > 1 && !strcmp(argv[1], "update");
	seed = t_seed();
	return p_main(cases);
}
