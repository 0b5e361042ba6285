/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_break.c - connections between two nodes end in the middle of the traffic, again and again, and all live on
 *
 * Each of two ranks puts and gets, messages of all lengths, both at once; a thread of rank 0 shuts down TCP
 * connections, its own or (ap) those of the engine, whose descriptors the kernel gives us where we may debug it.
 * Nothing may be lost, come twice, out of order or with other bytes, and nobody be taken for dead. T_BREAKS: how many.
 */
#include "../api/ptl.h"

#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { SLOTS = 4, LONG = 700000, MOST = 100000 };

static unsigned char out[SLOTS][LONG], in[SLOTS][LONG], got[LONG];
static const size_t length[] = { 8, 700000, 300, 0, 40000, 5000, 100000, 262144, 20, 33000 };
static ptl_handle_md_t from, into;
static ptl_handle_eq_t eq;
static unsigned sent, acked, replies, arrived, gets;
static _Atomic unsigned breaks;
static _Atomic int stop;

static size_t length_of(unsigned i)
{
	return length[(i + i / 10) % (sizeof(length) / sizeof(*length))];
}

static bool is_tcp(int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);

	return !getpeername(fd, (struct sockaddr *)&sa, &len) && (sa.ss_family == AF_INET || sa.ss_family == AF_INET6);
}

/* One of @pid's connections ends, the @n-th of those that it has: 0; -1: there are not so many, or we may not. */
static int cut(pid_t pid, unsigned n)
{
	int pidfd = pid == getpid() ? -1 : (int)syscall(SYS_pidfd_open, pid, 0), rc = -1;
	char path[40];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && rc && (e = readdir(d)) != NULL) {
		int fd = atoi(e->d_name), own;

		if (e->d_name[0] == '.')
			continue;
		own = pidfd < 0 ? dup(fd) : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
		if (own >= 0 && is_tcp(own) && !n--)
			rc = shutdown(own, SHUT_RDWR);
		if (own >= 0)
			close(own);
	}
	if (d)
		closedir(d);
	if (pidfd >= 0)
		close(pidfd);
	return rc;
}

/* An engine of this test: they stay in the process group of the rank that has started them. */
static pid_t engine(unsigned n)
{
	pid_t pid, found = 0;
	char path[40], name[40];
	struct dirent *e;
	DIR *d = opendir("/proc");

	while (d && !found && (e = readdir(d)) != NULL) {
		FILE *f;

		pid = (pid_t)atoi(e->d_name);
		if (pid <= 0 || getpgid(pid) != getpgrp())
			continue;
		snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
		f = fopen(path, "re");
		if (f && fgets(name, sizeof(name), f) && !strcmp(name, "ptl-nic\n") && !n--)
			found = pid;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

static void *breaker(void *arg)
{
	bool ap = getenv("PTL_NAL") && !strcmp(getenv("PTL_NAL"), "ap");

	for (unsigned i = 0; !atomic_load(&stop); i++) {
		pid_t pid = ap ? engine(i / 2 % 2) : getpid();

		if (pid && !cut(pid, i % 2))
			atomic_fetch_add(&breaks, 1);
		nanosleep(&(struct timespec){ 0, 1000000 + i * 7919 % 9 * 1000000 }, NULL);
	}
	return NULL;
}

/* All events that are there; false: one was wrong. */
static bool look(int ms)
{
	ptl_event_t e;
	int which;

	while (PtlEQPoll(&eq, 1, ms, &e, &which) == PTL_OK) {
		ms = 0;
		if (!CHECK_INT(e.ni_fail_type, PTL_NI_OK))
			return false;
		switch (e.type) {
		case PTL_EVENT_ACK:
			if (!CHECK_INT(e.mlength, length_of(acked)))
				return false;
			acked++;
			break;
		case PTL_EVENT_REPLY_END: replies++; break;
		case PTL_EVENT_PUT_END:
			if (!CHECK_INT(e.hdr_data, arrived) || !CHECK_INT(e.mlength, length_of(arrived)))
				return false;
			arrived++;
			break;
		default: break;
		}
	}
	return true;
}

/* What has been put as number @i is there: all of it, and no other byte. */
static bool check_slot(unsigned i)
{
	size_t len = length_of(i);
	double last = t_now() + 30;

	memset(got, 0, sizeof(got));
	if (!CHECK_INT(PtlGetRegion(into, 0, len, peer, PT, 0, 1, (i % SLOTS) * (ptl_size_t)LONG), PTL_OK))
		return false;
	gets++;
	while (replies < gets && t_now() < last)
		if (!look(100))
			return false;
	return CHECK_INT(replies, gets) && CHECK(!memcmp(got, out[i % SLOTS], len));
}

static bool traffic(unsigned want)
{
	double last = t_now() + 50;
	bool good = true;

	/* rank 0 says when it is enough, by the word */
	while (good && t_now() < last && sent < MOST &&
	       (t_rank() ? !atomic_load(t_word(3)) : breaks < want || sent < 200)) {
		unsigned i = sent;

		p_fill(out[i % SLOTS], length_of(i), i);
		good = CHECK_INT(PtlPutRegion(from, (i % SLOTS) * (ptl_size_t)LONG, length_of(i), PTL_ACK_REQ, peer, PT,
					      0, 1, (i % SLOTS) * (ptl_size_t)LONG, i), PTL_OK);
		sent++;
		while (good && sent - acked >= SLOTS && t_now() < last)
			good = look(100);
		if (good && i % 7 == 6) {
			while (good && acked < sent && t_now() < last)
				good = look(100);
			good = good && check_slot(i);
		}
	}
	while (good && acked < sent && t_now() < last)
		good = look(100);
	return good && CHECK_INT(acked, sent);
}

static void t_connections_end_and_nothing_is_lost(void)
{
	unsigned want = getenv("T_BREAKS") ? (unsigned)atoi(getenv("T_BREAKS")) : 40;
	ptl_handle_me_t me;
	ptl_handle_md_t md;
	pthread_t thread;
	double last;

	OK(PtlEQAlloc(ni, 8192, PTL_EQ_HANDLER_NONE, &eq));
	OK(p_post(1, p_md(in, sizeof(in), PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
			  PTL_MD_EVENT_START_DISABLE, eq), &me, &md));
	OK(PtlMDBind(ni, p_md(out, sizeof(out), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &from));
	OK(PtlMDBind(ni, p_md(got, sizeof(got), PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &into));
	t_barrier();
	if (!t_rank())
		REQUIRE(!pthread_create(&thread, NULL, breaker, NULL));
	traffic(want);
	if (!t_rank()) {
		atomic_store(t_word(3), 1);
		atomic_store(&stop, 1);
		pthread_join(thread, NULL);
	}
	atomic_store(t_word(4 + t_rank()), sent + 1);
	for (last = t_now() + 30; t_now() < last;) {	/* what the other has sent */
		uint64_t n = atomic_load(t_word(4 + !t_rank()));

		if (!look(10) || (n && arrived == n - 1))
			break;
	}
	CHECK_INT(arrived, atomic_load(t_word(4 + !t_rank())) - 1);
	t_barrier();
	look(50);
	CHECK_INT(arrived, atomic_load(t_word(4 + !t_rank())) - 1);	/* nothing comes twice */
	diag("%u messages sent, %u came, %u gets, %u breaks", sent, arrived, gets, breaks);
	CHECK(t_rank() || breaks >= want);
	OK(PtlMDUnlink(from));
	OK(PtlMDUnlink(into));
	OK(PtlMEUnlink(me));
	t_barrier();
}

int main(void)
{
	static const struct t_case cases[] = { T(t_connections_end_and_nothing_is_lost), { 0 } };

	return p_main(cases);
}
