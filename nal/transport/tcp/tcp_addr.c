/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tcp_addr.c - addresses of both kinds as one: a struct in6_addr, in which an IPv4 address is ::ffff:a.b.c.d
 *
 * That is for our tables only. Sockets are of the kind of the address, so that a kernel without IPv6 does.
 */
#include "config.h"

#include "tcp.h"

#include <arpa/inet.h>
#include <string.h>

bool tcp_addr_parse(const char *text, struct in6_addr *a)
{
	struct in_addr four;

	if (inet_pton(AF_INET, text, &four) != 1)
		return inet_pton(AF_INET6, text, a) == 1;
	*a = tcp_addr_four(four);
	return true;
}

const char *tcp_addr_text(const struct in6_addr *a, char text[INET6_ADDRSTRLEN])
{
	return IN6_IS_ADDR_V4MAPPED(a) ? inet_ntop(AF_INET, a->s6_addr + 12, text, INET6_ADDRSTRLEN) :
		inet_ntop(AF_INET6, a, text, INET6_ADDRSTRLEN);
}

bool tcp_addr_loopback(const struct in6_addr *a)
{
	return IN6_IS_ADDR_LOOPBACK(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == IN_LOOPBACKNET);
}

struct in6_addr tcp_addr_four(struct in_addr four)
{
	struct in6_addr a = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	memcpy(a.s6_addr + 12, &four, sizeof(four));
	return a;
}

/* The first @bits of both are the same, and they are of one kind: @bits counts as people count for it. */
bool tcp_addr_in(const struct in6_addr *a, const struct in6_addr *net, unsigned bits)
{
	if (!IN6_IS_ADDR_V4MAPPED(a) != !IN6_IS_ADDR_V4MAPPED(net))
		return false;
	if (IN6_IS_ADDR_V4MAPPED(net))
		bits += 96;
	return !memcmp(a->s6_addr, net->s6_addr, bits / 8) &&
	       (!(bits % 8) || !((a->s6_addr[bits / 8] ^ net->s6_addr[bits / 8]) >> (8 - bits % 8)));
}

/* What a socket says of an address; false: of another kind. */
bool tcp_addr_of(const struct sockaddr_storage *sa, struct in6_addr *a, uint16_t *port)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)sa;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)sa;

	if (sa->ss_family == AF_INET6) {
		*a = six->sin6_addr;
		*port = ntohs(six->sin6_port);
	} else if (sa->ss_family == AF_INET) {
		*a = tcp_addr_four(four->sin_addr);
		*port = ntohs(four->sin_port);
	}
	return sa->ss_family == AF_INET6 || sa->ss_family == AF_INET;
}

socklen_t tcp_addr_socket(const struct in6_addr *a, uint16_t port, struct sockaddr_storage *to)
{
	struct sockaddr_in *four = (struct sockaddr_in *)to;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof(*to));
	if (IN6_IS_ADDR_V4MAPPED(a)) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		memcpy(&four->sin_addr, a->s6_addr + 12, sizeof(four->sin_addr));
		return sizeof(*four);
	}
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(port);
	six->sin6_addr = *a;
	return sizeof(*six);
}
