/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* wire.c - the one encoder and the one decoder of frames; see wire.h and portals/doc/WIRE-FORMAT.md */
#include "wire.h"
#ifdef __KERNEL__
#include <linux/crc32.h>
#endif

/* Where the fields stand. */
enum {
	AT_MAGIC = 0, AT_VERSION = 4, AT_TYPE = 5, AT_FLAGS = 6, AT_PAYLEN = 8, AT_JID = 12, AT_SRC_NID = 16,
	AT_SRC_PID = 20,
	AT_SRC_UID = 24, AT_DST_NID = 28, AT_DST_PID = 32, AT_SEQ = 36, AT_ACK = 40, AT_DONE = 44, AT_REQ = 48,
	AT_PT = 52,
	AT_AC = 54, AT_MATCH = 56, AT_HDR_DATA = 64, AT_ROFFSET = 72, AT_RLENGTH = 80, AT_MLENGTH = 88, AT_LOFFSET = 96,
	AT_MD = 104, AT_MD_GEN = 108, AT_ACK_ANSWERS = 112, AT_OP = 116, AT_PAYSUM = 120, AT_SUM = 124
};
_Static_assert(AT_SUM + 4 == WIRE_HDR, "the checksum is last, and covers all that stands before it");

#ifdef __KERNEL__
uint32_t wire_sum(const void *p, size_t n)
{
	return ~__crc32c_le(~0U, p, n);
}
#else
/* CRC-32C, reflected, polynomial 0x82f63b78 */
static const uint32_t crc[256] = {
	0x00000000, 0xf26b8303, 0xe13b70f7, 0x1350f3f4, 0xc79a971f, 0x35f1141c, 0x26a1e7e8, 0xd4ca64eb,
	0x8ad958cf, 0x78b2dbcc, 0x6be22838, 0x9989ab3b, 0x4d43cfd0, 0xbf284cd3, 0xac78bf27, 0x5e133c24,
	0x105ec76f, 0xe235446c, 0xf165b798, 0x030e349b, 0xd7c45070, 0x25afd373, 0x36ff2087, 0xc494a384,
	0x9a879fa0, 0x68ec1ca3, 0x7bbcef57, 0x89d76c54, 0x5d1d08bf, 0xaf768bbc, 0xbc267848, 0x4e4dfb4b,
	0x20bd8ede, 0xd2d60ddd, 0xc186fe29, 0x33ed7d2a, 0xe72719c1, 0x154c9ac2, 0x061c6936, 0xf477ea35,
	0xaa64d611, 0x580f5512, 0x4b5fa6e6, 0xb93425e5, 0x6dfe410e, 0x9f95c20d, 0x8cc531f9, 0x7eaeb2fa,
	0x30e349b1, 0xc288cab2, 0xd1d83946, 0x23b3ba45, 0xf779deae, 0x05125dad, 0x1642ae59, 0xe4292d5a,
	0xba3a117e, 0x4851927d, 0x5b016189, 0xa96ae28a, 0x7da08661, 0x8fcb0562, 0x9c9bf696, 0x6ef07595,
	0x417b1dbc, 0xb3109ebf, 0xa0406d4b, 0x522bee48, 0x86e18aa3, 0x748a09a0, 0x67dafa54, 0x95b17957,
	0xcba24573, 0x39c9c670, 0x2a993584, 0xd8f2b687, 0x0c38d26c, 0xfe53516f, 0xed03a29b, 0x1f682198,
	0x5125dad3, 0xa34e59d0, 0xb01eaa24, 0x42752927, 0x96bf4dcc, 0x64d4cecf, 0x77843d3b, 0x85efbe38,
	0xdbfc821c, 0x2997011f, 0x3ac7f2eb, 0xc8ac71e8, 0x1c661503, 0xee0d9600, 0xfd5d65f4, 0x0f36e6f7,
	0x61c69362, 0x93ad1061, 0x80fde395, 0x72966096, 0xa65c047d, 0x5437877e, 0x4767748a, 0xb50cf789,
	0xeb1fcbad, 0x197448ae, 0x0a24bb5a, 0xf84f3859, 0x2c855cb2, 0xdeeedfb1, 0xcdbe2c45, 0x3fd5af46,
	0x7198540d, 0x83f3d70e, 0x90a324fa, 0x62c8a7f9, 0xb602c312, 0x44694011, 0x5739b3e5, 0xa55230e6,
	0xfb410cc2, 0x092a8fc1, 0x1a7a7c35, 0xe811ff36, 0x3cdb9bdd, 0xceb018de, 0xdde0eb2a, 0x2f8b6829,
	0x82f63b78, 0x709db87b, 0x63cd4b8f, 0x91a6c88c, 0x456cac67, 0xb7072f64, 0xa457dc90, 0x563c5f93,
	0x082f63b7, 0xfa44e0b4, 0xe9141340, 0x1b7f9043, 0xcfb5f4a8, 0x3dde77ab, 0x2e8e845f, 0xdce5075c,
	0x92a8fc17, 0x60c37f14, 0x73938ce0, 0x81f80fe3, 0x55326b08, 0xa759e80b, 0xb4091bff, 0x466298fc,
	0x1871a4d8, 0xea1a27db, 0xf94ad42f, 0x0b21572c, 0xdfeb33c7, 0x2d80b0c4, 0x3ed04330, 0xccbbc033,
	0xa24bb5a6, 0x502036a5, 0x4370c551, 0xb11b4652, 0x65d122b9, 0x97baa1ba, 0x84ea524e, 0x7681d14d,
	0x2892ed69, 0xdaf96e6a, 0xc9a99d9e, 0x3bc21e9d, 0xef087a76, 0x1d63f975, 0x0e330a81, 0xfc588982,
	0xb21572c9, 0x407ef1ca, 0x532e023e, 0xa145813d, 0x758fe5d6, 0x87e466d5, 0x94b49521, 0x66df1622,
	0x38cc2a06, 0xcaa7a905, 0xd9f75af1, 0x2b9cd9f2, 0xff56bd19, 0x0d3d3e1a, 0x1e6dcdee, 0xec064eed,
	0xc38d26c4, 0x31e6a5c7, 0x22b65633, 0xd0ddd530, 0x0417b1db, 0xf67c32d8, 0xe52cc12c, 0x1747422f,
	0x49547e0b, 0xbb3ffd08, 0xa86f0efc, 0x5a048dff, 0x8ecee914, 0x7ca56a17, 0x6ff599e3, 0x9d9e1ae0,
	0xd3d3e1ab, 0x21b862a8, 0x32e8915c, 0xc083125f, 0x144976b4, 0xe622f5b7, 0xf5720643, 0x07198540,
	0x590ab964, 0xab613a67, 0xb831c993, 0x4a5a4a90, 0x9e902e7b, 0x6cfbad78, 0x7fab5e8c, 0x8dc0dd8f,
	0xe330a81a, 0x115b2b19, 0x020bd8ed, 0xf0605bee, 0x24aa3f05, 0xd6c1bc06, 0xc5914ff2, 0x37faccf1,
	0x69e9f0d5, 0x9b8273d6, 0x88d28022, 0x7ab90321, 0xae7367ca, 0x5c18e4c9, 0x4f48173d, 0xbd23943e,
	0xf36e6f75, 0x0105ec76, 0x12551f82, 0xe03e9c81, 0x34f4f86a, 0xc69f7b69, 0xd5cf889d, 0x27a40b9e,
	0x79b737ba, 0x8bdcb4b9, 0x988c474d, 0x6ae7c44e, 0xbe2da0a5, 0x4c4623a6, 0x5f16d052, 0xad7d5351,
};

/* By the table, which any processor can: each byte waits for the one before. */
static uint32_t sum_on(uint32_t c, const uint8_t *b, size_t n)
{
	while (n--)
		c = c >> 8 ^ crc[(c ^ *b++) & 255];
	return c;
}

/*
 * x86-64 has an instruction for this polynomial since 2008: a header in 20 ns, where the table takes 300. Whether it is
 * here the C library knows.
 */
#if defined(__x86_64__) && __STDC_HOSTED__
static __attribute__((target("sse4.2"))) uint32_t sum_words(uint32_t c, const uint8_t *b, size_t n)
{
	uint64_t c8 = c, v;

	for (; n >= sizeof(v); b += sizeof(v), n -= sizeof(v)) {
		__builtin_memcpy(&v, b, sizeof(v));
		c8 = __builtin_ia32_crc32di(c8, v);
	}
	for (c = (uint32_t)c8; n--; b++)
		c = __builtin_ia32_crc32qi(c, *b);
	return c;
}

uint32_t wire_sum(const void *p, size_t n)
{
	return ~(__builtin_cpu_supports("sse4.2") ? sum_words(~0U, p, n) : sum_on(~0U, p, n));
}
#else
uint32_t wire_sum(const void *p, size_t n)
{
	return ~sum_on(~0U, p, n);
}
#endif
#endif

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v);
	put16(p + 2, v >> 16);
}

static void put64(uint8_t *p, uint64_t v)
{
	put32(p, (uint32_t)v);
	put32(p + 4, (uint32_t)(v >> 32));
}

static uint32_t get16(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8;
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | get16(p + 2) << 16;
}

static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static uint32_t index16(uint32_t i)
{
	return i < WIRE_INDEX_MAX ? i : WIRE_INDEX_MAX;
}

void wire_encode(const struct wire_hdr *h, uint8_t *to)
{
	put32(to + AT_MAGIC, WIRE_MAGIC);
	to[AT_VERSION] = WIRE_VERSION;
	to[AT_TYPE] = h->type;
	put16(to + AT_FLAGS, h->flags);
	put32(to + AT_PAYLEN, h->paylen);
	put32(to + AT_JID, h->jid);
	put32(to + AT_SRC_NID, h->src_nid);
	put32(to + AT_SRC_PID, h->src_pid);
	put32(to + AT_SRC_UID, h->src_uid);
	put32(to + AT_DST_NID, h->dst_nid);
	put32(to + AT_DST_PID, h->dst_pid);
	put32(to + AT_SEQ, h->seq);
	put32(to + AT_ACK, h->ack[0]);
	put32(to + AT_DONE, h->done);
	put32(to + AT_REQ, h->req);
	put16(to + AT_PT, index16(h->pt));
	put16(to + AT_AC, index16(h->ac));
	put64(to + AT_MATCH, h->match_bits);
	put64(to + AT_HDR_DATA, h->hdr_data);
	put64(to + AT_ROFFSET, h->roffset);
	put64(to + AT_RLENGTH, h->rlength);
	put64(to + AT_MLENGTH, h->mlength);
	put64(to + AT_LOFFSET, h->loffset);
	put32(to + AT_MD, h->md);
	put32(to + AT_MD_GEN, h->md_gen);
	put32(to + AT_ACK_ANSWERS, h->ack[1]);
	put32(to + AT_OP, h->op);
	put32(to + AT_PAYSUM, h->paysum);
	put32(to + AT_SUM, wire_sum(to, AT_SUM));
}

/* Do lengths and indices of a decoded header make sense for its type? */
static enum wire_err sensible(const struct wire_hdr *h)
{
	bool answered = h->md != WIRE_NO_MD;

	if (h->paylen > WIRE_BULK)
		return WIRE_E_LENGTH;
	switch (h->type) {
	case WIRE_PUT:
		if (h->mlength || h->paylen > h->rlength || (!h->paylen && h->rlength))
			return WIRE_E_LENGTH;
		break;
	case WIRE_GET:
		if (h->mlength || h->paylen)
			return WIRE_E_LENGTH;
		if (!answered)
			return WIRE_E_INDEX;
		break;
	case WIRE_GETPUT:
		if (h->mlength || h->paylen != h->rlength || h->rlength > WIRE_SWAP_MAX)
			return WIRE_E_LENGTH;
		if (!answered)
			return WIRE_E_INDEX;
		break;
	case WIRE_ATOMIC:
		if (h->mlength || h->paylen != h->rlength || (h->rlength != 2 && h->rlength != 4 && h->rlength != 8))
			return WIRE_E_LENGTH;
		if (!answered)
			return WIRE_E_INDEX;
		if (!h->op || h->op > WIRE_OPS)
			return WIRE_E_FLAGS;
		break;
	case WIRE_ACK:
		if (h->paylen || h->mlength > h->rlength)
			return WIRE_E_LENGTH;
		if (!answered)
			return WIRE_E_INDEX;
		break;
	case WIRE_REPLY:
		if (h->mlength > h->rlength || h->paylen > h->mlength || (!h->paylen && h->mlength))
			return WIRE_E_LENGTH;
		if (!answered)
			return WIRE_E_INDEX;
		break;
	case WIRE_DATA:
		if (!h->paylen || !h->roffset || h->roffset + h->paylen < h->roffset)
			return WIRE_E_LENGTH;
		break;
	default:				/* NOP */
		if (h->paylen)
			return WIRE_E_LENGTH;
	}
	if ((h->flags & WIRE_F_ANSWER) && h->type != WIRE_DATA && h->type != WIRE_NOP)
		return WIRE_E_FLAGS;
	if ((h->flags & (WIRE_F_AGAIN | WIRE_F_BUSY | WIRE_F_BYE)) && h->type != WIRE_NOP)
		return WIRE_E_FLAGS;
	return WIRE_OK;
}

enum wire_err wire_decode(const uint8_t *from, size_t n, struct wire_hdr *out)
{
	struct wire_hdr h;
	enum wire_err e;

	if (n < WIRE_HDR)
		return WIRE_E_SHORT;
	if (get32(from + AT_MAGIC) != WIRE_MAGIC)
		return WIRE_E_MAGIC;
	if (from[AT_VERSION] != WIRE_VERSION)
		return WIRE_E_VERSION;
	if (get32(from + AT_SUM) != wire_sum(from, AT_SUM))
		return WIRE_E_SUM;
	h.type = from[AT_TYPE];
	if (h.type == WIRE_NONE || h.type >= WIRE_TYPE_MAX)
		return WIRE_E_TYPE;
	h.flags = (uint16_t)get16(from + AT_FLAGS);
	h.op = get32(from + AT_OP);
	if ((h.flags & ~WIRE_F_ALL) || (h.op && h.type != WIRE_ATOMIC))
		return WIRE_E_FLAGS;
	h.paylen = get32(from + AT_PAYLEN);
	h.jid = get32(from + AT_JID);
	h.src_nid = get32(from + AT_SRC_NID);
	h.src_pid = get32(from + AT_SRC_PID);
	h.src_uid = get32(from + AT_SRC_UID);
	h.dst_nid = get32(from + AT_DST_NID);
	h.dst_pid = get32(from + AT_DST_PID);
	h.seq = get32(from + AT_SEQ);
	h.ack[0] = get32(from + AT_ACK);
	h.ack[1] = get32(from + AT_ACK_ANSWERS);
	h.done = get32(from + AT_DONE);
	h.req = get32(from + AT_REQ);
	h.pt = get16(from + AT_PT);
	h.ac = get16(from + AT_AC);
	h.match_bits = get64(from + AT_MATCH);
	h.hdr_data = get64(from + AT_HDR_DATA);
	h.roffset = get64(from + AT_ROFFSET);
	h.rlength = get64(from + AT_RLENGTH);
	h.mlength = get64(from + AT_MLENGTH);
	h.loffset = get64(from + AT_LOFFSET);
	h.md = get32(from + AT_MD);
	h.md_gen = get32(from + AT_MD_GEN);
	h.paysum = get32(from + AT_PAYSUM);
	e = sensible(&h);
	if (e == WIRE_OK)
		*out = h;
	return e;
}

enum wire_err wire_check_payload(const struct wire_hdr *h, const void *payload)
{
	if ((h->flags & WIRE_F_SUM) && h->paysum != wire_sum(payload, h->paylen))
		return WIRE_E_PAYSUM;
	return WIRE_OK;
}

void wire_ids(const uint8_t *from, struct wire_ids *ids)
{
	ids->flags = (uint16_t)get16(from + AT_FLAGS);
	ids->src_nid = get32(from + AT_SRC_NID);
	ids->src_pid = get32(from + AT_SRC_PID);
	ids->dst_nid = get32(from + AT_DST_NID);
	ids->dst_pid = get32(from + AT_DST_PID);
}

uint32_t wire_frame_len(const uint8_t *from)
{
	uint32_t n = get32(from + AT_PAYLEN);

	if (get32(from + AT_MAGIC) != WIRE_MAGIC || from[AT_VERSION] != WIRE_VERSION || n > WIRE_BULK)
		return 0;
	return WIRE_HDR + n;
}

const char *wire_type_name(unsigned type)
{
	static const char *const name[] = {
#define X(t) #t,
		WIRE_TYPES(X)
#undef X
	};

	_Static_assert(sizeof(name) / sizeof(*name) == WIRE_TYPE_MAX, "a name for each type");
	return type < WIRE_TYPE_MAX ? name[type] : "?";
}

const char *wire_strerror(enum wire_err e)
{
	static const char *const text[] = {
		[WIRE_OK] = "good", [WIRE_E_SHORT] = "shorter than a header",
		[WIRE_E_MAGIC] = "does not begin as a frame",
		[WIRE_E_VERSION] = "of another version", [WIRE_E_SUM] = "the header's checksum is wrong",
		[WIRE_E_TYPE] = "of no known type", [WIRE_E_FLAGS] = "flags that its type has not",
		[WIRE_E_LENGTH] = "lengths that cannot be", [WIRE_E_INDEX] = "no MD where its type needs one",
		[WIRE_E_PAYSUM] = "the payload's checksum is wrong",
	};

	return (unsigned)e < WIRE_E_MAX ? text[e] : "?";
}
