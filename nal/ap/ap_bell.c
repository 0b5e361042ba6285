/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * ap_bell.c - waking an engine that sleeps in epoll
 *
 * A datagram socket with an abstract name that follows from the job's key: no descriptor has to be passed, and an
 * engine that is started anew binds the same name. What comes in is never looked at: whoever rings makes the engine
 * look at its rings, no more.
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
	struct sockaddr_un sa;
	socklen_t len = name(c, &sa);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
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

void ap_bell_ring(int fd)
{
	/* full: it has been rung already; refused: the engine is dead, which is seen elsewhere */
	while (send(fd, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EINTR)
		;
}

void ap_bell_hear(int fd)
{
	char c[16];

	while (recv(fd, c, sizeof(c), MSG_DONTWAIT) >= 0 || errno == EINTR)
		;
}
