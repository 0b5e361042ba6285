/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* onesided_xt.c - in the manner of the one-sided libraries of the XT: PMI beside Portals, windows without events, gets with
 * two units, exchanges as locks, strings of events */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <portals/portals3.h>
#include <portals/nal.h>
#include <pctmbox.h>
#include <pmi.h>

extern char *ptl_event_str[];		/* not in the XT's headers, and without the const: PTL_OWN_EVENT_STR_NP */

static ptl_handle_ni_t ni;

static int check(int rc, const char *what)
{
	switch (rc) {
	case PTL_OK:
	case PTL_IFACE_DUP:
		return 0;
	case PTL_VAL_FAILED:
	case PTL_NO_SPACE:
	default:
		printf("%s: %d %s\n", what, rc, ptl_err_str[rc]);
		exit(1);
	}
}
#define OK(call) check(call, #call)

static void wait_for(ptl_handle_eq_t eq, ptl_event_kind_t kind)
{
	ptl_event_t ev;
	int rc;

	do {
		rc = PtlEQWait(eq, &ev);
		if (rc != PTL_OK || ev.ni_fail_type != PTL_NI_OK) {
			printf("%s\n", ptl_event_str[ev.type]);
			exit(1);
		}
	} while (ev.type != kind);
}

int main(void)
{
	cnos_nidpid_map_t *map = NULL;
	ptl_process_id_t any, id, first;
	ptl_md_t md, pmd;
	ptl_handle_me_t me;
	ptl_handle_md_t mdh, getmd, putmd;
	ptl_handle_eq_t eq;
	static long window[8], mine, old;
	int max, rank, size, init = 0, spawned;
	void *p;

	OK(PtlInit(&max));
	OK(PtlNIInit(IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_UK, PTL_IFACE_SS), PTL_PID_ANY, NULL, NULL, &ni));
	OK(PtlNIInit(CRAY_UK_SSNAL, PTL_PID_ANY, NULL, NULL, &ni));	/* the server thread of such libraries does it again */
	if (PMI_Initialized(&init) != PMI_SUCCESS || (!init && PMI_Init(&spawned) != PMI_SUCCESS) ||
	    PMI_Get_rank(&rank) != PMI_SUCCESS || PMI_Get_size(&size) != PMI_SUCCESS ||
	    PMI_CNOS_Get_nidpid_map(&p) != PMI_SUCCESS)
		return 1;
	map = (cnos_nidpid_map_t *)p;
	OK(PtlGetId(ni, &id));
	cnos_barrier_init(ni);
	if (cnos_register_ptlid(id) != 0 || map[rank].nid != id.nid || map[rank].pid != id.pid)
		return 1;
	first.nid = map[0].nid;
	first.pid = map[0].pid;
	any.nid = PTL_NID_ANY;
	any.pid = PTL_PID_ANY;

	md.start = window;
	md.length = sizeof(window);
	md.threshold = PTL_MD_THRESH_INF;
	md.max_size = 0;
	md.options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	md.user_ptr = NULL;
	md.eq_handle = PTL_EQ_NONE;
	OK(PtlMEAttach(ni, 37, any, 1, 0xFFFFFFFFFFFFFF00ULL, PTL_RETAIN, PTL_INS_AFTER, &me));
	OK(PtlMDAttach(me, md, PTL_RETAIN, &mdh));
	OK(PtlEQAlloc(ni, 64, NULL, &eq));
	cnos_barrier();

	/* each rank adds one to the first word of rank 0: an exchange with 0 takes it out, a put brings it back */
	md.start = &old;
	md.length = sizeof(old);
	md.threshold = PTL_MD_THRESH_INF;
	md.options = PTL_MD_EVENT_START_DISABLE;
	md.eq_handle = eq;
	pmd = md;
	pmd.start = &mine;
	OK(PtlMDBind(ni, md, PTL_RETAIN, &getmd));
	OK(PtlMDBind(ni, pmd, PTL_RETAIN, &putmd));
	for (int i = 0; i < 100; i++) {		/* words 1 and 0: lock and counter */
		do {
			mine = 1;
			OK(PtlGetPutRegion(getmd, 0, putmd, 0, sizeof(long), first, 37, 0, 1, sizeof(long), 0));
			wait_for(eq, PTL_EVENT_REPLY_END);
		} while (old);
		md.start = &mine;
		md.threshold = 2;			/* the request costs one, too */
		OK(PtlMDBind(ni, md, PTL_UNLINK, &mdh));
		OK(i % 2 ? PtlMDMDCopy(mdh, first, 37, 0, 1, 0) : PtlGetRegion(mdh, 0, sizeof(long), first, 37, 0, 1, 0));
		wait_for(eq, PTL_EVENT_REPLY_END);
		mine++;
		OK(PtlPut(putmd, PTL_ACK_REQ, first, 37, 0, 1, 0, 0));
		wait_for(eq, PTL_EVENT_ACK);
		mine = 0;
		OK(PtlPut(putmd, PTL_ACK_REQ, first, 37, 0, 1, sizeof(long), 0));
		wait_for(eq, PTL_EVENT_ACK);
	}
	PMI_Barrier();
	if (rank == 0 && window[0] != 100L * size) {
		printf("%ld, not %ld\n", window[0], 100L * size);
		return 1;
	}
	PMI_Barrier();
	free(map);
	OK(PtlNIFini(ni));
	return 0;
}
