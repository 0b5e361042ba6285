/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * copy.c - smartmap_copy() against bytes moved one by one
 *
 * Lengths around its pieces, each way of lying in a page, overlaps; and what is seen of a word meanwhile.
 */
#include "../common/tap.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../nal/smartmap/smartmap.h"

#define ROOM 40000

static unsigned char *got, *want;

static void move(unsigned char *b, size_t to, size_t from, size_t n)
{
	if (to < from)
		for (size_t i = 0; i < n; i++)
			b[to + i] = b[from + i];
	else
		for (size_t i = n; i--;)
			b[to + i] = b[from + i];
}

static bool same(size_t to, size_t from, size_t n)
{
	for (size_t i = 0; i < ROOM; i++)
		got[i] = want[i] = (unsigned char)(i * 167 + i / 251);
	smartmap_copy(got + to, got + from, n);
	move(want, to, from, n);
	return !memcmp(got, want, ROOM);
}

static const size_t lengths[] = { 0, 1, 63, 2047, 2048, 2049, 4095, 4096, 4097, 6144, 8191, 10001 };

static void t_apart(void)
{
	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++)
		for (size_t by = 0; by < 70; by++) {
			CHECK(same(20480 + by, 4096, lengths[k]));
			CHECK(same(4096 + by, 20480 + 64, lengths[k]));
		}
}

static void t_one_over_the_other(void)
{
	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++)
		for (size_t by = 0; by < 70; by++)
			for (size_t page = 0; page <= 4096; page += 4096) {
				CHECK(same(8192 + page + by, 8192, lengths[k]));
				CHECK(same(8192, 8192 + page + by, lengths[k]));
				CHECK(same(8192 + by, 8192 + page, lengths[k]));
			}
}

/* ---- what another sees who looks between any two instructions ---- */

static volatile uint64_t word;
static uint64_t value;
static unsigned steps, seen;

/* After each instruction: who has waited for the value puts another in its place. */
static void look(int sig)
{
	steps++;
	if (word == value) {
		seen++;
		word = UINT64_MAX;
	}
}

#ifdef __x86_64__
/* below the 128 bytes that belong to the compiler */
#define TRAP_FLAG(on)										\
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\t" on "\n\tpopfq\n\tadd $128, %%rsp" ::: "memory", "cc")
#else
#define TRAP_FLAG(on)	((void)0)
#endif

static void t_a_word_is_stored_once(void)
{
	struct sigaction before, a = { .sa_handler = look };

	sigaction(SIGTRAP, &a, &before);
	for (size_t len = 1; len <= 8; len *= 2) {
		word = 0;
		value = 0x5a5a5a5a5a5a5a5a & (len == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * len) - 1);
		steps = seen = 0;
		__asm__("" : "+r"(len));
		TRAP_FLAG("orq $0x100, (%%rsp)");
		smartmap_copy((void *)&word, &value, len);
		TRAP_FLAG("andq $~0x100, (%%rsp)");
		if (!steps)
			SKIP("no single steps here");
		CHECK_INT(seen, 1);
		CHECK_INT(word, UINT64_MAX);
	}
	sigaction(SIGTRAP, &before, NULL);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_apart), T(t_one_over_the_other), T(t_a_word_is_stored_once), { 0 } };

	got = malloc(ROOM);
	want = malloc(ROOM);
	if (!got || !want)
		bail("no memory");
	return t_run(cases);
}
