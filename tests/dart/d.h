/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * d.h - the frame of the tests of DART: a function for each rule, called by all units; unit 0 prints a line for each
 *
 * "ok NAME", "not ok NAME" (some unit's CHECK failed) or "skip NAME reason"; the script run adds numbers and the way
 * that the program was started. DART is started before the first rule and ended after the last.
 */
#ifndef D_H
#define D_H

#include <mpi.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int me, units;
static _Atomic int failed;
static const char *why;

#define CHECK(cond)	d_check(!!(cond), __FILE__, __LINE__, #cond)
#define OK(call)	CHECK((call) == DART_OK)
#define INVAL(call)	CHECK((call) == DART_ERR_INVAL)
#define REQUIRE(cond)	do { if (!CHECK(cond)) return; } while (0)
#define SKIP(reason)	do { why = (reason); return; } while (0)
#define T(f)		{ #f, f }

static inline bool d_check(bool good, const char *file, int line, const char *what)
{
	const char *base = strrchr(file, '/');

	if (!good && failed++ < 10)
		fprintf(stderr, "unit %d, %s:%d: not so: %s\n", me, base ? base + 1 : file, line, what);
	return good;
}

struct d_case {
	const char *name;
	void (*fn)(void);
};

/* Return: exit status. A rule that hangs is ended by the script. */
static inline int d_run(const struct d_case *c)
{
	const char *only = getenv("T_ONLY");
	int bad = 0, mine, any;

	for (; c->name; c++) {
		if (only && !strstr(c->name, only))
			continue;
		failed = 0;
		why = NULL;
		c->fn();
		mine = failed;
		MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		bad |= any;
		if (me == 0) {
			if (!any && why)
				printf("skip %s %s\n", c->name, why);
			else
				printf("%s %s\n", any ? "not ok" : "ok", c->name);
			fflush(stdout);
		}
	}
	return bad != 0;
}

static inline unsigned char d_byte(unsigned seed, size_t i)
{
	return (unsigned char)(((i + 1) * 2654435761u + seed * 40503u) >> 11);
}

static inline void d_fill(void *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		((unsigned char *)p)[i] = d_byte(seed, i);
}

static inline bool d_right(const void *p, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		if (((const unsigned char *)p)[i] != d_byte(seed, i))
			return false;
	return true;
}

/* The same on all units, another each time. */
static inline unsigned d_random(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 8;
}

#endif
