# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# DMAPP stands on what SHMEM stands on: shmem-portals/src/lower.h.
lib_LTLIBRARIES += dmapp-portals/libdmapp.la
include_HEADERS += dmapp-portals/include/dmapp.h
dmapp_portals_libdmapp_la_SOURCES = dmapp-portals/src/dmappi.h dmapp-portals/src/init.c dmapp-portals/src/sync.c \
	dmapp-portals/src/rma.c dmapp-portals/src/amo.c dmapp-portals/src/mem.c dmapp-portals/src/engine.c \
	dmapp-portals/src/coll.c dmapp-portals/src/lock.c dmapp-portals/src/queue.c
dmapp_portals_libdmapp_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/dmapp-portals/include \
	-I$(top_srcdir)/shmem-portals/include -I$(top_srcdir)/shmem-portals/src
dmapp_portals_libdmapp_la_LIBADD = shmem-portals/libsma.la portals/libportals.la nal/smartmap/libsmartmap.la
dmapp_portals_libdmapp_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0
