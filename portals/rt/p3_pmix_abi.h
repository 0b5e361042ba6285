/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmix_abi.h - the little of PMIx's binary interface that p3_pmix.c uses (internal to portals/rt)
 *
 * As libpmix.so.2 has it, in OpenPMIx 2 to 5. Names differ from pmix.h's where that has macros or typedefs, so
 * that a test (tests/rt/pmix_abi.c) can include both and compare.
 */
#ifndef P3_PMIX_ABI_H
#define P3_PMIX_ABI_H

#include <stdint.h>
#include <stdbool.h>
#include <stddef.h>

#define P3_PMIX_NSLEN	256
#define P3_PMIX_KEYLEN	512

enum { P3_PMIX_BOOL = 1, P3_PMIX_STRING = 3, P3_PMIX_UINT32 = 14 };	/* pmix_data_type_t */
enum { P3_PMIX_GLOBAL = 3 };					/* pmix_scope_t */
enum { P3_PMIX_NOT_FOUND = -46 };					/* pmix_status_t; success is 0 */

#define P3_PMIX_JOB	(UINT32_MAX - 1)	/* as a rank: what is of the job (PMIX_RANK_WILDCARD) */

#define P3_PMIX_K_JOB_SIZE		"pmix.job.size"
#define P3_PMIX_K_NODEID		"pmix.nodeid"
#define P3_PMIX_K_HOSTNAME		"pmix.hname"
#define P3_PMIX_K_OPTIONAL		"pmix.optional"
#define P3_PMIX_K_IMMEDIATE	"pmix.immediate"
#define P3_PMIX_K_COLLECT_DATA	"pmix.collect"

struct p3_pmix_proc {
	char nspace[P3_PMIX_NSLEN];
	uint32_t rank;
};

struct p3_pmix_value {
	uint16_t type;
	union {
		bool flag;
		char *string;
		uint32_t uint32;
		struct { char *name, *value; char separator; } longest;
	} data;
};

struct p3_pmix_info {
	char key[P3_PMIX_KEYLEN];
	uint32_t flags;
	struct p3_pmix_value value;
};

#endif
