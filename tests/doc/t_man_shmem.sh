#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# SHMEM's manual pages agree with libsma: each routine that it exports has a page under its name without type, size and
# context, which names it; no page is about one that does not exist; each synopsis agrees with the header.
build=${P3_BUILD:-.} src=${P3_SRC:-$(dirname "$0")/../..}
man=$build/man
cc=$(sed -n 's/^CC = //p' "$build/Makefile")
inc="-I$src/shmem-portals/include"

. "${0%/*}/../common/tap.sh"

# Names of routines without type, size and context.
family()
{
	sed -E -e 's/^shmem_ctx_(create|destroy|get_team|session_)/=ctx_\1/' -e 's/^shmem_(ctx_)?/=/' \
		-e 's/^=(float|double|longdouble|char|schar|u?(short|int|long|longlong)|uchar)_/=/' \
		-e 's/^=(u?int(8|16|32|64)|size|ptrdiff|complex[df])_/=/' \
		-e 's/^=((i|ib|ix)?(put|get)|broadcast|f?collect|alltoalls?)(8|16|32|64|128|mem)(_.*)?$/=\1\5/' \
		-e 's/^=/shmem_/' | sort -u
}

page()	# NAME: its text, or that of the page it points to
{
	if so=$(grep '^\.so man3/' "$man/man3/$1.3"); then cat "$man/${so#.so }"; else cat "$man/man3/$1.3"; fi
}

# The prototypes of a page, one in a line, with TYPE and OP as they stand.
synopsis()
{
	awk '/^\.Sh/ { on = $2 == "SYNOPSIS" } !on || /^\./ { next } { s = s " " $0 }
	/;$/ { gsub(/ +/, " ", s); sub(/^ /, "", s); print s; s = "" }'
}

# As C: TYPE is the first type for which there is such a routine; a name that there is for none stays, and fails.
as_c()	# EXPORTED
{
	awk -v exported="$1" '
	BEGIN {
		while ((getline f < exported) > 0) have[f] = 1
		n = split("long uint short", short); split("long,unsigned int,short", long, ",")
	}
	{
		match($0, /shmem_[A-Za-z0-9_]*\(/)
		name = substr($0, RSTART, RLENGTH - 1)
		rest = substr($0, RSTART + RLENGTH - 1); type = substr($0, 1, RSTART - 1)
		gsub(/OP/, "sum", name)
		for (i = 1; i <= n; i++) {
			try = name; sub(/TYPE/, short[i], try)
			if (try in have) break
		}
		if (i > n) { print "no routine " name ";"; next }
		line = type try rest
		while (match(line, /(^|[ (])T /)) {
			at = RSTART + RLENGTH - 2
			line = substr(line, 1, at - 1) long[i] substr(line, at + 1)
		}
		print line
	}'
}

nm -D --defined-only "$build/shmem-portals/.libs/libsma.so" |
	awk '$3 ~ /^shmem_[a-z0-9_]*[a-z0-9]$/ { print $3 }' > exported
family < exported > families
[ "$(wc -l < exported)" -gt 1000 ] && [ "$(wc -l < families)" -gt 100 ]
ok $? "libsma has its routines"

bad=
while read -r f; do
	[ -f "$man/man3/$f.3" ] && page "$f" | grep -qxE "\.Nm $f( ,)?" || bad="$bad $f"
done < families
[ -z "$bad" ]
ok $? "each routine has a page that names it"
[ -z "$bad" ] || echo "# missing:$bad"

pages=$(grep -L '^\.so' "$man"/man3/shmem_*.3)
bad=
for f in $(sed -n 's/^\.Nm \(shmem_[a-z0-9_]*\).*/\1/p' $pages); do
	grep -qx "$f" families || [ "$f" = shmem_fortran ] || bad="$bad $f"
done
[ -z "$bad" ]
ok $? "no page is about a routine that is not there"
[ -z "$bad" ] || echo "# not exported:$bad"

# Old names are routines of 64 bits, macros in C11 and so not looked at here; they are in the header's comments.
for p in $pages; do case $p in */shmem_fortran.3 | */shmem_legacy.3) ;; *) synopsis < "$p" ;; esac; done > protos
{ echo '#include <shmem.h>'; as_c exported < protos; } > protos.c
[ "$(wc -l < protos)" -gt 60 ] && $cc $inc -std=gnu99 -DSHMEM_NO_INLINE -Wall -Werror -fsyntax-only protos.c 2> log
ok $? "every synopsis agrees with the header"
sed 's/^/# /' log | head -n 20
{ echo '#include <shmem.h>'; sed 's/size_t nelems/int nelems/' protos | as_c exported; } > wrong.c
! $cc $inc -std=gnu99 -DSHMEM_NO_INLINE -fsyntax-only wrong.c 2> /dev/null
ok $? "a wrong synopsis is noticed"

# Those without a type: each in a synopsis.
bad=
for f in $(comm -12 families exported); do
	grep -q "[ *]$f(" protos && continue
	grep -qE "shmem_(TYPE_|OP_|TYPE_OP_)${f#shmem_}\(" protos && continue
	page "$f" | grep -q '^\.Dt SHMEM_LEGACY' || bad="$bad $f"
done
for f in shmem_malloc shmem_long_p shmem_ctx_create; do grep -qx $f exported || bad="$bad $f"; done
[ -z "$bad" ]
ok $? "each routine without a type stands in a synopsis"
[ -z "$bad" ] || echo "# missing:$bad"
echo "1..$n"
