/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmi.c - which launcher there is, and the way to speak to it
 *
 * Variables of several launchers may stand side by side: a job started inside a process of another job inherits that
 * one's. What is inside wins: a launcher's descriptor is open only in its own processes, since launchers, and ranks of
 * ours, let no other program inherit it. So PMI_FD counts where it is an open socket, else PMIX_NAMESPACE and PMIX_RANK.
 * A launcher that gives a descriptor and speaks PMIx as well is not known.
 *
 * Hydra and Slurm's pmi2 plugin speak PMI-1 and PMI-2 over the same descriptor, whichever is begun with. PMI-1 it is:
 * another client in the process (MPICH's) must speak the same, and that is built for PMI-1. PTL_PMI chooses.
 */
#include "config.h"

#include "p3_pmi_in.h"
#include "p3_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t p3_pmi_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* PMI-1 separates by blank, '=' and newline. */
int p3_pmi_carries(const char *s, size_t max)
{
	size_t n = strlen(s);

	if (!n || n >= max)
		return 0;
	for (; *s; s++)
		if (*s <= ' ' || *s == '=' || *s == 127)
			return 0;
	return 1;
}

int p3_pmi_mapping(struct p3_pmi *p, const char *text, uint32_t *node)
{
	int n = p3_map_parse(text, (uint32_t)p->size, node);

	if (n < 1) {
		snprintf(p->err, sizeof(p->err), "the launcher's PMI_process_mapping '%.180s' makes no sense", text);
		return -1;
	}
	return n;
}

int p3_pmi_around(void)
{
	return getenv("PMI_FD") || getenv("PMI_PORT") || getenv("PMIX_NAMESPACE");
}

/* Tasks of srun that it gave no way to find each other would each be a job of one. */
static int slurm_alone(char *err, size_t errlen)
{
	int n;

	if (!getenv("SLURM_STEP_ID") || p3_pmi_env_int("SLURM_STEP_NUM_TASKS", &n) || n < 2 || getenv("PTL_MY_RID"))
		return 0;
	snprintf(err, errlen, "srun has started %d tasks that cannot find each other: start them with srun --mpi=pmi2 or "
		 "--mpi=pmix (srun --mpi=list says which there are), or unset SLURM_STEP_ID to run each alone", n);
	return -1;
}

int p3_pmi_present(char *err, size_t errlen)
{
	int fd = getenv("PMI_FD") != NULL, port = getenv("PMI_PORT") != NULL, id = getenv("PMI_ID") != NULL;
	int nspace = getenv("PMIX_NAMESPACE") != NULL, xrank = getenv("PMIX_RANK") != NULL;
	int rank = getenv("PMI_RANK") != NULL, size = getenv("PMI_SIZE") != NULL;

	if (nspace && xrank)
		return 1;
	if (fd) {
		if (rank && size)
			return 1;
		snprintf(err, errlen, "PMI_FD is set but %s not: start the job with aprun or mpiexec, or unset PMI_FD "
			 "to run alone", rank ? "PMI_SIZE is" : size ? "PMI_RANK is" : "PMI_RANK and PMI_SIZE are");
		return -1;
	}
	if (port && id)
		return 1;
	if (port) {
		snprintf(err, errlen, "PMI_PORT is set but PMI_ID is not: start the job with aprun or mpiexec, or unset "
			 "PMI_PORT to run alone");
		return -1;
	}
	if (rank && size) {
		snprintf(err, errlen, "PMI_RANK and PMI_SIZE are set but neither PMI_FD nor PMI_PORT: this launcher does "
			 "not speak PMI-1 to its processes (with srun: --mpi=pmi2); start the job with aprun or mpiexec, or "
			 "unset both to run alone");
		return -1;
	}
	if (rank || size || id) {	/* what is left of a job, or was meant to be one: not a job of one */
		snprintf(err, errlen, "%s%s%s is set but %s not: start the job with aprun or mpiexec, or unset %s to run "
			 "alone", rank ? "PMI_RANK" : size ? "PMI_SIZE" : "", (rank || size) && id ? " (and PMI_ID)" : "",
			 rank || size ? "" : "PMI_ID", rank ? "PMI_SIZE and PMI_FD or PMI_PORT are" :
			 size ? "PMI_RANK and PMI_FD or PMI_PORT are" : "PMI_PORT is", (rank || size) && id ? "them" : "it");
		return -1;
	}
	if (nspace || xrank) {
		snprintf(err, errlen, "%s is set but %s is not: start the job with srun --mpi=pmix, mpirun or aprun, or unset "
			 "it to run alone", nspace ? "PMIX_NAMESPACE" : "PMIX_RANK", nspace ? "PMIX_RANK" : "PMIX_NAMESPACE");
		return -1;
	}
	return slurm_alone(err, errlen);
}

enum p3_pmi_kind p3_pmi_choose(enum p3_pmi_kind kind)
{
	if (kind)
		return kind;
	if (p3_pmi_fd_open() || (getenv("PMI_PORT") && getenv("PMI_ID")) || !getenv("PMIX_NAMESPACE"))
		return P3_PMI_1;
	return P3_PMI_X;
}

int p3_pmi_open(struct p3_pmi *p, enum p3_pmi_kind kind, int joined, int timeout_ms)
{
	static const struct p3_pmi_ops *const ops[] = {
		[P3_PMI_1] = &p3_pmi1_ops, [P3_PMI_2] = &p3_pmi2_ops, [P3_PMI_X] = &p3_pmix_ops,
	};

	memset(p, 0, sizeof(*p));
	p->fd = -1;
	p->joined = joined;
	p->kind = p3_pmi_choose(kind);
	p->ops = ops[p->kind];
	if (p->kind == P3_PMI_X && !(getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK"))) {
		snprintf(p->err, sizeof(p->err), "PTL_PMI=pmix, but the launcher has not set PMIX_NAMESPACE and PMIX_RANK");
		return -1;
	}
	if (p->kind != P3_PMI_X && !getenv("PMI_FD") && (p->kind == P3_PMI_2 || !getenv("PMI_PORT"))) {
		snprintf(p->err, sizeof(p->err), "PTL_PMI=%s, but the launcher has not set PMI_FD", p->kind == P3_PMI_2 ? "pmi2" :
			 "pmi1");
		return -1;
	}
	return p->ops->open(p, timeout_ms);
}

int p3_pmi_nodes(struct p3_pmi *p, uint32_t *node)
{
	if (p->size == 1) {
		node[0] = 0;
		return 1;
	}
	return p->ops->nodes(p, node);
}

int p3_pmi_barrier(struct p3_pmi *p, int timeout_ms)
{
	return p->ops ? p->ops->barrier(p, timeout_ms) : -EPIPE;
}

int p3_pmi_put(struct p3_pmi *p, const char *key, const char *value)
{
	return p->ops ? p->ops->put(p, key, value) : -EPIPE;
}

int p3_pmi_get(struct p3_pmi *p, const char *key, char *value, size_t len)
{
	return p->ops ? p->ops->get(p, key, value, len) : -EPIPE;
}

int p3_pmi_usable(const struct p3_pmi *p)
{
	return p->ops && p->ops->usable(p);
}

void p3_pmi_abort(struct p3_pmi *p, int code)
{
	if (p3_pmi_usable(p))
		p->ops->abort(p, code);
}

void p3_pmi_finalize(struct p3_pmi *p)
{
	if (p3_pmi_usable(p))
		p->ops->finalize(p);
}
