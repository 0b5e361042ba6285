/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals3.h - Portals 3.3, the names of the specification and of the reference implementation
 *
 * Programs for the XT include <portals/portals3.h>, which has its names and rules.
 */
#ifndef PORTALS3_H
#define PORTALS3_H

#include <p3api/types.h>
#include <p3api/api.h>
#include <p3api/misc.h>
#include <p3api/debug.h>

#endif
