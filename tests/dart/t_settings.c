/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_settings.c - settings that make no sense: told once, refused on all units, and nothing is left of the attempt
 *
 * With D_OWN DART starts MPI itself, and so ends it when it cannot start; only the exit status is looked at then.
 */
#include "d.h"
#include <dart.h>
#include <fcntl.h>

/* dart_init() with stderr in a file; what was said there is in @said. */
static dart_ret_t start(char *said, size_t room)
{
	FILE *f = tmpfile();
	int keep = dup(2), n;
	dart_ret_t rc;

	if (!f)
		MPI_Abort(MPI_COMM_WORLD, 1);
	fflush(stderr);
	dup2(fileno(f), 2);
	rc = dart_init(NULL, NULL);
	fflush(stderr);
	dup2(keep, 2);
	close(keep);
	rewind(f);
	n = (int)fread(said, 1, room - 1, f);
	said[n > 0 ? n : 0] = 0;
	fclose(f);
	return rc;
}

static const struct {
	const char *name, *value, *range;
} bad[] = {
	{ "DART_WINDOWS", "glass", "smartmap, nested or mpi is wanted" },
	{ "DART_DYNAMIC", "2", "a number from 0 to 1 is wanted" },
	{ "DART_POOL", "foo", "a number from 4096 to 1099511627776 is wanted" },
	{ "DART_POOL", "4095", "a number from 4096 to 1099511627776 is wanted" },
	{ "DART_POOL", "16Q", "a number from 4096 to 1099511627776 is wanted" },
	{ "DART_POOL", "18014398509481992K", "a number from 4096 to 1099511627776 is wanted" },	/* 2^64 + 8 KiB */
	{ "DART_POOL", "-18446744073709535232", "a number from 4096 to 1099511627776 is wanted" },	/* the same */
	{ "DART_CHUNK", "1", "a number from 2 to 1073741824 is wanted" },
	{ "DART_CHUNK", "2G", "a number from 2 to 1073741824 is wanted" },
};
enum { BAD = sizeof(bad) / sizeof(bad[0]) };

/* DART works, with what it has by default. */
static void works(void)
{
	dart_gptr_t p;
	int v = me, got = -1;

	REQUIRE(dart_init(NULL, NULL) == DART_OK);
	OK(dart_team_memalloc_aligned(DART_TEAM_ALL, 4, &p));
	OK(dart_gptr_setunit(&p, (me + 1) % units));
	OK(dart_put_blocking(p, &v, 4));
	OK(dart_get_blocking(&got, p, 4));
	CHECK(got == me);
	OK(dart_barrier(DART_TEAM_ALL));
	OK(dart_exit());
}

static void t_on_all_units(void)
{
	char said[1000], want[300];

	for (int i = 0; i < BAD; i++) {
		setenv(bad[i].name, bad[i].value, 1);
		CHECK(start(said, sizeof(said)) == DART_ERR_INVAL);
		CHECK(!dart_initialized());
		snprintf(want, sizeof(want), "dart[unit 0] error: %s=%s: %s", bad[i].name, bad[i].value, bad[i].range);
		if (me == 0)		/* in one line, and nothing else */
			CHECK(!strncmp(said, want, strlen(want)) && strchr(said, '\n') == said + strlen(said) - 1);
		else
			CHECK(!*said);
		unsetenv(bad[i].name);
	}
	works();
}

static void t_on_unit_0_alone(void)
{
	char said[1000];

	for (int i = 0; i < BAD; i++) {
		if (me == 0)
			setenv(bad[i].name, bad[i].value, 1);
		CHECK(start(said, sizeof(said)) == DART_ERR_INVAL);
		CHECK(!*said == (me != 0));
		unsetenv(bad[i].name);
	}
	works();
}

/* Counts nowhere. */
static void t_on_another_unit_alone(void)
{
	for (int i = 0; i < BAD && units > 1; i++) {
		if (me == units - 1)
			setenv(bad[i].name, bad[i].value, 1);
		works();
		unsetenv(bad[i].name);
	}
}

/* An MPI has some thousand communicators at most, or as much memory as there is. */
static void t_nothing_is_left(void)
{
	char said[1000];

	setenv("DART_POOL", "foo", 1);
	for (int i = 0; i < 2500; i++)
		if (!CHECK(start(said, sizeof(said)) == DART_ERR_INVAL))
			break;
	unsetenv("DART_POOL");
	works();
}

static int own(void)
{
	char said[1000];
	int down;

	setenv("DART_POOL", "foo", 1);
	if (start(said, sizeof(said)) != DART_ERR_INVAL || MPI_Finalized(&down) || !down)
		return 1;
	unsetenv("DART_POOL");
	return start(said, sizeof(said)) != DART_ERR_OTHER || !strstr(said, "cannot be started again");
}

int main(int argc, char **argv)
{
	static const struct d_case cases[] = {
		T(t_on_all_units), T(t_on_unit_0_alone), T(t_on_another_unit_alone), T(t_nothing_is_left), { 0 }
	};
	int rc;

	if (getenv("D_OWN"))
		return own();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &units);
	rc = d_run(cases);
	MPI_Finalize();
	return rc;
}
