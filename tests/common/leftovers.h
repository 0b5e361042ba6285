/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * leftovers.h - what a test program left on the machine: processes, shared memory files, unix sockets
 */
#ifndef T_LEFTOVERS_H
#define T_LEFTOVERS_H

#include <stdio.h>
#include <sys/types.h>

struct leftovers;

/* Remember what is there now. NULL: no memory. */
struct leftovers *leftovers_before(void);

/*
 * Name on @out everything that is new, ours and held by no living process; what is being taken away has @seconds for
 * it. Returns how many. What belongs to a process that is not a descendant of ours is somebody else's (the machine
 * need not be idle) and left out. To be called when all descendants have ended.
 */
int leftovers_after(const struct leftovers *before, double seconds, FILE *out);

/* Call @fn for each living descendant of ours (the caller is their subreaper). Returns how many. */
int leftovers_descendants(void (*fn)(pid_t pid, void *arg), void *arg);

#endif
