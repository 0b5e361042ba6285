# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
T_RT_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/portals/rt
T_RT_LIBS = portals/rt/libp3rt.la

check_PROGRAMS += tests/rt/t_map tests/rt/t_order tests/rt/t_knobs tests/rt/t_pmi tests/rt/t_pmi2 \
	tests/rt/t_env tests/rt/t_rank tests/rt/rank tests/rt/close tests/rt/leave
tests_rt_t_map_SOURCES = tests/rt/t_map.c
tests_rt_t_map_CPPFLAGS = $(T_RT_CPPFLAGS)
tests_rt_t_map_LDADD = $(T_RT_LIBS)
tests_rt_t_order_SOURCES = tests/rt/t_order.c
tests_rt_t_order_CPPFLAGS = $(T_RT_CPPFLAGS)
tests_rt_t_order_LDADD = $(T_RT_LIBS)
tests_rt_t_knobs_SOURCES = tests/rt/t_knobs.c tests/rt/scenario.h
tests_rt_t_knobs_CPPFLAGS = $(T_RT_CPPFLAGS)
tests_rt_t_knobs_LDADD = $(T_RT_LIBS)
tests_rt_t_pmi_SOURCES = tests/rt/t_pmi.c tests/rt/scenario.h
tests_rt_t_pmi_CPPFLAGS = $(T_RT_CPPFLAGS)
tests_rt_t_pmi_LDADD = $(T_RT_LIBS)
tests_rt_t_pmi2_SOURCES = tests/rt/t_pmi2.c tests/rt/scenario.h
tests_rt_t_pmi2_CPPFLAGS = $(T_RT_CPPFLAGS)
tests_rt_t_pmi2_LDADD = $(T_RT_LIBS)
tests_rt_t_env_SOURCES = tests/rt/t_env.c tests/rt/scenario.h
tests_rt_t_env_CPPFLAGS = $(T_RT_CPPFLAGS)
tests_rt_t_env_LDADD = $(T_RT_LIBS)
tests_rt_t_rank_SOURCES = tests/rt/t_rank.c
tests_rt_t_rank_CPPFLAGS = $(T_CPPFLAGS)
tests_rt_t_rank_LDADD = $(T_LIBS)
tests_rt_close_SOURCES = tests/rt/close.c
tests_rt_close_CPPFLAGS = $(T_CPPFLAGS)
tests_rt_close_LDADD = $(T_LIBS)
tests_rt_leave_SOURCES = tests/rt/leave.c
tests_rt_leave_CPPFLAGS = $(T_CPPFLAGS)
tests_rt_leave_LDADD = $(T_LIBS)
tests_rt_rank_SOURCES = tests/rt/rank.c
tests_rt_rank_CPPFLAGS = $(T_RT_CPPFLAGS)
tests_rt_rank_LDADD = $(T_RT_LIBS)

check_LTLIBRARIES += tests/rt/fake_pmix.la
tests_rt_fake_pmix_la_SOURCES = tests/rt/fake_pmix.c
tests_rt_fake_pmix_la_CPPFLAGS = $(T_RT_CPPFLAGS) $(PMIX_CFLAGS)
tests_rt_fake_pmix_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere

EXTRA_DIST += tests/rt/t_pmix.sh tests/rt/t_launchers.sh tests/rt/t_launch.sh \
	tests/rt/t_job.sh tests/rt/t_info.sh tests/rt/t_ports.sh
P3_TESTS += rt/map:tests/rt/t_map:valgrind rt/order:tests/rt/t_order:valgrind rt/knobs:tests/rt/t_knobs \
	rt/pmi:tests/rt/t_pmi rt/pmi2:tests/rt/t_pmi2 \
	rt/pmix:tests/rt/t_pmix.sh:nosan,limit=90 rt/env:tests/rt/t_env rt/rank:tests/rt/t_rank:ranks=2 \
	rt/launch:tests/rt/t_launch.sh \
	rt/info:tests/rt/t_info.sh:nosan rt/ports:tests/rt/t_ports.sh:nosan,limit=120 \
	rt/job:tests/rt/t_job.sh:nosan,limit=120 \
	rt/launchers-hydra:tests/rt/t_launchers.sh:nosan,limit=180,args=hydra \
	rt/launchers-slurm:tests/rt/t_launchers.sh:nosan,limit=300,args=slurm \
	rt/launchers-openmpi:tests/rt/t_launchers.sh:nosan,limit=180,args=openmpi \
	rt/launchers-ssh:tests/rt/t_launchers.sh:nosan,limit=120,args=ssh
# orders of ranks from a grid and from traffic
check_PROGRAMS += tests/unit/place
tests_unit_place_SOURCES = tests/unit/place.c tools/place.h tools/place.c tools/grid.h tools/grid.c
tests_unit_place_CPPFLAGS = $(T_RT_CPPFLAGS)
tests_unit_place_LDADD = $(T_RT_LIBS)
EXTRA_DIST += tests/rt/t_place.sh
P3_TESTS += unit/place:tests/unit/place:valgrind,limit=120 rt/place:tests/rt/t_place.sh:nosan,warns,limit=120
