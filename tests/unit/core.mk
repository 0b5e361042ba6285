# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The core by itself (portals/lib), with a fake surrounding: tests/unit/core_env.h.
check_LIBRARIES = tests/unit/libcore.a
core_cppflags = $(T_CPPFLAGS) -I$(top_srcdir)/portals/lib -I$(top_srcdir)/tests/unit
tests_unit_libcore_a_SOURCES = $(portals_lib_sources)
tests_unit_libcore_a_CPPFLAGS = $(core_cppflags)

check_PROGRAMS += tests/unit/core_ni tests/unit/core_me tests/unit/core_md tests/unit/core_eq tests/unit/core_match \
	tests/unit/core_own tests/unit/core_lane tests/unit/core_iov tests/unit/core_random
P3_TESTS += unit/core_ni:tests/unit/core_ni:valgrind unit/core_me:tests/unit/core_me:valgrind \
	unit/core_md:tests/unit/core_md:valgrind unit/core_eq:tests/unit/core_eq:valgrind \
	unit/core_match:tests/unit/core_match:valgrind unit/core_own:tests/unit/core_own:valgrind \
	unit/core_lane:tests/unit/core_lane:valgrind unit/core_iov:tests/unit/core_iov:valgrind \
	unit/core_random:tests/unit/core_random:limit=300

tests_unit_core_ni_SOURCES = tests/unit/core_ni.c tests/unit/core_env.h
tests_unit_core_ni_CPPFLAGS = $(core_cppflags)
tests_unit_core_ni_LDADD = tests/unit/libcore.a
tests_unit_core_me_SOURCES = tests/unit/core_me.c tests/unit/core_env.h
tests_unit_core_me_CPPFLAGS = $(core_cppflags)
tests_unit_core_me_LDADD = tests/unit/libcore.a
tests_unit_core_md_SOURCES = tests/unit/core_md.c tests/unit/core_env.h
tests_unit_core_md_CPPFLAGS = $(core_cppflags)
tests_unit_core_md_LDADD = tests/unit/libcore.a
tests_unit_core_eq_SOURCES = tests/unit/core_eq.c tests/unit/core_env.h
tests_unit_core_eq_CPPFLAGS = $(core_cppflags)
tests_unit_core_eq_LDADD = tests/unit/libcore.a
tests_unit_core_match_SOURCES = tests/unit/core_match.c tests/unit/core_env.h
tests_unit_core_match_CPPFLAGS = $(core_cppflags)
tests_unit_core_match_LDADD = tests/unit/libcore.a
tests_unit_core_own_SOURCES = tests/unit/core_own.c tests/unit/core_env.h
tests_unit_core_own_CPPFLAGS = $(core_cppflags)
tests_unit_core_own_LDADD = tests/unit/libcore.a
tests_unit_core_lane_SOURCES = tests/unit/core_lane.c tests/unit/core_env.h
tests_unit_core_lane_CPPFLAGS = $(core_cppflags)
tests_unit_core_lane_LDADD = tests/unit/libcore.a
tests_unit_core_iov_SOURCES = tests/unit/core_iov.c tests/unit/core_env.h
tests_unit_core_iov_CPPFLAGS = $(core_cppflags)
tests_unit_core_iov_LDADD = tests/unit/libcore.a
tests_unit_core_random_SOURCES = tests/unit/core_random.c tests/unit/core_ref.c tests/unit/core_ref.h tests/unit/core_env.h
tests_unit_core_random_CPPFLAGS = $(core_cppflags)
tests_unit_core_random_LDADD = tests/unit/libcore.a

check_PROGRAMS += tests/unit/core_reap
tests_unit_core_reap_SOURCES = tests/unit/core_reap.c tests/unit/core_env.h
tests_unit_core_reap_CPPFLAGS = $(core_cppflags)
tests_unit_core_reap_LDADD = tests/unit/libcore.a
P3_TESTS += unit/core_reap:tests/unit/core_reap:limit=120

check_PROGRAMS += tests/unit/core_stress
tests_unit_core_stress_SOURCES = tests/unit/core_stress.c tests/unit/core_env.h
tests_unit_core_stress_CPPFLAGS = $(core_cppflags)
tests_unit_core_stress_LDADD = tests/unit/libcore.a
EXTRA_DIST += tests/unit/t_core_tsan.sh tests/unit/core_tsan.supp
P3_TESTS += stress/core_procs:tests/unit/core_stress:limit=300,args=procs stress/core_threads:tests/unit/core_stress:limit=300,args=threads \
	stress/core_procs-7:tests/unit/core_stress:limit=300,args=procs+5000+7 stress/core_tsan:tests/unit/t_core_tsan.sh:limit=300

include $(top_srcdir)/tests/fault/core.mk
include $(top_srcdir)/tests/model/local.mk

check_PROGRAMS += tests/unit/core_hot
tests_unit_core_hot_SOURCES = tests/unit/core_hot.c tests/unit/core_env.h
tests_unit_core_hot_CPPFLAGS = $(core_cppflags)
tests_unit_core_hot_LDADD = tests/unit/libcore.a
P3_TESTS += unit/core_hot:tests/unit/core_hot
