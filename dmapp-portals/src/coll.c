/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * coll.c - sets of PEs: barrier and small reductions that are begun and then tested
 *
 * Every PE has 32 places in its work area. A member takes one of its own by writing the set's id there; export looks in
 * which place each partner has it. Operations are numbered; nothing is ever set back.
 *
 *   barrier	dissemination: in round k tell the member 2^k further on, wait for the one 2^k before.
 *   reduction	up and down a binomial tree: member r waits for its children r + 2^k (in[k], then up[k]), joins them in
 *		this order, gives the result to its parent, waits for `down'. The root's result is everybody's, so it
 *		is the same to the last bit. A place is written again only when its owner has told its parent in the
 *		next operation, and so has done with it.
 *
 * An operation goes on while somebody tests it; nothing of it waits.
 */
#include <stdlib.h>

#include "dmappi.h"

enum what { NOTHING, BARRIER, REDUCE };

struct dmappi_pset {
	struct dmappi_pset *next;
	int n, rank, place;
	dmapp_c_pset_delimiter_strided_t who;
	uint64_t id, turn;
	struct dmappi_pset_work **work;	/* [n] the members' places, by own addresses; NULL: not looked for. */
	bool exported, cancelled;

	/* under way */
	enum what what;
	int step;			/* round; child */
	bool told;			/* this round's, or the parent */
	void *out;
	uint32_t nelems;
	dmapp_c_type_t type;
	dmapp_c_op_t op;
	dmapp_return_t error;
	char value[DMAPPI_REDUCE] __attribute__((aligned(16)));
};

static struct dmappi_pset *sets;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* sets, places */

static const uint32_t size_of[] = { 4, 8, 4, 8, 4, 8 };

/* ---- making ---- */

static dmapp_pe_t pe_of(const struct dmappi_pset *s, int i)
{
	return s->who.base_pe + i * s->who.stride_pe;
}

static bool good(const dmapp_c_pset_desc_t *d)
{
	const dmapp_c_pset_delimiter_strided_t *w = &d->u.stride_type;
	int64_t last = (int64_t)w->base_pe + ((int64_t)w->n_pes - 1) * w->stride_pe;

	return d->type == DMAPP_C_PSET_DELIMITER_STRIDED && w->n_pes && w->n_pes <= dmappi.npes &&
		(uint32_t)w->base_pe < dmappi.npes && last >= 0 && last < (int64_t)dmappi.npes &&
		(w->n_pes == 1 || w->stride_pe);
}

static struct dmappi_pset *find(dmapp_c_pset_handle_t h)
{
	struct dmappi_pset *s;

	pthread_mutex_lock(&lock);
	for (s = sets; s && s != h; s = s->next)
		;
	pthread_mutex_unlock(&lock);
	return s;
}

/* A free place for @id. NO_SPACE; BUSY: it is there already. [lock] */
static dmapp_return_t take_place(uint64_t id, int *place)
{
	*place = -1;
	for (int i = 0; i < DMAPPI_PSETS; i++) {
		if (dmappi.work->pset[i].id == id)
			return DMAPP_RC_BUSY;
		if (!dmappi.work->pset[i].id && *place < 0)
			*place = i;
	}
	return *place < 0 ? DMAPP_RC_NO_SPACE : DMAPP_RC_SUCCESS;
}

dmapp_return_t dmapp_c_pset_create(dmapp_c_pset_desc_t *desc, uint64_t id, uint64_t modes, void *attrs,
				   dmapp_c_pset_handle_t *pset)
{
	struct dmappi_pset *s;
	struct dmappi_pset_work *w;
	dmapp_return_t rc;
	int place;

	if (!dmappi.npes || !desc || !id || !pset || modes & ~(uint64_t)DMAPP_C_PSET_MODE_CONCAT || !good(desc))
		return DMAPP_RC_INVALID_PARAM;
	s = calloc(1, sizeof(*s));
	if (!s)
		return DMAPP_RC_NO_SPACE;
	s->n = (int)desc->u.stride_type.n_pes;
	s->who = desc->u.stride_type;
	s->id = id;
	s->rank = -1;
	for (int i = 0; i < s->n && s->rank < 0; i++)
		if (pe_of(s, i) == dmappi.pe)
			s->rank = i;
	s->work = calloc((size_t)s->n, sizeof(*s->work));
	pthread_mutex_lock(&lock);
	rc = s->rank < 0 ? DMAPP_RC_INVALID_PARAM : !s->work ? DMAPP_RC_NO_SPACE : take_place(id, &place);
	if (rc == DMAPP_RC_SUCCESS) {
		s->place = place;
		w = &dmappi.work->pset[place];
		memset(w, 0, sizeof(*w));
		__atomic_store_n(&w->id, id, __ATOMIC_RELEASE);
		s->next = sets;
		sets = s;
	}
	pthread_mutex_unlock(&lock);
	if (rc == DMAPP_RC_SUCCESS) {
		*pset = s;
	} else {
		free(s->work);
		free(s);
	}
	return rc;
}

/* Where member @i has the set. */
static dmapp_return_t look_for(struct dmappi_pset *s, int i)
{
	for (int p = 0; p < DMAPPI_PSETS; p++) {
		/* most likely the same place as here */
		int place = p == 0 ? s->place : p == s->place ? 0 : p;
		uint64_t id;
		dmapp_return_t rc = dmappi_get(&id, &dmappi.work->pset[place].id, DMAPPI_WORK_SEG, pe_of(s, i), 8);

		if (rc != DMAPP_RC_SUCCESS)
			return rc;
		if (id == s->id) {
			s->work[i] = &dmappi.work->pset[place];
			return DMAPP_RC_SUCCESS;
		}
	}
	return DMAPP_RC_NOT_FOUND;
}

/* The partners in both kinds of operation: 2^k further on in the circle, children, parent. */
dmapp_return_t dmapp_c_pset_export(dmapp_c_pset_handle_t pset)
{
	struct dmappi_pset *s = find(pset);
	dmapp_return_t rc = s ? DMAPP_RC_SUCCESS : dmappi.npes ? DMAPP_RC_NOT_FOUND : DMAPP_RC_INVALID_PARAM;

	for (int d = 1; rc == DMAPP_RC_SUCCESS && d < s->n; d *= 2) {
		rc = look_for(s, (s->rank + d) % s->n);
		if (rc == DMAPP_RC_SUCCESS && !(s->rank & (d - 1)) && (s->rank & d))
			rc = look_for(s, s->rank - d);
	}
	if (rc == DMAPP_RC_SUCCESS)
		s->exported = true;
	return rc;
}

static void end(struct dmappi_pset *s)
{
	memset(&dmappi.work->pset[s->place], 0, sizeof(struct dmappi_pset_work));
	free(s->work);
	free(s);
}

dmapp_return_t dmapp_c_pset_destroy(dmapp_c_pset_handle_t pset)
{
	struct dmappi_pset *s = find(pset);

	if (!s)
		return dmappi.npes ? DMAPP_RC_NOT_FOUND : DMAPP_RC_INVALID_PARAM;
	if (s->what != NOTHING)
		return DMAPP_RC_BUSY;
	pthread_mutex_lock(&lock);
	for (struct dmappi_pset **at = &sets; *at; at = &(*at)->next)
		if (*at == s) {
			*at = s->next;
			break;
		}
	end(s);
	pthread_mutex_unlock(&lock);
	return DMAPP_RC_SUCCESS;
}

void dmappi_psets_end(void)
{
	while (sets) {
		struct dmappi_pset *next = sets->next;

		end(sets);
		sets = next;
	}
}

/* ---- arithmetic ---- */

#define JOIN_LOOP(T, expr)						\
	do {								\
		T *a = into;						\
		const T *b = with;					\
									\
		for (uint32_t i = 0; i < n; i++) {			\
			T x = a[i], y = b[i];				\
									\
			a[i] = (T)(expr);				\
		}							\
	} while (0)

#define JOIN_NUMBERS(T, U)						\
	case DMAPP_C_MIN:						\
		JOIN_LOOP(T, y < x ? y : x);				\
		break;							\
	case DMAPP_C_MAX:						\
		JOIN_LOOP(T, y > x ? y : x);				\
		break;							\
	case DMAPP_C_SUM:						\
		JOIN_LOOP(T, (U)x + (U)y);				\
		break;							\
	case DMAPP_C_PROD:						\
		JOIN_LOOP(T, (U)x * (U)y);				\
		break

#define JOIN_INTEGERS(N, T, U)						\
	static void join_##N(void *into, const void *with, uint32_t n, dmapp_c_op_t op)	\
	{								\
		switch (op) {						\
		JOIN_NUMBERS(T, U);					\
		case DMAPP_C_AND:					\
			JOIN_LOOP(T, x & y);				\
			break;						\
		case DMAPP_C_OR:					\
			JOIN_LOOP(T, x | y);				\
			break;						\
		default:						\
			JOIN_LOOP(T, x ^ y);				\
		}							\
	}
#define JOIN_FLOATS(N, T)						\
	static void join_##N(void *into, const void *with, uint32_t n, dmapp_c_op_t op)	\
	{								\
		switch (op) {						\
		JOIN_NUMBERS(T, T);					\
		default:						\
			break;						\
		}							\
	}
JOIN_INTEGERS(int32, int32_t, uint32_t)
JOIN_INTEGERS(int64, int64_t, uint64_t)
JOIN_INTEGERS(uint32, uint32_t, uint32_t)
JOIN_INTEGERS(uint64, uint64_t, uint64_t)
JOIN_FLOATS(float, float)
JOIN_FLOATS(double, double)

typedef void join(void *into, const void *with, uint32_t n, dmapp_c_op_t op);
static join *const join_of[] = { join_int32, join_int64, join_uint32, join_uint64, join_float, join_double };

/* ---- operations ---- */

static dmapp_return_t begin(dmapp_c_pset_handle_t pset, enum what what, struct dmappi_pset **set)
{
	struct dmappi_pset *s = find(pset);

	if (!s)
		return dmappi.npes ? DMAPP_RC_NOT_FOUND : DMAPP_RC_INVALID_PARAM;
	if (s->what != NOTHING || s->cancelled)
		return DMAPP_RC_BUSY;
	if (!s->exported)
		return DMAPP_RC_NOT_FOUND;
	s->what = what;
	s->turn++;
	s->step = 0;
	s->told = false;
	s->error = DMAPP_RC_SUCCESS;
	*set = s;
	return DMAPP_RC_SUCCESS;
}

static bool come(const uint64_t *word, uint64_t turn)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE) >= turn;
}

static void tell(struct dmappi_pset *s, int member, uint64_t *word)
{
	dmapp_return_t rc = dmappi_put_word(word, DMAPPI_WORK_SEG, pe_of(s, member), s->turn);

	if (rc != DMAPP_RC_SUCCESS)
		s->error = rc;
}

static bool barrier_goes_on(struct dmappi_pset *s)
{
	struct dmappi_pset_work *own = &dmappi.work->pset[s->place];

	for (int d = 1 << s->step; d < s->n; s->step++, d *= 2, s->told = false) {
		int to = (s->rank + d) % s->n;

		if (!s->told)
			tell(s, to, &s->work[to]->round[s->step]);
		s->told = true;
		if (!come(&own->round[s->step], s->turn))
			return false;
	}
	return true;
}

/* The value, then the number, to another member. */
static void hand(struct dmappi_pset *s, int member, void *place, uint64_t *word)
{
	dmapp_return_t rc = dmappi_put(place, DMAPPI_WORK_SEG, pe_of(s, member), s->value,
				       s->nelems * size_of[s->type]);

	if (rc == DMAPP_RC_SUCCESS)
		tell(s, member, word);
	else
		s->error = rc;
}

static bool reduce_goes_on(struct dmappi_pset *s)
{
	struct dmappi_pset_work *own = &dmappi.work->pset[s->place];
	int parent, k;

	for (int d = 1 << s->step; d < s->n && !(s->rank & d); s->step++, d *= 2) {
		if (s->rank + d >= s->n)
			continue;
		if (!come(&own->up[s->step], s->turn))
			return false;
		join_of[s->type](s->value, own->in[s->step], s->nelems, s->op);
	}
	if (s->rank) {
		k = __builtin_ctz((unsigned)s->rank);
		parent = s->rank - (1 << k);
		if (!s->told)
			hand(s, parent, s->work[parent]->in[k], &s->work[parent]->up[k]);
		s->told = true;
		if (!come(&own->down, s->turn))
			return false;
		memcpy(s->value, own->result, s->nelems * size_of[s->type]);
	}
	for (int d = 1; d < s->n && !(s->rank & d); d *= 2)
		if (s->rank + d < s->n)
			hand(s, s->rank + d, s->work[s->rank + d]->result, &s->work[s->rank + d]->down);
	memcpy(s->out, s->value, s->nelems * size_of[s->type]);
	return true;
}

dmapp_return_t dmapp_c_barrier_join(dmapp_c_pset_handle_t pset)
{
	struct dmappi_pset *s;
	dmapp_return_t rc = begin(pset, BARRIER, &s);

	if (rc == DMAPP_RC_SUCCESS)
		barrier_goes_on(s);
	return rc;
}

dmapp_return_t dmapp_c_greduce_nelems_max(dmapp_c_type_t type, uint32_t *nelems)
{
	if ((unsigned)type > DMAPP_C_DOUBLE || !nelems)
		return DMAPP_RC_INVALID_PARAM;
	*nelems = DMAPPI_REDUCE / size_of[type];
	return DMAPP_RC_SUCCESS;
}

dmapp_return_t dmapp_c_greduce_start(dmapp_c_pset_handle_t pset, void *in, void *out, uint32_t nelems,
				     dmapp_c_type_t type,
				     dmapp_c_op_t op)
{
	bool bits = (unsigned)op > DMAPP_C_PROD;
	struct dmappi_pset *s;
	dmapp_return_t rc;

	if (!in || !out || !nelems || (unsigned)type > DMAPP_C_DOUBLE || (unsigned)op > DMAPP_C_XOR ||
	    nelems > DMAPPI_REDUCE / size_of[type] || (bits && type >= DMAPP_C_FLOAT))
		return DMAPP_RC_INVALID_PARAM;
	rc = begin(pset, REDUCE, &s);
	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	s->out = out;
	s->nelems = nelems;
	s->type = type;
	s->op = op;
	memcpy(s->value, in, nelems * size_of[type]);
	return rc;
}

dmapp_return_t dmapp_c_pset_test(dmapp_c_pset_handle_t pset)
{
	struct dmappi_pset *s = find(pset);

	if (!s || s->what == NOTHING)
		return dmappi.npes ? DMAPP_RC_NOT_FOUND : DMAPP_RC_INVALID_PARAM;
	if (!(s->what == BARRIER ? barrier_goes_on(s) : reduce_goes_on(s)) && s->error == DMAPP_RC_SUCCESS) {
		dmappi_queue_progress();
		L->looked();
		return DMAPP_RC_NOT_DONE;
	}
	s->what = NOTHING;
	dmappi_fence();
	return s->error;
}

dmapp_return_t dmapp_c_pset_wait(dmapp_c_pset_handle_t pset)
{
	struct dmappi_step step = { 0 };
	dmapp_return_t rc;

	while ((rc = dmapp_c_pset_test(pset)) == DMAPP_RC_NOT_DONE)
		dmappi_step(&step);
	return rc;
}

dmapp_return_t dmapp_c_pset_cancel_op(dmapp_c_pset_handle_t pset)
{
	struct dmappi_pset *s = find(pset);

	if (!s || s->what == NOTHING)
		return dmappi.npes ? DMAPP_RC_NOT_FOUND : DMAPP_RC_INVALID_PARAM;
	s->what = NOTHING;
	s->cancelled = true;
	return DMAPP_RC_SUCCESS;
}
