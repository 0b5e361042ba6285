/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* statement.c - the statements of a script that are not about events, calls above all (README.md has the language) */
#include "side.h"
#include "multi.h"
#include "tap.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#define LASTS_SLACK_MS	10

/* drops N: that many were dropped here since the last such line */
static void do_drops(struct side *s, struct scan *in)
{
	struct val v;

	if (scan_value(in, &v)) {
		fail(s, "%s", in->err);
		return;
	}
	s->drops += (long long)v.n;
	if (!shared() && grown(s, PTL_SR_DROP_COUNT) != s->drops)
		fail(s, "%lld were dropped since the script began, want %lld", grown(s, PTL_SR_DROP_COUNT), s->drops);
}

/* register NAME +N: it has grown by N since the script began; register NAME = N */
static void do_register(struct side *s, struct scan *in)
{
	struct val i, v;
	long long got;
	int grows;

	if (scan_value(in, &i)) {
		fail(s, "%s", in->err);
		return;
	}
	grows = scan_is(in, "by");
	if ((!grows && !scan_is(in, "=")) || scan_value(in, &v)) {
		fail(s, "register NAME by N, or register NAME = N");
		return;
	}
	if (shared() && grows)
		return;
	got = grows ? grown(s, (ptl_sr_index_t)i.n) : reg((ptl_sr_index_t)i.n);
	if (got != (long long)v.n)
		fail(s, "it is %s %lld, want %lld", grows ? "up by" : "at", got, (long long)v.n);
}

/* handler ran N: since the last such line */
static void do_handler(struct side *s, struct scan *in)
{
	struct val v, e = { .kind = V_EVENT };

	if (!scan_is(in, "ran") || scan_value(in, &v)) {
		fail(s, "handler ran N");
		return;
	}
	if (handler_ran != (int)v.n)
		fail(s, "it ran %d times", handler_ran);
	handler_ran = 0;
	e.ev = handler_event;
	var_set(&s->vars, "handled", &e);
}

/*
 * lasts MS LINE: never less than that; and, since the machine may be busy with other things, once in a while not more
 * than twice as long and a little
 */
static void do_lasts(struct side *s, struct scan *in)
{
	double until = deadline(), took, least = 1e9;
	const char *text;
	struct val v;

	if (scan_value(in, &v)) {
		fail(s, "%s", in->err);
		return;
	}
	scan_space(in);
	text = in->at;
	in->at += strlen(text);
	do {
		double began = t_now();

		statement(s, text);
		took = 1e3 * (t_now() - began);
		least = took < least ? took : least;
		if (!s->failed && took < (double)v.n)
			fail(s, "it took %.3f ms, too little", took);
	} while (!s->failed && least > 2 * (double)v.n + LASTS_SLACK_MS && t_now() < until);
	if (!s->failed && least > 2 * (double)v.n + LASTS_SLACK_MS)
		fail(s, "it never took less than %.3f ms, too much", least);
}

/* meanwhile LINE: another thread does it, while the next line is at it; scripts that run after PtlFini */
#define MEANWHILE_US	20000

static struct {
	pthread_t thread;
	bool runs;
	struct side *side;
	char text[400];
} other;

static void *do_other(void *arg)
{
	(void)arg;
	usleep(MEANWHILE_US);		/* too little on a busy machine: then it shows nothing, and fails nothing */
	statement(other.side, other.text);
	return NULL;
}

static void do_meanwhile(struct side *s, struct scan *in)
{
	scan_space(in);
	snprintf(other.text, sizeof(other.text), "%s", in->at);
	in->at += strlen(in->at);
	other.side = s;
	if (pthread_create(&other.thread, NULL, do_other, NULL))
		bail("no thread");
	other.runs = true;
}

void meanwhile_over(void)
{
	if (other.runs)
		pthread_join(other.thread, NULL);
	other.runs = false;
}

/* stop: the other side does not run, until go or the end of our lines */
static void do_stop(struct side *s, struct scan *in)
{
	(void)s, (void)in;
	stop_other(1);
}

static void do_go(struct side *s, struct scan *in)
{
	(void)s, (void)in;
	stop_other(0);
}

/* bytes OFFSET..: NAME is VALUE */
static void compare(struct side *s, const struct val *a, const struct val *b)
{
	if (a->kind == V_MEM && b->kind == V_MEM) {
		for (uint64_t i = 0; i < b->len; i++)
			if (i >= a->len || a->p[i] != b->p[i]) {
				fail(s, "byte %llu is 0x%02x, want 0x%02x", (unsigned long long)i,
				     i < a->len ? a->p[i] : 0, b->p[i]);
				return;
			}
		return;
	}
	if (!same(a, b))
		fail(s, "it is %lld (0x%llx), want %lld (0x%llx)", (long long)a->n, (unsigned long long)a->n,
		     (long long)b->n, (unsigned long long)b->n);
}

static int is_move(const char *name)
{
	static const char *const moves[] = { "PtlPut", "PtlPutRegion", "PtlGet", "PtlGetRegion", "PtlGetPut",
					     "PtlGetPutRegion", "PtlMDMDCopy" };

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++)
		if (!strcmp(moves[i], name))
			return 1;
	return 0;
}

static struct val *descriptor_of(const struct call *c, struct val *a)
{
	const char *m = strpbrk(c->args, "md");

	return m && a[m - c->args].kind == V_MD ? &a[m - c->args] : NULL;
}

static int read_args(struct side *s, const struct call *c, struct scan *in, struct val *a)
{
	static const struct { char letter; enum kind kind; const char *what; } types[] = {
		{ 'n', V_NUM, "a number" }, { 'p', V_ID, "a process id" }, { 'm', V_MD, "a descriptor" },
		{ 'd', V_MD, "a descriptor" }, { 'b', V_MEM, "memory" }, { 'l', V_LIMITS, "limits" },
	};

	for (int i = 0; c->args[i]; i++) {
		size_t t = 0;

		if (i && !scan_is(in, ",")) {
			fail(s, "%s takes %zu arguments", c->name, strlen(c->args));
			return -1;
		}
		if (scan_value(in, &a[i])) {
			fail(s, "%s", in->err);
			return -1;
		}
		while (types[t].letter != c->args[i])
			t++;
		if (a[i].kind != types[t].kind && !(a[i].kind == V_MEM && !a[i].p && strchr("dlb", c->args[i]))) {
			fail(s, "argument %d of %s is %s", i + 1, c->name, types[t].what);
			return -1;
		}
	}
	if (!scan_is(in, ")")) {
		fail(s, "%s takes %zu arguments", c->name, strlen(c->args));
		return -1;
	}
	return 0;
}

static void take_out(struct side *s, const char *name, char type, const union out *o)
{
	struct val v = { .kind = V_NUM };

	switch (type) {
	case 'w': v.n = (uint32_t)o->word; break;
	case 'u': v.n = o->word; break;
	case 'p': v.kind = V_ID; v.id = o->id; break;
	case 'e': v.kind = V_EVENT; v.ev = o->ev; break;
	case 'd': v.kind = V_MD; v.md = o->md; break;
	case 'l': v.kind = V_LIMITS; v.lim = o->lim; break;
	}
	var_set(&s->vars, name, &v);
}

/* Outputs are written only on success; after a failure they still hold what we put there. */
static void check_untouched(struct side *s, const struct call *c, const union out *o, int n)
{
	for (int k = 0; k < n; k++)
		for (size_t i = 0; i < sizeof(o[k]); i++)
			if (o[k].raw[i] != 0x96) {
				fail(s, "%s has failed, and written result %d", c->name, k + 1);
				return;
			}
}

/* [NAME [, NAME] =] CALL(ARGUMENTS) -> CODE */
static void do_call(struct side *s, const struct call *c, struct scan *in, char names[][24], int n_names)
{
	struct val a[MAX_ARGS] = { { 0 } }, code, *v, *m;
	union out out[MAX_OUTS], *o[MAX_OUTS] = { NULL, NULL };
	double until = deadline();
	char name[24];
	int rc;

	if (n_names > (int)strlen(c->outs)) {
		fail(s, "%s has %zu results", c->name, strlen(c->outs));
		return;
	}
	if (read_args(s, c, in, a))
		return;
	if (!scan_is(in, "->") || !scan_word(in, name, sizeof(name)) || !const_find(name, &code.n)) {
		fail(s, "-> CODE");
		return;
	}
	memset(out, 0x96, sizeof(out));
	for (int k = 0; k < n_names; k++) {
		o[k] = strcmp(names[k], "NULL") ? &out[k] : NULL;
		v = var_find(&s->vars, names[k]);
		if (c->outs[k] == 'd' && v && v->kind == V_MD)
			out[k].md = v->md;
	}
	do {	/* a move that found no room is made again: nothing has happened */
		rc = c->fn(a, o);
	} while (rc == PTL_NO_SPACE && code.n == PTL_OK && is_move(c->name) && t_now() < until && !other_failed());
	if (is_move(c->name))
		s->dirty = 1;
	if (rc != (int)code.n) {
		fail(s, "returned %s", const_of_code(rc));
		return;
	}
	if (c->keeps && rc != PTL_OK && rc != PTL_IFACE_DUP) {
		check_untouched(s, c, out, n_names);
		return;
	}
	for (int k = 0; k < n_names; k++)
		if (o[k] && out[k].word != 0x9696969696969696u)		/* of calls that tell more with a failure */
			take_out(s, names[k], c->outs[k], o[k]);
	m = descriptor_of(c, a);
	if (m && rc == PTL_OK && !strcmp(c->name, "PtlMDUpdate"))
		remember_md(s, (ptl_handle_md_t)a[0].n, &m->md);
	else if (m && n_names && o[n_names - 1])
		remember_md(s, (ptl_handle_md_t)out[n_names - 1].word, &m->md);
	if (!strncmp(c->name, "PtlACEntry", 10) && a[1].n < 32)
		s->acs |= 1u << a[1].n;
	s->polled |= !strcmp(c->name, "PtlPTPolled_np");
	if (c->outs[0] == 'e' && n_names && o[0] && (rc == PTL_OK || rc == PTL_EQ_DROPPED)) {	/* it counts as read */
		struct queue *q = queue_of(s, c->args[0] == 'b' ? ((uint32_t *)(void *)a[0].p)[(int)out[1].word] :
								     (ptl_handle_eq_t)a[0].n);

		if (strcmp(c->name, "PtlEQPeek")) {
			q->seen = 1;
			q->sequence = out[0].ev.sequence;
		}
	}
}

static const struct call *call_find(const char *name)
{
	for (const struct call *c = calls; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static const struct {
	const char *word;
	void (*fn)(struct side *s, struct scan *in);
} statements[] = {
	{ "expect", do_expect }, { "noevent", do_noevent }, { "drops", do_drops }, { "register", do_register },
	{ "handler", do_handler }, { "lasts", do_lasts }, { "meanwhile", do_meanwhile },
	{ "stop", do_stop }, { "go", do_go },
};

/* One statement of one side. */
void statement(struct side *s, const char *text)
{
	struct scan in = { .at = text, .vars = &s->vars };
	char word[MAX_OUTS][24], call[24];
	const struct call *c;
	struct val a, b;
	int n = 0;

	snprintf(line_text, sizeof(line_text), "%s: %s", s->name, text);
	scan_word(&in, word[0], sizeof(word[0]));
	for (size_t i = 0; i < sizeof(statements) / sizeof(*statements); i++)
		if (!strcmp(statements[i].word, word[0])) {
			statements[i].fn(s, &in);
			goto end;
		}
	c = call_find(word[0]);
	if (c && scan_is(&in, "(")) {
		do_call(s, c, &in, word, 0);
		goto end;
	}
	for (n = 1; n < MAX_OUTS && scan_is(&in, ",") && scan_word(&in, word[n], sizeof(word[n])); n++)
		;
	if (scan_is(&in, "=")) {
		const char *back = in.at;

		if (scan_word(&in, call, sizeof(call)) && (c = call_find(call)) != NULL && scan_is(&in, "(")) {
			do_call(s, c, &in, word, n);
			goto end;
		}
		in.at = back;
		if (scan_value(&in, &a))
			fail(s, "%s", in.err);
		else
			var_set(&s->vars, word[0], &a);
		goto end;
	}
	in.at = text;
	if (scan_value(&in, &a) || !scan_is(&in, "is") || scan_value(&in, &b))
		fail(s, "%s", in.err[0] ? in.err : "no such statement");
	else
		compare(s, &a, &b);
end:
	scan_space(&in);
	if (!s->failed && *in.at)
		fail(s, "what is '%s'?", in.at);
}
