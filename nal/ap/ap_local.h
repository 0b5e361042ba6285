/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap_local.h - work between ranks of one node that they leave to ptl-nic; see ap_local.c and nic_local.c
 *
 *   PUT, GET	PTL_SELF_DMA_MIN: matched by the initiator, in its record at the target, which says P3L_LENT; the engine
 *		copies from window to window, logs the END events of both sides, and acknowledges
 *   CALL	PTL_LOCKS=master: nothing but the initiator's own descriptor has been charged; the engine does all
 *		the rest. One that finds its portal polled by now (PtlPTPolled_np), where only the owner may match,
 *		waits until it is not, and what is behind it in the ring too: an experiment, not for programs that
 *		switch that on and off
 *
 * A ring for each rank, in its arena: jobs are taken and end in the order in which they were posted, so a place is
 * free again when head has passed it. What is left of them when the engine dies their rank ends by itself (see
 * `ending'), and the targets reap the records, as those of any dead mover. Written by the rank but for head and
 * `ending'.
 */
#ifndef AP_LOCAL_H
#define AP_LOCAL_H

#include "frame/frame.h"

#define AP_JOBS		4096U		/* under way; a power of two, as is */
#define AP_JOB_BUFS	1024U		/* calls with more than FR_SMALL bytes are the only ones among so many */

enum ap_job_kind { AP_J_PUT = 1, AP_J_GET, AP_J_CALL };

struct ap_job {
	uint8_t kind;			/* enum ap_job_kind */
	uint8_t ending;			/* the engine: it is about to log the initiator's events */
	uint16_t op;			/* PUT, GET: of the initiator's row at the target */
	uint32_t target;		/* slot */
	struct fr_req q;		/* CALL; of PUT and GET only send or reply. q.buf is not looked at: */
	uint8_t small[FR_SMALL];	/* CALL: bytes of short ones; of longer ones in bufs[] */
} __attribute__((aligned(P3L_LINE)));

struct ap_local {
	uint32_t tail;			/* rank: jobs posted, counted freely */
	uint32_t head __attribute__((aligned(P3L_LINE)));	/* engine: jobs that have ended */
	struct ap_job job[AP_JOBS] __attribute__((aligned(P3L_LINE)));
	uint8_t bufs[AP_JOB_BUFS][FR_COPY];	/* by number of the job */
};

#endif
