/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_fork_sys.h - system calls without the C library
 *
 * Between the clone of a fork and the repair of the child's memory nothing of libc may run: its errno may lie in
 * memory that the child does not have yet.
 */
#ifndef SMAP_FORK_SYS_H
#define SMAP_FORK_SYS_H

#if defined(__x86_64__)
static inline __attribute__((always_inline)) long smap_sys6(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

#define smap_sys(nr, a, b, c) smap_sys6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#endif
#endif
