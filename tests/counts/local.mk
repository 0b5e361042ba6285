# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
check_PROGRAMS += tests/counts/ops
tests_counts_ops_SOURCES = tests/counts/ops.c tests/api/ptl.h
tests_counts_ops_CPPFLAGS = $(T_CPPFLAGS)
tests_counts_ops_LDADD = $(T_LIBS)
EXTRA_DIST += tests/counts/as_rank tests/counts/t_counts.sh tests/counts/lines.pl tests/counts/limits \
	tests/counts/report.sh tests/counts/t_mpi.sh tests/counts/mpi_ops.c
P3_TESTS += counts/counts:tests/counts/t_counts.sh:limit=600

# system calls: the test needs the real ones
check_PROGRAMS += tests/counts/t_syscalls
tests_counts_t_syscalls_SOURCES = tests/counts/t_syscalls.c tests/counts/syscalls.h tests/api/ptl.h
tests_counts_t_syscalls_CPPFLAGS = $(T_CPPFLAGS)
tests_counts_t_syscalls_LDADD = $(T_LIBS)
P3_TESTS += counts/syscalls:tests/counts/t_syscalls:ranks=2
P3_TESTS += counts/mpi:tests/counts/t_mpi.sh:args=counts,limit=120 counts/mpi-syscalls:tests/counts/t_mpi.sh:args=syscalls
