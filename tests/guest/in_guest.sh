# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
#
# in_guest.sh - for scripts that run in a guest; sourced
#
#	what tests/common/tap.sh has
#	hydra			sets MPT_HYDRA; 1: there is no launcher
#	built SECONDS COMMAND	runs it: its output in said, its errors in err
#	mpi_program SOURCE NAME	compiles it with our MPI; 1: there is none

. "$SRC/tests/common/tap.sh"

# A launcher: ours, or Debian's.
hydra()
{
	for MPT_HYDRA in "$MPT_BUILD/mpich-portals/bin/mpiexec.hydra" "$CACHE/user/root/usr/bin/mpiexec.hydra"; do
		[ -x "$MPT_HYDRA" ] && export MPT_HYDRA && return
	done
	return 1
}

# built SECONDS COMMAND...: its output in said, its errors in err
built()
{
	local limit=$1
	shift
	timeout -k 5 "$limit" "$@" >said 2>err </dev/null
	local rc=$?
	[ $rc = 0 ] || { echo "#### $* ($rc)"; tail -n 20 said; tail -n 40 err; } >&2
	return $rc
}

# mpi_program SOURCE NAME
mpi_program()
{
	[ -x "$MPT_BUILD/mpich-portals/bin/mpicc" ] || return 1
	[ -x "$2" ] || "$MPT_BUILD/mpich-portals/bin/mpicc" -O2 -w -o "$2" "$SRC/$1" >&2
	return 0			# whoever runs it finds out
}
