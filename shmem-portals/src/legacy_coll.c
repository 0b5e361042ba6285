/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * legacy_coll.c - older names of collectives: elements of 64 bits where the name has no size, and of 128
 *
 * An element of 128 bits is two of 64.
 */
#include "shmemi.h"

#define MOVE(NAME, OF, TIMES)									\
	void pshmem_##NAME(void *dest, const void *source, size_t n, int start, int log_stride, int size, long *psync) \
	{											\
		pshmem_##OF(dest, source, shmemi_bytes("shmem_" #NAME, n, 8 * TIMES) / 8, start, log_stride,	\
			    size, psync);							\
	}											\
	SHMEMI_ALIAS(NAME);
#define BROADCAST(NAME, TIMES)									\
	void pshmem_##NAME(void *dest, const void *source, size_t n, int root, int start, int log_stride, int size, \
			   long *psync)								\
	{											\
		pshmem_broadcast64(dest, source, shmemi_bytes("shmem_" #NAME, n, 8 * TIMES) / 8, root, start,	\
				   log_stride, size, psync);					\
	}											\
	SHMEMI_ALIAS(NAME);
BROADCAST(broadcast, 1)
BROADCAST(broadcast128, 2)
MOVE(collect, collect64, 1)
MOVE(collect128, collect64, 2)
MOVE(fcollect, fcollect64, 1)
MOVE(fcollect128, fcollect64, 2)
MOVE(alltoall, alltoall64, 1)
MOVE(alltoall128, alltoall64, 2)
