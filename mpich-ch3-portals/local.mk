# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Built inside MPICH by build-mpich, not by this make.
EXTRA_DIST += mpich-ch3-portals/README.md mpich-ch3-portals/build-mpich mpich-ch3-portals/Makefile.mk mpich-ch3-portals/subconfigure.m4 \
	mpich-ch3-portals/include/mpidi_ch3_impl.h mpich-ch3-portals/include/mpidi_ch3_post.h \
	mpich-ch3-portals/include/mpidi_ch3_pre.h mpich-ch3-portals/src/ch3_eager.c mpich-ch3-portals/src/ch3_init.c \
	mpich-ch3-portals/src/ch3_progress.c mpich-ch3-portals/src/ch3_rndv.c mpich-ch3-portals/src/ch3_send.c \
	mpich-ch3-portals/src/ch3_win_fns.c
# node communicators: build-mpich installs the header beside mpi.h
EXTRA_DIST += mpich-ch3-portals/src/ch3_node.c mpich-ch3-portals/include/mpi_smartmap.h mpich-ch3-portals/examples/node_sum.c
dist_man_MANS += mpich-ch3-portals/man/MPIX_Comm_node.3 mpich-ch3-portals/man/MPIX_Comm_net.3 \
	mpich-ch3-portals/man/MPIX_Smartmap_rank.3 mpich-ch3-portals/man/MPIX_Smartmap_remote.3
