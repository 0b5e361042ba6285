/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3/nal_types.h - numbers of network interfaces; included by <portals3.h>
 */
#ifndef P3_NAL_TYPES_H
#define P3_NAL_TYPES_H

/**
 * PTL_NALTYPE_NONE, PTL_NALTYPE_UTCP, PTL_NALTYPE_UTCP0, PTL_NALTYPE_UTCP1, PTL_NALTYPE_UTCP2, PTL_NALTYPE_UTCP3,
 * PTL_NALTYPE_IBNG, PTL_IFACE_DEFAULT - numbers of the reference implementation's interfaces
 *
 * Each but PTL_NALTYPE_NONE is a name of the one interface that there is. Plain constants: programs compare them in
 * #if.
 *
 * Source: Portals 3.3, section 3.2.5, has PTL_IFACE_DEFAULT; the others are the reference implementation's.
 * See: PtlNIInit, ptl_interface_t
 */
#define PTL_NALTYPE_NONE	0			/* no interface */
#define PTL_NALTYPE_UTCP	PTL_NALTYPE_UTCP0	/* its TCP interface */
#define PTL_NALTYPE_UTCP0	0xf0f0f000U		/* its first TCP interface */
#define PTL_NALTYPE_UTCP1	0xf0f0f001U		/* its second */
#define PTL_NALTYPE_UTCP2	0xf0f0f002U		/* its third */
#define PTL_NALTYPE_UTCP3	0xf0f0f003U		/* its fourth */
#define PTL_NALTYPE_IBNG	0xf0f0f050U		/* its InfiniBand interface */

/* Programs include <p3nal_utcp.h>, which may come first and then says what the default is. */
#ifndef PTL_IFACE_DEFAULT
#define PTL_IFACE_DEFAULT	0xf0f0e000U		/* the interface that there is, by its own number */
#define P3_IFACE_DEFAULT_IS_OURS 1
#endif

#endif
