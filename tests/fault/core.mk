# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Movers that die or stand still: the core, compiled with a hook at each point where one may.
core_fault = tests/fault/libfault.a
check_LIBRARIES += $(core_fault)
tests_fault_libfault_a_SOURCES = $(portals_lib_sources)
tests_fault_libfault_a_CPPFLAGS = $(AM_CPPFLAGS) -DP3_FAULT
check_PROGRAMS += tests/fault/core_die tests/fault/core_mark tests/fault/core_unlink
tests_fault_core_die_CPPFLAGS = $(AM_CPPFLAGS) -DP3_FAULT
tests_fault_core_die_LDADD = $(core_fault)
tests_fault_core_mark_CPPFLAGS = $(AM_CPPFLAGS) -DP3_FAULT
tests_fault_core_mark_LDADD = $(core_fault)
tests_fault_core_unlink_CPPFLAGS = $(AM_CPPFLAGS) -DP3_FAULT
tests_fault_core_unlink_LDADD = $(core_fault)
P3_TESTS += fault/core_walk:tests/fault/core_die:limit=300,args=walk \
	fault/core_stop:tests/fault/core_die:limit=300,args=stop \
	fault/core_kill:tests/fault/core_die:limit=300,args=kill+500 fault/core_mark:tests/fault/core_mark \
	fault/core_unlink:tests/fault/core_unlink
