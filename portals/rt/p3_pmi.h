/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmi.h - what a launcher tells its processes and passes between them, whichever way it speaks
 *
 *	PMI-1	over PMI_FD or PMI_PORT: Hydra, Slurm's pmi2 plugin (which speaks both)		p3_pmi1.c
 *	PMI-2	over PMI_FD: the same launchers							p3_pmi2.c
 *	PMIx	by libpmix, loaded when it is needed: Slurm's pmix plugin, Open MPI's mpirun, prterun	p3_pmix.c
 *
 * One connection, strictly one request and one answer. With PMI-1 the descriptor may be shared with another PMI client
 * of this process (MPICH's own): between two of our calls nothing of ours is in flight, and a read never takes more
 * than its answer. The caller serialises.
 */
#ifndef P3_PMI_H
#define P3_PMI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define P3_PMI_LINE	2048	/* longest line or answer either way */

enum p3_pmi_kind { P3_PMI_AUTO, P3_PMI_1, P3_PMI_2, P3_PMI_X };		/* values of PTL_PMI */

struct p3_pmi_ops;

struct p3_pmi {
	const struct p3_pmi_ops *ops;	/* NULL: never opened */
	enum p3_pmi_kind kind;	/* which it became */
	int joined;		/* another client of this process has begun the conversation, by PMI-1 */
	int fd;			/* -1: not connected, or unusable after an error; PMIx: always */
	int own_fd;		/* made by us (PMI_PORT): nobody else closes it */
	dev_t dev;		/* identity of fd, to notice that another client closed it and the number is reused */
	ino_t ino;
	pid_t pid;		/* process that connected: a forked child must stay silent */
	int rank, size;
	int kvsname_max, key_max, value_max;
	char kvsname[256];	/* of the key space, or the job: different for each job of this launcher */
	char err[256];		/* one sentence after a failure */
	int64_t (*meantime)(void *);	/* NULL, or called in a wait without end; it need not be again for so many ns */
	void *arg;
};

/* Does the environment name a launcher? 1 yes, 0 no, -1 half-set (err filled). */
int p3_pmi_present(char *err, size_t errlen);

/* Variables of a launcher are there, whatever they are worth: for what is only said in other words then. */
int p3_pmi_around(void);

/* The way that @kind stands for here; P3_PMI_AUTO: what the environment says (the launcher that is inside wins). */
enum p3_pmi_kind p3_pmi_choose(enum p3_pmi_kind kind);

/**
 * p3_pmi_open - connect, init, sizes and name of the key space
 * @kind: see p3_pmi_choose()
 * @joined: another client of this process has sent "init" over PMI_FD: Slurm ends the conversation at a second one
 *
 * Return: 0, or -1 with p->err.
 */
int p3_pmi_open(struct p3_pmi *p, enum p3_pmi_kind kind, int joined, int timeout_ms);

/* The node of each of @size launch ranks, numbered densely from 0. How many nodes, or -1 with p->err. */
int p3_pmi_nodes(struct p3_pmi *p, uint32_t *node);

/* Collective over all ranks; what was put before is seen by all after it. timeout_ms < 0: for ever. 0, -ETIMEDOUT,
 * -EPIPE (launcher gone). */
int p3_pmi_barrier(struct p3_pmi *p, int timeout_ms);

/* 0; -EINVAL (length, or a character that the wire cannot carry); -EEXIST or other refusal: -EIO; -EPIPE. */
int p3_pmi_put(struct p3_pmi *p, const char *key, const char *value);

/* 0; -ENOENT (nobody put it); -ENOSPC (value too long for @len); -EPIPE. */
int p3_pmi_get(struct p3_pmi *p, const char *key, char *value, size_t len);

/* 1: the connection is open, and this process is the rank (no child of it, no other file under its number). */
int p3_pmi_usable(const struct p3_pmi *p);

/* Ask the launcher to end the whole job, and wait a little to be ended. */
void p3_pmi_abort(struct p3_pmi *p, int code);

/* Say goodbye; silent when the connection is not (or no longer) ours. */
void p3_pmi_finalize(struct p3_pmi *p);

/* The value of @key in an answer, whose fields end in @sep (' ': PMI-1, ';': PMI-2); 0, or -1 when absent or too long.
 * For tests. */
int p3_pmi_field(const char *line, char sep, const char *key, char *value, size_t len);

#endif
