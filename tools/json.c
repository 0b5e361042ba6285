/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* json.c - JSON on stdout, one value after the other: commas and quotes are put where they belong */
#include <stdio.h>

#include "info.h"

static bool first = true, after_key;

static void comma(void)
{
	if (!first && !after_key)
		putchar(',');
	first = after_key = false;
}

void json_open(char bracket)
{
	comma();
	putchar(bracket);
	first = true;
}

void json_close(char bracket)
{
	putchar(bracket);
	first = after_key = false;
}

void json_str(const char *s)
{
	comma();
	if (!s) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < ' ')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

void json_key(const char *key)
{
	json_str(key);
	putchar(':');
	after_key = true;
}

void json_num(unsigned long long v)
{
	comma();
	printf("%llu", v);
}

void json_int(long long v)
{
	comma();
	printf("%lld", v);
}

void json_raw(const char *s)
{
	comma();
	fputs(s, stdout);
}

void json_bool(bool v)
{
	comma();
	fputs(v ? "true" : "false", stdout);
}

void json_pair(const char *key, const char *s)
{
	json_key(key);
	json_str(s);
}

void json_pair_num(const char *key, unsigned long long v)
{
	json_key(key);
	json_num(v);
}

void json_end(void)
{
	putchar('\n');
	fflush(stdout);
}
