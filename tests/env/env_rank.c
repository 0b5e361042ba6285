/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * env_rank.c - a rank that tells by which path each kind of memory of a peer is reached here
 *
 * Rank 0 puts 64 KiB into each kind of memory of rank 1, gets them back and compares, while rank 1 polls; other ranks
 * only take part in the start. Rank 0 prints "paths: data=window ...". The path is what the library says, proved by a
 * count of its calls of process_vm_readv and process_vm_writev, which come to ours below. Then follow the sentences of
 * ptl_info ("why cma: ..."). Where no interface can be had, "paths: none". Arguments: undumpable, big (80 MiB of data).
 */
#include "multi.h"
#include "tap.h"

#include <pthread.h>
#include <p3rt/p3rt.h>
#include <portals3.h>
#include <smartmap.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define PT	4
#define LEN	((size_t)64 << 10)
#define BIG	((size_t)80 << 20)

enum { W_DONE = 1, W_ADDR = 10 };
enum kind { DATA, STACK, HEAP, THREAD, MMAP, KINDS };
static const char *const kind_name[] = { "data", "stack", "heap", "thread", "mmap" };
static const char *const path_name[] = { "window", "cma", "bounce" };
static const char *const feature_name[] = { "windows", "data", "stack", "heap", "huge", "cma", "fork", "membarrier" };
_Static_assert(sizeof(feature_name) / sizeof(feature_name[0]) == SMARTMAP_F_MAX, "a name for each feature");

static _Atomic long kernel_copies;
static char data[BIG] = { 1 };
static ptl_handle_ni_t ni;
static ptl_handle_eq_t eq;

#define SEEN	__attribute__((visibility("default")))	/* by libsmartmap */

SEEN ssize_t process_vm_readv(pid_t p, const struct iovec *l, unsigned long nl,
			      const struct iovec *r, unsigned long nr, unsigned long flags)
{
	atomic_fetch_add(&kernel_copies, 1);
	return syscall(SYS_process_vm_readv, p, l, nl, r, nr, flags);
}

SEEN ssize_t process_vm_writev(pid_t p, const struct iovec *l, unsigned long nl,
			      const struct iovec *r, unsigned long nr, unsigned long flags)
{
	atomic_fetch_add(&kernel_copies, 1);
	return syscall(SYS_process_vm_writev, p, l, nl, r, nr, flags);
}

static void must(int rc, const char *call)
{
	if (rc != PTL_OK)
		bail("rank %d: %s: %s", t_rank(), call, PtlErrorStr((unsigned)rc));
}

static void await_event(ptl_event_kind_t want)
{
	double until = t_now() + 20;
	ptl_event_t ev;

	for (;;) {
		int rc = PtlEQGet(eq, &ev);

		if (rc == PTL_OK && ev.type == want) {
			if (ev.ni_fail_type != PTL_NI_OK)
				bail("%s failed: %s", PtlEventKindStr(want), PtlNIFailStr(ni, (int)ev.ni_fail_type));
			return;
		}
		if (t_now() > until)
			bail("no %s", PtlEventKindStr(want));
		sched_yield();
	}
}

/* ---- rank 1 ---- */

static void offer(enum kind k, void *at, size_t len)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	ptl_md_t md = { .start = at, .length = len, .threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE,
			.options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE };
	ptl_handle_me_t me;
	ptl_handle_md_t mdh;

	memset(at, 0x11, len);
	atomic_store(t_word(W_ADDR + (int)k), (uintptr_t)at);
	must(PtlMEAttach(ni, PT, any, k, 0, PTL_RETAIN, PTL_INS_AFTER, &me), "PtlMEAttach");
	must(PtlMDAttach(me, md, PTL_RETAIN, &mdh), "PtlMDAttach");
}

static void *thread(void *ready)
{
	char buf[LEN];

	offer(THREAD, buf, sizeof(buf));
	atomic_store((_Atomic int *)ready, 1);
	t_await(W_DONE, 1, 60);
	return buf[0] ? ready : NULL;
}

static void target(size_t len)
{
	char stack[LEN], *heap = malloc(LEN);
	void *map = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	_Atomic int ready = 0;
	ptl_event_t ev;
	pthread_t t;

	if (!heap || map == MAP_FAILED || pthread_create(&t, NULL, thread, &ready))
		bail("rank 1: no memory, or no thread: %s", strerror(errno));
	while (!atomic_load(&ready))
		sched_yield();
	offer(DATA, data, len);
	offer(STACK, stack, sizeof(stack));
	offer(HEAP, heap, LEN);
	offer(MMAP, map, LEN);
	t_barrier();
	while (!atomic_load(t_word(W_DONE))) {
		PtlEQGet(eq, &ev);
		if (atomic_load(&t_page()->dead))
			bail("rank 1: rank 0 has ended");
		sched_yield();
	}
	pthread_join(t, NULL);
}

/* ---- rank 0 ---- */

static const char *move_both_ways(enum kind k, size_t len, ptl_process_id_t to)
{
	static char src[BIG], dst[BIG];
	ptl_md_t md = { .start = src, .length = len, .threshold = PTL_MD_THRESH_INF, .eq_handle = eq };
	ptl_handle_md_t s, d;
	void *at = (void *)(uintptr_t)atomic_load(t_word(W_ADDR + (int)k));
	enum smartmap_path p = smartmap_size() > 1 ? smartmap_path(1, at, len) : SMARTMAP_BOUNCE;
	const char *cma = getenv("PTL_CMA");
	unsigned long far = 0;
	long before;

	if (p == SMARTMAP_CMA && cma && !strcmp(cma, "no"))	/* libportals' setting, not libsmartmap's */
		p = SMARTMAP_BOUNCE;

	memset(src, 0x40 + k, len);
	must(PtlMDBind(ni, md, PTL_RETAIN, &s), "PtlMDBind");
	md.start = dst;
	must(PtlMDBind(ni, md, PTL_RETAIN, &d), "PtlMDBind");
	must(PtlNIDist(ni, to, &far), "PtlNIDist");
	before = atomic_load(&kernel_copies);
	must(PtlPut(s, PTL_ACK_REQ, to, PT, 0, k, 0, 0), "PtlPut");
	await_event(PTL_EVENT_ACK);
	must(PtlGet(d, to, PT, 0, k, 0), "PtlGet");
	await_event(PTL_EVENT_REPLY_END);
	if (memcmp(src, dst, len))
		bail("%s: other bytes came back", kind_name[k]);
	if (smartmap_size() < 2)
		return "network";
	if ((atomic_load(&kernel_copies) > before) != (p == SMARTMAP_CMA))
		bail("%s: the library says %s, and called process_vm_* %ld times", kind_name[k], path_name[p],
		     atomic_load(&kernel_copies) - before);
	must(PtlMDUnlink(s), "PtlMDUnlink");
	must(PtlMDUnlink(d), "PtlMDUnlink");
	return path_name[p];
}

static void initiator(size_t len)
{
	ptl_process_id_t to;
	char line[200];
	int n = 0;

	must(PtlGetRankId(ni, 1, &to), "PtlGetRankId");
	t_barrier();
	for (int k = 0; k < KINDS; k++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %s=%s", kind_name[k],
			      move_both_ways((enum kind)k, k == DATA ? len : LEN, to));
	printf("paths:%s\n", line);
	atomic_store(t_word(W_DONE), 1);
}

int main(int argc, char **argv)
{
	size_t len = LEN;
	int n, rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	plan(1);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "undumpable"))
			prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		if (!strcmp(argv[i], "big"))
			len = BIG;
	}
	t_page();
	must(PtlInit(&n), "PtlInit");
	rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
	if (rc != PTL_OK) {
		printf("paths: none\ncode: %s\n", PtlErrorStr((unsigned)rc));
	} else {
		must(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &eq), "PtlEQAlloc");
		for (int f = 0; f < SMARTMAP_F_MAX && smartmap_size() > 1; f++)
			if (*smartmap_why((enum smartmap_feature)f))
				printf("why %s: %s\n", feature_name[f], smartmap_why((enum smartmap_feature)f));
		if (t_rank() == 0)
			initiator(len);
		else if (t_rank() == 1)
			target(len);
		else
			t_barrier();
		must(PtlNIFini(ni), "PtlNIFini");
	}
	PtlFini();
	ok(1, "a rank");
	return exit_status();
}
