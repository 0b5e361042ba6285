# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The recording build of libportals, which ptl_trace puts in front of the other one: same sources, same name, and
# P3_TRACE.
tracedir = $(libdir)/portals-trace
trace_LTLIBRARIES = portals/trace/libportals.la
portals_trace_libportals_la_SOURCES = $(portals_libportals_la_SOURCES) portals/trace/p3_trace.c
portals_trace_libportals_la_CPPFLAGS = $(portals_libportals_la_CPPFLAGS) -DP3_TRACE
portals_trace_libportals_la_LIBADD = $(portals_libportals_la_LIBADD)
portals_trace_libportals_la_LDFLAGS = $(portals_libportals_la_LDFLAGS)
