# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
dist_bin_SCRIPTS = tools/aprun tools/yod
bin_PROGRAMS += tools/ptl_info tools/ptl_check
tools_ptl_check_SOURCES = tools/ptl_check.c tools/check.h tools/check_walk.c tools/info.h tools/info_job.c \
	tools/info_show.c tools/json.c $(portals_look_sources)
tools_ptl_check_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/rt -I$(top_srcdir)/portals/lib \
	-I$(top_srcdir)/portals/look
tools_ptl_check_LDADD = portals/libportals.la portals/rt/libp3rt.la nal/smartmap/libsmartmap.la
tools_ptl_info_SOURCES = tools/ptl_info.c tools/info.h tools/info_job.c tools/info_show.c tools/json.c $(portals_look_sources)
tools_ptl_info_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/rt -I$(top_srcdir)/portals/lib -I$(top_srcdir)/portals/look
tools_ptl_info_LDADD = portals/rt/libp3rt.la nal/smartmap/libsmartmap.la
bin_PROGRAMS += tools/ptl_trace
tools_ptl_trace_SOURCES = tools/ptl_trace.c
tools_ptl_trace_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib -DTRACE_DIR='"$(tracedir)"' \
	-DLIBDIR_BASE="\"`basename $(libdir)`\""
tools_ptl_trace_LDADD = portals/libportals.la nal/smartmap/libsmartmap.la
# where ranks sit: from the shape of the program, from what it has sent
bin_PROGRAMS += tools/grid_order tools/ptl_rank_order
tools_grid_order_SOURCES = tools/grid_order.c tools/grid.h tools/grid.c tools/place.h tools/place.c
tools_ptl_rank_order_SOURCES = tools/ptl_rank_order.c tools/place.h tools/place.c
tools_ptl_rank_order_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/rt
tools_ptl_rank_order_LDADD = portals/rt/libp3rt.la nal/smartmap/libsmartmap.la
EXTRA_DIST += tools/craype mpt tools/mpt/bench.sh tools/mpt/build.sh tools/mpt/deps.sh tools/mpt/eval.sh tools/mpt/lib.sh \
	tools/mpt/peers.sh tools/mpt/report.pl
dist_man_MANS += tools/man/aprun.1 tools/man/yod.1 tools/man/ptl_info.1 tools/man/ptl_check.1 tools/man/ptl_trace.1 \
	tools/man/grid_order.1 tools/man/ptl_rank_order.1 \
	tools/man/portals-env.7

