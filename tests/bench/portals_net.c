/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals_net - PtlPut between two nodes (or on one), beside what TCP itself does between the same two processes
 *
 * Figures:
 *   tcp, put          half round trips in ns, both polling: a socket without blocking; PtlEQGet
 *   tcp_wait, put_wait  the same, both asleep: recv; PtlEQWait
 *   tcp_relay         as tcp_wait, by way of two processes that pass bytes on: what engines cost at least
 *   tcp_stream, put_stream  ns for each message of a stream that is acknowledged at its end, the receiver taking it
 *   tcp_stream_two, tcp_stream_zc  the same, each message in two halves over two connections; with MSG_ZEROCOPY
 *   put_stream_away   the same, the target computing all the time, in no call (application bypass)
 *   compute, compute_hit  ns of a computation at the target, alone, and while these come in
 * Run it under a launcher on 2 ranks of 2 nodes (aprun -n 2 -N 1; PTL_NAL=gp or ap). Options: --json, --quick; --node:
 * on 2 ranks of one node, what Portals does alone
 */
#define bind bind_md		/* <sys/socket.h> has one, too */
#include "portals.h"
#undef bind

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define MAX	((size_t)4 << 20)
#define REPS	7

enum { PT_DATA = 4, PT_WORD, PT_FLAG };

static ptl_process_id_t peer;
static unsigned char *sbuf, *rbuf;
static ptl_handle_eq_t eq_in, eq_word, eq_own;
static ptl_handle_md_t md_send, md_word, md_acked;
static uint64_t word_buf, flag;
static int direct_fd, second_fd, relay_fd;
static int node;			/* one is all there is */

static void word(uint64_t v)
{
	check(PtlPutRegion(md_word, 0, 8, PTL_NO_ACK_REQ, peer, PT_WORD, 0, 0, 0, v));
}

static uint64_t await_word(void)
{
	ptl_event_t ev;

	check(PtlEQWait(eq_word, &ev));
	return ev.hdr_data;
}

static void barrier(void)
{
	word(1);
	await_word();
}

/* ---- TCP ---- */

static void tune(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int listen_any(uint16_t *port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) || listen(fd, 4) ||
	    getsockname(fd, (struct sockaddr *)&sa, &len))
		bench_die("portals_net: listen: %s", strerror(errno));
	*port = ntohs(sa.sin_port);
	return fd;
}

static int join(uint16_t port)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&sa, sizeof(sa)))
		bench_die("portals_net: connect: %s", strerror(errno));
	tune(fd);
	return fd;
}

static int take(int listener)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		bench_die("portals_net: accept: %s", strerror(errno));
	tune(fd);
	return fd;
}

static void all_out(int fd, const void *p, size_t n)
{
	while (n) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k < 0 && errno != EINTR)
			bench_die("portals_net: send: %s", strerror(errno));
		if (k > 0)
			p = (const char *)p + k, n -= (size_t)k;
	}
}

static void all_in(int fd, void *p, size_t n, int flags)
{
	while (n) {
		ssize_t k = recv(fd, p, n, flags);

		if (!k || (k < 0 && errno != EINTR && errno != EAGAIN))
			bench_die("portals_net: recv: %s", k ? strerror(errno) : "closed");
		if (k > 0)
			p = (char *)p + k, n -= (size_t)k;
	}
}

/* 8 bytes at a time between two sockets, both ways: A to B, then B to A, as a ping-pong needs it. */
static void pass_on(int a, int b)
{
	char c[8];

	for (;; all_out(a, c, sizeof(c))) {
		size_t n = 0;

		while (n < sizeof(c)) {
			ssize_t k = recv(a, c + n, sizeof(c) - n, 0);

			if (k <= 0)
				_exit(0);
			n += (size_t)k;
		}
		all_out(b, c, sizeof(c));
		all_in(b, c, sizeof(c), 0);
	}
}

/* A connection to the other rank, and one by way of two processes, which rank 0 forks: they only pass bytes on. */
static void connections(void)
{
	uint16_t port[3];
	int l0, l1, l2, fd;
	char ready;

	if (rank) {
		uint64_t v = await_word();

		direct_fd = join((uint16_t)v);
		second_fd = join((uint16_t)v);
		relay_fd = join((uint16_t)(v >> 16));
		all_in(relay_fd, &ready, 1, 0);
		word(1);
		return;
	}
	l0 = listen_any(&port[0]);
	l1 = listen_any(&port[1]);	/* where rank 1's relay listens for it */
	l2 = listen_any(&port[2]);	/* where rank 0's relay does */
	if (!fork()) {			/* rank 1's: between it and the other relay */
		int mine;

		fd = join(port[2]);
		mine = take(l1);
		all_out(mine, "r", 1);
		pass_on(fd, mine);
	}
	if (!fork()) {			/* rank 0's */
		int other = take(l2);

		fd = take(l2);
		pass_on(fd, other);
	}
	word((uint64_t)port[1] << 16 | port[0]);
	direct_fd = take(l0);
	second_fd = take(l0);
	close(l0);
	close(l1);
	await_word();			/* rank 1's relay is joined to ours: the next to come is we */
	relay_fd = join(port[2]);
	close(l2);
}

static double tcp_pingpong(int fd, size_t n, int iters, int flags)
{
	double t = bench_now_ns();

	for (int i = 0; i < iters; i++) {
		if (!rank)
			all_out(fd, sbuf, n);
		all_in(fd, rbuf, n, flags);
		if (rank)
			all_out(fd, sbuf, n);
	}
	return (bench_now_ns() - t) / iters / 2;
}

static double tcp_stream(size_t n, int iters)
{
	double t = bench_now_ns();
	char c[8] = "";

	for (int i = 0; i < iters; i++)
		if (rank)
			all_in(direct_fd, rbuf, n, 0);
		else
			all_out(direct_fd, sbuf, n);
	if (rank)
		all_out(direct_fd, c, sizeof(c));
	else
		all_in(direct_fd, c, sizeof(c), 0);
	return (bench_now_ns() - t) / iters;
}

/* Half of it by each of two connections, whichever has room, or bytes. */
static double tcp_stream_two(size_t n, int iters)
{
	const int fd[2] = { direct_fd, second_fd };
	double t = bench_now_ns();
	char c[8] = "";

	for (int i = 0; i < iters; i++) {
		size_t at[2] = { 0, n / 2 };
		const size_t end[2] = { n / 2, n };

		while (at[0] < end[0] || at[1] < end[1]) {
			struct pollfd p[2] = { { .fd = fd[0] }, { .fd = fd[1] } };

			for (int k = 0; k < 2; k++) {
				ssize_t m = 0;

				if (at[k] < end[k] && rank)
					m = recv(fd[k], rbuf + at[k], end[k] - at[k], MSG_DONTWAIT);
				else if (at[k] < end[k])
					m = send(fd[k], sbuf + at[k], end[k] - at[k], MSG_DONTWAIT | MSG_NOSIGNAL);
				if ((m < 0 && errno != EAGAIN && errno != EINTR) || (rank && !m && at[k] < end[k]))
					bench_die("portals_net: two connections: %s", strerror(errno));
				at[k] += m > 0 ? (size_t)m : 0;
				p[k].events = at[k] == end[k] ? 0 : rank ? POLLIN : POLLOUT;
			}
			if (at[0] < end[0] || at[1] < end[1])
				poll(p, 2, -1);
		}
	}
	if (rank)
		all_out(direct_fd, c, sizeof(c));
	else
		all_in(direct_fd, c, sizeof(c), 0);
	return (bench_now_ns() - t) / iters;
}

/* What the kernel says of sends that have ended, waiting for one if @wait: how many. @copied: of them with a copy. */
static unsigned sends_ended(int wait, unsigned *copied)
{
	unsigned ended = 0;

	for (;;) {
		char room[256];
		struct msghdr m = { .msg_control = room, .msg_controllen = sizeof(room) };
		struct pollfd p = { .fd = direct_fd };

		if (recvmsg(direct_fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
			if (ended || !wait)
				return ended;
			poll(&p, 1, 10);	/* POLLERR comes unasked */
			continue;
		}
		for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
			struct sock_extended_err e;

			memcpy(&e, CMSG_DATA(h), sizeof(e));
			if (e.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
				continue;
			ended += e.ee_data - e.ee_info + 1;
			if (e.ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
				*copied += e.ee_data - e.ee_info + 1;
		}
	}
}

/*
 * The memory is the program's again at the end only. @copied: the part of the sends, in percent, that the kernel says
 * were copied after all.
 */
static double tcp_stream_zc(size_t n, int iters, double *copied)
{
	double t = bench_now_ns();
	unsigned sends = 0, ended = 0, with_copy = 0;
	char c[8] = "";
	int one = 1;

	if (!rank && setsockopt(direct_fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		one = 0;
	for (int i = 0; i < iters; i++) {
		if (rank)
			all_in(direct_fd, rbuf, n, 0);
		for (size_t at = 0; !rank && at < n;) {
			ssize_t k = send(direct_fd, sbuf + at, n - at, MSG_NOSIGNAL | (one ? MSG_ZEROCOPY : 0));

			if (k < 0 && errno == ENOBUFS) {	/* so much may be locked, and no more */
				ended += sends_ended(1, &with_copy);
				continue;
			}
			if (k < 0 && errno != EINTR)
				bench_die("portals_net: send with MSG_ZEROCOPY: %s", strerror(errno));
			sends += k > 0;
			at += k > 0 ? (size_t)k : 0;
		}
		ended += !rank && one ? sends_ended(0, &with_copy) : 0;
	}
	while (!rank && one && ended < sends)
		ended += sends_ended(1, &with_copy);
	if (rank)
		all_out(direct_fd, c, sizeof(c));
	else
		all_in(direct_fd, c, sizeof(c), 0);
	*copied = sends ? 100. * with_copy / sends : 0;
	t = (bench_now_ns() - t) / iters;
	one = 0;
	setsockopt(direct_fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one));
	return t;
}

/* ---- Portals ---- */

static void put(size_t n, ptl_handle_md_t md, ptl_ack_req_t ack)
{
	int rc;

	while ((rc = PtlPutRegion(md, 0, n, ack, peer, PT_DATA, 0, 0, 0, 0)) == PTL_NO_SPACE)
		bench_relax();
	check_(rc, "PtlPutRegion");
}

static void await_put(int sleeping)
{
	ptl_event_t ev;
	int rc;

	if (sleeping) {
		check(PtlEQWait(eq_in, &ev));
		return;
	}
	while ((rc = PtlEQGet(eq_in, &ev)) == PTL_EQ_EMPTY)
		;
	check_(rc, "PtlEQGet");
}

static double put_pingpong(size_t n, int iters, int sleeping)
{
	double t = bench_now_ns();

	for (int i = 0; i < iters; i++) {
		if (!rank)
			put(n, md_send, PTL_NO_ACK_REQ);
		await_put(sleeping);
		if (rank)
			put(n, md_send, PTL_NO_ACK_REQ);
	}
	return (bench_now_ns() - t) / iters / 2;
}

/* ns of a computation of about a microsecond */
static double compute(void)
{
	double t = bench_now_ns();
	uint64_t x = 88172645463325252u;

	for (int i = 0; i < 1000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	__asm__ volatile("" : : "r"(x));
	return bench_now_ns() - t;
}

/* Rank 0 puts, the last with an acknowledgement; rank 1 takes the events. */
static double put_stream(size_t n, int iters)
{
	double t = bench_now_ns();
	ptl_event_t ev;

	if (rank) {
		for (int i = 0; i < iters; i++)
			await_put(0);
		return 0;
	}
	for (int i = 0; i < iters - 1; i++)
		put(n, md_send, PTL_NO_ACK_REQ);
	put(n, md_acked, PTL_ACK_REQ);
	do
		check(PtlEQWait(eq_own, &ev));
	while (ev.type != PTL_EVENT_ACK);
	return (bench_now_ns() - t) / iters;
}

/*
 * The same; rank 1 computes until a word in its memory says that all has come, and takes the events then. @hit: what it
 * needed for a computation meanwhile, mean.
 */
static double put_stream_away(size_t n, int iters, double *hit)
{
	double v = 0, sum = 0, turns = 0;

	if (rank) {
		for (; !*(volatile uint64_t *)&flag; turns++)
			sum += compute();
		flag = 0;
		for (int i = 0; i < iters; i++)
			await_put(0);
		word((uint64_t)(sum / turns * 1000));
	} else {
		v = put_stream(n, iters);
		*(uint64_t *)(void *)sbuf = 1;
		check(PtlPutRegion(md_send, 0, 8, PTL_NO_ACK_REQ, peer, PT_FLAG, 0, 0, 0, 0));
		*hit = (double)await_word() / 1000;
		*(uint64_t *)(void *)sbuf = 0;
	}
	return v;
}

/* ---- figures ---- */

static int rounds;
static int quick;

static void note_unit(const char *name, size_t n, double *v, const char *unit)
{
	if (!rank)
		bench_record(name, n, bench_median(v, rounds), unit);
}

static void note(const char *name, size_t n, double *v)
{
	note_unit(name, n, v, "ns");
}

static void setup(void)
{
	const unsigned take_ = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE;
	const unsigned quiet = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;

	start();
	if (size != 2)
		bench_die("portals_net: run it on 2 ranks (this is a job of %u)", size);
	peer = id_of(!rank);
	if (!node && peer.nid == id_of(rank).nid)
		bench_die("portals_net: run it on 2 nodes, such as virtual ones (aprun -n 2 -N 1); or --node");
	if (node && peer.nid != id_of(rank).nid)
		bench_die("portals_net: --node is for 2 ranks of one node");
	sbuf = calloc(1, MAX + 64);
	rbuf = calloc(1, MAX + 64);
	if (!sbuf || !rbuf)
		bench_die("portals_net: out of memory");
	eq_in = queue(32768);
	eq_word = queue(64);
	eq_own = queue(64);
	expose(PT_DATA, rbuf, MAX, eq_in, take_);
	expose(PT_FLAG, &flag, 8, PTL_EQ_NONE, take_ | PTL_MD_EVENT_END_DISABLE);
	expose_bits(PT_WORD, 0, 0, &word_buf, 8, eq_word, take_);
	md_send = bind_md(sbuf, MAX, PTL_EQ_NONE, quiet);
	md_word = bind_md(&word_buf, 8, PTL_EQ_NONE, quiet);
	md_acked = bind_md(sbuf, MAX, eq_own, quiet & ~PTL_MD_EVENT_END_DISABLE);
}

int main(int argc, char **argv)
{
	int json = bench_flag(argc, argv, "--json");
	double v[REPS], w[REPS], x[REPS], y[REPS], z[REPS];
	size_t long_ = 1 << 20;
	int few, many;

	quick = bench_flag(argc, argv, "--quick");
	node = bench_flag(argc, argv, "--node");
	rounds = quick ? 3 : REPS;
	few = quick ? 32 : 200;
	many = quick ? 500 : 3000;
	setup();
	if (bench_args(argc, argv, rank == 0, "--json --quick --node", "", "")) {
		finish();
		return 2;
	}
	bench_pin((int)rank);
	check(PtlRtBarrier_np());	/* what comes before there is an entry for it is lost */
	if (!node)
		connections();
	barrier();
	if (!rank)
		bench_begin("portals_net", json);
	/* in turns, so that both see the same machine */
	for (int r = 0; r < rounds; r++) {
		v[r] = node ? 0 : tcp_pingpong(direct_fd, 8, many, MSG_DONTWAIT);
		barrier();
		w[r] = put_pingpong(8, many, 0);
		barrier();
	}
	if (!node)
		note("tcp", 8, v);
	note("put", 8, w);
	for (int r = 0; r < rounds; r++) {
		v[r] = node ? 0 : tcp_pingpong(direct_fd, 8, many, 0);
		barrier();
		w[r] = put_pingpong(8, many, 1);
		barrier();
		x[r] = node ? 0 : tcp_pingpong(relay_fd, 8, many / 2, 0);
		barrier();
	}
	if (!node) {
		note("tcp_wait", 8, v);
		note("tcp_relay", 8, x);
	}
	note("put_wait", 8, w);
	for (size_t n = 8; n <= MAX; n = n == 8 ? long_ : 4 * n) {
		int iters = n == 8 ? 2 * many : n == long_ ? few : few / 4;

		for (int r = 0; r < rounds; r++) {
			v[r] = node || n == 8 ? 0 : tcp_stream(n, iters);
			barrier();
			w[r] = put_stream(n, iters);
			barrier();
			if (node || n == 8)
				continue;
			x[r] = tcp_stream_two(n, iters);
			barrier();
			y[r] = tcp_stream_zc(n, iters, &z[r]);
			barrier();
		}
		if (!node && n != 8) {
			note("tcp_stream", n, v);
			note("tcp_stream_two", n, x);
			note("tcp_stream_zc", n, y);
			note_unit("tcp_zc_copied", n, z, "%");
		}
		note("put_stream", n, w);
	}
	for (int r = 0; r < rounds; r++) {
		double alone = 0;

		for (int i = 0; rank && i < 1000; i++)
			alone += compute();
		if (rank)
			word((uint64_t)alone);
		else
			x[r] = (double)await_word() / 1000;
		barrier();
		v[r] = put_stream_away(8, 2 * many, &w[r]);
		barrier();
	}
	note("put_stream_away", 8, v);
	note("compute", 0, x);
	note("compute_hit", 0, w);
	if (!rank)
		bench_end();
	barrier();
	if (!node) {
		close(direct_fd);
		close(second_fd);
		close(relay_fd);
	}
	while (!rank && !node && wait(NULL) > 0)
		;
	finish();
	return 0;
}
