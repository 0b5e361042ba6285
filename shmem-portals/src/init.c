/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * init.c - start and end, who is who, where a symmetric object of another PE lies, errors
 *
 * The job's description and the joining of the node come from Portals (PtlInit, PtlGetRank, PtlNIInit); the rest is
 * SMARTMAP. Peers are looked up on first use. shmemi.inits is changed by init and finalize only, which are collective.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <p3rt/p3rt.h>
#include <pthread.h>
#include <portals3.h>
#include <signal.h>
#include <smartmap.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll.h"
#include "ctx.h"
#include "near.h"
#include "net.h"
#include "shmemi.h"
#include "team.h"

#define DEFAULT_SIZE	((uint64_t)256 << 20)

struct shmemi shmemi = { .pe = -1 };

/* ---- errors ---- */

void shmemi_fatal(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "shmem[PE %d pid %d] error: %s\n", shmemi.pe, (int)getpid(), line);
	pshmem_global_exit(1);
}

void shmemi_bad_pe(const char *routine, int pe)
{
	if (!shmemi.inits)
		shmemi_fatal("%s: shmem_init() has not been called", routine);
	shmemi_fatal("%s: there is no PE %d; there are 0 to %d", routine, pe, shmemi.n_pes - 1);
}

/* ---- symmetric addresses ---- */

struct range {
	uintptr_t lo, hi;
	bool found;
};

/* Is [lo, hi) in a writable segment of the program or of a library? */
static int in_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct range *r = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) && r->lo >= lo && r->hi <= lo + p->p_memsz)
			r->found = true;
	}
	return r->found;
}

/* The executable comes first: its largest writable segment, without the part that is read-only after relocation. */
static int own_data(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct range *r = arg;
	uintptr_t relro = 0;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
			relro = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
			continue;
		if (relro > lo && relro < hi)
			lo = (relro + 4095) & ~(uintptr_t)4095;
		if (hi > lo && hi - lo > r->hi - r->lo) {
			r->lo = lo;
			r->hi = hi;
		}
	}
	return 1;
}

/* Does @pe, which says @ctl, fit to us? */
static void compare(const struct shmemi_ctl *ctl, int pe)
{
	if (ctl->magic != SHMEMI_MAGIC)
		shmemi_fatal("PE %d cannot be reached: it runs another version of this library", pe);
	if (ctl->heap_size != shmemi.heap_size)
		shmemi_fatal("SHMEM_SYMMETRIC_SIZE is %zu here and %llu on PE %d: set it to the same on all PEs",
			     shmemi.heap_size - SHMEMI_RESERVED, (unsigned long long)ctl->heap_size - SHMEMI_RESERVED, pe);
	if (ctl->data_size != shmemi.data_size)
		shmemi_fatal("the data of PE %d's program have %llu bytes, here %zu: all PEs must run the same program", pe,
			     (unsigned long long)ctl->data_size, shmemi.data_size);
}

struct shmemi_ctl *shmemi_ctl_of(int pe)
{
	struct shmemi_peer *p = &shmemi.peer[pe];
	struct shmemi_ctl *ctl = __atomic_load_n(&p->ctl, __ATOMIC_ACQUIRE);

	if (ctl)
		return ctl;
	ctl = smartmap_lookup(p->local, SHMEMI_ROOT);
	ctl = ctl ? smartmap_remote(p->local, ctl) : NULL;
	if (!ctl)
		shmemi_fatal("PE %d cannot be reached: %s", pe, smartmap_alive(p->local) ?
			     "it runs another version of this library" : "it has ended");
	compare(ctl, pe);
	__atomic_store_n(&p->ctl, ctl, __ATOMIC_RELEASE);
	return ctl;
}

static void look_up(struct shmemi_peer *p, int pe)
{
	struct shmemi_ctl *ctl = shmemi_ctl_of(pe);
	void *far;

	far = smartmap_symmetric(p->local, (void *)shmemi.data);
	if (shmemi.data_size && smartmap_reachable(p->local, far, shmemi.data_size))
		p->data = (uintptr_t)smartmap_remote(p->local, far);
	p->heap = (uintptr_t)smartmap_remote(p->local, (void *)(uintptr_t)ctl->heap);
	shmemi_near_set(pe, p->heap, p->data);
	__atomic_store_n(&p->looked, true, __ATOMIC_RELEASE);	/* pairs with shmemi_at_slow() */
}

/* The address of static object @sym in PE @pe, in that PE's terms. */
static void *far_static(const char *routine, const void *sym, size_t len, const struct shmemi_peer *p)
{
	struct range r = { (uintptr_t)sym, (uintptr_t)sym + len, false };

	dl_iterate_phdr(in_image, &r);
	if (!r.found)
		shmemi_fatal("%s: %zu bytes at %p are neither in the symmetric heap nor a global or static variable",
			     routine, len, (void *)(uintptr_t)sym);
	return smartmap_symmetric(p->local, sym);
}

/* Objects of static data have no bounds that we know, but the segment has. */
void shmemi_check_static(const char *routine, const void *sym, size_t len)
{
	uintptr_t lo = (uintptr_t)sym;

	if (lo < shmemi.data || lo + len > shmemi.data + shmemi.data_size)
		far_static(routine, sym, len, &shmemi.peer[shmemi.pe]);
}

void *shmemi_at_slow(const char *routine, const void *sym, size_t len, int pe)
{
	struct shmemi_peer *p = &shmemi.peer[pe];
	void *far, *at;

	if (p->local < 0 || (shmemi.no_windows && pe != shmemi.pe))
		return NULL;
	if (!__atomic_load_n(&p->looked, __ATOMIC_ACQUIRE))
		look_up(p, pe);
	if (shmemi_in_window(p, sym, len, &at))	/* met by this call, or by another thread since its caller has looked */
		return at;
	far = far_static(routine, sym, len, p);
	if (pe == shmemi.pe)
		return (void *)(uintptr_t)sym;
	return smartmap_reachable(p->local, far, len) ? smartmap_remote(p->local, far) : NULL;
}

/* ---- start and end ---- */

/*
 * The variable and its older names: a number, also with a fraction, and a suffix k, m, g or t; what follows is ignored.
 * Returns bytes, 0 when it makes no sense.
 */
static uint64_t heap_size(const char **name, const char **text)
{
	static const char *const names[] = { "SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE", "XT_SYMMETRIC_HEAP_SIZE",
					     "DMAPP_SHEAP_SIZE" };
	const char *s = NULL, *units = "kmgt", *u;
	double v;
	char *end;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !s; i++) {
		*name = names[i];
		s = getenv(*name);
	}
	*text = s;
	if (!s)
		return DEFAULT_SIZE;
	v = strtod(s, &end);
	if (end == s || !isdigit((unsigned char)*s + (*s == '.' ? '0' - '.' : 0)))
		return 0;
	u = *end ? strchr(units, tolower((unsigned char)*end)) : NULL;
	if (u)
		v *= (double)((uint64_t)1 << (10 * (u - units + 1)));
	else if (*end)
		return 0;
	if (!(v >= 0 && v < 0x1p46))
		return 0;
	v = ceil(v);
	return v < 4096 ? 4096 : ((uint64_t)v + 4095) & ~(uint64_t)4095;
}

static int find_peers(ptl_handle_ni_t ni)
{
	unsigned *node = calloc((size_t)shmemi.n_pes, sizeof(*node));
	int local = 0;

	shmemi.peer = calloc((size_t)shmemi.n_pes, sizeof(*shmemi.peer));
	if (!node || !shmemi.peer || PtlGetNodeMap_np(ni, node, (unsigned)shmemi.n_pes) != PTL_OK) {
		free(node);
		return -1;
	}
	shmemi.node = (int)node[shmemi.pe];
	shmemi.n_nodes = 0;
	for (int i = 0; i < shmemi.n_pes; i++) {
		shmemi.peer[i].local = node[i] == node[shmemi.pe] ? local++ : -1;
		if ((int)node[i] >= shmemi.n_nodes)
			shmemi.n_nodes = (int)node[i] + 1;
	}
	shmemi.n_local = local;
	free(node);
	return 0;
}

/* A forked child has private copies of all memory and no job: for it, shmem_init() has not been called. */
static void in_child(void)
{
	shmemi = (struct shmemi){ .pe = -1 };
}

/*
 * Several nodes: all must show what they have before one of them puts. Then each compares with its neighbour, and so
 * somebody finds what is not the same everywhere.
 */
static void meet(void)
{
	int next = (shmemi.pe + 1) % shmemi.n_pes;
	struct shmemi_ctl ctl;

	if (shmemi_net_start())
		shmemi_fatal("this PE cannot take part");
	shmemi.net = true;
	if (smartmap_barrier() || shmemi_net_meet() || smartmap_barrier())
		shmemi_fatal("a PE of this node has ended while the job starts");
	if (shmemi.peer[next].local >= 0) {
		shmemi_ctl_of(next);
	} else {
		shmemi_net_ctl(next, &ctl);
		compare(&ctl, next);
	}
}

static void leave_smartmap(void)
{
	if (shmemi.joined)
		smartmap_fini();
	shmemi.joined = false;
}

static int start(void)
{
	static bool handler;
	struct range r = { 0, 0, false };
	unsigned rank, n;
	const char *name, *text;
	uint64_t size = heap_size(&name, &text);
	ptl_handle_ni_t ni;
	int ifaces, rc;

	if (!size) {
		fprintf(stderr, "shmem error: %s=%s: not a size such as 64m, 1.5g or 1048576\n", name, text);
		return -1;
	}
	rc = PtlInit(&ifaces);
	if (rc == PTL_OK)
		rc = PtlGetRank(PTL_INVALID_HANDLE, &rank, &n);
	if (rc == PTL_OK)
		rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	if (rc != PTL_OK) {
		fprintf(stderr, "shmem error: Portals could not be started: %s\n", PtlErrorStr((unsigned)rc));
		return -1;
	}
	shmemi.ni = ni;
	shmemi.pe = (int)rank;
	shmemi.n_pes = (int)n;
	shmemi.impatient = PtlOversubscribed_np();
	shmemi.debug = getenv("SHMEM_DEBUG") || getenv("SMA_DEBUG");
	if (!handler && !pthread_atfork(NULL, NULL, in_child))
		handler = true;
	text = getenv("PTL_SMARTMAP");
	shmemi.no_windows = (text && !strcmp(text, "no")) || !smartmap_size();
	shmemi.joined = !smartmap_size() && PtlRtSmartmap_np() == PTL_OK;
	if (shmemi_coll_settings() || find_peers(ni) || shmemi_teams_start())
		goto err_ni;
	dl_iterate_phdr(own_data, &r);
	shmemi.data = r.lo;
	shmemi.data_size = r.hi - r.lo;
	shmemi.ctl = smartmap_alloc(sizeof(*shmemi.ctl), 0);
	shmemi.shared = smartmap_shared(sizeof(*shmemi.shared));
	if (!shmemi.ctl || !shmemi.shared || shmemi_heap_start(size)) {
		fprintf(stderr, "shmem[PE %d] error: no memory for a symmetric heap of %llu bytes: %s; "
			"SHMEM_SYMMETRIC_SIZE makes it smaller\n", shmemi.pe, (unsigned long long)size, strerror(errno));
		goto err_ni;
	}
	*shmemi.ctl = (struct shmemi_ctl){ .magic = SHMEMI_MAGIC, .pe = rank, .heap = shmemi.heap,
					   .heap_size = shmemi.heap_size, .data_size = shmemi.data_size };
	shmemi_near_begin();
	shmemi_near_set((int)rank, shmemi.heap, shmemi.data);
	shmemi.peer[rank].heap = shmemi.heap;
	shmemi.peer[rank].data = shmemi.data;
	shmemi.peer[rank].ctl = shmemi.ctl;
	shmemi.peer[rank].looked = true;
	smartmap_publish(SHMEMI_ROOT, shmemi.ctl);
	if (shmemi.n_nodes > 1 || (shmemi.no_windows && shmemi.n_pes > 1))
		meet();
	else
		shmemi_barrier();
	shmemi_teams_open();
	return 0;
err_ni:
	shmemi_teams_end();
	free(shmemi.peer);
	shmemi.peer = NULL;
	shmemi.n_pes = 0;
	shmemi_near_end();
	leave_smartmap();
	PtlNIFini(ni);
	return -1;
}

static bool wants(const char *name, const char *old)
{
	return shmemi.pe == 0 && (getenv(name) || getenv(old));
}

int pshmem_init_thread(int requested, int *provided)
{
	if (!shmemi.inits) {
		if (start())
			return -1;
		if (wants("SHMEM_VERSION", "SMA_VERSION"))
			printf("%s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
		if (wants("SHMEM_INFO", "SMA_INFO"))
			printf("SHMEM_SYMMETRIC_SIZE  bytes of symmetric heap per PE, with k, m, g or t (256m); now %zu\n"
			       "SHMEM_HUGE_PAGES      no: large blocks of the heap are made of small pages\n"
			       "SHMEM_VERSION         set: print name and version at the start\n"
			       "SHMEM_INFO            set: print this\n"
			       "SHMEM_DEBUG           set: check each range that is read or written\n"
			       "SMA_SYMMETRIC_SIZE, XT_SYMMETRIC_HEAP_SIZE, DMAPP_SHEAP_SIZE  older names of the size, in this order\n"
			       "SMA_VERSION, SMA_INFO, SMA_DEBUG  older names of those\n"
			       "SHMEM_BARRIER_ALGORITHM  auto (default), counter, dissem\n"
			       "SHMEM_ALLTOALLV_TSIZE_CHK  none (default), abort, trunc: more data than there is room for\n"
			       "SHMEM_COLL_OPT_OFF    collectives that go the simple way, for comparison: 1 for all, or names of\n"
			       "                      broadcast,collect,fcollect,alltoall,alltoalls,reduce,scan\n"
			       "Settings of Portals and SMARTMAP: ptl_info -c\n", shmemi.heap_size - SHMEMI_RESERVED);
	}
	shmemi.inits++;
	if (provided)
		*provided = SHMEM_THREAD_MULTIPLE;
	return 0;
}
SHMEMI_ALIAS(init_thread);

void pshmem_init(void)
{
	if (pshmem_init_thread(SHMEM_THREAD_SINGLE, NULL))
		pshmem_global_exit(1);
}
SHMEMI_ALIAS(init);

void pshmem_query_thread(int *provided)
{
	*provided = SHMEM_THREAD_MULTIPLE;
}
SHMEMI_ALIAS(query_thread);

void pshmem_query_initialized(int *initialized)
{
	*initialized = shmemi.inits != 0;
}
SHMEMI_ALIAS(query_initialized);

void pshmem_finalize(void)
{
	if (!shmemi.inits)
		return;
	pshmem_barrier_all();
	if (--shmemi.inits)
		return;
	smartmap_publish(SHMEMI_ROOT, NULL);
	shmemi_teams_end();
	shmemi_barrier();		/* nobody looks at heap or control page behind this */
	if (shmemi.net) {
		shmemi_net_last();
		shmemi_barrier();
		shmemi_net_stop();
		shmemi.net = false;
	}
	shmemi_heap_end();
	smartmap_free(shmemi.ctl, sizeof(*shmemi.ctl));
	shmemi_ctx_end();
	free(shmemi.peer);
	shmemi.peer = NULL;
	shmemi.n_pes = 0;
	shmemi_near_end();
	shmemi.heap_size = shmemi.data_size = 0;
	shmemi.shared = NULL;
	leave_smartmap();
	PtlNIFini(shmemi.ni);		/* not PtlFini: another library of this process may use Portals */
}
SHMEMI_ALIAS(finalize);

/*
 * Leave by exit(), so that files are closed and the program's own handlers run, whichever thread and handler comes here
 * first; another thread waits for that end, and a handler that comes here again goes at once. With a launcher the last
 * act is to have it end the job (@first), or to wait for that.
 */
void shmemi_leave(int status, bool first)
{
	static bool going;
	static __thread bool mine;

	if (mine)
		_exit(status);
	mine = true;
	while (__atomic_exchange_n(&going, true, __ATOMIC_ACQ_REL))
		pause();
	shmemi.leaving = true;
	if (!PtlRtEnd_np(first) && first && status)
		for (int i = 0; i < shmemi.n_pes; i++) {	/* those that only compute would not hear of it */
			int pid = i == shmemi.pe || shmemi.peer[i].local < 0 ? -1 : smartmap_pid(shmemi.peer[i].local);

			if (pid > 0)
				kill(pid, SIGTERM);
		}
	exit(status);
}

/*
 * The first PE of each node to call this, or to hear of it from another node (@told), tells the others: by the shared
 * word, which they see when they wait. Whoever comes later only leaves, unless it is the first with a status other than
 * 0: the job has failed then, and is ended by the launcher, or where there is none by signals. Were all to send signals,
 * they would end each other by them.
 */
static void end_job(int status, bool told)
{
	uint32_t leaving = (uint32_t)(status & 255) | 1u << 31, before = 0;

	if (!shmemi.shared || shmemi.n_pes == 1)
		shmemi_leave(status, true);
	while (!__atomic_compare_exchange_n(&shmemi.shared->leaving, &before, leaving, 0, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		if (before & 255 || !(status & 255))
			shmemi_leave(status, false);
	if (shmemi.net)
		shmemi_net_exit(leaving);
	shmemi_leave(status, !told || !PtlRtEnd_np(0));
}

void shmemi_told_to_leave(int status)
{
	end_job(status, true);
	__builtin_unreachable();
}

void pshmem_global_exit(int status)
{
	end_job(status & 255, false);
	__builtin_unreachable();
}
SHMEMI_ALIAS(global_exit);

void pshmem_pcontrol(int level, ...)
{
	(void)level;			/* a tool has its own */
}
SHMEMI_ALIAS(pcontrol);

/* ---- who and what ---- */

int pshmem_my_pe(void)
{
	return shmemi.pe;
}
SHMEMI_ALIAS(my_pe);

int pshmem_n_pes(void)
{
	return shmemi.n_pes;
}
SHMEMI_ALIAS(n_pes);

int pshmem_pe_accessible(int pe)
{
	return pe >= 0 && pe < shmemi.n_pes;
}
SHMEMI_ALIAS(pe_accessible);

/* @addr of @pe through a window: 1, by the kernel or Portals: 0, not at all, or not symmetric: -1. */
static int reach(const void *addr, int pe, void **at)
{
	uintptr_t off = (uintptr_t)addr - shmemi.heap;
	struct range r = { (uintptr_t)addr, (uintptr_t)addr + 1, false };
	void *far;

	if (!pshmem_pe_accessible(pe))
		return -1;
	if (off >= shmemi.heap_size) {
		dl_iterate_phdr(in_image, &r);
		if (!r.found)
			return -1;
	}
	*at = shmemi_at("shmem_ptr", addr, 1, pe);
	if (*at)
		return 1;
	if (shmemi_by_net(pe))
		return shmemi_net_symmetric(addr, 1) ? 0 : -1;
	far = smartmap_symmetric(shmemi.peer[pe].local, addr);
	return smartmap_path(shmemi.peer[pe].local, far, 1) == SMARTMAP_CMA ? 0 : -1;
}

int pshmem_addr_accessible(const void *addr, int pe)
{
	void *at;

	return reach(addr, pe, &at) >= 0;
}
SHMEMI_ALIAS(addr_accessible);

void *pshmem_ptr(const void *dest, int pe)
{
	void *at = NULL;

	return reach(dest, pe, &at) == 1 ? at : NULL;
}
SHMEMI_ALIAS(ptr);

void pshmem_info_get_version(int *major, int *minor)
{
	*major = SHMEM_MAJOR_VERSION;
	*minor = SHMEM_MINOR_VERSION;
}
SHMEMI_ALIAS(info_get_version);

void pshmem_info_get_name(char *name)
{
	strcpy(name, SHMEM_VENDOR_STRING);
}
SHMEMI_ALIAS(info_get_name);
_Static_assert(sizeof(SHMEM_VENDOR_STRING) <= SHMEM_MAX_NAME_LEN, "what shmem_info_get_name() copies");
