/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* calls.h - the calls that scripts can make: one line each, compiled for each kind of headers */
#include "conform.h"

#define A0 struct val *a, union out *const *o
#define N(i) (a[i].n)
#define H(i) ((ptl_handle_any_t)a[i].n)
#define P(i) (a[i].id)
#define M(i) (a[i].md)
#define D(i) (a[i].kind == V_MD ? &a[i].md : NULL)
#define W(i) ((uint32_t *)(void *)o[i])
#define OID(i) ((ptl_process_id_t *)(void *)o[i])
#define OEV(i) ((ptl_event_t *)(void *)o[i])
#define OMD(i) ((ptl_md_t *)(void *)o[i])
#define OLIM(i) ((ptl_ni_limits_t *)(void *)o[i])
#define U(i) ((ptl_unlink_t)N(i))
#define POS(i) ((ptl_ins_pos_t)N(i))
#define ACK(i) ((ptl_ack_req_t)N(i))
#define T32(i) ((uint32_t)N(i))

static int fini(void)
{
	PtlFini();		/* the only one that returns nothing */
	return PTL_OK;
}

#define CALLS(X) \
X(PtlInit, PtlInit, "", "w", 1, ((int *)(void *)o[0])) \
X(PtlFini, fini, "", "", 1, ()) \
X(PtlNIInit, PtlNIInit, "nnl", "lw", 1, (T32(0), T32(1), a[2].kind == V_LIMITS ? &a[2].lim : NULL, OLIM(0), W(1))) \
X(PtlNIFini, PtlNIFini, "n", "", 1, (H(0))) \
X(PtlNIStatus, PtlNIStatus, "nn", "u", 1, (H(0), T32(1), (ptl_sr_value_t *)(void *)o[0])) \
X(PtlNIDist, PtlNIDist, "np", "u", 0, (H(0), P(1), (unsigned long *)(void *)o[0])) \
X(PtlNIHandle, PtlNIHandle, "n", "w", 1, (H(0), W(0))) \
X(PtlGetUid, PtlGetUid, "n", "w", 1, (H(0), W(0))) \
X(PtlGetJid, PtlGetJid, "n", "w", 1, (H(0), W(0))) \
X(PtlGetId, PtlGetId, "n", "p", 1, (H(0), OID(0))) \
X(PtlHandleIsEqual, PtlHandleIsEqual, "nn", "", 1, (H(0), H(1))) \
X(PtlMEAttach, PtlMEAttach, "nnpnnnn", "w", 1, (H(0), T32(1), P(2), N(3), N(4), U(5), POS(6), W(0))) \
X(PtlMEAttachAny, PtlMEAttachAny, "npnnn", "ww", 1, (H(0), W(0), P(1), N(2), N(3), U(4), W(1))) \
X(PtlMEInsert, PtlMEInsert, "npnnnn", "w", 1, (H(0), P(1), N(2), N(3), U(4), POS(5), W(0))) \
X(PtlMEUnlink, PtlMEUnlink, "n", "", 1, (H(0))) \
X(PtlMDAttach, PtlMDAttach, "nmn", "w", 1, (H(0), M(1), U(2), W(0))) \
X(PtlMDBind, PtlMDBind, "nmn", "w", 1, (H(0), M(1), U(2), W(0))) \
X(PtlMDUnlink, PtlMDUnlink, "n", "", 1, (H(0))) \
X(PtlMDUpdate, PtlMDUpdate, "ndn", "d", 0, (H(0), OMD(0), D(1), H(2))) \
X(PtlMEMDPost, PtlMEMDPost, "nnpnnnnmnn", "ww", 1, \
	(H(0), H(1), P(2), N(3), N(4), U(5), POS(6), M(7), U(8), W(0), W(1), H(9))) \
X(PtlMEMDAttach, PtlMEMDAttach, "nnpnnnnmn", "ww", 1, \
	(H(0), T32(1), P(2), N(3), N(4), U(5), POS(6), M(7), U(8), W(0), W(1))) \
X(PtlMEMDInsert, PtlMEMDInsert, "npnnnnmn", "ww", 1, (H(0), P(1), N(2), N(3), U(4), POS(5), M(6), U(7), W(0), W(1))) \
X(PtlEQAlloc, PtlEQAlloc, "nnn", "w", 1, (H(0), N(1), (ptl_eq_handler_t)(uintptr_t)N(2), W(0))) \
X(PtlEQFree, PtlEQFree, "n", "", 1, (H(0))) \
X(PtlEQGet, PtlEQGet, "n", "e", 0, (H(0), OEV(0))) \
X(PtlEQPeek, PtlEQPeek, "n", "e", 0, (H(0), OEV(0))) \
X(PtlEQWait, PtlEQWait, "n", "e", 0, (H(0), OEV(0))) \
X(PtlEQPoll, PtlEQPoll, "bnn", "ew", 0, \
	((ptl_handle_eq_t *)(void *)a[0].p, (int)N(1), T32(2), OEV(0), (int *)(void *)o[1])) \
X(PtlACEntry, PtlACEntry, "nnpnnn", "", 1, (H(0), T32(1), P(2), T32(3), T32(4), T32(5))) \
X(PtlACEntry5, PtlACEntry, "nnpnn", "", 1, (H(0), T32(1), P(2), T32(3), T32(4))) \
X(PtlPut, PtlPut, "nnpnnnnn", "", 1, (H(0), ACK(1), P(2), T32(3), T32(4), N(5), N(6), N(7))) \
X(PtlPutRegion, PtlPutRegion, "nnnnpnnnnn", "", 1, (H(0), N(1), N(2), ACK(3), P(4), T32(5), T32(6), N(7), N(8), N(9))) \
X(PtlGet, PtlGet, "npnnnn", "", 1, (H(0), P(1), T32(2), T32(3), N(4), N(5))) \
X(PtlGetRegion, PtlGetRegion, "nnnpnnnn", "", 1, (H(0), N(1), N(2), P(3), T32(4), T32(5), N(6), N(7))) \
X(PtlGetPut, PtlGetPut, "nnpnnnnn", "", 1, (H(0), H(1), P(2), T32(3), T32(4), N(5), N(6), N(7))) \
X(PtlGetPutRegion, PtlGetPutRegion, "nnnnnpnnnnn", "", 1, \
	(H(0), N(1), H(2), N(3), N(4), P(5), T32(6), T32(7), N(8), N(9), N(10))) \
X(PtlMDMDCopy, PtlMDMDCopy, "npnnnn", "", 1, (H(0), P(1), T32(2), T32(3), N(4), N(5))) \
X(PtlPTPolled_np, PtlPTPolled_np, "nnn", "", 1, (H(0), T32(1), (int)N(2)))

#define FN(word, name, in, out, keeps, list) static int c_##word(A0) { (void)a, (void)o; return name list; }
CALLS(FN)
#define ROW(word, name, in, out, keeps, list) { #word, in, out, keeps, c_##word },
const struct call T_CALLS[] = {
	CALLS(ROW)
	{ NULL, NULL, NULL, 0, NULL }
};
