# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# SHMEM. More ranks than cores, and a job of one, are ordinary cases.
S_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/shmem-portals/include
S_LIBS = shmem-portals/libsma.la $(T_LIBS)

check_PROGRAMS += tests/shmem/t_rma tests/shmem/t_heap tests/shmem/t_amo tests/shmem/t_sync
tests_shmem_t_rma_SOURCES = tests/shmem/t_rma.c tests/shmem/sm.h tests/shmem/near.h
tests_shmem_t_rma_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_rma_LDADD = $(S_LIBS)
tests_shmem_t_heap_SOURCES = tests/shmem/t_heap.c tests/shmem/sm.h
tests_shmem_t_heap_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_heap_LDADD = $(S_LIBS)
tests_shmem_t_amo_SOURCES = tests/shmem/t_amo.c tests/shmem/sm.h tests/shmem/ctx.h tests/shmem/near.h
tests_shmem_t_amo_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_amo_LDADD = $(S_LIBS)
tests_shmem_t_sync_SOURCES = tests/shmem/t_sync.c tests/shmem/sm.h
tests_shmem_t_sync_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_sync_LDADD = $(S_LIBS)
P3_TESTS += \
	api/shmem-rma:tests/shmem/t_rma:ranks=3 api/shmem-rma-alone:tests/shmem/t_rma \
	api/shmem-rma-noadopt:tests/shmem/t_rma:ranks=2,env=PTL_ADOPT=none \
	api/shmem-heap:tests/shmem/t_heap:ranks=3 api/shmem-heap-alone:tests/shmem/t_heap \
	api/shmem-amo:tests/shmem/t_amo:ranks=3 api/shmem-amo-alone:tests/shmem/t_amo \
	api/shmem-sync:tests/shmem/t_sync:ranks=2 api/shmem-sync-crowd:tests/shmem/t_sync:ranks=7,limit=120 \
	api/shmem-sync-alone:tests/shmem/t_sync
check_PROGRAMS += tests/shmem/t_cray
tests_shmem_t_cray_SOURCES = tests/shmem/t_cray.c tests/shmem/sm.h
tests_shmem_t_cray_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_cray_LDADD = $(S_LIBS)
P3_TESTS += api/shmem-cray-alone:tests/shmem/t_cray api/shmem-cray:tests/shmem/t_cray:ranks=2,nosan \
	api/shmem-cray-7:tests/shmem/t_cray:ranks=7,limit=120,nosan \
	api/shmem-cray-14:tests/shmem/t_cray:ranks=14,limit=240,nosan \
	api/shmem-cray-trunc:tests/shmem/t_cray:ranks=3,nosan,env=SHMEM_ALLTOALLV_TSIZE_CHK=trunc
check_PROGRAMS += tests/shmem/t_legacy
tests_shmem_t_legacy_SOURCES = tests/shmem/t_legacy.c
tests_shmem_t_legacy_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_legacy_LDADD = $(S_LIBS)
P3_TESTS += api/shmem-legacy:tests/shmem/t_legacy:ranks=3,nosan api/shmem-legacy-alone:tests/shmem/t_legacy \
	api/shmem-legacy-crowd:tests/shmem/t_legacy:ranks=6,limit=120,nosan
EXTRA_DIST += tests/shmem/t_symbols.sh tests/shmem/symbols tests/shmem/symbols.api tests/shmem/symbols.coll
P3_TESTS += api/shmem-symbols:tests/shmem/t_symbols.sh:args=symbols.api+symbols.coll,nosan
EXTRA_DIST += tests/shmem/t_bench.sh
P3_TESTS += api/shmem-bench:tests/shmem/t_bench.sh:nosan,limit=180
EXTRA_DIST += tests/shmem/t_fortran.sh tests/shmem/t_free.f90 tests/shmem/t_fixed.f tests/shmem/t_sets.f90 \
	tests/shmem/fortran.names
P3_TESTS += api/shmem-fortran:tests/shmem/t_fortran.sh:nosan,limit=120
EXTRA_DIST += tests/shmem/t_vectors.sh tests/shmem/t_images.sh tests/shmem/images.c tests/shmem/images_lib.c
P3_TESTS += api/shmem-vectors:tests/shmem/t_vectors.sh:nosan api/shmem-images:tests/shmem/t_images.sh:nosan,limit=120
EXTRA_DIST += tests/shmem/t_mpi.sh tests/shmem/with_mpi.c
P3_TESTS += mpich/shmem:tests/shmem/t_mpi.sh:nosan,limit=300
EXTRA_DIST += tests/shmem/t_tools.sh
P3_TESTS += api/shmem-tools:tests/shmem/t_tools.sh:warns

# Every form of every routine between two PEs; waiting; locks; order.
check_PROGRAMS += tests/shmem/t_forms tests/shmem/t_wait tests/shmem/t_lock tests/shmem/t_order tests/shmem/t_generic
tests_shmem_t_forms_SOURCES = tests/shmem/t_forms.c tests/shmem/sm.h tests/shmem/ctx.h
tests_shmem_t_forms_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_forms_LDADD = $(S_LIBS)
tests_shmem_t_wait_SOURCES = tests/shmem/t_wait.c tests/shmem/sm.h tests/shmem/near.h
tests_shmem_t_wait_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_wait_LDADD = $(S_LIBS)
tests_shmem_t_lock_SOURCES = tests/shmem/t_lock.c tests/shmem/sm.h
tests_shmem_t_lock_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_lock_LDADD = $(S_LIBS)
tests_shmem_t_order_SOURCES = tests/shmem/t_order.c tests/shmem/sm.h
tests_shmem_t_order_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_order_LDADD = $(S_LIBS)
tests_shmem_t_generic_SOURCES = tests/shmem/t_generic.c tests/shmem/sm.h tests/shmem/ctx.h
tests_shmem_t_generic_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_generic_LDADD = $(S_LIBS)
P3_TESTS += \
	api/shmem-forms:tests/shmem/t_forms:ranks=3 api/shmem-forms-alone:tests/shmem/t_forms \
	api/shmem-forms-crowd:tests/shmem/t_forms:ranks=7,limit=120 \
	api/shmem-forms-debug:tests/shmem/t_forms:ranks=3,env=SHMEM_DEBUG=1 \
	api/shmem-amo-crowd:tests/shmem/t_amo:ranks=7,limit=120 \
	api/shmem-amo-debug:tests/shmem/t_amo:ranks=2,env=SHMEM_DEBUG=1 \
	api/shmem-wait:tests/shmem/t_wait:ranks=3 api/shmem-wait-alone:tests/shmem/t_wait \
	api/shmem-wait-crowd:tests/shmem/t_wait:ranks=7,limit=120 \
	api/shmem-wait-debug:tests/shmem/t_wait:ranks=2,env=SHMEM_DEBUG=1 \
	api/shmem-lock:tests/shmem/t_lock:ranks=3 api/shmem-lock-alone:tests/shmem/t_lock \
	api/shmem-lock-crowd:tests/shmem/t_lock:ranks=7,limit=180 \
	api/shmem-lock-debug:tests/shmem/t_lock:ranks=2,env=SHMEM_DEBUG=1 \
	stress/shmem-order:tests/shmem/t_order:ranks=2,limit=120 \
	stress/shmem-order-crowd:tests/shmem/t_order:ranks=5,limit=180 \
	api/shmem-generic:tests/shmem/t_generic:ranks=3 api/shmem-generic-alone:tests/shmem/t_generic
EXTRA_DIST += tests/shmem/t_args.sh
P3_TESTS += api/shmem-args:tests/shmem/t_args.sh:warns,limit=120

# Teams and collectives: every routine and type; rules and random sequences.
check_PROGRAMS += tests/shmem/t_coll_types tests/shmem/t_coll tests/shmem/t_team
tests_shmem_t_coll_types_SOURCES = tests/shmem/t_coll_types.c tests/shmem/sm.h
tests_shmem_t_coll_types_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_coll_types_LDADD = $(S_LIBS)
tests_shmem_t_coll_SOURCES = tests/shmem/t_coll.c tests/shmem/sm.h
tests_shmem_t_coll_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_coll_LDADD = $(S_LIBS)
tests_shmem_t_team_SOURCES = tests/shmem/t_team.c
tests_shmem_t_team_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_team_LDADD = $(S_LIBS)
P3_TESTS += \
	api/shmem-coll-types-1:tests/shmem/t_coll_types api/shmem-coll-types-2:tests/shmem/t_coll_types:ranks=2 \
	api/shmem-coll-types-3:tests/shmem/t_coll_types:ranks=3,limit=120 \
	api/shmem-coll-types-4:tests/shmem/t_coll_types:ranks=4,limit=120 \
	api/shmem-coll-types-7:tests/shmem/t_coll_types:ranks=7,limit=180 \
	api/shmem-coll-types-linear:tests/shmem/t_coll_types:ranks=3,limit=120,env=SHMEM_COLL_OPT_OFF=1 \
	api/shmem-coll-types-noadopt:tests/shmem/t_coll_types:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/shmem-coll-1:tests/shmem/t_coll api/shmem-coll-2:tests/shmem/t_coll:ranks=2 \
	api/shmem-coll-3:tests/shmem/t_coll:ranks=3 api/shmem-coll-4:tests/shmem/t_coll:ranks=4,limit=120 \
	api/shmem-coll-7:tests/shmem/t_coll:ranks=7,limit=180 \
	api/shmem-coll-counter:tests/shmem/t_coll:ranks=4,limit=120,env=SHMEM_BARRIER_ALGORITHM=counter \
	api/shmem-coll-dissem:tests/shmem/t_coll:ranks=4,limit=120,env=SHMEM_BARRIER_ALGORITHM=dissem \
	api/shmem-coll-linear:tests/shmem/t_coll:ranks=4,limit=120,env=SHMEM_COLL_OPT_OFF=1 \
	api/shmem-coll-noadopt:tests/shmem/t_coll:ranks=3,limit=120,env=PTL_ADOPT=none \
	api/shmem-team-1:tests/shmem/t_team api/shmem-team-2:tests/shmem/t_team:ranks=2 \
	api/shmem-team-3:tests/shmem/t_team:ranks=3 api/shmem-team-7:tests/shmem/t_team:ranks=7,limit=120
# The same across virtual nodes, with an interrupt thread in each PE and with an engine for each node; and on one node
# through Portals alone.
check_PROGRAMS += tests/shmem/t_amo_race tests/shmem/t_net
tests_shmem_t_amo_race_SOURCES = tests/shmem/t_amo_race.c tests/shmem/sm.h
tests_shmem_t_amo_race_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_amo_race_LDADD = $(S_LIBS)
tests_shmem_t_net_SOURCES = tests/shmem/t_net.c tests/shmem/sm.h
tests_shmem_t_net_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_t_net_LDADD = $(S_LIBS)
P3_TESTS += api/shmem-amo_race:tests/shmem/t_amo_race:ranks=3,limit=120,nosan \
	api/shmem-net:tests/shmem/t_net:ranks=2,limit=120 \
	api/shmem-sync-net-7:tests/shmem/t_sync:ranks=7,pernode=3,limit=120,nosan \
	api/shmem-sync-ap-7:tests/shmem/t_sync:ranks=7,pernode=3,limit=120,nosan,env=PTL_NAL=ap
# Under the sanitizers, where static data are in no window, and so out of reach of atomic operations, a few of them.
S_ACROSS = rma heap amo sync amo_race net forms wait lock order generic coll coll_types team legacy cray
P3_TESTS += $(foreach t,$(S_ACROSS),\
	api/shmem-$(t)-net:tests/shmem/t_$(t):ranks=4,pernode=2,$(S_NOSAN)limit=120 \
	api/shmem-$(t)-ap:tests/shmem/t_$(t):ranks=4,pernode=2,limit=120,nosan,env=PTL_NAL=ap \
	api/shmem-$(t)-portals:tests/shmem/t_$(t):ranks=3,limit=120,nosan,env=PTL_SMARTMAP=no)
# t_order takes ten seconds where each PE is a node of its own, and finds nothing there that it does not find above.
P3_TESTS += $(foreach t,$(filter-out order,$(S_ACROSS)),\
	api/shmem-$(t)-net-3:tests/shmem/t_$(t):ranks=3,pernode=1,limit=120,nosan \
	api/shmem-$(t)-ap-3:tests/shmem/t_$(t):ranks=3,pernode=1,limit=120,nosan,env=PTL_NAL=ap)
S_COMMA = ,
S_NOSAN = $(if $(filter rma heap forms coll,$(t)),,nosan$(S_COMMA))

check_PROGRAMS += tests/shmem/end
tests_shmem_end_SOURCES = tests/shmem/end.c
tests_shmem_end_CPPFLAGS = $(S_CPPFLAGS)
tests_shmem_end_LDADD = $(S_LIBS)
EXTRA_DIST += tests/shmem/t_end_net.sh
P3_TESTS += fault/shmem-end-net:tests/shmem/t_end_net.sh:limit=300,warns,args=gp \
	fault/shmem-end-ap:tests/shmem/t_end_net.sh:limit=300,warns,args=ap \
	fault/shmem-end-node:tests/shmem/t_end_net.sh:limit=300,warns,args=node
