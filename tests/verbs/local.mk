# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Frames over RDMA, on a device in software (soft.h): a library that is found in the place of the real one.
soft_verbs = tests/verbs/soft.h tests/verbs/soft_hw.c tests/verbs/soft_api.c
if HAVE_VERBS
check_LTLIBRARIES += tests/verbs/libibverbs.la
tests_verbs_libibverbs_la_SOURCES = $(soft_verbs)
tests_verbs_libibverbs_la_CPPFLAGS = $(T_CPPFLAGS)
tests_verbs_libibverbs_la_LDFLAGS = $(AM_LDFLAGS) -rpath /nowhere -version-info 1:0:0
T_SOFT = PTL_VERBS=yes+LD_LIBRARY_PATH=$(abs_top_builddir)/tests/verbs/.libs
T_KILL = ranks=3,pernode=1,killed=1,warns,args=kill,nosan
# The same list as over TCP (T_NET), by the engine and by a thread in each process.
T_VERBS = $(T_NET_PAIRS) api/put-net-8:tests/api/t_put:ranks=8,pernode=3,limit=240
P3_TESTS += $(addsuffix $(comma)nosan$(comma)env=PTL_NAL=ap+$(T_SOFT),$(subst -net,-ap-verbs,$(T_VERBS))) \
	$(addsuffix $(comma)nosan$(comma)env=$(T_SOFT),$(subst -net,-net-verbs,$(T_VERBS))) \
	api/conform-ap-verbs:tests/conform/t_conform:ranks=2,pernode=1,nosan,env=T_PATH=ap+PTL_NAL=ap+$(T_SOFT) \
	api/conform-net-verbs:tests/conform/t_conform:ranks=2,pernode=1,nosan,env=T_PATH=net+$(T_SOFT)
check_PROGRAMS += tests/verbs/t_ctl tests/verbs/t_reg tests/verbs/t_long
tests_verbs_t_ctl_SOURCES = tests/verbs/t_ctl.c nal/transport/verbs/vb_ctl.c nal/transport/tcp/tcp_auth.c
tests_verbs_t_ctl_CPPFLAGS = $(T_CPPFLAGS)
tests_verbs_t_ctl_LDADD = $(frame_test)
tests_verbs_t_reg_SOURCES = tests/verbs/t_reg.c
tests_verbs_t_reg_CPPFLAGS = $(T_CPPFLAGS)
tests_verbs_t_long_SOURCES = tests/verbs/t_long.c tests/api/ptl.h
tests_verbs_t_long_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_verbs_t_long_LDADD = $(T_LIBS)
P3_TESTS += unit/verbs_ctl:tests/verbs/t_ctl:valgrind unit/verbs_reg:tests/verbs/t_reg:valgrind \
	api/long-ap-verbs:tests/verbs/t_long:ranks=2,pernode=1,nosan,env=PTL_NAL=ap+$(T_SOFT) \
	api/long-net-verbs:tests/verbs/t_long:ranks=2,pernode=1,nosan,env=$(T_SOFT) \
	fault/nodes-kill-ap-verbs:tests/api/t_nodes:$(T_KILL),env=PTL_NAL=ap+$(T_SOFT) \
	fault/stopped-verbs:tests/fault/t_stopped:ranks=4,pernode=1,killed=2,nosan,env=PTL_INIT_TIMEOUT_S=1+$(T_SOFT) \
	fault/nodes-kill-verbs:tests/api/t_nodes:$(T_KILL),env=$(T_SOFT)
else
EXTRA_DIST += $(soft_verbs) tests/verbs/t_ctl.c tests/verbs/t_reg.c tests/verbs/t_long.c
endif
EXTRA_DIST += tests/verbs/t_verbs.sh
P3_TESTS += fault/verbs:tests/verbs/t_verbs.sh:limit=180,nosan
