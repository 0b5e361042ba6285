/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_coll_death - a rank is killed where the others need it: DIES names the place. The job must end.
 *
 * LEFT: the launcher (mpiexec -disable-auto-cleanup) does not end the others. Then collectives and waits for a lock
 * end with an error, also at those who wait for somebody who is alive; who gets it exits with 3. Operations on the
 * memory of the dead go on, also where it has died in the middle of one, and the window cannot be freed.
 */
#include "m.h"
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define N	400000

static int a[N], b[N];

static void heard(int rc)
{
	if (rc != MPI_SUCCESS) {
		fprintf(stderr, "rank %d has an error\n", m_rank);
		_exit(3);
	}
}

static void kill_in_op(void *in, void *inout, int *n, MPI_Datatype *type)
{
	(void)in, (void)inout, (void)n, (void)type;
	if (m_rank == m_size - 2)
		raise(SIGKILL);
}

static void die_here(int sig)
{
	(void)sig;
	raise(SIGKILL);
}

/* @count elements, the last of them where nobody may read: whoever does, dies. */
static const int *deadly(int count)
{
	struct sigaction sa = { .sa_handler = die_here };
	char *p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sigaction(SIGSEGV, &sa, NULL);
	mprotect(p + 2 * 4096, 4096, PROT_NONE);
	return (int *)(p + 2 * 4096) - (count - 1);
}

int main(int argc, char **argv)
{
	const char *what = getenv("DIES") ? getenv("DIES") : "";
	int victim, round;
	MPI_Win win;
	MPI_Op op;

	m_start(&argc, &argv);
	victim = m_rank == m_size - 2;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (!strncmp(what, "rma", 3)) {
		MPI_Win_create(a, sizeof(a), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
		MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
	}
	MPI_Op_create(kill_in_op, 1, &op);
	for (round = 0; round < 1000000; round++) {
		if (victim && round == 20 && strcmp(what, "op") && strcmp(what, "first") &&
		    strcmp(what, "rma_lock_held_still") && strncmp(what, "rma_acc", 7))
			raise(SIGKILL);
		if (!strcmp(what, "barrier")) {
			heard(MPI_Barrier(MPI_COMM_WORLD));
		} else if (!strcmp(what, "bcast")) {
			heard(MPI_Bcast(a, round % N, MPI_INT, 0, MPI_COMM_WORLD));
			heard(MPI_Bcast(a, N, MPI_INT, m_size - 2, MPI_COMM_WORLD));
		} else if (!strcmp(what, "allreduce")) {
			heard(MPI_Allreduce(a, b, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
		} else if (!strcmp(what, "alltoall")) {
			heard(MPI_Alltoall(a, N / m_size, MPI_INT, b, N / m_size, MPI_INT, MPI_COMM_WORLD));
		} else if (!strcmp(what, "op")) {
			heard(MPI_Allreduce(a, b, round < 20 ? 10 : 1000, MPI_INT, round < 20 ? MPI_SUM : op,
					    MPI_COMM_WORLD));
		} else if (!strcmp(what, "first")) {	/* of a communicator: it looks for the others */
			MPI_Comm dup;

			heard(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
			if (victim && round == 5)
				raise(SIGKILL);
			MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
			heard(MPI_Bcast(a, N, MPI_INT, 0, dup));
			MPI_Comm_free(&dup);
		} else if (!strcmp(what, "rma_fence")) {
			heard(MPI_Win_fence(0, win));
			heard(MPI_Put(b, N, MPI_INT, (m_rank + 1) % m_size, 0, N, MPI_INT, win));
		} else if (!strcmp(what, "rma_lock_held_still")) {
			heard(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, m_size - 1, 0, win));
			if (victim && round == 20)
				raise(SIGKILL);
			heard(MPI_Accumulate(b, 1000, MPI_INT, m_size - 1, 0, 1000, MPI_INT, MPI_SUM, win));
			heard(MPI_Win_unlock(m_size - 1, win));
		} else if (!strncmp(what, "rma_acc", 7)) {	/* amid one of so many elements */
			int n = atoi(what + 7);

			if (round == 0)
				heard(MPI_Win_lock_all(0, win));
			if (victim && round == 20) {
				MPI_Accumulate(deadly(n), n, MPI_INT, m_size - 1, 0, n, MPI_INT, MPI_SUM, win);
				_exit(1);
			}
			if (round == 20)
				usleep(100000);
			heard(MPI_Accumulate(b, n, MPI_INT, m_size - 1, 0, n, MPI_INT, MPI_SUM, win));
			heard(MPI_Accumulate(b, 10, MPI_INT, m_size - 1, 0, 10, MPI_INT, MPI_SUM, win));
			heard(MPI_Accumulate(b, N, MPI_INT, m_size - 1, 0, N, MPI_INT, MPI_SUM, win));
			heard(MPI_Win_flush(m_size - 1, win));
			if (round == 40)
				heard(MPI_Barrier(MPI_COMM_WORLD));
		} else if (!strcmp(what, "rma_lock")) {
			heard(MPI_Win_lock(MPI_LOCK_SHARED, m_size - 2, 0, win));
			heard(MPI_Accumulate(b, N, MPI_INT, m_size - 2, 0, N, MPI_INT, MPI_SUM, win));
			heard(MPI_Win_flush(m_size - 2, win));
			heard(MPI_Win_unlock(m_size - 2, win));
			if (round == 60)
				heard(MPI_Win_free(&win));
		}
	}
	printf("nobody has died (%s)\n", what);
	return m_finish();
}
