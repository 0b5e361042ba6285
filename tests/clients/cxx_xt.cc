// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
// cxx_xt.cc - a C++ program for the XT: PMI beside Portals, its interface opened twice, access entries without a job, gets
// that cost two units, UNLINK events only where they are asked for, a lock by exchanges
#include <portals/portals3.h>
#include <portals/nal.h>
#include <cnos_mpi_os.h>
#include <pmi.h>

#include <cstdio>
#include <cstdlib>

namespace {

int rank, size;

void need(bool good, const char *what)
{
	if (!good) {
		std::printf("rank %d: %s\n", rank, what);
		std::exit(1);
	}
}
#define NEED(x) need(x, #x)

template <class T> ptl_md_t describe(T *start, unsigned n, unsigned options, int threshold, ptl_handle_eq_t eq)
{
	ptl_md_t md = ptl_md_t();

	md.start = start;
	md.length = n * sizeof(T);
	md.threshold = threshold;
	md.options = options;
	md.eq_handle = eq;
	return md;
}

struct events {
	explicit events(ptl_handle_ni_t ni) { NEED(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq) == PTL_OK); }
	void want(ptl_event_kind_t kind)
	{
		ptl_event_t ev;
		int rc = PtlEQWait(eq, &ev);

		switch (rc) {
		case PTL_OK:
			break;
		case PTL_EQ_DROPPED:
		case PTL_VAL_FAILED:
		default:
			need(false, ptl_err_str[rc]);
		}
		if (ev.type != kind)
			std::printf("rank %d: event %d instead of %d\n", rank, ev.type, kind);
		NEED(ev.type == kind && ev.ni_fail_type == PTL_NI_OK);
	}
	ptl_handle_eq_t eq;
};

}

int main()
{
	ptl_handle_ni_t ni, again;
	ptl_process_id_t any, first, id;
	ptl_handle_me_t me;
	ptl_handle_md_t mdh, get, put;
	cnos_nidpid_map_t *map = 0;
	static long window[2], mine, old;
	int max, spawned;
	void *p;

	NEED(PMI_Init(&spawned) == PMI_SUCCESS && PMI_Get_rank(&rank) == PMI_SUCCESS && PMI_Get_size(&size) == PMI_SUCCESS);
	NEED(PtlInit(&max) == PTL_OK);
	NEED(PtlNIInit(IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_UK, PTL_IFACE_SS), PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
	NEED(PtlNIInit(CRAY_USER_NAL, PTL_PID_ANY, NULL, NULL, &again) == PTL_IFACE_DUP && again == ni);
	NEED(PMI_CNOS_Get_nidpid_map(&p) == PMI_SUCCESS);
	map = static_cast<cnos_nidpid_map_t *>(p);
	NEED(PtlGetId(ni, &id) == PTL_OK && map[rank].nid == id.nid && map[rank].pid == id.pid);
	first.nid = map[0].nid;
	first.pid = map[0].pid;
	any.nid = PTL_NID_ANY;
	any.pid = 0xffff;			/* what such programs call PTL_PID_ANY */
	NEED(PtlACEntry(ni, 1, any, PTL_UID_ANY, PTL_JID_ANY, 5) == PTL_OK);
	NEED(PtlACEntry(ni, 1, any, PTL_UID_ANY, PTL_PT_INDEX_ANY) == PTL_OK);

	events ev(ni);
	NEED(PtlMEAttach(ni, 38, any, 5, 0, PTL_RETAIN, PTL_INS_AFTER, &me) == PTL_OK);
	NEED(PtlMDAttach(me, describe(window, 2, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_MD_THRESH_INF,
				      PTL_EQ_NONE), PTL_RETAIN, &mdh) == PTL_OK);
	if (size > 1)
		NEED(cnos_barrier() == 0);

	/* a lock of rank 0, and a number that whoever holds it counts up */
	for (int turn = 0; turn < 100; turn++) {
		do {
			mine = rank + 1;
			NEED(PtlMDBind(ni, describe(&old, 1, 0, 1, ev.eq), PTL_UNLINK, &get) == PTL_OK);
			NEED(PtlMDBind(ni, describe(&mine, 1, 0, 1, PTL_EQ_NONE), PTL_UNLINK, &put) == PTL_OK);
			NEED(PtlGetPut(get, put, first, 38, 1, 5, 0, 0) == PTL_OK);
			ev.want(PTL_EVENT_REPLY_START);
			ev.want(PTL_EVENT_REPLY_END);	/* and no UNLINK */
			/* somebody else's: it is theirs to give back, and our mark in it does no harm */
		} while (old != 0);
		NEED(PtlMDBind(ni, describe(&old, 1, PTL_MD_EVENT_AUTO_UNLINK_ENABLE, 2, ev.eq), PTL_UNLINK, &get) == PTL_OK);
		NEED(PtlGet(get, first, 38, 1, 5, sizeof(long)) == PTL_OK);
		ev.want(PTL_EVENT_SEND_START);
		ev.want(PTL_EVENT_SEND_END);
		ev.want(PTL_EVENT_REPLY_START);
		ev.want(PTL_EVENT_REPLY_END);
		ev.want(PTL_EVENT_UNLINK);
		mine = old + 1;
		NEED(PtlMDBind(ni, describe(&mine, 1, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, 2, ev.eq),
			       PTL_UNLINK, &put) == PTL_OK);
		NEED(PtlPut(put, PTL_ACK_REQ, first, 38, 1, 5, sizeof(long), 0) == PTL_OK);
		ev.want(PTL_EVENT_ACK);		/* with a polling target it may come before SEND_END */
		mine = 0;
		NEED(PtlMDBind(ni, describe(&mine, 1, PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE, 2, ev.eq),
			       PTL_UNLINK, &put) == PTL_OK);
		NEED(PtlPut(put, PTL_ACK_REQ, first, 38, 1, 5, 0, 0) == PTL_OK);
		ev.want(PTL_EVENT_ACK);
	}
	if (size > 1)
		NEED(cnos_barrier() == 0);
	if (rank == 0)
		NEED(window[1] == 100L * size);
	if (size > 1)
		cnos_pm_barrier(1);
	std::free(map);
	PtlNIFini(ni);
	PtlNIFini(ni);
	PtlFini();
	return 0;
}
