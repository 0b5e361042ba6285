/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * init.c - start and end, attributes, what the job is, errors
 *
 * init and finalize are collective and counted. The attributes of a process are set by its first init; those that may
 * change later are a plain number (routing) or a thread's own (offload_threshold).
 */
#include <stdlib.h>

#include "dmappi.h"

struct dmappi dmappi;

/* ---- errors ---- */

static const char *const text_of[] = {
	[DMAPP_RC_SUCCESS] = "success",
	[DMAPP_RC_INVALID_PARAM] =
		"an argument makes no sense or lies outside of its segment, or DMAPP is not started",
	[DMAPP_RC_ALIGNMENT_ERROR] = "an address is not aligned to 8 bytes",
	[DMAPP_RC_TRANSACTION_ERROR] = "data could not be moved: the other PE has ended, or the memory is not there",
	[DMAPP_RC_RESOURCE_ERROR] = "too many operations are under way: complete some, then call again",
	[DMAPP_RC_PERMISSION_ERROR] = "this memory cannot be reached in this way",
	[DMAPP_RC_NO_SPACE] = "a table is full, or there is no memory",
	[DMAPP_RC_NOT_DONE] = "not complete yet",
	[DMAPP_RC_NOT_SUPPORTED] = "not supported",
	[DMAPP_RC_NOT_FOUND] = "there is no such handle or segment, or no longer",
	[DMAPP_RC_BUSY] = "in use: the lock is held, or an operation is under way",
	[DMAPP_RC_NOT_USED] = "no call returns this",
};

dmapp_return_t dmapp_explain_error(dmapp_return_t err, const char **text)
{
	bool known = (unsigned)err < sizeof(text_of) / sizeof(*text_of);

	if (!text)
		return DMAPP_RC_INVALID_PARAM;
	*text = known ? text_of[err] : "unknown";
	return known ? DMAPP_RC_SUCCESS : DMAPP_RC_INVALID_PARAM;
}

dmapp_return_t dmapp_get_version(int *major, int *minor, const char **text)
{
	if (major)
		*major = DMAPP_VERSION;
	if (minor)
		*minor = 0;
	if (text)
		*text = "DMAPP 1.0 on Portals and SMARTMAP";
	return DMAPP_RC_SUCCESS;
}

dmapp_return_t dmapp_checkpoint(void)
{
	return DMAPP_RC_NOT_SUPPORTED;
}

dmapp_return_t dmapp_restart(uint32_t flags)
{
	(void)flags;
	return DMAPP_RC_NOT_SUPPORTED;
}

/* ---- attributes ---- */

static dmapp_rma_attrs_ext_t defaults(const struct dmappi_env *env)
{
	return (dmapp_rma_attrs_ext_t){
		.max_outstanding_nb = env->outstanding, .offload_threshold = env->threshold,
		.put_relaxed_ordering = DMAPP_ROUTING_ADAPTIVE, .get_relaxed_ordering = DMAPP_ROUTING_ADAPTIVE,
		.max_concurrency = 1, .PI_ordering = DMAPP_PI_ORDERING_DEFAULT,
		.queue_depth = DMAPP_QUEUE_DEFAULT_DEPTH, .queue_nelems = DMAPP_QUEUE_DEFAULT_NELEMS,
	};
}

static bool sensible(const dmapp_rma_attrs_ext_t *a)
{
	return a->max_outstanding_nb >= DMAPP_MIN_OUTSTANDING_NB && a->max_outstanding_nb <= DMAPP_MAX_OUTSTANDING_NB &&
		a->put_relaxed_ordering <= DMAPP_ROUTING_ADAPTIVE_3 &&
		a->get_relaxed_ordering <= DMAPP_ROUTING_ADAPTIVE_3 &&
		a->max_concurrency && (unsigned)a->PI_ordering <= DMAPP_PI_ORDERING_RELAXED &&
		a->queue_depth && a->queue_depth <= DMAPP_QUEUE_MAX_DEPTH &&
		a->queue_nelems && a->queue_nelems <= DMAPP_QUEUE_MAX_NELEMS &&
		a->queue_depth * (32 + 16 * (size_t)a->queue_nelems) <= DMAPPI_QUEUE_BYTES &&
		!(a->queue_flags & ~DMAPP_QUEUE_ASYNC_PROGRESS);
}

/* As they are for the calling thread. */
static dmapp_rma_attrs_ext_t current(void)
{
	struct dmappi_env env;
	dmapp_rma_attrs_ext_t a = dmappi.attrs;

	if (!dmappi.npes) {
		dmappi_env_read(&env, false);	/* init says what is bad there */
		a = defaults(&env);
	}
	if (dmappi.npes && dmappi_self())
		a.offload_threshold = dmappi_self()->threshold;
	return a;
}

dmapp_return_t dmapp_get_rma_attrs_ext(dmapp_rma_attrs_ext_t *attrs)
{
	if (!attrs)
		return DMAPP_RC_INVALID_PARAM;
	*attrs = current();
	return DMAPP_RC_SUCCESS;
}

static void shorten(const dmapp_rma_attrs_ext_t *a, dmapp_rma_attrs_t *attrs)
{
	*attrs = (dmapp_rma_attrs_t){ a->max_outstanding_nb, a->offload_threshold, a->put_relaxed_ordering,
				      a->get_relaxed_ordering, a->max_concurrency };
}

/* @attrs, and what it does not say as it is. */
static dmapp_rma_attrs_ext_t lengthen(const dmapp_rma_attrs_t *attrs)
{
	dmapp_rma_attrs_ext_t a = current();

	a.max_outstanding_nb = attrs->max_outstanding_nb;
	a.offload_threshold = attrs->offload_threshold;
	a.put_relaxed_ordering = attrs->put_relaxed_ordering;
	a.get_relaxed_ordering = attrs->get_relaxed_ordering;
	a.max_concurrency = attrs->max_concurrency;
	return a;
}

dmapp_return_t dmapp_get_rma_attrs(dmapp_rma_attrs_t *attrs)
{
	dmapp_rma_attrs_ext_t a = current();

	if (!attrs)
		return DMAPP_RC_INVALID_PARAM;
	shorten(&a, attrs);
	return DMAPP_RC_SUCCESS;
}

static bool same_from_init(const dmapp_rma_attrs_ext_t *a, const dmapp_rma_attrs_ext_t *b)
{
	return a->max_outstanding_nb == b->max_outstanding_nb && a->max_concurrency == b->max_concurrency &&
		a->PI_ordering == b->PI_ordering && a->queue_depth == b->queue_depth &&
		a->queue_nelems == b->queue_nelems && a->queue_flags == b->queue_flags;
}

dmapp_return_t dmapp_set_rma_attrs_ext(dmapp_rma_attrs_ext_t *requested, dmapp_rma_attrs_ext_t *actual)
{
	if (!dmappi.npes || !requested || !sensible(requested) || !same_from_init(requested, &dmappi.attrs))
		return DMAPP_RC_INVALID_PARAM;
	if (!dmappi_self())
		return DMAPP_RC_NO_SPACE;
	dmappi_self()->threshold = requested->offload_threshold;
	dmappi.attrs.put_relaxed_ordering = requested->put_relaxed_ordering;
	dmappi.attrs.get_relaxed_ordering = requested->get_relaxed_ordering;
	if (actual)
		*actual = current();
	return DMAPP_RC_SUCCESS;
}

dmapp_return_t dmapp_set_rma_attrs(dmapp_rma_attrs_t *requested, dmapp_rma_attrs_t *actual)
{
	dmapp_rma_attrs_ext_t a;
	dmapp_return_t rc;

	if (!requested)
		return DMAPP_RC_INVALID_PARAM;
	a = lengthen(requested);
	rc = dmapp_set_rma_attrs_ext(&a, &a);
	if (rc == DMAPP_RC_SUCCESS && actual)
		shorten(&a, actual);
	return rc;
}

/* ---- start and end ---- */

static void segment(int kind, uintptr_t at, size_t len)
{
	dmappi.len[kind] = len;
	dmappi.seg[kind] = (dmapp_seg_desc_t){ .addr = (void *)at, .len = len, .owner = UINT32_MAX,
					       .flags = DMAPPI_SEG_MAGIC + (uint32_t)kind };
}

static void stop(void)
{
	dmappi_psets_end();
	dmappi_queue_end();
	dmappi_engine_end();
	dmappi_mem_end();
	dmappi_lock_end();
	dmappi_sync_end();
	for (int k = 0; k < DMAPPI_SYMMETRIC; k++)
		free(dmappi.base[k]);
	memset(dmappi.work, 0, sizeof(*dmappi.work));
	dmappi = (struct dmappi){ .threads = dmappi.threads };
}

static dmapp_return_t start(const dmapp_rma_attrs_ext_t *requested)
{
	const struct shmemi *job = JOB;
	dmapp_return_t rc = DMAPP_RC_NO_SPACE;
	bool bad = false;

	if (L->start())
		return DMAPP_RC_NOT_SUPPORTED;
	dmappi.pe = job->pe;
	dmappi.work = (struct dmappi_work *)(job->heap + SHMEMI_WORK);
	segment(DMAPPI_DATA, job->data, job->data_size);
	segment(DMAPPI_SHEAP, job->heap + SHMEMI_RESERVED, job->heap_size - SHMEMI_RESERVED);
	segment(DMAPPI_WORK, job->heap + SHMEMI_WORK, SHMEMI_WORK_ABOVE);
	for (int k = 0; k < DMAPPI_SYMMETRIC; k++) {
		dmappi.base[k] = calloc((size_t)job->n_pes, sizeof(*dmappi.base[k]));
		bad |= !dmappi.base[k];
	}
	dmappi.npes = (uint32_t)job->n_pes;
	if (!bad)
		rc = dmappi_env_agree(&dmappi.env);
	if (rc == DMAPP_RC_SUCCESS) {
		dmappi.attrs = requested ? *requested : defaults(&dmappi.env);
		if (dmappi_sync_start() || dmappi_lock_start() || dmappi_queue_start() || dmappi_engine_start() ||
		    dmappi_mem_start())
			rc = DMAPP_RC_NO_SPACE;
	}
	if (rc != DMAPP_RC_SUCCESS) {
		stop();
		L->end();
		return rc;
	}
	dmappi.inits = 1;
	L->barrier();			/* from here on others find what they may look for */
	return DMAPP_RC_SUCCESS;
}

dmapp_return_t dmapp_init_ext(dmapp_rma_attrs_ext_t *requested, dmapp_rma_attrs_ext_t *actual)
{
	dmapp_return_t rc;

	if (dmappi.npes) {
		rc = requested ? dmapp_set_rma_attrs_ext(requested, actual) : DMAPP_RC_SUCCESS;
		dmappi.inits += rc == DMAPP_RC_SUCCESS;
	} else {
		if (requested && !sensible(requested))
			return DMAPP_RC_INVALID_PARAM;
		rc = start(requested);
	}
	if (rc == DMAPP_RC_SUCCESS && actual)
		*actual = current();
	return rc;
}

dmapp_return_t dmapp_init(dmapp_rma_attrs_t *requested, dmapp_rma_attrs_t *actual)
{
	dmapp_rma_attrs_ext_t a;
	dmapp_return_t rc;

	if (requested)
		a = lengthen(requested);
	rc = dmapp_init_ext(requested ? &a : NULL, &a);
	if (rc == DMAPP_RC_SUCCESS && actual)
		shorten(&a, actual);
	return rc;
}

dmapp_return_t dmapp_initialized(int *flag)
{
	if (!flag)
		return DMAPP_RC_INVALID_PARAM;
	*flag = dmappi.npes != 0;
	return DMAPP_RC_SUCCESS;
}

dmapp_return_t dmapp_finalize(void)
{
	if (!dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	if (dmappi.inits > 1) {
		dmappi.inits--;
		return DMAPP_RC_SUCCESS;
	}
	if (dmappi_queue_any())
		return DMAPP_RC_BUSY;
	dmappi_sync_last();
	L->barrier();			/* behind it nobody begins anything */
	stop();
	L->end();
	return DMAPP_RC_SUCCESS;
}

dmapp_return_t dmapp_get_jobinfo(dmapp_jobinfo_t *info)
{
	if (!info || !dmappi.npes)
		return DMAPP_RC_INVALID_PARAM;
	*info = (dmapp_jobinfo_t){ .version = DMAPP_VERSION, .npes = (int)dmappi.npes, .pe = dmappi.pe,
				   .data_seg = dmappi.seg[DMAPPI_DATA], .sheap_seg = dmappi.seg[DMAPPI_SHEAP] };
	return DMAPP_RC_SUCCESS;
}
