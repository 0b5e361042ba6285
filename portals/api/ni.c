/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ni.c - the library and its interfaces: PtlInit to PtlFini, limits, identity, status registers, access control
 *
 * p3a_lock_ protects the table and the counts of initialisations; other calls only read the table.
 */
#include "config.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "kern.h"
#include "look.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_rt.h"

struct nal_ni *p3a_table[P3A_MAX_NI], *p3a_open_ni;
bool p3a_up;
uint32_t p3a_lock_;

static uint16_t made;		/* interfaces so far */
static struct nal_ni *refused;		/* in the job, but the pid that it asked for belonged to another rank */

static const ptl_ni_limits_t max_limits = {
	.max_mes = P3L_MAX_ME, .max_mds = P3L_MAX_MD, .max_eqs = P3L_MAX_EQ, .max_ac_index = P3L_MAX_AC - 1,
	.max_pt_index = P3L_MAX_PT - 1, .max_md_iovecs = P3L_MAX_IOV, .max_me_list = P3L_MAX_ME,
	.max_getput_md = P3L_MAX_GETPUT,
};

static void lock(void)
{
	while (!p3_cas32(&p3a_lock_, 0, 1))
		p3_pause();
}

static void unlock(void)
{
	p3_store_rel(&p3a_lock_, 0);
}

/* In a child of fork() the interfaces are the parent's: every call but PtlInit answers PTL_NO_INIT. */
static void in_child(void)
{
	p3a_up = false;
	for (int i = 0; i < P3A_MAX_NI; i++)
		p3a_table[i] = NULL;
	p3a_open_ni = p3a_kernel = NULL;
	refused = NULL;
	p3a_lock_ = 0;
	p3a_waiting = 0;
	p3a_look_forked();
	P3_TRACED(child());
}

P3A_API int PtlInit(int *max_interfaces)
{
	static bool handlers;
	const char *err = NULL;
	int rc = PTL_OK;

	if (!max_interfaces && !p3a_up)
		return PTL_SEGV;
	lock();
	if (!p3a_up) {
		if (!p3_rt_get(&err)) {
			p3_error("%s", err);
			rc = PTL_FAIL;
			goto out;
		}
#ifndef P3_TRACE
		if (p3_knobs_get(NULL) && strcmp(p3_knobs_get(NULL)->trace, "none"))
			p3_warn("PTL_TRACE is set, but this is not the recording library: this rank is missing from "
				"the trace (does a library path in the program come first? ptl_trace -p)");
#endif
		if (!handlers && pthread_atfork(NULL, NULL, in_child) == 0)
			handlers = true;
		p3a_up = true;
	}
	if (max_interfaces)
		*max_interfaces = 1;		/* one physical interface: the node */
out:
	unlock();
	if (rc != PTL_OK)
		p3_rt_drain();		/* the caller may end the job for it */
	return rc;
}

/* What the user asked for, cut to what there is. */
static int limit(int want, int max, int min)
{
	return want > max ? max : want < min ? min : want;
}

static void set_limits(const ptl_ni_limits_t *d, ptl_ni_limits_t *l)
{
	*l = max_limits;
	if (!d)
		return;
	l->max_mes = limit(d->max_mes, l->max_mes, 1);
	l->max_mds = limit(d->max_mds, l->max_mds, 1);
	l->max_eqs = limit(d->max_eqs, l->max_eqs, 1);
	l->max_ac_index = limit(d->max_ac_index, l->max_ac_index, 0);
	l->max_pt_index = limit(d->max_pt_index, l->max_pt_index, 7);	/* 3.5.1 */
	l->max_md_iovecs = limit(d->max_md_iovecs, l->max_md_iovecs, 1);
	l->max_me_list = limit(d->max_me_list, l->max_me_list, 1);
	l->max_getput_md = limit(d->max_getput_md, l->max_getput_md, 8);
}

/* The runtime has seen to it that there is one (check_shape() in p3_rt.c). */
static const struct nal_ops *choose(const struct p3_rt_job *job, const struct p3_knobs *k)
{
	if (k->nal == P3_NAL_LOOP)
		return &nal_loop;
	if (k->kernel == P3_YES ||
	    (k->kernel == P3_TRY && job->nodes == 1 && (k->nal == P3_NAL_AUTO || k->nal == P3_NAL_GP) &&
	     nal_kern_there()))
		return &nal_kern;
#ifdef HAVE_LIBEV
	if (k->nal == P3_NAL_AP || k->locks == P3_LOCKS_MASTER)
		return &nal_ap;
	if (job->nodes > 1 || k->nal == P3_NAL_GP)
		return &nal_gp;
#endif
	return k->locks == P3_LOCKS_NODE ? &nal_one_lock : &nal_smartmap;
}

static struct nal_ni *open_ni(ptl_interface_t iface, ptl_pid_t pid, const ptl_ni_limits_t *desired, int *rc)
{
	const struct p3_rt_job *job = p3_rt_get(NULL);
	const struct p3_knobs *k = p3_knobs_get(NULL);
	static struct nal_ni the_ni;	/* there is one */
	struct nal_ni *ni = &the_ni;
	struct p3l_setup s = { 0 };

	if (!refused)
		memset(ni, 0, sizeof(*ni));
	set_limits(desired, &ni->limits);
	ni->iface = iface;
	ni->nal = choose(job, k);
	ni->refs = 1;
	ni->index = made % P3A_MAX_NI;
	ni->base = ni->index << 26 | (made / P3A_MAX_NI * 619 & P3L_GEN_MASK) << 16;	/* 619: far from each other */
	ni->serial = ++made;
	ni->uid = job->uid;
	ni->jid = job->jid;
	ni->env.single = p3a_single(ni);
	ni->put_usual = ni->put_any = p3a_put_any;
	ni->put_long = p3a_put_long;
	ni->spin = p3_rt_oversubscribed() ? 20 : (uint32_t)k->spin;
	ni->yield = (uint32_t)k->yield;
	ni->hang_ns = k->hang_dump_s * 1000000000;
	ni->env.waits = p3a_waits;
	s.nid = job->nid[job->rank];
	s.pid = (pid == PTL_PID_ANY ? job->pid[job->rank] : pid) + p3a_iface_pid_offset(iface);
	s.uid = job->uid;
	s.jid = job->jid;
	s.lane_lines = 256;
	while (s.lane_lines < (uint32_t)k->lane_kb * 16)
		s.lane_lines *= 2;
	s.max_me = (uint32_t)ni->limits.max_mes;
	s.max_md = (uint32_t)ni->limits.max_mds;
	s.max_eq = (uint32_t)ni->limits.max_eqs;
	s.max_pt = (uint32_t)ni->limits.max_pt_index;
	s.max_ac = (uint32_t)ni->limits.max_ac_index;
	s.max_me_list = (uint32_t)ni->limits.max_me_list;
	s.max_iov = (uint32_t)ni->limits.max_md_iovecs;
	s.index_from = (uint32_t)k->index_from;
	s.space = LOOK_SPACE;
	p3a_look_open(ni, &s);
	p3a_traffic_open();
	ni->eq = calloc(s.max_eq, sizeof(*ni->eq));
	if (!refused)
		P3_TRACED(open());
	*rc = ni->nal->start(ni, &s);	/* without ni->eq too: the others must hear of it */
	refused = *rc != PTL_OK && ni->nal_priv ? ni : NULL;
	P3_TRACED(ni(*rc == PTL_OK ? ni->l : NULL, job->rank, job->size));
	if (*rc == PTL_OK) {
		ni->sent = &p3l_row(ni->l, ni->l->slot)->stats.send_count;
		p3a_look_phase(ni, LOOK_OPEN);
		return ni;
	}
	p3a_look_close();
	free(ni->eq);
	ni->eq = NULL;
	return NULL;
}

/*
 * lock(), for one who is about to share the interface: the promise of who has it alone (PtlNISerial_np) ends. What he
 * holds during his calls comes before our lock, since he takes that in his calls.
 */
static void lock_shared(void)
{
	ptl_hold_np_t hold;
	bool done;

	do {
		hold = p3a_serial_hold();
		if (hold)
			hold(1);
		lock();
		done = !p3a_open_ni || !p3a_open_ni->one_by_one || p3a_open_ni->hold == hold;
		if (!done)
			unlock();	/* it was promised just now */
		else if (p3a_open_ni)
			p3_store_rel(&p3a_open_ni->one_by_one, false);
		if (hold)
			hold(0);
	} while (!done);
}

P3A_API int PtlNIInit(ptl_interface_t iface, ptl_pid_t pid, ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
		      ptl_handle_ni_t *out)
{
	struct nal_ni *ni;
	int rc = PTL_OK;

	if (!out)
		return PTL_SEGV;
	P3A_CHECK_UP();
	if (!p3a_iface_ok(iface))
		return PTL_IFACE_INVALID;
	if (pid != PTL_PID_ANY && pid > 0x3fffff)	/* the largest Unix pid: clients use their own */
		return PTL_PID_INVALID;
	lock_shared();
	ni = p3a_open_ni;
	if (ni) {
		ni->refs++;
		if (p3a_iface_xt(iface))
			rc = PTL_IFACE_DUP;
	} else {
		ni = open_ni(iface, pid, desired, &rc);
		if (!ni)
			goto out;
		p3_store_rel(ni->nal->call ? &p3a_kernel : &p3a_table[ni->index], ni);
		p3_store_rel(&p3a_open_ni, ni);
		p3a_dump_setup();
		p3a_debug_open(ni);
	}
	if (actual)
		*actual = ni->limits;
	*out = p3a_ni_handle(ni);
out:
	unlock();
	if (!ni)
		p3_rt_drain();		/* MPI, for one, has the launcher end the job now */
	return rc;
}

static void close_ni(struct nal_ni *ni)
{
	if (ni == refused) {
		refused = NULL;
	} else {
		p3a_debug_close(ni);
		p3_store_rel(&p3a_open_ni, NULL);
		p3_store_rel(&p3a_table[ni->index], NULL);
		p3_store_rel(&p3a_kernel, NULL);
		p3a_send_home(ni);
		if (!ni->nal->call)
			p3a_traffic_close(ni);
	}
	p3a_look_phase(ni, LOOK_LEAVES);
	ni->nal->stop(ni);
	p3a_look_close();
	free(ni->eq);
}

P3A_API int PtlNISerial_np(ptl_handle_ni_t h, int on, ptl_hold_np_t hold)
{
	struct nal_ni *ni;
	int rc = PTL_OK;

	P3A_CHECK_UP();
	lock();
	ni = p3a_any_of(h, P3A_NI);
	if (!ni) {
		rc = PTL_NI_INVALID;
	} else if (on && (ni->refs > 1 || ni->nal->call || ni->nal->threads)) {
		rc = PTL_FAIL;
	} else {
		ni->hold = hold;
		p3_store_rel(&ni->one_by_one, on != 0);
	}
	unlock();
	return rc;
}

P3A_API int PtlNIFini(ptl_handle_ni_t h)
{
	struct nal_ni *ni;

	P3A_CHECK_UP();
	lock();
	ni = p3a_any_of(h, P3A_NI);
	if (ni && --ni->refs == 0)
		close_ni(ni);
	unlock();
	return ni ? PTL_OK : PTL_NI_INVALID;
}

P3A_API void PtlFini(void)
{
	if (!p3a_up)
		return;
	lock();
	for (int i = 0; i < P3A_MAX_NI; i++)
		if (p3a_table[i])
			close_ni(p3a_table[i]);
	if (p3a_kernel)
		close_ni(p3a_kernel);
	if (refused)
		close_ni(refused);
	p3a_up = false;
	unlock();
}

/* Sum one counter over all movers of the NI. */
static uint64_t total(const struct p3l_ni *l, size_t member)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < p3l_slots(l); s++)
		sum += p3_load((const uint64_t *)((const char *)&p3l_row(l, s)->stats + member));
	return sum;
}

P3A_API int PtlNIStatus(ptl_handle_ni_t h, ptl_sr_index_t index, ptl_sr_value_t *status)
{
	static const struct { ptl_sr_index_t index; size_t member; } reg[] = {
		{ PTL_SR_DROP_COUNT, offsetof(struct p3l_stats, drop_count) },
		{ PTL_SR_DROP_LENGTH, offsetof(struct p3l_stats, drop_length) },
		{ PTL_SR_SEND_COUNT, offsetof(struct p3l_stats, send_count) },
		{ PTL_SR_SEND_LENGTH, offsetof(struct p3l_stats, send_length) },
		{ PTL_SR_CORRUPT_NP, offsetof(struct p3l_stats, corrupt) },
	};
	struct nal_ni *ni;
	int rc = p3a_enter_any(status, h, &ni);
	uint64_t v;
	uint32_t i;

	if (rc != PTL_OK)
		return rc;
	if (index == PTL_SR_RECV_COUNT || index == PTL_SR_RECV_LENGTH) {
		for (v = 0, i = 0; i < p3l_slots(ni->l); i++)
			v += index == PTL_SR_RECV_COUNT ? p3l_received(ni->l, i) : p3l_received_length(ni->l, i);
		*status = (ptl_sr_value_t)v;
		return PTL_OK;
	}
	for (i = 0; i < sizeof(reg) / sizeof(*reg); i++)
		if (reg[i].index == index) {
			*status = (ptl_sr_value_t)total(ni->l, reg[i].member);
			return PTL_OK;
		}
	if (!p3a_status(ni->l, index, &v))
		return PTL_SR_INDEX_INVALID;
	*status = (ptl_sr_value_t)v;
	return PTL_OK;
}

P3A_API int PtlNIDist(ptl_handle_ni_t h, ptl_process_id_t id, unsigned long *distance)
{
	struct nal_ni *ni;
	int slot, rc = p3a_enter_any(distance, h, &ni);

	if (rc != PTL_OK)
		return rc;
	slot = id.pid == PTL_PID_ANY ? -1 : ni->nal->find(ni, id);
	if (slot < 0) {
		*distance = ULONG_MAX;		/* as the reference does, on failure too */
		return PTL_PROCESS_INVALID;
	}
	return ni->nal->dist(ni, (uint32_t)slot, distance);
}

P3A_API int PtlNIHandle(ptl_handle_any_t h, ptl_handle_ni_t *out)
{
	struct nal_ni *ni = NULL;
	uint32_t kind = h >> 29;

	if (!out)
		return PTL_SEGV;
	P3A_CHECK_UP();
	if (kind == P3A_NI || kind == P3A_ME || kind == P3A_MD || kind == P3A_EQ)
		ni = p3a_any_of(h, (enum p3a_kind)kind);
	if (!ni)
		return PTL_HANDLE_INVALID;
	*out = p3a_ni_handle(ni);
	return PTL_OK;
}

P3A_API int PtlGetUid(ptl_handle_ni_t h, ptl_uid_t *uid)
{
	struct nal_ni *ni;
	int rc = p3a_enter_any(uid, h, &ni);

	if (rc == PTL_OK)
		*uid = ni->uid;
	return rc;
}

P3A_API int PtlGetJid(ptl_handle_ni_t h, ptl_jid_t *jid)
{
	struct nal_ni *ni;
	int rc = p3a_enter_any(jid, h, &ni);

	if (rc == PTL_OK)
		*jid = ni->jid;
	return rc;
}

P3A_API int PtlGetId(ptl_handle_ni_t h, ptl_process_id_t *id)
{
	struct nal_ni *ni;
	int rc = p3a_enter_any(id, h, &ni);

	if (rc == PTL_OK)
		*id = (ptl_process_id_t){ ni->l->nid, ni->l->pid };
	return rc;
}

P3A_API int PtlHandleIsEqual(ptl_handle_any_t a, ptl_handle_any_t b)
{
	P3A_CHECK_UP();
	return a == b ? PTL_OK : PTL_FAIL;
}

P3A_API int PtlACEntry(ptl_handle_ni_t h, ptl_ac_index_t ac, ptl_process_id_t id, ptl_uid_t uid, ptl_jid_t jid,
		       ptl_pt_index_t pt)
{
	struct nal_ni *ni;

	P3A_CHECK_UP();
	ni = p3a_ni_of(h, P3A_NI);
	if (!ni)
		return p3a_kern_ac(h, ac, id, uid, jid, pt);
	if (ac > ni->l->max_ac)
		return PTL_AC_INDEX_INVALID;
	if (pt != PTL_PT_INDEX_ANY && pt > ni->l->max_pt)
		return PTL_PT_INDEX_INVALID;
	ni->l->ac[ac] = (struct p3l_ac){ id.nid, id.pid, uid, jid, pt };
	for (uint32_t i = 0; i <= ni->l->max_pt; i++) {
		p3l_lock(&ni->env, ni->l, i);
		p3l_changes(ni->l, i);
		p3l_unlock(ni->l, i);
	}
	return PTL_OK;
}

P3A_API int PtlPTPolled_np(ptl_handle_ni_t h, ptl_pt_index_t pt, int on)
{
	struct nal_ni *ni;

	P3A_CHECK_UP();
	ni = p3a_any_of(h, P3A_NI);
	if (!ni)
		return PTL_NI_INVALID;
	if (pt > ni->l->max_pt)
		return PTL_PT_INDEX_INVALID;
	ni->nal->polled(ni, pt, on != 0);
	return PTL_OK;
}
