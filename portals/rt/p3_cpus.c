/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* p3_cpus.c - see p3_cpus.h; pure functions but for one system call */
#include "config.h"

#include "p3_cpus.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

int p3_cpus_get(pid_t pid, struct p3_cpus *c)
{
	memset(c, 0, sizeof(*c));
	return sched_getaffinity(pid, sizeof(c->w), (cpu_set_t *)c->w);
}

int p3_cpus_count(const struct p3_cpus *c)
{
	int n = 0;

	for (int i = 0; i < P3_CPU_WORDS; i++)
		n += __builtin_popcountl(c->w[i]);
	return n;
}

void p3_cpus_or(struct p3_cpus *to, const struct p3_cpus *c)
{
	for (int i = 0; i < P3_CPU_WORDS; i++)
		to->w[i] |= c->w[i];
}

void p3_cpus_print(const struct p3_cpus *c, char *s, size_t len)
{
	size_t last = 0;

	for (size_t b = 0; b < sizeof(c->w); b++)
		if (c->w[b / sizeof(long)] >> (8 * (b % sizeof(long))) & 0xff)
			last = b;
	for (size_t b = 0; b <= last && 2 * b + 3 <= len; b++)
		snprintf(s + 2 * b, 3, "%02lx", c->w[b / sizeof(long)] >> (8 * (b % sizeof(long))) & 0xff);
}

int p3_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int p3_cpus_parse(const char *s, struct p3_cpus *c)
{
	memset(c, 0, sizeof(*c));
	for (size_t b = 0; *s; b++, s += 2) {
		int hi = p3_hex_digit(s[0]), lo = hi < 0 ? -1 : p3_hex_digit(s[1]);

		if (lo < 0 || b >= sizeof(c->w))
			return -1;
		c->w[b / sizeof(long)] |= (unsigned long)(hi * 16 + lo) << (8 * (b % sizeof(long)));
	}
	return 0;
}
