/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * For debuggers: where the queues of receives are and how a request is laid out, so that gdb/libmpi-gdb.py shows them
 * in a library without debugging information, in a process or a core file. Nothing here is called (so it is
 * in the shared library only).
 */
#define MPIDI_PTL_OWNS_RECVQ
#include "mpidi_ch3_impl.h"

extern MPIR_Request **const MPID_Recvq_posted_head_ptr, **const MPID_Recvq_unexpected_head_ptr;

struct MPIDI_PTL_Debug {
    uint32_t version;           /* of this struct: raised with every change */
    uint32_t words;             /* that follow behind the pointers */
    MPIR_Request **const *posted, **const *unexpected;
    uint32_t next, tag, rank, context, tag_mask, rank_mask, comm, buf, count, data_sz, handle;
    uint32_t comm_name, comm_context;
};

extern const struct MPIDI_PTL_Debug MPIDI_PTL_debug;
const struct MPIDI_PTL_Debug MPIDI_PTL_debug __attribute__ ((used)) = {
    .version = 1,
    .words = 13,
    .posted = &MPID_Recvq_posted_head_ptr,
    .unexpected = &MPID_Recvq_unexpected_head_ptr,
    .next = offsetof(MPIR_Request, next),
    .tag = offsetof(MPIR_Request, dev.match.parts.tag),
    .rank = offsetof(MPIR_Request, dev.match.parts.rank),
    .context = offsetof(MPIR_Request, dev.match.parts.context_id),
    .tag_mask = offsetof(MPIR_Request, dev.mask.parts.tag),
    .rank_mask = offsetof(MPIR_Request, dev.mask.parts.rank),
    .comm = offsetof(MPIR_Request, comm),
    .buf = offsetof(MPIR_Request, dev.user_buf),
    .count = offsetof(MPIR_Request, dev.user_count),
    .data_sz = offsetof(MPIR_Request, dev.recv_data_sz),
    .handle = offsetof(MPIR_Request, handle),
    .comm_name = offsetof(MPIR_Comm, name),
    .comm_context = offsetof(MPIR_Comm, recvcontext_id),
};

_Static_assert(sizeof(MPIDI_PTL_debug.next) == 4 && sizeof(((MPIR_Request *) 0)->dev.match.parts.tag) == 4 &&
               sizeof(((MPIR_Request *) 0)->dev.match.parts.rank) == 2 &&
               sizeof(((MPIR_Request *) 0)->dev.match.parts.context_id) == 2, "as libmpi-gdb.py reads them");
