/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_log.h - one line to stderr, said by whoever decides
 *
 *	ptl[rank 3 node 0 pid 4211] warn: process_vm_readv from rank 5 failed: Operation not permitted; ...
 *
 * A line is lower-case, names the facts and, after a fallback, the remedy. It goes out in one write, so lines of
 * several ranks do not mix. Any thread; not from a signal handler. errno is kept.
 */
#ifndef P3_LOG_H
#define P3_LOG_H

#include <stdint.h>

enum p3_log_level {
	P3_LOG_ERROR,	/* the call fails */
	P3_LOG_WARN,	/* the user should act */
	P3_LOG_DIAG,	/* a choice was made: path, fallback, rank map */
	P3_LOG_INFO,	/* settings in effect */
	P3_LOG_DEBUG,
	P3_LOG_MAX
};

extern const char *const p3_log_level_name[P3_LOG_MAX];

/* Threshold; read by the macros without a call. Set by the knob PTL_LOG, P3_LOG_WARN before it is read. */
extern enum p3_log_level p3_log_threshold;

/* Rank, node and size printed from now on. Before, the rank is what the launcher's variables say. */
void p3_log_identify(uint32_t rank, uint32_t node, uint32_t size);

void p3_log(enum p3_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* For what is the same in every rank: only rank 0 prints it, and adds "(and N more ranks)". */
void p3_log_job(enum p3_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Wait (at most half a second) until the readers of the pipes that stdout and stderr are have taken all: launchers drop
 * what they have not read when a job is aborted. */
void p3_log_drain(void);

#define P3_LOG_AT(level, ...)						\
	do {								\
		if ((level) <= p3_log_threshold)			\
			p3_log(level, __VA_ARGS__);			\
	} while (0)

#define p3_error(...)	P3_LOG_AT(P3_LOG_ERROR, __VA_ARGS__)
#define p3_warn(...)	P3_LOG_AT(P3_LOG_WARN, __VA_ARGS__)
#define p3_diag(...)	P3_LOG_AT(P3_LOG_DIAG, __VA_ARGS__)
#define p3_info(...)	P3_LOG_AT(P3_LOG_INFO, __VA_ARGS__)
#define p3_debug(...)	P3_LOG_AT(P3_LOG_DEBUG, __VA_ARGS__)

/* Once per job and per place in the source. */
#define p3_once_per_job(level, ...)						\
	do {									\
		static char said_;						\
										\
		if ((level) <= p3_log_threshold && !__atomic_exchange_n(&said_, 1, __ATOMIC_RELAXED)) \
			p3_log_job(level, __VA_ARGS__);				\
	} while (0)

#endif
