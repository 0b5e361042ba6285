/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3nal_utcp.h - the reference implementation's name for its TCP interface
 *
 * A program that includes this is one for the reference implementation: <portals/portals3.h> then means no other than
 * <portals3.h>, in either order.
 */
#ifndef P3NAL_UTCP_H
#define P3NAL_UTCP_H

#include <p3api/reference.h>

/**
 * PTL_IFACE_UTCP - the reference implementation's TCP interface
 *
 * A name of the one interface that there is. The first header of its kind that is included also makes it
 * PTL_IFACE_DEFAULT.
 *
 * Source: The reference implementation's.
 * See: PtlNIInit, ptl_interface_t
 */
#define PTL_IFACE_UTCP	PTL_NALTYPE_UTCP	/* its TCP interface */
#define PTL_IFACE_UTCP0	PTL_NALTYPE_UTCP0	/* its first TCP interface */
#define PTL_IFACE_UTCP1	PTL_NALTYPE_UTCP1	/* its second */
#define PTL_IFACE_UTCP2	PTL_NALTYPE_UTCP2	/* its third */
#define PTL_IFACE_UTCP3	PTL_NALTYPE_UTCP3	/* its fourth */

#ifndef P3_NAL_CHOSEN		/* of several such headers the first says what the default is */
#define P3_NAL_CHOSEN
#undef PTL_IFACE_DEFAULT
#define PTL_IFACE_DEFAULT	PTL_IFACE_UTCP	/* the interface, by that name */
#endif

#endif
