/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* lower.c - the table of lower.h */
#include "lower.h"

static int start(void)
{
	return pshmem_init_thread(SHMEM_THREAD_MULTIPLE, NULL);
}

static void *at(const void *sym, size_t len, int pe)
{
	return shmemi_at("dmapp", sym, len, pe);
}

const struct shmemi_lower shmemi_lower_ = {
	.job = &shmemi,
	.start = start, .end = pshmem_finalize, .at = at, .copy_out = shmemi_copy_out,
	.wait_step = shmemi_wait_step, .looked = shmemi_looked, .barrier = shmemi_barrier,
	.take = shmemi_heap_take, .give = shmemi_heap_give, .resize = shmemi_heap_resize, .stats = shmemi_heap_stats,
	.place = shmemi_net_place, .put = shmemi_net_put_to, .get = shmemi_net_get_to, .amo = shmemi_net_amo_to,
	.show = shmemi_net_show, .hide = shmemi_net_hide, .net_step = shmemi_net_step,
	.net_progress = shmemi_net_progress, .net_quiet = shmemi_net_quiet,
};
