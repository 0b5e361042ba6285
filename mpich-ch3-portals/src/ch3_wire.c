/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Wires: sockets to processes of other jobs, which Portals and SMARTMAP do not reach.
 *
 * A wire is a Unix stream socket with an abstract name, so nothing is left behind in a file system; both ends check
 * that the other is of the same user. It carries frames: a length, a flag (more of the message before), then what one
 * put would carry otherwise, a packet with data or more data. Long messages are CH3's rendezvous by packets.
 *
 * A process sends on the wire that it has opened, at its first packet, and receives on those that it was asked for: one
 * for each direction of a pair, so that two who start at the same time need not agree on whose wire to take. The wire
 * between the roots of MPI_Comm_connect and MPI_Comm_accept belongs to a connection without a process group, and goes
 * both ways. A wire begins with a hello, which says whose it is; a process group that is not known here yet is waited
 * for (who has told the other about us may be faster than who tells us).
 *
 *	opened: connect() refused (nobody listens yet, or too many are waiting): again with the next try to send
 *	open: frames are gathered in a buffer, written as far as the socket takes them
 *	the connection ends (CH3's close protocol): written to the end, then closed; the peer sees the end of file
 *	end of file or error where the close protocol has not ended: the connection ends with an error
 *
 * All wires and the listening socket are in one epoll set. Without wires nothing of this runs.
 */
#include "mpidi_ch3_impl.h"
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>

#define FRAME_MAX       (32 * 1024)
#define MAGIC           0x5054574952453031ULL   /* PTWIRE01 */
#define ID_MAX          256
#define PATIENCE_S      60      /* for a peer that does not listen */

typedef struct {
    uint64_t magic;
    int32_t root;               /* of a port: tag is the port's; otherwise of rank tag in the process group */
    int32_t tag;
    char pg_id[ID_MAX];
} hello_t;

typedef struct {
    uint32_t len, more;
} frame_t;

typedef struct MPIDI_PTL_Wire {
    struct MPIDI_PTL_Wire *next;
    int fd;                     /* -1: dead, freed when nobody is walking the list */
    MPIDI_VC_t *vc;             /* NULL: not known yet, or gone */
    int sends;                  /* our end was opened by us, or it goes both ways */
    int closing;                /* to be closed when all is written; @ending: the connection ends then, too */
    int ending;
    int greeted;                /* its hello has come, or it is ours */
    size_t out_at, out_n, in_n;
    char out[sizeof(frame_t) + FRAME_MAX];
    /* A handler may read a whole MPIDI_CH3_Pkt_t where a shorter packet lies at the end. */
    char in[sizeof(frame_t) + FRAME_MAX + sizeof(MPIDI_CH3_Pkt_t)] __attribute__ ((aligned(64)));
} wire_t;

_Static_assert(sizeof(hello_t) <= FRAME_MAX, "a hello fits into the buffers");

int MPIDI_PTL_wires;

static wire_t *wires;
static int listener = -1, epfd = -1, walking, unknown;

void MPIDI_PTL_Wire_name(const MPIDI_PG_t * pg, int rank, char *name, int size)
{
    const char *id = pg->id;
    uint64_t h = 0xcbf29ce484222325ULL;

    /* A process without a launcher has a job id that others may have as well. */
    if (strncmp(id, "singinit_kvs", 12) == 0)
        h ^= (uint64_t) getpid() << 32;
    for (; *id != '\0'; id++)
        h = (h ^ (unsigned char) *id) * 0x100000001b3ULL;
    snprintf(name, size, "portals-mpi-%u-%.40s-%016llx-%d", (unsigned) geteuid(), (char *) pg->id,
             (unsigned long long) h, rank);
}

static socklen_t address(struct sockaddr_un *sa, const char *name)
{
    memset(sa, 0, sizeof(*sa));
    sa->sun_family = AF_UNIX;
    snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "%s", name);
    return offsetof(struct sockaddr_un, sun_path) + 1 + strlen(sa->sun_path + 1);
}

static int same_user(int fd)
{
    struct ucred c;
    socklen_t n = sizeof(c);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) == 0 && (c.uid == geteuid() || c.uid == 0);
}

static int failed(const char *what)
{
    char msg[160];

    snprintf(msg, sizeof(msg), "%s: %s", what, strerror(errno));
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_OTHER, "**intern",
                                "**intern %s", msg);
}

int MPIDI_PTL_Wire_listen(void)
{
    char name[MPIDI_PTL_WIRE_NAME];
    struct sockaddr_un sa;
    struct epoll_event ev = {.events = EPOLLIN };
    socklen_t n;

    if (listener >= 0)
        return MPI_SUCCESS;
    MPIDI_PTL_Wire_name(MPIDI_Process.my_pg, MPIDI_Process.my_pg_rank, name, sizeof(name));
    n = address(&sa, name);
    epfd = epoll_create1(EPOLL_CLOEXEC);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (epfd < 0 || listener < 0 || bind(listener, (struct sockaddr *) &sa, n) != 0 || listen(listener, 4096) != 0 ||
        epoll_ctl(epfd, EPOLL_CTL_ADD, listener, &ev) != 0) {
        int mpi_errno = failed("a socket for processes of other jobs");

        close(listener);
        close(epfd);
        listener = epfd = -1;
        return mpi_errno;
    }
    MPIDI_PTL_wires = TRUE;
    return MPI_SUCCESS;
}

static wire_t *new_wire(int fd)
{
    wire_t *w = MPL_malloc(sizeof(*w), MPL_MEM_BUFFER);
    struct epoll_event ev = {.events = EPOLLIN,.data.ptr = w };

    if (w == NULL || epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev) != 0) {
        MPL_free(w);
        close(fd);
        return NULL;
    }
    memset(w, 0, offsetof(wire_t, out));
    w->fd = fd;
    w->next = wires;
    wires = w;
    return w;
}

/* It carries nothing any more; its memory may still be in use by who is walking the list. */
static void kill_wire(wire_t * w)
{
    if (w->vc != NULL && VC_CH(w->vc)->wire == w)
        VC_CH(w->vc)->wire = NULL;
    w->vc = NULL;
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}

static void bury(void)
{
    wire_t **link = &wires, *w;

    while (!walking && (w = *link) != NULL) {
        if (w->fd >= 0) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        MPL_free(w);
    }
}

/* Write what there is to write; 0, or -1: the wire is broken. */
static int flush(wire_t * w)
{
    while (w->fd >= 0 && w->out_at < w->out_n) {
        ssize_t n = send(w->fd, w->out + w->out_at, w->out_n - w->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        w->out_at += n;
    }
    return w->fd >= 0 ? 0 : -1;
}

static void say_hello(wire_t * w, int root, int tag)
{
    hello_t h = {.magic = MAGIC,.root = root,.tag = tag };

    snprintf(h.pg_id, sizeof(h.pg_id), "%s", (char *) MPIDI_Process.my_pg->id);
    memcpy(w->out, &h, sizeof(h));
    w->out_at = 0;
    w->out_n = sizeof(h);
    w->greeted = TRUE;
    w->sends = TRUE;
}

/* A socket to whoever listens at @name, or -1 with errno. */
static int dial(const char *name)
{
    struct sockaddr_un sa;
    socklen_t n = address(&sa, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), e;

    if (fd < 0)
        return -1;
    if (connect(fd, (struct sockaddr *) &sa, n) == 0) {
        if (same_user(fd))
            return fd;
        errno = EPERM;
    }
    e = errno;
    close(fd);
    errno = e;
    return -1;
}

/* To the process that has opened a port. It listens; if not, the port is closed. */
int MPIDI_PTL_Wire_root(MPIDI_VC_t * vc, const char *name, int tag)
{
    int mpi_errno = MPI_SUCCESS, fd, tries = 0;
    wire_t *w;

    mpi_errno = MPIDI_PTL_Wire_listen();
    MPIR_ERR_CHECK(mpi_errno);
    while ((fd = dial(name)) < 0 && errno == EAGAIN && tries++ < 1000)
        usleep(10000);          /* too many wait there */
    MPIR_ERR_CHKANDJUMP1(fd < 0, mpi_errno, MPI_ERR_PORT, "**intern", "**intern %s",
                         "nobody listens at this port on this machine any more");
    w = new_wire(fd);
    MPIR_ERR_CHKANDJUMP(!w, mpi_errno, MPI_ERR_OTHER, "**nomem");
    w->vc = vc;
    VC_CH(vc)->wire = w;
    say_hello(w, TRUE, tag);
    flush(w);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The wire to send on. NULL: there is none yet, and *rc says whether there may be later. */
static wire_t *open_wire(MPIDI_VC_t * vc, int *rc)
{
    char card[MPIDI_PTL_WIRE_NAME + 64], name[MPIDI_PTL_WIRE_NAME];
    wire_t *w = VC_CH(vc)->wire;
    int fd;

    if (likely(w != NULL))
        return w;
    *rc = PTL_FAIL;
    if (vc->pg == NULL || MPIDI_PG_GetConnString(vc->pg, vc->pg_rank, card, sizeof(card)) != MPI_SUCCESS ||
        MPL_str_get_string_arg(card, MPIDI_PTL_WIRE_KEY, name, sizeof(name)) != MPL_SUCCESS ||
        MPIDI_PTL_Wire_listen() != MPI_SUCCESS)
        return NULL;
    fd = dial(name);
    if (fd < 0) {
        time_t now = time(NULL);

        if (VC_CH(vc)->refused == 0)
            VC_CH(vc)->refused = now;
        if ((errno == EAGAIN || errno == ECONNREFUSED) && now - VC_CH(vc)->refused < PATIENCE_S)
            *rc = PTL_NO_SPACE;
        return NULL;
    }
    VC_CH(vc)->refused = 0;
    w = new_wire(fd);
    if (w != NULL) {
        w->vc = vc;
        VC_CH(vc)->wire = w;
        say_hello(w, FALSE, MPIDI_Process.my_pg_rank);
    }
    return w;
}

/* put_iov() of ch3_send.c */
int MPIDI_PTL_Wire_put(MPIDI_VC_t * vc, struct iovec **iov, int *n_iov, int *first)
{
    int rc = PTL_OK;
    wire_t *w = open_wire(vc, &rc);

    if (w == NULL)
        return rc;
    while (*n_iov > 0) {
        frame_t f = { 0, !*first };

        if (flush(w) != 0) {
            /* its end is handled where the end of file is seen; nobody gets these bytes */
            *n_iov = 0;
            return PTL_OK;
        }
        if (w->out_at < w->out_n)
            return PTL_NO_SPACE;
        w->out_at = 0;
        w->out_n = sizeof(f);
        while (*n_iov > 0 && f.len < FRAME_MAX) {
            size_t n = MPL_MIN((*iov)->iov_len, FRAME_MAX - f.len);

            memcpy(w->out + w->out_n, (*iov)->iov_base, n);
            w->out_n += n;
            f.len += n;
            (*iov)->iov_base = (char *) (*iov)->iov_base + n;
            (*iov)->iov_len -= n;
            if ((*iov)->iov_len == 0) {
                (*iov)++;
                (*n_iov)--;
            }
        }
        memcpy(w->out, &f, sizeof(f));
        *first = FALSE;
    }
    flush(w);
    return PTL_OK;
}

/* A wire has ended. */
static int ended(wire_t * w)
{
    MPIDI_VC_t *vc = w->vc;
    int ending = w->ending;

    kill_wire(w);
    if (vc != NULL && ending)   /* the peer was first */
        return MPIDI_CH3U_Handle_connection(vc, MPIDI_VC_EVENT_TERMINATED);
    if (vc == NULL || vc->state == MPIDI_VC_STATE_INACTIVE || vc->state == MPIDI_VC_STATE_INACTIVE_CLOSED ||
        vc->state == MPIDI_VC_STATE_MORIBUND || vc->state == MPIDI_VC_STATE_CLOSED)
        return MPI_SUCCESS;
    return MPIDI_CH3U_Handle_connection(vc, MPIDI_VC_EVENT_TERMINATED);
}

/* Who is this? FALSE: not known yet. */
static int greet(wire_t * w, int *mpi_errno)
{
    MPIDI_PG_t *pg = NULL;
    MPIDI_VC_t *vc;
    hello_t h;

    if (w->in_n < sizeof(h))
        return FALSE;
    memcpy(&h, w->in, sizeof(h));
    h.pg_id[ID_MAX - 1] = '\0';
    if (h.magic != MAGIC) {
        kill_wire(w);
        return FALSE;
    }
    if (h.root) {
        vc = MPL_calloc(1, sizeof(*vc), MPL_MEM_ADDRESS);       /* freed by FreeNewVC() in ch3u_port.c */
        if (vc == NULL) {
            kill_wire(w);
            return FALSE;
        }
        MPIDI_VC_Init(vc, NULL, 0);
        MPIDI_CHANGE_VC_STATE(vc, ACTIVE);
        VC_CH(vc)->wire = w;
        w->sends = TRUE;
    } else {
        MPIDI_PG_Find(h.pg_id, &pg);
        if (pg == NULL || h.tag < 0 || h.tag >= pg->size)
            return FALSE;
        vc = &pg->vct[h.tag];
    }
    w->vc = vc;
    w->greeted = TRUE;
    w->in_n -= sizeof(h);
    memmove(w->in, w->in + sizeof(h), w->in_n);
    if (h.root)
        *mpi_errno = MPIDI_CH3I_Acceptq_enqueue(vc, h.tag);
    return TRUE;
}

/* Frames that are complete. */
static int take_frames(wire_t * w, int *made_progress)
{
    int mpi_errno = MPI_SUCCESS;
    size_t at = 0;
    frame_t f;

    while (w->fd >= 0 && w->vc != NULL && w->in_n - at >= sizeof(f)) {
        memcpy(&f, w->in + at, sizeof(f));
        if (f.len == 0 || f.len > FRAME_MAX)
            return ended(w);
        if (w->in_n - at < sizeof(f) + f.len)
            break;
        *made_progress = TRUE;
        mpi_errno = MPIDI_PTL_Handle_bytes(w->vc, w->in + at + sizeof(f), f.len, f.more);
        MPIR_ERR_CHECK(mpi_errno);
        at += sizeof(f) + f.len;
    }
    if (at > 0) {
        w->in_n -= at;
        memmove(w->in, w->in + at, w->in_n);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Read what there is, and handle it. */
static int receive(wire_t * w, int *made_progress)
{
    int mpi_errno = MPI_SUCCESS;
    ssize_t n = 1;

    while (w->fd >= 0 && n > 0) {
        if (w->in_n < sizeof(frame_t) + FRAME_MAX) {
            n = recv(w->fd, w->in + w->in_n, sizeof(frame_t) + FRAME_MAX - w->in_n, MSG_DONTWAIT);
            if (n < 0 && errno == EINTR)
                n = 0;
            else if (n == 0 || (n < 0 && errno != EAGAIN))
                return ended(w);
            if (n > 0)
                w->in_n += n;
        }
        if (!w->greeted && !greet(w, &mpi_errno)) {
            if (w->fd >= 0 && w->in_n >= sizeof(hello_t)) {
                /* of a process group that we shall hear of: not looked at until then */
                epoll_ctl(epfd, EPOLL_CTL_DEL, w->fd, NULL);
                unknown++;
                break;
            }
            continue;
        }
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = take_frames(w, made_progress);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void answer(void)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (same_user(fd))
            (void) new_wire(fd);
        else
            close(fd);
    }
}

/* The wires of process groups that we had not heard of. */
static int try_unknown(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS;
    wire_t *w;

    for (w = wires; w != NULL; w = w->next) {
        struct epoll_event ev = {.events = EPOLLIN,.data.ptr = w };

        if (w->fd < 0 || w->greeted || w->in_n < sizeof(hello_t) || !greet(w, &mpi_errno))
            continue;
        unknown--;
        epoll_ctl(epfd, EPOLL_CTL_ADD, w->fd, &ev);
        mpi_errno = take_frames(w, made_progress);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Write what waits, and end the connections whose wires have written all. */
static int write_all(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS;
    wire_t *w;

    for (w = wires; w != NULL; w = w->next) {
        MPIDI_VC_t *vc = w->vc;
        size_t was = w->out_at;

        if (w->fd < 0 || !w->sends || (w->out_at == w->out_n && !w->closing))
            continue;
        if (flush(w) != 0) {
            mpi_errno = ended(w);
            MPIR_ERR_CHECK(mpi_errno);
            continue;
        }
        if (w->out_at != was)
            *made_progress = TRUE;
        if (w->out_at == w->out_n && w->closing) {
            int ending = w->ending;

            kill_wire(w);
            *made_progress = TRUE;
            if (ending && vc != NULL)
                mpi_errno = MPIDI_CH3U_Handle_connection(vc, MPIDI_VC_EVENT_TERMINATED);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Wire_poll(int *made_progress)
{
    int mpi_errno = MPI_SUCCESS, n, i;
    struct epoll_event ev[16];

    if (walking)
        return MPI_SUCCESS;     /* a handler has called the progress engine */
    walking = TRUE;
    mpi_errno = write_all(made_progress);
    MPIR_ERR_CHECK(mpi_errno);
    n = epoll_wait(epfd, ev, 16, 0);
    for (i = 0; i < n; i++) {
        wire_t *w = ev[i].data.ptr;

        if (w == NULL)
            answer();
        else if (w->fd >= 0)
            mpi_errno = receive(w, made_progress);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (unlikely(unknown > 0)) {
        mpi_errno = try_unknown(made_progress);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    walking = FALSE;
    bury();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Has anything not been written yet? */
int MPIDI_PTL_Wire_pending(void)
{
    wire_t *w;

    for (w = wires; w != NULL; w = w->next)
        if (w->fd >= 0 && w->out_at < w->out_n)
            return TRUE;
    return FALSE;
}

/* The close protocol has ended. TRUE: the connection ends when all is written, from the progress engine. */
int MPIDI_PTL_Wire_end(MPIDI_VC_t * vc)
{
    wire_t *w = VC_CH(vc)->wire;

    if (w == NULL)
        return FALSE;
    w->closing = TRUE;
    w->ending = TRUE;
    return TRUE;
}

/* The connection's memory goes away. */
void MPIDI_PTL_Wire_forget(MPIDI_VC_t * vc)
{
    wire_t *w;

    for (w = wires; w != NULL; w = w->next) {
        if (w->vc != vc)
            continue;
        w->vc = NULL;
        w->ending = FALSE;
        if (w->out_at < w->out_n)
            w->closing = TRUE;
        else
            kill_wire(w);
    }
    VC_CH(vc)->wire = NULL;
}

void MPIDI_PTL_Wire_fini(void)
{
    wire_t *w;

    for (w = wires; w != NULL; w = w->next)
        kill_wire(w);
    bury();
    if (listener >= 0)
        close(listener);
    if (epfd >= 0)
        close(epfd);
    listener = epfd = -1;
    MPIDI_PTL_wires = FALSE;
}
