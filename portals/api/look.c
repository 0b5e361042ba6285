/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * look.c - the page by which others find our state (portals/look), and what we see of a hang ourselves
 *
 * The page is a file of its own, shared with nobody, so that it has a name in /proc/PID/maps. Where it cannot
 * be made nobody finds us; nothing else depends on it. Written by the thread that opens or closes the
 * interface.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "look.h"
#include "p3a.h"
#include "p3_knobs.h"
#include "p3_rt.h"
#include "smartmap.h"

static struct look_page *page;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct look_page *make_page(void)
{
	struct look_page *p = MAP_FAILED;
	struct rlimit most;
	int fd;

	/* beyond ulimit -f the kernel would end us by a signal */
	if (!getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur < sizeof(*p))
		return NULL;
	fd = memfd_create(LOOK_FILE, MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!ftruncate(fd, sizeof(*p)))
		p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return NULL;
	madvise(p, sizeof(*p), MADV_DONTFORK);
	return p;
}

void p3a_look_open(struct nal_ni *ni, const struct p3l_setup *s)
{
	const struct p3_rt_job *job = p3_rt_get(NULL);

	if (!page)
		page = make_page();
	if (!page)
		return;
	page->rank = job->rank;
	page->ranks = job->size;
	page->node = job->node;
	page->nodes = job->nodes;
	page->local_rank = job->local_rank;
	page->local_size = job->local_size;
	page->nid = s->nid;
	page->pid = s->pid;
	page->uid = s->uid;
	page->jid = s->jid;
	page->limits = ni->limits;
	page->layout = LOOK_LAYOUT;
	snprintf(page->nal, sizeof(page->nal), "%s", ni->nal->name);
	p3a_look_phase(ni, LOOK_STARTS);
	p3_store_rel(&page->magic, LOOK_MAGIC);
}

void p3a_look_phase(struct nal_ni *ni, uint32_t phase)
{
	struct nal_far f = { 0 };

	if (!page)
		return;
	if (phase == LOOK_OPEN) {
		for (unsigned k = 0; k < SMARTMAP_F_MAX; k++)
			page->features |= (uint32_t)!!smartmap_has((enum smartmap_feature)k) << k;
		page->cma = p3_knobs_get(NULL)->cma != P3_NO && smartmap_has(SMARTMAP_F_CMA);
		if (ni->nal->far)
			ni->nal->far(ni, &f);
	}
	page->far = (uintptr_t)f.at;
	page->far_n = f.n;
	page->far_stride = f.stride;
	page->far_rank_at = f.rank_at;
	page->far_peer_at = f.peer_at;
	page->region_len = ni->l ? ni->l->size : 0;
	page->region = (uintptr_t)ni->l;
	page->since = now_ns();
	p3_store_rel(&page->phase, phase);
}

void p3a_look_close(void)
{
	if (page)
		munmap(page, sizeof(*page));
	page = NULL;
}

/* In a child: its parent's page is not there. */
void p3a_look_forked(void)
{
	page = NULL;
}

/* ---- from within ---- */

static void say(void *ctx, enum look_kind kind, int from, int to, const char *text)
{
	static const char *const word[] = { "", "because: ", "ring: ", "root: ", "" };

	dprintf(*(int *)ctx, "  %s%s\n", word[kind], text);
	(void)from;
	(void)to;
}

/*
 * Who waits for whom, as far as it is seen from here: the ranks of this node whose regions we have in our
 * windows already (to map another one would take locks), and what we know ourselves of those on other nodes.
 */
void p3a_look_dump(int fd, const struct nal_ni *ni)
{
	static struct look_rank r[SMARTMAP_MAX_PEERS];
	static struct look_far far[LOOK_RANKS];
	static uint32_t busy;
	const struct p3_rt_job *job = p3_rt_get(NULL);
	struct look_job j = { .r = r, .now = now_ns() };
	struct nal_far f = { 0 };
	uint32_t self = ni->l->slot, n_far = 0;

	if (p3_xchg(&busy, 1))
		return;
	if (ni->nal->far)
		ni->nal->far(ni, &f);
	for (; n_far < f.n && n_far < LOOK_RANKS; n_far++) {
		const char *at = (const char *)f.at + (size_t)n_far * f.stride;

		memcpy(&far[n_far].rank, at + f.rank_at, sizeof(far[n_far].rank));
		memcpy(&far[n_far].peer, at + f.peer_at, sizeof(far[n_far].peer));
	}
	for (uint32_t s = 0; s < ni->n_peers && s < SMARTMAP_MAX_PEERS; s++) {
		struct look_rank *o = &r[j.n++];

		*o = (struct look_rank){
			.l = s == self ? ni->l : p3_load(&ni->peer[s].l), .rank = job->local_ranks[s],
			.node = job->node, .slot = s, .phase = LOOK_OPEN, .pid = smartmap_pid((int)s),
			.refused_by = -1,
		};
		if (s == self) {
			o->pid = (int)getpid();
			o->far = far;
			o->far_n = n_far;
		} else {
			o->state = look_state(o->pid);
			if (o->l && !p3_load(&o->l->up))
				o->phase = LOOK_LEAVES;
		}
	}
	dprintf(fd, "portals: rank %u, looking for who waits for whom:\n", job->rank);
	if (!look_why(&j, say, &fd))
		dprintf(fd, "  nobody that is seen from here waits in this library\n");
	p3_store_rel(&busy, 0);
}
