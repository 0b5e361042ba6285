/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ga.c - Global Arrays: create, put, get and accumulate of patches, strided and scattered ones, nonblocking ones, a
 * counter, a lock, dgemm, dot and transpose, against what one process computes
 */
#include <ga.h>
#include <macdecls.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define N	120

static int me, n;

static void rule(const char *name, int good)
{
	int all;

	MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!me)
		printf("%s: %s\n", all ? "good" : "not so", name);
	fflush(stdout);
	if (!all)
		GA_Error("wrong", 1);
}

static int array(int type, int rows, int cols, const char *name)
{
	int dims[2] = { rows, cols }, chunk[2] = { -1, -1 };
	int g = NGA_Create(type, 2, dims, (char *)(size_t)name, chunk);

	if (!g)
		GA_Error("no array", 1);
	GA_Zero(g);
	return g;
}

static double value(int i, int j)
{
	return (double)((i * 7 + j * 13) % 31) - 15;
}

static double whole[N][N], other[N][N], got[N][N];

/* Each process puts rows of its own all over, reads all. */
static void put_and_get(int g)
{
	int good = 1;

	for (int i = me; i < N; i += n) {
		int lo[2] = { i, 0 }, hi[2] = { i, N - 1 }, ld[1] = { N };
		double row[N];

		for (int j = 0; j < N; j++)
			row[j] = value(i, j);
		NGA_Put(g, lo, hi, row, ld);
	}
	GA_Sync();
	NGA_Get(g, (int[]){ 0, 0 }, (int[]){ N - 1, N - 1 }, got, (int[]){ N });
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			good &= got[i][j] == value(i, j);
	rule("rows that are put are there", good);
	/* a patch that lies on several */
	NGA_Get(g, (int[]){ N / 4, N / 3 }, (int[]){ 3 * N / 4, 2 * N / 3 }, got, (int[]){ N });
	for (int i = N / 4; i <= 3 * N / 4; i++)
		for (int j = N / 3; j <= 2 * N / 3; j++)
			good &= got[i - N / 4][j - N / 3] == value(i, j);
	rule("so is a patch", good);
	GA_Sync();
}

/* All on the same patch. */
static void accumulate(int g)
{
	double one[30][30], half = 0.5;
	int good = 1, lo[2] = { 40, 40 }, hi[2] = { 69, 69 }, ld[1] = { 30 };

	for (int i = 0; i < 30; i++)
		for (int j = 0; j < 30; j++)
			one[i][j] = 2 * (i + 1);
	GA_Zero(g);
	for (int k = 0; k < 20; k++)
		NGA_Acc(g, lo, hi, one, ld, &half);
	GA_Sync();
	NGA_Get(g, (int[]){ 0, 0 }, (int[]){ N - 1, N - 1 }, got, (int[]){ N });
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			good &= got[i][j] == (i >= 40 && i < 70 && j >= 40 && j < 70 ? 20.0 * n * (i - 39) : 0);
	rule("nothing of what all add to one patch is lost", good);
	GA_Sync();
}

static void nonblocking(int g)
{
	ga_nbhdl_t h[N];
	double row[N];
	int good = 1;

	for (int j = 0; j < N; j++)
		row[j] = j;
	for (int i = me; i < N; i += n)
		NGA_NbPut(g, (int[]){ i, 0 }, (int[]){ i, N - 1 }, row, (int[]){ N }, &h[i]);
	for (int i = me; i < N; i += n)
		NGA_NbWait(&h[i]);
	GA_Sync();
	for (int i = 0; i < N; i++)
		NGA_NbGet(g, (int[]){ N - 1 - i, 0 }, (int[]){ N - 1 - i, N - 1 }, got[i], (int[]){ N }, &h[i]);
	for (int i = 0; i < N; i++)
		NGA_NbWait(&h[i]);
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			good &= got[i][j] == j;
	rule("nonblocking puts and gets", good);
	GA_Sync();
}

static void scattered(int g)
{
	enum { MANY = 200 };
	int place[MANY][2], *p[MANY], good = 1;
	double v[MANY], w[MANY];

	for (int k = 0; k < MANY; k++) {
		place[k][0] = (k * 37 + me) % N;
		place[k][1] = (k * n + me) % N;
		p[k] = place[k];
		v[k] = value(place[k][0], place[k][1]);
	}
	NGA_Scatter(g, v, p, MANY);
	GA_Sync();
	NGA_Gather(g, w, p, MANY);
	for (int k = 0; k < MANY; k++)
		good &= w[k] == v[k];
	rule("scattered elements are gathered", good);
	GA_Sync();
}

/* Every number once; a lock keeps out the others. */
static void counters(void)
{
	enum { TIMES = 100 };
	int g = array(C_LONG, 1, 2 + n * TIMES, "counters"), good = 1, at[2] = { 0, 0 };
	long one = 1, *all = calloc((size_t)(2 + n * TIMES), sizeof(*all)), v;

	for (int k = 0; k < TIMES; k++) {
		long got_one = NGA_Read_inc(g, at, 1);
		int place[2] = { 0, 2 + (int)got_one };

		NGA_Acc(g, place, place, &one, (int[]){ 1 }, &one);
	}
	GA_Create_mutexes(1);
	for (int k = 0; k < 20; k++) {
		int place[2] = { 0, 1 };

		GA_Lock(0);
		NGA_Get(g, place, place, &v, (int[]){ 1 });
		v++;
		NGA_Put(g, place, place, &v, (int[]){ 1 });
		GA_Init_fence();
		GA_Fence();
		GA_Unlock(0);
	}
	GA_Sync();
	NGA_Get(g, (int[]){ 0, 0 }, (int[]){ 0, 1 + n * TIMES }, all, (int[]){ 2 + n * TIMES });
	good &= all[0] == n * TIMES && all[1] == 20 * n;
	for (int k = 0; k < n * TIMES; k++)
		good &= all[2 + k] == 1;
	rule("read_inc gives each number once, and a lock loses nothing", good);
	GA_Destroy_mutexes();
	GA_Destroy(g);
	free(all);
}

/* The values are small integers: sums are right to the last bit, in any order. */
static void algebra(int a)
{
	int b = array(C_DBL, N, N, "b"), c = array(C_DBL, N, N, "c"), t = array(C_DBL, N, N, "t"), good = 1;
	double dot = 0, sum = 0, one = 1;

	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			whole[i][j] = value(i, j);
			other[i][j] = value(j, i + 1);
		}
	if (!me) {
		NGA_Put(a, (int[]){ 0, 0 }, (int[]){ N - 1, N - 1 }, whole, (int[]){ N });
		NGA_Put(b, (int[]){ 0, 0 }, (int[]){ N - 1, N - 1 }, other, (int[]){ N });
	}
	GA_Sync();
	GA_Dgemm('n', 'n', N, N, N, 1.0, a, b, 0.0, c);
	NGA_Get(c, (int[]){ 0, 0 }, (int[]){ N - 1, N - 1 }, got, (int[]){ N });
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			double x = 0;

			for (int k = 0; k < N; k++)
				x += whole[i][k] * other[k][j];
			good &= got[i][j] == x;
			dot += whole[i][j] * other[i][j];
			sum += whole[i][j];
		}
	rule("dgemm", good);
	rule("dot", GA_Ddot(a, b) == dot);
	GA_Transpose(a, t);
	NGA_Get(t, (int[]){ 0, 0 }, (int[]){ N - 1, N - 1 }, got, (int[]){ N });
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			good &= got[j][i] == whole[i][j];
	rule("transpose", good);
	GA_Fill(b, &one);
	rule("a sum over all, by dot with ones", GA_Ddot(a, b) == sum);
	GA_Destroy(b);
	GA_Destroy(c);
	GA_Destroy(t);
}

int main(int argc, char **argv)
{
	int g;

	MPI_Init(&argc, &argv);
	GA_Initialize();
	if (!MA_init(C_DBL, 1 << 20, 1 << 20))
		GA_Error("MA_init", 1);
	me = GA_Nodeid();
	n = GA_Nnodes();
	g = array(C_DBL, N, N, "a");
	put_and_get(g);
	accumulate(g);
	nonblocking(g);
	scattered(g);
	counters();
	algebra(g);
	GA_Destroy(g);
	GA_Sync();
	if (!me)
		printf("all is right\n");
	fflush(stdout);
	GA_Terminate();
	MPI_Finalize();
	return 0;
}
