# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The Portals calls: one suite, run alone (sending to itself), by pairs of ranks, and by four pairs; with targets that
# make no call and with targets that poll; with memory that peers can and cannot touch directly.
check_PROGRAMS += tests/api/t_put
tests_api_t_put_SOURCES = tests/api/t_put.c tests/api/ptl.h
tests_api_t_put_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_put_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_match
tests_api_t_match_SOURCES = tests/api/t_match.c tests/api/ptl.h
tests_api_t_match_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_match_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_get
tests_api_t_get_SOURCES = tests/api/t_get.c tests/api/ptl.h
tests_api_t_get_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_get_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_iovec
tests_api_t_iovec_SOURCES = tests/api/t_iovec.c tests/api/ptl.h
tests_api_t_iovec_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_iovec_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_update
tests_api_t_update_SOURCES = tests/api/t_update.c tests/api/ptl.h
tests_api_t_update_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_update_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_eq
tests_api_t_eq_SOURCES = tests/api/t_eq.c tests/api/ptl.h
tests_api_t_eq_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_eq_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_init
tests_api_t_init_SOURCES = tests/api/t_init.c tests/api/ptl.h
tests_api_t_init_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_init_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_again
tests_api_t_again_SOURCES = tests/api/t_again.c
tests_api_t_again_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_again_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_demand
tests_api_t_demand_SOURCES = tests/api/t_demand.c
tests_api_t_demand_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_demand_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_fork
tests_api_t_fork_SOURCES = tests/api/t_fork.c tests/api/ptl.h
tests_api_t_fork_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_fork_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_impostor
tests_api_t_impostor_SOURCES = tests/api/t_impostor.c
tests_api_t_impostor_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_impostor_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_bad
tests_api_t_bad_SOURCES = tests/api/t_bad.c tests/api/ptl.h
tests_api_t_bad_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_bad_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_polled
tests_api_t_polled_SOURCES = tests/api/t_polled.c tests/api/ptl.h
tests_api_t_polled_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_polled_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_take
tests_api_t_take_SOURCES = tests/api/t_take.c tests/api/ptl.h
tests_api_t_take_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_take_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_serial
tests_api_t_serial_SOURCES = tests/api/t_serial.c tests/api/ptl.h
tests_api_t_serial_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_serial_LDADD = $(T_LIBS)
check_PROGRAMS += tests/api/t_busy
tests_api_t_busy_SOURCES = tests/api/t_busy.c tests/api/ptl.h
tests_api_t_busy_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_busy_LDADD = $(T_LIBS)

P3_TESTS += api/init:tests/api/t_init:valgrind api/init-2:tests/api/t_init:ranks=2
P3_TESTS += api/fork:tests/api/t_fork:warns api/fork-2:tests/api/t_fork:ranks=2,warns \
	api/fork-loop:tests/api/t_fork:env=PTL_NAL=loop,warns
P3_TESTS += api/again:tests/api/t_again:warns api/again-2:tests/api/t_again:ranks=2,warns \
	api/again-5:tests/api/t_again:ranks=5,warns api/impostor:tests/api/t_impostor:warns \
	api/demand-stack:tests/api/t_demand:ranks=2,warns,env=PTL_SMARTMAP=yes+SMARTMAP_FORCE_OFF=stack+T_WANT=PTL_FAIL \
	api/demand-cma:tests/api/t_demand:ranks=2,warns,env=PTL_CMA=yes+SMARTMAP_FORCE_OFF=cma+T_WANT=PTL_FAIL \
	api/demand-none:tests/api/t_demand:ranks=2,env=PTL_SMARTMAP=yes+PTL_ADOPT=none+T_WANT=PTL_OK \
	api/demand-alone:tests/api/t_demand:env=PTL_SMARTMAP=yes+SMARTMAP_FORCE_OFF=stack+T_WANT=PTL_OK
P3_TESTS += api/put:tests/api/t_put:limit=120,valgrind \
	api/put-2:tests/api/t_put:ranks=2,limit=120,valgrind \
	api/put-2-poll:tests/api/t_put:ranks=2,limit=120,env=T_POLL=1 \
	api/put-2-private:tests/api/t_put:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/put-2-private-poll:tests/api/t_put:ranks=2,limit=120,env=PTL_ADOPT=none+T_POLL=1 \
	api/put-8:tests/api/t_put:ranks=8,limit=240
P3_TESTS += api/match:tests/api/t_match:limit=120,valgrind \
	api/match-2:tests/api/t_match:ranks=2,limit=120,valgrind \
	api/match-2-poll:tests/api/t_match:ranks=2,limit=120,env=T_POLL=1 \
	api/match-2-private:tests/api/t_match:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/match-2-private-poll:tests/api/t_match:ranks=2,limit=120,env=PTL_ADOPT=none+T_POLL=1 \
	api/match-8:tests/api/t_match:ranks=8,limit=240
P3_TESTS += api/get:tests/api/t_get:limit=120,valgrind \
	api/get-2:tests/api/t_get:ranks=2,limit=120,valgrind \
	api/get-2-poll:tests/api/t_get:ranks=2,limit=120,env=T_POLL=1 \
	api/get-2-private:tests/api/t_get:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/get-2-private-poll:tests/api/t_get:ranks=2,limit=120,env=PTL_ADOPT=none+T_POLL=1 \
	api/get-8:tests/api/t_get:ranks=8,limit=240
P3_TESTS += api/iovec:tests/api/t_iovec:limit=120,valgrind \
	api/iovec-2:tests/api/t_iovec:ranks=2,limit=120,valgrind \
	api/iovec-2-poll:tests/api/t_iovec:ranks=2,limit=120,env=T_POLL=1 \
	api/iovec-2-private:tests/api/t_iovec:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/iovec-2-private-poll:tests/api/t_iovec:ranks=2,limit=120,env=PTL_ADOPT=none+T_POLL=1 \
	api/iovec-8:tests/api/t_iovec:ranks=8,limit=240
P3_TESTS += api/update:tests/api/t_update:limit=120,valgrind \
	api/update-2:tests/api/t_update:ranks=2,limit=120,valgrind \
	api/update-2-poll:tests/api/t_update:ranks=2,limit=120,env=T_POLL=1 \
	api/update-2-private:tests/api/t_update:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/update-2-private-poll:tests/api/t_update:ranks=2,limit=120,env=PTL_ADOPT=none+T_POLL=1 \
	api/update-8:tests/api/t_update:ranks=8,limit=240
P3_TESTS += api/eq:tests/api/t_eq:limit=120,valgrind \
	api/eq-2:tests/api/t_eq:ranks=2,limit=120,valgrind \
	api/eq-2-poll:tests/api/t_eq:ranks=2,limit=120,env=T_POLL=1 \
	api/eq-2-private:tests/api/t_eq:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/eq-2-private-poll:tests/api/t_eq:ranks=2,limit=120,env=PTL_ADOPT=none+T_POLL=1 \
	api/eq-8:tests/api/t_eq:ranks=8,limit=240
P3_TESTS += api/bad:tests/api/t_bad:limit=120,valgrind \
	api/bad-2:tests/api/t_bad:ranks=2,limit=120,valgrind \
	api/bad-2-poll:tests/api/t_bad:ranks=2,limit=120,env=T_POLL=1 \
	api/bad-2-private:tests/api/t_bad:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/bad-2-private-poll:tests/api/t_bad:ranks=2,limit=120,env=PTL_ADOPT=none+T_POLL=1 \
	api/bad-8:tests/api/t_bad:ranks=8,limit=240
P3_TESTS += api/take:tests/api/t_take:valgrind api/take-2:tests/api/t_take:ranks=2 \
	api/take-8:tests/api/t_take:ranks=8,limit=120 api/take-2-node:tests/api/t_take:ranks=2,env=PTL_LOCKS=node \
	api/take-2-private:tests/api/t_take:ranks=2,env=PTL_ADOPT=none \
	api/take-2-dma:tests/api/t_take:ranks=2,env=PTL_NAL=ap+PTL_SELF_DMA_MIN=512+T_NO_TAKING=1 \
	api/take-net:tests/api/t_take:ranks=2,pernode=1,limit=120,env=T_NO_TAKING=1 \
	api/take-ap:tests/api/t_take:ranks=2,pernode=1,limit=120,env=PTL_NAL=ap+T_NO_TAKING=1 \
	api/take-loop:tests/api/t_take:env=PTL_NAL=loop+T_NO_TAKING=1
# PtlNISerial_np: what one thread of several does is what the only one would
P3_TESTS += api/serial:tests/api/t_serial:limit=120 api/serial-2:tests/api/t_serial:ranks=2,limit=120 \
	api/serial-net:tests/api/t_serial:ranks=2,pernode=1,limit=120,env=T_REFUSED=1 \
	api/serial-ap:tests/api/t_serial:ranks=2,pernode=1,limit=120,env=PTL_NAL=ap+T_NO_TAKING=1 \
	api/take-2-serial:tests/api/t_take:ranks=2,env=T_SERIAL=1 \
	api/polled-2-serial:tests/api/t_polled:ranks=2,env=T_SERIAL=1 \
	api/put-2-poll-serial:tests/api/t_put:ranks=2,limit=120,env=T_POLL=1+T_SERIAL=1 \
	api/eq-2-serial:tests/api/t_eq:ranks=2,limit=120,env=T_SERIAL=1
P3_TESTS += api/polled:tests/api/t_polled:valgrind api/polled-2:tests/api/t_polled:ranks=2 \
	api/polled-8:tests/api/t_polled:ranks=8,limit=120 \
	api/busy-2:tests/api/t_busy:ranks=2,limit=120 api/busy-2-poll:tests/api/t_busy:ranks=2,limit=120,env=T_POLL=1 \
	api/busy-2-private:tests/api/t_busy:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/busy-2-bounce-poll:tests/api/t_busy:ranks=2,limit=120,env=PTL_ADOPT=none+PTL_CMA=no+T_POLL=1

check_PROGRAMS += tests/api/t_waiters tests/api/t_handed
tests_api_t_waiters_SOURCES = tests/api/t_waiters.c tests/api/ptl.h
tests_api_t_waiters_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_waiters_LDADD = $(T_LIBS)
tests_api_t_handed_SOURCES = tests/api/t_handed.c tests/api/ptl.h
tests_api_t_handed_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_handed_LDADD = $(T_LIBS)
P3_TESTS += api/waiters-2:tests/api/t_waiters:ranks=2,limit=120 \
	api/handed-2:tests/api/t_handed:ranks=2,env=PTL_ADOPT=none+PTL_CMA=no \
	api/handed-8:tests/api/t_handed:ranks=8,limit=180,env=PTL_ADOPT=none+PTL_CMA=no
check_PROGRAMS += tests/api/t_between
tests_api_t_between_SOURCES = tests/api/t_between.c
tests_api_t_between_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_between_LDADD = $(T_LIBS)
P3_TESTS += api/between-2:tests/api/t_between:ranks=2,env=PTL_ADOPT=none+PTL_CMA=no \
	api/between-6:tests/api/t_between:ranks=6,env=PTL_ADOPT=none+PTL_CMA=no
check_PROGRAMS += tests/api/t_exit
tests_api_t_exit_SOURCES = tests/api/t_exit.c tests/api/ptl.h
tests_api_t_exit_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_exit_LDADD = $(T_LIBS)
P3_TESTS += api/exit-2:tests/api/t_exit:ranks=2
check_PROGRAMS += tests/api/t_torn
tests_api_t_torn_SOURCES = tests/api/t_torn.c tests/api/ptl.h
tests_api_t_torn_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_torn_LDADD = $(T_LIBS)
P3_TESTS += api/torn:tests/api/t_torn api/torn-2-poll:tests/api/t_torn:ranks=2,env=T_POLL=1+T_PUTS=2000
check_PROGRAMS += tests/api/t_home tests/api/t_wild
tests_api_t_home_SOURCES = tests/api/t_home.c
tests_api_t_home_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_home_LDADD = $(T_LIBS)
tests_api_t_wild_SOURCES = tests/api/t_wild.c tests/api/ptl.h
tests_api_t_wild_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_wild_LDADD = $(T_LIBS)
P3_TESTS += api/home:tests/api/t_home api/home-2:tests/api/t_home:ranks=2 \
	api/home-sleep:tests/api/t_home:env=PTL_SPIN=0+PTL_YIELD=0 \
	api/wild-2:tests/api/t_wild:ranks=2 \
	api/wild-loop:tests/api/t_wild:env=PTL_NAL=loop \
	api/wild-2-bounce-poll:tests/api/t_wild:ranks=2,env=PTL_ADOPT=none+PTL_CMA=no+T_POLL=1
check_PROGRAMS += tests/api/t_space
tests_api_t_space_SOURCES = tests/api/t_space.c tests/api/ptl.h
tests_api_t_space_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_space_LDADD = $(T_LIBS)
P3_TESTS += api/space:tests/api/t_space:limit=120 api/space-2:tests/api/t_space:ranks=2,limit=120
check_PROGRAMS += tests/api/t_swap
tests_api_t_swap_SOURCES = tests/api/t_swap.c tests/api/ptl.h
tests_api_t_swap_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_swap_LDADD = $(T_LIBS)
P3_TESTS += api/swap:tests/api/t_swap:limit=120,valgrind \
	api/swap-2:tests/api/t_swap:ranks=2,limit=120,valgrind \
	api/swap-2-poll:tests/api/t_swap:ranks=2,limit=120,env=T_POLL=1 \
	api/swap-2-private:tests/api/t_swap:ranks=2,limit=120,env=PTL_ADOPT=none \
	api/swap-2-bounce-poll:tests/api/t_swap:ranks=2,limit=120,env=PTL_ADOPT=none+PTL_CMA=no+T_POLL=1 \
	api/swap-8:tests/api/t_swap:ranks=8,limit=240

check_PROGRAMS += tests/api/t_atomic
tests_api_t_atomic_SOURCES = tests/api/t_atomic.c tests/api/ptl.h
tests_api_t_atomic_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_atomic_LDADD = $(T_LIBS)
P3_TESTS += api/atomic:tests/api/t_atomic:limit=120,valgrind \
	api/atomic-2:tests/api/t_atomic:ranks=2,limit=120,valgrind \
	api/atomic-2-poll:tests/api/t_atomic:ranks=2,limit=120,env=T_POLL=1 \
	api/atomic-2-private:tests/api/t_atomic:ranks=2,limit=120,args=private,env=PTL_ADOPT=none+T_POLL=1 \
	api/atomic-2-private-net:tests/api/t_atomic:ranks=2,pernode=1,limit=120,args=private,env=PTL_ADOPT=none \
	api/atomic-8:tests/api/t_atomic:ranks=8,limit=240

# Both kinds of headers in one program.
check_PROGRAMS += tests/api/t_rules
tests_api_t_rules_SOURCES = tests/api/t_rules.c tests/api/rules_ref.c tests/api/rules_xt.c tests/api/rules.h tests/api/ptl.h
tests_api_t_rules_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_rules_LDADD = $(T_LIBS)
P3_TESTS += api/rules:tests/api/t_rules:limit=120,valgrind \
	api/rules-2:tests/api/t_rules:ranks=2,limit=120 \
	api/rules-2-poll:tests/api/t_rules:ranks=2,limit=120,env=T_POLL=1 \
	api/rules-2-private-poll:tests/api/t_rules:ranks=2,limit=120,env=PTL_ADOPT=none+T_POLL=1 \
	api/rules-8:tests/api/t_rules:ranks=8,limit=240

check_PROGRAMS += tests/api/t_look tests/api/t_told
tests_api_t_look_SOURCES = tests/api/t_look.c tests/api/ptl.h
tests_api_t_look_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_look_LDADD = $(T_LIBS)
tests_api_t_told_SOURCES = tests/api/t_told.c
tests_api_t_told_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_told_LDADD = portals/pmi/libpmi.la $(T_LIBS)
P3_TESTS += api/look:tests/api/t_look:valgrind api/look-2:tests/api/t_look:ranks=2 \
	api/told-3:tests/api/t_told:ranks=3 api/told-3-late:tests/api/t_told:ranks=3,args=late

# Several virtual nodes: pairs of ranks on two of them; eight on three, where some pairs are on one node and some are
# not.
check_PROGRAMS += tests/api/t_nodes
tests_api_t_nodes_SOURCES = tests/api/t_nodes.c tests/api/ptl.h
tests_api_t_nodes_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_nodes_LDADD = $(T_LIBS)
# a model of links between them
check_PROGRAMS += tests/api/t_links
tests_api_t_links_SOURCES = tests/api/t_links.c tests/api/ptl.h
tests_api_t_links_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_links_LDADD = $(T_LIBS)
P3_TESTS += api/links-net:tests/api/t_links:ranks=2,pernode=1,nosan api/links-net-4:tests/api/t_links:ranks=4,pernode=2,nosan \
	api/links-net-file:tests/api/t_links:ranks=4,pernode=2,args=file,nosan \
	api/links-bad:tests/api/t_links:ranks=4,pernode=2,args=bad,warns \
	api/links-ap:tests/api/t_links:ranks=2,pernode=1,nosan,env=PTL_NAL=ap \
	api/links-ap-4:tests/api/t_links:ranks=4,pernode=2,nosan,env=PTL_NAL=ap \
	api/links-ap-file:tests/api/t_links:ranks=4,pernode=2,args=file,nosan,env=PTL_NAL=ap \
	api/links-ap-bad:tests/api/t_links:ranks=4,pernode=2,args=bad,warns,env=PTL_NAL=ap \
	api/nodes-links-ap:tests/api/t_nodes:ranks=6,pernode=2,limit=120,env=PTL_LINKS=300:200+PTL_NAL=ap \
	api/put-links-ap:tests/api/t_put:ranks=8,pernode=3,limit=120,env=PTL_LINKS=200:300+PTL_NAL=ap \
	api/nodes-links:tests/api/t_nodes:ranks=6,pernode=2,limit=120,env=PTL_LINKS=300:200 \
	api/put-links:tests/api/t_put:ranks=8,pernode=3,limit=120,env=PTL_LINKS=200:300 \
	fault/nodes-links-kill:tests/api/t_nodes:ranks=3,pernode=1,killed=1,warns,args=kill,env=PTL_LINKS=2000:20 \
	fault/nodes-links-kill-ap:tests/api/t_nodes:ranks=3,pernode=1,killed=1,warns,args=kill,$(strip \
		)env=PTL_LINKS=2000:20+PTL_NAL=ap \
	fault/engine-again-links:tests/api/t_engine:ranks=4,pernode=2,args=again,env=PTL_NAL=ap+PTL_LINKS=300:200
T_NET = api/put-net:tests/api/t_put:ranks=2,pernode=1,limit=120 \
	api/put-net-poll:tests/api/t_put:ranks=2,pernode=1,limit=120,env=T_POLL=1 \
	api/put-net-8:tests/api/t_put:ranks=8,pernode=3,limit=240 \
	api/match-net:tests/api/t_match:ranks=2,pernode=1,limit=120 \
	api/match-net-8:tests/api/t_match:ranks=8,pernode=3,limit=240 \
	api/get-net:tests/api/t_get:ranks=2,pernode=1,limit=120 \
	api/get-net-poll:tests/api/t_get:ranks=2,pernode=1,limit=120,env=T_POLL=1 \
	api/get-net-8:tests/api/t_get:ranks=8,pernode=3,limit=240 \
	api/iovec-net:tests/api/t_iovec:ranks=2,pernode=1,limit=120 \
	api/iovec-net-8:tests/api/t_iovec:ranks=8,pernode=3,limit=240 \
	api/update-net:tests/api/t_update:ranks=2,pernode=1,limit=120 \
	api/update-net-8:tests/api/t_update:ranks=8,pernode=3,limit=240 \
	api/eq-net:tests/api/t_eq:ranks=2,pernode=1,limit=120 \
	api/eq-net-8:tests/api/t_eq:ranks=8,pernode=3,limit=240 \
	api/bad-net:tests/api/t_bad:ranks=2,pernode=1,limit=120 \
	api/swap-net:tests/api/t_swap:ranks=2,pernode=1,limit=120 \
	api/swap-net-8:tests/api/t_swap:ranks=8,pernode=3,limit=240 \
	api/atomic-net:tests/api/t_atomic:ranks=2,pernode=1,limit=120 \
	api/atomic-net-8:tests/api/t_atomic:ranks=8,pernode=3,limit=240 \
	api/rules-net:tests/api/t_rules:ranks=2,pernode=1,limit=120 \
	api/rules-net-8:tests/api/t_rules:ranks=8,pernode=3,limit=240 \
	api/polled-net:tests/api/t_polled:ranks=2,pernode=1,limit=120 api/look-net:tests/api/t_look:ranks=2,pernode=1 \
	api/busy-net:tests/api/t_busy:ranks=2,pernode=1,limit=120 \
	api/waiters-net:tests/api/t_waiters:ranks=2,pernode=1,limit=120 api/init-net:tests/api/t_init:ranks=2,pernode=1 \
	api/exit-net:tests/api/t_exit:ranks=4,pernode=1 api/torn-net:tests/api/t_torn:ranks=2,pernode=1,env=T_PUTS=100 \
	api/home-net:tests/api/t_home:ranks=2,pernode=1 api/wild-net:tests/api/t_wild:ranks=2,pernode=1
# Each of them with an interrupt thread in each process, and with an engine for each node; those of pairs of ranks, and
# of seven, also with an engine that does all of it, where else a rank that polls does what it can. tests/verbs has them
# over RDMA.
comma = ,
T_NET_PAIRS = $(foreach t,$(T_NET),$(if $(findstring -net-,$(t)),,$(t))) \
	api/nodes-net:tests/api/t_nodes:ranks=7,pernode=3,limit=120
P3_TESTS += $(T_NET) $(addsuffix $(comma)env=PTL_NAL=ap,$(subst -net,-ap,$(T_NET))) \
	$(foreach t,$(subst -net,-ap-off,$(T_NET_PAIRS)),$(t)$(comma)env=PTL_NAL=ap+PTL_NIC_POLL=0$(strip \
		$(if $(filter api/put-% api/get-% api/nodes-%,$(t)),,$(comma)nosan))) \
	api/conform-ap-off:tests/conform/t_conform:ranks=2,pernode=1,env=T_PATH=ap+PTL_NAL=ap+PTL_NIC_POLL=0
P3_TESTS += api/nodes:tests/api/t_nodes:ranks=4,pernode=2,limit=120 \
	api/nodes-7:tests/api/t_nodes:ranks=7,pernode=3,limit=120 \
	api/nodes-refused:tests/api/t_nodes:ranks=4,pernode=2,args=refused,warns \
	fault/nodes-kill:tests/api/t_nodes:ranks=3,pernode=1,killed=1,warns,args=kill \
	api/nodes-ap:tests/api/t_nodes:ranks=4,pernode=2,limit=120,env=PTL_NAL=ap \
	api/nodes-7-ap:tests/api/t_nodes:ranks=7,pernode=3,limit=120,env=PTL_NAL=ap \
	api/nodes-refused-ap:tests/api/t_nodes:ranks=4,pernode=2,args=refused,warns,env=PTL_NAL=ap \
	fault/nodes-kill-ap:tests/api/t_nodes:ranks=3,pernode=1,killed=1,warns,args=kill,env=PTL_NAL=ap

check_PROGRAMS += tests/api/t_engine
tests_api_t_engine_SOURCES = tests/api/t_engine.c tests/api/ptl.h
tests_api_t_engine_CPPFLAGS = $(T_CPPFLAGS)
tests_api_t_engine_LDADD = $(T_LIBS)
P3_TESTS += fault/engine-kill:tests/api/t_engine:ranks=4,pernode=2,warns,env=PTL_NAL=ap+PTL_NIC_HEIRS=0 \
	fault/engine-again:tests/api/t_engine:ranks=4,pernode=2,args=again,env=PTL_NAL=ap \
	fault/engine-again-off:tests/api/t_engine:ranks=4,pernode=2,args=again,env=PTL_NAL=ap+PTL_NIC_POLL=0 \
	fault/engine-inside:tests/api/t_engine:ranks=4,pernode=2,killed=1,warns,args=inside,env=PTL_NAL=ap \
	fault/engine-kill-amid:tests/api/t_engine:ranks=4,pernode=2,warns,args=amid,env=PTL_NAL=ap+PTL_NIC_HEIRS=0

# A process and itself, by frames, over a network that loses, doubles, reorders and breaks them.
T_LOOP = PTL_NAL=loop+PTL_LOOP=loss=30:dup=30:reorder=50:flip=10
P3_TESTS += api/put-loop:tests/api/t_put:env=$(T_LOOP) api/match-loop:tests/api/t_match:env=$(T_LOOP) \
	api/get-loop:tests/api/t_get:env=$(T_LOOP) api/iovec-loop:tests/api/t_iovec:env=$(T_LOOP) \
	api/update-loop:tests/api/t_update:env=$(T_LOOP) api/eq-loop:tests/api/t_eq:env=$(T_LOOP) \
	api/bad-loop:tests/api/t_bad:env=$(T_LOOP) api/swap-loop:tests/api/t_swap:env=$(T_LOOP) api/atomic-loop:tests/api/t_atomic:env=$(T_LOOP) \
	api/rules-loop:tests/api/t_rules:env=$(T_LOOP) api/polled-loop:tests/api/t_polled:env=$(T_LOOP) \
	api/look-loop:tests/api/t_look:env=$(T_LOOP) api/init-loop:tests/api/t_init:env=$(T_LOOP)

# As if addresses had 39 or 36 bits: small windows, low in memory, where sanitizers have their own.
P3_TESTS += api/put-8-39:tests/api/t_put:ranks=8,limit=180,nosan,env=SMARTMAP_FORCE_SPACE=39 \
	api/get-2-36:tests/api/t_get:ranks=2,limit=120,nosan,env=SMARTMAP_FORCE_SPACE=36

# Left to the engine on one node: all calls (PTL_LOCKS=master); the copies of long ones. And one lock for the node.
P3_TESTS += $(foreach t,put get match iovec update eq bad swap atomic rules busy waiters init,\
	api/$(t)-master:tests/api/t_$(t):ranks=2,limit=120,env=PTL_LOCKS=master) \
	$(foreach t,put get match swap,api/$(t)-8-master:tests/api/t_$(t):ranks=8,limit=240,env=PTL_LOCKS=master \
		api/$(t)-8-dma:tests/api/t_$(t):ranks=8,limit=240,env=PTL_NAL=ap+PTL_SELF_DMA_MIN=512) \
	$(foreach t,put get iovec update eq bad rules busy waiters init,\
	api/$(t)-dma:tests/api/t_$(t):ranks=2,limit=120,env=PTL_NAL=ap+PTL_SELF_DMA_MIN=512) \
	$(foreach t,put get match swap polled rules,api/$(t)-4-node:tests/api/t_$(t):ranks=4,env=PTL_LOCKS=node) \
	api/nodes-dma:tests/api/t_nodes:ranks=4,pernode=2,limit=120,env=PTL_NAL=ap+PTL_SELF_DMA_MIN=512 \
	api/nodes-master:tests/api/t_nodes:ranks=4,pernode=2,limit=120,env=PTL_LOCKS=master \
	api/put-private-master:tests/api/t_put:ranks=2,env=PTL_LOCKS=master+PTL_ADOPT=none \
	api/get-private-master:tests/api/t_get:ranks=2,env=PTL_LOCKS=master+PTL_ADOPT=none \
	fault/engine-copies:tests/api/t_engine:ranks=2,warns,args=copies,env=PTL_NAL=ap+PTL_SELF_DMA_MIN=1 \
	fault/engine-copies-dead:tests/api/t_engine:ranks=3,killed=1,warns,args=copies-dead,env=PTL_NAL=ap+PTL_SELF_DMA_MIN=1
