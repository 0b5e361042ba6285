/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_long.c - long messages between nodes, in both directions, of memory that others see and of memory that they do not
 *
 * Over RDMA the first go from memory to memory; tests/verbs/t_verbs.sh asks the device how.
 */
#include "ptl.h"

#include <sys/mman.h>

#define LEN	(1U << 20)
#define TIMES	16

static unsigned char seen[LEN + 8192], want[LEN];	/* in the program's data: adopted, if anything is */
static unsigned char *hidden;
static ptl_handle_me_t me;
static ptl_handle_md_t mdh;

/* TIMES puts from @from, and gets of them back; each time other bytes. */
static void there_and_back(unsigned char *from, unsigned char *to, size_t len, ptl_size_t off)
{
	ptl_event_t ev[4];

	TGT {
		ptl_md_t md = p_md(to, LEN, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
				   PTL_MD_TRUNCATE | PTL_MD_EVENT_START_DISABLE, teq);

		NEED_OK(p_post(1, md, &me, &mdh));
	}
	p_step();
	for (unsigned i = 0; i < TIMES; i++) {
		ptl_handle_md_t h;

		INI {
			p_fill(from, len, i + 1);
			OK(p_put_full(from, len, PTL_ACK_REQ, PT, 1, off, 0, ieq));
			ACKED(ieq, ev, 1);
			CHECK_INT(ev[2].mlength, len < LEN - off ? len : LEN - off);
			memset(from, 0xee, len);
			NEED_OK(PtlMDBind(ni, p_md(from, len, 1, PTL_MD_EVENT_START_DISABLE, ieq), PTL_UNLINK, &h));
			OK(PtlGet(h, peer, PT, 0, 1, off));
			CHECK_INT(p_get(ieq, ev), PTL_OK);
			CHECK_INT(ev[0].type, PTL_EVENT_REPLY_END);
			CHECK_INT(p_get(ieq, &ev[1]), PTL_OK);
			p_fill(want, len, i + 1);
			CHECK(!memcmp(want, from, ev[0].mlength));
		}
		TGT {
			EVENTS(teq, ev, PTL_EVENT_PUT_END, PTL_EVENT_GET_END);
			p_fill(want, len, i + 1);
			CHECK(!memcmp(want, to + off, ev[0].mlength));
			memset(to, 0xcc, LEN);
		}
		p_step();
	}
	TGT OK(PtlMEUnlink(me));
	p_step();
}

static void t_of_visible_memory(void)
{
	there_and_back(seen + 4097, seen + 1, LEN, 0);
}

static void t_of_hidden_memory(void)
{
	there_and_back(hidden, hidden, LEN, 0);
}

static void t_truncated(void)
{
	there_and_back(seen, seen + 4097, LEN, LEN - 300001);
	there_and_back(hidden, seen, LEN - 77, 500001);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_of_visible_memory), T(t_of_hidden_memory), T(t_truncated), { 0 }
	};

	hidden = mmap(NULL, LEN + 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (hidden == MAP_FAILED)
		return 1;
	return p_main(cases);
}
