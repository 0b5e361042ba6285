# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Benchmarks: built by `make bench` (./mpt bench and ./mpt eval call it), run by mpt; not part of the tests. Those of MPI
# are compiled by mpt with the mpicc of each library that is compared.
bench_programs = tests/bench/handover tests/bench/smartmap_pingpong tests/bench/portals_pingpong \
	tests/bench/portals_match tests/bench/portals_rate tests/bench/portals_copy \
	tests/bench/portals_many tests/bench/portals_net tests/bench/portals_locks tests/bench/portals_overlap \
	tests/bench/harm
EXTRA_PROGRAMS = $(bench_programs)
CLEANFILES += $(bench_programs)
EXTRA_DIST += tests/bench/mpi_p2p.c tests/bench/mpi_coll.c tests/bench/mpi_imb.c tests/bench/mpi_rate.c \
	tests/bench/mpi_queue.c tests/bench/mpi_rma.c tests/bench/mpi_halo.c tests/bench/mpi_job.c tests/bench/mpi_copy.c
EXTRA_DIST += tests/bench/dart_bench.h tests/bench/dart_rma.c tests/bench/dart_stencil.c tests/bench/dart_gups.c
EXTRA_DIST += mpt tools/mpt/lib.sh tools/mpt/deps.sh tools/mpt/build.sh tools/mpt/peers.sh tools/mpt/bench.sh \
	tools/mpt/eval.sh tools/mpt/placement.sh tools/mpt/report.pl tools/mpt/mpi_bars.pl tools/mpt/papers.pl tools/mpt/causes tools/mpt/readme_check.sh
P3_TESTS += readme/readme:tools/mpt/readme_check.sh:limit=180
P3_TESTS += unit/report:tests/bench/t_report.sh
P3_TESTS += unit/placement:tests/bench/t_placement.sh:nosan,limit=180
EXTRA_DIST += tests/bench/t_report.sh  tests/bench/t_placement.sh

tests_bench_handover_SOURCES = tests/bench/handover.c tests/bench/bench.h
tests_bench_smartmap_pingpong_SOURCES = tests/bench/smartmap_pingpong.c tests/bench/bench.h
tests_bench_smartmap_pingpong_LDADD = nal/smartmap/libsmartmap.la
# malloc'd memory is in the window where the allocator is
tests_bench_portals_pingpong_SOURCES = tests/bench/portals_pingpong.c tests/bench/portals.h tests/bench/bench.h
tests_bench_portals_pingpong_LDADD = portals/libportals.la nal/smartmap/libsmartmap.la
tests_bench_portals_net_SOURCES = tests/bench/portals_net.c tests/bench/portals.h tests/bench/bench.h
tests_bench_portals_net_LDADD = portals/libportals.la
tests_bench_portals_many_SOURCES = tests/bench/portals_many.c tests/bench/portals.h tests/bench/bench.h
tests_bench_portals_many_LDADD = portals/libportals.la
tests_bench_portals_copy_SOURCES = tests/bench/portals_copy.c tests/bench/portals.h tests/bench/bench.h
tests_bench_portals_copy_LDADD = portals/libportals.la nal/smartmap/libsmartmap.la
if HAVE_MIMALLOC
if !SANITIZERS
tests_bench_portals_copy_LDADD += nal/smartmap/libsmartmap-malloc.la
tests_bench_portals_copy_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_bench_portals_pingpong_LDADD += nal/smartmap/libsmartmap-malloc.la
tests_bench_portals_pingpong_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_bench_portals_net_LDADD += nal/smartmap/libsmartmap-malloc.la
tests_bench_portals_net_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
tests_bench_smartmap_pingpong_LDADD += nal/smartmap/libsmartmap-malloc.la
tests_bench_smartmap_pingpong_LDFLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
endif
endif
tests_bench_portals_locks_SOURCES = tests/bench/portals_locks.c tests/bench/portals.h tests/bench/bench.h
tests_bench_portals_locks_LDADD = portals/libportals.la
tests_bench_portals_overlap_SOURCES = tests/bench/portals_overlap.c tests/bench/portals.h tests/bench/bench.h
tests_bench_portals_overlap_LDADD = portals/libportals.la
tests_bench_portals_rate_SOURCES = tests/bench/portals_rate.c tests/bench/portals.h tests/bench/bench.h
tests_bench_portals_rate_LDADD = portals/libportals.la
tests_bench_portals_match_SOURCES = tests/bench/portals_match.c tests/bench/portals.h tests/bench/bench.h
tests_bench_portals_match_LDADD = portals/libportals.la
tests_bench_harm_SOURCES = tests/bench/harm.c
tests_bench_harm_LDADD = nal/smartmap/libsmartmap.la

# SHMEM: compiled with the oshcc of each library that is compared, too. The tests run them with --quick.
shmem_bench = tests/bench/shmem_put tests/bench/shmem_bw tests/bench/shmem_gups tests/bench/shmem_stencil tests/bench/shmem_coll
check_PROGRAMS += $(shmem_bench)
tests_bench_shmem_put_SOURCES = tests/bench/shmem_put.c tests/bench/shmem_bench.h tests/bench/bench.h
tests_bench_shmem_put_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/shmem-portals/include
tests_bench_shmem_put_LDADD = shmem-portals/libsma.la
tests_bench_shmem_bw_SOURCES = tests/bench/shmem_bw.c tests/bench/shmem_bench.h tests/bench/bench.h
tests_bench_shmem_bw_CPPFLAGS = $(tests_bench_shmem_put_CPPFLAGS)
tests_bench_shmem_bw_LDADD = shmem-portals/libsma.la
tests_bench_shmem_gups_SOURCES = tests/bench/shmem_gups.c tests/bench/shmem_bench.h tests/bench/bench.h
tests_bench_shmem_gups_CPPFLAGS = $(tests_bench_shmem_put_CPPFLAGS)
tests_bench_shmem_gups_LDADD = shmem-portals/libsma.la
tests_bench_shmem_stencil_SOURCES = tests/bench/shmem_stencil.c tests/bench/shmem_bench.h tests/bench/bench.h
tests_bench_shmem_stencil_CPPFLAGS = $(tests_bench_shmem_put_CPPFLAGS)
tests_bench_shmem_stencil_LDADD = shmem-portals/libsma.la
tests_bench_shmem_coll_SOURCES = tests/bench/shmem_coll.c tests/bench/shmem_bench.h tests/bench/bench.h
tests_bench_shmem_coll_CPPFLAGS = $(tests_bench_shmem_put_CPPFLAGS)
tests_bench_shmem_coll_LDADD = shmem-portals/libsma.la

bench: $(bench_programs) $(shmem_bench) tests/bench/dmapp_rma
.PHONY: bench

# DMAPP, beside SHMEM in the same program.
check_PROGRAMS += tests/bench/dmapp_rma
tests_bench_dmapp_rma_SOURCES = tests/bench/dmapp_rma.c tests/bench/shmem_bench.h tests/bench/bench.h
tests_bench_dmapp_rma_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/shmem-portals/include -I$(top_srcdir)/dmapp-portals/include
tests_bench_dmapp_rma_LDADD = dmapp-portals/libdmapp.la shmem-portals/libsma.la -lpthread
