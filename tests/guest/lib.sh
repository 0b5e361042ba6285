# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# lib.sh - where the guests' kernels and packages are, and how they get there; sourced by prepare, run and t_guest.sh
#
# Under CACHE, which other clones share: nothing there depends on this clone's files.
#
#	deb/		Debian's packages, as downloaded
#	6.1/		root: kernel, modules, headers, busybox, kmod, unpacked. vmlinux: the kernel, uncompressed,
#			base.gz: the first archive of the initramfs; kver: its version. Complete when .ready is there.
#	6.12/		root: headers only
#	user/root	what the guest's programs need and this machine may not have: RDMA tools, perftest
#	qemu/root	QEMU, where this machine has none
#	debug-*		kernels of debug-kernel

src=${P3_SRC:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
here=$src/tests/guest
CACHE=${MPT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/portals-mpt}
mkdir -p "$CACHE" 2>/dev/null && [ -w "$CACHE" ] || CACHE=${P3_BUILD:-$PWD}/cache
CACHE=$CACHE/guest

# BUILD: deps.sh keeps apt's private lists under it
BUILD=$CACHE
. "$src/tools/mpt/deps.sh"

# QEMU of this machine, or an unpacked one: sets QEMU and QEMU_DATA (options); 1: there is none
find_qemu()
{
	QEMU=(qemu-system-x86_64)
	command -v "${QEMU[0]}" >/dev/null && return 0
	local r=$CACHE/qemu/root
	[ -e "$CACHE/qemu/.ready" ] || return 1
	QEMU=(env "LD_LIBRARY_PATH=$r/usr/lib/$(multiarch):$r/usr/lib/$(multiarch)/pulseaudio"
	      "$r/usr/bin/qemu-system-x86_64" -L "$r/usr/share/qemu" -L "$r/usr/share/seabios")
	return 0
}

# apt_get COMMAND...: by the system's lists or, second, by lists of our own; with limits, as the network may be away
apt_net=(-o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
apt_lists=system
download()	# NAME... into the current folder
{
	apt_options $apt_lists
	timeout 240 apt-get -q "${APT[@]}" "${apt_net[@]}" download "$@" && return 0
	[ $apt_lists = system ] || return 1
	own_lists && download "$@"
}

own_lists()
{
	apt_lists=private
	apt_options private
	timeout 120 apt-get -q "${APT[@]}" "${apt_net[@]}" update
}

# depends NAME PATTERN: the first package that it depends on, of those whose name begins so
depends()
{
	apt_options $apt_lists
	apt-cache "${APT[@]}" depends "$1" 2>/dev/null | sed -n "s/.*Depends: \($2.*\)/\1/p" | head -n 1
}

# unpack INTO NAME...: downloads of these packages
unpack()
{
	local into=$1 n f
	shift
	mkdir -p "$CACHE/deb" "$into"
	(cd "$CACHE/deb" && download "$@") || return 1
	for n in "$@"; do
		f=$(ls -t "$CACHE/deb/${n}"_*.deb | head -n 1)
		dpkg-deb -x "$f" "$into" || return 1
	done
}

# The first archive of the initramfs: busybox, /init and the modules that it needs to see this machine's files.
initramfs()	# DIR VERSION (without VERSION: a kernel that has them built in)
{
	local d=$1 m=$1/root/lib/modules/${2:-none} n=10 want f k
	rm -rf "$d/ir"
	mkdir -p "$d"/ir/{bin,m,proc,sys,dev,ro,rw,root}
	cp "$CACHE/6.1/root/bin/busybox" "$d/ir/bin/"
	for want in ${2:+virtio_pci 9pnet_virtio 9p overlay virtio-rng}; do
		f=$(grep "^[^:]*/$want\.ko:" "$m/modules.dep") || continue
		for k in $(echo "${f#*:}" | tr ' ' '\n' | tac) "${f%%:*}"; do
			ls "$d"/ir/m/*-"$(basename "$k")" >/dev/null 2>&1 && continue
			cp "$m/$k" "$d/ir/m/$n-$(basename "$k")"
			n=$((n + 1))
		done
	done
	cp "$here/init" "$d/ir/init"
	chmod +x "$d/ir/init"
	(cd "$d/ir" && find . | bin/busybox cpio -o -H newc 2>/dev/null | gzip -1) >"$d/base.gz"
	rm -rf "$d/ir"
}
