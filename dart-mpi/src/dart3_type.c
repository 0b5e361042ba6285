/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * dart3_type.c - types and operations
 *
 * A made type is blocks of elements of a base type; its number is a pointer to it, recognised by a mark. MPI's twin
 * of it is made at once, resized to the distance of its repetitions. An operation of the program's runs on a copy of
 * MPI's type made for it alone, by which the function that MPI calls finds it.
 */
#include "dart3.h"

#include <stdlib.h>

#define MARK	0x74797065u
#define BASIC(k)	[k] = { .shape = D3_BASIC, .kind = (k), .base = (k) + 1, .elements = 1, .extent = 1 }

static struct d3_type basic[K_LAST] = {
	BASIC(K_BYTE), BASIC(K_SHORT), BASIC(K_INT), BASIC(K_UINT), BASIC(K_LONG), BASIC(K_ULONG), BASIC(K_LONGLONG),
	BASIC(K_ULONGLONG), BASIC(K_FLOAT), BASIC(K_DOUBLE), BASIC(K_LDOUBLE),
};

const struct d3_type *d3_type(dart_datatype_t type)
{
	struct d3_type *t;

	if (type > 0 && type < DART_TYPE_LAST) {
		t = &basic[type - 1];
		t->size = dartc_kind_size[t->kind];
		t->mpi = dartc_mpi_type(t->kind);
		return t;
	}
	if (type <= 4096 || type % (intptr_t)sizeof(void *))
		return NULL;
	t = (struct d3_type *)type;
	return t->mark == MARK ? t : NULL;
}

/* With room for @blocks. */
static struct d3_type *new_type(enum d3_shape shape, const struct d3_type *base, size_t blocks)
{
	struct d3_type *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->mark = MARK;
	t->shape = shape;
	t->blocks = blocks;
	t->length = calloc(blocks + 1, sizeof(*t->length));
	t->offset = calloc(blocks + 1, sizeof(*t->offset));
	if (!t->length || !t->offset) {
		free(t->length);
		free(t->offset);
		free(t);
		return NULL;
	}
	if (base) {
		t->kind = base->kind;
		t->base = base->base;
		t->size = base->size;
	}
	return t;
}

/* MPI's twin, of what the blocks say. */
static int finish(struct d3_type *t, MPI_Datatype base)
{
	MPI_Datatype raw;
	int *length = malloc(t->blocks * sizeof(int)), rc = DARTC_NOMEM;
	MPI_Aint *at = malloc(t->blocks * sizeof(MPI_Aint));

	if (length && at) {
		for (size_t i = 0; i < t->blocks; i++) {
			length[i] = (int)t->length[i];
			at[i] = (MPI_Aint)(t->offset[i] * t->size);
		}
		rc = dartc_mpi(MPI_Type_create_hindexed((int)t->blocks, length, at, base, &raw));
	}
	if (!rc) {
		rc = dartc_mpi(MPI_Type_create_resized(raw, 0, (MPI_Aint)(t->extent * t->size), &t->mpi));
		MPI_Type_free(&raw);
	}
	if (!rc)
		MPI_Type_commit(&t->mpi);
	free(length);
	free(at);
	return rc;
}

static void drop(struct d3_type *t)
{
	t->mark = 0;
	free(t->length);
	free(t->offset);
	free(t);
}

static dart_ret_t give(struct d3_type *t, MPI_Datatype base, dart_datatype_t *newtype)
{
	int rc = finish(t, base);

	if (rc)
		drop(t);
	else
		*newtype = (dart_datatype_t)t;
	return (dart_ret_t)rc;
}

/* May a type reach so many elements of @base? Bytes and some thousand repetitions are then counted without overflow. */
static bool can_reach(const struct d3_type *base, size_t elements)
{
	return elements <= PTRDIFF_MAX / 4096 / base->size;
}

static bool can_be_base(const struct d3_type *t)
{
	return t && (t->shape == D3_BASIC || t->shape == D3_CUSTOM);
}

dart_ret_t dart_type_create_strided(dart_datatype_t basetype, size_t stride, size_t blocklen, dart_datatype_t *newtype)
{
	const struct d3_type *base;
	struct d3_type *t;

	UP();
	base = d3_type(basetype);
	WANT(can_be_base(base) && blocklen && blocklen <= INT32_MAX && stride >= blocklen &&
	     can_reach(base, stride) && newtype);
	t = new_type(D3_STRIDED, base, 1);
	if (!t)
		return DART_ERR_NOMEM;
	t->length[0] = t->elements = blocklen;
	t->extent = stride;
	return give(t, base->mpi, newtype);
}

dart_ret_t dart_type_create_indexed(dart_datatype_t basetype, size_t count, const size_t blocklen[],
				    const size_t offset[],
				    dart_datatype_t *newtype)
{
	const struct d3_type *base;
	struct d3_type *t;

	UP();
	base = d3_type(basetype);
	WANT(can_be_base(base) && count && count <= INT32_MAX && blocklen && offset && newtype);
	for (size_t i = 0; i < count; i++)
		WANT(blocklen[i] <= INT32_MAX && offset[i] <= PTRDIFF_MAX / 4096 &&
		     can_reach(base, offset[i] + blocklen[i]));
	t = new_type(D3_INDEXED, base, count);
	if (!t)
		return DART_ERR_NOMEM;
	for (size_t i = 0; i < count; i++) {
		t->length[i] = blocklen[i];
		t->offset[i] = offset[i];
		t->elements += blocklen[i];
		if (blocklen[i] && offset[i] + blocklen[i] > t->extent)
			t->extent = offset[i] + blocklen[i];
	}
	if (!t->elements) {
		drop(t);
		return DART_ERR_INVAL;
	}
	return give(t, base->mpi, newtype);
}

dart_ret_t dart_type_create_custom(size_t num_bytes, dart_datatype_t *newtype)
{
	struct d3_type *t;

	UP();
	WANT(num_bytes && num_bytes <= INT32_MAX && newtype);
	t = new_type(D3_CUSTOM, NULL, 1);
	if (!t)
		return DART_ERR_NOMEM;
	t->kind = K_LAST;
	t->base = (dart_datatype_t)t;
	t->size = num_bytes;
	t->elements = t->extent = t->length[0] = 1;
	if (MPI_Type_contiguous((int)num_bytes, MPI_BYTE, &t->mpi) != MPI_SUCCESS) {
		drop(t);
		return DART_ERR_OTHER;
	}
	MPI_Type_commit(&t->mpi);
	*newtype = (dart_datatype_t)t;
	return DART_OK;
}

dart_ret_t dart_type_destroy(dart_datatype_t *dart_type)
{
	const struct d3_type *t;

	UP();
	WANT(dart_type);
	t = d3_type(*dart_type);
	WANT(t && t->shape != D3_BASIC);
	MPI_Type_free(&((struct d3_type *)*dart_type)->mpi);
	drop((struct d3_type *)*dart_type);
	*dart_type = DART_TYPE_UNDEFINED;
	return DART_OK;
}

/* operations of the program's */
struct op {
	uint32_t mark;
	dart_operator_t fn;
	void *user;
	dart_datatype_t type;
	bool type_goes;
	MPI_Datatype twin;		/* of its own, for the table below */
	MPI_Op mpi;
	struct op *next;
};
#define OP_MARK	0x6f706572u
static struct op *ops;
static pthread_mutex_t ops_mutex = PTHREAD_MUTEX_INITIALIZER;

static void call(void *in, void *inout, int *len, MPI_Datatype *type)
{
	struct op *o;

	pthread_mutex_lock(&ops_mutex);
	for (o = ops; o && o->twin != *type; o = o->next)
		;
	pthread_mutex_unlock(&ops_mutex);
	if (o)
		o->fn(in, inout, (size_t)*len, o->user);
}

dart_ret_t dart_op_create(dart_operator_t op, void *user_data, bool commute, dart_datatype_t dtype, bool dtype_is_tmp,
			  dart_operation_t *new_op)
{
	const struct d3_type *t;
	struct op *o;

	UP();
	t = d3_type(dtype);
	WANT(op && can_be_base(t) && new_op && !(dtype_is_tmp && t->shape == D3_BASIC));
	o = calloc(1, sizeof(*o));
	if (!o)
		return DART_ERR_NOMEM;
	*o = (struct op){ .mark = OP_MARK, .fn = op, .user = user_data, .type = dtype, .type_goes = dtype_is_tmp };
	if (MPI_Type_contiguous(1, t->mpi, &o->twin) != MPI_SUCCESS || MPI_Type_commit(&o->twin) != MPI_SUCCESS ||
	    MPI_Op_create(call, commute, &o->mpi) != MPI_SUCCESS) {
		free(o);
		return DART_ERR_OTHER;
	}
	pthread_mutex_lock(&ops_mutex);
	o->next = ops;
	ops = o;
	pthread_mutex_unlock(&ops_mutex);
	*new_op = (dart_operation_t)o;
	return DART_OK;
}

static struct op *made_op(dart_operation_t op)
{
	struct op *o;

	pthread_mutex_lock(&ops_mutex);
	for (o = ops; o && (dart_operation_t)o != op; o = o->next)
		;
	pthread_mutex_unlock(&ops_mutex);
	return o;
}

dart_ret_t dart_op_destroy(dart_operation_t *op)
{
	struct op *o;

	UP();
	WANT(op);
	o = made_op(*op);
	WANT(o);
	pthread_mutex_lock(&ops_mutex);
	for (struct op **p = &ops; *p; p = &(*p)->next)
		if (*p == o) {
			*p = o->next;
			break;
		}
	pthread_mutex_unlock(&ops_mutex);
	MPI_Op_free(&o->mpi);
	MPI_Type_free(&o->twin);
	if (o->type_goes)
		dart_type_destroy(&o->type);
	free(o);
	*op = DART_OP_UNDEFINED;
	return DART_OK;
}

/* For MPI: the operation, and *@n elements of *@type instead of @t's. MPI_OP_NULL: it does not fit. */
MPI_Op d3_op(dart_operation_t op, const struct d3_type *t, MPI_Datatype *type, size_t *n)
{
	struct op *o;

	*type = t->mpi;
	if (op < DART_OP_LAST) {
		if (t->shape != D3_BASIC || !dartc_op_fits((enum dartc_op)op, t->kind) || op == DART_OP_REPLACE ||
		    op == DART_OP_NO_OP || (op == DART_OP_MINMAX && *n % 2))
			return MPI_OP_NULL;
		if (op == DART_OP_MINMAX) {
			*type = dartc_pair_type(t->kind);
			*n /= 2;
		}
		return dartc_mpi_op((enum dartc_op)op);
	}
	o = made_op(op);
	if (!o || d3_type(o->type) != t)
		return MPI_OP_NULL;
	*type = o->twin;
	return o->mpi;
}
