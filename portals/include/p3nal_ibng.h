/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3nal_ibng.h - the reference implementation's name for its InfiniBand interface
 *
 * A program that includes this is one for the reference implementation: <portals/portals3.h> then means no other than
 * <portals3.h>, in either order.
 */
#ifndef P3NAL_IBNG_H
#define P3NAL_IBNG_H

#include <p3api/reference.h>

/**
 * PTL_IFACE_IBNG - the reference implementation's InfiniBand interface
 *
 * A name of the one interface that there is. The first header of its kind that is included also makes it
 * PTL_IFACE_DEFAULT.
 *
 * Source: The reference implementation's.
 * See: PtlNIInit, ptl_interface_t
 */
#define PTL_IFACE_IBNG	PTL_NALTYPE_IBNG	/* its InfiniBand interface */

#ifndef P3_NAL_CHOSEN		/* of several such headers the first says what the default is */
#define P3_NAL_CHOSEN
#undef PTL_IFACE_DEFAULT
#define PTL_IFACE_DEFAULT	PTL_IFACE_IBNG	/* the interface, by that name */
#endif

#endif
