/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * scenario.h - run a function in a child with variables of its own, and keep what it wrote
 *
 * The runtime reads the environment once in a process, so each set of variables needs a process.
 */
#ifndef T_SCENARIO_H
#define T_SCENARIO_H

#include "tap.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

struct scenario {
	pid_t pid;
	int out, err;			/* read ends */
	int status;			/* exit status, or 128 + signal */
	char out_text[8192], err_text[8192];
};

static const char *const scenario_clear[] = {
	"PMI_FD", "PMI_PORT", "PMI_ID", "PMI_RANK", "PMI_SIZE", "PTL_MY_RID", "PTL_NIDMAP", "PTL_PIDMAP", "PTL_MY_JID",
	"MPICH_RANK_REORDER_METHOD", "MPICH_RANK_REORDER_FILE", "PTL_LOG", "PTL_PMI", "PMI_JOBID", "PMIX_NAMESPACE",
	"PMIX_RANK", "SLURM_STEP_ID",
};

/* @env: "NAME=value" up to NULL. @fn's result is the exit status; it leaves by exit(), so exit hooks run. */
__attribute__((unused)) static void scenario_start(struct scenario *s, int (*fn)(void *), void *arg,
						   const char *const *env)
{
	int o[2], e[2];

	fflush(stdout);
	if (pipe2(o, O_CLOEXEC) || pipe2(e, O_CLOEXEC))
		bail("pipe: %s", strerror(errno));
	s->pid = fork();
	if (s->pid < 0)
		bail("fork: %s", strerror(errno));
	if (!s->pid) {
		dup2(o[1], 1);
		dup2(e[1], 2);
		for (size_t i = 0; i < sizeof(scenario_clear) / sizeof(scenario_clear[0]); i++)
			unsetenv(scenario_clear[i]);
		for (; env && *env; env++)
			putenv((char *)(uintptr_t)*env);
		exit(fn(arg));
	}
	close(o[1]);
	close(e[1]);
	s->out = o[0];
	s->err = e[0];
}

static void scenario_read(int fd, char *buf, size_t len)
{
	size_t n = 0;
	ssize_t k;

	while (n < len - 1 && ((k = read(fd, buf + n, len - 1 - n)) > 0 || (k < 0 && errno == EINTR)))
		if (k > 0)
			n += (size_t)k;
	buf[n] = 0;
	close(fd);
}

/* Texts here are far below the 64 KiB of a pipe: the child never waits for us. */
__attribute__((unused)) static int scenario_end(struct scenario *s)
{
	int st = 0;

	scenario_read(s->out, s->out_text, sizeof(s->out_text));
	scenario_read(s->err, s->err_text, sizeof(s->err_text));
	while (waitpid(s->pid, &st, 0) < 0 && errno == EINTR)
		;
	s->status = WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
	return s->status;
}

__attribute__((unused)) static int scenario_run(struct scenario *s, int (*fn)(void *), void *arg,
						const char *const *env)
{
	scenario_start(s, fn, arg, env);
	return scenario_end(s);
}

/* CHECK that @text contains @part, and show the text when not. */
#define CHECK_HAS(text, part)						\
	do {								\
		if (!CHECK(strstr(text, part)))				\
			diag("  want '%s' in: %s", part, text);		\
	} while (0)

#endif
