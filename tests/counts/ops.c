/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ops.c - one operation N times inside counted(), for a tool that counts what happens there
 *
 *	ops OPERATION N [INFO]
 *
 * Two ranks: 0 is the initiator, 1 the target. Nothing depends on time: the target is passive, or drains its inbox
 * between two barriers, so that the same instructions run each time. INFO: a file that the measured rank writes: the
 * address of "mark" (stored to before and after) and the ranges of memory that it shares with others.
 */
#include "../api/ptl.h"

static volatile uint64_t mark;
static unsigned char src[64], dst[1 << 16];
static ptl_handle_eq_t eq;
static ptl_handle_md_t md;
static ptl_handle_me_t base, polled;
static int n;

static void put_any(ptl_pt_index_t pt)
{
	for (int i = 0; i < n; i++)
		if (PtlPut(md, PTL_NO_ACK_REQ, peer, pt, 0, 7, 0, 0) != PTL_OK)
			bail("PtlPut");
}

static void put_direct(void)
{
	put_any(PT);
}

static void put_inbox(void)
{
	put_any(PT + 1);
}

static void get_direct(void)
{
	for (int i = 0; i < n; i++)
		if (PtlGet(md, peer, PT, 0, 7, 0) != PTL_OK)
			bail("PtlGet");
}

static void eqget(void)
{
	ptl_event_t ev;

	for (int i = 0; i < n; i++)
		if (PtlEQGet(eq, &ev) != PTL_OK)
			bail("PtlEQGet: event %d of %d is not there", i, n);
}

static void eqget_empty(void)
{
	ptl_event_t ev;

	for (int i = 0; i < n; i++)
		if (PtlEQGet(eq, &ev) != PTL_EQ_EMPTY)
			bail("PtlEQGet: not empty");
}

static void memdpost(void)
{
	ptl_md_t m = p_md(dst, 8, 1, PTL_MD_OP_PUT, eq);
	ptl_handle_me_t me;
	ptl_handle_md_t h;

	for (int i = 0; i < n; i++)
		if (PtlMEMDPost(ni, base, anyone, 9, 0, PTL_UNLINK, PTL_INS_BEFORE, m, PTL_UNLINK, &me, &h, eq) != PTL_OK)
			bail("PtlMEMDPost");
}

/* A receive as MPI has it: posted where the owner matches alone, its message in the inbox by then, its event. */
static void receive(void)
{
	ptl_md_t m = p_md(dst, 8, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE | PTL_MD_XT_NP, eq);
	ptl_handle_me_t me;
	ptl_handle_md_t h;
	ptl_event_t ev;

	for (int i = 0; i < n; i++) {
		if (PtlMEMDPost(ni, polled, anyone, 7, 0, PTL_UNLINK, PTL_INS_BEFORE, m, PTL_UNLINK, &me, &h, eq) != PTL_OK)
			bail("PtlMEMDPost");
		if (PtlEQGet(eq, &ev) != PTL_OK || ev.md_handle != h)
			bail("PtlEQGet: not event %d of %d", i, n);
	}
}

/* The same without an entry. */
static void take(void)
{
	ptl_take_np_t t = { .match_id = peer, .match_bits = 7, .ignore_hdr = ~0ull, .start = dst, .length = 8 };

	for (int i = 0; i < n; i++)
		if (PtlMEMDTake_np(polled, eq, &t, 1) != PTL_OK || t.mlength != 8)
			bail("PtlMEMDTake_np: not message %d of %d", i, n);
}

/* who: rank that is measured; before: what the other rank does first */
static const struct op {
	const char *name;
	int who;
	void (*fn)(void), (*before)(void);
	const char *index_from;		/* of PTL_INDEX_FROM */
} ops[] = {
	{ "put_direct", 0, put_direct, NULL, NULL },
	{ "put_inbox", 0, put_inbox, NULL, NULL },
	{ "get_direct", 0, get_direct, NULL, NULL },
	{ "eqget_direct", 1, eqget, put_direct, NULL },
	{ "eqget_inbox", 1, eqget, put_inbox, NULL },
	{ "eqget_empty", 1, eqget_empty, NULL, NULL },
	{ "receive_inbox", 1, receive, put_inbox, NULL },
	{ "take_inbox", 1, take, put_inbox, NULL },
	{ "memdpost", 1, memdpost, NULL, "0" },
	{ "memdpost_long", 1, memdpost, NULL, "4" },	/* the list has an index */
};

__attribute__((noinline)) void counted(void (*fn)(void));
__attribute__((noinline)) void counted(void (*fn)(void))
{
	mark = 1;
	fn();
	mark = 2;
}

static void write_info(const char *path)
{
	FILE *out = fopen(path, "w"), *maps = fopen("/proc/self/maps", "r");
	char line[512];

	if (!out || !maps)
		bail("cannot write %s", path);
	fprintf(out, "mark %lx\n", (unsigned long)(uintptr_t)&mark);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && strstr(line, "memfd:") && !strstr(line, "t-page"))
			fprintf(out, "shared %lx %lx\n", from, to);
	}
	fprintf(out, "end\n");
	fclose(maps);
	fclose(out);
}

static void drain_all(void)
{
	while (PtlEQGet(eq, &(ptl_event_t){ 0 }) != PTL_EQ_EMPTY)
		;
}

int main(int argc, char **argv)
{
	const struct op *op = NULL;
	ptl_handle_me_t me;

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (argc > 2 && !strcmp(argv[1], ops[i].name))
			op = &ops[i];
	if (!op || t_size() != 2)
		bail("usage: two ranks of: ops OPERATION N [INFO]");
	plan(1);
	if (op->index_from)
		setenv("PTL_INDEX_FROM", op->index_from, 1);
	p_init();
	if (PtlEQAlloc(ni, 1024, PTL_EQ_HANDLER_NONE, &eq) || PtlMDBind(ni, p_md(src, 8, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE),
								       PTL_RETAIN, &md))
		bail("setup");
	for (ptl_pt_index_t pt = PT; t_rank() == 1 && pt < PT + 2; pt++)
		if (p_post_at(pt, 7, 0, PTL_RETAIN,
			      p_md(dst, sizeof(dst), PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET |
				   PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE, eq), PTL_RETAIN, &me, NULL))
			bail("setup");
	polled = me;
	if (PtlMEAttach(ni, PT + 2, (ptl_process_id_t){ 0, 0 }, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &base) ||
	    PtlPTPolled_np(ni, PT + 1, 1))
		bail("setup");
	for (int round = 0; round < 3; round++) {	/* the last one is measured; the others warm up */
		n = round == 2 ? atoi(argv[2]) : 8;
		t_barrier();
		if (t_rank() != op->who && op->before)
			op->before();
		t_barrier();
		if (t_rank() == op->who) {
			if (round == 2 && argc > 3)
				write_info(argv[3]);
			if (round == 2)
				counted(op->fn);
			else
				op->fn();
		}
		t_barrier();
		drain_all();
	}
	t_barrier();
	ok(1, "%s", op->name);
	PtlFini();
	return 0;
}
