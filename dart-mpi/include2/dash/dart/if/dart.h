/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart.h - DART, a runtime for a partitioned global address space; interface 3.2
 *
 * Units (processes) in teams allocate global memory and reach it by global pointers, without the owner's help. All
 * calls return DART_OK or a reason; outputs are written on DART_OK only. Unless it says otherwise a call is
 * DART_ERR_NOTINIT outside of dart_init() and dart_exit(), DART_ERR_INVAL for a NULL or meaningless argument, and
 * DART_ERR_OTHER where memory or MPI fails (a line on stderr says which). This interface is for one thread.
 * "Collective" calls are made by all units of a team in the same order, and may block until all have come.
 */
#ifndef DART_DART_H_
#define DART_DART_H_

#define DART_INTERFACE_VERSION_STRING "3.2"

#include <dash/dart/if/dart_types.h>
#include <dash/dart/if/dart_initialization.h>
#include <dash/dart/if/dart_team_group.h>
#include <dash/dart/if/dart_globmem.h>
#include <dash/dart/if/dart_communication.h>
#include <dash/dart/if/dart_synchronization.h>

#endif
