#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# layout - the folders are the architecture: include arrows, licence lines, file sizes, nothing of one machine
cd "${P3_SRC:-$(dirname "$0")/..}" || exit 1
shopt -s lastpipe
n=0
echo 1..10
check() {	# NAME: reads the offenders from stdin
	local bad
	bad=$(cat)
	n=$((n + 1))
	if [ -z "$bad" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		printf '%s\n' "$bad" | head -n 30 | sed 's/^/# /' >&2
		failed=1
	fi
}
failed=0
if [ -e .git ] && command -v git >/dev/null; then
	files=$(git ls-files)
else
	files=$(find . -path ./build -prune -o -path './autom4te.cache' -prune -o -type f -print | sed 's,^\./,,')
fi
ours=$(grep -E '^(portals|nal|kernel-nal|mpich-ch3-portals|shmem-portals|dmapp-portals|dart-mpi|tests|tools)/|^[^/]*\.(am|ac|sh)$|^mpt$' \
       <<<"$files" |
       grep -Ev '\.(o|lo|la|pc|trs|log|in)$|/\.(libs|deps)/|^tests/(out|list)')
code=$(grep -E '\.(c|h|S|am|ac|mk|sh|pl|py|m4|pml|pc\.in|awk)$|^mpt$|^tests/(run|common/(one|count))$|^tools/[a-z_-]*$' \
       <<<"$ours")

for f in $code; do
	[ -f "$f" ] && ! head -n 5 "$f" | grep -q 'SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only' && echo "$f"
done | check "every source file names its licence in its first lines"

for f in $code; do
	[ -f "$f" ] && [ "$(wc -l <"$f")" -gt 1400 ] && echo "$f: $(wc -l <"$f") lines"
done | check "no file is longer than 1400 lines"

# tabs are eight columns; files that have not been mended yet stand in tests/layout.wide, which only becomes shorter
for f in $(grep -E '\.(c|h|sh|am|ac|mk)$|^mpt$|^tests/(run|common/(one|count))$' <<<"$code"); do
	[ -f "$f" ] && ! grep -qxF "$f" tests/layout.wide && expand -t8 "$f" | awk -v f="$f" 'length > 120 { print f ":" NR }'
done | check "no line is longer than 120 columns"

# the arrows: shmem, mpich -> portals api -> portals lib -> nal.h <- each NAL
includes() {	# FOLDER: "file: header" of each include
	grep -E "^$1/.*\.[ch]$" <<<"$ours" | while read -r f; do
		[ -f "$f" ] && sed -n 's/^[ \t]*#[ \t]*include[ \t]*[<"]\([^>"]*\)[>"].*/\1/p' "$f" | sed "s,^,$f: ,"
	done
}
includes portals/lib | grep -Ev ': (std(int|def|bool|atomic|arg|align)|limits)\.h$' |
	grep -Ev ': (p3l[a-z_]*|p3_atomic|nal|wire|handle|ni|me|md|eq|pt|match|move|event|pool|(p3l|lane|inbox)[a-z_]*)\.h$' |
	grep -Ev ': p3api/types\.h$|: portals/lib/' |
	while IFS=': ' read -r f h; do
		[ -f "portals/lib/$h" ] || echo "$f: $h"
	done | check "portals/lib includes only itself, nal.h, the public types and freestanding headers"
includes nal/smartmap | grep -v '^nal/smartmap/nal_' |
	grep -E ': (p3api|p3rt|portals|p3l|p3_rt|p3a|nal\.h|\.\./)' |
	check "libsmartmap knows nothing of Portals"
includes 'nal' | grep -E ': (p3a_|portals3|p3api/(api|misc)|p3rt/)' | check "no NAL includes the calls above it"
includes nal | grep -E ': p3a\.h' | check "no NAL includes the private header of the calls"
includes '(mpich-ch3-portals|shmem-portals|dmapp-portals|dart-mpi)' | grep -E ': (p3l|p3a_|p3_|nal\.h|smap_|wire\.h)' |
	check "the MPICH channel, SHMEM and DART speak only public headers"
includes '(portals/lib|nal)' | grep -E ': (mpi|shmem|dmapp|tests/)' | check "nothing below includes what is above"

grep -InE '(^|[^A-Za-z0-9_.$}])/(home|root|work|Users|scratch)/[A-Za-z]' $ours README.md HACKING.md CAVEATS.md doc/* 2>/dev/null |
	grep -v '^tests/layout\.sh' |
	check "no path of a machine stands in the project"
exit $failed
