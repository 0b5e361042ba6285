/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem.h - OpenSHMEM over SMARTMAP: version 1.5, and what 1.6 adds (shmem(7) has the list)
 *
 * A symmetric object exists on every PE: a global or static variable of the program, or a block of the symmetric heap.
 * The address passed is always the own one; the library translates. All routines may be called from any thread,
 * between shmem_init() and shmem_finalize(); those marked collective from one thread at a time. Wrong arguments (a PE
 * that does not exist, an address that is not symmetric) end the job with a sentence.
 *
 * Here are constants, handles and the tables of types. The routines are in shmem_protos.h, generated from the tables as
 * they are in the library; the names without a type, for C11, in shmem_generic.h.
 */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

#define SHMEM_MAJOR_VERSION	1
#define SHMEM_MINOR_VERSION	5
#define SHMEM_MAX_NAME_LEN	64
#define SHMEM_VENDOR_STRING	"portals-mpt SHMEM"

#define SHMEM_THREAD_SINGLE	0
#define SHMEM_THREAD_FUNNELED	1
#define SHMEM_THREAD_SERIALIZED	2
#define SHMEM_THREAD_MULTIPLE	3

#define SHMEM_CMP_EQ	1
#define SHMEM_CMP_NE	2
#define SHMEM_CMP_GT	3
#define SHMEM_CMP_GE	4
#define SHMEM_CMP_LT	5
#define SHMEM_CMP_LE	6

/* How a context may be used: hints, or-able. */
#define SHMEM_CTX_PRIVATE	1l		/* by the thread that made it only */
#define SHMEM_CTX_SERIALIZED	2l		/* by one thread at a time */
#define SHMEM_CTX_NOSTORE	4l		/* its quiet and fence need not order plain stores */
#define SHMEM_CTX_SESSION_BATCH		1l
#define SHMEM_CTX_SESSION_TOTAL_OPS	1l	/* in config_mask: total_ops is given */

/* What put_signal does to the signal. */
#define SHMEM_SIGNAL_SET	1
#define SHMEM_SIGNAL_ADD	2

/* What a block of the heap will be used for: hints, or-able. */
#define SHMEM_MALLOC_ATOMICS_REMOTE	1l
#define SHMEM_MALLOC_SIGNAL_REMOTE	2l

/* Names of old. */
#define _SHMEM_MAJOR_VERSION	SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION	SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN	SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING	SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ		SHMEM_CMP_EQ
#define _SHMEM_CMP_NE		SHMEM_CMP_NE
#define _SHMEM_CMP_GT		SHMEM_CMP_GT
#define _SHMEM_CMP_GE		SHMEM_CMP_GE
#define _SHMEM_CMP_LT		SHMEM_CMP_LT
#define _SHMEM_CMP_LE		SHMEM_CMP_LE

/* Handles; of this PE alone. */
typedef struct shmemi_ctx *shmem_ctx_t;
#define SHMEM_CTX_INVALID	((shmem_ctx_t)0)

typedef struct {
	size_t total_ops;		/* operations that the session will make */
} shmem_ctx_session_config_t;

/* Standard RMA types: name, type. */
#define SHMEMI_TYPES_RMA(X)								\
	X(float, float) X(double, double) X(longdouble, long double)			\
	X(char, char) X(schar, signed char) X(short, short) X(int, int)			\
	X(long, long) X(longlong, long long)						\
	X(uchar, unsigned char) X(ushort, unsigned short) X(uint, unsigned int)		\
	X(ulong, unsigned long) X(ulonglong, unsigned long long)			\
	X(int8, int8_t) X(int16, int16_t) X(int32, int32_t) X(int64, int64_t)		\
	X(uint8, uint8_t) X(uint16, uint16_t) X(uint32, uint32_t) X(uint64, uint64_t)	\
	X(size, size_t) X(ptrdiff, ptrdiff_t)

/* Standard AMO types, which are the types of point-to-point synchronisation, too. */
#define SHMEMI_TYPES_AMO(X)								\
	X(int, int) X(long, long) X(longlong, long long) X(uint, unsigned int)		\
	X(ulong, unsigned long) X(ulonglong, unsigned long long)			\
	X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)	\
	X(size, size_t) X(ptrdiff, ptrdiff_t)

/* Types of wait_until and test of one variable: the two short ones are deprecated. */
#define SHMEMI_TYPES_P2P(X) SHMEMI_TYPES_AMO(X) X(short, short) X(ushort, unsigned short)

/* Types of wait, of the older names of atomic operations, and of those for fetch, set and swap; all deprecated. */
#define SHMEMI_TYPES_WAIT(X) X(short, short) SHMEMI_TYPES_OLD(X)
#define SHMEMI_TYPES_OLD(X) X(int, int) X(long, long) X(longlong, long long)
#define SHMEMI_TYPES_OLD_EXT(X) SHMEMI_TYPES_OLD(X) X(float, float) X(double, double)

/* Extended AMO types: for fetch, set and swap. */
#define SHMEMI_TYPES_AMO_EXT(X) SHMEMI_TYPES_AMO(X) X(float, float) X(double, double)

/* Bitwise AMO types. */
#define SHMEMI_TYPES_AMO_BIT(X)								\
	X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)	\
	X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)

#include <shmem_coll.h>
/* Types of the indexed forms, which are older than the tables above. */
#ifdef __cplusplus
#define SHMEMI_COMPLEX(T) __complex__ T
#else
#define SHMEMI_COMPLEX(T) T _Complex
#endif
#define SHMEMI_TYPES_IX(X)								\
	X(short, short) X(int, int) X(long, long) X(longlong, long long) X(float, float) X(double, double)	\
	X(longdouble, long double) X(complexf, SHMEMI_COMPLEX(float)) X(complexd, SHMEMI_COMPLEX(double))

#ifdef __cplusplus
extern "C" {
#endif
extern shmem_ctx_t SHMEM_CTX_DEFAULT;		/* any thread; PEs as in the world */
#define SHMEMI_(name) shmem_##name
#define SHMEMI_BARE(name) name
#include <shmem_protos.h>
#include <shmem_coll.h>
#include <shmem_legacy.h>
#undef SHMEMI_BARE
#undef SHMEMI_
#ifdef __cplusplus
}
#endif

#if defined(__GNUC__)
#include <shmem_inline.h>
#endif
#include <shmem_generic.h>
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__cplusplus)
#define SHMEMI_COLL_NAMES
#include <shmem_coll.h>
#endif

#endif
