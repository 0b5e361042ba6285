# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
lib_LTLIBRARIES += portals/libportals.la
pkgconfig_DATA += portals/portals.pc portals/portals3.pc
include_HEADERS += portals/include/portals3.h
p3apidir = $(includedir)/p3api
p3api_HEADERS = portals/include/p3api/types.h portals/include/p3api/api.h portals/include/p3api/misc.h
p3rtdir = $(includedir)/p3rt
p3rt_HEADERS = portals/include/p3rt/p3rt.h
include $(top_srcdir)/portals/rt/local.mk
portals_libportals_la_SOURCES = $(portals_rt_sources)
portals_libportals_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib -I$(top_srcdir)/portals/rt
portals_libportals_la_LIBADD = nal/smartmap/libsmartmap.la
portals_libportals_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0
