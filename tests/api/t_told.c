/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * A job that neither a launcher nor the environment describes, but the program: PtlSetRank, PtlSetNIDMap, PtlSetPIDMap,
 * PtlSetJID; or variables that are set after PtlInit. tests/common/multi starts the ranks; its variables are removed.
 */
#include "multi.h"
#include "tap.h"

#include <cnos_mpi_os.h>
#include <p3rt/p3rt.h>
#include <pmi.h>
#include <smartmap.h>

static ptl_handle_ni_t ni;
static ptl_nid_t nids[16];
static ptl_pid_t pids[16];
static const char *how;

static void describe(void)
{
	unsigned n = (unsigned)t_size(), me = (unsigned)t_rank();
	char text[3][256] = { "", "", "" };

	if (!strcmp(how, "late")) {
		for (unsigned i = 0; i < n; i++) {
			snprintf(text[0] + strlen(text[0]), 20, i ? ":%u" : "%u", nids[i]);
			snprintf(text[1] + strlen(text[1]), 20, i ? ":%u" : "%u", pids[i]);
		}
		snprintf(text[2], 20, "%u", me);
		setenv("PTL_NIDMAP", text[0], 1);
		setenv("PTL_PIDMAP", text[1], 1);
		setenv("PTL_MY_RID", text[2], 1);
		REQUIRE_INT(PtlSetRank(PTL_INVALID_HANDLE, (unsigned)-1, (unsigned)-1), PTL_OK);
		return;
	}
	/* in an order that differs from rank to rank */
	for (unsigned k = 0; k < 3; k++)
		switch ((k + me) % 3) {
		case 0:
			CHECK_INT(PtlSetRank(PTL_INVALID_HANDLE, me, n), PTL_OK);
			break;
		case 1:
			CHECK_INT(PtlSetNIDMap(PTL_INVALID_HANDLE, nids, n), PTL_OK);
			break;
		default:
			CHECK_INT(PtlSetPIDMap(PTL_INVALID_HANDLE, pids, n), PTL_OK);
		}
}

static void t_before(void)
{
	unsigned nid = 0, other = 1, rank, size;
	int max;

	CHECK_INT(PtlSetRank(PTL_INVALID_HANDLE, 0, 1), PTL_NO_INIT);
	CHECK_INT(PtlSetNIDMap(PTL_INVALID_HANDLE, nids, 1), PTL_NO_INIT);
	CHECK_INT(PtlSetJID(5), PTL_NO_INIT);
	CHECK_INT(PtlRtBarrier_np(), PTL_NO_INIT);
	CHECK_INT(PtlRtSmartmap_np(), PTL_NO_INIT);
	CHECK_INT(p3tcp_my_nid("lo", &nid), PTL_OK);
	CHECK_INT(nid, 0x7f000001);
	CHECK_INT(p3tcp_my_nid("nosuchdevice0", &nid), PTL_OK);
	CHECK_INT(p3tcp_my_nid(NULL, &other), PTL_OK);
	CHECK_INT(nid, other);
	CHECK_INT(p3tcp_my_nid("lo", NULL), PTL_SEGV);
	REQUIRE_INT(PtlInit(&max), PTL_OK);
	CHECK_INT(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size), PTL_OK);
	CHECK(rank == 0 && size == 1);
	for (unsigned i = 0; i < 16; i++) {
		nids[i] = nid;
		pids[i] = 5000 + 3 * i;
	}
	CHECK_INT(PtlSetNIDMap(PTL_INVALID_HANDLE, NULL, 2), PTL_SEGV);
	CHECK_INT(PtlSetNIDMap(PTL_INVALID_HANDLE, nids, 0), PTL_FAIL);
	CHECK_INT(PtlSetNIDMap((ptl_handle_ni_t)0x20000000, nids, 2), PTL_NI_INVALID);
	CHECK_INT(PtlSetJID(PTL_JID_ANY), PTL_FAIL);
	CHECK_INT(PtlSetJID(4711), PTL_OK);
}

static void t_ranks(void)
{
	unsigned rank = 99, size = 99, n = (unsigned)t_size();
	ptl_process_id_t id = { 0, 0 }, mine = { 1, 1 };
	ptl_jid_t jid = 0;
	ptl_nid_t map[16];

	describe();
	CHECK_INT(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size), PTL_OK);
	CHECK_INT(rank, t_rank());
	CHECK_INT(size, n);
	CHECK_INT(PtlSetRank(PTL_INVALID_HANDLE, rank, n), PTL_OK);	/* again: nothing new */
	CHECK_INT(PtlSetRank(PTL_INVALID_HANDLE, rank, n + 1), PTL_FAIL);
	CHECK_INT(PtlSetNIDMap(PTL_INVALID_HANDLE, nids, n), PTL_OK);
	REQUIRE_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
	CHECK_INT(PtlGetId(ni, &mine), PTL_OK);
	CHECK_INT(PtlGetRankId(ni, rank, &id), PTL_OK);
	CHECK(id.nid == nids[0] && id.pid == pids[rank] && mine.nid == id.nid && mine.pid == id.pid);
	CHECK_INT(PtlGetJid(ni, &jid), PTL_OK);
	CHECK_INT(jid, 4711);
	CHECK_INT(PtlSetJID(4712), PTL_FAIL);
	CHECK_INT(PtlSetPIDMap(ni, pids, n), PTL_OK);
	CHECK_INT(PtlSetNIDMap(ni, nids, n), PTL_OK);
	memcpy(map, nids, sizeof(map));
	map[n - 1]++;
	CHECK_INT(PtlSetNIDMap(ni, map, n), PTL_FAIL);
	memcpy(map, pids, sizeof(map));
	map[0]++;
	CHECK_INT(PtlSetPIDMap(ni, map, n), PTL_PID_INVALID);
	CHECK_INT(PtlSetPIDMap(ni + 1, pids, n), PTL_NI_INVALID);
	CHECK_INT(PtlRtBarrier_np(), PTL_OK);
	CHECK_INT(PtlRtPut_np("a", "b"), PTL_FAIL);		/* no launcher */
	CHECK_INT(PtlRtPut_np(NULL, "b"), PTL_SEGV);
}

/* An arena, whether the interface has joined SMARTMAP or not (it is one in the kernel). */
static void t_arena(void)
{
	int was = smartmap_size();
	void *p;

	CHECK_INT(PtlRtSmartmap_np(), PTL_OK);
	CHECK_INT(smartmap_size(), t_size());
	p = smartmap_alloc(4096, 0);
	CHECK(p != NULL);
	CHECK_INT(smartmap_barrier(), 0);
	smartmap_free(p, 4096);
	smartmap_fini();
	CHECK_INT(smartmap_size(), was);
}

/* A message round the ring: they have met. */
static void t_ring(void)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY }, to;
	unsigned n = (unsigned)t_size(), me = (unsigned)t_rank(), in = 99, out = me;
	ptl_md_t md = { .start = &in, .length = sizeof(in), .threshold = 1,
			.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE };
	ptl_handle_md_t h;
	ptl_handle_me_t e;
	ptl_event_t ev;

	REQUIRE_INT(PtlEQAlloc(ni, 8, NULL, &md.eq_handle), PTL_OK);
	REQUIRE_INT(PtlMEAttach(ni, 4, any, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &e), PTL_OK);
	REQUIRE_INT(PtlMDAttach(e, md, PTL_RETAIN, &h), PTL_OK);
	CHECK_INT(cnos_barrier(), 0);
	md.start = &out;
	REQUIRE_INT(PtlGetRankId(ni, (me + 1) % n, &to), PTL_OK);
	md.eq_handle = PTL_EQ_NONE;
	REQUIRE_INT(PtlMDBind(ni, md, PTL_RETAIN, &h), PTL_OK);
	CHECK_INT(PtlPut(h, PTL_NO_ACK_REQ, to, 4, 0, 1, 0, 0), PTL_OK);
	md.eq_handle = PTL_INVALID_HANDLE;
	for (double t = t_now(); in == 99 && t_now() - t < 20;)
		sched_yield();
	CHECK_INT(in, (me + n - 1) % n);
	(void)ev;
}

static void t_cnos_and_pmi(void)
{
	int n = t_size(), me = t_rank(), v = -1, all[16], spawned = -1, len;
	cnos_nidpid_map_t *map = NULL;
	ptl_process_id_t id = { 1, 1 };
	char name[64];
	void *p;

	CHECK_INT(cnos_get_rank(), me);
	CHECK_INT(cnos_get_size(), n);
	CHECK_INT(cnos_get_n_pes_in_app(), n);
	CHECK_INT(cnos_get_nidpid_map(&map), n);
	for (int i = 0; map && i < n; i++)
		CHECK(map[i].nid == nids[i] && map[i].pid == pids[i]);
	free(map);
	CHECK_INT(cnos_get_nidpid_map(NULL), -1);
	CHECK_INT(cnos_register_ptlid(id), -1);
	CHECK_INT(PtlGetId(ni, &id), PTL_OK);
	CHECK_INT(cnos_register_ptlid(id), 0);
	CHECK_INT(cnos_launcher(), CNOS_LAUNCHER_APRUN);
	cnos_barrier_init(ni);
	cnos_pm_barrier(0);

	CHECK_INT(PMI_Initialized(&v), PMI_SUCCESS);
	CHECK_INT(v, 0);
	CHECK_INT(PMI_Get_rank(&v), PMI_ERR_INIT);
	CHECK_INT(PMI_Barrier(), PMI_ERR_INIT);
	CHECK_INT(PMI_Init(NULL), PMI_ERR_INVALID_ARG);
	CHECK_INT(PMI_Init(&spawned), PMI_SUCCESS);
	CHECK_INT(spawned, 0);
	CHECK_INT(PMI_Initialized(&v), PMI_SUCCESS);
	CHECK_INT(v, 1);
	CHECK(PMI_Get_rank(&v) == PMI_SUCCESS && v == me);
	CHECK(PMI_Get_size(&v) == PMI_SUCCESS && v == n);
	CHECK(PMI_Get_universe_size(&v) == PMI_SUCCESS && v == n);
	CHECK(PMI_Get_appnum(&v) == PMI_SUCCESS && v == 0);
	CHECK(PMI_Get_clique_size(&v) == PMI_SUCCESS && v == n);
	CHECK_INT(PMI_Get_clique_ranks(all, n - 1), PMI_ERR_INVALID_SIZE);
	CHECK_INT(PMI_Get_clique_ranks(all, n), PMI_SUCCESS);
	for (int i = 0; i < n; i++)
		CHECK_INT(all[i], i);
	CHECK(PMI_Get_nid(n - 1, &v) == PMI_SUCCESS && (unsigned)v == nids[0]);
	CHECK_INT(PMI_Get_nid(n, &v), PMI_ERR_INVALID_ARG);
	CHECK_INT(PMI_Get_nid(-1, &v), PMI_ERR_INVALID_ARG);
	CHECK_INT(PMI_CNOS_Get_nidpid_map(&p), PMI_SUCCESS);
	CHECK_INT(((cnos_nidpid_map_t *)p)[me].pid, pids[me]);
	free(p);
	CHECK_INT(PMI_KVS_Get_name_length_max(&len), PMI_SUCCESS);
	CHECK(len <= (int)sizeof(name));
	CHECK_INT(PMI_KVS_Get_my_name(name, 2), PMI_ERR_INVALID_LENGTH);
	CHECK_INT(PMI_KVS_Get_my_name(name, sizeof(name)), PMI_SUCCESS);
	CHECK_INT(PMI_KVS_Put("another", "a", "b"), PMI_ERR_INVALID_KVS);
	CHECK_INT(PMI_KVS_Put(name, "a", "b"), PMI_FAIL);		/* no launcher */
	CHECK_INT(PMI_KVS_Commit(name), PMI_SUCCESS);
	CHECK_INT(PMI_KVS_Get_value_length_max(&len), PMI_SUCCESS);
	CHECK_INT(PMI_KVS_Get_key_length_max(&len), PMI_SUCCESS);
	CHECK_INT(PMI_Barrier(), PMI_SUCCESS);
	CHECK_INT(PMI_Finalize(), PMI_SUCCESS);
	CHECK_INT(PMI_Finalize(), PMI_ERR_INIT);
	CHECK_INT(PtlNIFini(ni), PTL_OK);
	PtlFini();
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = { T(t_before), T(t_ranks), T(t_arena), T(t_ring), T(t_cnos_and_pmi),
					{ 0 } };

	how = argc > 1 ? argv[1] : "calls";
	t_size();
	unsetenv("PTL_MY_RID");
	unsetenv("PTL_NIDMAP");
	unsetenv("PTL_PIDMAP");
	unsetenv("PTL_MY_JID");
	return t_run(cases);
}
