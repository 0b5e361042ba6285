# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
lib_LTLIBRARIES += nal/smartmap/libsmartmap.la
include_HEADERS += nal/smartmap/smartmap.h
pkgconfig_DATA += nal/smartmap/smartmap.pc
nal_smartmap_libsmartmap_la_SOURCES = nal/smartmap/smartmap.h nal/smartmap/smap_int.h
nal_smartmap_libsmartmap_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0
