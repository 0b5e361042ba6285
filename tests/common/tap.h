/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tap.h - Test Anything Protocol, for C test programs
 *
 * Either line by line: plan(3); ok(...); ...; return exit_status();
 * or, better, one function per rule, its name being the line:
 *
 *	static void t_first_match_wins(void) { CHECK(a == b); REQUIRE(p); ... }
 *	int main(void) { static const struct t_case cases[] = { T(t_first_match_wins), { 0 } }; return t_run(cases); }
 *
 * CHECK notes a failure and goes on; REQUIRE leaves the function. The environment variable T_ONLY runs the cases whose
 * name contains it. Not for use from several threads at once, except CHECK.
 */
#ifndef T_TAP_H
#define T_TAP_H

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_run_, tap_failed_, tap_planned_ = -1;
static _Atomic int t_bad_;		/* failed CHECKs of the case that runs */
static const char *t_skip_;		/* why the case that runs is skipped */

__attribute__((unused)) static void plan(int n)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	tap_planned_ = n;
	printf("1..%d\n", n);
}

/* Everything is skipped: the machine cannot run this. Exits. */
__attribute__((unused, noreturn, format(printf, 1, 2))) static void skip_all(const char *why, ...)
{
	va_list ap;

	va_start(ap, why);
	printf("1..0 # SKIP ");
	vprintf(why, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	exit(0);
}

/* One write per line, so that the lines of several ranks stay whole; each says whose it is. */
__attribute__((unused, format(printf, 1, 2))) static void diag(const char *fmt, ...)
{
	const char *rank = getenv("T_PAGE_FD") ? getenv("PTL_MY_RID") : getenv("T_PAGE") ? getenv("PMI_RANK") : NULL;
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "# %s%s%s%s\n", rank ? "rank " : "", rank ? rank : "", rank ? ": " : "", line);
}

__attribute__((unused, noreturn, format(printf, 1, 2))) static void bail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("Bail out! ");
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	fflush(stdout);
	exit(1);
}

__attribute__((unused, format(printf, 2, 3))) static int ok(int good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("%s %d - ", good ? "ok" : "not ok", ++tap_run_);
	vprintf(fmt, ap);
	printf("\n");
	va_end(ap);
	tap_failed_ += !good;
	return good;
}

__attribute__((unused)) static int is_int(long long got, long long want, const char *name)
{
	if (!ok(got == want, "%s", name)) {
		diag("got %lld, want %lld", got, want);
		return 0;
	}
	return 1;
}

__attribute__((unused)) static int is_str(const char *got, const char *want, const char *name)
{
	if (!ok(got && want ? !strcmp(got, want) : got == want, "%s", name)) {
		diag("got \"%s\", want \"%s\"", got ? got : "(null)", want ? want : "(null)");
		return 0;
	}
	return 1;
}

__attribute__((unused)) static int is_mem(const void *got, const void *want, size_t len, const char *name)
{
	const unsigned char *g = got, *w = want;
	size_t i;

	for (i = 0; i < len && g[i] == w[i]; i++)
		;
	if (!ok(i == len, "%s", name)) {
		diag("byte %zu of %zu: got 0x%02x, want 0x%02x", i, len, g[i], w[i]);
		return 0;
	}
	return 1;
}

__attribute__((unused)) static void skip(int n, const char *why)
{
	while (n-- > 0)
		printf("ok %d # SKIP %s\n", ++tap_run_, why);
}

__attribute__((unused)) static int exit_status(void)
{
	if (tap_planned_ < 0)
		printf("1..%d\n", tap_run_);
	else if (tap_planned_ != tap_run_)
		diag("planned %d, ran %d", tap_planned_, tap_run_);
	fflush(stdout);
	return tap_failed_ || (tap_planned_ >= 0 && tap_planned_ != tap_run_);
}

/* One function per rule. */
struct t_case {
	const char *name;
	void (*fn)(void);
};

#define T(f)	{ #f, f }

#define CHECK(cond) t_check_(!!(cond), __FILE__, __LINE__, #cond)
#define REQUIRE(cond) do { if (!CHECK(cond)) return; } while (0)
#define CHECK_INT(got, want) t_check_int_((long long)(got), (long long)(want), __FILE__, __LINE__, #got)
#define REQUIRE_INT(got, want) do { if (!CHECK_INT(got, want)) return; } while (0)
#define CHECK_MEM(got, want, len) t_check_mem_(got, want, len, __FILE__, __LINE__, #got)
#define SKIP(why) do { t_skip_ = (why); return; } while (0)

__attribute__((unused)) static int t_check_(int good, const char *file, int line, const char *what)
{
	if (!good && atomic_fetch_add(&t_bad_, 1) < 20)
		diag("%s:%d: %s", file, line, what);
	return good;
}

__attribute__((unused)) static int t_check_int_(long long got, long long want, const char *file, int line,
						const char *what)
{
	if (got != want && atomic_fetch_add(&t_bad_, 1) < 20)
		diag("%s:%d: %s is %lld (0x%llx), want %lld (0x%llx)", file, line, what, got, (unsigned long long)got,
		     want, (unsigned long long)want);
	return got == want;
}

__attribute__((unused)) static int t_check_mem_(const void *got, const void *want, size_t len, const char *file,
						int line, const char *what)
{
	const unsigned char *g = got, *w = want;

	for (size_t i = 0; i < len; i++) {
		if (g[i] == w[i])
			continue;
		if (atomic_fetch_add(&t_bad_, 1) < 20)
			diag("%s:%d: %s: byte %zu of %zu is 0x%02x, want 0x%02x", file, line, what, i, len, g[i], w[i]);
		return 0;
	}
	return 1;
}

/* Run @cases up to an empty one; the plan comes first. Return: exit status. */
__attribute__((unused)) static int t_run(const struct t_case *cases)
{
	const char *only = getenv("T_ONLY");
	int n = 0;

	for (const struct t_case *c = cases; c->name; c++)
		n += !only || strstr(c->name, only);
	plan(n);
	for (const struct t_case *c = cases; c->name; c++) {
		if (only && !strstr(c->name, only))
			continue;
		t_bad_ = 0;
		t_skip_ = NULL;
		c->fn();
		if (t_skip_ && !t_bad_)
			printf("ok %d - %s # SKIP %s\n", ++tap_run_, c->name, t_skip_);
		else
			ok(!t_bad_, "%s", c->name);
	}
	return exit_status();
}

#endif
