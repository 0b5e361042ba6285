/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_ctl.c - what two sides say of a queue pair comes as it went, from whoever has the key, or not at all */
#include "tap.h"

#include "../../nal/transport/verbs/vb.h"

#include <string.h>

static struct tcp a = { .rank = 3, .size = 9, .key = "fifteen letters" }, b = { .rank = 5, .size = 9 };

static struct vb_ctl offer(void)
{
	struct vb_ctl c = { .kind = VB_OFFER, .epoch = 0x01020304, .qpn = 0xabcdef, .psn = 0x123456, .lid = 0xfedc,
		.mtu = IBV_MTU_4096, .link_layer = 2, .taken = 0x99887766, .room = 17 };

	for (int i = 0; i < 16; i++) {
		c.gid.raw[i] = (uint8_t)(i + 1);
		c.nonce[i] = (uint8_t)(200 + i);
	}
	memcpy(b.key, a.key, sizeof(b.key));
	return c;
}

static void t_comes_as_it_went(void)
{
	struct vb_ctl c = offer(), d;
	uint8_t f[WIRE_HDR + VB_CTL];

	vb_ctl_encode(&c, &a, b.rank, f);
	CHECK(vb_ctl_is(f));
	CHECK_INT(wire_frame_len(f), sizeof(f));
	CHECK(vb_ctl_decode(f, &b, a.rank, &d));
	CHECK(!memcmp(&c, &d, sizeof(c)));
}

static void t_no_engine_takes_it_and_no_frame_is_one(void)
{
	struct wire_hdr h = { .type = WIRE_NOP };
	struct vb_ctl c = offer();
	uint8_t f[WIRE_HDR + VB_CTL], g[WIRE_HDR];

	vb_ctl_encode(&c, &a, b.rank, f);
	CHECK(wire_decode(f, sizeof(f), &h) != WIRE_OK);
	h = (struct wire_hdr){ .type = WIRE_NOP };
	wire_encode(&h, g);
	CHECK(!vb_ctl_is(g));
}

static void t_needs_the_key(void)
{
	struct vb_ctl c = offer(), d;
	uint8_t f[WIRE_HDR + VB_CTL];

	b.key[7] ^= 1;
	vb_ctl_encode(&c, &a, b.rank, f);
	CHECK(!vb_ctl_decode(f, &b, a.rank, &d));
}

static void t_is_of_these_two(void)
{
	struct vb_ctl c = offer(), d;
	uint8_t f[WIRE_HDR + VB_CTL];

	vb_ctl_encode(&c, &a, b.rank, f);
	CHECK(!vb_ctl_decode(f, &b, a.rank + 1, &d));	/* as if from another */
	CHECK(!vb_ctl_decode(f, &a, b.rank, &d));	/* sent back */
	CHECK(!vb_ctl_decode(f, &a, a.rank, &d));
}

static void t_no_bit_can_be_changed(void)
{
	struct vb_ctl c = offer(), d;
	uint8_t f[WIRE_HDR + VB_CTL];

	vb_ctl_encode(&c, &a, b.rank, f);
	for (unsigned i = 0; i < 8 * VB_CTL; i++) {
		f[WIRE_HDR + i / 8] ^= (uint8_t)(1 << i % 8);
		CHECK(!vb_ctl_decode(f, &b, a.rank, &d));
		f[WIRE_HDR + i / 8] ^= (uint8_t)(1 << i % 8);
	}
	CHECK(vb_ctl_decode(f, &b, a.rank, &d));
}

static void t_nonsense_is_refused_though_it_is_proved(void)
{
	struct vb_ctl bad[] = { offer(), offer(), offer(), offer(), offer(), offer(), offer() }, d;
	uint8_t f[WIRE_HDR + VB_CTL];

	bad[0].kind = 0;
	bad[1].kind = VB_END + 1;
	bad[2].room = VB_DEPTH + 1;
	bad[3].room = 1;
	bad[4].qpn = 1U << 24;
	bad[5].psn = 1U << 24;
	bad[6].mtu = IBV_MTU_4096 + 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		vb_ctl_encode(&bad[i], &a, b.rank, f);
		CHECK(!vb_ctl_decode(f, &b, a.rank, &d));
	}
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_comes_as_it_went), T(t_no_engine_takes_it_and_no_frame_is_one), T(t_needs_the_key),
		T(t_is_of_these_two), T(t_no_bit_can_be_changed), T(t_nonsense_is_refused_though_it_is_proved), { 0 }
	};

	return t_run(cases);
}
