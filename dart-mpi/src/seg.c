/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * seg.c - segments: memory that each unit of a team has a part of, and the table that leads to it
 *
 * The paper's nesting: on each node a shared-memory window, whose parts are attached to the team's dynamic window;
 * all units learn the displacements of all. With SMARTMAP the first window is not needed: a part is memory of the
 * unit's own, seen by the others at a fixed offset. The table has a place for each number of 16 bits, so looking up
 * is one load. A number is agreed on by the team; it is used again only after all others have been (see
 * dartc_agree()).
 */
#include "dartc.h"

#include <limits.h>
#include <stdlib.h>

#define LAST	32767
#define LINE	64

/* Open MPI 4 takes 64 at most (osc_rdma_max_attach), and hangs at the next after it has refused one. */
#ifdef OPEN_MPI
#define ATTACHES	60
#else
#define ATTACHES	INT_MAX
#endif

_Atomic(struct dartc_seg *) dartc_segs[65536];
static struct dartc_seg reserved = { .team_id = INT_MIN };	/* no pointer is of that team */
static atomic_int next_up = 1, next_down = 1;
static struct dartc_seg *list;		/* all that there are, the last one first */
static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool take(int id)
{
	struct dartc_seg *none = NULL;

	return atomic_compare_exchange_strong(&dartc_segs[(uint16_t)id], &none, &reserved);
}

static void put_back(int id)
{
	atomic_store_explicit(&dartc_segs[(uint16_t)id], NULL, memory_order_release);
}

static bool take_down(int id)
{
	return take(-id);
}

static void put_back_down(int id)
{
	put_back(-id);
}

static void *line_up(void *p)
{
	return p ? (void *)(((uintptr_t)p + LINE - 1) & ~(uintptr_t)(LINE - 1)) : NULL;
}

static size_t rounded(size_t size)
{
	size_t to = size >= 4096 ? 4096 : LINE;

	return size ? (size + LINE + to - 1) & ~(to - 1) : 0;
}

static void discard(struct dartc_seg *s)
{
	if (!s)
		return;
	if (s->global != s->part)
		free(s->global);
	free(s->part);
	free(s->disp);
	free(s);
}

static struct dartc_seg *empty(struct dartc_team *t, size_t size)
{
	struct dartc_seg *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->team = t;
	s->team_id = t->id;
	s->units = t->size;
	s->size = size;
	s->shm = MPI_WIN_NULL;
	s->win = MPI_WIN_NULL;
	s->part = calloc((size_t)t->size, sizeof(*s->part));
	s->global = t->size == dartc.size ? s->part : calloc((size_t)dartc.size, sizeof(*s->global));
	s->disp = calloc((size_t)t->size, sizeof(*s->disp));
	if (s->part && s->global && s->disp)
		return s;
	discard(s);
	return NULL;
}

/* The shared window of the node, and where each neighbour's part is in this process. */
static int allocate_nested(struct dartc_seg *s)
{
	struct dartc_team *t = s->team;
	MPI_Info info;
	void *base = NULL;
	int rc;

	MPI_Info_create(&info);
	MPI_Info_set(info, "alloc_shared_noncontig", "true");
	rc = MPI_Win_allocate_shared((MPI_Aint)rounded(s->size), 1, info, t->node, &base, &s->shm);
	MPI_Info_free(&info);
	if (rc != MPI_SUCCESS) {
		s->shm = MPI_WIN_NULL;
		return DARTC_NOMEM;
	}
	MPI_Win_set_errhandler(s->shm, MPI_ERRORS_RETURN);
	MPI_Win_lock_all(MPI_MODE_NOCHECK, s->shm);
	s->own = s->size ? line_up(base) : NULL;
	for (int i = 0; i < t->size; i++) {
		MPI_Aint size;
		int unit;

		if (t->near[i] < 0)
			continue;
		rc = dartc_mpi(MPI_Win_shared_query(s->shm, t->near[i], &size, &unit, &base));
		if (rc)
			return rc;
		s->part[i].base = size ? line_up(base) : NULL;
	}
	return DARTC_OK;
}

static int allocate(struct dartc_seg *s)
{
	s->how = s->team->node_size > 1 ? dartc.windows : DARTC_MPI;	/* nobody else to share it with */
	if (s->how == DARTC_NESTED)
		return allocate_nested(s);
	if (!s->size)
		return DARTC_OK;
	s->block_size = rounded(s->size);
	if (s->how == DARTC_SMARTMAP) {
		s->block = dartc_smap_alloc(s->block_size);
	} else if (MPI_Alloc_mem((MPI_Aint)s->block_size, MPI_INFO_NULL, &s->block) != MPI_SUCCESS) {
		s->block = NULL;
	}
	s->own = line_up(s->block);
	return s->block ? DARTC_OK : DARTC_NOMEM;
}

static void release(struct dartc_seg *s)
{
	if (s->shm != MPI_WIN_NULL) {
		MPI_Win_unlock_all(s->shm);
		MPI_Win_free(&s->shm);
	}
	if (!s->block)
		return;
	if (s->how == DARTC_SMARTMAP)
		dartc_smap_free(s->block, s->block_size);
	else
		MPI_Free_mem(s->block);
}

/* A window for this segment alone. Collective. */
static int own_window(struct dartc_seg *s)
{
	int rc;

	if (s->team->size == 1)
		return DARTC_OK;
	rc = dartc_mpi(MPI_Win_create(s->own, (MPI_Aint)s->size, 1, MPI_INFO_NULL, s->team->comm, &s->win));

	if (rc) {
		s->win = MPI_WIN_NULL;
		return rc;
	}
	MPI_Win_set_errhandler(s->win, MPI_ERRORS_RETURN);
	return dartc_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, s->win));
}

struct told {
	int64_t addr, size, ok, attached;
};

/* What is direct, from what all have told. */
static void find_direct(struct dartc_seg *s, const struct told *all)
{
	struct dartc_team *t = s->team;
	int mine = 1, every = 0;

	for (int i = 0; i < t->size; i++) {
		void *there = (void *)(intptr_t)all[i].addr;
		size_t size = (size_t)all[i].size;

		s->part[i].size = size;
		if (dartc.windows == DARTC_MPI && t->size > 1)
			s->part[i].base = NULL;
		else if (i == t->rank)
			s->part[i].base = s->own;
		else if (dartc.windows == DARTC_SMARTMAP)
			s->part[i].base = size && t->peer[i] >= 0 && dartc_smap_reachable(t->peer[i], there, size) ?
				dartc_smap_remote(t->peer[i], there) : NULL;
		mine &= !size || s->part[i].base;
	}
	MPI_Allreduce(&mine, &every, 1, MPI_INT, MPI_MIN, t->comm);
	s->all_direct = every && (dartc.windows != DARTC_MPI || t->size == 1);
}

/* All units tell where their part is; a window for MPI leads to it. Return: the same on all units. */
static int connect(struct dartc_seg *s, bool ok)
{
	struct dartc_team *t = s->team;
	struct told mine = { .ok = ok, .attached = 1 }, *all = malloc((size_t)t->size * sizeof(*all));
	MPI_Aint addr = 0;
	int rc = DARTC_OK, attached = 1;

	if (!all)		/* the others wait in the call below */
		MPI_Abort(t->comm, 1);
	if (ok && s->size) {
		MPI_Get_address(s->own, &addr);
		s->attached = t->dwin != MPI_WIN_NULL && t->attached < ATTACHES &&
			      MPI_Win_attach(t->dwin, s->own, (MPI_Aint)s->size) == MPI_SUCCESS;
		t->attached += s->attached;
		mine.attached = s->attached;
	}
	mine.addr = addr;
	mine.size = (int64_t)s->size;
	MPI_Allgather(&mine, 4, MPI_INT64_T, all, 4, MPI_INT64_T, t->comm);
	for (int i = 0; i < t->size; i++) {
		if (!all[i].ok)
			rc = DARTC_NOMEM;
		attached &= (int)all[i].attached;
		s->disp[i] = (MPI_Aint)all[i].addr;
	}
	if (!rc && attached && t->dwin != MPI_WIN_NULL) {
		s->win = t->dwin;
	} else if (!rc) {
		memset(s->disp, 0, (size_t)t->size * sizeof(*s->disp));
		rc = own_window(s);
	}
	if (!rc)
		find_direct(s, all);
	free(all);
	return rc;
}

static void disconnect(struct dartc_seg *s)
{
	if (s->win != MPI_WIN_NULL && s->win != s->team->dwin) {
		MPI_Win_unlock_all(s->win);
		MPI_Win_free(&s->win);
	}
	if (s->attached) {
		MPI_Win_detach(s->team->dwin, s->own);
		s->team->attached--;
	}
}

static void publish(struct dartc_seg *s, int id)
{
	s->id = (int16_t)id;
	for (int i = 0; i < s->units; i++)
		s->global[s->team->l2g[i]] = s->part[i];
	pthread_mutex_lock(&list_mutex);
	s->next = list;
	list = s;
	pthread_mutex_unlock(&list_mutex);
	/* pairs with the load-acquire in dartc_seg() */
	atomic_store_explicit(&dartc_segs[(uint16_t)id], s, memory_order_release);
}

static int make(struct dartc_seg *s, int id)
{
	int rc = allocate(s);

	rc = connect(s, !rc);
	if (!rc) {
		publish(s, id);
		return rc;
	}
	disconnect(s);
	release(s);
	discard(s);
	if (id)
		put_back(id);
	return rc;
}

/* Collective over @t. */
int dartc_seg_new(struct dartc_team *t, size_t size, struct dartc_seg **out)
{
	struct dartc_seg *s = size <= PTRDIFF_MAX / 2 ? empty(t, size) : NULL;
	int failed = !s, id = dartc_agree(t, &next_up, LAST, take, put_back, &failed), rc;

	if (!id) {
		discard(s);
		return size > PTRDIFF_MAX / 2 ? DARTC_INVAL : DARTC_NOMEM;
	}
	rc = make(s, id);
	if (!rc)
		*out = s;
	return rc;
}

/* Segment 0. */
int dartc_seg_pool(struct dartc_team *t, size_t size)
{
	struct dartc_seg *s = empty(t, size);

	next_up = next_down = 1;
	if (!s)			/* the others wait in connect() */
		MPI_Abort(t->comm, 1);
	return make(s, 0);
}

/* @addr stays the caller's. Collective over @t; sizes may differ. */
int dartc_seg_register(struct dartc_team *t, void *addr, size_t size, struct dartc_seg **out)
{
	bool sense = (addr || !size) && size <= PTRDIFF_MAX / 2;
	struct dartc_seg *s = sense ? empty(t, size) : NULL;
	int failed = !s, id = dartc_agree(t, &next_down, LAST, take_down, put_back_down, &failed), rc;

	if (!id) {
		discard(s);
		return sense ? DARTC_NOMEM : DARTC_INVAL;
	}
	s->own = addr;
	s->registered = true;
	rc = connect(s, true);
	if (!rc) {
		publish(s, -id);
		*out = s;
		return rc;
	}
	disconnect(s);
	discard(s);
	put_back(-id);
	return rc;
}

static void unlist(struct dartc_seg *s)
{
	pthread_mutex_lock(&list_mutex);
	for (struct dartc_seg **p = &list; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			break;
		}
	pthread_mutex_unlock(&list_mutex);
}

static int end(struct dartc_seg *s)
{
	int rc = DARTC_OK, rc2;

	unlist(s);
	put_back(s->id);
	if (s->win != MPI_WIN_NULL)
		rc = dartc_mpi(MPI_Win_flush_all(s->win));
	rc2 = dartc_barrier(s->team);	/* no unit's part goes while another still uses it */
	disconnect(s);
	release(s);
	discard(s);
	return rc ? rc : rc2;
}

/* Collective over the team. The segment is gone also where a reason is returned. */
int dartc_seg_end(struct dartc_seg *s)
{
	return end(s);
}

/* What is left of a team's. Same order on all of its units. */
void dartc_seg_end_of(struct dartc_team *t)
{
	for (struct dartc_seg *s = list; s; ) {
		struct dartc_seg *next = s->next;

		if (s->team == t)
			end(s);
		s = next;
	}
}

