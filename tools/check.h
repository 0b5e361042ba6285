/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* check.h - what the driver of ptl_check and the ranks that it starts share */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdint.h>

/* How messages can go. Name; ranks; longest put; the settings that make it so; what it is. */
#define CHECK_PATHS(X)										\
	X(WINDOW, "window", 2, 1 << 20, "PTL_ADOPT=all",					\
	  "straight, into the memory of a target that makes no call")				\
	X(INBOX, "inbox", 2, 1 << 20, "PTL_ADOPT=all",						\
	  "short ones left in the inbox of a target that polls")				\
	X(POLLED, "polled", 2, 8192, "PTL_ADOPT=all",						\
	  "puts to a polled portal, before and behind its entry")				\
	X(CMA, "cma", 2, 1 << 20, "PTL_ADOPT=none",						\
	  "copied by the kernel (process_vm_readv)")						\
	X(BOUNCE, "bounce", 2, 1 << 20, "PTL_ADOPT=none PTL_CMA=no",				\
	  "copied by the target, through shared memory")					\
	X(TCP, "tcp", 2, 1 << 20, "PTL_ADOPT=all",						\
	  "between two virtual nodes")								\
	X(LOOP, "loop", 1, 1 << 20, "PTL_NAL=loop",						\
	  "a process to itself, by frames (PTL_LOOP)")
enum check_path {
#define X(s, name, ranks, max, env, what) CHECK_##s,
	CHECK_PATHS(X)
#undef X
	CHECK_PATH_MAX
};

struct check_path_info {
	const char *name;
	int ranks;
	uint32_t max;
	const char *env, *what;
};
extern const struct check_path_info check_path[CHECK_PATH_MAX];

enum check_result { CHECK_NOT_YET, CHECK_PASS, CHECK_FAIL, CHECK_OFF };

struct check_rank {
	uint32_t result;		/* enum check_result */
	uint32_t messages;
	double put_us, get_us, put_gbps;	/* 8 bytes until acknowledged, fetched; longest put */
	char ways[160];			/* what the counters say */
	char doing[96];			/* what it was at last */
	char why[400];
};

/* Shared by the driver and two ranks that it has started; each rank writes its own element. */
struct check_page {
	uint32_t arrived, turn;		/* barrier */
	uint32_t abort;			/* somebody has failed: barriers are open */
	uint32_t ask, asked;		/* a rank waits in vain: the driver is to look why; it has */
	uint32_t looks;			/* the target looks for this message */
	struct check_rank rank[2];
};

/*
 * Walk path @p as one of its ranks. @page NULL: the ranks are a launcher's, and meet by its barrier; @me: where
 * the result goes. @patience: seconds for an event. The first opens the interface, which stays open.
 */
void check_walk(enum check_path p, struct check_page *page, struct check_rank *me, double patience);
bool check_open(struct check_rank *result);	/* the interface, before that; false: why is in @result */
/* In the job of a launcher: is there a way for @p between ranks 0 and 1? */
bool check_possible(enum check_path p);
unsigned check_my_rank(void);		/* after the interface is open */
void check_close(void);

double check_now(void);			/* seconds */

#endif
