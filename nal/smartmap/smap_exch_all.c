/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_exch_all.c - the meeting of the ranks at start as rank 0 sees it: a connection to each, and strangers
 *
 * The protocol stands at the head of smap_exch.c.
 */
#include "smap_exch_msg.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "smap_own.h"

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
int smap_all_wait(struct smap_exch *x, enum msg_type want, int files)
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

int smap_all_listen(struct smap_exch *x)
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

int smap_all_meet(struct smap_exch *x, int *bits)
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

int smap_all_share(struct smap_exch *x, int memfd, const struct smap_facts *own, struct smap_member *member,
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
