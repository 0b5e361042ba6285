/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * team.c - teams: who is in them, who of them is near, the dynamic window over them
 *
 * A team's number is agreed on by the parent's units: the largest of what each would take next, so that it is new with
 * all of them. Numbers go up to 32767 and then begin anew, with those that no unit of the parent uses.
 * The table is changed by collective calls only; a number is reserved by compare-and-swap, as threads may make teams of
 * different parents at the same time.
 */
#include "dartc.h"

#include <stdlib.h>
#include <unistd.h>

#define LAST	32767

static _Atomic(struct dartc_team *) table[LAST + 1];
static struct dartc_team reserved;
static atomic_int next_id = 1;

struct dartc_team *dartc_team(int id)
{
	struct dartc_team *t;

	if (id < 0 || id > LAST)
		return NULL;
	t = atomic_load_explicit(&table[id], memory_order_acquire);
	return t == &reserved ? NULL : t;
}

static bool take(int id)
{
	struct dartc_team *none = NULL;

	return atomic_compare_exchange_strong(&table[id], &none, &reserved);
}

static void put_back(int id)
{
	atomic_store_explicit(&table[id], NULL, memory_order_release);
}

/*
 * All units say the next number they could take, and take the largest, until all could. @failed: in: this unit cannot
 * go on; out: one cannot, and none has taken anything.
 */
int dartc_agree(struct dartc_team *t, atomic_int *next, int last, bool (*try_take)(int), void (*back)(int), int *failed)
{
	int id = *next, again = 0;

	for (;;) {
		int mine[3] = { id, *failed, 0 }, all[3], taken = 0;

		if (dartc_mpi(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, t->comm)) || all[1]) {
			*failed = 1;
			return 0;
		}
		id = all[0];
		if (id > last) {
			if (again++)
				return 0;
			id = 1;
			continue;
		}
		taken = try_take(id);
		mine[2] = !taken;
		MPI_Allreduce(&mine[2], &all[2], 1, MPI_INT, MPI_MAX, t->comm);
		if (!all[2])
			break;
		if (taken)
			back(id);
		id++;
	}
	*next = id + 1;
	return id;
}

static void forget(struct dartc_team *t)
{
	free(t->l2g);
	free(t->g2l);
	free(t->near);
	free(t->peer);
	free(t);
}

/* Which units of the node are which for libsmartmap. Its job may be another than MPI's node: then there is none. */
static void find_peers(struct dartc_team *t, const int *node_to_rel)
{
	int mine[2] = { -1, (int)getpid() }, (*all)[2] = NULL;

	for (int i = 0; i < t->size; i++)
		t->peer[i] = -1;
	if (dartc.windows != DARTC_SMARTMAP)
		return;
	mine[0] = dartc_smap_rank();
	all = malloc((size_t)t->node_size * sizeof(*all));
	if (!all)		/* the others wait in the call */
		MPI_Abort(t->comm, 1);
	MPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, t->node);
	for (int i = 0; i < t->node_size; i++)
		if (all[i][0] >= 0 && (i == t->node_rank || dartc_smap_pid(all[i][0]) == all[i][1]))
			t->peer[node_to_rel[i]] = all[i][0];
	free(all);
}

static int find_near(struct dartc_team *t)
{
	int *node_to_rel, *one;
	MPI_Group g, n;
	int rc = dartc_mpi(MPI_Comm_split_type(t->comm, MPI_COMM_TYPE_SHARED, t->rank, MPI_INFO_NULL, &t->node));

	if (rc)
		return rc;
	MPI_Comm_set_errhandler(t->node, MPI_ERRORS_RETURN);
	MPI_Comm_size(t->node, &t->node_size);
	MPI_Comm_rank(t->node, &t->node_rank);
	node_to_rel = calloc((size_t)t->node_size, sizeof(int));
	one = calloc((size_t)t->node_size, sizeof(int));
	if (!node_to_rel || !one)	/* the others wait in find_peers() */
		MPI_Abort(t->comm, 1);
	for (int i = 0; i < t->node_size; i++)
		one[i] = i;
	MPI_Comm_group(t->comm, &g);
	MPI_Comm_group(t->node, &n);
	MPI_Group_translate_ranks(n, t->node_size, one, g, node_to_rel);
	MPI_Group_free(&g);
	MPI_Group_free(&n);
	for (int i = 0; i < t->size; i++)
		t->near[i] = -1;
	for (int i = 0; i < t->node_size; i++)
		t->near[node_to_rel[i]] = i;
	find_peers(t, node_to_rel);
	free(one);
	free(node_to_rel);
	return DARTC_OK;
}

/* The d-win. A team of one unit needs none, and not every MPI can make it one; others may do with windows for
 * segments. */
static int equip_window(struct dartc_team *t)
{
	int mine, any;

	if (t->size == 1 || !dartc.dynamic)
		return DARTC_OK;
	mine = MPI_Win_create_dynamic(MPI_INFO_NULL, t->comm, &t->dwin) != MPI_SUCCESS;
	MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, t->comm);
	if (any) {
		t->dwin = MPI_WIN_NULL;
		return DARTC_OK;
	}
	MPI_Win_set_errhandler(t->dwin, MPI_ERRORS_RETURN);
	return dartc_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, t->dwin));
}

/* Everything of a team whose communicator is there. Collective over it. Return: the same on all units. */
static int equip(struct dartc_team *t)
{
	size_t n;
	int mine, rc;

	MPI_Comm_set_errhandler(t->comm, MPI_ERRORS_RETURN);
	MPI_Comm_size(t->comm, &t->size);
	MPI_Comm_rank(t->comm, &t->rank);
	n = (size_t)t->size * sizeof(int);
	t->l2g = malloc(n);
	t->g2l = malloc((size_t)dartc.size * sizeof(int));
	t->near = malloc(n);
	t->peer = malloc(n);
	if (!t->l2g || !t->g2l || !t->near || !t->peer)	/* the others wait in the call below */
		MPI_Abort(t->comm, 1);
	mine = dartc.rank;
	MPI_Allgather(&mine, 1, MPI_INT, t->l2g, 1, MPI_INT, t->comm);
	for (int i = 0; i < dartc.size; i++)
		t->g2l[i] = -1;
	for (int i = 0; i < t->size; i++)
		t->g2l[t->l2g[i]] = i;
	mine = find_near(t);
	if (dartc_mpi(MPI_Allreduce(&mine, &rc, 1, MPI_INT, MPI_MAX, t->comm)))
		return DARTC_OTHER;
	return rc ? rc : equip_window(t);
}

static struct dartc_team *empty(void)
{
	struct dartc_team *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->comm = t->node = MPI_COMM_NULL;
	t->dwin = MPI_WIN_NULL;
	return t;
}

int dartc_team_all_new(void)
{
	struct dartc_team *t = empty();
	int rc;

	if (!t)			/* the others wait in the call below */
		MPI_Abort(dartc.comm, 1);
	next_id = 1;
	MPI_Comm_dup(dartc.comm, &t->comm);
	rc = equip(t);
	atomic_store_explicit(&table[0], t, memory_order_release);
	return rc;
}

static int end(struct dartc_team *t)
{
	int id = t->id;

	dartc_seg_end_of(t);
	if (t->dwin != MPI_WIN_NULL) {
		MPI_Win_unlock_all(t->dwin);
		MPI_Win_free(&t->dwin);
	}
	if (t->node != MPI_COMM_NULL)
		MPI_Comm_free(&t->node);
	put_back(id);
	MPI_Comm_free(&t->comm);
	forget(t);
	return DARTC_OK;
}

/* Collective over @parent. *@id: -1 for those who are not in the new team; written only when there is one. */
int dartc_team_new(struct dartc_team *parent, const struct dart_group_struct *g, int *id)
{
	struct dartc_team *t = empty();
	bool member = dartc_group_has(g, dartc.rank);
	int failed = !t, new_id = dartc_agree(parent, &next_id, LAST, take, put_back, &failed), rc;

	if (!new_id) {
		free(t);
		return failed ? DARTC_NOMEM : DARTC_OTHER;
	}
	t->id = new_id;
	rc = dartc_mpi(MPI_Comm_split(parent->comm, member ? 0 : MPI_UNDEFINED, parent->rank, &t->comm));
	if (rc || !member) {
		put_back(new_id);
		free(t);
		if (!rc)
			*id = -1;
		return rc;
	}
	rc = equip(t);
	if (rc) {
		end(t);
		return rc;
	}
	*id = new_id;
	/* pairs with the load-acquire in dartc_team() */
	atomic_store_explicit(&table[new_id], t, memory_order_release);
	return DARTC_OK;
}

/* Collective over the team; what was allocated on it goes with it. */
int dartc_team_end(struct dartc_team *t)
{
	int rc = dartc_barrier(t);

	return rc ? rc : end(t);
}

/* At the end of all, in an order that is the same on every unit of each: the last number first. */
void dartc_team_end_all(void)
{
	for (int id = LAST; id >= 0; id--) {
		struct dartc_team *t = dartc_team(id);

		if (t)
			end(t);
	}
}
