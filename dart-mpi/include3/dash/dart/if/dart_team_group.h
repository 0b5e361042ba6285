/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_team_group.h - groups (local sets of units) and teams */
#ifndef DART_TEAM_GROUP_H_
#define DART_TEAM_GROUP_H_

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A set of units, by global number, always ascending. Those that are output are new and the caller's to destroy.
 * Local. */
typedef struct dart_group_struct *dart_group_t;
#define DART_GROUP_NULL ((dart_group_t)NULL)

dart_ret_t dart_group_create(dart_group_t *group);		/* the empty set */
dart_ret_t dart_group_destroy(dart_group_t *group);		/* *group becomes DART_GROUP_NULL */
dart_ret_t dart_group_clone(const dart_group_t gin, dart_group_t *gout);
dart_ret_t dart_group_union(const dart_group_t g1, const dart_group_t g2, dart_group_t *gout);
dart_ret_t dart_group_intersect(const dart_group_t g1, const dart_group_t g2, dart_group_t *gout);
dart_ret_t dart_group_addmember(dart_group_t group, dart_global_unit_t unitid);
dart_ret_t dart_group_delmember(dart_group_t group, dart_global_unit_t unitid);
dart_ret_t dart_group_ismember(const dart_group_t group, dart_global_unit_t unitid, int32_t *ismember);
dart_ret_t dart_group_size(const dart_group_t group, size_t *size);
dart_ret_t dart_group_getmembers(const dart_group_t group, dart_global_unit_t *unitids);

/* In ascending order into at most @n parts that are not empty, whose sizes differ by one at most. *@nout: how many;
 * @gout: room for @n, the rest becomes DART_GROUP_NULL. */
dart_ret_t dart_group_split(const dart_group_t group, size_t n, size_t *nout, dart_group_t *gout);

/* The same by locality: the domains of @scope in @domain are dealt to at most @n parts, each whole. */
dart_ret_t dart_group_locality_split(const dart_group_t group, dart_domain_locality_t *domain,
				     dart_locality_scope_t scope, size_t n, size_t *nout, dart_group_t *gout);

dart_ret_t dart_team_get_group(dart_team_t team, dart_group_t *group);

/* Collective over @team, also for those who will not be in the new one: theirs is DART_TEAM_NULL. DART_ERR_INVAL: no
 * such team here, the group is empty or has units that are not in it; DART_ERR_OTHER: 32767 teams */
dart_ret_t dart_team_create(dart_team_t team, const dart_group_t group, dart_team_t *newteam);
dart_ret_t dart_team_clone(dart_team_t team, dart_team_t *newteam);

/* Collective over the team; its memory goes with it, *team becomes DART_TEAM_NULL. DART_ERR_INVAL: DART_TEAM_ALL */
dart_ret_t dart_team_destroy(dart_team_t *team);

dart_ret_t dart_team_myid(dart_team_t team, dart_team_unit_t *myid);
dart_ret_t dart_team_size(dart_team_t team, size_t *size);
dart_ret_t dart_myid(dart_global_unit_t *myid);
dart_ret_t dart_size(size_t *size);

/* g2l of a unit of the job that is not in the team: DART_UNDEFINED_UNIT_ID */
dart_ret_t dart_team_unit_l2g(dart_team_t team, dart_team_unit_t localid, dart_global_unit_t *globalid);
dart_ret_t dart_team_unit_g2l(dart_team_t team, dart_global_unit_t globalid, dart_team_unit_t *localid);

#ifdef __cplusplus
}
#endif
#endif
