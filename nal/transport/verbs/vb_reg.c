/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * vb_reg.c - memory of users that cards read and write: registered once where that can be known to be right
 *
 * A registration holds pages, not addresses: when a program gives memory back and gets other pages at the same address,
 * a card goes on with those before. So what is kept has a stamp, by verbs_stamp: a number that is another one as soon
 * as pages there may have been replaced, and 0 where nobody would know. It is asked before and after the registration,
 * and before each further use; only while all three agree is it used again. What has no stamp is registered for one
 * operation, in which its owner may not give it back.
 *
 * At most VB_REGS are kept, and VB_PINNED bytes beyond those in use; the longest unused goes first.
 */
#include "config.h"

#include "vb.h"

#include <errno.h>
#include <unistd.h>

static void drop(struct verbs *v, struct vb_reg *r)
{
	v->pinned -= r->hi - r->lo;
	vb_lib.dereg_mr(r->mr);
	r->mr = NULL;
}

/* A free entry, with room for @n bytes more, or NULL: all are in use. */
static struct vb_reg *entry(struct verbs *v, uint64_t n)
{
	for (;;) {
		struct vb_reg *free_ = NULL, *oldest = NULL;

		for (struct vb_reg *r = v->reg; r < v->reg + VB_REGS; r++) {
			if (!r->mr)
				free_ = r;
			else if (!r->users && (!oldest || (int32_t)(r->used - oldest->used) < 0))
				oldest = r;
		}
		if (free_ && (v->pinned + n <= VB_PINNED || !oldest))
			return free_;
		if (!oldest)
			return NULL;
		drop(v, oldest);
	}
}

struct vb_reg *vb_reg_get(struct verbs *v, void *at, uint64_t len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), lo = (uintptr_t)at & ~(page - 1);
	uint64_t hi = ((uintptr_t)at + len + page - 1) & ~(page - 1), stamp = v->stamp ? v->stamp(v->ctx, at, len) : 0;
	struct vb_reg *r;

	for (r = v->reg; r < v->reg + VB_REGS; r++) {
		if (!r->mr || r->lo >= hi || r->hi <= lo)
			continue;
		if (r->stamp && r->stamp == stamp && r->lo <= lo && r->hi >= hi) {
			r->users++;
			r->used = ++v->reg_turn;
			v->reg_hits++;
			return r;
		}
		if (r->stamp != stamp)
			r->stamp = 0;			/* not again; whoever uses it has it still */
		if (!r->stamp && !r->users)
			drop(v, r);
	}
	r = entry(v, hi - lo);
	if (!r)
		return NULL;
	*r = (struct vb_reg){ .lo = lo, .hi = hi, .users = 1, .used = ++v->reg_turn };
	r->mr = vb_lib.reg_mr(v->pd, (void *)(uintptr_t)lo, hi - lo, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	if (!r->mr)
		return NULL;
	v->pinned += hi - lo;
	if (stamp && v->stamp(v->ctx, at, len) == stamp)
		r->stamp = stamp;
	return r;
}

/* @bad: it has turned out not to be good; never again. */
void vb_reg_put(struct verbs *v, struct vb_reg *r, bool bad)
{
	r->users--;
	if (bad)
		r->stamp = 0;
	if (!r->users && !r->stamp)
		drop(v, r);
}

void vb_reg_end(struct verbs *v)
{
	for (struct vb_reg *r = v->reg; r < v->reg + VB_REGS; r++)
		if (r->mr)
			drop(v, r);
}
