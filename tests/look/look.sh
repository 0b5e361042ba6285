# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Sourced by the scripts here: lines of TAP, and a look every now and then until something is so.
info=$P3_BUILD/tools/ptl_info
. "${0%/*}/../common/tap.sh"
for v in ${!PTL_@}; do unset "$v"; done
explain() {	# what the program said (file `said`) and the job (`err`)
	sed 's/^/# said: /' said >&2
	[ ! -f err ] || head -n 40 err | sed 's/^/# err: /' >&2
}
# soon SECONDS COMMAND...: it succeeds within that time
soon() {
	local until=$((SECONDS + $1))
	while [ $SECONDS -lt $until ]; do
		"${@:2}" && return 0
		read -r -t 0.1 <> <(:)
	done
	return 1
}
has_net() {	# else $no_net says why not
	grep -q 'define HAVE_LIBEV' "$P3_BUILD/config.h"
}
no_net='this build has no network (Debian package libev-dev)'
