/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/misc.h - names of codes and events (extensions of the reference implementation);
 * included by <portals3.h>
 */
#ifndef P3API_MISC_H
#define P3API_MISC_H

#include <p3api/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * PtlErrorStr, PtlEventKindStr, PtlNIFailStr, ptl_err_str, ptl_event_str - names of codes and events
 * @ptl_errno: a return code (ptl_err_t)
 * @kind: kind of an event (ptl_event_kind_t)
 * @ni: any value; it is not looked at
 * @fail: member ni_fail_type of an event (ptl_ni_fail_t)
 *
 * The name of a return code, of a kind of event, and of the reason why an operation failed, such as "PTL_NO_SPACE".
 * The strings are constant. A value that does not exist gives a string that says so, never NULL. They may be called
 * at any time, before PtlInit too, and do not block.
 *
 * The arrays have PTL_ERRNO_END_NP entries, and one for each kind of event; the functions check the index.
 *
 * XT: Its headers did not declare ptl_event_str; programs that need it do so themselves. One that leaves the const out
 * there is compiled with -DPTL_OWN_EVENT_STR_NP: then ptl_event_str is left to the program.
 * Source: Extensions of the reference implementation.
 * See: PtlEQGet
 */
extern const char *ptl_err_str[];
#ifndef PTL_OWN_EVENT_STR_NP
extern const char *ptl_event_str[];
#endif

const char *PtlErrorStr(unsigned ptl_errno);
const char *PtlEventKindStr(ptl_event_kind_t kind);
const char *PtlNIFailStr(ptl_handle_ni_t ni, ptl_ni_fail_t fail);

#ifdef __cplusplus
}
#endif
#endif
