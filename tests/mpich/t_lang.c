/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * A program of somebody else's, in C, for another MPI of the same ABI: which library it has met, whether its messages
 * are right, and which way they would go. Nothing of ours is named at compile time.
 */
#define _GNU_SOURCE
#include "m.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 1024, 100u << 20 };
	int (*path)(int, const void *, size_t), len, to, from;
	char version[MPI_MAX_LIBRARY_VERSION_STRING];

	m_start(&argc, &argv);
	MPI_Get_library_version(version, &len);
	if (m_rank == 0)
		printf("library %s\n", strstr(version, "ch3:portals") ? "ours" : "other");
	to = (m_rank + 1) % m_size;
	from = (m_rank + m_size - 1) % m_size;
	for (int i = 0; i < 2; i++) {
		char *a = malloc(sizes[i]), *b = malloc(sizes[i]);
		MPI_Aint mine, theirs;

		m_fill(a, sizes[i], m_rank);
		MPI_Sendrecv(a, sizes[i], MPI_BYTE, to, 1, b, sizes[i], MPI_BYTE, from, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		CHECK(m_wrong(b, sizes[i], from) < 0);
		MPI_Get_address(a, &mine);
		MPI_Sendrecv(&mine, 1, MPI_AINT, to, 2, &theirs, 1, MPI_AINT, from, 2, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		path = (int (*)(int, const void *, size_t))dlsym(RTLD_DEFAULT, "smartmap_path");
		if (m_rank == 0)
			printf("%zu bytes: %s\n", sizes[i], !path ? "unknown" :
			       path(from, (void *)theirs, sizes[i]) == 0 ? "direct" : "by the kernel");
		MPI_Barrier(MPI_COMM_WORLD);
		free(a);
		free(b);
	}
	return m_finish();
}
