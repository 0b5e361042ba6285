/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * rma.c - puts and gets that MPI carries, handles, flush
 *
 * Operations on direct parts never come here: they are copies made at once, and their handle is dartc_done, which
 * belongs to nobody. A transfer longer than dartc.chunk is several calls of MPI with one handle.
 */
#include "dartc.h"

#include <stdlib.h>

struct dart_handle_struct dartc_done;

void dartc_copy_pieces(void *to, const void *from, size_t n)
{
	char *d = to;
	const char *s = from;

	for (; n > DARTC_PIECE; n -= DARTC_PIECE, d += DARTC_PIECE, s += DARTC_PIECE)
		memcpy(d, s, DARTC_PIECE);
	memcpy(d, s, n);
}

static struct dart_handle_struct *handle(const struct dartc_far *f, size_t room)
{
	struct dart_handle_struct *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->req = malloc(room * sizeof(*h->req));
	if (!h->req) {
		free(h);
		return NULL;
	}
	h->win = f->seg->win;
	h->target = f->rel;
	h->put = f->dir == DARTC_PUT;
	h->room = room;
	return h;
}

static int one(const struct dartc_far *f, size_t at, int count, MPI_Datatype mine, int far_count, MPI_Datatype far,
	       MPI_Request *req)
{
	char *here = (char *)f->mine + at;
	MPI_Aint there = f->seg->disp[f->rel] + (MPI_Aint)(f->off + at);
	MPI_Win w = f->seg->win;
	int rc;

	if (f->dir == DARTC_PUT)
		rc = req ? MPI_Rput(here, count, mine, f->rel, there, far_count, far, w, req) :
			   MPI_Put(here, count, mine, f->rel, there, far_count, far, w);
	else
		rc = req ? MPI_Rget(here, count, mine, f->rel, there, far_count, far, w, req) :
			   MPI_Get(here, count, mine, f->rel, there, far_count, far, w);
	return dartc_mpi(rc);
}

static void used(struct dartc_seg *s, int rel)
{
	/* a flush must tell MPI then */
	if (s->part[rel].base && !atomic_load_explicit(&s->team->mpi_near, memory_order_relaxed))
		atomic_store_explicit(&s->team->mpi_near, true, memory_order_relaxed);
}

int dartc_far_bytes(const struct dartc_far *f, size_t n, struct dart_handle_struct **out)
{
	struct dart_handle_struct *h = NULL;
	int rc = DARTC_OK;

	used(f->seg, f->rel);
	if (out) {
		h = handle(f, n / dartc.chunk + 1);
		if (!h)
			return DARTC_NOMEM;
	}
	for (size_t at = 0; at < n && !rc; ) {
		int some = (int)(n - at < dartc.chunk ? n - at : dartc.chunk);

		rc = one(f, at, some, MPI_BYTE, some, MPI_BYTE, h ? &h->req[h->n] : NULL);
		if (!rc && h)
			h->n++;
		at += (size_t)some;
	}
	if (!rc && out) {
		*out = h;
	} else if (h) {
		dartc_handle_wait(h, true);
	}
	return rc;
}

/* As they are, in one call. The types may be freed at once. */
int dartc_far_typed(const struct dartc_far *f, int count, MPI_Datatype mine, int far_count, MPI_Datatype far,
		    struct dart_handle_struct **out)
{
	struct dart_handle_struct *h = NULL;
	int rc;

	used(f->seg, f->rel);
	if (out) {
		h = handle(f, 1);
		if (!h)
			return DARTC_NOMEM;
	}
	rc = one(f, 0, count, mine, far_count, far, h ? h->req : NULL);
	if (rc) {
		dartc_handle_drop(h);
	} else if (out) {
		h->n = 1;
		*out = h;
	}
	return rc;
}

/* Shared memory that others have stored into is looked at anew. */
static int see(struct dartc_seg *s)
{
	if (s->shm != MPI_WIN_NULL)
		MPI_Win_sync(s->shm);
	return DARTC_OK;
}

int dartc_far_flush(struct dartc_seg *s, int rel, bool local)
{
	int rc = DARTC_OK;

	if (s->win == MPI_WIN_NULL)	/* a team of one */
		return DARTC_OK;
	if (!s->part[rel].base || atomic_load_explicit(&s->team->mpi_near, memory_order_relaxed))
		rc = dartc_mpi(local ? MPI_Win_flush_local(rel, s->win) : MPI_Win_flush(rel, s->win));
	else
		dartc_progress();	/* units of other nodes may want something of this one, which only flushes */
	return rc ? rc : see(s);
}

int dartc_far_flush_all(struct dartc_seg *s, bool local)
{
	int rc = DARTC_OK;

	atomic_thread_fence(memory_order_seq_cst);
	if (s->win == MPI_WIN_NULL)
		return see(s);
	if (!s->all_direct || atomic_load_explicit(&s->team->mpi_near, memory_order_relaxed))
		rc = dartc_mpi(local ? MPI_Win_flush_local_all(s->win) : MPI_Win_flush_all(s->win));
	return rc ? rc : see(s);
}

void dartc_handle_drop(struct dart_handle_struct *h)
{
	if (!h || h == &dartc_done)
		return;
	free(h->req);
	free(h);
}

static int complete(struct dart_handle_struct *h, bool local)
{
	int rc = DARTC_OK;

	if (h->put && !local)
		rc = dartc_mpi(MPI_Win_flush(h->target, h->win));
	dartc_handle_drop(h);
	return rc;
}

/* The handle is over afterwards. */
int dartc_handle_wait(struct dart_handle_struct *h, bool local)
{
	int rc = MPI_SUCCESS;

	if (h == &dartc_done && !local)
		atomic_thread_fence(memory_order_seq_cst);	/* as of a blocking put */
	if (!h || h == &dartc_done)
		return DARTC_OK;
	for (size_t i = 0; i < h->n && rc == MPI_SUCCESS; i++)
		rc = MPI_Wait(&h->req[i], MPI_STATUS_IGNORE);
	if (rc != MPI_SUCCESS) {
		dartc_handle_drop(h);
		return dartc_mpi(rc);
	}
	return complete(h, local);
}

/* *@done: 1: the handle is over */
int dartc_handle_test(struct dart_handle_struct *h, bool local, int *done)
{
	int rc = DARTC_OK;

	*done = 1;
	if (!h || h == &dartc_done)
		return dartc_handle_wait(h, local);
	while (h->n > 0 && *done && !rc) {
		rc = dartc_mpi(MPI_Test(&h->req[h->n - 1], done, MPI_STATUS_IGNORE));
		h->n -= *done != 0;
	}
	if (rc || *done) {
		int rc2 = complete(h, local);

		return rc ? rc : rc2;
	}
	return rc;
}

/* All of them, also behind one that failed. Return: the first reason. */
int dartc_handles_wait(struct dart_handle_struct **h, size_t n, bool local)
{
	int first = DARTC_OK;

	for (size_t i = 0; i < n; i++) {
		int rc = dartc_handle_wait(h[i], local);

		h[i] = NULL;
		first = first ? first : rc;
	}
	return first;
}

/* *@all: 1: all are over. Those that are become NULL. */
int dartc_handles_test(struct dart_handle_struct **h, size_t n, bool local, int32_t *all)
{
	int32_t over = 1;

	for (size_t i = 0; i < n; i++) {
		int done, rc = dartc_handle_test(h[i], local, &done);

		if (rc || done)
			h[i] = NULL;
		if (rc)
			return rc;
		over &= done != 0;
	}
	*all = over;
	return DARTC_OK;
}
