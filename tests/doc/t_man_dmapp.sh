#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# DMAPP's manual pages, made from its header, agree with it and with the library: each exported call has a page that
# declares it; no page is about another; what stands there of a call begins as the comment that the header has above it;
# no markup is left over. (That each synopsis compiles, and that groff is content, t_man.sh looks at for all pages.)
build=${P3_BUILD:-.} src=${P3_SRC:-$(dirname "$0")/../..}
man=$build/man header=$src/dmapp-portals/include/dmapp.h

. "${0%/*}/../common/tap.sh"

page()	# NAME: its text, or that of the page it points to
{
	if so=$(grep '^\.so man3/' "$man/man3/$1.3"); then cat "$man/${so#.so }"; else cat "$man/man3/$1.3"; fi
}

nm -D --defined-only "$build/dmapp-portals/.libs/libdmapp.so" | awk '$3 ~ /^dmapp_/ { print $3 }' | sort > exported
bad=
while read -r f; do
	[ -f "$man/man3/$f.3" ] && page "$f" | grep -qx "\.Fo $f" && page "$f" | grep -qE "^\.Nm $f( ,)?$" ||
		bad="$bad $f"
done < exported
[ -z "$bad" ] && [ "$(wc -l < exported)" -gt 120 ]
ok $? "each exported call has a page that declares it"
[ -z "$bad" ] || echo "# missing:$bad"

ls "$man/man3" | sed -n 's/^\(dmapp_.*\)\.3$/\1/p' | sort > pages
comm -3 exported pages > differ
[ ! -s differ ]
ok $? "no page is about a call that is not there"
sed 's/^/# /' differ

# "call first words of the comment that ends on the line above it", for those that have one of their own there.
awk '
/^\/\*/ { text = $0; on = 1 }
on && !/^\/\*/ { text = text " " $0 }
on && /\*\// { on = 0; fresh = 1; gsub(/\/\*|\*\/|(^| )\*( |$)/, " ", text); next }
fresh && !/^typedef/ && match($0, /^[a-z].*dmapp_[a-z0-9_]+\(/) {
	name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name)
	n = split(text, w, /[ \t]+/); s = ""; k = 0
	for (i = 1; i <= n && k < 5; i++) if (w[i] != "") { s = s " " w[i]; k++ }
	print name s
}
{ fresh = 0 }' "$header" | tr -d '@' > comments
bad=
while read -r f words; do
	page "$f" | sed -n "/^\.It Fn $f\( \|\$\)/,/^\.It\|^\.El/p" | tail -n +2 | tr '\n' ' ' |
		sed 's/\\f.//g; s/\\&//g; s/  */ /g; s/^ //' > said
	case $(cat said) in "$words"*) ;; *) bad="$bad $f" ;; esac
done < comments
[ -z "$bad" ] && [ "$(wc -l < comments)" -gt 25 ]
ok $? "what is said of a call begins as its comment ($(wc -l < comments) calls)"
[ -z "$bad" ] || echo "# differ:$bad"

sed '/^\.Bd/,/^\.Ed/d' "$man"/man3/dmapp_*.3 | grep -nE '@[a-z]|/\*\*|^ \* ' > left
[ ! -s left ]
ok $? "no markup of the comments is left"
sed 's/^/# /' left | head -n 5

# A call without any comment of its section is refused, and so is what the generator does not understand.
sed 's|^/\* DMAPP_RC_NOT_SUPPORTED. \*/|&\nstruct odd { int a; };|' "$header" > odd.h
awk '/---- locks ----/ { print; print "dmapp_return_t dmapp_nobody_knows(void);"; next } 1' "$header" > bare.h
! perl "$src/dmapp-portals/man/generate" --texts odd.h > /dev/null 2> log && grep -q 'what is this' log &&
	! perl "$src/dmapp-portals/man/generate" --texts bare.h > /dev/null 2> log &&
	grep -q 'dmapp_nobody_knows: no comment' log
ok $? "a call without a comment is noticed"
sed 's/^/# /' log | head -n 5
echo "1..$n"
