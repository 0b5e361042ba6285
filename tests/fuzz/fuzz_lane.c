/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz_lane.c - an inbox whose initiator writes anything into its lines
 *
 * The input is a list of steps. A step is a byte that says where its line goes, what of it is made good and whether
 * the owner looks then, and by which way (straight to a waiting reader, short, by a record; alone or with locks), and
 * the 64 bytes of a line. Whatever comes: the owner's look ends, no byte outside the memory of its descriptors is
 * touched, and lists, events and records are whole afterwards.
 */
#include "../common/tap.h"
#include "../unit/core_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define STEP	(1 + P3L_LINE)
#define STEPS	400
#define FROM	2		/* slot of the initiator */
#define BUF	512
#define GUARD	64

enum { GOOD = 1, NEXT = 2, LOOK = 4, HOT = 8, ALONE = 16, RECORD = 32, SHORT_TOO = 64 };

static struct { uint8_t before[GUARD], buf[BUF], behind[GUARD]; } mem[4];
static struct p3l_ni *ni;
static struct p3l_env env;
static struct p3l_ref eq;

static void must(bool good)
{
	if (!good)
		abort();
}

static void post(uint32_t pt, unsigned k, uint64_t length, int threshold, unsigned options, bool queue)
{
	ptl_md_t md = c_md((uintptr_t)mem[k].buf, length, threshold, PTL_MD_OP_PUT | options);
	struct p3l_md_args a = c_args(&md, queue ? &eq : NULL);
	struct p3l_ref me, ref;

	must(p3l_memd_attach(&env, ni, pt, C_ANY, k, ~0xffull, PTL_RETAIN, PTL_INS_AFTER, &a,
			     threshold > 0 ? PTL_UNLINK : PTL_RETAIN, &me, &ref) == PTL_OK);
}

static void start(void)
{
	struct p3l_setup s = c_setup();

	if (ni)
		c_free(ni);
	ni = c_region(&s);
	memset(mem, 0x5a, sizeof(mem));
	env = c_env(0, false);
	must(p3l_eq_alloc(&env, ni, 64, &eq) == PTL_OK);
	post(0, 0, BUF, PTL_MD_THRESH_INF, PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE, true);
	post(0, 1, 100, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, true);
	for (int i = 0; i < 8; i++)
		post(1, 1, BUF, 1, PTL_MD_EVENT_START_DISABLE | (i & 1 ? PTL_MD_XT_NP : 0), true);
	post(1, 2, BUF, PTL_MD_THRESH_INF, PTL_MD_MAX_SIZE, false);
	post(2, 3, 20, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE | PTL_MD_MANAGE_REMOTE, true);
	post(3, 3, BUF, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, true);
}

/* As nal_drain() does it. */
static void look(struct p3l_lane_hdr *lane, uint8_t how)
{
	struct p3l_data d;
	struct p3l_hdr h = { .src = FROM };
	int lines;

	must(p3l_lane_lock(&env, ni, lane, false));
	for (unsigned n = 0; (lines = p3l_lane_peek(ni, lane, &h, &d)) != 0; n++) {
		struct p3l_op *op;

		must(n <= ni->lane_lines && lines <= (int)ni->lane_lines);
		if (lines < 0) {
			p3l_lane_advance(ni, lane, 1);
			continue;
		}
		h.nid = C_NID;
		h.pid = 100 + FROM;
		h.uid = C_UID;
		h.jid = C_JID;
		if (!(how & RECORD) && h.rlength <= P3L_SHORT) {
			struct p3l_short done;

			if (p3l_target_short(&env, ni, &h, &d, &done, NULL) != P3L_OTHER) {
				p3l_lane_advance(ni, lane, (uint32_t)lines);
				p3l_lane_release(ni, lane);
				continue;
			}
		}
		op = p3l_op_get(&env, ni);
		must(op);
		op->lane = lane->head + 1;
		if (p3l_target_begin(&env, ni, &h, op, false) == P3L_MATCHED) {
			must(op->mlength <= BUF && op->moff <= BUF - op->mlength);
			p3l_data_read(&d, (void *)(uintptr_t)(op->start + op->moff), op->mlength);
			p3l_target_end(&env, ni, op, PTL_NI_OK);
		}
		p3l_lane_advance(ni, lane, (uint32_t)lines);
		p3l_lane_release(ni, lane);
	}
	p3l_lane_unlock(lane);
}

static void look_straight(struct p3l_lane_hdr *lane, bool alone)
{
	struct p3l_known known = { .pt = P3L_MAX_PT };
	unsigned n = 0;
	int rc;

	env.single = true;
	env.alone[0] = alone ? ~0ull : 0;
	do {
		const struct p3l_line *m = p3l_lane_line(ni, lane, lane->head);
		struct p3l_sink sink = c_sink(ni, eq.idx);

		sink.known = &known;
		rc = p3l_inbox_hot(&env, ni, lane, FROM, &sink, n & 1);
		must(rc <= 0 || (sink.got && m->len <= P3L_LANE_MAX));
		must(n++ <= ni->lane_lines);
	} while (rc > 0);
	env.single = false;
	env.alone[0] = 0;
}

static void whole(void)
{
	struct p3l_slot ev;

	for (uint32_t pt = 0; pt < 4; pt++)
		must(c_list_ok(ni, pt));
	for (unsigned k = 0; k < P3L_OPS; k++)
		must(p3l_row(ni, 0)->op[k].state == P3L_OP_IDLE);
	for (unsigned n = 0; p3l_eq_read(&env, ni, eq.idx, &ev, true); n++)
		must(n < 64 && (ev.kind_fail >> 4 || ev.mlength <= BUF));
	for (unsigned k = 0; k < 4; k++)
		for (unsigned i = 0; i < GUARD; i++)
			must(mem[k].before[i] == 0x5a && mem[k].behind[i] == 0x5a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct p3l_lane_hdr *lane;
	uint32_t at = 0;

	start();
	lane = p3l_lane(ni, FROM);
	for (unsigned i = 0; n >= STEP && i < STEPS; i++, data += STEP, n -= STEP) {
		uint8_t how = data[0];
		struct p3l_line *m;

		at = how & NEXT ? at + 1 : lane->head;
		m = p3l_lane_line(ni, lane, at);
		memcpy(m, data + 1, sizeof(*m));
		if (how & GOOD) {
			m->word = p3l_word(how & NEXT ? P3L_W_MORE : P3L_W_FULL, at);
			m->pt %= 4;
			m->flags &= how & SHORT_TOO ? P3L_LF_MATCH | P3L_LF_HDR : 255;
			m->len %= how & SHORT_TOO ? 60 : how & RECORD ? 65535 : 1024;
		}
		if (how & LOOK) {
			if (how & HOT)
				look_straight(lane, how & ALONE);
			look(lane, how);
			whole();
		}
	}
	look(lane, 0);
	whole();
	return 0;
}
