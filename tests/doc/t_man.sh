#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The manual pages agree with the library: every call that libportals exports has a page, each page's synopsis
# compiles after the header that it names, no page is about a call that does not exist, groff has no complaint, and
# the program of portals(7) runs.
build=${P3_BUILD:-.} src=${P3_SRC:-$(dirname "$0")/../..}
man=$src/portals/man
lib=$build/portals/.libs/libportals.so
cc=$(sed -n 's/^CC = //p' "$build/Makefile")
cppflags="-I$src/portals/include"
n=0

ok()	# STATUS NAME
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}

# The text of a page; a page of one .so line is what it points to.
page()
{
	if so=$(grep '^\.so man3/' "$man/$1.3" 2>/dev/null); then
		cat "$man/${so#.so man3/}"
	else
		cat "$man/$1.3"
	fi
}

# The synopsis as C: mdoc's .In, .Ft, .Fo, .Fa, .Fc.
synopsis()
{
	awk '
	function bare(s) { gsub(/"/, "", s); return s }
	/^\.Sh/ { on = $2 == "SYNOPSIS" }
	!on { next }
	/^\.In / { print "#include <" $2 ">" }
	/^\.Ft / { type = bare(substr($0, 5)) }
	/^\.Fo / { name = $2; args = "" }
	/^\.Fa / { args = args (args == "" ? "" : ", ") bare(substr($0, 5)) }
	/^\.Fc/ { print type " " name "(" args ");" }
	/^\.Vt / { s = substr($0, 5); sub(/ ;$/, ";", s); print s }'
}

exported=$(nm -D --defined-only "$lib" "$build/portals/pmi/.libs/libpmi.so" |
	awk '$3 ~ /^(Ptl|ptl_|cnos_|p3tcp_|PMI_)/ { print $3 }') || exported=
bad=
for f in $exported; do
	[ -f "$man/$f.3" ] && page "$f" | grep -qE "^\.(Fo|Vt extern.*[* ]) ?$f(\[| |\$)" || bad="$bad $f"
done
[ -n "$exported" ] && [ -z "$bad" ]
ok $? "every exported call has a page that declares it"
[ -z "$bad" ] || echo "# missing:$bad"

bad=
for f in $exported; do
	grep -q "^| \`$f\` |" "$src/portals/doc/CALLS.md" || bad="$bad $f"
done
for f in $(sed -n 's/^| `\([A-Za-z]*[a-z][A-Za-z0-9_]*\)` |.*/\1/p' "$src/portals/doc/CALLS.md"); do
	printf '%s\n' $exported | grep -qx "$f" || bad="$bad $f"
done
[ -z "$bad" ]
ok $? "CALLS.md has every exported call and no other"
[ -z "$bad" ] || echo "# differ:$bad"

bad=
for p in "$man"/*.3; do
	f=$(basename "$p" .3)
	printf '%s\n' $exported | grep -qx "$f" || bad="$bad $f"
done
[ -z "$bad" ]
ok $? "every page is about an exported call"
[ -z "$bad" ] || echo "# not exported:$bad"

bad=
for p in "$man"/*.3; do
	grep -q '^\.so' "$p" && continue
	synopsis < "$p" > synopsis.c
	grep -q '(' synopsis.c && $cc $cppflags -Wall -Werror -fsyntax-only synopsis.c 2> log || {
		bad="$bad $(basename "$p")"
		sed 's/^/# /' log
	}
done
[ -z "$bad" ]
ok $? "every synopsis agrees with the header"

# A synopsis that does not agree must be found: otherwise the check above proves nothing.
synopsis < "$man/PtlPut.3" | sed 's/ptl_hdr_data_t/int/' > wrong.c
! $cc $cppflags -fsyntax-only wrong.c 2> /dev/null
ok $? "a wrong synopsis is noticed"

bad=
for f in $(cat "$man"/*.[37] "$src"/tools/man/*.[17] 2>/dev/null | awk '/^\.Xr (Ptl|ptl_|cnos_|PMI_|portals)/ { print $2 "." $3 }' | sort -u); do
	[ -f "$man/$f" ] || [ -f "$src/tools/man/$f" ] || bad="$bad $f"
done
[ -z "$bad" ]
ok $? "no page refers to one that is not there"
[ -z "$bad" ] || echo "# missing:$bad"

if command -v groff > /dev/null; then
	bad=
	for p in "$man"/*.[37]; do
		grep -q '^\.so' "$p" && continue
		groff -mandoc -Tutf8 -ww -z "$p" 2> log
		[ ! -s log ] || { bad=1; sed 's/^/# /' log; }
	done
	[ -z "$bad" ]
	ok $? "groff finds nothing wrong"
else
	n=$((n + 1))
	echo "ok $n # SKIP no groff"
fi

awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0 } on' "$man/portals.7" | sed 's/\\e/\\/g' > ring.c
$cc $cppflags -Wall -Wextra -Werror -o ring ring.c -L"$build/portals/.libs" -lportals \
	-Wl,-rpath,"$build/portals/.libs:$build/nal/smartmap/.libs" -Wl,-rpath-link,"$build/nal/smartmap/.libs" 2> log
ok $? "the program of portals(7) compiles"
sed 's/^/# /' log
nids=1:1:1 pids=256:257:258
for r in 0 1 2; do
	PTL_MY_RID=$r PTL_NIDMAP=$nids PTL_PIDMAP=$pids PTL_MY_JID=$$ timeout 30 ./ring > out.$r 2> err.$r &
done
wait
[ "$(sort out.0 out.1 out.2 | tr '\n' ';')" = "rank 0 got 2;rank 1 got 0;rank 2 got 1;" ]
ok $? "the program of portals(7) runs on three ranks"
sed 's/^/# /' err.0 err.1 err.2
echo "1..$n"
