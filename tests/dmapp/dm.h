/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dm.h - what the tests of DMAPP share: start, a barrier that makes progress, the three forms of a call */
#ifndef T_DM_H
#define T_DM_H

#include <dmapp.h>

#include "multi.h"
#include "near.h"
#include "tap.h"

static int me, n, to, from;
static dmapp_jobinfo_t job;
static dmapp_seg_desc_t *sheap, *data;

__attribute__((unused)) static void dm_start(dmapp_rma_attrs_ext_t *attrs)
{
	dmapp_return_t rc = dmapp_init_ext(attrs, NULL);

	if (rc != DMAPP_RC_SUCCESS)
		bail("dmapp_init_ext: %d", (int)rc);
	dmapp_get_jobinfo(&job);
	me = job.pe;
	n = job.npes;
	to = (me + 1) % n;
	from = (me + n - 1) % n;
	sheap = &job.sheap_seg;
	data = &job.data_seg;
}

/* The job's own, not DMAPP's; while it waits it does what others need. */
__attribute__((unused)) static void dm_barrier(void)
{
	static uint64_t turn;

	turn += (uint64_t)n;
	atomic_fetch_add(t_word(0), 1);
	for (unsigned spin = 0; atomic_load(t_word(0)) < turn; spin++) {
		if (atomic_load(&t_page()->dead))
			bail("another rank has died");
		dmapp_progress();
		if (spin > 1000)
			nanosleep(&(struct timespec){ 0, 50000 }, NULL);
		else
			sched_yield();
	}
}

#define OK(call) CHECK_INT(call, DMAPP_RC_SUCCESS)
#define IS(call, code) CHECK_INT(call, DMAPP_RC_##code)

static dmapp_syncid_handle_t dm_id;

__attribute__((unused)) static dmapp_return_t dm_nb(dmapp_return_t rc)
{
	return rc == DMAPP_RC_SUCCESS ? dmapp_syncid_wait(&dm_id) : rc;
}

__attribute__((unused)) static dmapp_return_t dm_nbi(dmapp_return_t rc)
{
	return rc == DMAPP_RC_SUCCESS ? dmapp_gsync_wait() : rc;
}

/* @name in form 0 (blocking), 1 (nb) or 2 (nbi), completed. */
#define FORM(form, name, ...)								\
	((form) == 0 ? name(__VA_ARGS__) : (form) == 1 ? dm_nb(name##_nb(__VA_ARGS__, &dm_id)) :	\
	 dm_nbi(name##_nbi(__VA_ARGS__)))

#endif
