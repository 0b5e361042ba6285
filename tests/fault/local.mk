# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
check_PROGRAMS += tests/fault/t_kill
tests_fault_t_kill_SOURCES = tests/fault/t_kill.c tests/api/ptl.h
tests_fault_t_kill_CPPFLAGS = $(T_CPPFLAGS)
tests_fault_t_kill_LDADD = $(T_LIBS)
EXTRA_DIST += tests/fault/t_kill.sh tests/fault/t_stop.sh tests/fault/t_vanish.sh
P3_TESTS += fault/kill:tests/fault/t_kill.sh:limit=300 \
	fault/kill-ap:tests/fault/t_kill.sh:limit=300,args=ap \
	fault/kill-gp:tests/fault/t_kill.sh:limit=300,args=gp fault/stop:tests/fault/t_stop.sh:limit=120

# The same between nodes, and for longer than one who is dead is waited for.
check_PROGRAMS += tests/fault/t_stopped
tests_fault_t_stopped_SOURCES = tests/fault/t_stopped.c tests/api/engine.h tests/api/ptl.h
tests_fault_t_stopped_CPPFLAGS = $(T_CPPFLAGS)
tests_fault_t_stopped_LDADD = $(T_LIBS)
P3_TESTS += fault/stop-nodes:tests/fault/t_stop.sh:limit=120,args=nodes \
	fault/vanish:tests/fault/t_vanish.sh:warns fault/vanish-ap:tests/fault/t_vanish.sh:warns,args=ap \
	fault/stopped:tests/fault/t_stopped:ranks=4,pernode=1,killed=2,env=PTL_INIT_TIMEOUT_S=1 \
	fault/stopped-ap:tests/fault/t_stopped:ranks=4,pernode=1,killed=2,env=PTL_INIT_TIMEOUT_S=1+PTL_NAL=ap

# What was left to an owner that dies.
check_PROGRAMS += tests/fault/t_owner
tests_fault_t_owner_SOURCES = tests/fault/t_owner.c tests/api/ptl.h
tests_fault_t_owner_CPPFLAGS = $(T_CPPFLAGS)
tests_fault_t_owner_LDADD = $(T_LIBS)
P3_TESTS += fault/owner:tests/fault/t_owner:ranks=2,killed=1,env=PTL_ADOPT=none+PTL_CMA=no

# Connections between nodes that end while their processes live.
if HAVE_LIBEV
check_PROGRAMS += tests/fault/t_break
tests_fault_t_break_SOURCES = tests/fault/t_break.c tests/api/ptl.h
tests_fault_t_break_CPPFLAGS = $(T_CPPFLAGS)
tests_fault_t_break_LDADD = $(T_LIBS)
P3_TESTS += fault/break:tests/fault/t_break:ranks=2,pernode=1 \
	fault/break-ap:tests/fault/t_break:ranks=2,pernode=1,env=PTL_NAL=ap
endif

# The one who lets others in has no descriptor left.
check_PROGRAMS += tests/fault/t_descriptors
tests_fault_t_descriptors_SOURCES = tests/fault/t_descriptors.c tests/api/engine.h tests/api/ptl.h
tests_fault_t_descriptors_CPPFLAGS = $(T_CPPFLAGS)
tests_fault_t_descriptors_LDADD = $(T_LIBS)
P3_TESTS += $(foreach nal,gp ap,\
	fault/descriptors-$(nal):tests/fault/t_descriptors:ranks=2,pernode=1,warns,env=PTL_NAL=$(nal) \
	fault/descriptors-never-$(nal):tests/fault/t_descriptors:ranks=2,pernode=1,warns,args=never,$(strip \
		)env=PTL_NAL=$(nal)+PTL_INIT_TIMEOUT_S=1)

# bits flipped in rank 0's state by rank 1; needs the layout of the core.
check_PROGRAMS += tests/fault/t_corrupt
tests_fault_t_corrupt_SOURCES = tests/fault/t_corrupt.c tests/api/ptl.h
tests_fault_t_corrupt_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/portals/lib
tests_fault_t_corrupt_LDADD = $(T_LIBS)
P3_TESTS += fault/corrupt-inbox:tests/fault/t_corrupt:ranks=2,killed=1,args=inbox,warns \
	fault/corrupt-lists:tests/fault/t_corrupt:ranks=2,killed=1,args=lists,warns \
	fault/corrupt-ops:tests/fault/t_corrupt:ranks=2,killed=1,args=ops,warns \
	fault/corrupt-hands:tests/fault/t_corrupt:ranks=2,env=PTL_ADOPT=none+PTL_CMA=no,args=hands,warns \
	fault/corrupt-sizes:tests/fault/t_corrupt:ranks=3,killed=1,args=sizes,warns \
	fault/corrupt-queues:tests/fault/t_corrupt:ranks=2,killed=1,args=queues,warns

# calls that the system refuses, one at a time
check_PROGRAMS += tests/fault/t_nth
tests_fault_t_nth_SOURCES = tests/fault/t_nth.c
tests_fault_t_nth_CPPFLAGS = $(T_CPPFLAGS)
tests_fault_t_nth_LDADD = $(T_LIBS)
P3_TESTS += fault/nth-node:tests/fault/t_nth:limit=120,args=node,warns \
	fault/nth-far:tests/fault/t_nth:limit=120,args=far,warns \
	fault/nth-nodes:tests/fault/t_nth:limit=120,args=nodes,warns,pernode=1 \
	fault/nth-loop:tests/fault/t_nth:limit=60,args=loop,warns \
	fault/nth-kill:tests/fault/t_nth:limit=120,args=node+kill,warns \
	fault/nth-kill-nodes:tests/fault/t_nth:limit=180,args=nodes+kill,warns,pernode=1

# a connection that breaks at each frame
check_PROGRAMS += tests/fault/t_disconnect
tests_fault_t_disconnect_SOURCES = tests/fault/t_disconnect.c tests/api/ptl.h
tests_fault_t_disconnect_CPPFLAGS = $(T_CPPFLAGS)
tests_fault_t_disconnect_LDADD = $(T_LIBS)
P3_TESTS += fault/disconnect:tests/fault/t_disconnect:limit=60

# Two hosts: network namespaces, a launcher, a link that fails.
check_PROGRAMS += tests/fault/t_hosts
tests_fault_t_hosts_SOURCES = tests/fault/t_hosts.c tests/api/ptl.h
tests_fault_t_hosts_CPPFLAGS = $(T_CPPFLAGS)
tests_fault_t_hosts_LDADD = $(T_LIBS)
EXTRA_DIST += tests/fault/t_hosts.sh
P3_TESTS += $(foreach nal,gp ap,$(foreach how,whole again cut kill slow,\
	fault/hosts-$(how)-$(nal):tests/fault/t_hosts.sh:limit=120,warns,nosan,args=$(nal)+$(how)))
