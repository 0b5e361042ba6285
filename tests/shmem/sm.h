/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* sm.h - what the tests of SHMEM share: who is who, start and end */
#ifndef T_SM_H
#define T_SM_H

#include <shmem.h>

#include "multi.h"
#include "tap.h"

static int me, n, to, from;		/* own PE, how many; the next one and the one before */

__attribute__((unused)) static void sm_start(void)
{
	shmem_init();
	me = shmem_my_pe();
	n = shmem_n_pes();
	to = (me + 1) % n;
	from = (me + n - 1) % n;
}

__attribute__((unused)) static int sm_end(int rc)
{
	shmem_finalize();
	return rc;
}

#endif
