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
