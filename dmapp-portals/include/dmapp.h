/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dmapp.h - DMAPP: one-sided access to the memory of the other PEs of a job
 *
 * A PE is a process of the job. Remote memory is named by an address, the descriptor of the segment that it lies in,
 * and the PE. Symmetric segments (data and bss of the executable, the symmetric heap) are addressed by the caller's
 * own addresses and the caller's own descriptors of dmapp_get_jobinfo(), for any PE; every other segment by what its
 * owner has got from dmapp_mem_register() and sent as plain bytes. The other side of an operation is any memory of
 * the caller's.
 *
 * Each operation on data has three forms:
 *
 *	name()		blocking: done and globally visible when it returns: every PE sees it before the
 *				caller's next load
 *	name_nb()	with a syncid, which must be tested (to be true) or waited for, otherwise its place is lost
 *	name_nbi()	complete behind the next dmapp_gsync_wait()
 *
 * The status of the latter two says only that the operation was begun. Until an operation is complete its local memory
 * belongs to it. No order is promised between operations but by completing the first before the second begins.
 *
 * Every call may be made by any thread at any time, except where it says otherwise. Calls that return a
 * dmapp_return_t return, besides what they name: DMAPP_RC_SUCCESS; DMAPP_RC_INVALID_PARAM for a NULL that may not be,
 * a PE or type that there is not, an address outside of its segment, too many bytes for any memory, before
 * dmapp_init() and behind dmapp_finalize(). Then nothing has been done.
 */
#ifndef DMAPP_H
#define DMAPP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a call returns; dmapp_explain_error() has a sentence for each. */
typedef enum dmapp_return {
	DMAPP_RC_SUCCESS = 0,
	DMAPP_RC_INVALID_PARAM,		/* see above */
	DMAPP_RC_ALIGNMENT_ERROR,	/* an atomic operation on an address that is no multiple of 8 */
	DMAPP_RC_TRANSACTION_ERROR,	/* the other PE is gone, or memory was not there, while data moved */
	DMAPP_RC_RESOURCE_ERROR,	/* no syncid is left, or a queue is full: complete some and call again */
	DMAPP_RC_PERMISSION_ERROR,	/* memory that cannot be reached in this way */
	DMAPP_RC_NO_SPACE,		/* a table is full, or no memory */
	DMAPP_RC_NOT_DONE,		/* not complete yet */
	DMAPP_RC_NOT_SUPPORTED,
	DMAPP_RC_NOT_FOUND,		/* a handle or segment that there is not (any more) */
	DMAPP_RC_BUSY,			/* a lock is held, a pset has an operation under way */
	DMAPP_RC_NOT_USED
} dmapp_return_t;

/* Elements. Strides and indices count in them. The number is log2 of the bytes. */
typedef enum dmapp_type {
	DMAPP_BYTE = 0,			/* 1 byte */
	DMAPP_DW = 2,			/* 4 */
	DMAPP_QW = 3,			/* 8 */
	DMAPP_DQW = 4			/* 16 */
} dmapp_type_t;

typedef int dmapp_pe_t;			/* 0 .. npes - 1 */

/* A segment. Plain bytes that mean the same on every PE. */
typedef struct dmapp_seg_desc {
	void *addr;			/* first byte, its address on the owner */
	size_t len;			/* bytes */
	uint64_t memhndl[2];		/* private */
	uint32_t flags, owner;		/* private */
} dmapp_seg_desc_t;

typedef struct dmapp_jobinfo {
	int version;			/* DMAPP_VERSION */
	int hw_version;			/* 0: none */
	int npes;
	dmapp_pe_t pe;
	dmapp_seg_desc_t data_seg;	/* data and bss of the executable */
	dmapp_seg_desc_t sheap_seg;	/* the symmetric heap */
} dmapp_jobinfo_t;

#define DMAPP_VERSION			1

#define DMAPP_OFFLOAD_THRESHOLD		4096u
#define DMAPP_MIN_OUTSTANDING_NB	1u
#define DMAPP_DEF_OUTSTANDING_NB	512u
#define DMAPP_MAX_OUTSTANDING_NB	65536u
#define DMAPP_MAX_THREADS_UNLIMITED	0xffffffffu
#define DMAPP_DEF_LOCKS			128u
#define DMAPP_LIMIT_LOCKS		1023u

/* How packets travel; accepted and given back, since everything here travels in order. */
enum {
	DMAPP_ROUTING_IN_ORDER, DMAPP_ROUTING_DETERMINISTIC, DMAPP_ROUTING_DETERMINISTIC_1, DMAPP_ROUTING_ADAPTIVE,
	DMAPP_ROUTING_ADAPTIVE_1, DMAPP_ROUTING_ADAPTIVE_2, DMAPP_ROUTING_ADAPTIVE_3
};

/* The same for the bus between network and memory. */
typedef enum dmapp_pi_reg_type {
	DMAPP_PI_ORDERING_STRICT, DMAPP_PI_ORDERING_DEFAULT, DMAPP_PI_ORDERING_RELAXED
} dmapp_pi_reg_type_t;
#define DMAPP_PI_RELAXED_ORDERING	DMAPP_PI_ORDERING_RELAXED

/*
 * Attributes. "init": cannot be changed behind dmapp_init(); asking for another value then is DMAPP_RC_INVALID_PARAM.
 */
typedef struct dmapp_rma_attrs {
	uint32_t max_outstanding_nb;	/* init; syncids that there are: MIN .. MAX_OUTSTANDING_NB */
	uint32_t offload_threshold;	/* bytes from which the nonblocking contiguous forms may be left to another
					   processor (DMAPP_ENGINE); of the calling thread */
	uint8_t put_relaxed_ordering;	/* DMAPP_ROUTING_...: puts and atomic operations */
	uint8_t get_relaxed_ordering;	/* gets */
	uint32_t max_concurrency;	/* init; threads that register: 1 .. DMAPP_MAX_THREADS_UNLIMITED */
} dmapp_rma_attrs_t;

#define DMAPP_QUEUE_DEFAULT_DEPTH	64u
#define DMAPP_QUEUE_DEFAULT_NELEMS	32u
#define DMAPP_QUEUE_MAX_NELEMS		128u
#define DMAPP_QUEUE_MAX_DEPTH		4096u
#define DMAPP_QUEUE_ASYNC_PROGRESS	1u	/* the callback runs in a thread of its own */

typedef struct dmapp_rma_attrs_ext {
	uint32_t max_outstanding_nb, offload_threshold;
	uint8_t put_relaxed_ordering, get_relaxed_ordering;
	uint32_t max_concurrency;
	dmapp_pi_reg_type_t PI_ordering;	/* init */
	uint32_t queue_depth;		/* init; messages that a queue holds: 1 .. DMAPP_QUEUE_MAX_DEPTH */
	uint32_t queue_nelems;		/* init; elements of a message: 1 .. DMAPP_QUEUE_MAX_NELEMS; depth times
					   32 + 16 * nelems must not be more than 256 KiB */
	uint32_t queue_flags;		/* init; 0 or DMAPP_QUEUE_ASYNC_PROGRESS, for all queues */
} dmapp_rma_attrs_ext_t;

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- start, end, query ---- */

/*
 * Collective. @requested: NULL for what dmapp_get_rma_attrs() says; @actual: NULL, or where it goes what is so. Joins
 * the job, makes the symmetric heap, compares both symmetric segments with a neighbour's (the job ends with a
 * sentence when they differ). A second call counts, and takes @requested as dmapp_set_rma_attrs() does.
 * DMAPP_RC_NOT_SUPPORTED: there is no job to join; DMAPP_RC_NO_SPACE. DMAPP_RC_INVALID_PARAM on all PEs: a variable of
 * PE 0's environment has a value that cannot be, and a sentence says which.
 */
dmapp_return_t dmapp_init(dmapp_rma_attrs_t *requested, dmapp_rma_attrs_t *actual);
dmapp_return_t dmapp_init_ext(dmapp_rma_attrs_ext_t *requested, dmapp_rma_attrs_ext_t *actual);
/* *flag: 1 between init and the last finalize, else 0. Always usable. */
dmapp_return_t dmapp_initialized(int *flag);
/*
 * Collective; a barrier. The last of as many calls as there were of init ends it, when all that this PE has begun is
 * complete; syncids end with it. DMAPP_RC_BUSY: queues are attached.
 */
dmapp_return_t dmapp_finalize(void);
/* Who this PE is, of how many, and the descriptors of its symmetric segments. */
dmapp_return_t dmapp_get_jobinfo(dmapp_jobinfo_t *info);
/* May be called before dmapp_init(): then the defaults. */
dmapp_return_t dmapp_get_rma_attrs(dmapp_rma_attrs_t *attrs);
dmapp_return_t dmapp_get_rma_attrs_ext(dmapp_rma_attrs_ext_t *attrs);
/* At once: the threshold of the calling thread, the orderings of this PE; the others are of init only. @actual: NULL,
 * or where it goes what is so. */
dmapp_return_t dmapp_set_rma_attrs(dmapp_rma_attrs_t *requested, dmapp_rma_attrs_t *actual);
dmapp_return_t dmapp_set_rma_attrs_ext(dmapp_rma_attrs_ext_t *requested, dmapp_rma_attrs_ext_t *actual);
/* A static sentence; for a number that is no code INVALID_PARAM, and "unknown". Always usable. */
dmapp_return_t dmapp_explain_error(dmapp_return_t err, const char **text);
/* Each may be NULL. Always usable. */
dmapp_return_t dmapp_get_version(int *major, int *minor, const char **text);
/* DMAPP_RC_NOT_SUPPORTED. */
dmapp_return_t dmapp_checkpoint(void);
dmapp_return_t dmapp_restart(uint32_t flags);
/*
 * Not needed, but counted: DMAPP_RC_RESOURCE_ERROR when max_concurrency threads have registered; the one that
 * initialises has. Twice: DMAPP_RC_BUSY. unregister waits for the thread's own nbi operations; NOT_FOUND: it has not
 * registered.
 */
dmapp_return_t dmapp_thread_register(void);
dmapp_return_t dmapp_thread_unregister(void);

/* ---- copies: contiguous, strided, indexed ---- */

typedef uint64_t dmapp_syncid_handle_t;	/* opaque */

/*
 * No address needs an alignment; an element of 4 or 8 bytes whose addresses have its own is moved as one. The _nb
 * forms: DMAPP_RC_RESOURCE_ERROR when max_outstanding_nb syncids are out. All: DMAPP_RC_NOT_FOUND when the
 * registration is gone, DMAPP_RC_PERMISSION_ERROR, DMAPP_RC_TRANSACTION_ERROR.
 */
dmapp_return_t dmapp_put(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void *source_addr,
			   uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_put_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void
			   *source_addr, uint64_t nelems, dmapp_type_t type, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_put_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void
			   *source_addr, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_get(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t source_pe,
			   uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_get_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, uint64_t nelems, dmapp_type_t type, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_get_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, uint64_t nelems, dmapp_type_t type);

/* Element i is at i * tst on the target, at i * sst on the source; strides may be 0 or negative. */
dmapp_return_t dmapp_iput(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void *source_addr,
			   ptrdiff_t tst, ptrdiff_t sst, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_iput_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void
			   *source_addr, ptrdiff_t tst, ptrdiff_t sst, uint64_t nelems, dmapp_type_t type,
			   dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_iput_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void
			   *source_addr, ptrdiff_t tst, ptrdiff_t sst, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_iget(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t source_pe,
			   ptrdiff_t tst, ptrdiff_t sst, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_iget_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, ptrdiff_t tst, ptrdiff_t sst, uint64_t nelems, dmapp_type_t type,
			   dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_iget_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, ptrdiff_t tst, ptrdiff_t sst, uint64_t nelems, dmapp_type_t type);

/* Scatter: the target's element tidx[i] := source[i]. Gather: target[i] := the source's element sidx[i]. */
dmapp_return_t dmapp_ixput(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void *source_addr,
			   ptrdiff_t *tidx, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_ixput_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void
			   *source_addr, ptrdiff_t *tidx, uint64_t nelems, dmapp_type_t type, dmapp_syncid_handle_t
			   *syncid);
dmapp_return_t dmapp_ixput_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void
			   *source_addr, ptrdiff_t *tidx, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_ixget(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t source_pe,
			   ptrdiff_t *sidx, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_ixget_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, ptrdiff_t *sidx, uint64_t nelems, dmapp_type_t type, dmapp_syncid_handle_t
			   *syncid);
dmapp_return_t dmapp_ixget_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, ptrdiff_t *sidx, uint64_t nelems, dmapp_type_t type);

/*
 * Data, then a flag: 64 bits in the same segment, aligned, which are stored when the data are seen there. The flag of
 * dmapp_get_flag_nbi(), at the source, says that the data have been read.
 */
dmapp_return_t dmapp_put_flag(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void
			   *source_addr, uint64_t nelems, dmapp_type_t type, void *target_flag, uint64_t
			   flag_value);
dmapp_return_t dmapp_put_flag_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void
			   *source_addr, uint64_t nelems, dmapp_type_t type, void *target_flag, uint64_t flag_value,
			   dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_put_flag_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, void
			   *source_addr, uint64_t nelems, dmapp_type_t type, void *target_flag, uint64_t
			   flag_value);
dmapp_return_t dmapp_get_flag_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, uint64_t nelems, dmapp_type_t type, void *source_flag, uint64_t flag_value);

/* ---- lists of PEs: symmetric segments only (else INVALID_PARAM) ---- */

/*
 * put: all listed PEs get the whole block. scatter: PE i of the list gets elements i * nelems and on. gather: joins
 * nelems of each in the order of the list. Nothing is done when one of the PEs does not exist.
 */
dmapp_return_t dmapp_put_ixpe(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t *target_pe_list, uint32_t
			   num_target_pes, void *source_addr, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_put_ixpe_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t *target_pe_list,
			   uint32_t num_target_pes, void *source_addr, uint64_t nelems, dmapp_type_t type,
			   dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_put_ixpe_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t *target_pe_list,
			   uint32_t num_target_pes, void *source_addr, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_scatter_ixpe(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t *target_pe_list,
			   uint32_t num_target_pes, void *source_addr, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_scatter_ixpe_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t *target_pe_list,
			   uint32_t num_target_pes, void *source_addr, uint64_t nelems, dmapp_type_t type,
			   dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_scatter_ixpe_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t *target_pe_list,
			   uint32_t num_target_pes, void *source_addr, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_gather_ixpe(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   *source_pe_list, uint32_t num_source_pes, uint64_t nelems, dmapp_type_t type);
dmapp_return_t dmapp_gather_ixpe_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   *source_pe_list, uint32_t num_source_pes, uint64_t nelems, dmapp_type_t type,
			   dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_gather_ixpe_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   *source_pe_list, uint32_t num_source_pes, uint64_t nelems, dmapp_type_t type);

/* ---- atomic operations on an aligned word of 64 bits ---- */

/*
 * Atomic with each other, with SHMEM's and with the processors' own on that memory. The second four give the old
 * value to *target_addr. afax: new = (old & and_mask) ^ xor_mask. DMAPP_RC_ALIGNMENT_ERROR; else as put.
 */
dmapp_return_t dmapp_aadd_qw(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_aadd_qw_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_aadd_qw_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_aand_qw(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_aand_qw_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_aand_qw_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_aor_qw(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t operand);
dmapp_return_t dmapp_aor_qw_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_aor_qw_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_axor_qw(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_axor_qw_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_axor_qw_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_afadd_qw(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_afadd_qw_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_afadd_qw_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_afand_qw(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_afand_qw_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_afand_qw_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_afor_qw(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_afor_qw_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_afor_qw_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_afxor_qw(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_afxor_qw_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_afxor_qw_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_afax_qw(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t and_mask, int64_t xor_mask);
dmapp_return_t dmapp_afax_qw_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t and_mask, int64_t xor_mask, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_afax_qw_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t and_mask, int64_t xor_mask);
dmapp_return_t dmapp_acswap_qw(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t comperand, int64_t swaperand);
dmapp_return_t dmapp_acswap_qw_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t comperand, int64_t swaperand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_acswap_qw_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t comperand, int64_t swaperand);

/* The same by the paper's names. */
dmapp_return_t dmapp_qw_aadd(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_qw_aadd_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_aadd_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_qw_aand(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_qw_aand_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_aand_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_qw_aor(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t operand);
dmapp_return_t dmapp_qw_aor_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_aor_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_qw_axor(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_qw_axor_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_axor_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, int64_t
			   operand);
dmapp_return_t dmapp_qw_afadd(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_qw_afadd_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_afadd_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_qw_afand(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_qw_afand_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_afand_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_qw_afor(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_qw_afor_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_afor_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_qw_afxor(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_qw_afxor_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_afxor_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t operand);
dmapp_return_t dmapp_qw_afax(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t and_mask, int64_t xor_mask);
dmapp_return_t dmapp_qw_afax_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t and_mask, int64_t xor_mask, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_afax_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t and_mask, int64_t xor_mask);
dmapp_return_t dmapp_qw_acswap(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t comperand, int64_t swaperand);
dmapp_return_t dmapp_qw_acswap_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t comperand, int64_t swaperand, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_qw_acswap_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, int64_t comperand, int64_t swaperand);

typedef enum dmapp_amo_op {
	DMAPP_AADD, DMAPP_AAND, DMAPP_AOR, DMAPP_AXOR, DMAPP_AFAX, DMAPP_ACSWAP
} dmapp_amo_op_t;
typedef struct dmapp_amo {
	dmapp_amo_op_t op;		/* amo_put takes the first four */
	int64_t operand, operand2;	/* and_mask, xor_mask; comperand, swaperand */
} dmapp_amo_t;
dmapp_return_t dmapp_amo_put(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, dmapp_amo_t
			   *amo);
dmapp_return_t dmapp_amo_put_nb(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, dmapp_amo_t
			   *amo, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_amo_put_nbi(void *target_addr, dmapp_seg_desc_t *target_seg, dmapp_pe_t target_pe, dmapp_amo_t
			   *amo);
dmapp_return_t dmapp_amo_get(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, dmapp_amo_t *amo);
dmapp_return_t dmapp_amo_get_nb(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, dmapp_amo_t *amo, dmapp_syncid_handle_t *syncid);
dmapp_return_t dmapp_amo_get_nbi(void *target_addr, void *source_addr, dmapp_seg_desc_t *source_seg, dmapp_pe_t
			   source_pe, dmapp_amo_t *amo);
/* All nbi atomic operations on @pe are complete. @flags: 0. */
dmapp_return_t dmapp_amo_flush(dmapp_pe_t pe, uint64_t flags);

/* ---- completion ---- */

/*
 * *flag: 1: complete, and the syncid is free again; 0: not yet (the call succeeds). wait frees it, too. Whether it went
 * wrong is said here: DMAPP_RC_TRANSACTION_ERROR, DMAPP_RC_NOT_FOUND. A syncid that is not out: DMAPP_RC_NOT_FOUND.
 */
dmapp_return_t dmapp_syncid_test(dmapp_syncid_handle_t *syncid, int *flag);
dmapp_return_t dmapp_syncid_wait(dmapp_syncid_handle_t *syncid);
/* All nbi operations of this PE; of the calling thread. Not those with a syncid. Errors likewise, once. */
dmapp_return_t dmapp_gsync_test(int *flag);
dmapp_return_t dmapp_gsync_wait(void);
dmapp_return_t dmapp_thread_gsync_test(int *flag);
dmapp_return_t dmapp_thread_gsync_wait(void);
/*
 * Take what has come, call the callbacks of queues and those registered here. Every wait does it as well, but for the
 * latter. A callback of a queue runs in the thread that does so, one at a time, and begins no wait. NO_SPACE: 16 are
 * registered; BUSY: this one is.
 */
typedef void dmapp_progress_cb_t(void *context);
dmapp_return_t dmapp_progress(void);
dmapp_return_t dmapp_register_progress_cb(dmapp_progress_cb_t *cb, void *context);
dmapp_return_t dmapp_deregister_progress_cb(dmapp_progress_cb_t *cb, void *context);

/* ---- symmetric heap ---- */

/*
 * All PEs make the same calls in the same order; no call is a barrier, and none compares. So memory may be used when
 * a barrier of the program's own has followed, and is freed behind one. NULL: no room, size 0. free of what is no
 * block does nothing. Memory of shmem_malloc() is of the same heap.
 */
void *dmapp_sheap_malloc(size_t size);
void *dmapp_sheap_realloc(void *ptr, size_t size);
void dmapp_sheap_free(void *ptr);
void *dmapp_heap_malloc(size_t size);
void *dmapp_heap_realloc(void *ptr, size_t size);
void dmapp_heap_free(void *ptr);

typedef struct dmapp_sheap_stats {
	size_t size, used, largest_free;	/* bytes */
	size_t blocks;			/* in use */
} dmapp_sheap_stats_t;
/* As it is on this PE. */
dmapp_return_t dmapp_sheap_stats(dmapp_sheap_stats_t *stats);

/* ---- registration ---- */

/*
 * Show own memory to the other PEs. Overlapping ranges may be registered. A range within one that is registered
 * already takes that one's place in the table (of _DMAPPI_NDREG_ENTRIES places; full: DMAPP_RC_NO_SPACE). A
 * descriptor whose range has been unregistered as often as registered is good for nothing any more: its use is
 * DMAPP_RC_NOT_FOUND (behind completion where the PE is on another node; and not where the PE has registered memory
 * 32766 times since: it may name that). Memory must be mapped (else DMAPP_RC_INVALID_PARAM), and stay so while it is
 * registered.
 */
dmapp_return_t dmapp_mem_register(void *addr, uint64_t length, dmapp_seg_desc_t *seg);
/* NOT_FOUND: not registered. INVALID_PARAM: not of this PE. Nobody may be using it. */
dmapp_return_t dmapp_mem_unregister(dmapp_seg_desc_t *seg);
/* reserve: a descriptor of memory that is shown by update, which may say another range within it. @flags: 0. */
dmapp_return_t dmapp_mem_reserve(void *addr, uint64_t length, uint64_t flags, dmapp_seg_desc_t *seg);
dmapp_return_t dmapp_mem_update(void *addr, uint64_t length, uint64_t flags, dmapp_seg_desc_t *seg);
/* *flag: 1: they name the same segment. */
dmapp_return_t dmapp_segdesc_compare(dmapp_seg_desc_t *a, dmapp_seg_desc_t *b, int *flag);

/* ---- collectives ---- */

typedef enum dmapp_c_type {
	DMAPP_C_INT32, DMAPP_C_INT64, DMAPP_C_UINT32, DMAPP_C_UINT64, DMAPP_C_FLOAT, DMAPP_C_DOUBLE
} dmapp_c_type_t;
typedef enum dmapp_c_op {
	DMAPP_C_MIN, DMAPP_C_MAX, DMAPP_C_SUM, DMAPP_C_PROD, DMAPP_C_AND, DMAPP_C_OR, DMAPP_C_XOR
} dmapp_c_op_t;
typedef enum dmapp_c_pset_delimiter {
	DMAPP_C_PSET_DELIMITER_STRIDED
} dmapp_c_pset_delimiter_t;
typedef struct dmapp_c_pset_delimiter_strided {
	uint32_t n_pes;
	dmapp_pe_t base_pe;
	int32_t stride_pe;		/* not 0 where n_pes > 1 */
} dmapp_c_pset_delimiter_strided_t;
typedef struct dmapp_c_pset_desc {
	void *concat_buf;		/* may be NULL; not needed here */
	uint64_t concat_buf_size;
	dmapp_c_pset_delimiter_t type;
	union {
		dmapp_c_pset_delimiter_strided_t stride_type;
	} u;
} dmapp_c_pset_desc_t;
#define DMAPP_C_PSET_MODE_CONCAT	1u
typedef struct dmappi_pset *dmapp_c_pset_handle_t;

/*
 * Members of a set of PEs create it with the same @id (not 0) and description, meet by other means, then each exports
 * it. One operation at a time: BUSY. NO_SPACE: 32 sets.
 */
dmapp_return_t dmapp_c_pset_create(dmapp_c_pset_desc_t *desc, uint64_t id, uint64_t modes, void *attrs,
				   dmapp_c_pset_handle_t *pset);
/* NOT_FOUND: a member has not created it. */
dmapp_return_t dmapp_c_pset_export(dmapp_c_pset_handle_t pset);
/* Behind its last operation, when all members have met again. BUSY: one is under way here. */
dmapp_return_t dmapp_c_pset_destroy(dmapp_c_pset_handle_t pset);
/* Begin. In a reduction the result, in @out, is the same to the last bit on all members. @in may be @out. */
dmapp_return_t dmapp_c_barrier_join(dmapp_c_pset_handle_t pset);
dmapp_return_t dmapp_c_greduce_start(dmapp_c_pset_handle_t pset, void *in, void *out, uint32_t nelems,
				     dmapp_c_type_t type, dmapp_c_op_t op);
/* How many elements of @type a reduction takes at most. */
dmapp_return_t dmapp_c_greduce_nelems_max(dmapp_c_type_t type, uint32_t *nelems);
/* DMAPP_RC_SUCCESS: complete; DMAPP_RC_NOT_DONE. NOT_FOUND: nothing was begun. */
dmapp_return_t dmapp_c_pset_test(dmapp_c_pset_handle_t pset);
dmapp_return_t dmapp_c_pset_wait(dmapp_c_pset_handle_t pset);
/*
 * This member takes part no longer in the operation under way; the set is good only to be destroyed then,
 * everywhere.
 */
dmapp_return_t dmapp_c_pset_cancel_op(dmapp_c_pset_handle_t pset);

/* ---- locks ---- */

/*
 * Zero before its first use; in a symmetric segment, aligned to 8. The lock is that of @host_pe. First come, first
 * served.
 */
typedef struct dmapp_lock_desc {
	uint64_t word, unused[7];
} dmapp_lock_desc_t;
typedef uint64_t dmapp_lock_handle_t;

/* @flags: 0. try: BUSY. NO_SPACE: this PE holds DMAPP_MAX_LOCKS locks. release: NOT_FOUND. */
dmapp_return_t dmapp_lock_acquire(dmapp_lock_desc_t *addr, dmapp_seg_desc_t *seg, dmapp_pe_t host_pe, uint64_t flags,
				  dmapp_lock_handle_t *handle);
dmapp_return_t dmapp_lock_try(dmapp_lock_desc_t *addr, dmapp_seg_desc_t *seg, dmapp_pe_t host_pe, uint64_t flags,
			      dmapp_lock_handle_t *handle);
dmapp_return_t dmapp_lock_release(dmapp_lock_handle_t handle, uint64_t flags);
dmapp_return_t dmapp_lock_release_addr(dmapp_lock_desc_t *addr, dmapp_pe_t host_pe, uint64_t flags);

/* ---- queues ---- */

typedef uint32_t dmapp_queue_handle_t;
/* @len: bytes of @data, which is the caller's only during the call; @rank: the sender. What it returns is not used. */
typedef int dmapp_queue_cb_t(void *context, void *data, uint32_t len, dmapp_pe_t rank);

/*
 * Each PE attaches its queues in the same order, and they meet before anybody puts. @flags: 0 or
 * DMAPP_QUEUE_ASYNC_PROGRESS. NO_SPACE: 4 are attached. put: RESOURCE_ERROR: the target's queue is full: call again
 * (and dmapp_progress(), as the target may be waiting for this PE). NOT_FOUND: not attached here, or there. Messages
 * of one thread to one PE stay in order. attach, detach: BUSY in a callback of a queue.
 */
dmapp_return_t dmapp_queue_attach(dmapp_queue_cb_t *cb, void *context, uint64_t flags, dmapp_queue_handle_t *queue);
dmapp_return_t dmapp_queue_put(dmapp_queue_handle_t queue, void *source, uint32_t nelems, dmapp_type_t type,
			       dmapp_pe_t target_pe, uint64_t flags);
/* What has come is handed out first. */
dmapp_return_t dmapp_queue_detach(dmapp_queue_handle_t queue, uint64_t flags);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
