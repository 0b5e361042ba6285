/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_locks.c - PTL_LOCKS=node: the NAL of the node with one lock around each of its ranks' puts, gets and swaps
 *
 * What the papers call symmetric virtual node mode: every core enters the kernel by itself, and one lock keeps them
 * apart. For experiments: what the locks of the entries are worth. The lock is held for all of a call, the copy
 * included. There is no inbox here but that of polled portals, where only the owner may match, and reading events takes
 * no lock, as on Catamount, whose queues are in the program's memory.
 *
 * The core's own locks stay, and are always free. So who dies with this lock held leaves nothing half done under it,
 * and it is simply taken over.
 */
#include "nal_smap.h"

static void enter(struct nal_ni *ni)
{
	uint32_t *lock = &priv_of(ni)->table->node;

	if (!p3_cas32(lock, 0, ni->env.self))
		p3l_lock_slow(&ni->env, ni->l, lock, -1);
}

static int leave(struct nal_ni *ni, int rc)
{
	p3_store_rel(&priv_of(ni)->table->node, 0);
	return rc;
}

static int start(struct nal_ni *ni, const struct p3l_setup *s)
{
	int rc = nal_smartmap.start(ni, s);

	if (rc == PTL_OK)
		priv_of(ni)->inbox_max = 0;
	ni->put_usual = ni->put_any;
	return rc;
}

static void stop(struct nal_ni *ni)
{
	nal_smartmap.stop(ni);
}

static int find(struct nal_ni *ni, ptl_process_id_t id)
{
	return nal_smartmap.find(ni, id);
}

static int dist(struct nal_ni *ni, uint32_t slot, unsigned long *d)
{
	return nal_smartmap.dist(ni, slot, d);
}

static int put(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s)
{
	enter(ni);
	return leave(ni, nal_smartmap.put(ni, slot, h, s));
}

static bool put_small(struct nal_ni *ni, uint32_t slot, struct p3l_ref md, uint64_t loff, uint64_t len, uint32_t pt,
		      uint64_t match_bits, uint64_t hdr_data)
{
	return false;
}

static int get(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_reply *r)
{
	enter(ni);
	return leave(ni, nal_smartmap.get(ni, slot, h, r));
}

static int getput(struct nal_ni *ni, uint32_t slot, struct p3l_hdr *h, struct p3l_send *s, struct p3l_reply *r)
{
	enter(ni);
	return leave(ni, nal_smartmap.getput(ni, slot, h, s, r));
}

static uint32_t direct(const void *at, uint64_t len)
{
	return nal_smartmap.direct(at, len);
}

const struct nal_ops nal_one_lock = {
	.name = "one lock",
	.start = start,
	.stop = stop,
	.find = find,
	.id = nal_id,
	.dist = dist,
	.put = put,
	.put_small = put_small,
	.get = get,
	.getput = getput,
	.direct = direct,
	.polled = nal_polled,
	.progress = nal_progress,
	.take = nal_take,
	.attend = nal_attend,
	.wait = nal_wait,
	.wake = nal_wake,
	.agree = nal_agree,
};
