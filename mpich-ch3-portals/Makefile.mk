# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only

if BUILD_CH3_PORTALS

AM_CPPFLAGS += \
    -I$(top_srcdir)/src/mpid/ch3/channels/portals/include \
    $(PORTALS_CPPFLAGS)

include_HEADERS += src/mpid/ch3/channels/portals/include/mpich_coll.h

noinst_HEADERS += \
    src/mpid/ch3/channels/portals/include/ch3_coll.h \
    src/mpid/ch3/channels/portals/include/mpidi_ch3_pre.h \
    src/mpid/ch3/channels/portals/include/mpidi_ch3_impl.h \
    src/mpid/ch3/channels/portals/include/mpidi_ch3_post.h \
    src/mpid/ch3/channels/portals/include/mpidi_ptl_env.h \
    src/mpid/ch3/channels/portals/include/mpidi_ptl_win.h

mpi_core_sources += \
    src/mpid/ch3/channels/portals/src/ch3_born.c \
    src/mpid/ch3/channels/portals/src/ch3_coll.c \
    src/mpid/ch3/channels/portals/src/ch3_coll_bcast.c \
    src/mpid/ch3/channels/portals/src/ch3_coll_comm.c \
    src/mpid/ch3/channels/portals/src/ch3_coll_mem.c \
    src/mpid/ch3/channels/portals/src/ch3_coll_move.c \
    src/mpid/ch3/channels/portals/src/ch3_coll_net.c \
    src/mpid/ch3/channels/portals/src/ch3_coll_reduce.c \
    src/mpid/ch3/channels/portals/src/ch3_credit.c \
    src/mpid/ch3/channels/portals/src/ch3_debug.c \
    src/mpid/ch3/channels/portals/src/ch3_dynamic.c \
    src/mpid/ch3/channels/portals/src/ch3_eager.c \
    src/mpid/ch3/channels/portals/src/ch3_eager_long.c \
    src/mpid/ch3/channels/portals/src/ch3_env.c \
    src/mpid/ch3/channels/portals/src/ch3_hints.c \
    src/mpid/ch3/channels/portals/src/ch3_init.c \
    src/mpid/ch3/channels/portals/src/ch3_io.c \
    src/mpid/ch3/channels/portals/src/ch3_layout.c \
    src/mpid/ch3/channels/portals/src/ch3_lock.c \
    src/mpid/ch3/channels/portals/src/ch3_match.c \
    src/mpid/ch3/channels/portals/src/ch3_match_send.c \
    src/mpid/ch3/channels/portals/src/ch3_memcpy.c \
    src/mpid/ch3/channels/portals/src/ch3_node.c \
    src/mpid/ch3/channels/portals/src/ch3_progress.c \
    src/mpid/ch3/channels/portals/src/ch3_recv.c \
    src/mpid/ch3/channels/portals/src/ch3_recvq.c \
    src/mpid/ch3/channels/portals/src/ch3_rndv.c \
    src/mpid/ch3/channels/portals/src/ch3_send.c \
    src/mpid/ch3/channels/portals/src/ch3_taken.c \
    src/mpid/ch3/channels/portals/src/ch3_win_acc.c \
    src/mpid/ch3/channels/portals/src/ch3_win_fns.c \
    src/mpid/ch3/channels/portals/src/ch3_win_lock.c \
    src/mpid/ch3/channels/portals/src/ch3_win_ops.c \
    src/mpid/ch3/channels/portals/src/ch3_win_reach.c \
    src/mpid/ch3/channels/portals/src/ch3_win_sync.c \
    src/mpid/ch3/channels/portals/src/ch3_wire.c

endif BUILD_CH3_PORTALS
