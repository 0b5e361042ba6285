/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ni.c - the region of an NI: its layout, its set-up, and the space for event slots and iovecs
 *
 * The region is one piece of the owner's window. It starts as zeros, which most of it needs to be; only the header
 * is written here, so that memory is touched as it comes into use.
 */
#include "p3l.h"

static uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

/* Where the parts of a region begin. Small: struct p3l_ni itself is too large for a stack. */
struct place {
	uint64_t me, md, row, lane, space, size;
};

static struct place layout(const struct p3l_setup *s)
{
	struct place p;

	p.me = up(sizeof(struct p3l_ni), 4096);
	p.md = p.me + up((uint64_t)s->max_me * sizeof(struct p3l_me), 4096);
	p.row = p.md + up((uint64_t)s->max_md * sizeof(struct p3l_md), 4096);
	p.lane = p.row + up((uint64_t)s->n_slots * sizeof(struct p3l_row), 4096);
	p.space = p.lane + up((uint64_t)s->n_slots * p3l_lane_stride(s->lane_lines), 4096);
	p.size = p.space + up(s->space, 4096);
	return p;
}

uint64_t p3l_ni_size(const struct p3l_setup *s)
{
	return layout(s).size;
}

void p3l_ni_setup(struct p3l_ni *ni, const struct p3l_setup *s)
{
	struct place p = layout(s);
	uint32_t i;

	ni->size = ni->space_end = p.size;
	ni->me_off = p.me;
	ni->md_off = p.md;
	ni->row_off = p.row;
	ni->lane_off = p.lane;
	ni->space = p.space;
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
	for (i = 0; i <= s->max_ac; i++)	/* 3.3: open to the same user; see SPEC-NOTES for i > 0 */
		ni->ac[i] = (struct p3l_ac){ PTL_NID_ANY, PTL_PID_ANY, s->uid, PTL_JID_ANY, PTL_PT_INDEX_ANY };
	ni->magic = P3L_MAGIC;
	p3_store_rel(&ni->up, 1);
}

bool p3l_ni_sane(const struct p3l_ni *ni, uint64_t max_size)
{
	struct p3l_setup s;
	struct place p;

	if (ni->magic != P3L_MAGIC || ni->version != P3L_VERSION)
		return false;
	s = (struct p3l_setup){ .n_slots = ni->n_slots, .lane_lines = ni->lane_lines, .max_me = ni->max_me,
				.max_md = ni->max_md };
	if (s.n_slots > P3L_MAX_SLOTS || s.max_me > P3L_MAX_ME || s.max_md > P3L_MAX_MD ||
	    ni->max_eq > P3L_MAX_EQ || ni->max_pt >= P3L_MAX_PT || ni->max_ac >= P3L_MAX_AC ||
	    s.lane_lines > (1u << 20) || s.lane_lines < 256 || (s.lane_lines & (s.lane_lines - 1)))
		return false;
	p = layout(&s);
	return ni->me_off == p.me && ni->md_off == p.md && ni->row_off == p.row && ni->lane_off == p.lane &&
	       ni->size >= p.size && ni->size <= max_size;
}

/* Free blocks of one size are chained through their first word. */
uint64_t p3l_space_alloc(struct p3l_ni *ni, uint32_t log2)
{
	uint64_t off;

	if (log2 < 6)
		log2 = 6;
	if (log2 >= 32)
		return 0;
	off = ni->space_free[log2];
	if (off && off < ni->size && ni->size - off >= (uint64_t)1 << log2) {
		ni->space_free[log2] = *(uint64_t *)((char *)ni + off);
		return off;
	}
	if (((uint64_t)1 << log2) > ni->space_end - ni->space)
		return 0;
	off = ni->space;
	ni->space += (uint64_t)1 << log2;
	return off;
}

void p3l_space_free(struct p3l_ni *ni, uint64_t off, uint32_t log2)
{
	if (log2 < 6)
		log2 = 6;
	*(uint64_t *)((char *)ni + off) = ni->space_free[log2];
	ni->space_free[log2] = off;
}
