/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * kern_far.c - an interface in the kernel, and the other nodes of its job
 *
 * The kernel sends and takes frames by an Ethernet device; which process is behind which address the ranks tell each
 * other here, by the lines that nal/gp gives out for its own purpose (gp_card.c):
 *
 *	k1/PID/UID/JID/MAC/MOST		a pid of - is none
 *	v1/fail/CODE			its node cannot start, so nobody does
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gp/gp.h"
#include "kern_far.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "portals_gp.h"

#define LEAVE_S		10		/* for what is under way, at the end */

struct kern_far {
	int fd;
	uint32_t n;
	struct gp_cards cards;
	uint32_t hash_mask;
	uint32_t *hash;			/* of ids: place + 1 */
	struct gptl_peer peer[];
};

static struct kern_far *the_far;	/* for the end of the process; one interface per process */

static uint32_t hash_of(ptl_process_id_t id)
{
	return (uint32_t)(((uint64_t)id.nid << 32 | id.pid) * 0x9e3779b97f4a7c15u >> 32);
}

int kern_far_find(const struct kern_far *f, ptl_process_id_t id)
{
	for (uint32_t i = hash_of(id);; i++) {
		uint32_t k = f->hash[i & f->hash_mask];

		if (!k)
			return -1;
		if (f->peer[k - 1].nid == id.nid && f->peer[k - 1].pid == id.pid)
			return (int)k - 1;
	}
}

ptl_process_id_t kern_far_id(const struct kern_far *f, uint32_t place)
{
	if (place >= f->n)
		return (ptl_process_id_t){ PTL_NID_ANY, PTL_PID_ANY };
	return (ptl_process_id_t){ f->peer[place].nid, f->peer[place].pid };
}

static void enter(struct kern_far *f, uint32_t place)
{
	uint32_t i = hash_of(kern_far_id(f, place));

	if (f->peer[place].pid == PTL_PID_ANY)
		return;
	while (f->hash[i & f->hash_mask])
		i++;
	f->hash[i & f->hash_mask] = place + 1;
}

static struct kern_far *far_new(int fd, uint32_t n)
{
	struct kern_far *f = calloc(1, sizeof(*f) + n * sizeof(f->peer[0]));
	uint32_t slots = 16;

	while (slots < 4 * n)
		slots *= 2;
	if (f)
		f->hash = calloc(slots, sizeof(*f->hash));
	if (!f || !f->hash) {
		free(f);
		return NULL;
	}
	f->fd = fd;
	f->n = n;
	f->hash_mask = slots - 1;
	f->cards.fd = -1;
	return f;
}

/* ---- lines ---- */

static int print(char *line, size_t len, uint32_t pid, const struct nal_ni *ni, const struct gptl_net *net)
{
	const uint8_t *m = net->mac;
	char who[16] = "-";

	if (pid != PTL_PID_ANY)
		snprintf(who, sizeof(who), "%u", pid);
	return snprintf(line, len, "k1/%s/%u/%u/%02x%02x%02x%02x%02x%02x/%u", who, ni->uid, ni->jid, m[0], m[1], m[2],
			m[3], m[4], m[5], net->most);
}

/* 0; -1: not understood; else the code with which that node fails. Untrusted text. */
static int parse(const char *line, struct gptl_peer *p, uint32_t *most)
{
	unsigned uid, jid, m[6];
	char pid[16], *end;
	int used = 0, code;

	if (sscanf(line, "v1/fail/%d", &code) == 1)
		return code > 0 && code < 100 ? code : -1;
	if (sscanf(line, "k1/%15[^/]/%u/%u/%2x%2x%2x%2x%2x%2x/%u%n", pid, &uid, &jid, m, m + 1, m + 2, m + 3, m + 4,
		   m + 5, most, &used) != 10 || line[used])
		return -1;
	p->pid = PTL_PID_ANY;
	if (strcmp(pid, "-")) {
		unsigned long v = strtoul(pid, &end, 10);

		if (*end || end == pid || v >= PTL_PID_ANY)
			return -1;
		p->pid = (uint32_t)v;
	}
	p->uid = uid;
	p->jid = jid;
	for (int i = 0; i < 6; i++)
		p->mac[i] = (uint8_t)m[i];
	return 0;
}

/* ---- start ---- */

static int bind_it(const struct nal_ni *ni, int fd, uint32_t pid, char *line, size_t size, uint32_t *most, char *why,
		   size_t len)
{
	static uint32_t round;
	struct gptl_net net = { .round = ++round };

	if (!ioctl(fd, GPTL_NET, &net)) {
		print(line, size, pid, ni, &net);
		*most = net.most;
		return PTL_OK;
	}
	if (errno == ENODEV)
		snprintf(why, len, "the module portals_gp has no Ethernet device that is up (its parameter netdev: "
			 "/sys/module/portals_gp/parameters/netdev)");
	else if (errno == ENOTTY)
		snprintf(why, len, "this module portals_gp is for one node only (an older version)");
	else
		snprintf(why, len, "the module portals_gp: %s", strerror(errno));
	return errno == ENOMEM ? PTL_NO_SPACE : PTL_FAIL;
}

/* Read the others' lines: PTL_OK; or a code, and @why where it is ours to tell. */
static int meet(struct kern_far *f, const struct p3_rt_job *job, uint32_t *most, char *why, size_t len)
{
	int rc = PTL_OK, code, timeout = (int)p3_knobs_get(NULL)->init_timeout_s;
	uint32_t i = 0, theirs = 0;
	char line[512];

	for (uint32_t r = 0; r < job->size; r++) {
		struct gptl_peer *p = &f->peer[i];

		if (job->node_of[r] == job->node)
			continue;
		if (gp_cards_get(&f->cards, job, r, line, sizeof(line), timeout, why, len))
			return PTL_FAIL;
		code = parse(line, p, &theirs);
		if (code < 0) {
			snprintf(why, len, "what rank %u of node %u says of itself makes no sense (no PTL_KERNEL, or "
				 "another version of this library?): '%.100s'", r, job->node_of[r], line);
			return PTL_FAIL;
		}
		if (code) {
			p3_diag("node %u cannot start: %s", job->node_of[r], line);
			rc = code;
			continue;
		}
		p->nid = job->nid[r];
		enter(f, i++);
		if (theirs < *most)
			*most = theirs;
	}
	return rc;
}

static int tell_kernel(struct kern_far *f, uint32_t most, char *why, size_t len)
{
	struct gptl_far a = { .peers = (uintptr_t)f->peer, .n = f->n, .most = most };

	if (!ioctl(f->fd, GPTL_FAR, &a))
		return PTL_OK;
	snprintf(why, len, "the module portals_gp: %s", strerror(errno));
	return errno == ENOMEM ? PTL_NO_SPACE : PTL_FAIL;
}

/* The process ends, and has not closed: what it has sent may still be with the kernel. */
static void at_exit(void)
{
	struct gptl_drain d = { .timeout_ns = LEAVE_S * 1000000000ll };

	if (the_far)
		ioctl(the_far->fd, GPTL_DRAIN, &d);	/* in the child of a fork: EPERM */
}

int kern_far_open(struct nal_ni *ni, int fd, uint32_t pid, int node, struct kern_far **out)
{
	const struct p3_rt_job *job = p3_rt_get(NULL);
	struct kern_far *f = far_new(fd, job->size - job->local_size);
	char why[300] = "", unused[300], line[512] = "";
	uint32_t most = UINT32_MAX;
	int rc = node, opened;

	if (!f)
		rc = PTL_NO_SPACE;
	else if (node == PTL_OK)
		rc = bind_it(ni, fd, pid, line, sizeof(line), &most, why, sizeof(why));
	else if (node == PTL_PID_INVALID)
		print(line, sizeof(line), PTL_PID_ANY, ni, &(struct gptl_net){ .most = most });
	if (!f)
		return rc;		/* the others wait for our line, and do not get it */
	if (rc != PTL_OK && rc != PTL_PID_INVALID)
		snprintf(line, sizeof(line), "v1/fail/%d", rc);
	opened = gp_cards_open(&f->cards, job, line, rc == PTL_OK || !why[0] ? why : unused, sizeof(why));
	if (opened && (rc == PTL_OK || rc == PTL_PID_INVALID))
		rc = PTL_FAIL;
	if (opened >= 0) {
		int met = meet(f, job, &most, opened || rc != PTL_OK ? unused : why, sizeof(why));

		if (rc == PTL_OK)
			rc = met == PTL_OK ? tell_kernel(f, most, why, sizeof(why)) : met;
	}
	if (rc == PTL_OK) {
		the_far = *out = f;
		p3_rt_at_end(at_exit);
		p3_info("process id %u is on the Ethernet: %u bytes in a frame", pid, most);
		return PTL_OK;
	}
	if (rc != PTL_PID_INVALID)
		gp_cards_no(&f->cards, rc);
	if (why[0])
		p3_error("reaching the other nodes: %s", why);
	gp_cards_given(&f->cards, f->n, (int)p3_knobs_get(NULL)->init_timeout_s, NULL, NULL);
	kern_far_close(f);
	return rc;
}

/* ---- end ---- */

void kern_far_drain(struct kern_far *f)
{
	struct gptl_drain d = { .timeout_ns = LEAVE_S * 1000000000ll };

	if (ioctl(f->fd, GPTL_DRAIN, &d))
		p3_diag("messages to or from other nodes are left unfinished");
	gp_cards_given(&f->cards, f->n, (int)p3_knobs_get(NULL)->init_timeout_s, NULL, NULL);
}

void kern_far_close(struct kern_far *f)
{
	if (!f)
		return;
	if (the_far == f)
		the_far = NULL;
	gp_cards_close(&f->cards);
	free(f->hash);
	free(f);
}
