/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_kern.c - the NAL whose other half is in the kernel: one system call for each Portals call, by /dev/portals
 *
 * The interface's state is kernel memory, which we see and cannot write (ni->l). What we write is one page with the
 * number of events that we have read of each queue. How the calls are made of these: portals/api/kern_*.c; what they
 * mean: kernel-nal/uapi/portals_gp.h.
 *
 * Nothing here has a lock: the file and the mappings are there from start() to stop(), and the table of pids only
 * fills.
 *
 * Ranks of other nodes have the slots behind ours, kern_far.c; the kernel reaches them by Ethernet.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kern_far.h"
#include "nal.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_rt.h"
#include "portals_gp.h"

#define SPACE	(16u << 20)	/* bytes for queues and vectors: all of it is memory of the kernel, from the start */

struct priv {
	int fd;
	struct p3l_ni *l;
	uint64_t len;
	uint32_t *claims;
	struct kern_far *far;		/* NULL: the job has one node */
	uint32_t pids[];
};

static struct priv *priv_of(const struct nal_ni *ni)
{
	return ni->nal_priv;
}

bool nal_kern_there(void)
{
	return access(GPTL_DEVICE, R_OK | W_OK) == 0;
}

static int to_code(int err)
{
	switch (err) {
	case EFAULT: return PTL_SEGV;
	case ENOMEM: return PTL_NO_SPACE;
	case EINTR:
	case ETIME:
	case EPIPE:
	case ETIMEDOUT: return -err;
	default: return PTL_FAIL;
	}
}

static int call(struct nal_ni *ni, unsigned long what, void *arg)
{
	int rc = ioctl(priv_of(ni)->fd, what, arg);

	return p3_likely(rc >= 0) ? rc : to_code(errno);
}

static uint32_t *claims(struct nal_ni *ni)
{
	return priv_of(ni)->claims;
}

static int meet_ms(struct nal_ni *ni, int32_t ms)
{
	struct gptl_meet m = { .pids = (uintptr_t)priv_of(ni)->pids, .n = ni->n_peers, .timeout_ms = ms };

	return call(ni, GPTL_MEET, &m);
}

static int meet(struct nal_ni *ni)
{
	return meet_ms(ni, -1);
}

/* A rank that had to look for another pid has one by now, perhaps. */
static void ask_pids(struct nal_ni *ni)
{
	struct gptl_meet m = { .pids = (uintptr_t)priv_of(ni)->pids, .n = ni->n_peers };

	call(ni, GPTL_PIDS, &m);
}

/* ---- start and stop ---- */

static int open_device(void)
{
	struct gptl_hello h = { 0 };
	int fd = open(GPTL_DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		p3_error("PTL_KERNEL: %s: %m (modprobe portals_gp; and its group, usually portals)", GPTL_DEVICE);
		return -1;
	}
	if (!ioctl(fd, GPTL_HELLO, &h) && h.abi == GPTL_ABI && h.layout == P3L_VERSION)
		return fd;
	p3_error("PTL_KERNEL: the module portals_gp speaks version %u.%u, this library %u.%u", h.abi, h.layout,
		 GPTL_ABI, P3L_VERSION);
	close(fd);
	return -1;
}

static void describe(const struct nal_ni *ni, const struct p3l_setup *s, struct gptl_open *o)
{
	const struct p3_rt_job *job = p3_rt_get(NULL);

	*o = (struct gptl_open){
		.abi = GPTL_ABI, .layout = P3L_VERSION, .jid = s->jid, .nid = s->nid, .pid = s->pid,
		.slot = job->local_rank, .size = job->local_size, .max_me = s->max_me, .max_md = s->max_md,
		.max_eq = s->max_eq, .max_pt = s->max_pt, .max_ac = s->max_ac, .max_me_list = s->max_me_list,
		.max_iov = s->max_iov, .max_getput = (uint32_t)ni->limits.max_getput_md,
		.index_from = s->index_from, .space = s->space < SPACE ? s->space : SPACE,
	};
	memcpy(o->key, job->key, sizeof(o->key));
}

/* NULL: no room */
static void *map(int fd, uint64_t len, int prot, off_t off)
{
	void *p = mmap(NULL, len, prot, MAP_SHARED, fd, off);

	return p == MAP_FAILED ? NULL : p;
}

static int open_ni(struct nal_ni *ni, struct priv *pv, const struct p3l_setup *s)
{
	struct gptl_open o;

	describe(ni, s, &o);
	if (ioctl(pv->fd, GPTL_OPEN, &o)) {
		p3_error("%s refuses an interface: %m", GPTL_DEVICE);
		return to_code(errno);
	}
	pv->len = o.region;
	pv->l = map(pv->fd, pv->len, PROT_READ, 0);
	pv->claims = map(pv->fd, 4096, PROT_READ | PROT_WRITE, (off_t)GPTL_CLAIMS);
	if (pv->l && pv->claims)
		return PTL_OK;
	p3_error("no address space for the Portals state (%llu MiB)", (unsigned long long)pv->len >> 20);
	return PTL_NO_SPACE;		/* leave() gives back what there is */
}

static void leave(struct nal_ni *ni)
{
	struct priv *pv = priv_of(ni);

#ifdef HAVE_LIBEV
	kern_far_close(pv->far);
#endif
	if (pv->l)
		munmap(pv->l, pv->len);
	if (pv->claims)
		munmap(pv->claims, 4096);
	if (pv->fd >= 0)
		close(pv->fd);
	free(pv);
	ni->l = NULL;
	ni->pids = NULL;
	ni->nal_priv = NULL;
}

static int again(struct nal_ni *ni, const struct p3l_setup *s)
{
	struct gptl_open o;
	int rc;

	describe(ni, s, &o);
	rc = call(ni, GPTL_PID, &o);
	if (rc == PTL_OK) {
		if (p3_rt_get(NULL)->nodes > 1)		/* the others have met without us */
			p3_diag("this rank's second interface, after PTL_PID_INVALID, reaches its own node only");
		ask_pids(ni);
		ni->l = priv_of(ni)->l;
	}
	return rc;
}

static int start(struct nal_ni *ni, const struct p3l_setup *s)
{
	const struct p3_rt_job *job = p3_rt_get(NULL);
	struct priv *pv;
	int rc;

	if (ni->nal_priv)
		return ni->eq ? again(ni, s) : PTL_NO_SPACE;
	pv = calloc(1, sizeof(*pv) + job->local_size * sizeof(*pv->pids));
	if (!pv || !ni->eq) {
		free(pv);
		return PTL_NO_SPACE;
	}
	ni->nal_priv = pv;
	ni->n_peers = job->local_size;
	ni->pids = pv->pids;
	ni->env.self = 1;
	pv->fd = open_device();
	rc = pv->fd < 0 ? PTL_FAIL : open_ni(ni, pv, s);
	if (rc == PTL_OK) {
		rc = meet_ms(ni, (int32_t)p3_knobs_get(NULL)->init_timeout_s * 1000);
		if (rc < 0)
			p3_error("another rank of the node %s", rc == -ETIMEDOUT ? "has not come to start" :
								"ended while the job started");
	}
#ifdef HAVE_LIBEV
	if (job->nodes > 1)
		rc = kern_far_open(ni, pv->fd, s->pid, rc < 0 ? PTL_FAIL : rc, &pv->far);
#endif
	if (rc == PTL_PID_INVALID)
		return rc;
	if (rc != PTL_OK) {
		leave(ni);
		return rc < 0 ? PTL_FAIL : rc;
	}
	ni->l = pv->l;
	return PTL_OK;
}

static void stop(struct nal_ni *ni)
{
	struct gptl_stat s = { 0 };

	meet(ni);
#ifdef HAVE_LIBEV
	if (priv_of(ni)->far)
		kern_far_drain(priv_of(ni)->far);
#endif
	if (!call(ni, GPTL_STAT, &s))
		p3_debug("kernel: %llu calls, %llu of them slept; copies to and from us: %llu in pinned pages, %llu "
			 "looked up", (unsigned long long)s.calls, (unsigned long long)s.sleeps,
			 (unsigned long long)s.copies_pinned, (unsigned long long)s.copies_looked_up);
	if (priv_of(ni)->far)
		p3_debug("kernel: frames out %llu, in %llu; again %llu, held for a page %llu, bad %llu",
			 (unsigned long long)s.frames_out, (unsigned long long)s.frames_in, (unsigned long long)s.again,
			 (unsigned long long)s.held, (unsigned long long)s.bad);
	leave(ni);
}

/* ---- who is who ---- */

static int find_pid(const struct nal_ni *ni, uint32_t pid)
{
	uint32_t guess = pid - P3_RT_PID0;

	if (p3_likely(guess < ni->n_peers && ni->pids[guess] == pid))
		return (int)guess;
	for (guess = 0; guess < ni->n_peers; guess++)
		if (p3_load(&ni->pids[guess]) == pid)
			return (int)guess;
	return -1;
}

static int find_far(const struct nal_ni *ni, ptl_process_id_t id)
{
	int place = -1;

#ifdef HAVE_LIBEV
	if (priv_of(ni)->far)
		place = kern_far_find(priv_of(ni)->far, id);
#endif
	return place < 0 ? -1 : (int)ni->n_peers + place;
}

static int find(struct nal_ni *ni, ptl_process_id_t id)
{
	int slot;

	if (id.pid == PTL_PID_ANY)
		return -1;
	if (id.nid != ni->l->nid)
		return find_far(ni, id);
	slot = find_pid(ni, id.pid);
	if (p3_unlikely(slot < 0) && find_pid(ni, PTL_PID_ANY) >= 0) {
		ask_pids(ni);
		slot = find_pid(ni, id.pid);
	}
	return slot;
}

static ptl_process_id_t id(struct nal_ni *ni, uint32_t slot)
{
#ifdef HAVE_LIBEV
	if (slot >= ni->n_peers && priv_of(ni)->far)
		return kern_far_id(priv_of(ni)->far, slot - ni->n_peers);
#endif
	if (slot < ni->n_peers && p3_load(&ni->pids[slot]) == PTL_PID_ANY)
		ask_pids(ni);
	return (ptl_process_id_t){ ni->l->nid, slot < ni->n_peers ? p3_load(&ni->pids[slot]) : PTL_PID_ANY };
}

static int dist(struct nal_ni *ni, uint32_t slot, unsigned long *d)
{
	*d = slot == ni->l->slot ? 0 : slot < ni->n_peers ? 1 : 2;
	return PTL_OK;
}

static void progress(struct nal_ni *ni, uint32_t eq, struct p3l_sink *sink)
{
	(void)ni, (void)eq, (void)sink;	/* the kernel makes it */
}

static void polled(struct nal_ni *ni, uint32_t pt, bool on)
{
	struct gptl_polled p = { pt, on };

	call(ni, GPTL_POLLED, &p);
}

static void wake(struct nal_ni *ni)
{
	call(ni, GPTL_WAKE, NULL);
}

const struct nal_ops nal_kern = {
	.name = "kernel",
	.start = start,
	.stop = stop,
	.find = find,
	.id = id,
	.dist = dist,
	.polled = polled,
	.progress = progress,
	.wake = wake,
	.call = call,
	.claims = claims,
	.meet = meet,
};
