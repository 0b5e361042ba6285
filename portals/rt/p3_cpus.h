/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* p3_cpus.h - sets of processors, and how they travel as text (internal to portals/rt) */
#ifndef P3_CPUS_H
#define P3_CPUS_H

#include <stddef.h>
#include <sys/types.h>

#define P3_CPU_WORDS	128			/* 64-bit words: 8192 processors */
#define P3_CPUS_TEXT	(2 * sizeof(struct p3_cpus) + 3)

struct p3_cpus { unsigned long w[P3_CPU_WORDS]; };

/* Where process @pid (0: this thread) may run. 0, or -1 with errno. */
int p3_cpus_get(pid_t pid, struct p3_cpus *c);

int p3_cpus_count(const struct p3_cpus *c);
void p3_cpus_or(struct p3_cpus *to, const struct p3_cpus *c);

/* Hexadecimal bytes, processor 0 first, without the zeros at the end; P3_CPUS_TEXT bytes are enough. */
void p3_cpus_print(const struct p3_cpus *c, char *s, size_t len);

/* 0, or -1: not of that form. */
int p3_cpus_parse(const char *s, struct p3_cpus *c);

/* Value of a lower-case hexadecimal digit, or -1. */
int p3_hex_digit(char c);

#endif
