/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* script.c - read the rules and the scripts (README.md has the language) */
#include "script.h"
#include "tap.h"

#include <ctype.h>
#include <limits.h>

static char *slurp(const char *dir, const char *name)
{
	char file[PATH_MAX], *text;
	FILE *f;
	long n;

	snprintf(file, sizeof(file), "%s/%s", dir, name);
	f = fopen(file, "r");
	if (!f || fseek(f, 0, SEEK_END) || (n = ftell(f)) < 0)
		bail("%s: %s", file, strerror(errno));
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	if (!text || fread(text, 1, (size_t)n, f) != (size_t)n)
		bail("%s: cannot be read", file);
	fclose(f);
	return text;
}

static char *skip_blank(char *s)
{
	return s + strspn(s, " \t");
}

static struct script scripts[512];
static int n_scripts;
struct rule rules[512];
int n_rules;

static int is_side(const char *s, enum who *who, int *early, char **text)
{
	static const char names[] = "itb";
	const char *at = strchr(names, *s);

	if (!*s || !at || !(s[1] == ':' || !strncmp(s + 1, " early:", 7)))
		return 0;
	*who = (enum who)(at - names);
	*early = s[1] == ' ';
	*text = skip_blank(strchr((char *)(uintptr_t)s, ':') + 1);
	return 1;
}

static void add_line(struct script *sc, int no, enum who who, int early, char *text)
{
	sc->line = realloc(sc->line, sizeof(*sc->line) * (size_t)(sc->n + 1));
	if (!sc->line)
		bail("memory");
	sc->line[sc->n++] = (struct line){ no, who, early, text };
	sc->threads |= !strncmp(text, "meanwhile ", 10);
}

static void add_with(struct script *sc, const char *file, int no, char *s)
{
	struct with *w = &sc->with[sc->n_with];
	char *save = NULL, *word = strtok_r(s, " ", &save);

	if (sc->n_with == MAX_WITH || !word || strlen(word) >= sizeof(w->name))
		bail("%s:%d: with NAME = VALUE...", file, no);
	strcpy(w->name, word);
	word = strtok_r(NULL, " ", &save);
	if (!word || strcmp(word, "="))
		bail("%s:%d: with NAME = VALUE...", file, no);
	while ((word = strtok_r(NULL, " ", &save)) && w->n < 16)
		w->value[w->n++] = word;
	sc->n_with++;
}

static void header(struct script *sc, const char *file, int no, char *s)
{
	if (!strncmp(s, "with ", 5))
		add_with(sc, file, no, s + 5);
	else if (!strncmp(s, "only ", 5))
		sc->only = s + 5;
	else if (!strncmp(s, "not ", 4))
		sc->not = s + 4;
	else if (!strcmp(s, "before init"))
		sc->before = 1;
	else if (!strcmp(s, "after fini"))
		sc->after = 1;
	else if (!strcmp(s, "flavour xt"))
		sc->ref = 0, sc->xt = 1;
	else if (!strcmp(s, "flavour both"))
		sc->xt = 1;
	else
		bail("%s:%d: what is '%s'?", file, no, s);
}

void read_scripts(const char *dir, const char *name)
{
	char *text = slurp(dir, name), *save = NULL;
	const char *file = strdup(name);
	struct script *sc = NULL;
	int no = 0;

	for (char *s = text; s && *s; s = save) {
		char *nl = strchr(s, '\n'), *t = NULL;
		enum who who;
		int early;

		save = nl ? nl + 1 : NULL;
		no++;
		if (nl)
			*nl = 0;
		while (nl && nl > s && (nl[-1] == ' ' || nl[-1] == '\t'))
			*--nl = 0;
		s = skip_blank(s);
		if (!*s || *s == '#')
			continue;
		if (!strncmp(s, "rule ", 5)) {
			sc = &scripts[n_scripts++];
			if (n_scripts == 512 || strlen(s + 5) >= sizeof(sc->id))
				bail("%s:%d: too many scripts, or too long a name", file, no);
			strcpy(sc->id, s + 5);
			sc->file = file;
			sc->ref = 1;
		} else if (!sc) {
			bail("%s:%d: a script begins with 'rule NAME'", file, no);
		} else if (is_side(s, &who, &early, &t)) {
			add_line(sc, no, who, early, t);
		} else {
			header(sc, file, no, s);
		}
	}
}

/* rules: NAME | SECTION | SENTENCE */
void read_rules(const char *dir)
{
	char *save = NULL;

	for (char *s = strtok_r(slurp(dir, "rules"), "\n", &save); s; s = strtok_r(NULL, "\n", &save)) {
		size_t l = strcspn(s, " |");

		if (*s == '#')
			continue;
		if (l >= sizeof(rules->id) || n_rules == 512)
			bail("rules: %s", s);
		memcpy(rules[n_rules].id, s, l);
		for (int i = 0; i < n_scripts; i++)
			if (!strcmp(scripts[i].id, rules[n_rules].id))
				rules[n_rules].script = &scripts[i];
		n_rules++;
	}
}

void expand(char *to, size_t size, const char *from, const struct script *sc, const int *choice, int turn)
{
	size_t n = 0;
	int quoted = 0;

	while (*from && n + 24 < size) {
		int i;

		quoted ^= *from == '"';
		if (*from == '#' && !quoted) {
			n += (size_t)snprintf(to + n, size - n, "%d", turn);
			from++;
			continue;
		}
		for (i = 0; *from == '$' && i < sc->n_with; i++) {
			size_t l = strlen(sc->with[i].name);

			if (!strncmp(from + 1, sc->with[i].name, l) && !isalnum((unsigned char)from[1 + l])) {
				n += (size_t)snprintf(to + n, size - n, "%s", sc->with[i].value[choice[i]]);
				from += 1 + l;
				break;
			}
		}
		if (*from == '$' && i == sc->n_with)
			bail("%s: no 'with' for %.16s", sc->id, from);
		if (i == sc->n_with || *from != '$')
			to[n++] = *from ? *from++ : 0;
	}
	to[n] = 0;
}
