/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * atomic.c - operations on elements, atomic one by one
 *
 * By the processor where every unit of the team can do it (dartc_seg.all_direct), else by MPI: the two would not be
 * atomic towards each other, so all units of a team must decide alike. Long doubles always go by MPI.
 */
#include "dartc.h"

const size_t dartc_kind_size[K_LAST] = {
	[K_BYTE] = 1, [K_SHORT] = sizeof(short), [K_INT] = sizeof(int), [K_UINT] = sizeof(int), [K_LONG] = sizeof(long),
	[K_ULONG] = sizeof(long), [K_LONGLONG] = sizeof(long long), [K_ULONGLONG] = sizeof(long long),
	[K_FLOAT] = sizeof(float), [K_DOUBLE] = sizeof(double), [K_LDOUBLE] = sizeof(long double),
};
static MPI_Op minmax = MPI_OP_NULL;
static MPI_Datatype pair[K_LAST];
static pthread_mutex_t wide = PTHREAD_MUTEX_INITIALIZER;	/* elements longer than the processor's atomic ones */

MPI_Datatype dartc_mpi_type(enum dartc_kind k)
{
	switch (k) {
	case K_BYTE: return MPI_SIGNED_CHAR;	/* MPI_BYTE cannot be added up */
	case K_SHORT: return MPI_SHORT;
	case K_INT: return MPI_INT;
	case K_UINT: return MPI_UNSIGNED;
	case K_LONG: return MPI_LONG;
	case K_ULONG: return MPI_UNSIGNED_LONG;
	case K_LONGLONG: return MPI_LONG_LONG;
	case K_ULONGLONG: return MPI_UNSIGNED_LONG_LONG;
	case K_FLOAT: return MPI_FLOAT;
	case K_DOUBLE: return MPI_DOUBLE;
	case K_LDOUBLE: return MPI_LONG_DOUBLE;
	case K_LAST: break;
	}
	return MPI_DATATYPE_NULL;
}

MPI_Op dartc_mpi_op(enum dartc_op op)
{
	switch (op) {
	case O_MIN: return MPI_MIN;
	case O_MAX: return MPI_MAX;
	case O_MINMAX: return minmax;
	case O_SUM: return MPI_SUM;
	case O_PROD: return MPI_PROD;
	case O_BAND: return MPI_BAND;
	case O_LAND: return MPI_LAND;
	case O_BOR: return MPI_BOR;
	case O_LOR: return MPI_LOR;
	case O_BXOR: return MPI_BXOR;
	case O_LXOR: return MPI_LXOR;
	case O_REPLACE: return MPI_REPLACE;
	case O_NO_OP: return MPI_NO_OP;
	case O_UNDEF: case O_LAST: break;
	}
	return MPI_OP_NULL;
}

MPI_Datatype dartc_pair_type(enum dartc_kind k)
{
	return pair[k];
}

/* Is @op one for elements of @k? */
bool dartc_op_fits(enum dartc_op op, enum dartc_kind k)
{
	bool whole = k < K_FLOAT;

	switch (op) {
	case O_MIN: case O_MAX: case O_MINMAX: case O_SUM: case O_PROD: case O_REPLACE: case O_NO_OP:
		return k < K_LAST;
	case O_BAND: case O_LAND: case O_BOR: case O_LOR: case O_BXOR: case O_LXOR:
		return whole;
	case O_UNDEF: case O_LAST: break;
	}
	return false;
}

#define EACH(expr)	do { for (size_t i = 0; i < n; i++) { a[i] = (expr); } } while (0)
#define ARITHMETIC								\
	case O_MIN: EACH(b[i] < a[i] ? b[i] : a[i]); break;			\
	case O_MAX: EACH(b[i] > a[i] ? b[i] : a[i]); break;			\
	case O_PROD: EACH(a[i] * b[i]); break;					\
	case O_REPLACE: EACH(b[i]); break;					\
	case O_MINMAX:								\
		for (size_t i = 0; i + 1 < n; i += 2) {				\
			a[i] = b[i] < a[i] ? b[i] : a[i];			\
			a[i + 1] = b[i + 1] > a[i + 1] ? b[i + 1] : a[i + 1];	\
		}								\
		break
#define WHOLE(name, type, wide)							\
static void name(enum dartc_op op, const void *in, void *inout, size_t n)	\
{										\
	const type *b = in;							\
	type *a = inout;							\
										\
	switch (op) {								\
	ARITHMETIC;								\
	case O_SUM: EACH((type)((wide)a[i] + (wide)b[i])); break;		\
	case O_BAND: EACH((type)(a[i] & b[i])); break;				\
	case O_BOR: EACH((type)(a[i] | b[i])); break;				\
	case O_BXOR: EACH((type)(a[i] ^ b[i])); break;				\
	case O_LAND: EACH(a[i] && b[i]); break;					\
	case O_LOR: EACH(a[i] || b[i]); break;					\
	case O_LXOR: EACH(!a[i] != !b[i]); break;				\
	default: break;								\
	}									\
}
#define BROKEN(name, type)							\
static void name(enum dartc_op op, const void *in, void *inout, size_t n)	\
{										\
	const type *b = in;							\
	type *a = inout;							\
										\
	switch (op) {								\
	ARITHMETIC;								\
	case O_SUM: EACH(a[i] + b[i]); break;					\
	default: break;								\
	}									\
}
WHOLE(on_byte, signed char, unsigned char)
WHOLE(on_short, short, unsigned short)
WHOLE(on_int, int, unsigned)
WHOLE(on_uint, unsigned, unsigned)
WHOLE(on_long, long, unsigned long)
WHOLE(on_ulong, unsigned long, unsigned long)
WHOLE(on_longlong, long long, unsigned long long)
WHOLE(on_ulonglong, unsigned long long, unsigned long long)
BROKEN(on_float, float)
BROKEN(on_double, double)
BROKEN(on_ldouble, long double)

/* @inout becomes @inout OP @in. */
void dartc_apply(enum dartc_op op, enum dartc_kind k, const void *in, void *inout, size_t n)
{
	static void (*const fn[K_LAST])(enum dartc_op, const void *, void *, size_t) = {
		[K_BYTE] = on_byte, [K_SHORT] = on_short, [K_INT] = on_int, [K_UINT] = on_uint, [K_LONG] = on_long,
		[K_ULONG] = on_ulong, [K_LONGLONG] = on_longlong, [K_ULONGLONG] = on_ulonglong,
		[K_FLOAT] = on_float, [K_DOUBLE] = on_double, [K_LDOUBLE] = on_ldouble,
	};

	fn[k](op, in, inout, n);
}

/* Called by MPI with pairs, of a type of ours. */
static void minmax_pairs(void *in, void *inout, int *len, MPI_Datatype *type)
{
	for (int k = 0; k < K_LAST; k++)
		if (*type == pair[k])
			dartc_apply(O_MINMAX, (enum dartc_kind)k, in, inout, 2 * (size_t)*len);
}

int dartc_ops_start(void)
{
	for (int k = 0; k < K_LAST; k++) {
		MPI_Type_contiguous(2, dartc_mpi_type((enum dartc_kind)k), &pair[k]);
		MPI_Type_commit(&pair[k]);
	}
	return dartc_mpi(MPI_Op_create(minmax_pairs, 1, &minmax));
}

void dartc_ops_end(void)
{
	for (int k = 0; k < K_LAST; k++)
		MPI_Type_free(&pair[k]);
	MPI_Op_free(&minmax);
}

/* One element by compare and swap. */
#define SWAP(bits)								\
static void swap##bits(char *p, const void *value, void *old, enum dartc_kind k, enum dartc_op op)	\
{										\
	uint##bits##_t *at = (uint##bits##_t *)(void *)p, now = __atomic_load_n(at, __ATOMIC_ACQUIRE), to;	\
										\
	do {									\
		to = now;							\
		dartc_apply(op, k, value, &to, 1);				\
	} while (!__atomic_compare_exchange_n(at, &now, to, 1, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));	\
	if (old)								\
		memcpy(old, &now, sizeof(now));					\
}
SWAP(8)
SWAP(16)
SWAP(32)
SWAP(64)

/* What the processor has an instruction for. Return: whether it has. */
#define FAST(bits)								\
static bool fast##bits(char *p, const void *value, void *old, enum dartc_op op)	\
{										\
	uint##bits##_t *at = (uint##bits##_t *)(void *)p, v = 0, was;		\
										\
	if (op != O_NO_OP)							\
		memcpy(&v, value, sizeof(v));					\
	switch (op) {								\
	case O_SUM: was = __atomic_fetch_add(at, v, __ATOMIC_ACQ_REL); break;	\
	case O_BAND: was = __atomic_fetch_and(at, v, __ATOMIC_ACQ_REL); break;	\
	case O_BOR: was = __atomic_fetch_or(at, v, __ATOMIC_ACQ_REL); break;	\
	case O_BXOR: was = __atomic_fetch_xor(at, v, __ATOMIC_ACQ_REL); break;	\
	case O_REPLACE: was = __atomic_exchange_n(at, v, __ATOMIC_ACQ_REL); break;	\
	case O_NO_OP: was = __atomic_load_n(at, __ATOMIC_ACQUIRE); break;	\
	default: return false;							\
	}									\
	if (old)								\
		memcpy(old, &was, sizeof(was));					\
	return true;								\
}
FAST(32)
FAST(64)

static void one(char *p, const void *value, void *old, enum dartc_kind k, enum dartc_op op)
{
	bool plain = k < K_FLOAT || op == O_REPLACE || op == O_NO_OP;

	switch (dartc_kind_size[k]) {
	case 1:
		swap8(p, value, old, k, op);
		break;
	case 2:
		swap16(p, value, old, k, op);
		break;
	case 4:
		if (!plain || !fast32(p, value, old, op))
			swap32(p, value, old, k, op);
		break;
	case 8:
		if (!plain || !fast64(p, value, old, op))
			swap64(p, value, old, k, op);
		break;
	default:	/* of a team of one unit: only its threads */
		pthread_mutex_lock(&wide);
		if (old)
			memcpy(old, p, dartc_kind_size[k]);
		if (op != O_NO_OP)
			dartc_apply(op, k, value, p, 1);
		pthread_mutex_unlock(&wide);
	}
}

static bool by_processor(const struct dartc_seg *s, enum dartc_kind k)
{
	return s->all_direct && (k != K_LDOUBLE || s->team->size == 1);
}

static void used(struct dartc_seg *s, int rel)
{
	if (s->part[rel].base && !atomic_load_explicit(&s->team->mpi_near, memory_order_relaxed))
		atomic_store_explicit(&s->team->mpi_near, true, memory_order_relaxed);
}

static int by_mpi(struct dartc_seg *s, int rel, size_t off, const char *value, char *old, size_t n, enum dartc_kind k,
		  enum dartc_op op)
{
	MPI_Datatype type = dartc_mpi_type(k);
	int rc = MPI_SUCCESS;

	used(s, rel);
	for (size_t at = 0; at < n && rc == MPI_SUCCESS; at += dartc.chunk) {
		size_t byte = at * dartc_kind_size[k];
		int some = (int)(n - at < dartc.chunk ? n - at : dartc.chunk);
		MPI_Aint there = s->disp[rel] + (MPI_Aint)(off + byte);

		if (!old)
			rc = MPI_Accumulate(value + byte, some, type, rel, there, some, type, dartc_mpi_op(op), s->win);
		else if (n == 1)
			rc = MPI_Fetch_and_op(value, old, type, rel, there, dartc_mpi_op(op), s->win);
		else
			rc = MPI_Get_accumulate(value + byte, some, type, old + byte, some, type, rel, there, some,
						type,
						dartc_mpi_op(op), s->win);
	}
	return dartc_mpi(rc);
}

int dartc_atomic(struct dartc_seg *s, int rel, size_t off, const void *value, void *old, size_t n, enum dartc_kind k,
		 enum dartc_op op)
{
	size_t size = dartc_kind_size[k];
	char *at = s->part[rel].base + off;

	if (!dartc_op_fits(op, k) || op == O_MINMAX)
		return DARTC_INVAL;
	if (op == O_NO_OP && !old)
		return DARTC_OK;
	if (!by_processor(s, k))
		return by_mpi(s, rel, off, value, old, n, k, op);
	if ((uintptr_t)at % size)
		return DARTC_INVAL;
	for (size_t i = 0; i < n; i++)
		one(at + i * size, value ? (const char *)value + i * size : NULL,
		    old ? (char *)old + i * size : NULL, k, op);
	return DARTC_OK;
}

#define CAS(bits)								\
static void cas##bits(char *p, const void *value, const void *compare, void *old)	\
{										\
	uint##bits##_t was, to;							\
										\
	memcpy(&was, compare, sizeof(was));					\
	memcpy(&to, value, sizeof(to));						\
	__atomic_compare_exchange_n((uint##bits##_t *)(void *)p, &was, to, 0, __ATOMIC_ACQ_REL,	\
				    __ATOMIC_ACQUIRE);				\
	memcpy(old, &was, sizeof(was));						\
}
CAS(8)
CAS(16)
CAS(32)
CAS(64)

/* Whole numbers only. *@old is complete at flush. */
int dartc_cas(struct dartc_seg *s, int rel, size_t off, const void *value, const void *compare, void *old,
	      enum dartc_kind k)
{
	char *at = s->part[rel].base + off;

	if (k >= K_FLOAT)
		return DARTC_INVAL;
	if (!by_processor(s, k)) {
		used(s, rel);
		return dartc_mpi(MPI_Compare_and_swap(value, compare, old, dartc_mpi_type(k), rel,
						      s->disp[rel] + (MPI_Aint)off, s->win));
	}
	if ((uintptr_t)at % dartc_kind_size[k])
		return DARTC_INVAL;
	switch (dartc_kind_size[k]) {
	case 1: cas8(at, value, compare, old); break;
	case 2: cas16(at, value, compare, old); break;
	case 4: cas32(at, value, compare, old); break;
	case 8: cas64(at, value, compare, old); break;
	}
	return DARTC_OK;
}
