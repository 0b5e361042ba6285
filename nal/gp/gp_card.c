/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * gp_card.c - who listens where: a line from each process to all, when the interface opens
 *
 * Under a launcher by its key-value space, with one barrier. Processes started by hand have none; they are on one
 * machine (virtual nodes), and each answers whoever connects to an abstract socket named for the job and the rank, if
 * it is a process of the same user. Such names vanish with their process.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "gp.h"

static unsigned generation;		/* interfaces opened by this process: keys cannot be given out twice */

int gp_card_print(char *line, size_t len, const char *boot, uint32_t pid, uint32_t uid, uint32_t jid,
		  const struct tcp_place *p)
{
	char who[16] = "-", text[INET6_ADDRSTRLEN];
	int n;

	if (pid != PTL_PID_ANY)
		snprintf(who, sizeof(who), "%u", pid);
	n = snprintf(line, len, "v1/%s/%s/%u/%u/%u/", boot, who, uid, jid, p->port);
	for (uint32_t i = 0; i < p->n && n > 0 && (size_t)n < len; i++)
		n += snprintf(line + n, len - (size_t)n, "%s%s", i ? "," : "",
			      tcp_addr_text(&p->addr[i], text));
	return n > 0 && (size_t)n < len ? 0 : -1;
}

int gp_card_parse(const char *line, const char *boot, struct gp_far *f)
{
	char theirs[64], pid[16], addrs[256], *a, *save = NULL, *end;
	const struct in6_addr lo = tcp_addr_four((struct in_addr){ htonl(INADDR_LOOPBACK) });
	unsigned uid, jid, port;
	int used = 0, code;

	if (sscanf(line, "v1/fail/%d", &code) == 1)
		return code > 0 && code < 100 ? code : -1;
	if (sscanf(line, "v1/%63[^/]/%15[^/]/%u/%u/%u/%255[^/]%n", theirs, pid, &uid, &jid, &port, addrs, &used) != 6 ||
	    line[used] || !port || port > 65535)
		return -1;
	if (!strcmp(pid, "-")) {
		f->id.pid = PTL_PID_ANY;
	} else {
		unsigned long v = strtoul(pid, &end, 10);

		if (*end || end == pid || v >= PTL_PID_ANY)
			return -1;
		f->id.pid = (uint32_t)v;
	}
	f->uid = uid;
	f->jid = jid;
	f->place.port = (uint16_t)port;
	f->place.n = 0;
	/* on the same machine, 127.0.0.1 will do: unless it listens on other loopback addresses */
	if (!strcmp(theirs, boot))
		f->place.addr[f->place.n++] = lo;
	for (a = strtok_r(addrs, ",", &save); a; a = strtok_r(NULL, ",", &save)) {
		struct in6_addr in;

		if (!tcp_addr_parse(a, &in))
			return -1;
		if (tcp_addr_loopback(&in) && (strcmp(theirs, boot) || IN6_ARE_ADDR_EQUAL(&in, &lo)))
			continue;
		if (tcp_addr_loopback(&in) && IN6_ARE_ADDR_EQUAL(&f->place.addr[0], &lo))
			f->place.n = 0;
		if (f->place.n < TCP_ADDRS)
			f->place.addr[f->place.n++] = in;
	}
	return f->place.n ? 0 : -1;
}

/* ---- without a launcher ---- */

static socklen_t socket_name(const struct gp_cards *c, uint32_t rank, struct sockaddr_un *sa)
{
	uint8_t mac[16], b[4];
	int n;

	for (int i = 0; i < 4; i++)
		b[i] = (uint8_t)(rank >> 8 * i);
	tcp_mac(c->key, b, sizeof(b), mac);
	memset(sa, 0, sizeof(*sa));
	sa->sun_family = AF_UNIX;
	n = snprintf(sa->sun_path + 1, sizeof(sa->sun_path) - 1, "p3-gp-%u-", c->uid);
	for (int i = 0; i < 12; i++)
		n += snprintf(sa->sun_path + 1 + n, sizeof(sa->sun_path) - 1 - (size_t)n, "%02x", mac[i]);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static bool same_user(int fd, uint32_t uid)
{
	struct ucred u;
	socklen_t len = sizeof(u);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &len) && u.uid == uid;
}

static void give(struct gp_cards *c, int fd)
{
	const char *say = __atomic_load_n(&c->say, __ATOMIC_ACQUIRE);
	ssize_t n;

	if (same_user(fd, c->uid)) {
		do
			n = send(fd, say, strlen(say), MSG_NOSIGNAL);	/* shorter than its buffer */
		while (n < 0 && errno == EINTR);
		if (n > 0)
			p3_add(&c->served, 1);
	}
	close(fd);
}

/* There is no thread for it: whoever asks within @ms. */
static void give_some(struct gp_cards *c, int ms)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	int fd = poll(&p, 1, ms) > 0 ? accept4(c->fd, NULL, NULL, SOCK_CLOEXEC) : -1;

	if (fd >= 0)
		give(c, fd);
}

static void *serve(void *arg)
{
	struct gp_cards *c = arg;
	int fd;

	/* until gp_cards_close() shuts the socket down (EINVAL), or for good, where it cannot be done at all */
	for (unsigned bad = 0; bad < 1000;) {
		fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0 && (errno == EINVAL || errno == EBADF))
			break;
		if (fd < 0 && errno != EINTR && errno != ECONNABORTED) {	/* EMFILE, perhaps not for long */
			nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
			bad++;
		}
		if (fd >= 0)
			give(c, fd);
	}
	return NULL;
}

void gp_cards_no(struct gp_cards *c, int code)
{
	snprintf(c->no, sizeof(c->no), "v1/fail/%d", code);
	__atomic_store_n(&c->say, c->no, __ATOMIC_RELEASE);
}

static int open_socket(struct gp_cards *c, const struct p3_rt_job *job, char *why, size_t len)
{
	struct sockaddr_un sa;
	socklen_t n = socket_name(c, job->rank, &sa);
	int rc, err;

	for (int tries = 0; c->fd < 0 && tries < 3; tries++) {
		c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (c->fd < 0 || (!bind(c->fd, (struct sockaddr *)&sa, n) && !listen(c->fd, 512)))
			continue;
		err = errno;
		close(c->fd);
		c->fd = -1;
		errno = err;
	}
	if (c->fd < 0) {
		snprintf(why, len, "no socket for this rank: %s%s", strerror(errno),
			 errno == EADDRINUSE ? " (another job has the same maps and PTL_MY_JID)" : "");
		return -1;
	}
	rc = pthread_create(&c->thread, NULL, serve, c);
	if (rc) {		/* the socket is there: we can still say that we cannot start */
		snprintf(why, len, "no thread: %s", strerror(rc));
		gp_cards_no(c, PTL_FAIL);
		return 1;
	}
	c->running = true;
	return 0;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The line of @rank, which may not have come so far. 0, -1 not in time, or errno. */
static int get_by_socket(struct gp_cards *c, uint32_t rank, char *line, size_t len, int timeout_s)
{
	int64_t end = now_ms() + (int64_t)timeout_s * 1000;
	struct sockaddr_un sa;
	socklen_t n = socket_name(c, rank, &sa);
	struct timespec nap = { 0, 2000000 };
	int bad = 0;

	do {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		size_t have = 0;

		if (fd < 0 && ++bad == 3)
			return errno;
		if (fd >= 0 && !connect(fd, (struct sockaddr *)&sa, n) && same_user(fd, c->uid)) {
			struct pollfd p = { .fd = fd, .events = POLLIN };

			while (have < len - 1 && (poll(&p, 1, 5000) > 0 || errno == EINTR)) {
				ssize_t k = recv(fd, line + have, len - 1 - have, 0);

				if (k < 0 && errno == EINTR)
					continue;
				if (k < 0)
					have = 0;
				if (k <= 0)
					break;
				have += (size_t)k;
			}
		}
		if (fd >= 0)
			close(fd);
		line[have] = 0;
		if (have)
			return 0;
		if (c->running)
			nanosleep(&nap, NULL);
		else
			give_some(c, (int)(nap.tv_nsec / 1000000));
		if (nap.tv_nsec < 50000000)
			nap.tv_nsec *= 2;
	} while (now_ms() < end);
	return -1;
}

static void key_of(char *s, size_t len, uint32_t rank)
{
	snprintf(s, len, "p3-gp-%u-%u", generation, rank);
}

/*
 * ---- many ranks, with a launcher ----
 *
 * Each question takes the launcher a while, and all ranks ask for all of other nodes. So the first of each BUNDLE ranks
 * asks for the lines of these, and gives them out as one; a second barrier.
 */

#define BUNDLE		8
#define BUNDLED_FROM	64	/* ranks of the job */

static void bundle_key(char *s, size_t len, uint32_t n)
{
	snprintf(s, len, "p3-gpb-%u-%u", generation, n);
}

/* What does not fit, or is missing, is left out: an empty line. */
static void bundle_put(const struct p3_rt_job *job)
{
	char key[40], line[512], all[1024] = "-";
	size_t at = 0;

	for (uint32_t r = job->rank; r < job->size && r < job->rank + BUNDLE; r++) {
		key_of(key, sizeof(key), r);
		if (p3_rt_get_value(key, line, sizeof(line)))
			line[0] = 0;
		if (at + strlen(line) + BUNDLE + 1 < sizeof(all))
			at += (size_t)snprintf(all + at, sizeof(all) - at, "%s;", line);
		else
			at += (size_t)snprintf(all + at, sizeof(all) - at, ";");
	}
	bundle_key(key, sizeof(key), job->rank / BUNDLE);
	p3_rt_put(key, all);
}

/* The line of @rank from its bundle. False: it has to be asked for by itself. */
static bool bundle_get(struct gp_cards *c, uint32_t rank, char *line, size_t len)
{
	const char *p = c->bundle;
	char key[40];
	size_t n;

	if (c->bundle_of != rank / BUNDLE + 1) {
		c->bundle_of = 0;
		bundle_key(key, sizeof(key), rank / BUNDLE);
		if (p3_rt_get_value(key, c->bundle, sizeof(c->bundle)))
			return false;
		c->bundle_of = rank / BUNDLE + 1;
	}
	for (uint32_t i = rank % BUNDLE; i; i--) {
		p = strchr(p, ';');
		if (!p)
			return false;
		p++;
	}
	n = strcspn(p, ";");
	if (!n || !p[n] || n >= len)
		return false;
	memcpy(line, p, n);
	line[n] = 0;
	return true;
}

/* ---- either way ---- */

int gp_cards_open(struct gp_cards *c, const struct p3_rt_job *job, const char *line, char *why, size_t len)
{
	char key[40];

	c->fd = -1;
	c->uid = job->uid;
	generation++;
	memcpy(c->key, job->key, sizeof(c->key));
	c->key[0] ^= (uint8_t)generation;		/* the socket of an interface before may still be closing */
	c->key[1] ^= (uint8_t)(generation >> 8);
	snprintf(c->line, sizeof(c->line), "%s", line);
	c->say = c->line;
	if (!p3_rt_has_kvs(job))
		return open_socket(c, job, why, len);
	key_of(key, sizeof(key), job->rank);
	if (p3_rt_put(key, line) || p3_rt_barrier()) {
		snprintf(why, len, "telling the other nodes where we listen: the launcher refused, "
			 "or a rank has ended");
		return -1;
	}
	c->bundle_of = 0;
	if (job->size < BUNDLED_FROM)
		return 0;
	if (job->rank % BUNDLE == 0)
		bundle_put(job);
	if (p3_rt_barrier()) {
		snprintf(why, len, "telling the other nodes where we listen: a rank has ended");
		return -1;
	}
	return 0;
}

int gp_cards_get(struct gp_cards *c, const struct p3_rt_job *job, uint32_t rank, char *line, size_t len, int timeout_s,
		 char *why, size_t whylen)
{
	char key[40];
	int rc;

	if (p3_rt_has_kvs(job) && job->size >= BUNDLED_FROM && bundle_get(c, rank, line, len))
		return 0;
	key_of(key, sizeof(key), rank);
	rc = p3_rt_has_kvs(job) ? p3_rt_get_value(key, line, len) : get_by_socket(c, rank, line, len, timeout_s);
	if (rc > 0)
		snprintf(why, whylen, "asking rank %u of node %u where it listens: %s", rank, job->node_of[rank],
			 strerror(rc));
	else if (rc)
		snprintf(why, whylen, "rank %u of node %u has not said where it listens%s", rank, job->node_of[rank],
			 p3_rt_has_kvs(job) ? "" : " (has every rank called PtlNIInit?)");
	return rc ? -1 : 0;
}

void gp_cards_given(struct gp_cards *c, uint32_t n, int timeout_s, int64_t (*meanwhile)(void *arg), void *arg)
{
	int64_t end = now_ms() + (int64_t)timeout_s * 1000, left;
	struct timespec nap = { 0, 1000000 };

	while (c->fd >= 0 && p3_load(&c->served) < n && (left = end - now_ms()) > 0) {
		if (c->running)
			nanosleep(&nap, NULL);
		else
			give_some(c, left < 20 ? (int)left : 20);
		if (meanwhile)
			meanwhile(arg);
	}
}

void gp_cards_close(struct gp_cards *c)
{
	if (c->fd >= 0)
		shutdown(c->fd, SHUT_RDWR);
	if (c->running)
		pthread_join(c->thread, NULL);
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->running = false;
}
