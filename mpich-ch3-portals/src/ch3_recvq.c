/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The queues of posted receives and of unexpected messages, in place of MPICH's (mpidi_ch3_post.h says how).
 *
 * Each queue is a list in MPI's order, linked by the requests' next field (debuggers follow it) and a prev in the
 * channel's room. A queue is walked, since the first request is the usual answer however long it is. A search that has
 * walked past INDEX_FROM requests makes an index: tables of chains, each chain in MPI's order, by which the answer is
 * found without a walk, and which is dropped when the queue is empty again.
 *
 * A posted receive stands in one chain, by its match with the wildcards' parts left out; a message looks into the four
 * chains that could hold a receive for it (if the queue has receives of that kind at all) and takes the oldest. An
 * unexpected message stands in three tables: by all its match, without its source, without its tag; a receive looks
 * into the one table of its kind, and walks the list only where it takes any source and any tag.
 *
 * Runs under MPICH's global lock. The error bits of a tag (tags of collectives that report a failure) take no part in
 * matching.
 */
#define MPIDI_PTL_OWNS_RECVQ
#include "mpidi_ch3_impl.h"

#define INDEX_FROM      32
#define LOOK_FROM       2       /* receives posted between two looks for their messages: see settle_posted() */
#define LOOK_TO         64
#define STREAM          3       /* receives in a row: see pause_for_stream() */
#define STREAM_PAUSES   24      /* about 0.5 us: eight messages */
#define STREAM_GAIN     8       /* at most */
#define STREAM_SKIP     16      /* where pauses have not helped: one in so many */
#define FIRST_CHAINS    256     /* a power of 2; doubled when chains have two requests on average */

/* Which parts a key leaves out: the kind of a receive, the number of a table of messages. */
enum { ANY_SOURCE = 1, ANY_TAG = 2, KINDS = 4 };

struct chain {
    MPIR_Request *head, *tail;
};

struct table {
    struct chain *chains;
    unsigned mask;
};

struct queue {
    MPIR_Request *head, *tail;
    unsigned length;
    int indexed;
    int n_tables;
    struct table table[KINDS];
};

/* Posted receives have one table for all kinds. Messages have no table for ANY_SOURCE | ANY_TAG. */
static struct queue posted = {.n_tables = 1 };
static struct queue unexpected = {.n_tables = KINDS - 1 };

static unsigned posted_of_kind[KINDS];
static uint64_t next_turn;      /* order of posting */

/* For debuggers: src/mpi/debugger/dll_mpich.c. */
MPIR_Request **const MPID_Recvq_posted_head_ptr = &posted.head;
MPIR_Request **const MPID_Recvq_unexpected_head_ptr = &unexpected.head;

/* Of the word that MPIDI_PTL_Match_word makes. */
static const uint64_t kind_mask[KINDS] = {
    [0] = ~(uint64_t) 0,
    [ANY_SOURCE] = 0xffff0000ffffffff,
    [ANY_TAG] = 0xffffffff00000000,
    [ANY_SOURCE | ANY_TAG] = 0xffff000000000000,
};

static inline uint64_t clear_errors(MPIDI_Message_match match)
{
    MPIR_TAG_CLEAR_ERROR_BITS(match.parts.tag);
    return match.whole;
}

static inline int kind_of_args(int source, int tag)
{
    return (source == MPI_ANY_SOURCE ? ANY_SOURCE : 0) | (tag == MPI_ANY_TAG ? ANY_TAG : 0);
}

static inline uint64_t key_of(int source, int tag, int context_id, int *kind)
{
    *kind = kind_of_args(source, tag);
    return MPIDI_PTL_Match_word(source, tag, context_id) & kind_mask[*kind];
}

static inline int kind_of(const MPIR_Request * rreq)
{
    return (rreq->dev.mask.parts.rank == 0 ? ANY_SOURCE : 0) | (rreq->dev.mask.parts.tag == 0 ? ANY_TAG : 0);
}

/* The key under which request @rreq stands in table @t of queue @q. */
static inline uint64_t stands_under(const struct queue *q, int t, const MPIR_Request * rreq)
{
    if (q == &posted)
        return rreq->dev.match.whole & kind_mask[kind_of(rreq)];
    return clear_errors(rreq->dev.match) & kind_mask[t];
}

static inline struct chain *find_chain(const struct table *t, uint64_t key)
{
    return &t->chains[(key * 0x9e3779b97f4a7c15U) >> 32 & t->mask];
}

static void append_to_chain(struct chain *c, int t, MPIR_Request * rreq)
{
    MPIDI_PTL_Link_t *link = &REQ_CH(rreq)->link[t];

    link->next = NULL;
    link->prev = c->tail;
    if (c->tail != NULL)
        REQ_CH(c->tail)->link[t].next = rreq;
    else
        c->head = rreq;
    c->tail = rreq;
}

static void remove_from_chain(struct chain *c, int t, MPIR_Request * rreq)
{
    MPIDI_PTL_Link_t *link = &REQ_CH(rreq)->link[t];

    if (link->prev != NULL)
        REQ_CH(link->prev)->link[t].next = link->next;
    else
        c->head = link->next;
    if (link->next != NULL)
        REQ_CH(link->next)->link[t].prev = link->prev;
    else
        c->tail = link->prev;
}

static void add_to_index(struct queue *q, MPIR_Request * rreq)
{
    int t;

    for (t = 0; t < q->n_tables; t++)
        append_to_chain(find_chain(&q->table[t], stands_under(q, t, rreq)), t, rreq);
}

/* Index the whole queue, in tables of @chains chains. Without memory for that it is walked, or keeps its tables. */
static void build_index(struct queue *q, unsigned chains)
{
    struct chain *room[KINDS] = { NULL };
    MPIR_Request *rreq;
    int t;

    if (q->table[0].chains == NULL || q->table[0].mask + 1 < chains) {
        for (t = 0; t < q->n_tables; t++) {
            room[t] = MPL_malloc(chains * sizeof(*room[t]), MPL_MEM_BUFFER);
            if (room[t] == NULL) {
                while (--t >= 0)
                    MPL_free(room[t]);
                return;
            }
        }
        for (t = 0; t < q->n_tables; t++) {
            MPL_free(q->table[t].chains);
            q->table[t].chains = room[t];
            q->table[t].mask = chains - 1;
        }
    }
    for (t = 0; t < q->n_tables; t++)
        memset(q->table[t].chains, 0, (q->table[t].mask + 1) * sizeof(*q->table[t].chains));
    for (rreq = q->head; rreq != NULL; rreq = rreq->next)
        add_to_index(q, rreq);
    q->indexed = TRUE;
}

static inline void append(struct queue *q, MPIR_Request * rreq)
{
    rreq->next = NULL;
    REQ_CH(rreq)->prev = q->tail;
    if (q->tail != NULL)
        q->tail->next = rreq;
    else
        q->head = rreq;
    q->tail = rreq;
    q->length++;
    if (likely(!q->indexed))
        return;
    if (unlikely(q->length > 2 * (q->table[0].mask + 1)))
        build_index(q, 2 * (q->table[0].mask + 1));
    else
        add_to_index(q, rreq);
}

/* A search has walked past @n requests: the next one need not. */
static inline void walked(struct queue *q, int n)
{
    unsigned chains = FIRST_CHAINS;

    if (likely(n <= INDEX_FROM))
        return;
    while (q->length > 2 * chains)
        chains *= 2;
    build_index(q, chains);
}

static void remove_from_index(struct queue *q, MPIR_Request * rreq)
{
    int t;

    for (t = 0; t < q->n_tables; t++)
        remove_from_chain(find_chain(&q->table[t], stands_under(q, t, rreq)), t, rreq);
    if (q->length == 0)
        q->indexed = FALSE;
}

static inline void remove_request(struct queue *q, MPIR_Request * rreq)
{
    MPIR_Request *prev = REQ_CH(rreq)->prev;

    if (prev != NULL)
        prev->next = rreq->next;
    else
        q->head = rreq->next;
    if (rreq->next != NULL)
        REQ_CH(rreq->next)->prev = prev;
    else
        q->tail = prev;
    q->length--;
    if (unlikely(q->indexed))
        remove_from_index(q, rreq);
}

static inline void remove_unexpected(MPIR_Request * rreq)
{
    remove_request(&unexpected, rreq);
    if (unlikely(REQ_CH(rreq)->taken))
        MPIDI_PTL_Taken_leaves(rreq);
    if (REQ_CH(rreq)->left > 0) {
        MPIDI_PTL_Unex_count(-REQ_CH(rreq)->left);
        MPIDI_PTL_Give_back(REQ_CH(rreq)->vc, 0, REQ_CH(rreq)->left);
    }
}

static inline void append_posted(MPIR_Request * rreq)
{
    REQ_CH(rreq)->turn = next_turn++;
    REQ_CH(rreq)->posted = TRUE;
    posted_of_kind[kind_of(rreq)]++;
    append(&posted, rreq);
}

/* Bytes that an unexpected message occupies, of the credit of its sender: given back when it leaves the queue. */
static MPIDI_VC_t *holder;
static intptr_t holds;

void MPIDI_PTL_Recvq_holds(MPIDI_VC_t * vc, intptr_t bytes)
{
    holder = vc;
    holds = bytes;
    MPIDI_PTL_Unex_count(bytes);
}

/* The message went elsewhere. */
void MPIDI_PTL_Recvq_held(MPIDI_VC_t * vc)
{
    if (holds > 0) {
        MPIDI_PTL_Unex_count(-holds);
        MPIDI_PTL_Give_back(vc, 0, holds);
    }
    holds = 0;
}

/* The same, for one that has entered the queue just now. */
void MPIDI_PTL_Recvq_kept(MPIR_Request * rreq, MPIDI_VC_t * vc, intptr_t bytes)
{
    REQ_CH(rreq)->vc = vc;
    REQ_CH(rreq)->left = bytes;
    MPIDI_PTL_Unex_count(bytes);
}

static inline void append_unexpected(MPIR_Request * rreq)
{
    REQ_CH(rreq)->vc = holder;
    REQ_CH(rreq)->left = holds;
    REQ_CH(rreq)->taken = 0;
    REQ_CH(rreq)->left_queue = FALSE;
    holds = 0;
    append(&unexpected, rreq);
}

static inline void remove_posted(MPIR_Request * rreq)
{
    REQ_CH(rreq)->posted = FALSE;
    posted_of_kind[kind_of(rreq)]--;
    remove_request(&posted, rreq);
}

static MPIR_Request *find_posted_by_index(uint64_t match)
{
    MPIR_Request *best = NULL, *rreq;
    int kind;

    for (kind = 0; kind < KINDS; kind++) {
        uint64_t key = match & kind_mask[kind];

        if (posted_of_kind[kind] == 0)
            continue;
        rreq = find_chain(&posted.table[0], key)->head;
        while (rreq != NULL && (kind_of(rreq) != kind || (rreq->dev.match.whole & kind_mask[kind]) != key))
            rreq = REQ_CH(rreq)->link[0].next;
        if (rreq != NULL && (best == NULL || REQ_CH(rreq)->turn < REQ_CH(best)->turn))
            best = rreq;
    }
    return best;
}

/* The oldest posted receive for a message with @match, without error bits. */
static inline MPIR_Request *find_posted(uint64_t match)
{
    MPIR_Request *rreq;
    int n = 0;

    if (unlikely(posted.indexed))
        return find_posted_by_index(match);
    for (rreq = posted.head; rreq != NULL; rreq = rreq->next, n++)
        if ((rreq->dev.match.whole & rreq->dev.mask.whole) == (match & rreq->dev.mask.whole))
            break;
    walked(&posted, n);
    return rreq;
}

static MPIR_Request *find_unexpected_by_index(uint64_t key, int kind)
{
    MPIR_Request *rreq = find_chain(&unexpected.table[kind], key)->head;

    while (rreq != NULL && (clear_errors(rreq->dev.match) & kind_mask[kind]) != key)
        rreq = REQ_CH(rreq)->link[kind].next;
    return rreq;
}

/* The oldest message for a receive of this kind and key. */
static inline MPIR_Request *find_unexpected(uint64_t key, int kind)
{
    MPIR_Request *rreq;
    int n = 0;

    if (likely(unexpected.head == NULL))
        return NULL;
    if (unexpected.indexed && kind < unexpected.n_tables)
        return find_unexpected_by_index(key, kind);
    for (rreq = unexpected.head; rreq != NULL; rreq = rreq->next, n++)
        if ((clear_errors(rreq->dev.match) & kind_mask[kind]) == key)
            break;
    if (!unexpected.indexed)
        walked(&unexpected, n);
    return rreq;
}

/* The oldest message for which there is no receive. */
MPIR_Request *MPIDI_PTL_Recvq_unexpected(void)
{
    return unexpected.head;
}

int MPIDI_CH3U_Recvq_init(void)
{
    MPIDI_PTL_Unex_init();
    return MPI_SUCCESS;
}

/* Is no receive posted, and is there no unexpected message for such a one? */
int MPIDI_PTL_Recvq_clear(int source, int tag, int context_id)
{
    int kind;
    uint64_t key;

    if (likely(unexpected.head == NULL))
        return posted.head == NULL;
    key = key_of(source, tag, context_id, &kind);
    return posted.head == NULL && find_unexpected(key, kind) == NULL;
}

/* MPI_Probe and MPI_Iprobe: is there a message? */
int MPIDI_CH3U_Recvq_FU(int source, int tag, int context_id, MPI_Status * s)
{
    int kind;
    uint64_t key = key_of(source, tag, context_id, &kind);
    MPIR_Request *rreq = find_unexpected(key, kind);

    if (rreq != NULL && s != MPI_STATUS_IGNORE) {
        s->MPI_SOURCE = rreq->status.MPI_SOURCE;
        s->MPI_TAG = rreq->status.MPI_TAG;
        MPIR_STATUS_SET_COUNT(*s, MPIR_STATUS_GET_COUNT(rreq->status));
        MPIR_STATUS_SET_CANCEL_BIT(*s, MPIR_STATUS_GET_CANCEL_BIT(rreq->status));
    }
    return rreq != NULL;
}

/*
 * To cancel a send: take the message that its sender knows as @sreq_id. Handles are used again, so there may be
 * several; the youngest is meant, the others' sends have completed.
 */
MPIR_Request *MPIDI_CH3U_Recvq_FDU(MPI_Request sreq_id, MPIDI_Message_match * match)
{
    MPIR_Request *rreq, *found = NULL;
    uint64_t key = clear_errors(*match);

    for (rreq = unexpected.head; rreq != NULL; rreq = rreq->next)
        if (rreq->dev.sender_req_id == sreq_id && clear_errors(rreq->dev.match) == key)
            found = rreq;
    if (found != NULL)
        remove_unexpected(found);
    return found;
}

static inline MPIR_Request *take_unexpected(int source, int tag, int context_id, MPIR_Comm * comm)
{
    int kind;
    uint64_t key;
    MPIR_Request *rreq;

    if (likely(unexpected.head == NULL))
        return NULL;
    key = key_of(source, tag, context_id, &kind);
    rreq = find_unexpected(key, kind);
    if (rreq != NULL) {
        remove_unexpected(rreq);
        rreq->comm = comm;
        MPIR_Comm_add_ref(comm);
    }
    return rreq;
}

/* MPI_Improbe: take the message; where it goes is not known yet. */
MPIR_Request *MPIDI_CH3U_Recvq_FDU_matchonly(int source, int tag, int context_id, MPIR_Comm * comm, int *foundp)
{
    MPIR_Request *rreq = take_unexpected(source, tag, context_id, comm);

    *foundp = rreq != NULL;
    return rreq;
}

static void complete_with_error(struct queue *q, MPIR_Request * rreq, int error)
{
    if (q == &posted) {
        remove_posted(rreq);
        if (MPIDI_PTL.matching && !MPIDI_PTL_Unpost(rreq))
            MPIDI_PTL_Disown(rreq);
    } else {
        (void) MPIDI_PTL_Taken_settle();
        MPIDI_PTL_Long_unwanted(rreq);
        remove_unexpected(rreq);
    }
    rreq->status.MPI_ERROR = error;
    MPID_Request_complete(rreq);
}

/* Envelope and mask as whole words: part by part they would be read back, as words, before their stores are through. */
static inline MPIR_Request *create_posted(int source, int tag, int context_id, void *user_buf, MPI_Aint user_count,
                                          MPI_Datatype datatype)
{
    MPIR_Request *rreq = MPIDI_PTL_Unborn();

    if (unlikely(rreq == NULL))
        return NULL;
    rreq->dev.match.whole = MPIDI_PTL_Match_word(source, tag, context_id);
    rreq->dev.mask.whole = kind_mask[kind_of_args(source, tag)];
    rreq->dev.user_buf = user_buf;
    rreq->dev.user_count = user_count;
    rreq->dev.datatype = datatype;
    REQ_CH(rreq)->rts_addr = 0;
    REQ_CH(rreq)->taken = 0;
    return rreq;
}

/*
 * Post in Portals, too. Events may be of the message of this very receive: then it is in the queue of unexpected ones
 * afterwards, and *rreq is that one.
 */
static int post(int source, int tag, int context_id, MPIR_Comm * comm, MPIR_Request ** rreq, int *foundp)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *found;

    while (!MPIDI_PTL_Post(*rreq)) {
        mpi_errno = MPIDI_PTL_Take_matches();
        MPIR_ERR_CHECK(mpi_errno);
        found = take_unexpected(source, tag, context_id, comm);
        if (found == NULL)
            continue;
        MPIR_Request_free(*rreq);
        MPIR_Request_free(*rreq);
        *rreq = found;
        *foundp = TRUE;
        break;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/*
 * Receives that were posted stand before the next one, which then cannot have its message without an entry. When they
 * have theirs it can: look now and then, less often while receives are posted ahead of the messages.
 */
static int settle_posted(void)
{
    static unsigned wait = LOOK_FROM, left = LOOK_FROM;
    int mpi_errno = MPI_SUCCESS, any = FALSE, more = TRUE;

    if (likely(--left > 0))
        return MPI_SUCCESS;
    while (posted.head != NULL && more && mpi_errno == MPI_SUCCESS) {
        more = FALSE;
        mpi_errno = MPIDI_PTL_Poll_event(MPIDI_PTL.eq_match, &more);
        any |= more;
    }
    left = wait = any ? LOOK_FROM : MPL_MIN(2 * wait, LOOK_TO);
    return mpi_errno;
}

/*
 * Receives that have their messages at once would keep all else waiting: packets of others, and what is in inboxes that
 * nobody has asked for. Nothing that is called from the progress engine may run that, but it may handle events.
 */
static int look_around(void)
{
    int mpi_errno = MPI_SUCCESS, more = TRUE;

    MPIDI_PTL_receipts = 0;
    for (int n = 0; n < LOOK_TO && more && mpi_errno == MPI_SUCCESS; n++) {
        more = FALSE;
        mpi_errno = MPIDI_PTL_Poll_event(MPIDI_PTL.eq, &more);
    }
    return mpi_errno;
}

/*
 * Receives in a row have had their messages at once, and now there is none: we are faster than the sender. A look takes
 * the line of the next message from the core that is about to write it, and an entry costs more than the moment until
 * it comes. So leave the lines alone for that moment, once; if that did not help the last times, only now and then.
 */
static struct {
    int run;                    /* receives in a row */
    int gain;                   /* pauses that have helped, less those that have not; 0: try seldom */
    unsigned skipped;
} stream = {.gain = 1 };

static int pause_for_stream(void)
{
    int run = stream.run;

    stream.run = 0;
    if (likely(run < STREAM) || (stream.gain <= 0 && ++stream.skipped % STREAM_SKIP != 0))
        return FALSE;
    for (int i = 0; i < STREAM_PAUSES; i++)
        MPIDI_PTL_Pause();
    return TRUE;
}

/*
 * A receive that has had its message before it was posted (ch3_recv.c). NULL: it has not; but what was found instead
 * may have entered the queue of unexpected messages.
 */
static inline MPIR_Request *received(int source, int tag, int context_id, MPIR_Comm * comm, void *user_buf,
                                     MPI_Aint user_count, MPI_Datatype datatype, int *mpi_errno)
{
    MPIR_Request *rreq;
    MPIDI_PTL_Direct_t d;

    if (posted.head != NULL || !MPIDI_PTL_Recv_may(comm) || MPIDI_PTL_Next_born() == NULL)
        return NULL;
    if (!MPIDI_PTL_Recv_direct(user_buf, user_count, datatype, source, tag, context_id, comm, 1, &d, mpi_errno)) {
        if (MPIDI_PTL.by_packet || !pause_for_stream())
            return NULL;
        if (!MPIDI_PTL_Recv_direct(user_buf, user_count, datatype, source, tag, context_id, comm, 1, &d,
                                   mpi_errno)) {
            stream.gain = MPL_MAX(stream.gain - 2, 0);
            return NULL;
        }
        stream.gain = MPL_MIN(stream.gain + 1, STREAM_GAIN);
    }
    stream.run++;
    rreq = MPIDI_PTL_Give_born(MPIR_REQUEST_KIND__RECV, comm, MPIDI_PTL_Match_word(source, tag, context_id));
    rreq->status.MPI_SOURCE = d.source;
    rreq->status.MPI_TAG = d.tag;
    MPIR_STATUS_SET_COUNT(rreq->status, d.length);
    return rreq;
}

/*
 * MPI_Recv and MPI_Irecv: take the message that is there, or post a new receive. An error is that request's. A receive
 * that was not found, but is complete, has had its message meanwhile.
 */
MPIR_Request *MPIDI_CH3U_Recvq_FDU_or_AEP(int source, int tag, int context_id, MPIR_Comm * comm, void *user_buf,
                                          MPI_Aint user_count, MPI_Datatype datatype, int *foundp)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *rreq;
    MPIDI_VC_t *vc;

    if (MPIDI_PTL.direct && posted.head != NULL)
        mpi_errno = settle_posted();
    else if (unlikely(MPIDI_PTL_receipts >= MPIDI_PTL_RECEIPTS))
        mpi_errno = look_around();
    rreq = take_unexpected(source, tag, context_id, comm);
    if (rreq == NULL && likely(mpi_errno == MPI_SUCCESS)) {
        rreq = received(source, tag, context_id, comm, user_buf, user_count, datatype, &mpi_errno);
        if (rreq != NULL) {
            *foundp = FALSE;
            return rreq;
        }
        rreq = take_unexpected(source, tag, context_id, comm);
    }
    *foundp = rreq != NULL;
    if (rreq == NULL) {
        rreq = create_posted(source, tag, context_id, user_buf, user_count, datatype);
        if (MPIDI_PTL.matching && likely(mpi_errno == MPI_SUCCESS))
            mpi_errno = post(source, tag, context_id, comm, &rreq, foundp);
    }
    if (*foundp) {
        rreq->dev.user_buf = user_buf;
        rreq->dev.user_count = user_count;
        rreq->dev.datatype = datatype;
        return rreq;
    }
    rreq->comm = comm;
    MPIR_Comm_add_ref(comm);
    append_posted(rreq);

    if (source != MPI_ANY_SOURCE) {
        MPIDI_Comm_get_vc(comm, source, &vc);
        if (unlikely(vc->state == MPIDI_VC_STATE_MORIBUND))
            MPIR_ERR_SET1(mpi_errno, MPIX_ERR_PROC_FAILED, "**comm_fail", "**comm_fail %d", vc->pg_rank);
    }
    if (unlikely(mpi_errno))
        complete_with_error(&posted, rreq, mpi_errno);
    return rreq;
}

/* Portals has matched it. */
void MPIDI_PTL_Recvq_matched(MPIR_Request * rreq)
{
    if (REQ_CH(rreq)->posted)
        remove_posted(rreq);
}

/* Take back a posted receive (MPI_Cancel); false: it is not in the queue any more, or its message is on the way. */
int MPIDI_CH3U_Recvq_DP(MPIR_Request * rreq)
{
    if (!REQ_CH(rreq)->posted || (MPIDI_PTL.matching && !MPIDI_PTL_Unpost(rreq)))
        return FALSE;
    remove_posted(rreq);
    return TRUE;
}

static int is_for_revoked(const MPIDI_Message_match * match)
{
    int tag = MPIR_TAG_MASK_ERROR_BITS(match->parts.tag);
    MPIR_Comm *comm;

    MPIDI_CH3I_Comm_find(match->parts.context_id, &comm);
    return comm != NULL && comm->revoked && tag != MPIR_AGREE_TAG && tag != MPIR_SHRINK_TAG;
}

/* A message has come: take the receive that was posted for it, or keep it as a new request. */
MPIR_Request *MPIDI_CH3U_Recvq_FDP_or_AEU(MPIDI_Message_match * match, int *foundp)
{
    int mpi_errno ATTRIBUTE((unused)) = MPI_SUCCESS;
    uint64_t key = clear_errors(*match);
    MPIR_Request *rreq;

    *foundp = TRUE;
    while (likely((rreq = find_posted(key)) != NULL)) {
        remove_posted(rreq);
        if (likely(!MPIDI_PTL.matching || MPIDI_PTL_Unpost(rreq)))
            return rreq;
        /* Portals has given another message to it, and the event comes: this one is for the next */
    }
    *foundp = FALSE;
    if (unlikely(is_for_revoked(match)))
        return MPIR_Request_create_null_recv();
    MPIDI_Request_create_rreq(rreq, mpi_errno, return NULL);
    rreq->dev.recv_pending_count = 1;
    rreq->dev.match = *match;
    REQ_CH(rreq)->rts_addr = 0;
    append_unexpected(rreq);
    return rreq;
}

/* Is it of @comm, or of one that @comm has made for its nodes? Agreement and shrinking go on in a revoked one. */
static int is_of_comm(const MPIR_Request * rreq, MPIR_Comm * comm)
{
    int id = rreq->dev.match.parts.context_id - comm->recvcontext_id;
    int tag = MPIR_TAG_MASK_ERROR_BITS(rreq->dev.match.parts.tag);
    int p2p = comm->comm_kind == MPIR_COMM_KIND__INTRACOMM ? MPIR_CONTEXT_INTRA_PT2PT : MPIR_CONTEXT_INTER_PT2PT;
    int coll = comm->comm_kind == MPIR_COMM_KIND__INTRACOMM ? MPIR_CONTEXT_INTRA_COLL : MPIR_CONTEXT_INTER_COLL;

    if (id == MPIR_CONTEXT_INTRA_PT2PT)
        return TRUE;
    if (tag == MPIR_AGREE_TAG || tag == MPIR_SHRINK_TAG)
        return FALSE;
    if (id == MPIR_CONTEXT_INTRA_COLL)
        return TRUE;
    return MPIR_Comm_is_parent_comm(comm) &&
        (id == MPIR_CONTEXT_INTRANODE_OFFSET + p2p || id == MPIR_CONTEXT_INTRANODE_OFFSET + coll ||
         id == MPIR_CONTEXT_INTERNODE_OFFSET + p2p || id == MPIR_CONTEXT_INTERNODE_OFFSET + coll);
}

/* MPIX_Comm_revoke: what is queued for @comm_ptr ends with an error. */
int MPIDI_CH3U_Clean_recvq(MPIR_Comm * comm_ptr)
{
    struct queue *const queues[] = { &unexpected, &posted };
    int error = MPI_SUCCESS, i;
    MPIR_Request *rreq, *next;

    MPIR_ERR_SETSIMPLE(error, MPIX_ERR_REVOKED, "**revoked");
    for (i = 0; i < 2; i++) {
        for (rreq = queues[i]->head; rreq != NULL; rreq = next) {
            next = rreq->next;
            if (is_of_comm(rreq, comm_ptr))
                complete_with_error(queues[i], rreq, error);
        }
    }
    return MPI_SUCCESS;
}

/* The peer of @vc has died: so do the receives that name it. */
int MPIDI_CH3U_Complete_posted_with_error(MPIDI_VC_t * vc)
{
    int error = MPI_SUCCESS;
    MPIR_Request *rreq, *next;

    MPIR_ERR_SETSIMPLE(error, MPIX_ERR_PROC_FAILED, "**proc_failed");
    for (rreq = posted.head; rreq != NULL; rreq = next) {
        MPIDI_VC_t *its;

        next = rreq->next;
        if (rreq->dev.mask.parts.rank == 0)
            continue;
        MPIDI_Comm_get_vc(rreq->comm, rreq->dev.match.parts.rank, &its);
        if (its == vc)
            complete_with_error(&posted, rreq, error);
    }
    return MPI_SUCCESS;
}

/* For use in a debugger. */
void MPIDI_CH3U_Dbg_print_recvq(FILE * stream);
void MPIDI_CH3U_Dbg_print_recvq(FILE * stream)
{
    struct queue *const queues[] = { &posted, &unexpected };
    MPIR_Request *rreq;
    int i, n;

    for (i = 0; i < 2; i++) {
        fprintf(stream, "%s, %u%s:\n", i == 0 ? "posted receives" : "unexpected messages", queues[i]->length,
                queues[i]->indexed ? ", indexed" : "");
        for (rreq = queues[i]->head, n = 0; rreq != NULL; rreq = rreq->next, n++)
            fprintf(stream, "[%d] request %p context %#x source %d tag %d\n", n, (void *) rreq,
                    rreq->dev.match.parts.context_id, rreq->dev.match.parts.rank, rreq->dev.match.parts.tag);
    }
}

int MPIDI_CH3U_Recvq_count_unexp(void)
{
    return unexpected.length;
}
