# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# libsmartmap by itself: each program starts its own ranks (launch.h).
EXTRA_DIST += tests/smartmap/launch.h

check_PROGRAMS += tests/smartmap/t_smap_basic
tests_smartmap_t_smap_basic_SOURCES = tests/smartmap/t_smap_basic.c tests/smartmap/launch.h
tests_smartmap_t_smap_basic_CPPFLAGS = $(T_CPPFLAGS)
tests_smartmap_t_smap_basic_LDADD = nal/smartmap/libsmartmap.la
# and as if addresses had 39 or 36 bits
P3_TESTS += smartmap/basic:tests/smartmap/t_smap_basic \
	smartmap/basic-39:tests/smartmap/t_smap_basic:env=SMARTMAP_FORCE_SPACE=39 \
	smartmap/basic-36:tests/smartmap/t_smap_basic:env=SMARTMAP_FORCE_SPACE=36

check_PROGRAMS += tests/smartmap/t_smap_guest
tests_smartmap_t_smap_guest_SOURCES = tests/smartmap/t_smap_guest.c tests/smartmap/launch.h
tests_smartmap_t_smap_guest_CPPFLAGS = $(T_CPPFLAGS)
tests_smartmap_t_smap_guest_LDADD = nal/smartmap/libsmartmap.la
P3_TESTS += smartmap/guest:tests/smartmap/t_smap_guest

check_PROGRAMS += tests/smartmap/t_smap_adopt tests/smartmap/t_smap_adopt_nopie
tests_smartmap_t_smap_adopt_SOURCES = tests/smartmap/t_smap_adopt.c tests/smartmap/launch.h
tests_smartmap_t_smap_adopt_CPPFLAGS = $(T_CPPFLAGS)
tests_smartmap_t_smap_adopt_LDADD = nal/smartmap/libsmartmap.la
tests_smartmap_t_smap_adopt_nopie_SOURCES = tests/smartmap/t_smap_adopt.c tests/smartmap/launch.h
tests_smartmap_t_smap_adopt_nopie_CPPFLAGS = $(T_CPPFLAGS)
tests_smartmap_t_smap_adopt_nopie_CFLAGS = $(AM_CFLAGS) -fno-pie
tests_smartmap_t_smap_adopt_nopie_LDFLAGS = $(AM_LDFLAGS) -no-pie
tests_smartmap_t_smap_adopt_nopie_LDADD = nal/smartmap/libsmartmap.la
P3_TESTS += smartmap/adopt:tests/smartmap/t_smap_adopt:limit=180,nosan \
	smartmap/adopt-nopie:tests/smartmap/t_smap_adopt_nopie:limit=180,nosan

check_PROGRAMS += tests/smartmap/t_smap_start
tests_smartmap_t_smap_start_SOURCES = tests/smartmap/t_smap_start.c tests/smartmap/launch.h
tests_smartmap_t_smap_start_CPPFLAGS = $(T_CPPFLAGS)
tests_smartmap_t_smap_start_LDADD = nal/smartmap/libsmartmap.la
P3_TESTS += smartmap/start:tests/smartmap/t_smap_start:limit=240,nosan

check_PROGRAMS += tests/smartmap/t_smap_refused
tests_smartmap_t_smap_refused_SOURCES = tests/smartmap/t_smap_refused.c tests/smartmap/launch.h
tests_smartmap_t_smap_refused_CPPFLAGS = $(T_CPPFLAGS)
tests_smartmap_t_smap_refused_LDADD = nal/smartmap/libsmartmap.la
P3_TESTS += smartmap/refused:tests/smartmap/t_smap_refused:limit=120,nosan
