/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* t_locality.c - where units are, and trees of domains; D_NODES says how many nodes there must be */
#include "d.h"
#include <dart.h>

static dart_domain_locality_t *mine;		/* a copy of the whole tree */

static void t_units(void)
{
	dart_unit_locality_t *l;
	dart_domain_locality_t *d;

	for (int u = 0; u < units; u++) {
		OK(dart_unit_locality(DART_TEAM_ALL, DART_TEAM_UNIT_ID(u), &l));
		CHECK(l->unit.id == u && l->team == DART_TEAM_ALL && l->hwinfo.host[0]);
		CHECK(l->hwinfo.num_cores > 0 && l->hwinfo.num_numa > 0 && l->hwinfo.cpu_id >= 0 &&
		      l->hwinfo.min_threads > 0);
		CHECK(l->hwinfo.system_memory_bytes > 0 && l->hwinfo.num_scopes == 4);
		OK(dart_domain_team_locality(DART_TEAM_ALL, l->domain_tag, &d));
		CHECK(d->scope == DART_LOCALITY_SCOPE_UNIT && d->num_units == 1 && d->unit_ids[0].id == u);
	}
	INVAL(dart_unit_locality(DART_TEAM_ALL, DART_TEAM_UNIT_ID(units), &l));
	INVAL(dart_unit_locality(DART_TEAM_NULL, DART_TEAM_UNIT_ID(0), &l));
}

static void t_tree(void)
{
	const char *nodes = getenv("D_NODES");
	dart_domain_locality_t *root, *d, **at;
	char **tags;
	int n, units_below = 0;

	OK(dart_domain_team_locality(DART_TEAM_ALL, ".", &root));
	CHECK(root->scope == DART_LOCALITY_SCOPE_GLOBAL && root->level == 0 && !root->parent &&
	      root->num_units == units);
	for (int u = 0; u < units; u++)
		CHECK(root->unit_ids[u].id == u);
	CHECK(!nodes || root->num_nodes == atoi(nodes));
	CHECK(root->num_nodes == root->num_domains);
	OK(dart_domain_scope_domains(root, DART_LOCALITY_SCOPE_NODE, &n, &at));
	CHECK(n == root->num_nodes);
	for (int i = 0; i < n; i++) {
		units_below += at[i]->num_units;
		CHECK(at[i]->parent == root && at[i]->relative_index == i && at[i]->level == 1);
	}
	CHECK(units_below == units);
	free(at);
	OK(dart_domain_scope_tags(root, DART_LOCALITY_SCOPE_UNIT, &n, &tags));
	CHECK(n == units);
	for (int i = 0; i < n; i++) {
		OK(dart_domain_find(root, tags[i], &d));
		CHECK(!strcmp(d->domain_tag, tags[i]) && d->num_units == 1);
	}
	free(tags);
	CHECK(dart_domain_find(root, ".7.7.7", &d) == DART_ERR_NOTFOUND);
	CHECK(dart_domain_scope_tags(root, DART_LOCALITY_SCOPE_MODULE, &n, &tags) == DART_ERR_NOTFOUND);
	OK(dart_domain_clone(root, &mine));
	CHECK(mine != root && mine->children[0] != root->children[0] && mine->children[0]->parent == mine);
	CHECK(mine->num_units == units && !strcmp(mine->children[0]->domain_tag, root->children[0]->domain_tag));
}

static void t_select_exclude(void)
{
	dart_domain_locality_t *d, *found;
	char **tags;
	const char *bad = ".9", *one;
	int n;

	REQUIRE(mine);
	OK(dart_domain_scope_tags(mine, DART_LOCALITY_SCOPE_UNIT, &n, &tags));
	one = tags[units - 1];
	OK(dart_domain_clone(mine, &d));
	OK(dart_domain_select(d, 1, &one));
	CHECK(d->num_units == 1);
	OK(dart_domain_find(d, one, &found));
	CHECK(found->num_domains == 1);
	OK(dart_domain_assign(d, mine));
	CHECK(d->num_units == units);
	OK(dart_domain_exclude(d, 1, &one));
	CHECK(d->num_units == units - 1);
	CHECK(dart_domain_find(d, one, &found) == DART_ERR_NOTFOUND);
	CHECK(dart_domain_exclude(d, 1, &bad) == DART_ERR_NOTFOUND);
	CHECK(d->num_units == units - 1);
	OK(dart_domain_destroy(d));
	free(tags);
}

static void t_groups(void)
{
	dart_domain_locality_t *d, *g, *sub, **at;
	dart_group_t all, part[4];
	char tag[DART_LOCALITY_DOMAIN_TAG_MAX_SIZE], **tags;
	size_t parts, size, sum = 0;
	int n, want = units < 2 ? units : 2;

	REQUIRE(mine);
	OK(dart_domain_create(&d));
	OK(dart_domain_split_scope(mine, DART_LOCALITY_SCOPE_UNIT, 2, d));
	CHECK(d->num_domains == want && d->num_units == units && d->children[0]->scope == DART_LOCALITY_SCOPE_GROUP);
	CHECK(d->children[0]->num_units == units / want);
	OK(dart_domain_assign(d, mine));
	OK(dart_domain_scope_tags(d, DART_LOCALITY_SCOPE_UNIT, &n, &tags));
	OK(dart_domain_group(d, 1, (const char **)tags, tag));
	OK(dart_domain_find(d, tag, &g));
	CHECK(g->scope == DART_LOCALITY_SCOPE_GROUP && g->num_units == 1 && d->num_units == units);
	free(tags);
	OK(dart_domain_scope_domains(d, DART_LOCALITY_SCOPE_UNIT, &n, &at));
	sub = at[0];
	free(at);
	INVAL(dart_domain_add_subdomain(d, sub, 0));		/* it has a parent */
	INVAL(dart_domain_move_subdomain(g, g->children[0], 0));	/* into itself */
	OK(dart_domain_move_subdomain(sub, d, 0));
	CHECK(d->children[0] == sub && sub->level == 1 && !strcmp(sub->domain_tag, ".0") && d->num_units == units);
	OK(dart_domain_clone(mine, &sub));
	OK(dart_domain_add_subdomain(d, sub, -1));
	CHECK(d->num_units == 2 * units && sub->parent == d);
	OK(dart_domain_destroy(d));
	OK(dart_team_get_group(DART_TEAM_ALL, &all));
	OK(dart_group_locality_split(all, mine, DART_LOCALITY_SCOPE_NODE, 4, &parts, part));
	CHECK(parts == (size_t)(mine->num_nodes < 4 ? mine->num_nodes : 4));
	for (size_t i = 0; i < parts; i++) {
		OK(dart_group_size(part[i], &size));
		sum += size;
		OK(dart_group_destroy(&part[i]));
	}
	CHECK(sum == (size_t)units);
	OK(dart_group_destroy(&all));
	OK(dart_domain_destroy(mine));
	OK(dart_team_locality_finalize(DART_TEAM_ALL));
	OK(dart_team_locality_init(DART_TEAM_ALL));
}

int main(int argc, char **argv)
{
	static const struct d_case cases[] = { T(t_units), T(t_tree), T(t_select_exclude), T(t_groups), { 0 } };
	int rc;

	if (dart_init(&argc, &argv) != DART_OK)
		return 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_size(MPI_COMM_WORLD, &units);
	rc = d_run(cases);
	return dart_exit() != DART_OK || rc;
}
