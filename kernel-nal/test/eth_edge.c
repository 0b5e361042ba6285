/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * eth_edge.c - other nodes, where it is seldom: peers that end in the middle of a message, or never answer; memory that
 * is bad, only readable, spread, moved, late or wanted by two while frames are for it; many threads; the device that
 * goes
 *
 * TAP; see two_nodes.h. A peer that says nothing is one that is not there while netdev is empty: so nobody says so.
 */
#include "two_nodes.h"
#include <poll.h>
#include <pthread.h>
#include <linux/userfaultfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGE	4096
#define EDGE	5			/* portal of what a test attaches; 4 takes all */

/* A job of which only we are there, as node @nid of nodes 1 and 2. */
static bool alone(struct side *s, uint32_t nid)
{
	struct gptl_peer peer = { .nid = 3 - nid, .pid = 100, .uid = getuid(), .jid = 1 };
	struct gptl_far f = { .peers = (uintptr_t)&peer, .n = 1, .most = 1024 };
	struct gptl_net net = { .round = 1 };

	key[0] = 0x99ull << 32 | (uint32_t)next();
	return open_side(s, nid) && !ioctl(s->fd, GPTL_NET, &net) && !ioctl(s->fd, GPTL_FAR, &f) && post(s);
}

static struct gptl_md memory(const struct side *s, const void *at, uint64_t len, uint32_t options)
{
	return (struct gptl_md){ .start = (uintptr_t)at, .length = len, .threshold = PTL_MD_THRESH_INF,
				 .options = options | PTL_MD_EVENT_START_DISABLE,
				 .eq = (s->eq.idx + 1) | s->eq.gen << 16 };
}

static bool attach(struct side *s, const void *at, uint64_t len, uint32_t options, struct gptl_ref *md)
{
	struct gptl_post p = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY, .pt = EDGE, .ignore = ~0ULL,
			       .md = memory(s, at, len, options | PTL_MD_OP_PUT | PTL_MD_OP_GET |
					    PTL_MD_MANAGE_REMOTE) };
	int rc = ioctl(s->fd, GPTL_MEMD_ATTACH, &p);

	*md = p.dsc;
	return rc == PTL_OK;
}

static struct gptl_ref bound(struct side *s, const void *at, uint64_t len, uint32_t options)
{
	struct gptl_post p = { .md = memory(s, at, len, options) };

	return ioctl(s->fd, GPTL_MD_BIND, &p) == PTL_OK ? p.dsc : (struct gptl_ref){ GPTL_NONE, 0 };
}

/* A put (1) or get (2) of @len bytes, the first @len of @md. */
static int move(struct side *s, int type, struct gptl_ref md, uint32_t pt, uint64_t len, bool ack)
{
	struct gptl_move m = { .type = (uint8_t)type, .ack = ack, .slot = FAR, .nid = 3 - s->nid, .pid = 100, .pt = pt,
			       .put = md, .get = md, .len = len };

	return ioctl(s->fd, GPTL_MOVE, &m);
}

/* Sleep until event number @n; false: it is not there in @seconds. */
static bool sleeps_until(struct side *s, uint32_t n, int seconds)
{
	uint32_t place = s->eq.idx;
	struct gptl_wait w = { .eqs = (uintptr_t)&place, .n = 1, .timeout_ns = seconds * 1000000000LL };

	*(volatile uint32_t *)&s->claims[place] = n - 1;
	return !ioctl(s->fd, GPTL_WAIT, &w);
}

static uint8_t *pages(size_t n)
{
	uint8_t *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* ---- peers ---- */

static void t_who_waits_is_told(void)
{
	struct side *s = &side[0];
	struct gptl_ref md;
	double t;

	tell("peer_timeout", "2");
	if (!alone(s, 1)) {
		ok(false, "an interface");
		return;
	}
	tell("netdev", "\n");
	md = bound(s, pages(16), 16 * PAGE, 0);
	t = now();
	ok(move(s, 1, md, 4, 16 * PAGE, false) == PTL_OK, "a put to a peer that says nothing");
	ok(sleeps_until(s, 1, 12) && now() - t > 1.5 && now() - t < 8,
	   "who sleeps until it ends is woken when its peer is given up");
	ok(events(s) == 1 && fail_of(s, 1) == PTL_NI_DIED_NP, "it has died");
	shut(s);
	tell("netdev", "lo");
}

/* The first frame of @whole bytes for portal 4, from node 1 to node 2. */
static void first_frame(uint32_t len, uint64_t whole)
{
	struct wire_hdr h = { .type = WIRE_PUT, .paylen = len, .jid = 1, .src_nid = 1, .src_pid = 100,
			      .src_uid = getuid(), .dst_nid = 2, .dst_pid = 100, .pt = 4, .rlength = whole,
			      .md = WIRE_NO_MD };
	uint64_t s;

	memset(frame, 0x33, HEAD + WIRE_HDR + len);
	head(frame, 1, WIRE_HDR + len);
	wire_encode(&h, frame + HEAD);
	s = seal(frame);
	memcpy(frame + 16, &s, 8);
	say(frame, HEAD + WIRE_HDR + len);
}

static void t_died_while_it_sent(void)
{
	struct side *s = &side[1];
	uint32_t out;
	double t;

	if (!alone(s, 2)) {
		ok(false, "an interface");
		return;
	}
	tell("netdev", "\n");
	for (int i = 0; i < 5 && s->buf[0] != 0x33; i++) {	/* the first one makes the peer known */
		first_frame(1000, 4000);
		usleep(50000);
	}
	t = now();
	ok(s->buf[999] == 0x33 && s->buf[1000] == 0x5a && !sleeps_until(s, 1, 0), "half of a put has come");
	out = stat_of(s).frames_out;
	ok(sleeps_until(s, 1, 12) && now() - t < 8, "it ends when its peer is given up");
	ok(events(s) == 1 && fail_of(s, 1) == PTL_NI_DIED_NP, "it has died");
	ok(stat_of(s).frames_out > out, "having been asked");
	{
		struct gptl_ref md = { 0, 0 };			/* the first one of this interface */

		ok(ioctl(s->fd, GPTL_MD_UNLINK, &md) == PTL_OK, "and its descriptor can be unlinked");
	}
	shut(s);
	tell("netdev", "lo");
}

static void t_nobody_is_not_told(void)
{
	static const uint8_t many[6] = { 1, 2, 3, 4, 5, 6 };
	struct wire_hdr h = { .type = WIRE_NOP, .jid = 1, .src_nid = 1, .src_pid = 100, .dst_nid = 2, .dst_pid = 7777,
			      .md = WIRE_NO_MD };
	struct { const char *netdev; const uint8_t *from; int frames; } c[] = {
		{ "\n", source, 1 }, { "lo", many, 1 }, { "lo", source, 1 }, { "lo", source, 3000 } };
	int told[4] = { 0 };
	double took = 0;
	uint8_t b[2000];

	for (int i = 0; i < 4; i++) {
		uint8_t was[6];

		usleep(50000);
		deaf();
		tell("netdev", c[i].netdev);
		memcpy(was, source, 6);
		memmove(source, c[i].from, 6);
		head(frame, 1, WIRE_HDR);
		wire_encode(&h, frame + HEAD);
		took = now();
		for (int k = 0; k < c[i].frames; k++)
			say(frame, HEAD + WIRE_HDR);
		took = now() - took;
		usleep(20000);
		for (size_t n; (n = hear(b, sizeof(b))) != 0; )
			told[i] += b[1] == 2;
		memcpy(source, was, 6);
	}
	ok(!told[0], "who has no device says nothing");
	ok(!told[1], "nor does he to many");
	ok(told[2] == 1, "to one he does");
	printf("# %d answers in %.3f s\n", told[3], took);
	ok(told[3] && told[3] <= 64 * (took / 0.018 + 2), "but not as often as he is asked");
}

static void t_the_wire_goes(void)
{
	struct side *s = &side[0];
	struct gptl_ref md;
	bool good;

	if (system("ip link add edge0 type veth peer name edge1 && ip link set edge0 up && ip link set edge1 up")) {
		printf("ok %d - the device goes # SKIP no veth\n", ++n_tests);
		return;
	}
	tell("netdev", "edge0\n");
	good = alone(s, 1);
	tell("peer_timeout", "60");
	md = bound(s, pages(16), 16 * PAGE, 0);
	ok(!system("ip link del edge0") && good, "the device goes");
	ok(move(s, 1, md, 4, 16 * PAGE, false) == PTL_OK && sleeps_until(s, 1, 5) && fail_of(s, 1) != PTL_NI_OK,
	   "who is met after that has gone, too");
	shut(s);
	tell("netdev", "lo");
}

/* ---- memory ---- */

static void t_faulty_vector(void)
{
	uint8_t *bad = pages(1), *good = pages(2);
	ptl_md_iovec_t v[2] = { { bad, 8 }, { good, 8000 } };
	struct gptl_ref md;
	uint32_t had;
	int leaked = 0;

	ok(begin() && works() && works(), "two nodes");		/* and buffers that have been used */
	memset(good, 0x77, 2 * PAGE);
	munmap(bad, PAGE);
	md = bound(&side[0], v, 2, PTL_MD_IOVEC);
	memset(side[1].buf, 0x5a, BUF);
	had = events(&side[1]);
	ok(move(&side[0], 1, md, 4, 8008, false) == PTL_OK && event(&side[1], had + 1) &&
	   fail_of(&side[1], had + 1) == PTL_NI_FAULT_NP, "a put of what cannot be read is a fault");
	for (int i = 0; i < BUF; i++)
		leaked += side[1].buf[i] && side[1].buf[i] != 0x5a;
	printf("# %d bytes\n", leaked);
	ok(!leaked, "and brings nothing else");
}

static void t_only_readable(void)
{
	uint8_t *p = pages(1);
	ptl_md_iovec_t v[2] = { { p, 64 }, { p + 64, 64 } };
	struct gptl_ref md, from;
	uint32_t had = events(&side[0]);
	bool good = true;

	memset(p, 0x44, PAGE);
	mprotect(p, PAGE, PROT_READ);
	ok(attach(&side[1], v, 2, PTL_MD_IOVEC, &md), "a vector of memory that is only readable");
	md = bound(&side[0], side[0].buf, BUF, 0);
	from = side[0].md;
	for (int i = 0; i < 30 && good; i++) {
		memset(side[0].buf, 0, 64);
		good = move(&side[0], 1, from, EDGE, 64, false) == PTL_OK &&
		       move(&side[0], 2, md, EDGE, 64, false) == PTL_OK &&
		       sleeps_until(&side[0], ++had, 5) && fail_of(&side[0], had) == PTL_NI_OK &&
		       side[0].buf[63] == 0x44;
	}
	ok(good && p[0] == 0x44, "is read though it cannot be written");
}

/* A region of one page that is there when late() has said so: its descriptor in *@fd, -1: there are none here. */
static uint8_t *late_page(int *fd)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	uint8_t *p = pages(1);

	*fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	r.range.start = (uintptr_t)p;
	r.range.len = PAGE;
	if (*fd >= 0 && (ioctl(*fd, UFFDIO_API, &api) || ioctl(*fd, UFFDIO_REGISTER, &r))) {
		close(*fd);
		*fd = -1;
	}
	return p;
}

/* Somebody waits for it. */
static bool wanted(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 5000) == 1;
}

/*
 * A frame needs two pages: the second one is late, and the first one is replaced meanwhile. Its peer waits longer than
 * peer_timeout, and is told that it should.
 */
static void t_moved_while_it_is_held(void)
{
	uint8_t *a = pages(1), *b;
	struct uffdio_zeropage zero = { 0 };
	struct gptl_ref md;
	uint32_t had, his;
	int fd;

	b = late_page(&fd);
	if (fd < 0) {
		printf("ok %d - pages that are late # SKIP no userfaultfd\n", ++n_tests);
		return;
	}
	tell("peer_timeout", "2");
	ok(begin() && works(), "two nodes");
	{
		ptl_md_iovec_t v[2] = { { a + PAGE - 512, 512 }, { b, 512 } };

		memset(a, 1, PAGE);
		ok(attach(&side[1], v, 2, PTL_MD_IOVEC, &md), "a vector of two pages");
	}
	md = bound(&side[0], side[0].buf, BUF, 0);
	memset(side[0].buf, 0x66, 1024);
	had = events(&side[1]);
	his = events(&side[0]);
	ok(move(&side[0], 1, md, EDGE, 1024, true) == PTL_OK && wanted(fd), "a put waits for a page");
	ok(mmap(a, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a,
	   "another one is replaced");
	a[0] = 2;
	sleep(5);
	zero.range.start = (uintptr_t)b;
	zero.range.len = PAGE;
	ok(!ioctl(fd, UFFDIO_ZEROPAGE, &zero), "the page comes");
	ok(event(&side[1], had + 1) && fail_of(&side[1], had + 1) == PTL_NI_OK && b[0] == 0x66 && b[511] == 0x66,
	   "the put has come");
	ok(a[PAGE - 512] == 0x66 && a[PAGE - 1] == 0x66, "into the page that is there now");
	ok(sleeps_until(&side[0], his + 2, 5) && fail_of(&side[0], his + 1) == PTL_NI_OK &&
	   fail_of(&side[0], his + 2) == PTL_NI_OK, "and who sent it has waited for the acknowledgement");
	close(fd);
	tell("peer_timeout", "60");
}

/* Its process ends while the worker waits for its page: then the module can still go, which the script sees. */
static void t_ends_while_it_is_held(void)
{
	int status = 0;
	pid_t p;

	fflush(stdout);
	p = fork();
	if (!p) {
		struct gptl_ref md;
		int fd;
		uint8_t *b = late_page(&fd);
		ptl_md_iovec_t v[2] = { { b, 512 }, { b + 512, 512 } };

		job_number = 0;			/* the parent's are not ours to close */
		if (fd < 0)
			_exit(0);
		if (!begin() || !attach(&side[1], v, 2, PTL_MD_IOVEC, &md))
			_exit(1);
		if (move(&side[0], 1, side[0].md, EDGE, 1024, false) != PTL_OK)
			_exit(2);
		_exit(wanted(fd) ? 0 : 3);
	}
	waitpid(p, &status, 0);
	printf("# status %x\n", (unsigned)status);
	ok(!status, "a process ends whose page is waited for");
}

static volatile bool stop;

static void *goes_on(void *s)
{
	while (!stop)
		put(s, 3 - ((struct side *)s)->nid, 8);
	return NULL;
}

/* Each frame needs all of its pages at a time, which are looked up one after the other, while others come and go. */
static void t_vector_of_many(void)
{
	enum { N = 256 };
	static ptl_md_iovec_t v[N];
	uint8_t *p = pages(N), *from = pages(1);
	struct gptl_ref md, src;
	pthread_t other;
	uint32_t had;
	bool good = true;

	ok(begin() && works(), "two nodes");
	for (int i = 0; i < N; i++) {
		p[i * PAGE] = 1;
		v[N - 1 - i] = (ptl_md_iovec_t){ p + i * PAGE, 4 };
	}
	ok(attach(&side[1], v, N, PTL_MD_IOVEC, &md), "a vector of many pages");
	memset(from, 0x66, 4 * N);
	src = bound(&side[0], from, 4 * N, 0);
	pthread_create(&other, NULL, goes_on, &side[1]);
	had = events(&side[1]);
	for (int i = 0; i < 5 && good; i++)
		good = move(&side[0], 1, src, EDGE, 4 * N, false) == PTL_OK && sleeps_until(&side[1], ++had, 10);
	stop = true;
	pthread_join(other, NULL);
	ok(good && p[0] == 0x66 && p[(N - 1) * PAGE] == 0x66, "takes what comes while there is other traffic");
}

/* ---- two who need pages of a third ---- */

enum { SLOW = 400 };			/* pages of one of them, each of which takes its time */
static uint8_t *slow;
static volatile int slow_given;

static void *brings_pages(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct uffd_msg m;

	while (read(fd, &m, sizeof(m)) == sizeof(m)) {
		struct uffdio_zeropage z = { .range = { m.arg.pagefault.address & ~(uint64_t)(PAGE - 1), PAGE } };

		usleep(2000);
		ioctl(fd, UFFDIO_ZEROPAGE, &z);
		slow_given++;
	}
	return NULL;
}

/* Memory whose pages a thread brings, one after the other, until we end. False: there is none here. */
static bool slow_pages(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t t;
	int fd;

	slow = mmap(NULL, (size_t)65 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	madvise(slow, (size_t)65 << 20, MADV_NOHUGEPAGE);
	fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	slow_given = 0;
	r.range.start = (uintptr_t)slow;
	r.range.len = 65 << 20;
	return fd >= 0 && !ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &r) &&
	       !pthread_create(&t, NULL, brings_pages, (void *)(intptr_t)fd) && !pthread_detach(t);
}

/* Nodes 1 and 3, each of which knows node 2. */
static bool three(struct side *s)
{
	struct gptl_peer peer[3] = { 0 };

	key[0] = 0x77ull << 32 | (uint32_t)next();
	for (uint32_t i = 0; i < 3; i++) {
		struct gptl_net net = { .round = 1 };

		if (!open_side(&s[i], 1 + i) || ioctl(s[i].fd, GPTL_NET, &net))
			return false;
		peer[i] = (struct gptl_peer){ .nid = 1 + i, .pid = 100, .uid = getuid(), .jid = 1 };
		memcpy(peer[i].mac, net.mac, 6);
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct gptl_peer others[2] = { peer[i ? 0 : 1], peer[i == 2 ? 1 : 2] };
		struct gptl_far f = { .peers = (uintptr_t)others, .n = 2, .most = 1024 };

		if (ioctl(s[i].fd, GPTL_FAR, &f) || !post(&s[i]))
			return false;
	}
	return true;
}

/* From node 1 or 3 to node 2. */
static bool put_to_2(struct side *s, struct gptl_ref md, uint32_t pt, uint64_t len)
{
	struct gptl_move m = { .type = 1, .slot = s->nid == 1 ? FAR : FAR + 1, .nid = 2, .pid = 100, .pt = pt,
			       .put = md, .len = len };

	return ioctl(s->fd, GPTL_MOVE, &m) == PTL_OK;
}

/*
 * One peer's long put wants a new page all the time, another one's short put wants one: it gets it in its turn,
 * whoever has come first into the list of peers.
 */
static void fair(uint32_t first)
{
	struct side s[3];
	uint8_t *from = pages(SLOW), *few = pages(2);
	ptl_md_iovec_t v[2] = { { few, 256 }, { few + PAGE, 256 } };
	struct gptl_post p = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY, .pt = EDGE + 1, .ignore = ~0ULL };
	struct side *busy = &s[2], *other = &s[0], *to = &s[1];
	struct gptl_ref md, all, one;
	int before, after;
	bool good;

	if (!slow_pages()) {
		printf("ok %d - pages for both # SKIP no userfaultfd\n", ++n_tests);
		return;
	}
	good = three(s) && attach(to, v, 2, PTL_MD_IOVEC, &md);
	p.md = memory(to, slow, 65 << 20, PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_END_DISABLE);
	good = good && ioctl(to->fd, GPTL_MEMD_ATTACH, &p) == PTL_OK;
	all = bound(busy, from, SLOW * PAGE, 0);
	one = bound(other, from, 512, 0);
	good = good && put_to_2(&s[first], s[first].md, 4, 8) && event(to, 1) &&
	       put_to_2(&s[2 - first], s[2 - first].md, 4, 8) && event(to, 2);
	good = good && put_to_2(busy, all, EDGE + 1, SLOW * PAGE);
	for (double t = now(); slow_given < 10 && now() - t < 5; )
		usleep(1000);
	before = slow_given;
	good = good && put_to_2(other, one, EDGE, 512) && sleeps_until(to, 3, 30);
	after = slow_given;
	printf("# its pages came when %d of %d had come for the other, at %d\n", after, SLOW, before);
	ok(good && before >= 10 && before < SLOW / 2 && after - before < SLOW / 4,
	   "who needs a page gets it in his turn");
	for (int i = 0; i < 3; i++)
		shut(&s[i]);
}

static void t_pages_in_turn(void)
{
	fair(0);
	fair(2);
}

static void t_bound_beyond_the_limit(void)
{
	int status = 0;
	pid_t p;

	fflush(stdout);
	p = fork();
	if (!p) {
		struct rlimit r = { 128 << 10, 128 << 10 };
		uint8_t *big = pages(256);
		struct gptl_ref md;
		uint32_t had;

		memset(big, 0x55, 256 * PAGE);
		job_number = 0;
		setrlimit(RLIMIT_MEMLOCK, &r);
		if (setgid(65534) || setuid(65534) || !begin())
			_exit(1);
		if (attach(&side[1], big, 256 * PAGE, 0, &md))
			_exit(2);		/* that one is for others to reach */
		md = bound(&side[0], big, 256 * PAGE, 0);
		if (md.idx == GPTL_NONE)
			_exit(3);
		had = events(&side[1]);
		if (move(&side[0], 1, md, 4, 256 * PAGE, false) != PTL_OK || !event(&side[1], had + 1))
			_exit(4);
		_exit(side[1].buf[0] == 0x55 && side[1].buf[BUF - 1] == 0x55 ? 0 : 5);
	}
	waitpid(p, &status, 0);
	printf("# status %x\n", (unsigned)status);
	ok(!status, "what is sent may be longer than RLIMIT_MEMLOCK");
}

static void *puts_to_both(void *arg)
{
	struct side *s = arg;
	uint8_t *p = pages(16);
	struct gptl_ref md;
	struct gptl_post b = { .md = { .start = (uintptr_t)p, .length = 16 * PAGE, .threshold = PTL_MD_THRESH_INF } };

	memset(p, 0x66, 16 * PAGE);
	if (ioctl(s->fd, GPTL_MD_BIND, &b) != PTL_OK)
		return NULL;
	md = b.dsc;
	while (!stop) {
		move(s, 1, md, EDGE, 2 * PAGE, false);
		move(s, 1, md, EDGE + 1, 16 * PAGE, false);
		usleep(200);
	}
	return NULL;
}

/* Memory that is looked up is unmapped, moved, thrown away and forked while frames come for it. */
static void t_buffers_vanish(double seconds)
{
	enum { LONG = 65 << 20 };
	uint8_t *at = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *to;
	ptl_md_iovec_t v[2] = { { at + 20 * PAGE, PAGE }, { at + 21 * PAGE + 100, PAGE } };
	struct gptl_post p = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY, .pt = EDGE, .ignore = ~0ULL,
			       .md = { .start = (uintptr_t)v, .length = 2, .threshold = PTL_MD_THRESH_INF,
				       .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_IOVEC } };
	const size_t len = 24 * PAGE;
	double until, t;
	pthread_t other;
	int rounds = 0;
	bool good;

	good = begin() && works() && ioctl(side[1].fd, GPTL_MEMD_ATTACH, &p) == PTL_OK;
	p.pt = EDGE + 1;
	p.md.start = (uintptr_t)at;
	p.md.length = LONG;
	p.md.options &= ~PTL_MD_IOVEC;
	ok(good && ioctl(side[1].fd, GPTL_MEMD_ATTACH, &p) == PTL_OK, "a vector, and a descriptor of 65 MiB");
	stop = false;
	pthread_create(&other, NULL, puts_to_both, &side[0]);
	for (until = now() + seconds; now() < until; rounds++) {
		switch (next() % 6) {
		case 0:
			munmap(at, len);
			break;
		case 1:
			madvise(at, len, MADV_DONTNEED);
			break;
		case 2:
			to = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			mremap(at, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to);
			munmap(to, len);
			break;
		case 3:
			if (!fork())
				_exit(0);
			wait(NULL);
			break;
		case 4:
			mprotect(at, len, PROT_READ);
			break;
		}
		at = mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		at[0] = 1;
		if (next() % 4 == 0)
			usleep((useconds_t)(next() % 3000));
	}
	memset(at, 0, len);
	for (t = now() + 20; (!*(volatile uint8_t *)(at + 16 * PAGE - 1) ||
			      !*(volatile uint8_t *)(at + 22 * PAGE + 99)) && now() < t; )
		usleep(1000);
	stop = true;
	pthread_join(other, NULL);
	printf("# %d rounds, held %llu times\n", rounds, (unsigned long long)stat_of(&side[1]).held);
	ok(at[16 * PAGE - 1] == 0x66 && at[22 * PAGE + 99] == 0x66, "what comes is seen where the memory is now");
}

/* ---- threads ---- */

static void *puts_many(void *arg)
{
	struct side *s = arg;
	long bad = 0;

	for (int i = 0; i < 100; i++)
		bad += put(s, 2, BUF) != PTL_OK;
	return (void *)bad;
}

static void t_threads_find_room(void)
{
	enum { N = 8 };			/* times 100 buffers: fewer than a peer may have */
	struct side *s = &side[0];
	pthread_t t[N];
	long bad = 0;

	if (!alone(s, 1)) {
		ok(false, "an interface");
		return;
	}
	tell("netdev", "\n");
	for (int i = 0; i < N; i++)
		pthread_create(&t[i], NULL, puts_many, s);
	for (int i = 0; i < N; i++) {
		void *r;

		pthread_join(t[i], &r);
		bad += (long)r;
	}
	printf("# %ld of %d refused\n", bad, N * 100);
	ok(!bad, "threads that need more room at the same time get it");
	shut(s);
	tell("netdev", "lo");
}

int main(void)
{
	if (access(GPTL_DEVICE, R_OK | W_OK) || !open_wire()) {
		printf("1..0 # SKIP no %s, or no packet socket\n", GPTL_DEVICE);
		return 0;
	}
	seed = (uint64_t)time(NULL) * 2654435761U | 1;
	t_who_waits_is_told();
	t_died_while_it_sent();
	t_nobody_is_not_told();
	t_threads_find_room();
	t_the_wire_goes();
	t_faulty_vector();
	t_only_readable();
	t_vector_of_many();
	t_moved_while_it_is_held();
	t_ends_while_it_is_held();
	t_pages_in_turn();
	t_bound_beyond_the_limit();
	t_buffers_vanish(getenv("HOSTILE_SECONDS") ? atof(getenv("HOSTILE_SECONDS")) : 4);
	printf("1..%d\n", n_tests);
	return failed;
}
