/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What settings do, as a program sees it; tests/mpich/env sets them and compares what is printed.
 *
 *	t_env credits BYTES	how many messages leave rank 0 while rank 1 does not look
 *	t_env posts		are receives posted whose messages are in the inbox?
 *	t_env matched		which receives are posted in Portals, short and long ones?
 *	t_env turns		do all senders have their turn where messages of all are there?
 *	t_env bypass		is a message taken while the receiver is not in MPI?
 *	t_env long		is a long message, contiguous or not, whose receiver is not in MPI?
 *	t_env transport		does a short send wait for its receive, and is a long message fetched by its receiver?
 *	t_env leaves BYTES...	do messages leave that no receive was posted for?
 *	t_env fetches		how many messages are fetched at once from a sender that is stopped
 *	t_env wait		CPU time in ms of a rank that waits for 400 ms
 *	t_env copies		which layers copy by the long copy routine, and whose it is
 *	t_env hints FILE	hints of FILE, and what is written to it is read again
 *	t_env error		an error that ends the job
 */
#define _GNU_SOURCE
#include "m.h"
#include <portals3.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#define N 200
#define LONG (256 * 1024)

/* Words between ranks without MPI: files. Rank 1 says that it has left MPI, rank 0 that it has sent. */
static char outside[40], sent[40];

static void say(const char *file)
{
	fclose(fopen(file, "w"));
}

static void wait_until(const char *file)
{
	while (access(file, F_OK))
		usleep(1000);
	unlink(file);
}

static void leave(void)
{
	int pid = getpid();

	MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
	snprintf(outside, sizeof(outside), "outside.%d", pid);
	snprintf(sent, sizeof(sent), "sent.%d", pid);
	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == 0)
		wait_until(outside);
	else
		say(outside);
}

static double now(void)
{
	return MPI_Wtime();
}

/* A rank that sleeps makes no progress: what happens meanwhile the other does alone. */
static void transport(void)
{
	static char word[8];
	char *buf = calloc(1, LONG);
	MPI_Request req;
	double t;
	int late;

	MPI_Barrier(MPI_COMM_WORLD);
	t = now();
	if (m_rank == 1) {
		usleep(300000);
		MPI_Recv(word, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	} else {
		MPI_Send(word, 8, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
		printf("short %s ", now() - t > 0.15 ? "waits" : "leaves");
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (m_rank == 0) {
		memset(buf, 7, LONG);
		MPI_Isend(buf, LONG, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &req);
		usleep(300000);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		MPI_Recv(&late, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		printf("long is %s\n", late ? "sent" : "fetched");
	} else {
		t = now();
		MPI_Recv(buf, LONG, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		late = now() - t > 0.15;
		CHECK(buf[0] == 7 && buf[LONG - 1] == 7);
		MPI_Send(&late, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
	}
	free(buf);
}

/* How many puts have been completed here, by whomever. */
static int64_t completed(ptl_handle_ni_t ni)
{
	ptl_sr_value_t n = -1;

	CHECK(PtlNIStatus(ni, PTL_SR_RECV_COUNT, &n) == PTL_OK);
	return n;
}

static void bypass(void)
{
	MPI_Request req = MPI_REQUEST_NULL;
	int x[256] = { 0 }, y[256] = { 77 };
	ptl_handle_ni_t ni;
	int64_t before;

	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) != PTL_FAIL);	/* MPI's own, once more */
	if (m_rank == 1)
		MPI_Irecv(x, 256, MPI_INT, 0, 5, MPI_COMM_WORLD, &req);
	leave();
	before = completed(ni);
	if (m_rank == 0) {
		MPI_Send(y, 256, MPI_INT, 1, 5, MPI_COMM_WORLD);
		say(sent);
	} else {
		wait_until(sent);
		printf("there %d\n", completed(ni) > before);
	}
	MPI_Wait(&req, MPI_STATUS_IGNORE);
	CHECK(m_rank != 1 || x[0] == 77);
	PtlNIFini(ni);
}

/* MPI's own calls come here, as PtlGetRegion below. */
static int n_posts, n_takes;

int PtlMEMDPost(ptl_handle_ni_t ni, ptl_handle_me_t base, ptl_process_id_t id, ptl_match_bits_t bits,
		ptl_match_bits_t ignore, ptl_unlink_t me_unlink, ptl_ins_pos_t pos, ptl_md_t md, ptl_unlink_t md_unlink,
		ptl_handle_me_t *me, ptl_handle_md_t *mdh, ptl_handle_eq_t eq)
{
	static __typeof__(PtlMEMDPost) *real;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "PtlMEMDPost");
	n_posts++;
	return real(ni, base, id, bits, ignore, me_unlink, pos, md, md_unlink, me, mdh, eq);
}

int PtlMEMDTake_np(ptl_handle_me_t base, ptl_handle_eq_t eq, ptl_take_np_t *take, unsigned looks)
{
	static __typeof__(PtlMEMDTake_np) *real;
	int rc;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "PtlMEMDTake_np");
	rc = real(base, eq, take, looks);
	n_takes += rc == PTL_OK;
	return rc;
}

/* Half of them wait in MPI_Recv, half in MPI_Wait; a message at a time is a receive's, and the next that comes. */
static void posts(void)
{
	char buf[8] = "1234567", got[8];
	MPI_Request req;
	MPI_Status st;

	leave();
	n_posts = n_takes = 0;
	if (m_rank == 0) {
		for (int i = 0; i < 40; i++) {
			buf[0] = (char)i;
			MPI_Send(buf, i % 8, MPI_BYTE, 1, i, MPI_COMM_WORLD);
		}
		say(sent);
		return;
	}
	wait_until(sent);
	for (int i = 0; i < 40; i++) {
		int n;

		memset(got, 0, 8);
		if (i % 2) {
			MPI_Recv(got, 8, MPI_BYTE, i % 3 ? 0 : MPI_ANY_SOURCE, i % 5 ? i : MPI_ANY_TAG,
				 MPI_COMM_WORLD, &st);
		} else {
			MPI_Irecv(got, 8, MPI_BYTE, 0, i, MPI_COMM_WORLD, &req);
			MPI_Wait(&req, &st);
		}
		MPI_Get_count(&st, MPI_BYTE, &n);
		CHECK(n == i % 8 && st.MPI_TAG == i && st.MPI_SOURCE == 0 && (n == 0 || got[0] == i), "message %d", i);
	}
	printf("posts %s takes %s\n", n_posts ? "some" : "none", n_takes == 40 ? "all" : n_takes ? "some" : "none");
}

/* Rank 1 posts a short receive and a long one before their messages; was there a call of Portals for it? */
static void matched(void)
{
	static const int length[] = { 8, LONG };
	char *buf = malloc(LONG);

	for (int i = 0; i < 2; i++) {
		MPI_Request req = MPI_REQUEST_NULL;

		if (m_rank == 0)
			m_fill(buf, length[i], 5 + i);
		MPI_Barrier(MPI_COMM_WORLD);
		n_posts = 0;
		if (m_rank == 1) {
			MPI_Irecv(buf, length[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, &req);
			printf("%s in %s%s", i ? "long" : "short", n_posts ? "Portals" : "CH3", i ? "\n" : " ");
		}
		MPI_Barrier(MPI_COMM_WORLD);
		if (m_rank == 0)
			MPI_Send(buf, length[i], MPI_BYTE, 1, i, MPI_COMM_WORLD);
		MPI_Wait(&req, MPI_STATUS_IGNORE);
		CHECK(m_wrong(buf, length[i], 5 + i) < 0);
	}
	free(buf);
}

static void turns(void)
{
	enum { EACH = 200 };
	int x = 0, first[8] = { 0 };
	char name[60];
	MPI_Status st;

	leave();
	if (m_rank == 0) {
		for (int i = 1; i < m_size; i++) {
			snprintf(name, sizeof(name), "%s.%d", sent, i);
			wait_until(name);
		}
		for (int i = 0; i < (m_size - 1) * EACH; i++) {
			MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &st);
			CHECK(x >= 0 && st.MPI_SOURCE > 0);
			first[st.MPI_SOURCE] += i < EACH / 2;
		}
		for (int i = 1; i < m_size; i++)
			printf("%s ", first[i] > 0 ? "turn" : "none");
		printf("\n");
	} else {
		for (x = 0; x < EACH; x++)
			MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
		snprintf(name, sizeof(name), "%s.%d", sent, m_rank);
		say(name);
	}
}

/* The receives are posted: contiguous, not, none. Rank 1 looks into its memory before it calls MPI again. */
static void long_ones(void)
{
	const double t = MPI_Wtime() + 0.5;
	char *buf = calloc(6, LONG);
	MPI_Request req[3] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL };
	int flag[3] = { 0 }, i, all = 0;
	MPI_Datatype apart;

	MPI_Type_vector(LONG / 1024, 1024, 2048, MPI_BYTE, &apart);
	MPI_Type_commit(&apart);
	if (m_rank == 1) {
		MPI_Irecv(buf, LONG, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &req[0]);
		MPI_Irecv(buf + LONG, 1, apart, 0, 2, MPI_COMM_WORLD, &req[1]);
	}
	leave();
	if (m_rank == 0) {
		m_fill(buf, 6L * LONG, 3);
		MPI_Isend(buf, LONG, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &req[0]);
		MPI_Isend(buf, 1, apart, 1, 2, MPI_COMM_WORLD, &req[1]);
		MPI_Isend(buf, LONG, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &req[2]);
		while (MPI_Wtime() < t && !all)
			for (i = 0, all = 1; i < 3; i++) {
				if (!flag[i])
					MPI_Test(&req[i], &flag[i], MPI_STATUS_IGNORE);
				all &= flag[i];
			}
		say(sent);
		for (i = 0; i < 3; i++)
			printf("%s ", flag[i] ? "leaves" : "waits");
	} else {
		wait_until(sent);
		all = m_wrong(buf, LONG, 3) < 0;
		MPI_Recv(buf + 3 * LONG, LONG, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	m_waitall(3, req);
	if (m_rank == 1) {
		char *want = malloc(2 * LONG);

		m_fill(want, 2L * LONG, 3);
		CHECK(!memcmp(buf, want, LONG));
		CHECK(!memcmp(buf + 3 * LONG, want, LONG));
		for (i = 0; i < LONG / 1024; i++)
			CHECK(!memcmp(buf + LONG + 2048 * i, want + 2048 * i, 1024), "block %d", i);
		MPI_Send(&all, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
		free(want);
	} else {
		MPI_Recv(&all, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		printf("%s\n", all ? "there" : "not there");
	}
	MPI_Type_free(&apart);
	free(buf);
}

static void credits(int bytes)
{
	static MPI_Request req[N];
	char *buf = calloc(N, bytes);
	int i, left = 0;

	leave();
	if (m_rank == 0) {
		for (i = 0; i < N; i++) {
			int flag;

			MPI_Isend(buf + (size_t)i * bytes, bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, &req[i]);
			if (!left) {
				MPI_Request_get_status(req[i], &flag, MPI_STATUS_IGNORE);
				if (!flag)
					left = i;
			}
		}
		say(sent);
	} else {
		wait_until(sent);
		for (i = 0; i < N; i++)
			MPI_Irecv(buf + (size_t)i * bytes, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &req[i]);
	}
	m_waitall(N, req);
	if (m_rank == 0)
		printf("left %d\n", left ? left : N);
	free(buf);
}

/* Each rank waits for its own sends, one contiguous, one not, one synchronous, before any receive is posted. */
static void leaves(int bytes)
{
	const double t = MPI_Wtime() + 0.4;
	char *out = malloc(2 * (size_t)bytes), *in = malloc(bytes);
	MPI_Datatype halves;
	MPI_Request req[3];
	int flag[3] = { 0 }, i;

	MPI_Type_vector(bytes / 2, 1, 2, MPI_BYTE, &halves);
	MPI_Type_commit(&halves);
	m_fill(out, 2 * (size_t)bytes, 1 + m_rank);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Isend(out, bytes, MPI_BYTE, !m_rank, 1, MPI_COMM_WORLD, &req[0]);
	MPI_Isend(out, 2, halves, !m_rank, 2, MPI_COMM_WORLD, &req[1]);
	MPI_Issend(out, bytes, MPI_BYTE, !m_rank, 3, MPI_COMM_WORLD, &req[2]);
	while (MPI_Wtime() < t)
		for (i = 0; i < 3; i++)
			if (!flag[i])
				MPI_Test(&req[i], &flag[i], MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
	CHECK(!flag[2], "a synchronous send ends without a receive");
	for (i = 0; i < 3; i++) {
		MPI_Status st;
		int n;

		memset(in, 0, bytes);
		MPI_Recv(in, bytes, MPI_BYTE, !m_rank, 1 + i, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, MPI_BYTE, &n);
		CHECK(n == (i == 1 ? bytes / 2 * 2 : bytes), "%d bytes", n);
		if (i != 1)
			CHECK(m_wrong(in, bytes, 2 - m_rank) < 0);
	}
	m_waitall(3, req);
	if (m_rank == 0)
		printf("%d %s %s, ", bytes, flag[0] ? "leaves" : "waits", flag[1] ? "leaves" : "waits");
	MPI_Type_free(&halves);
	free(out);
	free(in);
}

static int n_gets;

int PtlGetRegion(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t len, ptl_process_id_t id, ptl_pt_index_t pt,
		 ptl_ac_index_t ac, ptl_match_bits_t bits, ptl_size_t remote)
{
	static __typeof__(PtlGetRegion) *real;
	int rc;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "PtlGetRegion");
	rc = real(md, offset, len, id, pt, ac, bits, remote);
	n_gets += rc == PTL_OK && len == LONG;
	return rc;
}

/* A stopped sender of another node answers no get. */
static void fetches(void)
{
	enum { LONGS = 40 };
	static MPI_Request req[LONGS];
	char *buf = calloc(LONGS, LONG);
	int i, flag, pid = getpid(), early;

	MPI_Bcast(&pid, 1, MPI_INT, 1, MPI_COMM_WORLD);
	if (m_rank == 1) {
		for (i = 0; i < LONGS; i++)
			MPI_Isend(buf + (size_t)i * LONG, LONG, MPI_BYTE, 0, i, MPI_COMM_WORLD, &req[i]);
		MPI_Send(&i, 1, MPI_INT, 0, LONGS, MPI_COMM_WORLD);
	} else {
		MPI_Recv(&i, 1, MPI_INT, 1, LONGS, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		kill(pid, SIGSTOP);
		usleep(50000);
		n_gets = 0;
		for (i = 0; i < LONGS; i++)
			MPI_Irecv(buf + (size_t)i * LONG, LONG, MPI_BYTE, 1, i, MPI_COMM_WORLD, &req[i]);
		MPI_Testall(LONGS, req, &flag, MPI_STATUSES_IGNORE);
		early = n_gets;
		kill(pid, SIGCONT);
		printf("fetches %d\n", early);
	}
	m_waitall(LONGS, req);
	CHECK(m_rank == 1 || n_gets == LONGS, "%d fetches", n_gets);
	free(buf);
}

static double cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void wait_for_it(void)
{
	double t = cpu_ms();
	int x = 0;

	if (m_rank == 0)
		usleep(400000);
	MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
	if (m_rank == 1)
		printf("used %.0f\n", cpu_ms() - t);
}

typedef void copy_fn(void *dst, const void *src, size_t len);
static copy_fn *chosen;
static long copied;

static void counted_copy(void *dst, const void *src, size_t len)
{
	copied += len;
	chosen(dst, src, len);
}

static void told(const char *what)
{
	printf("%s %s\n", what, copied >= LONG ? "long" : "other");
	copied = 0;
}

/* Every routine that may be chosen gets a turn at each size, and unaligned ends. */
static void right_copies(void)
{
	size_t max = (64 << 20) + 100, len;
	char *a = malloc(max), *b = malloc(max);

	m_fill(a, max, 7);
	for (len = 32768; len <= 64 << 20; len *= 4)
		for (int i = 0; i < 20; i++) {
			size_t n = len + 7 * (i % 5), off = 3 * (i % 7);

			memset(b, 0x55, off + n + 8);
			chosen(b + off, a, n);
			CHECK(m_wrong(b + off, n, 7) < 0, "%zu bytes", n);
			CHECK(b[off + n] == 0x55 && (off == 0 || b[off - 1] == 0x55), "beside %zu bytes", n);
		}
	free(a);
	free(b);
}

static void copies(void)
{
	copy_fn **routine = dlsym(RTLD_DEFAULT, "MPIDI_PTL_long_copy");
	char *a = malloc(2 * LONG), *b = malloc(2 * LONG);
	MPI_Datatype blocks;
	MPI_File f;
	char name[40];
	Dl_info info;
	int pos = 0;

	if (!routine) {
		printf("no MPIDI_PTL_long_copy\n");
		return;
	}
	chosen = *routine;
	right_copies();
	*routine = counted_copy;
	m_fill(a, 2 * LONG, 1);
	MPI_Pack(a, LONG, MPI_BYTE, b, 2 * LONG, &pos, MPI_COMM_SELF);
	told("pack");
	MPI_Sendrecv(a, LONG, MPI_BYTE, 0, 0, b, LONG, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	CHECK(m_wrong(b, LONG, 1) < 0);
	told("self");
	MPI_Type_vector(2, LONG / 2, LONG, MPI_BYTE, &blocks);
	MPI_Type_commit(&blocks);
	pos = 0;
	MPI_Pack(a, 1, blocks, b, 2 * LONG, &pos, MPI_COMM_SELF);
	CHECK(!memcmp(a + LONG, b + LONG / 2, LONG / 2));
	told("datatype");
	snprintf(name, sizeof(name), "copies.%d", (int)getpid());
	MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
		      &f);
	MPI_File_write_at(f, 0, a, 2 * LONG, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_set_view(f, 0, MPI_BYTE, blocks, "native", MPI_INFO_NULL);
	copied = 0;
	MPI_File_read_at_all(f, 0, b, LONG, MPI_BYTE, MPI_STATUS_IGNORE);
	CHECK(!memcmp(a + LONG, b + LONG / 2, LONG / 2));
	told("file");
	MPI_File_close(&f);
	MPI_Type_free(&blocks);
	*routine = chosen;
	CHECK(dladdr((void *)chosen, &info) && info.dli_fbase);
	printf("at %lx\n", (unsigned long)((char *)chosen - (char *)info.dli_fbase));
	free(a);
	free(b);
}

static void hints(const char *file)
{
	char value[MPI_MAX_INFO_VAL + 1];
	static const char *const keys[] = { "romio_ds_write", "cb_buffer_size" };
	MPI_Info mine, info;
	MPI_File f;
	int flag, x = 17 + m_rank, y = 0;

	MPI_Info_create(&mine);
	MPI_Info_set(mine, "cb_buffer_size", "1048576");
	CHECK(MPI_File_open(MPI_COMM_WORLD, file, MPI_MODE_CREATE | MPI_MODE_RDWR, mine, &f) == MPI_SUCCESS);
	MPI_File_write_at_all(f, 4 * m_rank, &x, 1, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_read_at_all(f, 4 * m_rank, &y, 1, MPI_INT, MPI_STATUS_IGNORE);
	CHECK(y == x);
	MPI_File_get_info(f, &info);
	for (int i = 0; i < 2 && m_rank == m_size - 1; i++) {
		MPI_Info_get(info, keys[i], MPI_MAX_INFO_VAL, value, &flag);
		printf("%s=%s\n", keys[i], flag ? value : "-");
	}
	MPI_Info_free(&info);
	MPI_Info_get(mine, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &flag);
	CHECK(flag && !strcmp(value, "1048576"), "the program's own object says %s", value);
	MPI_Info_free(&mine);
	MPI_File_close(&f);
	if (m_rank == 0)
		MPI_File_delete(file, MPI_INFO_NULL);
}

/* How many times a process has gone to sleep. */
static long naps(int pid)
{
	char name[64], line[256];
	long n = -1;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	f = fopen(name, "r");
	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* Rank 1 waits; rank 0 looks on, from outside. */
static void wakes(void)
{
	int pid = getpid(), word = 0;
	long before;

	if (m_rank == 1) {
		MPI_Send(&pid, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
		MPI_Recv(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		return;
	}
	MPI_Recv(&pid, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	usleep(700000);
	before = naps(pid);
	usleep(1000000);
	printf("wakes %ld\n", before < 0 ? -1 : naps(pid) - before);
	MPI_Send(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	m_start(&argc, &argv);
	if (argc > 2 && !strcmp(argv[1], "credits"))
		credits(atoi(argv[2]));
	else if (argc > 1 && !strcmp(argv[1], "long"))
		long_ones();
	else if (argc > 1 && !strcmp(argv[1], "bypass"))
		bypass();
	else if (argc > 1 && !strcmp(argv[1], "posts"))
		posts();
	else if (argc > 1 && !strcmp(argv[1], "matched"))
		matched();
	else if (argc > 1 && !strcmp(argv[1], "turns"))
		turns();
	else if (argc > 1 && !strcmp(argv[1], "wakes"))
		wakes();
	else if (argc > 1 && !strcmp(argv[1], "transport"))
		transport();
	else if (argc > 1 && !strcmp(argv[1], "wait"))
		wait_for_it();
	else if (argc > 1 && !strcmp(argv[1], "fetches"))
		fetches();
	else if (argc > 2 && !strcmp(argv[1], "leaves"))
		for (int i = 2; i < argc; i++)
			leaves(atoi(argv[i]));
	else if (argc > 1 && !strcmp(argv[1], "copies"))
		copies();
	else if (argc > 2 && !strcmp(argv[1], "hints"))
		hints(argv[2]);
	else if (argc > 1 && !strcmp(argv[1], "error"))
		MPI_Send(&argc, 1, MPI_INT, m_size + 3, 0, MPI_COMM_WORLD);
	return m_finish();
}
