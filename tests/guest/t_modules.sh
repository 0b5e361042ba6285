#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_modules.sh - the modules compile against the headers of Debian's kernels, 6.1 and 6.12; DKMS, udev, modinfo
set -u
. "$(dirname "$0")/lib.sh"
: "${P3_BUILD:?where it was built}"
n=0 failed=0
for k in 6.1 6.12; do
	why=$("$here/prepare" $k 2>&1 >/dev/null)
	rc=$?
	for what in "self-test:$here/selftest_ko.sh:self" "portals_gp:$src/kernel-nal/build.sh:ko"; do
		IFS=: read -r name script to <<<"$what"
		n=$((n + 1))
		line="$name for $k"
		if [ $rc != 0 ]; then
			echo "ok $n - $line # SKIP $(tail -n 1 <<<"$why")"
		elif [ ! -x "$script" ]; then
			echo "ok $n - $line # SKIP there is no ${script#"$src"/}"
		else
			mkdir -p "$P3_BUILD/tests/guest/$to-$k"
			ko=$("$script" "$(cat "$CACHE/$k/kdir")" "$P3_BUILD/tests/guest/$to-$k" 2>log | tail -n 1)
			if [ -s "$ko" ]; then
				echo "ok $n - $line ($(cat "$CACHE/$k/kver"))"
			else
				echo "not ok $n - $line ($(cat "$CACHE/$k/kver"))"
				failed=1
				tail -n 30 log >&2
			fi
		fi
	done
done
ok()	# STATUS NAME
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; failed=1; fi
}
# As DKMS does it: a folder of sources by stage.sh, and the commands of dkms.conf.
knal=$src/kernel-nal
if [ -x "$knal/stage.sh" ] && [ -e "$CACHE/6.1/kdir" ]; then
	kernel_source_dir=$(cat "$CACHE/6.1/kdir") dkms_tree=$P3_BUILD/tests/guest/dkms
	. "$knal/dkms.conf"
	folder=$dkms_tree/$PACKAGE_NAME/$PACKAGE_VERSION/build
	rm -rf "$dkms_tree"
	mkdir -p "$folder"
	"$knal/stage.sh" "$folder" && cp "$knal/dkms.conf" "$folder" &&
		env -u MAKEFLAGS -u MAKELEVEL sh -c "$MAKE" >log 2>&1
	ok $? "DKMS's sources are complete, and its command builds them"
	ko=$folder/${BUILT_MODULE_NAME[0]}.ko
	[ -s "$ko" ] || tail -n 30 log >&2
	modinfo() { "$CACHE/6.1/sbin/modinfo" "$@"; }
	lacks=
	for f in description author license version vermagic; do
		[ -n "$(modinfo -F $f "$ko")" ] || lacks="$lacks $f"
	done
	ok $([ -z "$lacks" ]; echo $?) "modinfo has all fields:$lacks"
	[ "$(modinfo -F version "$ko")" = "$PACKAGE_VERSION" ]
	ok $? "DKMS's version is the module's"
	sed -n 's/^module_param[a-z_]*(\([a-z_]*\),.*/\1/p' "$knal"/gptl_*.c | sort >parms
	modinfo -F parm "$ko" | sed -n 's/^\([a-z_]*\):..* (.*)$/\1/p' | sort >told
	[ "$(wc -l <parms)" -ge 5 ] && cmp parms told >&2
	ok $? "modinfo explains each parameter ($(tr '\n' ' ' <told))"
	name=$(sed -n '/struct miscdevice/,/^}/s/.*\.name = "\(.*\)".*/\1/p' "$knal/gptl_dev.c")
	[ -n "$name" ] && grep -q "^KERNEL==\"$name\", SUBSYSTEM==\"misc\", GROUP=\"[a-z]*\", MODE=\"0660\"$" \
		"$knal/60-portals.rules"
	ok $? "the rule for udev is about the module's device"
	env -u MAKEFLAGS -u MAKELEVEL sh -c "$CLEAN" >log 2>&1 && [ ! -e "$ko" ]
	ok $? "DKMS's command cleans"
else
	n=$((n + 1))
	echo "ok $n - what is for DKMS, udev and modinfo # SKIP no headers of Debian's kernel 6.1 in the cache"
fi
echo "1..$n"
exit $failed
