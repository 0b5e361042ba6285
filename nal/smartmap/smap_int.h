/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_int.h - inside libsmartmap: the control page, the private state, and who calls whom
 *
 * Three kinds of memory matter here:
 *
 *   control  offset 0 of every memory file, never adopted; written by its owner and, where a field says so, by peers.
 *            Peers may be dead, slow or wrong: an index or length read from it is copied once, checked, then used.
 *   state    struct smap_state smap: private memory of this process. libsmartmap's own image is never adopted, so the
 *            state survives adoption untouched and a forked child gets a copy of its own.
 *   own      window of ourselves on the own file (smap.base): control at +0, arena at +smap.arena_lo. A byte of the
 *            arena has address base + offset, so its low bits are its offset, as for all visible memory.
 *
 * Lock: smap.lock protects the list of ranges, the registry (writers), the arena's free list and attaching. It is
 * never held across a wait for a peer. Leaf: nothing else is locked inside. Not async-signal-safe.
 *
 * Files: smap_init.c start, stop, why; smap_exch*.c the meeting of the ranks, mailbox; smap_own.c own file, registry;
 * smap_maps.c what is mapped; smap_space.c width, places of windows; smap_adopt.c adoption; smap_window.c peers' windows,
 * reachable, enter; smap_copy.c CMA; smap_arena.c alloc, roots, shared; smap_sync.c barrier, liveness, membarrier;
 * smap_image.c symmetric addresses.
 * libsmartmap-malloc and fork (heap*.c, smap_fork*.c, smap_interpose*.c) use only what stands in this header.
 */
#ifndef SMAP_INT_H
#define SMAP_INT_H

#ifdef HAVE_CONFIG_H
#include <config.h>
#endif
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "smartmap.h"

#define SMAP_EXPORT	__attribute__((visibility("default")))
#define SMAP_WEAK	__attribute__((weak))
#define SMAP_LINE	64
#define SMAP_MAGIC	0x70616d73u	/* "smap" */
#define SMAP_VERSION	1u		/* layout of the control page and of the messages at start */
#define SMAP_BITS_MAX	39
#define SMAP_BITS_ADOPT	32		/* the least with a place for private memory; in smaller ones nothing is adopted */
#define SMAP_BITS_MIN	28		/* arenas alone: 250 ranks of Portals need 140 MiB each */
#define SMAP_BITS_VALGRIND 33		/* its processes have 128 GiB; only arenas are visible anyway */
#define SMAP_RANGES	256		/* adopted ranges of a process (typical: ten) */
#define SMAP_IMAGES	128
#define SMAP_SIZE(bits)	((uint64_t)1 << (bits))

/* ---- control page: shared, offset 0 of each file ------------------------------------------------------------ */

struct smap_pub_range {
	_Atomic uint64_t lo, hi;		/* addresses in the owner's terms; hi is exclusive */
};

struct smap_image {				/* one loaded image; written once, before the owner is ready */
	uint64_t id;				/* hash of the build id, or of path and size */
	uint64_t lo, hi;			/* writable and read-only segments, all of it */
};

/* Counted up and down by one mover (the process of that local rank), read by the withdrawing owner. */
struct smap_inside {
	_Alignas(SMAP_LINE) _Atomic uint32_t count;
};

/* Rank 0's page only: one line or two per rank, written by that rank. */
struct smap_live {
	_Alignas(SMAP_LINE) pthread_mutex_t held;	/* robust, shared; held for life; its word is the liveness */
	_Alignas(SMAP_LINE) _Atomic uint32_t arrived;	/* number of the last barrier that it has arrived at */
	_Atomic uint32_t left;				/* 1: smartmap_fini() was called, though it is alive */
};

/* Rank 0's page only; written by rank 0 before any other rank can see it. */
struct smap_member {
	int32_t pid;				/* as its owner sees it */
	uint32_t pad;
	uint64_t pid_ns;			/* inode of its pid namespace: pids compare only where it is the same */
	uint64_t ctl_addr;			/* address of its control page in its own space */
	uint64_t nonce;				/* = its control page's nonce: proves a CMA probe hit the right process */
};

struct smap_ctl {
	/* Written once by the owner, before the file is handed out. */
	uint32_t magic, version;
	uint32_t bits, rank, size;
	int32_t pid;
	uint64_t nonce;
	uint64_t self;				/* address of this page in the owner's space */

	/*
	 * Registry. Owner, under its smap.lock: seq odd, change, seq even. A reader that saw seq even and equal
	 * before and after holds a consistent answer. Sorted by lo, never overlapping or touching.
	 */
	_Alignas(SMAP_LINE) _Atomic uint64_t seq;
	_Atomic uint64_t arena_lo, arena_hi;	/* never withdrawn */
	_Atomic uint32_t nranges;
	_Atomic uint32_t ready;			/* 1: adoption is done, windows may be written */
	struct smap_pub_range range[SMAP_RANGES];

	_Alignas(SMAP_LINE) _Atomic uint64_t root[SMARTMAP_ROOTS];
	uint32_t nimages;
	struct smap_image image[SMAP_IMAGES];
	struct smap_inside inside[SMARTMAP_MAX_PEERS];

	/* Rank 0's page only from here on. */
	_Alignas(SMAP_LINE) _Atomic uint32_t bar_count;
	_Alignas(SMAP_LINE) _Atomic uint32_t bar_gen;	/* futex word, shared */
	_Alignas(SMAP_LINE) _Atomic uint64_t shared_off;	/* smartmap_shared: offset in rank 0's file, or 0 */
	struct smap_live live[SMARTMAP_MAX_PEERS];
	struct smap_member member[SMARTMAP_MAX_PEERS];
};

#define SMAP_CTL_SIZE	((size_t)128 << 10)	/* of the file, kept free of adopted memory */
_Static_assert(sizeof(struct smap_ctl) <= SMAP_CTL_SIZE, "the control page must end where adoption may begin");
_Static_assert(sizeof(struct smap_inside) == SMAP_LINE, "movers must not share a line");

/* ---- private state ------------------------------------------------------------------------------------------ */

enum smap_kind { SMAP_K_DATA, SMAP_K_STACK, SMAP_K_HEAP, SMAP_K_USER, SMAP_K_THREAD };

/*
 * A range of our address space that maps the own file at offset (address & mask). It stays in the list for as long as
 * it is mapped so, visible to peers or not: a forked child must copy it, and its low bits are taken. Every one is
 * MADV_DONTFORK. Never crosses a multiple of the window size.
 */
struct smap_range {
	uintptr_t lo, hi;
	enum smap_kind kind;
	int prot;				/* PROT_READ | PROT_WRITE, as the private mapping had it */
	int visible;				/* in the registry; 0 after smartmap_withdraw() */
};

struct smap_state {
	pthread_mutex_t lock;
	int inits;				/* nested smartmap_init() calls; 0: not in a job */
	int rank, size;
	int guests;				/* processes that are no ranks: numbers from size on */
	int bits;
	uint64_t mask;
	struct smap_ctl *ctl;			/* own control page, = base; NULL before the first init */
	struct smap_ctl *ctl0;			/* rank 0's control page in our window of it (own one for rank 0) */
	uintptr_t base;				/* own window; the whole own file where base_full, else control + arena */
	int memfile;				/* the own memory is a file (size > 1) */
	int own_box;				/* socket whose queue holds the own descriptor; -1 */
	int own_fd_kept;			/* the descriptor itself, where the queue was refused; -1 */
	int mailbox;				/* socket whose queue holds the descriptors of all ranks; -1 */
	_Atomic uint32_t range_seq;		/* odd while the list changes (smap_range_any) */
	uint32_t nranges;
	struct smap_range range[SMAP_RANGES];	/* sorted by lo */
	uintptr_t heap_lo, heap_hi;		/* smap_heap_register(); 0: no allocator arena */
	uint32_t nofile_need;			/* descriptors that the start may take: for its sentence */
	uint32_t off;				/* SMARTMAP_FORCE_OFF, bits of enum smap_off */
	char why[SMARTMAP_F_MAX][256];
	int has[SMARTMAP_F_MAX];
};
extern struct smap_state smap __attribute__((visibility("hidden")));

/* ---- for libsmartmap-malloc, fork and the interposers ------------------------------------------------------- */

/**
 * smap_heap_register - where the allocator's arena lies; from a constructor, before smartmap_init()
 * @lo, @hi: private, anonymous, page-aligned, mapped PROT_READ|PROT_WRITE, MAP_NORESERVE
 *
 * smartmap_init() copies the resident pages to the own file and maps the file over the whole range; a part whose low
 * bits are taken stays private. smap_find_hole() gives a place where that will not be.
 * Return: 0; -EBUSY: there is one already.
 */
SMAP_EXPORT int smap_heap_register(uintptr_t lo, uintptr_t hi);

/**
 * smap_find_hole - a free place in our address space whose low bits nothing else mapped now has
 * @len, @align: bytes; @align a power of two
 * Return: address to be mapped with MAP_FIXED_NOREPLACE; 0: none. Callable before smartmap_init(); no malloc.
 */
SMAP_EXPORT uintptr_t smap_find_hole(size_t len, size_t align);

/* Parts of [lo, hi) that are mapped from the own file now. Return number written to @out (at most @max). */
SMAP_EXPORT int smap_ranges_in(uintptr_t lo, uintptr_t hi, struct smap_range *out, int max);

/* 1 when any byte of [lo, hi) is mapped from the own file (arena not counted). No lock, no call: for interposers. */
SMAP_EXPORT int smap_range_any(uintptr_t lo, uintptr_t hi);

/*
 * After smartmap_withdraw(), the interposer punched and unmapped (or replaced) [lo, hi): drop it from the list.
 * smap_range_protect(): mprotect() was done on it, note the protection for forked children.
 */
SMAP_EXPORT void smap_range_forget(uintptr_t lo, uintptr_t hi);
SMAP_EXPORT void smap_range_protect(uintptr_t lo, uintptr_t hi, int prot);

/*
 * A new mapping of the own file at [lo, hi), which must be unmapped address space or a private mapping that the caller
 * gives up: zeroed, MADV_DONTFORK, registered. For thread stacks and interposed mmap. 0, -EBUSY (low bits), -ENOMEM.
 */
SMAP_EXPORT int smap_range_map(uintptr_t lo, uintptr_t hi, int prot, enum smap_kind kind);

/*
 * Descriptor of the own memory file, got on demand so that none lies open in /proc/PID/fd; -errno. Touches only the
 * stack, smap and the C library's errno. Not locked: safe between fork's clone and the child's repair.
 */
SMAP_EXPORT int smap_own_fd(void);
SMAP_EXPORT void smap_own_fd_put(int fd);

/* Offset of an own address in the own file (valid where smap_range_any() or the arena holds it). */
static inline uint64_t smap_window_offset(const void *addr)
{
	return (uintptr_t)addr & smap.mask;
}

/* State for code outside libsmartmap.so (libsmartmap-malloc). */
SMAP_EXPORT struct smap_state *smap_get_state(void);

/*
 * Collapse the populated 2 MiB blocks of [lo, hi) into huge pages where that is known to work. Never populates.
 * smap_huge_ok(): it was probed and works.
 */
SMAP_EXPORT void smap_collapse(uintptr_t lo, uintptr_t hi);
SMAP_EXPORT int smap_huge_ok(void);

/*
 * In smap_fork.c. setup: called by smartmap_init() before adoption; 0, or -errno with smap_why_set(SMARTMAP_F_FORK):
 * then nothing private is adopted, since a child would run in its parent's memory or die. teardown: by the last
 * smartmap_fini() (adopted ranges stay, so fork must stay right). child: smap_child_reset() is called by the fork
 * code in a child once its private copies stand: no job, no windows, empty range list.
 */
int smap_fork_setup(void) SMAP_WEAK;
void smap_fork_teardown(void) SMAP_WEAK;
void smap_child_reset(void);

static inline void smap_lock(void) { pthread_mutex_lock(&smap.lock); }
static inline void smap_unlock(void) { pthread_mutex_unlock(&smap.lock); }

/* ---- within libsmartmap ------------------------------------------------------------------------------------- */

static inline void smap_pause(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

enum smap_off {		/* SMARTMAP_FORCE_OFF=windows,data,... (tests) */
	SMAP_OFF_WINDOWS = 1 << 0, SMAP_OFF_DATA = 1 << 1, SMAP_OFF_STACK = 1 << 2, SMAP_OFF_HEAP = 1 << 3,
	SMAP_OFF_HUGE = 1 << 4, SMAP_OFF_CMA = 1 << 5, SMAP_OFF_FORK = 1 << 6, SMAP_OFF_MEMBARRIER = 1 << 7,
	SMAP_OFF_PAGEMAP = 1 << 8, SMAP_OFF_MAILBOX = 1 << 9, SMAP_OFF_MINCORE = 1 << 10,
	SMAP_OFF_CARE = 1 << 11	/* adopt although a child of fork() will fault, and though threads run (emulators') */
};
int smap_forced_off(enum smap_off what);

void smap_why_set(enum smartmap_feature f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
