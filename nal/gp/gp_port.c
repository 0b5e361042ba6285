/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * gp_port.c - where a process listens: devices (PTL_IFACE) and TCP ports (PTL_PID2PORT_FILE, PTL_DEF_PORTLIST)
 *
 * The reference implementation needs both to find its peers. Here each process tells the others where it listens
 * (gp_card.c), so they only say what may be used: on machines whose firewall lets some ports through. A process id
 * that the file has takes its port or none; others take the first free one of the list, or any.
 */
#include "config.h"

#include "gp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "p3_knobs.h"

static const char *number(const char *s, unsigned long max, unsigned long *v)
{
	char *end;

	if (*s < '0' || *s > '9')
		return NULL;
	errno = 0;
	*v = strtoul(s, &end, 10);
	return errno || *v > max ? NULL : end;
}

/* "a:b-c:d". Ports beyond @max are left out. */
static int list(const char *s, uint16_t *port, int max)
{
	int n = 0;

	for (;; s++) {
		unsigned long from, to;

		s = number(s, 65535, &from);
		to = from;
		if (s && *s == '-')
			s = number(s + 1, 65535, &to);
		if (!s || !from || to < from || (*s && *s != ':'))
			return -1;
		for (; from <= to && n < max; from++)
			port[n++] = (uint16_t)from;
		if (!*s)
			return n;
	}
}

/* The port of @pid in the file; 0: it has none; -1: the file cannot be read, or is no such file. */
static int in_file(const char *name, uint32_t pid, char *why, size_t len)
{
	FILE *f = fopen(name, "re");
	char line[256];
	int found = 0;

	if (!f) {
		snprintf(why, len, "PTL_PID2PORT_FILE=%.80s: %s", name, strerror(errno));
		return -1;
	}
	for (unsigned at = 1; fgets(line, sizeof(line), f); at++) {
		const char *s = line + strspn(line, " \t");
		unsigned long id, port;

		if (*s == '#' || !s[strspn(s, " \t\r\n")])
			continue;
		s = number(s, UINT32_MAX, &id);
		s = s && (*s == ' ' || *s == '\t') ? number(s + strspn(s, " \t"), 65535, &port) : NULL;
		if (!s || !port || s[strspn(s, " \t\r\n")]) {
			snprintf(why, len, "PTL_PID2PORT_FILE=%.80s: line %u is not a process id and a port", name, at);
			found = -1;
			break;
		}
		if (id == pid && !found)
			found = (int)port;
	}
	fclose(f);
	return found;
}

int gp_ports(const char *file, const char *portlist, uint32_t pid, uint16_t *port, int max, char *why, size_t len)
{
	int n;

	if (strcmp(file, "none")) {
		n = in_file(file, pid, why, len);
		if (n < 0)
			return -1;
		if (n) {
			port[0] = (uint16_t)n;
			return 1;
		}
	}
	if (!strcmp(portlist, "any")) {
		port[0] = 0;
		return 1;
	}
	n = list(portlist, port, max);
	if (n < 0)
		snprintf(why, len, "PTL_DEF_PORTLIST=%.80s: must be ports from 1 to 65535, or ranges of them, "
			 "colon separated", portlist);
	return n;
}

int gp_places(const struct p3_rt_job *job, struct tcp_place *p, struct in_addr *bind_to, char *why, size_t len)
{
	const char *name = p3_knobs_get(NULL)->iface;
	struct ifaddrs *list, *a;

	p->n = 0;
	bind_to->s_addr = htonl(INADDR_LOOPBACK);
	if (!strcmp(name, "any"))
		name = NULL;
	if (!job->machines && !name) {
		p->addr[p->n++] = *bind_to;
		return 0;
	}
	if (getifaddrs(&list)) {
		snprintf(why, len, "the network devices are not told: %s", strerror(errno));
		return -1;
	}
	for (a = list; a; a = a->ifa_next) {
		struct in_addr in;

		if (!a->ifa_addr || a->ifa_addr->sa_family != AF_INET || !(a->ifa_flags & IFF_UP) || p->n == TCP_ADDRS)
			continue;
		in = ((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr;
		if (name ? !strcmp(a->ifa_name, name) : !(a->ifa_flags & IFF_LOOPBACK))
			p->addr[p->n++] = in;
	}
	freeifaddrs(list);
	if (!p->n && name) {
		snprintf(why, len, "PTL_IFACE=%.40s: no such device is up and has an IPv4 address", name);
		return -1;
	}
	if (!p->n)		/* the launcher's nodes are on this machine, or there is no network */
		p->addr[p->n++] = *bind_to;
	else
		bind_to->s_addr = name ? p->addr[0].s_addr : htonl(INADDR_ANY);
	return 0;
}
