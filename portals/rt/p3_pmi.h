/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmi.h - client of the PMI-1 wire protocol (MPICH's "simple PMI": Hydra, gforker, Slurm's pmi2 plugin)
 *
 * One connection, lines of "cmd=NAME key=value ...\n", strictly one request and one answer. The descriptor may be
 * shared with another PMI client of this process (MPICH's own): between two of our calls nothing of ours is in
 * flight, and a read never takes more than its line. The caller serialises.
 */
#ifndef P3_PMI_H
#define P3_PMI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define P3_PMI_LINE	2048	/* longest line either way */

struct p3_pmi {
	int fd;			/* -1: not connected, or unusable after an error */
	int own_fd;		/* made by us (PMI_PORT): nobody else closes it */
	dev_t dev;		/* identity of fd, to notice that another client closed it and the number is reused */
	ino_t ino;
	pid_t pid;		/* process that connected: a forked child must stay silent */
	int rank, size;
	int kvsname_max, key_max, value_max;
	char kvsname[256];
	char err[256];		/* one sentence after a failure */
	int64_t (*meantime)(void *);	/* NULL, or called in a wait without end; it need not be again for so many ns */
	void *arg;
};

/* Does the environment name a PMI-1 launcher? 1 yes, 0 no, -1 half-set (err filled). */
int p3_pmi_present(char *err, size_t errlen);

/**
 * p3_pmi_open - connect (PMI_FD, or PMI_PORT with PMI_ID), init, sizes and name of the key space
 * Return: 0, or -1 with p->err.
 */
int p3_pmi_open(struct p3_pmi *p, int timeout_ms);

/* Collective over all ranks. timeout_ms < 0: for ever. 0, -ETIMEDOUT, -EPIPE (launcher gone). */
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

/* The value of @key in a line of answers; 0, or -1 when absent or too long. For tests. */
int p3_pmi_field(const char *line, const char *key, char *value, size_t len);

#endif
