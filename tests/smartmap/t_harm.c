/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_harm - adopted memory behaves as private memory does when its owner unmaps, moves, protects or drops it
 *
 * Every rank owns ranges and looks at those of its neighbour: what left the window must be unreachable, never stale.
 */
#include "tap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

#define PAGE 4096ul

static int (*plug)[1024];		/* data of a library loaded before the job began */
static void *plug_handle;

static int next(void)
{
	return (t_rank() + 1) % t_size();
}

/* @pages of private memory, page i filled with 'a' + i, adopted. */
static char *own(size_t pages)
{
	char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int e;

	if (p == MAP_FAILED)
		return NULL;
	for (size_t i = 0; i < pages; i++)
		memset(p + i * PAGE, 'a' + (int)i % 26, PAGE);
	e = smartmap_adopt(p, pages * PAGE);
	if (e)
		diag("smartmap_adopt: %s", strerror(-e));
	return e ? NULL : p;
}

/* Tell the neighbour, and learn its address. */
static char *theirs(char *mine)
{
	char *p;

	atomic_store(t_word(t_rank()), (uintptr_t)mine);
	t_barrier();
	p = (char *)(uintptr_t)atomic_load(t_word(next()));
	t_barrier();
	return p;
}

static int reach(const char *p, size_t page)
{
	return smartmap_reachable(next(), p + page * PAGE, PAGE);
}

/* Is the byte readable by the kernel? A fault would end the test. */
static int mapped(const char *p)
{
	int fd = open("/dev/null", O_WRONLY), r, pf[2];

	close(fd);
	if (pipe(pf))
		return -1;
	r = write(pf[1], p, 1) == 1;
	close(pf[0]);
	close(pf[1]);
	return r;
}

static void t_munmap_takes_pages_out(void)
{
	char *p = own(8), *q;

	REQUIRE(p);
	q = theirs(p);
	for (size_t i = 0; i < 8; i++)
		CHECK(reach(q, i));
	CHECK_INT(((char *)smartmap_remote(next(), q))[3 * PAGE], 'd');
	t_barrier();
	CHECK_INT(munmap(p + 3 * PAGE, 2 * PAGE), 0);
	t_barrier();
	for (size_t i = 0; i < 8; i++)
		CHECK_INT(reach(q, i), i != 3 && i != 4);
	CHECK_INT(((char *)smartmap_remote(next(), q))[5 * PAGE], 'f');
	CHECK(!mapped(p + 3 * PAGE));
	CHECK(mapped(p + 5 * PAGE));
	t_barrier();
	CHECK_INT(munmap(p, 8 * PAGE), 0);
	t_barrier();
	for (size_t i = 0; i < 8; i++)
		CHECK(!reach(q, i));
	t_barrier();
}

static void t_new_memory_at_an_old_address_is_private(void)
{
	char *p = own(4), *q, *r, c = 0;

	REQUIRE(p);
	q = theirs(p);
	munmap(p, 4 * PAGE);
	r = mmap(p, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	REQUIRE(r == p);
	CHECK_INT(r[0], 0);
	r[0] = 'N';
	t_barrier();
	CHECK(!reach(q, 0));
	if (!smartmap_read(next(), &c, q, 1))		/* by the kernel, where it is allowed: the new byte */
		CHECK_INT(c, 'N');
	t_barrier();
	munmap(r, 4 * PAGE);
}

static void t_mmap_fixed_replaces(void)
{
	char *p = own(4), *q;

	REQUIRE(p);
	q = theirs(p);
	REQUIRE(mmap(p + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p + PAGE);
	CHECK_INT(p[PAGE], 0);
	CHECK_INT(p[0], 'a');
	CHECK_INT(p[2 * PAGE], 'c');
	p[PAGE] = 'x';
	t_barrier();
	CHECK(reach(q, 0) && !reach(q, 1) && reach(q, 2));
	t_barrier();
	munmap(p, 4 * PAGE);
}

static void t_mremap_moves_the_bytes(void)
{
	char *p = own(4), *q, *r, *at;

	REQUIRE(p);
	q = theirs(p);
	r = mremap(p, 4 * PAGE, 8 * PAGE, MREMAP_MAYMOVE);
	REQUIRE(r != MAP_FAILED);
	for (int i = 0; i < 4; i++)
		CHECK_INT(r[(size_t)i * PAGE + 9], 'a' + i);
	CHECK_INT(r[5 * PAGE], 0);
	r[7 * PAGE] = 1;
	CHECK(r == p || !mapped(p));
	t_barrier();
	CHECK(!reach(q, 0));
	t_barrier();
	munmap(r, 8 * PAGE);

	p = own(4);
	REQUIRE(p);
	at = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r = mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at);
	CHECK(r == at && r[2 * PAGE] == 'c');
	munmap(at, 4 * PAGE);

	p = own(4);
	REQUIRE(p);
	CHECK(mremap(p, 4 * PAGE, 2 * PAGE, 0) == p);
	CHECK(mapped(p + PAGE) && !mapped(p + 2 * PAGE) && p[PAGE] == 'b');
	munmap(p, 2 * PAGE);
	errno = 0;
	CHECK(mremap((void *)1, PAGE, PAGE, 0) == MAP_FAILED && errno == EINVAL);
}

static void t_mremap_onto_adopted_memory(void)
{
	char *p = own(4), *q, *r = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	REQUIRE(p);
	q = theirs(p);
	r[0] = 'Z';
	CHECK(mremap(r, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, p + PAGE) == p + PAGE);
	CHECK_INT(p[PAGE], 'Z');
	t_barrier();
	CHECK(reach(q, 0) && !reach(q, 1) && reach(q, 2));
	t_barrier();
	munmap(p, 4 * PAGE);
}

static void t_mprotect_takes_access_away(void)
{
	char *p = own(4), *q;

	REQUIRE(p);
	q = theirs(p);
	CHECK_INT(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	CHECK_INT(mprotect(p + 2 * PAGE, PAGE, PROT_READ), 0);
	CHECK(!mapped(p + PAGE) && mapped(p + 2 * PAGE));
	t_barrier();
	CHECK(reach(q, 0) && !reach(q, 1) && !reach(q, 2) && reach(q, 3));
	t_barrier();
	CHECK_INT(mprotect(p, 4 * PAGE, PROT_READ | PROT_WRITE), 0);
	CHECK_INT(p[PAGE], 'b');
	CHECK_INT(p[2 * PAGE], 'c');
	p[PAGE] = 'B';
	munmap(p, 4 * PAGE);
}

static void t_a_child_has_the_protection(void)
{
	char *p = own(4);
	int st;
	pid_t k;

	REQUIRE(p);
	CHECK_INT(mprotect(p + PAGE, PAGE, PROT_READ), 0);
	CHECK_INT(mprotect(p + 2 * PAGE, PAGE, PROT_NONE), 0);
	fflush(stdout);
	k = fork();
	REQUIRE(k >= 0);
	if (!k) {
		int fd[2], bad = pipe(fd);

		bad |= p[0] != 'a' || p[PAGE] != 'b' || mapped(p + 2 * PAGE) != 0;
		bad |= (write(fd[1], "x", 1) != 1) << 1 | (read(fd[0], p + PAGE, 1) != -1) << 2;
		bad |= (mprotect(p, 4 * PAGE, PROT_READ | PROT_WRITE) || p[2 * PAGE] != 'c') << 3;
		bad |= (munmap(p, 4 * PAGE) || mapped(p)) << 4;
		_exit(bad);
	}
	waitpid(k, &st, 0);
	CHECK_INT(st, 0);
	CHECK_INT(p[PAGE], 'b');
	munmap(p, 4 * PAGE);
}

static void t_madvise_dontneed_reads_zero(void)
{
	char *p = own(6), *q;

	REQUIRE(p);
	q = theirs(p);
	CHECK_INT(madvise(p + PAGE, 2 * PAGE, MADV_DONTNEED), 0);
	CHECK_INT(p[PAGE], 0);
	CHECK_INT(p[2 * PAGE + 100], 0);
	CHECK_INT(p[0], 'a');
	CHECK_INT(p[3 * PAGE], 'd');
	CHECK_INT(madvise(p + 4 * PAGE, PAGE, MADV_FREE), 0);
	p[4 * PAGE] = 'E';
	CHECK_INT(p[4 * PAGE], 'E');
	t_barrier();
	if (reach(q, 1))
		CHECK_INT(((char *)smartmap_remote(next(), q))[PAGE], 0);
	t_barrier();
	munmap(p, 6 * PAGE);
}

static void t_madvise_on_a_mixture(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, 3 * PAGE);
	REQUIRE_INT(smartmap_adopt(p + PAGE, PAGE), 0);
	CHECK_INT(madvise(p, 3 * PAGE, MADV_DONTNEED), 0);
	CHECK(!p[0] && !p[PAGE] && !p[2 * PAGE]);
	CHECK_INT(munmap(p, 3 * PAGE), 0);
	CHECK(!mapped(p) && !mapped(p + PAGE) && !mapped(p + 2 * PAGE));
}

static void t_madvise_dofork_changes_nothing(void)
{
	char *p = own(2);
	int st;
	pid_t k;

	REQUIRE(p);
	CHECK_INT(madvise(p, 2 * PAGE, MADV_DOFORK), 0);
	fflush(stdout);
	k = fork();
	if (!k) {
		int bad = p[0] != 'a';

		p[0] = 'C';
		_exit(bad);
	}
	waitpid(k, &st, 0);
	CHECK_INT(st, 0);
	CHECK_INT(p[0], 'a');
	munmap(p, 2 * PAGE);
}

static void t_munmap_waits_for_a_mover(void)
{
	char *p = own(2), *q;
	int in;

	REQUIRE(p);
	q = theirs(p);
	atomic_store(t_word(20 + t_rank()), 0);
	atomic_store(t_word(30 + t_rank()), 0);
	t_barrier();
	if (t_rank() == 1) {			/* the mover */
		in = smartmap_enter(next(), q, PAGE);
		CHECK_INT(in, 1);
		atomic_store(t_word(20), 1);
		nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
		*(char *)smartmap_remote(next(), q) = 'M';
		atomic_store(t_word(30), 1);
		if (in)
			smartmap_leave(next());
	} else if (t_rank() == 2 % t_size()) {	/* its neighbour, the owner */
		CHECK(t_await(20, 1, 10));
		munmap(p, 2 * PAGE);
		CHECK_INT(atomic_load(t_word(30)), 1);
	}
	t_barrier();
	if (t_rank() == 1)
		CHECK_INT(smartmap_enter(next(), q, PAGE), 0);
	t_barrier();
	if (t_rank() != 2 % t_size())
		munmap(p, 2 * PAGE);
}

static void t_dlclose_leaves_no_stale_data(void)
{
	int *there, v = 0;

	if (!plug)
		SKIP("the plug-in was not built");
	atomic_store(t_word(40 + t_rank()), (uintptr_t)plug);
	t_barrier();
	there = (int *)(uintptr_t)atomic_load(t_word(40 + next()));
	(*plug)[1] = 70 + t_rank();
	t_barrier();
	if (!smartmap_read(next(), &v, there + 1, sizeof(v)))
		CHECK_INT(v, 70 + next());
	t_barrier();
	dlclose(plug_handle);
	t_barrier();
	/* either it is still there (the job holds a reference) or it is out of reach: never old bytes of nothing */
	if (smartmap_reachable(next(), there, sizeof(v))) {
		CHECK_INT(*(int *)smartmap_remote(next(), there + 1), 70 + next());
		CHECK(mapped((char *)*plug));
	}
	t_barrier();
}

static void t_memory_never_adopted_is_left_alone(void)
{
	char *p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	p[0] = p[PAGE] = 1;
	CHECK_INT(madvise(p, PAGE, MADV_DONTNEED), 0);
	CHECK_INT(p[0], 0);
	q = mremap(p, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED && q[PAGE] == 1);
	CHECK_INT(mprotect(q, PAGE, PROT_NONE), 0);
	CHECK(!mapped(q));
	CHECK_INT(munmap(q, 64 * PAGE), 0);
	errno = 0;
	CHECK(munmap(q + 1, PAGE) == -1 && errno == EINVAL);
	errno = 0;
	CHECK(mprotect((void *)(PAGE * 16), PAGE, PROT_READ) == -1 && errno == ENOMEM);
	errno = 0;
	CHECK(madvise(q, PAGE, 9999) == -1 && errno == EINVAL);
}

static long resident_kb(void)
{
	long kb = 0;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static void t_mlockall_fills_no_holes(void)
{
	long before = resident_kb();

	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		SKIP("locking memory is not allowed here");
	CHECK(resident_kb() < before + (64 << 10));
	CHECK_INT(munlockall(), 0);
}

static void *little(void *arg)
{
	volatile char room[10000];

	memset((char *)room, 3, sizeof(room));
	free(malloc(100));
	atomic_fetch_add((_Atomic int *)arg, room[77] == 3);
	return arg;
}

static void t_a_hundred_threads(void)
{
	_Atomic int done = 0;

	for (int i = 0; i < 100; i++) {
		pthread_t t;
		void *v = NULL;

		REQUIRE(!pthread_create(&t, NULL, little, &done));
		if (i & 1) {
			pthread_detach(t);
		} else {
			pthread_join(t, &v);
			CHECK(v == (void *)&done);
		}
	}
	for (int i = 0; atomic_load(&done) < 100 && i < 5000; i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	CHECK_INT(done, 100);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_munmap_takes_pages_out), T(t_new_memory_at_an_old_address_is_private), T(t_mmap_fixed_replaces),
		T(t_mremap_moves_the_bytes), T(t_mremap_onto_adopted_memory), T(t_mprotect_takes_access_away),
		T(t_a_child_has_the_protection), T(t_madvise_dontneed_reads_zero), T(t_madvise_on_a_mixture),
		T(t_madvise_dofork_changes_nothing), T(t_munmap_waits_for_a_mover), T(t_dlclose_leaves_no_stale_data),
		T(t_memory_never_adopted_is_left_alone), T(t_mlockall_fills_no_holes), T(t_a_hundred_threads), { 0 }
	};
	const char *build = getenv("P3_BUILD");
	char path[4096];
	int e, r;

	snprintf(path, sizeof(path), "%s/tests/smartmap/.libs/plug.so", build ? build : ".");
	plug_handle = dlopen(path, RTLD_NOW);
	if (plug_handle)
		plug = dlsym(plug_handle, "plug_value");
	e = t_join(SMARTMAP_ADOPT_ALL);
	if (e)
		bail("smartmap_init: %s (%s)", strerror(-e), smartmap_why(SMARTMAP_F_WINDOWS));
	if (!smartmap_has(SMARTMAP_F_FORK))
		skip_all("nothing private is adopted here: %s", smartmap_why(SMARTMAP_F_FORK));
	r = t_run(cases);
	smartmap_barrier();
	smartmap_fini();
	return r;
}
