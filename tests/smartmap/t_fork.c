/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_fork - a rank whose memory was adopted forks
 *
 * Rank 0 forks; the others are peers that watch its memory, or write to it. Every case ends with a look at what the
 * parent and the peers see: the child's writes must not be there.
 */
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

extern char **environ;

static int global = 1;
static int zeros[4096];
static int *heap;
static char order[32];
static volatile uint64_t counter;	/* written by the peer in t_fork_while_a_peer_writes */

/* Run @fn in a forked child; its return value is the exit status. -1: fork failed; 256 + signal: it died. */
static int in_child(int (*fn)(void))
{
	int st = 0;
	pid_t p;

	fflush(stdout);
	p = fork();
	if (p < 0)
		return -1;
	if (!p)
		_exit(fn());
	while (waitpid(p, &st, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(st) ? WEXITSTATUS(st) : 256 + WTERMSIG(st);
}

static int nothing(void)
{
	return 0;
}

/* ---- memory ---- */

static int *stack_word;

static int scribble(void)
{
	int bad = (global != 1) | (zeros[77] != 0) << 1 | (*stack_word != 11) << 2 | (heap[5] != 22) << 3;

	global = 1001;
	zeros[77] = 1002;
	*stack_word = 1003;
	heap[5] = 1004;
	for (int i = 0; i < 1000; i++)
		sched_yield();		/* a parent that shared anything would see it by now */
	return bad | (global != 1001 || zeros[77] != 1002 || *stack_word != 1003 || heap[5] != 1004) << 4;
}

static void t_child_has_private_copies(void)
{
	int word = 11;

	stack_word = &word;
	for (int i = 0; !t_rank() && i < 3; i++) {
		CHECK_INT(in_child(scribble), 0);
		CHECK_INT(global, 1);
		CHECK_INT(zeros[77], 0);
		CHECK_INT(word, 11);
		CHECK_INT(heap[5], 22);
	}
	t_barrier();
	if (t_rank()) {
		int *g = smartmap_symmetric(0, &global), v = 0;

		CHECK_INT(smartmap_read(0, &v, g, sizeof(v)), 0);
		CHECK_INT(v, 1);
	}
	t_barrier();
}

static int deep(int n)
{
	volatile char room[4096];

	memset((char *)room, n, sizeof(room));
	return n ? deep(n - 1) + (room[7] != (char)n) : 0;
}

static int grow_stack(void)
{
	return deep(1000);		/* 4 MB */
}

static void t_child_stack_grows(void)
{
	if (!t_rank())
		CHECK_INT(in_child(grow_stack), 0);
}

static int use_malloc(void)
{
	char *p[64];
	int bad = 0;

	for (int i = 0; i < 64; i++) {
		p[i] = malloc((size_t)1 << (i % 24));
		memset(p[i], i, (size_t)1 << (i % 24));
	}
	for (int i = 0; i < 64; i++) {
		bad |= p[i][((size_t)1 << (i % 24)) - 1] != i;
		free(p[i]);
	}
	free(heap);			/* a block of the parent's time */
	return bad;
}

static void t_child_uses_malloc(void)
{
	if (!t_rank()) {
		CHECK_INT(in_child(use_malloc), 0);
		CHECK_INT(heap[5], 22);
	}
}

static int check_big(void)
{
	int bad = 0;

	for (size_t i = 0; i < (64u << 20) / sizeof(int); i += 1024)
		bad |= heap[i + 6] != (int)i;
	memset(heap, 0, 64u << 20);
	return bad;
}

static void t_child_has_a_large_heap(void)
{
	int *keep = heap, bad = 0;

	if (t_rank())
		return;
	heap = malloc((64u << 20) + 64);
	for (size_t i = 0; i < (64u << 20) / sizeof(int); i += 1024)
		heap[i + 6] = (int)i;
	CHECK_INT(in_child(check_big), 0);
	for (size_t i = 0; i < (64u << 20) / sizeof(int); i += 1024)
		bad |= heap[i + 6] != (int)i;
	CHECK_INT(bad, 0);
	free(heap);
	heap = keep;
}

static int grandchild(void)
{
	int r = in_child(scribble);	/* values as the child has them, since nobody wrote yet */

	return r || global != 1;
}

static void t_child_forks_again(void)
{
	int word = 11;

	stack_word = &word;
	if (!t_rank())
		CHECK_INT(in_child(grandchild), 0);
}

/* ---- identity ---- */

static pid_t parent_pid;
static pthread_mutex_t checked;

static void *self_tid(void *arg)
{
	*(pid_t *)arg = (pid_t)syscall(SYS_gettid);
	return arg;
}

static int identity(void)
{
	pid_t tid = 0;
	pthread_t t;
	void *v;
	int bad = 0;

	bad |= (getpid() == parent_pid || getppid() != parent_pid) << 0;
	bad |= (gettid() != getpid() || syscall(SYS_gettid) != getpid()) << 1;
	bad |= (pthread_mutex_lock(&checked) || pthread_mutex_lock(&checked) != EDEADLK ||
		pthread_mutex_unlock(&checked) || pthread_mutex_unlock(&checked) != EPERM) << 2;
	if (pthread_create(&t, NULL, self_tid, &tid) || pthread_join(t, &v) || v != &tid || tid == getpid() || !tid)
		bad |= 1 << 3;
	bad |= (pthread_kill(pthread_self(), 0) != 0) << 4;
	return bad;
}

static void t_child_knows_who_it_is(void)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checked, &a);
	parent_pid = getpid();
	if (!t_rank()) {
		CHECK_INT(in_child(identity), 0);
		CHECK_INT(getpid(), parent_pid);
		CHECK_INT(syscall(SYS_gettid), parent_pid);
	}
}

static int outside(void)
{
	int bad = (smartmap_forked() != 1) | (smartmap_size() != 0) << 1 | (smartmap_rank() != -1) << 2;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	bad |= (smartmap_reachable(0, &global, sizeof(global)) != 0) << 3 | (t_join(SMARTMAP_ADOPT_ALL) == 0) << 4;
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long lo, hi;

		/* no window: nothing of the size of one is left */
		if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && hi - lo >= 1ul << 36 && strstr(line, "-s "))
			bad |= 1 << 5;
		if (strstr(line, "memfd:") && strstr(line, "rw-s") && hi - lo >= 1ul << 36)
			bad |= 1 << 6;
	}
	if (f)
		fclose(f);
	return bad;
}

static void t_child_is_in_no_job(void)
{
	if (!t_rank())
		CHECK_INT(in_child(outside), 0);
	CHECK_INT(smartmap_forked(), 0);
	CHECK_INT(smartmap_rank(), t_rank());
}

/* ---- what libc does around a fork ---- */

static void note(char c)		/* every later fork comes here, too */
{
	size_t n = strlen(order);

	if (n < sizeof(order) - 1)
		order[n] = c;
}

static void prepare(void) { note('1'); }
static void in_parent(void) { note('2'); }
static void after_in_child(void) { note('3'); }
static void prepare_b(void) { note('a'); }
static void in_parent_b(void) { note('b'); }
static void after_in_child_b(void) { note('c'); }

static int handlers(void)
{
	return strcmp(order, "a13c") != 0;
}

static void t_atfork_handlers_run_in_order(void)
{
	static int once;

	if (!once++) {
		pthread_atfork(prepare, in_parent, after_in_child);
		pthread_atfork(prepare_b, in_parent_b, after_in_child_b);
	}
	memset(order, 0, sizeof(order));
	if (!t_rank()) {
		CHECK_INT(in_child(handlers), 0);
		CHECK(!strcmp(order, "a12b"));
	}
}

extern pid_t _Fork(void);

static void t_underscore_Fork(void)
{
	int st = -1;
	pid_t p;

	if (t_rank())
		return;
	memset(order, 0, sizeof(order));
	p = _Fork();
	REQUIRE(p >= 0);
	if (!p) {
		global = 99;
		_exit(order[0] || !smartmap_forked());
	}
	CHECK_INT(waitpid(p, &st, 0), p);
	CHECK_INT(st, 0);
	CHECK_INT(global, 1);
	CHECK(!order[0]);
}

static volatile sig_atomic_t got_signal;

static void on_signal(int sig)
{
	got_signal = sig;
}

static int signals(void)
{
	struct sigaction a;
	sigset_t s;
	int bad = 0;

	sigprocmask(SIG_SETMASK, NULL, &s);
	bad |= (sigismember(&s, SIGUSR2) != 1) | sigismember(&s, SIGUSR1) << 1;
	sigaction(SIGSYS, NULL, &a);
	bad |= (a.sa_handler != on_signal) << 2;
	got_signal = 0;
	raise(SIGUSR1);
	bad |= (got_signal != SIGUSR1) << 3;
	raise(SIGSYS);
	bad |= (got_signal != SIGSYS) << 4;
	return bad;
}

static void t_signal_state_is_kept(void)
{
	sigset_t s, before;

	if (t_rank())
		return;
	signal(SIGSYS, on_signal);
	signal(SIGUSR1, on_signal);
	sigemptyset(&s);
	sigaddset(&s, SIGUSR2);
	sigaddset(&s, SIGSYS);		/* blocked by the program: fork must work all the same, and leave it so */
	sigprocmask(SIG_BLOCK, &s, &before);
	sigdelset(&s, SIGUSR2);
	CHECK_INT(in_child(nothing), 0);
	sigprocmask(SIG_UNBLOCK, &s, NULL);
	CHECK_INT(in_child(signals), 0);
	CHECK_INT(signals(), 0);
	sigprocmask(SIG_SETMASK, &before, NULL);
	signal(SIGSYS, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
}

static void t_dispatch_is_off_afterwards(void)
{
	if (!t_rank()) {
		CHECK_INT(in_child(nothing), 0);
		CHECK(syscall(SYS_getppid) == getppid());
		CHECK_INT(prctl(PR_GET_DUMPABLE), 1);
	}
}

/* ---- threads and peers ---- */

static _Atomic int stop;
static _Atomic long spins;

static void *busy(void *arg)
{
	while (!atomic_load(&stop)) {
		free(malloc(1000 + (size_t)(spins & 8191)));
		atomic_fetch_add(&spins, 1);
	}
	return arg;
}

static void t_fork_with_a_second_thread(void)
{
	pthread_t t;
	long before;

	if (t_rank())
		return;
	REQUIRE(!pthread_create(&t, NULL, busy, NULL));
	for (int i = 0; i < 20; i++) {
		before = atomic_load(&spins);
		CHECK_INT(in_child(nothing), 0);
		while (atomic_load(&spins) == before)
			sched_yield();	/* it goes on */
	}
	atomic_store(&stop, 1);
	pthread_join(t, NULL);
}

static void *fork_here(void *arg)
{
	*(int *)arg = in_child(nothing);
	return NULL;
}

static void t_fork_from_another_thread(void)
{
	pthread_t t[4];
	int r[4] = { -1, -1, -1, -1 };

	if (t_rank())
		return;
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&t[i], NULL, fork_here, &r[i]));
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		CHECK_INT(r[i], 0);
	}
}

static int counter_stands(void)
{
	uint64_t a = counter;
	struct timespec ms = { 0, 20000000 };

	nanosleep(&ms, NULL);
	if (counter != a)
		return 1;
	counter = 0;
	return 0;
}

static void t_fork_while_a_peer_writes(void)
{
	static volatile uint64_t *c;

	t_barrier();
	if (t_rank() == 1) {
		c = smartmap_remote(0, smartmap_symmetric(0, (const void *)&counter));
		if (!smartmap_reachable(0, smartmap_symmetric(0, (const void *)&counter), 8))
			c = NULL;
		t_word(10)[0] = c ? 1 : 2;
		for (uint64_t i = 1; c && atomic_load(t_word(11)) == 0; i++)
			*c = i;
	}
	if (!t_rank()) {
		uint64_t before;

		while (!atomic_load(t_word(10)))
			sched_yield();
		if (atomic_load(t_word(10)) == 2) {
			atomic_store(t_word(11), 1);
			t_barrier();
			SKIP("data is not in the window here");
		}
		for (int i = 0; i < 10; i++)
			CHECK_INT(in_child(counter_stands), 0);
		before = counter;
		for (int i = 0; counter == before && i < 1000000; i++)
			sched_yield();
		CHECK(counter > before);	/* the peer still reaches the parent, and the child never wrote here */
		atomic_store(t_word(11), 1);
	}
	t_barrier();
}

/* ---- other ways to make a process ---- */

static int do_exec(void)
{
	execl("/bin/sh", "sh", "-c", "exit 23", (char *)NULL);
	return 1;
}

static void t_child_execs(void)
{
	if (!t_rank())
		CHECK_INT(in_child(do_exec), 23);
}

static void t_system_popen_spawn_vfork(void)
{
	char *argv[] = { "sh", "-c", "exit 7", NULL }, line[16] = "";
	volatile int shared = 0;
	int st = 0;
	FILE *f;
	pid_t p;

	if (t_rank())
		return;
	st = system("exit 5");
	CHECK_INT(WEXITSTATUS(st), 5);
	f = popen("echo hello", "r");
	REQUIRE(f);
	CHECK(fgets(line, sizeof(line), f) && !strcmp(line, "hello\n"));
	CHECK_INT(pclose(f), 0);
	REQUIRE_INT(posix_spawn(&p, "/bin/sh", NULL, NULL, argv, environ), 0);
	waitpid(p, &st, 0);
	CHECK_INT(WEXITSTATUS(st), 7);
	p = vfork();
	if (!p) {
		shared = 1;
		_exit(4);
	}
	waitpid(p, &st, 0);
	CHECK_INT(WEXITSTATUS(st), 4);
	CHECK_INT(shared, 1);
	CHECK_INT(global, 1);
}

static int do_daemon(void)
{
	int p[2];
	char c = 0;

	if (pipe(p))
		return 1;
	/* the caller of daemon() ends, with status 0: so call it one level down */
	if (!fork()) {
		pid_t before = getpid();

		if (daemon(1, 1))
			_exit(1);
		c = getpid() != before && getsid(0) == getpid() && global == 1 && smartmap_forked() ? 'y' : 'n';
		_exit(write(p[1], &c, 1) != 1);
	}
	close(p[1]);
	if (read(p[0], &c, 1) != 1)
		return 2;
	return c != 'y';
}

static void t_daemon(void)
{
	int p[2], st;
	char c = 0;
	pid_t k;

	if (t_rank())
		return;
	CHECK_INT(in_child(do_daemon), 0);
	/* straight from the rank's own memory: the first fork is a raw one whose child calls daemon() at once */
	REQUIRE(!pipe(p));
	k = fork();
	if (!k) {
		close(p[0]);
		if (daemon(0, 0))
			_exit(1);
		c = heap[5] == 22 ? 'y' : 'n';
		_exit(write(p[1], &c, 1) != 1);
	}
	close(p[1]);
	waitpid(k, &st, 0);
	CHECK_INT(st, 0);
	CHECK(read(p[0], &c, 1) == 1 && c == 'y');
	close(p[0]);
}

static void t_forkpty(void)
{
	char line[64] = "";
	int m = -1, st;
	ssize_t n = 0;
	pid_t p;

	if (t_rank())
		return;
	p = forkpty(&m, NULL, NULL, NULL);
	if (p < 0 && (errno == ENOENT || errno == EACCES || errno == ENODEV))
		SKIP("no pseudo-terminal here");
	REQUIRE(p >= 0);
	if (!p) {
		global = 5;
		n = write(1, isatty(0) ? "tty\n" : "no\n", 4);
		_exit(n != 4);
	}
	n = read(m, line, sizeof(line) - 1);
	waitpid(p, &st, 0);
	CHECK(n >= 3 && !strncmp(line, "tty", 3));
	CHECK_INT(st, 0);
	CHECK_INT(global, 1);
	close(m);
}

static void t_unseen_clone_dies_and_parent_lives(void)
{
	int st = 0, word = 5;
	pid_t p;

	if (t_rank())
		return;
	if (!smartmap_adopted(&global, sizeof(global)))
		SKIP("data is not adopted here");
	p = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);	/* arm64 has no SYS_fork */
	if (!p) {
		global = 666;
		word = 666;
		_exit(0);
	}
	REQUIRE(p > 0);
	waitpid(p, &st, 0);
	CHECK(WIFSIGNALED(st) && WTERMSIG(st) == SIGSEGV);
	CHECK_INT(global, 1);
	CHECK_INT(word, 5);
	CHECK_INT(in_child(nothing), 0);
}

/* ---- limits ---- */

static int open_fds(void)
{
	int n = 0;

	for (int i = 0; i < 1024; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static void t_many_forks_leak_nothing(void)
{
	int fds = open_fds();

	if (t_rank())
		return;
	for (int i = 0; i < 100; i++)
		if (!CHECK_INT(in_child(nothing), 0))
			break;
	CHECK_INT(open_fds(), fds);
}

static void t_no_memory_fails_the_fork(void)
{
	struct rlimit old, few = { 1 << 20, RLIM_INFINITY };
	int r, e;

	if (t_rank())
		return;
	if (!smartmap_adopted(&global, sizeof(global)))
		SKIP("data is not adopted here");
	getrlimit(RLIMIT_DATA, &old);
	few.rlim_max = old.rlim_max;
	REQUIRE(!setrlimit(RLIMIT_DATA, &few));
	errno = 0;
	r = in_child(nothing);
	e = errno;
	setrlimit(RLIMIT_DATA, &old);
	CHECK_INT(r, -1);
	CHECK_INT(e, ENOMEM);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);	/* no zombie */
	CHECK_INT(in_child(nothing), 0);
	CHECK_INT(global, 1);
}

static void t_fork_after_the_job(void)
{
	t_barrier();
	smartmap_barrier();
	smartmap_fini();
	if (!t_rank()) {
		int word = 11;

		stack_word = &word;
		CHECK_INT(in_child(scribble), 0);
		CHECK_INT(global, 1);
		CHECK_INT(word, 11);
	}
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_child_has_private_copies), T(t_child_stack_grows), T(t_child_uses_malloc),
		T(t_child_has_a_large_heap), T(t_child_forks_again), T(t_child_knows_who_it_is), T(t_child_is_in_no_job),
		T(t_atfork_handlers_run_in_order), T(t_underscore_Fork), T(t_signal_state_is_kept),
		T(t_dispatch_is_off_afterwards), T(t_fork_with_a_second_thread), T(t_fork_from_another_thread),
		T(t_fork_while_a_peer_writes), T(t_child_execs), T(t_system_popen_spawn_vfork), T(t_daemon), T(t_forkpty),
		T(t_unseen_clone_dies_and_parent_lives), T(t_many_forks_leak_nothing), T(t_no_memory_fails_the_fork),
		T(t_fork_after_the_job), { 0 }
	};
	int e;

	heap = calloc(100, sizeof(*heap));
	heap[5] = 22;
	e = t_join(SMARTMAP_ADOPT_ALL);
	if (e)
		bail("smartmap_init: %s (%s)", strerror(-e), smartmap_why(SMARTMAP_F_WINDOWS));
	diag("rank %d: data %d stack %d heap %d; %s", t_rank(), smartmap_adopted(&global, 4), smartmap_adopted(&e, 4),
	     smartmap_adopted(heap, 4), smartmap_why(SMARTMAP_F_FORK));
	return t_run(cases);
}
