/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ni.c - the region of an NI: its layout and its set-up
 *
 * The region is one piece of the owner's window. It starts as zeros, which most of it needs to be; only the header
 * is written here, so that memory is touched as it comes into use.
 */
#include "p3l.h"

/* Behind the pools and lanes: the space for event slots and vectors. */
static uint64_t space_of(uint32_t n_slots)
{
	return P3L_LANE_OFF + P3L_PAGES(n_slots * P3L_LANE_STRIDE);
}

static uint64_t bytes_of_space(const struct p3l_setup *s)
{
	return s->space < (uint64_t)1 << P3L_SPACE_LOG2 ? P3L_PAGES(s->space) : (uint64_t)1 << P3L_SPACE_LOG2;
}

uint64_t p3l_ni_size(const struct p3l_setup *s)
{
	return space_of(s->n_slots) + bytes_of_space(s);
}

void p3l_ni_setup(struct p3l_ni *ni, const struct p3l_setup *s)
{
	uint32_t i;

	ni->size = p3l_ni_size(s);
	ni->space = space_of(s->n_slots);
	p3l_space_setup(ni, bytes_of_space(s));
	ni->version = P3L_VERSION;
	ni->nid = s->nid;
	ni->pid = s->pid;
	ni->uid = s->uid;
	ni->jid = s->jid;
	ni->slot = s->slot;
	ni->n_slots = s->n_slots;
	ni->lane_lines = s->lane_lines;
	ni->max_me = s->max_me;
	ni->max_md = s->max_md;
	ni->max_eq = s->max_eq;
	ni->max_pt = s->max_pt;
	ni->max_ac = s->max_ac;
	ni->max_me_list = s->max_me_list;
	ni->max_iov = s->max_iov;
	ni->index_from = s->index_from ? s->index_from : UINT32_MAX;
	for (i = 0; i <= s->max_ac; i++)	/* 3.3: open to the same user; see SPEC-NOTES for i > 0 */
		ni->ac[i] = (struct p3l_ac){ PTL_NID_ANY, PTL_PID_ANY, s->uid, PTL_JID_ANY, PTL_PT_INDEX_ANY };
	ni->magic = P3L_MAGIC;
	p3_store_rel(&ni->up, 1);	/* M:attach.up */
}

bool p3l_ni_sane(const struct p3l_ni *ni, uint64_t max_size)
{
	uint32_t slots = ni->n_slots, lines = ni->lane_lines;

	if (ni->magic != P3L_MAGIC || ni->version != P3L_VERSION)
		return false;
	if (slots > P3L_MAX_SLOTS || ni->max_me > P3L_MAX_ME || ni->max_md > P3L_MAX_MD || ni->max_eq > P3L_MAX_EQ ||
	    ni->max_pt >= P3L_MAX_PT || ni->max_ac >= P3L_MAX_AC || lines > P3L_MAX_LINES || lines < 256 ||
	    (lines & (lines - 1)))
		return false;
	return ni->size >= space_of(slots) && ni->size <= max_size;
}
