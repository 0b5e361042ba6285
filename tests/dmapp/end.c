/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * end.c - for t_end.sh: the last PE dies while the others do what the argument says
 *
 * It holds the lock, has made the set but comes to no operation of it, and does not read its queue. PE 0 prints what
 * an operation says in the end, where one does.
 */
#include <signal.h>
#include <stdio.h>

#include "dm.h"

static char bytes[1 << 20], mine[1 << 20];
static uint64_t word;
static dmapp_lock_desc_t *lock;
static dmapp_lock_handle_t handle;
static dmapp_c_pset_handle_t set;
static dmapp_queue_handle_t queue;
static int last;

static int ignore(void *context, void *message, uint32_t len, dmapp_pe_t rank)
{
	return 0;
}

static dmapp_return_t tested(dmapp_return_t rc)
{
	int flag = 0;

	while (rc == DMAPP_RC_SUCCESS && !flag)
		rc = dmapp_syncid_test(&dm_id, &flag);
	return rc;
}

static dmapp_return_t gsync_tested(dmapp_return_t rc)
{
	int flag = 0;

	while (rc == DMAPP_RC_SUCCESS && !flag)
		rc = dmapp_gsync_test(&flag);
	return rc;
}

static dmapp_return_t barrier(int test)
{
	dmapp_return_t rc = dmapp_c_barrier_join(set);

	if (rc != DMAPP_RC_SUCCESS)
		return rc;
	while (test && (rc = dmapp_c_pset_test(set)) == DMAPP_RC_NOT_DONE)
		;
	return test ? rc : dmapp_c_pset_wait(set);
}

/* Once; asked again as long as it says what it says of one that lives. */
static dmapp_return_t once(const char *what)
{
	uint64_t one = 1;

#define DO(name, call) if (!strcmp(what, name)) return call
	DO("put", dmapp_put(bytes, data, last, mine, sizeof(mine), DMAPP_BYTE));
	DO("put8", dmapp_put(&word, data, last, &one, 1, DMAPP_QW));
	DO("get", dmapp_get(mine, bytes, data, last, sizeof(mine), DMAPP_BYTE));
	DO("iput", dmapp_iput(bytes, data, last, mine, 3, 2, 1000, DMAPP_QW));
	DO("amo", dmapp_afadd_qw(mine, &word, data, last, 1));
	DO("nb", dm_nb(dmapp_put_nb(bytes, data, last, mine, sizeof(mine), DMAPP_BYTE, &dm_id)));
	DO("nb_test", tested(dmapp_get_nb(mine, bytes, data, last, sizeof(mine), DMAPP_BYTE, &dm_id)));
	DO("nbi", dm_nbi(dmapp_aadd_qw_nbi(&word, data, last, 1)));
	DO("nbi_test", gsync_tested(dmapp_put_nbi(bytes, data, last, mine, sizeof(mine), DMAPP_BYTE)));
	DO("lock", dmapp_lock_acquire(lock, sheap, 0, 0, &handle));
	DO("try", dmapp_lock_try(lock, sheap, 0, 0, &handle));
	DO("set", barrier(0));
	DO("set_test", barrier(1));
	DO("queue", dmapp_queue_put(queue, &one, 1, DMAPP_QW, last, 0));
	DO("progress", dmapp_progress());
	DO("finalize", (dmapp_queue_detach(queue, 0), dmapp_finalize()));
	return DMAPP_RC_NOT_USED;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	dmapp_c_pset_desc_t d = { .type = DMAPP_C_PSET_DELIMITER_STRIDED };
	dmapp_return_t rc;

	dm_start(NULL);
	last = n - 1;
	d.u.stride_type = (dmapp_c_pset_delimiter_strided_t){ (uint32_t)n, 0, 1 };
	lock = dmapp_sheap_malloc(sizeof(*lock));
	memset(lock, 0, sizeof(*lock));
	if (dmapp_c_pset_create(&d, 1, 0, NULL, &set) || dmapp_queue_attach(ignore, NULL, 0, &queue))
		bail("set, queue");
	dm_barrier();
	if (dmapp_c_pset_export(set))
		bail("export");
	if (me == last && dmapp_lock_acquire(lock, sheap, 0, 0, &handle))
		bail("lock");
	dm_barrier();
	if (me == last) {
		while (!atomic_load(t_word(1)))
			usleep(1000);
		usleep(20000);			/* the other one is in the call by now, or will be */
		raise(SIGKILL);
	}
	atomic_store(t_word(1), 1);
	do
		rc = once(what);
	while (rc == DMAPP_RC_SUCCESS || rc == DMAPP_RC_BUSY || rc == DMAPP_RC_RESOURCE_ERROR);
	printf("%s: said %d\n", what, (int)rc);
	fflush(stdout);
	_exit(rc == DMAPP_RC_TRANSACTION_ERROR ? 0 : 1);
}
