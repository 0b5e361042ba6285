/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_initialization.h - start and end */
#ifndef DART_INITIALIZATION_H_
#define DART_INITIALIZATION_H_

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dart_init, dart_init_thread - start
 * @argc, @argv: those of main, or NULL
 * @thread_safety: out: DART_THREAD_MULTIPLE where MPI gives it, else DART_THREAD_SINGLE
 *
 * Collective over the job, before any other call. Starts MPI where it is not started yet.
 *
 * Return: DART_OK; DART_ERR_INVAL: started already, or a DART_ variable makes no sense (a line on stderr says which);
 * DART_ERR_NOMEM; DART_ERR_OTHER
 */
dart_ret_t dart_init(int *argc, char ***argv);
dart_ret_t dart_init_thread(int *argc, char ***argv, dart_thread_support_level_t *thread_safety);

/* Collective over the job. Frees all teams and global memory; ends MPI where dart_init() has started it. */
dart_ret_t dart_exit(void);

bool dart_initialized(void);

/* Ends the whole job at once. Does not return. */
void dart_abort(int errorcode) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif
