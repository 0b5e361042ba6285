# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# DMAPP stands on what SHMEM stands on: shmem-portals/src/lower.h.
lib_LTLIBRARIES += dmapp-portals/libdmapp.la
include_HEADERS += dmapp-portals/include/dmapp.h
dmapp_portals_libdmapp_la_SOURCES = dmapp-portals/src/dmappi.h dmapp-portals/src/init.c dmapp-portals/src/env.c \
	dmapp-portals/src/sync.c \
	dmapp-portals/src/rma.c dmapp-portals/src/amo.c dmapp-portals/src/mem.c dmapp-portals/src/engine.c \
	dmapp-portals/src/coll.c dmapp-portals/src/lock.c dmapp-portals/src/queue.c
dmapp_portals_libdmapp_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/dmapp-portals/include \
	-I$(top_srcdir)/shmem-portals/include -I$(top_srcdir)/shmem-portals/src
dmapp_portals_libdmapp_la_LIBADD = shmem-portals/libsma.la portals/libportals.la nal/smartmap/libsmartmap.la
dmapp_portals_libdmapp_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0
pkgconfig_DATA += dmapp-portals/dmapp.pc
dist_man_MANS += dmapp-portals/man/dmapp.7
EXTRA_DIST += dmapp-portals/README.md dmapp-portals/dmapp.pc.in dmapp-portals/man/generate
CLEANFILES += dmapp-portals/dmapp.pc
dmapp-portals/dmapp.pc: $(srcdir)/dmapp-portals/dmapp.pc.in Makefile
	$(AM_V_GEN)$(MKDIR_P) dmapp-portals && sed -e 's|@prefix[@]|$(prefix)|' -e 's|@exec_prefix[@]|$(exec_prefix)|' \
		-e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' \
		-e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|' $(srcdir)/dmapp-portals/dmapp.pc.in > $@
