/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart3_comm.c - collectives, one-sided operations and messages of typed elements
 */
#include "dart3.h"

#include <limits.h>
#include <stdlib.h>

/* A type for collectives and messages: elements in a row. */
static const struct d3_type *row(dart_datatype_t dtype)
{
	const struct d3_type *t = d3_type(dtype);

	return t && (t->shape == D3_BASIC || t->shape == D3_CUSTOM) ? t : NULL;
}

#define TEAM_AND_TYPE()					\
	struct dartc_team *t;				\
	const struct d3_type *d;			\
							\
	UP();						\
	t = dartc_team(team);				\
	d = row(dtype);					\
	WANT(t && d)

dart_ret_t dart_barrier(dart_team_t team)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(team);
	WANT(t);
	return (dart_ret_t)dartc_barrier(t);
}

dart_ret_t dart_bcast(void *buf, size_t nelem, dart_datatype_t dtype, dart_team_unit_t root, dart_team_t team)
{
	TEAM_AND_TYPE();
	WANT((buf || !nelem) && root.id >= 0 && root.id < t->size);
	return (dart_ret_t)dartc_bcast(t, buf, nelem, d->mpi, d->size, root.id);
}

dart_ret_t dart_scatter(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_team_unit_t root,
			dart_team_t team)
{
	TEAM_AND_TYPE();
	WANT(root.id >= 0 && root.id < t->size && (!nelem || (recvbuf && (sendbuf || t->rank != root.id))));
	return (dart_ret_t)dartc_gather(t, true, sendbuf, recvbuf, nelem, d->mpi, root.id);
}

dart_ret_t dart_gather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_team_unit_t root,
		       dart_team_t team)
{
	TEAM_AND_TYPE();
	WANT(root.id >= 0 && root.id < t->size && (!nelem || (sendbuf && (recvbuf || t->rank != root.id))));
	return (dart_ret_t)dartc_gather(t, false, sendbuf, recvbuf, nelem, d->mpi, root.id);
}

dart_ret_t dart_allgather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_team_t team)
{
	TEAM_AND_TYPE();
	WANT(!nelem || (sendbuf && recvbuf));
	return (dart_ret_t)dartc_allgather(t, sendbuf, recvbuf, nelem, d->mpi);
}

dart_ret_t dart_allgatherv(const void *sendbuf, size_t nsendelem, dart_datatype_t dtype, void *recvbuf,
			   const size_t *nrecvelem, const size_t *recvdispls, dart_team_t team)
{
	int *count, *at, rc;

	TEAM_AND_TYPE();
	WANT((sendbuf || !nsendelem) && recvbuf && nrecvelem && recvdispls && nsendelem <= INT_MAX);
	for (int i = 0; i < t->size; i++)
		WANT(nrecvelem[i] <= INT_MAX && recvdispls[i] <= INT_MAX);
	count = malloc((size_t)t->size * sizeof(int));
	at = malloc((size_t)t->size * sizeof(int));
	if (!count || !at) {
		free(count);
		free(at);
		return DART_ERR_NOMEM;
	}
	for (int i = 0; i < t->size; i++) {
		count[i] = (int)nrecvelem[i];
		at[i] = (int)recvdispls[i];
	}
	rc = dartc_mpi(MPI_Allgatherv(sendbuf, (int)nsendelem, d->mpi, recvbuf, count, at, d->mpi, t->comm));
	free(count);
	free(at);
	return (dart_ret_t)rc;
}

dart_ret_t dart_alltoall(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_team_t team)
{
	TEAM_AND_TYPE();
	WANT(!nelem || (sendbuf && recvbuf));
	return (dart_ret_t)dartc_alltoall(t, sendbuf, recvbuf, nelem, d->mpi);
}

static dart_ret_t reduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_operation_t op,
			 int root, dart_team_t team)
{
	MPI_Datatype type;
	MPI_Op mpi;
	size_t n = nelem;

	TEAM_AND_TYPE();
	WANT(root < t->size && (!nelem || (sendbuf && (recvbuf || (root >= 0 && t->rank != root)))));
	mpi = d3_op(op, d, &type, &n);
	WANT(mpi != MPI_OP_NULL);
	return (dart_ret_t)dartc_reduce(t, sendbuf, recvbuf, n, type, n ? d->size * (nelem / n) : 0, mpi, root);
}

dart_ret_t dart_allreduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_operation_t op,
			  dart_team_t team)
{
	return reduce(sendbuf, recvbuf, nelem, dtype, op, -1, team);
}

dart_ret_t dart_reduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_operation_t op,
		       dart_team_unit_t root, dart_team_t team)
{
	WANT(root.id >= 0);
	return reduce(sendbuf, recvbuf, nelem, dtype, op, root.id, team);
}

static dart_ret_t atomic(dart_gptr_t gptr, const void *values, void *result, size_t nelem, dart_datatype_t dtype,
			 dart_operation_t op)
{
	struct dartc_seg *s;
	const struct d3_type *d;
	size_t bytes;

	UP();
	s = d3_find(gptr);
	d = d3_type(dtype);
	WANT(s && d && d->shape == D3_BASIC && op < DART_OP_LAST && (values || !nelem || op == DART_OP_NO_OP) &&
	     !__builtin_mul_overflow(nelem, d->size, &bytes) && gptr.addr_or_offs.offset % d->size == 0 &&
	     dartc_inside(&s->part[gptr.unitid], gptr.addr_or_offs.offset, bytes));
	return (dart_ret_t)dartc_atomic(s, gptr.unitid, (size_t)gptr.addr_or_offs.offset, values, result, nelem,
					d->kind,
					(enum dartc_op)op);
}

dart_ret_t dart_accumulate(dart_gptr_t gptr, const void *values, size_t nelem, dart_datatype_t dtype,
			   dart_operation_t op)
{
	return atomic(gptr, values, NULL, nelem, dtype, op);
}

dart_ret_t dart_accumulate_blocking_local(dart_gptr_t gptr, const void *values, size_t nelem, dart_datatype_t dtype,
					  dart_operation_t op)
{
	dart_ret_t rc = atomic(gptr, values, NULL, nelem, dtype, op);

	return rc ? rc : dart_flush_local(gptr);
}

dart_ret_t dart_fetch_and_op(dart_gptr_t gptr, const void *value, void *result, dart_datatype_t dtype,
			     dart_operation_t op)
{
	WANT(result);
	return atomic(gptr, value, result, 1, dtype, op);
}

dart_ret_t dart_compare_and_swap(dart_gptr_t gptr, const void *value, const void *compare, void *result,
				 dart_datatype_t dtype)
{
	struct dartc_seg *s;
	const struct d3_type *d;

	UP();
	s = d3_find(gptr);
	d = d3_type(dtype);
	WANT(s && d && d->shape == D3_BASIC && value && compare && result && gptr.addr_or_offs.offset % d->size == 0 &&
	     dartc_inside(&s->part[gptr.unitid], gptr.addr_or_offs.offset, d->size));
	return (dart_ret_t)dartc_cas(s, gptr.unitid, (size_t)gptr.addr_or_offs.offset, value, compare, result, d->kind);
}

/* One side of a transfer, run by run. */
struct side {
	const struct d3_type *t;
	char *base;
	size_t item, block, done;	/* which repetition, which block of it, elements of it done */
};

/* The next run of at most @most elements. */
static char *run(const struct side *s, size_t most, size_t *n)
{
	const struct d3_type *t = s->t;
	size_t left;

	if (t->shape == D3_BASIC || t->shape == D3_CUSTOM) {
		*n = most;
		return s->base + s->done * t->size;
	}
	left = t->length[s->block] - s->done;
	*n = left < most ? left : most;
	return s->base + (s->item * t->extent + t->offset[s->block] + s->done) * t->size;
}

static void advance(struct side *s, size_t n)
{
	const struct d3_type *t = s->t;

	s->done += n;
	if (t->shape == D3_BASIC || t->shape == D3_CUSTOM)
		return;
	while (s->done == t->length[s->block]) {
		s->done = 0;
		if (++s->block == t->blocks) {
			s->block = 0;
			s->item++;
			break;
		}
	}
}

static void copy_runs(char *to, const struct d3_type *to_type, char *from, const struct d3_type *from_type,
		      size_t nelem)
{
	struct side d = { .t = to_type, .base = to }, s = { .t = from_type, .base = from };

	/* an indexed type may begin with empty blocks */
	advance(&d, 0);
	advance(&s, 0);
	while (nelem) {
		size_t n, m;
		char *out = run(&d, nelem, &n), *in = run(&s, n, &m);

		dartc_copy(out, in, m * to_type->size);
		advance(&d, m);
		advance(&s, m);
		nelem -= m;
	}
}

/* From the first byte to behind the last. false: more than there can be, or not whole repetitions */
static bool span(const struct d3_type *t, size_t nelem, size_t *bytes)
{
	size_t items, last = 0;

	*bytes = 0;
	if (nelem % t->elements)
		return false;
	items = nelem / t->elements;
	if (!items)
		return true;
	if (t->shape == D3_BASIC || t->shape == D3_CUSTOM)
		return !__builtin_mul_overflow(nelem, t->size, bytes);
	for (size_t i = 0; i < t->blocks; i++)
		if (t->length[i] && t->offset[i] + t->length[i] > last)
			last = t->offset[i] + t->length[i];
	return !__builtin_mul_overflow(items - 1, t->extent, bytes) && !__builtin_add_overflow(*bytes, last, bytes) &&
	       !__builtin_mul_overflow(*bytes, t->size, bytes);
}

/* By MPI. @far_type is the type at the other unit. */
static __attribute__((noinline)) dart_ret_t far(const struct dartc_far *f, size_t nelem, const struct d3_type *my_type,
						const struct d3_type *far_type, dart_handle_t *handle, bool block)
{
	struct dart_handle_struct *h, **want = handle || (block && f->dir == DARTC_GET) ? &h : NULL;
	bool plain = (my_type->shape == D3_BASIC || my_type->shape == D3_CUSTOM) &&
		     (far_type->shape == D3_BASIC || far_type->shape == D3_CUSTOM);
	MPI_Datatype mine, theirs;
	int count, far_count, rc;
	bool made, far_made;

	if (plain) {
		rc = dartc_far_bytes(f, nelem * my_type->size, want);
	} else {
		rc = dartc_big(nelem / my_type->elements, my_type->mpi, &count, &mine, &made);
		if (rc)
			return (dart_ret_t)rc;
		rc = dartc_big(nelem / far_type->elements, far_type->mpi, &far_count, &theirs, &far_made);
		if (!rc)
			rc = dartc_far_typed(f, count, mine, far_count, theirs, want);
		if (made)
			MPI_Type_free(&mine);
		if (far_made)
			MPI_Type_free(&theirs);
	}
	if (rc)
		return (dart_ret_t)rc;
	if (handle)
		*handle = h;
	else if (block)
		return (dart_ret_t)(f->dir == DARTC_GET ? dartc_handle_wait(h, true) :
				    dartc_far_flush(f->seg, f->rel, false));
	return DART_OK;
}

/* Whatever is not elements in a row to or from a direct part. */
static __attribute__((noinline)) dart_ret_t general(enum dartc_dir dir, void *mine, dart_gptr_t gptr, size_t nelem,
						    dart_datatype_t my_dtype, dart_datatype_t far_dtype,
						    dart_handle_t *handle, bool block)
{
	const struct d3_type *my_type, *far_type;
	struct dartc_seg *s;
	size_t bytes, my_bytes;
	char *there;

	UP();
	s = d3_find(gptr);
	my_type = d3_type(my_dtype);
	far_type = d3_type(far_dtype);
	WANT(s && my_type && far_type && my_type->base == far_type->base && (mine || !nelem) &&
	     span(far_type, nelem, &bytes) && span(my_type, nelem, &my_bytes) &&
	     dartc_inside(&s->part[gptr.unitid], gptr.addr_or_offs.offset, bytes));
	there = s->part[gptr.unitid].base;
	if (!there && nelem) {
		struct dartc_far f = { dir, s, gptr.unitid, (size_t)gptr.addr_or_offs.offset, mine };

		return far(&f, nelem, my_type, far_type, handle, block);
	}
	if (nelem && dir == DARTC_PUT) {
		atomic_thread_fence(memory_order_release);
		copy_runs(there + gptr.addr_or_offs.offset, far_type, mine, my_type, nelem);
		if (block)
			atomic_thread_fence(memory_order_seq_cst);
	} else if (nelem) {
		copy_runs(mine, my_type, there + gptr.addr_or_offs.offset, far_type, nelem);
		atomic_thread_fence(memory_order_acquire);
	}
	if (handle)
		*handle = &dartc_done;
	return DART_OK;
}

static inline __attribute__((always_inline)) dart_ret_t rma(enum dartc_dir dir, void *mine, dart_gptr_t gptr,
							    size_t nelem,
							    dart_datatype_t my_dtype, dart_datatype_t far_dtype,
							    dart_handle_t *handle, bool block)
{
	const struct dartc_seg *s = dartc_seg(gptr.segid);
	size_t n;

	/* the usual case: elements in a row, of a type of ours, in memory that is seen here */
	if (__builtin_expect(!s || gptr.teamid != s->team_id || (uint32_t)gptr.unitid >= (uint32_t)s->units ||
			     my_dtype != far_dtype || my_dtype <= 0 || my_dtype >= DART_TYPE_LAST || !mine ||
			     __builtin_mul_overflow(nelem, dartc_kind_size[my_dtype - 1], &n), 0) ||
	    !dartc_direct(dir, &s->part[gptr.unitid], gptr.addr_or_offs.offset, mine, n, block))
		return general(dir, mine, gptr, nelem, my_dtype, far_dtype, handle, block);
	if (handle)
		*handle = &dartc_done;
	return DART_OK;
}

/* The source is not written: what is common to both directions has no const. */
static void *unconst(const void *p)
{
	return (void *)(uintptr_t)p;
}

dart_ret_t dart_get(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type, dart_datatype_t dst_type)
{
	return rma(DARTC_GET, dest, gptr, nelem, dst_type, src_type, NULL, false);
}

dart_ret_t dart_put(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type, dart_datatype_t dst_type)
{
	return rma(DARTC_PUT, unconst(src), gptr, nelem, src_type, dst_type, NULL, false);
}

dart_ret_t dart_get_handle(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
			   dart_datatype_t dst_type, dart_handle_t *handle)
{
	WANT(handle);
	return rma(DARTC_GET, dest, gptr, nelem, dst_type, src_type, handle, false);
}

dart_ret_t dart_put_handle(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
			   dart_datatype_t dst_type, dart_handle_t *handle)
{
	WANT(handle);
	return rma(DARTC_PUT, unconst(src), gptr, nelem, src_type, dst_type, handle, false);
}

dart_ret_t dart_get_blocking(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
			     dart_datatype_t dst_type)
{
	return rma(DARTC_GET, dest, gptr, nelem, dst_type, src_type, NULL, true);
}

dart_ret_t dart_put_blocking(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
			     dart_datatype_t dst_type)
{
	return rma(DARTC_PUT, unconst(src), gptr, nelem, src_type, dst_type, NULL, true);
}

static dart_ret_t flush(dart_gptr_t gptr, bool all, bool local)
{
	struct dartc_seg *s;

	UP();
	s = d3_find(gptr);
	WANT(s);
	return (dart_ret_t)(all ? dartc_far_flush_all(s, local) : dartc_flush(s, gptr.unitid, local));
}

dart_ret_t dart_flush(dart_gptr_t gptr)
{
	return flush(gptr, false, false);
}

dart_ret_t dart_flush_all(dart_gptr_t gptr)
{
	return flush(gptr, true, false);
}

dart_ret_t dart_flush_local(dart_gptr_t gptr)
{
	return flush(gptr, false, true);
}

dart_ret_t dart_flush_local_all(dart_gptr_t gptr)
{
	return flush(gptr, true, true);
}

static dart_ret_t waitall(dart_handle_t handles[], size_t n, bool local)
{
	UP();
	WANT(handles || !n);
	return (dart_ret_t)dartc_handles_wait(handles, n, local);
}

dart_ret_t dart_wait(dart_handle_t *handle)
{
	WANT(handle);
	return waitall(handle, 1, false);
}

dart_ret_t dart_wait_local(dart_handle_t *handle)
{
	WANT(handle);
	return waitall(handle, 1, true);
}

dart_ret_t dart_waitall(dart_handle_t handles[], size_t n)
{
	return waitall(handles, n, false);
}

dart_ret_t dart_waitall_local(dart_handle_t handles[], size_t n)
{
	return waitall(handles, n, true);
}

static dart_ret_t testall(dart_handle_t handles[], size_t n, bool local, int32_t *is_finished)
{
	UP();
	WANT((handles || !n) && is_finished);
	return (dart_ret_t)dartc_handles_test(handles, n, local, is_finished);
}

dart_ret_t dart_test(dart_handle_t *handle, int32_t *is_finished)
{
	WANT(handle);
	return testall(handle, 1, false, is_finished);
}

dart_ret_t dart_test_local(dart_handle_t *handle, int32_t *is_finished)
{
	WANT(handle);
	return testall(handle, 1, true, is_finished);
}

dart_ret_t dart_testall(dart_handle_t handles[], size_t n, int32_t *is_finished)
{
	return testall(handles, n, false, is_finished);
}

dart_ret_t dart_testall_local(dart_handle_t handles[], size_t n, int32_t *is_finished)
{
	return testall(handles, n, true, is_finished);
}

/* MPI has no way to forget one that is under way with its buffer: it is ended first. */
dart_ret_t dart_handle_free(dart_handle_t *handle)
{
	WANT(handle);
	return waitall(handle, 1, true);
}

static bool message(const void *buf, size_t n, dart_datatype_t dtype, int tag, dart_global_unit_t unit, int *count,
		    MPI_Datatype *type, bool *made)
{
	const struct d3_type *d = row(dtype);

	return d && (buf || !n) && tag >= 0 && tag <= 32767 && unit.id >= 0 && unit.id < dartc.size &&
	       dartc_big(n, d->mpi, count, type, made) == DARTC_OK;
}

/* Tags of messages are apart from those of locks and of what looks for progress. */
static MPI_Comm messages(void)
{
	return dartc_team(0)->comm;
}

dart_ret_t dart_send(const void *sendbuf, size_t nelem, dart_datatype_t dtype, int tag, dart_global_unit_t unit)
{
	MPI_Datatype type;
	bool made;
	int count, rc;

	UP();
	WANT(message(sendbuf, nelem, dtype, tag, unit, &count, &type, &made));
	rc = dartc_mpi(MPI_Send(sendbuf, count, type, unit.id, tag, messages()));
	if (made)
		MPI_Type_free(&type);
	return (dart_ret_t)rc;
}

dart_ret_t dart_recv(void *recvbuf, size_t nelem, dart_datatype_t dtype, int tag, dart_global_unit_t unit)
{
	MPI_Datatype type;
	bool made;
	int count, rc;

	UP();
	WANT(message(recvbuf, nelem, dtype, tag, unit, &count, &type, &made));
	rc = dartc_mpi(MPI_Recv(recvbuf, count, type, unit.id, tag, messages(), MPI_STATUS_IGNORE));
	if (made)
		MPI_Type_free(&type);
	return (dart_ret_t)rc;
}

dart_ret_t dart_sendrecv(const void *sendbuf, size_t send_nelem, dart_datatype_t send_dtype, int send_tag,
			 dart_global_unit_t dest, void *recvbuf, size_t recv_nelem, dart_datatype_t recv_dtype,
			 int recv_tag, dart_global_unit_t src)
{
	MPI_Datatype out, in;
	bool made_out, made_in;
	int nout, nin, rc;

	UP();
	WANT(message(sendbuf, send_nelem, send_dtype, send_tag, dest, &nout, &out, &made_out));
	if (!message(recvbuf, recv_nelem, recv_dtype, recv_tag, src, &nin, &in, &made_in)) {
		if (made_out)
			MPI_Type_free(&out);
		return DART_ERR_INVAL;
	}
	rc = dartc_mpi(MPI_Sendrecv(sendbuf, nout, out, dest.id, send_tag, recvbuf, nin, in, src.id, recv_tag,
				    messages(),
				    MPI_STATUS_IGNORE));
	if (made_out)
		MPI_Type_free(&out);
	if (made_in)
		MPI_Type_free(&in);
	return (dart_ret_t)rc;
}
