#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The names of libdmapp: what the header declares is exported, and nothing else is; each operation on data has its three
# forms, each atomic operation both names; the header stands alone in C and C++; a program builds with pkg-config's
# words.
build=${P3_BUILD:-.} src=$(cd "${P3_SRC:-$(dirname "$0")/../..}" && pwd)
build=$(cd "$build" && pwd)
cc=$(sed -n 's/^CC = //p' "$build/Makefile") cxx=$(sed -n 's/^CXX = //p' "$build/Makefile")
header=$src/dmapp-portals/include/dmapp.h

. "${0%/*}/../common/tap.sh"

nm -D --defined-only "$build/dmapp-portals/.libs/libdmapp.so" | awk '{ print $3 }' | sort > exported
$cc -std=gnu11 -E -P "$header" | grep -oE '\bdmapp_[a-z0-9_]+\(' | tr -d '(' | grep -v '_t$' | sort -u > declared
comm -3 exported declared > differ
sed 's/^/# /' differ | head -n 20
[ ! -s differ ] && [ "$(wc -l < declared)" -gt 120 ]
ok $? "what is declared is exported, and nothing else ($(wc -l < declared) names)"

missing=
for f in put get iput iget ixput ixget put_flag put_ixpe scatter_ixpe gather_ixpe amo_put amo_get \
	aadd_qw aand_qw aor_qw axor_qw afadd_qw afand_qw afor_qw afxor_qw afax_qw acswap_qw \
	qw_aadd qw_aand qw_aor qw_axor qw_afadd qw_afand qw_afor qw_afxor qw_afax qw_acswap; do
	for form in '' _nb _nbi; do
		grep -qx "dmapp_$f$form" exported || missing="$missing dmapp_$f$form"
	done
done
[ -z "$missing" ] || echo "# missing:$missing"
[ -z "$missing" ]
ok $? "each operation has its three forms, each atomic operation both names"

echo '#include <dmapp.h>' > head.c
cp head.c head.cc
$cc -I"$src/dmapp-portals/include" -std=c11 -pedantic -Wall -Wextra -Wstrict-prototypes -Werror -fsyntax-only head.c
ok $? "the header stands alone in C"
if [ -n "$cxx" ] && command -v "${cxx%% *}" > /dev/null; then
	$cxx -I"$src/dmapp-portals/include" -Wall -Wextra -Werror -fsyntax-only head.cc
	ok $? "and in C++"
fi

# As installed, but for where library and header lie; what it needs is found by its own path there, here by ours.
if command -v pkg-config > /dev/null; then
	cat > prog.c <<-'END'
	#include <dmapp.h>
	#include <stdio.h>

	static long word = 7;

	int main(void)
	{
		dmapp_jobinfo_t job;
		long got = 0;

		if (dmapp_init(NULL, NULL) || dmapp_get_jobinfo(&job) ||
		    dmapp_get(&got, &word, &job.data_seg, job.pe, 1, DMAPP_QW))
			return 1;
		printf("PE %d of %d got %ld\n", job.pe, job.npes, got);
		return dmapp_finalize();
	}
	END
	libs=$build/dmapp-portals/.libs:$build/shmem-portals/.libs:$build/portals/.libs:$build/nal/smartmap/.libs
	PKG_CONFIG_PATH=$build/dmapp-portals:$build/shmem-portals:$build/portals:$build/nal/smartmap
	export PKG_CONFIG_PATH
	words=$(pkg-config --define-variable=includedir="$src/dmapp-portals/include" \
		--define-variable=libdir="$build/dmapp-portals/.libs" --cflags --libs dmapp 2> log) &&
		$cc -Wall -Werror -o prog prog.c $words -Wl,-rpath,"$libs" 2> log
	ok $? "a program builds with pkg-config's words"
	sed 's/^/# /' log
	./prog > out 2>&1 && [ "$(cat out)" = "PE 0 of 1 got 7" ]
	ok $? "and runs"
	sed 's/^/# /' out
else
	n=$((n + 1))
	echo "ok $n # SKIP no pkg-config"
fi
echo "1..$n"
