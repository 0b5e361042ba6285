# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Sources of the kernel module: build.sh. Of the user-space build only uapi/ is part (nal/kern, portals/api).
kernel_nal_sources = kernel-nal/README.md kernel-nal/p3_atomic.h kernel-nal/gptl_env.h \
	kernel-nal/include/limits.h kernel-nal/include/stdbool.h kernel-nal/include/stddef.h kernel-nal/include/stdint.h \
	kernel-nal/gptl.h kernel-nal/gptl_dev.c kernel-nal/gptl_proc.c kernel-nal/gptl_call.c kernel-nal/gptl_wait.c \
	kernel-nal/gptl_mem.c kernel-nal/gptl_move.c kernel-nal/gptl_far.c kernel-nal/gptl_far_call.c \
	kernel-nal/gptl_far_pages.c kernel-nal/gptl_link.h kernel-nal/gptl_eth.c \
	kernel-nal/gptl_eth.h kernel-nal/Kbuild kernel-nal/build.sh kernel-nal/stage.sh kernel-nal/dkms.conf \
	kernel-nal/60-portals.rules \
	kernel-nal/test/Kbuild kernel-nal/test/kshim.h kernel-nal/test/selftest.c kernel-nal/test/t_core.sh
EXTRA_DIST += $(kernel_nal_sources)
dist_man_MANS += kernel-nal/portals_gp.4

# What a guest runs (tests of the module on a kernel of its own)
check_PROGRAMS += kernel-nal/test/bench
kernel_nal_test_bench_SOURCES = kernel-nal/test/bench.c
kernel_nal_test_bench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/kernel-nal/uapi
kernel_nal_test_bench_LDADD = portals/libportals.la
check_PROGRAMS += kernel-nal/test/hostile
kernel_nal_test_hostile_SOURCES = kernel-nal/test/hostile.c kernel-nal/test/two_nodes.h nal/wire/wire.h nal/wire/wire.c
kernel_nal_test_hostile_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib -I$(top_srcdir)/kernel-nal/uapi \
	-I$(top_srcdir)/nal
check_PROGRAMS += kernel-nal/test/eth_hostile
kernel_nal_test_eth_hostile_SOURCES = kernel-nal/test/eth_hostile.c kernel-nal/test/two_nodes.h nal/wire/wire.h nal/wire/wire.c
kernel_nal_test_eth_hostile_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib -I$(top_srcdir)/kernel-nal/uapi \
	-I$(top_srcdir)/nal
check_PROGRAMS += kernel-nal/test/faults
kernel_nal_test_faults_SOURCES = kernel-nal/test/faults.c kernel-nal/test/two_nodes.h nal/wire/wire.h nal/wire/wire.c
kernel_nal_test_faults_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib -I$(top_srcdir)/kernel-nal/uapi \
	-I$(top_srcdir)/nal
check_PROGRAMS += kernel-nal/test/eth_cut
kernel_nal_test_eth_cut_SOURCES = kernel-nal/test/eth_cut.c
kernel_nal_test_eth_cut_LDADD = portals/libportals.la
check_PROGRAMS += kernel-nal/test/eth_edge
kernel_nal_test_eth_edge_SOURCES = kernel-nal/test/eth_edge.c kernel-nal/test/two_nodes.h nal/wire/wire.h nal/wire/wire.c
kernel_nal_test_eth_edge_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib -I$(top_srcdir)/kernel-nal/uapi \
	-I$(top_srcdir)/nal
kernel_nal_test_eth_edge_LDADD = -lpthread
EXTRA_DIST += kernel-nal/test/g_lib.sh kernel-nal/test/g_api.sh kernel-nal/test/g_bench.sh kernel-nal/test/g_hostile.sh \
	kernel-nal/test/g_mpi.sh kernel-nal/test/g_gp.sh \
	kernel-nal/test/g_eth.sh kernel-nal/test/g_eth_jobs.sh kernel-nal/test/g_eth_two.sh \
	kernel-nal/test/g_cov.sh kernel-nal/test/g_faults.sh kernel-nal/test/coverage.sh \
	kernel-nal/test/guest.list
