/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/lib/swap.c: which stripes, which bytes, who waits for whom, and the death of a holder */
#include <sys/wait.h>
#include <unistd.h>

#include "core_env.h"
#include "../common/tap.h"

static struct p3l_ni *ni;

static uint32_t stripes(uint64_t addr, uint64_t len, bool iov)
{
	struct p3l_env env = c_env(0, false);
	struct p3l_swap s;
	uint32_t held = 0;

	p3l_swap_lock(&env, ni, addr, len, iov, &s);
	for (uint32_t i = 0; i < P3L_SWAP_STRIPES; i++)
		held |= (uint32_t)(ni->swap[i] == env.self) << i;
	CHECK_INT(held, s.stripes);
	p3l_swap_unlock(ni, &s);
	for (uint32_t i = 0; i < P3L_SWAP_STRIPES; i++)
		CHECK_INT(ni->swap[i], 0);
	return held;
}

static void t_bytes_choose_their_stripes(void)
{
	CHECK_INT(stripes(0x1000, 8, false), 1);
	CHECK_INT(stripes(0x103f, 1, false), 1);
	CHECK_INT(stripes(0x103f, 2, false), 3);
	CHECK_INT(stripes(0x1040, 64, false), 2);
	CHECK_INT(stripes(0x1041, 64, false), 6);
	CHECK_INT(stripes(0x13c1, 64, false), 0x8001);		/* the last and the first */
	CHECK_INT(stripes(0x1000, 65, false), 0xffff);
	CHECK_INT(stripes(0x1000, 8, true), 0xffff);
	CHECK_INT(stripes(0x1000, 0, false), 0);
	CHECK_INT(stripes(0x1000, 0, true), 0);
	for (uint64_t a = 0; a < 2048; a++)	/* any two ranges with a byte in common have a stripe in common */
		for (uint64_t n = 1; n <= 64; n += 7)
			CHECK(stripes(a, n, false) & stripes(a + n - 1, 1, false));
}

static void t_bytes_are_exchanged(void)
{
	unsigned char target[96], buf[96], t0[96], b0[96];

	for (unsigned i = 0; i < 96; i++) {
		t0[i] = (unsigned char)i;
		b0[i] = (unsigned char)(128 + i);
	}
	for (unsigned off = 0; off < 16; off++)
		for (unsigned boff = 0; boff < 3; boff++)
			for (unsigned n = 0; n <= 64; n++) {
				memcpy(target, t0, 96);
				memcpy(buf, b0, 96);
				p3l_swap_bytes(target + off, buf + boff, n);
				CHECK(!memcmp(target, t0, off) && !memcmp(target + off, b0 + boff, n) &&
				      !memcmp(target + off + n, t0 + off + n, 96 - off - n));
				CHECK(!memcmp(buf, b0, boff) && !memcmp(buf + boff, t0 + off, n) &&
				      !memcmp(buf + boff + n, b0 + boff + n, 96 - boff - n));
			}
}

static void t_a_dead_holder_is_passed(void)
{
	struct p3l_env env = c_env(0, false), dead = c_env(2, false);
	struct p3l_swap s, left;

	p3l_swap_lock(&dead, ni, 0x2000, 128, false, &left);
	c_dead[2] = true;
	p3l_swap_lock(&env, ni, 0x2000, 8, false, &s);
	CHECK_INT(ni->swap[0], env.self);
	CHECK_INT(ni->swap[1], dead.self);
	CHECK_INT(p3l_row(ni, 0)->stats.takeovers, 1);
	p3l_swap_unlock(ni, &s);
	p3l_swap_lock(&env, ni, 0x2000, 128, false, &s);
	CHECK_INT(p3l_row(ni, 0)->stats.takeovers, 16);		/* the first was free */
	p3l_swap_unlock(ni, &s);
	c_dead[2] = false;
}

/* Processes that exchange tokens with overlapping bytes, in one piece and as a vector: each comes out once. */
#define ROUNDS 20000
static void t_tokens(void)
{
	struct {
		char pad[64 - 4];
		unsigned char word[8];		/* across two lines */
		char pad2[60];
		uint64_t sum[3];
		unsigned char seen[3 * ROUNDS + 1];
	} *m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t want = 0, got = 0, last;
	int bad = 0, status;

	REQUIRE(m != MAP_FAILED);
	for (uint32_t p = 0; p < 3; p++)
		if (!fork()) {
			struct p3l_env env = c_env(p, false);
			int rc = 0;

			for (uint64_t i = 0; i < ROUNDS; i++) {
				uint64_t n = 1 + p * ROUNDS + i, v = n << 32 | n;
				struct p3l_swap s;

				p3l_swap_lock(&env, ni, (uintptr_t)m->word, 8, p == 2, &s);
				if (p == 2) {
					p3l_swap_bytes(m->word, &v, 3);
					p3l_swap_bytes(m->word + 3, (char *)&v + 3, 5);
				} else {
					p3l_swap_bytes(m->word, &v, 8);
				}
				p3l_swap_unlock(ni, &s);
				if (v >> 32 != (v & 0xffffffff) || (v & 0xffffffff) > 3 * ROUNDS) {
					rc = 1;
					break;
				}
				rc |= m->seen[v & 0xffffffff]++ != 0;
				m->sum[p] += v & 0xffffffff;
			}
			_exit(rc);
		}
	for (int p = 0; p < 3; p++) {
		wait(&status);
		bad |= status;
	}
	CHECK_INT(bad, 0);
	memcpy(&last, m->word, 8);
	for (uint64_t n = 1; n <= 3 * ROUNDS; n++)
		want += n;
	got = m->sum[0] + m->sum[1] + m->sum[2] + (last & 0xffffffff);
	CHECK_INT(got, want);
	munmap(m, sizeof(*m));
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_bytes_choose_their_stripes), T(t_bytes_are_exchanged), T(t_a_dead_holder_is_passed), T(t_tokens),
		{ 0 }
	};
	struct p3l_setup s = c_setup();

	ni = c_region(&s);
	return t_run(cases);
}
