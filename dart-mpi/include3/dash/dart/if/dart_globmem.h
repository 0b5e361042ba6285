/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_globmem.h - global pointers and global memory */
#ifndef DART_GLOBMEM_H_
#define DART_GLOBMEM_H_

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dart_gptr_t - where a byte of global memory is: 128 bits that may be copied, sent and stored
 *
 * unitid is the number of the unit that has it in team teamid; flags are the program's. segid: 0 memory of
 * dart_memalloc() (team DART_TEAM_ALL), positive allocated, negative registered. The union counts bytes from the
 * start of the unit's part.
 */
typedef struct dart_gptr {
	dart_unit_t unitid : 24;
	unsigned int flags : 8;
	int16_t segid;
	int16_t teamid;
	union {
		uint64_t offset;
		void *addr;
	} addr_or_offs;
} dart_gptr_t;

#ifdef __cplusplus
#define DART_GPTR_NULL (dart_gptr_t { -1, 0, 0, DART_TEAM_NULL, { 0 } })
#else
#define DART_GPTR_NULL \
	((dart_gptr_t){ .unitid = -1, .flags = 0, .segid = 0, .teamid = DART_TEAM_NULL, .addr_or_offs.offset = 0 })
#endif
#define DART_GPTR_ISNULL(gptr_)							\
	((gptr_).unitid < 0 && (gptr_).segid == 0 && (gptr_).teamid == DART_TEAM_NULL &&	\
	 (gptr_).addr_or_offs.offset == 0)
#define DART_GPTR_EQUAL(gptr1_, gptr2_)						\
	((gptr1_).unitid == (gptr2_).unitid && (gptr1_).segid == (gptr2_).segid &&	\
	 (gptr1_).teamid == (gptr2_).teamid && (gptr1_).addr_or_offs.offset == (gptr2_).addr_or_offs.offset)

/* The address of the caller's own memory; NULL of another unit's. DART_ERR_INVAL: no such segment here, beyond its
 * end */
dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void **addr);
/* Make it lead to @addr in the caller's part. DART_ERR_INVAL: it is not there */
dart_ret_t dart_gptr_setaddr(dart_gptr_t *gptr, void *addr);
dart_ret_t dart_gptr_getflags(dart_gptr_t gptr, uint16_t *flags);
dart_ret_t dart_gptr_setflags(dart_gptr_t *gptr, uint16_t flags);	/* 0 to 255 */

/* Bytes forth, or back. Whether that is inside is looked at when it is used. */
static inline dart_ret_t dart_gptr_incaddr(dart_gptr_t *gptr, int64_t offs)
{
	gptr->addr_or_offs.offset += (uint64_t)offs;
	return DART_OK;
}

/* DART_ERR_INVAL: a number that a pointer has no room for. Whether there is such a unit is looked at on use. */
static inline dart_ret_t dart_gptr_setunit(dart_gptr_t *gptr, dart_team_unit_t unit)
{
	if (unit.id < -(1 << 23) || unit.id >= 1 << 23)
		return DART_ERR_INVAL;
	gptr->unitid = unit.id;
	return DART_OK;
}

/* Global memory of this unit alone, from its pool (DART_POOL, 16 MiB); not collective. free: by the unit that has it;
 * DART_ERR_INVAL: not the start of a block of its */
dart_ret_t dart_memalloc(size_t nelem, dart_datatype_t dtype, dart_gptr_t *gptr);
dart_ret_t dart_memfree(dart_gptr_t gptr);

/* So many elements on each unit of the team, aligned to 64 bytes; may be 0. Collective. @gptr: to relative unit 0. */
dart_ret_t dart_team_memalloc_aligned(dart_team_t team, size_t nelem, dart_datatype_t dtype, dart_gptr_t *gptr);
dart_ret_t dart_team_memfree(dart_gptr_t gptr);

/* Make memory global that the program has, and that stays mapped until _memderegister(). Collective. _aligned: the same
 * length on all units; the other: each its own. On the node it is reached by loads and stores only with SMARTMAP. */
dart_ret_t dart_team_memregister_aligned(dart_team_t team, size_t nelem, dart_datatype_t dtype, void *addr,
					 dart_gptr_t *gptr);
dart_ret_t dart_team_memregister(dart_team_t team, size_t nlelem, dart_datatype_t dtype, void *addr, dart_gptr_t *gptr);
dart_ret_t dart_team_memderegister(dart_gptr_t gptr);

/* A pool in memory of a team, from which each unit takes of its own part without the others. new, destroy: collective;
 * destroy: *alloc becomes NULL, before the team is destroyed. free: *gptr becomes DART_GPTR_NULL; by the unit that has
 * it. Blocks are powers of two of bytes, from 64. DART_ERR_NOMEM: no block is left that is long enough. */
typedef struct dart_allocator_struct *dart_allocator_t;
#define DART_ALLOCATOR_NULL ((dart_allocator_t)NULL)
dart_ret_t dart_allocator_new(size_t pool_size, dart_team_t team, dart_allocator_t *new_allocator);
dart_ret_t dart_allocator_alloc(size_t nelem, dart_datatype_t dtype, dart_gptr_t *gptr, dart_allocator_t allocator);
dart_ret_t dart_allocator_free(dart_gptr_t *gptr, dart_allocator_t allocator);
dart_ret_t dart_allocator_destroy(dart_allocator_t *allocator);

#ifdef __cplusplus
}
#endif
#endif
