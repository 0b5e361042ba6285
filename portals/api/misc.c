/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* misc.c - names of return codes, event kinds and failures */
#include "p3a.h"

P3A_API const char *ptl_err_str[] = {
#define E(x) [x] = #x
	E(PTL_OK), E(PTL_AC_INDEX_INVALID), E(PTL_EQ_DROPPED), E(PTL_EQ_EMPTY), E(PTL_EQ_INVALID), E(PTL_FAIL),
	E(PTL_HANDLE_INVALID), E(PTL_IFACE_INVALID), E(PTL_MD_ILLEGAL), E(PTL_MD_INVALID), E(PTL_MD_IN_USE),
	E(PTL_MD_NO_UPDATE), E(PTL_ME_INVALID), E(PTL_ME_IN_USE), E(PTL_ME_LIST_TOO_LONG), E(PTL_NI_INVALID),
	E(PTL_NO_INIT), E(PTL_NO_SPACE), E(PTL_PID_INVALID), E(PTL_PROCESS_INVALID), E(PTL_PT_FULL),
	E(PTL_PT_INDEX_INVALID), E(PTL_SEGV), E(PTL_SR_INDEX_INVALID), E(PTL_UNKNOWN_ERROR),
#define U(x) [x] = "PTL_UNKNOWN_ERROR"
	U(25), U(26), U(27), U(28), U(29), U(30), U(31),
#undef U
	E(PTL_IFACE_DUP), E(PTL_VAL_FAILED), E(PTL_NAL_FAILED), E(PTL_NOT_IMPLEMENTED), E(PTL_NO_ACK), E(PTL_EQ_IN_USE),
	E(PTL_PID_IN_USE), E(PTL_INV_EQ_SIZE), E(PTL_AGAIN), E(PTL_IOV_INVALID), E(PTL_IOV_TOO_MANY),
	E(PTL_IOV_TOO_SMALL),
};
_Static_assert(sizeof(ptl_err_str) / sizeof(*ptl_err_str) == PTL_ERRNO_END_NP, "a name for each code");

P3A_API const char *ptl_event_str[] = {
	E(PTL_EVENT_GET_START), E(PTL_EVENT_GET_END), E(PTL_EVENT_PUT_START), E(PTL_EVENT_PUT_END),
	E(PTL_EVENT_GETPUT_START), E(PTL_EVENT_GETPUT_END), E(PTL_EVENT_REPLY_START), E(PTL_EVENT_REPLY_END),
	E(PTL_EVENT_SEND_START), E(PTL_EVENT_SEND_END), E(PTL_EVENT_ACK), E(PTL_EVENT_UNLINK),
#undef E
};
_Static_assert(sizeof(ptl_event_str) / sizeof(*ptl_event_str) == PTL_EVENT_UNLINK + 1, "a name for each kind");

P3A_API const char *PtlErrorStr(unsigned e)
{
	return ptl_err_str[e < PTL_ERRNO_END_NP ? e : PTL_UNKNOWN_ERROR];
}

P3A_API const char *PtlEventKindStr(ptl_event_kind_t kind)
{
	return (unsigned)kind <= PTL_EVENT_UNLINK ? ptl_event_str[kind] : "PTL_UNKNOWN_EVENT_KIND";
}

P3A_API const char *PtlNIFailStr(ptl_handle_ni_t ni, ptl_ni_fail_t fail)
{
	static const char *const name[] = { "PTL_NI_OK", "PTL_NI_FAIL", "PTL_NI_DIED_NP", "PTL_NI_FAULT_NP" };

	(void)ni;
	return fail < sizeof(name) / sizeof(*name) ? name[fail] : "PTL_UNKNOWN_NI_FAIL";
}
