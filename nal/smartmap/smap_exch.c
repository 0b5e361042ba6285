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
 * Files: smap_exch_msg.c messages and proofs, smap_exch_all.c rank 0's side, smap_exch_up.c that of the others; here
 * the order of the steps, and how a rank says that it cannot take part.
 *
 * One thread, private memory only; nothing here outlives smartmap_init() but the mailbox.
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

#define REFUSE_NS	2000000000ll	/* that a rank which cannot take part waits for the others to tell them */

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
