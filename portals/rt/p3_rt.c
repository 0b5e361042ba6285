/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_rt.c - the job: put together once, from a launcher (PMI), from the reference's variables, or alone
 *
 * What PMI ranks exchange, with one barrier: launch rank 0 puts the secret key and the rank order; each rank puts its
 * cores. Everything else (nodes, local ranks, ids) each rank computes from the launcher's process mapping, with the
 * same result everywhere. Only launch rank 0 reads MPICH_RANK_ORDER: the file may be missing or different elsewhere,
 * all ranks must agree, and a bad file then earns one line and not one per rank.
 *
 * The job is built under one mutex and never changes or goes away. PMI calls are serialised by the same mutex.
 *
 * Who says "finalize" to the launcher: the other PMI client where there is one (PtlRtPmiShared_np). Else we do, when
 * the process exits; PtlFini would be too early, since the library may be opened again.
 *
 * A rank that exits without having closed the library (PtlFini, MPI_Finalize):
 *
 *	status not 0, connection ours		has failed: one sentence, and the launcher ends the job with that status
 *	status not 0, connection shared (MPI)	the launcher sees the status by itself and says so
 *	status 0, connection ours		has left: Portals knows no duty to close. The others go on; what they
 *						send it fails
 *	status 0, connection shared (MPI)	the others may wait for it for ever, and the launcher takes 0 for a good
 *						end: one sentence, and the launcher ends the job with status 1
 *
 * After a signal or _exit() nothing is said, and the launcher ends the job by itself. The rule is applied in a
 * destructor, since an exit handler of the program's may still close the library; on_exit() only tells it the status.
 */
#include "config.h"

#include "p3_rt.h"
#include "p3_cpus.h"
#include "p3_env.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_map.h"
#include "p3_pmi.h"

#include <p3api/api.h>
#include <p3rt/p3rt.h>
#include <smartmap/smartmap.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#ifdef HAVE_SYS_SINGLE_THREADED_H
#include <sys/single_threaded.h>
#endif
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#pragma weak PtlNIHandle

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct p3_rt_job the_job;
static struct p3_pmi the_pmi = { .fd = -1 };
static char the_err[600];
static enum { RT_NEW, RT_OK, RT_BAD } state;
static int pmi_shared;			/* another client of this process owns the connection */
static int armed, exit_status;		/* the job has a launcher; what exit() was called with */
static void (*before_end)(void);	/* p3_rt_at_end() */
static int done;			/* whatever the exit status, this rank has ended well */
static uint32_t told_jid;		/* by PtlSetJID; 0: not */
static int node_cores;			/* cores that the ranks of this node may use together */

/* ---- processors ---- */

int p3_rt_cores(void)
{
	struct p3_cpus c;
	int n;

	if (p3_cpus_get(0, &c) || (n = p3_cpus_count(&c)) < 1)
		return 1;
	return n;
}

int p3_rt_oversubscribed_with(uint32_t more)
{
	const struct p3_rt_job *j = p3_rt_get(NULL);

	/* virtual nodes share the cores of one machine */
	return j && (j->machines ? j->local_size + more : j->size + j->nodes * more) >
		    (uint32_t)(node_cores > 0 ? node_cores : p3_rt_cores());
}

int p3_rt_oversubscribed(void)
{
	return p3_rt_oversubscribed_with(0);
}

/* ---- building the job ---- */

static int no_memory(uint32_t size)
{
	snprintf(the_err, sizeof(the_err), "no memory for the maps of %u ranks", size);
	return -1;
}

static int job_alloc(struct p3_rt_job *j, uint32_t size)
{
	uint32_t *m = calloc(6 * (size_t)size, sizeof(*m));

	if (!m)
		return no_memory(size);
	j->size = size;
	j->node_of = m;
	j->local_of = m + size;
	j->nid = m + 2 * (size_t)size;
	j->pid = m + 3 * (size_t)size;
	j->local_ranks = m + 4 * (size_t)size;
	j->launch_of = m + 5 * (size_t)size;
	return 0;
}

static void job_free(struct p3_rt_job *j)
{
	free(j->node_of);
	memset(j, 0, sizeof(*j));
}

/* From rank and node_of: local ranks, in rank order on each node. */
static int job_locals(struct p3_rt_job *j)
{
	uint32_t *count = calloc((size_t)j->nodes + 1, sizeof(*count));

	if (!count)
		return no_memory(j->size);
	for (uint32_t r = 0; r < j->size; r++)
		j->local_of[r] = count[j->node_of[r]]++;
	j->node = j->node_of[j->rank];
	j->local_rank = j->local_of[j->rank];
	j->local_size = 0;
	for (uint32_t r = 0; r < j->size; r++)
		if (j->node_of[r] == j->node)
			j->local_ranks[j->local_size++] = r;
	free(count);
	return 0;
}

/*
 * Where there is none (no /proc), the name of the machine: the same for all its ranks. So no rank may take that for a
 * failure of its own; it would wait for the others under another name.
 */
static int boot_id(char *s, size_t len)
{
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd >= 0) {
		do
			n = read(fd, s, len - 1);
		while (n < 0 && errno == EINTR);
		close(fd);
	}
	if (fd < 0 && errno != ENOENT && errno != EACCES && errno != EPERM)
		n = -1;
	if (n < 0) {
		snprintf(the_err, sizeof(the_err), "the boot id of this machine cannot be read: %s", strerror(errno));
		return -1;
	}
	s[n] = 0;
	s[strcspn(s, "\n")] = 0;
	if (!s[0])
		gethostname(s, len);
	s[len - 1] = 0;
	return 0;
}

/* Two containers of one machine have each a 127.0.0.1 of its own. */
static void net_id(struct p3_rt_job *j)
{
	struct stat st;

	if (stat("/proc/self/ns/net", &st))
		st.st_ino = 0;
	snprintf(j->net, sizeof(j->net), "%s.%llx", j->boot, (unsigned long long)st.st_ino);
}

/* Unique among the jobs of this machine and boot: kind, user, hash of what identifies the job, node, boot. */
static int job_name(struct p3_rt_job *j, const char *kind, uint64_t hash)
{
	if (boot_id(j->boot, sizeof(j->boot)))
		return -1;
	snprintf(j->name, sizeof(j->name), "p3-%s-%u-%016llx-n%u-%s", kind, j->uid, (unsigned long long)hash, j->node,
		 j->boot);
	net_id(j);
	return 0;
}

static uint32_t jid_of(uint64_t hash)
{
	uint32_t jid = (uint32_t)(hash ^ hash >> 32);

	return jid && jid != UINT32_MAX ? jid : 1;
}

static int random_key(uint8_t key[16])
{
	ssize_t n;

	do
		n = getrandom(key, 16, 0);
	while (n < 0 && errno == EINTR);
	if (n == 16)
		return 0;
	snprintf(the_err, sizeof(the_err), "getrandom failed: %s", strerror(errno));
	return -1;
}

static int build_single(struct p3_rt_job *j)
{
	uint64_t id[2];

	if (job_alloc(j, 1) || random_key(j->key))
		return -1;
	j->source = P3_RT_SINGLE;
	j->nodes = 1;
	j->nid[0] = 1;
	j->pid[0] = P3_RT_PID0;
	if (job_locals(j))
		return -1;
	memcpy(id, j->key, sizeof(id));		/* a job of one: nobody else must be able to name it, or needs to */
	id[0] = p3_map_hash(P3_MAP_HASH0, id, sizeof(id)) + (uint64_t)getpid();
	j->jid = jid_of(id[0]);
	node_cores = p3_rt_cores();
	return job_name(j, "one", id[0]);
}

/*
 * Are the pids of the map Unix pids? Whoever starts a job so has started all processes before it can tell them; numbers
 * that were made up may be our pid by chance, but not also living processes of this user for all others.
 */
static int pids_are_real(const struct p3_rt_job *j)
{
	if (j->pid[j->rank] != (uint32_t)getpid())
		return 0;
	for (uint32_t i = 0; i < j->local_size; i++)
		if (j->pid[j->local_ranks[i]] > INT32_MAX || kill((pid_t)j->pid[j->local_ranks[i]], 0))
			return 0;
	return 1;
}

/*
 * The variables carry no secret, so the key is derived from them: it keeps jobs apart, not attackers. What remains
 * against those is the user id of the socket's other end and, where the pids are real ones, its pid (nal_start.c).
 */
static int build_env(struct p3_rt_job *j, struct p3_env_job *e)
{
	struct p3_cpus all, c;
	uint64_t h, k[2];
	int n;

	if (job_alloc(j, e->size))
		return -1;
	j->source = P3_RT_ENV;
	j->rank = j->launch_rank = e->rank;
	memcpy(j->nid, e->nid, e->size * sizeof(*j->nid));
	memcpy(j->pid, e->pid, e->size * sizeof(*j->pid));
	for (uint32_t r = 0; r < e->size; r++)
		j->launch_of[r] = r;
	n = p3_map_dense(j->nid, j->size, j->node_of);
	if (n < 0)
		return no_memory(j->size);
	j->nodes = (uint32_t)n;
	if (job_locals(j))
		return -1;
	h = p3_map_hash(P3_MAP_HASH0, j->nid, 2 * sizeof(*j->nid) * j->size);	/* nid and pid lie together */
	j->jid = e->jid ? e->jid : jid_of(h);
	h = p3_map_hash(p3_map_hash(h, &j->uid, sizeof(j->uid)), &j->jid, sizeof(j->jid));
	if (job_name(j, "env", h))
		return -1;
	k[0] = p3_map_hash(h, j->boot, strlen(j->boot));	/* the same on each virtual node */
	k[1] = p3_map_hash(k[0], j->boot, strlen(j->boot));
	memcpy(j->key, k, sizeof(k));

	/* With real pids the peers can be asked; with others our parent (the shell that started all) must do. */
	p3_cpus_get(0, &all);
	j->real_pids = pids_are_real(j);
	if (j->real_pids) {
		for (uint32_t i = 0; i < j->local_size; i++)
			if (!p3_cpus_get((pid_t)j->pid[j->local_ranks[i]], &c))
				p3_cpus_or(&all, &c);
	} else if (!p3_cpus_get(getppid(), &c)) {
		p3_cpus_or(&all, &c);
	}
	node_cores = p3_cpus_count(&all);
	return 0;
}

/* ---- PMI ---- */

/*
 * All ranks come to the same refusal: rank 0 says it and has the launcher end the job, the others wait for that. When
 * the launcher does not, the call fails in each.
 */
static int refuse_job(void)
{
	if (!the_pmi.rank) {
		p3_log(P3_LOG_ERROR, "%s", the_err);
		p3_log_drain();
		p3_pmi_abort(&the_pmi, 1);
	} else {
		p3_pmi_barrier(&the_pmi, 5000);		/* rank 0 will not come: ends when we are ended */
	}
	return -1;
}

/*
 * A setting of ours is bad, probably in all ranks. Rank 0 says it for all. Where it has come to the barrier it has
 * nothing to say: then the lowest of those that have, by a note that each left.
 */
static int refuse_setting(void)
{
	char name[32], value[P3_PMI_LINE];

	if (p3_pmi_open(&the_pmi, P3_PMI_AUTO, __atomic_load_n(&pmi_shared, __ATOMIC_RELAXED), 30000))
		return -1;
	if (!the_pmi.rank)
		return refuse_job();
	snprintf(name, sizeof(name), "p3-bad-%d", the_pmi.rank);
	if (p3_pmi_put(&the_pmi, name, "1") || p3_pmi_barrier(&the_pmi, 30000))
		return -1;
	for (int r = 1; r < the_pmi.rank; r++) {
		snprintf(name, sizeof(name), "p3-bad-%d", r);
		if (!p3_pmi_get(&the_pmi, name, value, sizeof(value))) {
			p3_pmi_barrier(&the_pmi, 5000);		/* that one ends us */
			return -1;
		}
	}
	p3_log(P3_LOG_ERROR, "%s", the_err);
	p3_log_drain();
	p3_pmi_abort(&the_pmi, 1);
	return -1;
}

static int pmi_failed(const char *doing)
{
	snprintf(the_err, sizeof(the_err), "%s: %s", doing, the_pmi.err);
	return -1;
}

static void key_name(char *s, size_t len, const char *what, uint32_t i)
{
	snprintf(s, len, "p3-%s-%u", what, i);
}

static int put_key(const uint8_t key[16])
{
	char hex[33];

	for (int i = 0; i < 16; i++)
		snprintf(hex + 2 * i, 3, "%02x", key[i]);
	return p3_pmi_put(&the_pmi, "p3-key", hex);
}

static int get_key(uint8_t key[16])
{
	char hex[40];

	if (p3_pmi_get(&the_pmi, "p3-key", hex, sizeof(hex)) || strlen(hex) != 32)
		return -1;
	for (int i = 0; i < 16; i++) {
		int hi = p3_hex_digit(hex[2 * i]), lo = p3_hex_digit(hex[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -1;
		key[i] = (uint8_t)(hi * 16 + lo);
	}
	return 0;
}

/*
 * Launch slots of one machine, @per of them on each virtual node. Where the launcher has several nodes, they stay: the ranks
 * of each would have to be cut apart by themselves, and nobody needs that.
 */
static void virtual_nodes(struct p3_rt_job *j, uint32_t *node, uint32_t per)
{
	if (!per || j->nodes > 1)
		return;
	for (uint32_t s = 0; s < j->size; s++)
		node[s] = s / per;
	j->nodes = (j->size + per - 1) / per;
}

/*
 * The order of ranks: "p3-order" is the method, the pieces, and the ranks of a virtual node: "3:N:R" with N pieces "p3-order-0".. of decimal ranks, one for each
 * slot, separated by ':'.
 */
static int put_order(int method, const uint32_t *order, uint32_t size, uint32_t per_node)
{
	char name[32], text[P3_PMI_LINE];
	uint32_t pieces = 0, i = 0;
	size_t room = (size_t)the_pmi.value_max < 1024 ? (size_t)the_pmi.value_max : 1024;

	while (method == 3 && i < size) {
		size_t n = 0;

		while (i < size && n + 12 < room)
			n += (size_t)snprintf(text + n, sizeof(text) - n, n ? ":%u" : "%u", order[i++]);
		key_name(name, sizeof(name), "order", pieces++);
		if (p3_pmi_put(&the_pmi, name, text))
			return -1;
	}
	snprintf(text, sizeof(text), "%d:%u:%u", method, pieces, per_node);
	return p3_pmi_put(&the_pmi, "p3-order", text);
}

static int get_order(struct p3_rt_job *j, uint32_t *node, uint32_t *order, uint32_t size)
{
	char name[32], text[P3_PMI_LINE];
	uint32_t head[3], have = 0;

	if (p3_pmi_get(&the_pmi, "p3-order", text, sizeof(text)) || p3_map_list(text, head, 3) != 3)
		return -1;
	virtual_nodes(j, node, head[2]);
	if (head[0] != 3)
		return p3_rt_reorder((int)head[0], NULL, node, size, order, the_pmi.err, sizeof(the_pmi.err));
	for (uint32_t i = 0; i < head[1]; i++) {
		int n;

		key_name(name, sizeof(name), "order", i);
		if (p3_pmi_get(&the_pmi, name, text, sizeof(text)))
			return -1;
		n = p3_map_list(text, order + have, size - have);
		if (n <= 0)
			return -1;
		have += (uint32_t)n;
	}
	return have == size ? 0 : -1;
}

/* order[slot] = rank; checked to be a permutation before anything is indexed by it. */
static int apply_order(struct p3_rt_job *j, const uint32_t *node_of_slot, const uint32_t *order)
{
	for (uint32_t r = 0; r < j->size; r++)
		j->launch_of[r] = UINT32_MAX;
	for (uint32_t s = 0; s < j->size; s++) {
		if (order[s] >= j->size || j->launch_of[order[s]] != UINT32_MAX)
			return -1;
		j->launch_of[order[s]] = s;
		j->node_of[order[s]] = node_of_slot[s];
	}
	j->rank = order[j->launch_rank];
	return 0;
}

/* Launch rank 0 decides for all. A bad file ends the job here. */
static int share(struct p3_rt_job *j, const struct p3_knobs *k, uint32_t *node, uint32_t *order)
{
	char name[32], text[P3_CPUS_TEXT];
	struct p3_cpus c;

	if (!j->launch_rank) {
		virtual_nodes(j, node, (uint32_t)k->pes_per_node);
		if (p3_rt_reorder((int)k->reorder_method, k->reorder_file, node, j->size, order, the_err, sizeof(the_err)))
			return refuse_job();
		if (random_key(j->key))
			return -1;
		if (j->size == 1)
			return 0;
		if (put_key(j->key) || put_order((int)k->reorder_method, order, j->size, (uint32_t)k->pes_per_node))
			return pmi_failed("publishing the job's key");
	}
	if (!p3_cpus_get(0, &c)) {
		p3_cpus_print(&c, text, sizeof(text));
		key_name(name, sizeof(name), "cpu", j->launch_rank);
		p3_pmi_put(&the_pmi, name, text);	/* absent: that rank is taken to be where we are */
	}
	if (p3_pmi_barrier(&the_pmi, (int)k->init_timeout_s * 1000)) {
		snprintf(the_err, sizeof(the_err), "joining the job: %s (%ld s is PTL_INIT_TIMEOUT_S; has every rank called "
			 "PtlInit or MPI_Init?)", the_pmi.err, k->init_timeout_s);
		return -1;
	}
	if (j->launch_rank && (get_key(j->key) || get_order(j, node, order, j->size)))
		return pmi_failed("reading the job's key and rank order");
	return 0;
}

/*
 * Cores that the ranks of our node, or of all virtual nodes of this machine, have together. The others are asked (one round trip each) only where our own are too
 * few, and we have been bound: with the launcher's own processors (our parent's) there is nothing to add.
 */
static void count_cores(const struct p3_rt_job *j)
{
	char name[32], text[P3_CPUS_TEXT];
	struct p3_cpus all, c;
	int bound;

	if (p3_cpus_get(0, &all)) {
		node_cores = 1;
		return;
	}
	bound = p3_cpus_get(getppid(), &c) || memcmp(&all, &c, sizeof(c));
	for (uint32_t r = 0; bound && r < j->size && p3_cpus_count(&all) < (int)(j->machines ? j->local_size : j->size); r++) {
		if (r == j->rank || (j->machines && j->node_of[r] != j->node))
			continue;
		key_name(name, sizeof(name), "cpu", j->launch_of[r]);
		if (!p3_pmi_get(&the_pmi, name, text, sizeof(text)) && !p3_cpus_parse(text, &c))
			p3_cpus_or(&all, &c);
	}
	node_cores = p3_cpus_count(&all);
}

/* How to speak to the launcher, given that MPI may have begun to, by PMI-1. */
static enum p3_pmi_kind open_kind(const struct p3_knobs *k, const char **cannot)
{
	*cannot = NULL;
	if (!__atomic_load_n(&pmi_shared, __ATOMIC_RELAXED))
		return (enum p3_pmi_kind)k->pmi;
	if (p3_pmi_choose((enum p3_pmi_kind)k->pmi) == P3_PMI_X)
		*cannot = "MPI joins its job by PMI-1, and this launcher speaks PMIx: start MPI programs with mpiexec, aprun or "
			  "srun --mpi=pmi2";
	else if (!getenv("PMI_FD") && getenv("PMI_PORT"))
		*cannot = "MPI and Portals share one connection to the launcher, and PMI_PORT cannot be shared: start the job "
			  "without -pmi-port";
	else if (getenv("PMI_FD") && k->pmi == P3_PMI_2)
		*cannot = "PTL_PMI=pmi2: MPI and Portals share one connection to the launcher, and MPI speaks PMI-1 there";
	return (enum p3_pmi_kind)k->pmi;
}

static int build_pmi(struct p3_rt_job *j, const struct p3_knobs *k)
{
	enum p3_pmi_kind kind;
	const char *cannot;
	int shared = __atomic_load_n(&pmi_shared, __ATOMIC_RELAXED);
	uint32_t *node, *order;
	int nodes, rc = -1;
	uint64_t h;

	kind = open_kind(k, &cannot);
	if (cannot) {
		snprintf(the_err, sizeof(the_err), "%s", cannot);
		return -1;
	}
	if (p3_pmi_open(&the_pmi, kind, shared, (int)k->init_timeout_s * 1000))
		return pmi_failed("joining the job");
	if (job_alloc(j, (uint32_t)the_pmi.size))
		return -1;
	j->source = P3_RT_PMI;
	j->launch_rank = (uint32_t)the_pmi.rank;
	node = calloc(2 * (size_t)j->size, sizeof(*node));
	if (!node)
		return no_memory(j->size);
	order = node + j->size;
	nodes = p3_pmi_nodes(&the_pmi, node);
	if (nodes < 1) {
		snprintf(the_err, sizeof(the_err), "%s", the_pmi.err);
		goto out;
	}
	j->nodes = (uint32_t)nodes;
	j->machines = nodes > 1 ? (uint32_t)nodes : 0;
	if (share(j, k, node, order))
		goto out;
	if (apply_order(j, node, order)) {
		snprintf(the_err, sizeof(the_err), "the rank order that launch rank 0 sent is not one of %u ranks", j->size);
		goto out;
	}
	if (job_locals(j))
		goto out;
	for (uint32_t r = 0; r < j->size; r++) {
		j->nid[r] = j->node_of[r] + 1;
		j->pid[r] = P3_RT_PID0 + j->local_of[r];
	}
	h = p3_map_hash(P3_MAP_HASH0, the_pmi.kvsname, strlen(the_pmi.kvsname));
	j->jid = jid_of(h);
	if (p3_env_jid(&j->jid, the_err, sizeof(the_err)) < 0)
		goto out;
	rc = job_name(j, "pmi", h);
	count_cores(j);
out:
	free(node);
	return rc;
}

/* ---- the end of the process ---- */

/* No other thread can hold the lock of a stream. */
static int alone(void)
{
#ifdef HAVE_SYS_SINGLE_THREADED_H
	return __libc_single_threaded;
#else
	return 0;
#endif
}

/* Closed, or never opened: asked of the calls above (absent where the runtime is used alone), without a lock. */
static int library_closed(void)
{
	ptl_handle_ni_t ni;

	return __atomic_load_n(&done, __ATOMIC_RELAXED) ||
	       (PtlNIHandle && PtlNIHandle(PTL_INVALID_HANDLE, &ni) == PTL_NO_INIT);
}

static void *flush(void *done)
{
	fflush(NULL);
	sem_post(done);
	return NULL;
}

/*
 * What the program has printed must be out before we ask to be killed. exit() would flush it after us. Another thread
 * may hold the lock of a stream for ever (it waits in getchar()): then a thread is set to it, and has a second.
 */
static void flush_streams(void)
{
	static sem_t done;	/* static: the thread may outlive this call */
	struct timespec t;
	sigset_t all, old;
	pthread_t id;
	int rc;

	if (alone()) {
		fflush(NULL);
		return;
	}
	sem_init(&done, 0, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&id, NULL, flush, &done);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		if (!ftrylockfile(stdout)) {
			fflush(stdout);
			funlockfile(stdout);
		}
		return;
	}
	pthread_detach(id);
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec++;
	while (sem_timedwait(&done, &t) && errno == EINTR)
		;
}

static void end_job(int status)
{
	p3_log_drain();
	p3_pmi_abort(&the_pmi, status);
}

static enum { GOES_ON, ENDS_IT, IS_ENDED } ending;

int p3_rt_end(int first)
{
	if (!armed || !p3_pmi_usable(&the_pmi))
		return 0;
	__atomic_store_n(&ending, first ? ENDS_IT : IS_ENDED, __ATOMIC_RELAXED);
	return 1;
}

/* Who is to be ended and ends by itself would be taken for one more that has failed, with a status of its own. */
static void end_as_told(void)
{
	struct timespec t = { 5, 0 };

	if (!exit_status) {
		p3_pmi_finalize(&the_pmi);
	} else if (ending == ENDS_IT) {
		end_job(exit_status);
	} else {
		p3_log_drain();
		nanosleep(&t, NULL);
	}
}

__attribute__((destructor)) static void at_end(void)
{
	int mpi = __atomic_load_n(&pmi_shared, __ATOMIC_RELAXED);
	void (*first)(void) = __atomic_load_n(&before_end, __ATOMIC_RELAXED);

	if (first)
		first();
	if (!armed || !p3_pmi_usable(&the_pmi))
		return;
	if (ending) {
		end_as_told();
	} else if (!mpi && (!exit_status || library_closed())) {
		p3_pmi_finalize(&the_pmi);
	} else if (!mpi) {
		flush_streams();
		p3_error("this rank exits with status %d without PtlFini: the job ends", exit_status);
		end_job(exit_status);
	} else if (!exit_status && the_job.size > 1 && !library_closed()) {
		flush_streams();
		p3_error("this rank exits with status 0 without MPI_Finalize (or PtlFini): the others would wait for it, "
			 "the job ends");
		end_job(1);
	}
}

void p3_rt_at_end(void (*fn)(void))
{
	__atomic_store_n(&before_end, fn, __ATOMIC_RELAXED);
}

void p3_rt_done(int yes)
{
	__atomic_store_n(&done, yes, __ATOMIC_RELAXED);
}

#ifdef __GLIBC__
static void note_status(int status, void *unused)
{
	exit_status = status;
}
#endif

/* The hook above must outlive a dlclose() of whatever loaded us. */
static void stay_loaded(void)
{
	Dl_info info;

	if (dladdr((void *)(uintptr_t)stay_loaded, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static void arm_exit(void)
{
	stay_loaded();
#ifdef __GLIBC__
	on_exit(note_status, NULL);	/* elsewhere every exit is taken for one with 0 */
#endif
	armed = 1;
}

void PtlRtPmiShared_np(void)
{
	__atomic_store_n(&pmi_shared, 1, __ATOMIC_RELAXED);
}

/* ---- the one job ---- */

/* How many ranks has the fullest node? All ranks must come to the same. */
static uint32_t most_on_a_node(const struct p3_rt_job *j)
{
	uint32_t most = 0;

	for (uint32_t r = 0; r < j->size; r++)
		if (j->local_of[r] >= most)
			most = j->local_of[r] + 1;
	return most;
}

/* The only place that refuses a job for its shape: nodes that nothing joins, or more ranks than a node has windows. */
static int check_shape(const struct p3_rt_job *j)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	uint32_t windows = SMARTMAP_MAX_PEERS;
	const char *lack = NULL;

#ifndef HAVE_LIBEV
	lack = "which this build does not have: libev was missing when it was configured (Debian: libev-dev)";
#endif
	if (k->nal == P3_NAL_SMARTMAP)
		lack = "and PTL_NAL=smartmap leaves it out";
	if (k->nal == P3_NAL_AP || k->locks == P3_LOCKS_MASTER)	/* the engine is one more */
		windows--;
	if (most_on_a_node(j) > windows) {
		snprintf(the_err, sizeof(the_err), "the job has %u ranks on %s node; the address space has windows for at "
			 "most %u. Start fewer ranks%s", most_on_a_node(j), j->nodes == 1 ? "this" : "a", windows,
			 j->nodes == 1 ? "" : " on a node");
	} else if (j->nodes > 1 && lack) {
		snprintf(the_err, sizeof(the_err), "the job has %u ranks on %u (virtual) nodes; ranks of different nodes need a "
			 "network transport, %s. Start all ranks on one node (aprun without -N, or with -N at least -n)",
			 j->size, j->nodes, lack);
	} else if (k->locks == P3_LOCKS_NODE && (j->nodes > 1 || k->nal > P3_NAL_SMARTMAP)) {
		snprintf(the_err, sizeof(the_err), "PTL_LOCKS=node is for a job on one node, with PTL_NAL=smartmap");
	} else if (k->locks == P3_LOCKS_MASTER && ((k->nal != P3_NAL_AUTO && k->nal != P3_NAL_AP) || lack)) {
		snprintf(the_err, sizeof(the_err), "PTL_LOCKS=master needs the engine of PTL_NAL=ap%s%s", lack ? ", " : "",
			 lack ? lack : "");
	} else if (k->kernel == P3_YES && k->nal != P3_NAL_AUTO && k->nal != P3_NAL_GP) {
		snprintf(the_err, sizeof(the_err), "PTL_KERNEL=yes is for PTL_NAL=gp or none");
	} else if (k->nal == P3_NAL_LOOP && j->size > 1) {
		snprintf(the_err, sizeof(the_err), "PTL_NAL=loop is for a job of one process; this one has %u", j->size);
	} else if ((k->nal == P3_NAL_GP || k->nal == P3_NAL_AP) && lack) {
		snprintf(the_err, sizeof(the_err), "PTL_NAL=%s needs a network transport, %s",
			 k->nal == P3_NAL_GP ? "gp" : "ap", lack);
	} else {
		return 0;
	}
	return p3_rt_has_kvs(j) ? refuse_job() : -1;
}

static int build(struct p3_rt_job *j)
{
	const char *knob_err;
	const struct p3_knobs *k = p3_knobs_get(&knob_err);
	struct p3_env_job e;
	char unused[200];
	int rc;

	if (!k) {
		snprintf(the_err, sizeof(the_err), "%s", knob_err);
		rc = p3_pmi_present(unused, sizeof(unused));
		return rc > 0 ? refuse_setting() : -1;
	}
	j->uid = (uint32_t)geteuid();
	rc = p3_pmi_present(the_err, sizeof(the_err));
	if (rc < 0)
		return -1;
	if (rc)
		return build_pmi(j, k);
	rc = p3_env_read(&e, the_err, sizeof(the_err));
	if (rc < 0)
		return -1;
	if (!rc)
		return build_single(j);
	rc = build_env(j, &e);
	free(e.nid);
	free(e.pid);
	return rc;
}

/* The rank map, as far as it fits into a line: rank=launcher's number@node.local rank. */
static void log_map(const struct p3_rt_job *j)
{
	char line[1800];
	size_t n = 0;

	if (p3_log_threshold < P3_LOG_DEBUG || j->size == 1)
		return;
	for (uint32_t r = 0; r < j->size && n + 40 < sizeof(line); r++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, " %u=%u@%u.%u", r, j->launch_of[r], j->node_of[r],
				      j->local_of[r]);
	p3_log_job(P3_LOG_DEBUG, "rank map:%s", line);
}

const struct p3_rt_job *p3_rt_get(const char **err)
{
	struct p3_rt_job j;
	char unused[200];

	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != RT_OK) {	/* pairs with the release below */
		pthread_mutex_lock(&lock);
		if (state == RT_NEW) {
			memset(&j, 0, sizeof(j));
			int bad = build(&j);

			if (!bad)
				log_map(&j);
			if (bad || check_shape(&j)) {
				job_free(&j);
				/* by hand, it was for us alone, and may be mended (memory, variables) */
				if (p3_pmi_present(unused, sizeof(unused)))
					__atomic_store_n(&state, RT_BAD, __ATOMIC_RELEASE);
			} else {
				the_job = j;
				p3_log_identify(j.rank, j.node, j.size);
				if (p3_rt_has_kvs(&j))
					arm_exit();
				p3_info("job %s: rank %u of %u (launcher's %u), local %u of %u, jid %u, %d cores for the node's "
					"ranks", j.name, j.rank, j.size, j.launch_rank, j.local_rank, j.local_size, j.jid,
					node_cores);
				__atomic_store_n(&state, RT_OK, __ATOMIC_RELEASE);
			}
		}
		pthread_mutex_unlock(&lock);
	}
	if (state == RT_OK)
		return &the_job;
	if (err)
		*err = the_err;
	return NULL;
}

/* The maps of the job before stay allocated: somebody may hold them. */
int p3_rt_describe(struct p3_env_job *e, const char **err)
{
	const struct p3_rt_job *old = p3_rt_get(err);
	struct p3_rt_job j = { .uid = (uint32_t)geteuid() };
	struct p3_env_job mine = { 0 };
	int rc = -1;

	if (!old)
		return -1;
	pthread_mutex_lock(&lock);
	*err = the_err;
	if (!e) {
		rc = p3_env_read(&mine, the_err, sizeof(the_err));
		if (rc <= 0)			/* nothing there: as before */
			goto out;
		e = &mine;
		rc = -1;
	}
	if (p3_rt_has_kvs(old) || (old->source == P3_RT_ENV && (old->size != e->size || old->rank != e->rank ||
	    memcmp(old->nid, e->nid, e->size * sizeof(*e->nid)) || memcmp(old->pid, e->pid, e->size * sizeof(*e->pid))))) {
		snprintf(the_err, sizeof(the_err), "this process belongs to a job of %u ranks already", old->size);
		goto out;
	}
	rc = 0;
	if (old->source == P3_RT_ENV)
		goto out;
	if (!e->jid)
		e->jid = told_jid;
	if (build_env(&j, e) || check_shape(&j)) {
		job_free(&j);
		rc = -1;
		goto out;
	}
	the_job = j;
	p3_log_identify(j.rank, j.node, j.size);
out:
	pthread_mutex_unlock(&lock);
	free(mine.nid);
	free(mine.pid);
	return rc;
}

void p3_rt_set_jid(uint32_t jid)
{
	pthread_mutex_lock(&lock);
	the_job.jid = told_jid = jid;
	pthread_mutex_unlock(&lock);
}

void p3_rt_drain(void)
{
	char unused[200];

	if (p3_pmi_present(unused, sizeof(unused)) > 0)
		p3_log_drain();
}

int p3_rt_barrier_between(int64_t (*meantime)(void *arg), void *arg)
{
	const struct p3_rt_job *j = p3_rt_get(NULL);
	int rc;

	if (!j)
		return -EINVAL;
	if (j->size == 1)
		return 0;
	if (!p3_rt_has_kvs(j))
		return -ENOSYS;
	pthread_mutex_lock(&lock);
	the_pmi.meantime = meantime;
	the_pmi.arg = arg;
	rc = p3_pmi_barrier(&the_pmi, -1);
	the_pmi.meantime = NULL;
	pthread_mutex_unlock(&lock);
	return rc;
}

int p3_rt_barrier(void)
{
	return p3_rt_barrier_between(NULL, NULL);
}

int p3_rt_put(const char *key, const char *value)
{
	const struct p3_rt_job *j = p3_rt_get(NULL);
	int rc;

	if (!j || !p3_rt_has_kvs(j))
		return -ENOSYS;
	pthread_mutex_lock(&lock);
	rc = p3_pmi_put(&the_pmi, key, value);
	pthread_mutex_unlock(&lock);
	return rc;
}

int p3_rt_get_value(const char *key, char *value, size_t len)
{
	const struct p3_rt_job *j = p3_rt_get(NULL);
	int rc;

	if (!j || !p3_rt_has_kvs(j))
		return -ENOSYS;
	pthread_mutex_lock(&lock);
	rc = p3_pmi_get(&the_pmi, key, value, len);
	pthread_mutex_unlock(&lock);
	return rc;
}
