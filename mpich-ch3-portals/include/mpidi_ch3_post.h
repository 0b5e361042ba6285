/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The progress engine as the rest of MPICH calls it. */
#ifndef MPIDI_CH3_POST_H_INCLUDED
#define MPIDI_CH3_POST_H_INCLUDED

int MPIDI_CH3I_Progress(MPID_Progress_state * state, int is_blocking);

#define MPIDI_CH3_Progress_start(state_) \
    ((state_)->ch.completion_count = MPIDI_CH3I_progress_completion_count)
#define MPIDI_CH3_Progress_end(state_)
#define MPIDI_CH3_Progress_wait(state_) MPIDI_CH3I_Progress(state_, TRUE)
#define MPIDI_CH3_Progress_test() MPIDI_CH3I_Progress(NULL, FALSE)
#define MPIDI_CH3_Progress_poke() MPIDI_CH3I_Progress(NULL, FALSE)

#endif /* MPIDI_CH3_POST_H_INCLUDED */
