/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dump.c - what an interface is waiting for, for a person in front of a hang
 *
 * Written on PTL_DUMP_SIGNAL, after PTL_HANG_DUMP_S seconds in one waiting call, or from gdb (call p3a_dump(2)). Reads
 * without locks, so a line may show a state that never was; it changes nothing and allocates nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "p3a.h"
#include "p3_knobs.h"

static const char *const op_state[] = {
#define X(s) #s,
	P3L_OP_STATES(X)
#undef X
};
_Static_assert(sizeof(op_state) / sizeof(*op_state) == P3L_OP_MAX, "a name for each state");

/* As gdb's commands say it. */
static const char *name_of(uint32_t v, uint32_t any, const char *what, char buf[16])
{
	if (v == any)
		return what;
	snprintf(buf, 16, "%u", v);
	return buf;
}

void p3a_dump_me(int fd, const struct p3l_ni *l, uint32_t i)
{
	const struct p3l_me *me = p3l_me(l, i);
	char a[16], b[16];

	dprintf(fd, "    me %u: bits %#llx ignore %#llx from %s:%s", i, (unsigned long long)me->match_bits,
		(unsigned long long)me->ignore_bits, name_of(me->match_nid, PTL_NID_ANY, "any", a),
		name_of(me->match_pid, PTL_PID_ANY, "any", b));
	if (me->md && me->md <= P3L_MAX_MD) {
		const struct p3l_md *md = p3l_md(l, me->md - 1);

		dprintf(fd, "; md %u: %llu of %llu bytes used, threshold %s, options %#x, pending %u%s", me->md - 1,
			(unsigned long long)md->offset, (unsigned long long)md->length,
			name_of((uint32_t)md->threshold, (uint32_t)PTL_MD_THRESH_INF, "inf", a), md->options,
			md->pending, md->flags & P3L_MD_SPENT ? ", spent" : "");
	}
	dprintf(fd, "\n");
}

void p3a_dump_list(int fd, const struct p3l_ni *l, uint32_t pt)
{
	uint32_t i = l->pt[pt].head, n = 0;

	dprintf(fd, "  portal %u: %u entries%s%s\n", pt, l->pt[pt].len, p3l_pt_polled(l, pt) ? ", polled" : "",
		l->pt[pt].lock ? ", locked" : "");
	for (; i && i <= P3L_MAX_ME && n < 64; n++) {
		p3a_dump_me(fd, l, i - 1);
		i = p3l_me(l, i - 1)->next;
	}
	if (i)
		dprintf(fd, "    ...\n");
}

void p3a_dump_eqs(int fd, const struct p3l_ni *l)
{
	for (uint32_t i = 0; i < P3L_MAX_EQ; i++)
		if (l->eq[i].flags & P3L_EQ_USED)
			dprintf(fd, "  eq %u: %u slots, %u read, %u reserved, next is %s\n", i, 1u << l->eq[i].log2, l->eq[i].head,
				l->eq[i].tail, p3l_eq_ready(l, i) ? "there" : "not there");
}

static void dump_ni(int fd, const struct nal_ni *ni)
{
	const struct p3l_ni *l = ni->l;

	dprintf(fd, "portals: interface %u: id %u:%u, local rank %u of %u%s\n", ni->index, l->nid, l->pid, l->slot, l->n_slots,
		l->sleeping ? ", asleep" : "");
	for (uint32_t pt = 0; pt <= l->max_pt; pt++)
		if (l->pt[pt].head || l->pt[pt].lock)
			p3a_dump_list(fd, l, pt);
	p3a_dump_eqs(fd, l);
	for (uint32_t s = 0; s < p3l_slots(l); s++) {
		struct p3l_lane_hdr *lane = p3l_lane(l, s);

		if (l->lanes_used[s / 64] >> (s % 64) & 1)
			dprintf(fd, "  inbox from %u: line %u%s%s\n", s, lane->head, p3l_lane_ready(l, lane) ? ", a message waits" : "",
				lane->lock ? ", locked" : "");
		for (uint32_t k = 0; k < P3L_OPS; k++) {
			const struct p3l_op *op = &p3l_row(l, s)->op[k];

			if (op->state != P3L_OP_IDLE && op->state < P3L_OP_MAX)
				dprintf(fd, "  operation of %u: %s, md %u, %llu bytes\n", s, op_state[op->state], op->md,
					(unsigned long long)op->mlength);
		}
	}
}

void p3a_dump(int fd)
{
	for (int i = 0; i < P3A_MAX_NI; i++)
		if (p3a_table[i]) {
			dump_ni(fd, p3a_table[i]);
			p3a_look_dump(fd, p3a_table[i]);
		}
	if (p3a_kernel)
		dump_ni(fd, p3a_kernel);
}

/* A wait goes on: note when it began, and tell once when it has lasted for PTL_HANG_DUMP_S. */
void p3a_waits(struct p3l_wait *w)
{
	const struct nal_ni *ni = p3_load(&p3a_open_ni);
	struct timespec t;
	int64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	if (!w->since)
		w->since = now;
	if (!ni || !ni->hang_ns || w->told || now - w->since < ni->hang_ns)
		return;
	w->told = 1;
	p3a_dump(STDERR_FILENO);
}

static void on_signal(int sig)
{
	int e = errno;

	p3a_dump(STDERR_FILENO);
	errno = e;
	(void)sig;
}

void p3a_dump_setup(void)
{
	const struct p3_knobs *k = p3_knobs_get(NULL);
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	if (k->dump_signal)
		sigaction((int)k->dump_signal, &sa, NULL);
}
