/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_initialization.h - start and end */
#ifndef DART_INITIALIZATION_H_
#define DART_INITIALIZATION_H_

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * dart_init - start
 * @argc, @argv: those of main, or NULL
 *
 * Collective over the job, before any other call. Starts MPI where it is not started yet.
 *
 * Return: DART_OK; DART_ERR_INVAL: started already, or a DART_ variable makes no sense (a line on stderr says which);
 * DART_ERR_OTHER
 */
dart_ret_t dart_init(int *argc, char ***argv);

/**
 * dart_exit - end
 *
 * Collective over the job. Frees every team and all global memory. Ends MPI where dart_init() has started it; DART can
 * be started again only where it has not.
 *
 * Return: DART_OK; DART_ERR_NOTINIT; DART_ERR_OTHER
 */
dart_ret_t dart_exit(void);

/**
 * dart_initialized - between dart_init() and dart_exit()?
 *
 * Return: 1 or 0.
 */
char dart_initialized(void);

#ifdef __cplusplus
}
#endif
#endif
