#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# One job in each environment of tests/env/table: the paths and the message are those of the table. --doc writes
# doc/environments.md instead, which a test compares. T_ONLY=words: only rows whose name has them.
src=${P3_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
table=$src/tests/env/table

doc() {
	cat <<-'END'
	<!-- SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only -->
	<!-- made by tests/env/t_env.sh --doc of tests/env/table, which the tests run: do not edit -->
	# Environments

	What a job does in the environments that are tested: by which path a peer's memory is reached, what you are
	told, and what to do about it. `window`: loads and stores, no system call; `cma`: one copy by the kernel
	(`process_vm_readv`); `bounce`: two copies, of which the owner makes one in its own calls; `none`: the job does
	not start. The heap is that of `libsmartmap-malloc`; thread: the stack of a thread. Messages are on stderr where
	the job does not start or its heap is private, else in `ptl_info`; % is any number.

	| environment | data | stack | heap | thread | mmap | message | remedy |
	|---|---|---|---|---|---|---|---|
	END
	rows | while IFS='|' read -r name _ _ paths message remedy; do
		[ "$paths" = none ] && paths="none none none none none"
		printf '| %s | %s | %s | %s |\n' "$name" "${paths// / | }" "${message/#-/}" "${remedy/#-/}"
	done
}

rows() {	# name|ranks|made|paths|message|remedy
	grep -v '^#' "$table" | sed 's/ *| */|/g'
}

if [ "${1:-}" = --doc ]; then doc; exit 0; fi

B=$P3_BUILD
prog=$B/tests/env/env_rank
[ -x "$B/tests/env/.libs/env_rank" ] && prog=$B/tests/env/.libs/env_rank
export FILTER=$B/tests/env/with_filter
libs=$B/portals/.libs:$B/nal/smartmap/.libs
malloc=$B/nal/smartmap/.libs/libsmartmap-malloc.so.0
[ -e "$malloc" ] || malloc=
for v in ${!PTL_@}; do unset "$v"; done
n=0 failed=0

may() {	# WORD: "" or why not
	case $1 in
	root) unshare -m true 2>/dev/null || echo "needs root, or the right to make namespaces" ;;
	userns) unshare -Ur true 2>/dev/null || echo "no user namespace can be made here" ;;
	yama) grep -q '[1-9]' /proc/sys/kernel/yama/ptrace_scope 2>/dev/null ||
		echo "Yama is not in this kernel or at 0, and a test does not change it for the whole machine" ;;
	esac
}

row() {
	local name=$1 made=$3 want=$4 message=$5 why= where=job args= rank got k i
	local multi=("$B/tests/common/multi" -n "$2")
	n=$((n + 1))
	while :; do	# words of our own come first
		made=${made# }
		case $made in
		need:*) why=$(may "$(k=${made%% *}; echo "${k#need:}")")
			case $made in *\ *) made=${made#* } ;; *) made=- ;; esac ;;
		rank[01]:*) where=${made:4:1} made=${made#rank?:} ;;
		each:*) where=each made=${made#each:} ;;
		nodes:*) multi+=(-N 1) made=${made#nodes:}
			grep -q "define HAVE_LIBEV" "$B/config.h" ||
				why="this build has no network (Debian package libev-dev)" ;;
		*) break ;;
		esac
	done
	case $made in *undumpable:) args=undumpable made=${made%undumpable:} ;; esac
	made=${made# }
	[ "$made" = - ] && made=
	if [ -z "$why" ] && [[ $made == *setpriv* ]] &&
	   ! setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$prog" 2>/dev/null; then
		why="an ordinary user may not enter the folder of this build"
	fi
	if [ -n "$why" ]; then
		echo "ok $n - $name # SKIP $why"
		return
	fi
	rank=(env LD_LIBRARY_PATH="$libs" ${malloc:+LD_PRELOAD="$malloc"} "$prog" $args)
	case $where in
	job) timeout -k 5 60 bash -c "$made \"\$@\"" x "${multi[@]}" "${rank[@]}" ;;
	each) timeout -k 5 60 "${multi[@]}" bash -c "$made \"\$@\"" x "${rank[@]}" ;;
	*) timeout -k 5 60 "${multi[@]}" "$src/tests/counts/as_rank" "$where" \
		bash -c "$made \"\$@\"" x -- "${rank[@]}" ;;
	esac 2>&1 </dev/null | cat >out		# a pipe: ulimit -f is not meant for it
	got=${PIPESTATUS[0]}
	if [ $got = 77 ] || grep -q '^with_filter: ' out; then
		echo "ok $n - $name # SKIP seccomp filters cannot be installed here"
		return
	fi
	k=$(sed -n 's/^# rank 0: paths: *//p' out | sed 's/[a-z]*=//g')
	# without libsmartmap-malloc the heap is like any other memory that was not adopted
	if [ -z "$malloc" ] && [ "$want" != none ]; then
		read -r -a i <<<"$want"
		[ "${i[2]}" = window ] && i[2]=${i[4]}
		want="${i[*]}"
		[[ $message == *"malloc serves"* ]] && message=-
	fi
	i="^[^%]*$(printf '%s' "$message" | sed 's/[][().*^$+?{}|\\]/\\&/g; s/%/[0-9]+/g')"
	if [ $got = 0 ] && [ "$k" = "$want" ] && { [ "$message" = - ] || grep -Eq "$i" out; } &&
	   { [ "$message" != - ] || ! grep -Eq '(warn|error): ' out; }; then
		echo "ok $n - $name"
		return
	fi
	failed=1
	echo "not ok $n - $name"
	{
		echo "want: paths $want; message: $message"
		echo "got:  paths ${k:-?}; exit status $got; all that was printed:"
		head -n 40 out
	} | sed 's/^/# /' >&2
}

doc >doc.md
n=$((n + 1))
if cmp -s doc.md "$src/doc/environments.md"; then
	echo "ok $n - doc/environments.md is made of the table"
else
	echo "not ok $n - doc/environments.md is made of the table"
	echo "# tests/env/t_env.sh --doc >doc/environments.md" >&2
	failed=1
fi
while IFS='|' read -r name ranks made paths message remedy <&3; do
	[[ $name == *"${T_ONLY:-}"* ]] && row "$name" "$ranks" "$made" "$paths" "$message"
done 3< <(rows)
echo "1..$n"
exit $failed
