/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* info_show.c - running jobs, printed: their ranks, what they cost, who talks to whom, who waits for whom */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "info.h"

/* ---- what /proc says of a rank ---- */

struct cost {			/* bytes */
	uint64_t rss, private, own, theirs, tables;
	uint32_t windows;	/* peers mapped */
	bool known;
};

/* The own memory file is the one that the region lies in; mappings of other such files are windows on peers. */
static void cost_of(const struct info_rank *r, struct cost *c)
{
	unsigned long long lo, hi, off, inode, own = 0, v;
	char path[40], *line = NULL, key[32];
	size_t room = 0;

	memset(c, 0, sizeof(*c));
	for (int turn = 0; turn < 2; turn++) {		/* first: which file is ours */
		bool file = false, window = false;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/%s", r->unix_pid, turn ? "smaps" : "maps");
		f = fopen(path, "r");
		if (!f)
			break;
		while (getline(&line, &room, f) > 0) {
			if (sscanf(line, "%llx-%llx %*s %llx %*s %llu", &lo, &hi, &off, &inode) == 4) {
				file = strstr(line, "/memfd:smartmap") != NULL;
				if (!turn && file && r->page.region >= lo && r->page.region < hi)
					own = inode;
				window = file && inode != own && !off;
				file &= inode == own;
				c->windows += turn && window;
			} else if (turn && sscanf(line, "%31[^:]: %llu kB", key, &v) == 2) {
				v *= 1024;
				if (!strcmp(key, "Rss")) {
					c->rss += v;
					c->own += file ? v : 0;
					c->theirs += window ? v : 0;
				} else if (!strcmp(key, "Private_Clean") || !strcmp(key, "Private_Dirty")) {
					c->private += v;
				}
			}
		}
		c->known = turn;
		fclose(f);
	}
	snprintf(path, sizeof(path), "/proc/%d/status", r->unix_pid);
	FILE *f = fopen(path, "r");
	while (f && getline(&line, &room, f) > 0)
		if (sscanf(line, "VmPTE: %llu kB", &v) == 1)
			c->tables = v * 1024;
	if (f)
		fclose(f);
	free(line);
}

static void name_of(int pid, char *s, size_t len)
{
	char path[40];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "r");
	if (!f || !fgets(s, (int)len, f))
		snprintf(s, len, "?");
	s[strcspn(s, "\n")] = 0;
	if (f)
		fclose(f);
}

static const char *human(uint64_t v, char buf[24])
{
	if (v < 10240)
		snprintf(buf, 24, "%" PRIu64 " B", v);
	else if (v < (uint64_t)10 << 20)
		snprintf(buf, 24, "%.1f KiB", (double)v / 1024);
	else if (v < (uint64_t)10 << 30)
		snprintf(buf, 24, "%.1f MiB", (double)v / (1 << 20));
	else
		snprintf(buf, 24, "%.1f GiB", (double)v / (1 << 30));
	return buf;
}

static const char *const phase_name[] = { "?", "starts", "open", "leaves" };

static const char *phase_of(const struct info_rank *r)
{
	return phase_name[r->page.phase <= LOOK_LEAVES ? r->page.phase : 0];
}

/* Why a rank could not be read, and what to do. */
static void why_not(const struct info_rank *r, char *s, size_t len)
{
	char yama[8] = "";
	FILE *f;

	if (r->stranger) {
		snprintf(s, len, "it uses another version of this library: use that one's ptl_info");
		return;
	}
	if (r->refused != EPERM && r->refused != EACCES) {
		snprintf(s, len, "%s", strerror(r->refused));
		return;
	}
	f = fopen("/proc/sys/kernel/yama/ptrace_scope", "r");
	if (f && !fgets(yama, sizeof(yama), f))
		yama[0] = 0;
	if (f)
		fclose(f);
	if (atoi(yama) > 0)
		snprintf(s, len, "its memory may not be read: kernel.yama.ptrace_scope is %d. Root can read it, or "
			 "all of this user with 0 there", atoi(yama));
	else
		snprintf(s, len, "its memory may not be read (%s): another user's, or a container or a seccomp filter "
			 "forbids process_vm_readv. Root can read it", strerror(r->refused));
}

static void job_title(const struct info_job *j, char *s, size_t len)
{
	const struct look_page *p = &j->r[0].page;
	char name[32];

	name_of(j->r[0].unix_pid, name, sizeof(name));
	if (j->r[0].refused)
		snprintf(s, len, "a job that cannot be read: %u processes, %s (pid %d)", j->n, name, j->r[0].unix_pid);
	else
		snprintf(s, len, "job %u: %s, %u ranks on %u node%s, %s, user %u", p->jid, name, p->ranks, p->nodes,
			 p->nodes == 1 ? "" : "s", p->nal, p->uid);
}

/* What was not looked at, behind a sentence that says that there is nothing. */
static const char *unseen(char *s, size_t len)
{
	s[0] = 0;
	if (info_hidden())
		snprintf(s, len, "; %u processes%s may not be looked at%s", info_hidden(),
			 geteuid() ? " of other users" : "", geteuid() ? " (root can)" : "");
	return s;
}

static int find_one(uint32_t which, struct info_job **jobs, int *n, const char *what)
{
	char title[160], more[96];

	*n = info_find(which, jobs);
	if (*n == 1)
		return 0;
	if (*n < 0)
		fprintf(stderr, "ptl_info: no memory\n");
	else if (!*n && which)
		fprintf(stderr, "ptl_info: %u is no running job here, nor the pid of a rank with an open interface%s\n",
			which, unseen(more, sizeof(more)));
	else if (!*n)
		fprintf(stderr, "ptl_info: no job with an open interface runs here%s\n", unseen(more, sizeof(more)));
	else
		fprintf(stderr, "ptl_info: %d jobs run here; %s which?\n", *n, what);
	for (int i = 0; i < *n; i++) {
		job_title(&(*jobs)[i], title, sizeof(title));
		fprintf(stderr, "  %s\n", title);
	}
	info_free(*jobs, *n);
	return 1;
}

/* ---- lists ---- */

static void job_json(const struct info_job *j)
{
	const struct look_page *p = &j->r[0].page;
	char text[200];

	name_of(j->r[0].unix_pid, text, sizeof(text));
	json_pair("program", text);
	json_pair_num("job", p->jid);
	json_pair_num("uid", p->uid);
	json_pair_num("ranks", p->ranks);
	json_pair_num("nodes", p->nodes);
	json_pair_num("seen", j->n);
	json_pair("nal", p->nal);
	if (j->r[0].refused || j->r[0].stranger) {
		why_not(&j->r[0], text, sizeof(text));
		json_pair("unread", text);
	}
}

void info_jobs_json(void)
{
	struct info_job *jobs;
	int n = info_find(0, &jobs);

	json_key("jobs");
	json_open('[');
	for (int i = 0; i < n; i++) {
		json_open('{');
		job_json(&jobs[i]);
		json_close('}');
	}
	json_close(']');
	json_pair_num("hidden", info_hidden());
	if (n >= 0)
		info_free(jobs, n);
}

int info_list(uint32_t which, bool json)
{
	struct info_job *jobs;
	char text[200];
	int n;

	if (json) {
		json_open('{');
		info_jobs_json();
		json_close('}');
		json_end();
		return 0;
	}
	n = info_find(which, &jobs);
	for (int i = 0; i < n; i++) {
		job_title(&jobs[i], text, sizeof(text));
		printf("%s\n", text);
		if (jobs[i].r[0].refused || jobs[i].r[0].stranger) {
			why_not(&jobs[i].r[0], text, sizeof(text));
			printf("  %s\n", text);
		}
	}
	if (!n)
		printf("no job with an open interface runs here%s\n", unseen(text, sizeof(text)));
	if (n >= 0)
		info_free(jobs, n);
	return n < 0;
}

/* ---- one job ---- */

static void ranks_text(const struct info_job *j)
{
	uint64_t tables = 0, windows = 0;
	char a[24], b[24], c[24], d[24], e[24], why[200];

	printf("  rank node  pid      state    Portals id   resident    private     own file    peers' files  "
	       "page tables  windows\n");
	for (uint32_t i = 0; i < j->n; i++) {
		const struct info_rank *r = &j->r[i];
		struct cost k;
		char id[24], st[12];

		cost_of(r, &k);
		snprintf(id, sizeof(id), "%u:%u", r->page.nid, r->page.pid);
		snprintf(st, sizeof(st), "%s %c", phase_of(r), look_state(r->unix_pid));
		printf("  %4u %4u  %-8d %-8s %-12s %-11s %-11s %-11s %-13s %-12s %u\n", r->page.rank, r->page.node,
		       r->unix_pid, st, id, human(k.rss, a), human(k.private, b), human(k.own, c), human(k.theirs, d),
		       human(k.tables, e), k.windows);
		tables += k.tables;
		windows += k.windows;
	}
	printf("  page tables of all: %s", human(tables, a));
	if (windows)
		printf("; by the number of windows on peers: %s each", human(tables / windows, b));
	printf("\n");
	for (uint32_t i = 0; i < j->n; i++)
		if (j->r[i].refused || j->r[i].stranger) {
			why_not(&j->r[i], why, sizeof(why));
			printf("  pid %d: %s\n", j->r[i].unix_pid, why);
		}
}

static const struct info_rank *rank_in_slot(const struct info_job *j, uint32_t node, uint32_t slot)
{
	for (uint32_t i = 0; i < j->n; i++)
		if (j->r[i].page.node == node && j->r[i].page.local_rank == slot && !j->r[i].refused)
			return &j->r[i];
	return NULL;
}

/* What rank @of knows of rank @from, on another node. */
static const struct fr_peer *far_peer(const struct info_job *j, uint32_t of, uint32_t from)
{
	for (uint32_t i = 0; i < j->n; i++)
		for (uint32_t k = 0; j->r[i].page.rank == of && k < j->r[i].far_n; k++)
			if (j->r[i].far[k].rank == from)
				return j->r[i].far[k].peer;
	return NULL;
}

/* Calls @fn for each pair of ranks that have exchanged something. */
static void each_talk(const struct info_job *j, void (*fn)(uint32_t from, uint32_t to, const struct look_talk *t))
{
	for (uint32_t i = 0; i < j->n; i++) {
		const struct info_rank *r = &j->r[i];
		struct look_talk t;

		for (uint32_t s = 0; r->l && s < p3l_slots(r->l); s++) {
			const struct info_rank *from = rank_in_slot(j, r->page.node, s);

			if (look_talk(r->l, s, &t))
				fn(from ? from->page.rank : s, r->page.rank, &t);
		}
		for (uint32_t k = 0; k < r->far_n; k++) {
			const struct fr_peer *there = far_peer(j, r->far[k].rank, r->page.rank);

			memset(&t, 0, sizeof(t));
			t.dropped = there ? there->dropped : 0;
			t.count[LOOK_NET] = r->far[k].peer->out_count;
			t.length[LOOK_NET] = r->far[k].peer->out_length;
			if (t.count[LOOK_NET])
				fn(r->page.rank, r->far[k].rank, &t);
		}
	}
}

static uint32_t talks;

static void talk_text(uint32_t from, uint32_t to, const struct look_talk *t)
{
	char a[24];

	talks++;
	printf("  %4u -> %-4u", from, to);
	for (int p = 0; p < LOOK_PATH_MAX; p++)
		if (t->count[p])
			printf("  %s %" PRIu64 " (%s)", look_path_name[p], t->count[p], human(t->length[p], a));
	if (t->shared)
		printf("  copied together %" PRIu64, t->shared);
	if (t->dropped)
		printf("  dropped %" PRIu64, t->dropped);
	if (t->refused)
		printf("  no room %" PRIu64, t->refused);
	printf("\n");
}

static void talk_json(uint32_t from, uint32_t to, const struct look_talk *t)
{
	json_open('{');
	json_pair_num("from", from);
	json_pair_num("to", to);
	for (int p = 0; p < LOOK_PATH_MAX; p++) {
		char key[24];

		if (!t->count[p])
			continue;
		json_pair_num(look_path_name[p], t->count[p]);
		snprintf(key, sizeof(key), "%s_bytes", look_path_name[p]);
		json_pair_num(key, t->length[p]);
	}
	json_pair_num("together", t->shared);
	json_pair_num("dropped", t->dropped);
	json_pair_num("no_room", t->refused);
	json_close('}');
}

static void limits_json(const ptl_ni_limits_t *l)
{
	json_pair_num("max_mes", (unsigned)l->max_mes);
	json_pair_num("max_mds", (unsigned)l->max_mds);
	json_pair_num("max_eqs", (unsigned)l->max_eqs);
	json_pair_num("max_ac_index", (unsigned)l->max_ac_index);
	json_pair_num("max_pt_index", (unsigned)l->max_pt_index);
	json_pair_num("max_md_iovecs", (unsigned)l->max_md_iovecs);
	json_pair_num("max_me_list", (unsigned)l->max_me_list);
	json_pair_num("max_getput_md", (unsigned)l->max_getput_md);
}

static void limits_text(const ptl_ni_limits_t *l)
{
	printf("  limits: %d match entries, %d descriptors, %d queues, portals 0-%d, access entries 0-%d,\n"
	       "  %d entries in a list, %d pieces in a vector, %d bytes exchanged\n",
	       l->max_mes, l->max_mds, l->max_eqs, l->max_pt_index, l->max_ac_index, l->max_me_list, l->max_md_iovecs,
	       l->max_getput_md);
}

static void rank_json(const struct info_rank *r)
{
	struct cost k;
	char st[2] = { look_state(r->unix_pid), 0 }, why[200];

	cost_of(r, &k);
	json_open('{');
	json_pair_num("rank", r->page.rank);
	json_pair_num("node", r->page.node);
	json_pair_num("unix_pid", (unsigned)r->unix_pid);
	json_pair("state", st);
	json_pair("phase", phase_of(r));
	json_pair_num("nid", r->page.nid);
	json_pair_num("pid", r->page.pid);
	json_pair_num("rss", k.rss);
	json_pair_num("private", k.private);
	json_pair_num("own_file", k.own);
	json_pair_num("peer_files", k.theirs);
	json_pair_num("page_tables", k.tables);
	json_pair_num("windows", k.windows);
	json_pair_num("region", r->page.region_len);
	json_key("limits");
	json_open('{');
	limits_json(&r->page.limits);
	json_close('}');
	if (r->refused || r->stranger) {
		why_not(r, why, sizeof(why));
		json_pair("unread", why);
	}
	json_close('}');
}

int info_show(uint32_t which, bool json)
{
	struct info_job *j;
	char text[200];
	int n;

	if (find_one(which, &j, &n, "-p"))
		return 1;
	info_copy(j);
	if (json) {
		json_open('{');
		job_json(j);
		json_key("rank");
		json_open('[');
		for (uint32_t i = 0; i < j->n; i++)
			rank_json(&j->r[i]);
		json_close(']');
		json_key("talk");
		json_open('[');
		each_talk(j, talk_json);
		json_close(']');
		json_close('}');
		json_end();
	} else {
		job_title(j, text, sizeof(text));
		printf("%s; %u seen on this machine\n", text, j->n);
		ranks_text(j);
		if (!j->r[0].refused)
			limits_text(&j->r[0].page.limits);
		printf("who has sent to whom, messages (bytes) by path:\n");
		each_talk(j, talk_text);
		if (!talks)
			printf("  nobody to anybody yet, or it could not be read\n");
	}
	info_free(j, n);
	return 0;
}

/* ---- a hang ---- */

static uint32_t lines;

static void hang_text(void *ctx, enum look_kind kind, int from, int to, const char *text)
{
	static const char *const word[] = { "waits", "cause", "ring", "root", "note" };

	printf("  %-6s %s\n", word[kind], text);
	(void)ctx;
	(void)from;
	(void)to;
	lines++;
}

static void hang_json(void *ctx, enum look_kind kind, int from, int to, const char *text)
{
	static const char *const word[] = { "waits", "cause", "ring", "root", "note" };

	json_open('{');
	json_pair("kind", word[kind]);
	json_key("from");
	json_int(from);
	json_key("to");
	json_int(to);
	json_pair("text", text);
	json_close('}');
	(void)ctx;
}

/* What is compared between two looks: of each rank's region, for each slot. */
struct seen {
	uint32_t head, pub;
	uint64_t refused;
};

static struct seen see(const struct p3l_ni *l, uint32_t slot)
{
	const struct p3l_lane_hdr *h = p3l_lane(l, slot);

	return (struct seen){ h->head, h->head_pub, p3l_row(l, slot)->stats.refused };
}

static void fill(const struct info_job *j, struct look_rank *r)
{
	for (uint32_t i = 0; i < j->n; i++) {
		const struct info_rank *k = &j->r[i];

		r[i] = (struct look_rank){
			.l = k->l, .rank = k->page.rank, .node = k->page.node, .slot = k->page.local_rank,
			.phase = k->page.phase, .pid = k->unix_pid, .state = look_state(k->unix_pid), .far = k->far,
			.far_n = k->far_n, .refused_by = -1,
		};
	}
}

/* Two looks, a moment apart: room that seems lost while a lane moves is not; puts that are refused meanwhile hang. */
static void look_twice(struct info_job *j, struct look_rank *r)
{
	struct seen (*was)[P3L_MAX_SLOTS] = calloc(j->n, sizeof(*was));

	info_copy(j);
	for (uint32_t i = 0; was && i < j->n; i++)
		for (uint32_t s = 0; j->r[i].l && s < p3l_slots(j->r[i].l); s++)
			was[i][s] = see(j->r[i].l, s);
	nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
	info_copy(j);
	fill(j, r);
	for (uint32_t i = 0; was && i < j->n; i++)
		for (uint32_t s = 0; j->r[i].l && s < p3l_slots(j->r[i].l); s++) {
			struct seen is = see(j->r[i].l, s);

			if (is.head != was[i][s].head || is.pub != was[i][s].pub)
				p3l_lane(j->r[i].l, s)->head_pub = is.head;
			for (uint32_t k = 0; is.refused != was[i][s].refused && k < j->n; k++)
				if (r[k].node == r[i].node && r[k].slot == s)
					r[k].refused_by = (int)r[i].slot;
		}
	free(was);
}

uint32_t info_why(uint32_t which, look_say *say, void *ctx)
{
	struct info_job *j;
	int n = info_find(which, &j);
	struct look_rank *r = n == 1 ? calloc(j->n, sizeof(*r)) : NULL;
	uint32_t waits = 0;
	struct timespec t;

	if (r) {
		look_twice(j, r);
		clock_gettime(CLOCK_MONOTONIC, &t);
		waits = look_why(&(struct look_job){ r, j->n, (int64_t)t.tv_sec * 1000000000 + t.tv_nsec }, say, ctx);
	}
	free(r);
	if (n >= 0)
		info_free(j, n);
	return waits;
}

int info_hang(uint32_t which, bool json)
{
	struct info_job *j;
	struct look_rank *r;
	struct timespec t;
	uint32_t waits = 0, unread = 0;
	char text[200];
	int n;

	if (find_one(which, &j, &n, "--hang"))
		return 1;
	r = calloc(j->n, sizeof(*r));
	if (!r) {
		info_free(j, n);
		return 1;
	}
	look_twice(j, r);
	clock_gettime(CLOCK_MONOTONIC, &t);
	struct look_job look = { r, j->n, (int64_t)t.tv_sec * 1000000000 + t.tv_nsec };
	job_title(j, text, sizeof(text));
	if (json) {
		json_open('{');
		job_json(j);
		json_key("findings");
		json_open('[');
	} else {
		printf("%s\n", text);
	}
	for (uint32_t i = 0; i < j->n; i++)
		if (j->r[i].refused || j->r[i].stranger) {
			char why[200], line[300];

			unread++;
			why_not(&j->r[i], why, sizeof(why));
			snprintf(line, sizeof(line), "pid %d could not be read: %s", j->r[i].unix_pid, why);
			(json ? hang_json : hang_text)(NULL, LOOK_NOTE, -1, -1, line);
		}
	if (!j->r[0].refused && j->r[0].page.ranks > j->n) {
		snprintf(text, sizeof(text), "%u of %u ranks are on this machine and have an interface: the others "
			 "have ended, not begun, or run elsewhere", j->n, j->r[0].page.ranks);
		(json ? hang_json : hang_text)(NULL, LOOK_NOTE, -1, -1, text);
	}
	waits = look_why(&look, json ? hang_json : hang_text, NULL);
	if (json) {
		json_close(']');
		json_pair_num("waiting", waits);
		json_close('}');
		json_end();
	} else if (!waits && !lines) {
		printf("  no wait is noted: the ranks compute, look with PtlEQGet, or wait for something else\n");
	}
	free(r);
	info_free(j, n);
	return unread && unread == look.n;
}
