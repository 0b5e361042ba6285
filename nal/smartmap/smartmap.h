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

#ifdef __cplusplus
extern "C" {
#endif

#define SMARTMAP_MAX_PEERS	250	/* windows of 2^39 bytes that fit into a 47-bit address space */

/* What may be adopted (struct smartmap_job.adopt). */
enum smartmap_adopt {
	SMARTMAP_ADOPT_DATA = 1,	/* data and bss of the executable and of libraries we hold a reference on */
	SMARTMAP_ADOPT_STACK = 2,	/* the main thread's stack */
	SMARTMAP_ADOPT_HEAP = 4,	/* the arena of libsmartmap-malloc, where it is loaded */
	SMARTMAP_ADOPT_ALL = 7
};

/* A job on this node, as every one of its processes describes it. */
struct smartmap_job {
	uint32_t rank;			/* 0 .. size-1, different in each process */
	uint32_t size;			/* processes of the job on this node, 1 .. SMARTMAP_MAX_PEERS */
	const char *name;		/* same in all of them, different for every job and virtual node */
	uint8_t key[16];		/* secret of the job; same in all */
	uint32_t adopt;			/* enum smartmap_adopt */
	int timeout_ms;			/* how long to wait for the others before -ETIMEDOUT; <= 0: 30,000 */
	const int32_t *pids;		/* NULL, or the Unix pid of each rank: a stranger's pid is refused */
	const char *refuse;		/* NULL, or why this process cannot take part: all fail with that */
};

/* How the memory of a peer that is not in its window is reached. */
enum smartmap_path {
	SMARTMAP_DIRECT,		/* loads and stores through the window */
	SMARTMAP_CMA,			/* process_vm_readv, process_vm_writev */
	SMARTMAP_BOUNCE			/* not at all by us: its owner must copy */
};

/**
 * smartmap_init - join the job; collective over its processes on this node
 *
 * Makes the own memory file, exchanges it with the peers, adopts what @job->adopt allows, and returns when every
 * peer has adopted. With size 1 nothing is adopted and no file is shared. With more than one thread running only
 * arenas are visible; under Valgrind or a sanitizer the same (smartmap_why() says so). May block up to timeout_ms.
 * A second call while initialised returns 0 and counts.
 *
 * Return: 0; -EINVAL (@job); -ETIMEDOUT (a peer never came); -ESRCH (one died during the start); -EPERM (a peer's key,
 * user or layout version differs); -ENOMEM, -ENOSYS (no memory file, no window). smartmap_why(SMARTMAP_F_WINDOWS) has
 * the sentence, the same in all processes where one of them failed. On failure nothing has changed.
 */
int smartmap_init(const struct smartmap_job *job);

/**
 * smartmap_fini - leave the job; the counterpart of each smartmap_init()
 *
 * The last call detaches all peers' windows. Adopted memory stays where it is, at the same addresses. The caller
 * makes sure (smartmap_barrier) that no peer is still to touch this process's arenas.
 */
void smartmap_fini(void);

int smartmap_rank(void);		/* own local rank; -1 before smartmap_init() */
int smartmap_size(void);		/* 0 before smartmap_init() */

/* Private to the inline functions below; read only. */
struct smartmap_view {
	uint64_t mask;				/* window size - 1 */
	uintptr_t window[SMARTMAP_MAX_PEERS];	/* 0: not attached yet */
};
extern struct smartmap_view smartmap_view_;

/* Attach @peer's window (idempotent). Return: 0, -EINVAL, -ESRCH (peer gone), -ENOMEM. */
int smartmap_attach(int peer);

void *smartmap_remote_slow_(int peer, const volatile void *addr);	/* of smartmap_remote() below */

/**
 * smartmap_remote - address of @peer's byte @addr in this process
 *
 * Says nothing about whether @addr is in the window: ask smartmap_reachable() first, or know it (arena memory, an
 * MD marked by its owner). Attaches on first use. NULL when the peer cannot be attached. For the own rank: @addr.
 */
static inline void *smartmap_remote(int peer, const volatile void *addr)
{
	uintptr_t w = smartmap_view_.window[peer];	/* of the own rank: always 0 */

	if (__builtin_expect(!w, 0))
		return smartmap_remote_slow_(peer, addr);
	return (void *)(w | ((uintptr_t)addr & smartmap_view_.mask));
}

/* May bytes [addr, addr+len) of @peer be touched through the window? 1 yes, 0 no. No system call, no lock. */
int smartmap_reachable(int peer, const void *addr, size_t len);

/* The same for the own process: may peers touch it? */
int smartmap_adopted(const void *addr, size_t len);

/**
 * smartmap_enter, smartmap_leave - bracket loads and stores to a peer's adopted (not arena) memory
 *
 * Between the two the peer's munmap() and friends wait before the range leaves its window. enter returns 1 when the
 * range is reachable, and holds; 0 when it is not, and holds nothing. One bracket per thread at a time.
 */
int smartmap_enter(int peer, const void *addr, size_t len);
void smartmap_leave(int peer);

/**
 * smartmap_read, smartmap_write - copy from or to a peer's memory by the best path
 *
 * Return: 0; -EAGAIN (SMARTMAP_BOUNCE: only the owner can); -EFAULT (not mapped there); -ESRCH (peer gone).
 */
int smartmap_read(int peer, void *dst, const void *remote_src, size_t len);
int smartmap_write(int peer, void *remote_dst, const void *src, size_t len);

/* Path that a copy of this range would take. */
enum smartmap_path smartmap_path(int peer, const void *addr, size_t len);

/**
 * smartmap_alloc - memory inside the own window, zeroed, for good; visible to peers at once
 * @len:   bytes
 * @align: power of two, up to 2 MiB; 0: 64
 *
 * For state of libraries. Never withdrawn: no smartmap_enter() needed. Safe from any thread.
 * Return: address, or NULL with errno.
 */
void *smartmap_alloc(size_t len, size_t align);
void smartmap_free(void *p, size_t len);

/**
 * smartmap_publish, smartmap_lookup - well-known roots: how a library finds its state in a peer
 * @key: 0 .. SMARTMAP_ROOTS-1 (0-7 libportals, 8-11 libmpi, 12-15 libsma, 16-31 applications)
 *
 * publish stores with release order; lookup returns the peer's address (in the peer's terms), NULL when it has not
 * published yet.
 */
#define SMARTMAP_ROOTS 32
void smartmap_publish(int key, void *addr);
void *smartmap_lookup(int peer, int key);

/**
 * smartmap_shared - memory of the first local rank that every local rank sees; collective
 * @len: bytes, the same in every process
 *
 * In place of POSIX shared memory: it has no name and dies with the job.
 * Return: address in this process (differs between processes), zeroed; NULL with errno.
 */
void *smartmap_shared(size_t len);

/* All local ranks arrive before one leaves. Return: 0, or -ESRCH when a peer died meanwhile. */
int smartmap_barrier(void);

/* Is @peer's process alive? No system call; reads its liveness word. 1, 0. */
int smartmap_alive(int peer);

/* Unix pid of @peer in our pid namespace, as seen at attach; -1 unknown. */
int smartmap_pid(int peer);

/**
 * smartmap_symmetric - the address in @peer of the object that lies at @addr here
 *
 * For data of the executable and its libraries, which ASLR may put at different addresses: translated by the image
 * bases. Other addresses come back unchanged.
 */
void *smartmap_symmetric(int peer, const void *addr);

/* One sentence: why is this off, or (smartmap_has() is 1 then) in part? Never NULL; "" when nothing is. */
enum smartmap_feature {
	SMARTMAP_F_WINDOWS, SMARTMAP_F_DATA, SMARTMAP_F_STACK, SMARTMAP_F_HEAP, SMARTMAP_F_HUGE, SMARTMAP_F_CMA,
	SMARTMAP_F_FORK, SMARTMAP_F_MEMBARRIER, SMARTMAP_F_MAX
};
const char *smartmap_why(enum smartmap_feature f);
int smartmap_has(enum smartmap_feature f);

/* 1 when membarrier(GLOBAL_EXPEDITED) is registered in every peer: waiters may fence for writers. */
int smartmap_membarrier_ok(void);
void smartmap_membarrier(void);	/* full barrier in every running process of the job; a full fence otherwise */

/**
 * smartmap_forked - is this a forked child of a process that was in a job?
 *
 * Such a child has private copies of all memory but no job: it may compute, exec and exit, and smartmap_init() and
 * every call that touches a peer or smartmap_alloc() memory must be refused. One load; safe anywhere.
 * Return: 1, 0.
 */
int smartmap_forked(void);

/* Adopt [addr, addr+len), whole pages, private and anonymous, not in use by the kernel or by another thread while
 * this runs. Return: 0, -EBUSY (collision of low bits), -EINVAL, -ENOTSUP (more than one thread). */
int smartmap_adopt(void *addr, size_t len);

/* Take [addr, addr+len) out of the registry and wait until no peer is inside. The bytes stay. */
void smartmap_withdraw(void *addr, size_t len);

#ifdef __cplusplus
}
#endif
#endif
