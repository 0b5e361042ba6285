/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart_types.h - types and values of interface 3.2 */
#ifndef DART_TYPES_H_
#define DART_TYPES_H_

#include <stddef.h>
#include <stdint.h>


#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
	DART_OK = 0,
	DART_PENDING = 1,
	DART_ERR_INVAL = 2,
	DART_ERR_NOTFOUND = 3,
	DART_ERR_NOTINIT = 4,
	DART_ERR_OTHER = 999
} dart_ret_t;

typedef enum {
	DART_OP_UNDEFINED = 0,
	DART_OP_MIN,
	DART_OP_MAX,
	DART_OP_SUM,
	DART_OP_PROD,
	DART_OP_BAND,
	DART_OP_LAND,
	DART_OP_BOR,
	DART_OP_LOR,
	DART_OP_BXOR,
	DART_OP_LXOR
} dart_operation_t;

typedef int32_t dart_unit_t;		/* a unit: its number in the job (global) or in a team (relative) */
typedef int32_t dart_team_t;

#define DART_TEAM_ALL		((dart_team_t)0)
#define DART_TEAM_NULL		((dart_team_t)-1)
#define DART_UNDEFINED_UNIT_ID	((dart_unit_t)-1)
#define DART_UNDEFINED_TEAM_ID	((dart_team_t)-1)

#ifdef __cplusplus
}
#endif
#endif
