# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# ptl_trace, the probes, and what gdb shows: one job for all.
check_PROGRAMS += tests/trace/job
tests_trace_job_SOURCES = tests/trace/job.c tests/api/ptl.h
tests_trace_job_CPPFLAGS = $(T_CPPFLAGS)
tests_trace_job_LDADD = $(T_LIBS)
EXTRA_DIST += tests/trace/check.pl tests/trace/t_trace.sh tests/trace/t_probes.sh tests/trace/t_gdb.sh
P3_TESTS += rt/trace:tests/trace/t_trace.sh:limit=120,nosan rt/probes:tests/trace/t_probes.sh:limit=60,nosan \
	rt/gdb:tests/trace/t_gdb.sh:limit=60,nosan
