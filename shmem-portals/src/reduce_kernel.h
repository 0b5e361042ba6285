/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * reduce_kernel.h - the kernels, once for each instruction set: KERNELS is the table's name
 *
 * Plain loops, which the compiler turns into vector instructions once it knows that out[] is an operand itself or far
 * from it. long double has none, so nothing is claimed for it.
 */
#ifdef __clang__
#define EACH _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH _Pragma("GCC ivdep")
#endif

#define KERNEL(PRAGMA, N, T, expr)								\
	static void N(void *out, const void *left, const void *right, size_t n)			\
	{											\
		const T *a = left, *b = right;							\
		T *o = out;									\
												\
		PRAGMA										\
		for (size_t i = 0; i < n; i++)							\
			o[i] = (T)(expr);							\
	}
/* @W: at least as wide, and unsigned from int on: products of short types would overflow a signed one. */
#define BITS(N, T, W)										\
	KERNEL(EACH, and_##N, T, a[i] & b[i]) KERNEL(EACH, or_##N, T, a[i] | b[i])		\
	KERNEL(EACH, xor_##N, T, a[i] ^ b[i]) KERNEL(EACH, sum_##N, T, (W)a[i] + (W)b[i])	\
	KERNEL(EACH, prod_##N, T, (W)a[i] * (W)b[i])
#define ORDER(PRAGMA, N, T)									\
	KERNEL(PRAGMA, max_##N, T, b[i] > a[i] ? b[i] : a[i]) KERNEL(PRAGMA, min_##N, T, b[i] < a[i] ? b[i] : a[i])
#define FLOAT(PRAGMA, N, T)									\
	ORDER(PRAGMA, N, T)									\
	KERNEL(PRAGMA, sum_##N, T, a[i] + b[i]) KERNEL(PRAGMA, prod_##N, T, a[i] * b[i])
/* Pairs of real and imaginary part, as complex numbers lie in memory. */
#define COMPLEX(N, T)										\
	static void sum_##N(void *out, const void *left, const void *right, size_t n)		\
	{											\
		const T *a = left, *b = right;							\
		T *o = out;									\
												\
		EACH										\
		for (size_t i = 0; i < 2 * n; i++)						\
			o[i] = a[i] + b[i];							\
	}											\
	static void prod_##N(void *out, const void *left, const void *right, size_t n)		\
	{											\
		const T *a = left, *b = right;							\
		T *o = out;									\
												\
		EACH										\
		for (size_t i = 0; i < n; i++) {						\
			T re = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];		\
			T im = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];		\
												\
			o[2 * i] = re;								\
			o[2 * i + 1] = im;							\
		}										\
	}

BITS(8, uint8_t, unsigned) BITS(16, uint16_t, unsigned) BITS(32, uint32_t, uint32_t) BITS(64, uint64_t, uint64_t)
ORDER(EACH, s8, int8_t) ORDER(EACH, s16, int16_t) ORDER(EACH, s32, int32_t) ORDER(EACH, s64, int64_t)
ORDER(EACH, u8, uint8_t) ORDER(EACH, u16, uint16_t) ORDER(EACH, u32, uint32_t) ORDER(EACH, u64, uint64_t)
FLOAT(EACH, float, float) FLOAT(EACH, double, double) FLOAT(, longdouble, long double)
COMPLEX(complexf, float) COMPLEX(complexd, double)

#define INTEGER(sign, bits)									\
	{ and_##bits, or_##bits, xor_##bits, max_##sign##bits, min_##sign##bits, sum_##bits, prod_##bits }
#define REAL(N) { NULL, NULL, NULL, max_##N, min_##N, sum_##N, prod_##N }

shmemi_kernels KERNELS = {
	INTEGER(s, 8), INTEGER(s, 16), INTEGER(s, 32), INTEGER(s, 64),
	INTEGER(u, 8), INTEGER(u, 16), INTEGER(u, 32), INTEGER(u, 64),
	REAL(float), REAL(double), REAL(longdouble),
	{ [SHMEMI_OP_SUM] = sum_complexf, [SHMEMI_OP_PROD] = prod_complexf },
	{ [SHMEMI_OP_SUM] = sum_complexd, [SHMEMI_OP_PROD] = prod_complexd },
};
