/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * mpich_coll.h - collectives from a library of your own
 *
 * MPICH_COLL_PLUGIN=/path/to/lib.so, the same in all ranks, names a shared library with the function
 * mpich_coll_plugin(). MPI_Init calls it; it adds entries to the table that every blocking barrier, bcast, reduce and
 * allreduce is looked up in.
 *
 * A collective of a communicator has two parts: one among the ranks that share a node, and one between nodes, of one
 * rank of each. An entry is one part of one collective. Where all ranks of a communicator share a node there is only
 * the first. Between nodes, with MPI_COLL_OPT_ON set, the first is done on each node, the second between their leaders,
 * each on a communicator of its own.
 *
 * Of the entries that fit, the one added last is taken; the library's own come first, so they serve where nothing else
 * does.
 */
#ifndef MPICH_COLL_H_INCLUDED
#define MPICH_COLL_H_INCLUDED

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MPICH_COLL_VERSION 1

enum mpich_coll { MPICH_COLL_BARRIER, MPICH_COLL_BCAST, MPICH_COLL_REDUCE, MPICH_COLL_ALLREDUCE, MPICH_COLLS };
enum mpich_coll_part { MPICH_COLL_NODE, MPICH_COLL_NET, MPICH_COLL_PARTS };

/* The arguments of the call; those that the collective does not have are 0. Bcast's buffer is recvbuf. */
struct mpich_coll_args {
    const void *sendbuf;        /* may be MPI_IN_PLACE */
    void *recvbuf;
    MPI_Count count;
    MPI_Datatype datatype;
    MPI_Op op;
    int root;
    MPI_Comm comm;              /* of the ranks that take part */
};

struct mpich_coll_entry {
    int version;                /* MPICH_COLL_VERSION */
    int coll, part;             /* enum mpich_coll, enum mpich_coll_part */
    const char *name;
    MPI_Count min_bytes, max_bytes;     /* of the data: when the entry fits; a barrier has 0 */
    /*
     * Does it; returns MPI_SUCCESS or an MPI error code. May call MPI, this collective too: that one is then done
     * by the entries of the library itself. Whether it is called must not depend on what differs between ranks.
     */
    int (*run) (const struct mpich_coll_args * args);
};

/*
 * mpich_coll_plugin - the library's one function
 * @add: adds an entry, which is copied; returns 0, or -1: its version or values are not known, or the table is full
 *
 * Return: 0; anything else ends MPI_Init with an error.
 */
int mpich_coll_plugin(int (*add) (const struct mpich_coll_entry * entry));

#ifdef __cplusplus
}
#endif
#endif /* MPICH_COLL_H_INCLUDED */
