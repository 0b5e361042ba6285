/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_log.c - formats a line with the name of its rank and writes it with one system call
 *
 * State: who we are (plain words, set once by the runtime) and the threshold. Nothing is allocated and no stdio
 * buffer is used, so a line can be written while the heap is being adopted.
 */
#include "config.h"

#include "p3_log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

const char *const p3_log_level_name[P3_LOG_MAX] = { "error", "warn", "diag", "info", "debug" };
enum p3_log_level p3_log_threshold = P3_LOG_WARN;

static uint32_t log_rank, log_node, log_size;
static char log_known;

void p3_log_identify(uint32_t rank, uint32_t node, uint32_t size)
{
	log_rank = rank;
	log_node = node;
	log_size = size;
	__atomic_store_n(&log_known, 1, __ATOMIC_RELEASE);
}

/* Before the job is known: the launcher's number, so that "once per job" holds for complaints about settings too. */
static uint32_t guess_rank(void)
{
	const char *v = getenv("PMI_RANK");

	if (!v)
		v = getenv("PMIX_RANK");
	if (!v)
		v = getenv("PTL_MY_RID");
	return v ? (uint32_t)strtoul(v, NULL, 10) : 0;
}

static uint32_t guess_size(void)
{
	const char *v = getenv("PMI_SIZE");

	return v ? (uint32_t)strtoul(v, NULL, 10) : 0;
}

static void emit(enum p3_log_level level, uint32_t rank, uint32_t others, const char *fmt, va_list ap)
{
	int known = __atomic_load_n(&log_known, __ATOMIC_ACQUIRE);
	char line[2048];
	size_t n, room = sizeof(line) - 64;	/* keeps space for the count of others and the newline */
	int k;

	if (known)
		n = snprintf(line, room, "ptl[rank %u node %u pid %d] %s: ", rank, log_node, (int)getpid(),
			     p3_log_level_name[level]);
	else
		n = snprintf(line, room, "ptl[rank %u pid %d] %s: ", rank, (int)getpid(), p3_log_level_name[level]);
	k = vsnprintf(line + n, room - n, fmt, ap);
	if (k > 0)
		n += (size_t)k < room - n ? (size_t)k : room - n - 1;
	while (n && line[n - 1] == '\n')
		n--;
	if (others)
		n += snprintf(line + n, sizeof(line) - n - 1, " (and %u more ranks)", others);
	line[n++] = '\n';
	while (write(STDERR_FILENO, line, n) < 0 && errno == EINTR)
		;
}

void p3_log(enum p3_log_level level, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (level > p3_log_threshold)
		return;
	va_start(ap, fmt);
	emit(level, log_known ? log_rank : guess_rank(), 0, fmt, ap);
	va_end(ap);
	errno = saved;
}

void p3_log_job(enum p3_log_level level, const char *fmt, ...)
{
	uint32_t rank = log_known ? log_rank : guess_rank();
	uint32_t size = log_known ? log_size : guess_size();
	int saved = errno;
	va_list ap;

	if (level > p3_log_threshold || rank)
		return;
	va_start(ap, fmt);
	emit(level, rank, size > 1 ? size - 1 : 0, fmt, ap);
	va_end(ap);
	errno = saved;
}

void p3_log_drain(void)
{
	struct timespec ms = { 0, 1000000 };
	int fd = STDOUT_FILENO, left = 0;

	/* On a pipe FIONREAD counts what the reader has not taken, at the writer's end too; elsewhere it fails. */
	for (int i = 0; i < 500 && fd <= STDERR_FILENO; i++) {
		if (ioctl(fd, FIONREAD, &left) || left <= 0)
			fd++;
		else
			nanosleep(&ms, NULL);
	}
}
