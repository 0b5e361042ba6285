// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
// MPI's C++ binding, and an exception on the way.
#include <mpi.h>
#include <cstdio>
#include <stdexcept>

int main(int argc, char **argv)
{
	MPI::Init(argc, argv);
	int size = MPI::COMM_WORLD.Get_size(), rank = MPI::COMM_WORLD.Get_rank(), x = 0, sum = 0;

	try {
		throw std::runtime_error("x");
	} catch (std::exception &) {
		x = 1;
	}
	MPI::COMM_WORLD.Allreduce(&x, &sum, 1, MPI::INT, MPI::SUM);
	if (rank == 0)
		std::puts(sum == size ? "good" : "bad");
	MPI::Finalize();
	return sum != size;
}
