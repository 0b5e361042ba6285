/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * hostile.c - what a user can do to the module: any ioctl with any bytes, mappings that are not given, death at any
 * moment, buffers that vanish while others copy to them
 *
 * TAP. Whether the kernel has survived it says its log, which the script looks at. HOSTILE_SEED, HOSTILE_SECONDS.
 */
#include "two_nodes.h"
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int device(void)
{
	return open(GPTL_DEVICE, O_RDWR | O_CLOEXEC);
}

static struct gptl_open good_open(uint32_t slot, uint32_t size, uint32_t key)
{
	struct gptl_open o = { .abi = GPTL_ABI, .layout = P3L_VERSION, .jid = 1, .nid = 1, .pid = 100 + slot,
			       .slot = slot, .size = size,
			       .max_me = 256, .max_md = 256, .max_eq = 8, .max_pt = 7, .max_ac = 1,
			       .max_me_list = 256, .max_iov = 16, .max_getput = 64, .index_from = 16,
			       .space = 1 << 20 };

	memcpy(o.key, &key, sizeof(key));
	return o;
}

/* An NI of slot @slot; -1: errno */
static int member(uint32_t slot, uint32_t size, uint32_t key)
{
	struct gptl_open o = good_open(slot, size, key);
	int fd = device();

	if (fd >= 0 && ioctl(fd, GPTL_OPEN, &o)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool attach(int fd, void *at, uint64_t len, uint32_t options)
{
	struct gptl_post p = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY, .pt = 4, .ignore = ~0ULL,
			       .md = { .start = (uintptr_t)at, .length = len, .threshold = PTL_MD_THRESH_INF,
				       .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | options } };

	return ioctl(fd, GPTL_MEMD_ATTACH, &p) == PTL_OK;
}

static struct gptl_ref bind_md(int fd, void *at, uint64_t len)
{
	struct gptl_post p = { .md = { .start = (uintptr_t)at, .length = len, .threshold = PTL_MD_THRESH_INF } };

	return ioctl(fd, GPTL_MD_BIND, &p) == PTL_OK ? p.dsc : (struct gptl_ref){ GPTL_NONE, 0 };
}

static int put_by(int fd, struct gptl_ref md, uint32_t to)
{
	struct gptl_move m = { .type = 1, .slot = to, .nid = 1, .pid = 100 + to, .pt = 4, .put = md, .len = ~0ULL };

	return ioctl(fd, GPTL_MOVE, &m);
}

/* ---- the rules of the interface ---- */

static void t_rules(void)
{
	struct gptl_open o = good_open(0, 1, 7);
	struct gptl_post p = { .pt = 4, .nid = PTL_NID_ANY, .pid = PTL_PID_ANY, .pad = 1 };
	struct { struct gptl_ref r; uint64_t more; } longer = { { 0, 0 }, 0 };
	struct gptl_hello h = { 0 };
	int fd = device(), other, status;
	uint32_t *claims;
	pid_t child;
	char *l;

	ok(fd >= 0 && !ioctl(fd, GPTL_HELLO, &h) && h.abi == GPTL_ABI && h.layout == P3L_VERSION,
	   "it says its versions");
	ok(ioctl(fd, GPTL_ME_ATTACH, &p) == -1 && errno == EINVAL, "padding must be zero");
	p.pad = 0;
	ok(ioctl(fd, GPTL_ME_ATTACH, &p) == -1 && errno == ENOTCONN, "no call before there is an interface");
	o.layout++;
	ok(ioctl(fd, GPTL_OPEN, &o) == -1 && errno == EPROTO, "another layout is refused");
	o = good_open(1, 1, 7);
	ok(ioctl(fd, GPTL_OPEN, &o) == -1 && errno == EINVAL, "a slot beyond the job is refused");
	o = good_open(0, 1, 7);
	ok(!ioctl(fd, GPTL_OPEN, &o) && o.region > 1 << 20, "an interface");
	ok(ioctl(fd, GPTL_OPEN, &o) == -1 && errno == EBUSY, "one for each file");
	other = device();
	ok(ioctl(other, GPTL_OPEN, &o) == -1 && errno == EBUSY, "one for each rank");
	close(other);
	ok(ioctl(fd, _IOC(_IOC_WRITE, GPTL_MAGIC, _IOC_NR(GPTL_MD_UNLINK), sizeof(longer)), &longer) == PTL_MD_INVALID,
	   "a newer, longer structure with zeros behind what is known is taken");
	longer.more = 1;
	ok(ioctl(fd, _IOC(_IOC_WRITE, GPTL_MAGIC, _IOC_NR(GPTL_MD_UNLINK), sizeof(longer)), &longer) == -1 &&
	   errno == E2BIG,
	   "one with more is refused");
	ok(ioctl(fd, _IOC(_IOC_WRITE, GPTL_MAGIC, _IOC_NR(GPTL_EQ_FREE), 4), &longer) == PTL_EQ_INVALID,
	   "an older, shorter one is filled with zeros");
	l = mmap(NULL, o.region, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ok(l == MAP_FAILED, "the state cannot be mapped for writing");
	l = mmap(NULL, o.region, PROT_READ, MAP_SHARED, fd, 0);
	ok(l != MAP_FAILED && ((struct p3l_ni *)(void *)l)->magic == P3L_MAGIC, "it can for reading");
	ok(mprotect(l, o.region, PROT_READ | PROT_WRITE) == -1 && errno == EACCES, "and stays so");
	claims = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)GPTL_CLAIMS);
	ok(claims != MAP_FAILED, "the claims can be written");
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(ioctl(fd, GPTL_WAKE, NULL) == -1 && errno == EPERM ? 0 : 1);
	waitpid(child, &status, 0);
	ok(status == 0, "a child has no interface");
	close(fd);
	ok(((struct p3l_ni *)(void *)l)->magic == P3L_MAGIC, "what is mapped stays readable");
	munmap(l, o.region);
	munmap(claims, 4096);
}

/* ---- any bytes ---- */

static void scribble(uint8_t *p, size_t n)
{
	static const uint64_t nice[] = { 0, 1, 2, 4, 8, 100, 0xffffffff, 0x7fffffff, ~0ULL, 1ULL << 63, 4096, 0x10001 };

	for (size_t i = 0; i + 4 <= n; i += 4) {
		uint32_t v = (uint32_t)next();

		switch (next() % 8) {
		case 0: continue;
		case 1: case 2: v = (uint32_t)nice[next() % (sizeof(nice) / sizeof(*nice))]; break;
		case 3: v %= 8; break;
		case 4: v = 0; break;
		default: break;
		}
		if (next() % 3)
			memcpy(p + i, &v, 4);
	}
}

static const unsigned long calls[] = {
	GPTL_HELLO, GPTL_OPEN, GPTL_PID, GPTL_ME_ATTACH, GPTL_ME_INSERT, GPTL_ME_UNLINK, GPTL_MD_ATTACH, GPTL_MD_BIND,
	GPTL_MD_UPDATE, GPTL_MD_UNLINK, GPTL_MEMD_ATTACH, GPTL_MEMD_POST, GPTL_EQ_ALLOC, GPTL_EQ_FREE, GPTL_MOVE,
	GPTL_WAIT, GPTL_WAKE, GPTL_AC, GPTL_STAT, GPTL_TIDY, GPTL_PIDS, GPTL_POLLED, GPTL_MEET,
	GPTL_NET, GPTL_FAR, GPTL_DRAIN,
};

static void one_call(int fd, uint32_t *claims, uint8_t *mine)
{
	unsigned long what = calls[next() % (sizeof(calls) / sizeof(*calls))];
	static uint8_t arg[512] __attribute__((aligned(16)));
	uint64_t at = (uintptr_t)mine + next() % 4096;

	scribble(arg, _IOC_SIZE(what));
	if (next() % 2) {		/* plausible: memory that is there, small numbers, no padding */
		struct gptl_post *p = (void *)arg;
		struct gptl_move *m = (void *)arg;

		if (what == GPTL_MOVE) {
			m->type = (uint8_t)(1 + next() % 12);
			m->pad16 = m->ack = 0;
			m->slot = 0, m->nid = 1, m->pid = 100, m->pt = 4, m->ac = 0;
			if (next() % 4 == 0)		/* to another node, if GPTL_FAR has said so */
				m->slot = 1 + (uint32_t)next() % 3, m->nid = m->pid = 0;
			m->put.idx %= 8, m->get.idx %= 8, m->put.gen = m->get.gen = 0;
			m->len = next() % 3 ? 8 : ~0ULL;
		} else if (_IOC_SIZE(what) == sizeof(*p)) {
			p->pad = p->md.pad = p->pad8 = 0;
			p->unlink %= 2, p->pos %= 2, p->op %= 2;
			p->md.start = at;
			p->md.length = next() % 5000;
			p->md.options &= 0x7ff;
			p->test_eq = p->md.eq = next() % 2 ? 0 : 1;
			p->me.idx %= 8, p->me.gen = 0, p->dsc.idx %= 8, p->dsc.gen = 0;
			p->pt = 4, p->old = p->old_iov = next() % 2 ? 0 : at, p->old_iov_n %= 8, p->change %= 2;
		}
	}
	if (what == GPTL_WAIT)
		((struct gptl_wait *)(void *)arg)->timeout_ns = (int64_t)(next() % 1000);
	if (what == GPTL_DRAIN)
		((struct gptl_drain *)(void *)arg)->timeout_ns = (int64_t)(next() % 1000);
	if (what == GPTL_FAR && next() % 2)
		*(struct gptl_far *)(void *)arg = (struct gptl_far){ at, 1 + (uint32_t)next() % 3, 1000 };
	if (what == GPTL_MEET)
		((struct gptl_meet *)(void *)arg)->timeout_ms = (int32_t)(next() % 2);
	if (next() % 4 == 0)
		claims[next() % 1024] = (uint32_t)next();
	if (next() % 64 == 0)		/* also other sizes and numbers */
		what = next() % 2 ? what ^ (next() % 64) << 16 : (unsigned long)next();
	ioctl(fd, what, next() % 32 ? arg : (uint8_t *)(uintptr_t)(next() % 3 ? next() : 0));
}

/* In a child: what it does with its memory is its own affair. */
static int fuzz(double until)
{
	uint8_t *mine = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long n = 0;

	while (now() < until) {
		int fd = member(0, 1, (uint32_t)getpid());
		uint32_t *claims;

		if (fd < 0)
			return 1;
		claims = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)GPTL_CLAIMS);
		if (claims == MAP_FAILED)
			return 1;
		for (int i = 0; i < 3000 && now() < until; i++, n++) {
			one_call(fd, claims, mine);
			if (next() % 512 == 0)
				madvise(mine, 16384, MADV_DONTNEED);
		}
		munmap(claims, 4096);
		close(fd);
	}
	printf("# %lu calls\n", n);
	fflush(stdout);
	return 0;
}

static void t_any_bytes(double seconds)
{
	double until = now() + seconds;
	int status, bad = 0;

	fflush(stdout);
	for (int i = 0; i < 2; i++)
		if (!fork()) {
			struct rlimit cpu = { 100, 100 };

			setrlimit(RLIMIT_CPU, &cpu);
			if (getuid() == 0 && !i && (setgid(65534) || setuid(65534)))
				_exit(1);
			seed += (uint64_t)i * 0x9e3779b97f4a7c15ULL;
			_exit(fuzz(until));
		}
	while (wait(&status) > 0)
		bad |= status;
	ok(!bad, "any ioctl with any bytes: an answer");
}

/* ---- death at any moment ---- */

static void work_until_killed(uint32_t slot, uint32_t size, uint32_t key)
{
	static char buf[65536];
	struct gptl_meet meet = { .timeout_ms = 2000 };
	struct gptl_ref md;
	int fd = member(slot, size, key);

	if (fd < 0 || !attach(fd, buf, sizeof(buf), 0) || ioctl(fd, GPTL_MEET, &meet))
		_exit(0);
	md = bind_md(fd, buf, sizeof(buf));
	for (;;) {
		struct gptl_eq q = { .count = 8 };

		put_by(fd, md, (uint32_t)next() % size);
		if (next() % 16 == 0 && ioctl(fd, GPTL_EQ_ALLOC, &q) == PTL_OK) {
			uint32_t place = q.eq.idx;
			struct gptl_wait w = { .eqs = (uintptr_t)&place, .n = 1,
					       .timeout_ns = (int64_t)(next() % 100000) };

			ioctl(fd, GPTL_WAIT, &w);
			ioctl(fd, GPTL_EQ_FREE, &q.eq);
		}
	}
}

static void t_kill_storm(double seconds)
{
	double until = now() + seconds;
	int rounds = 0;

	fflush(stdout);
	for (; now() < until; rounds++) {
		pid_t p[3];

		for (uint32_t i = 0; i < 3; i++) {
			p[i] = fork();
			if (!p[i]) {
				seed += i + (uint64_t)rounds * 7;
				work_until_killed(i, 3, 1000 + (uint32_t)rounds);
			}
		}
		usleep((useconds_t)(next() % 60000));
		for (int i = 0; i < 3; i++) {
			kill(p[i], SIGKILL);
			usleep((useconds_t)(next() % 2000));
		}
		for (int i = 0; i < 3; i++)
			waitpid(p[i], NULL, 0);
	}
	printf("# %d rounds\n", rounds);
	ok(rounds > 0, "three that put to each other are killed, again and again");
}

/* ---- buffers that vanish ---- */

/* The first rank puts; the second one pulls its memory away under it. What is put lands in its buffer or nowhere. */
static int vanish(double until)
{
	uint32_t key = (uint32_t)getpid();
	struct gptl_meet meet = { .timeout_ms = 5000 };
	const size_t len = 64 << 10;
	int status, fd;
	pid_t child;
	bool seen;

	child = fork();
	if (!child) {
		static char src[64 << 10];
		struct gptl_ref md;

		fd = member(0, 2, key);
		memset(src, 0x5a, sizeof(src));
		md = bind_md(fd, src, sizeof(src));
		if (fd < 0 || ioctl(fd, GPTL_MEET, &meet))
			_exit(1);
		while (put_by(fd, md, 1) == PTL_OK)	/* until it is killed */
			;
		_exit(1);
	}
	fd = member(1, 2, key);
	if (fd < 0)
		return 1;
	{
		char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *to;

		if (!attach(fd, at, len, 0) || ioctl(fd, GPTL_MEET, &meet))
			return 1;
		while (now() < until) {
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
				attach(fd, at, len, 0);
		}
		/* what comes now is seen where the buffer is now */
		memset(at, 0, len);
		for (double t = now() + 20; !*(volatile char *)(at + len - 1) && now() < t; )
			sched_yield();
		seen = at[len - 1] == 0x5a;
	}
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return !seen || !WIFSIGNALED(status);
}

static void t_buffers_vanish(double seconds)
{
	int status;
	pid_t p;

	fflush(stdout);
	p = fork();
	if (!p)
		_exit(vanish(now() + seconds));
	waitpid(p, &status, 0);
	ok(status == 0, "buffers are unmapped, moved, thrown away and forked while others put to them");
}

/* ---- limits ---- */

static void t_memlock(void)
{
	const size_t len = 1 << 20;
	int status;
	pid_t p;

	if (getuid()) {
		printf("ok %d - RLIMIT_MEMLOCK # SKIP needs root to become somebody else\n", ++n_tests);
		return;
	}
	fflush(stdout);
	p = fork();
	if (!p) {
		struct rlimit r = { 256 << 10, 256 << 10 };
		struct gptl_post post = { .nid = PTL_NID_ANY, .pid = PTL_PID_ANY, .pt = 4 };
		char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int fd;

		setrlimit(RLIMIT_MEMLOCK, &r);
		if (setgid(65534) || setuid(65534))
			_exit(1);
		fd = member(0, 1, 99);
		if (fd < 0 || !attach(fd, at, 128 << 10, 0))
			_exit(2);
		post.md = (struct gptl_md){ .start = (uintptr_t)at, .length = len, .threshold = 1,
					    .options = PTL_MD_OP_PUT };
		if (ioctl(fd, GPTL_MEMD_ATTACH, &post) != PTL_NO_SPACE)
			_exit(3);
		_exit(attach(fd, at + (512 << 10), 64 << 10, 0) ? 0 : 4);
	}
	waitpid(p, &status, 0);
	ok(status == 0, "RLIMIT_MEMLOCK: PTL_NO_SPACE beyond it");
}

/* @text into file @name; false: that cannot be done here */
#define MOST "/sys/module/portals_gp/parameters/max_per_user"

/* One user cannot have them all. */
static void t_user_limit(void)
{
	int status, fd;
	pid_t p;

	if (getuid() || !write_to(MOST, "3")) {
		printf("ok %d - interfaces of one user # SKIP needs root, who sets %s\n", ++n_tests, MOST);
		return;
	}
	fflush(stdout);
	p = fork();
	if (!p) {
		if (setgid(65534) || setuid(65534))
			_exit(1);
		for (uint32_t i = 0; i < 3; i++)
			if (member(i % 2, 2, 500 + i) < 0)	/* of several jobs */
				_exit(2);
		_exit(member(1, 2, 500) == -1 && errno == EMFILE ? 0 : 3);
	}
	waitpid(p, &status, 0);
	fd = member(0, 1, 503);
	ok(status == 0 && fd >= 0, "a user has so many interfaces and no more; others still get theirs");
	close(fd);
	write_to(MOST, "256");
}

/* Bytes of the control group @dir. */
static long long charged(const char *dir)
{
	char name[64], text[32] = "";
	int fd;

	snprintf(name, sizeof(name), "%s/memory.current", dir);
	fd = open(name, O_RDONLY);
	if (fd < 0)
		return -1;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return atoll(text);
}

/* The memory of an interface is that of the control group of whoever opens it. */
static void t_charged(void)
{
	static const char dir[] = "/sys/fs/cgroup/hostile";
	struct gptl_open o = good_open(0, 1, 600);
	int status;
	pid_t p;

	mount("none", "/sys/fs/cgroup", "cgroup2", 0, NULL);		/* unless it is there */
	write_to("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if ((mkdir(dir, 0755) && errno != EEXIST) || charged(dir) < 0) {
		printf("ok %d - memory of a control group # SKIP no control group of memory here\n", ++n_tests);
		return;
	}
	fflush(stdout);
	p = fork();
	if (!p) {
		long long before, more;
		int fd = device();

		if (!write_to("/sys/fs/cgroup/hostile/cgroup.procs", "0"))
			_exit(1);
		before = charged(dir);
		if (ioctl(fd, GPTL_OPEN, &o))
			_exit(2);
		more = charged(dir) - before;
		printf("# an interface of %llu bytes: charged with %lld\n", (unsigned long long)o.region, more);
		fflush(stdout);
		_exit(more > (long long)o.region - (1 << 20) ? 0 : 3);	/* charges go by batches */
	}
	waitpid(p, &status, 0);
	rmdir(dir);
	ok(status == 0, "an interface's memory is charged to the control group of its process");
}

/*
 * A process whose group has no memory left: it gets an error, or is killed, and it is the only one. Its buffers have no
 * pages before it attaches them.
 */
static void t_starved(void)
{
	static const char dir[] = "/sys/fs/cgroup/starved";
	int status = 0, refused = 0, killed = 0, done = 0, fd;
	static char buf[4096];
	struct gptl_ref md;
	pid_t p;

	if ((mkdir(dir, 0755) && errno != EEXIST) || !write_to("/sys/fs/cgroup/starved/memory.max", "31457280")) {
		printf("ok %d - no memory left # SKIP no control group of memory here\n", ++n_tests);
		return;
	}
	write_to("/sys/fs/cgroup/starved/memory.swap.max", "0");
	fflush(stdout);
	for (uint32_t i = 0; i < 8; i++) {
		p = fork();
		if (!p) {
			const size_t len = (size_t)(1 + 4 * i) << 20;
			char *at;

			if (!write_to("/sys/fs/cgroup/starved/cgroup.procs", "0"))
				_exit(1);
			fd = member(0, 1, 700 + i);		/* about 18 MiB, of 30 */
			at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (fd < 0 || at == MAP_FAILED || !attach(fd, at, len, 0))
				_exit(2);
			md = bind_md(fd, at, len);
			if (md.idx == GPTL_NONE || put_by(fd, md, 0) != PTL_OK)
				_exit(2);
			_exit(0);
		}
		waitpid(p, &status, 0);
		done += status == 0;
		refused += WIFEXITED(status) && WEXITSTATUS(status) == 2;
		killed += WIFSIGNALED(status);
	}
	printf("# %d done, %d refused, %d killed\n", done, refused, killed);
	ok(done && refused + killed && done + refused + killed == 8,
	   "who has no memory left gets an error, or is killed");
	fd = member(0, 1, 799);
	ok(fd >= 0 && attach(fd, buf, sizeof(buf), 0) && put_by(fd, bind_md(fd, buf, 8), 0) == PTL_OK, "others go on");
	close(fd);
	for (int i = 0; i < 50 && rmdir(dir); i++)
		usleep(100000);
}

/* Another user with the same key is another job. */
static void t_other_user(void)
{
	struct gptl_stat before = { 0 }, after = { 0 };
	static char buf[4096];
	int fd, status;
	pid_t p;

	if (getuid()) {
		printf("ok %d - another user # SKIP needs root to become somebody else\n", ++n_tests);
		return;
	}
	fd = member(0, 2, 4242);
	attach(fd, buf, sizeof(buf), 0);
	ioctl(fd, GPTL_STAT, &before);
	fflush(stdout);
	p = fork();
	if (!p) {
		static char src[64] = "no business here";
		struct gptl_ref md;
		int mine;

		if (setgid(65534) || setuid(65534))
			_exit(1);
		mine = member(1, 2, 4242);
		if (mine < 0)
			_exit(2);
		md = bind_md(mine, src, sizeof(src));
		_exit(put_by(mine, md, 0) == PTL_OK ? 0 : 3);	/* begins, and ends with a failure: nobody there */
	}
	waitpid(p, &status, 0);
	ioctl(fd, GPTL_STAT, &after);
	ok(status == 0 && !buf[0] && after.copies_pinned == before.copies_pinned &&
	   after.copies_looked_up == before.copies_looked_up, "another user with the same key reaches nothing");
	close(fd);
}

int main(void)
{
	const char *s = getenv("HOSTILE_SEED"), *t = getenv("HOSTILE_SECONDS");
	double seconds = t ? atof(t) : 3;
	int fd = device();

	if (fd < 0) {
		printf("1..0 # SKIP no %s\n", GPTL_DEVICE);
		return 0;
	}
	close(fd);
	seed = s ? strtoull(s, NULL, 0) : (uint64_t)time(NULL) * 2654435761U | 1;
	printf("# HOSTILE_SEED=%llu\n", (unsigned long long)seed);
	t_rules();
	t_other_user();
	t_memlock();
	t_user_limit();
	t_charged();
	t_starved();
	t_any_bytes(seconds);
	t_kill_storm(seconds);
	t_buffers_vanish(seconds);
	printf("1..%d\n", n_tests);
	return failed;
}
