/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals.h - what the benchmarks of Portals calls share: an interface, entries that take everything, checked calls
 */
#ifndef BENCH_PORTALS_H
#define BENCH_PORTALS_H

#include "bench.h"
#include <p3rt/p3rt.h>
#include <portals3.h>

static ptl_handle_ni_t ni;
static unsigned rank, size;

#define check(call)	check_(call, #call)
static inline void check_(int rc, const char *what)
{
	if (rc != PTL_OK)
		bench_die("rank %u: %.*s: %s", rank, (int)strcspn(what, "("), what, PtlErrorStr((unsigned)rc));
}

static inline void start(void)
{
	int max;

	check(PtlInit(&max));
	check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	check(PtlGetRank(ni, &rank, &size));
}

static inline void finish(void)
{
	PtlNIFini(ni);
	PtlFini();
}

static inline ptl_process_id_t id_of(unsigned r)
{
	ptl_process_id_t id;

	check(PtlGetRankId(ni, r, &id));
	return id;
}

/* An entry that takes what has @bits (@ignore: bits that may differ) into @buf, at the offset the initiator names. */
static inline void expose_bits(ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_match_bits_t ignore, void *buf, size_t len,
			       ptl_handle_eq_t eq, unsigned options)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = { .start = buf, .length = len, .threshold = PTL_MD_THRESH_INF, .options = options,
			.eq_handle = eq };
	ptl_handle_me_t me;

	check(PtlMEAttach(ni, pt, any, bits, ignore, PTL_RETAIN, PTL_INS_AFTER, &me));
	check(PtlMDAttach(me, md, PTL_RETAIN, NULL));
}

static inline void expose(ptl_pt_index_t pt, void *buf, size_t len, ptl_handle_eq_t eq, unsigned options)
{
	expose_bits(pt, 0, ~(ptl_match_bits_t)0, buf, len, eq, options);
}

static inline ptl_handle_md_t bind(void *buf, size_t len, ptl_handle_eq_t eq, unsigned options)
{
	ptl_md_t md = { .start = buf, .length = len, .threshold = PTL_MD_THRESH_INF, .options = options,
			.eq_handle = eq };
	ptl_handle_md_t h;

	check(PtlMDBind(ni, md, PTL_RETAIN, &h));
	return h;
}

static inline ptl_handle_eq_t queue(ptl_size_t events)
{
	ptl_handle_eq_t eq;

	check(PtlEQAlloc(ni, events, PTL_EQ_HANDLER_NONE, &eq));
	return eq;
}

#endif
