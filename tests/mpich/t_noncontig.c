/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Data that are not contiguous, at either side or at both, longer than what travels with its envelope: every kind of
 * datatype against MPI_Pack; pieces in several parts of memory, MPI_BOTTOM, zero lengths, truncation, cancel.
 */
#include "m.h"

#define SPACE	(3 << 20)	/* of a buffer; the data lie around its middle */
#define TYPES	14

static unsigned char *buf, *packed, *want;
static char in_bss[20000];

static MPI_Datatype done(MPI_Datatype t, MPI_Datatype old)
{
	MPI_Type_commit(&t);
	if (old != MPI_DATATYPE_NULL)
		MPI_Type_free(&old);
	return t;
}

/* One of each kind; *count of them are sent. All have the same size modulo 8, so that they can be paired. */
static MPI_Datatype make(int kind, int *count)
{
	int sizes[3] = { 20, 30, 40 }, sub[3] = { 20, 10, 16 }, starts[3] = { 0, 7, 11 }, i;
	MPI_Datatype t, old = MPI_DATATYPE_NULL, two[2] = { MPI_DOUBLE, MPI_INT };
	MPI_Aint where[600], at[2] = { 0, 24 };
	int lens[600], three[2] = { 2, 2 };

	*count = 1;
	for (i = 0; i < 600; i++) {
		lens[i] = i % 7 ? 8 * (i % 5) : 0;
		where[i] = 700 * ((i * 7) % 600) + i % 3;
	}
	switch (kind) {
	case 0:				/* a column */
		MPI_Type_vector(3000, 1, 50, MPI_DOUBLE, &t);
		break;
	case 1:				/* upwards */
		MPI_Type_vector(3000, 1, -17, MPI_DOUBLE, &t);
		break;
	case 2:				/* rows, many */
		MPI_Type_vector(40, 100, 300, MPI_DOUBLE, &t);
		break;
	case 3:				/* a box in a cube */
		MPI_Type_create_subarray(3, sizes, sub, starts, MPI_ORDER_C, MPI_DOUBLE, &t);
		break;
	case 4:
		MPI_Type_create_hindexed(600, lens, where, MPI_BYTE, &t);
		break;
	case 5:
		MPI_Type_create_hindexed_block(600, 8, where, MPI_BYTE, &t);
		break;
	case 6:				/* a struct with a gap, sent by the thousand */
		MPI_Type_create_struct(2, three, at, two, &t);
		*count = 2000;
		break;
	case 7:				/* lower bound and extent of its own */
		MPI_Type_vector(3, 2, 5, MPI_INT, &old);
		MPI_Type_create_resized(old, -40, 200, &t);
		*count = 1000;
		break;
	case 8:				/* elements that overlap in extent */
		MPI_Type_vector(4, 1, 100, MPI_DOUBLE, &old);
		MPI_Type_create_resized(old, 0, 8, &t);
		*count = 90;
		break;
	case 9:				/* a vector of vectors: a transposed matrix */
		MPI_Type_vector(64, 1, 64, MPI_DOUBLE, &old);
		MPI_Type_create_hvector(64, 1, 8, old, &t);
		break;
	case 10:
		MPI_Type_vector(7, 3000, 3001, MPI_DOUBLE, &t);
		break;
	case 11:			/* pair types have a gap */
		MPI_Type_vector(1000, 3, 7, MPI_DOUBLE_INT, &old);
		MPI_Type_contiguous(2, old, &t);
		break;
	case 12:			/* columns of one length; the second goes on where the first would, but wider */
		MPI_Type_vector(500, 1, 8, MPI_DOUBLE, &two[0]);
		MPI_Type_vector(300, 1, 16, MPI_DOUBLE, &two[1]);
		at[1] = 500 * 64;
		three[0] = three[1] = 1;
		MPI_Type_create_struct(2, three, at, two, &t);
		MPI_Type_free(&two[0]);
		old = two[1];
		break;
	default:			/* contiguous, but not at its beginning */
		MPI_Type_contiguous(4000, MPI_DOUBLE, &old);
		MPI_Type_create_resized(old, 16, 32000, &t);
	}
	return done(t, old);
}

static long size_of(MPI_Datatype t, int count)
{
	int n;

	MPI_Type_size(t, &n);
	return (long)n * count;
}

/* What packing @count of @t from @from gives. */
static long pack(const void *from, int count, MPI_Datatype t, unsigned char *to)
{
	int pos = 0;

	MPI_Pack(from, count, t, to, SPACE, &pos, MPI_COMM_WORLD);
	return pos;
}

/* @len bytes of buf as MPI_Unpack would leave it after a message of @t into it. */
static void expect(int count, MPI_Datatype t, long len)
{
	int pos = 0, elem, whole;

	memset(want, 0xee, SPACE);
	MPI_Type_size(t, &elem);
	whole = len / elem < count ? len / elem : count;
	MPI_Unpack(packed, SPACE, &pos, want + SPACE / 2, whole, t, MPI_COMM_WORLD);
}

static void same(const char *what, int a, int b)
{
	long i;

	for (i = 0; i < SPACE && buf[i] == want[i]; i++)
		;
	CHECK(i == SPACE, "%s, kinds %d and %d: byte %ld is %02x, not %02x", what, a, b, i, buf[i], want[i]);
}

/* From type @a into type @b, whichever is shorter; -1: bytes. */
static void pair(int a, int b, int sync)
{
	int na = 1, nb = 1, got;
	MPI_Datatype ta = make(a, &na), tb = b < 0 ? MPI_BYTE : make(b, &nb);
	long sa = size_of(ta, na), sb, n;
	MPI_Status st;
	int elem;

	sb = b < 0 ? sa : size_of(tb, nb);
	/* as many whole elements of the receiver's type as come; the sender sends no more than fit */
	if (sa > sb) {
		MPI_Type_size(ta, &elem);
		na = sb / elem;
		sa = (long)na * elem;
	}
	if (m_rank == 0 && na > 0) {
		m_fill(buf, SPACE, 77 * a + b);
		(sync ? MPI_Ssend : MPI_Send)(buf + SPACE / 2, na, ta, 1, 5, MPI_COMM_WORLD);
	} else if (na > 0) {
		m_fill(buf, SPACE, 77 * a + b);
		n = pack(buf + SPACE / 2, na, ta, packed);
		CHECK(n == sa, "%ld, %ld", n, sa);
		memset(buf, 0xee, SPACE);
		if (b < 0) {
			memset(want, 0xee, SPACE);
			memcpy(want + SPACE / 2, packed, sa);
			MPI_Recv(buf + SPACE / 2, sa, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &st);
		} else {
			MPI_Recv(buf + SPACE / 2, nb, tb, 0, 5, MPI_COMM_WORLD, &st);
			MPI_Type_size(tb, &elem);
			expect(nb, tb, sa);
			if (sa % elem)		/* part of an element, in the order of its type */
				memcpy(want, buf, SPACE);
		}
		MPI_Get_count(&st, MPI_BYTE, &got);
		CHECK(got == sa, "%d for %ld", got, sa);
		same("message", a, b);
	}
	MPI_Type_free(&ta);
	if (b >= 0)
		MPI_Type_free(&tb);
}

/* Absolute addresses in stack, data, heap and a private mapping of libc's. */
static void bottom(void)
{
	char on_stack[20000], *in_heap = malloc(300000);
	MPI_Aint where[4];
	int lens[4] = { 20000, 0, 20000, 300000 };
	MPI_Datatype t;

	MPI_Get_address(on_stack, &where[0]);
	MPI_Get_address(in_bss, &where[2]);
	MPI_Get_address(in_heap, &where[3]);
	where[1] = 8;
	MPI_Type_create_hindexed(4, lens, where, MPI_BYTE, &t);
	MPI_Type_commit(&t);
	memset(on_stack, 0, sizeof(on_stack));
	if (m_rank == 0) {
		m_fill(on_stack, 20000, 1);
		m_fill(in_bss, 20000, 2);
		m_fill(in_heap, 300000, 3);
		MPI_Send(MPI_BOTTOM, 1, t, 1, 6, MPI_COMM_WORLD);
	} else {
		MPI_Recv(MPI_BOTTOM, 1, t, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		CHECK(m_wrong(on_stack, 20000, 1) < 0 && m_wrong(in_bss, 20000, 2) < 0 &&
		      m_wrong(in_heap, 300000, 3) < 0);
	}
	MPI_Type_free(&t);
	free(in_heap);
}

static void truncated(int kind)
{
	int count, rc, cls = 0, got;
	MPI_Datatype t = make(kind, &count);
	long n = size_of(t, count), room = n / 2;
	MPI_Status st;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	m_fill(buf, SPACE, kind);
	if (m_rank == 0) {
		MPI_Send(buf + SPACE / 2, count, t, 1, 7, MPI_COMM_WORLD);
	} else {
		pack(buf + SPACE / 2, count, t, packed);
		memset(buf, 0xee, SPACE);
		memset(want, 0xee, SPACE);
		memcpy(want + SPACE / 2, packed, room);
		rc = MPI_Recv(buf + SPACE / 2, room, MPI_BYTE, 0, 7, MPI_COMM_WORLD, &st);
		MPI_Error_class(rc, &cls);
		CHECK(cls == MPI_ERR_TRUNCATE, "%d", cls);
		MPI_Get_count(&st, MPI_BYTE, &got);
		CHECK(got == room, "%d", got);
		same("truncated", kind, -1);
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Type_free(&t);
}

/* Messages that nobody receives are cancelled; those that are keep their order. */
static void cancelled(void)
{
	int count, i, flag, sum = 0;
	MPI_Datatype t = make(2, &count);
	MPI_Request req[8];
	MPI_Status st;

	if (m_rank == 0) {
		for (i = 0; i < 8; i++)
			MPI_Isend(buf + SPACE / 2, count, t, 1, 10 + i, MPI_COMM_WORLD, &req[i]);
		for (i = 0; i < 8; i += 2) {
			MPI_Cancel(&req[i]);
			MPI_Wait(&req[i], &st);
			MPI_Test_cancelled(&st, &flag);
			sum += flag;
		}
		CHECK(sum == 4, "%d", sum);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	for (i = 1; i < 8; i += 2) {
		if (m_rank == 0)
			MPI_Wait(&req[i], &st);
		else
			MPI_Recv(buf + SPACE / 2, count, t, 0, 10 + i, MPI_COMM_WORLD, &st);
	}
	MPI_Type_free(&t);
}

int main(int argc, char **argv)
{
	int a, b;

	m_start(&argc, &argv);
	buf = malloc(SPACE);
	packed = malloc(SPACE);
	want = malloc(SPACE);
	if (m_rank < 2) {
		for (a = 0; a < TYPES; a++)
			for (b = -1; b < TYPES; b++)
				pair(a, b, (a + b) % 2);
		bottom();
		for (a = 0; a < TYPES; a++)
			truncated(a);
		cancelled();
	}
	free(buf);
	free(packed);
	free(want);
	return m_finish();
}
