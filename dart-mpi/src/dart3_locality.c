/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart3_locality.c - what each unit runs on, from /sys, and a tree of domains for each team
 *
 * Global, nodes, NUMA domains, units, a core for each unit. Units tell each other what they found; the tree is made
 * of that alone, so it is the same everywhere. Team trees belong to the table here; domains that the program made or
 * cloned are its own. A domain has its children and its list of units; tags follow from places in the tree.
 */
#include "dart3.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef dart_domain_locality_t dom;

static struct known {
	int team;
	int units;
	dart_unit_locality_t *unit;
	dom *root;
	struct known *next;
} *known;
static pthread_mutex_t known_mutex = PTHREAD_MUTEX_INITIALIZER;

/* A number in a file of /sys. @unit: K, M behind it counts. -1: there is none */
static long sys_number(const char *fmt, int a, int b)
{
	char path[128], unit = 0;
	long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), fmt, a, b);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%ld%c", &v, &unit) < 1)
		v = -1;
	fclose(f);
	return unit == 'K' ? v << 10 : unit == 'M' ? v << 20 : v;
}

static void find_caches(dart_hwinfo_t *h, int cpu)
{
	for (int i = 0; i < DART_LOCALITY_MAX_CACHE_LEVELS; i++)
		h->cache_sizes[i] = h->cache_line_sizes[i] = h->cache_ids[i] = -1;
	for (int i = 0; i < 10; i++) {
		long level = sys_number("/sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu, i);
		char path[96], type = 0;
		FILE *f;

		if (level < 1 || level > DART_LOCALITY_MAX_CACHE_LEVELS)
			continue;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index%d/type", cpu, i);
		f = fopen(path, "r");
		if (f) {
			type = (char)fgetc(f);
			fclose(f);
		}
		if (type == 'I')
			continue;
		h->cache_sizes[level - 1] = (int)sys_number("/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu, i);
		h->cache_line_sizes[level - 1] =
			(int)sys_number("/sys/devices/system/cpu/cpu%d/cache/index%d/coherency_line_size", cpu, i);
		h->cache_ids[level - 1] = (int)sys_number("/sys/devices/system/cpu/cpu%d/cache/index%d/id", cpu, i);
	}
}

static void find_numa(dart_hwinfo_t *h, int cpu)
{
	char path[96];

	h->numa_id = 0;
	h->num_numa = 0;
	for (int n = 0; n < DART_LOCALITY_MAX_NUMA_ID; n++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", n);
		h->num_numa += access(path, F_OK) == 0;
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/node%d", cpu, n);
		if (access(path, F_OK) == 0)
			h->numa_id = n;
	}
	if (!h->num_numa)
		h->num_numa = 1;
}

/* How many threads a core has: of a list such as "0-1" or "0,4". */
static int count_threads(int cpu)
{
	char path[96];
	int n = 0, a, b, c = ',';
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
	f = fopen(path, "r");
	while (f && c == ',' && fscanf(f, "%d", &a) == 1) {
		b = a;
		c = fgetc(f);
		if (c == '-' && fscanf(f, "%d", &b) == 1)
			c = fgetc(f);
		n += b - a + 1;
	}
	if (f)
		fclose(f);
	return n > 0 ? n : 1;
}

static void find_hardware(dart_hwinfo_t *h)
{
	static const dart_locality_scope_t up[] = { DART_LOCALITY_SCOPE_CORE, DART_LOCALITY_SCOPE_NUMA,
						    DART_LOCALITY_SCOPE_NODE, DART_LOCALITY_SCOPE_GLOBAL };
	int cpu = sched_getcpu();
	cpu_set_t set;
	long v, pages = sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGESIZE) / 1024);

	memset(h, 0, sizeof(*h));
	gethostname(h->host, sizeof(h->host) - 1);
	h->cpu_id = cpu = cpu < 0 ? 0 : cpu;
	h->num_cores = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
	v = sys_number("/sys/devices/system/cpu/cpu%d/topology/core_id", cpu, 0);
	h->core_id = v < 0 ? cpu : (int)v;
	find_numa(h, cpu);
	find_caches(h, cpu);
	h->min_threads = h->max_threads = count_threads(cpu);
	v = sys_number("/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_min_freq", cpu, 0);
	h->min_cpu_mhz = v < 0 ? -1 : (int)(v / 1000);
	v = sys_number("/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", cpu, 0);
	h->max_cpu_mhz = v < 0 ? -1 : (int)(v / 1000);
	h->max_shmem_mbps = -1;
	h->system_memory_bytes = (int)pages;
	h->numa_memory_bytes = (int)(pages / h->num_numa);
	h->num_scopes = 4;
	for (int i = 0; i < 4; i++) {
		h->scopes[i].scope = up[i];
		h->scopes[i].index = i == 0 ? h->core_id : i == 1 ? h->numa_id : 0;
	}
}

static dom *new_domain(dart_locality_scope_t scope)
{
	dom *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->scope = scope;
	d->node_id = -1;
	d->team = DART_TEAM_NULL;
	d->shared_mem_bytes = -1;
	strcpy(d->domain_tag, ".");
	return d;
}

static void clear(dom *d)
{
	for (int i = 0; i < d->num_domains; i++) {
		clear(d->children[i]);
		free(d->children[i]);
	}
	free(d->children);
	free(d->unit_ids);
	free(d->aliases);
	d->children = NULL;
	d->unit_ids = NULL;
	d->aliases = NULL;
	d->num_domains = d->num_units = d->num_aliases = 0;
}

/* @at: place; -1: last. Return: false: no memory */
static bool insert(dom *d, dom *child, int at)
{
	dom **more = realloc(d->children, (size_t)(d->num_domains + 1) * sizeof(*more));

	if (!more)
		return false;
	d->children = more;
	if (at < 0 || at > d->num_domains)
		at = d->num_domains;
	memmove(more + at + 1, more + at, (size_t)(d->num_domains - at) * sizeof(*more));
	more[at] = child;
	d->num_domains++;
	child->parent = d;
	return true;
}

static void take_out(dom *child)
{
	dom *p = child->parent;

	for (int i = 0; p && i < p->num_domains; i++)
		if (p->children[i] == child) {
			memmove(p->children + i, p->children + i + 1,
				(size_t)(p->num_domains - i - 1) * sizeof(*p->children));
			p->num_domains--;
			break;
		}
	child->parent = NULL;
}

static bool set_units(dom *d, const dart_global_unit_t *unit, int n)
{
	dart_global_unit_t *list = malloc((size_t)(n + 1) * sizeof(*list));

	if (!list)
		return false;
	if (n)
		memcpy(list, unit, (size_t)n * sizeof(*list));
	free(d->unit_ids);
	d->unit_ids = list;
	d->num_units = n;
	return true;
}

static dom *copy(const dom *d)
{
	dom *c = malloc(sizeof(*c));

	if (!c)
		return NULL;
	*c = *d;
	c->children = NULL;
	c->aliases = NULL;
	c->unit_ids = NULL;
	c->parent = NULL;
	c->num_domains = c->num_aliases = c->num_units = 0;
	if (!set_units(c, d->unit_ids, d->num_units))
		goto fail;
	for (int i = 0; i < d->num_domains; i++) {
		dom *child = copy(d->children[i]);

		if (!child)
			goto fail;
		if (!insert(c, child, -1)) {
			clear(child);
			free(child);
			goto fail;
		}
	}
	return c;
fail:
	clear(c);
	free(c);
	return NULL;
}

static int by_unit(const void *a, const void *b)
{
	int x = ((const dart_global_unit_t *)a)->id, y = ((const dart_global_unit_t *)b)->id;

	return (x > y) - (x < y);
}

/* Units, nodes and cores of who has children are those of the children. */
static bool count(dom *d)
{
	int n = 0, cores = 0, nodes = 0;

	for (int i = 0; i < d->num_domains; i++) {
		if (!count(d->children[i]))
			return false;
		n += d->children[i]->num_units;
		cores += d->children[i]->num_cores;
		nodes += d->children[i]->num_nodes;
	}
	if (d->scope >= DART_LOCALITY_SCOPE_UNIT)
		return true;
	dart_global_unit_t *list = malloc((size_t)(n + 1) * sizeof(*list));

	if (!list)
		return false;
	n = 0;
	for (int i = 0; i < d->num_domains; i++)
		for (int k = 0; k < d->children[i]->num_units; k++)
			list[n++] = d->children[i]->unit_ids[k];
	qsort(list, (size_t)n, sizeof(*list), by_unit);
	free(d->unit_ids);
	d->unit_ids = list;
	d->num_units = n;
	d->num_cores = cores;
	d->num_nodes = d->scope >= DART_LOCALITY_SCOPE_NODE ? 1 : nodes;
	d->is_symmetric = 1;
	for (int i = 1; i < d->num_domains; i++)
		if (d->children[i]->num_cores != d->children[0]->num_cores ||
		    d->children[i]->num_domains != d->children[0]->num_domains)
			d->is_symmetric = 0;
	return true;
}

/* Tags from places. One that does not fit stays cut off: no machine here is that deep. */
static void tag(dom *d)
{
	for (int i = 0; i < d->num_domains; i++) {
		dom *c = d->children[i];
		char text[2 * DART_LOCALITY_DOMAIN_TAG_MAX_SIZE];

		c->level = d->level + 1;
		c->relative_index = i;
		snprintf(text, sizeof(text), "%s.%d", strcmp(d->domain_tag, ".") ? d->domain_tag : "", i);
		snprintf(c->domain_tag, sizeof(c->domain_tag), "%.*s", DART_LOCALITY_DOMAIN_TAG_MAX_SIZE - 1, text);
		tag(c);
	}
}

/* The child of @d in @scope that has @key as node_id, made where there is none. */
static dom *child_of(dom *d, dart_locality_scope_t scope, int key, const dart_unit_locality_t *u)
{
	dom *c;

	for (int i = 0; i < d->num_domains; i++)
		if (d->children[i]->global_index == key)
			return d->children[i];
	c = new_domain(scope);
	if (!c || !insert(d, c, -1)) {
		free(c);
		return NULL;
	}
	c->global_index = key;
	c->team = d->team;
	snprintf(c->host, sizeof(c->host), "%s", u->hwinfo.host);
	return c;
}

/* The tree of a team. @node: of each unit, the number of its node */
static dom *build(const struct dartc_team *t, dart_unit_locality_t *u, const int *node)
{
	dom *root = new_domain(DART_LOCALITY_SCOPE_GLOBAL);

	if (!root)
		return NULL;
	root->team = (dart_team_t)t->id;
	for (int i = 0; i < t->size; i++) {
		dart_global_unit_t id = { t->l2g[i] };
		dom *n = child_of(root, DART_LOCALITY_SCOPE_NODE, node[i], &u[i]);
		dom *numa = n ? child_of(n, DART_LOCALITY_SCOPE_NUMA, u[i].hwinfo.numa_id, &u[i]) : NULL;
		dom *unit = numa ? child_of(numa, DART_LOCALITY_SCOPE_UNIT, t->l2g[i], &u[i]) : NULL;
		dom *core = unit ? child_of(unit, DART_LOCALITY_SCOPE_CORE, u[i].hwinfo.core_id, &u[i]) : NULL;

		if (!core || !set_units(unit, &id, 1) || !set_units(core, &id, 1)) {
			clear(root);
			free(root);
			return NULL;
		}
		unit->num_cores = u[i].hwinfo.num_cores;
		unit->num_nodes = core->num_nodes = core->num_cores = 1;
		n->node_id = numa->node_id = unit->node_id = core->node_id = node[i];
	}
	tag(root);
	for (int n = 0; n < root->num_domains; n++)
		for (int m = 0; m < root->children[n]->num_domains; m++) {
			dom *numa = root->children[n]->children[m];

			for (int k = 0; k < numa->num_domains; k++)
				snprintf(u[t->g2l[numa->children[k]->unit_ids[0].id]].domain_tag,
					 DART_LOCALITY_DOMAIN_TAG_MAX_SIZE, "%s", numa->children[k]->domain_tag);
		}
	if (!count(root)) {
		clear(root);
		free(root);
		return NULL;
	}
	return root;
}

static struct known *look(int team)
{
	struct known *k;

	pthread_mutex_lock(&known_mutex);
	for (k = known; k && k->team != team; k = k->next)
		;
	pthread_mutex_unlock(&known_mutex);
	return k;
}

dart_ret_t dart_team_locality_init(dart_team_t team)
{
	struct dartc_team *t, *all;
	struct known *k;
	dart_unit_locality_t mine = { .team = team };
	int *node, leader = 0, rc;

	UP();
	t = dartc_team(team);
	all = dartc_team(0);
	WANT(t);
	if (look(team))
		return DART_OK;
	k = calloc(1, sizeof(*k));
	node = malloc((size_t)t->size * sizeof(*node));
	if (k)
		k->unit = calloc((size_t)t->size, sizeof(*k->unit));
	if (!k || !node || !k->unit)	/* the others wait in the call below */
		MPI_Abort(t->comm, 1);
	while (all->near[leader] < 0)
		leader++;
	mine.unit.id = t->rank;
	find_hardware(&mine.hwinfo);
	rc = dartc_mpi(MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, k->unit, sizeof(mine), MPI_BYTE, t->comm));
	if (!rc)
		rc = dartc_mpi(MPI_Allgather(&leader, 1, MPI_INT, node, 1, MPI_INT, t->comm));
	k->team = team;
	k->units = t->size;
	k->root = rc ? NULL : build(t, k->unit, node);
	free(node);
	if (!k->root) {
		free(k->unit);
		free(k);
		return rc ? (dart_ret_t)rc : DART_ERR_NOMEM;
	}
	pthread_mutex_lock(&known_mutex);
	k->next = known;
	known = k;
	pthread_mutex_unlock(&known_mutex);
	return DART_OK;
}

void d3_locality_forget(int team)
{
	struct known *k = NULL;

	pthread_mutex_lock(&known_mutex);
	for (struct known **p = &known; *p; p = &(*p)->next)
		if ((*p)->team == team) {
			k = *p;
			*p = k->next;
			break;
		}
	pthread_mutex_unlock(&known_mutex);
	if (!k)
		return;
	clear(k->root);
	free(k->root);
	free(k->unit);
	free(k);
}

void d3_locality_end(void)
{
	while (known)
		d3_locality_forget(known->team);
}

dart_ret_t dart_team_locality_finalize(dart_team_t team)
{
	UP();
	WANT(dartc_team(team));
	d3_locality_forget(team);
	return DART_OK;
}

dart_ret_t dart_unit_locality(dart_team_t team, dart_team_unit_t unit, dart_unit_locality_t **loc)
{
	struct known *k;
	dart_ret_t rc = dart_team_locality_init(team);

	if (rc)
		return rc;
	k = look(team);
	WANT(loc && unit.id >= 0 && unit.id < k->units);
	*loc = &k->unit[unit.id];
	return DART_OK;
}

dart_ret_t dart_domain_team_locality(dart_team_t team, const char *domain_tag, dart_domain_locality_t **team_domain_out)
{
	dart_ret_t rc = dart_team_locality_init(team);

	return rc ? rc : dart_domain_find(look(team)->root, domain_tag, team_domain_out);
}

dart_ret_t dart_domain_create(dart_domain_locality_t **domain_out)
{
	WANT(domain_out);
	*domain_out = new_domain(DART_LOCALITY_SCOPE_UNDEFINED);
	return *domain_out ? DART_OK : DART_ERR_NOMEM;
}

dart_ret_t dart_domain_clone(const dart_domain_locality_t *domain_in, dart_domain_locality_t **domain_out)
{
	WANT(domain_in && domain_out);
	*domain_out = copy(domain_in);
	return *domain_out ? DART_OK : DART_ERR_NOMEM;
}

dart_ret_t dart_domain_destroy(dart_domain_locality_t *domain)
{
	WANT(domain);
	take_out(domain);
	clear(domain);
	free(domain);
	return DART_OK;
}

dart_ret_t dart_domain_assign(dart_domain_locality_t *domain_lhs, const dart_domain_locality_t *domain_rhs)
{
	dom *c, *parent;

	WANT(domain_lhs && domain_rhs);
	if (domain_lhs == domain_rhs)
		return DART_OK;
	c = copy(domain_rhs);
	if (!c)
		return DART_ERR_NOMEM;
	parent = domain_lhs->parent;
	clear(domain_lhs);
	*domain_lhs = *c;
	domain_lhs->parent = parent;
	for (int i = 0; i < c->num_domains; i++)
		c->children[i]->parent = domain_lhs;
	free(c);
	return DART_OK;
}

static dom *find(const dom *d, const char *text)
{
	if (!strcmp(d->domain_tag, text))
		return (dom *)(uintptr_t)d;
	for (int i = 0; i < d->num_domains; i++) {
		dom *f = find(d->children[i], text);

		if (f)
			return f;
	}
	return NULL;
}

dart_ret_t dart_domain_find(const dart_domain_locality_t *domain_in, const char *domain_tag,
			    dart_domain_locality_t **subdomain_out)
{
	dom *f;

	WANT(domain_in && domain_tag && subdomain_out);
	f = find(domain_in, domain_tag);
	if (!f)
		return DART_ERR_NOTFOUND;
	*subdomain_out = f;
	return DART_OK;
}

static bool named(const dom *d, int n, const char **tags)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(d->domain_tag, tags[i]))
			return true;
	return false;
}

static bool has_named(const dom *d, int n, const char **tags)
{
	if (named(d, n, tags))
		return true;
	for (int i = 0; i < d->num_domains; i++)
		if (has_named(d->children[i], n, tags))
			return true;
	return false;
}

/* @keep: those that have a named one above or below; else those that have none above. */
static void prune(dom *d, bool keep, int n, const char **tags)
{
	if (keep && named(d, n, tags))
		return;
	for (int i = d->num_domains - 1; i >= 0; i--) {
		dom *c = d->children[i];

		if (keep ? !has_named(c, n, tags) : named(c, n, tags))
			dart_domain_destroy(c);
		else
			prune(c, keep, n, tags);
	}
}

static dart_ret_t change(dom *d, bool keep, int n, const char **tags)
{
	WANT(d && n > 0 && tags);
	for (int i = 0; i < n; i++)
		if (!tags[i] || !find(d, tags[i]))
			return tags[i] ? DART_ERR_NOTFOUND : DART_ERR_INVAL;
	prune(d, keep, n, tags);
	return count(d) ? DART_OK : DART_ERR_NOMEM;
}

dart_ret_t dart_domain_select(dart_domain_locality_t *domain_in, int num_subdomain_tags, const char **subdomain_tags)
{
	return change(domain_in, true, num_subdomain_tags, subdomain_tags);
}

dart_ret_t dart_domain_exclude(dart_domain_locality_t *domain_in, int num_subdomain_tags, const char **subdomain_tags)
{
	return change(domain_in, false, num_subdomain_tags, subdomain_tags);
}

static dom *root_of(dom *d)
{
	while (d->parent)
		d = d->parent;
	return d;
}

static dart_ret_t settle(dom *d)
{
	d = root_of(d);
	tag(d);
	return count(d) ? DART_OK : DART_ERR_NOMEM;
}

dart_ret_t dart_domain_add_subdomain(dart_domain_locality_t *domain, dart_domain_locality_t *subdomain,
				     int subdomain_rel_id)
{
	WANT(domain && subdomain && !subdomain->parent && root_of(domain) != subdomain);
	return insert(domain, subdomain, subdomain_rel_id) ? settle(domain) : DART_ERR_NOMEM;
}

dart_ret_t dart_domain_move_subdomain(dart_domain_locality_t *domain, dart_domain_locality_t *new_parent_domain,
				      int new_domain_rel_id)
{
	WANT(domain && new_parent_domain && domain->parent && root_of(domain) == root_of(new_parent_domain));
	for (dom *p = new_parent_domain; p; p = p->parent)
		WANT(p != domain);
	take_out(domain);
	return insert(new_parent_domain, domain, new_domain_rel_id) ? settle(new_parent_domain) : DART_ERR_NOMEM;
}

/* Domains of @scope below @d into @out (may be NULL). Return: how many */
static int collect(dom *d, dart_locality_scope_t scope, dom **out)
{
	int n = 0;

	if (d->scope == scope) {
		if (out)
			*out = d;
		return 1;
	}
	for (int i = 0; i < d->num_domains; i++)
		n += collect(d->children[i], scope, out ? out + n : NULL);
	return n;
}

dart_ret_t dart_domain_scope_domains(const dart_domain_locality_t *domain_in, dart_locality_scope_t scope,
				     int *num_domains_out, dart_domain_locality_t ***domains_out)
{
	dom *d = (dom *)(uintptr_t)domain_in;
	int n;

	WANT(domain_in && num_domains_out && domains_out);
	n = collect(d, scope, NULL);
	if (!n)
		return DART_ERR_NOTFOUND;
	*domains_out = malloc((size_t)n * sizeof(**domains_out));
	if (!*domains_out)
		return DART_ERR_NOMEM;
	*num_domains_out = collect(d, scope, *domains_out);
	return DART_OK;
}

/* One block: the pointers, and the texts behind them. */
dart_ret_t dart_domain_scope_tags(const dart_domain_locality_t *domain_in, dart_locality_scope_t scope,
				  int *num_domains_out, char ***domain_tags_out)
{
	dom **d;
	char **tags, *text;
	int n;
	dart_ret_t rc;

	WANT(num_domains_out && domain_tags_out);
	rc = dart_domain_scope_domains(domain_in, scope, &n, &d);
	if (rc)
		return rc;
	tags = malloc((size_t)n * (sizeof(*tags) + DART_LOCALITY_DOMAIN_TAG_MAX_SIZE));
	if (tags) {
		text = (char *)(tags + n);
		for (int i = 0; i < n; i++, text += DART_LOCALITY_DOMAIN_TAG_MAX_SIZE) {
			memcpy(text, d[i]->domain_tag, DART_LOCALITY_DOMAIN_TAG_MAX_SIZE);
			tags[i] = text;
		}
		*domain_tags_out = tags;
		*num_domains_out = n;
	}
	free(d);
	return tags ? DART_OK : DART_ERR_NOMEM;
}

/* Who has lost all children goes, too. */
static void drop_empty(dom *d)
{
	for (int i = d->num_domains - 1; i >= 0; i--) {
		dom *c = d->children[i];

		drop_empty(c);
		if (!c->num_domains && c->scope < DART_LOCALITY_SCOPE_UNIT)
			dart_domain_destroy(c);
	}
}

static dart_ret_t make_group(dom *root, dom **member, int n, char *tag_out)
{
	dom *g = new_domain(DART_LOCALITY_SCOPE_GROUP);

	if (!g || !insert(root, g, -1)) {
		free(g);
		return DART_ERR_NOMEM;
	}
	g->team = root->team;
	snprintf(g->host, sizeof(g->host), "%s", member[0]->host);
	for (int i = 0; i < n; i++) {
		take_out(member[i]);
		if (!insert(g, member[i], -1))
			return DART_ERR_NOMEM;
	}
	drop_empty(root);
	tag(root);
	if (!count(root))
		return DART_ERR_NOMEM;
	if (tag_out)
		memcpy(tag_out, g->domain_tag, DART_LOCALITY_DOMAIN_TAG_MAX_SIZE);
	return DART_OK;
}

dart_ret_t dart_domain_group(dart_domain_locality_t *domain_in, int num_group_subdomains,
			     const char **group_subdomain_tags, char *group_domain_tag_out)
{
	dom **member;
	dart_ret_t rc = DART_OK;

	WANT(domain_in && num_group_subdomains > 0 && group_subdomain_tags && group_domain_tag_out);
	member = malloc((size_t)num_group_subdomains * sizeof(*member));
	if (!member)
		return DART_ERR_NOMEM;
	for (int i = 0; i < num_group_subdomains && !rc; i++) {
		member[i] = group_subdomain_tags[i] ? find(domain_in, group_subdomain_tags[i]) : NULL;
		rc = !member[i] ? DART_ERR_NOTFOUND : member[i] == domain_in ? DART_ERR_INVAL : DART_OK;
		/* none of them inside another */
		for (int k = 0; k < i && !rc; k++)
			for (dom *p = member[i], *q = member[k]; (p || q) && !rc; p = p ? p->parent : p,
			     q = q ? q->parent : q)
				rc = p == member[k] || q == member[i] ? DART_ERR_INVAL : DART_OK;
	}
	if (!rc)
		rc = make_group(domain_in, member, num_group_subdomains, group_domain_tag_out);
	free(member);
	return rc;
}

dart_ret_t dart_domain_split_scope(const dart_domain_locality_t *domain_in, dart_locality_scope_t scope, int num_parts,
				   dart_domain_locality_t *split_domain_out)
{
	dom **d;
	int n;
	dart_ret_t rc;

	WANT(domain_in && num_parts > 0 && split_domain_out && domain_in->scope != scope);
	rc = dart_domain_assign(split_domain_out, domain_in);
	if (!rc)
		rc = dart_domain_scope_domains(split_domain_out, scope, &n, &d);
	if (rc)
		return rc;
	for (int i = 0, parts = n < num_parts ? n : num_parts; i < parts && !rc; i++) {
		int lo = n * i / parts, hi = n * (i + 1) / parts;

		rc = make_group(split_domain_out, d + lo, hi - lo, NULL);
	}
	free(d);
	return rc;
}

dart_ret_t dart_group_locality_split(const dart_group_t group, dart_domain_locality_t *domain,
				     dart_locality_scope_t scope, size_t n, size_t *nout, dart_group_t *gout)
{
	dom **d;
	int all;
	size_t parts, made = 0;
	dart_ret_t rc;

	UP();
	WANT(dartc_group_valid(group) && domain && n && nout && gout);
	rc = dart_domain_scope_domains(domain, scope, &all, &d);
	if (rc)
		return rc;
	parts = (size_t)all < n ? (size_t)all : n;
	for (size_t i = 0; i < parts && !rc; i++) {
		dart_group_t g;

		rc = dart_group_create(&g);
		for (size_t k = (size_t)all * i / parts; !rc && k < (size_t)all * (i + 1) / parts; k++)
			for (int u = 0; u < d[k]->num_units; u++)
				if (dartc_group_has(group, d[k]->unit_ids[u].id))
					dartc_group_change(g, d[k]->unit_ids[u].id, true);
		if (!rc && dartc_group_count(g))
			gout[made++] = g;
		else if (!rc)
			dart_group_destroy(&g);
	}
	for (size_t i = made; i < n; i++)
		gout[i] = DART_GROUP_NULL;
	*nout = made;
	free(d);
	return rc;
}
