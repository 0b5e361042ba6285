/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* near.h - which PEs loads and stores must reach: those of the own node, unless PTL_SMARTMAP=no */
#ifndef T_NEAR_H
#define T_NEAR_H

#include <p3rt/p3rt.h>
#include <portals3.h>
#include <stdlib.h>
#include <string.h>

static inline int t_near(int pe)
{
	unsigned node[256], me, n;
	const char *windows = getenv("PTL_SMARTMAP");

	if (PtlGetRank(PTL_INVALID_HANDLE, &me, &n) != PTL_OK || n > 256 ||
	    PtlGetNodeMap_np(PTL_INVALID_HANDLE, node, n) != PTL_OK)
		abort();
	return pe == (int)me || (node[pe] == node[me] && !(windows && !strcmp(windows, "no")));
}

/* Are static data of the PEs of a node in their windows? Sanitizers keep them for themselves. */
static inline int t_static_near(void)
{
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
	return 0;
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
	return 0;
#else
	const char *adopt = getenv("PTL_ADOPT");

	return !adopt || strcmp(adopt, "none");
#endif
}

#endif
