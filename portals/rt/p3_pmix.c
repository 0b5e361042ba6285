/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmix.c - PMIx, by libpmix.so.2, loaded when a launcher speaks it
 *
 * Neither its header nor the library is needed to build: what of its interface is used (six structures, eight
 * calls, a few keys) has been the same since version 2 of the library, and a test compares it with the header
 * where there is one.
 *
 * The library waits for the launcher without a limit of ours, so its calls are made by a thread: the caller
 * waits for the thread, as long as it likes. When time is up the thread stays where it is, with what it works on
 * (everything it touches is in the static call below), and the connection is given up for good. Between two
 * calls the thread waits and the caller owns the call; @asked hands it over, under the mutex.
 *
 * A fence brings all that was put before to all.
 */
#include "config.h"

#include "p3_pmi_in.h"
#include "p3_map.h"
#include "p3_pmix_abi.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND	0
#endif

enum { KEY_MAX = 64, VALUE_MAX = 1024 };	/* as the others, so that no job depends on its launcher */

static struct {
	int (*init)(struct p3_pmix_proc *me, struct p3_pmix_info *info, size_t n);
	int (*finalize)(const struct p3_pmix_info *info, size_t n);
	int (*abort)(int status, const char *msg, struct p3_pmix_proc *procs, size_t n);
	int (*put)(uint8_t scope, const char *key, struct p3_pmix_value *v);
	int (*commit)(void);
	int (*fence)(const struct p3_pmix_proc *procs, size_t n, const struct p3_pmix_info *info, size_t ninfo);
	int (*get)(const struct p3_pmix_proc *p, const char *key, const struct p3_pmix_info *info, size_t n,
		   struct p3_pmix_value **v);
	const char *(*error_string)(int status);
	void (*free)(void *p);		/* that of its C library */
} pmix;

static struct {			/* what the thread works on, and what came of it */
	struct p3_pmix_proc me;
	char key[KEY_MAX], value[P3_PMI_LINE];
	int code;
	uint32_t size, *node;	/* node: [size], the call's own */
	int dirty;		/* values were put since the last fence */
} call;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved;
static int (*asked)(void);	/* NULL: the thread has nothing to do; under lock */
static int result;
static int up;			/* the thread lives, the library is initialised, no call was abandoned */

/* ---- the calls, made by the thread; each gives the library's status ---- */

static void info_bool(struct p3_pmix_info *i, const char *key)
{
	memset(i, 0, sizeof(*i));
	snprintf(i->key, sizeof(i->key), "%s", key);
	i->value.type = P3_PMIX_BOOL;
	i->value.data.flag = 1;
}

static struct p3_pmix_proc of_rank(uint32_t rank)
{
	struct p3_pmix_proc p = call.me;

	p.rank = rank;
	return p;
}

static void value_free(struct p3_pmix_value *v)
{
	if (v->type == P3_PMIX_STRING)
		pmix.free(v->data.string);
	pmix.free(v);
}

/* A value of our job that is a string: into call.value. */
static int get_string(uint32_t rank, const char *key, const struct p3_pmix_info *info, size_t ninfo)
{
	struct p3_pmix_proc p = of_rank(rank);
	struct p3_pmix_value *v = NULL;
	int rc = pmix.get(&p, key, info, ninfo, &v);

	if (rc)
		return rc;
	if (!v || v->type != P3_PMIX_STRING || !v->data.string || strlen(v->data.string) >= sizeof(call.value))
		rc = P3_PMIX_NOT_FOUND;
	else
		strcpy(call.value, v->data.string);
	if (v)
		value_free(v);
	return rc;
}

static int get_number(uint32_t rank, const char *key, uint32_t *out)
{
	struct p3_pmix_proc p = of_rank(rank);
	struct p3_pmix_value *v = NULL;
	struct p3_pmix_info local;
	int rc;

	info_bool(&local, P3_PMIX_K_OPTIONAL);	/* the launcher said it at the start, or not at all */
	rc = pmix.get(&p, key, &local, 1, &v);
	if (rc)
		return rc;
	if (!v || v->type != P3_PMIX_UINT32)
		rc = P3_PMIX_NOT_FOUND;
	else
		*out = v->data.uint32;
	if (v)
		value_free(v);
	return rc;
}

static int do_init(void)
{
	int rc = pmix.init(&call.me, NULL, 0);

	return rc ? rc : get_number(P3_PMIX_JOB, P3_PMIX_K_JOB_SIZE, &call.size);
}

/* The launcher's number of the node of each rank; where it has none, equal names of hosts. */
static int do_nodes(void)
{
	uint64_t *name;
	struct p3_pmix_info local;
	int rc = 0;

	for (uint32_t r = 0; r < call.size && !rc; r++)
		rc = get_number(r, P3_PMIX_K_NODEID, &call.node[r]);
	if (!rc)
		return 0;
	name = malloc(call.size * sizeof(*name));
	if (!name)
		return P3_PMIX_NOT_FOUND;
	info_bool(&local, P3_PMIX_K_OPTIONAL);
	rc = 0;
	for (uint32_t r = 0; r < call.size && !rc; r++) {
		rc = get_string(r, P3_PMIX_K_HOSTNAME, &local, 1);
		if (rc)
			break;
		name[r] = p3_map_hash(P3_MAP_HASH0, call.value, strlen(call.value));
		for (call.node[r] = 0; name[call.node[r]] != name[r]; call.node[r]++)
			;
	}
	free(name);
	return rc;
}

static int do_put(void)
{
	struct p3_pmix_value v = { .type = P3_PMIX_STRING, .data.string = call.value };

	return pmix.put(P3_PMIX_GLOBAL, call.key, &v);
}

static int do_fence(void)
{
	struct p3_pmix_info collect;
	int rc = call.dirty ? pmix.commit() : 0;

	info_bool(&collect, P3_PMIX_K_COLLECT_DATA);
	return rc ? rc : pmix.fence(NULL, 0, &collect, 1);
}

/*
 * call.key of one rank: @attr says how far to look (P3_PMIX_K_OPTIONAL: not beyond what the fence has brought to
 * this node).
 */
static int get_of(uint32_t rank, const char *attr)
{
	struct p3_pmix_info how;

	info_bool(&how, attr);
	return get_string(rank, call.key, &how, 1);
}

/*
 * Here a key belongs to the rank that has put it, and to ask for one whoever put it does not work in OpenPMIx
 * 4.2. Our keys end in the number of that rank or are rank 0's; others, and those of reordered ranks, are looked
 * for.
 */
static int do_get(void)
{
	const char *dash = strrchr(call.key, '-');
	unsigned long guess = dash ? strtoul(dash + 1, NULL, 10) : 0;
	int rc = P3_PMIX_NOT_FOUND;

	if (guess && guess < call.size)
		rc = get_of((uint32_t)guess, P3_PMIX_K_IMMEDIATE);
	if (rc)
		rc = get_of(0, P3_PMIX_K_IMMEDIATE);
	for (uint32_t r = 1; rc && r < call.size; r++)
		rc = get_of(r, P3_PMIX_K_OPTIONAL);
	for (uint32_t r = 1; rc && r < call.size; r++)
		rc = get_of(r, P3_PMIX_K_IMMEDIATE);
	return rc;
}

static int do_abort(void)
{
	return pmix.abort(call.code, "a rank has failed", NULL, 0);
}

static int do_finalize(void)
{
	return pmix.finalize(NULL, 0);
}

/* ---- the thread ---- */

static void *worker(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		int (*fn)(void), rc;

		while (!asked)
			pthread_cond_wait(&moved, &lock);
		fn = asked;
		pthread_mutex_unlock(&lock);
		rc = fn();
		pthread_mutex_lock(&lock);
		result = rc;
		asked = NULL;
		pthread_cond_broadcast(&moved);
	}
	return NULL;
}

static int start_worker(void)
{
	pthread_condattr_t a;
	sigset_t all, old;
	pthread_t id;
	int rc;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(&moved, &a);
	pthread_condattr_destroy(&a);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);		/* the library's own threads inherit that */
	rc = pthread_create(&id, NULL, worker, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!rc)
		pthread_detach(id);
	return rc;
}

/*
 * Until the thread is done, or @ms (below 0: for ever, with p->meantime now and then). 1 done, 0 time is up;
 * under lock.
 */
static int await(struct p3_pmi *p, int ms)
{
	int64_t end = p3_pmi_now_ms() + ms;

	while (asked) {
		int64_t ns = (int64_t)3600 * 1000000000;
		struct timespec t;

		if (ms >= 0) {
			ns = (end - p3_pmi_now_ms()) * 1000000;
			if (ns <= 0)
				return 0;
		} else if (p->meantime) {
			pthread_mutex_unlock(&lock);
			ns = p->meantime(p->arg);
			pthread_mutex_lock(&lock);
			if (!asked)
				break;
		}
		clock_gettime(CLOCK_MONOTONIC, &t);
		ns += t.tv_nsec;
		t.tv_sec += ns / 1000000000;
		t.tv_nsec = ns % 1000000000;
		pthread_cond_timedwait(&moved, &lock, &t);
	}
	return 1;
}

/* Have the thread make the call. 0; 1: it failed, p->err says how; -errno: no connection any more. */
static int run(struct p3_pmi *p, int (*fn)(void), const char *what, int timeout_ms)
{
	int rc, status;

	if (!up)
		return -EPIPE;
	if (p->pid != getpid())
		return p3_pmi_fail(p, -EPIPE, "this is a forked child: the launcher knows only its parent");
	pthread_mutex_lock(&lock);
	asked = fn;
	pthread_cond_broadcast(&moved);
	rc = await(p, timeout_ms);
	status = result;
	pthread_mutex_unlock(&lock);
	if (!rc) {
		up = 0;
		snprintf(p->err, sizeof(p->err),
			 "the launcher's PMIx did not answer (%s) within %d ms", what, timeout_ms);
		return -ETIMEDOUT;
	}
	if (!status)
		return 0;
	snprintf(p->err, sizeof(p->err),
		 "the launcher's PMIx refused %s: %.100s (%d)", what, pmix.error_string(status), status);
	return 1;
}

/* ---- the operations ---- */

/*
 * libpmix calls libevent, and libev, which our network transport brings into the process, has functions of the
 * same names for programs of old: where its come first, libpmix must look into its own libraries before
 * (RTLD_DEEPBIND). It then has the C library's malloc also where the rest of the process has another, while what
 * the C library gives it (strdup) comes from that other: so not there.
 */
static int libev_in_front(void)
{
	void *add = dlsym(RTLD_DEFAULT, "event_add"), *run = dlsym(RTLD_DEFAULT, "ev_run");
	Dl_info a, r;

	return add && run && dladdr(add, &a) && dladdr(run, &r) && a.dli_fbase == r.dli_fbase;
}

static int malloc_is_libc(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), *theirs;

	if (!libc)
		return 0;
	theirs = dlsym(libc, "malloc");
	dlclose(libc);
	return theirs && theirs == dlsym(RTLD_DEFAULT, "malloc");
}

/*
 * A program that names "environ" has a copy, which the C library uses; looked up as above, the library finds the
 * other.
 */
static void give_environ(void *lib)
{
	char ***theirs = (char ***)dlsym(lib, "environ");

	if (theirs && !*theirs)
		*theirs = environ;
}

static int load(struct p3_pmi *p)
{
	static const struct { const char *name; void *to; } calls[] = {
		{ "PMIx_Init", &pmix.init }, { "PMIx_Finalize", &pmix.finalize }, { "PMIx_Abort", &pmix.abort },
		{ "PMIx_Put", &pmix.put }, { "PMIx_Commit", &pmix.commit }, { "PMIx_Fence", &pmix.fence },
		{ "PMIx_Get", &pmix.get }, { "PMIx_Error_string", &pmix.error_string },
		{ "free", &pmix.free },
	};
	int apart = libev_in_front();
	void *lib;

	if (apart && !malloc_is_libc()) {
		snprintf(p->err, sizeof(p->err),
			 "the launcher speaks PMIx, whose library cannot live with libev and a malloc of the "
			 "program's own (libsmartmap-malloc): use srun --mpi=pmi2, or aprun");
		return -1;
	}
	lib = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | (apart ? RTLD_DEEPBIND : 0));

	if (!lib) {
		const char *why = dlerror();

		snprintf(p->err, sizeof(p->err),
			 "the launcher speaks PMIx, and its library cannot be loaded (%.120s); "
			 "Debian: package libpmix2", why ? why : "?");
		return -1;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		void *f = dlsym(lib, calls[i].name);

		if (!f) {
			snprintf(p->err, sizeof(p->err),
				 "the launcher speaks PMIx, but libpmix.so.2 has no %s", calls[i].name);
			return -1;
		}
		memcpy(calls[i].to, &f, sizeof(f));
	}
	if (apart)
		give_environ(lib);
	else
		pmix.free = free;
	return 0;
}

static int start(struct p3_pmi *p, int timeout_ms)
{
	int rc;

	if (load(p))
		return -1;
	rc = start_worker();
	if (rc) {
		snprintf(p->err, sizeof(p->err), "no thread for PMIx: %s", strerror(rc));
		return -1;
	}
	p->pid = getpid();
	up = 1;
	rc = run(p, do_init, "PMIx_Init", timeout_ms);
	if (rc)
		goto failed;
	call.me.nspace[sizeof(call.me.nspace) - 1] = 0;
	if (!call.me.nspace[0] || !call.size || call.size > 1 << 24 || call.me.rank >= call.size) {
		p3_pmi_fail(p, -1, "the launcher's PMIx gives no name, rank or size that makes sense");
		goto failed;
	}
	p->rank = (int)call.me.rank;
	p->size = (int)call.size;
	snprintf(p->kvsname, sizeof(p->kvsname), "%.255s", call.me.nspace);
	p->kvsname_max = sizeof(p->kvsname);
	p->key_max = KEY_MAX;
	p->value_max = VALUE_MAX;
	return 0;
failed:
	up = 0;
	return -1;
}

static int nodes(struct p3_pmi *p, uint32_t *node)
{
	int n = -1;

	call.node = calloc(call.size, sizeof(*call.node));
	if (!call.node)
		return p3_pmi_fail(p, -1, "no memory for the nodes of the ranks");
	if (run(p, do_nodes, "the nodes of the ranks", P3_PMI_ASK_MS))
		return -1;		/* the thread may still write there */
	n = p3_map_dense(call.node, call.size, node);
	free(call.node);
	if (n < 0)
		return p3_pmi_fail(p, -1, "no memory for the nodes of the ranks");
	return n;
}

static int barrier(struct p3_pmi *p, int timeout_ms)
{
	int rc = run(p, do_fence, "a fence", timeout_ms);

	call.dirty = 0;
	if (rc <= 0)
		return rc;
	up = 0;
	return -EPIPE;
}

static int put(struct p3_pmi *p, const char *key, const char *value)
{
	int rc;

	if (!p3_pmi_carries(key, KEY_MAX) || !p3_pmi_carries(value, VALUE_MAX))
		return p3_pmi_fail(p, -EINVAL,
				   "a key or value is empty, too long or has a character that PMI cannot carry");
	if (!up)
		return -EPIPE;
	strcpy(call.key, key);
	strcpy(call.value, value);
	call.dirty = 1;
	rc = run(p, do_put, "a value", P3_PMI_ASK_MS);
	return rc > 0 ? -EIO : rc;
}

static int get(struct p3_pmi *p, const char *key, char *value, size_t len)
{
	int rc;

	if (!p3_pmi_carries(key, KEY_MAX))
		return p3_pmi_fail(p, -EINVAL, "a key is empty, too long or has a character that PMI cannot carry");
	if (!up)
		return -EPIPE;
	strcpy(call.key, key);
	rc = run(p, do_get, "a key", P3_PMI_ASK_MS);
	if (rc)
		return rc > 0 ? -ENOENT : rc;
	if (strlen(call.value) >= len)
		return p3_pmi_fail(p, -ENOSPC, "a value is longer than expected");
	strcpy(value, call.value);
	return 0;
}

static int usable(const struct p3_pmi *p)
{
	return up && p->pid == getpid();
}

static void end_job(struct p3_pmi *p, int code)
{
	int64_t end = p3_pmi_now_ms() + P3_PMI_END_MS;
	struct timespec nap = { 0, 10000000 };

	call.code = code;
	if (!run(p, do_abort, "the end of the job", P3_PMI_END_MS))
		while (p3_pmi_now_ms() < end)		/* we are killed meanwhile */
			nanosleep(&nap, NULL);
	up = 0;
}

static void finalize(struct p3_pmi *p)
{
	run(p, do_finalize, "the end", P3_PMI_END_MS);
	up = 0;
}

const struct p3_pmi_ops p3_pmix_ops = {
	.name = "PMIx", .open = start, .nodes = nodes, .barrier = barrier, .put = put, .get = get,
	.usable = usable, .abort = end_job, .finalize = finalize,
};
