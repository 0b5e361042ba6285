/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_init.c - start and stop, in order, and the reasons why something is off
 *
 *	bits proposed -> ranks meet (smap_exch.c) -> bits agreed -> own file, control page -> files exchanged ->
 *	window on rank 0 -> liveness -> fork protection -> adoption -> all ready
 *
 * A peer may write through a window only when its owner has adopted: before, the copy of the adoption would overwrite
 * it. So nobody returns before all are ready. Each step that fails is undone, the others are told why, and end too.
 *
 * After the last smartmap_fini() the own file stays, with what was adopted; a later smartmap_init() uses it again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "smap_adopt.h"
#include "smap_arena.h"
#include "smap_copy.h"
#include "smap_exch.h"
#include "smap_image.h"
#include "smap_maps.h"
#include "smap_own.h"
#include "smap_space.h"
#include "smap_sync.h"
#include "smap_window.h"

/* ---- reasons ------------------------------------------------------------------------------------------------ */

void smap_why_set(enum smartmap_feature f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(smap.why[f], sizeof(smap.why[f]), fmt, ap);
	va_end(ap);
	if (smap.why[f][0])
		smap.has[f] = 0;
}

SMAP_EXPORT const char *smartmap_why(enum smartmap_feature f)
{
	return (unsigned)f < SMARTMAP_F_MAX ? smap.why[f] : "no such feature";
}

SMAP_EXPORT int smartmap_has(enum smartmap_feature f)
{
	return (unsigned)f < SMARTMAP_F_MAX && smap.inits && smap.has[f];
}

/* The only reader of the environment here, and only for tests: each kernel feature can be forced off. */
static void read_force_off(void)
{
	static const char *const name[] = { "windows", "data", "stack", "heap", "huge", "cma", "fork", "membarrier",
					    "pagemap", "mailbox", "mincore", "care" };
	const char *s = getenv("SMARTMAP_FORCE_OFF");
	size_t i, n;

	smap.off = 0;
	while (s && *s) {
		n = strcspn(s, ",");
		for (i = 0; i < sizeof(name) / sizeof(*name); i++)
			if (strlen(name[i]) == n && !strncmp(s, name[i], n))
				smap.off |= 1u << i;
		s += n + (s[n] == ',');
	}
}

int smap_forced_off(enum smap_off what)
{
	return (smap.off & (uint32_t)what) != 0;
}

/* ---- start -------------------------------------------------------------------------------------------------- */

int smap_heap_register(uintptr_t lo, uintptr_t hi)
{
	if (smap.heap_hi)
		return -EBUSY;
	smap.heap_lo = lo;
	smap.heap_hi = hi;
	return 0;
}

/* Bytes of address space in use. */
static uint64_t vm_size(void)
{
	char buf[64];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	buf[n > 0 ? n : 0] = 0;
	return strtoull(buf, NULL, 10) * smap_page();
}

/*
 * Largest windows that there is room for, one per rank, in the addresses that the machine has (smap_space.c) and
 * that ulimit -v leaves. 0: none. In those below SMAP_BITS_ADOPT nothing will be
 * adopted; more than the smallest then only if the program keeps half of what is left.
 */
static int propose_bits(uint32_t size)
{
	struct rlimit r;
	uint64_t used, need;
	int bits, most;

	if (smap_valgrind())
		return SMAP_BITS_VALGRIND;
	most = smap_space_bits(smap_space_end(), size, SMAP_BITS_MIN, SMAP_BITS_MAX);
	if (!most) {
		smap_why_set(SMARTMAP_F_WINDOWS, "this machine gives programs %d bits of addresses, which hold windows "
			     "for at most %u ranks, not for %u: start fewer on it",
			     __builtin_ctzll(smap_space_end()), smap_space_most(smap_space_end(), SMAP_BITS_MIN), size);
		return 0;
	}
	if (getrlimit(RLIMIT_AS, &r) || r.rlim_cur == RLIM_INFINITY)
		return most;
	used = vm_size() + ((uint64_t)256 << 20);	/* and something for the program itself */
	for (bits = most; bits >= SMAP_BITS_MIN; bits--) {
		need = SMAP_SIZE(bits) * size;
		if (bits < SMAP_BITS_ADOPT && bits > SMAP_BITS_MIN)
			need *= 2;
		if (need + used <= r.rlim_cur)
			return bits;
	}
	/* Whatever the limit is, a fourth of it is the heap's (libsmartmap-malloc). */
	need = (SMAP_SIZE(SMAP_BITS_MIN) * size + used - (smap.heap_hi - smap.heap_lo)) / 3 * 4;
	smap_why_set(SMARTMAP_F_WINDOWS, "the limit of virtual memory (ulimit -v) is %llu MiB; this program needs %llu "
		     "MiB in a job of %u ranks: raise it, or start fewer ranks", (unsigned long long)r.rlim_cur >> 20,
		     (unsigned long long)(need >> 20) + 1, size);
	return 0;
}

static int take_window(int peer, int fd)	/* callback of smap_exch_share(), where there is no mailbox */
{
	int ret = peer == smap.rank ? 0 : smap_window_attach_fd(peer, fd);

	if (ret)
		smap_why_set(SMARTMAP_F_WINDOWS, "the window on local rank %d cannot be mapped: %s", peer,
			     strerror(-ret));
	return ret;
}

static void keep_own_fd(int fd)
{
	smap.own_box = smap_box_make(&fd, 1);
	if (smap.own_box >= 0) {
		close(fd);
		return;
	}
	/* The user's limit of descriptors under way is reached (RLIMIT_NOFILE): then it lies open, as a last resort. */
	smap.own_box = -1;
	smap.own_fd_kept = fd;
}

static void reset_ctl(const struct smartmap_job *job)
{
	struct smap_ctl *c = smap.ctl;
	uint32_t i;

	c->rank = job->rank;
	c->size = job->size;
	c->nonce = smap_random();
	atomic_store(&c->ready, 0);
	for (i = 0; i < SMARTMAP_ROOTS; i++)
		atomic_store(&c->root[i], 0);
	for (i = 0; i < job->size + job->guests; i++)
		atomic_store(&c->inside[i].count, 0);
	if (!job->rank) {
		atomic_store(&c->bar_count, 0);
		atomic_store(&c->bar_gen, 0);
		memset(c->live, 0, (job->size + job->guests) * sizeof(c->live[0]));
		memset(c->member, 0, job->size * sizeof(c->member[0]));
	}
}

static void leave(int adopted_now)
{
	if (adopted_now)
		smap_adopt_undo();
	if (smap.mailbox >= 0)
		close(smap.mailbox);
	smap.mailbox = -1;
	smap_windows_drop();
	smap.ctl0 = NULL;
	smap.rank = -1;
	smap.size = smap.guests = 0;
	if (smap.ctl && smap.memfile && !smap.nranges)
		smap_own_drop();
}

static int start_single(void)
{
	int ret = 0;

	if (!smap.ctl) {	/* else: what was used of the arena must be cleared when it is given out again */
		ret = smap_own_make_single();
		if (!ret)
			ret = smap_arena_setup();
		if (ret)
			smap_own_drop();
	}
	if (ret)
		return ret;
	smap.ctl0 = smap.ctl;
	smap.rank = 0;
	smap.size = 1;
	smartmap_view_.mask = ~0ull;
	smap_images_publish();
	return 0;
}

static int start_many(const struct smartmap_job *job)
{
	struct smap_exch x = { .listener = -1, .up = -1 };
	struct smap_facts facts;
	uint32_t flags;
	int bits, fd = -1, ret, held = 0, had = smap.nranges > 0;

	if (job->refuse) {
		smap_why_set(SMARTMAP_F_WINDOWS, "%s", job->refuse);
		ret = smap_exch_refuse(&x, job);
		goto err;
	}
	bits = smap.ctl ? smap.bits : propose_bits(job->size);
	if (smap_forced_off(SMAP_OFF_WINDOWS)) {
		smap_why_set(SMARTMAP_F_WINDOWS, "forced off by SMARTMAP_FORCE_OFF");
		bits = 0;
	}
	ret = smap_exch_meet(&x, job, &bits);
	if (ret)
		goto err;
	if (smap.ctl && smap.bits != bits) {
		smap_why_set(SMARTMAP_F_WINDOWS, "a second start wants windows of 2^%d bytes, this process has memory "
			     "in one of 2^%d", bits, smap.bits);
		ret = smap_exch_ready(&x, -EINVAL, NULL);
		goto err;
	}
	if (smap.ctl) {
		fd = smap_own_fd();
		ret = fd < 0 ? fd : 0;
	} else {
		fd = smap_own_make(bits);
		ret = fd < 0 ? fd : smap_arena_setup();
		if (fd >= 0) {
			int copy = dup(fd);	/* keep_own_fd() may close the one it gets */

			if (copy >= 0) {
				keep_own_fd(copy);
			} else {
				ret = smap_why_nofile();
			}
		}
	}
	if (ret) {
		smap_exch_ready(&x, ret, NULL);
		goto err;
	}
	smap.rank = (int)job->rank;
	smap.size = (int)job->size;
	smap.guests = (int)job->guests;
	smartmap_view_.mask = smap.mask;
	reset_ctl(job);
	smap_images_publish();
	if (!job->rank) {
		ret = smap_live_init(smap.ctl, smap.size + smap.guests);
		if (ret) {
			smap_why_set(SMARTMAP_F_WINDOWS, "robust shared mutexes do not work here: %s", strerror(-ret));
			smap_exch_ready(&x, ret = -ENOSYS, NULL);
			goto err;
		}
	}
	facts = (struct smap_facts){ .ctl_addr = smap.base, .nonce = smap.ctl->nonce, .pid = getpid() };
	ret = smap_exch_share(&x, fd, &facts, smap.ctl->member, &smap.mailbox, take_window);
	if (ret) {
		smap_exch_ready(&x, ret, NULL);
		goto err;
	}
	smap_own_fd_put(fd);
	fd = -1;
	ret = smartmap_attach(0);
	if (ret) {
		smap_why_set(SMARTMAP_F_WINDOWS, "the window on local rank 0 cannot be mapped: %s", strerror(-ret));
		smap_exch_ready(&x, ret = ret == -EPERM ? -EPERM : -ENOMEM, NULL);
		goto err;
	}
	smap.ctl0 = smap_peer_ctl(0);
	ret = smap_live_hold();
	held = !ret;
	if (ret) {
		smap_why_set(SMARTMAP_F_WINDOWS, "the liveness lock is refused: %s", strerror(-ret));
		smap_exch_ready(&x, ret = -ENOSYS, NULL);
		goto err;
	}
	smap_adopt_all(job->adopt);
	atomic_store_explicit(&smap.ctl->ready, 1, memory_order_release);
	flags = (uint32_t)smap_membarrier_setup();
	ret = smap_exch_ready(&x, 0, &flags);
	if (ret)
		goto err;
	smap_membarrier_all((int)(flags & 1));
	smap_exch_close(&x);
	return 0;
err:
	if (held)
		smap_live_drop();
	smap_own_fd_put(fd);
	smap_exch_close(&x);
	leave(!had && smap.nranges);
	return ret;
}

/* A plain fork (nothing was adopted): the child has no windows, so it is in no job. After our own fork: no-op. */
static void in_child(void)
{
	if (smap.inits && smap.memfile)
		smap_child_reset();
}

SMAP_EXPORT int smartmap_init(const struct smartmap_job *job)
{
	static int registered;
	struct rlimit nofile;
	int ret, raised, many;

	if (smap.inits) {
		smap.inits++;
		return 0;
	}
	if (smartmap_forked()) {	/* its rank is its parent's */
		smap_why_set(SMARTMAP_F_WINDOWS, "this is a forked child of a process of a job: it cannot join one");
		return -EPERM;
	}
	if (!job || !job->size || job->size > SMARTMAP_MAX_PEERS || job->rank >= job->size || !job->name ||
	    job->guests > 1 || job->size + job->guests > SMARTMAP_MAX_PEERS ||
	    (job->adopt & ~(uint32_t)SMARTMAP_ADOPT_ALL)) {
		smap_why_set(SMARTMAP_F_WINDOWS, "bad job: rank %u of %u (at most %d on a node)", job ? job->rank : 0,
			     job ? job->size : 0, SMARTMAP_MAX_PEERS);
		return -EINVAL;
	}
	memset(smap.why, 0, sizeof(smap.why));
	memset(smap.has, 0, sizeof(smap.has));
	read_force_off();
	many = job->size + job->guests > 1;
	if (smap.ctl && many && !smap.memfile && !smap.nranges)
		smap_own_drop();	/* anonymous memory cannot be shared; an old file serves a job of one as well */
	if (!many) {
		ret = job->refuse ? -ENOMEM : start_single();
		smap_why_set(SMARTMAP_F_MEMBARRIER, "the job has one process on this node");
	} else {
		smap.nofile_need = 2 * job->size + 64;
		raised = smap_nofile_raise(smap.nofile_need + 64, &nofile);
		ret = start_many(job);
		if (raised)
			setrlimit(RLIMIT_NOFILE, &nofile);
	}
	if (ret)
		return ret;
	if (!registered)
		registered = !pthread_atfork(NULL, NULL, in_child);
	smap.inits = 1;
	smap.has[SMARTMAP_F_WINDOWS] = many;
	smap.has[SMARTMAP_F_MEMBARRIER] = smartmap_membarrier_ok();
	if (many)
		smap_cma_setup();
	return 0;
}

SMAP_EXPORT void smartmap_fini(void)
{
	int i, keep0;

	if (!smap.inits || --smap.inits)
		return;
	if (smap.rank >= smap.size) {		/* a guest: it has no memory of its own here */
		smap_live_drop();
		leave(0);
		return;
	}
	keep0 = smap.size + smap.guests > 1 && !smap_live_drop();
	for (i = 0; i < SMARTMAP_ROOTS; i++)
		atomic_store(&smap.ctl->root[i], 0);	/* M:attach.unpublish */
	if (smap_fork_teardown)
		smap_fork_teardown();
	if (keep0 && smap.rank)		/* another thread's robust list goes through that page: it must stay mapped */
		smartmap_view_.window[0] = 0;
	leave(0);
}

/* ---- guests ------------------------------------------------------------------------------------------------- */

SMAP_EXPORT int smartmap_guest_box(void)
{
	int fd = smap.inits && smap.guests && smap.mailbox >= 0 ? fcntl(smap.mailbox, F_DUPFD_CLOEXEC, 3) : -1;

	return fd < 0 ? -ENOSYS : fd;
}

SMAP_EXPORT int smartmap_guest(int box, uint32_t size)
{
	struct smap_ctl *c;
	int fd, ret;

	if (smap.inits || smap.ctl || box < 0 || !size || size >= SMARTMAP_MAX_PEERS)
		return -EINVAL;
	read_force_off();
	fd = smap_box_get(box, 0);
	if (fd < 0)
		return fd == -EMFILE ? -ENOMEM : -ESRCH;
	c = mmap(NULL, SMAP_CTL_SIZE, PROT_READ, MAP_SHARED, fd, 0);	/* how large are the windows? */
	ret = c == MAP_FAILED ? -ENOMEM : 0;
	if (!ret && (c->magic != SMAP_MAGIC || c->version != SMAP_VERSION || c->bits < SMAP_BITS_MIN ||
		     c->bits > SMAP_BITS_MAX))
		ret = -EPERM;
	if (!ret && c->size != size)
		ret = -EINVAL;
	if (!ret) {
		smap.bits = (int)c->bits;
		smap.mask = SMAP_SIZE(smap.bits) - 1;
		smartmap_view_.mask = smap.mask;
		ret = smap_window_attach_fd(0, fd);
	}
	if (c != MAP_FAILED)
		munmap(c, SMAP_CTL_SIZE);
	close(fd);
	if (ret)
		return ret;
	smap.mailbox = box;
	smap.rank = (int)size;
	smap.size = (int)size;
	smap.guests = 1;
	smap.ctl0 = smap_peer_ctl(0);
	ret = smap_live_take();
	if (ret) {
		smap.mailbox = -1;
		leave(0);
		return ret;
	}
	smap.ctl0->member[size] = (struct smap_member){ .pid = getpid(), .pid_ns = smap_pid_ns() };
	smap_membarrier_setup();	/* so that those of the ranks reach us, too */
	smap_membarrier_all(0);
	smap.inits = 1;
	smap.has[SMARTMAP_F_WINDOWS] = 1;
	smap_cma_setup();
	return 0;
}

SMAP_EXPORT int smartmap_rank(void)
{
	return smap.inits ? smap.rank : -1;
}

SMAP_EXPORT int smartmap_size(void)
{
	return smap.inits ? smap.size : 0;
}

/* In a forked child, called by the fork code when the private copies stand: no window was inherited. */
void smap_child_reset(void)
{
	memset(&smartmap_view_, 0, sizeof(smartmap_view_));
	if (smap.mailbox >= 0)
		close(smap.mailbox);
	if (smap.own_box >= 0)
		close(smap.own_box);
	if (smap.own_fd_kept >= 0)
		close(smap.own_fd_kept);
	smap.mailbox = smap.own_box = smap.own_fd_kept = -1;
	smap.inits = 0;
	smap.rank = -1;
	smap.size = smap.guests = 0;
	smap.nranges = 0;
	smap.ctl = smap.ctl0 = NULL;
	smap.base = 0;
	smap.bits = 0;
	smap.memfile = 0;
	smap.heap_lo = smap.heap_hi = 0;
	pthread_mutex_init(&smap.lock, NULL);
}
