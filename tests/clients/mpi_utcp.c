/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* mpi_utcp.c - in the manner of an MPI library for the reference implementation: it finds its node id, describes the job in
 * the environment (here: of one), and opens the default interface */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <portals3.h>
#include <p3nal_utcp.h>
#include <p3rt/p3rt.h>
#include <p3api/debug.h>

extern int p3tcp_my_nid(const char *if_str, unsigned int *nid);

FILE *utcp_api_out;			/* asked for by old builds of the reference implementation */
FILE *utcp_lib_out;
FILE *p3_out;

#define TRY(call) do {								\
	int rc_ = (call);							\
										\
	if (rc_ != PTL_OK) {							\
		fprintf(stderr, "%s: %s\n", #call, PtlErrorStr((unsigned)rc_));	\
		return 1;							\
	}									\
} while (0)

static char var[4][64];

int main(void)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY }, id;
	ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;
	ptl_handle_md_t mdh;
	unsigned nid, rank, size;
	static char in[32], out[32] = "to myself";
	int max, rc, seen = 0;
	ptl_event_t ev;
	ptl_md_t md;

	if (!getenv("PTL_MY_RID")) {
		TRY(p3tcp_my_nid("eth0", &nid));
		snprintf(var[0], 64, "PTL_MY_RID=%u", 0);
		snprintf(var[1], 64, "PTL_NIDMAP=%u", nid);
		snprintf(var[2], 64, "PTL_PIDMAP=%u", (unsigned)getpid());
		snprintf(var[3], 64, "PTL_IFACE=%s", "eth0");
		for (int i = 0; i < 4; i++)
			putenv(var[i]);
	}
	PtlNIDebug(PTL_INVALID_HANDLE, PTL_DBG_NONE);
	TRY(PtlInit(&max));
	PtlSetRank(PTL_INVALID_HANDLE, (unsigned)-1, (unsigned)-1);
	rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	if (rc != PTL_OK)
		return 1;
	TRY(PtlGetRank(ni, &rank, &size));
	TRY(PtlGetRankId(ni, rank, &id));
	TRY(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq));
	md.start = in;
	md.length = sizeof(in);
	md.threshold = 1;
	md.max_size = 0;
	md.options = PTL_MD_OP_PUT;
	md.user_ptr = in;
	md.eq_handle = eq;
	TRY(PtlMEAttach(ni, 0, any, 1, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
	TRY(PtlMDAttach(me, md, PTL_UNLINK, &mdh));
	md.start = out;
	md.threshold = 2;
	TRY(PtlMDBind(ni, md, PTL_UNLINK, &mdh));
	TRY(PtlPut(mdh, PTL_ACK_REQ, id, 0, 0, 1, 0, 0));
	while (seen < 7) {		/* START and END on both sides, ACK, and two UNLINKs */
		TRY(PtlEQWait(eq, &ev));
		if (ev.ni_fail_type != PTL_NI_OK) {
			fprintf(stderr, "%s: %s\n", PtlEventKindStr(ev.type), PtlNIFailStr(ni, ev.ni_fail_type));
			return 1;
		}
		seen++;
	}
	TRY(PtlNIFini(ni));
	PtlFini();
	puts(in);
	return strcmp(in, out) != 0;
}
