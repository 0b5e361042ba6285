/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_engine.c - what the engine gets: nonblocking contiguous copies of offload_threshold bytes and more
 *
 * Its thread comes with the first copy that it gets. So the threads of the process say whether a copy was handed over;
 * each case starts DMAPP again.
 */
#include <dirent.h>
#include <pthread.h>

#include "dm.h"

#define LONGEST	((size_t)1 << 20)

static unsigned char *there, own[LONGEST];

static int tasks(void)
{
	DIR *d = opendir("/proc/self/task");
	int count = 0;

	if (!d)
		return -1;
	for (struct dirent *e; (e = readdir(d));)
		count += e->d_name[0] != '.';
	closedir(d);
	return count;
}

static void begin(void)
{
	dm_start(NULL);
	there = dmapp_sheap_malloc(LONGEST);
	if (!there)
		bail("heap");
	dm_barrier();
}

static void end(void)
{
	dm_barrier();
	dmapp_sheap_free(there);
	OK(dmapp_finalize());
}

static dmapp_return_t put_nbi(size_t bytes)
{
	return dm_nbi(dmapp_put_nbi(there, sheap, to, own, bytes, DMAPP_BYTE));
}

static dmapp_return_t put_nb(size_t bytes)
{
	return dm_nb(dmapp_put_nb(there, sheap, to, own, bytes, DMAPP_BYTE, &dm_id));
}

static dmapp_return_t get_nbi(size_t bytes)
{
	return dm_nbi(dmapp_get_nbi(own, there, sheap, to, bytes, DMAPP_BYTE));
}

static dmapp_return_t get_nb(size_t bytes)
{
	return dm_nb(dmapp_get_nb(own, there, sheap, to, bytes, DMAPP_BYTE, &dm_id));
}

static dmapp_return_t (*const handed[])(size_t bytes) = { put_nbi, put_nb, get_nbi, get_nb };
enum { FORMS = sizeof(handed) / sizeof(*handed) };

/* One byte less is copied by the caller, also again and again. */
static void decides(dmapp_return_t (*copy)(size_t bytes), size_t threshold)
{
	int before = tasks();

	for (int i = 0; i < 3; i++)
		OK(copy(threshold - 1));
	CHECK_INT(tasks(), before);
	for (int i = 0; i < 3; i++)
		OK(copy(threshold));
	CHECK_INT(tasks(), before + 1);
}

static void t_four_kilobytes(void)
{
	for (int i = 0; i < FORMS; i++) {
		begin();
		decides(handed[i], 4096);
		end();
	}
}

static void t_an_attribute_moves_it(void)
{
	static const size_t threshold[] = { 8, 4097, LONGEST };
	dmapp_rma_attrs_t a;

	for (int i = 0; i < FORMS; i++)
		for (int k = 0; k < 3; k++) {
			begin();
			OK(dmapp_get_rma_attrs(&a));
			a.offload_threshold = (uint32_t)threshold[k];
			OK(dmapp_set_rma_attrs(&a, NULL));
			decides(handed[i], threshold[k]);
			end();
		}
}

static void t_the_environment_moves_it(void)
{
	setenv("DMAPP_OFFLOAD_THRESHOLD", "64k", 1);
	begin();
	decides(put_nbi, 64 << 10);
	end();
	unsetenv("DMAPP_OFFLOAD_THRESHOLD");
}

/* A threshold is a thread's own: what this one has raised is as before for another. */
static void *by_another(void *arg)
{
	*(dmapp_return_t *)arg = put_nbi(4096);
	return NULL;
}

static void t_of_the_calling_thread(void)
{
	dmapp_rma_attrs_t a;
	dmapp_return_t rc;
	pthread_t t;
	int before;

	begin();
	OK(dmapp_get_rma_attrs(&a));
	a.offload_threshold = LONGEST;
	OK(dmapp_set_rma_attrs(&a, NULL));
	before = tasks();
	OK(put_nbi(4096));
	CHECK_INT(tasks(), before);
	pthread_create(&t, NULL, by_another, &rc);
	pthread_join(t, NULL);
	CHECK_INT(rc, DMAPP_RC_SUCCESS);
	CHECK_INT(tasks(), before + 1);
	end();
}

/* Blocking forms, vectors, lists of PEs and flags are the caller's own, however long. */
static void t_nothing_else(void)
{
	int before, all[] = { to };
	uint64_t *flag;

	begin();
	flag = dmapp_sheap_malloc(8);
	before = tasks();
	OK(dmapp_put(there, sheap, to, own, LONGEST, DMAPP_BYTE));
	OK(dmapp_get(own, there, sheap, to, LONGEST, DMAPP_BYTE));
	OK(dm_nbi(dmapp_iput_nbi(there, sheap, to, own, 1, 1, LONGEST / 8, DMAPP_QW)));
	OK(dm_nbi(dmapp_put_ixpe_nbi(there, sheap, all, 1, own, LONGEST / 8, DMAPP_QW)));
	OK(dm_nbi(dmapp_put_flag_nbi(there, sheap, to, own, LONGEST / 8, DMAPP_QW, flag, 1)));
	CHECK_INT(tasks(), before);
	dmapp_sheap_free(flag);
	end();
}

static void t_no_engine(void)
{
	int before;

	setenv("DMAPP_ENGINE", "no", 1);
	begin();
	before = tasks();
	for (int i = 0; i < FORMS; i++)
		OK(handed[i](LONGEST));
	CHECK_INT(tasks(), before);
	end();
	setenv("DMAPP_ENGINE", "yes", 1);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_four_kilobytes), T(t_an_attribute_moves_it), T(t_the_environment_moves_it),
		T(t_of_the_calling_thread), T(t_nothing_else), T(t_no_engine), { 0 }
	};

	setenv("DMAPP_ENGINE", "yes", 1);
	if (tasks() < 1)
		skip_all("no /proc/self/task");
	return t_run(cases);
}
