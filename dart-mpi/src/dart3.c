/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart3.c - the typed interface over the common part: start and end, groups, teams, memory, locks
 */
#include "dart3.h"

#include <stdlib.h>

_Static_assert(sizeof(dart_gptr_t) == 16, "a global pointer has 128 bits");

static dart_config_t config;

void dart_config(dart_config_t **out)
{
	*out = &config;
}

dart_ret_t dart_init_thread(int *argc, char ***argv, dart_thread_support_level_t *thread_safety)
{
	int rc;

	WANT(thread_safety);
	rc = dartc_start(argc, argv, true);
	if (!rc)
		*thread_safety = dartc.threads ? DART_THREAD_MULTIPLE : DART_THREAD_SINGLE;
	return (dart_ret_t)rc;
}

dart_ret_t dart_init(int *argc, char ***argv)
{
	return (dart_ret_t)dartc_start(argc, argv, false);
}

dart_ret_t dart_exit(void)
{
	UP();
	d3_locality_end();
	return (dart_ret_t)dartc_stop();
}

bool dart_initialized(void)
{
	return dartc.up;
}

void dart_abort(int errorcode)
{
	MPI_Abort(dartc.up ? dartc.comm : MPI_COMM_WORLD, errorcode);
	abort();
}

static dart_group_t new_group(void)
{
	dart_group_t g = malloc(dartc_group_bytes());

	if (g)
		dartc_group_clear(g);
	return g;
}

dart_ret_t dart_group_create(dart_group_t *group)
{
	UP();
	WANT(group);
	*group = new_group();
	return *group ? DART_OK : DART_ERR_NOMEM;
}

dart_ret_t dart_group_destroy(dart_group_t *group)
{
	UP();
	WANT(group && dartc_group_valid(*group));
	(*group)->mark = 0;
	free(*group);
	*group = DART_GROUP_NULL;
	return DART_OK;
}

static dart_ret_t join(const dart_group_t g1, const dart_group_t g2, dart_group_t *gout, bool both)
{
	dart_group_t g;

	UP();
	WANT(dartc_group_valid(g1) && dartc_group_valid(g2) && gout);
	g = new_group();
	if (!g)
		return DART_ERR_NOMEM;
	for (size_t i = 0; i < ((size_t)dartc.size + 63) / 64; i++)
		g->bit[i] = both ? g1->bit[i] & g2->bit[i] : g1->bit[i] | g2->bit[i];
	*gout = g;
	return DART_OK;
}

dart_ret_t dart_group_clone(const dart_group_t gin, dart_group_t *gout)
{
	return join(gin, gin, gout, true);
}

dart_ret_t dart_group_union(const dart_group_t g1, const dart_group_t g2, dart_group_t *gout)
{
	return join(g1, g2, gout, false);
}

dart_ret_t dart_group_intersect(const dart_group_t g1, const dart_group_t g2, dart_group_t *gout)
{
	return join(g1, g2, gout, true);
}

dart_ret_t dart_group_addmember(dart_group_t group, dart_global_unit_t unitid)
{
	UP();
	WANT(dartc_group_valid(group));
	return (dart_ret_t)dartc_group_change(group, unitid.id, true);
}

dart_ret_t dart_group_delmember(dart_group_t group, dart_global_unit_t unitid)
{
	UP();
	WANT(dartc_group_valid(group));
	return (dart_ret_t)dartc_group_change(group, unitid.id, false);
}

dart_ret_t dart_group_ismember(const dart_group_t group, dart_global_unit_t unitid, int32_t *ismember)
{
	UP();
	WANT(dartc_group_valid(group) && ismember && unitid.id >= 0 && unitid.id < dartc.size);
	*ismember = dartc_group_has(group, unitid.id);
	return DART_OK;
}

dart_ret_t dart_group_size(const dart_group_t group, size_t *size)
{
	UP();
	WANT(dartc_group_valid(group) && size);
	*size = dartc_group_count(group);
	return DART_OK;
}

dart_ret_t dart_group_getmembers(const dart_group_t group, dart_global_unit_t *unitids)
{
	UP();
	WANT(dartc_group_valid(group) && unitids);
	dartc_group_list(group, &unitids->id);
	return DART_OK;
}

dart_ret_t dart_group_split(const dart_group_t group, size_t n, size_t *nout, dart_group_t *gout)
{
	size_t members, parts;

	UP();
	WANT(dartc_group_valid(group) && n && nout && gout);
	members = dartc_group_count(group);
	parts = members < n ? members : n;
	for (size_t i = 0; i < n; i++) {
		gout[i] = i < parts ? new_group() : DART_GROUP_NULL;
		if (i < parts && !gout[i]) {
			while (i--)
				dart_group_destroy(&gout[i]);
			return DART_ERR_NOMEM;
		}
		if (i < parts)
			dartc_group_part(group, parts, i, gout[i]);
	}
	*nout = parts;
	return DART_OK;
}

dart_ret_t dart_team_get_group(dart_team_t team, dart_group_t *group)
{
	struct dartc_team *t;
	dart_group_t g;

	UP();
	t = dartc_team(team);
	WANT(t && group);
	g = new_group();
	if (!g)
		return DART_ERR_NOMEM;
	for (int i = 0; i < t->size; i++)
		dartc_group_change(g, t->l2g[i], true);
	*group = g;
	return DART_OK;
}

dart_ret_t dart_team_create(dart_team_t team, const dart_group_t group, dart_team_t *newteam)
{
	struct dartc_team *t;
	int id, rc;

	UP();
	t = dartc_team(team);
	WANT(t && dartc_group_valid(group) && newteam && dartc_group_count(group));
	for (int u = 0; u < dartc.size; u++)
		WANT(!dartc_group_has(group, u) || t->g2l[u] >= 0);
	rc = dartc_team_new(t, group, &id);
	if (!rc)
		*newteam = (dart_team_t)id;
	return (dart_ret_t)rc;
}

dart_ret_t dart_team_clone(dart_team_t team, dart_team_t *newteam)
{
	dart_group_t g;
	dart_ret_t rc = dart_team_get_group(team, &g);

	if (rc)
		return rc;
	rc = dart_team_create(team, g, newteam);
	dart_group_destroy(&g);
	return rc;
}

dart_ret_t dart_team_destroy(dart_team_t *team)
{
	struct dartc_team *t;
	int rc;

	UP();
	WANT(team && *team != DART_TEAM_ALL);
	t = dartc_team(*team);
	WANT(t);
	d3_locality_forget(*team);
	rc = dartc_team_end(t);
	*team = DART_TEAM_NULL;
	return (dart_ret_t)rc;
}

dart_ret_t dart_team_myid(dart_team_t team, dart_team_unit_t *myid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(team);
	WANT(t && myid);
	myid->id = t->rank;
	return DART_OK;
}

dart_ret_t dart_team_size(dart_team_t team, size_t *size)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(team);
	WANT(t && size);
	*size = (size_t)t->size;
	return DART_OK;
}

dart_ret_t dart_myid(dart_global_unit_t *myid)
{
	UP();
	WANT(myid);
	myid->id = dartc.rank;
	return DART_OK;
}

dart_ret_t dart_size(size_t *size)
{
	return dart_team_size(DART_TEAM_ALL, size);
}

dart_ret_t dart_team_unit_l2g(dart_team_t team, dart_team_unit_t localid, dart_global_unit_t *globalid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(team);
	WANT(t && globalid && localid.id >= 0 && localid.id < t->size);
	globalid->id = t->l2g[localid.id];
	return DART_OK;
}

dart_ret_t dart_team_unit_g2l(dart_team_t team, dart_global_unit_t globalid, dart_team_unit_t *localid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(team);
	WANT(t && localid && globalid.id >= 0 && globalid.id < dartc.size);
	localid->id = t->g2l[globalid.id];
	return DART_OK;
}

struct dartc_seg *d3_find(dart_gptr_t gptr)
{
	struct dartc_seg *s = dartc_seg(gptr.segid);

	return s && gptr.teamid == s->team_id && gptr.unitid >= 0 && gptr.unitid < s->units ? s : NULL;
}

dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void **addr)
{
	struct dartc_seg *s;

	UP();
	s = d3_find(gptr);
	WANT(s && addr && dartc_inside(&s->part[gptr.unitid], gptr.addr_or_offs.offset, 0));
	*addr = gptr.unitid == s->team->rank ? s->own + gptr.addr_or_offs.offset : NULL;
	return DART_OK;
}

dart_ret_t dart_gptr_setaddr(dart_gptr_t *gptr, void *addr)
{
	struct dartc_seg *s;

	UP();
	WANT(gptr);
	s = d3_find(*gptr);
	WANT(s && gptr->unitid == s->team->rank && (uintptr_t)addr >= (uintptr_t)s->own &&
	     (uintptr_t)addr - (uintptr_t)s->own <= s->size);
	gptr->addr_or_offs.offset = (uintptr_t)addr - (uintptr_t)s->own;
	return DART_OK;
}

dart_ret_t dart_gptr_getflags(dart_gptr_t gptr, uint16_t *flags)
{
	WANT(flags);
	*flags = (uint16_t)gptr.flags;
	return DART_OK;
}

dart_ret_t dart_gptr_setflags(dart_gptr_t *gptr, uint16_t flags)
{
	WANT(gptr && flags < 256);
	gptr->flags = flags & 255;
	return DART_OK;
}

/* Bytes of @n elements. false: it is no type for memory, or too many */
static bool bytes_of(size_t n, dart_datatype_t dtype, size_t *bytes)
{
	const struct d3_type *t = d3_type(dtype);

	return t && (t->shape == D3_BASIC || t->shape == D3_CUSTOM) && !__builtin_mul_overflow(n, t->size, bytes);
}

dart_ret_t dart_memalloc(size_t nelem, dart_datatype_t dtype, dart_gptr_t *gptr)
{
	size_t bytes;
	int64_t off;

	UP();
	WANT(gptr && bytes_of(nelem, dtype, &bytes) && bytes);
	off = dartc_buddy_take(dartc_pool_heap, bytes);
	if (off < 0)
		return DART_ERR_NOMEM;
	*gptr = (dart_gptr_t){ .unitid = dartc.rank & 0x7fffff, .teamid = DART_TEAM_ALL };
	gptr->addr_or_offs.offset = (uint64_t)off;
	return DART_OK;
}

dart_ret_t dart_memfree(dart_gptr_t gptr)
{
	UP();
	WANT(gptr.segid == 0 && gptr.teamid == DART_TEAM_ALL && gptr.unitid == dartc.rank);
	return (dart_ret_t)dartc_buddy_give(dartc_pool_heap, gptr.addr_or_offs.offset);
}

static dart_gptr_t first_of(const struct dartc_seg *s)
{
	return (dart_gptr_t){ .segid = s->id, .teamid = (int16_t)s->team->id };
}

dart_ret_t dart_team_memalloc_aligned(dart_team_t team, size_t nelem, dart_datatype_t dtype, dart_gptr_t *gptr)
{
	struct dartc_team *t;
	struct dartc_seg *s;
	size_t bytes;
	int rc;

	UP();
	t = dartc_team(team);
	WANT(t && gptr && bytes_of(nelem, dtype, &bytes));
	rc = dartc_seg_new(t, bytes, &s);
	if (!rc)
		*gptr = first_of(s);
	return (dart_ret_t)rc;
}

static dart_ret_t end_segment(dart_gptr_t gptr, bool registered)
{
	struct dartc_seg *s;

	UP();
	s = dartc_seg(gptr.segid);
	WANT(s && gptr.segid && s->registered == registered && s->team_id == gptr.teamid);
	return (dart_ret_t)dartc_seg_end(s);
}

dart_ret_t dart_team_memfree(dart_gptr_t gptr)
{
	return end_segment(gptr, false);
}

dart_ret_t dart_team_memregister(dart_team_t team, size_t nlelem, dart_datatype_t dtype, void *addr, dart_gptr_t *gptr)
{
	struct dartc_team *t;
	struct dartc_seg *s;
	size_t bytes;
	int rc;

	UP();
	t = dartc_team(team);
	WANT(t && gptr && bytes_of(nlelem, dtype, &bytes));
	rc = dartc_seg_register(t, addr, bytes, &s);
	if (!rc)
		*gptr = first_of(s);
	return (dart_ret_t)rc;
}

dart_ret_t dart_team_memregister_aligned(dart_team_t team, size_t nelem, dart_datatype_t dtype, void *addr,
					 dart_gptr_t *gptr)
{
	return dart_team_memregister(team, nelem, dtype, addr, gptr);
}

dart_ret_t dart_team_memderegister(dart_gptr_t gptr)
{
	return end_segment(gptr, true);
}

struct dart_allocator_struct {
	struct dartc_buddy *heap;
	struct dartc_seg *seg;
	int16_t id;			/* of the segment, which goes with its team */
};

static bool usable(dart_allocator_t a)
{
	return a && dartc_seg(a->id) == a->seg;
}

dart_ret_t dart_allocator_new(size_t pool_size, dart_team_t team, dart_allocator_t *new_allocator)
{
	struct dartc_team *t;
	dart_allocator_t a;
	int bad, any, rc;

	UP();
	t = dartc_team(team);
	WANT(t && new_allocator && pool_size >= 64 && pool_size <= PTRDIFF_MAX / 2);
	a = calloc(1, sizeof(*a));
	if (a)
		a->heap = dartc_buddy_new(pool_size);
	bad = !a || !a->heap;
	MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, t->comm);
	rc = any ? DARTC_NOMEM : dartc_seg_new(t, pool_size, &a->seg);
	if (rc) {
		if (a)
			dartc_buddy_end(a->heap);
		free(a);
		return (dart_ret_t)rc;
	}
	a->id = a->seg->id;
	*new_allocator = a;
	return DART_OK;
}

dart_ret_t dart_allocator_alloc(size_t nelem, dart_datatype_t dtype, dart_gptr_t *gptr, dart_allocator_t allocator)
{
	size_t bytes;
	int64_t off;

	UP();
	WANT(usable(allocator) && gptr && bytes_of(nelem, dtype, &bytes) && bytes);
	off = dartc_buddy_take(allocator->heap, bytes);
	if (off < 0)
		return DART_ERR_NOMEM;
	*gptr = first_of(allocator->seg);
	gptr->unitid = allocator->seg->team->rank & 0x7fffff;
	gptr->addr_or_offs.offset = (uint64_t)off;
	return DART_OK;
}

dart_ret_t dart_allocator_free(dart_gptr_t *gptr, dart_allocator_t allocator)
{
	int rc;

	UP();
	WANT(usable(allocator) && gptr && gptr->segid == allocator->seg->id &&
	     gptr->unitid == allocator->seg->team->rank && gptr->teamid == allocator->seg->team->id);
	rc = dartc_buddy_give(allocator->heap, gptr->addr_or_offs.offset);
	if (!rc)
		*gptr = DART_GPTR_NULL;
	return (dart_ret_t)rc;
}

dart_ret_t dart_allocator_destroy(dart_allocator_t *allocator)
{
	int rc;

	UP();
	WANT(allocator && usable(*allocator));
	rc = dartc_seg_end((*allocator)->seg);
	dartc_buddy_end((*allocator)->heap);
	free(*allocator);
	*allocator = DART_ALLOCATOR_NULL;
	return (dart_ret_t)rc;
}

static struct dartc_lock *core(dart_lock_t lock)
{
	return (struct dartc_lock *)(void *)lock;
}

dart_ret_t dart_team_lock_init(dart_team_t team, dart_lock_t *lock)
{
	struct dartc_team *t;
	struct dartc_lock *l;
	int rc;

	UP();
	t = dartc_team(team);
	WANT(t && lock);
	rc = dartc_lock_new(t, &l);
	if (!rc)
		*lock = (dart_lock_t)(void *)l;
	return (dart_ret_t)rc;
}

dart_ret_t dart_team_lock_destroy(dart_lock_t *lock)
{
	int rc;

	UP();
	WANT(lock && *lock);
	rc = dartc_lock_end(core(*lock));
	if (!rc)
		*lock = DART_LOCK_NULL;
	return (dart_ret_t)rc;
}

dart_ret_t dart_lock_acquire(dart_lock_t lock)
{
	UP();
	WANT(lock);
	return (dart_ret_t)dartc_lock_acquire(core(lock));
}

dart_ret_t dart_lock_try_acquire(dart_lock_t lock, int32_t *result)
{
	int got, rc;

	UP();
	WANT(lock && result);
	rc = dartc_lock_try(core(lock), &got);
	if (!rc)
		*result = got;
	return (dart_ret_t)rc;
}

dart_ret_t dart_lock_release(dart_lock_t lock)
{
	UP();
	WANT(lock);
	return (dart_ret_t)dartc_lock_release(core(lock));
}

bool dart_lock_initialized(const struct dart_lock_struct *lock)
{
	return lock != NULL;
}
