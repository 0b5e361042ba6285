/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * multi.c - start the ranks of a test on this machine, without a launcher
 *
 *	multi -n RANKS [-N PER_NODE] [-k RANK] COMMAND [ARG...]
 *
 * Each rank gets the variables of the reference implementation (PTL_MY_RID, PTL_NIDMAP, PTL_PIDMAP, PTL_MY_JID) and
 * the descriptor of a shared page (multi.h). Their TAP lines become one numbered stream, each with its rank; the
 * plan comes last. A rank that dies of a signal or prints fewer lines than planned is a failed line; -k: that rank
 * is meant to be killed. -N: so many ranks on each virtual node. The others notice a death by the page (t_barrier) or
 * by the library.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "multi.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MAX_RANKS 256

struct rank {
	pid_t pid;
	int fd;			/* its stdout; -1 at its end */
	char line[4096];
	size_t len;
	int planned, seen;
	int skipped_all, bailed;
};

static struct rank ranks[MAX_RANKS];
static int total, failed, skipped_all;
static char skip_reason[256];

static void one_line(int r, char *s)
{
	struct rank *k = &ranks[r];
	int good = !strncmp(s, "ok", 2) && (s[2] == ' ' || !s[2]);
	int bad = !strncmp(s, "not ok", 6);
	char *text;

	if (sscanf(s, "1..%d", &k->planned) == 1) {
		text = strstr(s, "# SKIP ");
		if (!k->planned && text) {
			k->skipped_all = 1;
			skipped_all++;
			snprintf(skip_reason, sizeof(skip_reason), "%s", text + 7);
		}
		return;
	}
	if (!strncmp(s, "Bail out!", 9)) {
		printf("not ok %d - rank %d: gives up:%s\n", ++total, r, s + 9);
		failed++;
		k->bailed = 1;
		return;
	}
	if (!good && !bad) {
		printf("# rank %d: %s\n", r, s);
		return;
	}
	k->seen++;
	failed += bad && !strstr(s, "# TODO");
	text = s + (good ? 2 : 6);
	while (isspace((unsigned char)*text) || isdigit((unsigned char)*text))
		text++;
	if (*text == '-')
		text += text[1] == ' ' ? 2 : 1;
	printf("%s %d - rank %d: %s\n", good ? "ok" : "not ok", ++total, r, text);
}

static void drain(int r)
{
	struct rank *k = &ranks[r];
	ssize_t n = read(k->fd, k->line + k->len, sizeof(k->line) - 1 - k->len);
	char *nl;

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		if (k->len) {
			k->line[k->len] = 0;
			one_line(r, k->line);
		}
		close(k->fd);
		k->fd = -1;
		return;
	}
	k->len += (size_t)n;
	k->line[k->len] = 0;
	while ((nl = strchr(k->line, '\n')) || k->len == sizeof(k->line) - 1) {
		size_t used = nl ? (size_t)(nl - k->line) + 1 : k->len;

		if (nl)
			*nl = 0;
		one_line(r, k->line);
		memmove(k->line, k->line + used, k->len - used + 1);
		k->len -= used;
	}
}

static void start(int r, int n, int per_node, int page_fd, char **argv)
{
	struct rank *k = &ranks[r];
	char map[MAX_RANKS * 8], s[32];
	int p[2], at = 0;

	k->planned = -1;
	if (pipe(p))
		perror("multi: pipe"), exit(2);
	fflush(stdout);
	k->pid = fork();
	if (k->pid < 0)
		perror("multi: fork"), exit(2);
	if (k->pid) {
		close(p[1]);
		k->fd = p[0];
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(p[0]);
	for (int i = 0; i < r; i++)
		close(ranks[i].fd);
	dup2(p[1], 1);
	close(p[1]);
	snprintf(s, sizeof(s), "%d", r);
	setenv("PTL_MY_RID", s, 1);
	snprintf(s, sizeof(s), "%d", (int)getppid());
	setenv("PTL_MY_JID", s, 1);
	snprintf(s, sizeof(s), "%d", page_fd);
	setenv("T_PAGE_FD", s, 1);
	for (int i = 0; i < n; i++)
		at += snprintf(map + at, sizeof(map) - (size_t)at, "%s%d", i ? ":" : "", 1 + 3 * (i / per_node));
	setenv("PTL_NIDMAP", map, 1);
	if (per_node < MAX_RANKS) {
		snprintf(s, sizeof(s), "%d", per_node);
		setenv("T_PER_NODE", s, 1);
	}
	at = 0;
	for (int i = 0; i < n; i++)	/* not rank + constant: ids come from the map, and from nowhere else */
		at += snprintf(map + at, sizeof(map) - (size_t)at, "%s%d", i ? ":" : "", 300 + 7 * i);
	setenv("PTL_PIDMAP", map, 1);
	execvp(argv[0], argv);
	fprintf(stderr, "multi: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static void collect(int n, int killed)
{
	for (;;) {
		struct pollfd p[MAX_RANKS];
		int who[MAX_RANKS], open = 0;

		for (int r = 0; r < n; r++)
			if (ranks[r].fd >= 0) {
				p[open] = (struct pollfd){ .fd = ranks[r].fd, .events = POLLIN };
				who[open++] = r;
			}
		if (!open)
			return;
		poll(p, (nfds_t)open, 100);
		for (int i = 0; i < open; i++)
			if (p[i].revents)
				drain(who[i]);
		for (int r = 0; r < n; r++) {	/* tell the living of a death; the status itself is read later */
			siginfo_t si = { .si_pid = 0 };

			if (r == killed)
				continue;
			if (!waitid(P_PID, (id_t)ranks[r].pid, &si, WEXITED | WNOHANG | WNOWAIT) && si.si_pid &&
			    (si.si_code != CLD_EXITED || si.si_status))
				atomic_store(&t_page_->dead, 1);
		}
	}
}

int main(int argc, char **argv)
{
	int n = 2, per_node = MAX_RANKS, killed = -1, opt, fd, all_zero = 1;

	while ((opt = getopt(argc, argv, "+n:N:k:")) != -1) {
		if (opt == 'n')
			n = atoi(optarg);
		else if (opt == 'N')
			per_node = atoi(optarg);
		else if (opt == 'k')
			killed = atoi(optarg);
		else
			return 2;
	}
	if (n < 1 || n > MAX_RANKS || per_node < 1 || optind >= argc)
		return fprintf(stderr, "usage: multi -n RANKS [-N PER_NODE] [-k RANK] COMMAND [ARG...]\n"), 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	fd = memfd_create("t-page", 0);
	if (fd < 0 || ftruncate(fd, T_PAGE_BYTES))
		return perror("multi: memfd_create"), 2;
	t_page_ = mmap(NULL, T_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (t_page_ == MAP_FAILED)
		return perror("multi: mmap"), 2;
	t_page_->size = (uint32_t)n;
	for (int r = 0; r < n; r++)
		start(r, n, per_node, fd, argv + optind);
	collect(n, killed);
	for (int r = 0; r < n; r++) {
		struct rank *k = &ranks[r];
		int status = 0, good;

		waitpid(k->pid, &status, 0);
		if (r == killed)
			continue;
		good = WIFEXITED(status) && (!WEXITSTATUS(status) || k->seen) && k->planned >= 0 &&
		       (k->planned == k->seen);
		all_zero &= !status;
		if (good || k->bailed)
			continue;
		failed++;
		printf("not ok %d - rank %d: runs to its end\n", ++total, r);
		if (WIFSIGNALED(status))
			fprintf(stderr, "# rank %d died of signal %d (%s)\n", r, WTERMSIG(status),
				strsignal(WTERMSIG(status)));
		fprintf(stderr, "# rank %d: %d lines of %d planned, exit status %d\n", r, k->seen, k->planned,
			WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	}
	if (skipped_all == n && !total)
		printf("1..0 # SKIP %s\n", skip_reason);
	else
		printf("1..%d\n", total);
	return failed || !all_zero;
}
