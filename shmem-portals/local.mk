# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
lib_LTLIBRARIES += shmem-portals/libsma.la
include_HEADERS += shmem-portals/include/shmem.h shmem-portals/include/shmem_protos.h shmem-portals/include/pshmem.h
shmemmppdir = $(includedir)/mpp
shmemmpp_HEADERS = shmem-portals/include/mpp/shmem.h
shmem_portals_libsma_la_SOURCES = \
	shmem-portals/src/shmemi.h shmem-portals/src/shmemi_order.h shmem-portals/src/init.c shmem-portals/src/heap.c \
	shmem-portals/src/rma.c shmem-portals/src/amo.c shmem-portals/src/sync.c
shmem_portals_libsma_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/shmem-portals/include
shmem_portals_libsma_la_LIBADD = portals/libportals.la nal/smartmap/libsmartmap.la -lm
shmem_portals_libsma_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0

# Wrappers and the .pc file: filled in by make, since they name the final places.
bin_SCRIPTS += shmem-portals/oshcc shmem-portals/oshrun
pkgconfig_DATA += shmem-portals/sma.pc
dist_man_MANS += shmem-portals/man/oshcc.1 shmem-portals/man/oshrun.1 shmem-portals/man/shmem.7
EXTRA_DIST += shmem-portals/README.md shmem-portals/tools/oshcc.in shmem-portals/tools/oshrun.in shmem-portals/sma.pc.in
CLEANFILES += shmem-portals/oshcc shmem-portals/oshrun shmem-portals/sma.pc
shmem_fill = $(AM_V_GEN)$(MKDIR_P) shmem-portals && sed -e 's|@prefix[@]|$(prefix)|' -e 's|@exec_prefix[@]|$(exec_prefix)|' \
	-e 's|@bindir[@]|$(bindir)|' -e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' \
	-e 's|@CC[@]|$(CC)|' -e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|'
shmem-portals/oshcc: $(srcdir)/shmem-portals/tools/oshcc.in Makefile
	$(shmem_fill) $(srcdir)/shmem-portals/tools/oshcc.in > $@ && chmod +x $@
shmem-portals/oshrun: $(srcdir)/shmem-portals/tools/oshrun.in Makefile
	$(shmem_fill) $(srcdir)/shmem-portals/tools/oshrun.in > $@ && chmod +x $@
shmem-portals/sma.pc: $(srcdir)/shmem-portals/sma.pc.in Makefile
	$(shmem_fill) $(srcdir)/shmem-portals/sma.pc.in > $@
