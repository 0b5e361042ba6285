/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_crowd.c - hundreds of small messages in flight between all ranks, through an ordinary and a polled portal at a
 * time: lanes go round again and again, also while their owner stands still anywhere in a call (more ranks than
 * cores)
 *
 * As t_mix, with what that lacks: an initiator empties a lane whose owner was stopped while it marked the lane, fills
 * it again for more than a lap with messages to the polled portal, and then the owner goes on. Half of the payloads
 * are zeros, since that is what a line has held that nobody has written; all bytes are looked at. Places are given
 * back in the page that the ranks share, not by messages. PTL_LANE_KB=32 is the shortest lane there is;
 * PTL_INBOX_MAX=8192 lets long ordinary messages into it.
 *
 * Order: by pair and portal. A put to a polled portal waits for its owner, one to another does not.
 */
#include <stdbool.h>

#include "stress.h"

#define RANKS	9		/* words of the page: two portals, each pair */
#define PTS	2
#define MOST	400		/* messages under way to the polled portal */
#define MAX_LEN	PTL_INLINE_MAX_NP
#define WORD(pt, from, to) (((pt) * RANKS + (from)) * RANKS + (to))

/*
 * Long ordinary ones: an initiator empties a lane of two messages at most before it finds that nobody marks it, and
 * they must be worth a quarter of the lane for it to learn of the room. Then hundreds of short ones to the polled
 * portal.
 */
static const ptl_pt_index_t pt_of[PTS] = { PT, 7 };
static const size_t window[PTS] = { 32, MOST }, max_len[PTS] = { MAX_LEN, 1024 };
static ptl_handle_eq_t eq;
static ptl_handle_md_t out_md;
static unsigned char *outbox;
static int told;
static struct pair {
	ptl_process_id_t id;
	struct way {
		unsigned char *inbox;
		uint64_t sent, started, ended, refused;
		uint64_t back;		/* places given back: to the first message that has not ended yet */
		bool done[MOST];	/* ended before that one */
	} way[PTS];
} with[RANKS];

static uint64_t mix(int pt, int from, int to, uint64_t n)
{
	uint64_t s = seed ^ (uint64_t)pt << 56 ^ (uint64_t)from << 48 ^ (uint64_t)to << 40 ^ n;

	return t_random(&s);
}

static size_t length_of(int pt, int from, int to, uint64_t n)
{
	uint64_t r = mix(pt, from, to, n);

	switch (r & 15) {
	case 0: return (r >> 8) % (max_len[pt] + 1);
	case 1: return 0;
	case 6: case 7: case 8: return pt ? (r >> 8) % 57 : 2048 + (r >> 8) % (MAX_LEN - 2048);
	case 2: case 3: case 4: case 5: return 57 + (r >> 8) % 300;	/* a few lines */
	default: return (r >> 8) % 57;
	}
}

static void write_bytes(unsigned char *p, int pt, int from, int to, uint64_t n)
{
	uint64_t r = mix(pt, from, to, n), s = r;
	size_t len = length_of(pt, from, to, n);

	memset(p, 0, len);
	if (r >> 60 & 1)
		for (size_t i = 0; i < len; i++)
			p[i] = (unsigned char)(i % 8 ? s >> i % 8 * 8 : t_random(&s));
}

static void wrong(int line, const char *what, uint64_t got, uint64_t want, int r, int k, int rc, const ptl_event_t *ev)
{
	struct pair *w = &with[r < 0 ? 0 : r];
	struct way *y = &w->way[k < 0 ? 0 : k];

	if (atomic_fetch_add(&t_bad_, 1) < 20)
		diag("%s:%d: %s: got %llu, want %llu (T_SEED=%llu); from rank %d, %s, %s, message %llu, pt %u, mlength "
		     "%llu, rlength %llu of %llu, offset %llu, link %u, sequence %u, ni_fail %u; %llu started, %llu ended",
		     __FILE__, line, what, (unsigned long long)got, (unsigned long long)want, (unsigned long long)seed,
		     r, PtlErrorStr((unsigned)rc), PtlEventKindStr(ev->type), (unsigned long long)ev->hdr_data,
		     (unsigned)ev->pt_index, (unsigned long long)ev->mlength, (unsigned long long)ev->rlength,
		     (unsigned long long)(r < 0 || k < 0 ? 0 : length_of(k, r, rank, ev->hdr_data)),
		     (unsigned long long)ev->offset, (unsigned)ev->link, (unsigned)ev->sequence,
		     (unsigned)ev->ni_fail_type, (unsigned long long)y->started, (unsigned long long)y->ended);
	if (!told++)
		p_tell();
}

static void event(int rc, const ptl_event_t *ev)
{
#define SAME(got, want, what) do {								\
	if ((uint64_t)(got) != (uint64_t)(want))						\
		wrong(__LINE__, what, (uint64_t)(got), (uint64_t)(want), r, k, rc, ev);		\
} while (0)
	static unsigned char want[MAX_LEN];
	uint64_t n = ev->hdr_data;
	unsigned char *p;
	size_t len, i;
	struct way *y;
	int r, k = ev->pt_index == pt_of[1];

	for (r = size - 1; r >= 0 && (with[r].id.nid != ev->initiator.nid || with[r].id.pid != ev->initiator.pid); r--)
		;
	SAME(rc, PTL_OK, "code of the get");
	SAME(r < 0, 0, "the initiator is nobody");
	SAME(ev->ni_fail_type, PTL_NI_OK, "ni_fail_type");
	SAME(ev->pt_index, pt_of[k], "portal");
	if (rc != PTL_OK || r < 0 || ev->ni_fail_type)
		return;
	y = &with[r].way[k];
	if (ev->type == PTL_EVENT_PUT_START) {
		SAME(n, y->started, "order of the pair");
		y->started++;
		return;
	}
	len = length_of(k, r, rank, n);
	SAME(ev->type, PTL_EVENT_PUT_END, "kind of event");
	SAME(n < y->started, 1, "started before");
	SAME(ev->mlength, len, "length");
	SAME(ev->offset, n % window[k] * max_len[k], "offset");
	p = y->inbox + n % window[k] * max_len[k];
	write_bytes(want, k, r, rank, n);
	for (i = 0; i < len && p[i] == want[i]; i++)
		;
	if (i < len) {
		SAME(p[i], want[i], "a byte");
		diag("it is byte %zu of message %llu of rank %d; from there: %02x %02x %02x %02x %02x %02x %02x %02x",
		     i, (unsigned long long)n, r, p[i], p[i + 1], p[i + 2], p[i + 3], p[i + 4], p[i + 5], p[i + 6],
		     p[i + 7]);
	}
	memset(p, 0xee, len);			/* nothing right is left from the message before */
	y->ended++;
	y->done[n % window[k]] = true;		/* messages of a pair end in any order */
	for (; y->done[y->back % window[k]]; y->back++) {
		y->done[y->back % window[k]] = false;
		atomic_fetch_add(t_word(WORD(k, r, rank)), 1);
	}
#undef SAME
}

static void drain(unsigned looks)
{
	ptl_event_t ev;

	while (looks-- && t_bad_ < 10) {
		int rc = PtlEQGet(eq, &ev);

		if (rc != PTL_EQ_EMPTY)
			event(rc, &ev);
	}
}

/* False: no place there, or no room on the way. */
static bool send_one(int to, int k)
{
	struct way *y = &with[to].way[k];
	uint64_t n = y->sent;
	int rc;

	if (n - atomic_load(t_word(WORD(k, rank, to))) >= window[k])
		return false;
	write_bytes(outbox, k, rank, to, n);
	rc = PtlPutRegion(out_md, 0, length_of(k, rank, to, n), PTL_NO_ACK_REQ, with[to].id, pt_of[k], 0, 0,
			  n % window[k] * max_len[k], n);
	if (rc == PTL_OK) {
		y->sent++;
		return true;
	}
	if (rc != PTL_NO_SPACE && CHECK_INT(rc, PTL_OK) == 0)
		diag("%s:%d: message %llu to rank %d, portal %u (T_SEED=%llu): %s", __FILE__, __LINE__,
		     (unsigned long long)n, to, (unsigned)pt_of[k], (unsigned long long)seed,
		     PtlErrorStr((unsigned)rc));
	y->refused++;
	return false;
}

static void set_up(void)
{
	ptl_handle_me_t me;

	NEED_OK(PtlEQAlloc(ni, (ptl_size_t)size * (window[0] + window[1]) * 2, PTL_EQ_HANDLER_NONE, &eq));
	outbox = malloc(MAX_LEN);
	NEED(outbox);
	NEED_OK(PtlMDBind(ni, p_md(outbox, MAX_LEN, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &out_md));
	for (int i = 0; i < size; i++) {
		with[i].id = p_id(i);
		for (int k = 0; k < PTS; k++) {
			unsigned char *p = malloc(max_len[k] * window[k] + 8);

			NEED(p);
			memset(p, 0xee, max_len[k] * window[k] + 8);
			with[i].way[k].inbox = p;
			NEED_OK(PtlMEAttach(ni, pt_of[k], with[i].id, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
			NEED_OK(PtlMDAttach(me, p_md(p, max_len[k] * window[k], PTL_MD_THRESH_INF,
						     PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE, eq), PTL_RETAIN, NULL));
		}
	}
	NEED_OK(PtlPTPolled_np(ni, pt_of[1], 1));
}

static void t_lanes_go_round_under_a_stopped_owner(void)
{
	const char *secs = getenv("T_SECONDS");
	double until = t_now() + (secs ? atof(secs) : 5), give_up;
	uint64_t r = seed + (uint64_t)rank * 977, sent = 0, ended = 0, refused = 0;
	bool left;

	set_up();
	t_barrier();
	while (t_now() < until && t_bad_ < 10) {
		uint64_t x = t_random(&r);
		int to = (int)((x >> 32) % (unsigned)size);

		if (!(x & 7)) {
			sched_yield();
		} else if (x & 1) {
			drain((x >> 8 & 127) + 1);
		} else {
			/* ordinary ones, which are taken from the lane when nobody comes for them; then as many as there is
			 * room for to the polled portal, with a look now and then, since the peer may do the same */
			for (unsigned i = 0; i < (x >> 8 & 7) && send_one(to, 0); i++)
				;
			for (unsigned i = 0; i < (x >> 16 & 511) && send_one(to, 1); i++)
				if (i % 64 == 63)
					drain(1);
			for (unsigned i = 0; i < (x >> 11 & 3) && send_one(to, 0); i++)
				;
		}
	}
	for (int i = 0; i < size; i++)
		for (int k = 0; k < PTS; k++) {
			sent += with[i].way[k].sent;
			refused += with[i].way[k].refused;
		}
	/* what each has sent stands in the page, behind what was given back */
	t_barrier();
	for (int i = 0; i < size; i++)
		for (int k = 0; k < PTS; k++)
			atomic_fetch_add(t_word(WORD(k, rank, i)), (uint64_t)(with[i].way[k].sent) << 32);
	t_barrier();
	give_up = t_now() + 30;
	do {
		left = false;
		drain(100);
		for (int i = 0; i < size; i++)
			for (int k = 0; k < PTS; k++)
				left |= with[i].way[k].ended < atomic_load(t_word(WORD(k, i, rank))) >> 32;
		if (left)
			sched_yield();
	} while (left && t_now() < give_up && t_bad_ < 10);
	for (int i = 0; i < size; i++)
		for (int k = 0; k < PTS; k++) {
			const struct way *y = &with[i].way[k];
			uint64_t theirs = atomic_load(t_word(WORD(k, i, rank))) >> 32;

			if (y->started != theirs || y->ended != theirs) {
				CHECK_INT(y->ended, theirs);
				diag("%s:%d: portal %u: rank %d sent %llu, of those %llu started, %llu ended "
				     "(T_SEED=%llu)",
				     __FILE__, __LINE__, (unsigned)pt_of[k], i, (unsigned long long)theirs,
				     (unsigned long long)y->started, (unsigned long long)y->ended,
				     (unsigned long long)seed);
			}
			ended += y->ended;
		}
	CHECK_INT(p_drops(), 0);
	CHECK_INT(p_status(PTL_SR_CORRUPT_NP), 0);
	CHECK(sent > 100);
	if (t_bad_ && !told++)
		p_tell();
	diag("%llu messages sent, %llu received, %llu times no room", (unsigned long long)sent,
	     (unsigned long long)ended, (unsigned long long)refused);
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = { T(t_lanes_go_round_under_a_stopped_owner), { 0 } };

	return s_main(cases, RANKS);
}
