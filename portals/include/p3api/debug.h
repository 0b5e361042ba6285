/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/debug.h - looking into an interface (extensions of the reference implementation)
 *
 * The dumps are for people: they go to stderr, their form may change, and a line may show a state that never was, since
 * they take no lock.
 */
#ifndef P3API_DEBUG_H
#define P3API_DEBUG_H

#include <p3api/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is told, by subject. Bits 16 to 31 are the network's. The XT spells them PTL_DEBUG_. */
#define PTL_DBG_API		0x00000001U
#define PTL_DBG_PARSE		0x00000002U
#define PTL_DBG_MOVE		0x00000004U
#define PTL_DBG_DROP		0x00000008U
#define PTL_DBG_REQUEST		0x00000010U
#define PTL_DBG_DELIVERY	0x00000020U
#define PTL_DBG_MD		0x00000040U
#define PTL_DBG_ME		0x00000080U
#define PTL_DBG_UNLINK		0x00000100U
#define PTL_DBG_EQ		0x00000200U
#define PTL_DBG_EVENT		0x00000400U
#define PTL_DBG_MEMORY		0x00000800U
#define PTL_DBG_SETUP		0x00001000U
#define PTL_DBG_SHUTDOWN	0x00002000U
#define PTL_DBG_ALL		0x0000ffffU
#define PTL_DBG_NI_00		0x00010000U
#define PTL_DBG_NI_01		0x00020000U
#define PTL_DBG_NI_02		0x00040000U
#define PTL_DBG_NI_03		0x00080000U
#define PTL_DBG_NI_04		0x00100000U
#define PTL_DBG_NI_05		0x00200000U
#define PTL_DBG_NI_06		0x00400000U
#define PTL_DBG_NI_07		0x00800000U
#define PTL_DBG_NI_08		0x01000000U
#define PTL_DBG_NI_09		0x02000000U
#define PTL_DBG_NI_10		0x04000000U
#define PTL_DBG_NI_11		0x08000000U
#define PTL_DBG_NI_12		0x10000000U
#define PTL_DBG_NI_13		0x20000000U
#define PTL_DBG_NI_14		0x40000000U
#define PTL_DBG_NI_15		0x80000000U
#define PTL_DBG_NI_ALL		0xffff0000U
#define PTL_DBG_NONE		0x00000000U

/**
 * PtlNIDebug - which subjects are told about on stderr
 * @ni:   an interface, or PTL_INVALID_HANDLE: those that are opened from now on; may be called before PtlInit
 * @mask: PTL_DBG_*
 * Told are the opening (SETUP) and closing (SHUTDOWN) of interfaces, and when closing what they dropped (DROP). The other
 * subjects are kept, and have nothing to say in this version. Return: the mask before; 0 where @ni is no interface.
 */
unsigned int PtlNIDebug(ptl_handle_ni_t ni, unsigned int mask);

/** PtlTblDump - print the match list of a portal; -1: of all that are in use. PTL_NI_INVALID, PTL_PT_INDEX_INVALID. */
int PtlTblDump(ptl_handle_ni_t ni, int pt_index);

/** PtlMEDump - print a match entry with its descriptor. PTL_ME_INVALID. */
int PtlMEDump(ptl_handle_me_t me);

/** PtlNIEqDump - print the event queues of an interface, read positions and the next event. PTL_NI_INVALID. */
int PtlNIEqDump(ptl_handle_ni_t ni);

/**
 * PtlProgress - let the network do what there is to do
 * @handle:     an interface, or anything of it
 * @timeout_ms: 0: look once; else wait so long at most for an event in any queue; PTL_TIME_FOREVER
 * Only needed by programs that make no other call (PtlEQGet, PtlEQWait and PtlEQPoll do the same). Blocks as told.
 * Return: PTL_OK, also when time is up; PTL_HANDLE_INVALID; PTL_NO_INIT.
 */
int PtlProgress(ptl_handle_any_t handle, ptl_time_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
