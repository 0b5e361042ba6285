/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* script.h - rules and their scripts as they are read from the files */
#ifndef T_SCRIPT_H
#define T_SCRIPT_H

#include <stddef.h>

#define MAX_WITH	4

enum who { BY_I, BY_T, BY_BOTH };

struct line {
	int no;
	enum who who;
	int early;
	char *text;
};

struct with {
	char name[16];
	char *value[16];
	int n;
};

struct script {
	char id[48];
	const char *file;
	struct line *line;
	int n, ref, xt, before, after, threads;
	char *only, *not;
	struct with with[MAX_WITH];
	int n_with;
};

struct rule {
	char id[48];
	const struct script *script;
	int bad;			/* of a script that ran before PtlInit */
};

extern struct rule rules[512];
extern int n_rules;

void read_scripts(const char *dir, const char *name);
void read_rules(const char *dir);			/* after all scripts */
/* @from with $NAME and # replaced. */
void expand(char *to, size_t size, const char *from, const struct script *sc, const int *choice, int turn);
#endif
