/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_demand.c - PTL_SMARTMAP=yes and PTL_CMA=yes: what cannot be had fails PtlNIInit in all ranks, with one sentence
 *
 * T_WANT is the code that PtlNIInit must give with the settings that the test was started with.
 */
#include "multi.h"
#include "tap.h"

#include <portals3.h>

static void t_what_was_demanded(void)
{
	const char *want = getenv("T_WANT");
	ptl_handle_ni_t ni = 0x1234;
	int n;

	REQUIRE_INT(PtlInit(&n), PTL_OK);
	for (int i = 0; i < 2; i++) {
		int rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);

		CHECK(want && !strcmp(PtlErrorStr((unsigned)rc), want));
		if (rc == PTL_OK)
			CHECK_INT(PtlNIFini(ni), PTL_OK);
	}
	PtlFini();
}

int main(void)
{
	static const struct t_case cases[] = { T(t_what_was_demanded), { 0 } };

	setvbuf(stdout, NULL, _IOLBF, 0);
	return t_run(cases);
}
