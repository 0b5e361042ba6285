/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * selftest.c - one exchange through the core as the kernel module compiles it
 *
 * Built twice: as a kernel module (its start runs the test, KTAP in the kernel log, and the load fails when it does),
 * and as a user program over kshim.h, so that it also runs where no module can be loaded.
 */
#include "p3l.h"
#include "gptl_env.h"

#ifdef __KERNEL__
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/string.h>
#define say(...) pr_info(__VA_ARGS__)
#else
#include <stdio.h>
#include <string.h>
#define say(...) printf(__VA_ARGS__)
#endif

static int count, bad;

static void check(bool good, const char *name)
{
	bad += !good;
	say("%sok %d - %s\n", good ? "" : "not ", ++count, name);
}

static struct p3l_ni *ni;
static struct p3l_env env;
static char target[256];

static void t_words(void)
{
	uint64_t w64 = 5;
	uint32_t w32 = 5;

	check(p3_fetch_add(&w32, 3) == 5 && p3_fetch_add(&w64, (uint64_t)1 << 40) == 5 && w32 == 8 &&
	      w64 == ((uint64_t)1 << 40 | 5), "fetch_add gives the old value, in both widths");
	check(p3_fetch_or(&w32, 3) == 8 && w32 == 11 && p3_fetch_or(&w64, (uint64_t)2) && w64 == ((uint64_t)1 << 40 | 7),
	      "fetch_or");
	check(!p3_cas32(&w32, 10, 1) && w32 == 11 && p3_cas32(&w32, 11, 1) && p3_load_acq(&w32) == 1, "cas32");
	check(p3_xchg(&w32, 9) == 1 && p3_load(&w32) == 9, "xchg");
	p3_add(&w64, (uint64_t)-7);
	check(w64 == (uint64_t)1 << 40, "add");
}

static void t_put(struct p3l_ref eq, struct p3l_ref me)
{
	struct p3l_hdr h = { .type = P3L_PUT, .src = (uint16_t)(env.self - 1), .nid = 1, .pid = 9, .jid = 1, .pt = 3,
			     .match_bits = 0xabc0, .rlength = 32, .hdr_data = 77 };
	struct p3l_op *op = p3l_op_get(&env, ni);
	struct p3l_slot ev;

	check(op && p3l_target_begin(&env, ni, &h, op, false) == P3L_MATCHED && op->mlength == 32 &&
	      op->start + op->moff == (uint64_t)(uintptr_t)target, "a put is matched to its memory descriptor");
	if (bad)
		return;
	memset((char *)(uintptr_t)(op->start + op->moff), 'x', 32);	/* what the NAL does */
	check(p3l_md_unlink(&env, ni, (struct p3l_ref){ 0, 0 }) == PTL_MD_IN_USE, "it is in use meanwhile");
	check(!p3l_target_end(&env, ni, op, PTL_NI_OK), "no acknowledgement was asked for");
	check(p3l_eq_read(&env, ni, eq.idx, &ev, true) == 1 && ev.kind_fail == PTL_EVENT_PUT_START, "PUT_START");
	check(p3l_eq_read(&env, ni, eq.idx, &ev, true) == 1 && ev.kind_fail == PTL_EVENT_PUT_END &&
	      ev.mlength == 32 && ev.hdr_data == 77, "PUT_END");
	check(p3l_eq_read(&env, ni, eq.idx, &ev, true) == 0, "and nothing else");
	h.match_bits = 1;
	op = p3l_op_get(&env, ni);
	check(op && p3l_target_begin(&env, ni, &h, op, false) == P3L_DROPPED, "other match bits: dropped");
	check(p3l_row(ni, env.self - 1)->stats.drop_count == 1, "and counted");
	check(p3l_me_unlink(&env, ni, me) == PTL_OK && ni->pt[3].len == 0, "the match entry is unlinked");
}

static void t_lane(void)
{
	struct p3l_lane_tx tx = { 0 };
	char bytes[16];
	struct p3l_hdr h = { .type = P3L_PUT, .pt = 3, .match_bits = 5, .rlength = 16, .roffset = 8, .ack = 1, .md = 2 };
	struct p3l_lane_hdr *l = p3l_lane(ni, 0);
	struct p3l_hdr got;
	struct p3l_data data;
	int n = 0, i, lines;

	for (i = 0; i < 1000; i++) {
		if (!p3l_lane_room(ni, 0, &tx, 16))
			break;
		h.hdr_data = (uint64_t)i;
		p3l_lane_put(ni, 0, &tx, &h, "0123456789abcdef", i & 1);
		lines = p3l_lane_peek(ni, l, &got, &data);
		if (lines > 0)
			p3l_data_read(&data, bytes, 16);
		if (lines <= 0 || got.hdr_data != (uint64_t)i || got.match_bits != 5 || got.roffset != 8 || !got.ack ||
		    got.md != 2 || memcmp(bytes, "0123456789abcdef", 16))
			break;
		p3l_lane_advance(ni, l, (uint32_t)lines);
		p3l_lane_release(ni, l);
		n++;
	}
	check(n == 1000 && p3l_lane_peek(ni, l, &got, &data) == 0, "1000 messages through an inbox lane");
}

static int run(void)
{
	struct p3l_setup s = { .nid = 1, .pid = 1, .jid = 1, .lane_lines = 256, .max_me = 16, .max_md = 16, .max_eq = 4,
			       .max_pt = 7, .max_me_list = 16, .max_iov = 4, .space = 65536 };
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	struct p3l_md_args a = { 0 };
	struct p3l_ref eq, me, md;
	static ptl_md_t m;

	s.n_slots = GPTL_SLOTS;
	ni = gptl_region_alloc(&s);
	check(ni != NULL, "memory for an interface");
	if (!ni)
		return 1;
	p3l_ni_setup(ni, &s);
	gptl_enter(&env);
	check(env.self && env.self <= p3l_slots(ni), "the row of this processor is one of the interface");
	t_words();
	check(p3l_ni_sane(ni, ni->size), "the interface is sane");
	check(p3l_eq_alloc(&env, ni, 8, &eq) == PTL_OK, "an event queue");
	check(p3l_me_attach(&env, ni, 3, any, 0xabc0, 0xf, PTL_RETAIN, PTL_INS_AFTER, &me) == PTL_OK, "a match entry");
	m.start = target;
	m.length = sizeof(target);
	m.threshold = 4;
	m.options = PTL_MD_OP_PUT;
	a.md = &m;
	a.eq = (eq.idx + 1) | eq.gen << 16;
	check(p3l_md_attach(&env, ni, me, &a, PTL_RETAIN, &md) == PTL_OK && md.idx == 0, "a memory descriptor");
	if (!bad)
		t_put(eq, me);
	t_lane();
	gptl_leave();
	gptl_region_free(ni);
	return bad;
}

#ifdef __KERNEL__
static int __init selftest_init(void)
{
	int failed = run();

	pr_info("1..%d\n", count);
	return failed ? -EINVAL : 0;
}

static void __exit selftest_exit(void)
{
}

module_init(selftest_init);
module_exit(selftest_exit);
MODULE_DESCRIPTION("Portals 3.3 core: one exchange, to see that the kernel compiles it right");
MODULE_LICENSE("Dual BSD/GPL");
#else
int main(void)
{
	int failed = run();

	printf("1..%d\n", count);
	return failed != 0;
}
#endif
