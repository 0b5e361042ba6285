/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* A Portals program that exits with status 5, after PtlFini or (with an argument) without it. */
#include <portals3.h>

#include <stddef.h>

int main(int argc, char **argv)
{
	ptl_handle_ni_t ni;
	int max;

	if (PtlInit(&max) != PTL_OK || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) != PTL_OK)
		return 1;
	if (argc > 1)
		return 5;
	PtlNIFini(ni);
	PtlFini();
	return 5;
}
