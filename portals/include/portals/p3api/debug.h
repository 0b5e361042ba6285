/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/p3api/debug.h - the reference's header, below portals/, with the XT's names of the subjects */
#ifndef PORTALS_P3API_DEBUG_H
#define PORTALS_P3API_DEBUG_H

#include <p3api/debug.h>

/**
 * PTL_DEBUG_ALL - the XT's names of the subjects of PtlNIDebug
 *
 * Each is that of the reference implementation with the same end.
 *
 * Source: The XT's.
 * See: PTL_DBG_API, PtlNIDebug
 */
#define PTL_DEBUG_API		PTL_DBG_API
#define PTL_DEBUG_PARSE		PTL_DBG_PARSE
#define PTL_DEBUG_MOVE		PTL_DBG_MOVE
#define PTL_DEBUG_DROP		PTL_DBG_DROP
#define PTL_DEBUG_REQUEST	PTL_DBG_REQUEST
#define PTL_DEBUG_DELIVERY	PTL_DBG_DELIVERY
#define PTL_DEBUG_MD		PTL_DBG_MD
#define PTL_DEBUG_ME		PTL_DBG_ME
#define PTL_DEBUG_UNLINK	PTL_DBG_UNLINK
#define PTL_DEBUG_EQ		PTL_DBG_EQ
#define PTL_DEBUG_EVENT		PTL_DBG_EVENT
#define PTL_DEBUG_MEMORY	PTL_DBG_MEMORY
#define PTL_DEBUG_SETUP		PTL_DBG_SETUP
#define PTL_DEBUG_SHUTDOWN	PTL_DBG_SHUTDOWN
#define PTL_DEBUG_ALL		PTL_DBG_ALL
#define PTL_DEBUG_NI_ALL	PTL_DBG_NI_ALL
#define PTL_DEBUG_NONE		PTL_DBG_NONE

#endif
