/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* tcp_listen.c - sockets to be listened at, and what can be reached; see tcp.h */
#include "tcp_int.h"

#define ANY_PORT	8		/* ports of the system's choice, until one is free on all addresses */

/* A listening socket, or -errno. Two that bind at once both succeed, given SO_REUSEADDR: listen() tells. */
static int listen_at(const struct in6_addr *addr, uint16_t port)
{
	struct sockaddr_storage sa;
	socklen_t len = tcp_addr_socket(addr, port, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), rc;

	if (fd < 0)
		return -errno;
	if (port)	/* connections of a job before may still be in TIME_WAIT there */
		tcp_set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (sa.ss_family == AF_INET6)	/* everywhere is both kinds; another is what it says */
		tcp_set(fd, IPPROTO_IPV6, IPV6_V6ONLY, !IN6_IS_ADDR_UNSPECIFIED(addr));
	if (!bind(fd, (struct sockaddr *)&sa, len) && !listen(fd, SOMAXCONN))
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage sa;
	socklen_t len = sizeof(sa);
	struct in6_addr a;
	uint16_t port;

	return !getsockname(fd, (struct sockaddr *)&sa, &len) && tcp_addr_of(&sa, &a, &port) ? port : 0;
}

/* At all of @at: 0, or -errno and nothing is open. *@port: 0 becomes what the system has chosen for the first. */
static int listen_all(const struct tcp_bind *at, uint16_t *port, int *fds)
{
	const struct in6_addr four_any = tcp_addr_four((struct in_addr){ htonl(INADDR_ANY) });
	uint32_t n;
	int fd = 0;

	for (n = 0; n < at->n; n++) {
		fd = listen_at(&at->addr[n], *port);
		if (fd == -EAFNOSUPPORT && IN6_IS_ADDR_UNSPECIFIED(at->addr))
			fd = listen_at(&four_any, *port);
		if (fd < 0)
			break;
		fds[n] = fd;
		if (!*port)
			*port = port_of(fd);
	}
	if (n == at->n)
		return at->n ? 0 : -EADDRNOTAVAIL;
	while (n)
		close(fds[--n]);
	return fd;
}

int tcp_listen(const struct tcp_bind *at, const uint16_t *ports, int n, uint16_t *port, int fds[TCP_ADDRS])
{
	int rc = -EADDRINUSE;

	for (int i = 0; i < n && rc; i++)
		for (int tries = ports[i] ? 1 : ANY_PORT; tries-- && rc;) {	/* free on the first, not on another */
			*port = ports[i];
			rc = listen_all(at, port, fds);
		}
	return rc ? rc : (int)at->n;
}

int tcp_reach(const struct in6_addr *addr)
{
	struct sockaddr_storage sa;
	socklen_t len = tcp_addr_socket(addr, 9, &sa);
	int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	/* sends nothing: is there a way? What is short now says nothing about that */
	if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, len) && !tcp_try_again(errno))
		err = errno;
	if (fd >= 0)
		close(fd);
	return err;
}
