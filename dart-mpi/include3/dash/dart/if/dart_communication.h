/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_communication.h - types, operations, collectives, one-sided operations, messages */
#ifndef DART_COMMUNICATION_H_
#define DART_COMMUNICATION_H_

#include <dash/dart/if/dart_types.h>
#include <dash/dart/if/dart_globmem.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Made types. They are for put and get only; a count is one of elements of the base type, and a multiple of what the
 * type has. strided: blocks of @blocklen elements, each @stride elements after the start of the one before (no less
 * than @blocklen, which is 1 at least). indexed: @count blocks, each with length and offset in elements; the next
 * repetition begins where the farthest ends. custom: @num_bytes of the program's as one element, also for collectives
 * and memory. Destroy: not while operations with it are under way.
 */
dart_ret_t dart_type_create_strided(dart_datatype_t basetype, size_t stride, size_t blocklen, dart_datatype_t *newtype);
dart_ret_t dart_type_create_indexed(dart_datatype_t basetype, size_t count, const size_t blocklen[],
				    const size_t offset[], dart_datatype_t *newtype);
dart_ret_t dart_type_create_custom(size_t num_bytes, dart_datatype_t *newtype);
dart_ret_t dart_type_destroy(dart_datatype_t *dart_type);	/* becomes DART_TYPE_UNDEFINED */

/* An operation for dart_reduce() and dart_allreduce() on elements of @dtype: inout = in OP inout. @dtype_is_tmp:
 * @dtype is custom and goes with the operation. */
typedef void (*dart_operator_t)(const void *invec, void *inoutvec, size_t len, void *userdata);
dart_ret_t dart_op_create(dart_operator_t op, void *user_data, bool commute, dart_datatype_t dtype, bool dtype_is_tmp,
			  dart_operation_t *new_op);
dart_ret_t dart_op_destroy(dart_operation_t *op);		/* becomes DART_OP_UNDEFINED */

/* Collectives of a team. A barrier is not a flush. Counts are of one unit's part; may exceed an int. */
dart_ret_t dart_barrier(dart_team_t team);
dart_ret_t dart_bcast(void *buf, size_t nelem, dart_datatype_t dtype, dart_team_unit_t root, dart_team_t team);
dart_ret_t dart_scatter(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_team_unit_t root,
			dart_team_t team);
dart_ret_t dart_gather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_team_unit_t root,
		       dart_team_t team);
dart_ret_t dart_allgather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_team_t team);
/* counts and displacements below 2^31 */
dart_ret_t dart_allgatherv(const void *sendbuf, size_t nsendelem, dart_datatype_t dtype, void *recvbuf,
			   const size_t *nrecvelem, const size_t *recvdispls, dart_team_t team);
dart_ret_t dart_alltoall(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_team_t team);
/* @sendbuf may be @recvbuf */
dart_ret_t dart_allreduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_operation_t op,
			  dart_team_t team);
dart_ret_t dart_reduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t dtype, dart_operation_t op,
		       dart_team_unit_t root, dart_team_t team);

/*
 * Atomic element by element, towards other operations of these on the same type. Not DART_OP_MINMAX, no operation of
 * the program's. DART_ERR_INVAL: also where @gptr is not aligned to the type. Over after a flush: then the old value
 * is in
 * @result. _blocking_local: @values may be used again on return.
 */
dart_ret_t dart_accumulate(dart_gptr_t gptr, const void *values, size_t nelem, dart_datatype_t dtype,
			   dart_operation_t op);
dart_ret_t dart_accumulate_blocking_local(dart_gptr_t gptr, const void *values, size_t nelem, dart_datatype_t dtype,
					  dart_operation_t op);
dart_ret_t dart_fetch_and_op(dart_gptr_t gptr, const void *value, void *result, dart_datatype_t dtype,
			     dart_operation_t op);
/* whole numbers only */
dart_ret_t dart_compare_and_swap(dart_gptr_t gptr, const void *value, const void *compare, void *result,
				 dart_datatype_t dtype);

/* A put or get under way; becomes DART_HANDLE_NULL when a wait or test has found it over. */
typedef struct dart_handle_struct *dart_handle_t;
#define DART_HANDLE_NULL ((dart_handle_t)NULL)

/*
 * One-sided. The two types may differ in shape, not in base. DART_ERR_INVAL, and nothing is moved: no such segment,
 * unit, beyond the end, types that do not fit each other or @nelem. On the node they are copies made at once in all
 * forms; else get and put are over after a flush, _handle after a wait or test, _blocking on return.
 */
dart_ret_t dart_get(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type, dart_datatype_t dst_type);
dart_ret_t dart_put(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
		    dart_datatype_t dst_type);
dart_ret_t dart_get_handle(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
			   dart_datatype_t dst_type, dart_handle_t *handle);
dart_ret_t dart_put_handle(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
			   dart_datatype_t dst_type, dart_handle_t *handle);
dart_ret_t dart_get_blocking(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
			     dart_datatype_t dst_type);
dart_ret_t dart_put_blocking(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
			     dart_datatype_t dst_type);

/* What this unit has begun on that segment is over afterwards: with that unit, _all: with all; _local: only here. */
dart_ret_t dart_flush(dart_gptr_t gptr);
dart_ret_t dart_flush_all(dart_gptr_t gptr);
dart_ret_t dart_flush_local(dart_gptr_t gptr);
dart_ret_t dart_flush_local_all(dart_gptr_t gptr);

/*
 * test: *is_finished 1 or 0; of testall 1 when all are. dart_test and dart_testall of a put to another node wait for
 * its answer once the source may be used again. free: forget it, after waiting for it.
 */
dart_ret_t dart_wait(dart_handle_t *handle);
dart_ret_t dart_waitall(dart_handle_t handles[], size_t n);
dart_ret_t dart_wait_local(dart_handle_t *handle);
dart_ret_t dart_waitall_local(dart_handle_t handles[], size_t n);
dart_ret_t dart_test(dart_handle_t *handle, int32_t *is_finished);
dart_ret_t dart_test_local(dart_handle_t *handle, int32_t *is_finished);
dart_ret_t dart_testall(dart_handle_t handles[], size_t n, int32_t *is_finished);
dart_ret_t dart_testall_local(dart_handle_t handles[], size_t n, int32_t *is_finished);
dart_ret_t dart_handle_free(dart_handle_t *handle);

/* Messages, in order. Block until the buffer may be used again, the message is there. @tag: 0 to 32767 */
dart_ret_t dart_send(const void *sendbuf, size_t nelem, dart_datatype_t dtype, int tag, dart_global_unit_t unit);
dart_ret_t dart_recv(void *recvbuf, size_t nelem, dart_datatype_t dtype, int tag, dart_global_unit_t unit);
dart_ret_t dart_sendrecv(const void *sendbuf, size_t send_nelem, dart_datatype_t send_dtype, int send_tag,
			 dart_global_unit_t dest, void *recvbuf, size_t recv_nelem, dart_datatype_t recv_dtype,
			 int recv_tag, dart_global_unit_t src);

#ifdef __cplusplus
}
#endif
#endif
