/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* env.c - for t_env.sh: what dmapp_init() says to the environment, and to a good one behind it; prints it */
#include <stdio.h>
#include <stdlib.h>

#include "dm.h"

int main(void)
{
	static const char *const name[] = { "DMAPP_MAX_OUTSTANDING_NB", "DMAPP_OFFLOAD_THRESHOLD", "DMAPP_MAX_LOCKS",
					    "_DMAPPI_NDREG_ENTRIES", "DMAPP_ENGINE" };
	dmapp_return_t first = dmapp_init(NULL, NULL), then = DMAPP_RC_NOT_USED;
	dmapp_rma_attrs_t a = { 0 };

	if (first == DMAPP_RC_SUCCESS) {
		dmapp_get_rma_attrs(&a);
		dmapp_finalize();
	} else {
		for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
			unsetenv(name[i]);
	}
	then = dmapp_init(NULL, NULL);
	if (then == DMAPP_RC_SUCCESS)
		then = dmapp_finalize();
	printf("init %d, again %d, %u syncids, threshold %u\n", (int)first, (int)then, a.max_outstanding_nb,
	       a.offload_threshold);
	return 0;
}
