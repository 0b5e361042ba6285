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

/* One entry of PTL_IFACE: a device, an address, or the addresses that begin alike. */
struct choice {
	char name[64];			/* device; empty: */
	struct in6_addr net;
	unsigned bits;
};

/* The next entry of a list with commas, or NULL: it is none. */
static const char *choice(const char *s, struct choice *c)
{
	size_t n = strcspn(s, ",");
	unsigned long bits;
	char *slash;

	if (!n || n >= sizeof(c->name))
		return NULL;
	memcpy(c->name, s, n);
	c->name[n] = '\0';
	s += n;
	slash = strchr(c->name, '/');
	if (slash)
		*slash = '\0';
	if (tcp_addr_parse(c->name, &c->net)) {
		c->bits = IN6_IS_ADDR_V4MAPPED(&c->net) ? 32 : 128;
		if (slash) {
			slash = (char *)number(slash + 1, c->bits, &bits);
			if (!slash || *slash)
				return NULL;
			c->bits = (unsigned)bits;
		}
		c->name[0] = '\0';
	} else if (slash) {
		return NULL;
	}
	return s;
}

/* An address of a device that is up, and that others can use: not one that means something else on each device. */
static bool usable(const struct ifaddrs *a, struct in6_addr *out)
{
	if (!a->ifa_addr || !(a->ifa_flags & IFF_UP))
		return false;
	if (a->ifa_addr->sa_family == AF_INET)
		*out = tcp_addr_four(((struct sockaddr_in *)(void *)a->ifa_addr)->sin_addr);
	else if (a->ifa_addr->sa_family == AF_INET6)
		*out = ((struct sockaddr_in6 *)(void *)a->ifa_addr)->sin6_addr;
	else
		return false;
	return !IN6_IS_ADDR_LINKLOCAL(out);
}

static void add(struct tcp_place *p, const struct in6_addr *a)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (IN6_ARE_ADDR_EQUAL(&p->addr[i], a))
			return;
	if (p->n < TCP_ADDRS)
		p->addr[p->n++] = *a;
}

/* All that @c names; its whole network is ours where it is the loopback's. */
static void choose(struct tcp_place *p, const struct ifaddrs *list, const struct choice *c)
{
	struct in6_addr in;

	if (!c->name[0] && c->bits == 32 && IN6_IS_ADDR_V4MAPPED(&c->net) && tcp_addr_loopback(&c->net)) {
		add(p, &c->net);
		return;
	}
	for (const struct ifaddrs *a = list; a; a = a->ifa_next)
		if (usable(a, &in) && (c->name[0] ? !strcmp(a->ifa_name, c->name) : tcp_addr_in(&in, &c->net, c->bits)))
			add(p, &in);
}

/* What there is instead. */
static void tell_devices(const struct ifaddrs *list, const char *text, char *why, size_t len)
{
	char addr[INET6_ADDRSTRLEN];
	struct in6_addr in;
	int n = snprintf(why, len, "PTL_IFACE=%.60s: no device that is up has such a name or address; there are", text);
	bool any = false;

	for (const struct ifaddrs *a = list; a && n > 0 && (size_t)n < len; a = a->ifa_next)
		if (usable(a, &in)) {
			n += snprintf(why + n, len - (size_t)n, "%s %s %s", any ? "," : "", a->ifa_name,
				      tcp_addr_text(&in, addr));
			any = true;
		}
	if (!any && n > 0 && (size_t)n < len)
		snprintf(why + n, len - (size_t)n, " none");
}

/* @c: of the list of PTL_IFACE, one after the other. */
static int named(struct tcp_place *p, const struct ifaddrs *list, const char *text, char *why, size_t len)
{
	struct choice c;

	for (const char *s = text;; s++) {
		s = choice(s, &c);
		if (!s) {
			snprintf(why, len, "PTL_IFACE=%.60s: must be devices, addresses or networks such as 10.0.0.0/8 "
				 "or 2001:db8::/32, comma separated", text);
			return -1;
		}
		choose(p, list, &c);
		if (!*s)
			break;
	}
	if (p->n)
		return 0;
	tell_devices(list, text, why, len);
	return -1;
}

int gp_places(const struct p3_rt_job *job, struct tcp_place *p, struct tcp_bind *bind_to, char *why, size_t len)
{
	const char *name = p3_knobs_get(NULL)->iface;
	const struct in6_addr lo = tcp_addr_four((struct in_addr){ htonl(INADDR_LOOPBACK) });
	struct in6_addr in;
	struct ifaddrs *list;
	int rc = 0;

	p->n = 0;
	*bind_to = (struct tcp_bind){ .n = 1, .addr = { lo } };
	if (!strcmp(name, "any"))
		name = NULL;
	if (!job->machines && !name) {
		add(p, &lo);
		return 0;
	}
	if (getifaddrs(&list)) {
		snprintf(why, len, "the network devices are not told: %s", strerror(errno));
		return -1;
	}
	if (name) {
		rc = named(p, list, name, why, len);
		bind_to->n = p->n;
		memcpy(bind_to->addr, p->addr, sizeof(p->addr));
	} else {
		for (int six = 0; six < 2; six++)	/* most networks have IPv4 at least */
			for (const struct ifaddrs *a = list; a; a = a->ifa_next)
				if (usable(a, &in) && !(a->ifa_flags & IFF_LOOPBACK) &&
				    (IN6_IS_ADDR_V4MAPPED(&in) ? !six : six))
					add(p, &in);
		if (p->n)
			bind_to->addr[0] = in6addr_any;
		else		/* the launcher's nodes are on this machine, or there is no network */
			add(p, &lo);
	}
	freeifaddrs(list);
	return rc;
}
