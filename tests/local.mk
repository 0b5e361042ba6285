# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Tests. Each is one word in P3_TESTS:
#
#	PART/NAME:PROGRAM[:OPTION,OPTION...]
#
# PART is one of those that tests/run names; PROGRAM a path, looked for in the build and then in the source, that
# prints TAP (exit status 77: skipped, the last line of stderr says why). Options:
#	limit=SECONDS	time limit (60)			ranks=N		N ranks under tests/common/multi
#	args=A+B	arguments			env=A=x+B=y	environment
#	pernode=K	K of them on each virtual node	warns		the test announces warnings of the library
#	killed=RANK	that rank is meant to die
#	valgrind	also in part valgrind		nosan		not in part sanitizers
# A test finds P3_BUILD, P3_SRC, MPT_BUILD (when ./mpt built it: MPICH is in $MPT_BUILD/mpich-portals, what is
# installed in $MPT_BUILD/prefix) in its environment and runs in an empty folder, which is also its TMPDIR.
# Programs belong to check_PROGRAMS (with -I$(top_srcdir)/tests/common for tap.h and multi.h), scripts and data files
# to EXTRA_DIST.
P3_TESTS =
check_LTLIBRARIES =
P3_CHECK_PARTS = --quick

T_CPPFLAGS = $(AM_CPPFLAGS) -D_GNU_SOURCE -I$(top_srcdir)/tests/common
T_LIBS = portals/libportals.la nal/smartmap/libsmartmap.la

check_PROGRAMS += tests/common/limit tests/common/multi
tests_common_limit_SOURCES = tests/common/limit.c tests/common/leftovers.c tests/common/leftovers.h
tests_common_limit_CPPFLAGS = $(T_CPPFLAGS)
tests_common_multi_SOURCES = tests/common/multi.c tests/common/multi.h tests/common/tap.h
tests_common_multi_CPPFLAGS = $(T_CPPFLAGS)

EXTRA_DIST += tests/run tests/arm64.list \
	tests/layout.sh tests/layout.wide tests/distcheck.sh tests/readme.sh tests/common/one tests/common/tap.sh \
	tests/common/count tests/valgrind/suppressions .ci/run
P3_TESTS += layout/layout:tests/layout.sh distcheck/distcheck:tests/distcheck.sh:limit=900 \
	readme/readme:tests/readme.sh:limit=300

include $(top_srcdir)/tests/unit/local.mk
include $(top_srcdir)/tests/doc/local.mk
include $(top_srcdir)/tests/shmem/local.mk
include $(top_srcdir)/tests/dmapp/local.mk
include $(top_srcdir)/tests/smartmap/local.mk
include $(top_srcdir)/tests/rt/local.mk
include $(top_srcdir)/tests/trace/local.mk
include $(top_srcdir)/tests/look/local.mk
include $(top_srcdir)/tests/api/local.mk
include $(top_srcdir)/tests/clients/local.mk
include $(top_srcdir)/tests/conform/local.mk
include $(top_srcdir)/tests/verbs/local.mk
include $(top_srcdir)/tests/stress/local.mk
include $(top_srcdir)/tests/unit/core.mk
include $(top_srcdir)/tests/fuzz/local.mk
include $(top_srcdir)/tests/fault/local.mk
include $(top_srcdir)/tests/env/local.mk
include $(top_srcdir)/tests/counts/local.mk
include $(top_srcdir)/tests/bench/local.mk
include $(top_srcdir)/tests/mpich/local.mk
include $(top_srcdir)/tests/dart/local.mk
include $(top_srcdir)/tests/guest/local.mk
include $(top_srcdir)/tests/smartmap/heap.mk

check-programs: $(check_PROGRAMS) $(check_LTLIBRARIES) tests/list
tests/list: Makefile
	@$(MKDIR_P) tests
	$(AM_V_GEN)printf '%s\n' $(P3_TESTS) > $@
check-local: check-programs
	P3_BUILD=$(abs_top_builddir) P3_NO_MAKE=yes $(top_srcdir)/tests/run $(P3_CHECK_PARTS)
clean-local-tests:
	rm -rf tests/out tests/list tests/sanitizers tests/compilers-gcc tests/compilers-clang tests/arm64 make.log
clean-local: clean-local-tests
.PHONY: check-programs clean-local-tests
