#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# distcheck - the archive of make dist builds, installs, passes its own tests and cleans up after itself, with no
# more than what is in it; and gcc has no warning
echo 1..1
if [ ! -x "$P3_SRC/configure" ]; then echo "ok 1 # SKIP no configure in the source"; exit 0; fi
unset MPT_BUILD
export DISTCHECK_CONFIGURE_FLAGS="CC=gcc CFLAGS='-O2 -g0' --enable-werror"
# in a build of its own: make distcheck leaves a tree behind when it fails
mkdir b && cd b || exit 1
if [ -x "$P3_SRC/config.status" ]; then	# the source is itself a build: make dist from there
	cd "$P3_SRC" || exit 1
else
	"$P3_SRC/configure" -q >configure.log 2>&1 || { cat configure.log >&2; echo "not ok 1 - configure"; exit 1; }
fi
if make -j"$(nproc)" distcheck P3_CHECK_PARTS="layout unit/harness api/init api/put api/put-2" >"$TMPDIR/log" 2>&1 </dev/null; then
	echo "ok 1 - make distcheck"
else
	echo "not ok 1 - make distcheck"
	tail -n 60 "$TMPDIR/log" >&2
	chmod -R u+w . 2>/dev/null
	exit 1
fi
