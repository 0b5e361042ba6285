/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * world.c - start and end, settings, what is said
 *
 * Settings, which dartc_start() reads on unit 0 for all: DART_WINDOWS=smartmap|nested|mpi (default: smartmap where MPI
 * has brought it, else nested), DART_DYNAMIC=0 (each segment gets a window of its own instead of being attached to the
 * team's), DART_POOL=bytes of non-collective memory of each unit, DART_CHUNK=elements in one call of MPI.
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

/* A size with K, M, G. Return: whether it is one that there can be. */
static bool size_of(const char *text, size_t *out)
{
	unsigned long long v;
	unsigned shift = 0;
	char *end;

	if (*text < '0' || *text > '9')		/* strtoull would take a sign, too */
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	switch (*end) {
	case 'G': case 'g': shift += 10; /* fall through */
	case 'M': case 'm': shift += 10; /* fall through */
	case 'K': case 'k': shift += 10; end++; break;
	}
	*out = (size_t)v << shift;
	return !errno && !*end && *out >> shift == v;
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

struct settings {
	int rc;
	enum dartc_windows windows;
	bool asked;			/* for these windows, by name */
	size_t chunk, pool, dynamic;
};

static int windows_setting(struct settings *s)
{
	static const char *const name[] = { [DARTC_NESTED] = "nested", [DARTC_SMARTMAP] = "smartmap",
					    [DARTC_MPI] = "mpi" };
	const char *text = getenv("DART_WINDOWS");

	s->windows = DARTC_SMARTMAP;
	s->asked = text && *text;
	if (!s->asked)
		return DARTC_OK;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (!strcmp(text, name[i])) {
			s->windows = (enum dartc_windows)i;
			return DARTC_OK;
		}
	dartc_say("error: DART_WINDOWS=%s: smartmap, nested or mpi is wanted", text);
	return DARTC_INVAL;
}

/* All units do what unit 0's says, also when that makes no sense; a unit's own would leave others waiting. */
static int take_settings(void)
{
	struct settings s = { .chunk = (size_t)1 << 30, .pool = (size_t)16 << 20, .dynamic = 1 };
	int mine, all, rc;

	if (dartc.rank == 0) {
		s.rc = setting("DART_CHUNK", 2, (size_t)1 << 30, &s.chunk);
		if (!s.rc)
			s.rc = setting("DART_POOL", 4096, (size_t)1 << 40, &s.pool);
		if (!s.rc)
			s.rc = setting("DART_DYNAMIC", 0, 1, &s.dynamic);
		if (!s.rc)
			s.rc = windows_setting(&s);
	}
	rc = dartc_mpi(MPI_Bcast(&s, sizeof(s), MPI_BYTE, 0, dartc.comm));
	if (rc || s.rc)
		return rc ? rc : s.rc;
	dartc.chunk = s.chunk;
	dartc.pool = s.pool;
	dartc.dynamic = s.dynamic;
	dartc.windows = s.windows;
	if (s.windows != DARTC_SMARTMAP)
		return DARTC_OK;
	mine = dartc_smap_open();
	MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, dartc.comm);
	if (all)
		return DARTC_OK;
	dartc.windows = DARTC_NESTED;
	if (s.asked && dartc.rank == 0)
		dartc_say("warn: DART_WINDOWS=smartmap: this MPI has no libsmartmap; nested windows are used");
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
	int up, down, rc, have = MPI_THREAD_SINGLE;

	MPI_Finalized(&down);
	if (down) {
		dartc_say("error: MPI has been ended, and cannot be started again");
		return DARTC_OTHER;
	}
	MPI_Initialized(&up);
	dartc.own_mpi = !up;
	if (up)
		rc = MPI_Query_thread(&have);
	else
		rc = MPI_Init_thread(argc, argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &have);
	dartc.threads = threads && have == MPI_THREAD_MULTIPLE;
	return rc == MPI_SUCCESS ? DARTC_OK : DARTC_OTHER;
}

/* The books of the pool's heap. Return: the same on all units. */
static int start_heap(void)
{
	int mine, any;

	dartc_pool_heap = dartc_buddy_new(dartc.pool);
	mine = dartc_pool_heap ? DARTC_OK : DARTC_NOMEM;
	MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, dartc.comm);
	return any;
}

/* Whatever dartc_start() has made. Collective. */
static int undo(bool ops)
{
	dartc_team_end_all();
	if (ops)
		dartc_ops_end();
	dartc_buddy_end(dartc_pool_heap);
	dartc_pool_heap = NULL;
	MPI_Comm_free(&dartc.comm);
	return dartc.own_mpi ? dartc_mpi(MPI_Finalize()) : DARTC_OK;
}

/*
 * DARTC_INVAL: started already, or a setting makes no sense. Each step says the same to all units. Behind an error
 * nothing is left, and MPI is ended where it was started here; where it was there before, DART may be started again.
 */
int dartc_start(int *argc, char ***argv, bool threads)
{
	bool ops = false;
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
	rc = take_settings();
	if (!rc)
		rc = count_nodes();
	if (!rc) {
		rc = dartc_ops_start();
		ops = !rc;
	}
	if (!rc)
		rc = dartc_team_all_new();
	if (!rc)
		rc = dartc_seg_pool(dartc_team(0), dartc.pool);
	if (!rc)
		rc = start_heap();
	if (rc) {
		undo(ops);
		return rc;
	}
	dartc.up = true;
	return dartc_barrier(dartc_team(0));
}

int dartc_stop(void)
{
	int rc = dartc_barrier(dartc_team(0)), end;

	dartc.up = false;
	end = undo(true);
	return rc ? rc : end;
}
