/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals/nal.h - interface numbers of the XT: a bridge (who makes the system calls) and a network
 *
 * Whatever its number, it is the one interface that there is; but the number says that the program follows the rules of the
 * XT (see <portals/xt.h>). CRAY_ACCEL is the accelerated mode: its processes live at their pid plus
 * ACCEL_PTLS_PID_SPACE_OFFSET. Plain constants: programs compare them in #if.
 */
#ifndef PORTALS_NAL_H
#define PORTALS_NAL_H

#include <p3api/types.h>

#define PTL_BRIDGE_K	1
#define PTL_BRIDGE_QK	2
#define PTL_BRIDGE_UK	3

#define PTL_IFACE_SS		1
#define PTL_IFACE_SS_ACCEL	2

#define IFACE_FROM_BRIDGE_AND_NALID(bridge, nalid)	(0xc0000000U | (bridge) << 16 | ((nalid) & 0xffffU))
#define NALID_FROM_IFACE(iface)				((iface) & 0xffffU)
#define BRIDGE_FROM_IFACE(iface)			((iface) >> 16 & 0xffU)

#define CRAY_KERN_NAL	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_K, PTL_IFACE_SS)
#define CRAY_QK_NAL	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_QK, PTL_IFACE_SS)
#define CRAY_UK_SSNAL	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_UK, PTL_IFACE_SS)
#define CRAY_USER_NAL	CRAY_UK_SSNAL
#define CRAY_ACCEL	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_QK, PTL_IFACE_SS_ACCEL)

#define ACCEL_PTLS_PID_SPACE_OFFSET	4096

#if defined(P3_XT_RULES) && !defined(P3_NAL_CHOSEN)
#undef PTL_IFACE_DEFAULT
#define PTL_IFACE_DEFAULT	0xc0000000U
#endif

#endif
