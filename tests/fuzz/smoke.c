/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smoke.c - a fuzz target run without a fuzzer: the committed corpus, and so many mutations of it
 *
 *	PROGRAM FOLDER [MUTATIONS [SEED]]
 *
 * The target is LLVMFuzzerTestOneInput(), as libFuzzer and AFL++ want it; tests/fuzz/t_fuzz.sh runs it under the
 * former where clang has it. It aborts when something is wrong.
 */
#include <dirent.h>
#include <sys/types.h>
#include "../common/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MOST 65536

static uint64_t state;

static uint64_t rnd(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static size_t mutate(uint8_t *b, size_t n)
{
	for (uint64_t k = 1 + rnd(6); k; k--) {
		size_t at = n ? rnd(n) : 0;

		switch (rnd(6)) {
		case 0:
			if (n)
				b[at] ^= (uint8_t)(1u << rnd(8));
			break;
		case 1:
			if (n)
				b[at] = (uint8_t)rnd(256);
			break;
		case 2:
			if (n >= 8) {		/* a number at its limits */
				static const uint64_t odd[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, ~0ull,
					1ull << 63 };
				uint64_t v = odd[rnd(7)];

				at = rnd(n - 7);
				memcpy(b + at, &v, rnd(2) ? 8 : 4);
			}
			break;
		case 3:
			n = at;
			break;
		case 4:
			if (n && 2 * n <= MOST) {	/* again, from somewhere */
				memmove(b + n, b + at, n - at);
				n += n - at;
			}
			break;
		case 5:
			if (n > 1 && n < MOST) {
				memmove(b + at + 1, b + at, n - at);
				b[at] = (uint8_t)rnd(256);
				n++;
			}
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 0) : 2000, files = 0;
	static uint8_t first[MOST], b[MOST * 2];
	struct dirent *e;
	DIR *d;

	if (argc < 2)
		bail("usage: %s FOLDER [MUTATIONS [SEED]]", argv[0]);
	state = argc > 3 ? strtoull(argv[3], NULL, 0) | 1 : 1;
	diag("seed %llu, %lu mutations of each input", (unsigned long long)state, rounds);
	plan(1);
	d = opendir(argv[1]);
	if (!d)
		bail("%s: %s", argv[1], strerror(errno));
	while ((e = readdir(d)) != NULL) {
		char path[4096];
		size_t n;
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
		f = fopen(path, "rb");
		if (!f)
			bail("%s: %s", path, strerror(errno));
		n = fread(first, 1, sizeof(first), f);
		fclose(f);
		files++;
		LLVMFuzzerTestOneInput(first, n);
		for (unsigned long i = 0; i < rounds; i++) {
			memcpy(b, first, n);
			LLVMFuzzerTestOneInput(b, mutate(b, n));
		}
	}
	closedir(d);
	ok(files > 0, "%lu inputs and %lu mutations of each", files, rounds);
	return exit_status();
}
