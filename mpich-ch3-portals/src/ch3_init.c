/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Start and end: ranks and nodes from Portals, interface, queues, buffers, connections.
 */
#include "mpidi_ch3_impl.h"

MPIDI_PTL_State_t MPIDI_PTL;

int MPIDI_PTL_Error(const char *func, int line, const char *call, int rc)
{
    char msg[128];

    snprintf(msg, sizeof(msg), "%s: %s", call, PtlErrorStr(rc));
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_FATAL, func, line, MPI_ERR_OTHER, "**intern", "**intern %s", msg);
}

/* An entry for messages of any process, and its descriptor. */
int MPIDI_PTL_Attach(ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_match_bits_t ignore, ptl_ins_pos_t pos,
                     ptl_unlink_t unlink, ptl_md_t md)
{
    int mpi_errno = MPI_SUCCESS, rc;
    ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };
    ptl_handle_me_t me;

    rc = PtlMEAttach(MPIDI_PTL.ni, pt, any, bits, ignore, unlink, pos, &me);
    MPIDI_PTL_CHECK(rc, "PtlMEAttach");
    rc = PtlMDAttach(me, md, unlink, NULL);
    MPIDI_PTL_CHECK(rc, "PtlMDAttach");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* MPICH's view of the nodes, from that of Portals. */
static int set_nodes(const unsigned *node_of, int size, int rank)
{
    int mpi_errno = MPI_SUCCESS, i, j = 0, nodes = 0;
    int *node_map, *root_map, *local_map;

    for (i = 0; i < size; i++)
        nodes = MPL_MAX(nodes, (int) node_of[i] + 1);
    node_map = MPL_malloc(size * sizeof(int), MPL_MEM_ADDRESS);
    local_map = MPL_malloc(size * sizeof(int), MPL_MEM_ADDRESS);
    root_map = MPL_malloc(nodes * sizeof(int), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!node_map || !local_map || !root_map, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (i = 0; i < nodes; i++)
        root_map[i] = -1;
    for (i = 0; i < size; i++) {
        node_map[i] = node_of[i];
        if (root_map[node_map[i]] < 0)
            root_map[node_map[i]] = i;
        if (node_of[i] == node_of[rank]) {
            if (i == rank)
                MPIR_Process.local_rank = j;
            local_map[j++] = i;
        }
    }
    MPL_free(MPIR_Process.node_map);
    MPL_free(MPIR_Process.node_local_map);
    MPL_free(MPIR_Process.node_root_map);
    MPIR_Process.node_map = node_map;
    MPIR_Process.node_local_map = local_map;
    MPIR_Process.node_root_map = root_map;
    MPIR_Process.local_size = j;
    MPIR_Process.num_nodes = nodes;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/*
 * How long a message may be that travels with its envelope. To fetch one from another node takes a round trip more, so
 * such a one may be longer. (Two of the ways to match tell by the length alone what a posted receive may get.)
 */
static void set_short(void)
{
    const intptr_t most = PTL_INLINE_MAX_NP - (intptr_t) sizeof(MPIDI_CH3_Pkt_eager_send_t);
    intptr_t near = MPL_MIN(MPIDI_PTL_env.eager_max_size, most), far = near;

    if (MPIR_Process.num_nodes > 1 && !MPIDI_PTL.hybrid && !MPIDI_PTL.eager_long)
        far = MPL_MIN(2 * near, most);
    if (MPIDI_PTL_env.max_short_size > 0) {
        near = MPL_MIN(near, MPIDI_PTL_env.max_short_size);
        far = MPL_MIN(far, MPIDI_PTL_env.max_short_size);
    }
    if (MPIDI_PTL_env.copies == MPIDI_PTL_COPIES_ONE)
        near = far = 0;
    MPIDI_PTL.short_near = near;
    MPIDI_PTL.short_max = far;
}

/*
 * Called before CH3 asks the process manager who it is. Portals knows better: it applies MPICH_RANK_REORDER_METHOD and
 * virtual nodes, once for every layer.
 */
int MPIDI_CH3_Pre_init(int *setvals, int *has_parent, int *rank, int *size)
{
    int mpi_errno = MPI_SUCCESS, rc, max_interfaces, met;
    unsigned ptl_rank, ptl_size, *node_of = NULL;

    mpi_errno = MPIR_pmi_init();
    MPIR_ERR_CHECK(mpi_errno);
    PtlRtPmiShared_np();        /* the conversation with the process manager has begun, and MPICH will end it */
    mpi_errno = MPIDI_PTL_Env_init();
    MPIR_ERR_CHECK(mpi_errno);
    met = PtlGetRank(PTL_INVALID_HANDLE, &ptl_rank, &ptl_size) == PTL_OK;
    rc = PtlInit(&max_interfaces);
    MPIDI_PTL_CHECK(rc, "PtlInit");
    if (met) {          /* the program had called PtlInit: it is over that the ranks meet there */
        mpi_errno = MPIR_pmi_barrier();
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIDI_PTL_Env_shared();
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Memcpy_init();
    MPIDI_PTL.matching = MPIDI_PTL_env.match_off != MPIDI_PTL_MATCH_OFF;
    MPIDI_PTL.hybrid = MPIDI_PTL_env.match_off == MPIDI_PTL_MATCH_HYBRID;
    MPIDI_PTL.eager_long = MPIDI_PTL.matching && !MPIDI_PTL.hybrid && MPIDI_PTL_env.eager_long;
    MPIDI_PTL.bypass = MPIDI_PTL.matching && !MPIDI_PTL.hybrid && (MPIDI_PTL_env.bypass || MPIDI_PTL_env.eager_long);
    MPIDI_PTL.by_packet = !MPIDI_PTL.matching || MPIDI_PTL.hybrid;
    MPIDI_PTL.take_max = MPIDI_PTL_env.copies == MPIDI_PTL_COPIES_AUTO ? MPIDI_PTL_env.max_short_size : 0;
    rc = PtlGetRank(PTL_INVALID_HANDLE, &ptl_rank, &ptl_size);
    MPIDI_PTL_CHECK(rc, "PtlGetRank");
    MPIR_ERR_CHKANDJUMP1((int) ptl_size != MPIR_Process.size, mpi_errno, MPI_ERR_OTHER, "**intern", "**intern %s",
                         "Portals and the process manager disagree on the size of the job; "
                         "MPI programs are started by mpiexec, aprun or yod");
    node_of = MPL_malloc(ptl_size * sizeof(*node_of), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!node_of, mpi_errno, MPI_ERR_OTHER, "**nomem");
    rc = PtlGetNodeMap_np(PTL_INVALID_HANDLE, node_of, ptl_size);
    MPIDI_PTL_CHECK(rc, "PtlGetNodeMap_np");
    mpi_errno = set_nodes(node_of, ptl_size, ptl_rank);
    MPIR_ERR_CHECK(mpi_errno);
    set_short();
    MPIR_Process.rank = ptl_rank;

    *setvals = TRUE;
    *has_parent = MPIR_Process.has_parent;
    *rank = MPIR_Process.rank;
    *size = MPIR_Process.size;

  fn_exit:
    MPL_free(node_of);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int split_type(MPIR_Comm * user_comm_ptr, int stype, int key, MPIR_Info * info_ptr, MPIR_Comm ** newcomm_ptr)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *comm_ptr = NULL;

    mpi_errno = MPIR_Comm_split_impl(user_comm_ptr, stype == MPI_UNDEFINED ? MPI_UNDEFINED : 0, key, &comm_ptr);
    MPIR_ERR_CHECK(mpi_errno);
    if (stype == MPI_UNDEFINED)
        *newcomm_ptr = NULL;
    else if (stype == MPI_COMM_TYPE_SHARED)
        mpi_errno = MPIR_Comm_split_type_node_topo(comm_ptr, key, info_ptr, newcomm_ptr);
    else if (stype == MPIX_COMM_TYPE_NEIGHBORHOOD)
        mpi_errno = MPIR_Comm_split_type_neighborhood(comm_ptr, stype, key, info_ptr, newcomm_ptr);
    else
        mpi_errno = MPIR_Comm_split_type(comm_ptr, stype, key, info_ptr, newcomm_ptr);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    if (comm_ptr)
        MPIR_Comm_free_impl(comm_ptr);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static MPIR_Commops comm_fns = { split_type };

/* What init_pg() in mpid_init.c does when the channel has not set the ranks itself. */
static int finish_pg(MPIDI_PG_t * pg)
{
    int mpi_errno = MPIDI_PG_InitConnKVS(pg);

    MPL_free(pg->id);
    pg->id = MPL_strdup(MPIR_pmi_job_id());
    if (MPIR_Process.appnum != -1)
        MPIR_Process.attrs.appnum = MPIR_Process.appnum;
    MPIDI_PTL_Dynamic_pg(pg);
    return mpi_errno;
}

/* Portals ids of all ranks, and the way back from an id to its connection. */
static int init_ids(MPIDI_PG_t * pg, int pg_rank)
{
    int mpi_errno = MPI_SUCCESS, rc, i;
    unsigned slots = 4, h;

    while (slots < 4 * (unsigned) pg->size)
        slots *= 2;
    MPIDI_PTL.id_mask = slots - 1;
    MPIDI_PTL.id_hash = MPL_calloc(slots, sizeof(*MPIDI_PTL.id_hash), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL.id_hash, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (i = 0; i < pg->size; i++) {
        MPIDI_VC_t *vc = &pg->vct[i];
        ptl_process_id_t id;

        rc = PtlGetRankId(MPIDI_PTL.ni, i, &id);
        MPIDI_PTL_CHECK(rc, "PtlGetRankId");
        VC_CH(vc)->nid = id.nid;
        VC_CH(vc)->pid = id.pid;
        if (MPIR_Process.node_map[i] == MPIR_Process.node_map[pg_rank])
            vc->eager_max_msg_sz = vc->ready_eager_max_msg_sz =
                MPIDI_PTL.short_near + sizeof(MPIDI_CH3_Pkt_eager_send_t);
        for (h = MPIDI_PTL_Id_hash(id.nid, id.pid) & MPIDI_PTL.id_mask; MPIDI_PTL.id_hash[h] != NULL;)
            h = (h + 1) & MPIDI_PTL.id_mask;
        MPIDI_PTL.id_hash[h] = vc;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Descriptors over the whole address space: the source of our puts, where what we fetch goes, what peers fetch from. */
static int init_memory(void)
{
    int mpi_errno = MPI_SUCCESS, rc;
    ptl_md_t md = {
        .start = NULL,
        .length = MPIDI_PTL_AS_LENGTH,
        .threshold = PTL_MD_THRESH_INF,
        .options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
        .eq_handle = PTL_EQ_NONE,
    };

    rc = PtlMDBind(MPIDI_PTL.ni, md, PTL_RETAIN, &MPIDI_PTL.md);
    MPIDI_PTL_CHECK(rc, "PtlMDBind");
    md.options = PTL_MD_EVENT_START_DISABLE;
    md.eq_handle = MPIDI_PTL.eq_get;
    rc = PtlMDBind(MPIDI_PTL.ni, md, PTL_RETAIN, &MPIDI_PTL.md_get);
    MPIDI_PTL_CHECK(rc, "PtlMDBind");
    md.eq_handle = PTL_EQ_NONE;
    md.options = PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE;
    md.options |= PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    mpi_errno = MPIDI_PTL_Attach(MPIDI_PTL_PT_MEM, MPIDI_PTL_ANY_BITS, PTL_INS_AFTER, PTL_RETAIN, md);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int init_bufs(void)
{
    int mpi_errno = MPI_SUCCESS, i;

    /* A handler may read a whole MPIDI_CH3_Pkt_t where a shorter packet lies at the end of a buffer. */
    MPIDI_PTL.bufs = MPL_malloc(MPIDI_PTL_BUFS * MPIDI_PTL_BUF_SIZE + sizeof(MPIDI_CH3_Pkt_t), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(!MPIDI_PTL.bufs, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (i = 0; i < MPIDI_PTL_BUFS; i++) {
        mpi_errno = MPIDI_PTL_Post_buf(MPIDI_PTL.bufs + i * MPIDI_PTL_BUF_SIZE);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_CH3_Init(int has_parent ATTRIBUTE((unused)), MPIDI_PG_t * pg, int pg_rank)
{
    int mpi_errno = MPI_SUCCESS, rc;
    MPIDI_Message_match errors = {.whole = 0 };

    mpi_errno = finish_pg(pg);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Comm_fns = &comm_fns;
    MPIDI_PTL_Win_pools_later();

    rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &MPIDI_PTL.ni);
    MPIDI_PTL_CHECK(rc, "PtlNIInit");
    /* MPI's calls come one by one, by its lock or by the program's promise. Refused where others have the interface. */
    PtlNISerial_np(MPIDI_PTL.ni, 1, MPIDI_PTL_Lock_hold);
    MPIDI_PTL.oversubscribed = PtlOversubscribed_np();
    MPIDI_PTL.spin = MPIDI_PTL.oversubscribed ? MPL_MIN(20, MPIDI_PTL_env.spin) : MPIDI_PTL_env.spin;
    rc = PtlEQAlloc(MPIDI_PTL.ni, MPIDI_PTL_EQ_SIZE, PTL_EQ_HANDLER_NONE, &MPIDI_PTL.eq);
    MPIDI_PTL_CHECK(rc, "PtlEQAlloc");
    rc = PtlEQAlloc(MPIDI_PTL.ni, MPIDI_PTL_env.other_events, PTL_EQ_HANDLER_NONE, &MPIDI_PTL.eq_get);
    MPIDI_PTL_CHECK(rc, "PtlEQAlloc");
    mpi_errno = init_ids(pg, pg_rank);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = init_memory();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_TAG_SET_PROC_FAILURE_BIT(errors.parts.tag);
    MPIDI_PTL.no_tag = errors.whole | MPIDI_PTL_LONG_BIT;
    mpi_errno = MPIDI_PTL.matching ? MPIDI_PTL_Match_init(pg->size) : MPIDI_PTL_Credit_init(pg->size);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL.direct = MPIDI_PTL_env.direct_recv && !MPIDI_PTL.bypass;
    mpi_errno = MPIDI_PTL_Progress_init();
    MPIR_ERR_CHECK(mpi_errno);

    rc = PtlPTPolled_np(MPIDI_PTL.ni, MPIDI_PTL_PT_PKT, 1);
    MPIDI_PTL_CHECK(rc, "PtlPTPolled_np");
    mpi_errno = init_bufs();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_PTL_Coll_init();
    MPIR_ERR_CHECK(mpi_errno);
    /* Nobody sends before everybody can receive. */
    mpi_errno = MPIR_pmi_barrier();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_CH3_InitCompleted(void)
{
    MPIDI_PTL_Win_pools_told();
    return MPIDI_PTL_Env_display();
}

/*
 * All connections are closed. Peers may still be reading our memory until they have passed the barrier.
 * Portals ends only where the interface has: SHMEM or DMAPP in this process may go on with theirs, which
 * is the same one.
 */
int MPIDI_CH3_Finalize(void)
{
    int mpi_errno = MPI_SUCCESS;
    ptl_sr_value_t drops;

    mpi_errno = MPIDI_PTL_Flush();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_pmi_barrier();
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_PTL_Coll_fini();
    MPIDI_PTL_Wire_fini();
    PtlNISerial_np(MPIDI_PTL.ni, 0, NULL);
    PtlNIFini(MPIDI_PTL.ni);
    if (PtlNIStatus(MPIDI_PTL.ni, PTL_SR_DROP_COUNT, &drops) == PTL_NI_INVALID)
        PtlFini();
    if (MPIDI_PTL.matching)
        MPIDI_PTL_Match_fini();
    else
        MPIDI_PTL_Credit_fini();
    MPL_free(MPIDI_PTL.bufs);
    MPL_free(MPIDI_PTL.id_hash);
    MPIDI_PTL_Born_fini();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Runs before MPIDI_CH3_Init for the ranks of the world; their Portals ids are set there. */
int MPIDI_CH3_VC_Init(MPIDI_VC_t * vc)
{
    memset(&vc->ch, 0, sizeof(vc->ch));
    vc->eager_max_msg_sz = MPIDI_PTL.short_max + sizeof(MPIDI_CH3_Pkt_eager_send_t);
    vc->ready_eager_max_msg_sz = vc->eager_max_msg_sz;
    vc->rndvSend_fn = MPIDI_PTL.hybrid ? MPIDI_PTL_Hybrid_rndv_send : MPIDI_PTL_RndvSend;
    vc->rndvRecv_fn = MPIDI_PTL_RndvRecv;
    vc->comm_ops = MPIDI_PTL.matching && !MPIDI_PTL.hybrid ? &MPIDI_PTL_Match_ops : &MPIDI_PTL_Comm_ops;
    if (MPIDI_Process.my_pg != NULL && vc->pg != MPIDI_Process.my_pg) {
        VC_CH(vc)->foreign = TRUE;
        vc->rndvSend_fn = MPIDI_CH3_RndvSend;
        vc->rndvRecv_fn = MPIDI_CH3_RecvRndv;
        vc->comm_ops = NULL;
    }
    return MPI_SUCCESS;
}

int MPIDI_CH3_VC_Destroy(MPIDI_VC_t * vc)
{
    if (VC_CH(vc)->foreign)
        MPIDI_PTL_Wire_forget(vc);
    return MPI_SUCCESS;
}

/* Of another job than ours, its processes may connect to us from now on. */
int MPIDI_CH3_PG_Init(MPIDI_PG_t * pg ATTRIBUTE((unused)))
{
    return MPIDI_Process.my_pg == NULL ? MPI_SUCCESS : MPIDI_PTL_Wire_listen();
}

int MPIDI_CH3_PG_Destroy(MPIDI_PG_t * pg ATTRIBUTE((unused)))
{
    return MPI_SUCCESS;
}

#ifdef MPL_USE_DBG_LOGGING
const char *MPIDI_CH3_VC_GetStateString(struct MPIDI_VC *vc)
{
    return VC_CH(vc)->closing ? "closing" : VC_CH(vc)->sendq_head ? "sending" : "idle";
}
#endif
