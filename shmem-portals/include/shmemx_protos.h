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

/*
 * A put, and then a value for a variable of the same PE: whoever sees the value sees the data. nb: the source may be
 * written again behind the next quiet.
 */
#define SHMEMIX_PUT_SIGNAL(NAME, T)								\
	void SHMEMIX_(NAME)(T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int pe);
#define SHMEMIX_SIGNAL(N, T) SHMEMIX_PUT_SIGNAL(N##_put_signal, T) SHMEMIX_PUT_SIGNAL(N##_put_signal_nb, T)
#define SHMEMIX_SIGNAL_SIZE(S)									\
	SHMEMIX_PUT_SIGNAL(put##S##_signal, void) SHMEMIX_PUT_SIGNAL(put##S##_signal_nb, void)
SHMEMI_TYPES_RMA(SHMEMIX_SIGNAL)
SHMEMIX_SIGNAL_SIZE(8)
SHMEMIX_SIGNAL_SIZE(16)
SHMEMIX_SIGNAL_SIZE(32)
SHMEMIX_SIGNAL_SIZE(64)
SHMEMIX_SIGNAL_SIZE(128)
SHMEMIX_SIGNAL_SIZE(mem)
#undef SHMEMIX_SIGNAL_SIZE
#undef SHMEMIX_SIGNAL
#undef SHMEMIX_PUT_SIGNAL
void SHMEMIX_(signal_set)(uint64_t *sig_addr, uint64_t signal, int pe);
void SHMEMIX_(ctx_signal_set)(shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe);

/* What the operations until the next stop will be: hints, or-able, that say nothing here. */
#define SHMEM_SESSION_BUNDLE		1l
#define SHMEM_SESSION_HRP		2l
#define SHMEM_SESSION_STAMO		4l
#define SHMEM_SESSION_NO_CNCR_TACCESS	8l
#define SHMEM_SESSION_OP_PUT		16l
#define SHMEM_SESSION_OP_AMO		32l
#define SHMEM_SESSION_OP_FAMO		64l
#define SHMEM_SESSION_OP_PWS		128l
#define SHMEM_SESSION_DC		256l
#define SHMEM_SESSION_UNIFORM_AMO	512l
#define SHMEM_SESSION_UNIFORM_PUT	1024l
void SHMEMIX_(session_start)(shmem_ctx_t ctx, long options);
void SHMEMIX_(session_stop)(shmem_ctx_t ctx);

/* Atomic operations with a handle, which says nothing: as shmem_long_fadd_nb() and so on, for more types. */
#define SHMEMIX_SWAP_NB(N, T)									\
	void SHMEMIX_(N##_swap_nb)(T *fetch, T *dest, T value, int pe, void **handle);
#define SHMEMIX_AMO_NB(N, T)									\
	void SHMEMIX_(N##_add_nb)(T *dest, T value, int pe, void **handle);			\
	void SHMEMIX_(N##_inc_nb)(T *dest, int pe, void **handle);				\
	void SHMEMIX_(N##_fadd_nb)(T *fetch, T *dest, T value, int pe, void **handle);		\
	void SHMEMIX_(N##_finc_nb)(T *fetch, T *dest, int pe, void **handle);			\
	void SHMEMIX_(N##_cswap_nb)(T *fetch, T *dest, T cond, T value, int pe, void **handle);
SHMEMI_TYPES_AMO_EXT(SHMEMIX_SWAP_NB)
SHMEMI_TYPES_AMO(SHMEMIX_AMO_NB)
SHMEMIX_SWAP_NB(short, short)
SHMEMIX_AMO_NB(short, short)
#undef SHMEMIX_AMO_NB
#undef SHMEMIX_SWAP_NB

/*
 * Teams, as Cray's library had them first. A wrong argument ends the job; who is in no new team gets SHMEM_TEAM_NULL.
 * All members of the parent call what splits it (of create_strided all PEs).
 *
 * create_strided: PEs start + i * stride of the world. split, split_color: the members with the same @color, ordered by
 * @key, those with the same key as in the parent. split_2d, 3d: member x + xrange * (y + yrange * z) stands at
 * (x, y, z); its teams are the lines through it; those beyond the space are in none. destroy: *team becomes
 * SHMEM_TEAM_NULL.
 */
#define SHMEM_TEAM_NULL		SHMEM_TEAM_INVALID
#define SHMEM_TEAM_NODE		SHMEM_TEAM_SHARED
#define SHMEM_COLOR_UNDEFINED	(-1)
int SHMEMIX_(team_my_pe)(shmem_team_t team);
int SHMEMIX_(team_n_pes)(shmem_team_t team);
int SHMEMIX_(team_translate_pe)(shmem_team_t team, int pe, shmem_team_t dest_team);
int SHMEMIX_(team_get_config)(shmem_team_t team, long config_mask, shmem_team_config_t *config);
int SHMEMIX_(team_ctx_create)(shmem_team_t team, long options, shmem_ctx_t *ctx);
int SHMEMIX_(ctx_get_team)(shmem_ctx_t ctx, shmem_team_t *team);
void SHMEMIX_(team_create_strided)(int start, int stride, int size, shmem_team_t *new_team);
void SHMEMIX_(team_split_strided)(shmem_team_t parent, int start, int stride, int size, shmem_team_t *new_team);
void SHMEMIX_(team_split_2d)(shmem_team_t parent, int xrange, int yrange, shmem_team_t *xaxis_team,
			     shmem_team_t *yaxis_team);
void SHMEMIX_(team_split_3d)(shmem_team_t parent, int xrange, int yrange, int zrange, shmem_team_t *xaxis_team,
			     shmem_team_t *yaxis_team, shmem_team_t *zaxis_team);
void SHMEMIX_(team_split)(shmem_team_t parent, int color, int key, shmem_team_t *new_team);
void SHMEMIX_(team_split_color)(shmem_team_t parent, int color, int key, shmem_team_t *new_team);
void SHMEMIX_(team_destroy)(shmem_team_t *team);
void SHMEMIX_(team_barrier)(shmem_team_t team, long *pSync);

/*
 * Each PE has @s_sizes[i] bytes for member i, at @source + @s_offsets[i], and finds those of member i at @target +
 * @t_offsets[i]; @t_sizes[i] says then how many they are. packed: one behind the other, in no certain order; *@t_size
 * is their sum. @source, @s_offsets and @s_sizes are symmetric; pSync is not used. All may be used again when the call
 * returns. More than @target_len ends the job; so do, with SHMEM_ALLTOALLV_TSIZE_CHK=abort, more from member i than
 * @t_sizes[i] says at the call; with =trunc the rest is left out in both.
 */
void SHMEMIX_(alltoallv)(void *target, size_t *t_offsets, size_t *t_sizes, const void *source, size_t *s_offsets,
			 size_t *s_sizes, int PE_start, int logPE_stride, int PE_size, long *pSync);
void SHMEMIX_(alltoallv_packed)(void *target, size_t target_len, size_t *t_size, const void *source,
				size_t *s_offsets, size_t *s_sizes, int PE_start, int logPE_stride, int PE_size,
				long *pSync);
void SHMEMIX_(team_alltoallv)(void *target, size_t *t_offsets, size_t *t_sizes, const void *source, size_t *s_offsets,
			      size_t *s_sizes, shmem_team_t team, long *pSync);
void SHMEMIX_(team_alltoallv_packed)(void *target, size_t target_len, size_t *t_size, const void *source,
				     size_t *s_offsets, size_t *s_sizes, shmem_team_t team, long *pSync);

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
