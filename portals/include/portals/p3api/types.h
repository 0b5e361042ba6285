/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/p3api/types.h - the reference's header, below portals/ */
#ifndef PORTALS_P3API_TYPES_H
#define PORTALS_P3API_TYPES_H

#include <p3api/types.h>

#endif
