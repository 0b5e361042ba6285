# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# build.sh - what is built and where
#
#	build/make            objects of this project (configured out of tree)
#	build/prefix          its libraries, headers and tools, installed
#	build/mpich-portals   MPICH with the channel over Portals
#	build/mpich-nemesis   MPICH from the same source with its own channel, to compare with; build/mpich-nemesis-yield
#	                      the same, giving up its core while it waits (built by a full eval)
#	build/bin             what a user calls: links into the above
#	build/log             output of every step
#
# MPICH's source and objects are kept outside, in MPT_CACHE (~/.cache/portals-mpt; build/cache where there is no home), so
# that another clone on this machine need not compile 1100 files again; build-mpich says why that is safe.
# A step is skipped when nothing it reads is newer than its stamp, so that a second build takes no time.

SOURCES=(portals nal kernel-nal shmem-portals dmapp-portals tools tests configure.ac Makefile.am)
JOBS=${MPT_JOBS:-$(nproc)}
if [ -z "${MPT_CACHE:-}" ]; then
	MPT_CACHE=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/portals-mpt
	mkdir -p "$MPT_CACHE" 2>/dev/null && [ -w "$MPT_CACHE" ] || MPT_CACHE=$BUILD/cache
fi
export MPT_CACHE

ours_configure()
{
	(cd "$ROOT" && autoreconf -if) || return 1
	mkdir -p "$BUILD/make" && cd "$BUILD/make" &&
		"$ROOT/configure" --prefix="$BUILD/prefix" --libdir="$BUILD/prefix/lib"
}

build_ours()
{
	local stamp=$BUILD/stamp.ours

	# a changed fragment is regenerated from here: automake's own rule does not add auxiliary files that are new
	if [ ! -f "$BUILD/make/Makefile" ] || [ ! -f "$ROOT/configure" ] ||
	   [ -n "$(cd "$ROOT" && find configure.ac Makefile.am portals nal kernel-nal shmem-portals dmapp-portals mpich-ch3-portals tools \
		tests \( -name '*.mk' -o -name '*.am' -o -name '*.ac' \) -newer "$BUILD/make/Makefile" -print -quit)" ]; then
		rm -f "$stamp"
		step "configure" configure ours_configure || return 1
	fi
	(cd "$ROOT" && newer "$stamp" "${SOURCES[@]}") || return 0
	mkdir -p "$BUILD"
	touch "$stamp.new"	# from before the build: a file changed meanwhile is built next time
	step "build Portals and SMARTMAP" make make -C "$BUILD/make" -j"$JOBS" || return 1
	step "install them in $(short "$BUILD/prefix")" install make -C "$BUILD/make" install || return 1
	mv "$stamp.new" "$stamp"
}

# mpich_script DEVICE - MPICH by its own script, which knows by itself what is up to date; we only save the asking.
build_mpich()
{
	local device=$1 stamp=$BUILD/stamp.mpich-$1 args

	[ -x "$ROOT/mpich-ch3-portals/build-mpich" ] || return 0
	if [ "$device" = portals ]; then
		(cd "$ROOT" && newer "$stamp" mpich-ch3-portals portals/include) || return 0
	else
		(cd "$ROOT" && newer "$stamp" mpich-ch3-portals/build-mpich) || return 0
	fi
	args=(--device "${device%-yield}" --prefix "$BUILD/mpich-$device" --cache "$MPT_CACHE" --jobs "$JOBS")
	[ "$device" = portals ] && args+=(--portals "$BUILD/prefix") || args+=(--plain)
	case $device in *-yield) args+=(--configure-arg --enable-yield=sched_yield) ;; esac
	touch "$stamp.new"
	step "MPICH with ch3:$device (the first time takes several minutes)" "mpich-$device" \
		"$ROOT/mpich-ch3-portals/build-mpich" "${args[@]}" || return 1
	mv "$stamp.new" "$stamp"
}

# build/bin: MPICH's programs first, ours over them
fill_bin()
{
	local d f want

	mkdir -p "$BUILD/bin"
	find "$BUILD/bin" -xtype l -delete
	for d in "$BUILD/mpich-portals/bin" "$BUILD/prefix/bin"; do
		for f in "$d"/*; do
			[ -x "$f" ] || continue
			want=$BUILD/bin/${f##*/}
			[ "$(readlink "$want")" = "$f" ] || ln -sfn "$f" "$want"
		done
	done
	# Cray's names in a folder of their own: beside the rest, cc would be taken for the compiler
	mkdir -p "$BUILD/bin/craype" "$BUILD/modulefiles"
	for f in cc CC ftn; do
		ln -sfn "$ROOT/tools/craype/cc" "$BUILD/bin/craype/$f"
	done
	sed "s|@BUILD@|$BUILD|" "$ROOT/tools/craype/modulefile" >"$BUILD/modulefiles/xt-mpt"
}

build_all()
{
	use_tree
	build_ours && build_mpich portals && fill_bin
}

need_built()
{
	use_tree
	[ -x "$BUILD/bin/$1" ] && return
	[ -d "$BUILD/prefix" ] && die "there is no $(short "$BUILD/bin/$1"); see ./mpt build"
	die "not built yet: ./mpt build"
}

cmd_clean()
{
	local keep=("$DEPS" "$BUILD/cache") d all=
	case ${1:-} in
	'') ;;
	--all) all=1 ;;
	*) die "clean: unknown argument '$1' (there is --all)" ;;
	esac
	[ -d "$BUILD" ] || return 0
	if [ -n "$all" ]; then
		rm -rf "$BUILD"
		return
	fi
	for d in "$BUILD"/*; do
		case " ${keep[*]} " in *" $d "*) ;; *) rm -rf "$d" ;; esac
	done
	say "kept: downloads in $(short "$DEPS") (clean --all removes them too), MPICH's objects in $MPT_CACHE"
}

# run: aprun, which binds one rank per core where the cores suffice, and says so with -v
cmd_run()
{
	while :; do
		case ${1:-} in
		--yes|-y|--no-install) shift ;;
		'') die "run: no program; ./mpt run -n 4 ./prog" ;;
		*) break ;;
		esac
	done
	need_built aprun
	MPT_FRONT="mpt run" exec "$BUILD/bin/aprun" "$@"
}
