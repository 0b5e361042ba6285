/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_conform.c - run the conformance scripts: one line of TAP for each rule
 *
 *	t_conform [DIRECTORY]		default: $P3_SRC/tests/conform; README.md there has the language
 *
 * Alone, a process is initiator and target. Of two ranks, rank 0 is the initiator and rank 1 the target; both read the
 * same script, each runs its own lines, and where the next line is the other side's they meet: the side that moved
 * anything first makes sure that it has been matched or dropped (settle()), then both pass a barrier. So nothing
 * sleeps, and a line may rely on all lines above it. Between scripts nothing may be left: no event unread, no entry,
 * descriptor or queue, no drop that the script did not announce, no byte changed outside the memory of a descriptor.
 *
 * T_PATH names the path for "only" and "not" lines, T_ASKED runs only scripts that name it; T_LIMITS opens the
 * interface with small limits; T_POLL=1 lets a waiting side poll (inbox); T_EARLY=1 lets it fetch while the other side
 * still sends; T_STOP=1 ends at the first rule that fails (tests/conform/mutate); T_PATIENCE is how long an event may
 * take, in seconds.
 */
#include "ptl.h"
#include "side.h"
#include "smartmap.h"

#include <dirent.h>
#include <limits.h>
#include <pthread.h>

#define PT_BELL		10
#define W_FAILED	10		/* word of the page: number of the run in which a side has failed */
#define W_SYNCS		11		/* words: synchronising messages sent by each rank */
#define W_PIDS		13		/* words */

static struct side side[2] = { { .name = "i" }, { .name = "t" } };
const struct script *script;
const struct call *calls;
static _Thread_local const struct line *line;
_Thread_local char line_text[600];
static uint64_t run_no;
int early_all;
static int stop_at_first;
static const char *path;
int handler_ran;
ptl_event_t handler_event;

static void handler(ptl_event_t *ev)
{
	handler_ran++;
	handler_event = *ev;
}

int other_failed(void)
{
	return t_size() > 1 && atomic_load(t_word(W_FAILED)) == run_no;
}

void fail(struct side *s, const char *fmt, ...)
{
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	s->failed = 1;
	atomic_fetch_add(&t_bad_, 1);
	p_patience = p_patience < 0.5 ? p_patience : 0.5;
	atomic_store(t_word(W_FAILED), run_no);
	diag("%s:%d: %s", script->file, line ? line->no : 0, line ? line_text : "at the end");
	diag("    %s", what);
}

/* ---- registers ---- */

ptl_sr_value_t reg(ptl_sr_index_t i)
{
	ptl_sr_value_t v = -1;

	PtlNIStatus(ni, i, &v);
	return v;
}

/* What register @i has grown by since the script began, without the synchronising messages. */
long long grown(const struct side *s, ptl_sr_index_t i)
{
	long long n = reg(i) - (i < 64 ? s->base[i] : 0);
	int me = t_rank(), other = t_size() > 1 ? !me : me;

	if (i == PTL_SR_SEND_COUNT)
		n -= (long long)(atomic_load(t_word(W_SYNCS + me)) - s->base_syncs[me]);
	if (i == PTL_SR_RECV_COUNT)
		n -= (long long)(atomic_load(t_word(W_SYNCS + other)) - s->base_syncs[other]);
	return n;
}

/* The other rank does not run any more, or again. */
static pid_t stopped;

void stop_other(int stop)
{
	char file[64], text[512] = "";

	if (shared() || stop == !!stopped)
		return;
	if (!stop) {
		kill(stopped, SIGCONT);
		stopped = 0;
		return;
	}
	stopped = (pid_t)atomic_load(t_word(W_PIDS + !t_rank()));
	if (!strcmp(path, "ap"))		/* what the peer does makes no difference: the engine of our node */
		stopped = (pid_t)smartmap_pid(smartmap_size());
	if (stopped <= 1)			/* kill() would take that for all processes, or more than one */
		bail("%s: no process to stop: %d", script->id, (int)stopped);
	kill(stopped, SIGSTOP);
	snprintf(file, sizeof(file), "/proc/%d/stat", (int)stopped);
	for (double until = deadline(); t_now() < until; usleep(100)) {
		FILE *f = fopen(file, "r");
		size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

		text[n] = 0;
		if (f)
			fclose(f);
		if (strstr(text, ") T "))
			return;
	}
	bail("%s: the other rank does not stop", script->id);
}

double deadline(void)
{
	return t_now() + p_patience;
}

void own_ids(ptl_uid_t *uid, ptl_jid_t *jid)
{
	PtlGetUid(ni, uid);
	PtlGetJid(ni, jid);
}

/* Both sides are one process: what one does is seen in the registers of the other. */
int shared(void)
{
	return t_size() == 1;
}

/* All that this rank has sent has been matched or dropped. By an access control entry that scripts leave alone. */
static void settle(struct side *s)
{
	ptl_event_t ev;
	int rc;

	if (!s->dirty)
		return;
	s->dirty = 0;
	PtlEQGet(p_idle_eq, &ev);	/* what the other side has copied for us is given back */
	atomic_fetch_add(t_word(W_SYNCS + t_rank()), 1);
	rc = PtlPut(p_sync_md, PTL_ACK_REQ, peer, PT_SYNC, (ptl_ac_index_t)lim.max_ac_index, 0, 0, 0);
	if (rc == PTL_OK)
		rc = p_get(p_sync_eq, &ev);
	if (rc != PTL_OK)
		bail("%s: rank %d: the synchronising message is not acknowledged: %s", script->id, t_rank(),
		     PtlErrorStr((unsigned)rc));
}

/*
 * A barrier in which the waiting side is inside PtlEQPoll, so that what the other sends meanwhile goes by its inbox.
 * The last to arrive rings: a message wakes the other.
 */
static ptl_handle_md_t bell;

static void hang_bell(void)
{
	ptl_handle_md_t md;
	ptl_handle_me_t me;

	if (p_post_at(PT_BELL, 0, ~0ull, PTL_RETAIN, p_md(NULL, 0, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
			PTL_MD_EVENT_START_DISABLE, p_idle_eq), PTL_RETAIN, &me, &md) ||
	    PtlMDBind(ni, p_md(NULL, 0, PTL_MD_THRESH_INF, 0, PTL_EQ_NONE), PTL_RETAIN, &bell))
		bail("the bell");
}

static void meet(void)
{
	struct t_page *p = t_page();
	uint32_t turn = atomic_load(&p->turn);
	double late = 0;
	ptl_event_t ev;
	int which;

	if (!p_poll || t_size() == 1) {
		t_barrier();
		return;
	}
	if (atomic_fetch_add(&p->arrived, 1) + 1 == p->size) {
		atomic_fetch_add(t_word(W_SYNCS + t_rank()), 1);
		atomic_store(&p->arrived, 0);
		atomic_fetch_add(&p->turn, 1);
		if (PtlPut(bell, PTL_NO_ACK_REQ, peer, PT_BELL, (ptl_ac_index_t)lim.max_ac_index, 0, 0, 0) != PTL_OK)
			bail("%s: rank %d: the bell does not ring", script->id, t_rank());
		return;
	}
	while (PtlEQPoll(&p_idle_eq, 1, 20, &ev, &which) != PTL_OK) {
		if (atomic_load(&p->dead))
			bail("rank %d: another rank has died", t_rank());
		if (!late && atomic_load(&p->turn) != turn)
			late = t_now() + p_patience;
		if (late && t_now() > late)
			bail("%s: rank %d: the bell was not heard", script->id, t_rank());
	}
}

/* ---- a script ---- */

static void run_line(struct side *s, const struct line *l, const int *choice)
{
	const char *text = l->text;
	char buf[512], *end;
	long times;

	expand(buf, sizeof(buf), text, script, choice, 0);
	times = strtol(buf, &end, 10);
	if (end != buf && !strncmp(end, " times ", 7))
		text = strstr(text, " times ") + 7;
	else
		times = 1;
	for (long k = 0; k < times && !s->failed && !other_failed(); k++) {
		expand(buf, sizeof(buf), text, script, choice, (int)k);
		line = l;
		statement(s, buf);
		if (strncmp(buf, "meanwhile ", 10))
			meanwhile_over();
	}
}

static void begin(struct side *s)
{
	const struct { const char *name; struct val v; } builtin[] = {
		{ "ni", { .kind = V_NUM, .n = ni } },
		{ "self", { .kind = V_ID, .id = s->self } }, { "peer", { .kind = V_ID, .id = s->peer } },
		{ "any", { .kind = V_ID, .id = anyone } },
		{ "nobody", { .kind = V_ID, .id = { s->peer.nid, 999999 } } },
		{ "elsewhere", { .kind = V_ID, .id = { s->peer.nid + 77, s->peer.pid } } },
		{ "limits", { .kind = V_LIMITS, .lim = lim } },
		{ "counting", { .kind = V_NUM, .n = (uintptr_t)handler } },
		{ "uid", { .kind = V_NUM } }, { "jid", { .kind = V_NUM } },
	};
	struct val eq = { .kind = V_NUM };
	ptl_handle_eq_t h;
	ptl_uid_t uid = 0;
	ptl_jid_t jid = 0;

	s->vars.n = s->n_q = s->n_md = s->failed = s->dirty = 0;
	s->drops = 0;
	s->acs = 0;
	s->polled = 0;
	for (size_t i = 0; i < sizeof(builtin) / sizeof(*builtin); i++)
		var_set(&s->vars, builtin[i].name, &builtin[i].v);
	own_ids(&uid, &jid);
	var_find(&s->vars, "uid")->n = uid;
	var_find(&s->vars, "jid")->n = jid;
	for (ptl_sr_index_t i = 0; i < 64; i++)		/* of both sides before either has anything */
		s->base[i] = shared() && s == &side[1] ? side[0].base[i] : reg(i);
	for (int r = 0; r < 2; r++)
		s->base_syncs[r] = atomic_load(t_word(W_SYNCS + r));
	if (PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &h) != PTL_OK)
		bail("%s: no event queue", script->id);
	eq.n = h;
	var_set(&s->vars, "eq", &eq);
	handler_ran = 0;
}

/* Events that nobody has read. */
static void check_queues(struct side *s)
{
	for (int i = 0; i < s->n_q; i++) {
		ptl_event_t ev;
		int rc = PtlEQGet(s->q[i].h, &ev);

		if (!s->failed && (rc == PTL_OK || rc == PTL_EQ_DROPPED || s->q[i].stashed))
			fail(s, "an event was left unread: %s", s->q[i].stashed ? "ACK" : kind_name(ev.type));
		while (rc == PTL_OK || rc == PTL_EQ_DROPPED)
			rc = PtlEQGet(s->q[i].h, &ev);
	}
}

/* Entries first, then descriptors, then queues. Of handles that are no more the calls say so. */
static void release(struct side *s)
{
	ptl_uid_t uid = (ptl_uid_t)var_find(&s->vars, "uid")->n;
	double until = deadline();

	if (s->polled)
		PtlPTPolled_np(ni, PT_DEFAULT, 0);
	for (int pass = 0; pass < 3; pass++)
		for (int i = s->vars.n; i-- > 0;) {
			const struct val *v = &s->vars.var[i].v;
			ptl_handle_any_t h = (ptl_handle_any_t)v->n;

			if (v->kind != V_NUM || h == ni)
				continue;
			if (pass == 0)
				while (PtlMEUnlink(h) == PTL_ME_IN_USE && t_now() < until)
					PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 });
			else if (pass == 1)
				while (PtlMDUnlink(h) == PTL_MD_IN_USE && t_now() < until)
					PtlEQGet(p_idle_eq, &(ptl_event_t){ 0 });
			else
				PtlEQFree(h);
		}
	for (ptl_ac_index_t i = 0; s->acs >> i; i++)
		if (s->acs >> i & 1)
			PtlACEntry(ni, i, anyone, uid, PTL_JID_ANY, PTL_PT_INDEX_ANY);
}

static void check_left(struct side *s)
{
	static const struct { ptl_sr_index_t i; const char *what; } pools[] = {
		{ PTL_SR_MES_CUR, "match entries" }, { PTL_SR_MDS_CUR, "descriptors" }, { PTL_SR_EQS_CUR, "queues" },
	};
	long long drops = shared() ? side[0].drops + side[1].drops : s->drops;

	for (size_t i = 0; i < 3; i++)
		if (reg(pools[i].i) != s->base[pools[i].i])
			fail(s, "%lld %s are left", (long long)(reg(pools[i].i) - s->base[pools[i].i]), pools[i].what);
	if (grown(s, PTL_SR_DROP_COUNT) != drops)
		fail(s, "%lld were dropped, the script speaks of %lld", grown(s, PTL_SR_DROP_COUNT), drops);
	if (!mem_intact())
		fail(s, "bytes between the pieces of memory have changed");
}

static void end(void)
{
	line = NULL;
	stop_other(0);
	for (int i = 0; i < 2; i++)
		if (side[i].mine)
			check_queues(&side[i]);
	meet();
	for (int i = 0; i < 2; i++)
		if (side[i].mine)
			release(&side[i]);
	for (int i = 0; i < 2; i++)
		if (side[i].mine && !side[i].failed && !other_failed() && (!shared() || i))
			check_left(&side[i]);
	meet();
}

/* Where the next line is the other side's both meet. @owed: a meeting that this side has put off for early lines. */
static void run(const int *choice)
{
	enum who cur = BY_BOTH;
	int owed = 0;

	run_no++;
	meet();
	mem_reset();
	for (int i = 0; i < 2; i++)
		if (side[i].mine)
			begin(&side[i]);
	meet();
	for (int k = 0; k < script->n; k++) {
		const struct line *l = &script->line[k];

		if (k && l->who != cur) {
			stop_other(0);
			for (int i = 0; i < 2; i++)
				if (side[i].mine)
					settle(&side[i]);
			if (owed)
				meet();
			owed = 1;
		}
		cur = l->who;
		if (owed && (cur == BY_BOTH || !side[cur].mine || shared() ||
			     !(l->early || (early_all && !strncmp(l->text, "expect", 6))))) {
			meet();
			owed = 0;
		}
		for (int i = 0; i < 2; i++)
			if (side[i].mine && (cur == BY_BOTH || cur == (enum who)i))
				run_line(&side[i], l, choice);
	}
	for (int i = 0; i < 2; i++)
		if (side[i].mine)
			settle(&side[i]);
	if (owed)
		meet();
	meet();
	end();
}

/* There are threads while this one is. */
static void *park(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

/*
 * Scripts of what holds when the library has been left: lines of both sides, no queue. They may begin it again, all
 * at the same time, and are left without it.
 */
static void run_after(const int *choice)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;
	const struct { const char *name; struct val v; } builtin[] = {
		{ "ni", { .kind = V_NUM, .n = ni } }, { "self", { .kind = V_ID, .id = self } },
		{ "any", { .kind = V_ID, .id = anyone } }, { "least", { .kind = V_LIMITS } },
	};
	struct side *s = &side[0];

	run_no++;
	t_barrier();
	mem_reset();
	s->vars.n = s->n_q = s->n_md = s->failed = 0;
	for (size_t i = 0; i < sizeof(builtin) / sizeof(*builtin); i++)
		var_set(&s->vars, builtin[i].name, &builtin[i].v);
	/* an interface finds out when it is opened whether there are threads */
	pthread_mutex_lock(&gate);
	if (script->threads && pthread_create(&thread, NULL, park, &gate))
		bail("%s: no thread", script->id);
	for (int k = 0; k < script->n; k++)
		run_line(s, &script->line[k], choice);
	meanwhile_over();
	PtlFini();
	pthread_mutex_unlock(&gate);
	if (script->threads)
		pthread_join(thread, NULL);
	t_barrier();
}

/* Every combination of the values in "with" lines. */
static void run_all(const struct script *sc)
{
	int choice[MAX_WITH] = { 0 }, k;

	script = sc;
	t_bad_ = 0;
	do {
		if (sc->after)
			run_after(choice);
		else
			run(choice);
		for (k = 0; k < sc->n_with && ++choice[k] == sc->with[k].n; k++)
			choice[k] = 0;
	} while (k < sc->n_with);
}

static int word_in(const char *list, const char *word)
{
	size_t l = strlen(word);

	for (const char *at = list; at && (at = strstr(at, word)) != NULL; at++)
		if ((at == list || at[-1] == ' ') && (!at[l] || at[l] == ' '))
			return 1;
	return 0;
}

/* On a path with T_ASKED only scripts that name it run: it is made for them. */
static int runs_here(const struct script *sc)
{
	if (getenv("T_ASKED") && !sc->only)
		return 0;
	return !(sc->only && !word_in(sc->only, path)) && !(sc->not && word_in(sc->not, path));
}

static int wanted_here(const struct rule *r, const char *only)
{
	return (!only || strstr(r->id, only)) && (!r->script || runs_here(r->script));
}

/* Scripts of what holds before PtlInit: lines of both sides, no queue, no other rank. */
static void run_before(struct rule *r)
{
	static const struct { const char *name; struct val v; } builtin[] = {
		{ "ni", { .kind = V_NUM, .n = PTL_INVALID_HANDLE } }, { "eq", { .kind = V_NUM, .n = PTL_EQ_NONE } },
		{ "any", { .kind = V_ID, .id = { PTL_NID_ANY, PTL_PID_ANY } } },
	};
	int choice[MAX_WITH] = { 0 };

	script = r->script;
	calls = calls_ref;
	for (size_t i = 0; i < sizeof(builtin) / sizeof(*builtin); i++)
		var_set(&side[0].vars, builtin[i].name, &builtin[i].v);
	for (int k = 0; k < script->n; k++)
		run_line(&side[0], &script->line[k], choice);
	r->bad = t_bad_;
	t_bad_ = 0;
	side[0].failed = 0;
	atomic_store(t_word(W_FAILED), 0);
}

static void one_flavour(const struct rule *r, int xt)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", r->id, xt ? " [xt]" : "");
	if (!r->script) {
		ok(0, "%s: no script", name);
		return;
	}
	calls = xt ? calls_xt : calls_ref;
	if (r->script->before)
		t_bad_ = r->bad;
	else
		run_all(r->script);
	ok(!t_bad_, "%s", name);
	if (stop_at_first && t_bad_) {
		fflush(stdout);
		_exit(1);
	}
}

static void one_rule(const struct rule *r)
{
	if (!r->script || r->script->ref)
		one_flavour(r, 0);
	if (r->script && r->script->xt)
		one_flavour(r, 1);
}

/* Limits that scripts can reach. */
static ptl_ni_limits_t few = { .max_mes = 24, .max_mds = 24, .max_eqs = 8, .max_ac_index = 3, .max_pt_index = 12,
			       .max_md_iovecs = 4, .max_me_list = 8, .max_getput_md = 16 };

static int is_script(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && !strcmp(dot, ".ptl");
}

int main(int argc, char **argv)
{
	const char *src = getenv("P3_SRC"), *only = getenv("T_ONLY"), *patience = getenv("T_PATIENCE");
	struct dirent **list = NULL;
	char dir[PATH_MAX];
	int n, lines = 0;

	snprintf(dir, sizeof(dir), "%s", argc > 1 ? argv[1] : "tests/conform");
	if (argc < 2 && src)
		snprintf(dir, sizeof(dir), "%s/tests/conform", src);
	early_all = getenv("T_EARLY") != NULL;
	stop_at_first = getenv("T_STOP") != NULL;
	path = getenv("T_PATH") ? getenv("T_PATH") : "?";
	n = scandir(dir, &list, is_script, alphasort);
	for (int i = 0; i < n; i++)
		read_scripts(dir, list[i]->d_name);
	read_rules(dir);
	if (!n_rules || n <= 0)
		bail("no rules, or no scripts, in %s", dir);
	run_no = 1;
	for (int i = 0; i < n_rules; i++)
		if (rules[i].script && rules[i].script->before)
			run_before(&rules[i]);
	if (getenv("T_LIMITS"))
		p_desired = &few;
	p_init();
	if (patience)
		p_patience = atof(patience);
	hang_bell();
	atomic_store(t_word(W_PIDS + t_rank()), (uint64_t)getpid());
	t_barrier();
	for (int i = 0; i < 2; i++) {
		side[i].mine = i ? p_tgt : p_ini;
		side[i].self = self;
		side[i].peer = peer;
	}
	for (int i = 0; i < n_rules; i++)
		if (wanted_here(&rules[i], only))
			lines += rules[i].script ? rules[i].script->ref + rules[i].script->xt : 1;
	plan(lines);
	for (int i = 0; i < n_rules; i++)
		if (wanted_here(&rules[i], only) && !(rules[i].script && rules[i].script->after))
			one_rule(&rules[i]);
	t_barrier();
	PtlFini();
	for (int i = 0; i < n_rules; i++)
		if (wanted_here(&rules[i], only) && rules[i].script && rules[i].script->after)
			one_rule(&rules[i]);
	return exit_status();
}
