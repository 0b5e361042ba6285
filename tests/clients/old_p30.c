/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* old_p30.c - the name of the header before 3.3, the options of kernel programs, and the atomic forms of posting */
#include <stdio.h>
#include <p30.h>
#include <portals/p30.h>
#include <portals/defines.h>
#include <portals/reserved_ptls.h>

extern const char *ptl_err_str[];
extern const char *ptl_event_str[];

#if NALID_FROM_IFACE(CRAY_QK_NAL) == PTL_IFACE_SS_ACCEL
#error "not the accelerated interface"
#endif

static int events;

static void handler(ptl_event_t *ev)
{
	events += ev->unlinked == 0 && ev->md.user_ptr == &events;
}

int main(void)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY }, me;
	ptl_handle_me_t a = PTL_INVALID_HANDLE, b = PTL_HANDLE_NONE;
	ptl_handle_md_t h, s;
	ptl_ni_limits_t limits;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;
	ptl_event_t ev;
	static char in[2][8], out[8] = "seven..";
	ptl_md_t md;
	int max, n, rc;

	PtlInit(&max);
	rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &limits, &ni);
	if ((rc != PTL_OK && rc != PTL_IFACE_DUP) || limits.max_pt_index < 63)
		return 1;
	printf("%d %d %d %d %d %d %d %d\n", limits.max_mes, limits.max_mds, limits.max_eqs, limits.max_ac_index,
	       limits.max_pt_index, limits.max_md_iovecs, limits.max_me_list, limits.max_getput_md);
	PtlGetId(ni, &me);
	PtlEQAlloc(ni, 8, handler, &eq);
	md.start = in[0];
	md.length = 8;
	md.threshold = 1;
	md.options = PTL_MD_OP_PUT | PTL_MD_LUSTRE_COMPLETION_SEMANTICS | PTL_MD_PHYS | PTL_MD_LOCAL_ALIGN8 |
		     PTL_MD_KIOV;
	md.user_ptr = &events;
	md.eq_handle = eq;
	if (PtlMEMDAttach(ni, PTL_PT_RESERVED_FIRST_NP - 1, any, 1, 0, PTL_UNLINK, PTL_INS_AFTER, md, PTL_UNLINK, &a, &h))
		return 1;
	md.start = in[1];
	if (PtlMEMDInsert(a, any, 1, 0, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, &b, &h))
		return 1;
	md.start = out;
	md.threshold = 2;
	md.options = 0;
	md.eq_handle = PTL_EQ_NONE;
	PtlMDBind(ni, md, PTL_UNLINK, &s);
	for (int i = 0; i < 2; i++)
		if (PtlPut(s, PTL_NOACK_REQ, me, PTL_PT_RESERVED_FIRST_NP - 1, 0, 1, 0, 0))
			return 1;
	for (n = 0; PtlEQGet(eq, &ev) == PTL_OK; n++)
		if (ev.type != (n % 2 ? PTL_EVENT_PUT_END : PTL_EVENT_PUT_START))
			printf("%d %s\n", n, ptl_event_str[ev.type]);
	return n != 4 || events != 4 || in[0][0] != 's' || in[1][0] != 's';
}
