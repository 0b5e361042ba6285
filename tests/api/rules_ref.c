/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * rules_ref.c - the rules of the reference implementation, from its headers below portals/ in the order that programs have:
 * portals3.h first, and then the header that says which implementation it is
 */
#include <stddef.h>
#include <portals/portals3.h>
#include <portals/p3nal_utcp.h>
#include <portals/p3api/debug.h>
#include <portals/p3rt/p3rt.h>

#ifdef PTL_MD_EVENT_AUTO_UNLINK_ENABLE
#error "a name of the XT"
#endif
#define T_RULES		rules_ref
#define T_NAME		"reference"
#define T_XT		0
#define T_UNLINK_EVENT	0
#define T_MANUAL_EVENT	0
#define T_ANY_PID	PTL_PID_ANY
#define T_NO_ACK	PTL_NO_ACK_REQ
#include "rules.h"
