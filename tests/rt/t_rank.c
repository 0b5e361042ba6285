/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The rank calls beside an open interface, in a job by hand: they agree with PtlGetId, and check their handle. */
#include "multi.h"
#include "tap.h"

#include <portals3.h>
#include <p3rt/p3rt.h>

static ptl_handle_ni_t ni;

static void t_rank_before_an_interface_is_open(void)
{
	unsigned rank = 99, size = 99;
	int max;

	CHECK_INT(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size), PTL_NO_INIT);
	CHECK(rank == 99 && size == 99);
	REQUIRE_INT(PtlInit(&max), PTL_OK);
	CHECK_INT(PtlGetRank(PTL_INVALID_HANDLE, &rank, &size), PTL_OK);
	CHECK_INT(rank, t_rank());
	CHECK_INT(size, t_size());
}

static void t_rank_of_the_interface(void)
{
	unsigned rank = 99, size = 99;
	ptl_process_id_t id, mine;

	REQUIRE_INT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_OK);
	CHECK_INT(PtlGetRank(ni, &rank, &size), PTL_OK);
	CHECK_INT(rank, t_rank());
	REQUIRE_INT(PtlGetId(ni, &mine), PTL_OK);
	CHECK_INT(PtlGetRankId(ni, rank, &id), PTL_OK);
	CHECK(id.nid == mine.nid && id.pid == mine.pid);
	CHECK_INT(PtlGetRankId(ni, size, &id), PTL_FAIL);
}

static void t_handle_of_no_interface(void)
{
	ptl_process_id_t id = { 7, 7 };
	unsigned rank = 99, size = 99;
	ptl_handle_eq_t eq;

	CHECK_INT(PtlGetRank(ni + 1, &rank, &size), PTL_NI_INVALID);
	CHECK_INT(PtlGetRankId(PTL_EQ_NONE, 0, &id), PTL_NI_INVALID);
	REQUIRE_INT(PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &eq), PTL_OK);
	CHECK_INT(PtlGetRankId(eq, 0, &id), PTL_NI_INVALID);	/* a handle, but of another kind */
	CHECK_INT(PtlEQFree(eq), PTL_OK);
	CHECK(rank == 99 && size == 99 && id.nid == 7 && id.pid == 7);
	t_barrier();
	CHECK_INT(PtlNIFini(ni), PTL_OK);
	CHECK_INT(PtlGetRank(ni, &rank, &size), PTL_NI_INVALID);
	PtlFini();
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_rank_before_an_interface_is_open), T(t_rank_of_the_interface), T(t_handle_of_no_interface), { 0 }
	};

	return t_run(cases);
}
