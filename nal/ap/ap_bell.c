/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap_bell.c - waking an engine that sleeps in epoll, and getting its connections' descriptors from it
 *
 * A datagram socket with an abstract name that follows from the job's key: no descriptor has to be passed, and an
 * engine that is started anew binds the same name. Whoever rings makes the engine look at its rings, no more. Whoever
 * asks, from a socket with a name that the kernel has given it, gets one datagram for each node, if the kernel says
 * that it is one of the node's ranks. Of what a rank gets the kernel says that it comes from our user.
 */
#include "config.h"

#include "ap.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { RING = '!', ASK = '?' };

static socklen_t name(const struct ap_card *c, struct sockaddr_un *sa)
{
	uint8_t mac[16];
	int n = 6;

	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	tcp_mac(c->key, c->job, strlen(c->job), mac);
	memcpy(sa->sun_path + 1, "p3-ap-", 6);
	for (int i = 0; i < 16; i++)
		n += snprintf(sa->sun_path + 1 + n, sizeof(sa->sun_path) - 1 - (size_t)n, "%02x", mac[i]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static int bell(const struct ap_card *c, int (*to)(int, const struct sockaddr *, socklen_t))
{
	struct sockaddr_un sa, own = { .sun_family = AF_UNIX };
	socklen_t len = name(c, &sa);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err, on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	if (to == connect)		/* a name of its own, for answers; without one there are none */
		(void)bind(fd, (struct sockaddr *)&own, offsetof(struct sockaddr_un, sun_path));
	if (!to(fd, (struct sockaddr *)&sa, len))
		return fd;
	err = errno;
	close(fd);
	return -err;
}

/* The name of an engine that was killed is free a little later than it is known to be dead. */
int ap_bell_open(const struct ap_card *c)
{
	int fd = bell(c, bind);

	for (int tries = 0; fd == -EADDRINUSE && tries < 200; tries++) {
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
		fd = bell(c, bind);
	}
	return fd;
}

int ap_bell_find(const struct ap_card *c)
{
	return bell(c, connect);
}

static void say(int fd, char what)
{
	/* full: it has been rung already; refused: the engine is dead, which is seen elsewhere */
	while (send(fd, &what, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}

void ap_bell_ring(int fd)
{
	say(fd, RING);
}

void ap_bell_ask(int fd)
{
	say(fd, ASK);
}

struct sender {
	struct sockaddr_un name;
	socklen_t len;
	pid_t pid;
};

/* Of the descriptors that came the first is kept, and -1 where there is none: nobody of ours sends more. */
static void take_fd(const struct cmsghdr *c, int *lent)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (*lent < 0)
			*lent = fd;
		else
			close(fd);
	}
}

/* A datagram of our user's, of @n bytes: with its sender and descriptor, -1 where there is none. < 0: none. */
static ssize_t receive(int fd, void *buf, size_t n, struct sender *from, int *lent)
{
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];

	for (;;) {
		struct iovec iov = { buf, n };
		struct msghdr m = { .msg_name = &from->name, .msg_namelen = sizeof(from->name), .msg_iov = &iov,
				    .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl) };
		ssize_t got = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		bool ours = false;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		*lent = -1;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			struct ucred who;

			if (c->cmsg_level != SOL_SOCKET)
				continue;
			if (c->cmsg_type == SCM_RIGHTS)
				take_fd(c, lent);
			if (c->cmsg_type != SCM_CREDENTIALS)
				continue;
			memcpy(&who, CMSG_DATA(c), sizeof(who));
			ours = who.uid == geteuid();
			from->pid = who.pid;
		}
		from->len = m.msg_namelen;
		if (ours)
			return got;
		if (*lent >= 0)
			close(*lent);
	}
}

/* What stands in a datagram: whether a descriptor comes with it. */
static bool lend(int fd, struct sender *to, struct ap_loan l)
{
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &l, sizeof(l) };
	struct msghdr m = { .msg_name = &to->name, .msg_namelen = to->len, .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t went;

	if (l.lent.fd >= 0) {
		struct cmsghdr *c = (struct cmsghdr *)ctl;

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &l.lent.fd, sizeof(int));
		m.msg_control = ctl;
		m.msg_controllen = sizeof(ctl);
	}
	do
		went = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (went < 0 && errno == EINTR);
	return went >= 0;
}

static bool is_rank(const struct ap_card *c, const struct sender *s)
{
	for (uint32_t i = 0; i < c->n_local; i++)
		if (s->pid > 0 && c->rank[i].os_pid == s->pid)
			return s->len > offsetof(struct sockaddr_un, sun_path);
	return false;
}

void ap_bell_hear(int fd, const struct ap_card *card, const struct ap_loan *loans)
{
	struct sender from;
	int lent;
	char c;

	while (receive(fd, &c, 1, &from, &lent) >= 0) {
		if (lent >= 0)
			close(lent);
		if (c != ASK || !is_rank(card, &from))
			continue;
		for (uint32_t i = 0; i < card->nodes; i++)
			if (!lend(fd, &from, loans[i]))		/* it asks again for what is missing */
				break;
	}
}

bool ap_bell_take(int fd, struct ap_loan *l)
{
	struct sender from;
	int lent;

	for (;;) {
		ssize_t n = receive(fd, l, sizeof(*l), &from, &lent);

		if (n < 0)
			return false;
		if (n == sizeof(*l) && (lent >= 0) == (l->lent.fd >= 0)) {
			l->lent.fd = lent;
			return true;
		}
		if (lent >= 0)
			close(lent);
	}
}
