#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# stage.sh OUTDIR - what Kbuild needs, in one folder, from this source tree. What is unchanged there is left
# alone, so that
# make builds only what has changed. Also the way to make a source folder for DKMS.
src=$(cd "$(dirname "$0")/.." && pwd) && out=$1 || exit 1
put()	# FOLDER FILE...
{
	to=$out/$1
	shift
	mkdir -p "$to" || exit 1
	for f; do
		cmp -s "$f" "$to/${f##*/}" || cp "$f" "$to/" || exit 1
	done
}
put . "$src"/kernel-nal/Kbuild "$src"/kernel-nal/gptl_*.c
put lib "$src"/portals/lib/*.[ch]
put nal/frame "$src"/nal/frame/*.[ch]
put nal/wire "$src"/nal/wire/*.[ch]
put include/p3api "$src"/portals/include/p3api/*.h
put include/p3 "$src"/portals/include/p3/*.h
put knal "$src"/kernel-nal/*.h "$src"/kernel-nal/uapi/*.h
put knal/include "$src"/kernel-nal/include/*.h
