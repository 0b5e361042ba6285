/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz_look.c - the memory of other processes, as ptl_info copies and prints it
 *
 * A job of three ranks as it is in their memory (pages, regions, what they know of another node), with words of it
 * changed: the input is a list of (which object of which rank, where, value). The first byte: list, show or hang, as
 * text or JSON; the second: what the ranks wait for. Whatever stands there, no address outside the copies is read.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>

static ssize_t foreign(int pid, const struct iovec *own, unsigned long n, const struct iovec *other, unsigned long m,
		       unsigned long flags);
static void *room(void *at, size_t len, int prot, int flags, int fd, long off);
static int no_room(void *at, size_t len);
#define process_vm_readv foreign
#define mmap room
#define munmap no_room
#define info_find find_those_of_this_machine
#include "../../tools/info_job.c"
#undef info_find
#undef mmap
#undef munmap
int info_find(uint32_t which, struct info_job **jobs);
#define nanosleep(...) ((void)0)
#include "../../tools/info_show.c"
#undef nanosleep
#include "fuzz.h"

enum { RANKS = 3, PID = 0x3ffff000, FAR = 2, CHANGES = 64 };

/* Objects of a rank: where it has them, and ours with the same bytes. */
enum object { REGION, FAR_ARRAY, PEER, PEER_2, PAGE, OBJECTS };
static struct {
	struct look_page page;
	struct { uint64_t rank, peer; } far[FAR];
	struct fr_peer peer[FAR];
	struct p3l_ni *l;
} rank_[RANKS];
static size_t region_len;

static uint64_t address(unsigned r, enum object o)
{
	return (r + 1ull) << 40 | (uint64_t)o << 36;
}

static void *object(unsigned r, enum object o, size_t *len)
{
	switch (o) {
	case REGION: *len = region_len; return rank_[r].l;
	case FAR_ARRAY: *len = sizeof(rank_[r].far); return rank_[r].far;
	case PEER: case PEER_2: *len = sizeof(struct fr_peer); return &rank_[r].peer[o - PEER];
	default: *len = sizeof(rank_[r].page); return &rank_[r].page;
	}
}

static ssize_t foreign(int pid, const struct iovec *own, unsigned long n, const struct iovec *other, unsigned long m,
		       unsigned long flags)
{
	ssize_t sum = 0;

	must(n == m && n <= PIECES);
	for (unsigned long i = 0; i < n; i++) {
		uint64_t at = (uint64_t)(uintptr_t)other[i].iov_base, off = at & 0xfffffffff;
		unsigned r = (unsigned)(at >> 40) - 1;
		size_t len = 0;
		char *from = NULL;

		must(own[i].iov_len == other[i].iov_len);
		if (pid - PID == (int)r && r < RANKS)
			from = object(r, at >> 36 & 15, &len);
		if (!from || off > len || other[i].iov_len > len - off) {
			errno = EFAULT;
			return sum ? sum : -1;
		}
		memcpy(own[i].iov_base, from + off, own[i].iov_len);
		sum += (ssize_t)own[i].iov_len;
	}
	return sum;
}

/* A copy has nothing behind it. */
#define GUARD ((size_t)128 << 20)

static void *room(void *at, size_t len, int prot, int flags, int fd, long off)
{
	char *p = mmap(at, len + GUARD, PROT_NONE, flags, fd, off);

	must(p != MAP_FAILED && !mprotect(p, (len + 4095) & ~(size_t)4095, prot));
	return p;
}

static int no_room(void *at, size_t len)
{
	return munmap(at, len + GUARD);
}

int info_find(uint32_t which, struct info_job **jobs)
{
	struct info_job *j = calloc(1, sizeof(*j));

	must(j);
	j->n = RANKS;
	j->r = calloc(RANKS, sizeof(*j->r));
	must(j->r);
	for (int r = 0; r < RANKS; r++) {
		j->r[r].unix_pid = PID + r;
		j->r[r].page = rank_[r].page;
		j->r[r].page.nal[sizeof(j->r[r].page.nal) - 1] = 0;
		j->r[r].stranger = j->r[r].page.layout != LOOK_LAYOUT;
	}
	*jobs = j;
	return 1;
}

static void make(void)
{
	struct p3l_setup s = { .nid = 1, .n_slots = RANKS, .lane_lines = 64, .max_me = 64, .max_md = 64, .max_eq = 8,
			       .max_pt = 15, .max_ac = 2, .max_me_list = 32, .max_iov = 16, .space = 1 << 16 };
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };

	region_len = p3l_ni_size(&s);
	for (unsigned r = 0; r < RANKS; r++) {
		struct p3l_env env = { .self = r + 1, .single = true };
		struct p3l_ref eq, me, md;
		struct p3l_md_args a;
		ptl_md_t v = { .length = 8, .threshold = PTL_MD_THRESH_INF, .options = PTL_MD_OP_PUT };

		s.pid = 100 + r;
		s.slot = r;
		rank_[r].l = mmap(NULL, region_len, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		must(rank_[r].l != MAP_FAILED);
		p3l_ni_setup(rank_[r].l, &s);
		must(p3l_eq_alloc(&env, rank_[r].l, 4, &eq) == PTL_OK);
		a = (struct p3l_md_args){ .md = &v, .eq = (eq.idx + 1) | eq.gen << 16 };
		must(p3l_me_attach(&env, rank_[r].l, 3, any, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me) == PTL_OK);
		must(p3l_md_attach(&env, rank_[r].l, me, &a, PTL_RETAIN, &md) == PTL_OK);
	}
}

/* As a healthy job has them; the small objects, that is: regions are put back change by change. */
static void fresh(uint8_t some)
{
	for (unsigned r = 0; r < RANKS; r++) {
		rank_[r].page = (struct look_page){
			.magic = LOOK_MAGIC, .layout = LOOK_LAYOUT, .phase = LOOK_OPEN, .rank = r,
			.ranks = RANKS + FAR, .nodes = 2, .local_rank = r, .local_size = RANKS,
			.nid = 1, .pid = 100 + r, .jid = 5,
			.region = address(r, REGION), .region_len = region_len,
			.far = address(r, FAR_ARRAY), .far_n = FAR,
			.far_stride = sizeof(rank_[r].far[0]), .far_peer_at = 8, .nal = "gp",
		};
		for (unsigned k = 0; k < FAR; k++) {
			rank_[r].far[k].rank = RANKS + k;
			rank_[r].far[k].peer = address(r, PEER + k);
			memset(&rank_[r].peer[k], 0, sizeof(struct fr_peer));
			rank_[r].peer[k].req_next = k;
		}
		for (unsigned s = 0; s < RANKS; s++) {
			struct p3l_wait *w = &p3l_row(rank_[r].l, s)->wait;

			memset(w, 0, sizeof(*w));
			w->what = (some >> 2 * s) % P3L_WAIT_MAX + (s == r && some & 1 ? P3L_WAIT_QUEUE : 0);
		}
	}
}

/* Parts of a region that are worth changing more than others. */
static size_t part(const struct p3l_ni *l, uint8_t which, uint8_t index, size_t *len)
{
	const char *at = (const char *)l;

	*len = sizeof(*l);
	switch (which % 8) {
	case 1: at = (const char *)p3l_row(l, index % RANKS); *len = sizeof(struct p3l_row); break;
	case 2: at = (const char *)p3l_lane(l, index % RANKS); *len = sizeof(struct p3l_lane_hdr) + 4096; break;
	case 3: at = (const char *)p3l_me(l, index % 8); *len = sizeof(struct p3l_me); break;
	case 4: at = (const char *)p3l_md(l, index % 8); *len = sizeof(struct p3l_md); break;
	case 5: at = (const char *)&l->pt[index % P3L_MAX_PT]; *len = sizeof(struct p3l_pt); break;
	case 6: at = (const char *)&l->eq[index % 8]; *len = sizeof(struct p3l_eq); break;
	case 7: *len = 1024; break;			/* the fields of the head */
	}
	return (size_t)(at - (const char *)l);
}

static struct { uint32_t *at, was; } change[CHANGES];
static unsigned changes;

static void change_one(struct fuzz_in *in)
{
	uint8_t who = (uint8_t)fuzz_number(in, 1), which = (uint8_t)fuzz_number(in, 1),
		index = (uint8_t)fuzz_number(in, 1);
	unsigned r = who % RANKS;
	enum object o = who / RANKS % (OBJECTS + 3);
	size_t at = 0, len, off = (size_t)fuzz_number(in, 2) * 4;
	char *base;

	if (o >= OBJECTS)
		o = REGION;
	base = object(r, o, &len);
	if (o == REGION)
		at = part(rank_[r].l, which, index, &len);
	at += off % (len & ~(size_t)3);
	change[changes].at = (uint32_t *)(void *)(base + at);
	change[changes].was = *change[changes].at;
	*change[changes].at = fuzz_number(in, 4);
	changes++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static FILE *nowhere;
	FILE *out = stdout;
	struct fuzz_in in;

	if (!fuzz_in(&in, data, n))
		return 0;
	if (!nowhere) {
		nowhere = fopen("/dev/null", "w");
		must(nowhere);
		make();
	}
	fresh(in.some);
	while (in.n && changes < CHANGES)
		change_one(&in);
	stdout = nowhere;
	switch (in.kind % 3) {
	case 0: info_list(0, in.kind & 4); break;
	case 1: info_show(0, in.kind & 4); break;
	case 2: info_hang(0, in.kind & 4); break;
	}
	stdout = out;
	while (changes) {		/* the last one first: two may be of one word */
		changes--;
		*change[changes].at = change[changes].was;
	}
	free(in.text);
	return 0;
}
