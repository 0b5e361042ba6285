# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
lib_LTLIBRARIES += shmem-portals/libsma.la
include_HEADERS += shmem-portals/include/shmem.h shmem-portals/include/shmem_protos.h \
	shmem-portals/include/shmem_generic.h shmem-portals/include/pshmem.h \
	shmem-portals/include/shmem_coll.h shmem-portals/include/shmem_inline.h
shmemmppdir = $(includedir)/mpp
shmemmpp_HEADERS = shmem-portals/include/mpp/shmem.h
shmem_portals_libsma_la_SOURCES = \
	shmem-portals/src/shmemi.h shmem-portals/src/shmemi_order.h shmem-portals/src/init.c shmem-portals/src/heap.c \
	shmem-portals/src/near.h shmem-portals/src/near.c shmem-portals/src/rma.h shmem-portals/src/rma.c shmem-portals/src/amo.h shmem-portals/src/amo.c \
	shmem-portals/src/signal.c shmem-portals/src/wait.c shmem-portals/src/lock.c shmem-portals/src/check.c \
	shmem-portals/src/ctx.h shmem-portals/src/ctx.c shmem-portals/src/sync.c shmem-portals/src/far.h \
	shmem-portals/src/far.c shmem-portals/src/lower.h shmem-portals/src/lower.c \
	shmem-portals/src/net.h shmem-portals/src/net.c shmem-portals/src/team.h shmem-portals/src/team.c \
	shmem-portals/src/coll.h shmem-portals/src/coll.c shmem-portals/src/coll_move.c shmem-portals/src/coll_set.c \
	shmem-portals/src/coll_far.c \
	shmem-portals/src/barrier.c shmem-portals/src/reduce.h shmem-portals/src/reduce.c \
	shmem-portals/src/reduce_kernel.h shmem-portals/src/reduce_kernel.c shmem-portals/src/reduce_avx2.c
shmem_portals_libsma_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/shmem-portals/include
shmem_portals_libsma_la_LIBADD = portals/libportals.la nal/smartmap/libsmartmap.la -lm
shmem_portals_libsma_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0

# What is older than OpenSHMEM; extensions.
include_HEADERS += shmem-portals/include/shmem_legacy.h shmem-portals/include/shmemx.h shmem-portals/include/pshmemx.h \
	shmem-portals/include/shmemx_protos.h
shmemmpp_HEADERS += shmem-portals/include/mpp/pshmem.h shmem-portals/include/mpp/shmemx.h \
	shmem-portals/include/mpp/pshmemx.h
shmem_portals_libsma_la_SOURCES += shmem-portals/src/legacy.c shmem-portals/src/legacy_coll.c \
	shmem-portals/src/team_x.c shmem-portals/src/coll_movev.c

# The bindings of Fortran need no Fortran compiler; the second library has them for a default INTEGER and REAL of 8 bytes.
lib_LTLIBRARIES += shmem-portals/libsma_d64.la
include_HEADERS += shmem-portals/include/shmem.fh shmem-portals/include/shmemx.fh
shmemmpp_HEADERS += shmem-portals/include/mpp/shmem.fh
shmem_fortran = shmem-portals/src/fortran.h shmem-portals/src/fortran.c shmem-portals/src/fortran_coll.c
shmem_portals_libsma_la_SOURCES += $(shmem_fortran)
shmem_portals_libsma_d64_la_SOURCES = $(shmem_fortran)
shmem_portals_libsma_d64_la_CPPFLAGS = $(shmem_portals_libsma_la_CPPFLAGS) -DSHMEMI_FORTRAN64
shmem_portals_libsma_d64_la_LIBADD = shmem-portals/libsma.la
shmem_portals_libsma_d64_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0

# Wrappers and the .pc files: filled in by make, since they name the final places. oshcc.in is the compilers' wrapper.
shmem_compilers = shmem-portals/oshcc shmem-portals/oshc++ shmem-portals/oshcxx shmem-portals/oshfort
bin_SCRIPTS += $(shmem_compilers) shmem-portals/oshrun
pkgconfig_DATA += shmem-portals/sma.pc shmem-portals/shmem-portals.pc
dist_man_MANS += shmem-portals/man/oshcc.1 shmem-portals/man/oshc++.1 shmem-portals/man/oshcxx.1 \
	shmem-portals/man/oshfort.1 shmem-portals/man/oshrun.1 shmem-portals/man/shmem.7 \
	shmem-portals/man/intro_shmem.3 shmem-portals/man/shmem_init.3 shmem-portals/man/shmem_malloc.3 \
	shmem-portals/man/shmem_put.3 shmem-portals/man/shmem_atomic.3 shmem-portals/man/shmem_wait.3 \
	shmem-portals/man/shmem_ctx.3 shmem-portals/man/shmem_team.3 shmem-portals/man/shmem_broadcast.3 \
	shmem-portals/man/shmem_legacy.3 shmem-portals/man/shmemx.3 shmem-portals/man/shmem_fortran.3
EXTRA_DIST += shmem-portals/README.md shmem-portals/tools/oshcc.in shmem-portals/tools/oshrun.in shmem-portals/sma.pc.in
CLEANFILES += $(shmem_compilers) shmem-portals/oshrun shmem-portals/sma.pc shmem-portals/shmem-portals.pc
shmem_fill = $(AM_V_GEN)$(MKDIR_P) shmem-portals && sed -e 's|@prefix[@]|$(prefix)|' -e 's|@exec_prefix[@]|$(exec_prefix)|' \
	-e 's|@bindir[@]|$(bindir)|' -e 's|@libdir[@]|$(libdir)|' -e 's|@includedir[@]|$(includedir)|' \
	-e 's|@CC[@]|$(CC)|' -e 's|@CXX[@]|$(CXX)|' -e 's|@FC[@]|$(FC)|' \
	-e 's|@wrapper[@]|$(@F)|' -e 's|@name[@]|$(basename $(@F))|' \
	-e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|'
$(shmem_compilers): $(srcdir)/shmem-portals/tools/oshcc.in Makefile
	$(shmem_fill) $(srcdir)/shmem-portals/tools/oshcc.in > $@ && chmod +x $@
shmem-portals/oshrun: $(srcdir)/shmem-portals/tools/oshrun.in Makefile
	$(shmem_fill) $(srcdir)/shmem-portals/tools/oshrun.in > $@ && chmod +x $@
shmem-portals/sma.pc shmem-portals/shmem-portals.pc: $(srcdir)/shmem-portals/sma.pc.in Makefile
	$(shmem_fill) $(srcdir)/shmem-portals/sma.pc.in > $@
