/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/defines.h - constants of the XT's headers */
#ifndef PORTALS_DEFINES_H
#define PORTALS_DEFINES_H

#include <portals/portals3.h>

#endif
