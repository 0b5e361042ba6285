/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * faults.c - each allocation and each copy from or to user space of a call fails once, on a kernel with fault injection
 *
 *	faults MODULE
 *
 * /proc/thread-self/fail-nth lets the Nth of this thread fail; so each scenario is run again and again, with another
 * one of its places. It may end with an error, or not; what it has made must be given back (kmemleak, and rmmod, which
 * the script looks at), and afterwards all must work. The module's workers, which are no threads of ours, fail by
 * chance. TAP, for root; first the module is loaded so, then the rest with it.
 */
#include "two_nodes.h"
#include <dirent.h>
#include <sys/syscall.h>

#define PAGE	4096
#define MANY	1000000			/* more than a scenario has places */
#define EDGES	25

static int nth_fd;

/* The @n-th from now on; 0: none. Returns how many there would have been until the last one that was asked for. */
static int arm(int n)
{
	char b[16] = "";
	int left = pread(nth_fd, b, sizeof(b) - 1, 0) > 0 ? atoi(b) : 0;

	snprintf(b, sizeof(b), "%d", n);
	if (pwrite(nth_fd, b, strlen(b), 0) < 0 &&		/* it may be this one that fails */
	    pwrite(nth_fd, b, strlen(b), 0) < 0)
		perror("fail-nth");
	return left;
}

static void run(int n, int *left, void (*before)(void), void (*fn)(void), void (*after)(void))
{
	if (before)
		before();
	arm(n);
	fn();
	*left = arm(0);
	if (after)
		after();
}

/*
 * Runs @fn with its places failing: each of the first and the last ones, some of those in between (a page of many is
 * like another). How many it has where none fails.
 */
static int each(void (*before)(void), void (*fn)(void), void (*after)(void))
{
	int left, all, runs = 0;
	double t = now();

	run(MANY, &left, before, fn, after);
	all = MANY - left;
	for (int n = all > EDGES ? all - EDGES : 1; n <= all; n++, runs++)
		run(n, &left, before, fn, after);
	for (int n = 1; n <= all - EDGES; n += n <= EDGES || all < 4 * EDGES ? 1 : all / EDGES, runs++)
		run(n, &left, before, fn, after);
	printf("# %d places, %d of them failed, %.0f s\n", all, runs, now() - t);
	fflush(stdout);
	return all;
}

/* ---- the module ---- */

static void *module;			/* not read where it may fail: a guest's files come by a network of their own */
static size_t module_len;
static int load_rc;

static bool read_module(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	module = malloc(64 << 20);
	while (fd >= 0 && (n = read(fd, (char *)module + module_len, (64 << 20) - module_len)) > 0)
		module_len += (size_t)n;
	if (fd >= 0)
		close(fd);
	return module_len;
}

static void load(void)
{
	load_rc = (int)syscall(SYS_init_module, module, module_len, "netdev=lo");
}

static void unload(void)
{
	if (!load_rc && syscall(SYS_delete_module, "portals_gp", O_NONBLOCK))
		perror("rmmod");
}

static void t_load(void)
{
	int n = each(NULL, load, unload);

	load();
	ok(n > 10 && !load_rc && !access(GPTL_DEVICE, F_OK), "the module is loaded, or not");
}

/* ---- an interface ---- */

static void drop(struct side *s)
{
	if (s->l && s->l != MAP_FAILED)
		munmap(s->l, s->region);
	if (s->claims && s->claims != MAP_FAILED)
		munmap(s->claims, 4096);
	if (s->buf && s->buf != MAP_FAILED)
		munmap((uint8_t *)((uintptr_t)s->buf & ~(uintptr_t)8191), BUF + 8192);
	if (s->fd >= 0)
		close(s->fd);
}

static struct side one;

static void open_one(void)
{
	struct gptl_open o = { .abi = GPTL_ABI, .layout = P3L_VERSION, .jid = 1, .nid = 1, .pid = 100, .size = 1,
			       .max_me = 256, .max_md = 256, .max_eq = 32, .max_pt = 7, .max_ac = 1, .max_me_list = 256,
			       .max_iov = 256, .max_getput = 64, .index_from = 16, .space = 1 << 20 };
	struct gptl_meet meet = { .timeout_ms = 1000 };

	one = (struct side){ .fd = open(GPTL_DEVICE, O_RDWR | O_CLOEXEC), .nid = 1 };
	if (one.fd < 0)
		return;
	o.key[0] = (uint8_t)++job_number;
	if (!ioctl(one.fd, GPTL_OPEN, &o) && !ioctl(one.fd, GPTL_MEET, &meet)) {
		one.region = o.region;
		one.l = mmap(NULL, o.region, PROT_READ, MAP_SHARED, one.fd, 0);
		one.claims = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, one.fd, (off_t)GPTL_CLAIMS);
	}
}

static void bind_one(void)
{
	struct gptl_peer peer[3] = { { .nid = 2, .pid = 100, .jid = 1 }, { .nid = 3, .pid = 100, .jid = 1 } };
	struct gptl_far f = { .peers = (uintptr_t)peer, .n = 2, .most = 1024 };
	struct gptl_net net = { .round = 1 };

	if (!ioctl(one.fd, GPTL_NET, &net))
		ioctl(one.fd, GPTL_FAR, &f);
}

static void close_one(void)
{
	drop(&one);
}

static void t_open(void)
{
	int n = each(NULL, open_one, close_one);

	ok(n > 5, "an interface is opened, or not");
	n = each(open_one, bind_one, close_one);
	ok(n > 5, "and bound to the wire, or not");
}

/* ---- calls ---- */

static uint8_t *mem;

static int post_md(unsigned long call, struct gptl_ref *ref, const struct gptl_md *md)
{
	struct gptl_post p = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY, .pt = 5, .bits = 7, .md = *md, .dsc = *ref };
	int rc = ioctl(one.fd, call, &p);

	if (!rc)
		*ref = p.dsc;
	return rc;
}

static void calls(void)
{
	ptl_md_iovec_t v[2] = { { mem, 64 }, { mem + PAGE, 64 } }, was[2];
	struct gptl_md plain = { .start = (uintptr_t)mem, .length = 3 * PAGE, .threshold = PTL_MD_THRESH_INF,
				 .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE }, vector = plain;
	struct gptl_ref a = { 0 }, b = { 0 }, c = { 0 };
	uint32_t many[20] = { 0 };
	struct gptl_wait w = { .eqs = (uintptr_t)many, .n = 20 };
	struct gptl_eq q = { .count = 16 };
	bool had_a, had_b, had_c;

	vector.start = (uintptr_t)v;
	vector.length = 2;
	vector.options |= PTL_MD_IOVEC;
	had_a = !post_md(GPTL_MEMD_ATTACH, &a, &plain);
	had_b = !post_md(GPTL_MD_BIND, &b, &plain);
	had_c = !post_md(GPTL_MD_BIND, &c, &vector);
	if (had_c) {
		struct gptl_md old;
		struct gptl_post p = { .dsc = c, .md = vector, .change = 1, .old = (uintptr_t)&old,
				       .old_iov = (uintptr_t)was, .old_iov_n = 2 };

		ioctl(one.fd, GPTL_MD_UPDATE, &p);
	}
	if (had_a && had_b) {
		struct gptl_move m = { .type = 1, .slot = 0, .nid = 1, .pid = 100, .pt = 5, .bits = 7, .put = b,
				       .get = b, .len = 3 * PAGE };

		ioctl(one.fd, GPTL_MOVE, &m);
		m.len = 8;
		ioctl(one.fd, GPTL_MOVE, &m);
		m.put_off = 8;
		for (m.type = 2; m.type <= 4; m.type++)
			ioctl(one.fd, GPTL_MOVE, &m);
		if (had_c) {
			m.type = 1;
			m.put = c;
			m.len = 128;
			m.put_off = 0;
			ioctl(one.fd, GPTL_MOVE, &m);
		}
	}
	if (!ioctl(one.fd, GPTL_EQ_ALLOC, &q)) {
		for (int i = 0; i < 20; i++)
			many[i] = q.eq.idx;
		ioctl(one.fd, GPTL_WAIT, &w);
		ioctl(one.fd, GPTL_EQ_FREE, &q.eq);
	}
	if (had_a)
		ioctl(one.fd, GPTL_MD_UNLINK, &a);
	if (had_b)
		ioctl(one.fd, GPTL_MD_UNLINK, &b);
	if (had_c)
		ioctl(one.fd, GPTL_MD_UNLINK, &c);
}

static void fresh(void)
{
	open_one();
	mem = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(mem, 1, 3 * PAGE);
}

static void stale(void)
{
	munmap(mem, 3 * PAGE);
	close_one();
}

static void t_calls(void)
{
	int n = each(fresh, calls, stale);

	ok(n > 20, "descriptors, operations and queues, or not");
}

/* ---- other nodes ---- */

static void two(void)
{
	if (!begin())
		ok(false, "two nodes");
}

static void puts_and_gets(void)
{
	struct gptl_move m = { .type = 2, .slot = FAR, .nid = 2, .pid = 100, .pt = 4, .get = side[0].md,
			       .put = side[0].md, .len = 4096 };

	for (int i = 0; i < 20; i++)
		put(&side[0], 2, BUF);
	ioctl(side[0].fd, GPTL_MOVE, &m);
	m.type = 3;
	m.len = 8;
	ioctl(side[0].fd, GPTL_MOVE, &m);
}

static void t_far(void)
{
	int n = each(two, puts_and_gets, NULL);

	ok(n > 20 && begin() && works(), "operations on another node, or not");
}

/* @text into /proc/PID/make-it-fail of all workers */
static void workers(const char *text)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	char path[300], comm[32];
	int fd;

	while (d && (e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		fd = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
		if (fd < 0)
			continue;
		memset(comm, 0, sizeof(comm));
		if (read(fd, comm, sizeof(comm) - 1) > 0 && !strncmp(comm, "kworker/u", 9)) {
			snprintf(path, sizeof(path), "/proc/%s/make-it-fail", e->d_name);
			write_to(path, text);
		}
		close(fd);
	}
	if (d)
		closedir(d);
}

/* Allocations of those who are marked fail in one of @percent. */
static void chance(int percent)
{
	static const char *const what[] = { "failslab", "fail_page_alloc" };
	char path[100], text[16];

	snprintf(text, sizeof(text), "%d", percent);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/task-filter", what[i]);
		write_to(path, "Y");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/times", what[i]);
		write_to(path, "-1");
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/probability", what[i]);
		write_to(path, text);
	}
}

/* Vectors are looked up by a worker, which has no memory at times. */
static void t_workers(void)
{
	uint8_t *p = mmap(NULL, 256 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t had;
	int came = 0;

	if (!begin()) {
		ok(false, "two nodes");
		return;
	}
	had = events(&side[1]);
	for (int i = 0; i < 40; i++) {
		ptl_md_iovec_t v[2] = { { p + 4 * i * PAGE, 256 }, { p + (4 * i + 2) * PAGE, 256 } };
		struct gptl_post a = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY, .pt = 6, .bits = (uint64_t)i,
				       .md = { .start = (uintptr_t)v, .length = 2, .threshold = PTL_MD_THRESH_INF,
					       .options = PTL_MD_OP_PUT | PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE,
					       .eq = (side[1].eq.idx + 1) | side[1].eq.gen << 16 } };

		if (ioctl(side[1].fd, GPTL_MEMD_ATTACH, &a) != PTL_OK)
			ok(false, "a vector");
	}
	workers("1");
	chance(30);
	for (int i = 0; i < 40; i++) {
		struct gptl_move m = { .type = 1, .slot = FAR, .nid = 2, .pid = 100, .pt = 6, .put = side[0].md,
				       .len = 512, .bits = (uint64_t)i };

		workers("1");				/* there may be new ones */
		if (ioctl(side[0].fd, GPTL_MOVE, &m) == PTL_OK && event(&side[1], had + 1) &&
		    fail_of(&side[1], had + 1) == PTL_NI_OK)
			came++;
		had = events(&side[1]);
	}
	chance(0);
	workers("0");
	printf("# %d of 40\n", came);
	ok(came == 40, "a worker without memory tries again");
}

int main(int argc, char **argv)
{
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (argc != 2 || nth_fd < 0 || access("/sys/kernel/debug/failslab", F_OK)) {
		printf("1..0 # SKIP no fault injection in this kernel\n");
		return 0;
	}
	write_to("/sys/kernel/debug/failslab/ignore-gfp-wait", "N");
	write_to("/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N");
	write_to("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	write_to("/sys/kernel/debug/fail_page_alloc/min-order", "0");
	write_to("/sys/kernel/debug/failslab/verbose", "0");
	write_to("/sys/kernel/debug/fail_page_alloc/verbose", "0");
	write_to("/sys/kernel/debug/fail_usercopy/verbose", "0");
	seed = 1;
	if (!read_module(argv[1]) || mlockall(MCL_CURRENT))
		perror(argv[1]);
	t_load();
	t_open();
	t_calls();
	if (!open_wire())
		ok(false, "a packet socket");
	t_far();
	t_workers();
	printf("1..%d\n", n_tests);
	return failed;
}
