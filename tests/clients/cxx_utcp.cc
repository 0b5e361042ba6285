// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
// cxx_utcp.cc - a C++ program for the reference implementation: objects that own their handles, an event handler that is a
// static member, every rank sends a line to every other and gets one back, exceptions with the name of the code
#include <portals3.h>
#include <p3nal_utcp.h>
#include <p3rt/p3rt.h>
#include <p3api/debug.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

class failed : public std::exception {
public:
	failed(const char *what_, int code) : text(std::string(what_) + ": " + PtlErrorStr(static_cast<unsigned>(code))) {}
	~failed() throw() {}
	const char *what() const throw() { return text.c_str(); }
private:
	std::string text;
};
#define TRY(call) do { int rc_ = (call); if (rc_ != PTL_OK) throw failed(#call, rc_); } while (0)

class library {
public:
	library() { TRY(PtlInit(&max)); }
	~library() { PtlFini(); }
private:
	int max;
};

class interface {
public:
	interface() : handle(PTL_INVALID_HANDLE)
	{
		ptl_ni_limits_t want = ptl_ni_limits_t(), got;

		want.max_mes = want.max_mds = 256;
		want.max_eqs = 8;
		want.max_ac_index = want.max_pt_index = 7;
		want.max_md_iovecs = 4;
		want.max_me_list = 64;
		want.max_getput_md = 8;
		TRY(PtlNIInit(PTL_IFACE_UTCP, PTL_PID_ANY, &want, &got, &handle));
		TRY(PtlGetRank(handle, &rank, &size));
	}
	~interface() { PtlNIFini(handle); }
	ptl_process_id_t id_of(unsigned r) const
	{
		ptl_process_id_t id;

		TRY(PtlGetRankId(handle, r, &id));
		return id;
	}
	ptl_handle_ni_t handle;
	unsigned rank, size;
};

class queue {
public:
	queue(const interface &ni, ptl_size_t n, ptl_eq_handler_t fn = PTL_EQ_HANDLER_NONE)
	{
		TRY(PtlEQAlloc(ni.handle, n, fn, &handle));
	}
	~queue() { PtlEQFree(handle); }
	ptl_event_t next()
	{
		ptl_event_t ev;

		TRY(PtlEQWait(handle, &ev));
		if (ev.ni_fail_type != PTL_NI_OK)
			throw failed(PtlEventKindStr(ev.type), PTL_FAIL);
		return ev;
	}
	ptl_handle_eq_t handle;
private:
	queue(const queue &);
};

struct counter {
	static int events;
	static void count(ptl_event_t *) { events++; }
};
int counter::events;

static ptl_md_t describe(void *start, ptl_size_t length, unsigned options, ptl_handle_eq_t eq)
{
	ptl_md_t md = ptl_md_t();

	md.start = start;
	md.length = length;
	md.threshold = PTL_MD_THRESH_INF;
	md.options = options;
	md.eq_handle = eq;
	return md;
}

static void work()
{
	library lib;
	interface ni;
	queue eq(ni, 256, counter::count);
	const ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
	std::vector<char> in(64 * ni.size), back(64 * ni.size), out(64);
	ptl_handle_me_t me;
	ptl_handle_md_t mdh, snd, rcv;
	unsigned got = 0, acks = 0, replies = 0, events = 0;

	TRY(PtlACEntry(ni.handle, 1, any, PTL_UID_ANY, PTL_JID_ANY, 4));
	TRY(PtlACEntry(ni.handle, 1, any, PTL_UID_ANY, PTL_PT_INDEX_ANY));
	TRY(PtlACEntry(ni.handle, 1, any, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	TRY(PtlMEAttach(ni.handle, 4, any, 0, ~static_cast<ptl_match_bits_t>(0), PTL_UNLINK, PTL_INS_AFTER, &me));
	TRY(PtlMDAttach(me, describe(&in[0], in.size(), PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
				     PTL_MD_EVENT_START_DISABLE, eq.handle), PTL_UNLINK, &mdh));
	std::snprintf(&out[0], out.size(), "rank %u", ni.rank);
	TRY(PtlMDBind(ni.handle, describe(&out[0], out.size(), PTL_MD_EVENT_START_DISABLE, eq.handle), PTL_RETAIN, &snd));
	TRY(PtlMDBind(ni.handle, describe(&back[0], back.size(), PTL_MD_EVENT_START_DISABLE, eq.handle), PTL_RETAIN, &rcv));
	if (PtlRtBarrier_np() != PTL_OK && ni.size > 1)
		throw failed("barrier", PTL_FAIL);
	for (unsigned r = 0; r < ni.size; r++)
		TRY(PtlPut(snd, PTL_ACK_REQ, ni.id_of(r), 4, 1, 7, 64 * ni.rank, ni.rank));
	while (got < ni.size || acks < ni.size || events < 3 * ni.size) {
		ptl_event_t ev = eq.next();

		got += ev.type == PTL_EVENT_PUT_END;
		acks += ev.type == PTL_EVENT_ACK;
		events++;
	}
	for (unsigned r = 0; r < ni.size; r++)
		if (std::string(&in[64 * r]) != "rank " + std::string(1, static_cast<char>('0' + r)))
			throw failed("what has come", PTL_FAIL);
	/* our own line, as each of them has it by now */
	for (unsigned r = 0; r < ni.size; r++)
		TRY(PtlGetRegion(rcv, 64 * r, 64, ni.id_of(r), 4, 1, 9, 64 * ni.rank));
	while (replies < ni.size) {
		ptl_event_t ev = eq.next();

		replies += ev.type == PTL_EVENT_REPLY_END;
		events++;
	}
	for (unsigned r = 0; r < ni.size; r++)
		if (std::strcmp(&back[64 * r], &out[0]))
			throw failed("what came back", PTL_FAIL);
	if (counter::events != static_cast<int>(events))
		throw failed("the handler", PTL_FAIL);
	if (ni.size > 1 && PtlRtBarrier_np() != PTL_OK)
		throw failed("barrier", PTL_FAIL);
}

int main()
{
	try {
		work();
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s\n", e.what());
		return 1;
	}
	return 0;
}
