/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/p3api/api.h - the reference's header, below portals/ */
#ifndef PORTALS_P3API_API_H
#define PORTALS_P3API_API_H

#include <p3api/api.h>

#endif
