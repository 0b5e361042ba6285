/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_team_group.h - groups (local sets of units) and teams */
#ifndef DART_TEAM_GROUP_H_
#define DART_TEAM_GROUP_H_

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dart_group_t - a set of units, by global number, always ascending
 *
 * The caller provides its storage: dart_group_sizeof() bytes, aligned as by malloc, given to one of dart_group_init(),
 * _copy(), _union(), _intersect() or _split() as output first. Calls on groups are local and do not block; a group that
 * was not initialised is DART_ERR_INVAL.
 */
typedef struct dart_group_struct dart_group_t;
#define DART_GROUP_NULL ((dart_group_t *)NULL)

dart_ret_t dart_group_sizeof(size_t *size);
dart_ret_t dart_group_init(dart_group_t *g);			/* makes it the empty set */
dart_ret_t dart_group_fini(dart_group_t *g);			/* the storage stays the caller's */
dart_ret_t dart_group_copy(const dart_group_t *gin, dart_group_t *gout);
dart_ret_t dart_group_union(const dart_group_t *g1, const dart_group_t *g2, dart_group_t *gout);
dart_ret_t dart_group_intersect(const dart_group_t *g1, const dart_group_t *g2, dart_group_t *gout);
dart_ret_t dart_group_addmember(dart_group_t *g, dart_unit_t unitid);	/* of one that is in it: no change */
dart_ret_t dart_group_delmember(dart_group_t *g, dart_unit_t unitid);	/* of one that is not: no change */
dart_ret_t dart_group_ismember(const dart_group_t *g, dart_unit_t unitid, int32_t *ismember);	/* 1 or 0 */
dart_ret_t dart_group_size(const dart_group_t *g, size_t *size);
dart_ret_t dart_group_getmembers(const dart_group_t *g, dart_unit_t *unitids);	/* room for dart_group_size() */

/**
 * dart_group_split - in ascending order into parts whose sizes differ by one at most
 * @g: what is split
 * @n: parts, from 1
 * @gout: @n pointers to storage; where there are fewer members the last parts are empty
 *
 * Return: DART_OK; DART_ERR_INVAL; DART_ERR_NOTINIT
 */
dart_ret_t dart_group_split(const dart_group_t *g, size_t n, dart_group_t **gout);

/* The units of a team the caller is in. @group: storage. DART_ERR_INVAL: no such team here */
dart_ret_t dart_team_get_group(dart_team_t teamid, dart_group_t *group);

/**
 * dart_team_create - a team of some units of another
 * @teamid: parent, which the caller is in
 * @group: the members, all of the parent; the same on all units
 * @newteam: out: its number, below 32768; DART_TEAM_NULL for those who are not in it
 *
 * Collective over the parent: also units that will not be members call it. In the team units are numbered in ascending
 * order of their global numbers. A number is new with all units of the parent.
 *
 * Return: DART_OK; DART_ERR_INVAL: no such team here, the group is empty or has units that are not in it;
 * DART_ERR_NOTINIT; DART_ERR_OTHER
 */
dart_ret_t dart_team_create(dart_team_t teamid, const dart_group_t *group, dart_team_t *newteam);

/* Collective over the team; its memory goes with it. DART_ERR_INVAL: DART_TEAM_ALL, or no such team here */
dart_ret_t dart_team_destroy(dart_team_t teamid);

dart_ret_t dart_team_myid(dart_team_t teamid, dart_unit_t *myid);	/* relative number of the caller */
dart_ret_t dart_team_size(dart_team_t teamid, size_t *size);
dart_ret_t dart_myid(dart_unit_t *myid);				/* global number */
dart_ret_t dart_size(size_t *size);

/* Relative to global number and back. DART_ERR_INVAL: no such team here, no such unit; g2l of a unit of the job that is
 * not in the team is DART_UNDEFINED_UNIT_ID. */
dart_ret_t dart_team_unit_l2g(dart_team_t teamid, dart_unit_t localid, dart_unit_t *globalid);
dart_ret_t dart_team_unit_g2l(dart_team_t teamid, dart_unit_t globalid, dart_unit_t *localid);

#ifdef __cplusplus
}
#endif
#endif
