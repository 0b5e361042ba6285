#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# DMAPP_*: a value that cannot be is told in one sentence in the job, by name, value and range, and dmapp_init says
# INVALID_PARAM on all PEs; it may be called again. Also where PE 0 alone has it; what another one has counts nowhere.
prog="$P3_BUILD/libtool --mode=execute $P3_BUILD/tests/dmapp/env"
n=0 failed=0

job() {	# OPTIONS OF multi -- ASSIGNMENTS: out, err
	local options=()

	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	env "$@" timeout 30 "$P3_BUILD/tests/common/multi" "${options[@]}" $prog >out 2>&1
	[ $? != 124 ] || echo "# hangs"
	grep '^dmapp' out >err
}

check() {	# NAME SAID SENTENCE: all PEs have printed SAID; the sentence, or none
	n=$((n + 1))
	if [ "$(grep -c "^.*$2\$" out)" = "$PES" ] && [ "$(cat err)" = "$3" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		sed 's/^/# /' out
		failed=1
	fi
}

bad='init 1, again 0, 0 syncids, threshold 0'
PES=3
while IFS='|' read -r set range; do
	job -n 3 -- "$set"
	check "$set" "$bad" "dmapp error: $set: must be $range"
done <<'X'
DMAPP_OFFLOAD_THRESHOLD=foo|bytes from 0 to 4294967295, also with k or m
DMAPP_OFFLOAD_THRESHOLD=4096x|bytes from 0 to 4294967295, also with k or m
DMAPP_OFFLOAD_THRESHOLD=4kk|bytes from 0 to 4294967295, also with k or m
DMAPP_OFFLOAD_THRESHOLD=-1|bytes from 0 to 4294967295, also with k or m
DMAPP_OFFLOAD_THRESHOLD=-18446744073709547520|bytes from 0 to 4294967295, also with k or m
DMAPP_OFFLOAD_THRESHOLD=4096m|bytes from 0 to 4294967295, also with k or m
DMAPP_OFFLOAD_THRESHOLD=18446744073709551617|bytes from 0 to 4294967295, also with k or m
DMAPP_MAX_OUTSTANDING_NB=0|a number from 1 to 65536, also with k or m
DMAPP_MAX_OUTSTANDING_NB=65537|a number from 1 to 65536, also with k or m
DMAPP_MAX_LOCKS=foo|a number from 1 to 1023
DMAPP_MAX_LOCKS=0|a number from 1 to 1023
DMAPP_MAX_LOCKS=1024|a number from 1 to 1023
DMAPP_MAX_LOCKS=1k|a number from 1 to 1023
_DMAPPI_NDREG_ENTRIES=many|a number from 1 to 1024
_DMAPPI_NDREG_ENTRIES=1025|a number from 1 to 1024
DMAPP_ENGINE=maybe|yes, no or auto
X

while IFS='|' read -r set said; do
	job -n 3 -- $set
	check "$set" "init 0, again 0, $said" ''
done <<'X'
DMAPP_OFFLOAD_THRESHOLD=0|512 syncids, threshold 0
DMAPP_OFFLOAD_THRESHOLD=0x2000|512 syncids, threshold 8192
DMAPP_OFFLOAD_THRESHOLD=64K|512 syncids, threshold 65536
DMAPP_OFFLOAD_THRESHOLD=4095m|512 syncids, threshold 4293918720
DMAPP_OFFLOAD_THRESHOLD=4294967295|512 syncids, threshold 4294967295
DMAPP_OFFLOAD_THRESHOLD=|512 syncids, threshold 4096
DMAPP_MAX_OUTSTANDING_NB=64k|65536 syncids, threshold 4096
DMAPP_MAX_OUTSTANDING_NB=1 DMAPP_MAX_LOCKS=1023 _DMAPPI_NDREG_ENTRIES=1024 DMAPP_ENGINE=auto|1 syncids, threshold 4096
X

# of one PE
cat >one <<'X'
#!/bin/sh
[ "$PTL_MY_RID" != "$BAD_PE" ] || export DMAPP_MAX_LOCKS=foo
exec "$@"
X
chmod +x one
prog="$PWD/one $prog"
for place in '' '-N 1'; do
	job -n 3 $place -- BAD_PE=0
	check "of PE 0 alone $place" "$bad" 'dmapp error: DMAPP_MAX_LOCKS=foo: must be a number from 1 to 1023'
	job -n 3 $place -- BAD_PE=2
	check "of PE 2 alone $place" 'init 0, again 0, 512 syncids, threshold 4096' ''
done
echo "1..$n"
exit $failed
