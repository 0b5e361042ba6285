/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/p3api/misc.h - the reference's header, below portals/ */
#ifndef PORTALS_P3API_MISC_H
#define PORTALS_P3API_MISC_H

#include <p3api/misc.h>

#endif
