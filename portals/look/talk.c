/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * talk.c - what went from one rank to another, read off the counters in the target's region
 *
 * No counter is kept for this alone: rows and lanes have one writer each, and say whose messages they are.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "look.h"

const char *const look_path_name[LOOK_PATH_MAX] = {
#define X(s, name) name,
	LOOK_PATHS(X)
#undef X
};

bool look_talk(const struct p3l_ni *l, uint32_t slot, struct look_talk *t)
{
	const struct p3l_row *row = p3l_row(l, slot);
	const struct p3l_lane_hdr *lane = p3l_lane(l, slot);
	const struct p3l_stats *s = &row->stats;
	uint64_t any = 0;

	memset(t, 0, sizeof(*t));
	t->count[LOOK_INBOX] = p3_load(&lane->hot_count) + p3_load(&lane->long_count) + p3_load(&s->flush_count);
	t->length[LOOK_INBOX] = p3_load(&lane->hot_length) + p3_load(&lane->long_length) + p3_load(&s->flush_length);
	if (slot != l->slot) {
		t->count[LOOK_PUT] = p3_load(&s->recv_count) - p3_load(&s->flush_count);
		t->length[LOOK_PUT] = p3_load(&s->recv_length) - p3_load(&s->flush_length);
		t->dropped = p3_load(&s->drop_count);
	}
	for (unsigned k = 0; k < P3L_OPS; k++) {
		t->count[LOOK_GET] += p3_load(&row->op[k].gets);
		t->length[LOOK_GET] += p3_load(&row->op[k].get_length);
	}
	t->count[LOOK_CMA] = p3_load(&s->cma_count);
	t->length[LOOK_CMA] = p3_load(&s->cma_length);
	t->count[LOOK_HAND] = p3_load(&s->hand_count);
	t->length[LOOK_HAND] = p3_load(&s->hand_length);
	t->shared = p3_load(&row->job.word) >> 32;
	t->refused = p3_load(&s->refused);
	for (unsigned k = 0; k < LOOK_PATH_MAX; k++)
		any |= t->count[k];
	return any | t->dropped | t->refused;
}

char look_state(int pid)
{
	char path[40], line[512], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = pid > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return 0;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = 0;
	p = strrchr(line, ')');			/* the name may contain anything */
	return p && p[1] == ' ' ? p[2] : 0;
}
