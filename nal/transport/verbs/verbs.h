/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * verbs.h - frames between the processes of a job over RDMA: libibverbs, reliable connections
 *
 * verbs_start() takes a started struct tcp over (transport.h): its callbacks are called from here, and frames go over a
 * queue pair with each process that has a device, over TCP with each that has none. The library is loaded when it is
 * asked for; whoever does not ask does not need it.
 */
#ifndef VERBS_H
#define VERBS_H

#include "transport/transport.h"

/*
 * Of @len bytes of a user at @at: a number that changes as soon as they may stand in other pages; 0: that is not known,
 * or they are not there. See vb_reg.c.
 */
typedef uint64_t verbs_stamp(void *ctx, const void *at, size_t len);

/*
 * 0: @n is this transport now, and @why says by which device; or, unless @must, why by none: then all goes by TCP, as
 * agreed with each of the others. -1, @why: no device, and @must. After tcp_start(). @iface: a network device, whose
 * card is to be used; "any". @stamp: or NULL, with the
 * context of the struct tcp_user.
 */
#ifdef HAVE_VERBS
int verbs_start(struct transport *n, struct tcp *t, const char *iface, bool must, verbs_stamp *stamp, char *why,
		size_t len);
#else
#include <stdio.h>

static inline int verbs_start(struct transport *n, struct tcp *t, const char *iface, bool must, verbs_stamp *stamp,
			      char *why, size_t len)
{
	snprintf(why, len, "libibverbs was missing when this was built (Debian: libibverbs-dev)");
	return must ? -1 : 0;
}
#endif

#endif
