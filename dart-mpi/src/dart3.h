/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart3.h - what the files of the typed interface share
 */
#ifndef DART3_H
#define DART3_H

#include "dartc.h"
#pragma GCC visibility push(default)
#include <dash/dart/if/dart.h>
#pragma GCC visibility pop

#define UP()		do { if (!dartc.up) return DART_ERR_NOTINIT; } while (0)
#define WANT(what)	do { if (!(what)) return DART_ERR_INVAL; } while (0)

/* A type as it is used. Base types are in a table; others are what their number points to. */
enum d3_shape { D3_BASIC, D3_STRIDED, D3_INDEXED, D3_CUSTOM };
struct d3_type {
	uint32_t mark;
	enum d3_shape shape;
	enum dartc_kind kind;		/* of the base; K_LAST: custom */
	dart_datatype_t base;
	size_t size;			/* bytes of an element of the base */
	size_t elements;		/* of the base, in one of this */
	size_t extent;			/* from one to the next, in elements */
	size_t blocks;
	size_t *length, *offset;	/* of the blocks, in elements */
	MPI_Datatype mpi;		/* one of this, resized to its extent */
};
const struct d3_type *d3_type(dart_datatype_t type);	/* NULL: it is none */
struct dartc_seg *d3_find(dart_gptr_t gptr);		/* NULL: it leads nowhere */
MPI_Op d3_op(dart_operation_t op, const struct d3_type *t, MPI_Datatype *type, size_t *n);
void d3_locality_forget(int team);
void d3_locality_end(void);

#endif
