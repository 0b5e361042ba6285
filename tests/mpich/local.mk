# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# MPI over Portals: our own programs, and MPICH's test suite. Both need the MPICH that ./mpt builds.
EXTRA_DIST += tests/mpich/env tests/mpich/own tests/mpich/suite tests/mpich/m.h \
	tests/mpich/t_coll_move.c tests/mpich/t_coll_reduce.c tests/mpich/t_dynamic.c \
	tests/mpich/t_control.c tests/mpich/t_env.c tests/mpich/t_flow.c tests/mpich/t_many.c tests/mpich/t_memory.c \
	tests/mpich/t_node.c \
	tests/mpich/t_noncontig.c tests/mpich/t_order.c tests/mpich/t_reorder.c tests/mpich/t_ring.c \
	tests/mpich/t_sizes.c tests/mpich/t_threads.c tests/mpich/t_types.c
P3_TESTS += mpich/own:tests/mpich/own:limit=900 mpich/env:tests/mpich/env:limit=300 \
	mpich/suite:tests/mpich/suite:limit=1800
# the whole of it, in all modes: tests/mpich/suite --full
P3_TESTS += mpich/modes:tests/mpich/suite:limit=1800,args=--quick+--mode+off+--mode+nodes+--mode+kernel
P3_TESTS += mpich/programs:tests/mpich/programs:limit=1200
EXTRA_DIST += tests/mpich/programs
