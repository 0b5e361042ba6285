# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
check_PROGRAMS += tests/stress/t_mix tests/stress/t_crowd tests/stress/t_threads tests/stress/t_conditional \
	tests/stress/t_soak
tests_stress_t_threads_SOURCES = tests/stress/t_threads.c tests/stress/stress.h tests/api/ptl.h
tests_stress_t_threads_CPPFLAGS = $(T_CPPFLAGS)
tests_stress_t_threads_LDADD = $(T_LIBS)
tests_stress_t_crowd_SOURCES = tests/stress/t_crowd.c tests/stress/stress.h tests/api/ptl.h
tests_stress_t_crowd_CPPFLAGS = $(T_CPPFLAGS)
tests_stress_t_crowd_LDADD = $(T_LIBS)
tests_stress_t_mix_SOURCES = tests/stress/t_mix.c tests/stress/stress.h tests/api/ptl.h
tests_stress_t_mix_CPPFLAGS = $(T_CPPFLAGS)
tests_stress_t_mix_LDADD = $(T_LIBS)
tests_stress_t_conditional_SOURCES = tests/stress/t_conditional.c tests/api/ptl.h
tests_stress_t_conditional_CPPFLAGS = $(T_CPPFLAGS)
tests_stress_t_conditional_LDADD = $(T_LIBS)

# PTL_DUMP_SIGNAL: SIGUSR2, by which a check that fails has its rank print its interface
crowd = PTL_LANE_KB=32+PTL_INBOX_MAX=8192+PTL_DUMP_SIGNAL=12
P3_TESTS += stress/mix-1:tests/stress/t_mix:env=PTL_DUMP_SIGNAL=12,valgrind \
	stress/mix-2:tests/stress/t_mix:ranks=2,env=PTL_DUMP_SIGNAL=12 \
	stress/mix-3:tests/stress/t_mix:ranks=3,env=PTL_DUMP_SIGNAL=12 \
	stress/mix-8:tests/stress/t_mix:ranks=8,limit=180,env=PTL_DUMP_SIGNAL=12 \
	stress/mix-2-private:tests/stress/t_mix:ranks=2,env=PTL_ADOPT=none+PTL_DUMP_SIGNAL=12 \
	stress/mix-8-private:tests/stress/t_mix:ranks=8,limit=180,env=PTL_ADOPT=none+PTL_DUMP_SIGNAL=12 \
	stress/mix-3-handed:tests/stress/t_mix:ranks=3,limit=120,env=PTL_ADOPT=none+PTL_CMA=no+PTL_DUMP_SIGNAL=12 \
	stress/crowd-2:tests/stress/t_crowd:ranks=2,env=$(crowd) \
	stress/crowd-6:tests/stress/t_crowd:ranks=6,limit=180,env=$(crowd) \
	stress/crowd-4-handed:tests/stress/t_crowd:ranks=4,limit=180,env=$(crowd)+PTL_ADOPT=none+PTL_CMA=no
P3_TESTS += stress/threads-1:tests/stress/t_threads:env=PTL_DUMP_SIGNAL=12 \
	stress/threads-4:tests/stress/t_threads:ranks=4,limit=120,env=PTL_DUMP_SIGNAL=12 \
	stress/threads-11:tests/stress/t_threads:ranks=11,limit=240,env=PTL_DUMP_SIGNAL=12 \
	stress/conditional-1:tests/stress/t_conditional stress/conditional-2:tests/stress/t_conditional:ranks=2 \
	stress/conditional-4:tests/stress/t_conditional:ranks=4,limit=120 \
	stress/conditional-8:tests/stress/t_conditional:ranks=8,limit=180 \
	stress/update-1:tests/stress/t_conditional:args=update \
	stress/update-2:tests/stress/t_conditional:ranks=2,args=update \
	stress/update-4:tests/stress/t_conditional:ranks=4,limit=120,args=update

# All to all, each byte looked at; T_SECONDS=600 for a soak. 64 ranks on eight virtual nodes, more ranks than cores.
tests_stress_t_soak_SOURCES = tests/stress/t_soak.c tests/stress/stress.h tests/api/engine.h tests/api/ptl.h
tests_stress_t_soak_CPPFLAGS = $(T_CPPFLAGS)
tests_stress_t_soak_LDADD = $(T_LIBS)
soak = tests/stress/t_soak:limit=900,ranks
P3_TESTS += stress/soak-4:$(soak)=4 stress/soak-4-net:$(soak)=4,pernode=1 stress/soak-12-net:$(soak)=12,pernode=3 \
	stress/soak-4-ap:$(soak)=4,pernode=1,env=PTL_NAL=ap stress/soak-12-ap:$(soak)=12,pernode=3,env=PTL_NAL=ap \
	stress/soak-64-net:$(soak)=64,pernode=8,nosan stress/soak-64-ap:$(soak)=64,pernode=8,nosan,env=PTL_NAL=ap \
	stress/soak-33-net:$(soak)=33,pernode=1,nosan
P3_TESTS += stress/soak-4-master:$(soak)=4,env=PTL_LOCKS=master stress/soak-4-node:$(soak)=4,env=PTL_LOCKS=node \
	stress/soak-6-dma:$(soak)=6,env=PTL_NAL=ap+PTL_SELF_DMA_MIN=1 \
	stress/mix-4-dma:tests/stress/t_mix:ranks=4,limit=180,env=PTL_NAL=ap+PTL_SELF_DMA_MIN=1 \
	stress/mix-4-master:tests/stress/t_mix:ranks=4,limit=180,env=PTL_LOCKS=master
