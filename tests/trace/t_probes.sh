#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_probes - the probes of the library are those of the document; and they are met, with the right arguments
src=$P3_SRC b=$P3_BUILD
lib=$b/portals/.libs/libportals.so
doc=$src/portals/doc/PROBES.md
. "${0%/*}/../common/tap.sh"
case $(uname -m) in x86_64 | aarch64) ;; *) echo "1..0 # SKIP no probes on $(uname -m)"; exit 0 ;; esac
command -v readelf >/dev/null || { echo "1..0 # SKIP no readelf (Debian package binutils)"; exit 0; }

# name and number of arguments, of the library and of the document
LC_ALL=C readelf -n "$lib" | awk '
	/Provider:/ { p = $2 }
	/Name:/ { name = $2 }
	/Arguments:/ && p == "portals" { print name, NF - 1 }' | sort -u >have
awk -F '|' '$2 ~ /^ `[a-z_]+` $/ { gsub(/[` ]/, "", $2); print $2, split($3, a, ",") }' "$doc" | sort -u >told
diff -u told have | sed 's/^/# /' >&2
[ -s have ] && cmp -s have told
rc=$?
cp have probes
ok $rc "each probe is documented, each documented one is there, with so many arguments"

# the numbers of reasons and ways
cat >list.c <<'END'
#include <stdio.h>
#include "p3_probe.h"
int main(void)
{
#define X(name, text) printf("reason %d %s\n", P3_DROP_##name, text);
	P3_DROPS(X)
#undef X
#define X(name, text) printf("way %d %s\n", P3_WAY_##name, text);
	P3_WAYS(X)
	return 0;
}
END
${CC:-cc} -I"$src/portals/lib" -o list list.c && ./list | sort >have
awk -F ' *[|] *' '
	/^[|] reason/ { on = 1 }
	on && $2 ~ /^[0-9]+$/ {
		print "reason", $2, $3
		if ($4 != "")
			print "way", $4, $5
	}' "$doc" | sort >told
diff -u told have | sed 's/^/# /' >&2
[ -s have ] && cmp -s have told
ok $? "and so are the reasons and the ways"

if ! command -v gdb >/dev/null; then
	ok 0 "each is met # SKIP no gdb"
	echo 1..$n
	exit $failed
fi
# Every place of a probe is a breakpoint; what is printed there: name and arguments.
look()	# RANK JOB ARGUMENTS: what that rank meets
{
	local rank=$1
	shift
	{
		echo "set breakpoint pending on"
		echo "set pagination off"
		echo "set confirm off"
		while read -r name args; do
			echo "break -probe-stap portals:$name"
			echo commands
			echo silent
			printf 'printf "@%s' "$name"
			for ((i = 0; i < args; i++)); do printf ' %%lu'; done
			printf '\\n"'
			for ((i = 0; i < args; i++)); do printf ', (unsigned long)$_probe_arg%d' "$i"; done
			echo
			echo continue
			echo end
		done <probes
		echo run
	} >cmds
	"$b/tests/common/multi" -n 2 "${multi[@]}" "$src/tests/counts/as_rank" "$rank" "$b/libtool" --mode=execute \
		gdb -nx -q -batch -x cmds --args -- "$b/tests/trace/job" "$@" >gdb.out 2>gdb.err </dev/null
	grep -ao '@[a-z_]* .*' gdb.out | tr -d '@' >met
	cat met >>all
}
met()	# PATTERN NAME: a line of what was met
{
	grep -Eqx "$1" met
	local rc=$?
	[ $rc = 0 ] || { echo "# no line '$1' in"; sort met | uniq -c | sort -rn |
			head -n 20; tail -n 5 gdb.out gdb.err; } | sed 's/^/# /' >&2
	ok $rc "$2"
}
multi=()
: >all
look 0 acked 5 1000
met 'put_entry [0-9]+ [0-9]+ 4 4660' "a put: portal and match bits"
met 'match [0-9]+ 0 4 [0-9]+ 1000' "its match: initiator, portal, length"
met 'copy 1 1 1000' "its copy: through the window, to the target, so many bytes"
met 'put_return 0' "its result"
[ "$(grep -c '^put_return' met)" -ge 5 ] && [ "$(grep -c '^put_return' met)" = "$(grep -c '^put_entry' met)" ]
ok $? "as many returns as calls"
look 0 drop 3 8
met 'drop [0-9]+ 0 4 4661 4' "a message that no entry takes, and why"
look 0 get 3 100
met 'get_return 0' "a get"
look 0 swap 3 8
met 'getput_return 0' "an exchange"
met 'copy 6 1 8' "what it exchanges"
look 1 polled 5 8
met 'inbox_take [0-9]+ 0 [0-9]+' "a message out of the inbox"
met 'match [0-9]+ 0 4 [0-9]+ 8' "matched there"
met 'copy 4 1 8' "copied from there"
look 0 polled 5 8
met 'inbox_write [0-9]+ 0 [0-9]+ 8' "a message into the inbox"
met 'unlink [0-9]+ [0-9]+ 0' "a descriptor on no list that goes"
look 1 acked 5 8
met 'event_get [0-9]+' "events that are fetched"
T_POLL=1 PTL_SPIN=0 PTL_YIELD=0 look 1 acked 5 8
met 'sleep [0-9]+ [0-9]+' "a call that sleeps"
met 'woken [0-9]+' "and wakes"
if grep -q "define HAVE_LIBEV" "$b/config.h"; then
	multi=(-N 1)
	look 0 acked 3 100
	met 'frame_out 1 0 [0-9]+ 1 100' "a frame out: peer, type, bytes"
	met 'frame_in 1 1 [0-9]+ 4 0' "and one in: the acknowledgement"
fi
echo 1..$n
exit $failed
