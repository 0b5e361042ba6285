/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * debug.c - the calls of <p3api/debug.h>: dumps for people, and driving the network by hand
 *
 * The masks of PtlNIDebug are words that nobody else changes together with anything; the rest reads without locks.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "kern.h"

static unsigned default_mask;
static unsigned mask_of[P3A_MAX_NI];

void p3a_debug_open(struct nal_ni *ni)
{
	mask_of[ni->index] = p3_load(&default_mask);
	if (mask_of[ni->index] & PTL_DBG_SETUP)
		dprintf(STDERR_FILENO, "portals: interface %u opened as %u:%u: %d match entries, %d descriptors, %d queues, "
			"portals 0 to %d\n", ni->index, ni->l->nid, ni->l->pid, ni->limits.max_mes, ni->limits.max_mds,
			ni->limits.max_eqs, ni->limits.max_pt_index);
}

void p3a_debug_close(struct nal_ni *ni)
{
	unsigned mask = p3_load(&mask_of[ni->index]);
	uint64_t n = 0, bytes = 0;

	for (uint32_t s = 0; s < p3l_slots(ni->l); s++) {
		n += p3_load(&p3l_row(ni->l, s)->stats.drop_count);
		bytes += p3_load(&p3l_row(ni->l, s)->stats.drop_length);
	}
	if ((mask & PTL_DBG_DROP) && n)
		dprintf(STDERR_FILENO, "portals: interface %u dropped %llu messages of %llu bytes\n", ni->index,
			(unsigned long long)n, (unsigned long long)bytes);
	if (mask & PTL_DBG_SHUTDOWN)
		dprintf(STDERR_FILENO, "portals: interface %u closed\n", ni->index);
}

P3A_API unsigned int PtlNIDebug(ptl_handle_ni_t h, unsigned int mask)
{
	struct nal_ni *ni;
	unsigned *word = &default_mask;

	if (h != PTL_INVALID_HANDLE) {
		ni = p3a_up ? p3a_any_of(h, P3A_NI) : NULL;
		if (!ni)
			return 0;
		word = &mask_of[ni->index];
	}
	return p3_xchg(word, mask);
}

P3A_API int PtlTblDump(ptl_handle_ni_t h, int pt_index)
{
	struct nal_ni *ni;

	P3A_CHECK_UP();
	ni = p3a_any_of(h, P3A_NI);
	if (!ni)
		return PTL_NI_INVALID;
	if (pt_index < -1 || (pt_index >= 0 && (uint32_t)pt_index > ni->l->max_pt))
		return PTL_PT_INDEX_INVALID;
	for (uint32_t pt = 0; pt <= ni->l->max_pt; pt++)
		if (pt_index < 0 ? ni->l->pt[pt].head != 0 : pt == (uint32_t)pt_index)
			p3a_dump_list(STDERR_FILENO, ni->l, pt);
	return PTL_OK;
}

P3A_API int PtlMEDump(ptl_handle_me_t h)
{
	const struct p3l_me *me;
	struct nal_ni *ni;
	struct p3l_ref r;

	P3A_CHECK_UP();
	ni = p3a_any_of(h, P3A_ME);
	if (!ni)
		return PTL_ME_INVALID;
	r = p3a_ref(ni, h);
	if (r.idx >= P3L_MAX_ME)
		return PTL_ME_INVALID;
	me = p3l_me(ni->l, r.idx);
	if (!(p3_load(&me->flags) & P3L_ME_USED) || (p3_load(&me->gen) & P3L_GEN_MASK) != r.gen)
		return PTL_ME_INVALID;
	p3a_dump_me(STDERR_FILENO, ni->l, r.idx);
	return PTL_OK;
}

P3A_API int PtlNIEqDump(ptl_handle_ni_t h)
{
	struct nal_ni *ni;

	P3A_CHECK_UP();
	ni = p3a_any_of(h, P3A_NI);
	if (!ni)
		return PTL_NI_INVALID;
	p3a_dump_eqs(STDERR_FILENO, ni->l);
	return PTL_OK;
}

static bool any_event(void *arg)
{
	const struct p3l_ni *l = arg;

	for (uint32_t i = 0; i < P3L_MAX_EQ; i++)
		if ((p3_load(&l->eq[i].flags) & P3L_EQ_USED) && p3l_eq_ready(l, i))
			return true;
	return false;
}

P3A_API int PtlProgress(ptl_handle_any_t h, ptl_time_t timeout_ms)
{
	ptl_handle_ni_t nih;
	struct nal_ni *ni;
	struct timespec t0, t;
	int64_t ns = timeout_ms == PTL_TIME_FOREVER ? -1 : (int64_t)timeout_ms * 1000000, left = ns;
	int rc = PtlNIHandle(h, &nih);

	if (rc != PTL_OK)
		return rc;
	ni = p3a_any_of(nih, P3A_NI);
	if (ni->nal->call)
		return p3a_kern_progress(ni, ns);
	ni->nal->progress(ni, 0, NULL);
	if (!timeout_ms)
		return PTL_OK;
	clock_gettime(CLOCK_MONOTONIC, &t0);
	while (!any_event(ni->l)) {
		ni->nal->wait(ni, left, any_event, ni->l);
		ni->nal->progress(ni, 0, NULL);
		if (ns < 0)
			continue;
		clock_gettime(CLOCK_MONOTONIC, &t);
		left = ns - ((int64_t)(t.tv_sec - t0.tv_sec) * 1000000000 + (t.tv_nsec - t0.tv_nsec));
		if (left <= 0)
			break;
	}
	return PTL_OK;
}
