/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz_trace.c - files of records, as ptl_trace reads them
 *
 * The first byte: bits of how the heads are made good; the second: how many files there are. The rest is divided among
 * them: a head, then records. Whatever they hold: what is written is JSON, and no box ends before it begins.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static FILE *nowhere;
static _Noreturn void leaves(int status);
#undef stderr
#define stderr nowhere
#define exit leaves
#define main ptl_trace_main
int ptl_trace_main(int argc, char **argv);
#define TRACE_DIR "/"
#include "../../tools/ptl_trace.c"
#undef main
#undef exit
#include "fuzz.h"

static jmp_buf gave_up;
static size_t mapped[4];	/* bytes of each of files[] */

static _Noreturn void leaves(int status)
{
	longjmp(gave_up, 1);
}

static uint64_t ns_of(const char *us)
{
	char *end;
	uint64_t v = strtoull(us, &end, 10) * 1000;

	must(*us != '-' && *end == '.');
	return v + strtoull(end + 1, NULL, 10);
}

/* A value: where it ends. */
static const char *value(const char *p, int depth)
{
	char end = *p == '{' ? '}' : ']';
	uint64_t ts = 0;

	must(depth < 8);
	if (*p == '"') {
		for (p++; *p != '"'; p++) {
			must((unsigned char)*p >= ' ');
			if (*p == '\\')
				must(*++p != 0);
		}
		return p + 1;
	}
	if (*p != '{' && *p != '[') {
		const char *q = p + strspn(p, "-0123456789.");

		must(q > p);
		return q;
	}
	for (p++; *p != end; p++) {
		p += strspn(p, "\n");
		if (end == '}') {
			const char *key = p;

			must(*p == '"');
			p = value(p, depth + 1);
			must(*p++ == ':');
			if (!strncmp(key, "\"ts\"", 4))
				ts = ns_of(p);
			if (!strncmp(key, "\"dur\"", 5))
				must(ts + ns_of(p) >= ts);
		}
		p = value(p, depth + 1);
		p += strspn(p, "\n");
		if (*p == end)
			break;
		must(*p == ',');
	}
	return p + 1;
}

static void forget(void)
{
	for (uint32_t i = 0; i < n_files; i++)
		munmap((char *)(uintptr_t)files[i].rec - P3_TRACE_HEAD, mapped[i]);
	for (uint32_t i = 0; i < n_procs; i++)
		free(procs[i].ifaces);
	free(files);
	free(procs);
	free(steps);
	free(names);
	free(slot_of_name);
	free(msgs);
	files = NULL;
	procs = NULL;
	steps = NULL;
	names = NULL;
	slot_of_name = NULL;
	msgs = NULL;
	n_files = n_procs = n_msgs = 0;
	n_steps = n_names = names_room = lost = 0;
	first = true;
}

static void one_file(const uint8_t *data, size_t n, uint8_t good)
{
	static const char zeros[P3_TRACE_HEAD];
	struct p3_trace_head h;
	size_t k = n < sizeof(h) ? n : sizeof(h);
	int fd = memfd_create("records", MFD_CLOEXEC);
	char path[40];

	must(fd >= 0);
	memset(&h, 0, sizeof(h));
	memcpy(&h, data, k);
	if (!(good & 1)) {
		h.magic = P3_TRACE_MAGIC;
		h.size = sizeof(h);
	}
	if (!(good & 2))
		h.n = n / sizeof(struct p3_trace_rec);
	must(pwrite(fd, zeros, sizeof(zeros), 0) == sizeof(zeros) && pwrite(fd, &h, sizeof(h), 0) == sizeof(h));
	must(pwrite(fd, data + k, n - k, sizeof(zeros)) == (ssize_t)(n - k));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	mapped[n_files] = sizeof(zeros) + n - k;
	read_file(path);
	close(fd);
}

static void draw(void)
{
	char *text = NULL;
	size_t len;

	read_identities();
	gather_steps();
	number_messages();
	out = open_memstream(&text, &len);
	must(out);
	write_all();
	must(!fclose(out) && !strcmp(value(text, 0), "\n"));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_in in;
	size_t each;

	if (!fuzz_in(&in, data, n))
		return 0;
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	must(nowhere);
	each = in.n / (1u + in.some % 3);
	if (!setjmp(gave_up)) {
		for (unsigned i = 0; i <= in.some % 3u; i++)
			one_file(in.data + i * each, each, in.kind);
		if (n_files)
			draw();
	}
	forget();
	free(in.text);
	return 0;
}
