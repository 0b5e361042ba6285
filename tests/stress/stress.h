/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* stress.h - what the mixtures share: who is who, the seed that is printed, and their start */
#ifndef T_STRESS_H
#define T_STRESS_H

#include "../api/ptl.h"

static uint64_t seed;
static int size, rank;

/* The body of main(): @most ranks are what the tables of the test have room for. */
static int s_main(const struct t_case *cases, int most)
{
	size = t_size();
	rank = t_rank();
	if (size > most)
		bail("made for %d ranks at most", most);
	seed = t_seed();
	return p_main(cases);
}

#endif
