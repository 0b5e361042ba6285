/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * lang.c - values as scripts write them
 *
 *	17  0x10  64K  1M  -1		numbers
 *	OK  OP_PUT|TRUNCATE  INF		constants, without PTL_; INF is PTL_MD_THRESH_INF
 *	b  b+8  d1			names; memory from a byte on
 *	peer.nid  e.mlength  old.threshold	fields of ids, events, descriptors, limits
 *	id(peer.nid, PID_ANY)		a process id
 *	"text"				memory; a dot is a byte of 0
 *	pattern(SEED, LEN, FROM)		memory full of bytes that depend on the seed and their place
 *	zero(LEN)			memory full of zeros
 *	iov(b 8, c 4)			a vector of two pieces
 *	[q1, q2]			an array of handles
 *	{ b, 8, OP_PUT, threshold=1, eq=NONE, max_size=4, user=7 }	a descriptor; see README.md for what is left out
 *	min(A, B)  max(A, B)
 */
#include "lang.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Nonsense in members that must be ignored: Open MPI leaves max_size uninitialised. */
#define JUNK_MAX_SIZE	0x7eadbeef7eadbeefull
#define DEFAULT_USER	0x5eed

static const struct { const char *name; uint64_t n; } consts[] = {
#define C(x) { #x, (uint64_t)PTL_##x }
	C(OK), C(AC_INDEX_INVALID), C(EQ_DROPPED), C(EQ_EMPTY), C(EQ_INVALID), C(FAIL), C(HANDLE_INVALID),
	C(IFACE_INVALID), C(MD_ILLEGAL), C(MD_INVALID), C(MD_IN_USE), C(MD_NO_UPDATE), C(ME_INVALID), C(ME_IN_USE),
	C(ME_LIST_TOO_LONG), C(NI_INVALID), C(NO_INIT), C(NO_SPACE), C(PID_INVALID), C(PROCESS_INVALID), C(PT_FULL),
	C(PT_INDEX_INVALID), C(SEGV), C(SR_INDEX_INVALID),
	{ "IFACE_DUP", PTL_IFACE_DUP },
	/* up to here: codes; const_of_code() */
	C(RETAIN), C(UNLINK), { "BEFORE", PTL_INS_BEFORE }, { "AFTER", PTL_INS_AFTER }, C(ACK_REQ), C(NO_ACK_REQ),
	{ "NOACK_REQ", PTL_NOACK_REQ },
	{ "OP_PUT", PTL_MD_OP_PUT }, { "OP_GET", PTL_MD_OP_GET }, { "MANAGE_REMOTE", PTL_MD_MANAGE_REMOTE },
	{ "TRUNCATE", PTL_MD_TRUNCATE }, { "ACK_DISABLE", PTL_MD_ACK_DISABLE }, { "IOVEC", PTL_MD_IOVEC },
	{ "MAX_SIZE", PTL_MD_MAX_SIZE }, { "START_DISABLE", PTL_MD_EVENT_START_DISABLE },
	{ "END_DISABLE", PTL_MD_EVENT_END_DISABLE }, { "UNLINK_EVENT", PTL_MD_UNLINK_EVENT_NP },
	{ "UNLINK_EVENT_MANUAL", PTL_MD_UNLINK_EVENT_MANUAL_NP },
	{ "INF", (uint64_t)PTL_MD_THRESH_INF }, C(INVALID_HANDLE), C(EQ_NONE), C(HANDLE_NONE),
	C(NID_ANY), C(PID_ANY), C(UID_ANY), C(JID_ANY), C(JID_NONE), C(PT_INDEX_ANY), C(IFACE_DEFAULT), C(TIME_FOREVER),
	C(NI_OK), C(NI_FAIL),
	{ "HANDLER_NONE", 0 },
	{ "GET_START", PTL_EVENT_GET_START }, { "GET_END", PTL_EVENT_GET_END }, { "PUT_START", PTL_EVENT_PUT_START },
	{ "PUT_END", PTL_EVENT_PUT_END }, { "GETPUT_START", PTL_EVENT_GETPUT_START },
	{ "GETPUT_END", PTL_EVENT_GETPUT_END }, { "REPLY_START", PTL_EVENT_REPLY_START },
	{ "REPLY_END", PTL_EVENT_REPLY_END }, { "SEND_START", PTL_EVENT_SEND_START },
	{ "SEND_END", PTL_EVENT_SEND_END }, { "ACK", PTL_EVENT_ACK },
	{ "DROP_COUNT", PTL_SR_DROP_COUNT }, { "DROP_LENGTH", PTL_SR_DROP_LENGTH }, { "RECV_COUNT", PTL_SR_RECV_COUNT },
	{ "RECV_LENGTH", PTL_SR_RECV_LENGTH }, { "SEND_COUNT", PTL_SR_SEND_COUNT },
	{ "SEND_LENGTH", PTL_SR_SEND_LENGTH }, { "PTLS_MAX", PTL_SR_PTLS_MAX }, { "PTLS_CUR", PTL_SR_PTLS_CUR },
	{ "MES_CUR", PTL_SR_MES_CUR }, { "MDS_CUR", PTL_SR_MDS_CUR }, { "EQS_CUR", PTL_SR_EQS_CUR },
	{ "MES_FREED", PTL_SR_MES_FREED }, { "MDS_FREED", PTL_SR_MDS_FREED }, { "EQS_FREED", PTL_SR_EQS_FREED },
	{ "MES_ALLOC", PTL_SR_MES_ALLOC }, { "MDS_ALLOC", PTL_SR_MDS_ALLOC }, { "EQS_ALLOC", PTL_SR_EQS_ALLOC },
	{ "MLIST_LEN4", PTL_SR_MLIST_LEN(4) }, { "MLIST_MAX4", PTL_SR_MLIST_MAX(4) },
#undef C
};
#define N_CONSTS (sizeof(consts) / sizeof(*consts))

int const_find(const char *name, uint64_t *n)
{
	for (size_t i = 0; i < N_CONSTS; i++)
		if (!strcmp(consts[i].name, name)) {
			*n = consts[i].n;
			return 1;
		}
	return 0;
}

const char *const_of_code(int rc)
{
	for (size_t i = 0; i < N_CONSTS && strcmp(consts[i].name, "RETAIN"); i++)
		if (consts[i].n == (uint64_t)rc)
			return consts[i].name;
	return "(no code)";
}

/* ---- memory ---- */

#define POOL	(12u << 20)
#define STRIP	64
#define STRIP_BYTE 0xa5
static unsigned char pool[POOL];
static uint64_t pool_used;

unsigned char *mem_get(uint64_t len)
{
	uint64_t at = (pool_used + STRIP + 63) & ~(uint64_t)63;

	if (len > POOL || at + len + STRIP > POOL)
		return NULL;
	memset(pool + pool_used, STRIP_BYTE, at - pool_used);
	memset(pool + at, 0, len);
	memset(pool + at + len, STRIP_BYTE, STRIP);
	/* where strips are, for mem_intact(): the length stands in front of each piece, in its strip */
	memcpy(pool + at - 8, &len, 8);
	pool_used = at + len;
	return pool + at;
}

void mem_reset(void)
{
	pool_used = 0;
}

int mem_intact(void)
{
	for (uint64_t used = 0; used < pool_used;) {
		uint64_t at = (used + STRIP + 63) & ~(uint64_t)63, len;

		for (uint64_t i = used; i < at - 8; i++)
			if (pool[i] != STRIP_BYTE)
				return 0;
		memcpy(&len, pool + at - 8, 8);
		if (len > POOL - at)
			return 0;
		used = at + len;
	}
	for (uint64_t i = 0; pool_used && i < STRIP; i++)
		if (pool[pool_used + i] != STRIP_BYTE)
			return 0;
	return 1;
}

void mem_pattern(unsigned char *p, uint64_t len, uint64_t seed, uint64_t from)
{
	for (uint64_t i = from; i < from + len; i++) {
		uint64_t x = (i / 8 + 1) * 0x9e3779b97f4a7c15u + seed * 0xbf58476d1ce4e5b9u;

		*p++ = (unsigned char)((x ^ x >> 29) >> (i % 8 * 8));
	}
}

/* ---- names and fields ---- */

struct val *var_find(struct vars *vars, const char *name)
{
	for (int i = 0; i < vars->n; i++)
		if (!strcmp(vars->var[i].name, name))
			return &vars->var[i].v;
	return NULL;
}

void var_set(struct vars *vars, const char *name, const struct val *v)
{
	struct val *old = var_find(vars, name);

	if (!old) {
		if (vars->n == MAX_VARS)
			return;
		snprintf(vars->var[vars->n].name, sizeof(vars->var->name), "%s", name);
		old = &vars->var[vars->n++].v;
	}
	*old = *v;
}

#define F_NUM(of, f) { #f, offsetof(struct val, of) + offsetof(__typeof__(((struct val *)0)->of), f), \
		      sizeof(((struct val *)0)->of.f), V_NUM }
struct field {
	const char *name;
	size_t at, size;
	enum kind kind;
};
static const struct field of_id[] = { F_NUM(id, nid), F_NUM(id, pid), { NULL, 0, 0, V_NONE } };
static const struct field of_md[] = {
	F_NUM(md, length), F_NUM(md, threshold), F_NUM(md, max_size), F_NUM(md, options), F_NUM(md, user_ptr),
	F_NUM(md, eq_handle), F_NUM(md, start), { NULL, 0, 0, V_NONE }
};
static const struct field of_event[] = {
	F_NUM(ev, type), F_NUM(ev, uid), F_NUM(ev, jid), F_NUM(ev, pt_index), F_NUM(ev, match_bits), F_NUM(ev, rlength),
	F_NUM(ev, mlength), F_NUM(ev, offset), F_NUM(ev, md_handle), F_NUM(ev, hdr_data), F_NUM(ev, link),
	F_NUM(ev, ni_fail_type), F_NUM(ev, unlinked),
	{ "sequence", offsetof(struct val, ev) + offsetof(ptl_event_t, sequence), sizeof(ptl_seq_t), V_NUM },
	{ "pt", offsetof(struct val, ev.pt_index), sizeof(ptl_pt_index_t), V_NUM },
	{ "bits", offsetof(struct val, ev.match_bits), 8, V_NUM },
	{ "hdr", offsetof(struct val, ev.hdr_data), 8, V_NUM },
	{ "fail", offsetof(struct val, ev.ni_fail_type), sizeof(ptl_ni_fail_t), V_NUM },
	{ "threshold", offsetof(struct val, ev.md.threshold), sizeof(int), V_NUM },
	{ "length", offsetof(struct val, ev.md.length), 8, V_NUM },
	{ "options", offsetof(struct val, ev.md.options), sizeof(unsigned), V_NUM },
	{ "max_size", offsetof(struct val, ev.md.max_size), 8, V_NUM },
	{ "start", offsetof(struct val, ev.md.start), sizeof(void *), V_NUM },
	{ "user", offsetof(struct val, ev.md.user_ptr), sizeof(void *), V_NUM },
	{ "eq", offsetof(struct val, ev.md.eq_handle), sizeof(ptl_handle_eq_t), V_NUM },
	{ "initiator", offsetof(struct val, ev.initiator), sizeof(ptl_process_id_t), V_ID },
	{ NULL, 0, 0, V_NONE }
};
static const struct field of_limits[] = {
	F_NUM(lim, max_mes), F_NUM(lim, max_mds), F_NUM(lim, max_eqs), F_NUM(lim, max_ac_index),
	F_NUM(lim, max_pt_index), F_NUM(lim, max_md_iovecs), F_NUM(lim, max_me_list), F_NUM(lim, max_getput_md),
	{ NULL, 0, 0, V_NONE }
};
static const struct field *const fields[] = {
	[V_ID] = of_id, [V_MD] = of_md, [V_EVENT] = of_event, [V_LIMITS] = of_limits
};

int field_get(const struct val *v, const char *name, struct val *out)
{
	const struct field *f = (size_t)v->kind < sizeof(fields) / sizeof(*fields) ? fields[v->kind] : NULL;

	for (; f && f->name; f++)
		if (!strcmp(f->name, name)) {
			memset(out, 0, sizeof(*out));
			out->kind = f->kind;
			if (f->kind == V_ID)
				out->id = v->ev.initiator;
			else if (f->size == 4)
				out->n = *(const uint32_t *)(const void *)((const char *)v + f->at);
			else
				out->n = *(const uint64_t *)(const void *)((const char *)v + f->at);
			return 1;
		}
	return 0;
}

/* ---- reading ---- */

int scan_error(struct scan *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->err, sizeof(s->err), fmt, ap);
	va_end(ap);
	return -1;
}

void scan_space(struct scan *s)
{
	while (*s->at == ' ' || *s->at == '\t')
		s->at++;
}

int scan_is(struct scan *s, const char *token)
{
	size_t n = strlen(token);

	scan_space(s);
	if (strncmp(s->at, token, n) || (isalnum((unsigned char)token[n - 1]) &&
					 (isalnum((unsigned char)s->at[n]) || s->at[n] == '_')))
		return 0;
	s->at += n;
	return 1;
}

int scan_word(struct scan *s, char *word, size_t size)
{
	size_t n = 0;

	scan_space(s);
	while (isalnum((unsigned char)s->at[n]) || s->at[n] == '_')
		n++;
	if (!n || n >= size || isdigit((unsigned char)*s->at))
		return 0;
	memcpy(word, s->at, n);
	word[n] = 0;
	s->at += n;
	return 1;
}

static int number(struct scan *s, struct val *v, const char *what)
{
	if (scan_value(s, v))
		return -1;
	return v->kind == V_NUM ? 0 : scan_error(s, "%s must be a number", what);
}

static int memory(struct scan *s, struct val *v, uint64_t len)
{
	memset(v, 0, sizeof(*v));
	v->kind = V_MEM;
	v->len = len;
	v->p = mem_get(len);
	return v->p ? 0 : scan_error(s, "no memory for %llu bytes", (unsigned long long)len);
}

static int text(struct scan *s, struct val *v)
{
	const char *end = strchr(s->at, '"');

	if (!end)
		return scan_error(s, "a text without its end");
	if (memory(s, v, (uint64_t)(end - s->at)))
		return -1;
	for (uint64_t i = 0; i < v->len; i++)
		v->p[i] = s->at[i] == '.' ? 0 : (unsigned char)s->at[i];
	s->at = end + 1;
	return 0;
}

static int f_id(struct scan *s, struct val *v)
{
	struct val nid, pid;

	if (number(s, &nid, "nid") || (!scan_is(s, ",") && scan_error(s, "id(nid, pid)")) || number(s, &pid, "pid"))
		return -1;
	memset(v, 0, sizeof(*v));
	v->kind = V_ID;
	v->id = (ptl_process_id_t){ (ptl_nid_t)nid.n, (ptl_pid_t)pid.n };
	return 0;
}

static int f_pattern(struct scan *s, struct val *v)
{
	struct val seed, len, from = { .n = 0 };

	if (number(s, &seed, "seed") || (!scan_is(s, ",") && scan_error(s, "pattern(seed, length)")) ||
	    number(s, &len, "length") || (scan_is(s, ",") && number(s, &from, "from")) || memory(s, v, len.n))
		return -1;
	mem_pattern(v->p, v->len, seed.n, from.n);
	return 0;
}

static int f_zero(struct scan *s, struct val *v)
{
	struct val len;

	return number(s, &len, "length") || memory(s, v, len.n) ? -1 : 0;
}

static int f_iov(struct scan *s, struct val *v)
{
	ptl_md_iovec_t piece[300];
	uint64_t n = 0;

	scan_space(s);
	while (*s->at != ')') {
		struct val base, len;

		if (n && !scan_is(s, ","))
			return scan_error(s, "a comma between pieces");
		if (scan_value(s, &base) || number(s, &len, "length"))
			return -1;
		if (base.kind != V_MEM || n == sizeof(piece) / sizeof(*piece))
			return scan_error(s, "iov(MEMORY LENGTH, ...)");
		piece[n++] = (ptl_md_iovec_t){ base.p, len.n };
		scan_space(s);
	}
	if (memory(s, v, n * sizeof(*piece)))
		return -1;
	memcpy(v->p, piece, n * sizeof(*piece));
	return 0;
}

static int two(struct scan *s, struct val *v, int want_min)
{
	struct val b;

	if (number(s, v, "an argument") || (!scan_is(s, ",") && scan_error(s, "two numbers")) ||
	    number(s, &b, "an argument"))
		return -1;
	if ((b.n < v->n) == want_min)
		*v = b;
	return 0;
}

static int f_min(struct scan *s, struct val *v)
{
	return two(s, v, 1);
}

static int f_max(struct scan *s, struct val *v)
{
	return two(s, v, 0);
}

static const struct {
	const char *name;
	int (*fn)(struct scan *s, struct val *v);
} functions[] = {
	{ "id", f_id }, { "pattern", f_pattern }, { "zero", f_zero }, { "iov", f_iov }, { "min", f_min },
	{ "max", f_max },
};

static int handles(struct scan *s, struct val *v)
{
	uint32_t h[16];
	uint64_t n = 0;

	while (!scan_is(s, "]")) {
		struct val one;

		if ((n && !scan_is(s, ",")) || n == 16)
			return scan_error(s, "[HANDLE, ...]");
		if (number(s, &one, "a handle"))
			return -1;
		h[n++] = (uint32_t)one.n;
	}
	if (memory(s, v, 4 * n))
		return -1;
	memcpy(v->p, h, 4 * n);
	return 0;
}

/* { START, LENGTH, OPTIONS, name=value ... } */
static int descriptor(struct scan *s, struct val *v)
{
	struct val x, *eq = var_find(s->vars, "eq");

	memset(v, 0, sizeof(*v));
	v->kind = V_MD;
	v->md.threshold = PTL_MD_THRESH_INF;
	v->md.max_size = JUNK_MAX_SIZE;
	v->md.user_ptr = (void *)(uintptr_t)DEFAULT_USER;
	v->md.eq_handle = eq ? (ptl_handle_eq_t)eq->n : PTL_EQ_NONE;
	if (scan_value(s, &x))
		return -1;
	if (x.kind != V_MEM)
		return scan_error(s, "a descriptor begins with its memory");
	v->md.start = x.p;
	if (!scan_is(s, ",") || number(s, &x, "length"))
		return s->err[0] ? -1 : scan_error(s, "a descriptor has a length");
	v->md.length = x.n;
	while (scan_is(s, ",")) {
		const char *back = s->at;
		char name[24];

		if (!scan_word(s, name, sizeof(name)) || !scan_is(s, "=")) {
			s->at = back;
			if (number(s, &x, "options"))
				return -1;
			v->md.options = (unsigned)x.n;
		} else if (number(s, &x, name)) {
			return -1;
		} else if (!strcmp(name, "threshold")) {
			v->md.threshold = (int)x.n;
		} else if (!strcmp(name, "max_size")) {
			v->md.max_size = x.n;
		} else if (!strcmp(name, "eq")) {
			v->md.eq_handle = (ptl_handle_eq_t)x.n;
		} else if (!strcmp(name, "user")) {
			v->md.user_ptr = (void *)(uintptr_t)x.n;
		} else {
			return scan_error(s, "no member '%s' of a descriptor", name);
		}
	}
	return scan_is(s, "}") ? 0 : scan_error(s, "a descriptor without its end");
}

static int named(struct scan *s, struct val *v, const char *name)
{
	struct val *var;

	if (scan_is(s, "(")) {
		for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
			if (!strcmp(functions[i].name, name)) {
				if (functions[i].fn(s, v))
					return -1;
				return scan_is(s, ")") ? 0 : scan_error(s, "no ) of %s", name);
			}
		return scan_error(s, "no function '%s'", name);
	}
	var = var_find(s->vars, name);
	if (var) {
		*v = *var;
		while (*s->at == '.') {
			struct val of = *v;
			char field[24];

			s->at++;
			if (!scan_word(s, field, sizeof(field)) || !field_get(&of, field, v))
				return scan_error(s, "no such field of '%s'", name);
		}
		return 0;
	}
	memset(v, 0, sizeof(*v));
	v->kind = V_NUM;
	if (!strcmp(name, "NULL"))
		v->kind = V_MEM;
	else if (!const_find(name, &v->n))
		return scan_error(s, "'%s' is neither a name nor a constant", name);
	return 0;
}

static int term(struct scan *s, struct val *v)
{
	char name[40], *end;

	memset(v, 0, sizeof(*v));
	scan_space(s);
	if (scan_is(s, "\""))
		return text(s, v);
	if (scan_is(s, "{"))
		return descriptor(s, v);
	if (scan_is(s, "["))
		return handles(s, v);
	if (isdigit((unsigned char)*s->at) || (*s->at == '-' && isdigit((unsigned char)s->at[1]))) {
		v->kind = V_NUM;
		v->n = *s->at == '-' ? (uint64_t)strtoll(s->at, &end, 0) : strtoull(s->at, &end, 0);
		s->at = end;
		if (scan_is(s, "K"))
			v->n <<= 10;
		else if (scan_is(s, "M"))
			v->n <<= 20;
		return 0;
	}
	if (scan_word(s, name, sizeof(name)))
		return named(s, v, name);
	return scan_error(s, "a value is missing before '%.20s'", s->at);
}

static int product(struct scan *s, struct val *v)
{
	struct val b;

	if (term(s, v))
		return -1;
	while (scan_is(s, "*")) {
		if (term(s, &b))
			return -1;
		if (v->kind != V_NUM || b.kind != V_NUM)
			return scan_error(s, "* joins numbers");
		v->n *= b.n;
	}
	return 0;
}

int scan_value(struct scan *s, struct val *v)
{
	struct val b;

	if (product(s, v))
		return -1;
	for (;;) {
		char op;

		scan_space(s);
		op = *s->at;
		if (op != '|' && op != '+' && !(op == '-' && s->at[1] != '>'))
			return 0;
		s->at++;
		if (product(s, &b))
			return -1;
		if (v->kind == V_MEM && b.kind == V_NUM && op == '+') {
			v->p += b.n;
			v->len = v->len > b.n ? v->len - b.n : 0;
			continue;
		}
		if (v->kind != V_NUM || b.kind != V_NUM)
			return scan_error(s, "%c joins numbers", op);
		v->n = op == '|' ? v->n | b.n : op == '+' ? v->n + b.n : v->n - b.n;
	}
}
