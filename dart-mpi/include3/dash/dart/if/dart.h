/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart.h - DART, a runtime for a partitioned global address space; the typed interface
 *
 * Units (processes) in teams allocate global memory and reach it by global pointers, without the owner's help.
 * Lengths are counts of elements of a type. All calls return DART_OK or a reason; outputs are written on DART_OK
 * only. Unless it says otherwise a call is DART_ERR_NOTINIT outside of dart_init() and dart_exit(), DART_ERR_INVAL
 * for a NULL or meaningless argument, DART_ERR_NOMEM without memory, and DART_ERR_OTHER where MPI fails (a line on
 * stderr says with what). "Collective" calls are made by all units of a team in the same order, and may block until
 * all have come.
 *
 * Threads: after dart_init_thread() has given DART_THREAD_MULTIPLE all calls may come from several threads,
 * collective ones of one team from one at a time; groups, types, operations and locality objects are not to be
 * changed by two at once.
 */
#ifndef DART_DART_H_
#define DART_DART_H_

#define DART_INTERFACE_VERSION_STRING "4.0"

#include <dash/dart/if/dart_types.h>
#include <dash/dart/if/dart_config.h>
#include <dash/dart/if/dart_initialization.h>
#include <dash/dart/if/dart_team_group.h>
#include <dash/dart/if/dart_globmem.h>
#include <dash/dart/if/dart_communication.h>
#include <dash/dart/if/dart_synchronization.h>
#include <dash/dart/if/dart_locality.h>

#endif
