# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# SHMEM. More ranks than cores, and a job of one, are ordinary cases.
S_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/shmem-portals/include
S_LIBS = shmem-portals/libsma.la $(T_LIBS)

check_PROGRAMS += tests/shmem/t_rma tests/shmem/t_heap tests/shmem/t_amo tests/shmem/t_sync
tests_shmem_t_rma_SOURCES = tests/shmem/t_rma.c
tests_shmem_t_rma_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_rma_LDADD = $(S_LIBS)
tests_shmem_t_heap_SOURCES = tests/shmem/t_heap.c
tests_shmem_t_heap_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_heap_LDADD = $(S_LIBS)
tests_shmem_t_amo_SOURCES = tests/shmem/t_amo.c
tests_shmem_t_amo_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_amo_LDADD = $(S_LIBS)
tests_shmem_t_sync_SOURCES = tests/shmem/t_sync.c
tests_shmem_t_sync_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_sync_LDADD = $(S_LIBS)
P3_TESTS += \
	api/shmem-rma:tests/shmem/t_rma:ranks=3 api/shmem-rma-alone:tests/shmem/t_rma \
	api/shmem-rma-noadopt:tests/shmem/t_rma:ranks=2,env=PTL_ADOPT=none \
	api/shmem-heap:tests/shmem/t_heap:ranks=3 api/shmem-heap-alone:tests/shmem/t_heap \
	api/shmem-amo:tests/shmem/t_amo:ranks=3 api/shmem-amo-alone:tests/shmem/t_amo \
	api/shmem-sync:tests/shmem/t_sync:ranks=2 api/shmem-sync-crowd:tests/shmem/t_sync:ranks=7,limit=120 \
	api/shmem-sync-alone:tests/shmem/t_sync
EXTRA_DIST += tests/shmem/t_tools.sh
P3_TESTS += api/shmem-tools:tests/shmem/t_tools.sh:warns
