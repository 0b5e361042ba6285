# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# DART on MPI. It is compiled with the mpicc of each MPI, so by the test itself (tests/dart/run), not by this Makefile;
# both folders are distributed whole.
EXTRA_DIST += tests/dart dart-mpi
P3_TESTS += mpich/dart:tests/dart/run:limit=900
