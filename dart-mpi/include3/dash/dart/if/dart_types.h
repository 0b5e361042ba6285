/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_types.h - types and values of the typed interface */
#ifndef DART_TYPES_H_
#define DART_TYPES_H_

#include <stdbool.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
	DART_OK = 0,
	DART_PENDING = 1,
	DART_ERR_INVAL = 2,
	DART_ERR_NOTFOUND = 3,
	DART_ERR_NOTINIT = 4,
	DART_ERR_NOMEM = 5,
	DART_ERR_OTHER = 999
} dart_ret_t;

enum {
	DART_EXIT_SUCCESS = EXIT_SUCCESS,
	DART_EXIT_ABORT = EXIT_FAILURE,
	DART_EXIT_ASSERT = -6
};

/* An operation: one of these, or a pointer from dart_op_create(). */
typedef uintptr_t dart_operation_t;
#define DART_OP_UNDEFINED	((dart_operation_t)0)
#define DART_OP_MIN		((dart_operation_t)1)
#define DART_OP_MAX		((dart_operation_t)2)
#define DART_OP_MINMAX		((dart_operation_t)3)	/* of pairs: the least first, the greatest second */
#define DART_OP_SUM		((dart_operation_t)4)
#define DART_OP_PROD		((dart_operation_t)5)
#define DART_OP_BAND		((dart_operation_t)6)
#define DART_OP_LAND		((dart_operation_t)7)
#define DART_OP_BOR		((dart_operation_t)8)
#define DART_OP_LOR		((dart_operation_t)9)
#define DART_OP_BXOR		((dart_operation_t)10)
#define DART_OP_LXOR		((dart_operation_t)11)
#define DART_OP_REPLACE		((dart_operation_t)12)
#define DART_OP_NO_OP		((dart_operation_t)13)
#define DART_OP_LAST		((dart_operation_t)14)

enum { DART_OP_MINMAX_MIN = 0, DART_OP_MINMAX_MAX = 1 };

/* A type: one of these, or a pointer from dart_type_create_*(). */
typedef intptr_t dart_datatype_t;
#define DART_TYPE_UNDEFINED	((dart_datatype_t)0)
#define DART_TYPE_BYTE		((dart_datatype_t)1)
#define DART_TYPE_SHORT		((dart_datatype_t)2)
#define DART_TYPE_INT		((dart_datatype_t)3)
#define DART_TYPE_UINT		((dart_datatype_t)4)
#define DART_TYPE_LONG		((dart_datatype_t)5)
#define DART_TYPE_ULONG		((dart_datatype_t)6)
#define DART_TYPE_LONGLONG	((dart_datatype_t)7)
#define DART_TYPE_ULONGLONG	((dart_datatype_t)8)
#define DART_TYPE_FLOAT		((dart_datatype_t)9)
#define DART_TYPE_DOUBLE	((dart_datatype_t)10)
#define DART_TYPE_LONG_DOUBLE	((dart_datatype_t)11)
#define DART_TYPE_LAST		((dart_datatype_t)12)
#if SIZE_MAX == ULONG_MAX
#define DART_TYPE_SIZET		DART_TYPE_ULONG
#else
#define DART_TYPE_SIZET		DART_TYPE_ULONGLONG
#endif

typedef int32_t dart_unit_t;
#define DART_UNDEFINED_UNIT_ID	((dart_unit_t)-1)

/* A unit by its number in the job, and by its number in a team: two types, so that they are not mixed up. */
typedef struct dart_global_unit {
#ifdef __cplusplus
	constexpr dart_global_unit() : id(-1) { }
	constexpr dart_global_unit(dart_unit_t u) : id(u) { }
#endif
	dart_unit_t id;
} dart_global_unit_t;

typedef struct dart_team_unit {
#ifdef __cplusplus
	constexpr dart_team_unit() : id(-1) { }
	constexpr dart_team_unit(dart_unit_t u) : id(u) { }
#endif
	dart_unit_t id;
} dart_team_unit_t;

static inline dart_team_unit_t dart_create_team_unit(dart_unit_t unit)
{
	dart_team_unit_t u;

	u.id = unit;
	return u;
}

static inline dart_global_unit_t dart_create_global_unit(dart_unit_t unit)
{
	dart_global_unit_t u;

	u.id = unit;
	return u;
}

#define DART_TEAM_UNIT_ID(u_)		(dart_create_team_unit(u_))
#define DART_GLOBAL_UNIT_ID(u_)		(dart_create_global_unit(u_))
#define DART_UNDEFINED_TEAM_UNIT_ID	DART_TEAM_UNIT_ID(DART_UNDEFINED_UNIT_ID)
#define DART_UNDEFINED_GLOBAL_UNIT_ID	DART_GLOBAL_UNIT_ID(DART_UNDEFINED_UNIT_ID)

typedef int16_t dart_team_t;
#define DART_TEAM_ALL		((dart_team_t)0)
#define DART_TEAM_NULL		((dart_team_t)-1)
#define DART_UNDEFINED_TEAM_ID	((dart_team_t)-1)

typedef enum {
	DART_THREAD_SINGLE = 0,
	DART_THREAD_MULTIPLE = 10
} dart_thread_support_level_t;

/* Locality: the farther down, the greater the number. */
typedef enum {
	DART_LOCALITY_SCOPE_UNDEFINED = -1,
	DART_LOCALITY_SCOPE_GLOBAL = 0,
	DART_LOCALITY_SCOPE_GROUP = 1,
	DART_LOCALITY_SCOPE_NETWORK = 50,
	DART_LOCALITY_SCOPE_NODE = 100,
	DART_LOCALITY_SCOPE_MODULE = 200,
	DART_LOCALITY_SCOPE_NUMA = 300,
	DART_LOCALITY_SCOPE_UNIT = 400,
	DART_LOCALITY_SCOPE_PACKAGE = 500,
	DART_LOCALITY_SCOPE_UNCORE = 510,
	DART_LOCALITY_SCOPE_CACHE = 530,
	DART_LOCALITY_SCOPE_CORE = 550,
	DART_LOCALITY_SCOPE_CPU = 600
} dart_locality_scope_t;

#define DART_LOCALITY_HOST_MAX_SIZE		((int)(30))
#define DART_LOCALITY_DOMAIN_TAG_MAX_SIZE	((int)(32))
#define DART_LOCALITY_MAX_DOMAIN_SCOPES		((int)(12))
#define DART_LOCALITY_UNIT_MAX_CPUS		((int)(64))
#define DART_LOCALITY_MAX_NUMA_ID		((int)(16))
#define DART_LOCALITY_MAX_CACHE_LEVELS		((int)(5))

typedef struct {
	dart_locality_scope_t scope;
	int index;				/* among its siblings */
} dart_locality_scope_pos_t;

/* What a unit runs on; -1 (text: empty) where the system does not say. Plain data of fixed size. */
typedef struct {
	char host[DART_LOCALITY_HOST_MAX_SIZE];
	int num_cores;				/* that the unit may use */
	int num_numa;				/* of the node */
	int numa_id, core_id, cpu_id;
	int min_cpu_mhz, max_cpu_mhz;
	int cache_sizes[DART_LOCALITY_MAX_CACHE_LEVELS];	/* bytes; level 1 (data) first */
	int cache_line_sizes[DART_LOCALITY_MAX_CACHE_LEVELS];
	int cache_ids[DART_LOCALITY_MAX_CACHE_LEVELS];
	int min_threads, max_threads;		/* of a core */
	int max_shmem_mbps;			/* not measured: -1 */
	int system_memory_bytes;		/* MiB: bytes do not fit */
	int numa_memory_bytes;			/* MiB */
	dart_locality_scope_pos_t scopes[DART_LOCALITY_MAX_DOMAIN_SCOPES];	/* from the core up */
	int num_scopes;
} dart_hwinfo_t;

typedef struct {
	char host[DART_LOCALITY_HOST_MAX_SIZE];
	char module[DART_LOCALITY_HOST_MAX_SIZE];
	dart_locality_scope_pos_t pos;
} dart_module_location_t;

typedef struct {
	dart_team_unit_t unit;
	dart_team_t team;
	dart_hwinfo_t hwinfo;
	char domain_tag[DART_LOCALITY_DOMAIN_TAG_MAX_SIZE];
} dart_unit_locality_t;

/* A part of the machine, or a group made of such: a tree. Tags are paths of indices: ".", ".0", ".0.1". */
typedef struct dart_domain_locality_s {
	char host[DART_LOCALITY_HOST_MAX_SIZE];
	char domain_tag[DART_LOCALITY_DOMAIN_TAG_MAX_SIZE];
	struct dart_domain_locality_s **aliases;
	int num_aliases;
	dart_locality_scope_t scope;
	int level;				/* 0: the root */
	int global_index;			/* among all of its scope */
	int relative_index;			/* among its parent's */
	struct dart_domain_locality_s *parent;
	int num_domains;
	struct dart_domain_locality_s **children;
	int is_symmetric;
	dart_team_t team;
	int num_units;
	dart_global_unit_t *unit_ids;		/* ascending */
	int num_nodes;
	int node_id;				/* -1: of several nodes */
	int num_cores;
	int shared_mem_bytes;			/* -1: not known */
} dart_domain_locality_t;

#ifdef __cplusplus
}
#endif
#endif
