/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The table of collectives, and those of several nodes.
 *
 * A communicator is of one of three kinds: all its ranks share a node (part NODE), it has one rank of each node (part
 * NET, made by MPICH beside each communicator), or it is a mixture. For the first two the last entry of the table that
 * fits is run. A mixture is done, where MPI_COLL_OPT_ON is set, node by node: parts on the nodes, a part between their
 * leaders; else by MPICH's algorithms for any ranks.
 *
 * Our own entries: SMARTMAP on a node, MPICH's algorithms over point-to-point messages between nodes.
 */
#include "ch3_coll.h"
#include "mpich_coll.h"
#include <dlfcn.h>

#define MAX_ENTRIES     64

typedef struct mpich_coll_args args_t;

static struct mpich_coll_entry table[MAX_ENTRIES];      /* of the plug-in */
static int n_entries;
static void *plugin;
static __thread int inside;             /* an entry of the plug-in is running in this thread */

static int add_entry(const struct mpich_coll_entry *e)
{
    if (e == NULL || e->version != MPICH_COLL_VERSION || (unsigned) e->coll >= MPICH_COLLS ||
        (unsigned) e->part >= MPICH_COLL_PARTS || e->run == NULL || e->min_bytes > e->max_bytes ||
        n_entries == MAX_ENTRIES)
        return -1;
    table[n_entries++] = *e;
    return 0;
}

/* As far as it can be said before MPI_Init: rank 0 asks, and keeps it open. */
int MPIDI_PTL_Coll_plugin_good(const char *name)
{
    plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return plugin != NULL && dlsym(plugin, "mpich_coll_plugin") != NULL;
}

int MPIDI_PTL_Coll_load_plugin(void)
{
    int mpi_errno = MPI_SUCCESS;
    const char *name = MPIDI_PTL_env.coll_plugin;
    int (*init) (int (*add) (const struct mpich_coll_entry *));
    char msg[300];

    if (name == NULL || *name == '\0')
        goto fn_exit;
    if (plugin == NULL)
        plugin = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        snprintf(msg, sizeof(msg), "MPICH_COLL_PLUGIN: %s", dlerror());
        MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_OTHER, "**intern", "**intern %s", msg);
    }
    *(void **) &init = dlsym(plugin, "mpich_coll_plugin");
    if (init == NULL || init(add_entry) != 0) {
        snprintf(msg, sizeof(msg), "MPICH_COLL_PLUGIN: %s in %s", init ? "an error of mpich_coll_plugin()" :
                 "no function mpich_coll_plugin()", name);
        MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_OTHER, "**intern", "**intern %s", msg);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_PTL_Coll_unload_plugin(void)
{
    n_entries = 0;
    if (plugin != NULL)
        dlclose(plugin);
    plugin = NULL;
}

static const struct mpich_coll_entry *find(int coll, int part, const args_t * a)
{
    MPI_Aint size = 0;
    MPI_Count bytes;
    int i;

    if (coll != MPICH_COLL_BARRIER)
        MPIR_Datatype_get_size_macro(a->datatype, size);
    bytes = a->count * size;
    for (i = n_entries - 1; i >= 0; i--)
        if (table[i].coll == coll && table[i].part == part && bytes >= table[i].min_bytes &&
            bytes <= table[i].max_bytes)
            return &table[i];
    return NULL;
}

/* An entry may call MPI: not under our lock. */
static int run(const struct mpich_coll_entry *e, args_t * a, MPIR_Comm * comm)
{
    int mpi_errno;

    MPIDI_PTL_USED(PLUGIN);
    a->comm = comm->handle;
    inside++;
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    mpi_errno = e->run(a);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    inside--;
    return mpi_errno;
}

/* ---- node by node ---- */

/* To the root's node, to the leaders of the others, to their nodes. */
static int bcast(void *buffer, MPI_Aint count, MPI_Datatype type, int root, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    int mpi_errno = MPI_SUCCESS, here = MPIR_Get_intranode_rank(comm, root);

    if (comm->node_comm != NULL && here >= 0) {
        mpi_errno = MPIR_Bcast(buffer, count, type, here, comm->node_comm, errflag);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (comm->node_roots_comm != NULL) {
        mpi_errno = MPIR_Bcast(buffer, count, type, MPIR_Get_internode_rank(comm, root), comm->node_roots_comm,
                               errflag);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (comm->node_comm != NULL && here < 0) {
        mpi_errno = MPIR_Bcast(buffer, count, type, 0, comm->node_comm, errflag);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int by_nodes(int coll, const args_t * a, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_USED(NODES);
    switch (coll) {
        case MPICH_COLL_BARRIER:
            return MPIR_Barrier_intra_smp(comm, errflag);
        case MPICH_COLL_BCAST:
            return bcast(a->recvbuf, a->count, a->datatype, a->root, comm, errflag);
        case MPICH_COLL_REDUCE:
            return MPIR_Reduce_intra_smp(a->sendbuf, a->recvbuf, a->count, a->datatype, a->op, a->root, comm, errflag);
        default:
            return MPIR_Allreduce_intra_smp(a->sendbuf, a->recvbuf, a->count, a->datatype, a->op, comm, errflag);
    }
}

static int by_mpich(int coll, const args_t * a, MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_USED(MPICH);
    switch (coll) {
        case MPICH_COLL_BARRIER:
            return MPIR_Barrier_impl(comm, errflag);
        case MPICH_COLL_BCAST:
            return MPIR_Bcast_impl(a->recvbuf, a->count, a->datatype, a->root, comm, errflag);
        case MPICH_COLL_REDUCE:
            return MPIR_Reduce_impl(a->sendbuf, a->recvbuf, a->count, a->datatype, a->op, a->root, comm, errflag);
        default:
            return MPIR_Allreduce_impl(a->sendbuf, a->recvbuf, a->count, a->datatype, a->op, comm, errflag);
    }
}

static int by_smartmap(int coll, const args_t * a, MPIDI_PTL_Coll_t * c, MPIR_Errflag_t * errflag)
{
    switch (coll) {
        case MPICH_COLL_BARRIER:
            return MPIDI_PTL_Coll_sync(c);
        case MPICH_COLL_BCAST:
            return MPIDI_PTL_Node_bcast(c, a->recvbuf, a->count, a->datatype, a->root, errflag);
        case MPICH_COLL_REDUCE:
            return MPIDI_PTL_Node_reduce(c, a->sendbuf, a->recvbuf, a->count, a->datatype, a->op, a->root, errflag);
        default:
            return MPIDI_PTL_Node_allreduce(c, a->sendbuf, a->recvbuf, a->count, a->datatype, a->op, errflag);
    }
}

/* All ranks of @comm share a node. */
static int is_node(const MPIR_Comm * comm)
{
    return comm->hierarchy_kind == MPIR_COMM_HIERARCHY_KIND__NODE || comm->dev.ch.coll != &MPIDI_PTL_coll_none;
}

/* A collective that is not simply ours: between nodes, or of a plug-in. */
static int general(int coll, args_t * a, MPIR_Comm * comm, MPIDI_PTL_Coll_t * c, MPIR_Errflag_t * errflag)
{
    const struct mpich_coll_entry *e = NULL;
    int kind = comm->hierarchy_kind;

    if (comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || comm->local_size < 2)
        return by_mpich(coll, a, comm, errflag);
    if (n_entries > 0 && inside == 0) {
        if (is_node(comm))
            e = find(coll, MPICH_COLL_NODE, a);
        else if (kind == MPIR_COMM_HIERARCHY_KIND__NODE_ROOTS)
            e = find(coll, MPICH_COLL_NET, a);
        if (e != NULL)
            return run(e, a, comm);
    }
    if (c != NULL)
        return by_smartmap(coll, a, c, errflag);
    if (MPIDI_PTL_env.coll_opt_on && MPIR_Comm_is_parent_comm(comm) &&
        (coll == MPICH_COLL_BARRIER || coll == MPICH_COLL_BCAST || MPIR_Op_is_commutative(a->op)))
        return by_nodes(coll, a, comm, errflag);
    return by_mpich(coll, a, comm, errflag);
}

/* Nothing but ours can do it. */
#define SIMPLE (c != NULL && n_entries == 0)

int MPIDI_PTL_Barrier(MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(SIMPLE,
        MPIDI_PTL_Coll_sync(c),
        general(MPICH_COLL_BARRIER, &(args_t) { 0 }, comm, c, errflag));
}

int MPIDI_PTL_Bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root, MPIR_Comm * comm,
                    MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(SIMPLE,
        MPIDI_PTL_Node_bcast(c, buffer, count, datatype, root, errflag),
        general(MPICH_COLL_BCAST, &(args_t) { NULL, buffer, count, datatype, 0, root, 0 }, comm, c, errflag));
}

int MPIDI_PTL_Reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op, int root,
                     MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(SIMPLE,
        MPIDI_PTL_Node_reduce(c, sendbuf, recvbuf, count, datatype, op, root, errflag),
        general(MPICH_COLL_REDUCE, &(args_t) { sendbuf, recvbuf, count, datatype, op, root, 0 }, comm, c, errflag));
}

int MPIDI_PTL_Allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                        MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    MPIDI_PTL_COLL_BODY(SIMPLE,
        MPIDI_PTL_Node_allreduce(c, sendbuf, recvbuf, count, datatype, op, errflag),
        general(MPICH_COLL_ALLREDUCE, &(args_t) { sendbuf, recvbuf, count, datatype, op, 0, 0 }, comm, c, errflag));
}
