# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Built inside MPICH by build-mpich, not by this make. Folders are distributed whole.
EXTRA_DIST += mpich-ch3-portals/README.md mpich-ch3-portals/build-mpich mpich-ch3-portals/fortran64 \
	mpich-ch3-portals/Makefile.mk mpich-ch3-portals/subconfigure.m4 mpich-ch3-portals/examples \
	mpich-ch3-portals/include mpich-ch3-portals/src
dist_man_MANS += mpich-ch3-portals/man/MPIX_Comm_node.3 mpich-ch3-portals/man/MPIX_Comm_net.3 \
	mpich-ch3-portals/man/MPIX_Smartmap_rank.3 mpich-ch3-portals/man/MPIX_Smartmap_remote.3
EXTRA_DIST += mpich-ch3-portals/src/ch3_debug.c mpich-ch3-portals/gdb/libmpi-gdb.py
