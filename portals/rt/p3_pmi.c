/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_pmi.c - PMI-1 on the wire
 *
 * Invariant: no byte beyond the line that ends an answer is ever taken from the socket: its end is found by MSG_PEEK
 * first. After a timeout or a malformed answer the
 * stream has no known state, so the connection is given up (fd = -1) and all later calls return -EPIPE.
 *
 * Another client in the process may have sent "init" already; launchers accept it again. "finalize" makes the
 * launcher close its end, so it is sent once, by whoever owns the connection (p3_rt.c decides).
 */
#include "config.h"

#include "p3_pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int fail(struct p3_pmi *p, int code, const char *what)
{
	snprintf(p->err, sizeof(p->err), "%s", what);
	return code;
}

static int give_up(struct p3_pmi *p, int code, const char *what)
{
	if (p->own_fd && p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	return fail(p, code, what);
}

static int same_file(const struct p3_pmi *p)
{
	struct stat st;

	return p->fd >= 0 && p->pid == getpid() && !fstat(p->fd, &st) && st.st_dev == p->dev && st.st_ino == p->ino;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int send_all(struct p3_pmi *p, const char *buf, size_t len)
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

/* Up to @room bytes, but never past a newline. >0 bytes, 0 end of stream, -1 errno. */
static ssize_t take(int fd, char *buf, size_t room)
{
	ssize_t n = recv(fd, buf, room, MSG_PEEK);
	const char *nl;

	if (n <= 0)
		return n;
	nl = memchr(buf, '\n', (size_t)n);
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

/* One line without its newline. 0, -ETIMEDOUT, -EPIPE, -EPROTO (too long). */
static int read_line(struct p3_pmi *p, char *line, size_t len, int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms;
	size_t have = 0;

	for (;;) {
		int64_t left = end - now_ms();
		int k = wait_for_input(p, timeout_ms < 0 ? -1 : left > 0 ? (int)left : 0);
		ssize_t n;

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k ? -EPIPE : -ETIMEDOUT;
		n = take(p->fd, line + have, len - have);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return -EPIPE;
		have += (size_t)n;
		if (line[have - 1] == '\n') {
			line[have - 1] = 0;
			return 0;
		}
		if (have == len)
			return -EPROTO;
	}
}

int p3_pmi_field(const char *line, const char *key, char *value, size_t len)
{
	size_t k = strlen(key);

	while (*line) {
		size_t n;

		while (*line == ' ')
			line++;
		n = strcspn(line, " ");
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

static int field_int(const char *line, const char *key, int *out)
{
	char v[24], *end;
	long n;

	if (p3_pmi_field(line, key, v, sizeof(v)))
		return -1;
	errno = 0;
	n = strtol(v, &end, 10);
	if (errno || end == v || *end || n < -0x7fffffff || n > 0x7fffffff)
		return -1;
	*out = (int)n;
	return 0;
}

/* Send @req, read the answer, which must be @cmd. 0 or -errno; the answer is in @line. */
static int ask(struct p3_pmi *p, const char *req, const char *cmd, char *line, size_t len, int timeout_ms)
{
	char got[64], what[200];
	int rc;

	if (p->fd < 0)
		return -EPIPE;
	if (p->pid && p->pid != getpid())	/* the connection is the parent's */
		return fail(p, -EPIPE, "this is a forked child: the launcher knows only its parent");
	rc = send_all(p, req, strlen(req));
	if (!rc)
		rc = read_line(p, line, len, timeout_ms);
	if (rc == -ETIMEDOUT) {
		snprintf(what, sizeof(what), "the launcher did not answer '%.40s' within %d ms", cmd, timeout_ms);
		return give_up(p, rc, what);
	}
	if (rc == -EPROTO)
		return give_up(p, rc, "the launcher sent a line that is too long for PMI-1");
	if (rc)
		return give_up(p, rc, "the launcher closed the PMI connection");
	if (p3_pmi_field(line, "cmd", got, sizeof(got)) || strcmp(got, cmd)) {
		snprintf(what, sizeof(what), "the launcher answered '%.60s' where PMI-1 has '%.40s'", line, cmd);
		return give_up(p, -EPROTO, what);
	}
	return 0;
}

static int env_int(const char *name, int *out)
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

int p3_pmi_present(char *err, size_t errlen)
{
	int fd = getenv("PMI_FD") != NULL, port = getenv("PMI_PORT") != NULL, id = getenv("PMI_ID") != NULL;
	int rank = getenv("PMI_RANK") != NULL, size = getenv("PMI_SIZE") != NULL;

	if (fd) {
		if (rank && size)
			return 1;
		snprintf(err, errlen, "PMI_FD is set but %s not: start the job with aprun or mpiexec, or unset PMI_FD "
			 "to run alone", rank ? "PMI_SIZE is" : size ? "PMI_RANK is" : "PMI_RANK and PMI_SIZE are");
		return -1;
	}
	if (port && id)
		return 1;
	if (port) {
		snprintf(err, errlen, "PMI_PORT is set but PMI_ID is not: start the job with aprun or mpiexec, or unset "
			 "PMI_PORT to run alone");
		return -1;
	}
	if (rank && size) {
		snprintf(err, errlen, "PMI_RANK and PMI_SIZE are set but neither PMI_FD nor PMI_PORT: this launcher does "
			 "not speak PMI-1 to its processes (with srun: --mpi=pmi2); start the job with aprun or mpiexec, or "
			 "unset both to run alone");
		return -1;
	}
	if (rank || size || id) {	/* what is left of a job, or was meant to be one: not a job of one */
		snprintf(err, errlen, "%s%s%s is set but %s not: start the job with aprun or mpiexec, or unset %s to run "
			 "alone", rank ? "PMI_RANK" : size ? "PMI_SIZE" : "", (rank || size) && id ? " (and PMI_ID)" : "",
			 rank || size ? "" : "PMI_ID", rank ? "PMI_SIZE and PMI_FD or PMI_PORT are" :
			 size ? "PMI_RANK and PMI_FD or PMI_PORT are" : "PMI_PORT is", (rank || size) && id ? "them" : "it");
		return -1;
	}
	return 0;
}

static int connect_port(struct p3_pmi *p, const char *hostport, int id, int timeout_ms)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list = NULL, *a;
	char host[256], self[256] = "", req[64], line[P3_PMI_LINE];
	const char *colon = strrchr(hostport, ':');
	int rc;

	if (!colon || colon == hostport || (size_t)(colon - hostport) >= sizeof(host))
		return fail(p, -1, "PMI_PORT is not of the form host:port");
	memcpy(host, hostport, (size_t)(colon - hostport));
	host[colon - hostport] = 0;
	/* this machine need not be able to look up its own name */
	if (!gethostname(self, sizeof(self) - 1) && !strcmp(host, self))
		strcpy(host, "localhost");
	if (getaddrinfo(host, colon + 1, &hints, &list) &&
	    (strcmp(host, "localhost") || getaddrinfo("127.0.0.1", colon + 1, &hints, &list)))
		return fail(p, -1, "the host of PMI_PORT has no address");
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
		return fail(p, -1, "could not connect to PMI_PORT");
	p->own_fd = 1;
	snprintf(req, sizeof(req), "cmd=initack pmiid=%d\n", id);
	if (ask(p, req, "initack", line, sizeof(line), timeout_ms))
		return -1;
	for (int i = 0; i < 3; i++) {	/* size, rank, debug; in this order in all launchers, not relied upon */
		rc = read_line(p, line, sizeof(line), timeout_ms);
		if (rc)
			return give_up(p, -1, "the launcher stopped during the PMI_PORT hand-shake");
		field_int(line, "size", &p->size);
		field_int(line, "rank", &p->rank);
	}
	return 0;
}

static int connect_any(struct p3_pmi *p, int timeout_ms)
{
	static const char outside[] = "the launcher's rank is outside 0 .. size-1 (PMI_RANK, PMI_SIZE)";
	struct stat st;
	int id;

	p->fd = -1;
	p->rank = p->size = -1;
	if (env_int("PMI_RANK", &p->rank) < 0 || env_int("PMI_SIZE", &p->size) < 0)
		return fail(p, -1, "PMI_RANK or PMI_SIZE is not a number");
	if (getenv("PMI_FD") && (p->size < 1 || p->rank >= p->size))
		return fail(p, -1, outside);
	if (getenv("PMI_FD")) {
		if (env_int("PMI_FD", &p->fd))
			return fail(p, -1, "PMI_FD is not a number");
		if (fstat(p->fd, &st) || !S_ISSOCK(st.st_mode)) {	/* ours was closed, a file may have the number now */
			p->fd = -1;
			return fail(p, -1, "PMI_FD is not an open socket; a program that a rank has started is no rank: unset "
				    "PMI_FD, PMI_RANK and PMI_SIZE to run it alone");
		}
		fcntl(p->fd, F_SETFD, FD_CLOEXEC);	/* programs that this rank starts must not speak for it */
	} else {
		if (env_int("PMI_ID", &id))
			return fail(p, -1, "PMI_ID is not a number");
		if (connect_port(p, getenv("PMI_PORT"), id, timeout_ms))
			return -1;
		if (fstat(p->fd, &st))
			return give_up(p, -1, "fstat of the PMI connection failed");
	}
	if (p->size < 1 || p->size > 1 << 24 || p->rank < 0 || p->rank >= p->size)
		return give_up(p, -1, outside);
	p->dev = st.st_dev;
	p->ino = st.st_ino;
	p->pid = getpid();
	return 0;
}

int p3_pmi_open(struct p3_pmi *p, int timeout_ms)
{
	char line[P3_PMI_LINE];
	int rc = 0;

	memset(p, 0, sizeof(*p));
	if (connect_any(p, timeout_ms))
		return -1;
	if (ask(p, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", line, sizeof(line), timeout_ms))
		return -1;
	if (field_int(line, "rc", &rc) || rc)
		return give_up(p, -1, "the launcher does not speak PMI version 1");
	if (ask(p, "cmd=get_maxes\n", "maxes", line, sizeof(line), timeout_ms))
		return -1;
	if (field_int(line, "kvsname_max", &p->kvsname_max) || field_int(line, "keylen_max", &p->key_max) ||
	    field_int(line, "vallen_max", &p->value_max) || p->key_max < 16 || p->value_max < 64)
		return give_up(p, -1, "the launcher's PMI limits make no sense");
	if (ask(p, "cmd=get_my_kvsname\n", "my_kvsname", line, sizeof(line), timeout_ms))
		return -1;
	if (p3_pmi_field(line, "kvsname", p->kvsname, sizeof(p->kvsname)) || !p->kvsname[0])
		return give_up(p, -1, "the launcher gave no name of its key space");
	return 0;
}

int p3_pmi_barrier(struct p3_pmi *p, int timeout_ms)
{
	char line[P3_PMI_LINE];

	return ask(p, "cmd=barrier_in\n", "barrier_out", line, sizeof(line), timeout_ms);
}

/* The wire separates by blank, '=' and newline. */
static int carries(const char *s, size_t max)
{
	size_t n = strlen(s);

	if (!n || n >= max)
		return 0;
	for (; *s; s++)
		if (*s <= ' ' || *s == '=' || *s == 127)
			return 0;
	return 1;
}

int p3_pmi_put(struct p3_pmi *p, const char *key, const char *value)
{
	char req[P3_PMI_LINE], line[P3_PMI_LINE];
	int rc;

	if (!carries(key, (size_t)p->key_max) || !carries(value, (size_t)p->value_max))
		return fail(p, -EINVAL, "a key or value is empty, too long or has a character that PMI-1 cannot carry");
	rc = snprintf(req, sizeof(req), "cmd=put kvsname=%s key=%s value=%s\n", p->kvsname, key, value);
	if (rc < 0 || (size_t)rc >= sizeof(req))
		return fail(p, -EINVAL, "a value is too long for one PMI-1 line");
	rc = ask(p, req, "put_result", line, sizeof(line), 30000);
	if (rc)
		return rc;
	if (field_int(line, "rc", &rc) || rc)
		return fail(p, -EIO, "the launcher refused to store a value");
	return 0;
}

int p3_pmi_get(struct p3_pmi *p, const char *key, char *value, size_t len)
{
	char req[P3_PMI_LINE], line[P3_PMI_LINE];
	int rc;

	if (!carries(key, (size_t)p->key_max))
		return fail(p, -EINVAL, "a key is empty, too long or has a character that PMI-1 cannot carry");
	rc = snprintf(req, sizeof(req), "cmd=get kvsname=%s key=%s\n", p->kvsname, key);
	if (rc < 0 || (size_t)rc >= sizeof(req))
		return -EINVAL;
	rc = ask(p, req, "get_result", line, sizeof(line), 30000);
	if (rc)
		return rc;
	if (field_int(line, "rc", &rc) || rc)
		return fail(p, -ENOENT, "the launcher has no such key");
	if (p3_pmi_field(line, "value", value, len))
		return fail(p, -ENOSPC, "a value is longer than expected");
	return 0;
}

int p3_pmi_usable(const struct p3_pmi *p)
{
	return same_file(p);
}

void p3_pmi_abort(struct p3_pmi *p, int code)
{
	char req[64], line[P3_PMI_LINE];

	if (!same_file(p))
		return;
	snprintf(req, sizeof(req), "cmd=abort exitcode=%d\n", code);
	if (!send_all(p, req, strlen(req)))
		while (!read_line(p, line, sizeof(line), 5000))
			;
	give_up(p, -EPIPE, "the job was ended");
}

void p3_pmi_finalize(struct p3_pmi *p)
{
	char line[P3_PMI_LINE];

	if (!same_file(p))
		return;
	ask(p, "cmd=finalize\n", "finalize_ack", line, sizeof(line), 5000);
	give_up(p, -EPIPE, "PMI was finalized");
}
