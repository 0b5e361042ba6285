/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * iface.c - interface numbers: all name the one interface; those of the XT also say whose rules the caller knows
 */
#include <portals/nal.h>
#include "p3a.h"

#define XT_BASE IFACE_FROM_BRIDGE_AND_NALID(0, 0)

bool p3a_iface_xt(ptl_interface_t i)
{
	return (i & 0xff000000U) == XT_BASE || i == PTL_IFACE_SS || i == PTL_IFACE_SS_ACCEL;
}

bool p3a_iface_ok(ptl_interface_t i)
{
	return i == PTL_IFACE_DEFAULT || (i >= PTL_NALTYPE_UTCP0 && i <= PTL_NALTYPE_UTCP3) || i == PTL_NALTYPE_IBNG ||
	       p3a_iface_xt(i);
}

/* Accelerated mode: programs look for their peers there. */
uint32_t p3a_iface_pid_offset(ptl_interface_t i)
{
	return p3a_iface_xt(i) && NALID_FROM_IFACE(i) == PTL_IFACE_SS_ACCEL ? ACCEL_PTLS_PID_SPACE_OFFSET : 0;
}
