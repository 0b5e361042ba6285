/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmi_in.h - between p3_pmi.c and the ways of speaking to a launcher (internal to portals/rt)
 *
 * What each operation promises stands at the calls of the same name in p3_pmi.h. All but open are called only after an
 * open that succeeded, or gave up the connection afterwards; they must bear that.
 */
#ifndef P3_PMI_IN_H
#define P3_PMI_IN_H

#include "p3_pmi.h"

#define P3_PMI_ASK_MS	30000	/* for an answer that waits for no other rank */
#define P3_PMI_END_MS	5000	/* for the launcher to say goodbye, or to end us */

struct p3_pmi_ops {
	const char *name;
	int (*open)(struct p3_pmi *p, int timeout_ms);
	int (*nodes)(struct p3_pmi *p, uint32_t *node);
	int (*barrier)(struct p3_pmi *p, int timeout_ms);
	int (*put)(struct p3_pmi *p, const char *key, const char *value);
	int (*get)(struct p3_pmi *p, const char *key, char *value, size_t len);
	int (*usable)(const struct p3_pmi *p);
	void (*abort)(struct p3_pmi *p, int code);
	void (*finalize)(struct p3_pmi *p);
};

extern const struct p3_pmi_ops p3_pmi1_ops, p3_pmi2_ops, p3_pmix_ops;

/* ---- p3_pmi.c ---- */

/* May @s be a key or a value of at most @max - 1 bytes? The same for all ways: what PMI-1 can carry. */
int p3_pmi_carries(const char *s, size_t max);

/* PMI_process_mapping to nodes; as p3_pmi_nodes(). */
int p3_pmi_mapping(struct p3_pmi *p, const char *text, uint32_t *node);

int64_t p3_pmi_now_ms(void);

/* ---- p3_pmi_wire.c: PMI-1 and PMI-2 ---- */

/* Note the sentence and return @code; give_up closes the connection for good, too. */
int p3_pmi_fail(struct p3_pmi *p, int code, const char *what);
int p3_pmi_give_up(struct p3_pmi *p, int code, const char *what);

/* By PMI_FD, or PMI_PORT and PMI_ID; rank and size. 0, or -1 with p->err. */
int p3_pmi_connect(struct p3_pmi *p, int timeout_ms);

/* The connection is open, and still the one that was made. */
int p3_pmi_same_file(const struct p3_pmi *p);

/* 0, or -EPIPE: given up, or the parent's. */
int p3_pmi_mine(struct p3_pmi *p);

/* Is PMI_FD an open socket? */
int p3_pmi_fd_open(void);

/* The whole buffer. 0 or -EPIPE. */
int p3_pmi_send(struct p3_pmi *p, const char *buf, size_t len);

/* One line without its newline; @len bytes. 0, -ETIMEDOUT, -EPIPE, -EPROTO (line too long). */
int p3_pmi_read_line(struct p3_pmi *p, char *line, size_t len, int timeout_ms);
int p3_pmi_read_bytes(struct p3_pmi *p, char *buf, size_t len, int timeout_ms);

/* After "abort": until the launcher has closed the connection, or time is up. */
void p3_pmi_await_end(struct p3_pmi *p);

/* What @rc of a send or read means, where @what was asked for. Gives up; returns @rc. */
int p3_pmi_no_answer(struct p3_pmi *p, int rc, const char *what, int timeout_ms);

/* Send a line, read the answer, which must be of @cmd: PMI-1, and the first words of PMI-2. 0 or -errno. */
int p3_pmi_ask(struct p3_pmi *p, const char *req, const char *cmd, char *line, size_t len, int timeout_ms);

/* As p3_pmi_field(), for a decimal number. */
int p3_pmi_int(const char *line, char sep, const char *key, int *out);

/* A variable that is a number from 0 on: 0; 1 not set; -1 something else. */
int p3_pmi_env_int(const char *name, int *out);

#endif
