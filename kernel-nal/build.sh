#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# build.sh KDIR OUTDIR - build portals_gp.ko against the kernel headers in KDIR, in OUTDIR. The last line of
# the output is
# the module's path. Nothing is written into the source tree. A warning of the compiler is an error.
src=$(cd "$(dirname "$0")/.." && pwd) || exit 1
[ $# = 2 ] || { echo "usage: build.sh KDIR OUTDIR" >&2; exit 2; }
kdir=$1
mkdir -p "$2" && out=$(cd "$2" && pwd) || exit 1
"$src"/kernel-nal/stage.sh "$out" || exit 1
env -u MAKEFLAGS make -C "$kdir" M="$out" -j2 ${GPTL_GCOV:+GPTL_GCOV=1} CONFIG_DEBUG_INFO_BTF_MODULES= \
	modules > "$out/log" 2>&1
rc=$?
grep -iE 'warning|error' "$out/log" | grep -v 'compiler differs\|vmlinux\|Skipping BTF' > "$out/warnings"
if [ $rc != 0 ] || [ -s "$out/warnings" ]; then
	cat "$out/log" >&2
	exit 1
fi
echo "$out/portals_gp.ko"
