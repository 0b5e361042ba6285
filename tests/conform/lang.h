/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* lang.h - values as scripts write them: numbers, constants, names, memory, descriptors */
#ifndef T_LANG_H
#define T_LANG_H

#include <portals3.h>
#include "conform.h"

struct var {
	char name[24];
	struct val v;
};

struct vars {
	struct var var[MAX_VARS];
	int n;
};

/* The text not yet read, and what was wrong with it. */
struct scan {
	const char *at;
	struct vars *vars;
	char err[160];
};

void scan_space(struct scan *s);
int scan_is(struct scan *s, const char *token);			/* it comes next; read */
int scan_word(struct scan *s, char *word, size_t size);		/* a name, or nothing */
int scan_error(struct scan *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The next value. 0, or -1 with s->err. */
int scan_value(struct scan *s, struct val *v);

struct val *var_find(struct vars *vars, const char *name);
void var_set(struct vars *vars, const char *name, const struct val *v);
int const_find(const char *name, uint64_t *n);
const char *const_of_code(int rc);

/* Field of an event, a descriptor, an id or limits: 0 when there is none of that name. */
int field_get(const struct val *v, const char *name, struct val *out);

/* Memory of a script: zeros between strips that nobody may write. */
unsigned char *mem_get(uint64_t len);
void mem_reset(void);
int mem_intact(void);
void mem_pattern(unsigned char *p, uint64_t len, uint64_t seed, uint64_t from);
#endif
