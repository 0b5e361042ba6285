#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The machine of another node vanishes: its link is taken down, in a network namespace of our own. That is noticed in
# five seconds with PTL_INIT_TIMEOUT_S=1, while messages to it are under way, which hide it from keepalive on their own
# connection.
#
#	t_vanish.sh [ap]	by way of interrupt threads, or of engines
case ${1:-gp} in
ap) export PTL_NAL=ap whom="node 2" ;;
*) export PTL_NAL=gp whom="rank 2 of node 2" ;;
esac
if ! grep -q 'define HAVE_LIBEV' "$P3_BUILD/config.h"; then
	echo "this build has no network (Debian package libev-dev)" >&2
	exit 77
fi
if ! unshare -Urn ip link set lo up 2>/dev/null; then
	echo "no network namespace of our own (user namespaces are refused, or no ip: Debian package iproute2)" >&2
	exit 77
fi
export PTL_INIT_TIMEOUT_S=1
rc=0
unshare -Urn sh -c 'ip link set lo up && exec "$@"' x "$P3_BUILD/tests/common/multi" -n 4 -N 1 -k 2 \
	"$P3_BUILD/libtool" --mode=execute "$P3_BUILD/tests/fault/t_stopped" vanish 2>err || rc=$?
cat err >&2
if ! grep -q "warn: the connection to $whom has failed: " err; then
	echo "nobody is told why" >&2
	rc=1
fi
exit $rc
