/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_nodes.c - jobs of several virtual nodes: one match list for messages of the node and of others, many pairs at
 * once, and the ends of processes
 *
 *	t_nodes			the cases below
 *	t_nodes kill		rank 1 is killed amid traffic: the others get events for all that they had, and close
 *	t_nodes refused		the ranks of the last node cannot start: then nobody starts, and all say so soon
 */
#include "ptl.h"

#include <sys/wait.h>

static ptl_event_t ev[4];

static int node_of(int rank)
{
	return (int)p_id(rank).nid;
}

/* So many events until nothing has come for a while; by kind. */
static unsigned kinds[16], fails[16];

static void gather(ptl_handle_eq_t eq, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (!CHECK_INT(p_get(eq, ev), PTL_OK))
			return;
		kinds[ev->type]++;
		fails[ev->type] += ev->ni_fail_type != PTL_NI_OK;
	}
}

/*
 * One list of entries for anyone, each for one message: they are used up in list order, whether the message came from
 * this node or from another, and the messages of each initiator in its order.
 */
static void t_wildcards_take_messages_of_the_node_and_of_others(void)
{
	enum { EACH = 200 };
	unsigned total = (unsigned)(t_size() - 1) * EACH, seen[64] = { 0 }, on = 0, off = 0;
	static uint64_t box[64 * EACH];
	ptl_handle_eq_t eq;

	if (!t_rank()) {
		REQUIRE_INT(PtlEQAlloc(ni, 4 * total, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
		for (unsigned i = 0; i < total; i++) {
			ptl_md_t md = p_md(&box[i], 8, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, eq);
			ptl_handle_me_t me;
			ptl_handle_md_t h;

			md.user_ptr = &box[i];
			NEED_OK(p_post_at(PT, 3, ~0ull, PTL_UNLINK, md, PTL_UNLINK, &me, &h));
		}
	}
	t_barrier();
	if (t_rank()) {
		uint64_t out = 0;
		ptl_handle_md_t h;

		NEED_OK(PtlMDBind(ni, p_md(&out, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &h));
		for (uint64_t i = 0; i < EACH; i++) {
			int rc;

			out = (uint64_t)t_rank() << 32 | i;
			while ((rc = PtlPut(h, PTL_NO_ACK_REQ, p_id(0), PT, 0, i, 0, out)) == PTL_NO_SPACE)
				sched_yield();
			OK(rc);
		}
		p_sync_with(p_id(0));
		OK(PtlMDUnlink(h));
	}
	t_barrier();
	if (t_rank())
		return;
	for (unsigned i = 0, puts = 0; puts < total; i++) {
		unsigned from;

		if (!CHECK_INT(p_get(eq, ev), PTL_OK))
			break;
		if (ev->type == PTL_EVENT_UNLINK)
			continue;
		CHECK_INT(ev->type, PTL_EVENT_PUT_END);
		from = (unsigned)(ev->hdr_data >> 32);
		if (!CHECK(from && from < (unsigned)t_size()))
			break;
		CHECK_INT(ev->hdr_data & 0xffffffff, seen[from]);
		CHECK_INT(ev->match_bits, seen[from]);
		seen[from]++;
		CHECK(ev->md.user_ptr == &box[puts]);	/* the next in the list */
		CHECK_INT(box[puts], (long long)ev->hdr_data);
		CHECK(ev->initiator.nid == p_id((int)from).nid && ev->initiator.pid == p_id((int)from).pid);
		CHECK_INT(ev->uid, geteuid());
		*(node_of((int)from) == (int)self.nid ? &on : &off) += 1;
		puts++;
	}
	CHECK(on && off && on + off == total);
	while (PtlEQGet(eq, ev) == PTL_OK)
		;
	OK(PtlEQFree(eq));
}

/* match_id names one node: others pass on to the next entry. */
static void t_entries_for_one_node(void)
{
	uint64_t here = 0, there = 0;
	ptl_handle_me_t me[2];
	ptl_handle_md_t h[2];
	int far = t_size() - 1;

	if (!t_rank()) {
		ptl_process_id_t of_far = { p_id(far).nid, PTL_PID_ANY };

		NEED_OK(PtlMEAttach(ni, PT, of_far, 0, ~0ull, PTL_RETAIN, PTL_INS_AFTER, &me[0]));
		NEED_OK(PtlMDAttach(me[0], p_md(&there, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
						PTL_EQ_NONE), PTL_RETAIN, &h[0]));
		NEED_OK(p_post_at(PT, 0, ~0ull, PTL_RETAIN, p_md(&here, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
								     PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), PTL_RETAIN,
									&me[1], &h[1]));
	}
	t_barrier();
	if (t_rank() == 1 || t_rank() == far) {
		uint64_t v = (uint64_t)t_rank();

		peer = p_id(0);
		OK(p_put(&v, 8, 1));
		p_sync();
		peer = (t_rank() ^ 1) < t_size() ? p_id(t_rank() ^ 1) : self;
	}
	t_barrier();
	if (!t_rank()) {
		CHECK_INT(there, far);
		CHECK_INT(here, 1);
		OK(PtlMEUnlink(me[0]));
		OK(PtlMEUnlink(me[1]));
	}
	t_barrier();
}

/* Everyone to everyone, and to himself: long puts with acks, gets, swaps, all at once. */
static void t_all_to_all(void)
{
	enum { LONG = 300000 };
	unsigned n = (unsigned)t_size(), me_ = (unsigned)t_rank();
	char *in = calloc(n, LONG), *out = malloc(LONG), *got = calloc(n, LONG);
	uint64_t word = 1, *old = calloc(n, 8), give = 1000 + me_;
	ptl_handle_eq_t eq;
	ptl_handle_md_t h[4];
	ptl_handle_me_t me[3];
	ptl_md_t md;

	p_fill(out, LONG, me_ + 1);
	NEED_OK(PtlEQAlloc(ni, 64 * n, PTL_EQ_HANDLER_NONE, &eq));
	NEED_OK(p_post(1, p_md(in, (size_t)n * LONG, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
		PTL_EQ_NONE),
		       &me[0], &h[0]));
	NEED_OK(p_post(2, p_md(out, LONG, PTL_MD_THRESH_INF, PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE), &me[1],
		       &h[0]));
	NEED_OK(p_post(3, p_md(&word, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
			       PTL_EQ_NONE), &me[2], &h[0]));
	md = p_md(out, LONG, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq);
	NEED_OK(PtlMDBind(ni, md, PTL_RETAIN, &h[0]));
	md.start = got;
	md.length = (size_t)n * LONG;
	NEED_OK(PtlMDBind(ni, md, PTL_RETAIN, &h[1]));
	md.start = old;
	md.length = 8 * n;
	NEED_OK(PtlMDBind(ni, md, PTL_RETAIN, &h[2]));
	md.start = &give;
	md.length = 8;
	md.eq_handle = PTL_EQ_NONE;
	NEED_OK(PtlMDBind(ni, md, PTL_RETAIN, &h[3]));
	memset(kinds, 0, sizeof(kinds));
	memset(fails, 0, sizeof(fails));
	t_barrier();
	for (unsigned i = 0; i < n; i++) {
		ptl_process_id_t to = p_id((int)((me_ + i) % n));
		unsigned r = (me_ + i) % n;

		while (PtlPut(h[0], PTL_ACK_REQ, to, PT, 0, 1, (ptl_size_t)me_ * LONG, 0) == PTL_NO_SPACE)
			sched_yield();
		while (PtlGetRegion(h[1], (ptl_size_t)r * LONG, LONG, to, PT, 0, 2, 0) == PTL_NO_SPACE)
			sched_yield();
		while (PtlGetPutRegion(h[2], 8 * r, h[3], 0, 8, to, PT, 0, 3, 0, 0) == PTL_NO_SPACE)
			sched_yield();
	}
	gather(eq, 4 * n);
	CHECK_INT(kinds[PTL_EVENT_SEND_END], n);
	CHECK_INT(kinds[PTL_EVENT_ACK], n);
	CHECK_INT(kinds[PTL_EVENT_REPLY_END], 2 * n);
	CHECK(!fails[PTL_EVENT_SEND_END] && !fails[PTL_EVENT_REPLY_END]);
	t_barrier();
	for (unsigned r = 0; r < n; r++) {
		char *want = malloc(LONG);

		p_fill(want, LONG, r + 1);
		CHECK(!memcmp(in + (size_t)r * LONG, want, LONG));
		CHECK(!memcmp(got + (size_t)r * LONG, want, LONG));
		CHECK(old[r] == 1 || (old[r] >= 1000 && old[r] < 1000 + n));
		free(want);
	}
	CHECK(word >= 1000 && word < 1000 + n);
	NONE(eq);
	for (int i = 0; i < 4; i++)
		OK(PtlMDUnlink(h[i]));
	for (int i = 0; i < 3; i++)
		OK(PtlMEUnlink(me[i]));
	OK(PtlEQFree(eq));
	free(in), free(out), free(got), free(old);
	t_barrier();
}

/*
 * Who has the REPLY of a get may say so, by whatever way, and the target may unlink what was read: it is not in use any
 * more. The same for a put whose ACK has come.
 */
static void t_what_was_answered_is_over(void)
{
	enum { ROUNDS = 300, LONG = 100000 };
	static char mem[LONG];
	int far = t_size() - 1;
	ptl_handle_md_t h;
	ptl_handle_me_t me;

	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t n = i % 3 ? LONG : 1000;

		if (!t_rank())
			NEED_OK(p_post(7, p_md(mem, n, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET, PTL_EQ_NONE),
				       &me, &h));
		t_barrier();
		if (t_rank() == far) {
			NEED_OK(PtlMDBind(ni, p_md(mem, n, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq),
					  PTL_RETAIN, &h));
			OK(i % 2 ? PtlGet(h, p_id(0), PT, 0, 7, 0) : PtlPut(h, PTL_ACK_REQ, p_id(0), PT, 0, 7, 0, 0));
			do
				CHECK_INT(p_get(ieq, ev), PTL_OK);
			while (ev->type == PTL_EVENT_SEND_END);
			CHECK_INT(ev->type, i % 2 ? PTL_EVENT_REPLY_END : PTL_EVENT_ACK);
		}
		t_barrier();
		if (!t_rank() && !OK(PtlMEUnlink(me)))
			break;
		if (t_rank() == far) {
			NONE(ieq);
			OK(PtlMDUnlink(h));
		}
	}
	t_barrier();
}

/* More than there is room for anywhere, to a process that makes no call: some calls are refused, nothing is lost. */
static void t_flood(void)
{
	enum { N = 30000 };
	int far = t_size() - 1;
	uint64_t count[2] = { 0 };
	ptl_handle_md_t h;
	ptl_handle_me_t me;
	long long before = 0;

	if (t_rank() == far) {
		NEED_OK(p_post(5, p_md(count, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE,
			PTL_EQ_NONE), &me,
			       &h));
		before = p_status(PTL_SR_RECV_COUNT);
	}
	t_barrier();
	if (!t_rank()) {
		uint64_t v = 0;

		NEED_OK(PtlMDBind(ni, p_md(&v, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &h));
		for (v = 1; v <= N; v++) {
			int rc;

			while ((rc = PtlPut(h, PTL_NO_ACK_REQ, p_id(far), PT, 0, 5, 0, 0)) == PTL_NO_SPACE)
				sched_yield();
			if (!OK(rc))
				break;
		}
		p_sync_with(p_id(far));
		OK(PtlMDUnlink(h));
	}
	t_barrier();
	if (t_rank() == far) {
		CHECK_INT(count[0], N);				/* the last one is the last */
		CHECK_INT(p_status(PTL_SR_RECV_COUNT) - before, N + 1);
		OK(PtlMEUnlink(me));
	}
	t_barrier();
}

static void t_nobody_of_that_name(void)
{
	ptl_process_id_t none = { p_id(t_size() - 1).nid, 4242 };
	unsigned long d;
	ptl_handle_md_t h;
	char c = 0;

	CHECK_INT(PtlNIDist(ni, none, &d), PTL_PROCESS_INVALID);
	none.nid += 1000;
	CHECK_INT(PtlNIDist(ni, none, &d), PTL_PROCESS_INVALID);
	NEED_OK(PtlMDBind(ni, p_md(&c, 1, 1, 0, ieq), PTL_RETAIN, &h));
	OK(PtlPut(h, PTL_ACK_REQ, none, PT, 0, 1, 0, 0));
	CHECK_INT(p_get(ieq, ev), PTL_OK);
	CHECK_INT(p_get(ieq, ev), PTL_OK);
	CHECK(ev->type == PTL_EVENT_SEND_END && ev->ni_fail_type == PTL_NI_FAIL);
	OK(PtlMDUnlink(h));
	t_barrier();
}

/* A child has the descriptors of no connection: its end, and its life, say nothing to others. */
static void t_a_child_of_fork_changes_nothing(void)
{
	int to[2], st;
	char c = 0;
	pid_t pid;

	p_sync_with(p_id((t_rank() + 1) % t_size()));
	t_barrier();
	REQUIRE_INT(pipe(to), 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		close(to[1]);
		_exit(read(to[0], &c, 1) == 0 && PtlGetId(ni, &self) == PTL_NO_INIT ? 0 : 1);
	}
	close(to[0]);
	for (int r = 0; r < t_size(); r++)
		p_sync_with(p_id(r));
	close(to[1]);
	CHECK_INT(waitpid(pid, &st, 0), pid);
	CHECK_INT(st, 0);
	for (int r = 0; r < t_size(); r++)
		p_sync_with(p_id(r));
	t_barrier();
}

/* ---- kill ---- */

static char long_out[1 << 20], long_in[1 << 20];

/*
 * Rank 1 dies while the others send to it and get from it, and it from them. Each of them has an end, at the targets,
 * too.
 */
static void t_the_others_end_and_go_on(void)
{
	enum { N = 20, ACKS = 10 };
	unsigned left = 0, sent = 0, acks = 0, good = 0;
	ptl_handle_md_t h, g;
	ptl_handle_me_t me;
	double until;

	NEED_OK(p_post(1, p_md(long_in, sizeof(long_in), PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
			       PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, teq), &me, &h));
	t_barrier();
	NEED_OK(PtlMDBind(ni, p_md(long_out, sizeof(long_out), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq),
			  PTL_RETAIN, &h));
	NEED_OK(PtlMDBind(ni, p_md(long_out, sizeof(long_out), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq),
			  PTL_RETAIN, &g));
	if (t_rank() == 1) {
		for (int i = 0; i < N; i++) {
			PtlPut(h, PTL_NO_ACK_REQ, p_id(0), PT, 0, 1, 0, 0);
			PtlGet(g, p_id(2), PT, 0, 1, 0);
			if (i == N / 2)
				atomic_store(t_word(0), 1);
		}
		for (;;)
			pause();
	}
	for (int i = 0; i < N; i++) {
		sent += PtlPut(h, PTL_NO_ACK_REQ, p_id(1), PT, 0, 1, 0, 0) == PTL_OK;
		sent += PtlGet(g, p_id(1), PT, 0, 1, 0) == PTL_OK;
	}
	atomic_fetch_add(t_word(3), 1);
	while (!atomic_load(t_word(0)) || atomic_load(t_word(3)) < 2)
		sched_yield();
	if (!t_rank()) {		/* the last it may get, and cannot answer */
		kill((pid_t)atomic_load(t_word(1)), SIGSTOP);
		for (int i = 0; i < ACKS; i++)
			acks += PtlPutRegion(h, 0, 8, PTL_ACK_REQ, p_id(1), PT, 0, 1, 0, 0) == PTL_OK;
		kill((pid_t)atomic_load(t_word(1)), SIGKILL);
	}
	sent += acks;
	/* our own: each has one end, in bounded time */
	until = t_now() + 20;
	memset(kinds, 0, sizeof(kinds));
	while (kinds[PTL_EVENT_SEND_END] + kinds[PTL_EVENT_REPLY_END] < sent && t_now() < until) {
		int rc = PtlEQGet(ieq, ev);

		if (rc == PTL_OK) {
			kinds[ev->type]++;
			left += ev->ni_fail_type != PTL_NI_OK;
			good += ev->type == PTL_EVENT_SEND_END && ev->rlength == 8 && ev->ni_fail_type == PTL_NI_OK;
			good -= ev->type == PTL_EVENT_ACK;
			if (ev->type == PTL_EVENT_ACK)
				CHECK_INT(ev->ni_fail_type, PTL_NI_DIED_NP);
		} else {
			sched_yield();
		}
	}
	while (good && t_now() < until)	/* each that has ended well is acknowledged, or not to be */
		if (PtlEQGet(ieq, ev) == PTL_OK && CHECK_INT(ev->type, PTL_EVENT_ACK) &&
		    CHECK_INT(ev->ni_fail_type, PTL_NI_DIED_NP))
			good--;
	CHECK_INT(good, 0);
	CHECK_INT(kinds[PTL_EVENT_SEND_END] + kinds[PTL_EVENT_REPLY_END], sent);
	diag("%u of %u failed", left, sent);
	/* what it had begun here is over: the entry can go */
	until = t_now() + 20;
	while (PtlMEUnlink(me) == PTL_ME_IN_USE && t_now() < until)
		sched_yield();
	CHECK(t_now() < until);
	/* later calls say at once that nobody is there */
	while (PtlEQGet(ieq, ev) == PTL_OK)
		;
	until = t_now() + 20;
	do {
		OK(PtlPut(h, PTL_NO_ACK_REQ, p_id(1), PT, 0, 1, 0, 0));
		CHECK_INT(p_get(ieq, ev), PTL_OK);
	} while (ev->ni_fail_type == PTL_NI_OK && t_now() < until);
	CHECK(ev->ni_fail_type != PTL_NI_OK);
	/* nor does a get wait for it, nor a swap */
	OK(PtlGet(g, p_id(1), PT, 0, 1, 0));
	CHECK_INT(p_get(ieq, ev), PTL_OK);
	CHECK(ev->type == PTL_EVENT_REPLY_END && ev->ni_fail_type == PTL_NI_DIED_NP && ev->mlength == 0);
	OK(PtlGetPutRegion(g, 0, h, 0, 8, p_id(1), PT, 0, 1, 0, 0));
	CHECK_INT(p_get(ieq, ev), PTL_OK);
	CHECK(ev->type == PTL_EVENT_SEND_END && ev->ni_fail_type == PTL_NI_FAIL);
	CHECK_INT(p_get(ieq, ev), PTL_OK);
	CHECK(ev->type == PTL_EVENT_REPLY_END && ev->ni_fail_type == PTL_NI_DIED_NP && ev->mlength == 0);
	OK(PtlMDUnlink(h));
	OK(PtlMDUnlink(g));
	p_sync_with(p_id(t_rank() ? 0 : 2));		/* the living go on */
	atomic_fetch_add(t_word(2), 1);
	CHECK(t_await(2, 2, 20));
}

/* ---- refused ---- */

static void t_nobody_starts(void)
{
	int n;

	REQUIRE_INT(PtlInit(&n), PTL_OK);
	CHECK_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_FAIL);
	PtlFini();
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		T(t_wildcards_take_messages_of_the_node_and_of_others), T(t_entries_for_one_node), T(t_all_to_all),
		T(t_what_was_answered_is_over), T(t_flood),
		T(t_nobody_of_that_name), T(t_a_child_of_fork_changes_nothing), { 0 }
	};
	static const struct t_case killing[] = { T(t_the_others_end_and_go_on), { 0 } };
	static const struct t_case refused[] = { T(t_nobody_starts), { 0 } };
	int rc;

	if (argc > 1 && !strcmp(argv[1], "refused")) {
		const char *n = getenv("T_PER_NODE");

		setvbuf(stdout, NULL, _IOLBF, 0);
		if (n && t_rank() / atoi(n) == (t_size() - 1) / atoi(n)) {
			setenv("PTL_CMA", "yes", 1);
			setenv("SMARTMAP_FORCE_OFF", "cma", 1);
		}
		return t_run(refused);
	}
	if (argc > 1 && !strcmp(argv[1], "kill")) {
		atomic_store(t_word(1), t_rank() == 1 ? (uint64_t)getpid() : atomic_load(t_word(1)));
		p_init();
		rc = t_run(killing);
		PtlFini();
		return rc;
	}
	return p_main(cases);
}
