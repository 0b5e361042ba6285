/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * amo.c - atomic operations on 64 bits, generated from one table at the end
 *
 * In a window they are the processor's own, elsewhere Portals does them at the target with the same instructions: so
 * all are atomic with each other. afax is the one that neither has: it becomes one of theirs where the masks allow,
 * or a loop of compare-and-swap.
 */
#include "dmappi.h"

#define HOT static inline __attribute__((always_inline))

/* Locked instructions are full fences on x86-64; others' are not. */
static inline void amo_fence(void)
{
#ifndef __x86_64__
	dmappi_fence();
#endif
}

/* An operation as libsma and Portals know it: new = op(old, value, cond). */
struct plain {
	bool is;			/* false: none of them */
	enum shmemi_amo op;
	uint64_t value, cond;
};

/* new = (old & and) ^ xor */
static struct plain plain_fax(uint64_t and, uint64_t xor)
{
	if (!and)
		return (struct plain){ true, SHMEMI_AMO_SWAP, xor, 0 };
	if (!xor)
		return (struct plain){ true, SHMEMI_AMO_AND, and, 0 };
	if (and == UINT64_MAX)
		return (struct plain){ true, SHMEMI_AMO_XOR, xor, 0 };
	if (!(and & xor))
		return (struct plain){ true, SHMEMI_AMO_MSWAP, xor, ~and };
	return (struct plain){ false, SHMEMI_AMO_CSWAP, 0, 0 };
}

static struct plain plain_of(dmapp_amo_op_t op, uint64_t a, uint64_t b)
{
	switch (op) {
	case DMAPP_AADD:
		return (struct plain){ true, SHMEMI_AMO_ADD, a, 0 };
	case DMAPP_AAND:
		return (struct plain){ true, SHMEMI_AMO_AND, a, 0 };
	case DMAPP_AOR:
		return (struct plain){ true, SHMEMI_AMO_OR, a, 0 };
	case DMAPP_AXOR:
		return (struct plain){ true, SHMEMI_AMO_XOR, a, 0 };
	case DMAPP_ACSWAP:
		return (struct plain){ true, SHMEMI_AMO_CSWAP, b, a };
	default:
		return plain_fax(a, b);
	}
}

HOT uint64_t here(uint64_t *p, dmapp_amo_op_t op, uint64_t a, uint64_t b)
{
	uint64_t old;

	switch (op) {
	case DMAPP_AADD:
		return __atomic_fetch_add(p, a, __ATOMIC_SEQ_CST);
	case DMAPP_AAND:
		return __atomic_fetch_and(p, a, __ATOMIC_SEQ_CST);
	case DMAPP_AOR:
		return __atomic_fetch_or(p, a, __ATOMIC_SEQ_CST);
	case DMAPP_AXOR:
		return __atomic_fetch_xor(p, a, __ATOMIC_SEQ_CST);
	case DMAPP_ACSWAP:
		old = a;
		__atomic_compare_exchange_n(p, &old, b, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
		return old;
	default:
		if (!a)
			return __atomic_exchange_n(p, b, __ATOMIC_SEQ_CST);
		old = __atomic_load_n(p, __ATOMIC_RELAXED);
		while (!__atomic_compare_exchange_n(p, &old, (old & a) ^ b, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			;
		return old;
	}
}

static dmapp_return_t far_block(const struct dmappi_at *at, enum shmemi_amo op, uint64_t value, uint64_t cond,
				uint64_t *old)
{
	struct shmemi_waiter w = { .tolerant = true, .pe = at->pe };

	L->amo(&at->to, op, value, cond, at->pe, old, &w);
	return dmappi_wait(&w);
}

/* afax by a loop; the word may change in between. */
static dmapp_return_t far_fax(const struct dmappi_at *at, uint64_t and, uint64_t xor, uint64_t *old)
{
	uint64_t seen = 0, was;
	dmapp_return_t rc = far_block(at, SHMEMI_AMO_FETCH, 0, 0, &seen);

	while (rc == DMAPP_RC_SUCCESS) {
		was = seen;
		rc = far_block(at, SHMEMI_AMO_CSWAP, (was & and) ^ xor, was, &seen);
		if (seen == was)
			break;
	}
	*old = seen;
	return rc;
}

static __attribute__((noinline)) dmapp_return_t slow(enum dmappi_mode mode, dmapp_syncid_handle_t *id,
						     dmapp_amo_op_t code,
						     void *fetch, void *remote, dmapp_seg_desc_t *seg, dmapp_pe_t pe,
						     uint64_t a, uint64_t b)
{
	struct plain p = plain_of(code, a, b);
	struct dmappi_at at;
	struct dmappi_op op;
	dmapp_return_t rc;
	uint64_t old;

	if (!dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	if ((uintptr_t)remote & 7)
		return DMAPP_RC_ALIGNMENT_ERROR;
	rc = dmappi_find(remote, seg, 8, pe, &at);
	if (rc == DMAPP_RC_SUCCESS && !at.here && !at.net)
		rc = DMAPP_RC_PERMISSION_ERROR;		/* the kernel's copies are not atomic */
	if (rc == DMAPP_RC_SUCCESS)
		rc = dmappi_begin(&op, mode, id);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	if (at.here || !p.is) {
		if (at.here)
			old = here((uint64_t *)(void *)at.here, code, a, b);
		else
			rc = far_fax(&at, a, b, &old);
		if (fetch && rc == DMAPP_RC_SUCCESS)
			memcpy(fetch, &old, 8);
	} else {
		L->amo(&at.to, p.op, p.value, p.cond, pe, fetch, op.w);
	}
	return dmappi_done(&op, rc);
}

dmapp_return_t dmappi_amo(enum shmemi_amo op, void *addr, dmapp_seg_desc_t *seg, dmapp_pe_t pe, uint64_t value,
			  uint64_t cond, uint64_t *old)
{
	switch (op) {
	case SHMEMI_AMO_ADD:
		return dmapp_afadd_qw(old, addr, seg, pe, (int64_t)value);
	case SHMEMI_AMO_CSWAP:
		return dmapp_acswap_qw(old, addr, seg, pe, (int64_t)cond, (int64_t)value);
	default:
		return dmapp_afor_qw(old, addr, seg, pe, 0);
	}
}

HOT dmapp_return_t put_like(enum dmappi_mode mode, dmapp_syncid_handle_t *id, dmapp_amo_op_t code, void *remote,
			    dmapp_seg_desc_t *seg, dmapp_pe_t pe, int64_t a)
{
	uintptr_t p;

	if (mode != DMAPPI_NB && __builtin_expect(!((uintptr_t)remote & 7), 1) &&
	    __builtin_expect((p = dmappi_here(remote, seg, 8, pe)) != 0, 1)) {
		here((uint64_t *)p, code, (uint64_t)a, 0);
		if (mode == DMAPPI_BLOCK)
			amo_fence();
		return DMAPP_RC_SUCCESS;
	}
	return slow(mode, id, code, NULL, remote, seg, pe, (uint64_t)a, 0);
}

HOT dmapp_return_t get_like(enum dmappi_mode mode, dmapp_syncid_handle_t *id, dmapp_amo_op_t code, void *fetch,
			    void *remote,
			    dmapp_seg_desc_t *seg, dmapp_pe_t pe, int64_t a, int64_t b)
{
	uintptr_t p;
	uint64_t old;

	if (__builtin_expect(!fetch, 0))
		return DMAPP_RC_INVALID_PARAM;
	if (mode != DMAPPI_NB && __builtin_expect(!((uintptr_t)remote & 7), 1) &&
	    __builtin_expect((p = dmappi_here(remote, seg, 8, pe)) != 0, 1)) {
		old = here((uint64_t *)p, code, (uint64_t)a, (uint64_t)b);
		if (mode == DMAPPI_BLOCK)
			amo_fence();
		memcpy(fetch, &old, 8);
		return DMAPP_RC_SUCCESS;
	}
	return slow(mode, id, code, fetch, remote, seg, pe, (uint64_t)a, (uint64_t)b);
}

/* ---- the table ---- */

#define UNPACK(...) __VA_ARGS__
#define ALIAS(name, as) extern __typeof__(name) as __attribute__((alias(#name)))
#define FORMS(name, FUNCTION, CODE, PARAMS, ARGS)						\
	dmapp_return_t dmapp_##name##_qw(UNPACK PARAMS)						\
	{											\
		return FUNCTION(DMAPPI_BLOCK, NULL, CODE, UNPACK ARGS);				\
	}											\
	dmapp_return_t dmapp_##name##_qw_nb(UNPACK PARAMS, dmapp_syncid_handle_t *syncid)	\
	{											\
		return FUNCTION(DMAPPI_NB, syncid, CODE, UNPACK ARGS);				\
	}											\
	dmapp_return_t dmapp_##name##_qw_nbi(UNPACK PARAMS)					\
	{											\
		return FUNCTION(DMAPPI_NBI, NULL, CODE, UNPACK ARGS);				\
	}											\
	ALIAS(dmapp_##name##_qw, dmapp_qw_##name);						\
	ALIAS(dmapp_##name##_qw_nb, dmapp_qw_##name##_nb);					\
	ALIAS(dmapp_##name##_qw_nbi, dmapp_qw_##name##_nbi);

#define TO(name, CODE)										\
	FORMS(name, put_like, CODE, (void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe,	\
				     int64_t operand),						\
	      (target_addr, target_seg, target_pe, operand))
#define FROM1(name, CODE)									\
	FORMS(name, get_like, CODE, (void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg,	\
				     dmapp_pe_t source_pe, int64_t operand),			\
	      (target_addr, source_addr, source_seg, source_pe, operand, 0))
#define FROM2(name, CODE)									\
	FORMS(name, get_like, CODE, (void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg,	\
				     dmapp_pe_t source_pe, int64_t first, int64_t second),	\
	      (target_addr, source_addr, source_seg, source_pe, first, second))

TO(aadd, DMAPP_AADD)
TO(aand, DMAPP_AAND)
TO(aor, DMAPP_AOR)
TO(axor, DMAPP_AXOR)
FROM1(afadd, DMAPP_AADD)
FROM1(afand, DMAPP_AAND)
FROM1(afor, DMAPP_AOR)
FROM1(afxor, DMAPP_AXOR)
FROM2(afax, DMAPP_AFAX)
FROM2(acswap, DMAPP_ACSWAP)

/* ---- the operation in a block ---- */

static dmapp_return_t block_put(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *remote, dmapp_seg_desc_t *seg,
				dmapp_pe_t pe, dmapp_amo_t *amo)
{
	if (!amo || (unsigned)amo->op > DMAPP_AXOR)
		return DMAPP_RC_INVALID_PARAM;
	return slow(mode, id, amo->op, NULL, remote, seg, pe, (uint64_t)amo->operand, 0);
}

static dmapp_return_t block_get(enum dmappi_mode mode, dmapp_syncid_handle_t *id, void *fetch, void *remote,
				dmapp_seg_desc_t *seg, dmapp_pe_t pe, dmapp_amo_t *amo)
{
	if (!amo || !fetch || (unsigned)amo->op > DMAPP_ACSWAP)
		return DMAPP_RC_INVALID_PARAM;
	return slow(mode, id, amo->op, fetch, remote, seg, pe, (uint64_t)amo->operand, (uint64_t)amo->operand2);
}

#define BLOCK(name, FUNCTION, PARAMS, ARGS)							\
	dmapp_return_t name(UNPACK PARAMS)							\
	{											\
		return FUNCTION(DMAPPI_BLOCK, NULL, UNPACK ARGS);				\
	}											\
	dmapp_return_t name##_nb(UNPACK PARAMS, dmapp_syncid_handle_t *syncid)			\
	{											\
		return FUNCTION(DMAPPI_NB, syncid, UNPACK ARGS);				\
	}											\
	dmapp_return_t name##_nbi(UNPACK PARAMS)						\
	{											\
		return FUNCTION(DMAPPI_NBI, NULL, UNPACK ARGS);					\
	}
BLOCK(dmapp_amo_put, block_put, (void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe,
				 dmapp_amo_t *amo),
      (target_addr, target_seg, target_pe, amo))
BLOCK(dmapp_amo_get, block_get, (void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg,
				 dmapp_pe_t source_pe,
				 dmapp_amo_t *amo), (target_addr, source_addr, source_seg, source_pe, amo))

dmapp_return_t dmapp_amo_flush(dmapp_pe_t pe, uint64_t flags)
{
	if ((uint32_t)pe >= dmappi.npes || flags)
		return DMAPP_RC_INVALID_PARAM;
	return dmapp_gsync_wait();	/* they are not counted by PE */
}
