/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Each kind of memory of a process is reached from a peer, directly or by the kernel's copy, with the right bytes in
 * both directions; and the process itself notices nothing.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "launch.h"

#define BIG (3 << 20)

/* What each rank tells the others about itself. */
struct table {
	void *addr[16];
	size_t len[16];
	int direct[16];			/* must be reachable through the window where adoption works at all */
	int n;
};

static int data_small = 12345;
static unsigned char data_big[BIG] = { 1, 2, 3 };
static unsigned char bss_big[BIG];
static unsigned char bss_untouched[64 << 20];
static const unsigned char constant[4096] = { 9, 8, 7 };
static __thread unsigned char tls[4096];

static void fill(void *p, size_t n, unsigned seed)
{
	unsigned char *c = p;
	size_t i;

	for (i = 0; i < n; i++)
		c[i] = (unsigned char)((i * 2654435761u + seed * 40503u) >> 7);
}

static int wrong(const void *p, size_t n, unsigned seed)
{
	const unsigned char *c = p;
	size_t i;

	for (i = 0; i < n; i++)
		if (c[i] != (unsigned char)((i * 2654435761u + seed * 40503u) >> 7))
			return 1;
	return 0;
}

static long rss_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size = 0, rss = 0;

	if (!f || fscanf(f, "%ld %ld", &size, &rss) != 2)
		rss = -1;
	if (f)
		fclose(f);
	return rss * 4;
}

static pthread_barrier_t gate;
static void *thread_addr;
static int quit;

static void *thread(void *arg)
{
	unsigned char buf[32768];

	(void)arg;
	fill(buf, sizeof(buf), (unsigned)t_rank + 900);
	thread_addr = buf;
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	if (wrong(buf, sizeof(buf), (unsigned)t_rank + 5000))
		quit = 1;
	return NULL;
}

static int expect_off(const char *what)
{
	const char *s = getenv("SMARTMAP_FORCE_OFF");

	return s && strstr(s, what) != NULL;
}

/* Read every listed range of every peer, then write the left neighbour's and let it look. */
static void exchange(struct table *t)
{
	struct table *all, *own = smartmap_alloc(sizeof(*own), 0);
	unsigned char *buf = malloc(BIG);
	int i, k, cma = smartmap_has(SMARTMAP_F_CMA), to;

	*own = *t;
	for (k = 0; k < t->n; k++)
		fill(t->addr[k], t->len[k], (unsigned)(t_rank * 16 + k));
	smartmap_publish(16, own);
	t_sync();
	for (i = 0; i < t_size; i++) {
		all = smartmap_remote(i, smartmap_lookup(i, 16));
		for (k = 0; k < all->n; k++) {
			int r = smartmap_read(i, buf, all->addr[k], all->len[k]);
			enum smartmap_path p = smartmap_path(i, all->addr[k], all->len[k]);

			if (all->direct[k] && p != SMARTMAP_DIRECT)
				T_FAIL("range %d of rank %d goes by path %d", k, i, p);
			if (!all->direct[k] && !cma && i != t_rank && p != SMARTMAP_DIRECT) {
				if (r != -EAGAIN)
					T_FAIL("no CMA, and read gives %d", r);
				continue;
			}
			if (r)
				T_FAIL("read range %d of rank %d: %d", k, i, r);
			if (wrong(buf, all->len[k], (unsigned)(i * 16 + k)))
				T_FAIL("wrong bytes in range %d of rank %d (path %d)", k, i, p);
		}
	}
	t_sync();
	to = (t_rank + 1) % t_size;
	all = smartmap_remote(to, smartmap_lookup(to, 16));
	for (k = 0; k < all->n; k++) {
		fill(buf, all->len[k], (unsigned)(5000 + to * 16 + k));
		if (smartmap_write(to, all->addr[k], buf, all->len[k]))
			T_CHECK(!cma && !all->direct[k]);
	}
	t_sync();
	for (k = 0; k < t->n; k++)
		if (wrong(t->addr[k], t->len[k], (unsigned)(5000 + t_rank * 16 + k)))
			T_CHECK(!cma && !t->direct[k]);
	t_sync();
	free(buf);
}

static void add(struct table *t, void *p, size_t n, int direct)
{
	t->addr[t->n] = p;
	t->len[t->n] = n;
	t->direct[t->n++] = direct;
}

static void r_all(void)
{
	unsigned char on_stack[50000];
	struct table t = { .n = 0 };
	unsigned char *heap = malloc(100000), *map;
	int data, stack, all_off = expect_off("fork");
	long before, after, i;

	fill(data_big, BIG, 3);
	fill(bss_big, BIG, 4);
	fill(on_stack, sizeof(on_stack), 5);
	fill(heap, 100000, 6);
	memset(tls, 7, sizeof(tls));
	before = rss_kb();
	t_join();
	after = rss_kb();
	if (getenv("T_VERBOSE") && !t_rank)
		for (i = 0; i < SMARTMAP_F_MAX; i++)
			printf("# feature %ld: %d %s\n", i, smartmap_has((enum smartmap_feature)i),
			       smartmap_why((enum smartmap_feature)i));
	/* The process itself has noticed nothing. */
	T_CHECK(data_small == 12345 && !wrong(data_big, BIG, 3) && !wrong(bss_big, BIG, 4));
	T_CHECK(!wrong(on_stack, sizeof(on_stack), 5) && !wrong(heap, 100000, 6) && tls[4095] == 7);
	for (i = 0; i < (long)sizeof(bss_untouched); i += 4096 * 100)
		T_CHECK(!bss_untouched[i]);
	if (after > before + before / 20 + 1500)
		T_FAIL("resident memory grew from %ld to %ld kB", before, after);
	map = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	data = !expect_off("data") && !all_off;
	stack = !expect_off("stack") && !all_off;
	T_CHECK(smartmap_has(SMARTMAP_F_DATA) == data && smartmap_has(SMARTMAP_F_STACK) == stack);
	T_CHECK(data || *smartmap_why(SMARTMAP_F_DATA));
	T_CHECK(stack || *smartmap_why(SMARTMAP_F_STACK));
	if (data && *smartmap_why(SMARTMAP_F_DATA))
		data = 0;	/* by chance some of it has low bits that are taken: reached by the kernel's copy, then */
	else
		T_CHECK(smartmap_adopted(data_big, BIG) == data);
	T_CHECK(smartmap_adopted(on_stack, 1) == stack);
	T_CHECK(!smartmap_adopted(map, 1) && !smartmap_adopted(constant, 1));
	add(&t, &data_small, sizeof(data_small), data);
	add(&t, data_big, BIG, data);
	add(&t, bss_big, BIG, data);
	add(&t, bss_untouched + (5 << 20), 8192, data);
	add(&t, on_stack, sizeof(on_stack), stack);
	add(&t, heap, 100000, 0);
	add(&t, map, 100000, 0);
	add(&t, tls, sizeof(tls), 0);
	exchange(&t);

	/* Thread stacks: by the kernel's copy, unless something brought them into the window. */
	{
		pthread_t th;
		struct table s = { .n = 0 };

		pthread_barrier_init(&gate, NULL, 2);
		T_CHECK(!pthread_create(&th, NULL, thread, NULL));
		pthread_barrier_wait(&gate);
		T_CHECK(!wrong(thread_addr, 32768, (unsigned)t_rank + 900));
		add(&s, thread_addr, 32768, 0);
		exchange(&s);
		fill(thread_addr, 32768, (unsigned)t_rank + 5000);
		pthread_barrier_wait(&gate);
		pthread_join(th, NULL);
		T_CHECK(!quit);
	}

	/* Read-only data of a peer, which ASLR may have elsewhere. */
	{
		unsigned char c[3];
		int r = smartmap_read((t_rank + 1) % t_size, c, smartmap_symmetric((t_rank + 1) % t_size, constant), 3);

		if (smartmap_has(SMARTMAP_F_CMA))
			T_CHECK(!r && c[0] == 9 && c[2] == 7);
		else
			T_CHECK(r == -EAGAIN);
	}
	/* What is not mapped there at all. */
	if (smartmap_has(SMARTMAP_F_CMA) && t_size > 1)
		T_CHECK(smartmap_read(!t_rank, &i, (void *)0x10, 8) == -EFAULT);
	t_sync();
	smartmap_fini();
	T_CHECK(!wrong(data_big, 0, 0) && data_small);
}

static void r_symmetric(void)
{
	int *p;

	data_small = 1000 + t_rank;
	t_join();
	p = smartmap_symmetric(!t_rank, &data_small);
	if (smartmap_reachable(!t_rank, p, 4))
		T_CHECK(*(int *)smartmap_remote(!t_rank, p) == 1000 + !t_rank);
	T_CHECK(smartmap_symmetric(!t_rank, (void *)64) == (void *)64);
	t_sync();
	smartmap_fini();
}

static int deep(int n)
{
	volatile char pad[1000];

	pad[0] = (char)n;
	pad[999] = (char)n;
	return n ? deep(n - 1) + (pad[0] == pad[999] && pad[0] == (char)n) : 0;
}

static void r_deep(void)
{
	t_join();
	T_CHECK(deep(6000) == 6000);
	t_sync();
	smartmap_fini();
}

static char *volatile overflow_at;
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static void overflow(char *p)
{
	char c[4096];

	c[0] = p ? p[0] : 0;
	overflow_at = c;
	overflow(c);
	overflow_at = p;
}

static void on_segv(int s)
{
	(void)s;
	_exit(0);
}

static void r_overflow(void)
{
	static char alt[65536];
	stack_t ss = { .ss_sp = alt, .ss_size = sizeof(alt) };
	struct sigaction sa = { .sa_handler = on_segv, .sa_flags = SA_ONSTACK };

	t_join();
	sigaltstack(&ss, NULL);
	sigaction(SIGSEGV, &sa, NULL);
	overflow(NULL);
	exit(1);
}

static void r_withdraw(void)
{
	int i;

	t_join();
	if (!smartmap_has(SMARTMAP_F_DATA))
		T_SKIP("data is not adopted: %s", smartmap_why(SMARTMAP_F_DATA));
	smartmap_publish(16, bss_big);
	t_sync();
	if (t_rank) {
		void *p = smartmap_lookup(0, 16);

		T_CHECK(smartmap_reachable(0, p, BIG));
		T_CHECK(smartmap_enter(0, p, BIG));
		t_sync();			/* 0 withdraws now, and must wait for us */
		usleep(50000);
		T_CHECK(*(volatile int *)smartmap_remote(0, smartmap_symmetric(0, &quit)) == 0);
		smartmap_leave(0);
		t_sync();
		for (i = 0; i < BIG; i += 4096)
			T_CHECK(!smartmap_reachable(0, (char *)p + i, 1) == (i >= 8192 && i < 1 << 20));
		T_CHECK(!smartmap_enter(0, p, BIG));
		T_CHECK(smartmap_path(0, p, BIG) != SMARTMAP_DIRECT);
	} else {
		uintptr_t base = (uintptr_t)bss_big;
		double t0;

		t_sync();
		t0 = t_now();
		smartmap_withdraw((void *)base, 0);
		smartmap_withdraw((void *)(base + 8192), (1 << 20) - 8192);
		quit = 1;
		T_CHECK(t_now() - t0 > 0.03);
		t_sync();
		T_CHECK(smartmap_adopted(bss_big, 8192) && !smartmap_adopted(bss_big, 8193));
	}
	t_sync();
	smartmap_fini();
}

static void *idle(void *arg)
{
	(void)arg;
	pause();
	return NULL;
}

/*
 * Rank 0 maps, fills, adopts and unmaps one place over and over; the others look at it. Whoever is inside must never
 * see the zeros of the hole that the unmapping leaves.
 */
static void r_under(void)
{
	struct shared {
		_Atomic int stop;
		_Atomic uintptr_t at;
	} *sh;
	size_t len = 1 << 20, i;
	int n, seen = 0, r = 0, k = 0;
	char *at;
	pthread_t th;

	if (t_rank == 2)		/* a mover with threads takes the other path of smartmap_enter() */
		T_CHECK(!pthread_create(&th, NULL, idle, NULL));
	t_join();
	sh = smartmap_shared(sizeof(*sh));
	if (!t_rank) {
		for (n = 1; n <= 200; n++) {
			char *p;

			/* low bits that another mapping of this process has, by chance, will not do: elsewhere */
			at = (char *)((uintptr_t)91 << 39 | (uintptr_t)(300 + k * 37) % 512 << 30);
			p = mmap(at, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
				 0);

			if (p != at)
				T_FAIL("round %d, place %d: mmap(%p): %p, %s", n, k, (void *)at, (void *)p,
				       strerror(errno));
			memset(p, n % 100 + 1, len);
			r = smartmap_adopt(p, len);
			if (r == -ENOTSUP) {
				sh->stop = 2;
				break;
			}
			if (r == -EBUSY && n == 1 && k < 12) {
				munmap(p, len);
				k++;
				n--;
				continue;
			}
			if (r)
				T_FAIL("round %d, place %d: smartmap_adopt(%p): %d (%s): %s", n, k, (void *)at, r,
				       strerror(-r), smartmap_why(SMARTMAP_F_DATA));
			if (p[5] != n % 100 + 1)
				T_FAIL("round %d, place %d: after smartmap_adopt(): %d, not %d", n, k, p[5],
				       n % 100 + 1);
			sh->at = (uintptr_t)at;
			usleep(300);
			if (munmap(p, len))
				T_FAIL("round %d, place %d: munmap(): %s", n, k, strerror(errno));
			if (smartmap_adopted(at, 1))
				T_FAIL("round %d, place %d: still adopted", n, k);
		}
		if (!sh->stop)
			sh->stop = 1;
	} else {
		while (!sh->stop) {
			volatile char *w;

			at = (char *)sh->at;
			if (!at)
				continue;
			if (!smartmap_enter(0, at, len))
				continue;
			w = smartmap_remote(0, at);
			for (i = 0; i < len; i += 4096 * 7)
				if (!w[i])
					T_FAIL("the range at %p went away under us, byte %zu, after %d looks",
					       (void *)at, i, seen);
			smartmap_leave(0);
			seen++;
		}
		if (sh->stop == 1 && !seen)
			printf("# rank %d never got in\n", t_rank);
	}
	r = sh->stop;
	t_sync();
	smartmap_fini();
	if (r == 2)
		exit(77);
}

static void r_by_hand(void)
{
	char *p = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *ro = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	fill(p, 1 << 20, (unsigned)t_rank);
	t_join();
	r = smartmap_adopt(p, 8 << 20);
	if (r == -ENOTSUP)
		T_SKIP("adoption is off: %s", smartmap_why(SMARTMAP_F_DATA));
	T_CHECK(!r && smartmap_adopted(p, 8 << 20) && !wrong(p, 1 << 20, (unsigned)t_rank) && !p[7 << 20]);
	T_CHECK(smartmap_adopt(p, 4096) == -EINVAL);		/* is shared now */
	T_CHECK(smartmap_adopt(ro, 4096) == -EINVAL && smartmap_adopt((void *)1, 4096) == -EINVAL);
	T_CHECK(smartmap_adopt((void *)4096, 4096) == -EINVAL && smartmap_adopt(p, 0) == -EINVAL);
	/* The same low bits in another place: it stays private, and as it was. */
	{
		char *q = (char *)(((uintptr_t)p & (((uintptr_t)1 << 39) - 1)) | (uintptr_t)90 << 39);

		q = mmap(q, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		T_CHECK(q != MAP_FAILED);
		q[4096] = 33;
		T_CHECK(smartmap_adopt(q, 8192) == -EBUSY && q[4096] == 33 && !smartmap_adopted(q, 1));
		q[4097] = 34;
		T_CHECK(p[4096] != 33 || !wrong(p, 1 << 20, (unsigned)t_rank));
	}
	smartmap_publish(16, p);
	t_sync();
	T_CHECK(!wrong(smartmap_remote(!t_rank, smartmap_lookup(!t_rank, 16)), 1 << 20, (unsigned)!t_rank));
	t_sync();
	smartmap_fini();
}

static void r_threads(void)
{
	struct table t = { .n = 0 };
	pthread_t th;

	T_CHECK(!pthread_create(&th, NULL, idle, NULL));
	t_join();
	T_CHECK(!smartmap_has(SMARTMAP_F_DATA) && strstr(smartmap_why(SMARTMAP_F_DATA), "thread"));
	T_CHECK(!smartmap_adopted(bss_big, 1));
	add(&t, bss_big, BIG, 0);
	exchange(&t);
	smartmap_fini();
}

static void r_scattered(void)
{
	unsigned char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long i, before;

	/* Every third page present, over the static array too; holes must stay holes. */
	for (i = 0; i < 64 << 20; i += 3 * 4096)
		bss_untouched[i] = (unsigned char)(i >> 12);
	(void)p;
	before = rss_kb();
	t_join();
	i = rss_kb();
	if (i > before + before / 20 + 1500)
		T_FAIL("resident memory grew from %ld to %ld kB", before, i);
	for (i = 0; i < 64 << 20; i += 4096)
		T_CHECK(bss_untouched[i] == (i % (3 * 4096) ? 0 : (unsigned char)(i >> 12)));
	t_sync();
	smartmap_fini();
}

static void one_adopt_kind(const char *off)
{
	setenv("SMARTMAP_FORCE_OFF", off, 1);
}
static void p_data(int r) { (void)r; one_adopt_kind("data"); }
static void p_stack(int r) { (void)r; one_adopt_kind("stack"); }
static void p_heap(int r) { (void)r; one_adopt_kind("heap"); }
static void p_huge(int r) { (void)r; one_adopt_kind("huge"); }
static void p_cma(int r) { (void)r; one_adopt_kind("cma"); }
static void p_fork(int r) { (void)r; one_adopt_kind("fork"); }
static void p_membarrier(int r) { (void)r; one_adopt_kind("membarrier"); }
static void p_membarrier_one(int r) { if (r == 1) one_adopt_kind("membarrier"); }
static void p_pagemap(int r) { (void)r; one_adopt_kind("pagemap"); }
static void p_mincore(int r) { (void)r; one_adopt_kind("pagemap,mincore"); }
static void p_mailbox(int r) { (void)r; one_adopt_kind("mailbox"); }
static void p_everything(int r) { (void)r; one_adopt_kind("data,stack,heap,huge,cma,fork,membarrier,pagemap,mailbox"); }
static void p_unlimited(int r)
{
	struct rlimit l = { RLIM_INFINITY, RLIM_INFINITY };

	(void)r;
	setrlimit(RLIMIT_STACK, &l);
}

int main(void)
{
	static const struct t_case cases[] = {
		{ "each_kind_of_memory_is_reached", r_all, NULL, 3, NULL },
		{ "without_data", r_all, NULL, 2, p_data },
		{ "without_stack", r_all, NULL, 2, p_stack },
		{ "without_heap", r_all, NULL, 2, p_heap },
		{ "without_huge_pages", r_all, NULL, 2, p_huge },
		{ "without_cma", r_all, NULL, 2, p_cma },
		{ "without_fork_protection_nothing_is_adopted", r_all, NULL, 2, p_fork },
		{ "without_membarrier", r_all, NULL, 2, p_membarrier },
		{ "without_membarrier_in_one_rank", r_all, NULL, 3, p_membarrier_one },
		{ "without_pagemap", r_all, NULL, 2, p_pagemap },
		{ "without_pagemap_and_mincore", r_all, NULL, 2, p_mincore },
		{ "without_mailbox", r_all, NULL, 3, p_mailbox },
		{ "without_all_of_them", r_all, NULL, 2, p_everything },
		{ "stack_limit_unlimited", r_all, NULL, 2, p_unlimited },
		{ "symmetric_addresses_are_translated", r_symmetric, NULL, 2, NULL },
		{ "deep_recursion_after_adoption", r_deep, NULL, 2, NULL },
		{ "stack_overflow_still_faults", r_overflow, NULL, 2, NULL },
		{ "withdraw_waits_for_movers", r_withdraw, NULL, 2, NULL },
		{ "withdraw_waits_without_membarrier", r_withdraw, NULL, 2, p_membarrier },
		{ "munmap_never_pulls_memory_from_under_a_mover", r_under, NULL, 3, NULL },
		{ "munmap_under_a_mover_without_membarrier", r_under, NULL, 3, p_membarrier },
		{ "adopt_by_hand", r_by_hand, NULL, 2, NULL },
		{ "with_threads_nothing_is_adopted", r_threads, NULL, 2, NULL },
		{ "holes_stay_holes", r_scattered, NULL, 2, NULL },
		{ "holes_stay_holes_without_pagemap", r_scattered, NULL, 2, p_pagemap },
		{ "holes_stay_holes_without_pagemap_and_mincore", r_scattered, NULL, 2, p_mincore },
	};

	return t_main(cases, sizeof(cases) / sizeof(cases[0]));
}
