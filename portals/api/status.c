/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * status.c - status registers beyond the counters of messages: how many entries, descriptors and queues
 *
 * Nothing is counted for them: they are read off the pools, without locks, when somebody asks. An entry's generation is
 * the number of times it was freed; entries are taken fresh only when none is free, so their number is the most that were
 * in use. (Descriptors wait before they are used again while an unread event names them: their MAX may be a little more.)
 */
#include "p3a.h"

struct pool {
	uint64_t cur, freed, max;
};

static struct pool mes(const struct p3l_ni *l)
{
	struct pool p = { .max = l->me_fresh };

	for (uint32_t i = 0; i < l->me_fresh && i < P3L_MAX_ME; i++) {
		p.cur += (p3_load(&p3l_me(l, i)->flags) & P3L_ME_USED) != 0;
		p.freed += p3_load(&p3l_me(l, i)->gen);
	}
	return p;
}

static struct pool mds(const struct p3l_ni *l)
{
	struct pool p = { .max = l->md_fresh };

	for (uint32_t i = 0; i < l->md_fresh && i < P3L_MAX_MD; i++) {
		p.cur += (p3_load(&p3l_md(l, i)->flags) & P3L_MD_USED) != 0;
		p.freed += p3_load(&p3l_md(l, i)->gen);
	}
	return p;
}

static struct pool eqs(const struct p3l_ni *l)
{
	struct pool p = { 0 };

	for (uint32_t i = 0; i < P3L_MAX_EQ; i++) {
		bool used = p3_load(&l->eq[i].flags) & P3L_EQ_USED;

		p.cur += used;
		p.freed += p3_load(&l->eq[i].gen);
		if (used || p3_load(&l->eq[i].gen))	/* the lowest free one is taken */
			p.max = i + 1;
	}
	return p;
}

static uint64_t of(struct pool p, ptl_sr_index_t alloc, ptl_sr_index_t index)
{
	switch (index - alloc) {
	case 0: return p.freed + p.cur;
	case 1: return p.freed;
	case 2: return p.max;
	default: return p.cur;
	}
}

static uint64_t messages(const struct p3l_ni *l)
{
	uint64_t n = 0;

	for (uint32_t s = 0; s < p3l_slots(l); s++)
		for (uint32_t k = 0; k < P3L_OPS; k++)
			n += p3_load(&p3l_row(l, s)->op[k].state) >= P3L_OP_PREP &&
			     p3_load(&p3l_row(l, s)->op[k].state) < P3L_OP_DONE;
	return n;
}

bool p3a_status(const struct p3l_ni *l, ptl_sr_index_t index, uint64_t *v)
{
	uint32_t pt = index >> 16 & 0x7fff;

	if (index >> 31) {			/* PTL_SR_MLIST_LEN, _MAX */
		if (pt > l->max_pt || ((index & 0xffff) != PTL_SR_MES_CUR && (index & 0xffff) != PTL_SR_MES_MAX))
			return false;
		*v = (index & 0xffff) == PTL_SR_MES_CUR ? p3_load(&l->pt[pt].len) : p3_load(&l->pt[pt].longest);
		return true;
	}
	switch (index) {
	case PTL_SR_PTLS_MAX:
		*v = l->max_pt + 1;
		return true;
	case PTL_SR_PTLS_CUR:
		for (*v = 0, pt = 0; pt <= l->max_pt; pt++)
			*v += p3_load(&l->pt[pt].head) != 0;
		return true;
	case PTL_SR_MSGS_CUR:
		*v = messages(l);
		return true;
	}
	if (index >= PTL_SR_MES_ALLOC && index <= PTL_SR_MES_CUR)
		*v = of(mes(l), PTL_SR_MES_ALLOC, index);
	else if (index >= PTL_SR_MDS_ALLOC && index <= PTL_SR_MDS_CUR)
		*v = of(mds(l), PTL_SR_MDS_ALLOC, index);
	else if (index >= PTL_SR_EQS_ALLOC && index <= PTL_SR_EQS_CUR)
		*v = of(eqs(l), PTL_SR_EQS_ALLOC, index);
	else
		return false;
	return true;
}
