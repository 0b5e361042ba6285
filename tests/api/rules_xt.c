/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* rules_xt.c - the rules of the XT; its programs define what its headers lack, and that process ids have 16 bits */
#include <stddef.h>
#include <portals/portals3.h>

#define PTL_EQ_HANDLER_NONE NULL
#define	PTL_NO_ACK_REQ	PTL_NOACK_REQ
#undef PTL_PID_ANY
#define PTL_PID_ANY 0xFFFF
#define PtlErrorStr(x) ptl_err_str[x]
extern const char *ptl_event_str[];	/* as they did: the XT's headers had it not */

#define T_RULES		rules_xt
#define T_NAME		"XT"
#define T_XT		1
#define T_UNLINK_EVENT	(PTL_MD_FLAG_AUTO_UNLINK | PTL_MD_EVENT_AUTO_UNLINK_ENABLE)
#define T_MANUAL_EVENT	PTL_MD_EVENT_MANUAL_UNLINK_ENABLE
#define T_ANY_PID	PTL_PID_ANY
#define T_NO_ACK	PTL_NO_ACK_REQ
#include "rules.h"
