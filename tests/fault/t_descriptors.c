/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_descriptors.c - the process that lets other nodes in has no descriptor left
 *
 * Two ranks, each on a node of its own. Rank 1 takes all descriptors that it may have after PtlNIInit(), or those of
 * its engine (PTL_NAL=ap), before anybody has connected. Rank 0 does not wait in silence: what it has sent arrives when
 * there is a descriptor again, without a turn of anybody's meanwhile; or, with "never" and PTL_INIT_TIMEOUT_S=1, ends.
 */
#include "../api/engine.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

static char buf[64];
static pid_t victim;
static struct rlimit was;

/* The first number that is free in another process. */
static unsigned first_free(pid_t pid)
{
	char path[64];
	bool used[1024] = { 0 };
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d)
		bail("%s: %s", path, strerror(errno));
	for (struct dirent *e; (e = readdir(d));)
		if (e->d_name[0] != '.' && atoi(e->d_name) < 1024)
			used[atoi(e->d_name)] = true;
	closedir(d);
	while (n < 1023 && used[n])
		n++;
	return n;
}

static void take_all(void)
{
	struct rlimit none;

	victim = p_engine() ? p_engine() : getpid();
	if (prlimit(victim, RLIMIT_NOFILE, NULL, &was))
		bail("prlimit: %s", strerror(errno));
	none = was;
	none.rlim_cur = p_engine() ? first_free(victim) : 60;
	if (prlimit(victim, RLIMIT_NOFILE, &none, NULL))
		bail("prlimit: %s", strerror(errno));
	while (!p_engine() && dup(0) >= 0)
		;
}

/* Of that process, in seconds. No descriptor is left here, but those that stand open. */
static double cpu(FILE *stat)
{
	unsigned long user = 0, sys = 0;
	char text[1024];
	size_t n;

	rewind(stat);
	n = fread(text, 1, sizeof(text) - 1, stat);
	text[n] = 0;
	CHECK(strrchr(text, ')') && sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
					   &user, &sys) == 2);
	return (double)(user + sys) / (double)sysconf(_SC_CLK_TCK);
}

static FILE *stat_of(pid_t pid)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		bail("%s: %s", path, strerror(errno));
	return f;
}

/* The acknowledgement; or, not @well, the failure of what was sent. */
static bool wait_for(bool well, double s)
{
	double until = t_now() + s;
	ptl_event_t e;
	int which;

	while (t_now() < until) {
		if (PtlEQPoll(&ieq, 1, 100, &e, &which) != PTL_OK)
			continue;
		if (e.ni_fail_type != PTL_NI_OK)
			return !well;
		if (e.type == PTL_EVENT_ACK)
			return well;
	}
	return false;
}

static ptl_handle_md_t post(void)
{
	ptl_handle_md_t h = PTL_INVALID_HANDLE;
	ptl_handle_me_t me;

	OK(p_post(1, p_md(buf, sizeof(buf), PTL_MD_THRESH_INF,
			  PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, teq), &me, &h));
	CHECK_INT(PtlMDBind(ni, p_md(buf, sizeof(buf), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN,
			    &h), PTL_OK);
	return h;
}

static void t_who_connects_is_let_in_as_soon_as_there_is_a_descriptor(void)
{
	ptl_handle_md_t h = post();
	ptl_event_t ev;
	double used;
	FILE *stat;

	if (t_rank()) {
		stat = stat_of(p_engine() ? p_engine() : getpid());
		take_all();
		t_barrier();
		used = -cpu(stat);
		usleep(1500000);	/* rank 0 knocks all that time */
		used += cpu(stat);
		diag("%.2f s of processor time without a descriptor", used);
		CHECK(used < 0.5);
		CHECK_INT(PtlEQGet(teq, &ev), PTL_EQ_EMPTY);
		if (prlimit(victim, RLIMIT_NOFILE, &was, NULL))
			bail("prlimit: %s", strerror(errno));
		CHECK_INT(p_get(teq, &ev), PTL_OK);
		CHECK_INT(ev.type, PTL_EVENT_PUT_END);
		fclose(stat);
	} else {
		t_barrier();
		OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0));
		CHECK(wait_for(true, 20));
	}
	t_barrier();
}

static void t_who_is_never_let_in_hears_so(void)
{
	ptl_handle_md_t h = post();
	double t = t_now();

	if (t_rank())
		take_all();
	t_barrier();
	if (!t_rank()) {
		OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 1, 0, 0));
		CHECK(wait_for(false, 20));
		CHECK(t_now() - t < 10);
	}
	t_barrier();
	if (t_rank() && prlimit(victim, RLIMIT_NOFILE, &was, NULL))
		bail("prlimit: %s", strerror(errno));
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		T(t_who_connects_is_let_in_as_soon_as_there_is_a_descriptor), { 0 }
	};
	static const struct t_case never[] = { T(t_who_is_never_let_in_hears_so), { 0 } };

	return p_main(argc > 1 ? never : cases);
}
