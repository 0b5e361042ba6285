/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* job.c - PMI and cnos under a launcher: words of each rank are read by all, ids agree, accelerated pids */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <portals/portals3.h>
#include <cnos_mpi_os.h>
#include <pmi.h>

#define NEED(x) do { if (!(x)) { printf("rank %d: %s\n", rank, #x); exit(1); } } while (0)

int main(void)
{
	int rank = -1, size = -1, n, spawned, max, nid;
	char name[64], key[32], value[64], want[64];
	ptl_process_id_t id, any = { PTL_NID_ANY, PTL_PID_ANY }, to;
	cnos_nidpid_map_t *map;
	unsigned long dist;
	ptl_handle_md_t md;
	ptl_handle_me_t me;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;
	ptl_event_t ev;
	ptl_md_t v;
	void *p;

	NEED(cnos_get_rank() >= 0);			/* before anything else */
	NEED(PMI_Init(&spawned) == PMI_SUCCESS);
	NEED(PMI_Get_rank(&rank) == PMI_SUCCESS && PMI_Get_size(&size) == PMI_SUCCESS);
	NEED(rank == cnos_get_rank() && size == cnos_get_size() && cnos_launcher() == CNOS_LAUNCHER_APRUN);
	NEED(PMI_KVS_Get_my_name(name, sizeof(name)) == PMI_SUCCESS);
	snprintf(key, sizeof(key), "k%d", rank);
	snprintf(value, sizeof(value), "value-of-%d", rank);
	NEED(PMI_KVS_Put(name, key, value) == PMI_SUCCESS && PMI_KVS_Commit(name) == PMI_SUCCESS);
	NEED(PMI_KVS_Put(name, key, "a b") == PMI_FAIL);
	NEED(PMI_Barrier() == PMI_SUCCESS);
	for (int r = 0; r < size; r++) {
		snprintf(key, sizeof(key), "k%d", r);
		snprintf(want, sizeof(want), "value-of-%d", r);
		NEED(PMI_KVS_Get(name, key, value, sizeof(value)) == PMI_SUCCESS && !strcmp(value, want));
		NEED(PMI_KVS_Get(name, key, value, 4) == PMI_FAIL);
	}
	NEED(PMI_KVS_Get(name, "nokey", value, sizeof(value)) == PMI_FAIL);

	NEED(PtlInit(&max) == PTL_OK);
	NEED(PtlNIInit(CRAY_ACCEL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_OK);
	NEED(PtlGetId(ni, &id) == PTL_OK);
	NEED(cnos_register_ptlid(id) == 0);
	n = cnos_get_nidpid_map(&map);
	NEED(n == size && map[rank].nid == id.nid && map[rank].pid + ACCEL_PTLS_PID_SPACE_OFFSET == id.pid);
	NEED(PMI_CNOS_Get_nidpid_map(&p) == PMI_SUCCESS && ((cnos_nidpid_map_t *)p)[rank].pid == map[rank].pid);
	NEED(PMI_Get_nid(rank, &nid) == PMI_SUCCESS && (unsigned)nid == id.nid);
	to.nid = map[(rank + 1) % n].nid;
	to.pid = map[(rank + 1) % n].pid + ACCEL_PTLS_PID_SPACE_OFFSET;
	NEED(PtlNIDist(ni, to, &dist) == PTL_OK);
	NEED(PtlEQAlloc(ni, 8, NULL, &eq) == PTL_OK);
	memset(&v, 0, sizeof(v));
	v.threshold = PTL_MD_THRESH_INF;
	v.options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE;
	v.eq_handle = eq;
	NEED(PtlMEMDAttach(ni, 30, any, 1, 0, PTL_RETAIN, PTL_INS_AFTER, v, PTL_RETAIN, &me, &md) == PTL_OK);
	NEED(cnos_barrier() == 0);
	v.eq_handle = PTL_EQ_NONE;
	NEED(PtlMDBind(ni, v, PTL_RETAIN, &md) == PTL_OK);
	NEED(PtlPut(md, PTL_NOACK_REQ, to, 30, 0, 1, 0, (ptl_hdr_data_t)rank) == PTL_OK);
	NEED(PtlEQWait(eq, &ev) == PTL_OK && ev.type == PTL_EVENT_PUT_END);
	NEED((int)ev.hdr_data == (rank + n - 1) % n);
	NEED(ev.initiator.pid == map[(rank + n - 1) % n].pid + ACCEL_PTLS_PID_SPACE_OFFSET);
	cnos_pm_barrier(1);
	free(map);
	free(p);
	printf("rank %d of %d is well\n", rank, size);
	return 0;
}
