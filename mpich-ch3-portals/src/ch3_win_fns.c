/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* One-sided communication: CH3's own, by packets. */
#include "mpidi_ch3_impl.h"
#include "mpidrma.h"

int MPIDI_CH3_Win_fns_init(MPIDI_CH3U_Win_fns_t * win_fns ATTRIBUTE((unused)))
{
    return MPI_SUCCESS;
}

int MPIDI_CH3_Win_hooks_init(MPIDI_CH3U_Win_hooks_t * win_hooks ATTRIBUTE((unused)))
{
    return MPI_SUCCESS;
}

int MPIDI_CH3_Win_pkt_orderings_init(MPIDI_CH3U_Win_pkt_ordering_t * win_pkt_orderings)
{
    win_pkt_orderings->am_flush_ordered = 1;
    return MPI_SUCCESS;
}
