/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * m.h - helpers of the MPI test programs
 *
 * A program runs its checks on all ranks and ends by m_finish(): exit status 0 when no check failed on any rank. Bytes
 * come from m_byte(): a function of seed and position, so that stale or shifted data never look right.
 */
#ifndef M_H
#define M_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int m_rank, m_size, m_failed;

/* CHECK(condition[, format, ...]): the first ten failures are told. Not exact under threads, except that none is lost. */
#define CHECK(cond, ...)							\
	do {									\
		if (!(cond))							\
			m_fail(__FILE__, __LINE__, #cond, " " __VA_ARGS__);	\
	} while (0)

__attribute__((unused, format(printf, 4, 5)))
static void m_fail(const char *file, int line, const char *what, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (__atomic_fetch_add(&m_failed, 1, __ATOMIC_RELAXED) >= 10)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "rank %d, %s:%d: not so: %s%s\n", m_rank, file, line, what, text);
}

static inline void m_start(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &m_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &m_size);
}

static inline int m_finish(void)
{
	int all = 0;

	MPI_Allreduce(&m_failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Finalize();
	return all != 0;
}

static inline void m_waitall(int n, MPI_Request *req)
{
	MPI_Status *st = malloc(n * sizeof(*st));	/* gcc warns of MPI_STATUSES_IGNORE, a small number cast */

	MPI_Waitall(n, req, st);
	free(st);
}

static inline uint64_t m_word(uint32_t seed, uint64_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ULL + seed * 0xbf58476d1ce4e5b9ULL;

	return (x ^ (x >> 29)) * 0x94d049bb133111ebULL;
}

static inline unsigned char m_byte(uint32_t seed, uint64_t i)
{
	return m_word(seed, i / 8) >> (8 * (i % 8));
}

__attribute__((unused)) static void m_fill(void *buf, size_t n, uint32_t seed)
{
	unsigned char *p = buf;
	size_t i = 0;
	uint64_t w;

	for (; i + 8 <= n; i += 8) {
		w = m_word(seed, i / 8);
		memcpy(p + i, &w, 8);
	}
	for (; i < n; i++)
		p[i] = m_byte(seed, i);
}

/* Position of the first wrong byte, or -1. */
__attribute__((unused)) static long m_wrong(const void *buf, size_t n, uint32_t seed)
{
	const unsigned char *p = buf;
	size_t i = 0;
	uint64_t w;

	for (; i + 8 <= n; i += 8) {
		w = m_word(seed, i / 8);
		if (memcmp(p + i, &w, 8) != 0)
			break;
	}
	for (; i < n; i++)
		if (p[i] != m_byte(seed, i))
			return i;
	return -1;
}

#endif
