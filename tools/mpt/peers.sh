# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# peers.sh - the MPI libraries we are compared with
#
# Debian's MPICH and Open MPI are unpacked under build/deps/peers, even where they are installed, so that the user's own
# mpicc stays what it is; ch3:nemesis is built from the source our channel is built from; --peer NAME=PREFIX adds any
# other. To the rest of mpt a peer is a folder with bin/mpicc and bin/mpiexec. A peer that cannot be had leaves a file
# build/deps/peers/NAME.why with one sentence, which goes into the results.

PEERS=$DEPS/peers

# The libraries behind a -dev package, whatever the release calls them (libmpich12, libopenmpi3t64, ...).
peer_packages()
{
	local dev=$1
	shift
	printf '%s\n' "$dev" "$@"
	apt-cache depends "$dev" 2>/dev/null | awk '$1 ~ /Depends:/ && $2 ~ /^lib(open)?mpi(ch)?[0-9]/ { print $2 }'
}

# fetch_peer NAME DEV-PACKAGE PACKAGE... (one step)
fetch_peer()
{
	local name=$1 d=$PEERS/$1.new
	shift
	rm -rf "$d"
	mkdir -p "$d/root"
	# shellcheck disable=SC2046
	fetch "$d/root" $(peer_packages "$@") || return 1
	settle_"$name" "$d" "$PEERS/$name" || return 1
	rm -rf "${PEERS:?}/$name"
	mv "$d" "$PEERS/$name"
}

# Links by absolute path inside an unpacked tree (Debian's alternatives) are made to stay inside.
settle_links()
{
	local root=$1 final=$2 f n
	find "$root" -type l -lname '/*' | while read -r f; do
		n=$(readlink "$f")
		[ -e "$root$n" ] && ln -sf "$final$n" "$f"
	done
	# where this machine has no libc6-dev, one came with the library
	settle_linker_scripts "$root" "$final"
}

settle_mpich()
{
	local d=$1 r=$2/root m
	m=$(multiarch)
	[ -e "$d/root/usr/lib/$m/libmpich.so" ] || { echo "no libmpich.so in the packages"; return 1; }
	settle_links "$d/root" "$r"
	mkdir -p "$d/bin"
	cat >"$d/bin/mpicc" <<-END
	#!/bin/sh
	# Debian's mpicc.mpich names /usr; this one names the tree it was unpacked into.
	L=$r/usr/lib/$m
	exec "\${CC:-gcc}" -I$r/usr/include/$m/mpich "\$@" -L\$L -lmpich -Wl,-rpath,\$L -Wl,-rpath-link,\$L
	END
	cat >"$d/bin/mpiexec" <<-END
	#!/bin/sh
	export LD_LIBRARY_PATH=$r/usr/lib/$m:$r/usr/lib/$m/ucx\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
	export UCX_MODULE_DIR=$r/usr/lib/$m/ucx
	exec $r/usr/bin/mpiexec.hydra "\$@"
	END
	chmod +x "$d/bin"/*
}

settle_openmpi()
{
	local d=$1 r=$2/root m o parts pmix
	m=$(multiarch)
	o=usr/lib/$m/openmpi
	[ -e "$d/root/$o" ] || { echo "no $o in the packages"; return 1; }
	settle_links "$d/root" "$r"
	mkdir -p "$d/bin"
	# both folders have a version in their name
	parts=$(cd "$d/root" && ls -d "$o"/lib/openmpi*/ | head -n 1)
	pmix=$(cd "$d/root" && ls -d usr/lib/"$m"/pmix*/ 2>/dev/null | head -n 1)
	cat >"$d/env" <<-END
	# Open MPI and PMIx find their parts by these, instead of by the paths they were configured with.
	export OPAL_PREFIX=$r/usr OPAL_LIBDIR=$r/$o/lib OPAL_PKGLIBDIR=$r/${parts%/} OPAL_BINDIR=$r/usr/bin
	export OPAL_PKGDATADIR=$r/usr/share/openmpi OPAL_DATADIR=$r/usr/share OPAL_SYSCONFDIR=$r/etc/openmpi
	export OPAL_INCLUDEDIR=$r/$o/include OPAL_PKGINCLUDEDIR=$r/$o/include/openmpi
	export PMIX_INSTALL_PREFIX=$r/${pmix%/} PMIX_PREFIX=$r/${pmix%/}
	export LD_LIBRARY_PATH=$r/$o/lib:$r/usr/lib/$m:$r/${pmix}lib:$r/usr/lib/$m/ucx\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
	export UCX_MODULE_DIR=$r/usr/lib/$m/ucx
	END
	cat >"$d/bin/mpicc" <<-END
	#!/bin/sh
	L=$r/usr/lib/$m
	exec "\${CC:-gcc}" -I$r/$o/include "\$@" -L$r/$o/lib -L\$L -lmpi -Wl,-rpath,$r/$o/lib -Wl,-rpath,\$L \\
		-Wl,-rpath-link,$r/$o/lib -Wl,-rpath-link,\$L
	END
	cat >"$d/bin/mpiexec" <<-END
	#!/bin/sh
	. '$2/env'
	export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
	# one machine: no remote shell is looked for, no resource manager asked
	export OMPI_MCA_plm=isolated OMPI_MCA_ras=^slurm,gridengine,tm
	# parts for networks that are not here cannot be loaded; that is no news
	export OMPI_MCA_mca_base_component_show_load_errors=0 PMIX_MCA_mca_base_component_show_load_errors=0
	export PMIX_MCA_pcompress_base_silence_warning=1
	exec $r/usr/bin/orterun "\$@"
	END
	chmod +x "$d/bin"/*
	settle_oshcc "$d" "$r"
}

# Open MPI's SHMEM is in the same packages; its oshrun is mpiexec.
settle_oshcc()
{
	local d=$1 r=$2 m
	m=$(multiarch)
	[ -e "$d/root/usr/lib/$m/openmpi/lib/liboshmem.so" ] || return 0
	cat >"$d/bin/oshcc" <<-END
	#!/bin/sh
	L=$r/usr/lib/$m O=$r/usr/lib/$m/openmpi
	exec "\${CC:-gcc}" -I\$O/include "\$@" -L\$O/lib -L\$L -loshmem -lmpi -Wl,-rpath,\$O/lib -Wl,-rpath,\$L \\
		-Wl,-rpath-link,\$O/lib -Wl,-rpath-link,\$L
	END
	chmod +x "$d/bin/oshcc"
}

# provide_peer NAME LABEL DEV-PACKAGE PACKAGE...
provide_peer()
{
	local name=$1 label=$2
	shift 2
	if [ -x "$PEERS/$name/bin/mpiexec" ]; then
		# one that was unpacked before SHMEM was compared
		[ "$name" != openmpi ] || [ -x "$PEERS/$name/bin/oshcc" ] || settle_oshcc "$PEERS/$name" "$PEERS/$name/root"
		return 0
	fi
	mkdir -p "$PEERS"
	rm -f "$PEERS/$name.why"
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		echo "this system has no apt-get to download it with; --peer $name=PREFIX takes one that is installed" \
			>"$PEERS/$name.why"
		return 0
	fi
	step "$label to compare with: download, unpack" "peer-$name" fetch_peer "$name" "$@" ||
		echo "its Debian packages could not be downloaded or unpacked (build/log/peer-$name.log)" >"$PEERS/$name.why"
	return 0
}

# version_of MPIEXEC - of the library it belongs to, as its launcher says
version_of()
{
	[ -x "$1" ] && "$1" --version 2>&1 </dev/null | head -n 3 |
		sed -n -e 's/^ *Version: *\([0-9][^ ]*\).*/\1/p' -e 's/.*(Open\(RTE\| MPI\)) \([0-9][^ ]*\).*/\2/p' | head -n 1
}

# Ours in other ways than it is by default: what a paper compares, as settings. LABEL and environment of each.
declare -A VARIANT_ENV VARIANT_LABEL
VARIANTS=
variant() { VARIANTS="$VARIANTS $1" VARIANT_LABEL[$1]=$2 VARIANT_ENV[$1]=$3; }
variant ours-off "kernel copy: SMARTMAP off" PTL_SMARTMAP=no
variant ours-nomatch "matching in CH3 (MPICH_PTL_MATCH_OFF)" MPICH_PTL_MATCH_OFF=1
variant ours-hybrid "short ones matched in CH3 (MPICH_PTL_MATCH_OFF=hybrid)" MPICH_PTL_MATCH_OFF=hybrid
# the papers' transports, with collectives over them
variant ours-twocopy "two copies through SMARTMAP" "MPICH_PTL_COPIES=two MPICH_COLL_SMARTMAP=no"
variant ours-onecopy "one copy, synchronous" "MPICH_PTL_COPIES=one MPICH_COLL_SMARTMAP=no"
variant ours-serial "reduce by the root alone" MPICH_COLL_REDUCE=serial
variant ours-parallel "reduce by all ranks" MPICH_COLL_REDUCE=parallel
variant ours-fastcopy "MPICH_FAST_MEMCPY on" MPICH_FAST_MEMCPY=1
variant ours-plaincopy "MPICH_FAST_MEMCPY off" MPICH_FAST_MEMCPY=0
variant ours-nodes "nodes of 2 ranks" PTL_PES_PER_NODE=2
variant ours-nodes-opt "nodes of 2 ranks, MPI_COLL_OPT_ON" "PTL_PES_PER_NODE=2 MPI_COLL_OPT_ON=1"
variant ours-nodes-rr "nodes of 2 ranks, round-robin" "PTL_PES_PER_NODE=2 MPICH_RANK_REORDER_METHOD=0"
variant ours-nodes-smp "nodes of 2 ranks, SMP order" "PTL_PES_PER_NODE=2 MPICH_RANK_REORDER_METHOD=1"
variant ours-nodes4 "nodes of 4 ranks" PTL_PES_PER_NODE=4
variant ours-nodes4-off "nodes of 4 ranks, SMARTMAP off" "PTL_PES_PER_NODE=4 PTL_SMARTMAP=no"
# over a network: each rank on a (virtual) node of its own
variant ours-ap "off-loaded, TCP (PTL_NAL=ap)" "PTL_NAL=ap PTL_PES_PER_NODE=1"
variant ours-gp "interrupt thread, TCP (PTL_NAL=gp)" "PTL_NAL=gp PTL_PES_PER_NODE=1"
# the peers over the same loopback device: LIB-tcp is LIB with these, its shared memory off
variant mpich-tcp "TCP" "UCX_TLS=tcp,self MPIR_CVAR_NOLOCAL=1"
variant openmpi-tcp "TCP" "OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self"
# DART: the paper's windows inside a window, and none; units far from each other
variant ours-nested "DART: nested windows" DART_WINDOWS=nested
variant ours-rma "DART: all by MPI" DART_WINDOWS=mpi
variant ours-apart "a node for each unit" PTL_PES_PER_NODE=1
# long copies on the node by the engine, or by who sends
variant ours-dma "Portals: long puts by the engine" "PTL_NAL=ap PTL_SELF_DMA_MIN=524288"
variant ours-nodma "Portals: long puts by the sender" "PTL_NAL=ap PTL_SELF_DMA_MIN=0"
# SHMEM alone
variant ours-linear "SHMEM: linear collectives" SHMEM_COLL_OPT_OFF=1

# eval --paper: what the MPT paper's library does where nothing is set, for ours and its variants
PAPER_ENV=MPICH_PTL_PAPER_DEFAULTS=1

# Fills LIBS (names in order), and per name LABEL, MPICC, MPIEXEC, and WHY (not empty: cannot be measured, because).
declare -A LABEL MPICC MPIEXEC WHY
LIBS=()
add_lib()	# NAME LABEL PREFIX: %s in the label becomes the version
{
	local name=$1 v
	LIBS+=("$name")
	v=$(version_of "$3/bin/mpiexec")
	LABEL[$name]=${2/\%s/$v}
	LABEL[$name]=${LABEL[$name]/  / }
	MPICC[$name]=$3/bin/mpicc MPIEXEC[$name]=$3/bin/mpiexec WHY[$name]=
	if [ ! -x "$3/bin/mpicc" ] || [ ! -x "$3/bin/mpiexec" ]; then
		WHY[$name]=$(cat "$PEERS/$name.why" 2>/dev/null || echo "no bin/mpicc or bin/mpiexec in $(short "$3")")
	fi
}

# provide_libs NAME=PREFIX...: the extra peers
provide_libs()
{
	local p name

	provide_peer mpich "Debian's MPICH (ch4:ucx)" libmpich-dev mpich
	provide_peer openmpi "Open MPI" libopenmpi-dev openmpi-bin openmpi-common
	mkdir -p "$PEERS"
	rm -f "$PEERS/nemesis.why"
	build_mpich nemesis || echo "building it failed (build/log/mpich-nemesis.log)" >"$PEERS/nemesis.why"

	LIBS=()
	add_lib ours "MPICH %s ch3:portals" "$BUILD/mpich-portals"
	[ -n "${WHY[ours]}" ] && WHY[ours]="the channel is not built in this tree"
	add_lib mpich "MPICH %s ch4:ucx (Debian)" "$PEERS/mpich"
	add_lib openmpi "Open MPI %s (Debian)" "$PEERS/openmpi"
	for p in $VARIANTS; do
		name=$(program_of "$p")
		LABEL[$p]="${LABEL[$name]}, ${VARIANT_LABEL[$p]}"
		[ "$name" != ours ] || LABEL[$p]="ch3:portals, ${VARIANT_LABEL[$p]}"
		MPICC[$p]=${MPICC[$name]} MPIEXEC[$p]=${MPIEXEC[$name]} WHY[$p]=${WHY[$name]}
	done
	LIBS=(ours ours-off mpich openmpi)
	add_lib nemesis "MPICH %s ch3:nemesis" "$BUILD/mpich-nemesis"
	# above the number of cores a library that spins waits for its time slices: this one gives up its core
	if [ -n "${WANT_YIELD:-}" ] || [ -x "$BUILD/mpich-nemesis-yield/bin/mpiexec" ]; then
		build_mpich nemesis-yield || echo "building it failed (build/log/mpich-nemesis-yield.log)" >"$PEERS/nemesis-yield.why"
		add_lib nemesis-yield "MPICH %s ch3:nemesis --enable-yield=sched_yield" "$BUILD/mpich-nemesis-yield"
	fi
	for p in "$@"; do
		name=${p%%=*}
		add_lib "$name" "$name %s (${p#*=})" "${p#*=}"
	done
}

# launch LIB N PROGRAM ARGS... - with the library's own best placement; the programs pin themselves as well
launch()
{
	local lib=$1 n=$2 cores family
	shift 2
	cores=$(bench_cpus)
	cores=${cores//[^,]/}
	cores=$((${#cores} + 1))
	family=$(launcher_family "$lib")
	case $lib in
	ours|ours-*)
		# shellcheck disable=SC2086,SC2163
		[ -z "${PAPER:-}" ] || export $PAPER_ENV ;;
	esac
	# shellcheck disable=SC2086,SC2163
	[ -z "${VARIANT_ENV[$lib]:-}" ] || export ${VARIANT_ENV[$lib]}
	if [ "$n" -le "$cores" ]; then
		case $family in
		openmpi) set -- --bind-to core "$@" ;;
		hydra) set -- -bind-to core "$@" ;;
		esac
	else
		case $family in
		openmpi)
			export OMPI_MCA_mpi_yield_when_idle=1
			set -- --oversubscribe --bind-to none "$@" ;;
		esac
	fi
	exec "${MPIEXEC[$lib]}" -n "$n" "$@"
}

launcher_family()
{
	[ -n "${FAMILY[$1]:-}" ] || case $("${MPIEXEC[$1]}" --version 2>&1 </dev/null | head -n 3) in
	*"Open MPI"*|*OpenRTE*) FAMILY[$1]=openmpi ;;
	*HYDRA*|*Hydra*|*hydra*) FAMILY[$1]=hydra ;;
	*) FAMILY[$1]=other ;;
	esac
	echo "${FAMILY[$1]:-other}"
}
declare -A FAMILY
