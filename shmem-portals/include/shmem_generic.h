/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmem_generic.h - C11: one name for all types, with a context in front or without
 *
 * Part of <shmem.h>. The first argument decides, or the second when the first is a context. Each name ends in a call of
 * the routine with a type in its name, so tools see it. Only base types stand in the lists: int64_t, size_t and so on
 * are among them. A type for which there is no such routine gives an error that names shmemi_no_such_type.
 */
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__cplusplus)
#define SHMEMI_BASE_RMA(X, op)									\
	X(float, float, op) X(double, double, op) X(longdouble, long double, op)		\
	X(char, char, op) X(schar, signed char, op) X(short, short, op) X(int, int, op)		\
	X(long, long, op) X(longlong, long long, op) X(uchar, unsigned char, op)		\
	X(ushort, unsigned short, op) X(uint, unsigned int, op) X(ulong, unsigned long, op)	\
	X(ulonglong, unsigned long long, op)
#define SHMEMI_BASE_AMO(X, op)									\
	X(int, int, op) X(long, long, op) X(longlong, long long, op) X(uint, unsigned int, op)	\
	X(ulong, unsigned long, op) X(ulonglong, unsigned long long, op)
#define SHMEMI_BASE_EXT(X, op) SHMEMI_BASE_AMO(X, op) X(float, float, op) X(double, double, op)
#define SHMEMI_BASE_P2P(X, op) SHMEMI_BASE_AMO(X, op) X(short, short, op) X(ushort, unsigned short, op)
#define SHMEMI_BASE_OLD(X, op) X(int, int, op) X(long, long, op) X(longlong, long long, op)
#define SHMEMI_BASE_OLD_EXT(X, op) SHMEMI_BASE_OLD(X, op) X(float, float, op) X(double, double, op)
/* int and long are there as int32 and int64 only; on this ABI these are the same types. */
#define SHMEMI_BASE_BIT(X, op)									\
	X(uint, unsigned int, op) X(ulong, unsigned long, op) X(ulonglong, unsigned long long, op) \
	X(int32, int32_t, op) X(int64, int64_t, op)

void shmemi_no_such_type(void);		/* nowhere: to be called with arguments is the error */
#define SHMEMI_NO_TYPE		default: shmemi_no_such_type
#define SHMEMI_CASE(N, T, op)	, T *: shmem_##N##op
#define SHMEMI_CASEC(N, T, op)	, T *: shmem_##N##op, const T *: shmem_##N##op
#define SHMEMI_CTX(N, T, op)	, T *: shmem_ctx_##N##op
#define SHMEMI_CTXC(N, T, op)	, T *: shmem_ctx_##N##op, const T *: shmem_ctx_##N##op

/* What stands first and second; something always follows. */
#define SHMEMI_FIRST(a, ...)		a
#define SHMEMI_SECOND(a, b, ...)	b

#define SHMEMI_CHOOSE(LIST, CASE, op, arg) _Generic((arg), SHMEMI_NO_TYPE LIST(CASE, op))
#define SHMEMI_CHOOSE_CTX(LIST, CASE, CTX, op, ...)						\
	_Generic((SHMEMI_FIRST(__VA_ARGS__, 0)), SHMEMI_NO_TYPE,				\
		 shmem_ctx_t: SHMEMI_CHOOSE(LIST, CTX, op, SHMEMI_SECOND(__VA_ARGS__, 0))	\
		 LIST(CASE, op))(__VA_ARGS__)

/* The three kinds: with a context or without; the same, with a const pointer in front; never with a context. */
#define SHMEMI_GENERIC(LIST, op, ...)	SHMEMI_CHOOSE_CTX(LIST, SHMEMI_CASE, SHMEMI_CTX, op, __VA_ARGS__)
#define SHMEMI_GENERICC(LIST, op, ...)	SHMEMI_CHOOSE_CTX(LIST, SHMEMI_CASEC, SHMEMI_CTXC, op, __VA_ARGS__)
#define SHMEMI_PLAIN(LIST, op, ...)	\
	SHMEMI_CHOOSE(LIST, SHMEMI_CASE, op, SHMEMI_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)
#define SHMEMI_PLAINC(LIST, op, ...)	\
	SHMEMI_CHOOSE(LIST, SHMEMI_CASEC, op, SHMEMI_FIRST(__VA_ARGS__, 0))(__VA_ARGS__)

#define shmem_put(...)		SHMEMI_GENERIC(SHMEMI_BASE_RMA, _put, __VA_ARGS__)
#define shmem_get(...)		SHMEMI_GENERIC(SHMEMI_BASE_RMA, _get, __VA_ARGS__)
#define shmem_put_nbi(...)	SHMEMI_GENERIC(SHMEMI_BASE_RMA, _put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...)	SHMEMI_GENERIC(SHMEMI_BASE_RMA, _get_nbi, __VA_ARGS__)
#define shmem_iput(...)		SHMEMI_GENERIC(SHMEMI_BASE_RMA, _iput, __VA_ARGS__)
#define shmem_iget(...)		SHMEMI_GENERIC(SHMEMI_BASE_RMA, _iget, __VA_ARGS__)
#define shmem_ibput(...)	SHMEMI_GENERIC(SHMEMI_BASE_RMA, _ibput, __VA_ARGS__)
#define shmem_ibget(...)	SHMEMI_GENERIC(SHMEMI_BASE_RMA, _ibget, __VA_ARGS__)
#define shmem_p(...)		SHMEMI_GENERIC(SHMEMI_BASE_RMA, _p, __VA_ARGS__)
#define shmem_g(...)		SHMEMI_GENERICC(SHMEMI_BASE_RMA, _g, __VA_ARGS__)
#define shmem_put_signal(...)	SHMEMI_GENERIC(SHMEMI_BASE_RMA, _put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) SHMEMI_GENERIC(SHMEMI_BASE_RMA, _put_signal_nbi, __VA_ARGS__)
#define shmem_signal_set(...)	_Generic((SHMEMI_FIRST(__VA_ARGS__, 0)), shmem_ctx_t: shmem_ctx_signal_set, \
					 uint64_t *: shmem_signal_set)(__VA_ARGS__)
#define shmem_signal_add(...)	_Generic((SHMEMI_FIRST(__VA_ARGS__, 0)), shmem_ctx_t: shmem_ctx_signal_add, \
					 uint64_t *: shmem_signal_add)(__VA_ARGS__)

#define shmem_atomic_fetch(...)	SHMEMI_GENERICC(SHMEMI_BASE_EXT, _atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...)	SHMEMI_GENERIC(SHMEMI_BASE_EXT, _atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...)	SHMEMI_GENERIC(SHMEMI_BASE_EXT, _atomic_swap, __VA_ARGS__)
#define shmem_atomic_compare_swap(...) SHMEMI_GENERIC(SHMEMI_BASE_AMO, _atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) SHMEMI_GENERIC(SHMEMI_BASE_AMO, _atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_inc(...)	SHMEMI_GENERIC(SHMEMI_BASE_AMO, _atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) SHMEMI_GENERIC(SHMEMI_BASE_AMO, _atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_add(...)	SHMEMI_GENERIC(SHMEMI_BASE_AMO, _atomic_add, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) SHMEMI_GENERIC(SHMEMI_BASE_BIT, _atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_and(...)	SHMEMI_GENERIC(SHMEMI_BASE_BIT, _atomic_and, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) SHMEMI_GENERIC(SHMEMI_BASE_BIT, _atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_or(...)	SHMEMI_GENERIC(SHMEMI_BASE_BIT, _atomic_or, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) SHMEMI_GENERIC(SHMEMI_BASE_BIT, _atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_xor(...)	SHMEMI_GENERIC(SHMEMI_BASE_BIT, _atomic_xor, __VA_ARGS__)

#define shmem_atomic_fetch_nbi(...) SHMEMI_GENERIC(SHMEMI_BASE_EXT, _atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) SHMEMI_GENERIC(SHMEMI_BASE_EXT, _atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) SHMEMI_GENERIC(SHMEMI_BASE_AMO, _atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) SHMEMI_GENERIC(SHMEMI_BASE_AMO, _atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) SHMEMI_GENERIC(SHMEMI_BASE_AMO, _atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) SHMEMI_GENERIC(SHMEMI_BASE_BIT, _atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) SHMEMI_GENERIC(SHMEMI_BASE_BIT, _atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) SHMEMI_GENERIC(SHMEMI_BASE_BIT, _atomic_fetch_xor_nbi, __VA_ARGS__)

#define shmem_wait_until(...)	SHMEMI_PLAIN(SHMEMI_BASE_P2P, _wait_until, __VA_ARGS__)
#define shmem_test(...)		SHMEMI_PLAIN(SHMEMI_BASE_P2P, _test, __VA_ARGS__)
#define shmem_wait_until_all(...) SHMEMI_PLAIN(SHMEMI_BASE_AMO, _wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...) SHMEMI_PLAIN(SHMEMI_BASE_AMO, _wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...) SHMEMI_PLAIN(SHMEMI_BASE_AMO, _wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) SHMEMI_PLAIN(SHMEMI_BASE_AMO, _wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) SHMEMI_PLAIN(SHMEMI_BASE_AMO, _wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) SHMEMI_PLAIN(SHMEMI_BASE_AMO, _wait_until_some_vector, __VA_ARGS__)
#define shmem_test_all(...)	SHMEMI_PLAIN(SHMEMI_BASE_AMO, _test_all, __VA_ARGS__)
#define shmem_test_any(...)	SHMEMI_PLAIN(SHMEMI_BASE_AMO, _test_any, __VA_ARGS__)
#define shmem_test_some(...)	SHMEMI_PLAIN(SHMEMI_BASE_AMO, _test_some, __VA_ARGS__)
#define shmem_test_all_vector(...) SHMEMI_PLAIN(SHMEMI_BASE_AMO, _test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...) SHMEMI_PLAIN(SHMEMI_BASE_AMO, _test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...) SHMEMI_PLAIN(SHMEMI_BASE_AMO, _test_some_vector, __VA_ARGS__)

/* Deprecated. */
#define shmem_fetch(...)	SHMEMI_PLAINC(SHMEMI_BASE_OLD_EXT, _fetch, __VA_ARGS__)
#define shmem_set(...)		SHMEMI_PLAIN(SHMEMI_BASE_OLD_EXT, _set, __VA_ARGS__)
#define shmem_swap(...)		SHMEMI_PLAIN(SHMEMI_BASE_OLD_EXT, _swap, __VA_ARGS__)
#define shmem_cswap(...)	SHMEMI_PLAIN(SHMEMI_BASE_OLD, _cswap, __VA_ARGS__)
#define shmem_finc(...)		SHMEMI_PLAIN(SHMEMI_BASE_OLD, _finc, __VA_ARGS__)
#define shmem_inc(...)		SHMEMI_PLAIN(SHMEMI_BASE_OLD, _inc, __VA_ARGS__)
#define shmem_fadd(...)		SHMEMI_PLAIN(SHMEMI_BASE_OLD, _fadd, __VA_ARGS__)
#define shmem_add(...)		SHMEMI_PLAIN(SHMEMI_BASE_OLD, _add, __VA_ARGS__)
#endif
