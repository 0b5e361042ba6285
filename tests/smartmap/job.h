/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * job.h - ranks under tests/common/multi join a libsmartmap job of their own
 */
#ifndef T_JOB_H
#define T_JOB_H

#include <string.h>

#include "multi.h"
#include "smartmap.h"

/* Join. Return: what smartmap_init() says. */
__attribute__((unused)) static int t_join(uint32_t adopt)
{
	struct smartmap_job job = { .adopt = adopt };
	char name[64];

	t_page();
	snprintf(name, sizeof(name), "t-%d", t_size_ > 1 ? (int)getppid() : (int)getpid());
	job.rank = (uint32_t)t_rank_;
	job.size = (uint32_t)t_size_;
	job.name = name;
	memset(job.key, 0x5a, sizeof(job.key));
	return smartmap_init(&job);
}

#endif
