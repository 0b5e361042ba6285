/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3/nal_types.h - numbers of network interfaces
 *
 * Whatever its number, it is the one interface that there is. Plain constants: programs compare them in #if.
 */
#ifndef P3_NAL_TYPES_H
#define P3_NAL_TYPES_H

#define PTL_NALTYPE_NONE	0
#define PTL_NALTYPE_UTCP	PTL_NALTYPE_UTCP0
#define PTL_NALTYPE_UTCP0	0xf0f0f000U
#define PTL_NALTYPE_UTCP1	0xf0f0f001U
#define PTL_NALTYPE_UTCP2	0xf0f0f002U
#define PTL_NALTYPE_UTCP3	0xf0f0f003U
#define PTL_NALTYPE_IBNG	0xf0f0f050U

/* Programs include <p3nal_utcp.h>, which may come first and then says what the default is. */
#ifndef PTL_IFACE_DEFAULT
#define PTL_IFACE_DEFAULT	0xf0f0e000U
#define P3_IFACE_DEFAULT_IS_OURS 1
#endif

#endif
