// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_proc.c - jobs, and the interfaces of their processes
 *
 * A job is what ranks of one node have in common: user, secret key, job id, node id, size. The first to come makes
 * it, and it takes nobody in any more as soon as one has left, so that ranks that start again meet each other and not
 * those that are still leaving. Being of the same job of the same user is the permission that every operation needs;
 * it is checked here, once, and what can be reached later is only what its owner has put into descriptors.
 */
#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>
#include "gptl.h"

/* Interfaces at a time, of all and of one user: about 33 MiB each. */
static unsigned int max_interfaces = 512, max_per_user = P3L_MAX_SLOTS;
module_param(max_interfaces, uint, 0644);
MODULE_PARM_DESC(max_interfaces, "interfaces at a time (512)");
module_param(max_per_user, uint, 0644);
MODULE_PARM_DESC(max_per_user, "interfaces of one user at a time (256)");

static_assert(P3L_MAX_EQ * sizeof(u32) <= PAGE_SIZE);		/* the page of claims */

static DEFINE_MUTEX(gptl_jobs_lock);
static LIST_HEAD(jobs);
static atomic_t ni_count = ATOMIC_INIT(0);	/* not freed yet */
static DECLARE_WAIT_QUEUE_HEAD(ni_gone);

static void job_free(struct kref *ref)
{
	struct gptl_job *j = container_of(ref, struct gptl_job, ref);

	list_del(&j->list);
	mutex_unlock(&gptl_jobs_lock);
	memzero_explicit(j->key, sizeof(j->key));
	kfree(j);
}

static void job_put(struct gptl_job *j)
{
	kref_put_mutex(&j->ref, job_free, &gptl_jobs_lock);
}

static bool same(const struct gptl_job *j, const struct gptl_open *a)
{
	return uid_eq(j->uid, current_euid()) && !memcmp(j->key, a->key, sizeof(j->key)) && j->jid == a->jid &&
	       j->nid == a->nid && j->size == a->size;
}

static struct gptl_job *job_new(const struct gptl_open *a)
{
	struct gptl_job *j = kzalloc(struct_size(j, member, a->size), GFP_KERNEL_ACCOUNT);

	if (!j)
		return NULL;
	kref_init(&j->ref);
	j->uid = current_euid();
	memcpy(j->key, a->key, sizeof(j->key));
	j->jid = a->jid;
	j->nid = a->nid;
	j->size = a->size;
	spin_lock_init(&j->lock);
	init_waitqueue_head(&j->wq);
	list_add(&j->list, &jobs);
	return j;
}

/* Has this user as many as it may? Each interface has a reference to its job. [gptl_jobs_lock] */
static bool user_full(void)
{
	struct gptl_job *j;
	unsigned int n = 0;

	list_for_each_entry(j, &jobs, list)
		if (uid_eq(j->uid, current_euid()))
			n += kref_read(&j->ref);
	return n >= READ_ONCE(max_per_user);
}

/* Take place @a->slot of the job. */
static long job_join(struct gptl_ni *ni, const struct gptl_open *a)
{
	struct gptl_job *j, *found = NULL;
	long rc = 0;

	if (mutex_lock_killable(&gptl_jobs_lock))
		return -EINTR;
	if (user_full()) {
		mutex_unlock(&gptl_jobs_lock);
		return -EMFILE;
	}
	list_for_each_entry(j, &jobs, list)
		if (!READ_ONCE(j->closing) && same(j, a) && kref_get_unless_zero(&j->ref)) {
			found = j;
			break;
		}
	if (!found)
		found = job_new(a);
	if (!found) {
		mutex_unlock(&gptl_jobs_lock);
		return -ENOMEM;
	}
	spin_lock(&found->lock);
	if (found->closing || rcu_access_pointer(found->member[a->slot].ni)) {
		rc = -EBUSY;
	} else {
		ni->job = found;
		found->member[a->slot].pid = a->pid;
		found->joined++;
		rcu_assign_pointer(found->member[a->slot].ni, ni);
	}
	spin_unlock(&found->lock);
	mutex_unlock(&gptl_jobs_lock);
	if (rc)
		job_put(found);
	return rc;
}

static bool limits_ok(const struct gptl_open *a)
{
	return a->size && a->size <= P3L_MAX_SLOTS && a->slot < a->size && a->max_me && a->max_me <= P3L_MAX_ME &&
	       a->max_md && a->max_md <= P3L_MAX_MD && a->max_eq && a->max_eq <= P3L_MAX_EQ && a->max_pt < P3L_MAX_PT &&
	       a->max_ac < P3L_MAX_AC && a->max_me_list && a->max_me_list <= P3L_MAX_ME && a->max_iov &&
	       a->max_iov <= P3L_MAX_IOV && a->max_getput && a->max_getput <= P3L_MAX_GETPUT &&
	       a->space >= PAGE_SIZE && a->space <= 1ULL << P3L_SPACE_LOG2 && a->pid <= 0x7fffffff;
}

static void ni_free(struct work_struct *w)
{
	struct gptl_ni *ni = container_of(to_rcu_work(w), struct gptl_ni, free);

	gptl_far_end(ni);
	gptl_pins_end(ni);
	if (ni->job)
		job_put(ni->job);
	gptl_region_free(ni->l);
	vfree(ni->claims);
	put_pid(ni->tgid);
	mmdrop(ni->mm);
	kfree(ni);
	if (atomic_dec_and_test(&ni_count))
		wake_up_all(&ni_gone);
}

static void ni_release(struct kref *ref)
{
	struct gptl_ni *ni = container_of(ref, struct gptl_ni, ref);

	queue_rcu_work(gptl_wq, &ni->free);
}

void gptl_ni_put(struct gptl_ni *ni)
{
	kref_put(&ni->ref, ni_release);
}

void gptl_quiesce(void)
{
	wait_event(ni_gone, !atomic_read(&ni_count));
	flush_workqueue(gptl_wq);
}

/* The region is of kernel memory that its process may map for reading; the claims, for writing. */
static struct gptl_ni *ni_new(const struct gptl_open *a)
{
	struct p3l_setup s = { .nid = a->nid, .pid = a->pid, .jid = a->jid, .slot = a->slot, .n_slots = GPTL_ROWS,
			       .lane_lines = 256, .max_me = a->max_me, .max_md = a->max_md, .max_eq = a->max_eq,
			       .max_pt = a->max_pt, .max_ac = a->max_ac, .max_me_list = a->max_me_list,
			       .max_iov = a->max_iov, .index_from = a->index_from, .space = a->space };
	struct gptl_ni *ni = kzalloc(sizeof(*ni), GFP_KERNEL_ACCOUNT);

	if (!ni)
		return NULL;
	ni->l = gptl_region_alloc(&s);
	ni->claims = __vmalloc(PAGE_SIZE, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!ni->l || !ni->claims) {
		gptl_region_free(ni->l);
		vfree(ni->claims);
		kfree(ni);
		return NULL;
	}
	s.uid = ni->uid = from_kuid_munged(current_user_ns(), current_euid());
	p3l_ni_setup(ni->l, &s);
	kref_init(&ni->ref);
	INIT_RCU_WORK(&ni->free, ni_free);
	INIT_WORK(&ni->sweep, gptl_sweep);
	init_waitqueue_head(&ni->wq);
	xa_init(&ni->pins);
	spin_lock_init(&ni->recent_lock);
	ni->slot = a->slot;
	ni->max_getput = a->max_getput;
	ni->mm = current->mm;
	mmgrab(ni->mm);
	ni->tgid = get_pid(task_tgid(current));
	return ni;
}

long gptl_ni_open(struct gptl_open *a, struct gptl_ni **out)
{
	struct gptl_ni *ni;
	long rc;

	if (a->abi != GPTL_ABI || a->layout != P3L_VERSION)
		return -EPROTO;
	if (!limits_ok(a))
		return -EINVAL;
	if ((unsigned int)atomic_inc_return(&ni_count) > READ_ONCE(max_interfaces)) {
		rc = -EMFILE;
		goto err_count;
	}
	rc = -ENOMEM;
	ni = ni_new(a);
	if (!ni)
		goto err_count;
	rc = job_join(ni, a);
	if (rc) {
		ni->job = NULL;
		gptl_ni_put(ni);	/* counts it down */
		return rc;
	}
	a->region = ni->l->size;
	*out = ni;
	return 0;
err_count:
	if (atomic_dec_and_test(&ni_count))
		wake_up_all(&ni_gone);
	return rc;
}

void gptl_ni_leave(struct gptl_ni *ni)
{
	struct gptl_job *j = ni->job;

	if (cmpxchg(&ni->left, 0, 1))
		return;
	spin_lock(&j->lock);
	ni->dead = true;
	j->closing = true;
	rcu_assign_pointer(j->member[ni->slot].ni, NULL);
	j->member[ni->slot].pid = PTL_PID_ANY;
	j->broken = true;
	p3_store_rel(&ni->l->up, 0);
	spin_unlock(&j->lock);
	gptl_far_leave(ni);
	wake_up_all(&j->wq);
	wake_up_all(&ni->wq);
}

struct gptl_ni *gptl_ni_seen(struct gptl_ni *own, u32 slot, u32 nid, u32 pid)
{
	struct gptl_job *j = own->job;

	if (slot >= j->size || nid != j->nid || pid == PTL_PID_ANY)	/* whoever has no pid yet has that one */
		return NULL;
	return READ_ONCE(j->member[slot].pid) == pid ? rcu_dereference_bh(j->member[slot].ni) : NULL;
}

struct gptl_ni *gptl_ni_get(struct gptl_ni *own, u32 slot, u32 nid, u32 pid)
{
	struct gptl_ni *ni;

	rcu_read_lock_bh();
	ni = gptl_ni_seen(own, slot, nid, pid);
	if (ni && !kref_get_unless_zero(&ni->ref))
		ni = NULL;
	rcu_read_unlock_bh();
	return ni;
}

/* All have come, and have said which pid they want: of several that want the same the first gets it. [job.lock] */
static void settle_pids(struct gptl_job *j)
{
	u32 i, k;

	for (i = 0; i < j->size; i++)
		for (k = 0; k < i && j->member[i].pid != PTL_PID_ANY; k++)
			if (j->member[k].pid == j->member[i].pid)
				WRITE_ONCE(j->member[i].pid, PTL_PID_ANY);
}

static bool round_over(struct gptl_job *j, u32 round)
{
	return READ_ONCE(j->round) != round || READ_ONCE(j->broken);
}

/* Wait for round @round to end. 0, -EPIPE, -ETIMEDOUT, -EINTR */
static long wait_round(struct gptl_job *j, u32 round, int timeout_ms)
{
	long t = timeout_ms < 0 ? MAX_SCHEDULE_TIMEOUT : (long)msecs_to_jiffies((unsigned int)timeout_ms) + 1;

	t = wait_event_killable_timeout(j->wq, round_over(j, round), t);
	if (READ_ONCE(j->round) != round)
		return 0;
	return t < 0 ? -EINTR : READ_ONCE(j->broken) ? -EPIPE : -ETIMEDOUT;
}

static long tell_pids(struct gptl_job *j, const struct gptl_meet *a)
{
	u32 __user *to = u64_to_user_ptr(a->pids);
	u32 i;

	if (!a->pids)
		return 0;
	for (i = 0; i < j->size && i < a->n; i++)
		if (put_user(READ_ONCE(j->member[i].pid), to + i))
			return -EFAULT;
	return 0;
}

long gptl_meet(struct gptl_ni *ni, const struct gptl_meet *a)
{
	struct gptl_job *j = ni->job;
	long rc = 0;
	u32 round;

	spin_lock(&j->lock);
	round = j->round;
	if (j->broken) {
		rc = -EPIPE;
	} else if (++j->arrived == j->size) {
		if (!round)
			settle_pids(j);
		j->arrived = 0;
		WRITE_ONCE(j->round, round + 1);
	}
	spin_unlock(&j->lock);
	wake_up_all(&j->wq);
	if (!rc)
		rc = wait_round(j, round, a->timeout_ms);
	if (rc) {			/* we do not wait any more: those who do need not either */
		spin_lock(&j->lock);
		j->broken |= j->round == round;
		spin_unlock(&j->lock);
		wake_up_all(&j->wq);
		return rc;
	}
	rc = tell_pids(j, a);
	if (!rc && !round && READ_ONCE(j->member[ni->slot].pid) == PTL_PID_ANY)
		rc = PTL_PID_INVALID;
	return rc;
}

long gptl_pids(struct gptl_ni *ni, const struct gptl_meet *a)
{
	return tell_pids(ni->job, a);
}

/* Nobody has used it yet: it had no pid. */
static void other_limits(struct p3l_ni *l, const struct gptl_open *a)
{
	u32 i;

	l->pid = a->pid;
	l->max_me = a->max_me;
	l->max_md = a->max_md;
	l->max_eq = a->max_eq;
	l->max_pt = a->max_pt;
	l->max_me_list = a->max_me_list;
	l->max_iov = a->max_iov;
	for (i = l->max_ac + 1; i <= a->max_ac; i++)
		l->ac[i] = l->ac[0];
	l->max_ac = a->max_ac;
}

long gptl_pid(struct gptl_ni *ni, const struct gptl_open *a)
{
	struct gptl_job *j = ni->job;
	long rc = PTL_OK;
	u32 i;

	if (!limits_ok(a))
		return -EINVAL;
	spin_lock(&j->lock);
	if (j->member[ni->slot].pid != PTL_PID_ANY)
		rc = -EBUSY;
	for (i = 0; i < j->size; i++)
		if (j->member[i].pid == a->pid && i != ni->slot)
			rc = PTL_PID_INVALID;
	if (rc == PTL_OK && !ni->dead) {
		other_limits(ni->l, a);
		ni->max_getput = a->max_getput;
		WRITE_ONCE(j->member[ni->slot].pid, a->pid);
	}
	spin_unlock(&j->lock);
	return rc;
}
