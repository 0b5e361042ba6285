/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* nal_start.c - joining the job on this node, claiming a pid, and leaving */
#include "nal_smap.h"
#include "p3_knobs.h"
#include "p3_log.h"

static bool nal_alive(uint32_t slot)
{
	return smartmap_alive((int)slot);
}


/* Leave the job on this node. @quiet: all ranks are past their last look at our region and table. */
static void leave_job(struct nal_ni *ni, bool quiet)
{
	struct priv *pv = priv_of(ni);

	smartmap_publish(ROOT_KEY, NULL);
	if (quiet && ni->l)
		smartmap_free(ni->l, pv->region_len);
	if (quiet && !smartmap_rank())
		smartmap_free(pv->table, sizeof(*pv->table) + ni->n_peers * sizeof(uint32_t));
	free(ni->peer);
	free(pv);
	ni->l = NULL;
	ni->peer = NULL;
	ni->nal_priv = NULL;
	smartmap_fini();
}

int nal_join(uint32_t adopt, uint32_t guests, const char *refuse)
{
	const struct p3_rt_job *job = p3_rt_get(NULL);
	struct smartmap_job sj = { .rank = job->local_rank, .size = job->local_size, .name = job->name, .adopt = adopt,
				   .timeout_ms = (int)p3_knobs_get(NULL)->init_timeout_s * 1000, .guests = guests,
				   .refuse = refuse };
	int32_t pids[SMARTMAP_MAX_PEERS];
	int rc;

	for (uint32_t i = 0; job->real_pids && i < job->local_size; i++)
		pids[i] = (int32_t)job->pid[job->local_ranks[i]];
	if (job->real_pids)
		sj.pids = pids;
	memcpy(sj.key, job->key, sizeof(sj.key));
	rc = smartmap_init(&sj);
	if (!rc)
		return PTL_OK;
	p3_error("joining the job on this node failed: %s", *smartmap_why(SMARTMAP_F_WINDOWS) ?
		 smartmap_why(SMARTMAP_F_WINDOWS) : strerror(-rc));
	return rc == -ENOMEM ? PTL_NO_SPACE : PTL_FAIL;
}

/* Collective: the ranks of the node meet, and the first makes the table. */
static int join(struct nal_ni *ni)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	const struct p3_rt_job *job = p3_rt_get(NULL);
	struct priv *pv = calloc(1, sizeof(*pv));
	int rc;

	ni->peer = calloc(job->local_size, sizeof(*ni->peer));
	rc = nal_join(k->smartmap == P3_NO ? 0 : (uint32_t)k->adopt, ni->guests, pv && ni->peer && ni->eq ? NULL :
		      "a rank of this node has no memory for the tables of its interface");
	if (rc != PTL_OK)
		goto err;
	pv->table = smartmap_shared(sizeof(*pv->table) + job->local_size * sizeof(uint32_t));
	if (!pv->table) {
		rc = errno == ENOMEM ? PTL_NO_SPACE : PTL_FAIL;
		if (rc == PTL_FAIL)
			p3_error("another rank ended while the job started");
		else if (!job->local_rank)		/* it is the one, and all know */
			p3_error("no memory for the table of pids");
		p3_rt_drain();
		smartmap_barrier();			/* nobody ends the job before it has been said */
		smartmap_fini();
		goto err;
	}
	ni->n_peers = job->local_size;
	ni->nal_priv = pv;
	ni->env.self = job->local_rank + 1;
	ni->env.alive = nal_alive;
	ni->env.relax = nal_relax;
	ni->pids = pv->pids = pv->table->pid;
	pv->inbox_max = (uint32_t)k->inbox_max;
	pv->cma = k->cma != P3_NO && smartmap_has(SMARTMAP_F_CMA);
	pv->together = !p3_rt_oversubscribed();
	pv->fences = job->local_size > 1 && !smartmap_membarrier_ok();
	return PTL_OK;
err:
	free(ni->peer);
	free(pv);
	ni->peer = NULL;
	return rc;
}

static bool pid_taken(const struct nal_ni *ni, uint32_t slots, uint32_t pid)
{
	for (uint32_t i = 0; i < slots; i++)
		if (i != ni->env.self - 1 && p3_load(&ni->pids[i]) == pid)
			return true;
	return false;
}

/* What the user said he must have: PTL_SMARTMAP=yes, PTL_CMA=yes. PTL_FAIL with a sentence in @why. */
static int demand(char *why, size_t len)
{
	static const struct { long part; enum smartmap_feature f; } adopt[] = {
		{ SMARTMAP_ADOPT_DATA, SMARTMAP_F_DATA }, { SMARTMAP_ADOPT_STACK, SMARTMAP_F_STACK },
		{ SMARTMAP_ADOPT_HEAP, SMARTMAP_F_HEAP },
	};
	const struct p3_knobs *k = p3_knobs_get(NULL);

	if (smartmap_size() == 1)
		return PTL_OK;
	for (size_t i = 0; k->smartmap == P3_YES && i < sizeof(adopt) / sizeof(*adopt); i++)
		if ((k->adopt & adopt[i].part) && !smartmap_has(adopt[i].f)) {
			snprintf(why, len, "PTL_SMARTMAP=yes cannot be had: %s (PTL_ADOPT says which parts you want)",
				 smartmap_why(adopt[i].f));
			return PTL_FAIL;
		}
	if (k->cma == P3_YES && !smartmap_has(SMARTMAP_F_CMA)) {
		snprintf(why, len, "PTL_CMA=yes cannot be had: %s", smartmap_why(SMARTMAP_F_CMA));
		return PTL_FAIL;
	}
	return PTL_OK;
}

/*
 * The start of all: the pids as wanted, and whether somebody cannot start, stand in the table at the first barrier. At
 * the second the refused ones have gone from it, so that nobody can send to them. Of several that want one pid the
 * first gets it. @rc in: own state, with a sentence in @why, which the first says for all.
 */
static bool start_together(struct nal_ni *ni, uint32_t pid, int *rc, const char *why)
{
	struct pid_table *t = priv_of(ni)->table;
	uint32_t slot = ni->env.self - 1;

	p3_store(&t->pid[slot], pid);	/* M:attach.pid */
	if (*rc != PTL_OK && p3_cas32(&t->failed, 0, (uint32_t)*rc)) {	/* M:attach.failed */
		p3_error("%s", why);
		p3_rt_drain();		/* behind the barrier the others end the job */
	}
	if (smartmap_barrier())
		return false;
	*rc = (int)p3_load_acq(&t->failed);	/* M:attach.all-failed */
	if (*rc == PTL_OK && pid_taken(ni, slot, pid))
		*rc = PTL_PID_INVALID;
	if (*rc == PTL_OK)
		smartmap_publish(ROOT_KEY, ni->l);
	else
		p3_store(&t->pid[slot], PTL_PID_ANY);	/* M:attach.no-pid */
	return !smartmap_barrier();
}

int nal_agree(struct nal_ni *ni, int rc)
{
	struct pid_table *t = priv_of(ni)->table;

	if (rc != PTL_OK && rc != PTL_PID_INVALID)
		p3_cas32(&t->failed, 0, (uint32_t)rc);
	if (smartmap_barrier())
		return rc == PTL_OK ? PTL_FAIL : rc;
	return p3_load_acq(&t->failed) ? (int)p3_load(&t->failed) : rc;
}

/* Another pid, after the first one was refused: the others have started and take no part. */
static int claim_pid(struct nal_ni *ni, uint32_t pid)
{
	struct pid_table *t = priv_of(ni)->table;
	uint32_t slot = ni->env.self - 1;
	int rc = PTL_PID_INVALID;

	if (!p3_cas32(&t->lock, 0, ni->env.self))
		p3l_lock_slow(&ni->env, ni->l, &t->lock, -1);
	if (!pid_taken(ni, ni->n_peers, pid)) {
		smartmap_publish(ROOT_KEY, ni->l);
		p3_store_rel(&t->pid[slot], pid);
		rc = PTL_OK;
	}
	p3_store_rel(&t->lock, 0);
	return rc;
}

int nal_start(struct nal_ni *ni, const struct p3l_setup *setup)
{
	bool again = ni->nal_priv != NULL;
	struct p3l_setup s = *setup;
	char why[400] = "";
	uint64_t len;
	int rc = again ? PTL_OK : join(ni);

	if (rc != PTL_OK || !ni->eq)
		return rc != PTL_OK ? rc : PTL_NO_SPACE;
	s.n_slots = ni->n_peers + ni->guests;
	s.slot = ni->env.self - 1;
	len = priv_of(ni)->region_len = p3l_ni_size(&s);
	if (!again)
		rc = demand(why, sizeof(why));
	if (rc == PTL_OK)
		ni->l = smartmap_alloc(len, 4096);
	if (ni->l) {
		p3l_ni_setup(ni->l, &s);
		priv_of(ni)->stats = &p3l_row(ni->l, s.slot)->stats;
		if (!priv_of(ni)->fences)
			ni->put_usual = nal_put_usual;
	} else if (rc == PTL_OK) {
		snprintf(why, sizeof(why), "no memory for the Portals state (%llu MiB of address space)",
			 (unsigned long long)len >> 20);
		rc = PTL_NO_SPACE;
	}
	if (again) {
		if (rc == PTL_OK)
			rc = claim_pid(ni, s.pid);
		else
			p3_error("%s", why);
	} else if (!start_together(ni, s.pid, &rc, why)) {
		p3_error("another rank ended while the job started");
		leave_job(ni, false);
		return PTL_FAIL;
	} else if (rc != PTL_OK && rc != PTL_PID_INVALID) {
		leave_job(ni, true);
	}
	if (rc != PTL_OK && ni->l) {		/* refused: nobody knows this region */
		smartmap_free(ni->l, len);
		ni->l = NULL;
	}
	return rc;
}

#define NAP_MIN 50000
#define NAP_MAX 10000000

int64_t nal_between(void *arg)
{
	struct nal_between *b = arg;
	uint32_t handed = p3_load(&b->ni->l->handed);

	b->ni->nal->progress(b->ni, NAL_EQ_GONE, NULL);
	if (!b->nap || handed != b->handed)	/* what has been awaited is often followed by another one */
		b->nap = NAP_MIN;
	else if (b->nap < NAP_MAX)
		b->nap *= 2;
	b->handed = handed;
	return b->nap;
}

/*
 * Behind the first barrier nobody begins anything, and what was left to us is there: the last look makes it. Nobody
 * touches our state behind the second, unless somebody died.
 */
void nal_stop(struct nal_ni *ni)
{
	struct nal_between b = { .ni = ni };
	bool all;

	if (ni->l)
		p3_store_rel(&ni->l->up, 0);	/* M:attach.down */
	all = !smartmap_barrier_between(ni->l ? nal_between : NULL, &b);
	if (ni->l && all)
		nal_between(&b);
	leave_job(ni, all && !smartmap_barrier());
}
