# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# DMAPP: on the node, with more PEs than cores, across virtual nodes of both kinds, through Portals alone.
D_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/dmapp-portals/include -I$(top_srcdir)/shmem-portals/include \
	-I$(top_srcdir)/tests/shmem
D_LIBS = dmapp-portals/libdmapp.la shmem-portals/libsma.la $(T_LIBS) -lpthread

check_PROGRAMS += tests/dmapp/t_rma tests/dmapp/t_amo tests/dmapp/t_sync tests/dmapp/t_mem tests/dmapp/t_coll
tests_dmapp_t_rma_SOURCES = tests/dmapp/t_rma.c tests/dmapp/dm.h tests/shmem/near.h
tests_dmapp_t_rma_CPPFLAGS = $(D_CPPFLAGS)
tests_dmapp_t_rma_LDADD = $(D_LIBS)
tests_dmapp_t_amo_SOURCES = tests/dmapp/t_amo.c tests/dmapp/dm.h tests/shmem/near.h
tests_dmapp_t_amo_CPPFLAGS = $(D_CPPFLAGS)
tests_dmapp_t_amo_LDADD = $(D_LIBS)
tests_dmapp_t_sync_SOURCES = tests/dmapp/t_sync.c tests/dmapp/dm.h tests/shmem/near.h
tests_dmapp_t_sync_CPPFLAGS = $(D_CPPFLAGS)
tests_dmapp_t_sync_LDADD = $(D_LIBS)
tests_dmapp_t_mem_SOURCES = tests/dmapp/t_mem.c tests/dmapp/dm.h tests/shmem/near.h
tests_dmapp_t_mem_CPPFLAGS = $(D_CPPFLAGS)
tests_dmapp_t_mem_LDADD = $(D_LIBS)
tests_dmapp_t_coll_SOURCES = tests/dmapp/t_coll.c tests/dmapp/dm.h tests/shmem/near.h
tests_dmapp_t_coll_CPPFLAGS = $(D_CPPFLAGS)
tests_dmapp_t_coll_LDADD = $(D_LIBS)
D_NEAR = rma amo sync mem coll
D_ACROSS = $(D_NEAR)
P3_TESTS += $(foreach t,$(D_NEAR),\
	api/dmapp-$(t):tests/dmapp/t_$(t):ranks=2,nosan api/dmapp-$(t)-alone:tests/dmapp/t_$(t):nosan)
P3_TESTS += $(foreach t,$(D_ACROSS),\
	api/dmapp-$(t)-crowd:tests/dmapp/t_$(t):ranks=5,limit=120,nosan \
	api/dmapp-$(t)-net:tests/dmapp/t_$(t):ranks=3,pernode=1,limit=120,nosan \
	api/dmapp-$(t)-ap:tests/dmapp/t_$(t):ranks=4,pernode=2,limit=120,nosan,env=PTL_NAL=ap \
	api/dmapp-$(t)-portals:tests/dmapp/t_$(t):ranks=2,limit=120,nosan,env=PTL_SMARTMAP=no)
P3_TESTS += api/dmapp-mem-engine:tests/dmapp/t_mem:ranks=2,nosan,env=DMAPP_ENGINE=yes \
	api/dmapp-sync-engine:tests/dmapp/t_sync:ranks=2,nosan,env=DMAPP_ENGINE=yes
check_PROGRAMS += tests/dmapp/t_engine tests/dmapp/env
tests_dmapp_t_engine_SOURCES = tests/dmapp/t_engine.c tests/dmapp/dm.h tests/shmem/near.h
tests_dmapp_t_engine_CPPFLAGS = $(D_CPPFLAGS)
tests_dmapp_t_engine_LDADD = $(D_LIBS)
tests_dmapp_env_SOURCES = tests/dmapp/env.c tests/dmapp/dm.h tests/shmem/near.h
tests_dmapp_env_CPPFLAGS = $(D_CPPFLAGS)
tests_dmapp_env_LDADD = $(D_LIBS)
EXTRA_DIST += tests/dmapp/t_env.sh
P3_TESTS += api/dmapp-engine:tests/dmapp/t_engine:ranks=2,nosan api/dmapp-env:tests/dmapp/t_env.sh:nosan,limit=120
EXTRA_DIST += tests/dmapp/t_symbols.sh tests/dmapp/t_bench.sh
P3_TESTS += api/dmapp-symbols:tests/dmapp/t_symbols.sh:nosan api/dmapp-bench:tests/dmapp/t_bench.sh:nosan,limit=120
check_PROGRAMS += tests/dmapp/end
tests_dmapp_end_SOURCES = tests/dmapp/end.c tests/dmapp/dm.h tests/shmem/near.h
tests_dmapp_end_CPPFLAGS = $(D_CPPFLAGS)
tests_dmapp_end_LDADD = $(D_LIBS)
EXTRA_DIST += tests/dmapp/t_end.sh tests/dmapp/t_mpi.sh tests/dmapp/with_mpi.c
P3_TESTS += fault/dmapp-end:tests/dmapp/t_end.sh:nosan,warns,limit=120 \
	mpich/dmapp:tests/dmapp/t_mpi.sh:nosan,limit=200
