/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_busy.c - unlinking and updating what is in use (item 19): never under a copy, never for ever
 */
#include "ptl.h"

#define LEN (8u << 20)

static unsigned char *src, *dst;
static ptl_event_t ev[8];

/*
 * The target unlinks an entry again and again while a large put comes in. Refused (IN_USE) as long as data move; once
 * it is gone, the bytes stay what they are.
 */
static void t_unlink_while_matching(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t mdh;
	unsigned in_use = 0, gone_before = 0, whole = 0;

	INI { memset(src, 0x11, LEN); }
	for (unsigned round = 0; round < 40; round++) {
		TGT {
			memset(dst, 0, LEN);
			OK(p_post(1, p_md(dst, LEN, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh));
		}
		t_barrier();
		INI {
			OK(p_put(src, LEN, 1));
			p_sync();
		}
		TGT {
			int rc, started = 0, ended = 0;

			for (unsigned spin = 0; spin < round * 40; spin++)	/* hit another moment each time */
				sched_yield();
			while ((rc = round % 2 ? PtlMDUnlink(mdh) : PtlMEUnlink(me)) ==
			       (round % 2 ? PTL_MD_IN_USE : PTL_ME_IN_USE))
				in_use++;
			CHECK_INT(rc, PTL_OK);
			while (PtlEQGet(teq, ev) == PTL_OK) {
				started |= ev->type == PTL_EVENT_PUT_START;
				ended |= ev->type == PTL_EVENT_PUT_END;
			}
			CHECK_INT(ended, started);	/* not one of them: START would never be followed by END */
			gone_before += !started;
			whole += started;
			if (started) {
				CHECK(dst[0] == 0x11 && dst[LEN / 2] == 0x11 && dst[LEN - 1] == 0x11);
				memset(dst, 0x22, LEN);
				for (size_t i = 0; i < LEN; i += 4096)	/* nobody writes after it is unlinked */
					if (dst[i] != 0x22) {
						CHECK_INT(dst[i], 0x22);
						break;
					}
			} else {
				CHECK(!dst[0] && !dst[LEN - 1]);
			}
			if (round % 2)
				OK(PtlMEUnlink(me));
		}
		t_barrier();
		TGT {
			CHECK(!dst[0] || dst[0] == 0x22);
			NONE(teq);
		}
		t_barrier();
	}
	TGT { diag("%u unlinks refused; %u puts came first, %u too late", in_use, whole, gone_before); }
}

/* The same for the descriptor that a large get fills from. */
static void t_unlink_while_being_read(void)
{
	ptl_handle_me_t me;
	ptl_handle_md_t mdh, h;
	unsigned in_use = 0;

	for (unsigned round = 0; round < 40; round++) {
		TGT {
			memset(src, 0x33, LEN);
			OK(p_post(1, p_md(src, LEN, PTL_MD_THRESH_INF, PTL_MD_OP_GET, teq), &me, &mdh));
		}
		INI {
			memset(dst, 0, LEN);
			OK(PtlMDBind(ni, p_md(dst, LEN, 1, 0, ieq), PTL_RETAIN, &h));
		}
		t_barrier();
		INI {
			OK(PtlGet(h, peer, PT, 0, 1, 0));
			p_sync();
		}
		TGT {
			int rc, started = 0, ended = 0;

			for (unsigned spin = 0; spin < round * 40; spin++)
				sched_yield();
			while ((rc = PtlMEUnlink(me)) == PTL_ME_IN_USE)
				in_use++;
			CHECK_INT(rc, PTL_OK);
			memset(src, 0x44, LEN);		/* ours again: no reader may see this */
			while (PtlEQGet(teq, ev) == PTL_OK) {
				started |= ev->type == PTL_EVENT_GET_START;
				ended |= ev->type == PTL_EVENT_GET_END;
			}
			CHECK_INT(started, ended);
			atomic_store(t_word(t_rank()), (uint64_t)started);
		}
		t_barrier();
		INI {
			if (atomic_load(t_word(t_rank() ^ 1))) {
				EVENTS(ieq, ev, PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END);
				for (size_t i = 0; i < LEN; i += 512)
					if (dst[i] != 0x33) {
						CHECK_INT(dst[i], 0x33);
						break;
					}
			}
			NONE(ieq);
			OK(PtlMDUnlink(h));
		}
		t_barrier();
	}
	TGT { diag("%u unlinks refused", in_use); }
}

/* An update without a test queue is never refused; operations in progress keep the geometry they started with. */
static void t_update_while_in_use(void)
{
	static unsigned char other[64];
	ptl_handle_me_t me;
	ptl_handle_md_t mdh;

	INI { memset(src, 0x55, LEN); }
	for (unsigned round = 0; round < 30; round++) {
		TGT {
			memset(dst, 0, LEN);
			memset(other, 0, sizeof(other));
			OK(p_post(1, p_md(dst, LEN, PTL_MD_THRESH_INF, PTL_MD_OP_PUT, teq), &me, &mdh));
		}
		t_barrier();
		INI {
			OK(p_put(src, LEN, 1));
			p_sync();
		}
		TGT {
			ptl_md_t md = p_md(other, sizeof(other), 1, PTL_MD_OP_PUT, teq);
			int started = 0, ended = 0, rc;

			for (unsigned spin = 0; spin < round * 40; spin++)
				sched_yield();
			OK(PtlMDUpdate(mdh, NULL, &md, PTL_EQ_NONE));
			CHECK(t_await(100 + t_rank(), round + 1, 60));	/* it has been matched or dropped */
			while ((rc = started > ended ? p_get(teq, ev) : PtlEQGet(teq, ev)) == PTL_OK) {
				started += ev->type == PTL_EVENT_PUT_START;
				ended += ev->type == PTL_EVENT_PUT_END;
				CHECK(ev->md.start == dst && ev->md.length == LEN);	/* what it began with */
			}
			/* it came before the update, whole, or after, and did not fit */
			CHECK_INT(ended, started);
			if (ended)
				CHECK(dst[0] == 0x55 && dst[LEN - 1] == 0x55);
			else
				CHECK(!dst[0] && !dst[LEN - 1]);
			CHECK(!other[0] && !other[63]);
			OK(PtlMEUnlink(me));
		}
		INI { atomic_store(t_word(100 + (t_rank() ^ 1)), round + 1); }
		t_barrier();
	}
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_unlink_while_matching), T(t_unlink_while_being_read), T(t_update_while_in_use), { 0 }
	};

	src = malloc(LEN);
	dst = malloc(LEN);
	if (!src || !dst)
		bail("no memory");
	if (t_size() < 2)
		skip_all("needs two ranks");
	return p_main(cases);
}
