/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * traffic.c - PTL_TRAFFIC: who has sent how much to whom, written as interfaces close
 *
 * Nothing is counted for this: the counters of portals/look are read once, at the end. Within a node it is the target
 * that has them, in the row of each initiator, so each rank writes what came to it from ranks of its node, and what it
 * has sent itself to other nodes: every ordered pair once. Its lines go out in one write, which appends, so that those
 * of several ranks stay whole; the ranks that begin the file do so before any interface of the job is open.
 *
 *	# portals traffic 1 job JID ranks SIZE rank RANK node NODE
 *	FROM TO MESSAGES BYTES
 *
 * tools/ptl_rank_order reads it. Called by the thread that opens or closes the interface.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "look.h"
#include "p3a.h"
#include "p3_knobs.h"
#include "p3_log.h"
#include "p3_rt.h"

#define LINE_MAX_	96		/* four numbers: at most 10 + 10 + 20 + 20 digits */

/* The file's name with the job's id for %j; false: it is too long. */
static bool name_of(char *name, size_t len)
{
	const char *s = p3_knobs_get(NULL)->traffic;
	size_t n = 0;

	while (*s && n + 12 < len)
		if (s[0] == '%' && s[1] == 'j') {
			n += (size_t)snprintf(name + n, len - n, "%u", p3_rt_get(NULL)->jid);
			s += 2;
		} else {
			name[n++] = *s++;
		}
	name[n] = 0;
	return !*s;
}

static bool wanted(void)
{
	return strcmp(p3_knobs_get(NULL)->traffic, "none");
}

static int open_file(int flags)
{
	char name[4096];
	struct stat st;
	int fd = -1;

	if (name_of(name, sizeof(name)))
		fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags, 0666);
	else
		errno = ENAMETOOLONG;
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
		errno = EINVAL;
	}
	if (fd < 0)
		p3_warn("PTL_TRAFFIC=%s: %m; the traffic is not recorded", p3_knobs_get(NULL)->traffic);
	return fd;
}

/* The first rank of each node begins the file anew: nodes may have file systems of their own. */
void p3a_traffic_open(void)
{
	static bool begun;
	int fd;

	if (!wanted() || begun || p3_rt_get(NULL)->local_rank)
		return;
	begun = true;		/* a second interface adds to the first one's lines */
	fd = open_file(O_TRUNC);
	if (fd >= 0)
		close(fd);
}

static size_t pair(char *at, uint32_t from, uint32_t to, uint64_t messages, uint64_t bytes)
{
	if (!messages)
		return 0;
	return (size_t)snprintf(at, LINE_MAX_, "%u %u %llu %llu\n", from, to, (unsigned long long)messages,
				(unsigned long long)bytes);
}

void p3a_traffic_close(const struct nal_ni *ni)
{
	const struct p3_rt_job *job = p3_rt_get(NULL);
	struct nal_far far = { 0 };
	struct look_talk t;
	size_t n, done = 0;
	ssize_t w = 1;
	char *text;
	int fd;

	if (!wanted() || !ni->l)
		return;
	if (ni->nal->far)
		ni->nal->far(ni, &far);
	text = malloc(((size_t)ni->n_peers + far.n + 1) * LINE_MAX_);
	fd = text ? open_file(O_APPEND) : -1;
	if (fd < 0) {
		free(text);
		return;
	}
	n = (size_t)snprintf(text, LINE_MAX_, "# portals traffic 1 job %u ranks %u rank %u node %u\n", job->jid,
			     job->size, job->rank, job->node);
	for (uint32_t s = 0; s < ni->n_peers; s++)
		if (look_talk(ni->l, s, &t))
			n += pair(text + n, job->local_ranks[s], job->rank,
				  t.count[LOOK_INBOX] + t.count[LOOK_PUT] + t.count[LOOK_GET],
				  t.length[LOOK_INBOX] + t.length[LOOK_PUT] + t.length[LOOK_GET]);
	for (uint32_t k = 0; k < far.n; k++) {
		const char *at = (const char *)far.at + (size_t)k * far.stride;
		const struct fr_peer *p;
		uint32_t rank;

		memcpy(&rank, at + far.rank_at, sizeof(rank));
		memcpy(&p, at + far.peer_at, sizeof(p));
		if (p)
			n += pair(text + n, job->rank, rank, p3_load(&p->out_count), p3_load(&p->out_length));
	}
	for (; done < n && (w > 0 || (w < 0 && errno == EINTR)); done += w > 0 ? (size_t)w : 0)
		w = write(fd, text + done, n - done);
	if (close(fd) || done < n)
		p3_warn("PTL_TRAFFIC=%s: %m; the lines of rank %u are not whole", p3_knobs_get(NULL)->traffic,
			job->rank);
	free(text);
}
