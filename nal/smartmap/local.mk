# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
lib_LTLIBRARIES += nal/smartmap/libsmartmap.la
include_HEADERS += nal/smartmap/smartmap.h
pkgconfig_DATA += nal/smartmap/smartmap.pc
smap_sources = \
	nal/smartmap/smartmap.h nal/smartmap/smap_int.h \
	nal/smartmap/smap_adopt.c nal/smartmap/smap_adopt.h \
	nal/smartmap/smap_arena.c nal/smartmap/smap_arena.h \
	nal/smartmap/smap_copy.c nal/smartmap/smap_copy.h \
	nal/smartmap/smap_exch.c nal/smartmap/smap_exch.h nal/smartmap/smap_exch_msg.c nal/smartmap/smap_exch_msg.h \
	nal/smartmap/smap_exch_all.c nal/smartmap/smap_exch_up.c \
	nal/smartmap/smap_image.c nal/smartmap/smap_image.h \
	nal/smartmap/smap_init.c \
	nal/smartmap/smap_maps.c nal/smartmap/smap_maps.h \
	nal/smartmap/smap_own.c nal/smartmap/smap_own.h \
	nal/smartmap/smap_space.c nal/smartmap/smap_space.h \
	nal/smartmap/smap_sync.c nal/smartmap/smap_sync.h \
	nal/smartmap/smap_window.c nal/smartmap/smap_window.h
nal_smartmap_libsmartmap_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0
SMAP_PROCESS = nal/smartmap/smap_fork.c nal/smartmap/smap_fork_pty.c nal/smartmap/smap_fork_sys.h \
	nal/smartmap/smap_interpose.c nal/smartmap/smap_interpose_got.c nal/smartmap/smap_interpose.h
nal_smartmap_libsmartmap_la_SOURCES = $(smap_sources) $(SMAP_PROCESS)

# libsmartmap-malloc: the malloc family on an arena. It must not be linked into anything else: programs ask for it.
if HAVE_MIMALLOC
if !SANITIZERS
lib_LTLIBRARIES += nal/smartmap/libsmartmap-malloc.la
nal_smartmap_libsmartmap_malloc_la_SOURCES = nal/smartmap/heap.c
nal_smartmap_libsmartmap_malloc_la_CFLAGS = $(AM_CFLAGS) -fno-builtin-malloc -fno-builtin-calloc
nal_smartmap_libsmartmap_malloc_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0
nal_smartmap_libsmartmap_malloc_la_LIBADD = -lmimalloc
endif
endif

dist_man_MANS += nal/smartmap/smartmap.3
EXTRA_DIST += nal/smartmap/README.md

dist_doc_DATA += doc/what-it-does-to-your-process.md doc/environments.md
