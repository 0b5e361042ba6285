#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Programs in the manner of those that were written for Portals 3, for the reference implementation and for the XT: each
# compiles without a warning, in C and C++, links by the names that such programs look for, shared and static, and runs.
build=${P3_BUILD:-.} src=${P3_SRC:-$(dirname "$0")/../..}
inc=$src/portals/include
cc=$(sed -n 's/^CC = //p' "$build/Makefile")
cxx=$(sed -n 's/^C = //p' "$build/Makefile")
cxx=${cxx:-$(command -v g++ || command -v clang++)}

. "${0%/*}/../common/tap.sh"
explain() { sed 's/^/# /' log >&2; }

# Each header alone, strictly by each standard, with each compiler that there is. "int x": a file of macros alone is not C.
alone()	# LANGUAGE COMPILER STANDARD...: what does not compile goes to log
{
	lang=$1 with=$2
	shift 2
	for std; do
		$with -std=$std -pedantic -Wall -Wextra -Werror -I"$inc" -x$lang -fsyntax-only alone/*.c 2>> log ||
			echo "$with -std=$std" >> log
	done
}
mkdir alone
for h in $(cd "$inc" && find . -name '*.h' | sed 's,^\./,,'); do
	printf '#include <%s>\nextern int x;\n' "$h" > "alone/$(echo "$h" | tr / _).c"
done
compilers() { for c; do command -v "${c%% *}" > /dev/null && echo "$c"; done | sort -u; }	# those that there are
: > log
compilers "${cc%% *}" gcc clang > c; compilers "$cxx" g++ clang++ > cxx
while read -r c; do alone c "$c" c89 c99 c11; done < c
[ -s c ] && [ ! -s log ]; ok $? "every public header compiles by itself in C ($(paste -sd' ' c))"
: > log
if [ -s cxx ]; then
	while read -r c; do alone c++ "$c" c++98 c++17; done < cxx
	[ ! -s log ]; ok $? "every public header compiles by itself in C++ ($(paste -sd' ' cxx))"
else
	n=$((n + 1)); echo "ok $n # SKIP no C++ compiler"
fi

# What they offer to strict programs, too: both forms of PtlACEntry; names of events, which XT programs declare for themselves.
strict()	# HEADERS PROGRAM FLAGS
{
	{ for one in $1; do echo "#include <$one>"; done; echo "$2"; } > strict.c
	while read -r c; do
		for std in c89 c99 c11; do
			$c -std=$std -pedantic -Wall -Wextra -Werror $3 -I"$inc" -c -o strict.o strict.c 2>> log || echo "$c $std: $1 $2" >> log
		done
	done < c
	[ "$4" ] || while read -r c; do
		for std in c++98 c++17; do
			$c -std=$std -pedantic -Wall -Wextra -Werror $3 -I"$inc" -xc++ -c -o strict.o strict.c 2>> log || echo "$c $std: $1 $2" >> log
		done
	done < cxx
}
entry='extern int admit(ptl_handle_ni_t ni, ptl_process_id_t id);
int admit(ptl_handle_ni_t ni, ptl_process_id_t id)
{
	return PtlACEntry(ni, 1, id, PTL_UID_ANY, 4) + PtlACEntry(ni, 1, id, PTL_UID_ANY, PTL_JID_ANY, 4);
}'
name='extern const char *name_of(int kind); const char *name_of(int kind) { return ptl_event_str[kind]; }'
: > log
for h in portals3.h portals/portals3.h "portals/portals3.h portals/p3nal_utcp.h" "portals/p3nal_utcp.h portals/portals3.h"; do
	strict "$h" "$entry"
	strict "$h" "$name"
done
[ ! -s log ]; ok $? "PtlACEntry with five arguments and six, and ptl_event_str, strictly by each standard"
: > log
strict portals/portals3.h "extern const char *ptl_event_str[]; $name" "" C
strict portals/portals3.h "extern char *ptl_event_str[]; $name" -DPTL_OWN_EVENT_STR_NP C
[ ! -s log ]; ok $? "a program's own declaration of ptl_event_str"

# The libraries by their older names, as they are installed.
(cd "$build" && make -s install-alias DESTDIR="$(cd "$OLDPWD" && pwd)" libdir=/lib) > log 2>&1
ok $? "the libraries under their older names are made"
libs="-Llib -L$build/portals/.libs -L$build/portals/pmi/.libs -Wl,-rpath-link,$build/nal/smartmap/.libs"
export LD_LIBRARY_PATH="$build/portals/.libs:$build/portals/pmi/.libs:$build/nal/smartmap/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

client()	# NAME SOURCE FLAGS LIBRARIES
{
	$cc -std=gnu99 -Wall -Werror $3 -I"$inc" -o "$1" "$src/tests/clients/$2" $libs $4 > log 2>&1
	ok $? "$1 compiles and links with $4"
	timeout 30 "./$1" > log 2>&1
	ok $? "$1 runs alone"
	for r in 0 1 2; do
		PTL_MY_RID=$r PTL_NIDMAP=1:1:1 PTL_PIDMAP=256:257:258 PTL_MY_JID=$$ timeout 60 "./$1" > "out.$r" 2>&1 || echo "rank $r: $?" >> bad &
	done
	wait
	cat out.? > log; [ ! -f bad ] || cat bad >> log
	[ ! -f bad ]; ok $? "$1 runs on three ranks"
	rm -f bad
}
client mpi-utcp mpi_utcp.c "" "-lp3api -lp3lib -lp3utcp -lp3rt"
client mpi-xt mpi_xt.c "" "-lportals"
client onesided-xt onesided_xt.c -DPTL_OWN_EVENT_STR_NP "-lpmi -lportals"
client io-utcp io_both.c -DUTCP "-lportals3"
client io-ibng io_both.c -DUTCP "-lp3rt -lp3ibng -lp3lib -lp3api"
client io-xt io_both.c "" "-lportals"
client io-xt-found io_both.c "-DHAVE_PTLERRORSTR -DHAVE_PTLEVENTKINDSTR -Devent_name=PtlEventKindStr" "-lportals"
client old-p30 old_p30.c "" "-lportals"

# Programs in C++, by each compiler that there is.
cxx_client()	# NAME SOURCE COMPILER LIBRARIES
{
	if ! command -v "${3%% *}" > /dev/null; then
		n=$((n + 1)); echo "ok $n # SKIP no ${3%% *}"
		return
	fi
	$3 -Wall -Wextra -Werror -I"$inc" -o "$1" "$src/tests/clients/$2" $libs $4 > log 2>&1
	ok $? "$1 compiles with $3 and links with $4"
	timeout 30 "./$1" > log 2>&1
	ok $? "$1 runs alone"
	for r in 0 1; do
		PTL_MY_RID=$r PTL_NIDMAP=1:1 PTL_PIDMAP=256:257 PTL_MY_JID=$$ \
			timeout 60 "./$1" > "out.$r" 2>&1 || echo "rank $r: $?" >> bad &
	done
	wait
	cat out.0 out.1 > log; [ ! -f bad ] || cat bad >> log
	[ ! -f bad ]; ok $? "$1 runs on two ranks"
	rm -f bad
}
cxx_client cxx-utcp cxx_utcp.cc "g++ -std=c++98" "-lp3api -lp3lib -lp3utcp -lp3rt"
cxx_client cxx-xt cxx_xt.cc "g++ -std=c++17" "-lpmi -lportals"
cxx_client cxx-utcp-clang cxx_utcp.cc "clang++ -std=c++17" "-lportals3"
cxx_client cxx-xt-clang cxx_xt.cc "clang++ -std=c++11" "-lportals -lpmi"

# pkg-config.
here=$PWD dynamic=$libs
for l in portals/.libs/libportals nal/smartmap/.libs/libsmartmap; do ln -sf "$build/$l".so* lib/; done
if command -v pkg-config > /dev/null; then
	PKG_CONFIG_PATH=$build/portals:$build/nal/smartmap
	export PKG_CONFIG_PATH
	for p in portals portals3; do
		pc="pkg-config --define-variable=libdir=$here/lib --define-variable=includedir=$inc"
		libs=
		client "pc-$p" io_both.c "-DUTCP $($pc --cflags $p)" "$($pc --libs $p)"
		$pc --static --libs $p | grep -q -- '-lsmartmap.*-lpthread'; ok $? "$p.pc knows what static programs need"
	done
else
	n=$((n + 1)); echo "ok $n # SKIP no pkg-config"
fi

# Static programs, by the same names: archives of the objects that are there, which are compiled once.
objects=$(make -s -C "$build" conform-flags | sed -n 's/^objects: //p' | sed 's,\([^/ ]*\)\.lo,.libs/\1.o,g')
(cd "$build" && ar rc "$here/lib/libportals.a" $objects && ar rc "$here/lib/libsmartmap.a" nal/smartmap/.libs/smap_*.o &&
	make -s install-alias DESTDIR="$here" libdir=/lib) > log 2>&1
ok $? "static libraries under their older names are made"
need=$(sed -n 's/.*-lportals -lsmartmap \(.*\) )/\1/p' lib/libp3api.a 2> /dev/null)
if [ -n "$need" ] && echo 'int main(void) { return 0; }' | $cc -static -xc - -o static $need > /dev/null 2>&1; then
	libs="-Llib -static"
	client mpi-utcp-static mpi_utcp.c "" "-lp3api -lp3lib -lp3utcp -lp3rt"
	client io-static io_both.c "-DUTCP" "-lportals3"
else
	n=$((n + 1)); echo "ok $n # SKIP no static C library or no static libev"
fi
libs=$dynamic

# Every name that programs use is there, for its kind of programs: types, calls and arrays, macros with arguments, constants.
names()	# KIND HEADERS
{
	for h in $2; do echo "#include <$h>"; done
	echo 'long long sum(void) { long long n = 0;'
	sed -n "s/^\([A-Za-z]\w*\) .*\<$1\>.*/\1/p" "$src/tests/clients/names" | while read -r x; do
		case $x in
		ptl_*_t | cnos_*_t | PMI_BOOL) echo "n += sizeof($x);" ;;
		*[a-z]*) echo "n += (__typeof__(&$x))0 == 0; (void)&$x;" ;;
		*) printf '#ifdef %s\nn++;\n#else\nn += (long long)(%s);\n#endif\n' "$x" "$x" ;;
		esac
	done
	echo 'return n; }'
}
names ref "portals3.h p3nal_utcp.h p3nal_ibng.h p3rt/p3rt.h p3api/debug.h" > names-ref.c
names xt "portals/portals3.h cnos_mpi_os.h pmi.h portals/reserved_ptls.h" > names-xt.c
for k in ref xt; do
	[ "$(grep -c '^n' names-$k.c)" -gt 150 ] && $cc -Wno-unused-value -I"$inc" -fsyntax-only names-$k.c 2> log
	ok $? "every name that programs use is there ($k)"
done
names ref portals/portals3.h | sed 's/PtlGetJid/PtlGetJid_/' > names-no.c
! $cc -w -I"$inc" -fsyntax-only names-no.c 2> log && grep -q PtlGetJid_ log; ok $? "a name that is not there is noticed"

# What configure scripts look for, by link and by declaration.
: > log
for f in PtlErrorStr PtlEventKindStr PtlNIFailStr PtlMEDump PtlNIEqDump PtlTblDump PtlNIDebug PtlNIStatus PtlMEMDPost PtlEQPeek \
	cnos_get_rank cnos_pm_barrier cnos_barrier; do
	echo "char $f(); int main(void) { return $f(); }" | $cc -w -fno-builtin -xc - -o probe $libs -lportals 2>> log || echo "$f" >> log
done
for h in portals3.h portals/portals3.h; do
	for t in ptl_time_t ptl_eq_handler_t ptl_jid_t; do
		echo "#include <$h>
		int main(void) { if (sizeof($t)) return 0; return 0; }" | $cc -I"$inc" -xc -fsyntax-only - 2>> log || echo "$h $t" >> log
	done
	for c in PTL_NOACK_REQ PTL_NO_ACK_REQ PTL_IFACE_DUP PTL_EQ_IN_USE PTL_MAX_ERRNO PTL_HANDLE_NONE; do
		echo "#include <$h>
		int x = $c; int main(void) { return 0; }" | $cc -I"$inc" -xc -fsyntax-only - 2>> log || echo "$h $c" >> log
	done
done
[ ! -s log ]; ok $? "what configure scripts probe for is there"

# portals.pc and portals3.pc are one thing.
sed '/^Name:/d' "$build/portals/portals.pc" > one; sed '/^Name:/d' "$build/portals/portals3.pc" > two
diff one two > log; ok $? "portals.pc and portals3.pc agree"
echo "1..$n"
