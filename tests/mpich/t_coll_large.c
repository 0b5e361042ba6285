/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_coll_large - counts and offsets beyond 2^31
 *
 * The buffers are the same MiB over and over: what is right at each address does not depend on which copy of it was
 * written last. With T_COLL_LARGE=all there are also buffers of their own, of 2 GiB and more for each rank, and
 * reductions.
 */
#define _GNU_SOURCE
#include "m.h"
#include <sys/mman.h>
#include <unistd.h>

#define MIB	((size_t)1 << 20)
#define N	((MPI_Count)(2049 * MIB + 77))

static unsigned char *repeated(size_t size)
{
	int fd = memfd_create("mib", 0);
	size_t n = (size + MIB - 1) / MIB * MIB;
	char *p = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(fd >= 0 && !ftruncate(fd, MIB) && p != MAP_FAILED);
	for (size_t i = 0; i < n; i += MIB)
		if (mmap(p + i, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			CHECK(0, "a map of the same MiB");
	close(fd);
	return (unsigned char *)p;
}

static void fill(unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = i % 251 + 1;
}

static size_t wrong(const unsigned char *p, size_t n)
{
	size_t bad = 0;

	for (size_t i = 0; i < n; i++)
		bad += p[i] != i % 251 + 1;
	return bad;
}

static void large_bcast(unsigned char *p)
{
	if (m_rank == 0)
		fill(p, MIB);
	else
		memset(p, 0, MIB);
	CHECK(MPI_Bcast_c(p, N, MPI_CHAR, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
	CHECK(!wrong(p, MIB), "bcast: %zu of the first MiB", wrong(p, MIB));
}

/* Blocks of whole MiB, so that each rank's begins where the pattern does. */
static void large_allgather(unsigned char *p)
{
	MPI_Count n = 1025 * MIB;
	unsigned char *own = malloc(MIB);
	MPI_Datatype mib;

	/* one rank gives an element of 1025 MiB, the other all of its bytes: their types match */
	MPI_Type_contiguous(MIB, MPI_CHAR, &mib);
	MPI_Type_commit(&mib);
	fill(p, MIB);
	CHECK(MPI_Allgather_c(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, p, m_rank ? n : 1025, m_rank ? MPI_CHAR : mib,
			      MPI_COMM_WORLD) == MPI_SUCCESS);
	CHECK(!wrong(p, MIB), "allgather: %zu of the first MiB", wrong(p, MIB));
	MPI_Type_free(&mib);
	free(own);
}

static void own_memory(void)
{
	unsigned char *a = malloc(N), *b = malloc(N);
	size_t bad = 0;

	for (size_t i = 0; i < (size_t)N; i++)
		a[i] = i * 7 % 100 + m_rank;
	CHECK(MPI_Allreduce_c(a, b, N, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
	for (size_t i = 0; i < (size_t)N; i++)
		bad += b[i] != (unsigned char)(m_size * (i * 7 % 100) + m_size * (m_size - 1) / 2);
	CHECK(!bad, "allreduce: %zu", bad);
	memset(b, 0, N);
	CHECK(MPI_Reduce_c(a, b, N, MPI_UNSIGNED_CHAR, MPI_MAX, m_size - 1, MPI_COMM_WORLD) == MPI_SUCCESS);
	for (size_t i = bad = 0; m_rank == m_size - 1 && i < (size_t)N; i++)
		bad += b[i] != i * 7 % 100 + m_size - 1;
	CHECK(!bad, "reduce: %zu", bad);
	CHECK(MPI_Bcast_c(a, N, MPI_CHAR, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
	for (size_t i = bad = 0; i < (size_t)N; i++)
		bad += a[i] != i * 7 % 100 + 1;
	CHECK(!bad, "bcast: %zu", bad);
	free(a);
	free(b);
}

int main(int argc, char **argv)
{
	unsigned char *p;

	m_start(&argc, &argv);
	p = repeated((size_t)m_size * 1025 * MIB);
	large_bcast(p);
	if (m_size == 2)
		large_allgather(p);
	if (getenv("T_COLL_LARGE"))
		own_memory();
	return m_finish();
}
