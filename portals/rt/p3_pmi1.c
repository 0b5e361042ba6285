/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmi1.c - PMI-1 on the wire (MPICH's "simple PMI"): lines of "cmd=NAME key=value ...\n"
 *
 * Where another client in the process has sent "init" already, we do not: Hydra accepts it again, Slurm ends the
 * conversation. "finalize" makes the launcher close its end, so it is sent once, by whoever owns the connection
 * (p3_rt.c decides).
 */
#include "config.h"

#include "p3_pmi_in.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int start(struct p3_pmi *p, int timeout_ms)
{
	char line[P3_PMI_LINE];
	int rc = 0;

	if (p3_pmi_connect(p, timeout_ms))
		return -1;
	if (!p->joined) {
		if (p3_pmi_ask(p, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", line, sizeof(line),
			       timeout_ms))
			return -1;
		if (p3_pmi_int(line, ' ', "rc", &rc) || rc)
			return p3_pmi_give_up(p, -1, "the launcher does not speak PMI version 1");
	}
	if (p3_pmi_ask(p, "cmd=get_maxes\n", "maxes", line, sizeof(line), timeout_ms))
		return -1;
	if (p3_pmi_int(line, ' ',
	    "kvsname_max", &p->kvsname_max) || p3_pmi_int(line, ' ', "keylen_max", &p->key_max) ||
	    p3_pmi_int(line, ' ', "vallen_max", &p->value_max) || p->key_max < 16 || p->value_max < 64)
		return p3_pmi_give_up(p, -1, "the launcher's PMI limits make no sense");
	if (p3_pmi_ask(p, "cmd=get_my_kvsname\n", "my_kvsname", line, sizeof(line), timeout_ms))
		return -1;
	if (p3_pmi_field(line, ' ', "kvsname", p->kvsname, sizeof(p->kvsname)) || !p->kvsname[0])
		return p3_pmi_give_up(p, -1, "the launcher gave no name of its key space");
	return 0;
}

static int barrier(struct p3_pmi *p, int timeout_ms)
{
	char line[P3_PMI_LINE];

	return p3_pmi_ask(p, "cmd=barrier_in\n", "barrier_out", line, sizeof(line), timeout_ms);
}

static int put(struct p3_pmi *p, const char *key, const char *value)
{
	char req[P3_PMI_LINE], line[P3_PMI_LINE];
	int rc;

	if (!p3_pmi_carries(key, (size_t)p->key_max) || !p3_pmi_carries(value, (size_t)p->value_max))
		return p3_pmi_fail(p, -EINVAL,
				   "a key or value is empty, too long or has a character that PMI-1 cannot carry");
	rc = snprintf(req, sizeof(req), "cmd=put kvsname=%s key=%s value=%s\n", p->kvsname, key, value);
	if (rc < 0 || (size_t)rc >= sizeof(req))
		return p3_pmi_fail(p, -EINVAL, "a value is too long for one PMI-1 line");
	rc = p3_pmi_ask(p, req, "put_result", line, sizeof(line), P3_PMI_ASK_MS);
	if (rc)
		return rc;
	if (p3_pmi_int(line, ' ', "rc", &rc) || rc)
		return p3_pmi_fail(p, -EIO, "the launcher refused to store a value");
	return 0;
}

static int get(struct p3_pmi *p, const char *key, char *value, size_t len)
{
	char req[P3_PMI_LINE], line[P3_PMI_LINE];
	int rc;

	if (!p3_pmi_carries(key, (size_t)p->key_max))
		return p3_pmi_fail(p, -EINVAL, "a key is empty, too long or has a character that PMI-1 cannot carry");
	rc = snprintf(req, sizeof(req), "cmd=get kvsname=%s key=%s\n", p->kvsname, key);
	if (rc < 0 || (size_t)rc >= sizeof(req))
		return -EINVAL;
	rc = p3_pmi_ask(p, req, "get_result", line, sizeof(line), P3_PMI_ASK_MS);
	if (rc)
		return rc;
	if (p3_pmi_int(line, ' ', "rc", &rc) || rc)
		return p3_pmi_fail(p, -ENOENT, "the launcher has no such key");
	if (p3_pmi_field(line, ' ', "value", value, len))
		return p3_pmi_fail(p, -ENOSPC, "a value is longer than expected");
	return 0;
}

static int nodes(struct p3_pmi *p, uint32_t *node)
{
	char text[P3_PMI_LINE], why[sizeof(p->err)];

	if (!get(p, "PMI_process_mapping", text, sizeof(text)) && text[0])
		return p3_pmi_mapping(p, text, node);
	snprintf(why, sizeof(why), "%s", p->err);
	snprintf(p->err, sizeof(p->err),
		 "the launcher does not say which rank is on which node (PMI_process_mapping): "
		 "%.120s", why);
	return -1;
}

static void end_job(struct p3_pmi *p, int code)
{
	char req[64];

	snprintf(req, sizeof(req), "cmd=abort exitcode=%d\n", code);
	if (!p3_pmi_send(p, req, strlen(req)))
		p3_pmi_await_end(p);
	p3_pmi_give_up(p, -EPIPE, "the job was ended");
}

static void finalize(struct p3_pmi *p)
{
	char line[P3_PMI_LINE];

	p3_pmi_ask(p, "cmd=finalize\n", "finalize_ack", line, sizeof(line), P3_PMI_END_MS);
	p3_pmi_give_up(p, -EPIPE, "PMI was finalized");
}

const struct p3_pmi_ops p3_pmi1_ops = {
	.name = "PMI-1", .open = start, .nodes = nodes, .barrier = barrier, .put = put, .get = get,
	.usable = p3_pmi_same_file, .abort = end_job, .finalize = finalize,
};
