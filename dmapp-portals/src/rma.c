/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * rma.c - put and get in all their forms, generated from one table at the end
 *
 * Where loads and stores reach the other side the calling processor copies, and nonblocking forms are complete when
 * they return, unless the engine takes them (engine.c). A vector is looked at once: its lowest and its highest byte;
 * then it is one loop with an element of constant size.
 */
#include <smartmap.h>

#include "dmappi.h"

#define HOT static inline __attribute__((always_inline))

static dmapp_return_t begin_vector(const void *p, uint64_t n, dmapp_type_t type)
{
	if (dmappi_bad_type(type) || n >> (62 - type) || (n && !p))
		return DMAPP_RC_INVALID_PARAM;
	return dmappi.npes ? DMAPP_RC_SUCCESS : DMAPP_RC_INVALID_PARAM;
}

/* ---- contiguous ---- */

/* What is not as usual: far, long, wrong, or for the engine. */
static __attribute__((noinline)) dmapp_return_t contiguous(bool put, enum dmappi_mode mode, void *remote, char *own,
							   dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint64_t nelems,
							   dmapp_type_t type, dmapp_syncid_handle_t *id)
{
	size_t n = (size_t)nelems << (type & 7);
	dmapp_return_t rc = begin_vector(own, nelems, type);
	const struct dmappi_thread *self;
	struct dmappi_at at;
	struct dmappi_op op;

	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_find(remote, seg, n, pe, &at);
	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_begin(&op, mode, id);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	if (!n)
		return dmappi_done(&op, DMAPP_RC_SUCCESS);
	if (!at.here)
		rc = put ? dmappi_far_put(&at, 0, own, n, op.w) : dmappi_far_get(&at, 0, own, n, op.w);
	else if (mode != DMAPPI_BLOCK && dmappi.engine && (self = dmappi_self()) && n >= self->threshold &&
		 dmappi_engine_copy(put ? at.here : own, put ? own : at.here, n, op.w))
		;
	else if (put)
		L->copy_out(at.here, own, n);
	else
		smartmap_copy(own, at.here, n);
	return dmappi_done(&op, rc);
}

#define LONG	((size_t)64 << 10)	/* bytes from which on a copy is not of the usual ones */

HOT bool usual(const void *own, uint64_t nelems, dmapp_type_t type, enum dmappi_mode mode)
{
	return own && !dmappi_bad_type(type) && nelems - 1 < LONG >> type &&
		(mode == DMAPPI_BLOCK || (mode == DMAPPI_NBI && !dmappi.engine));
}

HOT dmapp_return_t put(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *remote, dmapp_seg_desc_t *seg,
		       dmapp_pe_t pe, void *own, uint64_t nelems, dmapp_type_t type)
{
	uintptr_t p;

	if (__builtin_expect(usual(own, nelems, type, mode), 1) &&
	    __builtin_expect((p = dmappi_here(remote, seg, (size_t)nelems << type, pe)) != 0, 1)) {
		smartmap_copy((char *)p, own, (size_t)nelems << type);
		if (mode == DMAPPI_BLOCK)
			dmappi_fence();
		return DMAPP_RC_SUCCESS;
	}
	return contiguous(true, mode, remote, own, seg, pe, nelems, type, id);
}

HOT dmapp_return_t get(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *own, void *remote, dmapp_seg_desc_t *seg,
		       dmapp_pe_t pe, uint64_t nelems, dmapp_type_t type)
{
	uintptr_t p;

	if (__builtin_expect(usual(own, nelems, type, mode), 1) &&
	    __builtin_expect((p = dmappi_here(remote, seg, (size_t)nelems << type, pe)) != 0, 1)) {
		smartmap_copy(own, (const char *)p, (size_t)nelems << type);
		return DMAPP_RC_SUCCESS;	/* what is loaded is here: nothing to fence */
	}
	return contiguous(false, mode, remote, own, seg, pe, nelems, type, id);
}

/* ---- strided and indexed ---- */

/* What a vector touches: bytes from its element 0 to the lowest, and from there to the end of the highest. */
struct span {
	ptrdiff_t lo;
	size_t len;
};

static bool span_strided(struct span *s, ptrdiff_t stride, uint64_t n, dmapp_type_t type)
{
	ptrdiff_t last;

	if (__builtin_mul_overflow(stride, (ptrdiff_t)1 << type, &last) ||
	    __builtin_mul_overflow(last, (ptrdiff_t)(n - 1), &last))
		return false;
	s->lo = last < 0 ? last : 0;
	s->len = (last < 0 ? 0 - (size_t)last : (size_t)last) + ((size_t)1 << type);
	return true;
}

static bool span_indexed(struct span *s, const ptrdiff_t *idx, uint64_t n, dmapp_type_t type)
{
	ptrdiff_t lo = idx[0], hi = lo;

	for (uint64_t i = 1; i < n; i++) {
		lo = idx[i] < lo ? idx[i] : lo;
		hi = idx[i] > hi ? idx[i] : hi;
	}
	if (__builtin_mul_overflow(lo, (ptrdiff_t)1 << type, &lo) ||
	    __builtin_mul_overflow(hi, (ptrdiff_t)1 << type, &hi))
		return false;
	s->lo = lo;
	s->len = (size_t)hi - (size_t)lo + ((size_t)1 << type);
	return true;
}

#define BY_TYPE(type, LOOP)		\
	do {				\
		switch (type) {		\
		case DMAPP_BYTE:	\
			LOOP(1);	\
			break;		\
		case DMAPP_DW:		\
			LOOP(4);	\
			break;		\
		case DMAPP_QW:		\
			LOOP(8);	\
			break;		\
		default:		\
			LOOP(16);	\
		}			\
	} while (0)

#define STRIDED_LOOP(S)	do for (; n; n--, d += ds * (S), s += ss * (S)) smartmap_copy(d, s, S); while (0)

static void copy_strided(char *d, ptrdiff_t ds, const char *s, ptrdiff_t ss, uint64_t n, dmapp_type_t type)
{
	BY_TYPE(type, STRIDED_LOOP);
}

#define SCATTER_LOOP(S)	do for (uint64_t i = 0; i < n; i++) smartmap_copy(d + idx[i] * (S), s + i * (S), S); while (0)
#define GATHER_LOOP(S)	do for (uint64_t i = 0; i < n; i++) smartmap_copy(d + i * (S), s + idx[i] * (S), S); while (0)

static void copy_scatter(char *d, const char *s, const ptrdiff_t *idx, uint64_t n, dmapp_type_t type)
{
	BY_TYPE(type, SCATTER_LOOP);
}

static void copy_gather(char *d, const char *s, const ptrdiff_t *idx, uint64_t n, dmapp_type_t type)
{
	BY_TYPE(type, GATHER_LOOP);
}

/* The remote side of a vector: strides in elements, or @idx. @own is walked by @os. */
struct vector {
	bool put;
	char *remote, *own;
	dmapp_seg_desc_t *seg;
	dmapp_pe_t pe;
	ptrdiff_t rs, os;
	const ptrdiff_t *idx;
	uint64_t n;
	dmapp_type_t type;
};

static void vector_here(const struct vector *v, char *r)
{
	if (v->idx && v->put)
		copy_scatter(r, v->own, v->idx, v->n, v->type);
	else if (v->idx)
		copy_gather(v->own, r, v->idx, v->n, v->type);
	else if (v->put)
		copy_strided(r, v->rs, v->own, v->os, v->n, v->type);
	else
		copy_strided(v->own, v->os, r, v->rs, v->n, v->type);
}

/* Element by element, neighbours on both sides as one. */
static dmapp_return_t vector_far(const struct vector *v, const struct dmappi_at *at, ptrdiff_t lo,
				 struct shmemi_waiter *w)
{
	ptrdiff_t size = (ptrdiff_t)1 << v->type;
	dmapp_return_t rc = DMAPP_RC_SUCCESS;

	for (uint64_t i = 0, run; i < v->n && rc == DMAPP_RC_SUCCESS; i += run) {
		ptrdiff_t r = v->idx ? v->idx[i] : (ptrdiff_t)i * v->rs, o = (ptrdiff_t)i * v->os;
		size_t off = (size_t)(r * size - lo);

		for (run = 1; v->os == 1 && i + run < v->n; run++)
			if ((v->idx ? v->idx[i + run] : (ptrdiff_t)(i + run) * v->rs) != r + (ptrdiff_t)run)
				break;
		rc = v->put ? dmappi_far_put(at, off, v->own + o * size, run << v->type, w) :
			      dmappi_far_get(at, off, v->own + o * size, run << v->type, w);
	}
	return rc;
}

static dmapp_return_t vector(enum dmappi_mode mode, dmapp_syncid_handle_t *id, const struct vector *v)
{
	dmapp_return_t rc = begin_vector(v->own, v->n, v->type);
	struct span s, own;
	struct dmappi_at at;
	struct dmappi_op op;
	uintptr_t p;

	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	if (!v->n) {
		rc = dmappi_find(v->remote, v->seg, 0, v->pe, &at);
		if (rc == DMAPP_RC_SUCCESS)
			rc = dmappi_begin(&op, mode, id);
		return rc == DMAPP_RC_SUCCESS ? dmappi_done(&op, rc) : rc;
	}
	if (!(v->idx ? span_indexed(&s, v->idx, v->n, v->type) : span_strided(&s, v->rs, v->n, v->type)) ||
	    !span_strided(&own, v->os, v->n, v->type))
		return DMAPP_RC_INVALID_PARAM;
	p = dmappi_here(v->remote + s.lo, v->seg, s.len, v->pe);
	if (p && mode != DMAPPI_NB) {
		vector_here(v, (char *)p - s.lo);
		if (mode == DMAPPI_BLOCK)
			dmappi_fence();
		return DMAPP_RC_SUCCESS;
	}
	rc = dmappi_find(v->remote + s.lo, v->seg, s.len, v->pe, &at);
	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_begin(&op, mode, id);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	if (at.here)
		vector_here(v, at.here - s.lo);
	else
		rc = vector_far(v, &at, s.lo, op.w);
	return dmappi_done(&op, rc);
}

HOT dmapp_return_t iput(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *remote, dmapp_seg_desc_t *seg,
			dmapp_pe_t pe, void *own, ptrdiff_t tst, ptrdiff_t sst, uint64_t nelems, dmapp_type_t type)
{
	struct vector v = { true, remote, own, seg, pe, tst, sst, NULL, nelems, type };

	return vector(mode, id, &v);
}

HOT dmapp_return_t iget(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *own, void *remote,
			dmapp_seg_desc_t *seg,
			dmapp_pe_t pe, ptrdiff_t tst, ptrdiff_t sst, uint64_t nelems, dmapp_type_t type)
{
	struct vector v = { false, remote, own, seg, pe, sst, tst, NULL, nelems, type };

	return vector(mode, id, &v);
}

HOT dmapp_return_t ixput(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *remote, dmapp_seg_desc_t *seg,
			 dmapp_pe_t pe, void *own, ptrdiff_t *tidx, uint64_t nelems, dmapp_type_t type)
{
	struct vector v = { true, remote, own, seg, pe, 0, 1, tidx, nelems, type };

	return tidx || !nelems ? vector(mode, id, &v) : DMAPP_RC_INVALID_PARAM;
}

HOT dmapp_return_t ixget(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *own, void *remote,
			 dmapp_seg_desc_t *seg,
			 dmapp_pe_t pe, ptrdiff_t *sidx, uint64_t nelems, dmapp_type_t type)
{
	struct vector v = { false, remote, own, seg, pe, 0, 1, sidx, nelems, type };

	return sidx || !nelems ? vector(mode, id, &v) : DMAPP_RC_INVALID_PARAM;
}

/* ---- with a flag ---- */

dmapp_return_t dmappi_put(void *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, const void *own, size_t n)
{
	return dmapp_put(addr, seg, pe, (void *)(uintptr_t)own, n, DMAPP_BYTE);
}

dmapp_return_t dmappi_get(void *own, const void *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, size_t n)
{
	return dmapp_get(own, (void *)(uintptr_t)addr, seg, pe, n, DMAPP_BYTE);
}

dmapp_return_t dmappi_put_word(uint64_t *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint64_t value)
{
	uint64_t *p = (uint64_t *)dmappi_here(addr, seg, 8, pe);

	if (!p)
		return dmappi_put(addr, seg, pe, &value, 8);
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
	return DMAPP_RC_SUCCESS;
}

static dmapp_return_t flag_place(void *flag, dmapp_seg_desc_t *seg, dmapp_pe_t pe)
{
	struct dmappi_at at;

	if ((uintptr_t)flag & 7)
		return DMAPP_RC_ALIGNMENT_ERROR;
	return dmappi_find(flag, seg, 8, pe, &at);
}

/*
 * The data are there before the flag is sent: Portals promises no order between two messages that differ in size.
 * The operation was begun before its data moved: a call that finds no syncid has done nothing.
 */
static dmapp_return_t with_flag(struct dmappi_op *op, dmapp_return_t rc, uint64_t *flag, dmapp_seg_desc_t *seg,
				dmapp_pe_t pe, uint64_t value)
{
	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_put_word(flag, seg, pe, value);
	return dmappi_done(op, rc);
}

HOT dmapp_return_t put_flag(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *remote, dmapp_seg_desc_t *seg,
			    dmapp_pe_t pe, void *own, uint64_t nelems, dmapp_type_t type, void *flag, uint64_t value)
{
	dmapp_return_t rc = flag_place(flag, seg, pe);
	struct dmappi_op op;

	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_begin(&op, mode, id);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	rc = put(DMAPPI_BLOCK, NULL, remote, seg, pe, own, nelems, type);
	return with_flag(&op, rc, flag, seg, pe, value);
}

dmapp_return_t dmapp_get_flag_nbi(void *own, void *remote, dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint64_t nelems,
				  dmapp_type_t type, void *flag, uint64_t value)
{
	dmapp_return_t rc = flag_place(flag, seg, pe);
	struct dmappi_op op;

	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_begin(&op, DMAPPI_NBI, NULL);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	rc = get(DMAPPI_BLOCK, NULL, own, remote, seg, pe, nelems, type);
	return with_flag(&op, rc, flag, seg, pe, value);
}

/* ---- lists of PEs ---- */

static dmapp_return_t list_ok(const dmapp_seg_desc_t *seg, const dmapp_pe_t *list, uint32_t n)
{
	if (!list && n)
		return DMAPP_RC_INVALID_PARAM;
	for (uint32_t i = 0; i < n; i++)
		if ((uint32_t)list[i] >= dmappi.npes)
			return DMAPP_RC_INVALID_PARAM;
	return dmappi_symmetric(seg);
}

/* Each PE a copy of its own, all counted together. @own moves on by @step bytes from one to the next. */
static dmapp_return_t to_list(bool put, enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *remote,
			      dmapp_seg_desc_t *seg, const dmapp_pe_t *list, uint32_t num, char *own, uint64_t nelems,
			      dmapp_type_t type, bool moves)
{
	dmapp_return_t rc = begin_vector(own, nelems, type);
	size_t n = (size_t)nelems << (type & 7);
	struct dmappi_at at;
	struct dmappi_op op;

	if (rc == DMAPP_RC_SUCCESS)
		rc = list_ok(seg, list, num);
	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_find(remote, seg, n, dmappi.pe, &at);	/* symmetric: all or none */
	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_begin(&op, mode, id);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	for (uint32_t i = 0; n && i < num && rc == DMAPP_RC_SUCCESS; i++, own += moves ? n : 0) {
		rc = dmappi_find(remote, seg, n, list[i], &at);
		if (rc != DMAPP_RC_SUCCESS)
			break;
		if (at.here)
			smartmap_copy(put ? at.here : own, put ? own : at.here, n);
		else
			rc = put ? dmappi_far_put(&at, 0, own, n, op.w) : dmappi_far_get(&at, 0, own, n, op.w);
	}
	return dmappi_done(&op, rc);
}

HOT dmapp_return_t put_ixpe(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *remote, dmapp_seg_desc_t *seg,
			    dmapp_pe_t *list, uint32_t num, void *own, uint64_t nelems, dmapp_type_t type)
{
	return to_list(true, mode, id, remote, seg, list, num, own, nelems, type, false);
}

HOT dmapp_return_t scatter_ixpe(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *remote, dmapp_seg_desc_t *seg,
				dmapp_pe_t *list, uint32_t num, void *own, uint64_t nelems, dmapp_type_t type)
{
	return to_list(true, mode, id, remote, seg, list, num, own, nelems, type, true);
}

HOT dmapp_return_t gather_ixpe(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *own, void *remote,
			       dmapp_seg_desc_t *seg, dmapp_pe_t *list, uint32_t num, uint64_t nelems,
				dmapp_type_t type)
{
	return to_list(false, mode, id, remote, seg, list, num, own, nelems, type, true);
}

/* ---- the table ---- */

#define UNPACK(...) __VA_ARGS__
#define FORMS(name, PARAMS, ARGS)								\
	dmapp_return_t dmapp_##name(UNPACK PARAMS)						\
	{											\
		return name(DMAPPI_BLOCK, NULL, UNPACK ARGS);					\
	}											\
	dmapp_return_t dmapp_##name##_nb(UNPACK PARAMS, dmapp_syncid_handle_t *syncid)		\
	{											\
		return name(DMAPPI_NB, syncid, UNPACK ARGS);					\
	}											\
	dmapp_return_t dmapp_##name##_nbi(UNPACK PARAMS)					\
	{											\
		return name(DMAPPI_NBI, NULL, UNPACK ARGS);					\
	}

#define P_TO	void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void *source_addr
#define A_TO	target_addr, target_seg, target_pe, source_addr
#define P_FROM	void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t source_pe
#define A_FROM	target_addr, source_addr, source_seg, source_pe
#define P_LIST	void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t *target_pe_list,		\
	uint32_t num_target_pes, void *source_addr
#define A_LIST	target_addr, target_seg, target_pe_list, num_target_pes, source_addr
#define P_GATHER void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg,		\
	dmapp_pe_t *source_pe_list, uint32_t num_source_pes
#define A_GATHER target_addr, source_addr, source_seg, source_pe_list, num_source_pes
#define P_N	uint64_t nelems, dmapp_type_t type
#define A_N	nelems, type

/*
 * One element of 8 bytes, which most calls are: nothing but the lookup and a move. The rest has the same parameters,
 * so that the way there is a jump and this function saves no register.
 */
#define FORM_8(name, form, how, mode, PARAMS, ARGS, remote, seg, pe, d, s, FENCE)		\
	static __attribute__((noinline)) dmapp_return_t form##_rest(UNPACK PARAMS)		\
	{											\
		return how(mode, NULL, UNPACK ARGS);						\
	}											\
	dmapp_return_t dmapp_##form(UNPACK PARAMS)						\
	{											\
		uintptr_t p;									\
												\
		if (__builtin_expect(nelems != 1 || type != DMAPP_QW || !name, 0))		\
			return form##_rest(UNPACK ARGS);					\
		p = dmappi_here(remote, seg, 8, pe);						\
		if (__builtin_expect(!p, 0))							\
			return form##_rest(UNPACK ARGS);					\
		smartmap_copy((char *)(d), (const char *)(s), 8);					\
		FENCE;										\
		return DMAPP_RC_SUCCESS;							\
	}
#define PUT_8(form, mode, FENCE)								\
	FORM_8(source_addr, form, put, mode, (P_TO, P_N), (A_TO, A_N), target_addr, target_seg,	\
	       target_pe, p, source_addr, FENCE)
#define GET_8(form, mode)									\
	FORM_8(target_addr, form, get, mode, (P_FROM, P_N), (A_FROM, A_N), source_addr, source_seg,	\
	       source_pe, target_addr, p, (void)0)

PUT_8(put, DMAPPI_BLOCK, dmappi_fence())
PUT_8(put_nbi, DMAPPI_NBI, (void)0)
GET_8(get, DMAPPI_BLOCK)
GET_8(get_nbi, DMAPPI_NBI)

dmapp_return_t dmapp_put_nb(P_TO, P_N, dmapp_syncid_handle_t *syncid)
{
	return put(DMAPPI_NB, syncid, A_TO, A_N);
}

dmapp_return_t dmapp_get_nb(P_FROM, P_N, dmapp_syncid_handle_t *syncid)
{
	return get(DMAPPI_NB, syncid, A_FROM, A_N);
}

FORMS(iput, (P_TO, ptrdiff_t tst, ptrdiff_t sst, P_N), (A_TO, tst, sst, A_N))
FORMS(iget, (P_FROM, ptrdiff_t tst, ptrdiff_t sst, P_N), (A_FROM, tst, sst, A_N))
FORMS(ixput, (P_TO, ptrdiff_t *tidx, P_N), (A_TO, tidx, A_N))
FORMS(ixget, (P_FROM, ptrdiff_t *sidx, P_N), (A_FROM, sidx, A_N))
FORMS(put_flag, (P_TO, P_N, void *target_flag, uint64_t flag_value), (A_TO, A_N, target_flag, flag_value))
FORMS(put_ixpe, (P_LIST, P_N), (A_LIST, A_N))
FORMS(scatter_ixpe, (P_LIST, P_N), (A_LIST, A_N))
FORMS(gather_ixpe, (P_GATHER, P_N), (A_GATHER, A_N))
