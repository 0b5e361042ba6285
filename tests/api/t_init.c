/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_init.c - before, during and after the life of the library and of an interface (item 1)
 */
#include "multi.h"
#include "tap.h"

#include <p3rt/p3rt.h>
#include <portals3.h>
#include <sys/wait.h>

static ptl_handle_ni_t ni;
static const ptl_process_id_t anyone = { PTL_NID_ANY, PTL_PID_ANY };
static ptl_ni_limits_t lim;

/* Every call but PtlInit. Counts those that did not answer PTL_NO_INIT. */
static int all_without_init(void)
{
	ptl_handle_any_t h = 0x1234;
	ptl_md_t md = { .eq_handle = PTL_EQ_NONE };
	ptl_process_id_t id = { 1, 1 };
	ptl_sr_value_t v;
	ptl_event_t ev;
	ptl_uid_t u;
	ptl_jid_t j;
	unsigned long d;
	unsigned a, b;
	int w, bad = 0;

#define NI(call) do { int rc_ = (call); if (rc_ != PTL_NO_INIT) { diag("%s: %s", #call, PtlErrorStr((unsigned)rc_)); bad++; } } while (0)
	NI(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &h));
	NI(PtlNIFini(h));
	NI(PtlNIStatus(h, PTL_SR_DROP_COUNT, &v));
	NI(PtlNIDist(h, id, &d));
	NI(PtlNIHandle(h, &h));
	NI(PtlGetUid(h, &u));
	NI(PtlGetId(h, &id));
	NI(PtlGetJid(h, &j));
	NI(PtlMEAttach(h, 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &h));
	NI(PtlMEAttachAny(h, &a, anyone, 0, 0, PTL_RETAIN, &h));
	NI(PtlMEInsert(h, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &h));
	NI(PtlMEUnlink(h));
	NI(PtlMDAttach(h, md, PTL_RETAIN, &h));
	NI(PtlMDBind(h, md, PTL_RETAIN, &h));
	NI(PtlMDUnlink(h));
	NI(PtlMDUpdate(h, &md, NULL, PTL_EQ_NONE));
	NI(PtlMEMDPost(h, h, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, md, PTL_RETAIN, &h, &h, PTL_EQ_NONE));
	NI(PtlEQAlloc(h, 4, PTL_EQ_HANDLER_NONE, &h));
	NI(PtlEQFree(h));
	NI(PtlEQGet(h, &ev));
	NI(PtlEQWait(h, &ev));
	NI(PtlEQPoll(&h, 1, 0, &ev, &w));
	NI(PtlEQPeek(h, &ev));
	NI(PtlACEntry(h, 0, anyone, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
	NI(PtlPut(h, PTL_NO_ACK_REQ, id, 0, 0, 0, 0, 0));
	NI(PtlPutRegion(h, 0, 0, PTL_NO_ACK_REQ, id, 0, 0, 0, 0, 0));
	NI(PtlGet(h, id, 0, 0, 0, 0));
	NI(PtlGetRegion(h, 0, 0, id, 0, 0, 0, 0));
	NI(PtlPTPolled_np(h, 0, 1));
	NI(PtlNISerial_np(h, 1, NULL));
	NI(PtlGetRank(PTL_INVALID_HANDLE, &a, &b));
#undef NI
	return bad;
}

static void t_before_init_every_call_says_so(void)
{
	CHECK_INT(all_without_init(), 0);
}

static void t_fini_without_init_is_ignored(void)
{
	PtlFini();
}

static void t_init_twice(void)
{
	int max = -1, again = -1;

	CHECK_INT(PtlInit(NULL), PTL_SEGV);
	REQUIRE_INT(PtlInit(&max), PTL_OK);
	CHECK(max >= 1);
	CHECK_INT(PtlInit(&again), PTL_OK);
	CHECK_INT(again, max);
	CHECK_INT(PtlInit(NULL), PTL_OK);
}

static void t_ranks_before_the_interface(void)
{
	unsigned rank = 99, size = 0;

	CHECK_INT(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size), PTL_OK);
	CHECK_INT(rank, t_rank());
	CHECK_INT(size, t_size());
	CHECK_INT(PtlSetRank(PTL_INVALID_HANDLE, (unsigned)-1, (unsigned)-1), PTL_OK);
}

static void t_bad_interface_or_address(void)
{
	ptl_handle_ni_t h = 0x1234;

	CHECK_INT(PtlNIInit(0x1234567, PTL_PID_ANY, NULL, NULL, &h), PTL_IFACE_INVALID);
	CHECK_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, NULL), PTL_SEGV);
	CHECK_INT(PtlNIInit(PTL_IFACE_DEFAULT, 0x400000, NULL, NULL, &h), PTL_PID_INVALID);
	CHECK_INT(h, 0x1234);
}

/* Smaller limits are honoured, larger ones cut; the same handle again; counted. */
static void t_ni_init_twice_gives_the_same(void)
{
	ptl_ni_limits_t want = { .max_mes = 200, .max_mds = 300, .max_eqs = 20, .max_ac_index = 3, .max_pt_index = 40,
		.max_md_iovecs = 16, .max_me_list = 150, .max_getput_md = 8 }, got, again;
	ptl_handle_ni_t h2 = 0;

	memset(&got, 0, sizeof(got));
	REQUIRE_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, &want, &got, &ni), PTL_OK);
	CHECK_INT(got.max_mes, 200);
	CHECK_INT(got.max_mds, 300);
	CHECK_INT(got.max_eqs, 20);
	CHECK(got.max_ac_index >= 0 && got.max_ac_index <= 7);
	CHECK(got.max_pt_index >= 7);
	CHECK(got.max_md_iovecs >= 1);
	CHECK_INT(got.max_me_list, 150);
	CHECK(got.max_getput_md >= 8);
	memset(&again, 0, sizeof(again));
	CHECK_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, &again, &h2), PTL_OK);
	CHECK_INT(h2, ni);
	CHECK(!memcmp(&got, &again, sizeof(got)));
	lim = got;
	CHECK_INT(PtlNIFini(h2), PTL_OK);
	CHECK_INT(PtlGetId(ni, &(ptl_process_id_t){ 0, 0 }), PTL_OK);	/* still open: it was opened twice */
}

static void t_limits_are_kept(void)
{
	ptl_handle_me_t *m = calloc((size_t)lim.max_mes + 1, sizeof(*m));
	ptl_handle_md_t *d = calloc((size_t)lim.max_mds + 1, sizeof(*d));
	ptl_md_t md = { .eq_handle = PTL_EQ_NONE, .threshold = 1 };
	ptl_handle_me_t extra;
	int n;

	REQUIRE(m && d);
	for (int round = 0; round < 2; round++) {
		for (n = 0; n < lim.max_me_list; n++)
			CHECK_INT(PtlMEAttach(ni, 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &m[n]), PTL_OK);
		CHECK_INT(PtlMEAttach(ni, 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &extra), PTL_ME_LIST_TOO_LONG);
		CHECK_INT(PtlMEAttach(ni, 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_BEFORE, &extra), PTL_ME_LIST_TOO_LONG);
		CHECK_INT(PtlMEInsert(m[0], anyone, 0, 0, PTL_RETAIN, PTL_INS_BEFORE, &extra), PTL_ME_LIST_TOO_LONG);
		CHECK_INT(PtlMEMDPost(ni, m[0], anyone, 0, 0, PTL_RETAIN, PTL_INS_BEFORE, md, PTL_RETAIN, &extra, &extra,
				      PTL_EQ_NONE), PTL_ME_LIST_TOO_LONG);
		for (; n < lim.max_mes; n++)
			CHECK_INT(PtlMEAttach(ni, 1, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &m[n]), PTL_OK);
		CHECK_INT(PtlMEAttach(ni, 2, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &extra), PTL_NO_SPACE);
		CHECK_INT(PtlMEInsert(m[n - 1], anyone, 0, 0, PTL_RETAIN, PTL_INS_BEFORE, &extra), PTL_NO_SPACE);
		for (int i = 0; i < n; i++)
			CHECK_INT(PtlMEUnlink(m[i]), PTL_OK);
		for (n = 0; n < lim.max_mds; n++)
			CHECK_INT(PtlMDBind(ni, md, PTL_RETAIN, &d[n]), PTL_OK);
		CHECK_INT(PtlMDBind(ni, md, PTL_RETAIN, &extra), PTL_NO_SPACE);
		for (int i = 0; i < n; i++)
			CHECK_INT(PtlMDUnlink(d[i]), PTL_OK);
	}
	free(m);
	free(d);
}

/* item 18 */
static void t_attach_any_until_full(void)
{
	ptl_handle_me_t m[256], extra, fixed;
	ptl_pt_index_t pt[256], x = 0x7777;
	int n = 0;

	REQUIRE(lim.max_pt_index < 256);
	CHECK_INT(PtlMEAttach(ni, 5, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &fixed), PTL_OK);
	while (n < 256 && PtlMEAttachAny(ni, &pt[n], anyone, 0, 0, PTL_RETAIN, &m[n]) == PTL_OK) {
		CHECK(pt[n] <= (unsigned)lim.max_pt_index && pt[n] != 5);
		for (int i = 0; i < n; i++)
			CHECK(pt[i] != pt[n]);
		n++;
	}
	/* indices of our own layers are left to them (design): some may be avoided */
	CHECK(n >= 1 && n <= lim.max_pt_index);
	CHECK_INT(PtlMEAttachAny(ni, &x, anyone, 0, 0, PTL_RETAIN, &extra), PTL_PT_FULL);
	CHECK_INT(x, 0x7777);
	CHECK_INT(PtlMEUnlink(m[0]), PTL_OK);
	CHECK_INT(PtlMEAttachAny(ni, &x, anyone, 0, 0, PTL_RETAIN, &extra), PTL_OK);
	CHECK_INT(x, pt[0]);		/* "empty now", not "never used" */
	CHECK_INT(PtlMEUnlink(extra), PTL_OK);
	for (int i = 1; i < n; i++)
		CHECK_INT(PtlMEUnlink(m[i]), PTL_OK);
	CHECK_INT(PtlMEUnlink(fixed), PTL_OK);
}

static void t_status_registers(void)
{
	ptl_sr_value_t v = -7;

	for (ptl_sr_index_t i = PTL_SR_DROP_COUNT; i <= PTL_SR_SEND_LENGTH; i++) {
		v = -7;
		CHECK_INT(PtlNIStatus(ni, i, &v), PTL_OK);
		CHECK(v >= 0);
	}
	CHECK_INT(PtlNIStatus(ni, PTL_SR_CORRUPT_NP, &v), PTL_OK);
	CHECK_INT(v, 0);
	CHECK_INT(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &v), PTL_OK);
	CHECK_INT(v, 0);
	CHECK_INT(PtlNIStatus(ni, 0x7ffffff0, &v), PTL_SR_INDEX_INVALID);
	CHECK_INT(PtlNIStatus(ni, 0xffffffff, &v), PTL_SR_INDEX_INVALID);
	CHECK_INT(PtlNIStatus(ni, PTL_SR_DROP_COUNT, NULL), PTL_SEGV);
	CHECK_INT(PtlNIStatus(PTL_INVALID_HANDLE, PTL_SR_DROP_COUNT, &v), PTL_NI_INVALID);
}

static void t_distances(void)
{
	ptl_process_id_t id, mine;
	unsigned long d = 77;

	CHECK_INT(PtlGetId(ni, &mine), PTL_OK);
	CHECK_INT(PtlNIDist(ni, mine, &d), PTL_OK);
	CHECK_INT(d, 0);
	for (int r = 0; r < t_size(); r++) {
		CHECK_INT(PtlGetRankId(ni, (unsigned)r, &id), PTL_OK);
		CHECK_INT(PtlNIDist(ni, id, &d), PTL_OK);
		CHECK_INT(d, r == t_rank() ? 0 : id.nid == mine.nid ? 1 : 2);
	}
	id.pid += 12345;
	CHECK_INT(PtlNIDist(ni, id, &d), PTL_PROCESS_INVALID);
	CHECK_INT(PtlNIDist(ni, anyone, &d), PTL_PROCESS_INVALID);
	CHECK_INT(PtlNIDist(ni, id, NULL), PTL_SEGV);
	CHECK_INT(PtlNIDist(PTL_INVALID_HANDLE, id, &d), PTL_NI_INVALID);
}

static void t_identity(void)
{
	ptl_process_id_t id = { 0, 0 }, mine;
	ptl_uid_t uid = 0x7fffffff;
	ptl_jid_t jid = 0;

	CHECK_INT(PtlGetId(ni, &mine), PTL_OK);
	CHECK_INT(PtlGetRankId(ni, (unsigned)t_rank(), &id), PTL_OK);
	CHECK_INT(id.nid, mine.nid);
	CHECK_INT(id.pid, mine.pid);
	CHECK_INT(PtlGetRankId(ni, (unsigned)t_size(), &id), PTL_FAIL);
	CHECK_INT(PtlGetUid(ni, &uid), PTL_OK);
	CHECK_INT(uid, geteuid());
	CHECK_INT(PtlGetJid(ni, &jid), PTL_OK);
	CHECK(jid != PTL_JID_NONE && jid != PTL_JID_ANY);
	if (getenv("PTL_MY_JID")) {
		ptl_nid_t nids[64];
		ptl_pid_t pids[64];
		const char *n = getenv("T_PER_NODE");
		int per_node = n ? atoi(n) : 64;

		CHECK_INT(jid, atoi(getenv("PTL_MY_JID")));
		REQUIRE(t_size() <= 64);
		CHECK_INT(PtlGetNIDMap(ni, nids, (unsigned)t_size()), PTL_OK);
		CHECK_INT(PtlGetPIDMap(ni, pids, (unsigned)t_size()), PTL_OK);
		CHECK_INT(PtlGetPIDMap(ni, pids, (unsigned)t_size() + 1), PTL_FAIL);
		for (int i = 0; i < t_size(); i++) {	/* as tests/common/multi gave them */
			CHECK_INT(nids[i], 1 + 3 * (i / per_node));
			CHECK_INT(pids[i], 300 + 7 * i);
		}
	}
	CHECK_INT(PtlGetId(ni, NULL), PTL_SEGV);
	CHECK_INT(PtlGetUid(ni, NULL), PTL_SEGV);
	CHECK_INT(PtlGetJid(ni, NULL), PTL_SEGV);
	CHECK_INT(PtlGetId(PTL_INVALID_HANDLE, &id), PTL_NI_INVALID);
	CHECK_INT(PtlGetUid(PTL_INVALID_HANDLE, &uid), PTL_NI_INVALID);
	CHECK_INT(PtlGetJid(PTL_INVALID_HANDLE, &jid), PTL_NI_INVALID);
}

static void t_interface_of_a_handle(void)
{
	ptl_handle_ni_t h = 0;
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;

	CHECK_INT(PtlEQAlloc(ni, 2, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	CHECK_INT(PtlMEAttach(ni, 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	CHECK_INT(PtlNIHandle(ni, &h), PTL_OK);
	CHECK_INT(h, ni);
	h = 0;
	CHECK_INT(PtlNIHandle(eq, &h), PTL_OK);
	CHECK_INT(h, ni);
	h = 0;
	CHECK_INT(PtlNIHandle(me, &h), PTL_OK);
	CHECK_INT(h, ni);
	CHECK_INT(PtlNIHandle(PTL_INVALID_HANDLE, &h), PTL_HANDLE_INVALID);
	CHECK_INT(PtlNIHandle(ni, NULL), PTL_SEGV);
	CHECK_INT(PtlHandleIsEqual(ni, ni), PTL_OK);
	CHECK_INT(PtlHandleIsEqual(ni, eq), PTL_FAIL);
	CHECK_INT(PtlHandleIsEqual(PTL_INVALID_HANDLE, eq), PTL_FAIL);
	CHECK_INT(PtlEQFree(eq), PTL_OK);
	CHECK_INT(PtlMEUnlink(me), PTL_OK);
}

static void t_names_of_codes_and_events(void)
{
	CHECK(!strcmp(PtlErrorStr(PTL_OK), "PTL_OK"));
	CHECK(!strcmp(PtlErrorStr(PTL_SR_INDEX_INVALID), "PTL_SR_INDEX_INVALID"));
	CHECK(!strcmp(ptl_err_str[PTL_MD_NO_UPDATE], "PTL_MD_NO_UPDATE"));
	for (unsigned i = 0; i < PTL_MAX_ERRNO; i++)
		CHECK(ptl_err_str[i] && !strncmp(ptl_err_str[i], "PTL_", 4));
	CHECK(PtlErrorStr(12345) && PtlErrorStr(0xffffffff));
	CHECK(!strcmp(PtlEventKindStr(PTL_EVENT_PUT_END), "PTL_EVENT_PUT_END"));
	CHECK(!strcmp(PtlEventKindStr(PTL_EVENT_UNLINK), "PTL_EVENT_UNLINK"));
	CHECK(!strcmp(PtlEventKindStr((ptl_event_kind_t)99), "PTL_UNKNOWN_EVENT_KIND"));
	CHECK(PtlNIFailStr(ni, PTL_NI_OK) && PtlNIFailStr(ni, PTL_NI_FAIL) && PtlNIFailStr(ni, 9999));
}

/* A child of fork() computes and ends; Portals is not its own. The parent goes on. */
static void t_child_of_fork_has_no_interface(void)
{
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	REQUIRE(child >= 0);
	if (!child) {
		int max;

		_exit(all_without_init() + (PtlInit(&max) == PTL_OK && PtlGetId(ni, &(ptl_process_id_t){ 0, 0 }) == PTL_OK));
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 0);
	CHECK_INT(PtlGetId(ni, &(ptl_process_id_t){ 0, 0 }), PTL_OK);
}

static void t_handles_end_with_the_interface(void)
{
	ptl_handle_eq_t eq;
	ptl_handle_me_t me;
	ptl_event_t ev;

	CHECK_INT(PtlEQAlloc(ni, 2, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	CHECK_INT(PtlMEAttach(ni, 0, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me), PTL_OK);
	t_barrier();
	CHECK_INT(PtlNIFini(PTL_INVALID_HANDLE), PTL_NI_INVALID);
	CHECK_INT(PtlNIFini(ni), PTL_OK);
	CHECK_INT(PtlNIFini(ni), PTL_NI_INVALID);
	CHECK_INT(PtlEQGet(eq, &ev), PTL_EQ_INVALID);
	CHECK_INT(PtlMEUnlink(me), PTL_ME_INVALID);
	CHECK_INT(PtlGetId(ni, &(ptl_process_id_t){ 0, 0 }), PTL_NI_INVALID);
}

/* Two ranks or more cannot join again: the next interface of this process would be that of a job. */
static void t_handle_of_a_closed_interface_is_not_that_of_the_next(void)
{
	ptl_handle_ni_t next;

	if (t_size() > 1)
		SKIP("needs one process only");
	REQUIRE(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &next) == PTL_OK);
	CHECK(next != ni);
	CHECK_INT(PtlGetId(ni, &(ptl_process_id_t){ 0, 0 }), PTL_NI_INVALID);
	CHECK_INT(PtlNIFini(ni), PTL_NI_INVALID);
	CHECK_INT(PtlGetId(next, &(ptl_process_id_t){ 0, 0 }), PTL_OK);
	CHECK_INT(PtlNIFini(next), PTL_OK);
}

static void t_after_fini_every_call_says_so(void)
{
	PtlFini();
	CHECK_INT(all_without_init(), 0);
	PtlFini();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_before_init_every_call_says_so), T(t_fini_without_init_is_ignored), T(t_init_twice),
		T(t_ranks_before_the_interface), T(t_bad_interface_or_address), T(t_ni_init_twice_gives_the_same),
		T(t_limits_are_kept), T(t_attach_any_until_full), T(t_status_registers), T(t_distances), T(t_identity),
		T(t_interface_of_a_handle), T(t_names_of_codes_and_events), T(t_child_of_fork_has_no_interface),
		T(t_handles_end_with_the_interface), T(t_handle_of_a_closed_interface_is_not_that_of_the_next),
		T(t_after_fini_every_call_says_so), { 0 }
	};

	setvbuf(stdout, NULL, _IOLBF, 0);
	return t_run(cases);
}
