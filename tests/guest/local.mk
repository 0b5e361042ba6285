# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# In guests with a kernel of their own. tests/run adds the runs of guest.list and kernel-nal/test/guest.list.
P3_TESTS += kernel/modules:tests/guest/t_modules.sh:limit=900
EXTRA_DIST += tests/guest/README.md tests/guest/guest.list tests/guest/prepare tests/guest/lib.sh \
	tests/guest/init tests/guest/run tests/guest/stage2 tests/guest/t_guest.sh tests/guest/t_modules.sh \
	tests/guest/selftest_ko.sh tests/guest/selftest.sh tests/guest/in_guest.sh tests/guest/rxe.sh \
	tests/guest/rxe_api.sh tests/guest/rxe_mpi.sh tests/guest/mpi_there.c tests/guest/rxe_bw.sh \
	tests/guest/rxe_two.sh tests/guest/two.sh tests/guest/wire tests/guest/debug-kernel
# for two guests, too, where no page is seen by all
check_PROGRAMS += tests/guest/shmem_there tests/guest/put_bw
tests_guest_put_bw_SOURCES = tests/guest/put_bw.c
tests_guest_put_bw_CPPFLAGS = $(T_CPPFLAGS)
tests_guest_put_bw_LDADD = $(T_LIBS)
tests_guest_shmem_there_SOURCES = tests/guest/shmem_there.c
tests_guest_shmem_there_CPPFLAGS = $(S_CPPFLAGS)
tests_guest_shmem_there_LDADD = $(S_LIBS)
