/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * engine.h - for tests that look at the engine of their node (PTL_NAL=ap) from outside
 */
#ifndef T_ENGINE_H
#define T_ENGINE_H

#include "ptl.h"
#include "smartmap.h"

/* Its pid, after PtlNIInit(); 0: this job has none. */
__attribute__((unused)) static pid_t p_engine(void)
{
	const char *nal = getenv("PTL_NAL");
	int pid = nal && !strcmp(nal, "ap") ? smartmap_pid(smartmap_size()) : 0;

	return pid > 1 ? (pid_t)pid : 0;
}

/* Memory of its own, in kB, without what it shares with the ranks, which is bounded by its size; -1: cannot be said. */
__attribute__((unused)) static long p_engine_kb(void)
{
	char path[64], line[128];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)p_engine());
	f = p_engine() ? fopen(path, "re") : NULL;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld kB", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

#endif
