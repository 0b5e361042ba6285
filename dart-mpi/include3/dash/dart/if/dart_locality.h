/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart_locality.h - where units are: a tree of domains for each team (global, node, NUMA domain, unit, core), and
 * groups
 *
 * From /sys and the unit's affinity. Domains of dart_domain_team_locality() and units of dart_unit_locality() are the
 * library's and live as long as the team; those of create and clone are the caller's to destroy; what scope_tags and
 * scope_domains give is the caller's to free(), not the domains they point to. Calls on domains are local.
 * DART_ERR_NOTFOUND: no domain of that tag or scope.
 */
#ifndef DART_LOCALITY_H_
#define DART_LOCALITY_H_

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Collective; done by themselves when a team is asked about first, which is collective then, too. */
dart_ret_t dart_team_locality_init(dart_team_t team);
dart_ret_t dart_team_locality_finalize(dart_team_t team);
dart_ret_t dart_unit_locality(dart_team_t team, dart_team_unit_t unit, dart_unit_locality_t **loc);
dart_ret_t dart_domain_team_locality(dart_team_t team, const char *domain_tag,
				     dart_domain_locality_t **team_domain_out);

dart_ret_t dart_domain_create(dart_domain_locality_t **domain_out);
dart_ret_t dart_domain_clone(const dart_domain_locality_t *domain_in, dart_domain_locality_t **domain_out);
dart_ret_t dart_domain_destroy(dart_domain_locality_t *domain);
dart_ret_t dart_domain_assign(dart_domain_locality_t *domain_lhs, const dart_domain_locality_t *domain_rhs);
dart_ret_t dart_domain_find(const dart_domain_locality_t *domain_in, const char *domain_tag,
			    dart_domain_locality_t **subdomain_out);
/* keep only those with these tags, what is above and what is below them; remove them */
dart_ret_t dart_domain_select(dart_domain_locality_t *domain_in, int num_subdomain_tags, const char **subdomain_tags);
dart_ret_t dart_domain_exclude(dart_domain_locality_t *domain_in, int num_subdomain_tags, const char **subdomain_tags);
/* @subdomain becomes the tree's, at place @subdomain_rel_id (-1: last) */
dart_ret_t dart_domain_add_subdomain(dart_domain_locality_t *domain, dart_domain_locality_t *subdomain,
				     int subdomain_rel_id);
dart_ret_t dart_domain_move_subdomain(dart_domain_locality_t *domain, dart_domain_locality_t *new_parent_domain,
				      int new_domain_rel_id);
/* a copy of @domain_in whose domains of @scope are dealt to @num_parts groups; @split_domain_out: created before */
dart_ret_t dart_domain_split_scope(const dart_domain_locality_t *domain_in, dart_locality_scope_t scope, int num_parts,
				   dart_domain_locality_t *split_domain_out);
dart_ret_t dart_domain_scope_tags(const dart_domain_locality_t *domain_in, dart_locality_scope_t scope,
				  int *num_domains_out, char ***domain_tags_out);
dart_ret_t dart_domain_scope_domains(const dart_domain_locality_t *domain_in, dart_locality_scope_t scope,
				     int *num_domains_out, dart_domain_locality_t ***domains_out);
/* the named domains become children of a new group under @domain_in, whose tag is written to @group_domain_tag_out */
dart_ret_t dart_domain_group(dart_domain_locality_t *domain_in, int num_group_subdomains,
			     const char **group_subdomain_tags, char *group_domain_tag_out);

#ifdef __cplusplus
}
#endif
#endif
