/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_rma.c - each copy in its three forms, of every type, to the heap, to static data and to registered memory */
#include "dm.h"

#define BYTES	1024

static unsigned char in_data[BYTES] __attribute__((aligned(16))), before[BYTES], want[BYTES], own[BYTES], back[BYTES];
static unsigned char *in_heap, *registered;
static dmapp_seg_desc_t segs[64];	/* of each PE's registered memory: as bytes, through the heap */

static const dmapp_type_t types[] = { DMAPP_BYTE, DMAPP_DW, DMAPP_QW, DMAPP_DQW };

struct place {
	unsigned char *mine, *there;	/* what `from' writes; where it is on `to', in the terms that a call wants */
	dmapp_seg_desc_t *seg;
};

static struct place place(int kind)
{
	if (kind == 0)
		return (struct place){ in_heap, in_heap, sheap };
	if (kind == 1)
		return (struct place){ in_data, in_data, data };
	return (struct place){ registered, segs[to].addr, &segs[to] };
}

/* Bytes that tell PE, round and place. */
static void pattern(unsigned char *p, int pe, int round)
{
	for (int i = 0; i < BYTES; i++)
		p[i] = (unsigned char)(i * 7 + i / 251 + pe * 31 + round * 13 + 1);
}

static int round_;

/* All PEs do the same to the next. Everything begins as `before', ends as `want'. */
static void begin(struct place *p)
{
	dm_barrier();			/* what was read from here has been read */
	pattern(own, me, ++round_);
	memset(before, 0xee, BYTES);
	memset(p->mine, 0xee, BYTES);
	memset(back, 0xdd, BYTES);
	dm_barrier();
}

static void end(struct place *p, const char *what, int kind, int form, int type)
{
	dm_barrier();
	if (memcmp(p->mine, want, BYTES)) {
		CHECK(!"what has come is right");
		diag("%s, place %d, form %d, type %d", what, kind, form, type);
	}
}

#define EACH(p, form, type)								\
	for (int kind = 0; kind < 3; kind++)						\
		for (int form = 0; form < 3; form++)					\
			for (unsigned t_ = 0; t_ < 4; t_++)				\
				for (struct place p = place(kind), *once = &p; once; once = NULL)	\
					for (dmapp_type_t type = types[t_], *o2 = &type; o2; o2 = NULL)

static void t_put_and_get(void)
{
	EACH(p, form, type) {
		uint64_t k = 0;

		/* all lengths up to 40 elements, each to a place of its own as far as they go */
		for (uint64_t len = 0; len < 41; len += 1 + len / 8) {
			size_t b = len << type;

			if (b > BYTES - 32)
				break;
			begin(&p);
			memset(want, 0xee, BYTES);
			pattern(want + 0, from, round_);
			memmove(want + 16, want, b);
			memset(want, 0xee, 16);
			memset(want + 16 + b, 0xee, BYTES - 16 - b);
			OK(FORM(form, dmapp_put, p.there + 16, p.seg, to, own, len, type));
			end(&p, "put", kind, form, (int)type);
			OK(FORM(form, dmapp_get, back + 3, p.there + 16, p.seg, to, len, type));
			CHECK(!memcmp(back + 3, own, b) && back[2] == 0xdd && back[3 + b] == 0xdd);
			k++;
		}
		CHECK(k > 8);
	}
}

static void t_addresses_of_any_alignment(void)
{
	EACH(p, form, type) {
		begin(&p);
		memset(want, 0xee, BYTES);
		pattern(back, from, round_);
		memcpy(want + 5, back + 3, 3u << type);
		memset(back, 0xdd, BYTES);
		OK(FORM(form, dmapp_put, p.there + 5, p.seg, to, own + 3, 3, type));
		end(&p, "unaligned put", kind, form, (int)type);
		OK(FORM(form, dmapp_get, back + 1, p.there + 5, p.seg, to, 3, type));
		CHECK(!memcmp(back + 1, own + 3, 3u << type));
	}
}

static void t_strided(void)
{
	static const ptrdiff_t strides[][2] = { { 1, 1 }, { 2, 1 }, { 1, 3 }, { 3, 2 }, { -1, 1 }, { 2, -2 }, { 0,
		1 } };

	EACH(p, form, type)
		for (unsigned s = 0; s < 7; s++) {
			ptrdiff_t ts = strides[s][0], ss = strides[s][1];
			size_t size = (size_t)1 << type, mid = 32;
			uint64_t len = 9;

			begin(&p);
			memset(want, 0xee, BYTES);
			pattern(back, from, round_);
			for (ptrdiff_t i = 0; i < (ptrdiff_t)len; i++)
				memcpy(want + (size_t)((ptrdiff_t)mid + i * ts) * size,
				       back + (size_t)((ptrdiff_t)mid + i * ss) * size, size);
			memset(back, 0xdd, BYTES);
			OK(FORM(form, dmapp_iput, p.there + mid * size, p.seg, to, own + mid * size, ts, ss, len,
				type));
			end(&p, "iput", kind, form, (int)type);
			OK(FORM(form, dmapp_iget, back + mid * size, p.there + mid * size, p.seg, to, ss, ts, len,
				type));
			for (ptrdiff_t i = ts ? 0 : (ptrdiff_t)len - 1; i < (ptrdiff_t)len; i++)
				CHECK(!memcmp(back + (size_t)((ptrdiff_t)mid + i * ss) * size,
					      own + (size_t)((ptrdiff_t)mid + i * ss) * size, size));
		}
}

static void t_indexed(void)
{
	static ptrdiff_t idx[] = { 3, 0, 20, 21, 22, 7, 30, -2 };
	enum { LEN = 8 };

	EACH(p, form, type) {
		size_t size = (size_t)1 << type, mid = 4 * size;

		begin(&p);
		memset(want, 0xee, BYTES);
		pattern(back, from, round_);
		for (size_t i = 0; i < LEN; i++)
			memcpy(want + mid + idx[i] * (ptrdiff_t)size, back + i * size, size);
		memset(back, 0xdd, BYTES);
		OK(FORM(form, dmapp_ixput, p.there + mid, p.seg, to, own, idx, LEN, type));
		end(&p, "ixput", kind, form, (int)type);
		OK(FORM(form, dmapp_ixget, back, p.there + mid, p.seg, to, idx, LEN, type));
		CHECK(!memcmp(back, own, LEN * size) && back[LEN * size] == 0xdd);
	}
}

/* Long ones, to each kind of memory and from it; and a vector that is long. */
static void t_long(void)
{
	enum { LONG = 3 << 20 };
	unsigned char *h = dmapp_sheap_malloc(LONG), *mine = malloc(LONG), *got = malloc(LONG);

	REQUIRE(h && mine && got);
	for (int form = 0; form < 3; form++) {
		for (size_t i = 0; i < LONG; i++)
			mine[i] = (unsigned char)(i * 3 + i / 4093 + (size_t)me + (size_t)form);
		dm_barrier();
		OK(FORM(form, dmapp_put, h, sheap, to, mine, LONG / 16, DMAPP_DQW));
		dm_barrier();
		int bad = 0;
		for (size_t i = 0; i < LONG; i++)
			bad += h[i] != (unsigned char)(i * 3 + i / 4093 + (size_t)from + (size_t)form);
		CHECK_INT(bad, 0);
		memset(got, 0, LONG);
		OK(FORM(form, dmapp_get, got, h, sheap, to, LONG / 8, DMAPP_QW));
		CHECK(!memcmp(got, mine, LONG));
		dm_barrier();
		OK(FORM(form, dmapp_iput, h, sheap, to, mine, 2, 1, 1000, DMAPP_QW));
		dm_barrier();
		for (uint64_t i = 0, v; i < 1000; i++) {
			for (int k = 0; k < 8; k++)
				((unsigned char *)&v)[k] =
					(unsigned char)((i * 8 + (uint64_t)k) * 3 + (i * 8 + (uint64_t)k) / 4093 +
									   (uint64_t)from + (uint64_t)form);
			bad += ((uint64_t *)(void *)h)[2 * i] != v;
		}
		CHECK_INT(bad, 0);
	}
	free(mine);
	free(got);
	dm_barrier();
	dmapp_sheap_free(h);
}

/* Who sees the flag sees the data. */
static void t_with_a_flag(void)
{
	uint64_t *flag = (uint64_t *)(void *)in_heap, *flag_data = (uint64_t *)(void *)in_data;
	unsigned char *d = in_heap + 64;

	memset(in_heap, 0, BYTES);
	memset(in_data, 0, BYTES);
	dm_barrier();
	for (uint64_t turn = 1; turn <= 60; turn++) {
		int form = (int)(turn % 3), bad = 0;

		memset(own, (int)turn, 800);
		OK(FORM(form, dmapp_put_flag, d, sheap, to, own, 100, DMAPP_QW, flag, turn));
		while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) < turn)
			dmapp_progress();
		for (int i = 0; i < 800; i++)
			bad += d[i] != (unsigned char)turn;
		CHECK_INT(bad, 0);
		/* read back what was put, which says so to its owner */
		OK(dmapp_get_flag_nbi(back, d, sheap, to, 100, DMAPP_QW, flag + 1, turn));
		OK(dmapp_gsync_wait());
		CHECK(!memcmp(back, own, 800));
		while (__atomic_load_n(flag + 1, __ATOMIC_ACQUIRE) < turn)
			dmapp_progress();
		dm_barrier();
	}
	OK(dmapp_put_flag(in_data + 512, data, to, own, 3, DMAPP_DQW, flag_data, 5));
	IS(dmapp_put_flag(in_data + 512, data, to, own, 3, DMAPP_DQW, (char *)flag_data + 4, 5), ALIGNMENT_ERROR);
	IS(dmapp_put_flag(in_data + 512, data, to, own, 3, DMAPP_DQW, flag, 5), INVALID_PARAM);
	dm_barrier();
	CHECK_INT(*flag_data, 5);
	dm_barrier();
}

static void t_lists_of_pes(void)
{
	dmapp_pe_t list[64];
	uint32_t num = 0;
	uint64_t *h = (uint64_t *)(void *)in_heap, mine[64 * 3], got[64 * 3];

	for (int pe = n; pe--; )
		list[num++] = pe;		/* downwards, the own one too */
	for (int form = 0; form < 3; form++) {
		memset(in_heap, 0, BYTES);
		dm_barrier();
		for (uint64_t i = 0; i < 3 * num; i++)
			mine[i] = (uint64_t)me * 1000 + i + (uint64_t)form;
		/* each to its own place on all */
		if (me < 32)
			OK(FORM(form, dmapp_put_ixpe, h + 2 * me, sheap, list, num, mine, 2, DMAPP_QW));
		dm_barrier();
		for (int pe = 0; pe < n && pe < 32; pe++)
			CHECK(h[2 * pe] == (uint64_t)pe * 1000 + (uint64_t)form && h[2 * pe + 1] == h[2 * pe] + 1);
		dm_barrier();
		OK(FORM(form, dmapp_gather_ixpe, got, h + 2 * me, sheap, list, num, 1, DMAPP_QW));
		for (uint32_t i = 0; i < num; i++)
			CHECK_INT(got[i], me * 1000 + form);
		dm_barrier();
		if (me == n - 1)
			OK(FORM(form, dmapp_scatter_ixpe, h + 100, sheap, list, num, mine, 3, DMAPP_QW));
		dm_barrier();
		for (uint64_t k = 0; k < 3; k++)
			CHECK_INT(h[100 + k],
				  (uint64_t)(n - 1) * 1000 + (uint64_t)(n - 1 - me) * 3 + k + (uint64_t)form);
		dm_barrier();
	}
	list[num - 1] = n;
	IS(dmapp_put_ixpe(h, sheap, list, num, mine, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_gather_ixpe(got, h, sheap, list, num, 1, DMAPP_QW), INVALID_PARAM);
	list[num - 1] = 0;
	IS(dmapp_put_ixpe(segs[to].addr, &segs[to], list, num, mine, 1, DMAPP_QW), INVALID_PARAM);
	IS(dmapp_scatter_ixpe(h, sheap, NULL, 1, mine, 1, DMAPP_QW), INVALID_PARAM);
	OK(dmapp_put_ixpe(h, sheap, NULL, 0, mine, 1, DMAPP_QW));
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_put_and_get), T(t_addresses_of_any_alignment), T(t_strided), T(t_indexed), T(t_long),
			T(t_with_a_flag),
		T(t_lists_of_pes), { 0 }
	};
	dmapp_seg_desc_t mine, *all;
	int rc;

	dm_start(NULL);
	in_heap = dmapp_sheap_malloc(BYTES);
	registered = malloc(BYTES);
	all = dmapp_sheap_malloc(sizeof(*all));
	if (n > 64 || !in_heap || !all || dmapp_mem_register(registered, BYTES, &mine) != DMAPP_RC_SUCCESS)
		bail("no memory");
	*all = mine;
	dm_barrier();
	for (int pe = 0; pe < n; pe++)
		if (dmapp_get(&segs[pe], all, sheap, pe, sizeof(*all), DMAPP_BYTE) != DMAPP_RC_SUCCESS)
			bail("descriptors");
	rc = t_run(cases);
	dm_barrier();
	if (dmapp_mem_unregister(&mine) != DMAPP_RC_SUCCESS || dmapp_finalize() != DMAPP_RC_SUCCESS)
		rc = 1;
	free(registered);
	return rc;
}
