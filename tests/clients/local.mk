# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Programs as users had them, compiled against the headers of the source tree.
EXTRA_DIST += tests/clients/t_clients.sh tests/clients/mpi_utcp.c tests/clients/mpi_xt.c tests/clients/onesided_xt.c \
	tests/clients/io_both.c tests/clients/old_p30.c tests/clients/cxx_utcp.cc tests/clients/cxx_xt.cc \
	tests/clients/names
P3_TESTS += api/clients:tests/clients/t_clients.sh:nosan,limit=300

check_PROGRAMS += tests/clients/job
tests_clients_job_SOURCES = tests/clients/job.c
tests_clients_job_CPPFLAGS = $(T_CPPFLAGS)
tests_clients_job_LDADD = portals/pmi/libpmi.la $(T_LIBS)
EXTRA_DIST += tests/clients/t_xt_job.sh
P3_TESTS += rt/xt-job:tests/clients/t_xt_job.sh:nosan,limit=120
