# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
lib_LTLIBRARIES += portals/libportals.la
pkgconfig_DATA += portals/portals.pc portals/portals3.pc
# Headers. The reference implementation's: portals3.h, p3*; the XT's: portals/, cnos_mpi_os.h and its other places.
include_HEADERS += portals/include/portals3.h portals/include/p3nal_utcp.h portals/include/p3nal_ibng.h \
	portals/include/p3nal_tcp.h portals/include/portals.h \
	portals/include/p30.h portals/include/cnos_mpi_os.h portals/include/pctmbox.h portals/include/pmi.h
p3apidir = $(includedir)/p3api
p3api_HEADERS = portals/include/p3api/types.h portals/include/p3api/api.h portals/include/p3api/misc.h \
	portals/include/p3api/debug.h portals/include/p3api/reference.h portals/include/p3api/acentry.h
p3rtdir = $(includedir)/p3rt
p3rt_HEADERS = portals/include/p3rt/p3rt.h
p3dir = $(includedir)/p3
p3_HEADERS = portals/include/p3/errno.h portals/include/p3/nal_types.h
catamountdir = $(includedir)/catamount
catamount_HEADERS = portals/include/catamount/cnos_mpi_os.h
xtdir = $(includedir)/portals
xt_HEADERS = portals/include/portals/portals3.h portals/include/portals/xt.h portals/include/portals/nal.h \
	portals/include/portals/p30.h portals/include/portals/defines.h portals/include/portals/reserved_ptls.h \
	portals/include/portals/p3nal_utcp.h portals/include/portals/p3nal_ibng.h portals/include/portals/p3nal_tcp.h
xtapidir = $(includedir)/portals/p3api
xtapi_HEADERS = portals/include/portals/p3api/types.h portals/include/portals/p3api/api.h \
	portals/include/portals/p3api/misc.h portals/include/portals/p3api/debug.h
xtrtdir = $(includedir)/portals/p3rt
xtrt_HEADERS = portals/include/portals/p3rt/p3rt.h
xtp3dir = $(includedir)/portals/p3
xtp3_HEADERS = portals/include/portals/p3/errno.h portals/include/portals/p3/nal_types.h
include $(top_srcdir)/portals/rt/local.mk
include $(top_srcdir)/portals/man/local.mk
include $(top_srcdir)/portals/doc/local.mk

# The core: freestanding, the same source in the kernel module.
portals_lib_sources = portals/lib/p3_atomic.h portals/lib/p3_probe.h portals/lib/p3l_trace.h portals/lib/p3l.h \
	portals/lib/p3l_layout.h portals/lib/p3l_line.h portals/lib/p3l_post.h \
	portals/lib/ni.c portals/lib/space.c portals/lib/lock.c portals/lib/me.c \
	portals/lib/index.c portals/lib/md.c portals/lib/eq.c portals/lib/iov.c portals/lib/match.c portals/lib/own.c \
	portals/lib/lane.c portals/lib/hot.c portals/lib/polled.c portals/lib/reap.c portals/lib/swap.c
portals_api_sources = portals/api/p3a.h portals/api/ni.c portals/api/me.c portals/api/md.c portals/api/eq.c portals/api/take.c \
	portals/api/move.c portals/api/misc.c portals/api/dump.c portals/api/iface.c portals/api/memd.c \
	portals/api/status.c portals/api/debug.c portals/api/job.c portals/api/cnos.c portals/api/ptl_setrank.c \
	portals/api/look.c portals/api/traffic.c portals/api/kern.h portals/api/kern_post.c portals/api/kern_move.c \
	portals/api/kern_eq.c
nal_sources = nal/nal.h nal/smartmap/nal_smap.h nal/smartmap/nal_smartmap.c nal/smartmap/nal_inbox.c nal/smartmap/nal_move.c \
	nal/smartmap/nal_hand.c nal/smartmap/nal_locks.c nal/smartmap/nal_own.c nal/smartmap/nal_start.c nal/smartmap/nal_together.h \
	nal/smartmap/nal_together.c nal/kern/nal_kern.c kernel-nal/uapi/portals_gp.h

# A job seen from outside: for the library's dump, and for ptl_info.
portals_look_sources = portals/look/look.h portals/look/why.c portals/look/talk.c

portals_libportals_la_SOURCES = $(portals_look_sources) $(portals_rt_sources) $(portals_lib_sources) $(portals_api_sources) $(nal_sources) \
	$(wire_sources) $(frame_sources) $(loop_sources) nal/loop/nal_loop.c
if HAVE_LIBEV
portals_libportals_la_SOURCES += $(tcp_sources) $(verbs_sources) $(gp_sources) $(ap_sources) $(model_sources)

# The engine is one program with all of its own in it: whatever library a rank has, it finds the one that it was made with.
pkglibexec_PROGRAMS += nal/ap/ptl-nic
nal_ap_ptl_nic_SOURCES = $(nic_sources) $(ap_shared) $(tcp_sources) $(verbs_sources) $(frame_sources) $(wire_sources) \
	$(model_sources) $(portals_lib_sources) $(smap_sources) $(SMAP_PROCESS)
nal_ap_ptl_nic_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib -I$(top_srcdir)/portals/rt
nal_ap_ptl_nic_LDADD = portals/rt/libp3rt.la $(LIBEV_LIBS)
else
EXTRA_DIST += $(model_sources)
endif
portals_libportals_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib -I$(top_srcdir)/portals/rt \
	-I$(top_srcdir)/portals/api -I$(top_srcdir)/portals/look \
	-I$(top_srcdir)/kernel-nal/uapi -DP3_LIBEXECDIR='"$(pkglibexecdir)"'
portals_libportals_la_LIBADD = nal/smartmap/libsmartmap.la $(LIBEV_LIBS)
portals_libportals_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0
include $(top_srcdir)/portals/trace/local.mk

# For gdb, which looks for a file of this name when it is installed under its own prefix (usually /usr).
gdbdir = $(datadir)/gdb/auto-load$(libdir)
EXTRA_DIST += portals/gdb/libportals-gdb.py
install-gdb:
	$(MKDIR_P) $(DESTDIR)$(gdbdir)
	$(INSTALL_DATA) $(srcdir)/portals/gdb/libportals-gdb.py $(DESTDIR)$(gdbdir)/libportals.so.0.0.0-gdb.py
uninstall-gdb:
	rm -f $(DESTDIR)$(gdbdir)/libportals.so.0.0.0-gdb.py
install-data-hook: install-gdb
.PHONY: install-gdb uninstall-gdb

# PMI-1 for programs of the XT: a library of its own, so that its names are only in programs that ask for it.
lib_LTLIBRARIES += portals/pmi/libpmi.la
portals_pmi_libpmi_la_SOURCES = portals/pmi/pmi.c
portals_pmi_libpmi_la_LIBADD = portals/libportals.la
portals_pmi_libpmi_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0

# The names under which programs look for the library: linker scripts, so that a program needs libportals and no other.
# Static ones (configure --enable-static) name what libportals needs, too, since old Makefiles cannot know it.
p3_alias = libportals3.so libp3api.so libp3lib.so libp3utcp.so libp3ibng.so libp3rt.so
install-alias:
	$(MKDIR_P) $(DESTDIR)$(libdir)
	for f in $(p3_alias); do \
		printf '/* GNU ld script: the Portals library by an older name */\nINPUT ( -lportals )\n' > $(DESTDIR)$(libdir)/$$f || exit; \
		test -f portals/.libs/libportals.a || test -f $(DESTDIR)$(libdir)/libportals.a || continue; \
		printf '/* GNU ld script: the Portals library by an older name */\nINPUT ( -lportals -lsmartmap %s -lm -lpthread )\n' \
			'$(LIBEV_LIBS)' > $(DESTDIR)$(libdir)/$${f%.so}.a || exit; \
	done
uninstall-alias:
	cd $(DESTDIR)$(libdir) && rm -f $(p3_alias) $(p3_alias:.so=.a)
install-exec-hook: install-alias
uninstall-hook: uninstall-alias uninstall-gdb
.PHONY: install-alias uninstall-alias
