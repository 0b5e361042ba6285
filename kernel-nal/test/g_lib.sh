# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# g_lib.sh - for the scripts that run in a guest, as root: $KO the module, $SRC the sources, $P3_BUILD the build.
# TAP by ok and kernel_finish; programs that print TAP by themselves are merged by tap.
. "$SRC/tests/guest/in_guest.sh"
case " ${OPTIONS:-} " in *" all "*) set -- long ;; esac
: "${KO:?}" "${SRC:?}" "${P3_BUILD:?}"
export LD_LIBRARY_PATH=$P3_BUILD/portals/.libs:$P3_BUILD/nal/smartmap/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
work=$(mktemp -d) && cd "$work" || exit 1

# The tools of kmod act by their names; a guest may only have modprobe.
kmod()	# NAME ARG...
{
	name=$1
	shift
	if command -v "$name" > /dev/null; then "$name" "$@"; return; fi
	[ -e "$work/bin/$name" ] || { mkdir -p "$work/bin"; ln -s "$(readlink -f /sbin/modprobe)" "$work/bin/$name"; }
	"$work/bin/$name" "$@"
}

# Run a program that prints TAP; its lines become ours, with its name before theirs.
tap()	# NAME SECONDS COMMAND...
{
	name=$1 limit=$2
	shift 2
	timeout "$limit" "$@" > out 2> err
	rc=$?
	sed 's/^/# /' err | head -n 40
	grep -o '# figure.*' out
	while read -r line; do
		case $line in
		"ok "*|"not ok "*)
			n=$((n + 1))
			case $line in
			not*) failed=1; echo "not ok $n - $name: ${line#* - }" ;;
			*) echo "ok $n - $name: ${line#* - }" ;;
			esac ;;
		esac
	done < out
	[ $rc = 124 ] && echo "# $name: no end within $limit s"
	grep -q '^1\.\.' out && [ $rc -le 1 ]
	ok $? "$name ends"
}

multi=$P3_BUILD/tests/common/multi	# -n RANKS COMMAND...: ranks of one job

# A program of the build, without libtool's wrapper.
prog()	# PATH
{
	if [ -x "$P3_BUILD/${1%/*}/.libs/${1##*/}" ]; then
		echo "$P3_BUILD/${1%/*}/.libs/${1##*/}"
	else
		echo "$P3_BUILD/$1"
	fi
}

kernel_finish()
{
	bad='BUG:|WARNING:|Oops|KASAN|kmemleak: [0-9]+ new|possible (recursive|circular)|INFO: task|corrupt'
	bad="$bad|unregister_netdevice: waiting"
	dmesg | grep -E "$bad" > log
	ok $([ -s log ]; echo $((1 - $?))) "the kernel log has no warning"
	sed 's/^/# /' log | head -n 40
	finish
}
