/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* p30.h - the name of Portals before 3.3, as on the XT */
#ifndef P30_H
#define P30_H

#include <portals/portals3.h>

#endif
