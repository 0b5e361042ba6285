#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The manual pages, made from the headers (portals/man/generate), agree with the library: every call that the libraries
# export has a page, and every constant of the headers; nothing lacks a text; each page's synopsis compiles after the header
# that it names; no page is about a call that does not exist; groff and mandoc have no complaint; what is installed is found
# by man; and the program of portals(7) runs.
build=${P3_BUILD:-.} src=${P3_SRC:-$(dirname "$0")/../..}
man=$build/man
libs="$build/portals/.libs/libportals.so $build/portals/pmi/.libs/libpmi.so $build/nal/smartmap/.libs/libsmartmap.so"
cc=$(sed -n 's/^CC = //p' "$build/Makefile")
cppflags="-I$src/portals/include -I$src/nal/smartmap -I$src/dmapp-portals/include"

. "${0%/*}/../common/tap.sh"

# The text of a page; a page of one .so line is what it points to.
page()
{
	if so=$(grep '^\.so man3/' "$man/man3/$1.3" 2>/dev/null); then
		cat "$man/${so#.so }"
	else
		cat "$man/man3/$1.3"
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

perl "$src/portals/man/generate" --check --src "$src" > log 2>&1
ok $? "every argument, constant, member and code of the headers has its text"
sed 's/^/# /' log
# A header that lacks something must be found.
mkdir -p lack/portals/rt lack/nal/smartmap lack/portals/man lack/mpich-ch3-portals
cp -r "$src/mpich-ch3-portals/include" lack/mpich-ch3-portals/
cp -r "$src/portals/include" lack/portals/; cp "$src/portals/rt/p3_knobs.h" lack/portals/rt/; cp "$src/nal/smartmap/smartmap.h" lack/nal/smartmap/
chmod -R u+w lack
sed -i -e '/^ \* @ack_req:/d' -e 's|^int PtlInit|int PtlNobodyKnows_np(void);\n&|' lack/portals/include/p3api/api.h
sed -i 's|^\(#define PTL_MD_TRUNCATE.*[0-9]U\).*|\1|' lack/portals/include/p3api/types.h
perl "$src/portals/man/generate" --check --src lack > log 2>&1
[ $? = 1 ] && grep -q 'PtlPut: no text for argument ack_req' log && grep -q 'no text for constant PTL_MD_TRUNCATE' log &&
	grep -q 'PtlNobodyKnows_np' log
ok $? "an argument without a text, a constant and a call are noticed"

exported=$(nm -D --defined-only $libs | awk '$3 ~ /^(Ptl|ptl_|cnos_|p3tcp_|PMI_|smartmap_)/ && $3 !~ /_$/ { print $3 }') || exported=
bad=
for f in $exported; do
	[ -f "$man/man3/$f.3" ] && page "$f" | grep -qE "^\.(Fo|Vt extern.*[* ]) ?$f(\[| |\$)" || bad="$bad $f"
done
[ -n "$exported" ] && [ -z "$bad" ]
ok $? "every exported call has a page that declares it"
[ -z "$bad" ] || echo "# missing:$bad"

bad=
for f in $(printf '%s\n' $exported | grep -v '^smartmap_'); do
	grep -q "^| \`$f\` |" "$src/portals/doc/CALLS.md" || bad="$bad $f"
done
for f in $(sed -n 's/^| `\([A-Za-z]*[a-z][A-Za-z0-9_]*\)` |.*/\1/p' "$src/portals/doc/CALLS.md"); do
	printf '%s\n' $exported | grep -qx "$f" || bad="$bad $f"
done
[ -z "$bad" ]
ok $? "CALLS.md has every exported call and no other"
[ -z "$bad" ] || echo "# differ:$bad"

perl "$src/portals/man/generate" --names --src "$src" > names
bad=
for f in $(awk '$2 == "call" { print $3 }' names); do
	printf '%s\n' $exported | grep -qx "$f" || grep -q "^static inline.*$f(" "$src/nal/smartmap/smartmap.h" || bad="$bad $f"
done
[ -z "$bad" ]
ok $? "every page of a call is about an exported one"
[ -z "$bad" ] || echo "# not exported:$bad"

# The constants, as the compiler sees them, whatever the generator thinks.
( cd "$src/portals/include" && find . -name '*.h' | sed 's,^\./\(.*\),#include <\1>,'; echo '#include <smartmap.h>' ) > all.c
{
	$cc $cppflags -dM -E all.c | sed -n 's/^#define \([A-Z]\w*\).*/\1/p'
	echo '#include <portals/portals3.h>' | $cc $cppflags -dM -E -xc - | sed -n 's/^#define \([A-Z]\w*\).*/\1/p'
	$cc $cppflags -P -E all.c | tr -d '\n' | grep -oE 'enum( \w+)? *\{[^}]*\}' | tr '{},' '\n\n\n' | sed -n 's/^[ \t]*\([A-Z]\w*\).*/\1/p'
} | grep -E '^(PTL|PMI|CNOS|CRAY|IFACE|NALID|BRIDGE|ACCEL|SMARTMAP)_' | grep -vE '_H(_INCLUDED)?$' | sort -u > constants
bad=
while read -r c; do [ -f "$man/man3/$c.3" ] && page "$c" | grep -q "^\.It Dv $c\>" || bad="$bad $c"; done < constants
[ -z "$bad" ] && [ "$(wc -l < constants)" -gt 200 ]
ok $? "every constant of the headers has its text in a page of its name"
[ -z "$bad" ] || echo "# missing:$bad"

bad=
for p in "$man"/man3/*.3; do
	grep -q '^\.so' "$p" && continue
	grep -q '^\.Fo\|^\.Vt extern' "$p" || continue
	synopsis < "$p" > synopsis.c
	grep -q '(' synopsis.c && $cc $cppflags -Wall -Werror -Wno-unused-function -fsyntax-only synopsis.c 2> log || {
		bad="$bad $(basename "$p")"
		sed 's/^/# /' log
	}
done
[ -z "$bad" ]
ok $? "every synopsis agrees with the header"

# A synopsis that does not agree must be found: otherwise the check above proves nothing.
page PtlPut | synopsis | sed 's/ptl_hdr_data_t/int/' > wrong.c
! $cc $cppflags -fsyntax-only wrong.c 2> /dev/null
ok $? "a wrong synopsis is noticed"

bad=
for f in $(cat "$man"/man?/* | sed 's/^\.Xr ( /.Xr /' | awk '/^\.Xr / { print $3 "/" $2 "." $3 }' | sort -u); do
	[ -f "$man/man$f" ] && continue
	case $f in 2/fork.2 | 2/munmap.2 | 2/membarrier.2 | 3/malloc.3 | 3/free.3) ;; *) bad="$bad ${f#*/}" ;; esac
done
[ -z "$bad" ]
ok $? "no page refers to one that is not there"
[ -z "$bad" ] || echo "# missing:$bad"

whole=$(grep -L '^\.so' "$man"/man?/*)
if command -v groff > /dev/null; then
	for p in $whole; do groff -mandoc -Tutf8 -ww -z "$p"; done > log 2>&1
	[ ! -s log ]
	ok $? "groff finds nothing wrong"
	sed 's/^/# /' log
else
	n=$((n + 1))
	echo "ok $n # SKIP no groff"
fi
if command -v mandoc > /dev/null; then
	mandoc -Tlint -Wwarning $whole > log 2>&1
	ok $? "mandoc finds nothing wrong"
	sed 's/^/# /' log
else
	n=$((n + 1))
	echo "ok $n # SKIP no mandoc"
fi
if command -v man > /dev/null && man --version > /dev/null 2>&1; then
	: > log
	for p in PtlPutRegion.3 PTL_MD_TRUNCATE.3 ptl_event_t.3 smartmap_read.3 portals-knobs.7 portals.7 aprun.1; do
		MANPATH=$man MANWIDTH=100 man --warnings "${p##*.}" "${p%.*}" < /dev/null 2>> log | grep -q NAME || echo "$p" >> log
	done
	[ ! -s log ]
	ok $? "man finds the pages in the build folder"
	sed 's/^/# /' log
else
	n=$((n + 1))
	echo "ok $n # SKIP no man"
fi

awk '/^\.Bd/ { on = 1; next } /^\.Ed/ { on = 0 } on' "$man/man7/portals.7" | sed 's/\\e/\\/g' > ring.c
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
