/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/p3rt/p3rt.h - the reference's header, below portals/ */
#ifndef PORTALS_P3RT_P3RT_H
#define PORTALS_P3RT_P3RT_H

#include <p3rt/p3rt.h>

#endif
