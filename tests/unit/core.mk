# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The core by itself (portals/lib), with a fake surrounding: tests/unit/core_env.h. A program's source is its name with .c;
# headers are found from there, so that it needs no flags of its own.
core = tests/unit/libcore.a
check_LIBRARIES = $(core)
tests_unit_libcore_a_SOURCES = $(portals_lib_sources)
EXTRA_DIST += tests/unit/core_env.h tests/unit/t_core_tsan.sh tests/unit/core_tsan.supp

check_PROGRAMS += tests/unit/core_ni tests/unit/core_me tests/unit/core_md tests/unit/core_eq tests/unit/core_match \
	tests/unit/core_own tests/unit/core_lane tests/unit/core_iov tests/unit/core_random tests/unit/core_reap \
	tests/unit/core_hot tests/unit/core_index tests/unit/core_swap tests/unit/core_step tests/unit/core_stress \
	tests/unit/nal_drain tests/unit/nal_step tests/unit/core_corrupt
tests_unit_core_ni_LDADD = $(core)
tests_unit_core_me_LDADD = $(core)
tests_unit_core_md_LDADD = $(core)
tests_unit_core_eq_LDADD = $(core)
tests_unit_core_match_LDADD = $(core)
tests_unit_core_own_LDADD = $(core)
tests_unit_core_lane_LDADD = $(core)
tests_unit_core_iov_LDADD = $(core)
tests_unit_core_random_SOURCES = tests/unit/core_random.c tests/unit/core_ref.c tests/unit/core_ref.h
tests_unit_core_random_LDADD = $(core)
tests_unit_core_reap_LDADD = $(core)
tests_unit_core_hot_LDADD = $(core)
tests_unit_core_index_LDADD = $(core)
tests_unit_core_swap_LDADD = $(core)
tests_unit_core_step_LDADD = $(core)
tests_unit_core_stress_LDADD = $(core)
tests_unit_core_corrupt_LDADD = $(core)
# a file of the NAL without the rest
tests_unit_nal_drain_SOURCES = tests/unit/nal_drain.c nal/smartmap/nal_inbox.c
tests_unit_nal_drain_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/portals/lib -I$(top_srcdir)/portals/rt
tests_unit_nal_drain_LDADD = $(core)
tests_unit_nal_step_CPPFLAGS = $(tests_unit_nal_drain_CPPFLAGS) -I$(top_srcdir)/nal/smartmap
tests_unit_nal_step_LDADD = $(core)

P3_TESTS += unit/core_ni:tests/unit/core_ni:valgrind unit/core_me:tests/unit/core_me:valgrind \
	unit/core_md:tests/unit/core_md:valgrind unit/core_eq:tests/unit/core_eq:valgrind \
	unit/core_match:tests/unit/core_match:valgrind unit/core_own:tests/unit/core_own:valgrind \
	unit/core_lane:tests/unit/core_lane:valgrind unit/core_iov:tests/unit/core_iov:valgrind \
	unit/core_corrupt:tests/unit/core_corrupt:limit=120 \
	unit/core_random:tests/unit/core_random:limit=300 unit/core_reap:tests/unit/core_reap:limit=120 \
	unit/core_hot:tests/unit/core_hot unit/core_index:tests/unit/core_index unit/core_swap:tests/unit/core_swap:valgrind \
	unit/core_step:tests/unit/core_step:nosan unit/nal_drain:tests/unit/nal_drain:valgrind unit/nal_step:tests/unit/nal_step
P3_TESTS += stress/core_procs:tests/unit/core_stress:limit=300,args=procs \
	stress/core_threads:tests/unit/core_stress:limit=300,args=threads \
	stress/core_procs-7:tests/unit/core_stress:limit=300,args=procs+5000+7 \
	stress/core_tsan:tests/unit/t_core_tsan.sh:limit=300

include $(top_srcdir)/tests/fault/core.mk
include $(top_srcdir)/tests/model/local.mk
