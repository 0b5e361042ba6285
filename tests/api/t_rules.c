/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Each program gets the rules of the header that it includes: the reference implementation's, or the XT's (rules.h). Every
 * case runs for both, in one process.
 */
#include "ptl.h"
#include "rules.h"

static const struct rules *const both[] = { &rules_ref, &rules_xt };
#define EACH(r) for (unsigned i_ = 0; i_ < 2; i_++) for (const struct rules *r = both[i_]; r; r = NULL)

/* A step of its own: 8 bytes from @a; with @sync the message has been matched behind it. */
static void put(const char *a, ptl_pt_index_t pt, int sync)
{
	p_step();
	INI {
		OK(p_put_full(a, 8, PTL_NO_ACK_REQ, pt, 3, 0, 0, PTL_EQ_NONE));
		if (sync)
			p_sync();
	}
	p_step();
}

static void t_second_init(void)
{
	EACH(r) {
		ptl_handle_ni_t again = PTL_INVALID_HANDLE;

		CHECK_INT(r->open(&again), r->xt ? PTL_IFACE_DUP : PTL_OK);
		CHECK_INT(again, ni);
		CHECK_INT(PtlNIFini(again), PTL_OK);
		CHECK_INT(PtlGetId(ni, &(ptl_process_id_t){ 0, 0 }), PTL_OK);
	}
}

/* A target's descriptor that unlinks itself: UNLINK always, or only where it was asked for. Gone it is. */
static void t_unlink_at_the_target(void)
{
	EACH(r) for (int ask = 0; ask < 2; ask++) for (int start = 0; start < 2; start++) {
		unsigned options = PTL_MD_OP_PUT | (ask ? r->unlink_event : 0) | (start ? 0 : PTL_MD_EVENT_START_DISABLE);
		ptl_process_id_t any = { PTL_NID_ANY, r->any_pid };
		ptl_handle_md_t md;
		ptl_handle_me_t me;
		ptl_event_t ev[3];
		char a[8] = "1234567", b[8];

		TGT {
			NEED_OK(r->attach(ni, PT, any, 3, &me));
			NEED_OK(r->md_attach(me, p_md(b, 8, 1, options, teq), PTL_UNLINK, &md));
		}
		put(a, PT, 1);
		TGT {
			if (start)
				EVENTS(teq, ev, PTL_EVENT_PUT_START);
			EVENTS(teq, ev, PTL_EVENT_PUT_END);
			CHECK_INT(ev[0].md.options, options);
			CHECK_INT(ev[0].unlinked, 0);
			if (!r->xt || ask) {
				EVENTS(teq, ev, PTL_EVENT_UNLINK);
				CHECK_INT(ev[0].unlinked, 1);
			}
			NONE(teq);
			CHECK_INT(PtlMDUnlink(md), PTL_MD_INVALID);
			CHECK_INT(PtlMEUnlink(me), PTL_ME_INVALID);
		}
		p_step();
	}
}

static void t_unlink_at_the_initiator(void)
{
	EACH(r) for (int ask = 0; ask < 2; ask++) {
		ptl_handle_md_t md;
		ptl_event_t ev[3];
		char a[8] = "1234567";

		INI {
			NEED_OK(r->bind(ni, p_md(a, 8, 1, ask ? r->unlink_event : 0, ieq), PTL_UNLINK, &md));
			OK(r->put_unacked(md, peer, PT, 99));	/* dropped there */
			p_sync();
			EVENTS(ieq, ev, PTL_EVENT_SEND_START, PTL_EVENT_SEND_END);
			CHECK_INT(ev[1].offset, 0);
			if (!r->xt || ask)
				EVENTS(ieq, ev, PTL_EVENT_UNLINK);
			NONE(ieq);
			CHECK_INT(PtlMDUnlink(md), PTL_MD_INVALID);
		}
		p_step();
	}
}

/* An explicit unlink makes an event only for those who have asked. */
static void t_explicit_unlink(void)
{
	EACH(r) for (int me_too = 0; me_too < 2; me_too++) for (int ask = 0; ask < 2; ask++) {
		unsigned options = PTL_MD_OP_PUT | (ask ? PTL_MD_UNLINK_EVENT_MANUAL_NP : 0);
		ptl_handle_md_t md;
		ptl_handle_me_t me;
		ptl_event_t ev;
		char b[8];

		CHECK(!r->manual_event || r->manual_event == PTL_MD_UNLINK_EVENT_MANUAL_NP);
		TGT {
			NEED_OK(r->attach(ni, PT, anyone, 3, &me));
			NEED_OK(r->md_attach(me, p_md(b, 8, 5, options, teq), PTL_RETAIN, &md));
			OK(me_too ? PtlMEUnlink(me) : PtlMDUnlink(md));
			if (ask) {
				EVENTS(teq, &ev, PTL_EVENT_UNLINK);
				CHECK_INT(ev.unlinked, 1);
				CHECK_INT(ev.md_handle, md);
				CHECK_INT(ev.pt_index, PT);
				CHECK_INT(ev.md.threshold, 5);
				CHECK(ev.md.user_ptr == (void *)0x5eed);
				CHECK(ev.initiator.nid == self.nid && ev.initiator.pid == self.pid);
			}
			NONE(teq);
			CHECK_INT(PtlMEUnlink(me), PTL_ME_INVALID);	/* PTL_UNLINK: gone with its MD */
		}
		p_step();
	}
}

/* The request of a get: nothing, or a unit of the threshold and two events. */
static void t_get(void)
{
	EACH(r) for (int n = 1; n <= 2; n++) for (int start = 0; start < 2; start++) {
		unsigned options = start ? 0 : PTL_MD_EVENT_START_DISABLE;
		char a[16], b[16];
		ptl_handle_md_t md, h;
		ptl_handle_me_t me;
		ptl_event_t ev;

		p_fill(a, 16, 9);
		memset(b, 0, 16);
		TGT NEED_OK(p_post(3, p_md(a, 16, PTL_MD_THRESH_INF, PTL_MD_OP_GET, PTL_EQ_NONE), &me, &md));
		p_step();
		INI {
			NEED_OK(r->bind(ni, p_md(b, 16, n, options | r->unlink_event, ieq), PTL_UNLINK, &h));
			OK(PtlGet(h, peer, PT, 0, 3, 0));
			if (r->xt) {
				if (start)
					EVENTS(ieq, &ev, PTL_EVENT_SEND_START);
				EVENTS(ieq, &ev, PTL_EVENT_SEND_END);
				CHECK_INT(ev.md.threshold, n - 1);
				CHECK_INT(ev.match_bits, 3);
			}
			if (n > 1 || !r->xt) {
				if (start)
					EVENTS(ieq, &ev, PTL_EVENT_REPLY_START);
				EVENTS(ieq, &ev, PTL_EVENT_REPLY_END);
				CHECK_INT(ev.mlength, 16);
				CHECK_INT(ev.md.threshold, r->xt ? n - 2 : n - 1);
				CHECK(!memcmp(a, b, 16));
			}
			if (r->xt || n == 1) {
				EVENTS(ieq, &ev, PTL_EVENT_UNLINK);
				CHECK_INT(PtlMDUnlink(h), PTL_MD_INVALID);
			} else {
				OK(PtlMDUnlink(h));	/* a unit is left: the specification's get costs one */
			}
			p_sync();		/* a request whose reply nobody takes may be on its way */
			NONE(ieq);
		}
		p_step();
		TGT OK(PtlMEUnlink(me));
		p_step();
	}
}

/* A get to nobody: silence, or a request that could not be sent. */
static void t_get_from_nobody(void)
{
	EACH(r) {
		ptl_process_id_t to = peer;
		ptl_handle_md_t h;
		ptl_event_t ev;
		char b[16];

		INI {
			to.pid += 5000;
			NEED_OK(r->bind(ni, p_md(b, 16, 2, PTL_MD_EVENT_START_DISABLE, ieq), PTL_RETAIN, &h));
			OK(PtlGet(h, to, PT, 0, 3, 0));
			if (r->xt) {
				CHECK_INT(p_get(ieq, &ev), PTL_OK);
				CHECK_INT(ev.type, PTL_EVENT_SEND_END);
				CHECK(ev.ni_fail_type != PTL_NI_OK);
			}
			NONE(ieq);
			OK(PtlMDUnlink(h));
		}
	}
	p_step();
}

/* rlength of the ACK of a put that was cut off: as asked, or as taken. It comes although all other events are off. */
static void t_ack(void)
{
	EACH(r) for (int len = 4; len >= 0; len -= 4) {
		unsigned options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
		ptl_handle_md_t md, h;
		ptl_handle_me_t me;
		ptl_event_t ev;
		char a[10] = "123456789", b[10];

		TGT NEED_OK(p_post(3, p_md(b, (size_t)len, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_TRUNCATE, PTL_EQ_NONE),
				   &me, &md));
		p_step();
		INI {
			NEED_OK(r->bind(ni, p_md(a, 10, PTL_MD_THRESH_INF, options, ieq), PTL_RETAIN, &h));
			OK(PtlPut(h, PTL_ACK_REQ, peer, PT, 0, 3, 0, 0));
			CHECK_INT(p_get(ieq, &ev), PTL_OK);
			CHECK_INT(ev.type, PTL_EVENT_ACK);
			CHECK_INT(ev.mlength, len);
			CHECK_INT(ev.rlength, r->xt ? len : 10);
			NONE(ieq);
			OK(PtlMDUnlink(h));
		}
		p_step();
		TGT OK(PtlMEUnlink(me));
		p_step();
	}
}

/* The rules go with the descriptor, through PtlMDUpdate and the calls that make entry and descriptor at once. */
static void t_rules_stay_with_the_descriptor(void)
{
	EACH(r) for (int how = 0; how < 4; how++) {
		ptl_handle_me_t me = PTL_INVALID_HANDLE, base;
		ptl_handle_md_t md = PTL_INVALID_HANDLE;
		ptl_md_t v, old;
		ptl_event_t ev[3];
		char a[8] = "abcdefg", b[8];

		TGT {
			v = p_md(b, 8, 1, PTL_MD_OP_PUT, teq);
			NEED_OK(PtlMEAttach(ni, PT, anyone, 99, 0, PTL_RETAIN, PTL_INS_AFTER, &base));
			if (how < 3) {
				NEED_OK(r->post(ni, base, 3, v, &me, &md, how));
			} else {
				NEED_OK(r->attach(ni, PT, anyone, 3, &me));
				NEED_OK(PtlMDAttach(me, p_md(b, 4, 0, PTL_MD_OP_PUT, PTL_EQ_NONE), PTL_UNLINK, &md));
				memset(&old, 0, sizeof(old));
				NEED_OK(r->update(md, &old, &v, PTL_EQ_NONE));
				CHECK_INT(old.length, 4);
				memset(&old, 0, sizeof(old));
				NEED_OK(r->update(md, &old, NULL, PTL_EQ_NONE));
				CHECK_INT(old.options, PTL_MD_OP_PUT);
				CHECK_INT(old.length, 8);
			}
		}
		put(a, PT, 1);
		TGT {
			EVENTS(teq, ev, PTL_EVENT_PUT_START, PTL_EVENT_PUT_END);
			CHECK_INT(ev[1].md.options, PTL_MD_OP_PUT);
			if (!r->xt)
				EVENTS(teq, ev, PTL_EVENT_UNLINK);
			NONE(teq);
			CHECK_INT(PtlMDUnlink(md), PTL_MD_INVALID);
			OK(PtlMEUnlink(base));
		}
		p_step();
	}
}

/* Five arguments or six; and who is meant by a process id of 16 ones. */
static void t_access_control(void)
{
	EACH(r) {
		ptl_process_id_t any = { PTL_NID_ANY, r->any_pid }, nobody = { self.nid, 0xfff0 }, ones = { PTL_NID_ANY, 0xffff };
		ptl_uid_t uid = 0;
		ptl_handle_md_t md;
		ptl_handle_me_t me;
		ptl_event_t ev;
		long long drops = 0;
		char a[8] = "abcdefg", b[8];

		TGT {
			OK(PtlGetUid(ni, &uid));
			NEED_OK(p_post_at(PT + 1, 3, 0, PTL_RETAIN, p_md(b, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT |
							PTL_MD_EVENT_START_DISABLE, teq), PTL_RETAIN, &me, &md));
			drops = p_drops();
			OK(r->ac6(ni, 0, nobody, uid, PTL_JID_ANY, PTL_PT_INDEX_ANY));
		}
		put(a, PT + 1, 0);
		TGT {
			CHECK_INT(p_drops_soon(drops + 1), drops + 1);	/* p_sync() would be dropped, too */
			OK(r->ac5(ni, 0, any, uid, PTL_PT_INDEX_ANY));
		}
		put(a, PT + 1, 1);
		TGT {
			EVENTS(teq, &ev, PTL_EVENT_PUT_END);
			CHECK_INT(p_drops(), drops + 1);
			OK(PtlMEUnlink(me));
			NEED_OK(r->attach(ni, PT + 1, ones, 3, &me));
			NEED_OK(r->md_attach(me, p_md(b, 8, PTL_MD_THRESH_INF, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, teq),
					     PTL_RETAIN, &md));
		}
		put(a, PT + 1, 1);
		TGT {
			if (r->xt)
				EVENTS(teq, &ev, PTL_EVENT_PUT_END);
			NONE(teq);
			CHECK_INT(p_drops(), drops + 2 - r->xt);
			OK(PtlMEUnlink(me));
		}
		p_step();
	}
}

/* Names of the network that programs give. */
static void t_interface_numbers(void)
{
	static const ptl_interface_t good[] = { 0xf0f0f000, 0xf0f0f001, 0xf0f0f002, 0xf0f0f003, 0xf0f0f050 };
	ptl_handle_ni_t h;

	for (unsigned i = 0; i < sizeof(good) / sizeof(*good); i++) {
		CHECK_INT(PtlNIInit(good[i], PTL_PID_ANY, NULL, NULL, &h), PTL_OK);
		CHECK_INT(PtlNIFini(h), PTL_OK);
	}
	for (ptl_interface_t b = 0; b <= 3; b++)
		for (ptl_interface_t n = 0; n <= 2; n++) {
			CHECK_INT(PtlNIInit(0xc0000000 | b << 16 | n, PTL_PID_ANY, NULL, NULL, &h), PTL_IFACE_DUP);
			CHECK_INT(h, ni);
			CHECK_INT(PtlNIFini(h), PTL_OK);
		}
	CHECK_INT(PtlNIInit(0, PTL_PID_ANY, NULL, NULL, &h), PTL_IFACE_INVALID);
	CHECK_INT(PtlNIInit(0xf0f0f004, PTL_PID_ANY, NULL, NULL, &h), PTL_IFACE_INVALID);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_second_init), T(t_interface_numbers), T(t_unlink_at_the_target), T(t_unlink_at_the_initiator),
		T(t_explicit_unlink), T(t_get), T(t_get_from_nobody), T(t_ack), T(t_rules_stay_with_the_descriptor),
		T(t_access_control), { 0 }
	};

	return p_main(cases);
}
