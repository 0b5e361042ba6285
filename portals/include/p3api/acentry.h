/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/acentry.h - PtlACEntry with five arguments or with six, in C; included by <p3api/api.h>
 *
 * The macro counts them and calls P3_ACENTRY5 or P3_ACENTRY6, which <portals/xt.h> and <p3api/reference.h> set to
 * theirs. It needs "...", which C89 has as an extension: a header of the system may use those without a complaint.
 */
#ifndef P3API_ACENTRY_H
#define P3API_ACENTRY_H

#if defined(__GNUC__) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
#pragma GCC system_header
#endif

#define P3_ACENTRY(a, b, c, d, e, f, g, name, ...) name	/* seven: six, one of them { nid, pid } */
#define PtlACEntry(...)	P3_ACENTRY(__VA_ARGS__, P3_ACENTRY6, P3_ACENTRY6, P3_ACENTRY5, 0)(__VA_ARGS__)

#endif
