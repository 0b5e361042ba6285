/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * env.c - what the environment sets
 *
 * PE 0 reads the variables when DMAPP starts, looks whether each is a number or word that may be, and lays what it has
 * found into its work area, where the others get it: so all PEs do the same, also when the values are bad, and a
 * sentence about one is printed once in a job. What stands in the environment of another PE only counts nowhere,
 * but for dmapp_get_rma_attrs() before the start.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "dmappi.h"

static const struct number {
	const char *name, *unit;
	uint32_t otherwise, lo, hi;
	bool suffix;			/* k and m are taken */
	size_t at;			/* in struct dmappi_env */
} numbers[] = {
	{ "DMAPP_MAX_OUTSTANDING_NB", "a number", DMAPP_DEF_OUTSTANDING_NB, DMAPP_MIN_OUTSTANDING_NB,
	  DMAPP_MAX_OUTSTANDING_NB, true, offsetof(struct dmappi_env, outstanding) },
	{ "DMAPP_OFFLOAD_THRESHOLD", "bytes", DMAPP_OFFLOAD_THRESHOLD, 0, UINT32_MAX, true,
	  offsetof(struct dmappi_env, threshold) },
	{ "DMAPP_MAX_LOCKS", "a number", DMAPP_DEF_LOCKS, 1, DMAPP_LIMIT_LOCKS, false,
	  offsetof(struct dmappi_env, locks) },
	{ "_DMAPPI_NDREG_ENTRIES", "a number", 256, 1, DMAPPI_REGS, false, offsetof(struct dmappi_env, registrations) },
};

static bool number_from(const char *text, const struct number *k, uint32_t *value)
{
	unsigned shift = 0;
	unsigned long v;
	char *end;

	if (!isdigit((unsigned char)*text))	/* strtoul would take a sign, too */
		return false;
	errno = 0;
	v = strtoul(text, &end, 0);
	if (k->suffix && (*end == 'k' || *end == 'K'))
		shift = 10;
	else if (k->suffix && (*end == 'm' || *end == 'M'))
		shift = 20;
	if (errno || end[shift != 0] || v > k->hi >> shift || v << shift < k->lo)
		return false;
	*value = (uint32_t)(v << shift);
	return true;
}

void dmappi_env_read(struct dmappi_env *env, bool aloud)
{
	static const char *const words[] = { [DMAPPI_ENGINE_AUTO] = "auto", [DMAPPI_ENGINE_NO] = "no",
					     [DMAPPI_ENGINE_YES] = "yes" };
	const char *text;

	*env = (struct dmappi_env){ 0 };
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const struct number *k = &numbers[i];
		uint32_t v = k->otherwise;

		text = getenv(k->name);
		if (text && *text && !number_from(text, k, &v)) {
			env->bad = 1;
			if (aloud)
				fprintf(stderr, "dmapp error: %s=%s: must be %s from %u to %u%s\n", k->name, text,
					k->unit, k->lo, k->hi, k->suffix ? ", also with k or m" : "");
		}
		memcpy((char *)env + k->at, &v, sizeof(v));
	}
	text = getenv("DMAPP_ENGINE");
	if (!text || !*text)
		return;
	while (env->engine < DMAPPI_ENGINE_WORDS && strcmp(text, words[env->engine]))
		env->engine++;
	if (env->engine < DMAPPI_ENGINE_WORDS)
		return;
	env->engine = DMAPPI_ENGINE_AUTO;
	env->bad = 1;
	if (aloud)
		fprintf(stderr, "dmapp error: DMAPP_ENGINE=%s: must be yes, no or auto\n", text);
}

dmapp_return_t dmappi_env_agree(struct dmappi_env *env)
{
	dmapp_return_t rc = DMAPP_RC_SUCCESS;

	if (!dmappi.pe) {
		dmappi_env_read(env, true);
		dmappi.work->env = *env;
	}
	L->barrier();
	if (dmappi.pe)
		rc = dmappi_get(env, &dmappi.work->env, DMAPPI_WORK_SEG, 0, sizeof(*env));
	if (rc == DMAPP_RC_SUCCESS && env->bad)
		rc = DMAPP_RC_INVALID_PARAM;
	if (rc != DMAPP_RC_SUCCESS)
		L->barrier();		/* PE 0's work area is read until here */
	return rc;
}
