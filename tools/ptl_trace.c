/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ptl_trace - run a job with the recording library, and draw what became of each message (man ptl_trace)
 *
 * The ranks write records (portals/lib/p3l_trace.h) to files in a folder; when the command has ended they are
 * read, joined and written as Chrome trace events. Nothing in a file is believed: a rank may have been killed
 * while it wrote.
 *
 * Joining: each record carries a name of its message, as seen where it was written. Names are made the same
 * everywhere by replacing slots by ranks, and ALIAS records say which belong together (a forest of names; its
 * roots are the messages). An event is found again by queue and ticket.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <portals3.h>
#include "p3_probe.h"
#include "p3l_trace.h"

#define MAX_SLOTS 4096
#define MAX_LOCAL 256
#define NOBODY UINT32_MAX

static const char *const way_name[] = {
#define X(name, text) text,
	P3_WAYS(X)
#undef X
};
static const char *const drop_name[] = {
#define X(name, text) text,
	P3_DROPS(X)
#undef X
};
static const char *const op_name[] = { "?", "PtlPut", "PtlGet", "PtlGetPut" };
static const char *const frame_name[] = { "?", "PUT", "GET", "GETPUT", "ACK", "REPLY", "DATA", "NOP",
						 "ATOMIC" };
#define NAME(table, i) ((i) < sizeof(table) / sizeof((table)[0]) ? (table)[i] : "?")

/* One interface that a process had: its ids are looked up by what others call it. */
struct iface {
	uint32_t nid, pid, slot, rank;
	uint8_t epoch;
};

struct proc {
	uint32_t pid;			/* the kernel's */
	uint32_t rank;			/* NOBODY: never opened an interface */
	char program[64];
	struct iface *ifaces;
	uint32_t n_ifaces;
	struct { uint32_t nid, pid; } peer[MAX_SLOTS];	/* by slot, those of other nodes */
	uint32_t local[MAX_LOCAL];	/* by slot, those of its own: process + 1; 0: not looked for yet */
};

/* The records of one thread. */
struct file {
	struct p3_trace_head head;
	uint32_t proc;
	const struct p3_trace_rec *rec;
	uint64_t n;
};

struct step {
	const struct p3_trace_rec *r;
	uint32_t file;
	uint32_t at;			/* place in its file */
	uint32_t msg;			/* message, or NOBODY */
	uint64_t from, to;		/* ns */
};

static struct proc *procs;
static uint32_t n_procs;
static struct file *files;
static uint32_t n_files;
static struct step *steps;
static uint64_t n_steps;
static uint64_t lost;

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...)
{
	va_list ap;

	fputs("ptl_trace: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

static void *more(void *p, size_t n, size_t size)	/* room for one more of @n; grows by doubling */
{
	if (n & (n - 1))
		return p;
	p = realloc(p, (n ? 2 * n : 1) * size);
	if (!p)
		die("out of memory");
	return p;
}

/* ---- names ---- */

/* A name as all processes would write it. @from, @to: indices of processes. */
struct key {
	uint32_t kind, from, to, n;
};

static struct { struct key key; uint32_t up; bool used; } *names;
static uint64_t names_room, n_names;
static uint32_t *slot_of_name;		/* order of making: message numbers */

static uint64_t hash(const struct key *k)
{
	uint64_t h = k->kind * 0x9e3779b97f4a7c15u;

	h = (h ^ k->from) * 0xff51afd7ed558ccdu;
	h = (h ^ h >> 32 ^ k->to) * 0xc4ceb9fe1a85ec53u;
	h = (h ^ h >> 29 ^ k->n) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 31;
}

/* Number of the name; made when new. */
static uint32_t name_of(const struct key *k)
{
	uint64_t i;

	for (i = hash(k) & (names_room - 1); names[i].used; i = (i + 1) & (names_room - 1))
		if (!memcmp(&names[i].key, k, sizeof(*k)))
			return (uint32_t)i;
	if (++n_names > names_room / 2)
		die("too many names");		/* the room is for two of each record */
	names[i].key = *k;
	names[i].used = true;
	names[i].up = (uint32_t)i;
	return (uint32_t)i;
}

static uint32_t root(uint32_t i)
{
	while (names[i].up != i) {
		names[i].up = names[names[i].up].up;
		i = names[i].up;
	}
	return i;
}

static void join(uint32_t a, uint32_t b)
{
	names[root(a)].up = root(b);
}

static uint32_t by_id(uint32_t nid, uint32_t pid)
{
	for (uint32_t p = 0; p < n_procs; p++)
		for (uint32_t i = 0; i < procs[p].n_ifaces; i++)
			if (procs[p].ifaces[i].nid == nid && procs[p].ifaces[i].pid == pid)
				return p;
	return NOBODY;
}

static uint32_t look_for(uint32_t p, uint32_t slot)
{
	uint32_t nid = procs[p].n_ifaces ? procs[p].ifaces[0].nid : NOBODY;

	for (uint32_t q = 0; q < n_procs; q++)
		for (uint32_t i = 0; i < procs[q].n_ifaces; i++)
			if (procs[q].ifaces[i].nid == nid && procs[q].ifaces[i].slot == slot)
				return q;
	return NOBODY;
}

/* The process that has @slot on the node of process @p. */
static uint32_t by_slot(uint32_t p, uint32_t slot)
{
	uint32_t *at = &procs[p].local[slot % MAX_LOCAL];

	if (slot >= MAX_LOCAL)
		return NOBODY;
	if (!*at)
		*at = look_for(p, slot) + 1;		/* NOBODY becomes 0: looked for again */
	return *at - 1;
}

/* The process of another node that process @p numbers @slot. */
static uint32_t by_peer(uint32_t p, uint32_t slot)
{
	return slot < MAX_SLOTS ? by_id(procs[p].peer[slot].nid, procs[p].peer[slot].pid) : NOBODY;
}

/* The name of @id, written by process @p; NOBODY: none. */
static uint32_t name_in(uint32_t p, const struct p3_trace_id *id)
{
	uint32_t e = (uint32_t)id->epoch << 8;
	struct key k;

	switch (id->name) {
	case P3_NAME_CALL:
		k = (struct key){ P3_NAME_CALL, p, 0, id->n };	/* counted through all epochs */
		break;
	case P3_NAME_LANE:
	case P3_NAME_HAND:
	case P3_NAME_JOB:
		k = (struct key){ id->name | e, by_slot(p, id->from), by_slot(p, id->to), id->n };
		break;
	case P3_NAME_SENT:
		k = (struct key){ P3_NAME_SENT | e | id->from << 16, p, by_peer(p, id->to), id->n };
		break;
	case P3_NAME_CAME:
		k = (struct key){ P3_NAME_SENT | e | id->to << 16, by_peer(p, id->from), p, id->n };
		break;
	default:
		return NOBODY;
	}
	return name_of(&k);
}

/* ---- reading ---- */

static uint32_t proc_of(const struct p3_trace_head *h)
{
	struct proc *p;

	for (uint32_t i = 0; i < n_procs; i++)
		if (procs[i].pid == h->pid)
			return i;
	procs = more(procs, n_procs, sizeof(*procs));
	p = &procs[n_procs];
	memset(p, 0, sizeof(*p));
	p->pid = h->pid;
	p->rank = NOBODY;
	memcpy(p->program, h->program, sizeof(p->program) - 1);
	return n_procs++;
}

static void read_file(const char *path)
{
	struct p3_trace_head h;
	struct stat st;
	struct file *f;
	void *map;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st))
		die("%s: %s", path, strerror(errno));
	if (st.st_size <= P3_TRACE_HEAD) {		/* killed before there was anything */
		close(fd);
		return;
	}
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		die("%s: %s", path, strerror(errno));
	close(fd);
	memcpy(&h, map, sizeof(h));
	if (h.magic != P3_TRACE_MAGIC || h.size != sizeof(h)) {
		fprintf(stderr, "ptl_trace: %s is no file of records of this version: left out\n", path);
		munmap(map, (size_t)st.st_size);
		return;
	}
	files = more(files, n_files, sizeof(*files));
	f = &files[n_files++];
	f->head = h;
	f->head.thread[sizeof(h.thread) - 1] = f->head.program[sizeof(h.program) - 1] = 0;
	f->rec = (const void *)((const char *)map + P3_TRACE_HEAD);
	f->n = ((uint64_t)st.st_size - P3_TRACE_HEAD) / sizeof(*f->rec);
	if (h.n < f->n)
		f->n = h.n;
	f->proc = proc_of(&f->head);
	lost += h.lost;
}

static void read_folder(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		die("%s: %s", dir, strerror(errno));
	while ((e = readdir(d)) != NULL) {
		size_t n = strlen(e->d_name);
		char path[PATH_MAX];

		if (n < 4 || strcmp(e->d_name + n - 4, ".ptr"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
		read_file(path);
	}
	closedir(d);
}

/* Who is who, before anything else is read. */
static void read_identities(void)
{
	for (uint32_t f = 0; f < n_files; f++) {
		struct proc *p = &procs[files[f].proc];

		for (uint64_t i = 0; i < files[f].n; i++) {
			const struct p3_trace_rec *r = &files[f].rec[i];

			if (r->id.kind == P3_TR_NI) {
				p->ifaces = more(p->ifaces, p->n_ifaces, sizeof(*p->ifaces));
				p->rank = (uint32_t)r->a[3];
				p->ifaces[p->n_ifaces++] = (struct iface){ (uint32_t)r->a[0], (uint32_t)r->a[1],
						(uint32_t)r->a[2], (uint32_t)r->a[3], r->id.epoch };
			} else if (r->id.kind == P3_TR_PEER && r->a[0] < MAX_SLOTS) {
				p->peer[r->a[0]].nid = (uint32_t)r->a[1];
				p->peer[r->a[0]].pid = (uint32_t)r->a[2];
			}
		}
	}
}

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool has_length(unsigned kind)
{
	return kind == P3_TR_COPY || kind == P3_TR_SERVE || kind == P3_TR_IN || kind == P3_TR_SLEEP;
}

static void gather_steps(void)
{
	uint64_t all = 0, room = 64;

	for (uint32_t f = 0; f < n_files; f++)
		all += files[f].n;
	while (room < 6 * all)
		room *= 2;
	if (room > UINT32_MAX)
		die("%" PRIu64 " records are too many", all);
	names_room = room;
	names = calloc(room, sizeof(*names));
	slot_of_name = calloc(room, sizeof(*slot_of_name));
	steps = calloc(all + 1, sizeof(*steps));
	if (!names || !steps || !slot_of_name)
		die("out of memory");
	for (uint32_t f = 0; f < n_files; f++)
		for (uint64_t i = 0; i < files[f].n; i++) {
			const struct p3_trace_rec *r = &files[f].rec[i];
			uint32_t p = files[f].proc, name = name_in(p, &r->id);

			if (r->id.kind == P3_TR_ALIAS) {
				struct p3_trace_id id;
				uint32_t other;

				memcpy(&id, r->a, sizeof(id));
				other = name_in(p, &id);
				if (name != NOBODY && other != NOBODY)
					join(other, name);
				continue;
			}
			steps[n_steps++] = (struct step){ r, f, (uint32_t)i, name,
				has_length(r->id.kind) && r->a[0] <= r->t ? r->a[0] : r->t, r->t };
		}
	/* An event in a queue: posted by whoever, fetched by its owner. */
	for (uint64_t i = 0; i < n_steps; i++) {
		const struct p3_trace_rec *r = steps[i].r;
		uint32_t p = files[steps[i].file].proc, owner, e = r->id.epoch;
		struct key k;

		if (r->id.kind != P3_TR_LOG && r->id.kind != P3_TR_GET)
			continue;
		owner = by_slot(p, (uint32_t)r->a[0]);
		k = (struct key){ 255u | e << 8, owner, (uint32_t)r->a[1], (uint32_t)r->a[2] };
		if (r->id.kind == P3_TR_GET)
			steps[i].msg = name_of(&k);
		else if (steps[i].msg != NOBODY)
			join(name_of(&k), steps[i].msg);
	}
	qsort(steps, n_steps, sizeof(*steps), by_time);
}

/* ---- writing ---- */

static FILE *out;
static uint64_t t0;
static bool first = true;

static void quoted(const char *s)
{
	fputc('"', out);
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(out, "\\u%04x", (unsigned char)*s);
		else
			fputc(*s, out);
	fputc('"', out);
}

static void begin_event(void)
{
	fputs(first ? "\n" : ",\n", out);
	first = false;
}

/* Chrome's unit is the microsecond. */
static void time_of(const char *field, uint64_t ns)
{
	fprintf(out, ",\"%s\":%" PRIu64 ".%03u", field, ns / 1000, (unsigned)(ns % 1000));
}

static uint32_t row(const struct step *s)	/* Chrome's pid */
{
	const struct proc *p = &procs[files[s->file].proc];

	return p->rank != NOBODY ? p->rank : p->pid;
}

static void place(const struct step *s)
{
	fprintf(out, ",\"pid\":%u,\"tid\":%u", row(s), files[s->file].head.tid);
}

static uint32_t rank_of(uint32_t p)
{
	return p == NOBODY ? NOBODY : procs[p].rank;
}

static void rank_arg(const char *name, uint32_t rank)
{
	if (rank != NOBODY)
		fprintf(out, ",\"%s\":%u", name, rank);
}

static const char *event_name(unsigned kind)
{
	const char *n = kind <= PTL_EVENT_UNLINK ? ptl_event_str[kind] : "?";

	return strncmp(n, "PTL_EVENT_", 10) ? n : n + 10;
}

/* What the message is, as far as its records say. */
struct msg {
	uint32_t from, to;		/* ranks */
	uint32_t op, pt;
	uint64_t bits;
	bool call, dropped;
	bool refused;			/* its call returned an error: nothing was sent */
	uint64_t steps, drawn;		/* of its arrow: in all, so far */
};

static bool on_arrow(unsigned kind)
{
	return kind != P3_TR_NI && kind != P3_TR_PEER && kind != P3_TR_RETURN && kind != P3_TR_SLEEP &&
	       kind != P3_TR_WAKE && kind != P3_TR_UNLINK && kind < P3_TR_MAX;
}

static struct msg *msgs;
static uint32_t n_msgs;

/* When the call returned that began here; 0: it never did. */
static uint64_t returned(const struct step *s, int *rc)
{
	const struct file *f = &files[s->file];

	for (uint64_t i = s->at + 1; i < f->n; i++)
		if (f->rec[i].id.kind == P3_TR_RETURN && f->rec[i].id.name == P3_NAME_CALL &&
				f->rec[i].id.n == s->r->id.n) {
			*rc = (int)f->rec[i].a[0];
			return f->rec[i].t;
		} else if (f->rec[i].id.kind == P3_TR_CALL) {
			break;
		}
	return 0;
}

static void number_messages(void)
{
	for (uint64_t i = 0; i < n_steps; i++) {
		struct step *s = &steps[i];
		uint32_t r;

		if (s->msg == NOBODY)
			continue;
		r = root(s->msg);
		if (!slot_of_name[r])
			slot_of_name[r] = ++n_msgs;
		s->msg = slot_of_name[r] - 1;
	}
	msgs = calloc(n_msgs + 1, sizeof(*msgs));
	if (!msgs)
		die("out of memory");
	for (uint32_t i = 0; i < n_msgs; i++)
		msgs[i].from = msgs[i].to = NOBODY;
	for (uint64_t i = 0; i < n_steps; i++) {
		const struct p3_trace_rec *r = steps[i].r;
		struct msg *m;
		int rc = 0;

		if (steps[i].msg == NOBODY)
			continue;
		m = &msgs[steps[i].msg];
		if (r->id.kind == P3_TR_CALL) {
			m->call = true;
			m->from = procs[files[steps[i].file].proc].rank;
			m->to = rank_of(by_id((uint32_t)(r->a[1] >> 32), (uint32_t)r->a[1]));
			m->op = (uint32_t)(r->a[0] >> 32);
			m->pt = (uint32_t)r->a[2];
			m->bits = r->a[3];
		}
		if (r->id.kind == P3_TR_CALL && returned(&steps[i], &rc) && rc)
			m->refused = true;
		m->dropped |= r->id.kind == P3_TR_DROP;
		m->steps += on_arrow(r->id.kind);
	}
}

/* Until when a step without a length of its own is drawn: long enough to be seen, not beyond the thread's next. */
static uint64_t shown_until(const struct step *s)
{
	const struct file *f = &files[s->file];
	uint64_t end = s->to + 100, next;

	for (uint64_t i = s->at + 1; i < f->n; i++) {
		const struct p3_trace_rec *r = &f->rec[i];

		if (r->id.kind == P3_TR_ALIAS)
			continue;
		next = has_length(r->id.kind) && r->a[0] <= r->t && r->a[0] >= s->to ? r->a[0] : r->t;
		return next < end ? next : end;
	}
	return end;
}

static void flow(const struct step *s, uint64_t at)
{
	struct msg *m = &msgs[s->msg];
	const char *ph = !m->drawn ? "s" : m->drawn + 1 < m->steps ? "t" : "f";

	m->drawn++;
	if (m->steps < 2)
		return;
	begin_event();
	fprintf(out, "{\"name\":\"message\",\"cat\":\"message\",\"id\":%u,\"ph\":\"%s\"", s->msg, ph);
	time_of("ts", at - t0);
	place(s);
	fputs(*ph == 'f' ? ",\"bp\":\"e\"}" : "}", out);
}

/* A box in its thread's row; the arrow of its message goes through it. */
static void slice(const struct step *s, uint64_t from, uint64_t to, const char *cat, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
static void slice(const struct step *s, uint64_t from, uint64_t to, const char *cat, const char *fmt, ...)
{
	char name[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	begin_event();
	fputs("{\"name\":", out);
	quoted(name);
	fprintf(out, ",\"cat\":\"%s\",\"ph\":\"X\"", cat);
	time_of("ts", from - t0);
	time_of("dur", to > from ? to - from : 0);	/* where the times in a file make no sense */
	place(s);
	fprintf(out, ",\"args\":{\"step\":\"%s\"", cat);
	if (s->msg != NOBODY) {
		const struct msg *m = &msgs[s->msg];

		fprintf(out, ",\"message\":%u", s->msg);
		rank_arg("initiator", m->from);
		rank_arg("target", m->to);
		if (m->call)
			fprintf(out, ",\"operation\":\"%s\",\"pt\":%u,\"match_bits\":\"0x%" PRIx64 "\"",
					NAME(op_name, m->op),
				m->pt, m->bits);
	}
}

static void end_slice(const struct step *s, uint64_t from)
{
	fputs("}}", out);
	if (s->msg != NOBODY)
		flow(s, from);
}

static void write_event(const struct step *s, const char *cat, const char *prefix)
{
	const struct p3_trace_rec *r = s->r;
	uint32_t owner = rank_of(by_slot(files[s->file].proc, (uint32_t)r->a[0]));
	unsigned kind = (unsigned)r->a[3] & 15, fail = (unsigned)r->a[3] >> 4;

	slice(s, s->from, shown_until(s), cat, "%s%s", prefix, event_name(kind));
	rank_arg("owner", owner);
	fprintf(out, ",\"event\":\"%s\",\"eq\":%u,\"fail\":%u", event_name(kind), (unsigned)r->a[1] & 0xffff, fail);
	if (r->id.kind != P3_TR_HANDOVER)
		fprintf(out, ",\"ticket\":%" PRIu64, r->a[2]);
	if (r->id.kind != P3_TR_LOG)
		fprintf(out, ",\"hdr_data\":\"0x%" PRIx64 "\"", r->a[4]);
	end_slice(s, s->from);
}

static void write_step(const struct step *s)
{
	const struct p3_trace_rec *r = s->r;
	uint32_t p = files[s->file].proc;
	uint64_t until;
	int rc = 0;

	switch (r->id.kind) {
	case P3_TR_CALL:
		until = returned(s, &rc);
		slice(s, s->from, until ? until : shown_until(s), "call", "%s%s", NAME(op_name, r->a[0] >> 32),
		      until && rc ? " (refused)" : "");
		fprintf(out, ",\"md\":%u,\"hdr_data\":\"0x%" PRIx64 "\"", (unsigned)r->a[0], r->a[4]);
		fprintf(out, ",\"nid\":%u,\"pid\":%u", (unsigned)(r->a[1] >> 32), (unsigned)r->a[1]);
		if (until)
			fprintf(out, ",\"returned\":%d", rc);
		end_slice(s, s->from);
		break;
	case P3_TR_MATCH:
		slice(s, s->from, shown_until(s), "match", "match");
		rank_arg("owner", rank_of(by_slot(p, (uint32_t)r->a[0])));
		fprintf(out, ",\"entry_md\":%u,\"rlength\":%" PRIu64 ",\"mlength\":%" PRIu64, (unsigned)r->a[1],
				r->a[3], r->a[4]);
		end_slice(s, s->from);
		break;
	case P3_TR_DROP:
		slice(s, s->from, shown_until(s), "drop", "dropped: %s", NAME(drop_name, r->a[4]));
		rank_arg("owner", rank_of(by_slot(p, (uint32_t)r->a[0])));
		fprintf(out, ",\"reason\":\"%s\",\"rlength\":%" PRIu64, NAME(drop_name, r->a[4]), r->a[3]);
		end_slice(s, s->from);
		break;
	case P3_TR_COPY:
		/* what was left to its owner he copies between the bounce buffer and his own, in his terms */
		slice(s, s->from, s->to, "copy", "copy by %s",
				r->id.name == P3_NAME_HAND ? "bounce buffer" : NAME(way_name, r->a[1]));
		fprintf(out, ",\"way\":\"%s\",\"direction\":\"%s\",\"bytes\":%" PRIu64,
			r->id.name == P3_NAME_HAND ? "bounce buffer" : NAME(way_name, r->a[1]),
			(r->id.name == P3_NAME_HAND) != !!r->a[2] ? "to target" : "from target", r->a[3]);
		end_slice(s, s->from);
		break;
	case P3_TR_LOG:
		write_event(s, "event", "log ");
		break;
	case P3_TR_GET:
	case P3_TR_HANDOVER:
		write_event(s, "fetch", "");
		break;
	case P3_TR_WRITE:
		slice(s, s->from, shown_until(s), "inbox", "to inbox");
		rank_arg("owner", rank_of(by_slot(p, (uint32_t)r->a[0])));
		fprintf(out, ",\"bytes\":%" PRIu64, r->a[1]);
		end_slice(s, s->from);
		break;
	case P3_TR_TAKE:
		slice(s, s->from, shown_until(s), "inbox", "out of inbox");
		end_slice(s, s->from);
		break;
	case P3_TR_HAND:
		slice(s, s->from, shown_until(s), "handed", "left to its owner");
		rank_arg("owner", rank_of(by_slot(p, (uint32_t)r->a[0])));
		end_slice(s, s->from);
		break;
	case P3_TR_SERVE:
		slice(s, s->from, s->to, "handed", "bounce buffer");
		end_slice(s, s->from);
		break;
	case P3_TR_OUT:
		slice(s, s->from, shown_until(s), "frame", "frame out");
		rank_arg("peer", rank_of(by_peer(p, (uint32_t)r->a[0])));
		fprintf(out, ",\"number\":%" PRIu64 ",\"channel\":%" PRIu64 ",\"bytes\":%" PRIu64, r->a[2],
				r->a[1], r->a[3]);
		end_slice(s, s->from);
		break;
	case P3_TR_IN:
		slice(s, s->from, s->to, "frame", "frame in: %s", NAME(frame_name, r->a[4] >> 32));
		rank_arg("peer", rank_of(by_peer(p, (uint32_t)r->a[1])));
		fprintf(out, ",\"number\":%" PRIu64 ",\"channel\":%" PRIu64 ",\"bytes\":%u", r->a[3], r->a[2],
				(unsigned)r->a[4]);
		end_slice(s, s->from);
		break;
	case P3_TR_SLEEP:
		slice(s, s->from, s->to, "sleep", "asleep");
		fputs("}}", out);
		break;
	case P3_TR_WAKE:
		slice(s, s->from, shown_until(s), "sleep", "wake");
		rank_arg("owner", rank_of(by_slot(p, (uint32_t)r->a[0])));
		fputs("}}", out);
		break;
	case P3_TR_UNLINK:
		slice(s, s->from, shown_until(s), "unlink", "unlink");
		rank_arg("owner", rank_of(by_slot(p, (uint32_t)r->a[0])));
		fprintf(out, ",\"entry_md\":%u}}", (unsigned)r->a[1]);
		break;
	}
}

static void meta(const char *what, uint32_t pid, uint32_t tid, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static void meta(const char *what, uint32_t pid, uint32_t tid, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	begin_event();
	fprintf(out, "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":", what, pid, tid);
	quoted(text);
	fputs("}}", out);
}

static int by_start(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to > y->to ? -1 : 1;		/* what contains comes first */
	return by_time(a, b);
}

static void write_all(void)
{
	uint32_t dropped = 0, refused = 0, ranks = 0;

	qsort(steps, n_steps, sizeof(*steps), by_start);
	t0 = n_steps ? steps[0].from : 0;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
	for (uint32_t p = 0; p < n_procs; p++) {
		const struct proc *q = &procs[p];

		if (q->rank == NOBODY) {
			meta("process_name", q->pid, 0, "%s (pid %u, no rank)", q->program, q->pid);
			continue;
		}
		ranks++;
		meta("process_name", q->rank, 0, "rank %u: %s (nid %u pid %u, process %u)", q->rank, q->program,
		     q->ifaces[0].nid, q->ifaces[0].pid, q->pid);
		begin_event();
		fprintf(out,
			"{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%u,\"tid\":0,"
			"\"args\":{\"sort_index\":%u}}",
			q->rank, q->rank);
	}
	for (uint32_t f = 0; f < n_files; f++) {
		const struct p3_trace_head *h = &files[f].head;
		const struct proc *q = &procs[files[f].proc];

		meta("thread_name", q->rank == NOBODY ? q->pid : q->rank, h->tid, "%s",
		     h->tid == h->pid ? "main" : h->thread[0] ? h->thread : "thread");
	}
	for (uint64_t i = 0; i < n_steps; i++)
		write_step(&steps[i]);
	for (uint32_t m = 0; m < n_msgs; m++) {
		dropped += msgs[m].dropped && !msgs[m].refused;
		refused += msgs[m].refused;
	}
	fprintf(out, "\n],\"otherData\":{\"ranks\":%u,\"messages\":%u,\"dropped\":%u,\"refused\":%u,"
		"\"records\":%" PRIu64
		",\"lost\":%" PRIu64
		"}}\n", ranks, n_msgs - refused, dropped, refused, n_steps, lost);
	fprintf(stderr, "ptl_trace: %u ranks, %u messages, %u of them dropped", ranks, n_msgs - refused, dropped);
	if (refused)
		fprintf(stderr, "; %u calls were refused, and sent nothing", refused);
	fputc('\n', stderr);
	if (lost)
		fprintf(stderr, "ptl_trace: %" PRIu64 " records are missing: a thread keeps only PTL_TRACE_RECORDS of "
			"them "
			"(ptl_trace -n)\n", lost);
}

/* Can the trace be written there? Better known before the command runs than after. */
static void try_output(const char *to)
{
	int fd;

	if (!strcmp(to, "-"))
		return;
	if (!access(to, F_OK)) {
		if (access(to, W_OK))
			die("%s: %s", to, strerror(errno));
		return;
	}
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		die("%s: %s", to, strerror(errno));
	close(fd);
	unlink(to);
}

/* False: there was nothing. */
static bool merge(const char *dir, const char *to)
{
	read_folder(dir);
	if (!n_files) {
		fprintf(stderr, "ptl_trace: nothing was recorded: no process of the command called Portals by the "
			"library "
			"libportals.so.0, or it is linked statically\n");
		return false;
	}
	read_identities();
	gather_steps();
	number_messages();
	out = strcmp(to, "-") ? fopen(to, "w") : stdout;
	if (!out)
		die("%s: %s; the records are in %s (ptl_trace -m)", to, strerror(errno), dir);
	write_all();
	if (ferror(out) || fclose(out))
		die("%s: %s; the records are in %s (ptl_trace -m)", to, strerror(errno), dir);
	if (strcmp(to, "-"))
		fprintf(stderr, "ptl_trace: %s: to be opened in https://ui.perfetto.dev or chrome://tracing\n", to);
	return true;
}

/* ---- running ---- */

static void prepend(const char *var, const char *old, const char *value, char sep)
{
	char *s;

	if (old && *old) {
		if (asprintf(&s, "%s%c%s", value, sep, old) < 0)
			die("out of memory");
	} else {
		s = strdup(value);
	}
	if (!s || setenv(var, s, 1))
		die("out of memory");
	free(s);
}

/* Where the recording library is: beside the tool in a build, or where it was installed. */
static void find_library(char *dir, size_t len)
{
	const char *const from_here[] = { "../portals/trace/.libs", "../../portals/trace/.libs",
			"../" LIBDIR_BASE "/portals-trace" };
	char self[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = 0;
		if (strrchr(self, '/'))
			*strrchr(self, '/') = 0;
		for (size_t i = 0; i < sizeof(from_here) / sizeof(from_here[0]); i++) {
			snprintf(path, sizeof(path), "%s/%s/libportals.so.0", self, from_here[i]);
			if (!access(path, R_OK) && realpath(path, self)) {
				*strrchr(self, '/') = 0;
				snprintf(dir, len, "%s", self);
				return;
			}
		}
	}
	snprintf(dir, len, "%s", TRACE_DIR);
	snprintf(path, sizeof(path), "%s/libportals.so.0", dir);
	if (access(path, R_OK))
		die("the recording library is not in %s", dir);
}

static void remove_folder(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	rmdir(dir);
}

static volatile sig_atomic_t child;

/* The command gets the terminal's signals itself; we stay and write what there is. */
static void pass(int sig)
{
	if (child > 0 && sig == SIGTERM)
		kill((pid_t)child, sig);
}

static int run(char **argv, const char *dir, bool preload)
{
	char lib[PATH_MAX], so[PATH_MAX + 32];
	int status, rc;
	pid_t pid;

	find_library(lib, sizeof(lib));
	if (setenv("PTL_TRACE", dir, 1))
		die("out of memory");
	if (preload) {
		snprintf(so, sizeof(so), "%s/libportals.so.0", lib);
		prepend("LD_PRELOAD", getenv("LD_PRELOAD"), so, ':');
	} else {
		prepend("LD_LIBRARY_PATH", getenv("LD_LIBRARY_PATH"), lib, ':');
	}
	signal(SIGINT, pass);
	signal(SIGTERM, pass);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		execvp(argv[0], argv);
		fprintf(stderr, "ptl_trace: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	child = pid;
	while ((rc = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	return rc < 0 ? 1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void usage(FILE *f)
{
	fputs("usage: ptl_trace [-kp] [-o FILE] [-n RECORDS] COMMAND [ARGUMENT...]\n"
	      "       ptl_trace -m FOLDER [-o FILE]\n"
	      "  -o FILE     the trace (trace.json); -: standard output\n"
	      "  -n RECORDS  kept of each thread (262144); the others are counted only\n"
	      "  -p          by LD_PRELOAD, for programs with a library path of their own (DT_RPATH)\n"
	      "  -k          keep the records, and say where\n"
	      "  -m FOLDER   no command: draw records that were kept\n"
	      "  -h, --help  this text\n", f);
}

int main(int argc, char **argv)
{
	const char *to = "trace.json", *from = NULL, *tmp = getenv("TMPDIR");
	static const struct option longs[] = { { "help", 0, NULL, 'h' }, { NULL, 0, NULL, 0 } };
	bool keep = false, preload = false;
	char dir[PATH_MAX];
	int opt, rc;

	while ((opt = getopt_long(argc, argv, "+ho:n:pkm:", longs, NULL)) != -1)
		switch (opt) {
		case 'o': to = optarg; break;
		case 'n':
			if (setenv("PTL_TRACE_RECORDS", optarg, 1))
				die("out of memory");
			break;
		case 'p': preload = true; break;
		case 'k': keep = true; break;
		case 'm': from = optarg; break;
		case 'h': usage(stdout); return 0;
		default: usage(stderr); return 2;
		}
	if (!from == !argv[optind]) {
		usage(stderr);
		return 2;
	}
	try_output(to);
	if (from)
		return !merge(from, to);
	snprintf(dir, sizeof(dir), "%s/ptl_trace.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		die("%s: %s", dir, strerror(errno));
	rc = run(argv + optind, dir, preload);
	if (!merge(dir, to) && !rc)
		rc = 1;
	if (keep)
		fprintf(stderr, "ptl_trace: the records are in %s\n", dir);
	else
		remove_folder(dir);
	return rc;
}
