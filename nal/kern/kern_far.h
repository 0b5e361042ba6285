/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* kern_far.h - an interface in the kernel, and the other nodes of its job */
#ifndef KERN_FAR_H
#define KERN_FAR_H

#include "nal.h"

struct kern_far;

/*
 * Bind the interface behind @fd to the module's Ethernet device, tell the others and hear of them; collective over
 * the job. @node: what the start on our node came to, PTL_PID_INVALID too: then the others learn that we have no
 * interface. PTL_OK and *@out; @node; or a code, which has been logged.
 */
int kern_far_open(struct nal_ni *ni, int fd, uint32_t pid, int node, struct kern_far **out);
/* Until what is under way has arrived, and everybody has heard of us. */
void kern_far_drain(struct kern_far *f);
void kern_far_close(struct kern_far *f);	/* @f may be NULL */
/* Place of @id among those of other nodes, in the order of ranks; or -1. */
int kern_far_find(const struct kern_far *f, ptl_process_id_t id);
ptl_process_id_t kern_far_id(const struct kern_far *f, uint32_t place);

#endif
