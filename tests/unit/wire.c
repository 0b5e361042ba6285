/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * wire.c - the layout of frames: golden bytes of each type, what is written comes back, what makes no sense is
 * refused
 *
 * Options: --seed N (printed). The golden bytes are the format: they change only together with WIRE_VERSION.
 */
#include "../common/tap.h"
#include "../../nal/wire/wire.h"
#include "../../portals/lib/p3l.h"

_Static_assert(WIRE_SWAP_MAX == P3L_MAX_GETPUT, "a getput is one frame");
_Static_assert(P3L_FETCH + WIRE_OPS - 1 == P3L_MSWAP, "each operation can be sent");

static uint64_t seed = 1;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

/* Every field another value, and each byte of a field another. */
static struct wire_hdr sample(uint8_t type)
{
	struct wire_hdr h = {
		.type = type, .jid = 0x0d0c0b0a, .src_nid = 0x13121110, .src_pid = 0x17161514,
		.src_uid = 0x1b1a1918, .dst_nid = 0x1f1e1d1c, .dst_pid = 0x23222120, .seq = 0x27262524,
		.ack = { 0x2b2a2928, 0x73727170 },
		.done = 0x2f2e2d2c, .req = 0x33323130, .pt = 0x3534, .ac = 0x3736, .match_bits = 0x3f3e3d3c3b3a3938,
		.hdr_data = 0x4746454443424140, .roffset = 0x4f4e4d4c4b4a4948, .rlength = 40,
		.loffset = 0x6766656463626160,
		.md = 0x6b6a6968, .md_gen = 0x6f6e6d6c,
	};

	switch (type) {
	case WIRE_PUT: case WIRE_GETPUT:
		h.paylen = 40;
		break;
	case WIRE_ATOMIC:
		h.paylen = 8;
		h.rlength = 8;
		h.op = 5;
		break;
	case WIRE_ACK:
		h.mlength = 30;
		break;
	case WIRE_REPLY:
		h.paylen = h.mlength = 30;
		break;
	case WIRE_DATA:
		h.paylen = 40;
		h.flags = WIRE_F_ANSWER | WIRE_F_SUM;
		h.paysum = 0x7b7a7978;
		break;
	case WIRE_NOP:
		h.flags = WIRE_F_BUSY;
	}
	return h;
}

#define GOLDEN_HEAD "50334631" "02"
/* jid ... md_gen of the sample, without lengths */
#define G_IDS	"0a0b0c0d" "10111213" "14151617" "18191a1b" "1c1d1e1f" "20212223" "24252627" "28292a2b" "2c2d2e2f" \
		"30313233" "3435" "3637" "38393a3b3c3d3e3f" "4041424344454647" "48494a4b4c4d4e4f" G_LEN
#define G_LEN	"2800000000000000"
#define G_WORD	"0a0b0c0d" "10111213" "14151617" "18191a1b" "1c1d1e1f" "20212223" "24252627" "28292a2b" "2c2d2e2f" \
		"30313233" "3435" "3637" "38393a3b3c3d3e3f" "4041424344454647" "48494a4b4c4d4e4f" "0800000000000000"
#define G_MD	"6061626364656667" "68696a6b" "6c6d6e6f"
#define G_ZERO8	"0000000000000000"
#define G_ACK	"7071727300000000"

static const char *const golden[WIRE_TYPE_MAX] = {
	[WIRE_PUT] = GOLDEN_HEAD "01" "0000" "28000000" G_IDS G_ZERO8 G_MD G_ACK "00000000",
	[WIRE_GET] = GOLDEN_HEAD "02" "0000" "00000000" G_IDS G_ZERO8 G_MD G_ACK "00000000",
	[WIRE_GETPUT] = GOLDEN_HEAD "03" "0000" "28000000" G_IDS G_ZERO8 G_MD G_ACK "00000000",
	[WIRE_ACK] = GOLDEN_HEAD "04" "0000" "00000000" G_IDS "1e00000000000000" G_MD G_ACK "00000000",
	[WIRE_REPLY] = GOLDEN_HEAD "05" "0000" "1e000000" G_IDS "1e00000000000000" G_MD G_ACK "00000000",
	[WIRE_DATA] = GOLDEN_HEAD "06" "0300" "28000000" G_IDS G_ZERO8 G_MD G_ACK "78797a7b",
	[WIRE_NOP] = GOLDEN_HEAD "07" "1000" "00000000" G_IDS G_ZERO8 G_MD G_ACK "00000000",
	[WIRE_ATOMIC] = GOLDEN_HEAD "08" "0000" "08000000" G_WORD G_ZERO8 G_MD "7071727305000000" "00000000",
};

/* Checksums of the golden headers, computed bit by bit by another program, once. */
static const uint32_t golden_sum[WIRE_TYPE_MAX] = {
	[WIRE_PUT] = 0x9c793fb5, [WIRE_GET] = 0xfb6f88e0, [WIRE_GETPUT] = 0x90c42ecf,
	[WIRE_ACK] = 0xef75a924, [WIRE_REPLY] = 0x465ac60c, [WIRE_DATA] = 0x0debf240, [WIRE_NOP] = 0xdde24b0d,
	[WIRE_ATOMIC] = 0x2b525d24,
};

static void hex(const uint8_t *p, size_t n, char *s)
{
	for (size_t i = 0; i < n; i++)
		sprintf(s + 2 * i, "%02x", p[i]);
}

static bool same(const struct wire_hdr *a, const struct wire_hdr *b)
{
	return a->type == b->type && a->flags == b->flags && a->paylen == b->paylen && a->jid == b->jid &&
	       a->src_nid == b->src_nid && a->src_pid == b->src_pid && a->src_uid == b->src_uid &&
	       a->dst_nid == b->dst_nid && a->dst_pid == b->dst_pid && a->seq == b->seq && a->ack[0] == b->ack[0] &&
	a->ack[1] == b->ack[1] &&
	       a->done == b->done && a->req == b->req && a->pt == b->pt && a->ac == b->ac &&
	       a->match_bits == b->match_bits && a->hdr_data == b->hdr_data && a->roffset == b->roffset &&
	       a->rlength == b->rlength && a->mlength == b->mlength && a->loffset == b->loffset && a->md == b->md &&
	       a->md_gen == b->md_gen && a->op == b->op && a->paysum == b->paysum;
}

static void t_golden_bytes(void)
{
	for (uint8_t t = WIRE_PUT; t < WIRE_TYPE_MAX; t++) {
		struct wire_hdr h = sample(t), back;
		uint8_t b[WIRE_HDR];
		char s[2 * WIRE_HDR + 1], sum[9];
		uint32_t v = golden_sum[t];

		wire_encode(&h, b);
		hex(b, WIRE_HDR, s);
		snprintf(sum, sizeof(sum), "%02x%02x%02x%02x", v & 255, v >> 8 & 255, v >> 16 & 255, v >> 24);
		if (!CHECK(strlen(golden[t]) == 248 && !strncmp(s, golden[t], 248) && !strcmp(s + 248, sum)))
			diag("%s: got\n# %s, want\n# %s%s", wire_type_name(t), s, golden[t], sum);
		CHECK_INT(wire_decode(b, WIRE_HDR, &back), WIRE_OK);
		CHECK(same(&back, &h));
		CHECK_INT(wire_frame_len(b), WIRE_HDR + h.paylen);
	}
}

/* The definition, bit by bit. */
static uint32_t sum_by_bits(const uint8_t *b, size_t n)
{
	uint32_t c = ~0U;

	for (size_t i = 0; i < 8 * n; i++) {
		c ^= b[i / 8] >> i % 8 & 1;
		c = c >> 1 ^ (c & 1 ? 0x82f63b78u : 0);
	}
	return ~c;
}

/* The check value of CRC-32C that its specifications give; and every length and alignment. */
static void t_checksum_is_crc32c(void)
{
	uint8_t b[256];

	CHECK_INT(wire_sum("123456789", 9), 0xe3069283u);
	CHECK_INT(wire_sum("", 0), 0);
	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(i * 167 + 13);
	for (size_t at = 0; at < 9; at++)
		for (size_t n = 0; n < 200; n++)
			CHECK_INT(wire_sum(b + at, n), sum_by_bits(b + at, n));
}

static struct wire_hdr random_hdr(void)
{
	struct wire_hdr h = sample((uint8_t)(WIRE_PUT + rnd(WIRE_TYPE_MAX - WIRE_PUT)));

	h.jid = (uint32_t)rnd(~0ull), h.src_nid = (uint32_t)rnd(~0ull), h.src_pid = (uint32_t)rnd(~0ull);
	h.src_uid = (uint32_t)rnd(~0ull), h.dst_nid = (uint32_t)rnd(~0ull), h.dst_pid = (uint32_t)rnd(~0ull);
	h.seq = (uint32_t)rnd(~0ull), h.ack[0] = (uint32_t)rnd(~0ull), h.ack[1] = (uint32_t)rnd(~0ull),
		h.done = (uint32_t)rnd(~0ull);
	h.req = (uint32_t)rnd(~0ull), h.pt = (uint32_t)rnd(65536), h.ac = (uint32_t)rnd(65536);
	h.match_bits = rnd(~0ull), h.hdr_data = rnd(~0ull), h.roffset = rnd(~0ull), h.loffset = rnd(~0ull);
	h.md = (uint32_t)rnd(0xffffffff), h.md_gen = (uint32_t)rnd(~0ull);
	h.paysum = (uint32_t)rnd(~0ull);
	switch (h.type) {
	case WIRE_PUT:
		h.rlength = rnd(4) ? rnd(WIRE_BULK) : rnd(~0ull);
		h.paylen = h.rlength > WIRE_BULK ? (uint32_t)(1 + rnd(WIRE_BULK)) : (uint32_t)h.rlength;
		break;
	case WIRE_GET:
		h.rlength = rnd(~0ull);
		break;
	case WIRE_GETPUT:
		h.rlength = h.paylen = (uint32_t)rnd(WIRE_SWAP_MAX + 1);
		break;
	case WIRE_ATOMIC:
		h.rlength = h.paylen = 2u << rnd(3);
		h.op = (uint32_t)(1 + rnd(WIRE_OPS));
		break;
	case WIRE_ACK:
		h.mlength = rnd((h.rlength = rnd(~0ull)) + 1);
		break;
	case WIRE_REPLY:
		h.rlength = rnd(~0ull);
		h.mlength = rnd(h.rlength + 1);
		h.paylen = h.mlength > WIRE_BULK ? (uint32_t)(1 + rnd(WIRE_BULK)) : (uint32_t)h.mlength;
		break;
	case WIRE_DATA:
		h.paylen = (uint32_t)(1 + rnd(WIRE_BULK));
		h.roffset = 1 + rnd(~0ull - WIRE_BULK - 2);
		break;
	}
	return h;
}

static void t_what_is_written_comes_back(void)
{
	for (int i = 0; i < 50000; i++) {
		struct wire_hdr h = random_hdr(), back;
		uint8_t b[WIRE_HDR];
		enum wire_err e;

		wire_encode(&h, b);
		e = wire_decode(b, WIRE_HDR, &back);
		if (!CHECK(e == WIRE_OK && same(&h, &back))) {
			diag("%s: %s", wire_type_name(h.type), wire_strerror(e));
			return;
		}
	}
}

static void t_indices_beyond_any_table_stay_so(void)
{
	struct wire_hdr h = sample(WIRE_PUT), back;
	uint8_t b[WIRE_HDR];

	h.pt = 0x10004;			/* would be 4 in 16 bits */
	h.ac = 0xffffffff;
	wire_encode(&h, b);
	CHECK_INT(wire_decode(b, WIRE_HDR, &back), WIRE_OK);
	CHECK_INT(back.pt, WIRE_INDEX_MAX);
	CHECK_INT(back.ac, WIRE_INDEX_MAX);
}

/* Write over one byte, with the checksum made good again. */
static enum wire_err with(uint8_t type, int at, uint8_t value)
{
	struct wire_hdr h = sample(type), untouched;
	uint8_t b[WIRE_HDR];
	enum wire_err e;
	uint32_t sum;

	memset(&untouched, 0xa5, sizeof(untouched));
	wire_encode(&h, b);
	b[at] = value;
	sum = wire_sum(b, 124);
	for (int i = 0; i < 4; i++)
		b[124 + i] = (uint8_t)(sum >> 8 * i);
	e = wire_decode(b, WIRE_HDR, &untouched);
	if (e != WIRE_OK)		/* out only on success */
		for (size_t i = 0; i < sizeof(untouched); i++)
			if (!CHECK(((uint8_t *)&untouched)[i] == 0xa5))
				break;
	return e;
}

static void t_nonsense_is_refused(void)
{
	CHECK_INT(with(WIRE_PUT, 0, 'X'), WIRE_E_MAGIC);
	CHECK_INT(with(WIRE_PUT, 4, 1), WIRE_E_VERSION);
	CHECK_INT(with(WIRE_PUT, 4, 0), WIRE_E_VERSION);
	CHECK_INT(with(WIRE_PUT, 5, 0), WIRE_E_TYPE);
	CHECK_INT(with(WIRE_PUT, 5, WIRE_TYPE_MAX), WIRE_E_TYPE);
	CHECK_INT(with(WIRE_PUT, 7, 0x80), WIRE_E_FLAGS);
	CHECK_INT(with(WIRE_PUT, 6, WIRE_F_ANSWER), WIRE_E_FLAGS);
	CHECK_INT(with(WIRE_PUT, 6, WIRE_F_BUSY), WIRE_E_FLAGS);
	CHECK_INT(with(WIRE_PUT, 6, WIRE_F_BYE), WIRE_E_FLAGS);
	CHECK_INT(with(WIRE_DATA, 6, WIRE_F_AGAIN), WIRE_E_FLAGS);
	CHECK_INT(with(WIRE_PUT, 8, 41), WIRE_E_LENGTH);	/* more payload than message */
	CHECK_INT(with(WIRE_PUT, 8, 0), WIRE_E_LENGTH);		/* a message that never begins */
	CHECK_INT(with(WIRE_PUT, 11, 1), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_PUT, 116, 1), WIRE_E_FLAGS);	/* must be zero */
	CHECK_INT(with(WIRE_PUT, 88, 1), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_GET, 8, 1), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_GETPUT, 8, 39), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_GETPUT, 80, 41), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_GETPUT, 116, 1), WIRE_E_FLAGS);
	CHECK_INT(with(WIRE_ATOMIC, 116, 0), WIRE_E_FLAGS);	/* no operation, */
	CHECK_INT(with(WIRE_ATOMIC, 116, WIRE_OPS + 1), WIRE_E_FLAGS);	/* or none that there is */
	CHECK_INT(with(WIRE_ATOMIC, 119, 1), WIRE_E_FLAGS);
	CHECK_INT(with(WIRE_ATOMIC, 8, 4), WIRE_E_LENGTH);	/* half a word */
	CHECK_INT(with(WIRE_ATOMIC, 80, 16), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_ATOMIC, 88, 1), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_ACK, 88, 41), WIRE_E_LENGTH);	/* more taken than asked */
	CHECK_INT(with(WIRE_ACK, 8, 1), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_REPLY, 88, 41), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_REPLY, 8, 31), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_DATA, 8, 0), WIRE_E_LENGTH);
	CHECK_INT(with(WIRE_NOP, 8, 1), WIRE_E_LENGTH);
	for (int i = 0; i < WIRE_TYPE_MAX; i++)
		CHECK(wire_type_name((unsigned)i)[0] != '?');
	for (int i = 0; i < WIRE_E_MAX; i++)
		CHECK(wire_strerror((enum wire_err)i)[0] != '?');
}

static void t_an_md_is_named_where_something_comes_back(void)
{
	static const uint8_t types[] = { WIRE_GET, WIRE_GETPUT, WIRE_ATOMIC, WIRE_ACK, WIRE_REPLY };
	struct wire_hdr h, back;
	uint8_t b[WIRE_HDR];

	for (size_t i = 0; i < sizeof(types); i++) {
		h = sample(types[i]);
		h.md = WIRE_NO_MD;
		wire_encode(&h, b);
		CHECK_INT(wire_decode(b, WIRE_HDR, &back), WIRE_E_INDEX);
	}
	h = sample(WIRE_PUT);		/* no acknowledgement wanted */
	h.md = WIRE_NO_MD;
	wire_encode(&h, b);
	CHECK_INT(wire_decode(b, WIRE_HDR, &back), WIRE_OK);
}

static void t_each_flipped_bit_is_noticed(void)
{
	struct wire_hdr h = sample(WIRE_PUT), back;
	uint8_t b[WIRE_HDR], data[40] = { 1, 2, 3 };

	for (int bit = 0; bit < 8 * WIRE_HDR; bit++) {
		wire_encode(&h, b);
		b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK(wire_decode(b, WIRE_HDR, &back) != WIRE_OK);
	}
	h.flags |= WIRE_F_SUM;
	h.paysum = wire_sum(data, sizeof(data));
	CHECK_INT(wire_check_payload(&h, data), WIRE_OK);
	for (int bit = 0; bit < 8 * 40; bit++) {
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK_INT(wire_check_payload(&h, data), WIRE_E_PAYSUM);
		data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

static void t_a_short_header_is_none(void)
{
	struct wire_hdr h = sample(WIRE_PUT), back;
	uint8_t b[WIRE_HDR];

	wire_encode(&h, b);
	for (size_t n = 0; n < WIRE_HDR; n++)
		CHECK_INT(wire_decode(b, n, &back), WIRE_E_SHORT);
	b[11] = 0xff;
	CHECK_INT(wire_frame_len(b), 0);
}

static void t_numbers_wrap(void)
{
	CHECK(wire_before(0xffffffff, 0));
	CHECK(!wire_before(0, 0xffffffff));
	CHECK(!wire_before(5, 5));
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		T(t_golden_bytes), T(t_checksum_is_crc32c), T(t_what_is_written_comes_back),
		T(t_indices_beyond_any_table_stay_so), T(t_nonsense_is_refused),
		T(t_an_md_is_named_where_something_comes_back), T(t_each_flipped_bit_is_noticed),
		T(t_a_short_header_is_none),
		T(t_numbers_wrap), { 0 }
	};

	if (argc > 2 && !strcmp(argv[1], "--seed"))
		seed = strtoull(argv[2], NULL, 0) | 1;
	diag("seed %llu", (unsigned long long)seed);
	return t_run(cases);
}
