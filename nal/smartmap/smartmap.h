/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smartmap.h - see the memory of every other process of a job on this node, at fixed offsets
 *
 * Every process owns one anonymous memory file of 2^SMARTMAP_WINDOW_BITS bytes. The file offset of a byte is the low
 * bits of its virtual address. A peer maps the whole file once (its "window"); from then on
 *
 *	remote = window[peer] | (address & (window_size - 1))
 *
 * is the peer's byte, for a load, a store or a processor atomic, with no system call and no help from the peer.
 *
 * Words: peer - a process of this job on this node, numbered 0 .. size-1 (its local rank); window - where a peer's
 * file is mapped here; adopt - move a private range of ours into our file, at the same address; registry - the list
 * of adopted ranges of a process, readable by all peers; arena - memory made inside the file from the start.
 */
#ifndef SMARTMAP_H
#define SMARTMAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SMARTMAP_MAX_PEERS	250	/* windows of 2^39 bytes that fit into a 47-bit address space */

/**
 * SMARTMAP_ADOPT_ALL - what may be adopted
 *
 * Member adopt of struct smartmap_job: these together.
 *
 * See: smartmap_init
 */
enum smartmap_adopt {
	SMARTMAP_ADOPT_DATA = 1,	/* data and bss of the executable and of libraries we hold a reference on */
	SMARTMAP_ADOPT_STACK = 2,	/* the main thread's stack */
	SMARTMAP_ADOPT_HEAP = 4,	/* the arena of libsmartmap-malloc, where it is loaded */
	SMARTMAP_ADOPT_ALL = 7		/* all of them */
};

/**
 * smartmap_job - a job on this node, as every one of its processes describes it
 *
 * See: smartmap_init
 */
struct smartmap_job {
	uint32_t rank;			/* 0 .. size-1, different in each process */
	uint32_t size;			/* processes of the job on this node, 1 .. SMARTMAP_MAX_PEERS */
	const char *name;		/* same in all of them, different for every job and virtual node */
	uint8_t key[16];		/* secret of the job; same in all */
	uint32_t adopt;			/* enum smartmap_adopt */
	int timeout_ms;			/* how long to wait for the others before -ETIMEDOUT; <= 0: 30,000 */
	const int32_t *pids;		/* NULL, or the Unix pid of each rank: a stranger's pid is refused */
	const char *refuse;		/* NULL, or why this process cannot take part: all fail with that */
	uint32_t guests;		/* processes that may come later, by smartmap_guest(): 0 or 1 */
};

/**
 * SMARTMAP_DIRECT - how the memory of a peer is reached
 *
 * See: smartmap_path
 */
enum smartmap_path {
	SMARTMAP_DIRECT,		/* loads and stores through the window */
	SMARTMAP_CMA,			/* process_vm_readv, process_vm_writev */
	SMARTMAP_BOUNCE			/* not at all by us: its owner must copy */
};

/**
 * smartmap_init - join the job
 * @job: the same in all its processes but for rank
 *
 * Collective over the job's processes on this node. Makes the own memory file, exchanges it with the peers, adopts
 * what @job->adopt allows, and returns when every peer has adopted. With size 1 nothing is adopted and no file is
 * shared. With more than one thread running only arenas are visible; under Valgrind or a sanitizer the same
 * (smartmap_why() says so). May block up to timeout_ms. A second call while initialised returns 0 and counts.
 *
 * On failure nothing has changed, and smartmap_why(SMARTMAP_F_WINDOWS) has the sentence, the same in all processes
 * where one of them failed.
 *
 * Return:
 *   0: the job is joined
 *   -EINVAL: @job makes no sense
 *   -ETIMEDOUT: a peer never came
 *   -ESRCH: one died during the start
 *   -EPERM: a peer's key, user or layout version differs
 *   -ENOMEM, -ENOSYS: no memory file, no window
 * See: smartmap_fini, smartmap_why
 */
int smartmap_init(const struct smartmap_job *job);

/**
 * smartmap_fini - leave the job
 *
 * The counterpart of each smartmap_init(). The last call detaches all peers' windows. Adopted memory stays where it
 * is, at the same addresses. The caller makes sure (smartmap_barrier) that no peer is still to touch this process's
 * arenas.
 */
void smartmap_fini(void);

/**
 * smartmap_guest_box - what a guest needs to come in
 *
 * A guest is a process that is no rank of the job, an engine: it sees the windows of all ranks and owns none. Its
 * number is smartmap_size(), for smartmap_alive() and smartmap_pid() as a rank's. The job must have asked for it.
 *
 * Return: a descriptor to be inherited by that process (close-on-exec; the caller's to close); -ENOSYS: there is none
 * See: smartmap_guest
 */
int smartmap_guest_box(void);

/**
 * smartmap_guest - come into a job as its guest
 * @box: the descriptor of smartmap_guest_box(), which is the library's from now on
 * @size: processes of the job on this node
 *
 * For a process that has not called smartmap_init(). Not collective. One at a time: fails while another guest lives.
 * smartmap_remote(), smartmap_root(), smartmap_enter() and the copies work as in a rank; barriers and arenas do not.
 *
 * Return:
 *   0: all windows can be attached
 *   -EINVAL: no such job
 *   -EBUSY: there is a living guest
 *   -EPERM: another layout version
 *   -ESRCH, -ENOMEM: local rank 0's file is not to be had, or not to be mapped
 */
int smartmap_guest(int box, uint32_t size);

/**
 * smartmap_rank, smartmap_size - own local rank, number of processes
 *
 * Return: the rank, -1 before smartmap_init(); the number, 0 before smartmap_init().
 */
int smartmap_rank(void);
int smartmap_size(void);

/* Private to the inline functions below; read only. */
struct smartmap_view {
	uint64_t mask;				/* window size - 1 */
	uintptr_t window[SMARTMAP_MAX_PEERS];	/* 0: not attached yet */
};
extern struct smartmap_view smartmap_view_;

/**
 * smartmap_attach - attach the window of a peer
 * @peer: its local rank
 *
 * May be repeated.
 *
 * Return:
 *   0: it is attached
 *   -EINVAL: no such peer
 *   -ESRCH: it is gone
 *   -ENOMEM: no room for the window
 * See: smartmap_remote
 */
int smartmap_attach(int peer);

void *smartmap_remote_slow_(int peer, const volatile void *addr);	/* of smartmap_remote() below */

/**
 * smartmap_remote - where a byte of a peer is in this process
 * @peer: its local rank
 * @addr: the byte's address there
 *
 * Says nothing about whether @addr is in the window: ask smartmap_reachable() first, or know it (arena memory, an
 * MD marked by its owner). Attaches on first use.
 *
 * Return: its address here; for the own rank @addr; NULL when the peer cannot be attached.
 */
static inline void *smartmap_remote(int peer, const volatile void *addr)
{
	uintptr_t w = smartmap_view_.window[peer];	/* of the own rank: always 0 */

	if (__builtin_expect(!w, 0))
		return smartmap_remote_slow_(peer, addr);
	return (void *)(w | ((uintptr_t)addr & smartmap_view_.mask));
}

/**
 * smartmap_reachable - may bytes of a peer be touched through its window?
 * @peer: its local rank
 * @addr: first byte, its address there
 * @len: bytes
 *
 * No system call, no lock.
 *
 * Return: 1: yes; 0: no.
 * See: smartmap_enter
 */
int smartmap_reachable(int peer, const void *addr, size_t len);

/**
 * smartmap_adopted - may peers touch bytes of this process through its window?
 * @addr: first byte
 * @len: bytes
 *
 * Return: 1: yes; 0: no.
 */
int smartmap_adopted(const void *addr, size_t len);

/**
 * smartmap_enter, smartmap_leave - bracket loads and stores to a peer's adopted (not arena) memory
 * @peer: its local rank
 * @addr: first byte, its address there
 * @len: bytes
 *
 * Between the two the peer's munmap(2) and friends wait before the range leaves its window. One bracket per thread
 * at a time.
 *
 * Return: of smartmap_enter: 1: the range is reachable, and held; 0: it is not, and nothing is held.
 */
int smartmap_enter(int peer, const void *addr, size_t len);
void smartmap_leave(int peer);

/* What smartmap_copy() is made of; not to be named by programs. */
struct smartmap_u16_ { uint16_t v; } __attribute__((packed, may_alias));
struct smartmap_u32_ { uint32_t v; } __attribute__((packed, may_alias));
struct smartmap_u64_ { uint64_t v; } __attribute__((packed, may_alias));
static inline void smartmap_copy(void *to, const void *from, size_t len) __attribute__((always_inline));

static inline void smartmap_copy_long_(void *to, const void *from, size_t len)
{
	const char *f = (const char *)from;
	char *t = (char *)to;
	uintptr_t ahead = (uintptr_t)t - (uintptr_t)f;
	size_t piece = 2048;

	if (__builtin_expect(len > piece && (ahead - 1) % 4096 < 63 && ahead >= len, 0)) {
		__asm__("" : "+r"(piece));	/* a call each: of a constant a compiler makes that instruction, too */
		for (; len > piece; t += piece, f += piece, len -= piece)
			memcpy(t, f, piece);
	}
	memmove(t, f, len);
}

/**
 * smartmap_copy - memmove(3) that stores a word once, and goes at full speed wherever the bytes stand
 * @to: where to; may be in a window
 * @from: where from; may be in a window
 * @len: bytes
 *
 * 1, 2, 4 or 8 bytes are one load and one store: who waits for them never sees half of them, as long as they are
 * aligned, nor sees them twice. The C library stores 8 bytes twice (the first eight, then the last eight); what another
 * writes there in between, as who has waited for them may, is lost.
 *
 * The C library copies more than 2 KiB by the processor's string instruction. On AMD's Zen 3 that takes 25 times as
 * long where the destination lies 1 to 31 bytes behind the source, within pages of 4 KiB: memory of malloc(3), of 128
 * KiB or more, begins 16 bytes behind a page, a symmetric heap or a window where a page does. Such copies go in pieces.
 */
static inline void smartmap_copy(void *to, const void *from, size_t len)
{
	switch (len) {
	case 1:
		*(volatile char *)to = *(const volatile char *)from;
		break;
	case 2:
		((volatile struct smartmap_u16_ *)to)->v = ((const volatile struct smartmap_u16_ *)from)->v;
		break;
	case 4:
		((volatile struct smartmap_u32_ *)to)->v = ((const volatile struct smartmap_u32_ *)from)->v;
		break;
	case 8:
		((volatile struct smartmap_u64_ *)to)->v = ((const volatile struct smartmap_u64_ *)from)->v;
		break;
	default:
		smartmap_copy_long_(to, from, len);
	}
}

/**
 * smartmap_read, smartmap_write - copy from or to a peer's memory by the best path
 * @peer: its local rank
 * @dst: where to, here
 * @remote_src: where from, the address there
 * @remote_dst: where to, the address there
 * @src: where from, here
 * @len: bytes
 *
 * Return:
 *   0: done
 *   -EAGAIN: only the owner can (SMARTMAP_BOUNCE)
 *   -EFAULT: not mapped there
 *   -ESRCH: the peer is gone
 * See: smartmap_path
 */
int smartmap_read(int peer, void *dst, const void *remote_src, size_t len);
int smartmap_write(int peer, void *remote_dst, const void *src, size_t len);

/**
 * smartmap_path - which way a copy of a peer's memory would take
 * @peer: its local rank
 * @addr: first byte, its address there
 * @len: bytes
 *
 * Return: SMARTMAP_DIRECT, SMARTMAP_CMA or SMARTMAP_BOUNCE.
 */
enum smartmap_path smartmap_path(int peer, const void *addr, size_t len);

/**
 * smartmap_alloc, smartmap_free - memory inside the own window
 * @len: bytes
 * @align: power of two, up to 2 MiB; 0: 64
 * @p: what smartmap_alloc gave
 *
 * Zeroed, visible to peers at once. For state of libraries. Never withdrawn: no smartmap_enter() needed. Safe from
 * any thread.
 *
 * Return: address, or NULL with errno.
 */
void *smartmap_alloc(size_t len, size_t align);
void smartmap_free(void *p, size_t len);

/**
 * smartmap_publish, smartmap_lookup - well-known roots: how a library finds its state in a peer
 * @key: 0 to SMARTMAP_ROOTS - 1 (0-7 libportals, 8-11 libmpi, 12-15 libsma, 16-31 applications)
 * @addr: address of the state
 * @peer: local rank of whose is looked for
 *
 * The address is stored with release order.
 *
 * Return: the peer's address, in the peer's terms; NULL when it has not published yet.
 */
#define SMARTMAP_ROOTS 32	/* keys that there are */
void smartmap_publish(int key, void *addr);
void *smartmap_lookup(int peer, int key);

/**
 * smartmap_shared - memory of the first local rank that every local rank sees
 * @len: bytes, the same in every process
 *
 * Collective. In place of POSIX shared memory: it has no name and dies with the job.
 * Return: address in this process (differs between processes), zeroed; NULL with errno.
 */
void *smartmap_shared(size_t len);

/**
 * smartmap_barrier - all local ranks arrive before one leaves
 *
 * Blocks.
 *
 * Return:
 *   0: all have arrived
 *   -ESRCH: a peer died that has not
 */
int smartmap_barrier(void);

/* Says for how many nanoseconds it need not be called again. */
typedef int64_t smartmap_meantime_t(void *arg);

/**
 * smartmap_barrier_between - a barrier for who has work to do while it waits
 * @meantime: called now and then while others have not arrived
 * @arg: its argument
 *
 * As smartmap_barrier, with which it may be mixed. @meantime may be called once when the last has arrived already,
 * and must not call a barrier itself.
 *
 * Return: as smartmap_barrier.
 */
int smartmap_barrier_between(smartmap_meantime_t *meantime, void *arg);

/**
 * smartmap_alive - is the process of a peer alive?
 * @peer: its local rank
 *
 * No system call: reads a word that the kernel clears when the thread that called smartmap_init() dies.
 *
 * Return: 1: yes; 0: no.
 */
int smartmap_alive(int peer);

/**
 * smartmap_pid - Unix pid of a peer
 * @peer: its local rank
 *
 * Return: the pid in our pid namespace, as seen at the start; -1: unknown.
 */
int smartmap_pid(int peer);

/**
 * smartmap_symmetric - the address in a peer of an object of ours
 * @peer: its local rank
 * @addr: where the object is here
 *
 * For data of the executable and its libraries, which ASLR may put at different addresses: translated by the image
 * bases.
 *
 * Return: its address there; other addresses come back unchanged.
 */
void *smartmap_symmetric(int peer, const void *addr);

/**
 * smartmap_why, smartmap_has - why is something off, is it there?
 * @f: what
 *
 * Return: of smartmap_why: one sentence, why it is off, or (smartmap_has is 1 then) in part; never NULL, "" when
 * nothing is. Of smartmap_has: 1 or 0.
 */
enum smartmap_feature {
	SMARTMAP_F_WINDOWS,	/* peers are mapped at all */
	SMARTMAP_F_DATA,	/* data of program and libraries */
	SMARTMAP_F_STACK,	/* the main stack */
	SMARTMAP_F_HEAP,	/* the arena of libsmartmap-malloc */
	SMARTMAP_F_HUGE,	/* huge pages */
	SMARTMAP_F_CMA,		/* copies by the kernel */
	SMARTMAP_F_FORK,	/* the child of a fork has copies of its own */
	SMARTMAP_F_MEMBARRIER,	/* waiters fence for writers */
	SMARTMAP_F_MAX		/* how many there are */
};
const char *smartmap_why(enum smartmap_feature f);
int smartmap_has(enum smartmap_feature f);

/**
 * smartmap_membarrier, smartmap_membarrier_ok - a full barrier in every running process of the job
 *
 * Where membarrier(2) is registered in every peer: waiters may fence for writers then. Otherwise a full fence here.
 *
 * Return: of smartmap_membarrier_ok: 1 when it is registered in every peer, else 0.
 */
int smartmap_membarrier_ok(void);
void smartmap_membarrier(void);

/**
 * smartmap_forked - is this a forked child of a process that was in a job?
 *
 * Such a child has private copies of all memory but no job: it may compute, exec and exit, and smartmap_init() and
 * every call that touches a peer or smartmap_alloc() memory must be refused. One load; safe anywhere.
 *
 * Return: 1: yes; 0: no.
 */
int smartmap_forked(void);

/**
 * smartmap_adopt - adopt private anonymous memory by hand
 * @addr: first byte, of a page
 * @len: bytes, whole pages
 *
 * They must not be in use by the kernel or by another thread while this runs.
 *
 * Return:
 *   0: peers may see them
 *   -EBUSY: the low bits of the addresses collide with others
 *   -EINVAL: no whole pages
 *   -ENOTSUP: more than one thread
 */
int smartmap_adopt(void *addr, size_t len);

/**
 * smartmap_withdraw - take memory out of the registry
 * @addr: first byte
 * @len: bytes
 *
 * Waits until no peer is inside. The bytes stay.
 *
 * See: smartmap_adopt
 */
void smartmap_withdraw(void *addr, size_t len);

#ifdef __cplusplus
}
#endif
#endif
