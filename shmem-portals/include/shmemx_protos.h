/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * shmemx_protos.h - extensions, most of them Cray's, once for shmemx_ (<shmemx.h>) and once for pshmemx_ (<pshmemx.h>)
 *
 * Not for inclusion by programs; hence no guard.
 */
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* The thread calls of one argument, as they were before OpenSHMEM 1.4: the level that is provided. */
int SHMEMIX_(init_thread)(int level);
int SHMEMIX_(query_thread)(void);

/* 0: a block of the symmetric heap begins at ptr; -3: it is not in the heap, -4: in free space, -5: inside a block. */
int SHMEMIX_(heap_status)(const void *ptr);

/*
 * A thread that communicates may say so; no call needs it. fence and quiet of a thread are those of the process:
 * another thread's stores are ordered by whatever ordered the threads.
 */
void SHMEMIX_(thread_register)(void);
void SHMEMIX_(thread_unregister)(void);
void SHMEMIX_(thread_fence)(void);
void SHMEMIX_(thread_quiet)(void);

/* All sources may be reused; what was put to one PE is seen there. */
void SHMEMIX_(local_complete)(void);
void SHMEMIX_(pe_quiet)(int pe);

/* As put_nbi and get_nbi. */
#define SHMEMIX_NB(N, T)									\
	void SHMEMIX_(N##_put_nb)(T *dest, const T *source, size_t nelems, int pe);		\
	void SHMEMIX_(N##_get_nb)(T *dest, const T *source, size_t nelems, int pe);
SHMEMI_TYPES_RMA(SHMEMIX_NB)
#undef SHMEMIX_NB

/* A put, and then a value for a variable of the same PE: whoever sees the value sees the data. */
#define SHMEMIX_SIGNAL(N, T)									\
	void SHMEMIX_(N##_put_signal)(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, \
				      uint64_t signal, int pe);
SHMEMI_TYPES_RMA(SHMEMIX_SIGNAL)
#undef SHMEMIX_SIGNAL

/* As shmem_short_add() and so on. */
short SHMEMIX_(short_swap)(short *dest, short value, int pe);
short SHMEMIX_(short_cswap)(short *dest, short cond, short value, int pe);
short SHMEMIX_(short_fadd)(short *dest, short value, int pe);
short SHMEMIX_(short_finc)(short *dest, int pe);
void SHMEMIX_(short_add)(short *dest, short value, int pe);
void SHMEMIX_(short_inc)(short *dest, int pe);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
