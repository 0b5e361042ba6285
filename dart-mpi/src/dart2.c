/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart2.c - interface 3.2 over the common part: bytes, global unit numbers, groups in storage of the caller
 */
#include "dartc.h"
#pragma GCC visibility push(default)
#include <dash/dart/if/dart.h>
#pragma GCC visibility pop

_Static_assert(sizeof(dart_gptr_t) == 16, "a global pointer has 128 bits");

static dart_ret_t ret(int rc)
{
	return rc == DARTC_NOMEM ? DART_ERR_OTHER : (dart_ret_t)rc;
}

#define UP()		do { if (!dartc.up) return DART_ERR_NOTINIT; } while (0)
#define WANT(what)	do { if (!(what)) return DART_ERR_INVAL; } while (0)

dart_ret_t dart_init(int *argc, char ***argv)
{
	return ret(dartc_start(argc, argv, false));
}

dart_ret_t dart_exit(void)
{
	UP();
	return ret(dartc_stop());
}

char dart_initialized(void)
{
	return dartc.up;
}

dart_ret_t dart_group_sizeof(size_t *size)
{
	UP();
	WANT(size);
	*size = dartc_group_bytes();
	return DART_OK;
}

dart_ret_t dart_group_init(dart_group_t *g)
{
	UP();
	WANT(g);
	dartc_group_clear(g);
	return DART_OK;
}

dart_ret_t dart_group_fini(dart_group_t *g)
{
	UP();
	WANT(dartc_group_valid(g));
	g->mark = 0;
	return DART_OK;
}

dart_ret_t dart_group_copy(const dart_group_t *gin, dart_group_t *gout)
{
	UP();
	WANT(dartc_group_valid(gin) && gout);
	memmove(gout, gin, dartc_group_bytes());
	return DART_OK;
}

static dart_ret_t join(const dart_group_t *g1, const dart_group_t *g2, dart_group_t *gout, bool both)
{
	UP();
	WANT(dartc_group_valid(g1) && dartc_group_valid(g2) && gout);
	for (size_t i = 0; i < ((size_t)dartc.size + 63) / 64; i++)
		gout->bit[i] = both ? g1->bit[i] & g2->bit[i] : g1->bit[i] | g2->bit[i];
	gout->mark = g1->mark;
	gout->units = g1->units;
	return DART_OK;
}

dart_ret_t dart_group_union(const dart_group_t *g1, const dart_group_t *g2, dart_group_t *gout)
{
	return join(g1, g2, gout, false);
}

dart_ret_t dart_group_intersect(const dart_group_t *g1, const dart_group_t *g2, dart_group_t *gout)
{
	return join(g1, g2, gout, true);
}

dart_ret_t dart_group_addmember(dart_group_t *g, dart_unit_t unitid)
{
	UP();
	WANT(dartc_group_valid(g));
	return ret(dartc_group_change(g, unitid, true));
}

dart_ret_t dart_group_delmember(dart_group_t *g, dart_unit_t unitid)
{
	UP();
	WANT(dartc_group_valid(g));
	return ret(dartc_group_change(g, unitid, false));
}

dart_ret_t dart_group_ismember(const dart_group_t *g, dart_unit_t unitid, int32_t *ismember)
{
	UP();
	WANT(dartc_group_valid(g) && ismember && unitid >= 0 && unitid < dartc.size);
	*ismember = dartc_group_has(g, unitid);
	return DART_OK;
}

dart_ret_t dart_group_size(const dart_group_t *g, size_t *size)
{
	UP();
	WANT(dartc_group_valid(g) && size);
	*size = dartc_group_count(g);
	return DART_OK;
}

dart_ret_t dart_group_getmembers(const dart_group_t *g, dart_unit_t *unitids)
{
	UP();
	WANT(dartc_group_valid(g) && unitids);
	dartc_group_list(g, unitids);
	return DART_OK;
}

dart_ret_t dart_group_split(const dart_group_t *g, size_t n, dart_group_t **gout)
{
	UP();
	WANT(dartc_group_valid(g) && n && gout);
	for (size_t i = 0; i < n; i++)
		WANT(gout[i]);
	for (size_t i = 0; i < n; i++)
		dartc_group_part(g, n, i, gout[i]);
	return DART_OK;
}

dart_ret_t dart_team_get_group(dart_team_t teamid, dart_group_t *group)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && group);
	dartc_group_clear(group);
	for (int i = 0; i < t->size; i++)
		dartc_group_change(group, t->l2g[i], true);
	return DART_OK;
}

dart_ret_t dart_team_create(dart_team_t teamid, const dart_group_t *group, dart_team_t *newteam)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && dartc_group_valid(group) && newteam && dartc_group_count(group));
	for (int u = 0; u < dartc.size; u++)
		WANT(!dartc_group_has(group, u) || t->g2l[u] >= 0);
	return ret(dartc_team_new(t, group, newteam));
}

dart_ret_t dart_team_destroy(dart_team_t teamid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && teamid != DART_TEAM_ALL);
	return ret(dartc_team_end(t));
}

dart_ret_t dart_team_myid(dart_team_t teamid, dart_unit_t *myid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && myid);
	*myid = t->rank;
	return DART_OK;
}

dart_ret_t dart_team_size(dart_team_t teamid, size_t *size)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && size);
	*size = (size_t)t->size;
	return DART_OK;
}

dart_ret_t dart_myid(dart_unit_t *myid)
{
	return dart_team_myid(DART_TEAM_ALL, myid);
}

dart_ret_t dart_size(size_t *size)
{
	return dart_team_size(DART_TEAM_ALL, size);
}

dart_ret_t dart_team_unit_l2g(dart_team_t teamid, dart_unit_t localid, dart_unit_t *globalid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && globalid && localid >= 0 && localid < t->size);
	*globalid = t->l2g[localid];
	return DART_OK;
}

dart_ret_t dart_team_unit_g2l(dart_team_t teamid, dart_unit_t globalid, dart_unit_t *localid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && localid && globalid >= 0 && globalid < dartc.size);
	*localid = t->g2l[globalid];
	return DART_OK;
}

/* Segment and relative unit of a pointer. NULL: it leads nowhere. */
static inline struct dartc_seg *find(dart_gptr_t gptr, int *rel)
{
	struct dartc_seg *s = dartc_seg(gptr.segid);

	if (!s || gptr.flags != s->team_id || gptr.unitid < 0 || gptr.unitid >= dartc.size)
		return NULL;
	*rel = s->team->g2l[gptr.unitid];
	return *rel < 0 ? NULL : s;
}

dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void **addr)
{
	struct dartc_seg *s;
	int rel;

	UP();
	s = find(gptr, &rel);
	WANT(s && addr && dartc_inside(&s->part[rel], gptr.addr_or_offs.offset, 0));
	*addr = rel == s->team->rank ? s->own + gptr.addr_or_offs.offset : NULL;
	return DART_OK;
}

dart_ret_t dart_gptr_setaddr(dart_gptr_t *gptr, void *addr)
{
	struct dartc_seg *s;
	int rel;

	UP();
	WANT(gptr);
	s = find(*gptr, &rel);
	WANT(s && rel == s->team->rank && (uintptr_t)addr >= (uintptr_t)s->own &&
	     (uintptr_t)addr - (uintptr_t)s->own <= s->size);
	gptr->addr_or_offs.offset = (uintptr_t)addr - (uintptr_t)s->own;
	return DART_OK;
}

dart_ret_t dart_gptr_incaddr(dart_gptr_t *gptr, int32_t offs)
{
	WANT(gptr);
	gptr->addr_or_offs.offset += (uint64_t)(int64_t)offs;
	return DART_OK;
}

dart_ret_t dart_gptr_setunit(dart_gptr_t *gptr, dart_unit_t unitid)
{
	UP();
	WANT(gptr && unitid >= 0 && unitid < dartc.size);
	gptr->unitid = unitid;
	return DART_OK;
}

dart_ret_t dart_memalloc(size_t nbytes, dart_gptr_t *gptr)
{
	int64_t off;

	UP();
	WANT(nbytes && gptr);
	off = dartc_buddy_take(dartc_pool_heap, nbytes);
	if (off < 0)
		return DART_ERR_OTHER;
	*gptr = (dart_gptr_t){ .unitid = dartc.rank, .addr_or_offs.offset = (uint64_t)off };
	return DART_OK;
}

dart_ret_t dart_memfree(dart_gptr_t gptr)
{
	UP();
	WANT(gptr.segid == 0 && gptr.flags == 0 && gptr.unitid == dartc.rank);
	return ret(dartc_buddy_give(dartc_pool_heap, gptr.addr_or_offs.offset));
}

static dart_gptr_t first_of(const struct dartc_seg *s)
{
	return (dart_gptr_t){ .unitid = s->team->l2g[0], .segid = s->id, .flags = (uint16_t)s->team->id };
}

dart_ret_t dart_team_memalloc_aligned(dart_team_t teamid, size_t nbytes, dart_gptr_t *gptr)
{
	struct dartc_team *t;
	struct dartc_seg *s;
	int rc;

	UP();
	t = dartc_team(teamid);
	WANT(t && gptr);
	rc = dartc_seg_new(t, nbytes, &s);
	if (!rc)
		*gptr = first_of(s);
	return ret(rc);
}

static struct dartc_seg *of_team(dart_team_t teamid, dart_gptr_t gptr)
{
	struct dartc_seg *s = dartc_seg(gptr.segid);

	return s && s->team_id == teamid && gptr.flags == s->team_id ? s : NULL;
}

dart_ret_t dart_team_memfree(dart_team_t teamid, dart_gptr_t gptr)
{
	struct dartc_seg *s;

	UP();
	s = of_team(teamid, gptr);
	WANT(s && gptr.segid > 0);
	return ret(dartc_seg_end(s));
}

dart_ret_t dart_team_memregister_aligned(dart_team_t teamid, size_t nbytes, void *addr, dart_gptr_t *gptr)
{
	struct dartc_team *t;
	struct dartc_seg *s;
	int rc;

	UP();
	t = dartc_team(teamid);
	WANT(t && gptr);
	rc = dartc_seg_register(t, addr, nbytes, &s);
	if (!rc)
		*gptr = first_of(s);
	return ret(rc);
}

dart_ret_t dart_team_memderegister(dart_team_t teamid, dart_gptr_t gptr)
{
	struct dartc_seg *s;

	UP();
	s = of_team(teamid, gptr);
	WANT(s && gptr.segid < 0);
	return ret(dartc_seg_end(s));
}

dart_ret_t dart_barrier(dart_team_t teamid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t);
	return ret(dartc_barrier(t));
}

dart_ret_t dart_bcast(void *buf, size_t nbytes, dart_unit_t root, dart_team_t teamid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && (buf || !nbytes) && root >= 0 && root < t->size);
	return ret(dartc_bcast(t, buf, nbytes, MPI_BYTE, 1, root));
}

dart_ret_t dart_scatter(void *sendbuf, void *recvbuf, size_t nbytes, dart_unit_t root, dart_team_t teamid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && root >= 0 && root < t->size && (!nbytes || (recvbuf && (sendbuf || t->rank != root))));
	return ret(dartc_gather(t, true, sendbuf, recvbuf, nbytes, MPI_BYTE, root));
}

dart_ret_t dart_gather(void *sendbuf, void *recvbuf, size_t nbytes, dart_unit_t root, dart_team_t teamid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && root >= 0 && root < t->size && (!nbytes || (sendbuf && (recvbuf || t->rank != root))));
	return ret(dartc_gather(t, false, sendbuf, recvbuf, nbytes, MPI_BYTE, root));
}

dart_ret_t dart_allgather(void *sendbuf, void *recvbuf, size_t nbytes, dart_team_t teamid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && (!nbytes || (sendbuf && recvbuf)));
	return ret(dartc_allgather(t, sendbuf, recvbuf, nbytes, MPI_BYTE));
}

dart_ret_t dart_reduce_double(double *sendbuf, double *recvbuf, dart_team_t teamid)
{
	struct dartc_team *t;

	UP();
	t = dartc_team(teamid);
	WANT(t && sendbuf && (recvbuf || t->rank));
	return ret(dartc_reduce(t, sendbuf, recvbuf, 1, MPI_DOUBLE, sizeof(double), MPI_MAX, 0));
}

/* What MPI is to do, where loads and stores do not reach. */
static __attribute__((noinline)) dart_ret_t far(enum dartc_dir dir, struct dartc_seg *s, int rel, uint64_t off,
						void *mine,
						size_t n, dart_handle_t *handle, bool block)
{
	struct dartc_far f = { dir, s, rel, (size_t)off, mine };
	struct dart_handle_struct *h;
	int rc = dartc_far_bytes(&f, n, handle || (block && dir == DARTC_GET) ? &h : NULL);

	if (rc)
		return ret(rc);
	if (handle)
		*handle = h;
	else if (block)
		return ret(dir == DARTC_GET ? dartc_handle_wait(h, true) : dartc_far_flush(s, rel, false));
	return DART_OK;
}

/* What is not a copy: refused, nothing to move, or MPI's. */
static __attribute__((noinline)) dart_ret_t general(enum dartc_dir dir, void *mine, dart_gptr_t gptr, size_t n,
						    dart_handle_t *handle, bool block)
{
	struct dartc_seg *s;
	int rel = 0;

	UP();
	s = find(gptr, &rel);
	WANT(s && (mine || !n) && dartc_inside(&s->part[rel], gptr.addr_or_offs.offset, n));
	if (n)
		return far(dir, s, rel, gptr.addr_or_offs.offset, mine, n, handle, block);
	if (handle)
		*handle = &dartc_done;
	return DART_OK;
}

/* Direct parts: a copy, whatever the form of the call. */
static inline __attribute__((always_inline)) dart_ret_t rma(enum dartc_dir dir, void *mine, dart_gptr_t gptr, size_t n,
							    dart_handle_t *handle, bool block)
{
	const struct dartc_seg *s = dartc_seg(gptr.segid);

	if (__builtin_expect(!s || gptr.flags != s->team_id || (uint32_t)gptr.unitid >= (uint32_t)dartc.size ||
			     !mine, 0) ||
	    !dartc_direct(dir, &s->global[gptr.unitid], gptr.addr_or_offs.offset, mine, n, block))
		return general(dir, mine, gptr, n, handle, block);
	if (handle)
		*handle = &dartc_done;
	return DART_OK;
}

dart_ret_t dart_get(void *dest, dart_gptr_t gptr, size_t nbytes)
{
	return rma(DARTC_GET, dest, gptr, nbytes, NULL, false);
}

dart_ret_t dart_put(dart_gptr_t gptr, void *src, size_t nbytes)
{
	return rma(DARTC_PUT, src, gptr, nbytes, NULL, false);
}

dart_ret_t dart_get_handle(void *dest, dart_gptr_t gptr, size_t nbytes, dart_handle_t *handle)
{
	return handle ? rma(DARTC_GET, dest, gptr, nbytes, handle, false) : DART_ERR_INVAL;
}

dart_ret_t dart_put_handle(dart_gptr_t gptr, void *src, size_t nbytes, dart_handle_t *handle)
{
	return handle ? rma(DARTC_PUT, src, gptr, nbytes, handle, false) : DART_ERR_INVAL;
}

dart_ret_t dart_get_blocking(void *dest, dart_gptr_t gptr, size_t nbytes)
{
	return rma(DARTC_GET, dest, gptr, nbytes, NULL, true);
}

dart_ret_t dart_put_blocking(dart_gptr_t gptr, void *src, size_t nbytes)
{
	return rma(DARTC_PUT, src, gptr, nbytes, NULL, true);
}

static enum dartc_op op_of(dart_operation_t op)
{
	static const enum dartc_op to[] = {
		[DART_OP_MIN] = O_MIN, [DART_OP_MAX] = O_MAX, [DART_OP_SUM] = O_SUM, [DART_OP_PROD] = O_PROD,
		[DART_OP_BAND] = O_BAND, [DART_OP_LAND] = O_LAND, [DART_OP_BOR] = O_BOR, [DART_OP_LOR] = O_LOR,
		[DART_OP_BXOR] = O_BXOR, [DART_OP_LXOR] = O_LXOR,
	};

	return (unsigned)op < sizeof(to) / sizeof(to[0]) ? to[op] : O_UNDEF;
}

dart_ret_t dart_accumulate_int(dart_gptr_t gptr, int *values, size_t nelem, dart_operation_t op, dart_team_t team)
{
	struct dartc_seg *s;
	int rel;

	UP();
	s = find(gptr, &rel);
	WANT(s && (values || !nelem) && s->team->id == team && nelem <= PTRDIFF_MAX / sizeof(int) &&
	     gptr.addr_or_offs.offset % sizeof(int) == 0 &&
	     dartc_inside(&s->part[rel], gptr.addr_or_offs.offset, nelem * sizeof(int)));
	return ret(dartc_atomic(s, rel, (size_t)gptr.addr_or_offs.offset, values, NULL, nelem, K_INT, op_of(op)));
}

static dart_ret_t flush(dart_gptr_t gptr, bool all, bool local)
{
	struct dartc_seg *s;
	int rel;

	UP();
	s = find(gptr, &rel);
	WANT(s);
	return ret(all ? dartc_far_flush_all(s, local) : dartc_flush(s, rel, local));
}

dart_ret_t dart_flush(dart_gptr_t gptr)
{
	return flush(gptr, false, false);
}

dart_ret_t dart_flush_all(dart_gptr_t gptr)
{
	return flush(gptr, true, false);
}

dart_ret_t dart_flush_local(dart_gptr_t gptr)
{
	return flush(gptr, false, true);
}

dart_ret_t dart_flush_local_all(dart_gptr_t gptr)
{
	return flush(gptr, true, true);
}

dart_ret_t dart_wait(dart_handle_t handle)
{
	UP();
	return ret(dartc_handle_wait(handle, false));
}

dart_ret_t dart_wait_local(dart_handle_t handle)
{
	UP();
	return ret(dartc_handle_wait(handle, true));
}

static dart_ret_t waitall(dart_handle_t *handle, size_t n, bool local)
{
	UP();
	WANT(handle || !n);
	return ret(dartc_handles_wait(handle, n, local));
}

dart_ret_t dart_waitall(dart_handle_t *handle, size_t n)
{
	return waitall(handle, n, false);
}

dart_ret_t dart_waitall_local(dart_handle_t *handle, size_t n)
{
	return waitall(handle, n, true);
}

dart_ret_t dart_test_local(dart_handle_t handle, int32_t *result)
{
	int done;
	dart_ret_t rc;

	UP();
	WANT(result);
	rc = ret(dartc_handle_test(handle, true, &done));
	if (!rc)
		*result = done != 0;
	return rc;
}

dart_ret_t dart_testall_local(dart_handle_t *handle, size_t n, int32_t *result)
{
	UP();
	WANT(result && (handle || !n));
	return ret(dartc_handles_test(handle, n, true, result));
}

dart_ret_t dart_team_lock_init(dart_team_t teamid, dart_lock_t *lock)
{
	struct dartc_team *t;
	struct dartc_lock *l;
	int rc;

	UP();
	t = dartc_team(teamid);
	WANT(t && lock);
	rc = dartc_lock_new(t, &l);
	if (!rc)
		*lock = (dart_lock_t)(void *)l;
	return ret(rc);
}

static struct dartc_lock *core(dart_lock_t lock)
{
	return (struct dartc_lock *)(void *)lock;
}

dart_ret_t dart_team_lock_free(dart_team_t teamid, dart_lock_t *lock)
{
	int rc;

	UP();
	WANT(lock && *lock && dartc_lock_team(core(*lock)) == teamid);
	rc = dartc_lock_end(core(*lock));
	if (!rc)
		*lock = DART_LOCK_NULL;
	return ret(rc);
}

dart_ret_t dart_lock_acquire(dart_lock_t lock)
{
	UP();
	WANT(lock);
	return ret(dartc_lock_acquire(core(lock)));
}

dart_ret_t dart_lock_try_acquire(dart_lock_t lock, int32_t *result)
{
	int got;
	dart_ret_t rc;

	UP();
	WANT(lock && result);
	rc = ret(dartc_lock_try(core(lock), &got));
	if (!rc)
		*result = got;
	return rc;
}

dart_ret_t dart_lock_release(dart_lock_t lock)
{
	UP();
	WANT(lock);
	return ret(dartc_lock_release(core(lock)));
}
