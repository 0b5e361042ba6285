# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# A job seen from outside: ptl_info on running and hanging jobs, ptl_check.
check_PROGRAMS += tests/look/t_hang tests/look/t_talk
tests_look_t_hang_SOURCES = tests/look/t_hang.c tests/api/ptl.h
tests_look_t_hang_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/portals/lib
tests_look_t_hang_LDADD = $(T_LIBS)
tests_look_t_talk_SOURCES = tests/look/t_talk.c tests/api/ptl.h
tests_look_t_talk_CPPFLAGS = $(T_CPPFLAGS)
tests_look_t_talk_LDADD = $(T_LIBS)
# to be preloaded: -rpath makes it a shared object, which check_ libraries are not by themselves
check_LTLIBRARIES += tests/look/spoil.la
tests_look_spoil_la_SOURCES = tests/look/spoil.c
tests_look_spoil_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
EXTRA_DIST += tests/look/look.sh tests/look/t_hang.sh tests/look/t_talk.sh tests/look/t_check.sh
P3_TESTS += look/hang:tests/look/t_hang.sh:nosan,limit=120 look/talk:tests/look/t_talk.sh:nosan,limit=120 \
	look/check:tests/look/t_check.sh:nosan,limit=180
