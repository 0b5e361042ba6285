/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * job.c - what libraries above need of the launcher: a barrier and words to leave; and the node id of a device
 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <p3rt/p3rt.h>
#include "p3a.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_rt.h"
#include "smartmap.h"

/*
 * While we wait: others may wait for our part. Another thread may close the interface: it waits until we are out
 * of it.
 */
static int64_t meanwhile(void *arg)
{
	ptl_hold_np_t hold = p3a_serial_hold();	/* whose promise it is may be in a call */
	struct nal_between *b = arg;
	struct nal_ni *ni;
	int64_t nap = 10000000;

	if (hold)
		hold(1);
	p3_fetch_add(&p3a_waiting, 1);
	p3_fence();			/* see p3a_send_home() */
	ni = p3_load_acq(&p3a_open_ni);
	if (ni) {
		ni->env.single = p3a_single(ni);
		b->ni = ni;
		nap = nal_between(b);
	}
	p3_fetch_add(&p3a_waiting, -1);
	if (hold)
		hold(0);
	return nap;
}

/* So that ptl_info --hang sees who has come. */
static int meet(int (*barrier)(int64_t (*meantime)(void *), void *))
{
	struct nal_ni *ni = p3_load_acq(&p3a_open_ni);
	struct nal_between b = { 0 };
	struct p3l_wait w;
	int rc;

	if (!ni || ni->nal->call)	/* the state of one in the kernel is not ours to write */
		return barrier(meanwhile, &b);
	p3l_wait_begin(&ni->env, ni->l, P3L_WAIT_PEERS, 0, ni->n_peers, &w);
	rc = barrier(meanwhile, &b);
	p3l_wait_end(&ni->env, ni->l, &w);
	return rc;
}

P3A_API int PtlRtBarrier_np(void)
{
	const struct p3_rt_job *j;
	struct nal_ni *ni;

	P3A_CHECK_UP();
	j = p3_rt_get(NULL);
	if (!j)
		return PTL_FAIL;
	if (j->size == 1)
		return PTL_OK;
	if (p3_rt_has_kvs(j))
		return meet(p3_rt_barrier_between) ? PTL_FAIL : PTL_OK;
	/* started by hand: only those on this node can be asked */
	ni = p3_load_acq(&p3a_open_ni);
	if (!ni || j->nodes > 1)
		return PTL_FAIL;
	if (ni->nal->meet)
		return ni->nal->meet(ni) ? PTL_FAIL : PTL_OK;
	return meet(smartmap_barrier_between) ? PTL_FAIL : PTL_OK;
}

P3A_API int PtlRtPut_np(const char *key, const char *value)
{
	if (!key || !value)
		return PTL_SEGV;
	P3A_CHECK_UP();
	return p3_rt_put(key, value) ? PTL_FAIL : PTL_OK;
}

P3A_API int PtlRtGet_np(const char *key, char *value, unsigned len)
{
	if (!key || !value || !len)
		return PTL_SEGV;
	P3A_CHECK_UP();
	return p3_rt_get_value(key, value, len) ? PTL_FAIL : PTL_OK;
}

P3A_API int PtlRtSmartmap_np(void)
{
	P3A_CHECK_UP();
	return nal_join(0, 0, NULL);
}

P3A_API int PtlRtEnd_np(int first)
{
	return p3_rt_end(first);
}

/* How well does a device fit? 3 has the name, 2 any that is up, 1 the loopback. */
static int rank_of(const struct ifaddrs *a, const char *name)
{
	if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP))
		return 0;
	if (name && !strcmp(a->ifa_name, name))
		return 3;
	return a->ifa_flags & IFF_LOOPBACK ? 1 : 2;
}

P3A_API int p3tcp_my_nid(const char *name, unsigned int *nid)
{
	struct ifaddrs *list, *a, *best = NULL;
	int have = 0;

	if (!nid)
		return PTL_SEGV;
	if (!name) {
		const char *err;
		const struct p3_knobs *k = p3_knobs_get(&err);

		if (!k) {
			p3_error("%s", err);
			return PTL_FAIL;
		}
		name = strcmp(k->iface, "any") ? k->iface : NULL;
	}
	if (getifaddrs(&list))
		return PTL_FAIL;
	for (a = list; a; a = a->ifa_next)
		if (rank_of(a, name) > have) {
			have = rank_of(a, name);
			best = a;
		}
	if (best) {
		*nid = ntohl(((struct sockaddr_in *)(void *)best->ifa_addr)->sin_addr.s_addr);
		if (name && have < 3)
			p3_diag("there is no device %s with an address; %s gives the node id", name, best->ifa_name);
	}
	freeifaddrs(list);
	return best ? PTL_OK : PTL_FAIL;
}
