/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals.h - the name that the examples in the specification include */
#ifndef PORTALS_H
#define PORTALS_H

#include <portals3.h>

#endif
