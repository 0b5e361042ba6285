/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/misc.h - names of codes and events (extensions of the reference implementation and of Cray's)
 */
#ifndef P3API_MISC_H
#define P3API_MISC_H

#include <p3api/types.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const char *ptl_err_str[];	/* indexed by return code, PTL_ERRNO_END_NP entries */
#ifndef P3_XT_RULES			/* there programs declare it themselves, with and without const */
extern const char *ptl_event_str[];	/* indexed by event kind */
#endif

const char *PtlErrorStr(unsigned ptl_errno);
const char *PtlEventKindStr(ptl_event_kind_t kind);
const char *PtlNIFailStr(ptl_handle_ni_t ni, ptl_ni_fail_t fail);

#ifdef __cplusplus
}
#endif
#endif
