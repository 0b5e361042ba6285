# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# rxe_api.sh - in a guest: API suite and conformance scripts over soft-RoCE, two and more processes on one device
#
# The tests are those of tests/verbs/local.mk, without its device in software. Option all: all of them; else a few, or
# those of the pattern RXE_ONLY.
. "$SRC/tests/guest/rxe.sh"
grep -q 'define HAVE_VERBS' "$P3_BUILD/config.h" || skip_all "this build has no RDMA (Debian package libibverbs-dev)"
rxe_up >&2
ok $? "rxe0 is up"
few=' api/put-ap-verbs api/put-net-verbs api/long-ap-verbs '
only=${RXE_ONLY:-}
while IFS=: read -r name prog opts; do
	case $name in *-verbs | *-verbs-[0-9]*) ;; *) continue ;; esac
	case $name in api/*) ;; *) continue ;; esac
	if [ -n "$only" ]; then
		# shellcheck disable=SC2053 -- a pattern
		[[ $name == $only ]] || continue
	else
		case " $OPTIONS $few" in *' all '* | *" $name "*) ;; *) continue ;; esac
	fi
	opts=$(sed 's/+LD_LIBRARY_PATH=[^,+]*//; s/limit=[0-9]*/limit=240/' <<<"$opts")
	case $opts in *limit=*) ;; *) opts+=,limit=240 ;; esac
	IFS=, read -r -a o <<<"$opts"
	before=$(rxe_packets) begin=$(date +%s)
	"$SRC/tests/common/one" "$P3_BUILD" /tmp/res "$name" "$prog" "${o[@]}" >/tmp/said 2>/tmp/err
	rc=$?
	lines=$(grep -c '^ok' /tmp/said)
	[ $rc = 0 ] && [ "$lines" -gt 0 ] && ! grep -q '^not ok' /tmp/said
	rc=$?
	ok $rc "$name over rxe: $lines lines, $(($(rxe_packets) - before)) packets, $(($(date +%s) - begin)) s"
	[ $rc = 0 ] || { echo "#### $name"; grep -v '^ok' /tmp/said; tail -n 60 /tmp/err; } >&2
	# bad arguments and ends need not come to the other side
	case $name in *bad* | *wild*) ;; *) [ "$(rxe_packets)" -gt "$before" ]; ok $? "$name: by RDMA" ;; esac
done <"$P3_BUILD/tests/list"
rdma link delete rxe0 && modprobe -r rdma_rxe
ok $? "the device goes away: nothing of it is held"
finish
