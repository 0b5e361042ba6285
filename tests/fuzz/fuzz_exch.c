/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz_exch.c - the meeting of the ranks at start, with others that say anything
 *
 * Compiled with smap_exch*.c. The input is a script of what the other processes do (connect, say something with the
 * right proof or a wrong one, with descriptors, cut off, changed somewhere, leave); a step is made whenever the victim
 * waits, and time passes only when the script is over, so nothing takes long. The first byte: the victim is rank 0, or
 * another, or one that cannot take part; the second: how many ranks.
 *
 * Whatever they say: the start succeeds or fails with one of its codes, in its time, and no descriptor is left.
 */
#include <fcntl.h>
#include <poll.h>
#include <time.h>

static int script_poll(struct pollfd *p, nfds_t n, int ms);
static int script_nap(const struct timespec *t, struct timespec *left);
static int script_clock(clockid_t c, struct timespec *t);
#define poll script_poll
#define nanosleep script_nap
#define clock_gettime script_clock
#include "../../nal/smartmap/smap_exch.c"
#include "../../nal/smartmap/smap_exch_msg.c"
#include "../../nal/smartmap/smap_exch_all.c"
#include "../../nal/smartmap/smap_exch_up.c"
#undef poll
#undef nanosleep
#undef clock_gettime
#include "fuzz.h"
#include "smap_maps.h"

#include <stdarg.h>

/* what smap_own.c wants besides */
void smap_why_set(enum smartmap_feature f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(smap.why[f], sizeof(smap.why[f]), fmt, ap);
	va_end(ap);
}

int smap_forced_off(enum smap_off what)
{
	return (smap.off & (uint32_t)what) != 0;
}

int smap_arena_gap(int bits, uint64_t *lo, uint64_t *hi)
{
	abort();
}

uintptr_t smap_window_map(int fd, int bits)
{
	abort();
}

enum { OTHERS = 4, BITS = 38 };

static struct fuzz_in in;
static struct smartmap_job job;
static struct smap_exch model;		/* for proofs: the job as the others know it */
static int64_t now, began;		/* what passes by the script does not count */
static int door = -1;			/* the others are rank 0: where they listen */
static struct other {
	int fd;
	uint64_t mine, theirs;		/* nonces */
} other[OTHERS];
static bool over;

static void hear(struct other *o)
{
	struct smap_msg m;

	for (;;) {
		int fds[FILES_AT_ONCE], n = FILES_AT_ONCE;
		ssize_t r = smap_recv_fds(o->fd, &m, sizeof(m), fds, &n, MSG_DONTWAIT);

		if (r <= 0)
			return;
		for (int i = 0; i < n; i++)
			close(fds[i]);
		must(r == sizeof(m) && m.magic == SMAP_MAGIC && memchr(m.text, 0, sizeof(m.text)));
		if (m.type == M_CHALLENGE || m.type == M_HELLO)
			o->theirs = m.nonce;
	}
}

static void come(struct other *o)
{
	struct sockaddr_un sa;
	socklen_t len = smap_exch_name(&sa, job.name, 0);
	struct smap_msg m;

	if (o->fd >= 0)
		close(o->fd);
	if (door < 0) {
		o->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (connect(o->fd, (struct sockaddr *)&sa, len)) {
			close(o->fd);
			o->fd = -1;
		}
		return;
	}
	o->fd = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (o->fd < 0)
		return;
	smap_exch_msg(&m, M_CHALLENGE);
	m.nonce = o->mine;
	if (in.some & 0x80)
		smap_send_fds(o->fd, &m, sizeof(m), NULL, 0);
}

/* A message of a type, all fields good, but for what the script changes. */
static void say(struct other *o)
{
	uint8_t type = (uint8_t)fuzz_number(&in, 1) % (M_ABORT + 2), how = (uint8_t)fuzz_number(&in, 1);
	uint32_t rank = fuzz_number(&in, 1), nfd = how >> 2 & 3;
	size_t len = sizeof(struct smap_msg);
	int fds[3] = { 0, 0, 0 };
	uint8_t bytes[sizeof(struct smap_msg)];
	struct smap_msg m;

	hear(o);
	smap_exch_msg(&m, type);
	m.rank = rank;
	m.size = job.size;
	m.bits = BITS;
	m.flags = 3;
	m.pid = getpid();
	m.nonce = o->mine;
	m.code = -EPERM;
	if (type == M_HELLO)
		m.mac = smap_exch_proof(&model, 'r', o->theirs, o->mine, rank, m.bits);
	else if (type == M_START)
		m.mac = smap_exch_proof(&model, '0', o->mine, o->theirs, job.rank, m.bits);
	else if (type == M_ABORT && (how & 1))
		m.mac = smap_exch_proof(&model, 'n', 0, 0, rank, (uint32_t)m.code);
	if (type == M_FILES || type == M_MAIL)
		m.count = nfd;
	memcpy(bytes, &m, sizeof(m));
	for (uint32_t k = how >> 4 & 3; k; k--) {		/* patches */
		size_t at = fuzz_number(&in, 1) * 4 % sizeof(m);

		fuzz_take(&in, bytes + at, 4);
	}
	if (how & 0x40)
		len = fuzz_number(&in, 2) % (sizeof(m) + 1);
	if (how & 0x80) {					/* text without an end */
		memset(bytes + offsetof(struct smap_msg, text), 'x', sizeof(m.text));
	}
	smap_send_fds(o->fd, bytes, len, fds, (int)nfd);
}

static bool step(void)
{
	bool more = true;
	int64_t passed;

	while (more && in.n) {
		uint8_t op = (uint8_t)fuzz_number(&in, 1);
		struct other *o = &other[op >> 3 & 3];

		more = op & 0x80;
		switch (op & 7) {
		case 0: case 1:
			come(o);
			break;
		case 2: case 3: case 4:
			if (o->fd >= 0)
				say(o);
			break;
		case 5:
			if (o->fd >= 0)
				close(o->fd);
			o->fd = -1;
			break;
		case 6:
			passed = (int64_t)fuzz_number(&in, 2) * 1000000;
			began += passed;
			now += passed;
			break;
		case 7:
			if (o->fd >= 0)
				hear(o);
		}
	}
	if (in.n)
		return true;
	for (int i = 0; !over && i < OTHERS; i++) {
		if (other[i].fd >= 0)
			close(other[i].fd);
		other[i].fd = -1;
	}
	over = true;
	return false;
}

static int script_poll(struct pollfd *p, nfds_t n, int ms)
{
	int r;

	for (;;) {
		bool more = !over && step();

		r = poll(p, n, 0);
		if (r)
			return r;
		if (!more)
			break;
	}
	must(ms >= 0);
	now += ms * 1000000ll;
	return 0;
}

static int script_nap(const struct timespec *t, struct timespec *left)
{
	now += t->tv_sec * 1000000000ll + t->tv_nsec;
	if (!over)
		step();
	return 0;
}

static int script_clock(clockid_t c, struct timespec *t)
{
	now += 100;
	*t = (struct timespec){ now / 1000000000, now % 1000000000 };
	return 0;
}

static int got(int rank, int fd)
{
	must(rank >= 0 && rank < (int)job.size && fcntl(fd, F_GETFD) >= 0);
	return in.some & 0x40 ? -ENOMEM : 0;
}

static void code(int rc)
{
	must(!rc || smap_exch_code(rc) == rc);
	must(memchr(smap.why[SMARTMAP_F_WINDOWS], 0, sizeof(smap.why[0])));
}

static void start(void)
{
	struct smap_member member[SMARTMAP_MAX_PEERS];
	struct smap_facts own = { 4096, 5, getpid() };
	struct smap_exch x;
	uint32_t flags = 1;
	int bits = BITS, box = -1, fd, rc;

	if (in.kind & 2 && in.kind & 4) {
		code(smap_exch_refuse(&x, &job));
		smap_exch_close(&x);
		return;
	}
	rc = smap_exch_meet(&x, &job, &bits);
	code(rc);
	must(rc || (bits >= SMAP_BITS_MIN && bits <= BITS));
	if (!rc) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		rc = smap_exch_share(&x, fd, &own, member, &box, got);
		code(rc);
		close(fd);
		must(!rc || box < 0);
		must(box < 0 || fcntl(box, F_GETFD) >= 0);
		if (box >= 0)
			close(box);
	}
	if (!rc) {
		rc = smap_exch_ready(&x, in.some & 0x20 ? -ENOMEM : 0, &flags);
		code(rc);
		must(rc || job.rank || flags <= 1);
	}
	smap_exch_close(&x);
}

static uint64_t descriptors(void)
{
	uint64_t open = 0;

	for (int fd = 0; fd < 64; fd++)
		open |= (uint64_t)(fcntl(fd, F_GETFD) >= 0) << fd;
	return open;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char name[40];
	uint64_t open_before;

	if (!fuzz_in(&in, data, n))
		return 0;
	open_before = descriptors();
	snprintf(name, sizeof(name), "fuzz-%d", (int)getpid());
	job = (struct smartmap_job){ .size = 2 + in.some % 3, .name = name, .key = "not a secret, no",
				   .timeout_ms = 500 };
	job.rank = in.kind & 1 ? 1 + (in.some & 8 && job.size > 2) : 0;
	model.job = &job;
	smap.off = in.kind & 8 ? SMAP_OFF_MAILBOX : 0;
	smap.why[SMARTMAP_F_WINDOWS][0] = 0;
	now = began = 1000000000000;
	over = false;
	for (int i = 0; i < OTHERS; i++)
		other[i] = (struct other){ -1, 1000u + (uint32_t)i, 0 };
	if (job.rank) {
		struct sockaddr_un sa;
		socklen_t len = smap_exch_name(&sa, name, 0);

		door = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		must(!bind(door, (struct sockaddr *)&sa, len) && !listen(door, 16));
	}
	start();
	must(now - began < 4000000000);
	in.n = 0;
	step();
	if (door >= 0)
		close(door);
	door = -1;
	must(descriptors() == open_before);
	free(in.text);
	return 0;
}
