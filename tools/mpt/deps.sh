# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# deps.sh - the packages this project needs, and how they are provided
#
# Two ways: installed by apt-get (as root or with sudo, after asking), or downloaded and unpacked under build/deps/root,
# with an apt configuration of our own that a plain user may write, and used from there. Nothing of the system is
# changed by the second way. Distributions without apt get the list.

DEPS=$BUILD/deps
TREE=$DEPS/root		# where packages are unpacked

# need|nice|test  Debian package  test that it is here  what it is for
package_table()
{
	cat <<-'END'
	need gcc              cmd:gcc          compiles everything
	need libc6-dev        hdr:stdio.h      headers of the C library
	need make             cmd:make         runs the build
	need autoconf         cmd:autoconf     makes configure, here and in MPICH
	need automake         cmd:automake     makes Makefile.in, here and in MPICH
	need libtool          cmd:libtoolize   shared libraries
	need m4               cmd:m4           works for autoconf
	need pkg-config       cmd:pkg-config   finds libraries
	need perl             cmd:prove        works for autoconf and MPICH's scripts; runs the tests
	need xz-utils         cmd:xz           unpacks MPICH's source
	need patch            cmd:patch        prepares MPICH's source
	need python3          cmd:python3      MPICH's configure asks for it
	need libmimalloc-dev  hdr:mimalloc.h   heap that other ranks can reach (libsmartmap-malloc)
	need libev-dev        hdr:ev.h         network between nodes
	nice libibverbs-dev   hdr:infiniband/verbs.h RDMA between nodes
	nice libcmocka-dev    hdr:cmocka.h     unit tests
	nice valgrind         cmd:valgrind     tests that count instructions and check memory
	nice spin             cmd:spin         checks the models of the protocols in tests/model
	nice gnuplot-nox      cmd:gnuplot      plots of the report (drawn more plainly without it)
	test g++              cmd:g++          checks the headers in C++
	test clang            cmd:clang        builds everything a second time
	test groff            cmd:groff        checks the manual pages
	test gcc-aarch64-linux-gnu cmd:aarch64-linux-gnu-gcc builds everything for arm64
	test libc6-dev-arm64-cross hdr:../aarch64-linux-gnu/include/stdio.h the C library for that
	test qemu-user        cmd:qemu-aarch64 runs it
	test qemu-system-x86  cmd:qemu-system-x86_64 boots Debian's kernel, for the module and for RDMA in software
	END
}

have_header()
{
	local d
	for d in "$TREE/usr/include" "$TREE/usr/include/$(multiarch)" /usr/include /usr/local/include \
		"/usr/include/$(multiarch)"; do
		[ -e "$d/$1" ] && return 0
	done
	return 1
}

multiarch()
{
	case $(uname -m) in
	x86_64) echo x86_64-linux-gnu ;;
	*) echo "$(uname -m)-linux-gnu" ;;
	esac
}

have()
{
	case $1 in
	cmd:*) command -v "${1#cmd:}" >/dev/null 2>&1 ;;
	hdr:*) have_header "${1#hdr:}" ;;
	esac
}

# Use the unpacked tree, where there is one. Safe to call twice.
use_tree()
{
	local m

	[ -e "$TREE/.ready" ] || return 0
	case :$PATH: in *:$DEPS/bin:*) return 0 ;; esac
	m=$(multiarch)
	export PATH=$DEPS/bin:$PATH:$TREE/usr/bin
	export PKG_CONFIG_PATH=$TREE/usr/lib/$m/pkgconfig:$TREE/usr/share/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
	export CPPFLAGS="${CPPFLAGS:+$CPPFLAGS }-isystem $TREE/usr/include -isystem $TREE/usr/include/$m"
	export LDFLAGS="${LDFLAGS:+$LDFLAGS }-L$TREE/usr/lib/$m -Wl,-rpath,$TREE/usr/lib/$m -Wl,-rpath-link,$TREE/usr/lib/$m"
	export PERL5LIB=$(printf '%s:' "$TREE"/usr/share/perl5 "$TREE"/usr/share/perl/5.* "$TREE/usr/lib/$m"/perl/5.*)${PERL5LIB:-}
	# aclocal's own directory comes from its rewritten script; libtool.m4 and pkg.m4 may be in the other tree
	export ACLOCAL_PATH=$TREE/usr/share/aclocal${ACLOCAL_PATH:+:$ACLOCAL_PATH}
	local f
	for f in autoconf autoheader autom4te automake aclocal libtoolize; do
		[ -x "$DEPS/bin/$f" ] && export "${f^^}=$DEPS/bin/$f"
	done
	[ -d "$TREE/usr/share/autoconf" ] && export autom4te_perllibdir=$TREE/usr/share/autoconf
	[ -d "$TREE/usr/share/gnuplot" ] && export GNUPLOT_PS_DIR=$(echo "$TREE"/usr/share/gnuplot/gnuplot/*/PostScript)
	[ -d "$TREE/usr/libexec/valgrind" ] && export VALGRIND_LIB=$TREE/usr/libexec/valgrind
	return 0
}

# Private apt: the system's sources and keys, own lists and cache. $1 = system: its package lists are good enough.
apt_options()
{
	local d=$DEPS/apt
	mkdir -p "$d/lists/partial" "$d/cache/archives/partial" "$d/state"
	APT=(-o "Dir::State=$d/state" -o "Dir::State::status=/var/lib/dpkg/status" -o "Dir::Cache=$d/cache"
	     -o "Debug::NoLocking=1" -o "APT::Sandbox::User=$(id -un)" -o "Dir::Log=$d/state" -o "Acquire::Languages=none")
	if [ "$1" = system ]; then
		APT+=(-o "Dir::State::lists=/var/lib/apt/lists")
	else
		APT+=(-o "Dir::State::lists=$d/lists")
	fi
}

# closure PACKAGE... - these and whatever they need that is not installed, one name a line
closure()
{
	local out
	out=$(apt-get "${APT[@]}" -s --no-install-recommends install "$@") || return 1
	# "Inst name [old version] (new ...": upgrades of installed packages are left out, what is there serves
	{ printf '%s\n' "$@"; printf '%s\n' "$out" | awk '$1 == "Inst" && $3 !~ /^\[/ { print $2 }'; } | sort -u
}

# fetch DIR PACKAGE... - download the closure and unpack it into DIR (run as one step, with its output in the log)
fetch()
{
	local into=$1 lists names f
	shift
	for lists in system private; do
		apt_options $lists
		if [ $lists = private ]; then
			echo "== apt-get update (private lists)"
			apt-get "${APT[@]}" update || echo "apt-get update failed; trying with what there is"
		fi
		names=$(closure "$@") || continue
		echo "== packages:" $names
		mkdir -p "$into/.debs"
		# shellcheck disable=SC2086
		(cd "$into/.debs" && apt-get "${APT[@]}" download $names) || continue
		# as on an installed system, /bin, /lib, ... are links into /usr: some packages still name the former
		for f in bin sbin lib lib64; do
			mkdir -p "$into/usr/$f"
			[ -e "$into/$f" ] || ln -s "usr/$f" "$into/$f"
		done
		for f in "$into/.debs"/*.deb; do
			echo "== unpack ${f##*/}"
			dpkg-deb --fsys-tarfile "$f" | tar -x --keep-directory-symlink --no-same-owner -C "$into" || return 1
		done
		rm -rf "$into/.debs"
		return 0
	done
	echo "could not download: $*"
	return 1
}

# settle_linker_scripts ROOT FINAL - they name the static part of libc by an absolute path, which is in ROOT, unpacked, and
# will be in FINAL
settle_linker_scripts()
{
	local f n
	for f in "$1/usr/lib/$(multiarch)"/lib*.so; do
		[ -f "$f" ] && [ ! -L "$f" ] && head -c 200 "$f" | grep -aq 'GNU ld script' || continue
		for n in $(grep -oE '/usr/lib/[^ ]+' "$f" | sort -u); do
			[ -e "$1$n" ] && sed -i "s, $n , $2$n ,g" "$f"
		done
	done
	return 0
}

# Scripts that name /usr/share/... in their text are made to name the tree; names that dpkg's alternatives would make,
# and wrappers for the compiler, are added.
settle_tree()
{
	local f n m u=$TREE/usr
	m=$(multiarch)
	mkdir -p "$DEPS/bin"
	for f in $(grep -rlIE '/usr/(share/(autoconf|automake|aclocal|libtool|misc|gnuplot)|bin/(m4|autom4te|autoconf|autoheader))' \
		"$u/bin" "$u/share/autoconf" "$u"/share/automake* "$u/share/aclocal" "$u"/share/aclocal-* \
		"$u/share/libtool" 2>/dev/null); do
		sed -i -E "s,([^a-zA-Z0-9._/-])/usr/share/(autoconf|automake|aclocal|libtool|misc|gnuplot),\1$u/share/\2,g;
			s,([^a-zA-Z0-9._/!-])/usr/bin/(autom4te|autoconf|autoheader),\1$u/bin/\2,g" "$f"
		[ -x "$u/bin/m4" ] && sed -i -E "s,([^a-zA-Z0-9._/!-])/usr/bin/m4,\1$u/bin/m4,g" "$f"
	done
	for n in automake aclocal; do
		for f in "$u/bin/$n"-1.*; do [ -e "$f" ] && ln -sf "${f##*/}" "$u/bin/$n"; done
	done
	[ -e "$u/bin/gnuplot" ] || for f in "$u/bin/gnuplot-nox"; do [ -e "$f" ] && ln -sf gnuplot-nox "$u/bin/gnuplot"; done
	[ -e "$u/bin/pkg-config" ] || { [ -e "$u/bin/pkgconf" ] && ln -sf pkgconf "$u/bin/pkg-config"; }
	settle_linker_scripts "$TREE" "$TREE"
	# links by absolute path, of development names
	find "$u/lib" -type l -lname '/*' 2>/dev/null | while read -r f; do
		n=$(readlink "$f")
		[ -e "$TREE$n" ] && ln -sf "$TREE$n" "$f"
	done
	# every program that the tree adds runs with the tree's libraries; those that are here already are used as they are
	for f in "$u/bin"/* "$u/sbin"/*; do
		n=${f##*/}
		[ -x "$f" ] && [ ! -e "$DEPS/bin/$n" ] || continue
		[ -e "/usr/bin/$n" ] || [ -e "/bin/$n" ] || [ -e "/usr/local/bin/$n" ] && continue
		case $n in
		gcc|gcc-[0-9]*|*-linux-gnu-gcc|*-linux-gnu-gcc-[0-9]*)
			{
				echo '#!/bin/sh'
				echo "export LD_LIBRARY_PATH=$u/lib/$m\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
				echo "exec $f -B$u/lib/$m/ -B$DEPS/bin/ -idirafter $u/include/$m -idirafter $u/include \"\$@\" -L$u/lib/$m"
			} >"$DEPS/bin/$n" ;;
		*)
			if head -c 2 "$f" | grep -q '#!'; then
				printf '#!/bin/sh\nexec %s "$@"\n' "$f" >"$DEPS/bin/$n"
			else
				printf '#!/bin/sh\nLD_LIBRARY_PATH=%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec %s "$@"\n' \
					"$u/lib/$m" "$f" >"$DEPS/bin/$n"
			fi ;;
		esac
		chmod +x "$DEPS/bin/$n"
	done
	[ -e "$DEPS/bin/gcc" ] && [ ! -e /usr/bin/cc ] && ln -sf gcc "$DEPS/bin/cc"
	touch "$TREE/.ready"
}

fetch_tree() { fetch "$TREE" "$@" && settle_tree; }

# May packages be installed at all: by root, or by sudo that needs no password or can ask for one?
can_install()
{
	[ -z "${NO_INSTALL:-}" ] && command -v apt-get >/dev/null && { [ -n "${YES:-}" ] || [ -t 0 ]; } &&
		{ [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }; }
}

# Print what is missing and why; provide it. Return 1 when something needed cannot be had.
provide_packages()
{
	local kind name probe why missing=() needed=() unpackable=() how= sudo= a

	use_tree
	while read -r kind name probe why; do
		[ -n "$kind" ] || continue
		have "$probe" && continue
		[ "$kind" != need ] && [ -e "$DEPS/without-$name" ] && continue
		# for the tests only, and only where it can be installed: they skip what needs it
		[ "$kind" = test ] && { [ "$cmd" != test ] || ! can_install; } && continue
		[ ${#missing[@]} -eq 0 ] && say "missing on this machine:"
		printf '  %-16s %s%s\n' "$name" "$why" "$([ "$kind" != need ] && echo ' (can be done without)')"
		missing+=("$name")
		[ "$kind" = need ] && needed+=("$name")
		[ "$kind" = test ] || unpackable+=("$name")
	done < <(package_table)
	[ ${#missing[@]} -eq 0 ] && return 0

	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		say "These are Debian's names; this system has no apt-get. Please install what they are called here (headers included) and call mpt again."
		[ ${#needed[@]} -eq 0 ]
		return
	fi
	if [ -n "${NO_INSTALL:-}" ]; then
		how=unpack
	elif [ "$(id -u)" = 0 ]; then
		how=install
	elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
		how=install sudo=sudo
	else
		say "Not root, and no sudo: they will be downloaded and unpacked under $(short "$DEPS") instead."
		how=unpack
	fi
	if [ $how = install ] && [ -z "${YES:-}" ]; then
		if [ -t 0 ]; then
			read -r -p "Install them with ${sudo:+sudo }apt-get? [Y]es, [u]npack them under $(short "$DEPS") instead, [n]o: " a
			case $a in
			''|[Yy]*) ;;
			[Uu]*) how=unpack ;;
			*)	# what can be done without is not asked for again
				mkdir -p "$DEPS"
				for a in "${missing[@]}"; do
					case " ${needed[*]+"${needed[*]}"} " in *" $a "*) ;; *) touch "$DEPS/without-$a" ;; esac
				done
				[ ${#needed[@]} -eq 0 ]
				return ;;
			esac
		else
			say "Nobody to ask (no terminal), and no --yes: they will be unpacked under $(short "$DEPS") instead."
			how=unpack
		fi
	fi
	if [ $how = install ]; then
		step "apt-get update" apt-update $sudo apt-get update || note "(going on with the package lists there are)"
		step "apt-get install" apt-install $sudo env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y --no-install-recommends "${missing[@]}" && return 0
		note "apt-get install failed; trying to unpack under $(short "$DEPS") instead"
	fi
	[ ${#unpackable[@]} -eq 0 ] && return 0
	if ! step "download and unpack ${#unpackable[@]} packages and what they need" deps-unpack fetch_tree "${unpackable[@]}"; then
		[ ${#needed[@]} -eq 0 ] && return 0
		step "download and unpack ${#needed[@]} packages and what they need" deps-unpack fetch_tree "${needed[@]}" || return 1
	fi
	hash -r
	use_tree
	while read -r kind name probe why; do
		[ -n "$kind" ] && ! have "$probe" || continue
		if [ "$kind" = need ]; then
			note "$name was unpacked under $(short "$TREE") but does not show there"
			return 1
		fi
		note "going on without $name"
		touch "$DEPS/without-$name"
	done < <(package_table)
}
