# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# selftest.sh - in a guest: the core's self-test as a module; its lines are in the kernel's log
[ -s "$SELFTEST_KO" ] || { echo "1..1"; echo "not ok 1 - the self-test is built"; exit 1; }
insmod "$SELFTEST_KO"
rc=$?
dmesg | sed -n 's/^\[[^]]*\] \(portals_core_test: \)\?\(\(not \)\?ok .*\|1\.\.[0-9]*\)$/\2/p'
[ $rc = 0 ] && rmmod portals_core_test && ! grep -q portals_core_test /proc/modules
