# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
portals_rt_only_sources = \
	portals/rt/p3_rt.h portals/rt/p3_rt.c \
	portals/rt/p3_pmi.h portals/rt/p3_pmi_in.h portals/rt/p3_pmi.c portals/rt/p3_pmi_wire.c \
	portals/rt/p3_pmi1.c portals/rt/p3_pmi2.c portals/rt/p3_pmix_abi.h portals/rt/p3_pmix.c \
	portals/rt/p3_env.h portals/rt/p3_env.c \
	portals/rt/p3_cpus.h portals/rt/p3_cpus.c \
	portals/rt/p3_map.h portals/rt/p3_map.c \
	portals/rt/p3_order.h portals/rt/p3_order.c \
	portals/rt/p3_knobs.h portals/rt/p3_knobs.c \
	portals/rt/p3_log.h portals/rt/p3_log.c \
	portals/api/ptl_rank.c
portals_rt_sources = $(portals_rt_only_sources)

# The runtime alone, for ptl_info and the unit tests: libportals hides it.
noinst_LTLIBRARIES += portals/rt/libp3rt.la
portals_rt_libp3rt_la_SOURCES = $(portals_rt_only_sources)
portals_rt_libp3rt_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/rt
