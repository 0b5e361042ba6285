# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
P3_TESTS += unit/harness:tests/unit/t_harness.sh:limit=60
EXTRA_DIST += tests/unit/t_harness.sh
# a file of libsmartmap without the rest
check_PROGRAMS += tests/unit/smap_space
tests_unit_smap_space_SOURCES = tests/unit/smap_space.c nal/smartmap/smap_space.c nal/smartmap/smap_space.h
tests_unit_smap_space_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/nal/smartmap
P3_TESTS += unit/smap_space:tests/unit/smap_space
check_PROGRAMS += tests/unit/smap_exch
tests_unit_smap_exch_SOURCES = tests/unit/smap_exch.c
tests_unit_smap_exch_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/nal/smartmap
P3_TESTS += unit/smap_exch:tests/unit/smap_exch
check_PROGRAMS += tests/unit/copy
tests_unit_copy_SOURCES = tests/unit/copy.c
tests_unit_copy_CPPFLAGS = $(T_CPPFLAGS)
P3_TESTS += unit/copy:tests/unit/copy:valgrind
# links between virtual nodes, on a clock of their own
check_PROGRAMS += tests/unit/links
tests_unit_links_SOURCES = tests/unit/links.c $(model_sources)
tests_unit_links_CPPFLAGS = $(T_CPPFLAGS)
P3_TESTS += unit/links:tests/unit/links:valgrind
