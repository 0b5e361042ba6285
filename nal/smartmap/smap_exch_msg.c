/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_exch_msg.c - messages between the ranks at start: how they are sent, the proofs in them, refusals
 *
 * Nothing is kept here. The protocol stands at the head of smap_exch.c.
 */
#include "smap_exch_msg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "smap_own.h"

int64_t smap_exch_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

int smap_exch_left(const struct smap_exch *x)
{
	int64_t d = (x->deadline - smap_exch_now()) / 1000000;

	return d < 0 ? 0 : d > 1000000 ? 1000000 : (int)d;
}

void smap_exch_nap(int ms)
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
socklen_t smap_exch_name(struct sockaddr_un *sa, const char *job, int i)
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

uint64_t smap_exch_proof(const struct smap_exch *x, char who, uint64_t nonce0, uint64_t nonce_r, uint32_t rank,
			 uint32_t v)
{
	struct {
		uint64_t a, b;
		uint32_t rank, size, v, who;
	} d = { nonce0, nonce_r, rank, x->job->size, v, (uint32_t)who };

	return smap_mac(x->job->key, &d, sizeof(d));
}

int smap_exch_same(uint64_t a, uint64_t b)		/* no early exit */
{
	volatile uint64_t d = a ^ b;

	return !d;
}

void smap_exch_msg(struct smap_msg *m, enum msg_type type)
{
	memset(m, 0, sizeof(*m));
	m->magic = SMAP_MAGIC;
	m->version = SMAP_VERSION;
	m->type = type;
}

/* Send, with patience while the queue is full or too many descriptors are under way. */
int smap_exch_put(const struct smap_exch *x, int fd, const struct smap_msg *m, const int *fds, int n)
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
void smap_exch_drop(const int *fds, int *n)
{
	for (; n && *n > 0; --*n)
		close(fds[*n - 1]);
}

/* 1: a message; 0: none yet; -ESRCH: the other end is gone; -EPROTO: not ours. Other versions pass (see version). */
int smap_exch_get(int fd, struct smap_msg *m, int *fds, int *n)
{
	int max = n ? *n : 0;
	ssize_t r;

	memset(m, 0, sizeof(*m));
	r = smap_recv_fds(fd, m, sizeof(*m), fds, n, MSG_DONTWAIT);
	/*
	 * Once more before it is taken for gone: what it said last may be in the queue. It closed with words of ours
	 * unread; or it spoke and closed while we were in the kernel, which looks at the queue first, then whether the
	 * other end is open.
	 */
	if (r == -ECONNRESET || !r) {
		if (!r)
			smap_exch_drop(fds, n);		/* or a message of no bytes with descriptors: nobody of ours */
		if (n)
			*n = max;
		r = smap_recv_fds(fd, m, sizeof(*m), fds, n, MSG_DONTWAIT);
	}
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

int smap_exch_is_no(const struct smap_exch *x, const struct smap_msg *m)
{
	return m->version == SMAP_VERSION && m->type == M_ABORT && m->rank < x->job->size &&
	       smap_exch_same(m->mac, smap_exch_proof(x, 'n', 0, 0, m->rank, (uint32_t)m->code));
}

int smap_exch_cred(int fd, int *pid)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len))
		return 0;
	*pid = c.pid;
	return c.uid == geteuid();
}

void smap_exch_say_no(const struct smap_exch *x, int fd, int code)
{
	struct smap_msg m;

	no_init(x, &m, code);
	smap_send_fds(fd, &m, sizeof(m), NULL, 0);
}

void smap_exch_abort(int fd, int code)
{
	struct smap_msg m;

	smap_exch_msg(&m, M_ABORT);
	m.code = code;
	snprintf(m.text, sizeof(m.text), "%s", smap.why[SMARTMAP_F_WINDOWS]);
	smap_send_fds(fd, &m, sizeof(m), NULL, 0);
}

int smap_exch_fail_all(struct smap_exch *x, int code)
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
int smap_exch_refused(int e)
{
	return e == EPERM || e == EACCES || e == ENOSYS;
}

int smap_exch_why_refused(const char *call, int e)
{
	smap_why_set(SMARTMAP_F_WINDOWS, "the ranks cannot meet (%s: %s): allow it in the seccomp filter of the "
		     "container", call, strerror(e));
	return -EPERM;
}

int smap_exch_no_socket(void)
{
	return errno == EMFILE || errno == ENFILE ? smap_why_nofile() : smap_exch_why_refused("socket", errno);
}

int smap_exch_code(int code)		/* from another process: only what smartmap_init() may return */
{
	switch (code) {
	case -EINVAL: case -ETIMEDOUT: case -EPERM: case -ENOMEM: case -ENOSYS: case -ESRCH:
		return code;
	}
	return -ESRCH;
}
