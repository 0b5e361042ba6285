/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * info_job.c - the running jobs of this machine, and copies of their state
 *
 * A rank is found by its page, a mapping called "portals-look" (look.h). Page and region are read by
 * process_vm_readv: the rank takes no part in it, is not stopped, and nothing of it is changed. A copy of a
 * region has the layout of a region: an address space of its size, with only those pieces in it that somebody
 * looks at. What is read was written by another process, while it runs: places and numbers are checked.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "info.h"

#define PIECES 512

static int read_at(int pid, uint64_t from, void *to, size_t len)
{
	struct iovec own = { to, len }, other = { (void *)(uintptr_t)from, len };
	ssize_t n = process_vm_readv(pid, &own, 1, &other, 1, 0);

	return n == (ssize_t)len ? 0 : n < 0 ? errno : EFAULT;
}

static uint32_t hidden;		/* processes that the last search might not look at */

uint32_t info_hidden(void)
{
	return hidden;
}

/* Address of the page of process @pid, or 0. */
static uint64_t find_page(int pid)
{
	char path[40], *line = NULL;
	unsigned long long at = 0;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	hidden += !f && (errno == EACCES || errno == EPERM);
	while (f && !at && getline(&line, &room, f) > 0)
		if (strstr(line, "/memfd:" LOOK_FILE " "))
			sscanf(line, "%llx-", &at);
	free(line);
	if (f)
		fclose(f);
	return at;
}

static int by_rank(const void *a, const void *b)
{
	const struct info_rank *x = a, *y = b;

	if (x->page.uid != y->page.uid)
		return x->page.uid < y->page.uid ? -1 : 1;
	if (x->page.jid != y->page.jid)
		return x->page.jid < y->page.jid ? -1 : 1;
	return x->page.rank < y->page.rank ? -1 : x->page.rank > y->page.rank;
}

static bool same_job(const struct info_rank *a, const struct info_rank *b)
{
	return a->page.uid == b->page.uid && a->page.jid == b->page.jid && !a->refused == !b->refused;
}

/* All ranks that can be seen, whoever's; malloc'ed. */
static int all_ranks(struct info_rank **out)
{
	struct info_rank *r = NULL;
	int n = 0, room = 0;
	struct dirent *d;
	DIR *dir = opendir("/proc");

	hidden = 0;
	while (dir && (d = readdir(dir)) != NULL) {
		struct info_rank k = { .unix_pid = atoi(d->d_name) };
		uint64_t at = isdigit((unsigned char)d->d_name[0]) ? find_page(k.unix_pid) : 0;

		if (!at)
			continue;
		k.refused = read_at(k.unix_pid, at, &k.page, sizeof(k.page));
		if (k.refused == ESRCH || (!k.refused && k.page.magic != LOOK_MAGIC))
			continue;		/* it has ended, or not begun */
		if (k.refused)
			memset(&k.page, 0, sizeof(k.page));
		k.stranger = !k.refused && k.page.layout != LOOK_LAYOUT;
		if (n == room) {
			struct info_rank *more = realloc(r, (size_t)(room = 2 * room + 64) * sizeof(*r));

			if (!more)
				break;
			r = more;
		}
		r[n++] = k;
	}
	if (dir)
		closedir(dir);
	if (n)
		qsort(r, (size_t)n, sizeof(*r), by_rank);
	*out = r;
	return n;
}

int info_find(uint32_t which, struct info_job **out)
{
	struct info_rank *all;
	int n = all_ranks(&all), jobs = 0;
	struct info_job *j = calloc((size_t)n + 1, sizeof(*j));

	for (int i = 0, k; j && i < n; i = k) {
		bool wanted = !which;

		for (k = i; k < n && same_job(&all[i], &all[k]); k++)
			wanted |= (uint32_t)all[k].unix_pid == which || (all[k].page.jid == which && !all[k].refused);
		if (!wanted)
			continue;
		j[jobs].n = (uint32_t)(k - i);
		j[jobs].r = malloc((size_t)(k - i) * sizeof(*j->r));
		if (!j[jobs].r)
			break;
		memcpy(j[jobs++].r, &all[i], (size_t)(k - i) * sizeof(*j->r));
	}
	free(all);
	*out = j;
	return j ? jobs : -1;
}

/* ---- copies ---- */

struct want {			/* pieces of a region: offset and length */
	const struct info_rank *r;
	struct iovec own[PIECES], other[PIECES];
	unsigned n;
	int err;
};

static void fetch(struct want *w)
{
	/* a piece that is not there ends the call: what is behind it in this batch stays as it was */
	if (w->n && process_vm_readv(w->r->unix_pid, w->own, w->n, w->other, w->n, 0) < 0)
		w->err = errno;
	w->n = 0;
}

static void want(struct want *w, uint64_t off, uint64_t len)
{
	if (!len || off > w->r->page.region_len || len > w->r->page.region_len - off)
		return;
	if (w->n == PIECES)
		fetch(w);
	w->own[w->n] = (struct iovec){ (char *)w->r->l + off, len };
	w->other[w->n++] = (struct iovec){ (char *)(uintptr_t)w->r->page.region + off, len };
}

static void want_at(struct want *w, const void *at, uint64_t len)
{
	want(w, (uint64_t)((const char *)at - (const char *)w->r->l), len);
}

static int copy_region(struct info_rank *r)
{
	struct want w = { .r = r };
	struct p3l_ni *l = r->l;

	want(&w, 0, sizeof(*l));
	fetch(&w);
	if (w.err)
		return w.err;
	if (l->magic != P3L_MAGIC || l->version != P3L_VERSION)
		return EPROTO;
	l->n_slots = p3l_slots(l);
	l->size = r->page.region_len;
	if (l->n_slots > (l->size - P3L_LANE_OFF) / P3L_LANE_STRIDE)	/* make_room(): no less than that */
		return EPROTO;
	want(&w, P3L_ROW_OFF, l->n_slots * sizeof(struct p3l_row));
	want(&w, P3L_ME_OFF, (l->me_fresh < P3L_MAX_ME ? l->me_fresh : P3L_MAX_ME) * sizeof(struct p3l_me));
	want(&w, P3L_MD_OFF, (l->md_fresh < P3L_MAX_MD ? l->md_fresh : P3L_MAX_MD) * sizeof(struct p3l_md));
	for (uint32_t s = 0; s < l->n_slots; s++)
		want_at(&w, p3l_lane(l, s), sizeof(struct p3l_lane_hdr));
	fetch(&w);
	for (uint32_t s = 0; s < l->n_slots; s++)
		want_at(&w, p3l_lane_line(l, p3l_lane(l, s), p3l_lane(l, s)->head), sizeof(struct p3l_line));
	for (uint32_t q = 0; q < P3L_MAX_EQ; q++) {
		const struct p3l_eq *eq = &l->eq[q];
		const struct p3l_slot *e = eq->flags & P3L_EQ_USED ? p3l_eq_slot(l, eq, eq->head) : NULL;

		if (e)
			want_at(&w, e, sizeof(*e));
	}
	fetch(&w);
	return w.err;
}

static void free_far(struct info_rank *r)
{
	for (uint32_t k = 0; k < r->far_n; k++)
		free((void *)(uintptr_t)r->far[k].peer);
	free(r->far);
	r->far = NULL;
	r->far_n = 0;
}

/* What it knows of ranks on other nodes: those that it has had to do with. */
static void copy_far(struct info_rank *r)
{
	const struct look_page *p = &r->page;
	size_t len = (size_t)p->far_n * p->far_stride;
	char *array;

	free_far(r);
	if (!p->far || !len || p->far_n > 1u << 20 || p->far_stride > 4096 || p->far_stride < 8 ||
	    p->far_rank_at > p->far_stride - 4 || p->far_peer_at > p->far_stride - 8)
		return;
	array = malloc(len);
	r->far = calloc(p->far_n, sizeof(*r->far));
	if (array && r->far && !read_at(r->unix_pid, p->far, array, len))
		for (uint32_t k = 0; k < p->far_n; k++) {
			struct fr_peer *copy = malloc(sizeof(*copy));
			uint32_t rank;
			uint64_t at;

			memcpy(&rank, array + (size_t)k * p->far_stride + p->far_rank_at, sizeof(rank));
			memcpy(&at, array + (size_t)k * p->far_stride + p->far_peer_at, sizeof(at));
			if (at && copy && !read_at(r->unix_pid, at, copy, sizeof(*copy)))
				r->far[r->far_n++] = (struct look_far){ rank, copy };
			else
				free(copy);
		}
	free(array);
}

/* Address space for the copy of its region. */
static int make_room(struct info_rank *r)
{
	uint64_t len = r->page.region_len;

	if (len < P3L_LANE_OFF || len >= (uint64_t)1 << 32)
		return EPROTO;
	r->l = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->l != MAP_FAILED)
		return 0;
	r->l = NULL;
	return ENOMEM;
}

uint32_t info_copy(struct info_job *j)
{
	uint32_t bad = 0;

	for (uint32_t i = 0; i < j->n; i++) {
		struct info_rank *r = &j->r[i];
		uint64_t len = r->page.region_len;

		if (!r->refused && !r->stranger && r->page.region && !r->l)
			r->refused = make_room(r);
		if (r->l)
			r->refused = copy_region(r);
		if (r->l && r->refused) {
			munmap(r->l, len);
			r->l = NULL;
		}
		if (!r->refused && !r->stranger)
			copy_far(r);
		bad += r->refused || r->stranger;
	}
	return bad;
}

void info_free(struct info_job *jobs, int n)
{
	for (int i = 0; i < n; i++) {
		for (uint32_t k = 0; k < jobs[i].n; k++) {
			free_far(&jobs[i].r[k]);
			if (jobs[i].r[k].l)
				munmap(jobs[i].r[k].l, jobs[i].r[k].page.region_len);
		}
		free(jobs[i].r);
	}
	free(jobs);
}
