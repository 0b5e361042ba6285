/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Functions of a program that was compiled with -default64, called back by libmpi, which passes C's integers.
 *
 * libmpi tells such a function nothing but its arguments, so each one gets a routine of its own here that knows it.
 * There are as many as there are different functions, since the same one is given the same routine again; so they are
 * never given back.
 */
#include <stddef.h>
#include <mpi.h>

#define SLOTS 64

typedef void op_fn(void *in, void *inout, MPI_Fint * len, MPI_Fint * type);
typedef void err_fn(MPI_Fint * handle, MPI_Fint * code);

static op_fn *op_slot[SLOTS];
static err_fn *err_slot[SLOTS];

#define ALL(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) \
    X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) \
    X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63)

#define OP(i)                                                                   \
    static void op_##i(void *in, void *inout, int *len, MPI_Datatype * type)    \
    {                                                                           \
        MPI_Fint l = *len, t = *type;                                           \
                                                                                \
        op_slot[i] (in, inout, &l, &t);                                         \
    }
ALL(OP)
static MPI_User_function *const op_routine[] = {
#define NAME(i) op_##i,
    ALL(NAME)
#undef NAME
};

#define ERR(i)                                          \
    static void err_##i(int *handle, int *code, ...)    \
    {                                                   \
        MPI_Fint h = *handle, c = *code;                \
                                                        \
        err_slot[i] (&h, &c);                           \
        *code = c;                                      \
    }
ALL(ERR)
static void (*const err_routine[]) (int *, int *, ...) = {
#define NAME(i) err_##i,
    ALL(NAME)
#undef NAME
};

/* The routine for a function; NULL when there are too many, which libmpi refuses. */
MPI_User_function *default64_op(void *fn);
MPI_User_function *default64_op(void *fn)
{
    op_fn *none;
    int i;

    for (i = 0; i < SLOTS; i++) {
        none = NULL;
        if (__atomic_load_n(&op_slot[i], __ATOMIC_ACQUIRE) == (op_fn *) fn ||
            __atomic_compare_exchange_n(&op_slot[i], &none, (op_fn *) fn, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return op_routine[i];
    }
    return NULL;
}

void *default64_err(void *fn);
void *default64_err(void *fn)
{
    err_fn *none;
    int i;

    for (i = 0; i < SLOTS; i++) {
        none = NULL;
        if (__atomic_load_n(&err_slot[i], __ATOMIC_ACQUIRE) == (err_fn *) fn ||
            __atomic_compare_exchange_n(&err_slot[i], &none, (err_fn *) fn, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return (void *) err_routine[i];
    }
    return NULL;
}
