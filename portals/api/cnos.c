/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * cnos.c - the calls of <cnos_mpi_os.h>: ranks as programs for the XT ask for them, before or after PtlInit
 */
#include <stdlib.h>

#include <cnos_mpi_os.h>
#include <p3rt/p3rt.h>
#include "p3a.h"
#include "p3_log.h"
#include "p3_rt.h"

static const struct p3_rt_job *job(void)
{
	const char *err = NULL;
	const struct p3_rt_job *j = p3_rt_get(&err);

	if (!j)
		p3_error("%s", err);
	return j;
}

P3A_API int cnos_get_rank(void)
{
	const struct p3_rt_job *j = job();

	return j ? (int)j->rank : -1;
}

P3A_API int cnos_get_size(void)
{
	const struct p3_rt_job *j = job();

	return j ? (int)j->size : -1;
}

P3A_API int cnos_get_n_pes_in_app(void)
{
	return cnos_get_size();
}

P3A_API int cnos_get_nidpid_map(void *map)
{
	const struct p3_rt_job *j = job();
	struct nal_ni *ni = p3a_up ? p3_load_acq(&p3a_open_ni) : NULL;
	cnos_nidpid_map_t *m;

	if (!j || !map)
		return -1;
	m = malloc(j->size * sizeof(*m));
	if (!m)
		return -1;
	for (uint32_t r = 0; r < j->size; r++) {
		m[r].nid = j->nid[r];
		m[r].pid = j->pid[r];
		if (ni && j->node_of[r] == j->node)	/* a rank may have asked for a pid of its own */
			m[r].pid = ni->nal->id(ni, j->local_of[r]).pid - p3a_iface_pid_offset(ni->iface);
	}
	*(cnos_nidpid_map_t **)map = m;
	return (int)j->size;
}

P3A_API void cnos_barrier_init(ptl_handle_ni_t ni)
{
	(void)ni;
}

P3A_API int cnos_barrier(void)
{
	return PtlRtBarrier_np() == PTL_OK ? 0 : -1;
}

P3A_API void cnos_pm_barrier(int last)
{
	(void)last;
	cnos_barrier();
}

P3A_API int cnos_register_ptlid(ptl_process_id_t id)
{
	struct nal_ni *ni = p3a_up ? p3_load_acq(&p3a_open_ni) : NULL;

	return ni && id.nid == ni->l->nid && id.pid == ni->l->pid ? 0 : -1;
}

P3A_API int cnos_launcher(void)
{
	const struct p3_rt_job *j = job();

	return j && j->source != P3_RT_SINGLE ? CNOS_LAUNCHER_APRUN : CNOS_LAUNCHER_NONE;
}
