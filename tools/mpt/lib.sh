# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# lib.sh - messages, progress and options, for the other parts of mpt

say()  { printf '%s\n' "$*"; }
note() { printf '%s\n' "$*" >&2; }
die()  { printf 'mpt: %s\n' "$*" >&2; exit 1; }

# Paths are shown as the user would type them from the root of the tree.
short() { printf '%s' "${1#"$ROOT"/}"; }

LOGS=$BUILD/log
REST=()
NEW_LINE=		# set while a progress line without its end is on the terminal

# Options that every building command knows; the rest is left in REST.
take_options()
{
	YES=${YES:-} NO_INSTALL=${NO_INSTALL:-}
	[ "${CI:-}" = true ] && YES=1
	REST=()
	while [ $# -gt 0 ]; do
		case $1 in
		--yes|-y) YES=1 ;;
		--no-install) NO_INSTALL=1 ;;
		--) shift; REST+=("$@"); break ;;
		*) REST+=("$1") ;;
		esac
		shift
	done
}

# step WHAT LOG COMMAND... - run with its output in build/log/LOG.log, show that it is alive and how long it takes.
# On failure the end of the log is shown. On a terminal one line is redrawn; elsewhere a line appears each 20 s, with
# what the step itself said last. The step is a process group of its own and ends as a whole when we are interrupted.
step()
{
	local what=$1 log=$LOGS/$2.log t0=$SECONDS pid rc now shown=0 last
	shift 2
	mkdir -p "$LOGS"
	printf '+ %s\n' "$*" >"$log"
	set -m
	"$@" >>"$log" 2>&1 </dev/null &
	pid=$!
	set +m
	trap 'kill -TERM -- "-$pid" 2>/dev/null; [ -t 2 ] && printf "\n" >&2; exit 130' INT TERM HUP
	while kill -0 "$pid" 2>/dev/null; do
		now=$((SECONDS - t0))
		if [ -t 2 ]; then
			printf '\r\033[K%s ... %d s' "$what" "$now" >&2
		elif [ $((now / 20)) -gt "$shown" ]; then
			shown=$((now / 20))
			last=$(tail -n 1 "$log" | cut -c1-100)
			printf '%s ... %d s (%s)\n' "$what" "$now" "$last" >&2
		fi
		# a short first look, so that a step that takes no time costs none
		if [ "$now" -lt 1 ]; then sleep 0.1; else sleep 0.5; fi
	done
	wait "$pid"
	rc=$?
	trap - INT TERM HUP
	now=$((SECONDS - t0))
	[ -t 2 ] && printf '\r\033[K' >&2
	if [ "$rc" -ne 0 ]; then
		printf '%s: failed (exit code %d) after %d s; the end of %s:\n' "$what" "$rc" "$now" "$(short "$log")" >&2
		tail -n 25 "$log" | sed 's/^/    /' >&2
		return "$rc"
	fi
	printf '%s: %d s\n' "$what" "$now" >&2
}

# newer STAMP PATH... - is anything in these trees (deleted files included: their folder changes) newer than STAMP?
newer()
{
	local stamp=$1
	shift
	[ -e "$stamp" ] || return 0
	[ -n "$(find "$@" -newer "$stamp" ! -name '.*' -print -quit 2>/dev/null)" ]
}

# Cores this process may use, one of each set of hardware threads first, as "0,2,1,3".
bench_cpus()
{
	local list part a b c sib first= rest=
	list=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
	for part in ${list//,/ }; do
		a=${part%-*} b=${part#*-}
		for ((c = a; c <= b; c++)); do
			sib=$(cat /sys/devices/system/cpu/cpu$c/topology/thread_siblings_list 2>/dev/null || echo "$c")
			sib=${sib%%[,-]*}
			case ",$first" in
			*",$sib:"*) rest="$rest,$c" ;;
			*) first="$first,$sib:$c" ;;
			esac
		done
	done
	first=$(printf '%s' "$first" | sed 's/,[0-9]*:/,/g')
	list=$first$rest
	printf '%s' "${list#,}"
}
