/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_synchronization.h - locks */
#ifndef DART_SYNCHRONIZATION_H_
#define DART_SYNCHRONIZATION_H_

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Mutual exclusion of the units of a team, first come, first served. It is freed before its team is destroyed: of a
 * lock whose team is gone every call is DART_ERR_INVAL. A unit that ends while it has the lock leaves the others
 * waiting.
 */
typedef struct dart_lock_struct *dart_lock_t;
#define DART_LOCK_NULL ((dart_lock_t)NULL)

/* Collective. DART_ERR_INVAL: no such team here; of _free: not a lock of that team's, or one holds it */
dart_ret_t dart_team_lock_init(dart_team_t teamid, dart_lock_t *lock);
dart_ret_t dart_team_lock_free(dart_team_t teamid, dart_lock_t *lock);	/* *lock becomes DART_LOCK_NULL */

/* Blocks until it is ours. DART_ERR_INVAL: it is already; DART_LOCK_NULL */
dart_ret_t dart_lock_acquire(dart_lock_t lock);
/* *result: 1: it is ours now, 0: somebody has it. DART_ERR_INVAL: we do; DART_LOCK_NULL */
dart_ret_t dart_lock_try_acquire(dart_lock_t lock, int32_t *result);
/* DART_ERR_INVAL: it is not ours. What was put before is flushed by the caller. */
dart_ret_t dart_lock_release(dart_lock_t lock);

#ifdef __cplusplus
}
#endif
#endif
