/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_own.c - the own memory file and what is known of it
 *
 * The descriptor of the file is not kept open: /proc/PID/fd would hand it to every process of the user. It waits in
 * the queue of a socket that we hold the reading end of; recvmsg(MSG_PEEK) installs a copy and leaves the original
 * there. A descriptor in a queue cannot be opened by anybody through /proc.
 *
 * Registry protocol: the owner, under smap.lock, makes seq odd, changes the ranges, makes seq even (release). A reader
 * loads seq (acquire), the ranges, a fence, seq again. An owner that dies in between leaves seq odd: readers give up
 * after some tries and say "not reachable".
 */
#include "smap_own.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "smap_maps.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8u
#endif
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif

struct smap_state smap = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .rank = -1, .own_box = -1, .own_fd_kept = -1, .mailbox = -1,
};

struct smap_state *smap_get_state(void)
{
	return &smap;
}

uint64_t smap_random(void)
{
	struct timespec ts;
	uint64_t v;

	if (getrandom(&v, sizeof(v), GRND_NONBLOCK) == (ssize_t)sizeof(v))
		return v;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_nsec * 0x9e3779b97f4a7c15ull ^ (uint64_t)ts.tv_sec << 32 ^ (uint64_t)getpid();
}

/* SipHash-2-4 (Aumasson, Bernstein): a keyed hash for short messages; the job's key is its key. */
#define ROTL(x, b)	((x) << (b) | (x) >> (64 - (b)))

static void sip_round(uint64_t v[4])
{
	v[0] += v[1]; v[1] = ROTL(v[1], 13); v[1] ^= v[0]; v[0] = ROTL(v[0], 32);
	v[2] += v[3]; v[3] = ROTL(v[3], 16); v[3] ^= v[2];
	v[0] += v[3]; v[3] = ROTL(v[3], 21); v[3] ^= v[0];
	v[2] += v[1]; v[1] = ROTL(v[1], 17); v[1] ^= v[2]; v[2] = ROTL(v[2], 32);
}

uint64_t smap_mac(const uint8_t key[16], const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t k[2], v[4], m, tail = (uint64_t)len << 56;
	size_t i;

	memcpy(k, key, 16);
	v[0] = k[0] ^ 0x736f6d6570736575ull;
	v[1] = k[1] ^ 0x646f72616e646f6dull;
	v[2] = k[0] ^ 0x6c7967656e657261ull;
	v[3] = k[1] ^ 0x7465646279746573ull;
	for (i = 0; i + 8 <= len; i += 8) {
		memcpy(&m, p + i, 8);
		v[3] ^= m;
		sip_round(v);
		sip_round(v);
		v[0] ^= m;
	}
	for (; i < len; i++)
		tail |= (uint64_t)p[i] << (8 * (i & 7));
	v[3] ^= tail;
	sip_round(v);
	sip_round(v);
	v[0] ^= tail;
	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- descriptors in queues ---------------------------------------------------------------------------------- */

ssize_t smap_send_fds(int sock, const void *buf, size_t len, const int *fds, int n)
{
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE((SMARTMAP_MAX_PEERS + 2) * sizeof(int))];
	struct iovec iov = { (void *)buf, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t r;

	if (n) {
		struct cmsghdr *c = (struct cmsghdr *)ctl;

		memset(ctl, 0, sizeof(ctl));
		m.msg_control = ctl;
		m.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)n * sizeof(int));
	}
	do
		r = sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

ssize_t smap_recv_fds(int sock, void *buf, size_t len, int *fds, int *n, int flags)
{
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE((SMARTMAP_MAX_PEERS + 2) * sizeof(int))];
	struct iovec iov = { buf, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	int max = n ? *n : 0, got = 0;
	ssize_t r;

	/* The kernel installs as many as fit: never more than asked for. (CMSG_LEN, not SPACE: that may fit one more.) */
	m.msg_control = max ? ctl : NULL;
	m.msg_controllen = max ? CMSG_LEN((size_t)max * sizeof(int)) : 0;
	do
		r = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	if (max) {
		for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
				continue;
			got = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
			memcpy(fds, CMSG_DATA(c), (size_t)got * sizeof(int));
		}
		*n = got;
	}
	return r;
}

int smap_box_make(const int *fds, int n)
{
	int sv[2], r;
	char c = 'f';

	if (smap_forced_off(SMAP_OFF_MAILBOX))
		return -ETOOMANYREFS;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -errno;
	r = (int)smap_send_fds(sv[1], &c, 1, fds, n);
	close(sv[1]);
	if (r < 0) {
		close(sv[0]);
		return r;
	}
	return sv[0];
}

int smap_box_get(int box, int index)
{
	int fds[SMARTMAP_MAX_PEERS], n = index + 1, i, fd;
	ssize_t r;
	char c;

	if (index < 0 || index >= SMARTMAP_MAX_PEERS)
		return -EINVAL;
	r = smap_recv_fds(box, &c, 1, fds, &n, MSG_PEEK | MSG_DONTWAIT);
	if (r < 0)
		return (int)r;
	fd = n > index ? fds[index] : -EMFILE;
	for (i = 0; i < n; i++)
		if (i != index)
			close(fds[i]);
	return fd;
}

int smap_nofile_raise(uint32_t want, struct rlimit *old)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, old) || old->rlim_cur >= want)
		return 0;
	r = *old;
	r.rlim_cur = want < r.rlim_max ? want : r.rlim_max;
	return !setrlimit(RLIMIT_NOFILE, &r);
}

int smap_why_nofile(void)
{
	struct rlimit r = { 0, 0 };

	getrlimit(RLIMIT_NOFILE, &r);
	smap_why_set(SMARTMAP_F_WINDOWS, "too many open files: the limit (ulimit -n) is %llu, and the start of the job takes "
		     "up to %u besides the program's own: raise it", (unsigned long long)r.rlim_max, smap.nofile_need);
	return -ENOMEM;
}

int smap_own_fd(void)
{
	if (smap.own_box >= 0)
		return smap_box_get(smap.own_box, 0);
	return smap.own_fd_kept >= 0 ? smap.own_fd_kept : -ENODEV;
}

void smap_own_fd_put(int fd)
{
	if (fd >= 0 && fd != smap.own_fd_kept)
		close(fd);
}

/* ---- the file ----------------------------------------------------------------------------------------------- */

static void ctl_init(struct smap_ctl *ctl, int bits, uint64_t arena_lo, uint64_t arena_hi)
{
	ctl->version = SMAP_VERSION;
	ctl->bits = (uint32_t)bits;
	ctl->pid = getpid();
	ctl->nonce = smap_random();
	ctl->self = (uintptr_t)ctl;
	atomic_init(&ctl->seq, 0);
	atomic_init(&ctl->arena_lo, (uintptr_t)ctl + arena_lo);
	atomic_init(&ctl->arena_hi, (uintptr_t)ctl + arena_hi);
	ctl->magic = SMAP_MAGIC;
	smap.ctl = ctl;
	smap.base = (uintptr_t)ctl;
	smap.bits = bits;
}

/* ulimit -f: the kernel also sends a signal, which would end the process before it could say why. */
static int set_length(int fd, off_t len)
{
	struct timespec now = { 0, 0 };
	sigset_t set, old, pending;
	int ret;

	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, &old);
	ret = ftruncate(fd, len) ? -errno : 0;
	if (ret == -EFBIG && !sigpending(&pending) && sigismember(&pending, SIGXFSZ))
		sigtimedwait(&set, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

int smap_own_make(int bits)
{
	uint64_t lo, hi, want = SMAP_SIZE(bits) / 8;
	uintptr_t base;
	int fd, ret;

	fd = memfd_create("smartmap", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("smartmap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE)
			return smap_why_nofile();
		smap_why_set(SMARTMAP_F_WINDOWS, "no memory file can be made (memfd_create: %s), and there is no job of "
			     "several ranks without: allow it in the seccomp filter of the container", strerror(errno));
		return -ENOSYS;
	}
	ret = set_length(fd, (off_t)SMAP_SIZE(bits));
	if (ret) {
		smap_why_set(SMARTMAP_F_WINDOWS, "a memory file of 2^%d bytes is refused (ftruncate: %s): %s", bits,
			     strerror(-ret), ret == -EFBIG ? "raise the limit of file sizes (ulimit -f)" :
			     "allow it in the seccomp filter of the container");
		goto err;
	}
	/* Nobody can cut it off under our feet. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL)) {
		ret = -errno;
		smap_why_set(SMARTMAP_F_WINDOWS, "the memory file cannot be sealed: %s", strerror(-ret));
		goto err;
	}
	ret = smap_arena_gap(bits, &lo, &hi);
	if (ret)
		goto err;
	/* The middle of the gap: what is below and above may grow. On 2 MiB, so that huge pages fit. */
	if (bits < SMAP_BITS_ADOPT) {
		lo += (uint64_t)2 << 20;	/* all of it: nothing else can come */
		want = hi - lo;
	} else if (hi - lo < 2 * want) {
		want = (hi - lo) / 2;
	}
	if (want < ((uint64_t)64 << 20)) {
		ret = -ENOMEM;
		smap_why_set(SMARTMAP_F_WINDOWS, "the memory of this process leaves no room for the library's own in a "
			     "window of 2^%d bytes", bits);
		goto err;
	}
	lo = (lo + (hi - lo - want) / 2) & ~(((uint64_t)2 << 20) - 1);
	hi = (lo + want) & ~(((uint64_t)2 << 20) - 1);
	base = smap_window_map(fd, bits);
	if (!base) {
		ret = -errno;
		if (ret == -ENOMEM)
			smap_why_set(SMARTMAP_F_WINDOWS, "no room for a window of 2^%d bytes: raise the limit of virtual "
				     "memory (ulimit -v)", bits);
		else
			smap_why_set(SMARTMAP_F_WINDOWS, "a window cannot be mapped (mmap, madvise: %s): allow both in the "
				     "seccomp filter of the container", strerror(-ret));
		goto err;
	}
	madvise((void *)base, SMAP_CTL_SIZE, MADV_DODUMP);
	smap.memfile = 1;
	smap.mask = SMAP_SIZE(bits) - 1;
	ctl_init((struct smap_ctl *)base, bits, lo, hi);
	return fd;
err:
	close(fd);
	return ret;
}

int smap_own_make_single(void)
{
	size_t size = (size_t)64 << 30;
	char never = '0';
	void *p;
	int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, &never, 1) == 1 && never == '2')	/* all of it is charged at once there */
			size = (size_t)512 << 20;
		close(fd);
	}
	do {
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p != MAP_FAILED)
			break;
		size >>= 1;
	} while (size >= (size_t)4 << 20);
	if (p == MAP_FAILED) {
		smap_why_set(SMARTMAP_F_WINDOWS, "not even 4 MiB of memory: %s", strerror(errno));
		return -ENOMEM;
	}
	/* as of a window, only what is in use is dumped: smartmap_alloc() */
	madvise(p, size, MADV_DONTDUMP);
	madvise(p, SMAP_CTL_SIZE, MADV_DODUMP);
	smap.memfile = 0;
	smap.mask = ~0ull;
	ctl_init(p, 0, SMAP_CTL_SIZE, size);
	return 0;
}

void smap_own_drop(void)
{
	if (!smap.ctl)
		return;
	munmap((void *)smap.base, smap.memfile ? SMAP_SIZE(smap.bits) :
	       (size_t)(atomic_load(&smap.ctl->arena_hi) - smap.base));
	if (smap.own_box >= 0)
		close(smap.own_box);
	if (smap.own_fd_kept >= 0)
		close(smap.own_fd_kept);
	smap.own_box = smap.own_fd_kept = -1;
	smap.ctl = NULL;
	smap.base = 0;
	smap.bits = 0;
	smap.memfile = 0;
}

/* ---- ranges and registry ------------------------------------------------------------------------------------ */

int smap_range_free(uintptr_t lo, uintptr_t hi)
{
	uint64_t l = lo & smap.mask, h = l + (hi - lo);
	uint64_t a = atomic_load_explicit(&smap.ctl->arena_lo, memory_order_relaxed) & smap.mask;
	uint64_t b = a + (atomic_load_explicit(&smap.ctl->arena_hi, memory_order_relaxed) -
			  atomic_load_explicit(&smap.ctl->arena_lo, memory_order_relaxed));
	uint32_t i;

	if (hi <= lo || h > smap.mask + 1 || l < SMAP_CTL_SIZE || (l < b && a < h))
		return 0;
	for (i = 0; i < smap.nranges; i++) {
		uint64_t rl = smap.range[i].lo & smap.mask, rh = rl + (smap.range[i].hi - smap.range[i].lo);

		if (l < rh && rl < h)
			return 0;
	}
	return 1;
}

int smap_range_fit(uintptr_t lo, uintptr_t hi, uintptr_t *out_lo, uintptr_t *out_hi)
{
	uint64_t size = smap.mask + 1;

	while (lo < hi) {
		uintptr_t line = (lo & ~smap.mask) + size, end = hi < line ? hi : line, skip = 0;
		uint64_t l = lo & smap.mask;
		uint32_t i;

		/* Obstacles in low-bit space: control page, arena, every range. */
		for (i = 0; i < smap.nranges + 2; i++) {
			uint64_t a = 0, b = SMAP_CTL_SIZE;

			if (i < smap.nranges) {
				a = smap.range[i].lo & smap.mask;
				b = a + (smap.range[i].hi - smap.range[i].lo);
			} else if (i == smap.nranges) {
				a = atomic_load(&smap.ctl->arena_lo) & smap.mask;
				b = a + (atomic_load(&smap.ctl->arena_hi) - atomic_load(&smap.ctl->arena_lo));
			}
			if (a <= l && l < b && b - l > skip)
				skip = b - l;
			else if (a > l && lo + (a - l) < end)
				end = lo + (a - l);
		}
		if (!skip && end > lo) {
			*out_lo = lo;
			*out_hi = end;
			return 1;
		}
		lo += skip;
	}
	return 0;
}

/* Brackets every change of smap.range; smap.lock held. Nothing that may call out stands between them. */
static void change_begin(void)
{
	atomic_fetch_add_explicit(&smap.range_seq, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

static void change_end(void)
{
	atomic_fetch_add_explicit(&smap.range_seq, 1, memory_order_release);
}

static void insert(uint32_t at, const struct smap_range *r)
{
	memmove(&smap.range[at + 1], &smap.range[at], (smap.nranges - at) * sizeof(*r));
	smap.range[at] = *r;
	smap.nranges++;
}

int smap_range_add(uintptr_t lo, uintptr_t hi, enum smap_kind kind, int prot)
{
	struct smap_range r = { lo, hi, kind, prot, 1 };
	uint32_t i;

	if (smap.nranges >= SMAP_RANGES)
		return -ENOSPC;
	if (!smap_range_free(lo, hi))
		return -EBUSY;
	for (i = 0; i < smap.nranges && smap.range[i].lo < lo; i++)
		;
	change_begin();
	insert(i, &r);
	change_end();
	return 0;
}

void smap_ranges_publish(void)
{
	struct smap_ctl *c = smap.ctl;
	uint64_t seq = atomic_load_explicit(&c->seq, memory_order_relaxed);
	uint32_t i, n = 0;
	uint64_t lo = 0, hi = 0;

	atomic_store_explicit(&c->seq, seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);	/* pairs with the acquire fence in smap_registry_has() */
	for (i = 0; i < smap.nranges; i++) {
		const struct smap_range *r = &smap.range[i];

		if (!r->visible)
			continue;
		/* Touching ranges become one, so that an object across them is found; never across a window's line. */
		if (n && r->lo == hi && (r->lo & smap.mask)) {
			hi = r->hi;
		} else {
			n++;
			lo = r->lo;
			hi = r->hi;
		}
		atomic_store_explicit(&c->range[n - 1].lo, lo, memory_order_relaxed);
		atomic_store_explicit(&c->range[n - 1].hi, hi, memory_order_relaxed);
	}
	atomic_store_explicit(&c->nranges, n, memory_order_relaxed);
	atomic_store_explicit(&c->seq, seq + 2, memory_order_release);
}

/* Split range @i at @at (inside it). 0 when the table is full. */
static int split(uint32_t i, uintptr_t at)
{
	struct smap_range r = smap.range[i];

	if (smap.nranges >= SMAP_RANGES)
		return 0;
	r.lo = at;
	smap.range[i].hi = at;
	insert(i + 1, &r);
	return 1;
}

/* Cut at both ends, so that every range is inside [lo, hi) or outside. A full table: whole ranges are affected. */
static void cut(uintptr_t lo, uintptr_t hi)
{
	uint32_t i;

	for (i = 0; i < smap.nranges; i++) {
		if (smap.range[i].lo < lo && lo < smap.range[i].hi)
			split(i, lo);
		else if (smap.range[i].lo < hi && hi < smap.range[i].hi)
			split(i, hi);
	}
}

int smap_ranges_hide(uintptr_t lo, uintptr_t hi)
{
	uint32_t i;
	int changed = 0;

	change_begin();
	cut(lo, hi);
	change_end();
	for (i = 0; i < smap.nranges; i++) {
		struct smap_range *r = &smap.range[i];

		if (r->lo < hi && lo < r->hi && r->visible) {
			r->visible = 0;
			changed = 1;
		}
	}
	return changed;
}

void smap_range_forget(uintptr_t lo, uintptr_t hi)
{
	uint32_t i, k;

	smap_lock();
	if (smap_ranges_hide(lo, hi))
		smap_ranges_publish();
	change_begin();
	for (i = k = 0; i < smap.nranges; i++)
		if (!(lo <= smap.range[i].lo && smap.range[i].hi <= hi))
			smap.range[k++] = smap.range[i];
	smap.nranges = k;
	change_end();
	smap_unlock();
}

void smap_range_protect(uintptr_t lo, uintptr_t hi, int prot)
{
	uint32_t i;

	smap_lock();
	change_begin();
	cut(lo, hi);
	change_end();
	for (i = 0; i < smap.nranges; i++)
		if (lo <= smap.range[i].lo && smap.range[i].hi <= hi)
			smap.range[i].prot = prot;
	smap_unlock();
}

int smap_ranges_in(uintptr_t lo, uintptr_t hi, struct smap_range *out, int max)
{
	uint32_t i;
	int n = 0;

	smap_lock();
	for (i = 0; i < smap.nranges && n < max; i++) {
		struct smap_range r = smap.range[i];

		if (r.lo >= hi || lo >= r.hi)
			continue;
		if (r.lo < lo)
			r.lo = lo;
		if (r.hi > hi)
			r.hi = hi;
		out[n++] = r;
	}
	smap_unlock();
	return n;
}

/* Lock-free, since it is asked in interposed calls, some of which we make ourselves with the lock held. */
int smap_range_any(uintptr_t lo, uintptr_t hi)
{
	for (;;) {
		uint32_t seq = atomic_load_explicit(&smap.range_seq, memory_order_acquire);
		uint32_t i, n = smap.nranges, any = 0;

		if (!n)
			return 0;
		for (i = 0; i < n && i < SMAP_RANGES && !any; i++)
			any = smap.range[i].lo < hi && lo < smap.range[i].hi;
		atomic_thread_fence(memory_order_acquire);	/* pairs with the fence in change_begin() */
		if (!(seq & 1) && atomic_load_explicit(&smap.range_seq, memory_order_relaxed) == seq)
			return (int)any;
		sched_yield();
	}
}

int smap_registry_has(struct smap_ctl *c, uint32_t *hint, uintptr_t lo, uintptr_t hi, uint64_t mask)
{
	int tries;

	if (hi < lo)
		return 0;
	for (tries = 0; tries < 1000; tries++) {
		uint64_t seq = atomic_load_explicit(&c->seq, memory_order_acquire);
		uint32_t n, i, a, b;
		int yes = 0;

		if (seq & 1) {
			smap_pause();
			continue;
		}
		if (lo >= atomic_load_explicit(&c->arena_lo, memory_order_relaxed) &&
		    hi <= atomic_load_explicit(&c->arena_hi, memory_order_relaxed)) {
			yes = 1;
		} else {
			n = atomic_load_explicit(&c->nranges, memory_order_relaxed);
			if (n > SMAP_RANGES)
				n = SMAP_RANGES;
			i = *hint;
			if (i < n && lo >= atomic_load_explicit(&c->range[i].lo, memory_order_relaxed) &&
			    hi <= atomic_load_explicit(&c->range[i].hi, memory_order_relaxed)) {
				yes = 1;
			} else {
				/* The last range that begins at or below lo. */
				for (a = 0, b = n; a < b;) {
					uint32_t m = (a + b) / 2;

					if (atomic_load_explicit(&c->range[m].lo, memory_order_relaxed) <= lo)
						a = m + 1;
					else
						b = m;
				}
				if (a && hi <= atomic_load_explicit(&c->range[a - 1].hi, memory_order_relaxed)) {
					yes = 1;
					*hint = a - 1;
				}
			}
		}
		atomic_thread_fence(memory_order_acquire);	/* pairs with the release fence in publish */
		if (atomic_load_explicit(&c->seq, memory_order_relaxed) != seq)
			continue;
		/* A lying owner must not lead us past the end of its window. */
		return yes && (hi == lo || hi - 1 - lo <= mask - (lo & mask));
	}
	return 0;
}
