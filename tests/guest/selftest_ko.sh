#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# selftest_ko.sh KDIR FOLDER - the core's self-test as a module, against these headers; its path is the last line
#
# FOLDER is kept: what has not changed is not compiled again.
set -e
src=$(cd "$(dirname "$0")/../.." && pwd)
kdir=$1 to=$2
mkdir -p "$to"
cd "$to"
to=$PWD
# Kbuild compiles below its own folder only; rsync-like: a file is written only where it has changed
copy()	# FROM TO
{
	local f
	mkdir -p "$2"
	for f in "$1"/*; do
		[ ! -f "$f" ] || cmp -s "$f" "$2/${f##*/}" || cp "$f" "$2/"
	done
	for f in "$2"/*.c; do
		[ ! -e "$f" ] || [ -e "$1/${f##*/}" ] || rm -f "$f"
	done
}
cmp -s "$src/kernel-nal/test/Kbuild" Kbuild || cp "$src/kernel-nal/test/Kbuild" .
cmp -s "$src/kernel-nal/test/selftest.c" selftest.c || cp "$src/kernel-nal/test/selftest.c" .
copy "$src/portals/lib" lib
for d in $(cd "$src/portals/include" && find . -type d); do
	copy "$src/portals/include/$d" "include/$d"
done
copy "$src/kernel-nal" knal
copy "$src/kernel-nal/include" knal/include
cc=gcc
command -v gcc-12 >/dev/null && cc=gcc-12
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$kdir" M="$to" CC=$cc CONFIG_DEBUG_INFO_BTF_MODULES= modules \
	>log 2>&1 || { tail -n 30 log >&2; exit 1; }
if grep -iE 'warning|undefined' log | grep -v 'vmlinux\|compiler differs\|BTF' >&2; then
	exit 1
fi
echo "$to/portals_core_test.ko"
