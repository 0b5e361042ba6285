/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* kern_move.c - put, get, exchange and atomic operations of an interface in the kernel */
#include "kern.h"
#include "portals_gp.h"

static struct gptl_ref ref(const struct nal_ni *ni, ptl_handle_md_t h)
{
	struct p3l_ref r = p3a_ref(ni, h);

	return (struct gptl_ref){ r.idx, r.gen };
}

int p3a_kern_move(const struct p3a_move *m)
{
	bool step = m->type != P3L_PUT && m->type != P3L_GET;
	struct nal_ni *ni = p3a_kernel_of(m->type == P3L_PUT ? m->put : m->get, P3A_MD);
	struct gptl_move a = { .type = m->type, .ack = m->ack, .nid = m->target.nid, .pid = m->target.pid, .pt = m->pt,
			       .ac = m->ac, .put_off = m->put_off, .len = m->len, .get_off = m->get_off,
			       .bits = m->bits, .roffset = m->roffset, .hdr_data = m->hdr_data };

	if (!ni || (step && m->put >> 29 != P3A_MD))
		return PTL_MD_INVALID;
	if (m->target.nid == PTL_NID_ANY || m->target.pid == PTL_PID_ANY)
		return PTL_PROCESS_INVALID;
	if (step && p3a_kernel_of(m->put, P3A_MD) != ni)
		return PTL_MD_INVALID;
	if (m->type != P3L_GET)
		a.put = ref(ni, m->put);
	if (m->type != P3L_PUT)
		a.get = ref(ni, m->get);
	a.slot = (uint32_t)ni->nal->find(ni, m->target);
	return ni->nal->call(ni, GPTL_MOVE, &a);
}
