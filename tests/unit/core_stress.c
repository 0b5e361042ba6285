/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_stress.c - several movers in one region, as processes or as threads, while its owner posts, updates and unlinks
 *
 *	core_stress procs|threads [MESSAGES] [MOVERS]		T_SEED repeats the choices, not the timing
 *
 * Each mover sends numbered puts, directly or by its lane; a catch-all at the end of each list takes what nothing else
 * does. A second thread of the owner sends from own MDs and a third reads their queue. Checked: nothing lost, nothing
 * twice, the order of each pair kept, nothing pending at the end, pools and lists whole.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../common/tap.h"
#include "core_env.h"

enum { MAX_MOVERS = 7, WINDOW = 128, PTS = 4, MDS = 16 };

static struct p3l_ni *ni;
static struct p3l_env owner;
static struct p3l_ref eq, eq2, base[PTS], mds[MDS];
static struct { uint64_t seen[MAX_MOVERS + 1] __attribute__((aligned(64))); } *shared;
static uint64_t messages = 20000, seed;
static unsigned movers = 3;
static bool threads;
static uint32_t stop;

static void drain(const struct p3l_env *env, uint32_t from, bool wait)
{
	struct p3l_lane_hdr *l = p3l_lane(ni, from);
	struct p3l_hdr h = c_hdr(P3L_PUT, from, 0, 0, 0);
	struct p3l_data data;
	int lines;

	if (!p3l_lane_lock(env, ni, l, wait))
		return;
	while ((lines = p3l_lane_peek(ni, l, &h, &data)) > 0) {
		struct p3l_op *op = p3l_op_get(env, ni);

		if (!op)
			break;
		op->lane = l->head + 1;
		if (p3l_target_begin(env, ni, &h, op, false) != P3L_MATCHED)
			op = NULL;
		p3l_lane_advance(ni, l, (uint32_t)lines);
		if (op)
			p3l_target_end(env, ni, op, PTL_NI_OK);
		p3l_lane_release(ni, l);
	}
	p3l_lane_unlock(l);
}

static void *mover(void *arg)
{
	uint32_t slot = (uint32_t)(uintptr_t)arg;
	struct p3l_env env = c_env(slot, !threads);
	struct p3l_lane_tx tx = { 0 };
	struct p3l_lane_hdr *l = p3l_lane(ni, slot);
	uint64_t s = seed + slot, n = 0;

	while (n < messages) {
		uint64_t r = c_random(&s);
		struct p3l_hdr h = c_hdr(P3L_PUT, slot, (uint32_t)(r % PTS), r >> 8 & 7, r >> 16 & 31);
		char data[32] = { 0 };
		struct p3l_op *op;
		unsigned spins = 0;

		while (n - __atomic_load_n(&shared->seen[slot], __ATOMIC_ACQUIRE) > WINDOW)
			env.relax(++spins * 64);
		h.hdr_data = ++n;
		if (r >> 32 & 1 && p3l_lane_room(ni, slot, &tx, h.rlength)) {
			p3l_lane_put(ni, slot, &tx, &h, data, true);
			if (r >> 33 & 1)
				drain(&env, slot, true);
			continue;
		}
		if (p3_load_acq(&l->head) != tx.tail)
			drain(&env, slot, true);
		op = p3l_op_get(&env, ni);
		if (!op || p3l_target_begin(&env, ni, &h, op, false) != P3L_MATCHED)
			abort();
		if (r >> 34 & 1)
			env.relax(64);
		p3l_target_end(&env, ni, op, PTL_NI_OK);
	}
	drain(&env, slot, true);
	return NULL;
}

/* The owner's other threads: sends whose events a third one reads. */
static uint64_t sent, sent_seen;

static void *sender(void *arg)
{
	ptl_md_t v = c_md(0x1000, 64, 3, 0);
	struct p3l_md_args a = c_args(&v, &eq2);
	struct p3l_ref md = { 99, 0 };

	(void)arg;
	while (!p3_load_acq(&stop)) {
		struct p3l_send s = { .md = md, .len = P3L_WHOLE };

		if (sent - __atomic_load_n(&sent_seen, __ATOMIC_ACQUIRE) > WINDOW) {
			owner.relax(64);
			continue;
		}
		if (p3l_send_begin(&owner, ni, &s) == PTL_OK) {
			p3l_send_end(&owner, ni, &s, PTL_NI_OK);
			sent++;
		} else if (p3l_md_bind(&owner, ni, &a, PTL_UNLINK, &md) != PTL_OK) {
			owner.relax(64);
		}
	}
	return NULL;
}

static void *reader(void *arg)
{
	struct p3l_slot ev;

	(void)arg;
	while (p3_load_acq(&stop) < 2 || !p3l_eq_idle(ni, eq2.idx)) {
		if (p3l_eq_read(&owner, ni, eq2.idx, &ev, true) != 1)
			owner.relax(64);
		else if ((ev.kind_fail & 15) == PTL_EVENT_SEND_END)
			__atomic_fetch_add(&sent_seen, 1, __ATOMIC_ACQ_REL);
	}
	return NULL;
}

static uint64_t first[MAX_MOVERS + 1], ends[MAX_MOVERS + 1], unlinks;
static uint8_t *got[MAX_MOVERS + 1];

static void read_all(void)
{
	struct p3l_slot ev;
	int rc;

	while ((rc = p3l_eq_read(&owner, ni, eq.idx, &ev, true))) {
		uint32_t s = ev.initiator;
		int kind = ev.kind_fail & 15;

		CHECK_INT(rc, 1);
		CHECK(s >= 1 && s <= movers);
		if (kind == PTL_EVENT_UNLINK) {
			unlinks++;
			continue;
		}
		if (kind == PTL_EVENT_PUT_START || ev.link == ev.word >> 1) {	/* the first of its operation */
			CHECK_INT(ev.hdr_data, first[s] + 1);
			first[s] = ev.hdr_data;
		}
		if (kind == PTL_EVENT_PUT_END) {
			CHECK(ev.hdr_data >= 1 && ev.hdr_data <= messages && !got[s][ev.hdr_data]);
			got[s][ev.hdr_data] = 1;
			ends[s]++;
			__atomic_store_n(&shared->seen[s], ends[s], __ATOMIC_RELEASE);
		}
	}
}

static void own_step(uint64_t r)
{
	ptl_md_t v = c_md(0x1000, 1 << 20, 1 + (int)(r >> 40 & 7), PTL_MD_OP_PUT | PTL_MD_TRUNCATE |
			  (r >> 50 & 1 ? PTL_MD_EVENT_START_DISABLE : 0));
	struct p3l_md_args a = c_args(&v, &eq);
	struct p3l_ref me, *m = &mds[r % MDS];
	int rc;

	switch (r >> 8 & 7) {
	case 0:
		rc = p3l_md_unlink(&owner, ni, *m);
		CHECK(rc == PTL_OK || rc == PTL_MD_IN_USE || rc == PTL_MD_INVALID);
		break;
	case 1:
		rc = p3l_md_update(&owner, ni, *m, NULL, NULL, 0, &a, (int)eq.idx);
		CHECK(rc == PTL_OK || rc == PTL_MD_NO_UPDATE || rc == PTL_MD_INVALID);
		break;
	default:
		if (p3l_md_update(&owner, ni, *m, NULL, NULL, 0, NULL, -1) == PTL_OK)
			break;
		rc = p3l_memd_post(&owner, ni, base[r >> 16 & 3], C_ANY, r >> 20 & 7, r >> 24 & 7, PTL_UNLINK,
				   PTL_INS_BEFORE, &a, PTL_UNLINK, -1, &me, m);
		CHECK(rc == PTL_OK || rc == PTL_NO_SPACE);
	}
}

int main(int argc, char **argv)
{
	const char *env_seed = getenv("T_SEED");
	struct p3l_setup setup = c_setup();
	ptl_md_t v = c_md(0x1000, 1 << 20, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_TRUNCATE);
	pthread_t t[MAX_MOVERS + 3];
	struct p3l_md_args a;
	struct p3l_ref last[PTS];
	uint64_t s, total = 0;
	pid_t pid[MAX_MOVERS];
	int status;

	threads = argc > 1 && !strcmp(argv[1], "threads");
	if (argc > 2)
		messages = strtoull(argv[2], NULL, 0);
	if (argc > 3)
		movers = (unsigned)atoi(argv[3]) <= MAX_MOVERS ? (unsigned)atoi(argv[3]) : MAX_MOVERS;
	s = seed = env_seed ? strtoull(env_seed, NULL, 0) : (uint64_t)time(NULL) * 1000003;
	plan(1);
	setup.n_slots = MAX_MOVERS + 1;
	ni = c_region(&setup);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	owner = c_env(0, false);
	p3l_eq_alloc(&owner, ni, 4096, &eq);
	p3l_eq_alloc(&owner, ni, 1024, &eq2);
	a = c_args(&v, &eq);
	for (uint32_t pt = 0; pt < PTS; pt++) {
		p3l_me_attach(&owner, ni, pt, C_ANY, 0, ~0ULL, PTL_RETAIN, PTL_INS_AFTER, &base[pt]);
		p3l_md_attach(&owner, ni, base[pt], &a, PTL_RETAIN, &last[pt]);
	}
	for (int i = 0; i < MDS; i++)
		mds[i] = (struct p3l_ref){ 60, 999 };
	for (uint32_t i = 1; i <= movers; i++)
		got[i] = calloc(messages + 1, 1);
	for (uint32_t i = 0; i < movers; i++) {
		if (threads) {
			pthread_create(&t[i], NULL, mover, (void *)(uintptr_t)(i + 1));
			continue;
		}
		pid[i] = fork();
		if (!pid[i]) {
			mover((void *)(uintptr_t)(i + 1));
			_exit(0);
		}
	}
	pthread_create(&t[MAX_MOVERS], NULL, sender, NULL);
	pthread_create(&t[MAX_MOVERS + 1], NULL, reader, NULL);
	for (uint64_t n = 0; total < movers * messages && !t_bad_; n++) {
		uint64_t r = c_random(&s);

		own_step(r);
		if (r >> 60 & 1)
			drain(&owner, 1 + (uint32_t)(r >> 32) % movers, false);
		read_all();
		if (n % 1000 == 0)
			p3l_reap(&owner, ni);	/* nobody is dead: nothing may happen */
		total = 0;
		for (uint32_t i = 1; i <= movers; i++)
			total += ends[i];
	}
	p3_store_rel(&stop, 1);
	if (t_bad_) {
		ok(0, "seed %llu", (unsigned long long)seed);
		_exit(1);
	}
	pthread_join(t[MAX_MOVERS], NULL);
	p3_store_rel(&stop, 2);			/* the reader goes when the sender has sent its last */
	pthread_join(t[MAX_MOVERS + 1], NULL);
	for (uint32_t i = 0; i < movers; i++) {
		if (threads) {
			pthread_join(t[i], NULL);
		} else {
			waitpid(pid[i], &status, 0);
			CHECK_INT(status, 0);
		}
	}
	read_all();
	for (uint32_t i = 1; i <= movers; i++) {
		CHECK_INT(first[i], messages);
		CHECK_INT(ends[i], messages);
	}
	CHECK_INT(sent, sent_seen);
	CHECK(p3l_eq_idle(ni, eq.idx) && p3l_eq_idle(ni, eq2.idx));
	CHECK_INT(ni->own_ops[0] + ni->own_ops[1], 0);
	CHECK_INT(ni->holes, 0);
	for (uint32_t i = 0; i < ni->max_md; i++)
		if (p3l_md(ni, i)->flags & P3L_MD_USED)
			CHECK_INT(p3l_md(ni, i)->pending, 0);
	for (uint32_t k = 0; k < setup.n_slots; k++)
		for (uint32_t i = 0; i < P3L_OPS; i++)
			CHECK_INT(p3l_row(ni, k)->op[i].state, P3L_OP_IDLE);
	for (int i = 0; i < MDS; i++)
		p3l_md_unlink(&owner, ni, mds[i]);
	for (uint32_t pt = 0; pt < PTS; pt++) {
		CHECK(c_list_ok(ni, pt));
		CHECK_INT(p3l_me_unlink(&owner, ni, base[pt]), PTL_OK);
		CHECK_INT(ni->pt[pt].lock, 0);
	}
	CHECK(c_pools_ok(ni));
	CHECK_INT(c_me_used_count(ni), 0);
	CHECK_INT(p3l_row(ni, 0)->stats.corrupt + p3l_row(ni, 0)->stats.takeovers, 0);
	ok(!t_bad_, "%u movers, %llu messages each, %llu MDs used up, %llu sends (T_SEED=%llu)", movers,
	   (unsigned long long)messages, (unsigned long long)unlinks, (unsigned long long)sent,
	   (unsigned long long)seed);
	return exit_status();
}
