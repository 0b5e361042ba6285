#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_fuzz.sh TARGET...: these under libFuzzer with both sanitizers, a few seconds each from the committed corpus.
# FUZZ_SECONDS=N for more; what it finds stays in the folder that it names.
wanted=" $* "
src=$P3_SRC
seconds=${FUZZ_SECONDS:-4}
command -v clang >/dev/null || { echo "clang is not installed (Debian package clang)" >&2; exit 77; }
echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return 0; }' >t.c
clang -fsanitize=fuzzer,address,undefined t.c -o t 2>/dev/null ||
	{ echo "clang has no libFuzzer here (Debian package libclang-rt-14-dev or the like)" >&2; exit 77; }
n=0 failed=0
target() {	# NAME SOURCE...
	local name=$1 rc
	[[ $wanted == *" $name "* ]] || return
	shift
	n=$((n + 1))
	mkdir -p "new-$name"
	clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Wall -Wextra \
		-Wno-unused-parameter -I"$P3_BUILD" -I"$src/portals/include" -I"$src/portals/lib" -I"$src/portals/rt" \
		-I"$src/nal" -I"$src/nal/smartmap" -I"$src/portals/look" -I"$src/tools" \
		"$@" -o "fuzz-$name" >"$name.log" 2>&1 &&
		timeout 200 ./fuzz-"$name" -max_total_time="$seconds" -timeout=20 -print_final_stats=1 "new-$name" \
			"$src/tests/fuzz/corpus/$name" >>"$name.log" 2>&1
	rc=$?
	if [ $rc = 0 ]; then
		rc=$(sed -n 's/^stat::number_of_executed_units: *//p' "$name.log")
		echo "ok $n - $name: $rc inputs in $seconds s"
	else
		echo "not ok $n - $name"
		tail -n 60 "$name.log" | sed 's/^/# /' >&2
		for f in crash-* timeout-*; do
			[ -f "$f" ] && { echo "# $f:"; base64 -w0 "$f" | sed 's/^/# /'; echo; } >&2
		done
		failed=1
	fi
}
w=$src/nal/wire/wire.c
target wire "$src/tests/fuzz/fuzz_wire.c" "$w"
target frame -D_GNU_SOURCE "$src/tests/fuzz/fuzz_frame.c" "$w" "$src"/nal/frame/*.c "$src/nal/loop/loop.c" \
	"$src"/portals/lib/*.c
target lane -D_GNU_SOURCE "$src/tests/fuzz/fuzz_lane.c" "$src"/portals/lib/*.c
rt="$src/portals/rt/p3_*.c $src/portals/api/ptl_rank.c"
target rt -D_GNU_SOURCE "$src/tests/fuzz/fuzz_rt.c" $rt
target exch -D_GNU_SOURCE "$src/tests/fuzz/fuzz_exch.c" "$src/nal/smartmap/smap_own.c"
target trace -D_GNU_SOURCE -DLIBDIR_BASE='"lib"' "$src/tests/fuzz/fuzz_trace.c" "$src/portals/api/misc.c"
target look -D_GNU_SOURCE "$src/tests/fuzz/fuzz_look.c" "$src/tools/json.c" "$src"/portals/look/*.c \
	"$src"/portals/lib/*.c
# What needs libev, where configure has found it.
if grep -q '^#define HAVE_LIBEV 1' "$P3_BUILD/config.h"; then
	target tcp -D_GNU_SOURCE "$src/tests/fuzz/fuzz_tcp.c" \
		"$src"/nal/transport/tcp/tcp{,_listen,_move,_auth,_addr}.c "$w" -lev
	target card -D_GNU_SOURCE "$src/tests/fuzz/fuzz_card.c" "$src/nal/transport/tcp/tcp_auth.c" \
		"$src/nal/transport/tcp/tcp_addr.c" "$src/nal/gp/gp_port.c" $rt -lev
fi
echo "1..$n"
exit $failed
