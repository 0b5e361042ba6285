/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_wild.c - a descriptor of memory that is not there, or not all of it, or that may not be written: operations on it
 * fail with events on both sides, whoever copies, and nobody is ended by a signal
 */
#include "ptl.h"

#include <sys/mman.h>

enum { AROUND = 1 << 20 };
enum { LEN = 40000, NONE_THERE, HALF_THERE, NOT_WRITABLE, IN_A_VECTOR, KINDS };

/* LEN bytes of the target's, as it should not be. 0: fine ones */
static char *memory_of(int kind)
{
	size_t size = (LEN + 8191) & ~4095UL;
	/* amid addresses that are taken: what is mapped meanwhile would fill a hole at the border */
	char *around = mmap(NULL, 2 * AROUND, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0), *p;

	if (around == MAP_FAILED)
		bail("no memory");
	p = mmap(around + AROUND, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (p == MAP_FAILED)
		bail("no memory");
	p_fill(p, LEN, 1);
	if (kind == NONE_THERE || kind == HALF_THERE || kind == IN_A_VECTOR)
		munmap(p + (kind == NONE_THERE ? 0 : 20480), size - (kind == NONE_THERE ? 0 : 20480));
	if (kind == NOT_WRITABLE)
		mprotect(p, size, PROT_READ);
	return p;
}

static void release(char *p)
{
	munmap(p - AROUND, 2 * AROUND);
}

/* The END of an operation at its target; a START may come before it. */
static void ended(ptl_event_kind_t start, ptl_event_kind_t end, int fails)
{
	ptl_event_t ev;

	if (!CHECK_INT(p_get(teq, &ev), PTL_OK))
		return;
	CHECK_INT(ev.type, start);
	if (!CHECK_INT(p_get(teq, &ev), PTL_OK))
		return;
	CHECK_INT(ev.type, end);
	CHECK_INT(ev.ni_fail_type, fails ? PTL_NI_FAULT_NP : PTL_NI_OK);
}

/* @off: of the 8 bytes that are exchanged. */
static void operations(int kind, ptl_size_t off)
{
	static char mine[LEN], old[8];
	ptl_md_t md = { 0 };
	ptl_md_iovec_t v[2];
	ptl_handle_md_t h[2];
	ptl_handle_me_t me;
	char *p = NULL;
	ptl_event_t ev;
	int gets_fail = kind && kind != NOT_WRITABLE;

	TGT {
		p = memory_of(kind);
		md = p_md(p, LEN, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, teq);
		if (kind == IN_A_VECTOR) {
			v[0] = (ptl_md_iovec_t){ p, 10001 };
			v[1] = (ptl_md_iovec_t){ p + 10001, LEN - 10001 };
			md.start = v;
			md.length = 2;
			md.options |= PTL_MD_IOVEC;
		}
		NEED_OK(p_post(1, md, &me, &h[0]));
	}
	p_step();
	INI {
		md = p_md(mine, LEN, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, ieq);
		NEED_OK(PtlMDBind(ni, md, PTL_RETAIN, &h[0]));
		md.start = old;
		md.length = 8;
		NEED_OK(PtlMDBind(ni, md, PTL_RETAIN, &h[1]));
		OK(PtlPut(h[0], PTL_NO_ACK_REQ, peer, PT, 0, 1, 0, 0));
		CHECK_INT(p_get(ieq, &ev), PTL_OK);
		CHECK_INT(ev.type, PTL_EVENT_SEND_END);
	}
	TGT ended(PTL_EVENT_PUT_START, PTL_EVENT_PUT_END, kind);
	p_step();
	INI {
		OK(PtlGet(h[0], peer, PT, 0, 1, 0));
		CHECK_INT(p_get(ieq, &ev), PTL_OK);
		CHECK_INT(ev.type, PTL_EVENT_REPLY_END);
		CHECK(!ev.ni_fail_type == !gets_fail);
	}
	TGT ended(PTL_EVENT_GET_START, PTL_EVENT_GET_END, gets_fail);
	p_step();
	INI {
		OK(PtlGetPutRegion(h[1], 0, h[0], 0, 8, peer, PT, 0, 1, off, 0));
		do
			CHECK_INT(p_get(ieq, &ev), PTL_OK);
		while (ev.type == PTL_EVENT_SEND_END && t_bad_ < 5);
		CHECK_INT(ev.type, PTL_EVENT_REPLY_END);
		CHECK(!ev.ni_fail_type == !kind);
	}
	TGT ended(PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END, kind);
	p_step();
	INI {
		while (PtlEQGet(ieq, &ev) == PTL_OK)
			;
		OK(PtlMDUnlink(h[0]));
		OK(PtlMDUnlink(h[1]));
	}
	TGT {
		OK(PtlMEUnlink(me));
		release(p);
	}
	p_step();
}

static void t_memory_that_is_not_there(void)
{
	operations(NONE_THERE, 80);
}

static void t_half_of_it(void)
{
	operations(HALF_THERE, 20480 - 4);
}

static void t_in_a_vector(void)
{
	operations(IN_A_VECTOR, 30000);
}

static void t_memory_that_must_not_be_written(void)
{
	operations(NOT_WRITABLE, 8);
}

static void t_then_all_is_well(void)
{
	operations(0, 8);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_memory_that_is_not_there), T(t_half_of_it), T(t_in_a_vector),
					       T(t_memory_that_must_not_be_written), T(t_then_all_is_well), { 0 } };

	return p_main(cases);
}
