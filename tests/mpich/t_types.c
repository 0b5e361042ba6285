/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Non-contiguous data at the sender, the receiver and both, from a few bytes to megabytes. */
#include "m.h"

/* @blocks blocks of @len bytes, @stride apart, described in one of three ways. */
static MPI_Datatype make_type(int how, int blocks, int len, int stride)
{
	MPI_Datatype t;
	int *lens, *displs, i;

	if (how == 0) {
		MPI_Type_vector(blocks, len, stride, MPI_BYTE, &t);
	} else {
		lens = malloc(blocks * sizeof(*lens));
		displs = malloc(blocks * sizeof(*displs));
		for (i = 0; i < blocks; i++) {
			lens[i] = len;
			displs[i] = i * stride;
		}
		MPI_Type_indexed(blocks, lens, displs, MPI_BYTE, &t);
		free(lens);
		free(displs);
	}
	MPI_Type_commit(&t);
	return t;
}

static void scatter(unsigned char *to, const unsigned char *from, int blocks, int len, int stride)
{
	int i;

	for (i = 0; i < blocks; i++)
		memcpy(to + (size_t)i * stride, from + (size_t)i * len, len);
}

static void one(int how, int blocks, int len, int stride, int send_packed, int recv_packed, int sync, uint32_t seed)
{
	size_t n = (size_t)blocks * len, extent = (size_t)blocks * stride, i;
	unsigned char *packed = malloc(n), *buf = malloc(extent + 1), *want = malloc(extent + 1);
	MPI_Datatype t = make_type(how, blocks, len, stride);
	MPI_Status st;
	int got;

	m_fill(packed, n, seed);
	memset(buf, 0xee, extent);
	if (m_rank == 0) {
		scatter(buf, packed, blocks, len, stride);
		if (send_packed)
			(sync ? MPI_Ssend : MPI_Send)(packed, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
		else
			(sync ? MPI_Ssend : MPI_Send)(buf, 1, t, 1, 3, MPI_COMM_WORLD);
	} else if (recv_packed) {
		memset(packed, 0, n);
		MPI_Recv(packed, n, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &st);
		CHECK(m_wrong(packed, n, seed) < 0, "blocks %d len %d byte %ld", blocks, len, m_wrong(packed, n, seed));
	} else {
		memset(want, 0xee, extent);
		scatter(want, packed, blocks, len, stride);
		MPI_Recv(buf, 1, t, 0, 3, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, MPI_BYTE, &got);
		CHECK((size_t)got == n, "%d for %zu", got, n);
		for (i = 0; i < extent && buf[i] == want[i]; i++)
			;
		CHECK(i == extent, "type %d blocks %d len %d stride %d: byte %zu", how, blocks, len, stride, i);
	}
	MPI_Type_free(&t);
	free(packed);
	free(buf);
	free(want);
}

int main(int argc, char **argv)
{
	static const struct { int blocks, len, stride; } shape[] = {
		{ 2, 1, 3 }, { 5, 3, 7 }, { 40, 8, 16 }, { 128, 31, 40 }, { 250, 32, 33 }, { 1000, 9, 11 },
		{ 3, 5000, 6000 }, { 70, 997, 1001 }, { 4096, 64, 128 }, { 33, 40000, 40001 }, { 100000, 8, 24 },
		{ 17, 131072, 131080 },
	};
	unsigned i, how, v;
	uint32_t seed = 100;

	m_start(&argc, &argv);
	if (m_rank < 2)
		for (i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
			for (how = 0; how < 2; how++)
				for (v = 0; v < 8; v++)
					one(how, shape[i].blocks, shape[i].len, shape[i].stride, v & 1, v & 2, v & 4,
					    seed++);
	return m_finish();
}
