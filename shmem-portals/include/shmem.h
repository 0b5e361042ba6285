/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem.h - OpenSHMEM over SMARTMAP: what is there of version 1.5 (CAVEATS.md says what is not)
 *
 * A symmetric object exists on every PE: a global or static variable of the program, or a block of the symmetric heap.
 * The address passed is always the own one; the library translates. All routines may be called from any thread,
 * between shmem_init() and shmem_finalize(); those marked collective from one thread at a time. Wrong arguments (a PE
 * that does not exist, an address that is not symmetric) end the job with a sentence.
 *
 * The typed routines come from the three tables below, here and in the library.
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

/* Extended AMO types: for fetch, set and swap. */
#define SHMEMI_TYPES_AMO_EXT(X) SHMEMI_TYPES_AMO(X) X(float, float) X(double, double)

/* Bitwise AMO types. */
#define SHMEMI_TYPES_AMO_BIT(X)								\
	X(uint, unsigned int) X(ulong, unsigned long) X(ulonglong, unsigned long long)	\
	X(int32, int32_t) X(int64, int64_t) X(uint32, uint32_t) X(uint64, uint64_t)

#ifdef __cplusplus
extern "C" {
#endif
#define SHMEMI_(name) shmem_##name
#include <shmem_protos.h>
#undef SHMEMI_
#ifdef __cplusplus
}
#endif

/*
 * C11: one name for all types. Only base types stand in these lists: int64_t, size_t and so on are among them.
 */
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__cplusplus)
#define SHMEMI_BASE_RMA(X, op)							\
	X(float, float, op) X(double, double, op) X(longdouble, long double, op) X(char, char, op)	\
	X(schar, signed char, op) X(short, short, op) X(int, int, op) X(long, long, op)		\
	X(longlong, long long, op) X(uchar, unsigned char, op) X(ushort, unsigned short, op)	\
	X(uint, unsigned int, op) X(ulong, unsigned long, op) X(ulonglong, unsigned long long, op)
#define SHMEMI_BASE_AMO(X, op)							\
	X(int, int, op) X(long, long, op) X(longlong, long long, op) X(uint, unsigned int, op)	\
	X(ulong, unsigned long, op) X(ulonglong, unsigned long long, op)
#define SHMEMI_BASE_EXT(X, op) SHMEMI_BASE_AMO(X, op) X(float, float, op) X(double, double, op)
/* int and long are there as int32 and int64 only; on this ABI these are the same types. */
#define SHMEMI_BASE_BIT(X, op)							\
	X(uint, unsigned int, op) X(ulong, unsigned long, op) X(ulonglong, unsigned long long, op) \
	X(int32, int32_t, op) X(int64, int64_t, op)
#define SHMEMI_CASE(N, T, op)	, T *: shmem_##N##_##op
#define SHMEMI_CASEC(N, T, op)	, T *: shmem_##N##_##op, const T *: shmem_##N##_##op

#define shmem_put(dest, ...)	_Generic((dest) SHMEMI_BASE_RMA(SHMEMI_CASE, put))(dest, __VA_ARGS__)
#define shmem_get(dest, ...)	_Generic((dest) SHMEMI_BASE_RMA(SHMEMI_CASE, get))(dest, __VA_ARGS__)
#define shmem_put_nbi(dest, ...) _Generic((dest) SHMEMI_BASE_RMA(SHMEMI_CASE, put_nbi))(dest, __VA_ARGS__)
#define shmem_get_nbi(dest, ...) _Generic((dest) SHMEMI_BASE_RMA(SHMEMI_CASE, get_nbi))(dest, __VA_ARGS__)
#define shmem_iput(dest, ...)	_Generic((dest) SHMEMI_BASE_RMA(SHMEMI_CASE, iput))(dest, __VA_ARGS__)
#define shmem_iget(dest, ...)	_Generic((dest) SHMEMI_BASE_RMA(SHMEMI_CASE, iget))(dest, __VA_ARGS__)
#define shmem_p(dest, ...)	_Generic((dest) SHMEMI_BASE_RMA(SHMEMI_CASE, p))(dest, __VA_ARGS__)
#define shmem_g(src, ...)	_Generic((src) SHMEMI_BASE_RMA(SHMEMI_CASEC, g))(src, __VA_ARGS__)
#define shmem_atomic_fetch(src, ...) _Generic((src) SHMEMI_BASE_EXT(SHMEMI_CASEC, atomic_fetch))(src, __VA_ARGS__)
#define shmem_atomic_set(dest, ...) _Generic((dest) SHMEMI_BASE_EXT(SHMEMI_CASE, atomic_set))(dest, __VA_ARGS__)
#define shmem_atomic_swap(dest, ...) _Generic((dest) SHMEMI_BASE_EXT(SHMEMI_CASE, atomic_swap))(dest, __VA_ARGS__)
#define shmem_atomic_compare_swap(dest, ...)						\
	_Generic((dest) SHMEMI_BASE_AMO(SHMEMI_CASE, atomic_compare_swap))(dest, __VA_ARGS__)
#define shmem_atomic_fetch_add(dest, ...)						\
	_Generic((dest) SHMEMI_BASE_AMO(SHMEMI_CASE, atomic_fetch_add))(dest, __VA_ARGS__)
#define shmem_atomic_add(dest, ...) _Generic((dest) SHMEMI_BASE_AMO(SHMEMI_CASE, atomic_add))(dest, __VA_ARGS__)
#define shmem_atomic_fetch_inc(dest, ...)						\
	_Generic((dest) SHMEMI_BASE_AMO(SHMEMI_CASE, atomic_fetch_inc))(dest, __VA_ARGS__)
#define shmem_atomic_inc(dest, ...) _Generic((dest) SHMEMI_BASE_AMO(SHMEMI_CASE, atomic_inc))(dest, __VA_ARGS__)
#define shmem_atomic_fetch_and(dest, ...)						\
	_Generic((dest) SHMEMI_BASE_BIT(SHMEMI_CASE, atomic_fetch_and))(dest, __VA_ARGS__)
#define shmem_atomic_and(dest, ...) _Generic((dest) SHMEMI_BASE_BIT(SHMEMI_CASE, atomic_and))(dest, __VA_ARGS__)
#define shmem_atomic_fetch_or(dest, ...)						\
	_Generic((dest) SHMEMI_BASE_BIT(SHMEMI_CASE, atomic_fetch_or))(dest, __VA_ARGS__)
#define shmem_atomic_or(dest, ...) _Generic((dest) SHMEMI_BASE_BIT(SHMEMI_CASE, atomic_or))(dest, __VA_ARGS__)
#define shmem_atomic_fetch_xor(dest, ...)						\
	_Generic((dest) SHMEMI_BASE_BIT(SHMEMI_CASE, atomic_fetch_xor))(dest, __VA_ARGS__)
#define shmem_atomic_xor(dest, ...) _Generic((dest) SHMEMI_BASE_BIT(SHMEMI_CASE, atomic_xor))(dest, __VA_ARGS__)
#define shmem_wait_until(ivar, ...) _Generic((ivar) SHMEMI_BASE_AMO(SHMEMI_CASE, wait_until))(ivar, __VA_ARGS__)
#define shmem_test(ivar, ...)	_Generic((ivar) SHMEMI_BASE_AMO(SHMEMI_CASE, test))(ivar, __VA_ARGS__)
#endif

#endif
