/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Looking into an interface: the calls of <p3api/debug.h>, registers of pools and lists, names of codes and kinds. */
#include "ptl.h"
#include <p3api/debug.h>
#include <fcntl.h>

static char text[16384];

/* What a call prints to stderr. */
static int printed(int (*f)(void *), void *arg)
{
	int p[2], old = dup(2), rc;
	ssize_t n;

	if (pipe(p))
		bail("pipe");
	fflush(stderr);
	dup2(p[1], 2);
	rc = f(arg);
	dup2(old, 2);
	close(old);
	close(p[1]);
	memset(text, 0, sizeof(text));
	n = 0;
	for (ssize_t k; (k = read(p[0], text + n, sizeof(text) - 1 - (size_t)n)) > 0;)
		n += k;
	close(p[0]);
	return rc;
}
#define HAS(s) CHECK(strstr(text, s) != NULL)

static int tbl(void *a)
{
	return PtlTblDump(ni, *(int *)a);
}

static int me_dump(void *a)
{
	return PtlMEDump(*(ptl_handle_me_t *)a);
}

static int eq_dump(void *a)
{
	(void)a;
	return PtlNIEqDump(ni);
}

static void t_dumps(void)
{
	ptl_handle_me_t me[2];
	ptl_handle_md_t md;
	int pt = 11, all = -1, bad = -2, beyond = lim.max_pt_index + 1;
	char b[24];

	NEED_OK(p_post_at(11, 0xabc, 0xf0, PTL_UNLINK, p_md(b, 24, 7, PTL_MD_OP_PUT, teq), PTL_UNLINK, &me[0], &md));
	NEED_OK(PtlMEAttach(ni, 12, anyone, 0xdef, 0, PTL_RETAIN, PTL_INS_AFTER, &me[1]));
	CHECK_INT(printed(tbl, &pt), PTL_OK);
	HAS("portal 11: 1 entries");
	HAS("bits 0xabc ignore 0xf0");
	HAS("of 24 bytes used, threshold 7");
	CHECK(!strstr(text, "0xdef"));
	CHECK_INT(printed(tbl, &all), PTL_OK);
	HAS("portal 11:");
	HAS("portal 12:");
	HAS("bits 0xdef ignore 0 from any:any");
	CHECK_INT(printed(tbl, &bad), PTL_PT_INDEX_INVALID);
	CHECK_INT(printed(tbl, &beyond), PTL_PT_INDEX_INVALID);
	CHECK_INT(strlen(text), 0);
	CHECK_INT(PtlTblDump(PTL_INVALID_HANDLE, 0), PTL_NI_INVALID);
	CHECK_INT(printed(me_dump, &me[1]), PTL_OK);
	HAS("0xdef");
	CHECK(!strstr(text, "0xabc"));
	CHECK_INT(printed(eq_dump, NULL), PTL_OK);
	HAS("256 slots");
	CHECK_INT(PtlNIEqDump(teq), PTL_NI_INVALID);
	OK(PtlMEUnlink(me[0]));
	OK(PtlMEUnlink(me[1]));
	CHECK_INT(PtlMEDump(me[1]), PTL_ME_INVALID);
	CHECK_INT(PtlMEDump(md), PTL_ME_INVALID);
	CHECK_INT(PtlMEDump(PTL_INVALID_HANDLE), PTL_ME_INVALID);
}

static void t_debug_masks(void)
{
	CHECK_INT(PtlNIDebug(PTL_INVALID_HANDLE, PTL_DBG_ALL | PTL_DBG_NI_ALL), PTL_DBG_NONE);
	CHECK_INT(PtlNIDebug(PTL_INVALID_HANDLE, PTL_DBG_NONE), PTL_DBG_ALL | PTL_DBG_NI_ALL);
	CHECK_INT(PtlNIDebug(ni, PTL_DBG_DROP), PTL_DBG_NONE);
	CHECK_INT(PtlNIDebug(ni, PTL_DBG_NI_15), PTL_DBG_DROP);
	CHECK_INT(PtlNIDebug(ni, PTL_DBG_NONE), PTL_DBG_NI_15);
	CHECK_INT(PtlNIDebug(teq, PTL_DBG_ALL), 0);
	CHECK_INT(PtlNIDebug(ni, 0), 0);
}

/* PtlProgress: looks, waits for time, and ends when an event is there, which stays. */
static void t_progress(void)
{
	ptl_handle_md_t md;
	ptl_handle_me_t me;
	ptl_event_t ev;
	char a[4] = "abc", b[4];
	double t;

	CHECK_INT(PtlProgress(PTL_INVALID_HANDLE, 0), PTL_HANDLE_INVALID);
	OK(PtlProgress(ni, 0));
	OK(PtlProgress(teq, 0));
	t = t_now();
	OK(PtlProgress(p_sync_me, 30));
	CHECK(t_now() - t >= 0.03);
	TGT NEED_OK(p_post(3, p_md(b, 4, 1, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, teq), &me, &md));
	p_step();
	INI OK(p_put(a, 4, 3));
	TGT {
		OK(PtlProgress(ni, t_size() > 1 ? PTL_TIME_FOREVER : 1000));
		CHECK_INT(PtlEQGet(teq, &ev), PTL_OK);
		CHECK_INT(ev.type, PTL_EVENT_PUT_END);
		OK(PtlMEUnlink(me));
	}
	p_step();
}

static void t_registers_of_the_pools(void)
{
	long long me_cur = p_status(PTL_SR_MES_CUR), md_cur = p_status(PTL_SR_MDS_CUR);
	long long eq_cur = p_status(PTL_SR_EQS_CUR), me_max = p_status(PTL_SR_MES_MAX), pts = p_status(PTL_SR_PTLS_CUR);
	long long freed = p_status(PTL_SR_MES_FREED);
	ptl_handle_me_t me[40];
	ptl_handle_md_t md[40];
	ptl_handle_eq_t eq[3];
	ptl_sr_value_t v;

	CHECK_INT(p_status(PTL_SR_PTLS_MAX), lim.max_pt_index + 1);
	CHECK_INT(p_status(PTL_SR_MLIST_LEN(17)), 0);
	for (int i = 0; i < 40; i++) {
		NEED_OK(PtlMEAttach(ni, 17, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me[i]));
		NEED_OK(PtlMDBind(ni, p_md(NULL, 0, 1, 0, PTL_EQ_NONE), PTL_RETAIN, &md[i]));
	}
	for (int i = 0; i < 3; i++)
		NEED_OK(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq[i]));
	CHECK_INT(p_status(PTL_SR_MES_CUR), me_cur + 40);
	CHECK(p_status(PTL_SR_MES_MAX) >= me_cur + 40 && p_status(PTL_SR_MES_MAX) >= me_max);
	CHECK_INT(p_status(PTL_SR_MDS_CUR), md_cur + 40);
	CHECK(p_status(PTL_SR_MDS_MAX) >= md_cur + 40);
	CHECK_INT(p_status(PTL_SR_EQS_CUR), eq_cur + 3);
	CHECK(p_status(PTL_SR_EQS_MAX) >= eq_cur + 3);
	CHECK_INT(p_status(PTL_SR_PTLS_CUR), pts + 1);
	CHECK_INT(p_status(PTL_SR_MLIST_LEN(17)), 40);
	CHECK_INT(p_status(PTL_SR_MLIST_MAX(17)), 40);
	CHECK_INT(p_status(PTL_SR_MSGS_CUR), 0);
	for (int i = 0; i < 40; i++) {
		OK(PtlMEUnlink(me[i]));
		OK(PtlMDUnlink(md[i]));
	}
	for (int i = 0; i < 3; i++)
		OK(PtlEQFree(eq[i]));
	CHECK_INT(p_status(PTL_SR_MES_CUR), me_cur);
	CHECK_INT(p_status(PTL_SR_MDS_CUR), md_cur);
	CHECK_INT(p_status(PTL_SR_EQS_CUR), eq_cur);
	CHECK_INT(p_status(PTL_SR_PTLS_CUR), pts);
	CHECK_INT(p_status(PTL_SR_MES_FREED), freed + 40);
	CHECK_INT(p_status(PTL_SR_MES_ALLOC), p_status(PTL_SR_MES_FREED) + p_status(PTL_SR_MES_CUR));
	CHECK_INT(p_status(PTL_SR_MLIST_LEN(17)), 0);
	CHECK_INT(p_status(PTL_SR_MLIST_MAX(17)), 40);
	CHECK_INT(PtlNIStatus(ni, PTL_SR_MLIST_LEN(lim.max_pt_index + 1), &v), PTL_SR_INDEX_INVALID);
	CHECK_INT(PtlNIStatus(ni, PTL_SR_MSGS_ALLOC, &v), PTL_SR_INDEX_INVALID);
	CHECK_INT(PtlNIStatus(ni, PTL_SR_MD_ALIGN_64, &v), PTL_SR_INDEX_INVALID);
	CHECK_INT(PtlNIStatus(ni, PTL_SR_NAL_REGS_START, &v), PTL_SR_INDEX_INVALID);
}

static void t_names(void)
{
	CHECK(!strcmp(ptl_err_str[PTL_OK], "PTL_OK"));
	CHECK(!strcmp(PtlErrorStr(PTL_SR_INDEX_INVALID), "PTL_SR_INDEX_INVALID"));
	CHECK(!strcmp(PtlErrorStr(PTL_IFACE_DUP), "PTL_IFACE_DUP"));
	for (unsigned i = 0; i < PTL_ERRNO_END_NP; i++)
		CHECK(ptl_err_str[i] && !strncmp(ptl_err_str[i], "PTL_", 4));
	CHECK(!strcmp(PtlErrorStr(29), "PTL_UNKNOWN_ERROR") && !strcmp(PtlErrorStr(4711), "PTL_UNKNOWN_ERROR"));
	CHECK(!strcmp(ptl_event_str[PTL_EVENT_UNLINK], "PTL_EVENT_UNLINK"));
	CHECK(!strcmp(PtlEventKindStr((ptl_event_kind_t)99), "PTL_UNKNOWN_EVENT_KIND"));
	CHECK(!strcmp(PtlNIFailStr(ni, PTL_NI_OK), "PTL_NI_OK"));
	CHECK(!strcmp(PtlNIFailStr(ni, PTL_NI_FAIL), "PTL_NI_FAIL"));
	CHECK_INT(PTL_NOACK_REQ, PTL_NO_ACK_REQ);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_dumps), T(t_debug_masks), T(t_progress), T(t_registers_of_the_pools), T(t_names), { 0 }
	};

	return p_main(cases);
}
