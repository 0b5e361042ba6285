/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz_rt.c - what the runtime reads about the job: answers of the launcher, maps, orders of ranks, sets of processors
 *
 * The first byte chooses, the second is a number for it (a size, a length). An answer is checked for what was asked.
 */
#include "fuzz.h"
#include "p3_cpus.h"
#include "p3_env.h"
#include "p3_map.h"
#include "p3_order.h"
#include "p3_pmi_in.h"
#include "p3_rt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void field(const char *line, uint8_t some)
{
	static const char *const keys[] = { "rc", "cmd", "value", "kvsname", "a" };
	size_t len = 1 + some / 5u;
	char *value = malloc(len), cmd[64];
	char sep = some & 128 ? ';' : ' ';
	int v;

	must(value);
	if (!p3_pmi_field(line, sep, keys[some % 5], value, len))
		must(strlen(value) < len && !strchr(value, sep) && strstr(line, value));
	if (!p3_pmi_int(line, sep, "rc", &v))
		must(v >= -0x7fffffff && !p3_pmi_field(line, sep, "rc", cmd, sizeof(cmd)) &&
		     strtol(cmd, NULL, 10) == v);
	free(value);
}

/* All that the launcher says in a connection is there before it is asked. */
static void answers(const uint8_t *data, size_t n, uint8_t some, enum p3_pmi_kind kind)
{
	struct p3_pmi p = {
		.ops = kind == P3_PMI_2 ? &p3_pmi2_ops : &p3_pmi1_ops, .fd = -1, .key_max = 64, .value_max = 256,
		.kvsname = "kvs",
	};
	char env[16], value[300];
	int sv[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
		return;
	if (n && send(sv[1], data, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
		goto out;
	shutdown(sv[1], SHUT_WR);
	snprintf(env, sizeof(env), "%d", sv[0]);
	setenv("PMI_FD", env, 1);
	setenv("PMI_RANK", "1", 1);
	setenv("PMI_SIZE", "3", 1);
	if (some & 1) {			/* after the beginning */
		p.fd = sv[0];
		p.pid = getpid();
		rc = 0;
	} else {
		rc = p3_pmi_open(&p, kind, 0, 1000);
		must(!rc || p.err[0]);
		must(rc || (p.kvsname[0] && p.key_max >= 16 && p.value_max >= 64 && p.rank == 1 && p.size == 3));
	}
	for (int i = 0; !rc && i < 4; i++) {
		switch (((some >> 1) + i) & 3) {
		case 0:
			rc = p3_pmi_get(&p, "key", value, sizeof(value));
			if (!rc)
				must(strlen(value) < sizeof(value));
			break;
		case 1: rc = p3_pmi_put(&p, "key", "value"); break;
		case 2: rc = p3_pmi_barrier(&p, 1000); break;
		case 3: rc = p3_pmi_get(&p, "another", value, 1 + some); break;
		}
		must(rc <= 0 && memchr(p.err, 0, sizeof(p.err)));
		if (rc == -EPIPE || rc == -EPROTO || rc == -ETIMEDOUT)
			must(p.fd == -1);
		else
			rc = 0;
	}
out:
	close(sv[0]);
	close(sv[1]);
}

static void mapping(const char *text, uint8_t some)
{
	uint32_t size = 1 + some, *node = malloc(size * sizeof(*node));
	int nodes;

	must(node);
	nodes = p3_map_parse(text, size, node);
	must(nodes == -1 || (nodes >= 1 && nodes <= (int)size));
	for (uint32_t i = 0; nodes > 0 && i < size; i++)
		must(node[i] < (uint32_t)nodes);
	free(node);
}

static void list(const char *text, uint8_t some)
{
	uint32_t *v = malloc(some * sizeof(*v) + 1);
	int k;

	must(v);
	k = p3_map_list(text, v, some);
	must(k >= -1 && k <= some);
	free(v);
}

/* Rank, nids, pids and job id, a line each. */
static void env(char *text)
{
	static const char *const var[] = { "PTL_MY_RID", "PTL_NIDMAP", "PTL_PIDMAP", "PTL_MY_JID" };
	struct p3_env_job e;
	char err[256] = "", *save = NULL;
	int rc;

	for (int i = 0; i < 4; i++) {
		char *v = strtok_r(i ? NULL : text, "\n", &save);

		if (v)
			setenv(var[i], *v == '"' ? v + 1 : v, 1);
		else
			unsetenv(var[i]);
	}
	rc = p3_env_read(&e, err, sizeof(err));
	must(rc <= 0 ? !e.nid && !e.pid : e.nid && e.pid && e.rank < e.size);
	must(rc >= 0 || err[0]);
	for (uint32_t i = 0; rc == 1 && i < e.size; i++)
		must(e.nid[i] != UINT32_MAX && e.pid[i] != UINT32_MAX);
	if (rc == 1) {
		free(e.nid);
		free(e.pid);
	}
}

static void order(const char *text, size_t n, uint8_t some)
{
	uint32_t size = 1 + some, *to = malloc(size * sizeof(*to));
	char err[256] = "", *copy = malloc(n ? n : 1);	/* without an end */
	bool seen[257] = { 0 };

	must(to && copy);
	memcpy(copy, text, n);
	if (p3_order_parse("F", copy, n, size, to, err, sizeof(err)))
		must(!strncmp(err, "F:", 2) && !strchr(err, '\n'));
	else
		for (uint32_t i = 0; i < size; i++) {
			must(to[i] < size && !seen[to[i]]);
			seen[to[i]] = true;
		}
	free(to);
	free(copy);
}

static void cpus(const char *text)
{
	static char again[P3_CPUS_TEXT];
	struct p3_cpus a, b;

	if (p3_cpus_parse(text, &a))
		return;
	must(p3_cpus_count(&a) <= (int)(4 * strlen(text)));
	p3_cpus_print(&a, again, sizeof(again));
	must(!p3_cpus_parse(again, &b) && !memcmp(&a, &b, sizeof(a)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_in in;

	if (!fuzz_in(&in, data, n))
		return 0;
	switch (in.kind % 8) {
	case 0: field(in.text, in.some); break;
	case 1: answers(in.data, in.n, in.some, P3_PMI_1); break;
	case 2: mapping(in.text, in.some); break;
	case 3: list(in.text, in.some); break;
	case 4: env(in.text); break;
	case 5: order(in.text, in.n, in.some); break;
	case 6: cpus(in.text); break;
	case 7: answers(in.data, in.n, in.some, P3_PMI_2); break;
	}
	free(in.text);
	return 0;
}
