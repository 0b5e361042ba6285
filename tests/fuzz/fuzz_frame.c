/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz_frame.c - an engine with a peer that sends anything
 *
 * The input is a list of steps. A step is a byte that says how much is made good (identity, number, lengths of the
 * frame that follows, checksum) or which call the victim makes itself, then the frame's 128 bytes, then 64 of
 * payload. Whatever comes: no byte outside the buffers that MDs name is touched, the walk ends, and when the peer is
 * gone nothing is held.
 */
#include "../common/tap.h"
#include "../unit/frame_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define STEP (1 + WIRE_HDR + 64)
#define STEPS 200
#define BUF 4096

static uint8_t mem[4][BUF];

static void must(bool good)
{
	if (!good)
		abort();
}

static bool guarded(struct fr_engine *e, bool to, uint64_t addr, void *buf, uint64_t len, bool direct)
{
	must(addr >= (uintptr_t)mem && len <= sizeof(mem) && addr - (uintptr_t)mem <= sizeof(mem) - len);
	return f_copy(e, to, addr, buf, len, direct);
}

/* Frames of the victim go nowhere. */
static int sink(void *ctx, struct fr_peer *p, const uint8_t *hdr, const void *payload, uint32_t len)
{
	struct wire_hdr h;

	must(wire_decode(hdr, WIRE_HDR, &h) == WIRE_OK && h.paylen == len);
	return 0;
}

static const struct fr_link nowhere = { .send = sink, .lossy = true };

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}

/* A long frame as a stream brings it: what it says of its length is so, or its connection ends before. */
static void pieces(struct fr_peer *p, const uint8_t *f, uint32_t len, uint8_t how)
{
	struct wire_vec v[2];
	uint32_t at = 0, n;

	if (fr_begin(node[0].e, p, f) != FR_PIECES)
		return;
	while (at < len) {
		n = len - at < 3000 ? len - at : 3000;
		if ((how & 32) && fr_where(node[0].e, p, v, 2)) {
			must((uintptr_t)v[0].at >= (uintptr_t)mem && v[0].len <= sizeof(mem) &&
			     (uintptr_t)v[0].at - (uintptr_t)mem <= sizeof(mem) - v[0].len);
			n = v[0].len < len - at ? (uint32_t)v[0].len : len - at;
			fr_piece(node[0].e, p, NULL, n);
		} else {
			fr_piece(node[0].e, p, f + WIRE_HDR + at, n);
		}
		at += n;
		if ((how & 64) && at > len / 2)
			return;
	}
}

static void frame(uint8_t how, const uint8_t *from)
{
	struct fr_peer *p = node[0].peer[1];
	static uint8_t f[WIRE_HDR + WIRE_PAYLOAD];
	uint32_t len = 64;

	memcpy(f, from, WIRE_HDR + 64);
	put32(f, WIRE_MAGIC);
	f[4] = WIRE_VERSION;
	if (how & 1) {			/* identity */
		put32(f + 12, C_JID);
		put32(f + 16, 11);
		put32(f + 20, 101);
		put32(f + 24, C_UID);
		put32(f + 28, 10);
		put32(f + 32, 100);
	}
	if (how & 2) {			/* a known type, flags that it may have, the next number, numbers that can be */
		f[5] = (uint8_t)(1 + f[5] % (WIRE_TYPE_MAX - 1));
		f[6] &= f[5] == WIRE_NOP ? 31 : f[5] == WIRE_DATA ? 37 : 36;
		f[7] = 0;
		put32(f + 36, p->ch[f[5] == WIRE_ACK || f[5] == WIRE_REPLY || (f[6] & 1)].expect);
		put32(f + 40, p->ch[0].base + f[40] % 4);
		put32(f + 44, p->req_done + f[44] % 3);
		put32(f + 48, f[5] == WIRE_ACK || f[5] == WIRE_REPLY ? p->req_done + f[48] % 4 : p->want);
		put32(f + 112, p->ch[1].base + f[112] % 4);
		put32(f + 116, 0);
	}
	if (how & 4) {			/* short lengths */
		put32(f + 8, f[8] % 65u);
		memset(f + 81, 0, 7);
		memset(f + 89, 0, 7);
		f[53] = 0, f[52] %= 8, f[55] = 0, f[54] %= 4;
		memset(f + 57, 0, 7);
		f[56] %= 4;
	}
	if (f[8] <= 64 && !f[9] && !f[10] && !f[11])
		len = f[8];
	if (how & 16) {
		len = FR_COPY + 1 + f[8] * 90u;
		put32(f + 8, len);
		if (how & 2) {		/* as long as it must be at least, and a bit */
			put32(f + 80, len + f[80] * 100u);
			put32(f + 84, 0);
		}
	}
	put32(f + WIRE_HDR - 4, wire_sum(f, WIRE_HDR - 4));
	if (how & 16) {
		pieces(p, f, len, how);
		return;
	}
	fr_input(node[0].e, p, f, WIRE_HDR + len);
}

static void call(uint8_t what, struct p3l_ref put, struct p3l_ref get, const uint8_t *arg)
{
	uint64_t len = (arg[0] | (uint64_t)arg[1] << 8) % (BUF + 1);

	switch (what % 5) {
	case 0: f_put(0, 1, put, len, arg[2] & 1, arg[3], arg[4]); break;
	case 1: f_get(0, 1, get, 0, len, arg[3], arg[4]); break;
	case 2:
		if (arg[2] & 1)
			f_step(0, 1, (enum p3l_type)(P3L_FETCH + (arg[2] >> 1) % WIRE_OPS), get, put, 2u << len % 3,
			       arg[3], arg[4], arg[0]);
		else
			f_getput(0, 1, get, put, len % 65, arg[3], arg[4]);
		break;
	case 3:
		net.now += (int64_t)arg[0] * 100000;
		node[0].e->now = net.now;
		fr_timer(node[0].e);
		break;
	case 4: fr_flush(node[0].e); break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct loop_inject none = { 0 };
	static uint8_t step[STEP];
	struct p3l_ref put, get;

	f_start(2, &none);
	node[0].e->copy = guarded;
	node[0].e->link = &nowhere;
	put = f_bind(0, mem[0], BUF, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	get = f_bind(0, mem[1], BUF, PTL_MD_THRESH_INF, 0, PTL_RETAIN, true);
	f_post(0, 0, mem[2], BUF, PTL_MD_THRESH_INF,
		PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_TRUNCATE);
	f_post(0, 1, mem[3], BUF, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET);
	f_post(0, 2, mem[3], 100, 3, PTL_MD_OP_PUT | PTL_MD_TRUNCATE);
	for (unsigned i = 0; n && i < STEPS; i++) {
		size_t k = n < STEP ? n : STEP;

		memset(step, 0, sizeof(step));
		memcpy(step, data, k);
		data += k;
		n -= k;
		if (step[0] & 0x80)
			call(step[0] & 0x7f, put, get, step + 1);
		else
			frame(step[0], step + 1);
		for (struct p3l_slot ev; f_event(0, &ev);)
			;
	}
	fr_gone(node[0].e, node[0].peer[1]);
	must(f_clean(0));
	f_end();
	return 0;
}
