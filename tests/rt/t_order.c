/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Rank orders. The reference here is slow and written from the description, rank by rank, not slot by slot: for each
 * rank it decides the node that gets it, by counting what each node already has.
 */
#include "p3_order.h"
#include "p3_rt.h"
#include "tap.h"

#include <sys/stat.h>
#include <unistd.h>

#define MAXR 48

static uint32_t room(const uint32_t *node, uint32_t size, uint32_t n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < size; i++)
		k += node[i] == n;
	return k;
}

/* The node of rank @r is the one where the walk over (sweep, position) finds its r-th free place. */
static uint32_t slow_node(int method, const uint32_t *node, uint32_t size, uint32_t nodes, uint32_t r, uint32_t *nth)
{
	uint32_t seen = 0;

	if (method == 1 || method == 3) {
		for (uint32_t n = 0; n < nodes; n++)
			for (uint32_t k = 0; k < room(node, size, n); k++)
				if (seen++ == r) {
					*nth = k;
					return n;
				}
	}
	for (uint32_t k = 0;; k++)
		for (uint32_t i = 0; i < nodes; i++) {
			uint32_t n = method == 2 && k % 2 == 1 ? nodes - 1 - i : i;

			if (k < room(node, size, n) && seen++ == r) {
				*nth = k;
				return n;
			}
		}
}

/* The slot on node @n that comes @nth in launch order. */
static uint32_t slow_slot(const uint32_t *node, uint32_t size, uint32_t n, uint32_t nth)
{
	for (uint32_t i = 0; i < size; i++)
		if (node[i] == n && !nth--)
			return i;
	return UINT32_MAX;
}

static int agrees(int method, const char *file, const uint32_t *list, const uint32_t *node, uint32_t size,
		  uint32_t nodes)
{
	uint32_t order[MAXR], want[MAXR], nth = 0;
	char err[300] = "";

	if (p3_rt_reorder(method, file, node, size, order, err, sizeof(err))) {
		diag("method %d: %s", method, err);
		return 0;
	}
	for (uint32_t r = 0; r < size; r++) {
		uint32_t n = slow_node(method, node, size, nodes, r, &nth);

		want[slow_slot(node, size, n, nth)] = method == 3 ? list[r] : r;
	}
	for (uint32_t i = 0; i < size; i++)
		if (order[i] != want[i]) {
			diag("method %d, %u ranks on %u nodes: slot %u on node %u has rank %u, want %u", method, size, nodes, i,
			     node[i], order[i], want[i]);
			return 0;
		}
	return 1;
}

static void each_map(int method)
{
	uint32_t node[MAXR];

	for (uint32_t nodes = 1; nodes <= 4; nodes++)
		for (uint32_t size = nodes; size <= 24; size++) {
			for (uint32_t i = 0; i < size; i++)		/* launched in blocks */
				node[i] = i * nodes / size;
			REQUIRE(agrees(method, NULL, NULL, node, size, nodes));
			for (uint32_t i = 0; i < size; i++)		/* in turn */
				node[i] = i % nodes;
			REQUIRE(agrees(method, NULL, NULL, node, size, nodes));
			for (int t = 0; t < 8; t++) {			/* any, uneven; each node has one at least */
				for (uint32_t i = 0; i < size; i++)
					node[i] = i < nodes ? i : (uint32_t)rand() % nodes;
				REQUIRE(agrees(method, NULL, NULL, node, size, nodes));
			}
		}
}

static void t_method_0_is_round_robin(void) { each_map(0); }
static void t_method_1_fills_node_by_node(void) { each_map(1); }
static void t_method_2_is_folded(void) { each_map(2); }

static void t_known_orders(void)
{
	static const uint32_t blocks[8] = { 0, 0, 0, 0, 1, 1, 1, 1 };
	static const uint32_t rr[8] = { 0, 2, 4, 6, 1, 3, 5, 7 }, fold[8] = { 0, 3, 4, 7, 1, 2, 5, 6 };
	uint32_t order[8];
	char err[200];

	REQUIRE(!p3_rt_reorder(0, NULL, blocks, 8, order, err, sizeof(err)));
	CHECK_MEM(order, rr, sizeof(rr));
	REQUIRE(!p3_rt_reorder(2, NULL, blocks, 8, order, err, sizeof(err)));
	CHECK_MEM(order, fold, sizeof(fold));
	CHECK_INT(p3_rt_reorder(4, NULL, blocks, 8, order, err, sizeof(err)), -1);
	CHECK(strstr(err, "MPICH_RANK_REORDER_METHOD=4"));
}

static void write_file(const char *text)
{
	FILE *f = fopen("MPICH_RANK_ORDER", "w");

	if (!f || fputs(text, f) < 0 || fclose(f))
		bail("cannot write a file here");
}

static void t_method_3_places_the_list_node_by_node(void)
{
	uint32_t list[MAXR], node[MAXR];
	char text[600];

	for (int t = 0; t < 200; t++) {
		uint32_t size = 1 + (uint32_t)rand() % 30, nodes = 1 + (uint32_t)rand() % 4;
		size_t n = 0;

		if (nodes > size)
			nodes = size;
		for (uint32_t i = 0; i < size; i++) {
			uint32_t k = (uint32_t)rand() % (i + 1);

			list[i] = list[k];
			list[k] = i;
			node[i] = i < nodes ? i : (uint32_t)rand() % nodes;
		}
		for (uint32_t i = 0; i < size; i++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%u%s", list[i], i % 5 == 4 ? "\n" : ",");
		write_file(text);
		REQUIRE(agrees(3, t % 2 ? NULL : "./MPICH_RANK_ORDER", list, node, size, nodes));
	}
}

static void parses(const char *text, uint32_t size, const char *want)
{
	char got[400] = "", err[300] = "";
	uint32_t list[MAXR];
	size_t n = 0;

	if (p3_order_parse("F", text, strlen(text), size, list, err, sizeof(err))) {
		snprintf(got, sizeof(got), "%s", err);
	} else {
		for (uint32_t i = 0; i < size; i++)
			n += (size_t)snprintf(got + n, sizeof(got) - n, i ? " %u" : "%u", list[i]);
	}
	if (!CHECK(!strcmp(got, want)))
		diag("'%s' gave '%s', want '%s'", text, got, want);
}

static void t_lists_ranges_and_mixtures(void)
{
	parses("0-3", 4, "0 1 2 3");
	parses("3-0", 4, "3 2 1 0");
	parses("0,1,2,3", 4, "0 1 2 3");
	parses("3 1\t2\n0\n", 4, "3 1 2 0");
	parses("0,2-4,1,7-5", 8, "0 2 3 4 1 7 6 5");
	parses("# all\n 0-1 , # two\r\n\n3-2", 4, "0 1 3 2");
	parses("0-0", 1, "0");
	parses("1,\n0,\n", 2, "1 0");
	parses("0#1", 1, "0");
	parses("00,01", 2, "0 1");
}

static void t_bad_files_name_line_and_rank(void)
{
	parses("0-1\n2\n1,3\n", 4, "F:3: rank 1 appears twice (first on line 1)");
	parses("0-3\n2-5", 4, "F:2: rank 2 appears twice (first on line 1)");
	parses("5-3", 4, "F:1: rank 5 is out of range: the job has ranks 0 to 3");
	parses("0-9", 4, "F:1: rank 4 is out of range: the job has ranks 0 to 3");
	parses("\n\n17", 4, "F:3: rank 17 is out of range: the job has ranks 0 to 3");
	parses("99999999999999999999999", 4, "F:1: rank 99999999999999999999999 is out of range: the job has ranks 0 to 3");
	parses("18446744073709551617", 4, "F:1: rank 18446744073709551617 is out of range: the job has ranks 0 to 3");
	parses("1 0-99999999999999999999999", 4, "F:1: rank 99999999999999999999999 is out of range: the job has ranks 0 to 3");
	parses("0000000000000000000000002,1,3,0", 4, "2 1 3 0");
	parses("0-999999999999999999", 4, "F:1: rank 4 is out of range: the job has ranks 0 to 3");
	parses("0,1\n2\n\n", 4, "F: rank 3 is missing: lines 1 to 2 do not list it");
	parses("2", 4, "F: rank 0 is missing: lines 1 to 1 do not list it, nor 2 more of 4");
	parses("", 4, "F: lists no rank; the job has ranks 0 to 3");
	parses("# nothing\n", 1, "F: lists no rank; the job has ranks 0 to 0");
	parses("0,one", 4, "F:1: 'one' is neither a rank nor a range of ranks such as 0-15");
	parses("0-", 4, "F:1: '0-' is neither a rank nor a range of ranks such as 0-15");
	parses("-3", 4, "F:1: '-3' is neither a rank nor a range of ranks such as 0-15");
	parses("0-1-2", 4, "F:1: '0-1-2' is neither a rank nor a range of ranks such as 0-15");
	parses("0 - 3", 4, "F:1: '-' is neither a rank nor a range of ranks such as 0-15");
	parses("0;1", 4, "F:1: '0;1' is neither a rank nor a range of ranks such as 0-15");
	parses("\x01\x80z", 4, "F:1: '?\?z' is neither a rank nor a range of ranks such as 0-15");
}

static void no_file(const char *file, const char *want)
{
	static const uint32_t node[2];
	uint32_t order[2];
	char err[400] = "";

	CHECK_INT(p3_rt_reorder(3, file, node, 2, order, err, sizeof(err)), -1);
	if (!CHECK(strstr(err, want) && strstr(err, file)))
		diag("%s", err);
}

static void t_file_that_is_none(void)
{
	no_file("does-not-exist", "No such file");
	no_file(".", "regular file");
	no_file("/dev/null", "regular file");
	if (!mkfifo("fifo", 0600))
		no_file("fifo", "regular file");
	write_file("0-1");
	if (geteuid() && !chmod("MPICH_RANK_ORDER", 0))
		no_file("MPICH_RANK_ORDER", "Permission denied");
	unlink("MPICH_RANK_ORDER");
}

static void t_random_bytes_do_not_break_the_parser(void)
{
	static const char alphabet[] = "0123456789-, \n#x";
	uint32_t *list = malloc(16 * sizeof(*list)), seen;
	char err[120];
	int good = 0;

	for (int i = 0; i < 60000; i++) {
		size_t n = (size_t)rand() % 48;
		char *text = malloc(n + !n);	/* exact, so that reading past the end is seen */
		uint32_t size = 1 + (uint32_t)rand() % 8;

		for (size_t k = 0; k < n; k++)
			text[k] = i % 3 ? alphabet[(unsigned)rand() % (i % 3 == 1 ? 13 : sizeof(alphabet) - 1)] : (char)rand();
		memset(err, 'E', sizeof(err));
		if (!p3_order_parse("F", text, n, size, list, err, sizeof(err))) {
			good++;
			seen = 0;
			for (uint32_t k = 0; k < size; k++)
				seen |= 1u << list[k];
			CHECK_INT(seen, (1u << size) - 1);
		} else {
			CHECK(memchr(err, 0, sizeof(err)) && !strchr(err, '\n') && !strncmp(err, "F:", 2));
		}
		free(text);
	}
	free(list);
	diag("%d of 60000 were orders", good);
	CHECK(good > 10);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_method_0_is_round_robin), T(t_method_1_fills_node_by_node), T(t_method_2_is_folded), T(t_known_orders),
		T(t_method_3_places_the_list_node_by_node), T(t_lists_ranges_and_mixtures),
		T(t_bad_files_name_line_and_rank), T(t_file_that_is_none), T(t_random_bytes_do_not_break_the_parser), { 0 }
	};
	unsigned seed = getenv("T_SEED") ? (unsigned)atoi(getenv("T_SEED")) : 1;

	diag("T_SEED=%u", seed);
	srand(seed);
	return t_run(cases);
}
