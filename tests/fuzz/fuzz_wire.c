/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz_wire.c - any bytes as a frame: refused, or a header whose promises hold and that is written back as it was
 *
 * The first byte chooses whether the checksum is made good first: a fuzzer does not guess those.
 */
#include <stdlib.h>
#include <string.h>
#include "../../nal/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool good)
{
	if (!good)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t b[WIRE_HDR], back[WIRE_HDR];
	struct wire_hdr h, canary;
	enum wire_err e;
	uint32_t len;
	bool mend;

	if (!n)
		return 0;
	mend = data[0] & 1;
	data++, n--;
	memset(b, 0, sizeof(b));
	memcpy(b, data, n < WIRE_HDR ? n : WIRE_HDR);
	if (mend) {
		uint32_t sum = wire_sum(b, WIRE_HDR - 4);

		for (int i = 0; i < 4; i++)
			b[WIRE_HDR - 4 + i] = (uint8_t)(sum >> 8 * i);
	}
	len = wire_frame_len(b);
	must(!len || (len >= WIRE_HDR && len <= WIRE_HDR + WIRE_BULK));
	memset(&h, 0x5a, sizeof(h));
	memset(&canary, 0x5a, sizeof(canary));
	e = wire_decode(b, n < WIRE_HDR ? n : WIRE_HDR, &h);
	must(e >= WIRE_OK && e < WIRE_E_MAX);
	if (e != WIRE_OK) {
		must(!memcmp(&h, &canary, sizeof(h)));
		return 0;
	}
	must(n >= WIRE_HDR && len == WIRE_HDR + h.paylen);
	must(h.type > WIRE_NONE && h.type < WIRE_TYPE_MAX && h.paylen <= WIRE_BULK);
	if (h.type == WIRE_DATA)
		must(h.roffset && h.roffset + h.paylen >= h.roffset);
	if (h.type == WIRE_PUT || h.type == WIRE_GETPUT)
		must(h.paylen <= h.rlength);
	if (h.type == WIRE_ATOMIC)
		must(h.op && h.op <= WIRE_OPS && h.paylen == h.rlength && h.rlength <= 8 && !(h.rlength & 1));
	else
		must(!h.op);
	if (h.type == WIRE_ACK || h.type == WIRE_REPLY)
		must(h.mlength <= h.rlength);
	wire_encode(&h, back);
	must(!memcmp(b, back, WIRE_HDR));
	if (n - WIRE_HDR >= h.paylen)
		wire_check_payload(&h, data + WIRE_HDR);
	return 0;
}
