/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_exch.c - the meeting of the ranks at start
 *
 * Rank 0 listens on an abstract socket (no file, gone with its last descriptor) whose name every rank can compute from
 * the job's name and user. Anyone may know the name; who may come in is decided so:
 *
 *	both	SO_PEERCRED: the other's user is ours; its pid is that of job->pids[], where given
 *	0 -> r	CHALLENGE	nonce of rank 0
 *	r -> 0	HELLO		rank, size, own nonce, MAC(key; both nonces, rank, size)	r has the key
 *	  ... all have come, the listener is closed ...
 *	0 -> r	START		bits of the windows, MAC(key; both nonces, bits)		0 has the key
 *	r -> 0	JOIN		facts, + descriptor of its memory file
 *	0 -> r	MAIL		+ mailbox: a socket whose queue holds all files
 *		(or: FILES, a few files at a time, each answered by TAKEN, where the queue is refused)
 *	r -> 0	READY		adoption done
 *	0 -> r	GO		all are ready
 *
 * The key itself never crosses the socket, and no file is sent before the receiver has proved itself. The nonces make
 * a recorded MAC useless. The connections stay open until GO: a rank that dies at any moment is seen as an end of
 * file by rank 0, which tells the others (ABORT with a sentence), and rank 0's own death is seen by all.
 * A rank that cannot even begin (no memory, a call refused) comes to say so, see refuse().
 *
 * One thread, private memory only; nothing here outlives smartmap_init() but the mailbox.
 */
#include "smap_exch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "smap_own.h"

enum msg_type { M_CHALLENGE = 1, M_HELLO, M_START, M_JOIN, M_MAIL, M_FILES, M_TAKEN, M_READY, M_GO, M_ABORT };

struct smap_msg {
	uint32_t magic, version;	/* these two stay first in every version */
	uint32_t type;
	uint32_t rank, size;
	int32_t code;			/* ABORT: -errno */
	uint32_t bits;
	uint32_t flags;			/* READY, GO */
	int32_t pid;
	uint32_t first, count;		/* FILES: ranks whose files come with this message */
	uint32_t pad;
	uint64_t pid_ns, ctl_addr, nonce, mac;
	char text[256];			/* ABORT: a sentence */
};

#define NAMES		4		/* a stranger may sit on a name: then the next is taken */
#define FILES_AT_ONCE	16
#define REFUSE_NS	2000000000ll	/* that a rank which cannot take part waits for the others to tell them */

struct smap_conn {
	int fd;				/* -1: none */
	int rank;			/* -1: has not said HELLO yet */
	int pid;
	int done;			/* has answered in this step */
	uint64_t nonce, their_nonce;
	int memfd;
	struct smap_msg msg;
};

static int64_t smap_exch_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static int smap_exch_left(const struct smap_exch *x)
{
	int64_t d = (x->deadline - smap_exch_now()) / 1000000;

	return d < 0 ? 0 : d > 1000000 ? 1000000 : (int)d;
}

static void smap_exch_nap(int ms)
{
	struct timespec ts = { 0, ms * 1000000l };

	nanosleep(&ts, NULL);
}

uint64_t smap_pid_ns(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

/* FNV over job name and user, never over the key: the name is public. */
static socklen_t smap_exch_name(struct sockaddr_un *sa, const char *job, int i)
{
	uint64_t h = 0xcbf29ce484222325ull;
	int n;

	for (; *job; job++)
		h = (h ^ (uint8_t)*job) * 0x100000001b3ull;
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	n = snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "smartmap.%u.%016llx.%d", (unsigned)geteuid(),
		     (unsigned long long)h, i);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static uint64_t smap_exch_proof(const struct smap_exch *x, char who, uint64_t nonce0, uint64_t nonce_r, uint32_t rank,
				uint32_t v)
{
	struct {
		uint64_t a, b;
		uint32_t rank, size, v, who;
	} d = { nonce0, nonce_r, rank, x->job->size, v, (uint32_t)who };

	return smap_mac(x->job->key, &d, sizeof(d));
}

static int smap_exch_same(uint64_t a, uint64_t b)		/* no early exit */
{
	volatile uint64_t d = a ^ b;

	return !d;
}

static void smap_exch_msg(struct smap_msg *m, enum msg_type type)
{
	memset(m, 0, sizeof(*m));
	m->magic = SMAP_MAGIC;
	m->version = SMAP_VERSION;
	m->type = type;
}

/* Send, with patience while the queue is full or too many descriptors are under way. */
static int smap_exch_put(const struct smap_exch *x, int fd, const struct smap_msg *m, const int *fds, int n)
{
	for (;;) {
		ssize_t r = smap_send_fds(fd, m, sizeof(*m), fds, n);

		if (r >= 0)
			return 0;
		if ((r != -EAGAIN && r != -ETOOMANYREFS && r != -ENOBUFS) || !smap_exch_left(x))
			return (int)r;
		smap_exch_nap(1);
	}
}

/* Files that came with what was not the message for them. */
static void smap_exch_drop(const int *fds, int *n)
{
	for (; n && *n > 0; --*n)
		close(fds[*n - 1]);
}

/* 1: a message; 0: none yet; -ESRCH: the other end is gone; -EPROTO: not ours. Other versions pass (see version). */
static int smap_exch_get(int fd, struct smap_msg *m, int *fds, int *n)
{
	ssize_t r;

	memset(m, 0, sizeof(*m));
	r = smap_recv_fds(fd, m, sizeof(*m), fds, n, MSG_DONTWAIT);
	if (r == -ECONNRESET)	/* it closed with words of ours unread; what it said last is still in the queue */
		r = smap_recv_fds(fd, m, sizeof(*m), fds, n, MSG_DONTWAIT);
	if (r < 0 && n)
		*n = 0;
	if (r == -EAGAIN)
		return 0;
	if (r == -ENOMEM || r == -ENOBUFS) {	/* it is still there */
		smap_exch_nap(1);
		return 0;
	}
	if (r >= 8 && m->magic == SMAP_MAGIC && (m->version != SMAP_VERSION || r == (ssize_t)sizeof(*m))) {
		m->text[sizeof(m->text) - 1] = 0;
		return 1;
	}
	smap_exch_drop(fds, n);
	return r <= 0 ? -ESRCH : -EPROTO;
}

/*
 * A rank that cannot take part says so in one message, for which no word of the other side is needed: it may be
 * reading that is refused. Whoever has recorded it can end a start of the same job with it, as can whoever takes the
 * socket's name.
 */
static void no_init(const struct smap_exch *x, struct smap_msg *m, int code)
{
	smap_exch_msg(m, M_ABORT);
	m->code = code;
	m->rank = x->job->rank;
	m->mac = smap_exch_proof(x, 'n', 0, 0, m->rank, (uint32_t)code);
	snprintf(m->text, sizeof(m->text), "%s", smap.why[SMARTMAP_F_WINDOWS]);
}

static int smap_exch_is_no(const struct smap_exch *x, const struct smap_msg *m)
{
	return m->version == SMAP_VERSION && m->type == M_ABORT && m->rank < x->job->size &&
	       smap_exch_same(m->mac, smap_exch_proof(x, 'n', 0, 0, m->rank, (uint32_t)m->code));
}

static int smap_exch_cred(int fd, int *pid)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len))
		return 0;
	*pid = c.pid;
	return c.uid == geteuid();
}

static void smap_exch_say_no(const struct smap_exch *x, int fd, int code)
{
	struct smap_msg m;

	no_init(x, &m, code);
	smap_send_fds(fd, &m, sizeof(m), NULL, 0);
}

static void smap_exch_abort(int fd, int code)
{
	struct smap_msg m;

	smap_exch_msg(&m, M_ABORT);
	m.code = code;
	snprintf(m.text, sizeof(m.text), "%s", smap.why[SMARTMAP_F_WINDOWS]);
	smap_send_fds(fd, &m, sizeof(m), NULL, 0);
}

static int smap_exch_fail_all(struct smap_exch *x, int code)
{
	uint32_t i;

	if (x->conn)
		for (i = 1; i < x->job->size; i++)
			if (x->conn[i].fd >= 0)
				smap_exch_abort(x->conn[i].fd, code);
	if (x->up >= 0)
		smap_exch_abort(x->up, code);
	return code;
}

/* Not "not yet", but "never": waiting would not help. */
static int smap_exch_refused(int e)
{
	return e == EPERM || e == EACCES || e == ENOSYS;
}

static int smap_exch_why_refused(const char *call, int e)
{
	smap_why_set(SMARTMAP_F_WINDOWS, "the ranks cannot meet (%s: %s): allow it in the seccomp filter of the "
		     "container", call, strerror(e));
	return -EPERM;
}

static int smap_exch_no_socket(void)
{
	return errno == EMFILE || errno == ENFILE ? smap_why_nofile() : smap_exch_why_refused("socket", errno);
}

/* Can messages be sent and received here at all? Otherwise each rank would wait for the others until its time is up. */
static int probe(void)
{
	int sv[2], ret = 0;
	ssize_t n;
	char c = 'p';

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return smap_exch_no_socket();
	n = smap_send_fds(sv[1], &c, 1, NULL, 0);
	if (n < 0)
		ret = smap_exch_why_refused("sendmsg", (int)-n);
	else if ((n = smap_recv_fds(sv[0], &c, 1, NULL, NULL, MSG_DONTWAIT)) < 0)
		ret = smap_exch_why_refused("recvmsg", (int)-n);
	close(sv[0]);
	close(sv[1]);
	return ret;
}

static int smap_exch_code(int code)		/* from another process: only what smartmap_init() may return */
{
	switch (code) {
	case -EINVAL: case -ETIMEDOUT: case -EPERM: case -ENOMEM: case -ENOSYS: case -ESRCH:
		return code;
	}
	return -ESRCH;
}

/* ---- other ranks -------------------------------------------------------------------------------------------- */

static int smap_up_wait(struct smap_exch *x, enum msg_type want, enum msg_type also, struct smap_msg *m, int *fds,
			int *n)
{
	for (;;) {
		struct pollfd p = { x->up, POLLIN, 0 };
		int max = n ? *n : 0, r;

		r = smap_exch_get(x->up, m, fds, n);
		if (r == -ESRCH) {
			smap_why_set(SMARTMAP_F_WINDOWS, "local rank 0 ended during the start of the job");
			return -ESRCH;
		}
		if (r == 1 && m->version != SMAP_VERSION) {
			smap_exch_drop(fds, n);
			smap_why_set(SMARTMAP_F_WINDOWS, "local rank 0 has smartmap layout version %u, this process "
				     "%u: all ranks must use the same library", m->version, SMAP_VERSION);
			return -EPERM;
		}
		if (r == 1 && m->type == M_ABORT) {
			smap_exch_drop(fds, n);
			smap_why_set(SMARTMAP_F_WINDOWS, "%s", m->text);
			return smap_exch_code(m->code);
		}
		if (r == 1 && (m->type == (uint32_t)want || m->type == (uint32_t)also))
			return 0;
		if (r == 1)
			smap_exch_drop(fds, n);
		if (r) {
			smap_why_set(SMARTMAP_F_WINDOWS, "local rank 0 sent something that is no message of smartmap");
			return -EPERM;
		}
		if (n)
			*n = max;
		if (!smap_exch_left(x)) {
			smap_why_set(SMARTMAP_F_WINDOWS, "not all ranks of the job came in time (local rank %u waited)",
				     x->job->rank);
			smap_exch_abort(x->up, -ETIMEDOUT);
			return -ETIMEDOUT;
		}
		poll(&p, 1, smap_exch_left(x));
	}
}

/* A message to rank 0. When it is gone, its last words say why. */
static int smap_up_put(struct smap_exch *x, const struct smap_msg *m, const int *fds, int n)
{
	struct smap_msg last;
	int ret = smap_exch_put(x, x->up, m, fds, n);

	if (!ret)
		return 0;
	if (ret == -ETOOMANYREFS) {
		smap_why_set(SMARTMAP_F_WINDOWS, "too many descriptors of this user are under way: raise RLIMIT_NOFILE "
			     "(ulimit -n)");
		return -ENOMEM;
	}
	do {
		ret = smap_exch_get(x->up, &last, NULL, NULL);
	} while (ret == 1 && last.type != M_ABORT);
	if (ret == 1) {
		smap_why_set(SMARTMAP_F_WINDOWS, "%s", last.text);
		return smap_exch_code(last.code);
	}
	smap_why_set(SMARTMAP_F_WINDOWS, "local rank 0 ended during the start of the job");
	return -ESRCH;
}

/* A connection to rank 0 that has sent its challenge; strangers' sockets are passed over. */
static int up_connect(struct smap_exch *x, struct smap_msg *m)
{
	int nap = 1, others = 0, denied = 0;

	for (;;) {
		int i;

		for (i = 0; i < NAMES; i++) {
			struct sockaddr_un sa;
			socklen_t len = smap_exch_name(&sa, x->job->name, i);
			struct pollfd p = { .events = POLLIN };
			int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), pid, r;

			if (fd < 0)
				return smap_exch_no_socket();
			if (connect(fd, (struct sockaddr *)&sa, len)) {
				r = smap_exch_refused(errno) ? smap_exch_why_refused("connect", errno) : 0;
				close(fd);
				if (r)
					return r;
				continue;
			}
			if (!smap_exch_cred(fd, &pid) ||
			    (x->job->pids && x->job->pids[0] > 0 && pid != x->job->pids[0])) {
				others++;
				close(fd);
				continue;
			}
			p.fd = fd;
			poll(&p, 1, smap_exch_left(x) < 1000 ? smap_exch_left(x) : 1000);
			r = smap_exch_get(fd, m, NULL, NULL);
			if (r == 1 && smap_exch_is_no(x, m)) {
				smap_why_set(SMARTMAP_F_WINDOWS, "%s", m->text);
				x->told = 1;
				close(fd);
				return smap_exch_code(m->code);
			}
			if (r == 1 && (m->type == M_CHALLENGE || m->version != SMAP_VERSION)) {
				x->up = fd;
				return 0;
			}
			denied++;
			close(fd);
		}
		if (!smap_exch_left(x)) {
			if (others)
				smap_why_set(SMARTMAP_F_WINDOWS, "the job's socket name is held by another user or "
					     "process, and local rank 0 never came");
			else
				smap_why_set(SMARTMAP_F_WINDOWS, "local rank 0 never came%s", denied ?
					     " (its socket was there, but did not answer)" :
					     "; are all ranks in one network namespace?");
			return others ? -EPERM : -ETIMEDOUT;
		}
		smap_exch_nap(nap);
		if (nap < 16)
			nap *= 2;
	}
}

static int smap_up_meet(struct smap_exch *x, int *bits)
{
	struct smap_msg m;
	uint64_t nonce0, nonce = smap_random();
	int ret = up_connect(x, &m);

	if (ret)
		return ret;
	if (m.version != SMAP_VERSION) {
		smap_why_set(SMARTMAP_F_WINDOWS, "local rank 0 has smartmap layout version %u, this process %u: "
			     "all ranks must use the same library", m.version, SMAP_VERSION);
		/* It must learn of it too: the head of a message is the same in all versions. */
		smap_exch_msg(&m, M_HELLO);
		smap_send_fds(x->up, &m, sizeof(m), NULL, 0);
		return -EPERM;
	}
	nonce0 = m.nonce;
	x->deadline += 500000000;	/* rank 0 knows better who is missing: let it speak first */
	smap_exch_msg(&m, M_HELLO);
	if (*bits < SMAP_BITS_MIN)	/* no windows here: the others must hear why */
		snprintf(m.text, sizeof(m.text), "%s", smap.why[SMARTMAP_F_WINDOWS]);
	m.rank = x->job->rank;
	m.size = x->job->size;
	m.bits = (uint32_t)*bits;
	m.nonce = nonce;
	m.pid = getpid();
	m.pid_ns = x->pid_ns;
	m.mac = smap_exch_proof(x, 'r', nonce0, nonce, x->job->rank, (uint32_t)*bits);
	ret = smap_up_put(x, &m, NULL, 0);
	if (ret)
		return ret;
	ret = smap_up_wait(x, M_START, M_START, &m, NULL, NULL);
	if (ret)
		return ret;
	if (!smap_exch_same(m.mac, smap_exch_proof(x, '0', nonce0, nonce, x->job->rank, m.bits))) {
		smap_why_set(SMARTMAP_F_WINDOWS, "the process that calls itself local rank 0 does not have the job's "
			     "key");
		return -EPERM;
	}
	if ((int)m.bits < SMAP_BITS_MIN || (int)m.bits > *bits) {
		smap_why_set(SMARTMAP_F_WINDOWS, "local rank 0 wants windows of 2^%u bytes, at most 2^%d fit here",
			     m.bits, *bits);
		return -EPERM;
	}
	*bits = (int)m.bits;
	return 0;
}

static int smap_up_share(struct smap_exch *x, int memfd, const struct smap_facts *own, int *box,
			 int (*got)(int rank, int fd))
{
	struct smap_msg m;
	int ret;

	smap_exch_msg(&m, M_JOIN);
	m.rank = x->job->rank;
	m.pid = own->pid;
	m.pid_ns = x->pid_ns;
	m.ctl_addr = own->ctl_addr;
	m.nonce = own->nonce;
	ret = smap_up_put(x, &m, &memfd, 1);
	if (ret)
		return ret;
	for (;;) {
		int fds[FILES_AT_ONCE], n = FILES_AT_ONCE, i;

		ret = smap_up_wait(x, M_MAIL, M_FILES, &m, fds, &n);
		if (ret)
			return ret;
		if (m.type == M_MAIL) {
			if (n == 1)
				*box = fds[0];
			if (n == 1 || (!n && !m.count))		/* count 0: all files have come already */
				return 0;
			smap_exch_drop(fds, &n);
			return smap_why_nofile();	/* the kernel installs what may be opened, and drops the rest */
		}
		for (i = 0; i < n; i++) {
			if (!ret && m.first + (uint32_t)i < x->job->size)
				ret = got((int)m.first + i, fds[i]);
			close(fds[i]);
		}
		if (!ret && n != (int)m.count)
			ret = smap_why_nofile();
		if (ret)
			return ret;
		smap_exch_msg(&m, M_TAKEN);
		smap_exch_put(x, x->up, &m, NULL, 0);
	}
}

/* ---- rank 0 ------------------------------------------------------------------------------------------------- */

static int lost(struct smap_exch *x, struct smap_conn *c, int r, const struct smap_msg *m)
{
	if (r == 1 && m->type == M_ABORT) {
		smap_why_set(SMARTMAP_F_WINDOWS, "%s", m->text);
		return smap_exch_fail_all(x, smap_exch_code(m->code));
	}
	if (r == -ESRCH)
		smap_why_set(SMARTMAP_F_WINDOWS, "local rank %d (pid %d) ended during the start of the job", c->rank,
			     c->pid);
	else
		smap_why_set(SMARTMAP_F_WINDOWS, "local rank %d (pid %d) sent something that is no message of smartmap",
			     c->rank, c->pid);
	return smap_exch_fail_all(x, r == -ESRCH ? -ESRCH : -EPERM);
}

/* One message of type @want from every other rank, into conn[].msg (and a descriptor each, if @fds). */
static int smap_all_wait(struct smap_exch *x, enum msg_type want, int files)
{
	static struct pollfd p[SMARTMAP_MAX_PEERS];
	uint32_t i, todo = x->job->size - 1;

	for (i = 1; i < x->job->size; i++) {
		x->conn[i].done = 0;
		p[i] = (struct pollfd){ x->conn[i].fd, POLLIN, 0 };
	}
	while (todo) {
		int n = poll(p + 1, x->job->size - 1, smap_exch_left(x));

		if (!n || (n < 0 && !smap_exch_left(x))) {
			for (i = 1; i < x->job->size && x->conn[i].done; i++)
				;
			smap_why_set(SMARTMAP_F_WINDOWS, "local rank %u (pid %d) did not answer in time%s", i,
				     x->conn[i].pid, todo > 1 ? ", nor did others" : "");
			return smap_exch_fail_all(x, -ETIMEDOUT);
		}
		for (i = 1; i < x->job->size && n > 0; i++) {
			struct smap_conn *c = &x->conn[i];
			int nfd = 1, r;
			struct smap_msg m;

			if (!p[i].revents)
				continue;
			n--;
			if (c->done) {		/* it only waits now: an end of file or an abort matters */
				r = smap_exch_get(c->fd, &m, NULL, NULL);
				if (r)
					return lost(x, c, r, &m);
				continue;
			}
			r = smap_exch_get(c->fd, &c->msg, files ? &c->memfd : NULL, files ? &nfd : NULL);
			if (!r)
				continue;
			if (files && nfd != 1)
				c->memfd = -1;
			if (r != 1 || c->msg.type != (uint32_t)want)
				return lost(x, c, r, &c->msg);
			if (files && nfd != 1)
				return smap_exch_fail_all(x, smap_why_nofile());
			c->done = 1;
			todo--;
		}
	}
	return 0;
}

static int smap_all_listen(struct smap_exch *x)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), i;

	if (fd < 0)
		return smap_exch_no_socket();
	for (i = 0; i < NAMES; i++) {
		struct sockaddr_un sa;
		socklen_t len = smap_exch_name(&sa, x->job->name, i);

		if (!bind(fd, (struct sockaddr *)&sa, len)) {
			if (!listen(fd, 1024)) {
				x->listener = fd;
				return 0;
			}
			break;
		}
		if (errno != EADDRINUSE)
			break;
	}
	smap_why_set(SMARTMAP_F_WINDOWS, "the job's socket cannot be opened: %s%s", strerror(errno),
		     errno == EADDRINUSE ? " (does another job have the same name?)" : "");
	close(fd);
	return -EPERM;
}

/* A HELLO from a process that is not known yet. 1: it is one of us; 0: a stranger; < 0: the job cannot go on. */
static int hello(struct smap_exch *x, struct smap_conn *c, const struct smap_msg *m, int *bits)
{
	const struct smartmap_job *j = x->job;

	if (m->version != SMAP_VERSION) {
		smap_why_set(SMARTMAP_F_WINDOWS, "pid %d has smartmap layout version %u, local rank 0 has %u: all "
			     "ranks must use the same library", c->pid, m->version, SMAP_VERSION);
		return smap_exch_fail_all(x, -EPERM);
	}
	if (m->type != M_HELLO || m->rank >= j->size || !m->rank)
		return 0;
	if (!smap_exch_same(m->mac, smap_exch_proof(x, 'r', c->nonce, m->nonce, m->rank, m->bits)))
		return 0;		/* wrong key, or another idea of the size */
	if (j->pids && j->pids[m->rank] > 0 && j->pids[m->rank] != c->pid)
		return 0;
	if (x->conn[m->rank].fd >= 0) {
		smap_why_set(SMARTMAP_F_WINDOWS, "two processes (pids %d and %d) say that they are local rank %u",
			     x->conn[m->rank].pid, c->pid, m->rank);
		smap_exch_abort(c->fd, -EINVAL);
		return smap_exch_fail_all(x, -EINVAL);
	}
	c->rank = (int)m->rank;
	c->their_nonce = m->nonce;
	if (m->bits < (uint32_t)*bits) {
		*bits = (int)m->bits;
		if (*bits < SMAP_BITS_MIN)
			snprintf(x->text, sizeof(x->text), "%s", m->text);
	}
	return 1;
}

/* Who goes when there is no more room: one of the process that has most connections open. A rank has one. */
static uint32_t crowd(const struct smap_conn *p, uint32_t n)
{
	uint32_t i, k, most = 0, who = 0;

	for (i = 0; i < n; i++) {
		uint32_t same_pid = 0;

		for (k = 0; k < n; k++)
			same_pid += p[k].pid == p[i].pid;
		if (same_pid > most) {
			most = same_pid;
			who = i;
		}
	}
	return who;
}

static int smap_all_meet(struct smap_exch *x, int *bits)
{
	enum { PENDING = SMARTMAP_MAX_PEERS + 62 };	/* more than can be ours: strangers cannot fill it for long */
	static struct smap_conn pend[PENDING];
	static struct pollfd p[PENDING + SMARTMAP_MAX_PEERS + 1];
	uint32_t i, here = 1, npend = 0, n;
	int ret = smap_all_listen(x);

	if (ret)
		return ret;
	snprintf(x->text, sizeof(x->text), "%s", smap.why[SMARTMAP_F_WINDOWS]);
	while (here < x->job->size) {
		struct smap_msg m;
		int fd, r;

		while ((fd = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
			struct smap_conn c = { .fd = fd, .rank = -1, .memfd = -1, .nonce = smap_random() };

			if (!smap_exch_cred(fd, &c.pid)) {
				x->strangers++;
				close(fd);
				continue;
			}
			if (npend == PENDING) {
				i = crowd(pend, npend);
				close(pend[i].fd);
				pend[i] = pend[--npend];
			}
			smap_exch_msg(&m, M_CHALLENGE);
			m.nonce = c.nonce;
			if (smap_exch_put(x, fd, &m, NULL, 0))
				close(fd);
			else
				pend[npend++] = c;
		}
		if (errno == EMFILE || errno == ENFILE || smap_exch_refused(errno)) {
			ret = smap_exch_refused(errno) ? smap_exch_why_refused("accept4", errno) : smap_why_nofile();
			ret = smap_exch_fail_all(x, ret);
			break;
		}
		for (i = 0; i < npend;) {
			struct smap_conn *c = &pend[i];

			r = smap_exch_get(c->fd, &m, NULL, NULL);
			if (!r) {
				i++;
				continue;
			}
			if (r == 1 && smap_exch_is_no(x, &m)) {
				smap_why_set(SMARTMAP_F_WINDOWS, "%s", m.text);
				ret = smap_exch_code(m.code);
				x->said_no++;
				close(c->fd);
				pend[i] = pend[--npend];
				smap_exch_fail_all(x, ret);
				break;
			}
			r = r < 0 ? 0 : hello(x, c, &m, bits);
			if (r < 0) {
				ret = r;
				smap_exch_abort(c->fd, r);
				break;
			}
			if (r) {
				x->conn[c->rank] = *c;
				here++;
			} else {
				x->strangers++;
				smap_why_set(SMARTMAP_F_WINDOWS, "this process (pid %d) does not have the key of the "
					     "job \"%.100s\", or is not one of its %u processes", c->pid, x->job->name,
					     x->job->size);
				smap_exch_abort(c->fd, -EPERM);
				smap_why_set(SMARTMAP_F_WINDOWS, "%s", "");
				close(c->fd);
			}
			pend[i] = pend[--npend];
		}
		if (ret)
			break;
		if (here == x->job->size)
			break;
		for (i = 1; i < x->job->size && !ret; i++) {
			if (x->conn[i].fd < 0)
				continue;
			r = smap_exch_get(x->conn[i].fd, &m, NULL, NULL);
			if (r)
				ret = lost(x, &x->conn[i], r, &m);
		}
		if (ret)
			break;
		if (!smap_exch_left(x)) {
			uint32_t first = 0;

			for (i = 1; i < x->job->size; i++)
				if (x->conn[i].fd < 0 && !first)
					first = i;
			smap_why_set(SMARTMAP_F_WINDOWS, "%u of %u local ranks never came, the first of them %u%s",
				     x->job->size - here, x->job->size, first, x->strangers ?
				     "; processes without the job's key or of another user were refused" : "");
			ret = smap_exch_fail_all(x, -ETIMEDOUT);
			break;
		}
		p[0] = (struct pollfd){ x->listener, POLLIN, 0 };
		n = 1;
		for (i = 0; i < npend; i++)
			p[n++] = (struct pollfd){ pend[i].fd, POLLIN, 0 };
		for (i = 1; i < x->job->size; i++)
			if (x->conn[i].fd >= 0)
				p[n++] = (struct pollfd){ x->conn[i].fd, POLLIN, 0 };
		poll(p, n, smap_exch_left(x));
	}
	for (i = 0; i < npend; i++) {
		if (ret)
			smap_exch_say_no(x, pend[i].fd, ret);
		close(pend[i].fd);
	}
	if (ret) {
		x->said_no += npend + here - 1;
		return ret;
	}
	close(x->listener);
	x->listener = -1;
	x->said_no = x->job->size;	/* from here on all are told by their connections */
	if (*bits < SMAP_BITS_MIN) {
		smap_why_set(SMARTMAP_F_WINDOWS, "%s", x->text);
		return smap_exch_fail_all(x, -ENOSYS);
	}
	for (i = 1; i < x->job->size && !ret; i++) {
		struct smap_conn *c = &x->conn[i];
		struct smap_msg m;

		smap_exch_msg(&m, M_START);
		m.bits = (uint32_t)*bits;
		m.mac = smap_exch_proof(x, '0', c->nonce, c->their_nonce, i, m.bits);
		if (smap_exch_put(x, c->fd, &m, NULL, 0))
			ret = lost(x, c, -ESRCH, NULL);
	}
	return ret;
}

/* The slow way: every rank gets every file, a few at a time, and maps them at once. */
static int all_files(struct smap_exch *x, const int *fds)
{
	uint32_t size = x->job->size, r, i;

	for (r = 1; r < size; r++) {
		struct smap_conn *c = &x->conn[r];
		struct smap_msg m;
		int ret;

		for (i = 0; i < size; i += FILES_AT_ONCE) {
			struct pollfd p = { c->fd, POLLIN, 0 };

			smap_exch_msg(&m, M_FILES);
			m.first = i;
			m.count = size - i < FILES_AT_ONCE ? size - i : FILES_AT_ONCE;
			ret = smap_exch_put(x, c->fd, &m, fds + i, (int)m.count);
			if (ret == -ETOOMANYREFS) {
				smap_why_set(SMARTMAP_F_WINDOWS, "too many descriptors of this user are under way: "
					     "raise RLIMIT_NOFILE (ulimit -n)");
				return smap_exch_fail_all(x, -ENOMEM);
			}
			if (ret)
				return lost(x, c, -ESRCH, NULL);
			do {
				poll(&p, 1, smap_exch_left(x));
				ret = smap_exch_get(c->fd, &m, NULL, NULL);
			} while (!ret && smap_exch_left(x));
			if (ret != 1 || m.type != M_TAKEN)
				return lost(x, c, ret == 1 ? 1 : -ESRCH, &m);
		}
	}
	return 0;
}

static int smap_all_share(struct smap_exch *x, int memfd, const struct smap_facts *own, struct smap_member *member,
			  int *box, int (*got)(int rank, int fd))
{
	int fds[SMARTMAP_MAX_PEERS], ret, n = (int)x->job->size;
	uint32_t i;

	ret = smap_all_wait(x, M_JOIN, 1);
	if (ret)
		return ret;
	fds[0] = memfd;
	member[0] = (struct smap_member){ own->pid, 0, x->pid_ns, own->ctl_addr, own->nonce };
	for (i = 1; i < x->job->size; i++) {
		const struct smap_msg *m = &x->conn[i].msg;

		fds[i] = x->conn[i].memfd;
		member[i] = (struct smap_member){ m->pid, 0, m->pid_ns, m->ctl_addr, m->nonce };
	}
	*box = smap_box_make(fds, n);
	if (*box >= 0) {	/* can it be read? RLIMIT_NOFILE may be too small for all its files */
		int fd = smap_box_get(*box, n - 1);

		if (fd < 0) {
			close(*box);
			*box = fd;
		} else {
			close(fd);
		}
	}
	if (*box < 0) {
		*box = -1;
		ret = all_files(x, fds);
		for (i = 1; i < x->job->size && !ret; i++) {
			ret = got((int)i, fds[i]);
			if (ret)
				smap_exch_fail_all(x, ret);
		}
	}
	for (i = 1; i < x->job->size && !ret; i++) {
		struct smap_msg m;

		smap_exch_msg(&m, M_MAIL);
		m.count = *box >= 0;
		ret = smap_exch_put(x, x->conn[i].fd, &m, box, *box >= 0);
		if (ret) {
			smap_why_set(SMARTMAP_F_WINDOWS, "the mailbox cannot be sent to local rank %u: %s", i,
				     strerror(-ret));
			ret = smap_exch_fail_all(x, -ESRCH);
		}
	}
	for (i = 1; i < x->job->size; i++) {
		close(x->conn[i].memfd);
		x->conn[i].memfd = -1;
	}
	if (ret && *box >= 0) {
		close(*box);
		*box = -1;
	}
	return ret;
}

/* ---- both --------------------------------------------------------------------------------------------------- */

/* Until rank 0 has heard it: then it closes the connection. */
static void refuse_up(struct smap_exch *x, int code)
{
	for (; smap_exch_left(x); smap_exch_nap(2))
		for (int i = 0; i < NAMES; i++) {
			struct sockaddr_un sa;
			socklen_t len = smap_exch_name(&sa, x->job->name, i);
			struct pollfd p = { .events = POLLRDHUP };

			p.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
			if (p.fd < 0)
				return;
			if (!connect(p.fd, (struct sockaddr *)&sa, len)) {
				smap_exch_say_no(x, p.fd, code);
				while (poll(&p, 1, smap_exch_left(x)) < 0 && errno == EINTR)
					;
				close(p.fd);
				return;
			}
			close(p.fd);
			if (smap_exch_refused(errno))
				return;
		}
}

/* All who have not heard it yet. */
static void refuse_all(struct smap_exch *x, int code)
{
	char why[sizeof(smap.why[0])];
	int pid, tries = 0;

	snprintf(why, sizeof(why), "%s", smap.why[SMARTMAP_F_WINDOWS]);
	if (x->listener < 0 && smap_all_listen(x))
		x->said_no = x->job->size;
	smap_why_set(SMARTMAP_F_WINDOWS, "%s", why);
	while (x->said_no + 1 < x->job->size && smap_exch_left(x)) {
		struct pollfd p = { x->listener, POLLIN, 0 };
		int fd = accept4(x->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			if (smap_exch_cred(fd, &pid)) {
				smap_exch_say_no(x, fd, code);
				x->said_no++;
			}
			close(fd);
		} else if (errno == EAGAIN) {
			poll(&p, 1, smap_exch_left(x));
		} else if (errno != EINTR && ++tries > 3) {
			break;
		}
	}
}

/*
 * We cannot take part, and smap.why says why. The others would wait for us until their time is up: so they hear it, if
 * there is a way. Not for long: they may have failed as we have, and never come.
 */
static void refuse(struct smap_exch *x, int code)
{
	int64_t until = smap_exch_now() + REFUSE_NS;

	if (until < x->deadline)
		x->deadline = until;
	if (x->job->rank)
		refuse_up(x, code);
	else
		refuse_all(x, code);
}

int smap_exch_refuse(struct smap_exch *x, const struct smartmap_job *job)
{
	memset(x, 0, sizeof(*x));
	x->job = job;
	x->deadline = INT64_MAX;
	x->listener = x->up = -1;
	refuse(x, -ENOMEM);
	return -ENOMEM;
}

int smap_exch_meet(struct smap_exch *x, const struct smartmap_job *job, int *bits)
{
	static struct smap_conn conns[SMARTMAP_MAX_PEERS];
	uint32_t i;
	int ret;

	memset(x, 0, sizeof(*x));
	x->job = job;
	x->deadline = smap_exch_now() + (job->timeout_ms > 0 ? job->timeout_ms : 30000) * 1000000ll;
	x->listener = x->up = -1;
	x->pid_ns = smap_pid_ns();
	if (!job->rank) {
		x->conn = conns;
		for (i = 0; i < job->size; i++)
			x->conn[i] = (struct smap_conn){ .fd = -1, .memfd = -1 };
	}
	ret = probe();
	if (!ret)
		ret = job->rank ? smap_up_meet(x, bits) : smap_all_meet(x, bits);
	if (ret && !x->told && x->up < 0)
		refuse(x, ret);
	return ret;
}

int smap_exch_share(struct smap_exch *x, int memfd, const struct smap_facts *own, struct smap_member *member,
		    int *box, int (*got)(int rank, int fd))
{
	*box = -1;
	return x->conn ? smap_all_share(x, memfd, own, member, box, got) : smap_up_share(x, memfd, own, box, got);
}

int smap_exch_ready(struct smap_exch *x, int result, uint32_t *flags)
{
	struct smap_msg m;
	uint32_t i;
	int ret;

	if (result)
		return smap_exch_fail_all(x, result);
	if (!x->conn) {
		smap_exch_msg(&m, M_READY);
		m.flags = *flags;
		ret = smap_up_put(x, &m, NULL, 0);
		if (!ret)
			ret = smap_up_wait(x, M_GO, M_GO, &m, NULL, NULL);
		if (!ret)
			*flags = m.flags;
		return ret;
	}
	ret = smap_all_wait(x, M_READY, 0);
	if (ret)
		return ret;
	for (i = 1; i < x->job->size; i++)
		*flags &= x->conn[i].msg.flags;
	smap_exch_msg(&m, M_GO);
	m.flags = *flags;
	for (i = 1; i < x->job->size; i++)
		smap_exch_put(x, x->conn[i].fd, &m, NULL, 0);	/* who died here is found dead by its liveness word */
	return 0;
}

void smap_exch_close(struct smap_exch *x)
{
	uint32_t i;

	if (x->conn) {
		for (i = 0; i < x->job->size; i++) {
			if (x->conn[i].fd >= 0)
				close(x->conn[i].fd);
			if (x->conn[i].memfd >= 0)
				close(x->conn[i].memfd);
		}
		x->conn = NULL;
	}
	if (x->listener >= 0)
		close(x->listener);
	if (x->up >= 0)
		close(x->up);
	x->listener = x->up = -1;
}
