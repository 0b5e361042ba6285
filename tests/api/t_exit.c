/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_exit.c - whoever has seen SEND_END may exit at once, and closes nothing: what it sent arrives all the same
 *
 * Even ranks send and exit: by exit() from a thread beside the first one's, or from main.
 */
#include "ptl.h"

#include <pthread.h>

enum { N = 400, LEN = 3000 };

static unsigned char buf[LEN];

static void *leave(void *unused)
{
	exit(0);
	return unused;
}

static void t_what_was_sent_arrives(void)
{
	ptl_md_t md = p_md(buf, LEN, PTL_MD_THRESH_INF, PTL_MD_EVENT_START_DISABLE, PTL_EQ_NONE);
	ptl_handle_md_t h;
	ptl_handle_me_t me;
	ptl_event_t ev;

	NEED_OK(PtlEQAlloc(ni, 2 * N, PTL_EQ_HANDLER_NONE, &md.eq_handle));
	TGT {
		md.options |= PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE;
		NEED_OK(p_post(0, md, &me, &h));
	}
	t_barrier();
	INI {
		NEED_OK(PtlMDBind(ni, md, PTL_RETAIN, &h));
		for (int i = 0; i < N; i++)
			NEED_OK(PtlPut(h, PTL_NO_ACK_REQ, peer, PT, 0, 0, 0, (ptl_hdr_data_t)i));
		for (int i = 0; i < N; i++) {
			NEED_OK(p_get(md.eq_handle, &ev));
			CHECK_INT(ev.type, PTL_EVENT_SEND_END);
			CHECK_INT(ev.ni_fail_type, PTL_NI_OK);
		}
	}
	TGT {
		for (int i = 0; i < N; i++) {
			NEED_OK(p_get(md.eq_handle, &ev));
			CHECK_INT(ev.type, PTL_EVENT_PUT_END);
			CHECK_INT((int)ev.hdr_data, i);
		}
	}
}

int main(void)
{
	static const struct t_case cases[] = { T(t_what_was_sent_arrives), { 0 } };
	pthread_t t;
	int rc;

	p_init();
	rc = t_run(cases);
	INI {
		if (rc || t_rank() % 4)
			return rc;
		if (!pthread_create(&t, NULL, leave, NULL))
			pthread_join(t, NULL);
	}
	_exit(rc);	/* not before the last has come: its peer is still in exit() */
}
