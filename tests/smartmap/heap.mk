# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The heap, fork, and the process's own view of adopted memory.
HEAP_LINK = nal/smartmap/libsmartmap.la
P3_HEAP_FLAGS = $(AM_LDFLAGS) -Wl,--no-as-needed
HEAP_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/tests/smartmap
check_PROGRAMS += tests/smartmap/t_fork tests/smartmap/t_harm
check_LTLIBRARIES += tests/smartmap/plug.la
tests_smartmap_plug_la_SOURCES = tests/smartmap/plug.c
tests_smartmap_plug_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
tests_smartmap_plug_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
tests_smartmap_t_fork_SOURCES = tests/smartmap/t_fork.c tests/smartmap/job.h
tests_smartmap_t_fork_CPPFLAGS = $(HEAP_CPPFLAGS)
tests_smartmap_t_fork_LDFLAGS = $(P3_HEAP_FLAGS)
tests_smartmap_t_fork_LDADD = $(HEAP_LINK)
# libc in front of libsmartmap, as in a program that was linked with a library that needs libsmartmap
check_PROGRAMS += tests/smartmap/t_fork_behind tests/smartmap/t_harm_behind
tests_smartmap_t_fork_behind_SOURCES = tests/smartmap/t_fork.c
tests_smartmap_t_fork_behind_CPPFLAGS = $(HEAP_CPPFLAGS)
tests_smartmap_t_fork_behind_LDFLAGS = $(P3_HEAP_FLAGS) -Wl,-lc
tests_smartmap_t_fork_behind_LDADD = $(HEAP_LINK)
tests_smartmap_t_harm_behind_SOURCES = tests/smartmap/t_harm.c
tests_smartmap_t_harm_behind_CPPFLAGS = $(HEAP_CPPFLAGS)
tests_smartmap_t_harm_behind_LDFLAGS = $(P3_HEAP_FLAGS) -Wl,-lc
tests_smartmap_t_harm_behind_LDADD = $(HEAP_LINK)
tests_smartmap_t_harm_behind_DEPENDENCIES = nal/smartmap/libsmartmap.la tests/smartmap/plug.la
P3_TESTS += smartmap/fork_behind:tests/smartmap/t_fork_behind:ranks=2,nosan \
	smartmap/harm_behind:tests/smartmap/t_harm_behind:ranks=2,nosan
tests_smartmap_t_harm_SOURCES = tests/smartmap/t_harm.c
tests_smartmap_t_harm_CPPFLAGS = $(HEAP_CPPFLAGS)
tests_smartmap_t_harm_LDFLAGS = $(P3_HEAP_FLAGS)
tests_smartmap_t_harm_LDADD = $(HEAP_LINK)
tests_smartmap_t_harm_DEPENDENCIES = nal/smartmap/libsmartmap.la tests/smartmap/plug.la
EXTRA_DIST += tests/smartmap/t_heap_alone.sh
P3_TESTS += smartmap/fork:tests/smartmap/t_fork:ranks=2,nosan smartmap/fork3:tests/smartmap/t_fork:ranks=3,nosan \
	smartmap/harm:tests/smartmap/t_harm:ranks=2,nosan smartmap/heap_alone:tests/smartmap/t_heap_alone.sh:nosan \
	smartmap/fork_off:tests/smartmap/t_fork:ranks=2,nosan,env=SMARTMAP_FORCE_OFF=fork

if HAVE_MIMALLOC
if !SANITIZERS
check_PROGRAMS += tests/smartmap/t_heap tests/smartmap/t_fork_heap tests/smartmap/t_harm_heap
tests_smartmap_t_heap_SOURCES = tests/smartmap/t_heap.c
tests_smartmap_t_heap_CPPFLAGS = $(HEAP_CPPFLAGS)
tests_smartmap_t_heap_LDFLAGS = $(P3_HEAP_FLAGS)
tests_smartmap_t_heap_LDADD = $(HEAP_LINK) nal/smartmap/libsmartmap-malloc.la
tests_smartmap_t_fork_heap_SOURCES = tests/smartmap/t_fork.c
tests_smartmap_t_fork_heap_CPPFLAGS = $(HEAP_CPPFLAGS)
tests_smartmap_t_fork_heap_LDFLAGS = $(P3_HEAP_FLAGS)
tests_smartmap_t_fork_heap_LDADD = $(HEAP_LINK) nal/smartmap/libsmartmap-malloc.la
tests_smartmap_t_harm_heap_SOURCES = tests/smartmap/t_harm.c
tests_smartmap_t_harm_heap_CPPFLAGS = $(HEAP_CPPFLAGS)
tests_smartmap_t_harm_heap_LDFLAGS = $(P3_HEAP_FLAGS)
tests_smartmap_t_harm_heap_LDADD = $(HEAP_LINK) nal/smartmap/libsmartmap-malloc.la
tests_smartmap_t_harm_heap_DEPENDENCIES = nal/smartmap/libsmartmap.la nal/smartmap/libsmartmap-malloc.la \
	tests/smartmap/plug.la
P3_TESTS += smartmap/heap:tests/smartmap/t_heap:ranks=2 \
	smartmap/heap_huge:tests/smartmap/t_heap:ranks=2,env=SMARTMAP_MALLOC=huge \
	smartmap/heap3:tests/smartmap/t_heap:ranks=3 \
	smartmap/fork_heap:tests/smartmap/t_fork_heap:ranks=2 smartmap/harm_heap:tests/smartmap/t_harm_heap:ranks=2
endif
endif
