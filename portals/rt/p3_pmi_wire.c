/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmi_wire.c - the connection that PMI-1 and PMI-2 have in common: found, made, written to and read
 *
 * Invariant: no byte beyond the end of an answer is ever taken from the socket: a line's end is found by
 * MSG_PEEK first, the others say their length. After a timeout or a malformed answer the stream has no known
 * state, so the connection is given up (fd = -1) and all later calls return -EPIPE.
 */
#include "config.h"

#include "p3_pmi_in.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int p3_pmi_fail(struct p3_pmi *p, int code, const char *what)
{
	snprintf(p->err, sizeof(p->err), "%s", what);
	return code;
}

int p3_pmi_give_up(struct p3_pmi *p, int code, const char *what)
{
	if (p->own_fd && p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	return p3_pmi_fail(p, code, what);
}

int p3_pmi_same_file(const struct p3_pmi *p)
{
	struct stat st;

	return p->fd >= 0 && p->pid == getpid() && !fstat(p->fd, &st) && st.st_dev == p->dev && st.st_ino == p->ino;
}

int p3_pmi_send(struct p3_pmi *p, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = send(p->fd, buf, len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
			struct pollfd f = { p->fd, POLLOUT, 0 };

			poll(&f, 1, 1000);
			continue;
		}
		if (n <= 0)
			return -EPIPE;
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Up to @room bytes, but with @line never past a newline. >0 bytes, 0 end of stream, -1 errno. */
static ssize_t take(int fd, char *buf, size_t room, int line)
{
	ssize_t n = recv(fd, buf, room, MSG_PEEK);
	const char *nl;

	if (n <= 0)
		return n;
	nl = line ? memchr(buf, '\n', (size_t)n) : NULL;
	return recv(fd, buf, nl ? (size_t)(nl - buf) + 1 : (size_t)n, 0);
}

/* As poll(). */
static int wait_for_input(struct p3_pmi *p, int timeout_ms)
{
	struct pollfd f = { p->fd, POLLIN, 0 };
	int k;

	if (!p->meantime || timeout_ms >= 0)
		return poll(&f, 1, timeout_ms);
	do {
		int64_t ns = p->meantime(p->arg);
		struct timespec t = { ns / 1000000000, ns % 1000000000 };

		k = ppoll(&f, 1, &t, NULL);
	} while (!k);
	return k;
}

/* Until @buf is full, or with @line a newline has come, which becomes its end. */
static int read_until(struct p3_pmi *p, char *buf, size_t len, int line, int timeout_ms)
{
	int64_t end = p3_pmi_now_ms() + timeout_ms;
	size_t have = 0;

	while (have < len) {
		int64_t left = end - p3_pmi_now_ms();
		int k = wait_for_input(p, timeout_ms < 0 ? -1 : left > 0 ? (int)left : 0);
		ssize_t n;

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k ? -EPIPE : -ETIMEDOUT;
		n = take(p->fd, buf + have, len - have, line);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return -EPIPE;
		have += (size_t)n;
		if (line && buf[have - 1] == '\n') {
			buf[have - 1] = 0;
			return 0;
		}
	}
	return line ? -EPROTO : 0;
}

int p3_pmi_read_line(struct p3_pmi *p, char *line, size_t len, int timeout_ms)
{
	return read_until(p, line, len, 1, timeout_ms);
}

int p3_pmi_read_bytes(struct p3_pmi *p, char *buf, size_t len, int timeout_ms)
{
	return read_until(p, buf, len, 0, timeout_ms);
}

int p3_pmi_field(const char *line, char sep, const char *key, char *value, size_t len)
{
	const char ends[] = { sep, 0 };
	size_t k = strlen(key);

	while (*line) {
		size_t n;

		while (*line == sep)
			line++;
		n = strcspn(line, ends);
		if (n > k && !strncmp(line, key, k) && line[k] == '=') {
			if (n - k - 1 >= len)
				return -1;
			memcpy(value, line + k + 1, n - k - 1);
			value[n - k - 1] = 0;
			return 0;
		}
		line += n;
	}
	return -1;
}

int p3_pmi_int(const char *line, char sep, const char *key, int *out)
{
	char v[24], *end;
	long n;

	if (p3_pmi_field(line, sep, key, v, sizeof(v)))
		return -1;
	errno = 0;
	n = strtol(v, &end, 10);
	if (errno || end == v || *end || n < -0x7fffffff || n > 0x7fffffff)
		return -1;
	*out = (int)n;
	return 0;
}

int p3_pmi_mine(struct p3_pmi *p)
{
	if (p->fd < 0)
		return -EPIPE;
	if (p->pid && p->pid != getpid())	/* the connection is the parent's */
		return p3_pmi_fail(p, -EPIPE, "this is a forked child: the launcher knows only its parent");
	return 0;
}

void p3_pmi_await_end(struct p3_pmi *p)
{
	int64_t end = p3_pmi_now_ms() + P3_PMI_END_MS, left;
	char c;

	while ((left = end - p3_pmi_now_ms()) > 0 && !p3_pmi_read_bytes(p, &c, 1, (int)left))
		;
}

int p3_pmi_no_answer(struct p3_pmi *p, int rc, const char *what, int timeout_ms)
{
	char text[200];

	if (rc == -EPROTO)
		return p3_pmi_give_up(p, rc, "the launcher sent a line that is too long for PMI-1");
	if (rc != -ETIMEDOUT)
		return p3_pmi_give_up(p, rc, "the launcher closed the PMI connection");
	snprintf(text, sizeof(text), "the launcher did not answer '%.40s' within %d ms", what, timeout_ms);
	return p3_pmi_give_up(p, rc, text);
}

int p3_pmi_ask(struct p3_pmi *p, const char *req, const char *cmd, char *line, size_t len, int timeout_ms)
{
	char got[64], what[200];
	int rc = p3_pmi_mine(p);

	if (rc)
		return rc;
	rc = p3_pmi_send(p, req, strlen(req));
	if (!rc)
		rc = p3_pmi_read_line(p, line, len, timeout_ms);
	if (rc)
		return p3_pmi_no_answer(p, rc, cmd, timeout_ms);
	if (p3_pmi_field(line, ' ', "cmd", got, sizeof(got)) || strcmp(got, cmd)) {
		snprintf(what, sizeof(what), "the launcher answered '%.60s' where PMI-1 has '%.40s'", line, cmd);
		return p3_pmi_give_up(p, -EPROTO, what);
	}
	return 0;
}

int p3_pmi_env_int(const char *name, int *out)
{
	const char *v = getenv(name);
	char *end;
	long n;

	if (!v)
		return 1;
	errno = 0;
	n = strtol(v, &end, 10);
	if (errno || end == v || *end || n < 0 || n > 0x7fffffff)
		return -1;
	*out = (int)n;
	return 0;
}

static int connect_port(struct p3_pmi *p, const char *hostport, int id, int timeout_ms)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL, *a;
	char host[256], self[256] = "", req[64], line[P3_PMI_LINE];
	const char *colon = strrchr(hostport, ':');
	int rc;

	if (!colon || colon == hostport || (size_t)(colon - hostport) >= sizeof(host))
		return p3_pmi_fail(p, -1, "PMI_PORT is not of the form host:port");
	memcpy(host, hostport, (size_t)(colon - hostport));
	host[colon - hostport] = 0;
	/* this machine need not be able to look up its own name */
	if (!gethostname(self, sizeof(self) - 1) && !strcmp(host, self))
		strcpy(host, "localhost");
	if (getaddrinfo(host, colon + 1, &hints, &list) &&
	    (strcmp(host, "localhost") || getaddrinfo("127.0.0.1", colon + 1, &hints, &list)))
		return p3_pmi_fail(p, -1, "the host of PMI_PORT has no address");
	for (a = list; a; a = a->ai_next) {
		p->fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (p->fd >= 0 && !connect(p->fd, a->ai_addr, a->ai_addrlen))
			break;
		if (p->fd >= 0)
			close(p->fd);
		p->fd = -1;
	}
	freeaddrinfo(list);
	if (p->fd < 0)
		return p3_pmi_fail(p, -1, "could not connect to PMI_PORT");
	p->own_fd = 1;
	snprintf(req, sizeof(req), "cmd=initack pmiid=%d\n", id);
	if (p3_pmi_ask(p, req, "initack", line, sizeof(line), timeout_ms))
		return -1;
	for (int i = 0; i < 3; i++) {	/* size, rank, debug; in this order in all launchers, not relied upon */
		rc = p3_pmi_read_line(p, line, sizeof(line), timeout_ms);
		if (rc)
			return p3_pmi_give_up(p, -1, "the launcher stopped during the PMI_PORT hand-shake");
		p3_pmi_int(line, ' ', "size", &p->size);
		p3_pmi_int(line, ' ', "rank", &p->rank);
	}
	return 0;
}

int p3_pmi_fd_open(void)
{
	struct stat st;
	int fd;

	return !p3_pmi_env_int("PMI_FD", &fd) && !fstat(fd, &st) && S_ISSOCK(st.st_mode);
}

int p3_pmi_connect(struct p3_pmi *p, int timeout_ms)
{
	static const char outside[] = "the launcher's rank is outside 0 .. size-1 (PMI_RANK, PMI_SIZE)";
	struct stat st;
	int id;

	p->fd = -1;
	p->rank = p->size = -1;
	if (p3_pmi_env_int("PMI_RANK", &p->rank) < 0 || p3_pmi_env_int("PMI_SIZE", &p->size) < 0)
		return p3_pmi_fail(p, -1, "PMI_RANK or PMI_SIZE is not a number");
	if (getenv("PMI_FD") && (p->size < 1 || p->rank >= p->size))
		return p3_pmi_fail(p, -1, outside);
	if (getenv("PMI_FD")) {
		if (p3_pmi_env_int("PMI_FD", &p->fd))
			return p3_pmi_fail(p, -1, "PMI_FD is not a number");
		/* ours was closed, a file may have the number now */
		if (fstat(p->fd, &st) || !S_ISSOCK(st.st_mode)) {
			p->fd = -1;
			return p3_pmi_fail(p, -1,
				"PMI_FD is not an open socket; a program that a rank has started is no rank: unset "
				    "PMI_FD, PMI_RANK and PMI_SIZE to run it alone");
		}
		fcntl(p->fd, F_SETFD, FD_CLOEXEC);	/* programs that this rank starts must not speak for it */
	} else {
		if (p3_pmi_env_int("PMI_ID", &id))
			return p3_pmi_fail(p, -1, "PMI_ID is not a number");
		if (connect_port(p, getenv("PMI_PORT"), id, timeout_ms))
			return -1;
		if (fstat(p->fd, &st))
			return p3_pmi_give_up(p, -1, "fstat of the PMI connection failed");
	}
	if (p->size < 1 || p->size > 1 << 24 || p->rank < 0 || p->rank >= p->size)
		return p3_pmi_give_up(p, -1, outside);
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	p->pid = getpid();
	return 0;
}

