#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# ptl_check: all paths pass here; a path that is broken on purpose (spoil.c) is found, with its cause.
. "${0%/*}/look.sh"
check=$P3_BUILD/tools/ptl_check spoil=$P3_BUILD/tests/look/.libs/spoil.so
spoilt() {	# WHAT PATH: exit status of ptl_check under it
	SPOIL=$1 LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$spoil "$check" -t 6 "$2" >said 2>&1
}
"$check" -t 60 >said 2>&1	# the machine may be busy
ok $? t_all_paths
[ "$(grep -cE '^(window|inbox|polled|cma|bounce|loop) +pass +[0-9]+ messages; put +[0-9.]+ us' said)" = 6 ] &&
	grep -qE "^tcp +(pass|off)" said
ok $? t_a_line_for_each
grep -qE '^window .*\([0-9]+ inbox, [0-9]+ put, 33 get, 0 cma, 0 bounce' said &&
	grep -qE '^polled .*\(54 inbox, 0 put, 0 get' said &&
	grep -qE '^inbox .*19 sizes to 512 bytes each by the inbox' said &&
	grep -qE '^cma .* [1-9][0-9]* cma, 0 bounce' said && grep -qE '^bounce .* 0 cma, [1-9][0-9]* bounce' said
ok $? t_each_goes_its_own_way
PTL_CMA=no "$check" -t 20 --json cma window >said 2>&1 &&
	grep -q '{"path":"cma","result":"off","why":"PTL_CMA=no"}' said &&
	grep -q '"path":"window","result":"pass"' said
ok $? t_off_is_no_failure_and_json
PTL_INBOX_MAX=64 "$check" -t 20 inbox >said 2>&1 &&
	grep -q '; 12 sizes to 64 bytes each by the inbox' said
ok $? t_longer_ones_are_not_claimed_for_the_inbox
PTL_INBOX_MAX=0 "$check" -t 20 inbox >said 2>&1 && grep -qE '^inbox +off +PTL_INBOX_MAX=0$' said
ok $? t_no_inbox
PTL_ADOPT=none "$check" -t 20 window inbox >said 2>&1 &&
	grep -qE "^window +off +PTL_ADOPT=none: a program's data are in no window" said && grep -qE '^inbox +pass' said
ok $? t_no_data_in_the_windows
if [ "$(nproc)" -gt 1 ]; then
	spoilt cma-unbound cma	# copies that a process makes that is not bound are refused
	ok $? t_each_on_its_own_core
else
	skip t_each_on_its_own_core 'one processor'
fi
spoilt cma cma
[ $? = 1 ] && grep -qE 'cma +FAIL +rank 0, get of 4095 bytes: byte 4000 is 0x' said
ok $? t_a_wrong_byte
spoilt cma-refused cma
[ $? = 1 ] && grep -qE 'cma +FAIL +it is not there: process_vm_readv .*not permitted.*(seccomp|ptrace_scope)' said
ok $? t_a_copy_that_is_refused
if has_net; then
	spoilt tcp tcp
	[ $? = 1 ] && grep -qE 'tcp +FAIL +rank [01], .*: no event within .*(unanswered|credits are lost)' said
	ok $? t_a_network_that_eats
else
	skip t_a_network_that_eats "$no_net"
fi
PTL_LOOP=loss=100 "$check" -t 20 loop >said 2>&1
ok $? t_losses_are_made_good
PTL_LOOP=nonsense "$check" -t 20 loop >said 2>&1
[ $? = 1 ] && grep -qE "loop +FAIL +opening the interface: .*'nonsense' is not understood" said
ok $? t_what_the_library_says_is_the_cause
PTL_SMARTMAP=bogus "$check" >said 2>&1
[ $? = 2 ] && [ "$(grep -c bogus said)" = 1 ] && [ "$(wc -l <said)" = 1 ]
ok $? t_a_bad_setting_is_said_once
"$check" nowhere >said 2>&1
[ $? = 2 ] && grep -q "no path 'nowhere'" said
ok $? t_usage
finish
