#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The core under ThreadSanitizer: the movers of core_stress as threads.
src=${P3_SRC:-$(cd "$(dirname "$0")/../.." && pwd)}
cc=${CC:-cc}
tmp=$(mktemp -d) || exit 2
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 2
echo 'int main(void) { return 0; }' >t.c
if ! $cc -fsanitize=thread t.c -o t 2>/dev/null || ! ./t 2>/dev/null; then
	echo "1..0 # SKIP no ThreadSanitizer here (Debian package libtsan2)"
	exit 0
fi
echo 1..1
if ! $cc -std=gnu11 -O1 -g -w -fsanitize=thread -D_GNU_SOURCE -I"$src/portals/include" -I"$src/portals/lib" \
	-I"$src/tests/common" -I"$src/tests/unit" "$src/tests/unit/core_stress.c" "$src"/portals/lib/*.c -o stress -lpthread; then
	echo "not ok 1 - does not compile"
	exit 1
fi
if TSAN_OPTIONS="history_size=7 suppressions=$src/tests/unit/core_tsan.supp" ./stress threads 1500 >log 2>&1 && ! grep -q '^WARNING' log; then
	echo "ok 1 - no race"
else
	echo "not ok 1 - races"
	sed 's/^/# /' log >&2
	exit 1
fi
