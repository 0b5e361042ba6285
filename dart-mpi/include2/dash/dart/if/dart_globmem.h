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
 * unitid is the global number of the unit that has it. segid: 0 memory of dart_memalloc(), positive of
 * dart_team_memalloc_aligned(), negative registered. flags: the low bits of the team's number, by which a pointer
 * that is of another team's segment of the same number is found out. The union counts bytes from the start of the
 * unit's part.
 */
typedef struct {
	dart_unit_t unitid;
	int16_t segid;
	uint16_t flags;
	union {
		uint64_t offset;
		void *addr;
	} addr_or_offs;
} dart_gptr_t;

#ifdef __cplusplus
#define DART_GPTR_NULL (dart_gptr_t { -1, 0, 0, { 0 } })
#else
#define DART_GPTR_NULL ((dart_gptr_t){ .unitid = -1, .segid = 0, .flags = 0, .addr_or_offs.offset = 0 })
#endif
#define DART_GPTR_ISNULL(gptr_)						\
	((gptr_).unitid < 0 && (gptr_).segid == 0 && (gptr_).flags == 0 && (gptr_).addr_or_offs.offset == 0)
#define DART_GPTR_EQUAL(gptr1_, gptr2_)						\
	((gptr1_).unitid == (gptr2_).unitid && (gptr1_).segid == (gptr2_).segid &&	\
	 (gptr1_).flags == (gptr2_).flags && (gptr1_).addr_or_offs.offset == (gptr2_).addr_or_offs.offset)

/**
 * dart_gptr_getaddr - the address of the caller's own memory
 * @gptr: into memory of any unit
 * @addr: out: the address; NULL when another unit has it
 *
 * Return: DART_OK; DART_ERR_INVAL: no such segment here, beyond its end; DART_ERR_NOTINIT
 */
dart_ret_t dart_gptr_getaddr(const dart_gptr_t gptr, void **addr);

/* Make @gptr lead to @addr, an address in the caller's part of the segment. DART_ERR_INVAL: it is not there. */
dart_ret_t dart_gptr_setaddr(dart_gptr_t *gptr, void *addr);

/* Bytes forth, or back when negative. Whether that is still inside is looked at when it is used. */
dart_ret_t dart_gptr_incaddr(dart_gptr_t *gptr, int32_t offs);

/* The same place in the part of another unit. DART_ERR_INVAL: no such unit in the job */
dart_ret_t dart_gptr_setunit(dart_gptr_t *gptr, dart_unit_t unitid);

/**
 * dart_memalloc - global memory of this unit alone
 * @nbytes: 1 to DART_POOL (16 MiB); rounded up to a power of two, at least 64
 * @gptr: out
 *
 * Not collective, does not block. All units reach it.
 *
 * Return: DART_OK; DART_ERR_INVAL; DART_ERR_NOTINIT; DART_ERR_OTHER: the pool has no room: DART_POOL=bytes
 */
dart_ret_t dart_memalloc(size_t nbytes, dart_gptr_t *gptr);

/* By the unit that has it. DART_ERR_INVAL: not the start of a block of this unit's, or freed already */
dart_ret_t dart_memfree(dart_gptr_t gptr);

/**
 * dart_team_memalloc_aligned - global memory of a team
 * @teamid: team
 * @nbytes: of each unit, the same on all; may be 0
 * @gptr: out: the first byte of the team's first unit
 *
 * Collective. The same offset leads to the same place of every unit's part. Parts are aligned to 64 bytes; their
 * contents are undefined.
 *
 * Return: DART_OK; DART_ERR_INVAL: no such team here, more than the address space has; DART_ERR_NOTINIT;
 * DART_ERR_OTHER: no memory on one of the units (then none has any), or 32767 segments
 */
dart_ret_t dart_team_memalloc_aligned(dart_team_t teamid, size_t nbytes, dart_gptr_t *gptr);

/* Collective. DART_ERR_INVAL: not a segment of that team's, freed already */
dart_ret_t dart_team_memfree(dart_team_t teamid, dart_gptr_t gptr);

/**
 * dart_team_memregister_aligned - make memory global that the program has
 * @teamid: team
 * @nbytes: of each unit, the same on all; may be 0
 * @addr: this unit's; stays the caller's, and must stay mapped until dart_team_memderegister()
 * @gptr: out: the first byte of the team's first unit
 *
 * Collective. On the node it is reached by loads and stores only with SMARTMAP, where @addr is in what the library has
 * adopted (heap, data, main stack); otherwise through MPI.
 *
 * Return: as dart_team_memalloc_aligned
 */
dart_ret_t dart_team_memregister_aligned(dart_team_t teamid, size_t nbytes, void *addr, dart_gptr_t *gptr);
dart_ret_t dart_team_memderegister(dart_team_t teamid, dart_gptr_t gptr);

#ifdef __cplusplus
}
#endif
#endif
