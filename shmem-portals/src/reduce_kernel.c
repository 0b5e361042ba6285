/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * reduce_kernel.c - the kernels with the instructions that every processor of this kind has, and which are used
 *
 * GCC vectorises loops of unknown length from -O3 on only; Clang at -O2.
 */
#include "reduce.h"

#if defined(__OPTIMIZE__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

#define KERNELS shmemi_kernels_plain
#include "reduce_kernel.h"

shmemi_kernels *shmemi_kernels_used = &shmemi_kernels_plain;

void shmemi_kernels_start(void)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		shmemi_kernels_used = &shmemi_kernels_avx2;
#endif
}
