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

/**
 * PTL_BRIDGE_K, PTL_BRIDGE_QK, PTL_BRIDGE_UK, PTL_IFACE_SS, PTL_IFACE_SS_ACCEL, IFACE_FROM_BRIDGE_AND_NALID,
 * NALID_FROM_IFACE, BRIDGE_FROM_IFACE, CRAY_KERN_NAL, CRAY_QK_NAL, CRAY_UK_SSNAL, CRAY_USER_NAL, CRAY_ACCEL,
 * ACCEL_PTLS_PID_SPACE_OFFSET - interface numbers of the XT
 *
 * A number has a bridge (who makes the system calls) and a network. Whatever it is, it is the one interface that
 * there is; but it says that the program follows the rules of the XT, and a second PtlNIInit answers PTL_IFACE_DUP.
 *
 * Source: The XT's.
 * See: PtlNIInit, portals-xt(7)
 */
#define PTL_BRIDGE_K	1	/* bridge of kernel programs */
#define PTL_BRIDGE_QK	2	/* bridge of Catamount's quintessential kernel */
#define PTL_BRIDGE_UK	3	/* bridge of user programs on Linux */

#define PTL_IFACE_SS		1	/* the SeaStar network */
#define PTL_IFACE_SS_ACCEL	2	/* the same in accelerated mode */

#define IFACE_FROM_BRIDGE_AND_NALID(bridge, nalid) /* the number of both */ \
	(0xc0000000U | (bridge) << 16 | ((nalid) & 0xffffU))
#define NALID_FROM_IFACE(iface)		((iface) & 0xffffU)	/* the network of a number */
#define BRIDGE_FROM_IFACE(iface)	((iface) >> 16 & 0xffU)	/* the bridge of a number */

#define CRAY_KERN_NAL	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_K, PTL_IFACE_SS)		/* kernel programs */
#define CRAY_QK_NAL	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_QK, PTL_IFACE_SS)	/* Catamount */
#define CRAY_UK_SSNAL	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_UK, PTL_IFACE_SS)	/* user programs on Linux */
#define CRAY_USER_NAL	CRAY_UK_SSNAL							/* the same */
#define CRAY_ACCEL	IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_QK, PTL_IFACE_SS_ACCEL)	/* accelerated mode */

#define ACCEL_PTLS_PID_SPACE_OFFSET	4096	/* in accelerated mode a process lives at its pid plus this */

#if defined(P3_XT_RULES) && !defined(P3_NAL_CHOSEN)
#undef PTL_IFACE_DEFAULT
#define PTL_IFACE_DEFAULT	0xc0000000U	/* the interface that there is, by the rules of the XT */
#endif

#endif
