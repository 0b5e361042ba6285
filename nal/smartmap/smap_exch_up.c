/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_exch_up.c - the meeting of the ranks at start as ranks other than 0 see it: one connection, to rank 0
 *
 * The protocol stands at the head of smap_exch.c.
 */
#include "smap_exch_msg.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "smap_own.h"

int smap_up_wait(struct smap_exch *x, enum msg_type want, enum msg_type also, struct smap_msg *m, int *fds,
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
int smap_up_put(struct smap_exch *x, const struct smap_msg *m, const int *fds, int n)
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

int smap_up_meet(struct smap_exch *x, int *bits)
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

int smap_up_share(struct smap_exch *x, int memfd, const struct smap_facts *own, int *box,
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
