/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_smap_guest.c - a process that is no rank and sees all windows: it comes, is seen to live, is seen to die, is
 * followed by another one, and is waited for like a rank
 *
 * The guest is this program again, started by rank 0 with the box as descriptor 3. It does what its command says on
 * each rank's page (root 16): word 0 is its own, word 1 the ranks'.
 */
#include <spawn.h>

#include "launch.h"

extern char **environ;

enum { LOOK, STAY, HOLD };

struct page {
	_Atomic int guest, rank;
	unsigned char bytes[4096];
};

/* ---- the guest ---- */

static int guest(int what, uint32_t size)
{
	int rc = smartmap_guest(3, size);

	if (rc)
		return rc == -EBUSY ? 16 : rc == -EINVAL ? 17 : 2;
	if (smartmap_rank() != (int)size || smartmap_size() != (int)size || !smartmap_has(SMARTMAP_F_WINDOWS))
		return 3;
	for (int i = 0; i < (int)size; i++) {
		struct page *p = smartmap_lookup(i, 16), *here;
		unsigned char a[64], b[64];

		if (!p || !smartmap_alive(i) || !smartmap_reachable(i, p, sizeof(*p)))
			return 4;
		here = smartmap_remote(i, p);
		if (here->rank != 100 + i)
			return 5;
		memset(a, 7 + i, sizeof(a));
		if (smartmap_write(i, p->bytes + 10, a, sizeof(a)) || smartmap_read(i, b, p->bytes + 10, sizeof(b)) ||
		    memcmp(a, b, sizeof(a)))
			return 6;
		if (what == HOLD && !smartmap_enter(i, p->bytes, 1))
			return 7;
		here->guest = (int)getpid();
	}
	if (what == STAY || what == HOLD)
		pause();
	smartmap_fini();
	return smartmap_rank() == -1 ? 0 : 8;
}

/* ---- the ranks ---- */

static struct page *page;

static void join_with_guests(uint32_t guests)
{
	struct smartmap_job j = t_job();
	int r;

	j.guests = guests;
	r = smartmap_init(&j);
	if (r)
		T_FAIL("smartmap_init: %s: %s", strerror(-r), smartmap_why(SMARTMAP_F_WINDOWS));
	page = smartmap_alloc(sizeof(*page), 4096);
	T_CHECK(page);
	page->rank = 100 + t_rank;
	smartmap_publish(16, page);
	t_sync();
}

static pid_t start_guest(int what, int size)
{
	char w[8], n[8], *argv[] = { (char *)(uintptr_t)"smt", (char *)(uintptr_t)"guest", w, n, NULL };
	posix_spawn_file_actions_t fa;
	int box = smartmap_guest_box();
	pid_t pid;

	T_CHECK(box >= 0);
	snprintf(w, sizeof(w), "%d", what);
	snprintf(n, sizeof(n), "%d", size);
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, box, 3);
	T_CHECK(!posix_spawn(&pid, t_self(), &fa, NULL, argv, environ));
	posix_spawn_file_actions_destroy(&fa);
	close(box);
	return pid;
}

static int end_of(pid_t pid)
{
	int st = 0;

	T_CHECK(waitpid(pid, &st, 0) == pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

static void until(_Atomic int *w)
{
	for (double end = t_now() + 20; !*w && t_now() < end;)
		usleep(200);
	T_CHECK(*w);
}

static void r_sees_all(void)
{
	unsigned char want[64];

	join_with_guests(1);
	T_CHECK(smartmap_size() == t_size && !smartmap_alive(t_size));
	t_sync();
	if (!t_rank)
		T_CHECK(end_of(start_guest(LOOK, t_size)) == 0);
	t_sync();
	memset(want, 7 + t_rank, sizeof(want));
	T_CHECK(page->guest && !memcmp(page->bytes + 10, want, sizeof(want)));
	T_CHECK(!smartmap_alive(t_size));
	t_sync();
	smartmap_fini();
}

/* One at a time; the next one after its death, by whatever end. */
static void r_one_after_the_other(void)
{
	join_with_guests(1);
	for (int round = 0; round < 3; round++) {
		pid_t a = 0;

		if (!t_rank) {
			a = start_guest(STAY, t_size);
			until(&page->guest);
			T_CHECK(smartmap_pid(t_size) == a);
			T_CHECK(end_of(start_guest(LOOK, t_size)) == 16);
			T_CHECK(end_of(start_guest(LOOK, t_size + 1)) == 17);
		}
		t_sync();
		T_CHECK(smartmap_alive(t_size));
		t_sync();
		if (!t_rank) {
			kill(a, SIGKILL);
			T_CHECK(end_of(a) == 1000 + SIGKILL);
		}
		t_sync();
		T_CHECK(!smartmap_alive(t_size));
		page->guest = 0;
		t_sync();
	}
	smartmap_fini();
}

static char adopted[1 << 16] __attribute__((aligned(4096)));

/* Memory is withdrawn when the guest is out of it: by leaving, or by dying. */
static void r_is_waited_for(void)
{
	pid_t a = 0;
	double from;

	join_with_guests(1);
	if (!t_rank) {
		a = start_guest(HOLD, t_size);
		until(&page->guest);
	}
	t_sync();
	if (!smartmap_adopted(adopted, sizeof(adopted)))
		T_SKIP("data are not adopted here: %s", smartmap_why(SMARTMAP_F_DATA));
	if (!t_rank) {
		pid_t killer = fork();

		if (!killer) {
			usleep(300000);
			kill(a, SIGKILL);
			_exit(0);
		}
		from = t_now();
		smartmap_withdraw(adopted, sizeof(adopted));
		T_CHECK(t_now() - from > 0.1);
		T_CHECK(end_of(killer) == 0 && end_of(a) == 1000 + SIGKILL);
	}
	t_sync();
	smartmap_fini();
}

static void r_not_asked_for(void)
{
	join_with_guests(0);
	T_CHECK(smartmap_guest_box() == -ENOSYS);
	T_CHECK(!smartmap_alive(t_size));
	t_sync();
	smartmap_fini();
	T_CHECK(smartmap_guest_box() == -ENOSYS);
}

static void r_bad(void)
{
	struct smartmap_job j = t_job();

	j.guests = 2;
	T_CHECK(smartmap_init(&j) == -EINVAL);
	T_CHECK(smartmap_guest(-1, 1) == -EINVAL);
	join_with_guests(1);
	T_CHECK(smartmap_guest(0, 1) == -EINVAL);	/* a rank is none */
	smartmap_fini();
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{ "a_guest_sees_all_windows", r_sees_all, NULL, 3, NULL },
		{ "of_a_job_of_one", r_sees_all, NULL, 1, NULL },
		{ "one_after_the_other", r_one_after_the_other, NULL, 2, NULL },
		{ "memory_is_withdrawn_when_it_is_out", r_is_waited_for, NULL, 1, NULL },
		{ "no_guest_unless_asked_for", r_not_asked_for, NULL, 2, NULL },
		{ "bad_guests_are_refused", r_bad, NULL, 1, NULL },
	};

	if (argc == 4 && !strcmp(argv[1], "guest"))
		return guest(atoi(argv[2]), (uint32_t)atoi(argv[3]));
	return t_main(cases, sizeof(cases) / sizeof(cases[0]));
}
