/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_communication.h - collectives, one-sided operations */
#ifndef DART_COMMUNICATION_H_
#define DART_COMMUNICATION_H_

#include <dash/dart/if/dart_types.h>
#include <dash/dart/if/dart_globmem.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Collectives over a team; root is a relative number. They block. A barrier is not a flush. DART_ERR_INVAL: no such
 * team here, no such root. scatter, gather and allgather: @nbytes for each unit; send of scatter and recv of gather
 * matter at the root alone. dart_reduce_double: the maximum of one double of each, to relative unit 0.
 */
dart_ret_t dart_barrier(dart_team_t teamid);
dart_ret_t dart_bcast(void *buf, size_t nbytes, dart_unit_t root, dart_team_t teamid);
dart_ret_t dart_scatter(void *sendbuf, void *recvbuf, size_t nbytes, dart_unit_t root, dart_team_t teamid);
dart_ret_t dart_gather(void *sendbuf, void *recvbuf, size_t nbytes, dart_unit_t root, dart_team_t teamid);
dart_ret_t dart_allgather(void *sendbuf, void *recvbuf, size_t nbytes, dart_team_t teamid);
dart_ret_t dart_reduce_double(double *sendbuf, double *recvbuf, dart_team_t teamid);

/**
 * dart_handle_t - a put or get under way
 *
 * Over when a wait, or a test that says 1, has returned; it must not be used afterwards. DART_HANDLE_NULL is over.
 */
typedef struct dart_handle_struct *dart_handle_t;
#define DART_HANDLE_NULL ((dart_handle_t)NULL)

/*
 * One-sided operations, of @nbytes >= 0. DART_ERR_INVAL, and nothing is moved: no such segment here, a segment of
 * another team than the pointer is of, no such unit, beyond the end. To units on the node they are copies made at
 * once, in all forms; else:
 *
 *	get, put		over after a flush of that segment and unit; the buffer must stay until then
 *	.._handle		over after a wait or test of the handle
 *	.._blocking		over on return: a put is in the memory of the other unit, a get has the bytes
 *
 * Two puts are in no order without a flush between them.
 */
dart_ret_t dart_get(void *dest, dart_gptr_t gptr, size_t nbytes);
dart_ret_t dart_put(dart_gptr_t gptr, void *src, size_t nbytes);
dart_ret_t dart_get_handle(void *dest, dart_gptr_t gptr, size_t nbytes, dart_handle_t *handle);
dart_ret_t dart_put_handle(dart_gptr_t gptr, void *src, size_t nbytes, dart_handle_t *handle);
dart_ret_t dart_get_blocking(void *dest, dart_gptr_t gptr, size_t nbytes);
dart_ret_t dart_put_blocking(dart_gptr_t gptr, void *src, size_t nbytes);

/*
 * @nelem ints at @gptr each become "int OP value", atomically towards other dart_accumulate_int() of the same
 * segment. As a put: over after a flush. DART_ERR_INVAL: also when @gptr is not aligned to an int, or of another team
 * than @team.
 */
dart_ret_t dart_accumulate_int(dart_gptr_t gptr, int *values, size_t nelem, dart_operation_t op, dart_team_t team);

/*
 * Wait until what this unit has begun is over: with the unit and segment of @gptr, or (_all) with every unit of that
 * segment. _local: only until the buffers may be used again. Block; DART_ERR_INVAL: no such segment, unit.
 */
dart_ret_t dart_flush(dart_gptr_t gptr);
dart_ret_t dart_flush_all(dart_gptr_t gptr);
dart_ret_t dart_flush_local(dart_gptr_t gptr);
dart_ret_t dart_flush_local_all(dart_gptr_t gptr);

/* Block until the operation is over here and there, _local: here. test: *result is 1 when it is, else 0. */
dart_ret_t dart_wait(dart_handle_t handle);
dart_ret_t dart_waitall(dart_handle_t *handle, size_t n);
dart_ret_t dart_wait_local(dart_handle_t handle);
dart_ret_t dart_waitall_local(dart_handle_t *handle, size_t n);
dart_ret_t dart_test_local(dart_handle_t handle, int32_t *result);
/* *result is 1 when all are over; those that are become DART_HANDLE_NULL in the array, as by waitall */
dart_ret_t dart_testall_local(dart_handle_t *handle, size_t n, int32_t *result);

#ifdef __cplusplus
}
#endif
#endif
