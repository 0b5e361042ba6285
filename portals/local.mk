# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
lib_LTLIBRARIES += portals/libportals.la
pkgconfig_DATA += portals/portals.pc portals/portals3.pc
include_HEADERS += portals/include/portals3.h
p3apidir = $(includedir)/p3api
p3api_HEADERS = portals/include/p3api/types.h portals/include/p3api/api.h portals/include/p3api/misc.h
p3rtdir = $(includedir)/p3rt
p3rt_HEADERS = portals/include/p3rt/p3rt.h
include $(top_srcdir)/portals/rt/local.mk
include $(top_srcdir)/portals/man/local.mk
include $(top_srcdir)/portals/doc/local.mk

# The core: freestanding, the same source in the kernel module.
portals_lib_sources = portals/lib/p3_atomic.h portals/lib/p3l.h portals/lib/ni.c portals/lib/lock.c portals/lib/me.c \
	portals/lib/md.c portals/lib/eq.c portals/lib/iov.c portals/lib/match.c portals/lib/own.c portals/lib/lane.c portals/lib/hot.c \
	portals/lib/reap.c
portals_api_sources = portals/api/p3a.h portals/api/ni.c portals/api/me.c portals/api/md.c portals/api/eq.c \
	portals/api/move.c portals/api/misc.c portals/api/dump.c
nal_sources = nal/nal.h nal/smartmap/nal_smartmap.c nal/smartmap/nal_together.h nal/smartmap/nal_together.c

portals_libportals_la_SOURCES = $(portals_rt_sources) $(portals_lib_sources) $(portals_api_sources) $(nal_sources)
portals_libportals_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib -I$(top_srcdir)/portals/rt \
	-I$(top_srcdir)/portals/api
portals_libportals_la_LIBADD = nal/smartmap/libsmartmap.la
portals_libportals_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0
