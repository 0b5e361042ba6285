/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/p3/errno.h - the reference's header, below portals/ */
#ifndef PORTALS_P3_ERRNO_H
#define PORTALS_P3_ERRNO_H

#include <p3/errno.h>

#endif
