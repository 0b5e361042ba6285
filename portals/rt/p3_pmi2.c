/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmi2.c - PMI-2 on the wire: a length of six characters, then "cmd=NAME;key=value;...;"
 *
 * Spoken natively, not through libpmi2: the launchers that have PMI-2 on a descriptor are Slurm and Hydra, the
 * bytes are the same, and no library has to be found or can hang where we would have a time limit. Only the
 * first line of both sides, which settles the version, is one of PMI-1.
 *
 * A ';' within a value would end it, and launchers do not agree on how it is doubled. So values go out with ';'
 * and '%' as "%3B" and "%25"; nobody but us reads them. What the launcher itself says (attributes of the job) is
 * taken as it stands.
 */
#include "config.h"

#include "p3_pmi_in.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEAD	6	/* characters of the length */

enum { KEY_MAX = 64, VALUE_MAX = 1024 };	/* PMI2_MAX_KEYLEN, PMI2_MAX_VALLEN */

/*
 * The length of an answer: digits, after blanks (Hydra) or before them (Slurm). -1: something else, or more than
 * we take.
 */
static int length(const char *head)
{
	int n = 0, i = 0;

	while (i < HEAD && head[i] == ' ')
		i++;
	for (; i < HEAD && head[i] >= '0' && head[i] <= '9'; i++)
		n = n * 10 + head[i] - '0';
	while (i < HEAD && head[i] == ' ')
		i++;
	return i == HEAD && n > 0 && n < P3_PMI_LINE ? n : -1;
}

static int answer(struct p3_pmi *p, char *line, int timeout_ms)
{
	char head[HEAD];
	int n, rc = p3_pmi_read_bytes(p, head, HEAD, timeout_ms);

	if (rc)
		return rc;
	n = length(head);
	if (n < 0)
		return -EPROTO;
	rc = p3_pmi_read_bytes(p, line, (size_t)n, timeout_ms < 0 ? P3_PMI_ASK_MS : timeout_ms);
	if (rc)
		return rc;
	line[n] = 0;
	if (strlen(line) != (size_t)n)
		return -EPROTO;
	return 0;
}

/*
 * Send "cmd=@cmd;@rest", read the answer into @line (P3_PMI_LINE bytes), which must be "cmd=@cmd-response;...".
 * 0: "rc" is 0 there; 1: it is not; -errno.
 */
static int ask(struct p3_pmi *p, const char *cmd, const char *rest, char *line, int timeout_ms)
{
	char req[HEAD + P3_PMI_LINE], got[64], want[64], what[200];
	int rc = p3_pmi_mine(p), n;

	if (rc)
		return rc;
	n = snprintf(req, sizeof(req), "%6zucmd=%s;%s", strlen(cmd) + strlen(rest) + 5, cmd, rest);
	if (n < 0 || n >= (int)sizeof(req))
		return p3_pmi_fail(p, -EINVAL, "a value is too long for PMI-2");
	rc = p3_pmi_send(p, req, (size_t)n);
	if (!rc)
		rc = answer(p, line, timeout_ms);
	if (rc == -EPROTO)
		return p3_pmi_give_up(p, rc, "the launcher sent what is not PMI-2, or too long");
	if (rc)
		return p3_pmi_no_answer(p, rc, cmd, timeout_ms);
	snprintf(want, sizeof(want), "%s-response", cmd);
	if (p3_pmi_field(line, ';', "cmd", got, sizeof(got)) || strcmp(got, want)) {
		snprintf(what, sizeof(what), "the launcher answered '%.60s' where PMI-2 has '%.40s'", line, want);
		return p3_pmi_give_up(p, -EPROTO, what);
	}
	return p3_pmi_int(line, ';', "rc", &n) || n;
}

static int start(struct p3_pmi *p, int timeout_ms)
{
	char line[P3_PMI_LINE], rest[400];
	const char *jobid = getenv("PMI_JOBID");
	int rc, rank, size;

	if (p3_pmi_connect(p, timeout_ms))
		return -1;
	if (p3_pmi_ask(p,
	    "cmd=init pmi_version=2 pmi_subversion=0\n", "response_to_init", line, sizeof(line), timeout_ms))
		return -1;
	if (p3_pmi_int(line, ' ', "rc", &rc) || rc || p3_pmi_int(line, ' ', "pmi_version", &rc) || rc != 2)
		return p3_pmi_give_up(p, -1, "the launcher does not speak PMI version 2");
	if (jobid && (strlen(jobid) > 255 || strpbrk(jobid, ";=")))
		return p3_pmi_give_up(p, -1, "PMI_JOBID is no name of a job");
	snprintf(rest, sizeof(rest), "%s%s%spmirank=%d;threaded=FALSE;", jobid ? "pmijobid=" : "", jobid ? jobid : "",
		 jobid ? ";" : "", p->rank);
	rc = ask(p, "fullinit", rest, line, timeout_ms);
	if (rc < 0)
		return -1;
	if (rc || p3_pmi_int(line, ';', "rank", &rank) || p3_pmi_int(line, ';', "size", &size))
		return p3_pmi_give_up(p, -1, "the launcher refused to let this process join by PMI-2");
	if (rank != p->rank || size != p->size)
		return p3_pmi_give_up(p, -1,
				      "the launcher's PMI-2 gives another rank or size than PMI_RANK and PMI_SIZE");
	rc = ask(p, "job-getid", "", line, timeout_ms);
	if (rc < 0)
		return -1;
	if (rc || p3_pmi_field(line, ';', "jobid", p->kvsname, sizeof(p->kvsname)) || !p->kvsname[0])
		return p3_pmi_give_up(p, -1, "the launcher gave no name of the job");
	p->kvsname_max = sizeof(p->kvsname);
	p->key_max = KEY_MAX;
	p->value_max = VALUE_MAX;
	return 0;
}

/*
 * A fence need not wait: it says which values are to be seen behind it. Hydra answers it at once, and makes whoever
 * asks for what has not been put wait until all have fenced; so that is asked for.
 */
static int barrier(struct p3_pmi *p, int timeout_ms)
{
	char line[P3_PMI_LINE], rest[P3_PMI_LINE];
	int rc = ask(p, "kvs-fence", "", line, timeout_ms);

	if (rc > 0)
		return p3_pmi_give_up(p, -EPIPE, "the launcher's PMI-2 fence failed: a rank has ended");
	if (rc)
		return rc;
	snprintf(rest, sizeof(rest), "jobid=%s;srcid=-1;key=p3-never-put;", p->kvsname);
	rc = ask(p, "kvs-get", rest, line, timeout_ms);
	return rc < 0 ? rc : 0;
}

/* @to of @len bytes; -1: too long. */
static int encode(const char *s, char *to, size_t len)
{
	size_t n = 0;

	for (; *s; s++) {
		size_t k = *s == ';' || *s == '%' ? 3 : 1;

		if (n + k >= len)
			return -1;
		if (k == 3)
			memcpy(to + n, *s == ';' ? "%3B" : "%25", 3);
		else
			to[n] = *s;
		n += k;
	}
	to[n] = 0;
	return 0;
}

static void decode(char *s)
{
	char *to = s;

	while (*s) {
		int k = !strncmp(s, "%3B", 3) ? ';' : !strncmp(s, "%25", 3) ? '%' : 0;

		*to++ = k ? (char)k : *s;
		s += k ? 3 : 1;
	}
	*to = 0;
}

static int put(struct p3_pmi *p, const char *key, const char *value)
{
	char rest[P3_PMI_LINE], line[P3_PMI_LINE], coded[VALUE_MAX];
	int rc;

	if (!p3_pmi_carries(key, KEY_MAX) || strpbrk(key, ";%") || !p3_pmi_carries(value, VALUE_MAX) ||
	    encode(value, coded, sizeof(coded)))
		return p3_pmi_fail(p, -EINVAL,
				   "a key or value is empty, too long or has a character that PMI-2 cannot carry");
	snprintf(rest, sizeof(rest), "key=%s;value=%s;", key, coded);
	rc = ask(p, "kvs-put", rest, line, P3_PMI_ASK_MS);
	return rc > 0 ? p3_pmi_fail(p, -EIO, "the launcher refused to store a value") : rc;
}

/* The text of "value" in the answer to @cmd; as p3_pmi_get(). */
static int value_of(struct p3_pmi *p, const char *cmd, const char *rest, char *value, size_t len)
{
	char line[P3_PMI_LINE], found[8];
	int rc = ask(p, cmd, rest, line, P3_PMI_ASK_MS);

	if (rc < 0)
		return rc;
	if (rc || p3_pmi_field(line, ';', "found", found, sizeof(found)) || strcasecmp(found, "TRUE"))
		return p3_pmi_fail(p, -ENOENT, "the launcher has no such key");
	if (p3_pmi_field(line, ';', "value", value, len))
		return p3_pmi_fail(p, -ENOSPC, "a value is longer than expected");
	return 0;
}

static int get(struct p3_pmi *p, const char *key, char *value, size_t len)
{
	char rest[P3_PMI_LINE], coded[VALUE_MAX];
	int rc;

	if (!p3_pmi_carries(key, KEY_MAX) || strpbrk(key, ";%"))
		return p3_pmi_fail(p, -EINVAL, "a key is empty, too long or has a character that PMI-2 cannot carry");
	snprintf(rest, sizeof(rest), "jobid=%s;srcid=-1;key=%s;", p->kvsname, key);
	rc = value_of(p, "kvs-get", rest, coded, sizeof(coded));
	if (rc)
		return rc;
	decode(coded);
	if (strlen(coded) >= len)
		return p3_pmi_fail(p, -ENOSPC, "a value is longer than expected");
	strcpy(value, coded);
	return 0;
}

static int nodes(struct p3_pmi *p, uint32_t *node)
{
	char text[P3_PMI_LINE], why[sizeof(p->err)];

	if (!value_of(p, "info-getjobattr", "key=PMI_process_mapping;", text, sizeof(text)) && text[0])
		return p3_pmi_mapping(p, text, node);
	snprintf(why, sizeof(why), "%s", p->err);
	snprintf(p->err, sizeof(p->err),
		 "the launcher does not say which rank is on which node (PMI_process_mapping): "
		 "%.120s", why);
	return -1;
}

/* PMI-2 has no exit code here; Hydra reads one all the same. */
static void end_job(struct p3_pmi *p, int code)
{
	char body[120], req[HEAD + sizeof(body)];
	int n = snprintf(body, sizeof(body), "cmd=abort;isworld=TRUE;exitcode=%d;msg=a rank has failed;", code);

	n = snprintf(req, sizeof(req), "%6d%s", n, body);
	if (!p3_pmi_send(p, req, (size_t)n))
		p3_pmi_await_end(p);
	p3_pmi_give_up(p, -EPIPE, "the job was ended");
}

static void finalize(struct p3_pmi *p)
{
	char line[P3_PMI_LINE];

	ask(p, "finalize", "", line, P3_PMI_END_MS);
	p3_pmi_give_up(p, -EPIPE, "PMI was finalized");
}

const struct p3_pmi_ops p3_pmi2_ops = {
	.name = "PMI-2", .open = start, .nodes = nodes, .barrier = barrier, .put = put, .get = get,
	.usable = p3_pmi_same_file, .abort = end_job, .finalize = finalize,
};
