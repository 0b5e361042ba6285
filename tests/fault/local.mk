# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
check_PROGRAMS += tests/fault/t_kill
tests_fault_t_kill_SOURCES = tests/fault/t_kill.c tests/api/ptl.h
tests_fault_t_kill_CPPFLAGS = $(T_CPPFLAGS)
tests_fault_t_kill_LDADD = $(T_LIBS)
EXTRA_DIST += tests/fault/t_kill.sh tests/fault/t_stop.sh
P3_TESTS += fault/kill:tests/fault/t_kill.sh:limit=300 fault/stop:tests/fault/t_stop.sh:limit=120
