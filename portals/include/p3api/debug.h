/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/debug.h - looking into an interface (extensions of the reference implementation);
 * included by <portals3.h>
 *
 * The dumps are for people: they go to stderr, their form may change, and a line may show a state that never was, since
 * they take no lock.
 *
 * Return of all:
 *   PTL_OK: success
 *   PTL_NO_INIT: before PtlInit, after PtlFini, or in the child of a fork(2)
 */
#ifndef P3API_DEBUG_H
#define P3API_DEBUG_H

#include <p3api/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * PTL_DBG_API, PTL_DBG_PARSE, PTL_DBG_MOVE, PTL_DBG_DROP, PTL_DBG_REQUEST, PTL_DBG_DELIVERY, PTL_DBG_MD,
 * PTL_DBG_ME, PTL_DBG_UNLINK, PTL_DBG_EQ, PTL_DBG_EVENT, PTL_DBG_MEMORY, PTL_DBG_SETUP, PTL_DBG_SHUTDOWN,
 * PTL_DBG_ALL, PTL_DBG_NI_ALL, PTL_DBG_NONE - subjects of PtlNIDebug
 *
 * Bits 16 to 31 are the network's. PTL_DBG_SETUP, PTL_DBG_SHUTDOWN and PTL_DBG_DROP are told about; the other
 * subjects are kept, and have nothing to say in this version.
 *
 * XT: programs spell them PTL_DEBUG_*.
 * Source: The reference implementation's.
 */
#define PTL_DBG_API		0x00000001U	/* calls */
#define PTL_DBG_PARSE		0x00000002U	/* requests that come in */
#define PTL_DBG_MOVE		0x00000004U	/* data that move */
#define PTL_DBG_DROP		0x00000008U	/* when it is closed, how much the interface has dropped */
#define PTL_DBG_REQUEST		0x00000010U	/* requests that are sent */
#define PTL_DBG_DELIVERY	0x00000020U	/* their delivery */
#define PTL_DBG_MD		0x00000040U	/* memory descriptors */
#define PTL_DBG_ME		0x00000080U	/* match entries */
#define PTL_DBG_UNLINK		0x00000100U	/* unlinking */
#define PTL_DBG_EQ		0x00000200U	/* event queues */
#define PTL_DBG_EVENT		0x00000400U	/* events */
#define PTL_DBG_MEMORY		0x00000800U	/* memory */
#define PTL_DBG_SETUP		0x00001000U	/* the opening of an interface */
#define PTL_DBG_SHUTDOWN	0x00002000U	/* the closing of an interface */
#define PTL_DBG_ALL		0x0000ffffU	/* all of these */
#define PTL_DBG_NI_00		0x00010000U	/* the network's, number 0 */
#define PTL_DBG_NI_01		0x00020000U	/* the network's, number 1 */
#define PTL_DBG_NI_02		0x00040000U	/* the network's, number 2 */
#define PTL_DBG_NI_03		0x00080000U	/* the network's, number 3 */
#define PTL_DBG_NI_04		0x00100000U	/* the network's, number 4 */
#define PTL_DBG_NI_05		0x00200000U	/* the network's, number 5 */
#define PTL_DBG_NI_06		0x00400000U	/* the network's, number 6 */
#define PTL_DBG_NI_07		0x00800000U	/* the network's, number 7 */
#define PTL_DBG_NI_08		0x01000000U	/* the network's, number 8 */
#define PTL_DBG_NI_09		0x02000000U	/* the network's, number 9 */
#define PTL_DBG_NI_10		0x04000000U	/* the network's, number 10 */
#define PTL_DBG_NI_11		0x08000000U	/* the network's, number 11 */
#define PTL_DBG_NI_12		0x10000000U	/* the network's, number 12 */
#define PTL_DBG_NI_13		0x20000000U	/* the network's, number 13 */
#define PTL_DBG_NI_14		0x40000000U	/* the network's, number 14 */
#define PTL_DBG_NI_15		0x80000000U	/* the network's, number 15 */
#define PTL_DBG_NI_ALL		0xffff0000U	/* all of the network */
#define PTL_DBG_NONE		0x00000000U	/* nothing */

/**
 * PtlNIDebug - which subjects an interface tells about
 * @ni: an interface, or PTL_INVALID_HANDLE: those that are opened from now on; then it may be called before PtlInit
 * @mask: PTL_DBG_ALL or some of it: PTL_DBG_SETUP, PTL_DBG_SHUTDOWN and PTL_DBG_DROP have something to say
 *
 * It is told on standard error. Does not block.
 *
 * Return: the mask before; 0 where @ni is no interface.
 * XT: the subjects are called PTL_DEBUG_*.
 * Source: Not in Portals 3.3; an extension of the reference implementation.
 * See: PTL_DBG_API, portals-knobs(7), ptl_info(1)
 */
unsigned int PtlNIDebug(ptl_handle_ni_t ni, unsigned int mask);

/**
 * PtlTblDump - print the match list of a portal
 * @ni: handle of an open interface
 * @pt_index: the portal; -1: all whose list is not empty
 *
 * To standard error, for people; the form may change. Reads without locks: a line may show a state that never was.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_PT_INDEX_INVALID: @pt_index is beyond limits.max_pt_index
 * Source: Not in Portals 3.3; an extension of the reference implementation.
 * See: PtlMEDump, PtlNIEqDump
 */
int PtlTblDump(ptl_handle_ni_t ni, int pt_index);

/**
 * PtlMEDump - print a match entry with its descriptor
 * @me: handle of the entry
 *
 * To standard error, for people; the form may change. Reads without locks: a line may show a state that never was.
 *
 * Return:
 *   PTL_ME_INVALID: @me does not exist
 * Source: Not in Portals 3.3; an extension of the reference implementation.
 * See: PtlTblDump
 */
int PtlMEDump(ptl_handle_me_t me);

/**
 * PtlNIEqDump - print the event queues of an interface
 * @ni: handle of an open interface
 *
 * Their read positions and the next event of each, to standard error, for people; the form may change. Reads
 * without locks: a line may show a state that never was.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 * Source: Not in Portals 3.3; an extension of the reference implementation.
 * See: PtlTblDump
 */
int PtlNIEqDump(ptl_handle_ni_t ni);

/**
 * PtlProgress - let the network do what there is to do
 * @handle: an interface, or anything of it
 * @timeout_ms: milliseconds. 0: look once; else wait so long at most for an event in any queue, with
 *	PTL_TIME_FOREVER without end; none is fetched
 *
 * Does what has arrived for the interface. Only programs that make none of the calls PtlEQGet, PtlEQWait and
 * PtlEQPoll need it. Blocks for @timeout_ms at most.
 *
 * Return:
 *   PTL_OK: success, also when time is up
 *   PTL_HANDLE_INVALID: there is no such object
 * Source: Not in Portals 3.3; an extension of the reference implementation.
 */
int PtlProgress(ptl_handle_any_t handle, ptl_time_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
