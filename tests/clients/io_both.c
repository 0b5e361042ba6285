/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * io_both.c - in the manner of parallel file systems and I/O services that were built for either: what a configure script has
 * found is in macros, and what is missing they define themselves. With -DUTCP for the reference implementation.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef UTCP
#include <portals/portals3.h>
#include <portals/p3nal_utcp.h>
#include <portals/p3api/debug.h>
#define IFACE PTL_IFACE_DEFAULT
#else
#include <portals/portals3.h>
#define IFACE CRAY_USER_NAL
typedef uint32_t ptl_time_t;				/* a release that lacks them */
typedef void (*ptl_eq_handler_t)(ptl_event_t *event);
#endif

#ifndef PTL_IFACE_DUP
#define PTL_IFACE_DUP PTL_OK
#endif
#ifndef PTL_MD_EVENT_AUTO_UNLINK_ENABLE
#define PTL_MD_EVENT_AUTO_UNLINK_ENABLE 0
#endif
#ifndef PTL_MD_EVENT_MANUAL_UNLINK_ENABLE
#define PTL_MD_EVENT_MANUAL_UNLINK_ENABLE 0
#endif
#ifndef PTL_EQ_HANDLER_NONE
#define PTL_EQ_HANDLER_NONE (ptl_eq_handler_t)NULL
#endif
#ifndef PTL_NOACK_REQ
#define PTL_NOACK_REQ PTL_NO_ACK_REQ
#endif
#ifndef PTL_DBG_ALL
#define PTL_DBG_ALL PTL_DEBUG_ALL
#define PTL_DBG_NI_ALL PTL_DEBUG_NI_ALL
#endif
#ifndef HAVE_PTLERRORSTR
#define PtlErrorStr(rc) ptl_err_str[rc]
#endif
#ifndef HAVE_PTLEVENTKINDSTR
static const char *event_name(ptl_event_kind_t kind)
{
	extern const char *ptl_event_str[];

	return ptl_event_str[kind];
}
#endif

#define TRY(call) do { int rc_ = (call); if (rc_) { fprintf(stderr, "%s: %s\n", #call, PtlErrorStr(rc_)); return 1; } } while (0)

int main(void)
{
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY }, nobody = { 0, 0 }, me;
	ptl_handle_me_t mark, h;
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;
	ptl_handle_md_t mdh;
	static char in[128], out[256];
	ptl_event_t ev;
	ptl_md_t md, new_md;
	int max, rc, which, acks = 0;

	PtlNIDebug(PTL_INVALID_HANDLE, 0 & (PTL_DBG_ALL | PTL_DBG_NI_ALL));
	TRY(PtlInit(&max));
	rc = PtlNIInit(IFACE, PTL_PID_ANY, NULL, NULL, &ni);
	if (rc != PTL_OK && rc != PTL_IFACE_DUP)
		return 1;
	TRY(PtlACEntry(ni, 0, any, (ptl_uid_t)-1, (ptl_jid_t)-1, PTL_PT_INDEX_ANY));
	TRY(PtlACEntry(ni, 0, any, (ptl_uid_t)-1, PTL_PT_INDEX_ANY));
	TRY(PtlGetId(ni, &me));
	TRY(PtlEQAlloc(ni, 100, PTL_EQ_HANDLER_NONE, &eq));
	TRY(PtlMEAttach(ni, 37, nobody, 0, 0, PTL_RETAIN, PTL_INS_BEFORE, &mark));
	TRY(PtlMEInsert(mark, any, 5, 0, PTL_UNLINK, PTL_INS_BEFORE, &h));
	memset(&md, 0, sizeof(md));
	md.start = in;
	md.length = sizeof(in);
	md.options = PTL_MD_OP_PUT | PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_AUTO_UNLINK_ENABLE;
	md.eq_handle = eq;
	TRY(PtlMDAttach(h, md, PTL_UNLINK, &mdh));
	new_md = md;
	new_md.threshold = 1;
	while ((rc = PtlMDUpdate(mdh, NULL, &new_md, eq)) == PTL_MD_NO_UPDATE)
		TRY(PtlEQPoll(&eq, 1, PTL_TIME_FOREVER, &ev, &which));
	TRY(rc);
	md.start = out;
	md.length = sizeof(out);
	md.threshold = 2;
	md.options = PTL_MD_EVENT_START_DISABLE;
	TRY(PtlMDBind(ni, md, PTL_UNLINK, &mdh));
	memset(out, 'x', sizeof(out));
	TRY(PtlPut(mdh, PTL_ACK_REQ, me, 37, 0, 5, 0, 0));
	while (!acks) {
		TRY(PtlEQPoll(&eq, 1, 10000, &ev, &which));
		if (ev.ni_fail_type != 0) {
			fprintf(stderr, "%s\n", event_name(ev.type));
			return 1;
		}
		if (ev.type == PTL_EVENT_ACK) {
			acks++;
#ifdef UTCP
			if (ev.mlength != sizeof(in) || ev.rlength != sizeof(out))
#else
			if (ev.mlength != sizeof(in) || ev.rlength != ev.mlength)
#endif
				return 1;
		}
	}
	TRY(PtlMEUnlink(mark));
	return in[0] != 'x' || in[sizeof(in) - 1] != 'x';
}
