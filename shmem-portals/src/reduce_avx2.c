/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * reduce_avx2.c - the kernels once more, for processors that have AVX2: twice the width, and max and min of all
 * integers
 */
#include "reduce.h"

#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#ifdef __OPTIMIZE__
#pragma GCC optimize("O3")
#endif
#endif

#define KERNELS shmemi_kernels_avx2
#include "reduce_kernel.h"

#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
