/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * world.c - start and end, settings, what is said
 *
 * Settings, read once by dartc_start(): DART_WINDOWS=smartmap|nested|mpi (default: smartmap where MPI has brought it,
 * else nested), DART_DYNAMIC=0 (each segment gets a window of its own instead of being attached to the team's),
 * DART_POOL=bytes of non-collective memory of each unit, DART_CHUNK=elements in one call of MPI.
 */
#include "dartc.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct dartc_world dartc;
struct dartc_buddy *dartc_pool_heap;

void dartc_say(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "dart[unit %d] %s\n", dartc.rank, line);
}

int dartc_mpi(int rc)
{
	char text[MPI_MAX_ERROR_STRING];
	int n = 0;

	if (rc == MPI_SUCCESS)
		return DARTC_OK;
	MPI_Error_string(rc, text, &n);
	dartc_say("error: MPI says: %.*s", n, text);
	return DARTC_OTHER;
}

void dartc_progress(void)
{
	int flag;

	MPI_Iprobe(MPI_ANY_SOURCE, 0, dartc.comm, &flag, MPI_STATUS_IGNORE);
}

/* A moment; the longer it lasts the more is left to others: MPI's progress, whoever wants this core. */
void dartc_relax(unsigned *turn)
{
	(*turn)++;
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
	if (*turn % 256 == 0) {
		dartc_progress();
		sched_yield();
	}
}

/* A size with K, M, G. Return: whether it is one. */
static bool size_of(const char *text, size_t *out)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (end == text || errno || *text == '-')
		return false;
	switch (*end) {
	case 'G': case 'g': v <<= 10; /* fall through */
	case 'M': case 'm': v <<= 10; /* fall through */
	case 'K': case 'k': v <<= 10; end++; break;
	}
	*out = (size_t)v;
	return !*end;
}

static int setting(const char *name, size_t lo, size_t hi, size_t *out)
{
	const char *text = getenv(name);
	size_t v;

	if (!text || !*text)
		return DARTC_OK;
	if (!size_of(text, &v) || v < lo || v > hi) {
		dartc_say("error: %s=%s: a number from %zu to %zu is wanted (K, M, G behind it)", name, text, lo, hi);
		return DARTC_INVAL;
	}
	*out = v;
	return DARTC_OK;
}

static int windows_setting(void)
{
	const char *text = getenv("DART_WINDOWS");
	int mine, all;

	dartc.windows = DARTC_NESTED;
	if (text && !strcmp(text, "mpi")) {
		dartc.windows = DARTC_MPI;
	} else if (!text || !*text || !strcmp(text, "smartmap")) {
		mine = dartc_smap_open();
		MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, dartc.comm);
		if (all)
			dartc.windows = DARTC_SMARTMAP;
		else if (text && *text && dartc.rank == 0)
			dartc_say("warn: DART_WINDOWS=smartmap: this MPI has no libsmartmap; nested windows are used");
	} else if (strcmp(text, "nested")) {
		dartc_say("error: DART_WINDOWS=%s: smartmap, nested or mpi is wanted", text);
		return DARTC_INVAL;
	}
	return DARTC_OK;
}

/* Do units of this job run on several nodes? */
static int count_nodes(void)
{
	MPI_Comm node;
	int rc = dartc_mpi(MPI_Comm_split_type(dartc.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
					       &node)), n, alone, any;

	if (rc)
		return rc;
	MPI_Comm_size(node, &n);
	MPI_Comm_free(&node);
	alone = n < dartc.size;
	MPI_Allreduce(&alone, &any, 1, MPI_INT, MPI_MAX, dartc.comm);
	dartc.several_nodes = any;
	return DARTC_OK;
}

static int start_mpi(int *argc, char ***argv, bool threads)
{
	int up, rc, have = MPI_THREAD_SINGLE;

	MPI_Initialized(&up);
	dartc.own_mpi = !up;
	if (up)
		rc = MPI_Query_thread(&have);
	else
		rc = MPI_Init_thread(argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &have);
	dartc.threads = threads && have == MPI_THREAD_MULTIPLE;
	return rc == MPI_SUCCESS ? DARTC_OK : DARTC_OTHER;
}

/* DARTC_INVAL: started already, or a setting makes no sense. */
int dartc_start(int *argc, char ***argv, bool threads)
{
	size_t dynamic = 1;
	int rc;

	if (dartc.up)
		return DARTC_INVAL;
	memset(&dartc, 0, sizeof(dartc));
	rc = start_mpi(argc, argv, threads);
	if (rc)
		return rc;
	MPI_Comm_dup(MPI_COMM_WORLD, &dartc.comm);
	MPI_Comm_set_errhandler(dartc.comm, MPI_ERRORS_RETURN);
	MPI_Comm_rank(dartc.comm, &dartc.rank);
	MPI_Comm_size(dartc.comm, &dartc.size);
	dartc.chunk = (size_t)1 << 30;
	dartc.pool = (size_t)16 << 20;
	rc = setting("DART_CHUNK", 2, (size_t)1 << 30, &dartc.chunk);
	if (!rc)
		rc = setting("DART_POOL", 4096, (size_t)1 << 40, &dartc.pool);
	if (!rc)
		rc = setting("DART_DYNAMIC", 0, 1, &dynamic);
	dartc.dynamic = dynamic;
	if (!rc)
		rc = windows_setting();
	if (!rc)
		rc = count_nodes();
	if (!rc)
		rc = dartc_ops_start();
	if (!rc)
		rc = dartc_team_all_new();
	if (!rc)
		rc = dartc_seg_pool(dartc_team(0), dartc.pool);
	if (rc)
		return rc;
	dartc_pool_heap = dartc_buddy_new(dartc.pool);
	if (!dartc_pool_heap)
		return DARTC_NOMEM;
	dartc.up = true;
	return dartc_barrier(dartc_team(0));
}

int dartc_stop(void)
{
	int rc = dartc_barrier(dartc_team(0));

	dartc.up = false;
	dartc_team_end_all();
	dartc_ops_end();
	dartc_buddy_end(dartc_pool_heap);
	dartc_pool_heap = NULL;
	MPI_Comm_free(&dartc.comm);
	if (dartc.own_mpi)
		rc = dartc_mpi(MPI_Finalize());
	return rc;
}
