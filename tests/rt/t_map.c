/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The parsers of maps: PMI_process_mapping, colon separated numbers. */
#include "p3_map.h"
#include "tap.h"

static int same(const char *text, uint32_t size, int nodes, const char *want)
{
	uint32_t node[64];
	char got[200];
	size_t n = 0;
	int rc = p3_map_parse(text, size, node);

	got[0] = 0;
	for (uint32_t i = 0; rc > 0 && i < size; i++)
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%u", node[i]);
	if (rc == nodes && !strcmp(got, want))
		return 1;
	diag("%s: %d nodes, %s", text, rc, got);
	return 0;
}

static void t_mapping_of_one_block(void)
{
	CHECK(same("(vector,(0,1,4))", 4, 1, "0000"));
	CHECK(same("(vector,(0,2,2))", 4, 2, "0011"));
	CHECK(same("(vector,(0,4,1))", 4, 4, "0123"));
}

static void t_mapping_of_several_blocks(void)
{
	CHECK(same("(vector,(0,1,2),(1,1,4))", 6, 2, "001111"));
	CHECK(same("(vector,(0,2,1),(0,2,1))", 4, 2, "0101"));
	CHECK(same("(vector,(0,1,1),(1,2,2),(0,1,1))", 6, 3, "011220"));
}

static void t_mapping_repeats_until_all_are_placed(void)
{
	CHECK(same("(vector,(0,2,1))", 5, 2, "01010"));
	CHECK(same("(vector,(0,1,1),(1,1,2))", 7, 2, "0110110"));
}

static void t_mapping_may_place_more_than_there_are(void)
{
	CHECK(same("(vector,(0,3,4))", 5, 2, "00001"));
}

static void t_node_numbers_become_dense(void)
{
	CHECK(same("(vector,(7,1,2),(3,1,2))", 4, 2, "1100"));
	CHECK(same("(vector,(1000000,2,1))", 2, 2, "01"));
}

static void t_broken_mappings_are_refused(void)
{
	static const char *const bad[] = {
		"", "(", "vector", "(vector", "(vector)", "(vector,", "(vector,)", "(vector,()", "(vector,())",
		"(vector,(0,1))", "(vector,(0,1,4)", "(vector,(0,1,4)))", "(vector,(0,1,4),)", "(vector,(0,1,4)x",
		"(vector,(0,1,0))", "(vector,(0,0,4))", "(vector,(-1,1,4))", "(vector,(0,1,4.5))", "(matrix,(0,1,4))",
		"(vector,(0,1,99999999999))", "(vector,(4294967295,4294967295,4294967295))", "(vector,(0,1,4,5))",
		"(vector,(16777217,1,4))", "(vector (0,1,4))",
	};
	uint32_t node[4];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK(p3_map_parse(bad[i], 4, node) == -1))
			diag("accepted: %s", bad[i]);
}

static void t_random_bytes_do_not_break_the_mapping(void)
{
	static const char alphabet[] = "(),0123456789vector -x";
	unsigned seed = getenv("T_SEED") ? (unsigned)atoi(getenv("T_SEED")) : 1;
	uint32_t node[16];

	diag("T_SEED=%u", seed);
	srand(seed);
	for (int i = 0; i < 20000; i++) {
		char *text = malloc(64);	/* exactly as long as it is, for the sanitizers */
		int n = rand() % 40, at = 0, rc;

		if (rand() % 2)
			at = sprintf(text, "(vector,(");
		while (at < n)
			text[at++] = alphabet[(unsigned)rand() % (sizeof(alphabet) - 1)];
		text[at] = 0;
		text = realloc(text, (size_t)at + 1);
		rc = p3_map_parse(text, 16, node);
		for (int k = 0; rc > 0 && k < 16; k++)
			CHECK(node[k] < (uint32_t)rc);
		free(text);
	}
}

static void t_lists_of_numbers(void)
{
	uint32_t v[4];

	CHECK_INT(p3_map_list("", v, 4), 0);
	CHECK_INT(p3_map_list("7", v, 4), 1);
	CHECK_INT(v[0], 7);
	CHECK_INT(p3_map_list("0000000001:4294967295:3", v, 4), 3);
	CHECK_INT(v[0], 1);
	CHECK_INT(v[1], 4294967295u);
	CHECK_INT(p3_map_list("1:2:3:4", v, 4), 4);
	CHECK_INT(p3_map_list("1:2:3:4:5", v, 4), -1);
	CHECK_INT(p3_map_list("4294967296", v, 4), -1);
	CHECK_INT(p3_map_list("1:", v, 4), -1);
	CHECK_INT(p3_map_list(":1", v, 4), -1);
	CHECK_INT(p3_map_list("1::2", v, 4), -1);
	CHECK_INT(p3_map_list("1,2", v, 4), -1);
	CHECK_INT(p3_map_list(" 1", v, 4), -1);
	CHECK_INT(p3_map_list("-1", v, 4), -1);
	CHECK_INT(p3_map_list("0x1", v, 4), -1);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_mapping_of_one_block), T(t_mapping_of_several_blocks), T(t_mapping_repeats_until_all_are_placed),
		T(t_mapping_may_place_more_than_there_are), T(t_node_numbers_become_dense),
		T(t_broken_mappings_are_refused),
		T(t_random_bytes_do_not_break_the_mapping), T(t_lists_of_numbers), { 0 }
	};

	return t_run(cases);
}
