#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Symmetric are the data of a program, PIE or not, and of its libraries (images.c): on the node, on virtual nodes, with
# SMARTMAP off. Addresses are random, as they are everywhere.
build=$(cd "${P3_BUILD:-.}" && pwd) src=$(cd "${P3_SRC:-$(dirname "$0")/../..}" && pwd)
cc=$(sed -n 's/^CC = //p' "$build/Makefile")

. "${0%/*}/../common/tap.sh"
explain() { sed 's/^/# /' out >&2; }

$cc -O2 -shared -fPIC -Wall -Werror -o libimages.so "$src/tests/shmem/images_lib.c" || exit 1
libs=$build/shmem-portals/.libs:$build/portals/.libs:$build/nal/smartmap/.libs
for pie in '-fPIE -pie' '-fno-pie -no-pie'; do
	# shellcheck disable=SC2086
	$cc $pie -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -I"$src/shmem-portals/include" -I"$src/portals/include" \
		-I"$src/portals" -I"$src/tests/common" -I"$src/tests/shmem" -o images "$src/tests/shmem/images.c" \
		-L. -limages -L"$build/shmem-portals/.libs" -lsma -L"$build/portals/.libs" -lportals \
		-Wl,-rpath,"$PWD:$libs" -Wl,-rpath-link,"$libs" || exit 1
	type=$(readelf -h images 2> /dev/null | sed -n 's/^ *Type: *\([A-Z]*\).*/\1/p')
	case $pie in *-no-pie) want=EXEC ;; *) want=DYN ;; esac
	[ "${type:-$want}" = $want ]
	ok $? "$pie makes a file of type $want"
	for way in : -N.1:PTL_NAL=gp -N.1:PTL_NAL=ap :PTL_SMARTMAP=no; do
		case $way in
		-N*)
			if ! grep -q 'define HAVE_LIBEV' "$build/config.h"; then
				skip "${pie##* } $way" "no libev"
				continue
			fi ;;
		esac
		# shellcheck disable=SC2046
		env ${way#*:} "$build/tests/common/multi" -n 3 $(echo "${way%%:*}" | tr . ' ') ./images > out 2>&1 &&
			[ "$(grep -c '^ok ' out)" = 12 ]
		ok $? "${pie##* } $way"
	done
done
finish
