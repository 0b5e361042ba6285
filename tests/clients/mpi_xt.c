/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* mpi_xt.c - in the manner of an MPI library of 2006 for the XT: launcher, map, posted receives, conditional posting */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <catamount/cnos_mpi_os.h>
#include <portals/portals3.h>

#define PTL_EQ_HANDLER_NONE NULL
#define PTL_NO_ACK_REQ PTL_NOACK_REQ

static const char *err(int rc)
{
	return ptl_err_str[rc];
}

#define TRY(call) do { int rc_ = (call); if (rc_ != PTL_OK) { printf("%s: %s\n", #call, err(rc_)); return 1; } } while (0)

int main(void)
{
	ptl_interface_t iface = PTL_IFACE_DEFAULT;
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY }, me, peer;
	ptl_handle_eq_t eqs[2], never;
	ptl_handle_me_t long_me, recv_me;
	ptl_handle_md_t long_md, recv_md, send_md;
	cnos_nidpid_map_t *map;
	ptl_handle_ni_t ni;
	int max, rc, n, which, offset = 0, got = 0, sent = 0;
	static char in[64], out[64] = "from the rank before";
	ptl_event_t ev;
	ptl_md_t md;

	if (cnos_launcher() != CNOS_LAUNCHER_YOD)
		iface = IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_UK, PTL_IFACE_SS);
#if defined(CRAY_ACCEL)
	else
		iface = CRAY_ACCEL, offset = ACCEL_PTLS_PID_SPACE_OFFSET;
#endif
	TRY(PtlInit(&max));
	rc = PtlNIInit(iface, PTL_PID_ANY, NULL, NULL, &ni);
	if (rc != PTL_OK && rc != PTL_IFACE_DUP)
		return 1;
	TRY(PtlGetId(ni, &me));
	n = cnos_get_nidpid_map(&map);
	if (n != cnos_get_size() || n <= 0)
		return 1;
	peer.nid = map[(cnos_get_rank() + 1) % n].nid;
	peer.pid = map[(cnos_get_rank() + 1) % n].pid + offset;
	if (map[cnos_get_rank()].nid != me.nid || map[cnos_get_rank()].pid != me.pid)
		return 1;

	TRY(PtlEQAlloc(ni, 1024, PTL_EQ_HANDLER_NONE, &eqs[0]));
	TRY(PtlEQAlloc(ni, 1024, PTL_EQ_HANDLER_NONE, &eqs[1]));
	TRY(PtlEQAlloc(ni, 1, PTL_EQ_HANDLER_NONE, &never));
	md.start = NULL;
	md.length = 0;
	md.threshold = PTL_MD_THRESH_INF;
	md.options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_ACK_DISABLE;
	md.user_ptr = NULL;
	md.eq_handle = eqs[1];
	TRY(PtlMEAttach(ni, 32, any, 0x2000000000000000ULL, 0x0fffffffffffffffULL, PTL_RETAIN, PTL_INS_AFTER, &long_me));
	TRY(PtlMDAttach(long_me, md, PTL_RETAIN, &long_md));
	md.start = in;
	md.length = sizeof(in);
	md.threshold = 1;
	md.options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE;
	md.eq_handle = eqs[0];
	TRY(PtlMEMDPost(ni, long_me, any, 7, 0xf000000000000000ULL, PTL_UNLINK, PTL_INS_BEFORE, md, PTL_UNLINK, &recv_me,
			&recv_md, eqs[1]));
	cnos_barrier();
	md.start = out;
	md.options = PTL_MD_EVENT_START_DISABLE;
	TRY(PtlMDBind(ni, md, PTL_UNLINK, &send_md));
	TRY(PtlPut(send_md, PTL_NO_ACK_REQ, peer, 32, 0, 0x1000000000000007ULL, 0, 0));
	while (!got || !sent) {
		rc = PtlEQPoll(eqs, 2, 10000, &ev, &which);
		if (rc != PTL_OK || ev.ni_fail_type != PTL_NI_OK || which != 0)
			return 1;
		switch (ev.type) {
		case PTL_EVENT_PUT_END:
			got = 1;
			break;
		case PTL_EVENT_SEND_END:
			sent = 1;
			break;
		case PTL_EVENT_UNLINK:			/* it has not asked for them */
		default:
			return 1;
		}
	}
	cnos_pm_barrier(1);
	if (PtlEQPeek(eqs[0], &ev) != PTL_EQ_EMPTY || strcmp(in, out))
		return 1;
	free(map);
	TRY(PtlEQFree(never));
	printf("%s %u:%hu\n", in, me.nid, (unsigned short)me.pid);
	return 0;
}
