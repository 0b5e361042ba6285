# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Movers that die: the core, compiled with a hook at each point where one may.
check_LIBRARIES += tests/fault/libfault.a
tests_fault_libfault_a_SOURCES = $(portals_lib_sources)
tests_fault_libfault_a_CPPFLAGS = $(core_cppflags) -DP3_FAULT
check_PROGRAMS += tests/fault/core_die
tests_fault_core_die_SOURCES = tests/fault/core_die.c tests/unit/core_env.h
tests_fault_core_die_CPPFLAGS = $(core_cppflags) -DP3_FAULT
tests_fault_core_die_LDADD = tests/fault/libfault.a
P3_TESTS += fault/core_walk:tests/fault/core_die:limit=300,args=walk fault/core_stop:tests/fault/core_die:limit=300,args=stop \
	fault/core_kill:tests/fault/core_die:limit=300,args=kill+500

check_PROGRAMS += tests/fault/core_mark
tests_fault_core_mark_SOURCES = tests/fault/core_mark.c tests/unit/core_env.h
tests_fault_core_mark_CPPFLAGS = $(core_cppflags) -DP3_FAULT
tests_fault_core_mark_LDADD = tests/fault/libfault.a
P3_TESTS += fault/core_mark:tests/fault/core_mark
