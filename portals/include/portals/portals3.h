/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals/portals3.h - Portals 3.3 as programs for the XT know it: this header is all they need
 *
 * With <portals/p3nal_utcp.h> or <portals/p3nal_ibng.h>, before or after, and after <portals3.h>, it is the reference
 * implementation's.
 */
#ifndef PORTALS_PORTALS3_H
#define PORTALS_PORTALS3_H

#if !defined(P3_REFERENCE_RULES) && !defined(PORTALS3_H)
#define P3_XT_RULES 1
#endif

#include <p3api/types.h>
#include <p3api/api.h>
#include <p3api/misc.h>
#include <portals/nal.h>
#include <portals/p3api/debug.h>
#ifdef P3_XT_RULES
#include <portals/xt.h>
#endif

#endif
