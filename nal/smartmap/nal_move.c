/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* nal_move.c - bytes between this process and a peer: through the window, by CMA, or along two iovecs */
#include "nal_smap.h"
#include "nal_together.h"

#define UNHELPED 8		/* announced copies without help, then as many that are not announced */
#define AROUND	((uintptr_t)64 << 10)	/* fault_around_bytes of the kernel, unless somebody has changed it */

/*
 * The first store to a shared page that this process has not mapped yet is a fault for that page alone; the first load
 * maps all that are there of 64 KiB around it, for storing too. So a long write begins with a load in each such block.
 */
static void map_ahead(const void *far, uint64_t n)
{
	const volatile uint8_t *p = far, *end = p + n;

	for (; p < end; p = (const uint8_t *)(((uintptr_t)p | (AROUND - 1)) + 1))
		(void)*p;
}

/*
 * An announced copy is made in pieces, and rings at the peer. One who has not helped for a while, since it computes, is
 * asked now and then.
 */
static bool ask_for_help(struct nal_ni *ni, uint32_t slot, const void *own, uint64_t n)
{
	struct nal_peer *p = &ni->peer[slot];

	if (!priv_of(ni)->together)
		return false;
	if (p->unhelped >= UNHELPED) {
		if (++p->unhelped < 2 * UNHELPED)
			return false;
		p->unhelped = UNHELPED - 1;
	}
	return smartmap_adopted(own, n);
}

static void helped(struct nal_peer *p, bool did)
{
	p->unhelped = did ? 0 : p->unhelped + 1;
}

/* Copy @n bytes between own memory and the peer's: 0 or -errno. */
static int copy_piece(struct nal_ni *ni, uint32_t slot, bool put, uint64_t theirs, uint64_t ours, uint64_t n,
		      bool direct)
{
	void *own = (void *)(uintptr_t)ours, *far = (void *)(uintptr_t)theirs;
	bool held = false;
	int rc = 0;
	P3_TRACE_BEGAN(began);

	if (slot != ni->l->slot) {
		if (!direct) {
			held = smartmap_enter((int)slot, far, n);
			if (!held) {
				if (!priv_of(ni)->cma)
					return -EAGAIN;
				nal_count_cma(ni, slot, n);
				P3_PROBE3(copy, P3_WAY_CMA, put, n);
				rc = put ? smartmap_write((int)slot, far, own, n) :
					   smartmap_read((int)slot, own, far, n);
				P3_TRACED(copy(began, P3_WAY_CMA, put, n));
				return rc;
			}
		}
		far = smartmap_remote((int)slot, far);
		if (p3_unlikely(!far))
			rc = -EAGAIN;
	}
	if (p3_likely(!rc)) {
		if (put && p3_unlikely(n > AROUND) && slot != ni->l->slot)
			map_ahead(far, n);
		if (p3_unlikely(n >= TOGETHER_MIN) && slot != ni->l->slot && ask_for_help(ni, slot, own, n)) {
			helped(&ni->peer[slot],
			       nal_together_copy(ni, slot, ni->peer[slot].l, put, theirs, ours, far, n));
		} else {
			if (put) {
				P3_PROBE3(copy, P3_WAY_WINDOW, 1, n);
				smartmap_copy(far, own, n);
			} else {
				P3_PROBE3(copy, P3_WAY_WINDOW, 0, n);
				smartmap_copy(own, far, n);
			}
			P3_TRACED(copy(began, slot == ni->l->slot ? P3_WAY_SELF : P3_WAY_WINDOW, put, n));
		}
	}
	if (held)
		smartmap_leave((int)slot);
	return rc;
}

/* @n bytes between region @t of the peer's NI @l and region @o of ours. */
int nal_move(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, bool put, const struct region *t,
	     const struct region *o, uint64_t n, bool direct)
{
	struct p3l_walk wt, wo;
	uint64_t at = 0, nt = 0, ao = 0, no = 0;

	if (!n)
		return 0;
	if (p3_likely(!t->iov && !o->iov))
		return copy_piece(ni, slot, put, t->start + t->off, o->start + o->off, n, direct);
	if (!p3l_walk_start(l, t->start, t->iov, t->iov_n, t->off, n, &wt) ||
	    !p3l_walk_start(ni->l, o->start, o->iov, o->iov_n, o->off, n, &wo))
		return -EFAULT;
	while (n) {
		uint64_t k;
		int rc;

		if ((!nt && !p3l_walk_next(&wt, &at, &nt)) || (!no && !p3l_walk_next(&wo, &ao, &no)))
			return -EFAULT;
		k = nt < no ? nt : no;
		rc = copy_piece(ni, slot, put, at, ao, k, direct);
		if (rc)
			return rc;
		at += k, nt -= k, ao += k, no -= k, n -= k;
	}
	return 0;
}
