/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * heap.c - libsmartmap-malloc: the malloc family on one arena that libsmartmap can adopt
 *
 * Owns one reservation (the arena), made at the very first allocation of the process, and the decision which
 * allocator serves it: mimalloc on the arena, or glibc's own malloc where no arena can be had. The arena is ordinary
 * private anonymous memory, so a program that only computes sees nothing of us but mimalloc. It becomes shared when
 * smartmap_init() adopts it (smap_heap_register() told libsmartmap where it lies); its addresses never change.
 *
 * Invariants: (1) the decision is made once, before the first block is handed out, so each block is freed by the
 * allocator that made it; (2) the low SMAP_BITS bits of the arena's addresses are used by no other mapping at that
 * moment, so that its place in the memory file is free; (3) the arena is registered with mimalloc before mimalloc
 * takes its first segment: what it took earlier would lie outside.
 *
 * No lock: the first allocation happens in ld.so or in a constructor, where there is one thread. A second thread
 * that got in (a constructor that starts threads before anybody allocated: pthread_create allocates) is impossible.
 *
 * mimalloc falls back to memory of its own when the arena is full or the alignment asked for is larger than its
 * segments: such blocks are right, and reached through the kernel instead of the window.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <mimalloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Largest window that libsmartmap may choose; a smaller one sees fewer bits, and refuses on a collision there. */
#define SMAP_BITS	39
#define SMAP_SPAN	(1UL << SMAP_BITS)
#define SMAP_MASK	(SMAP_SPAN - 1)

#define GIB		(1UL << 30)
#define ARENA_ALIGN	(1UL << 30)	/* mimalloc wants 32 MiB; huge pages 2 MiB; 1 GiB saves page-table levels */
#define ARENA_LARGE	(256 * GIB)	/* half of the largest window */
#define ARENA_USUAL	(64 * GIB)
#define ARENA_LEAST	(1 * GIB)
#define SEGMENT		(32UL << 20)	/* mimalloc's unit */
#define SEGMENT_HEAD	(1UL << 20)	/* where the block of a huge segment begins, at most */
#define HUGE		(32UL << 20)	/* blocks from here on go back to the kernel when freed, as glibc's do */
#define WRITTEN		(4UL << 20)	/* blocks from here on are worth huge pages at once */
#define LARGE		(1UL << 20)	/* blocks from here on are whole pages, worth a system call */
#define HUGE_PAGE	(2UL << 20)
#define MADV_COLLAPSE_	25		/* Linux 6.1 */
#define GAP		(16 * GIB)	/* room kept between the arena and what the kernel maps next */

/* libsmartmap's, when it is in the process (smap_int.h). The first stores two words, nothing else. */
extern int smap_heap_register(uintptr_t lo, uintptr_t hi) __attribute__((weak));
extern int smap_range_any(uintptr_t lo, uintptr_t hi) __attribute__((weak));
extern int smap_huge_ok(void) __attribute__((weak));

/* ---- which allocator ---- */

struct heap_ops {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void (*free)(void *);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	size_t (*usable)(void *);
};

static size_t mi_usable(void *p)
{
	return mi_usable_size(p);
}

/*
 * More than this at once no kernel in its usual mode would promise (memory and swap). The arena and mimalloc's own
 * maps are MAP_NORESERVE, so the question must be asked here: programs count on NULL for absurd sizes.
 */
static size_t most = PTRDIFF_MAX;

static void *refuse(void)
{
	errno = ENOMEM;
	return NULL;
}

/*
 * Huge pages. Once the arena is shared, each first touch of a 4-KiB page costs a fifth more than it does in private
 * memory, and random access up to 7 %; in 2-MiB pages both cost less than in private memory, and a peer's first touch
 * a hundredth. Shared memory gets such pages only by MADV_COLLAPSE, at once and resident, before they are touched. That
 * is a guess, made for large blocks that malloc() hands out (calloc's stay untouched), and no more than one block ahead
 * of what is known: while the last such block has not been written (some bytes are looked at), the next gets none.
 * Where a guess turns out slow (fragmented memory, or a virtual machine's that its host has yet to give) there is none
 * for a while; and never for more than a part of the memory.
 *
 * huge_map says which pages of the arena have been made; whoever gives one back to the kernel clears its bit.
 */
#define SLOW		1e-9		/* seconds a byte: twice what plain pages take */
#define PAUSE		0.02		/* seconds without guesses after a slow one; doubled each time */
#define UNTOUCHED	16		/* blocks without a guess before one is tried again */
#define SAMPLES		8		/* places of a block that are looked at */
static uintptr_t arena_lo, arena_hi;
static _Atomic uint64_t huge_map[ARENA_LARGE / HUGE_PAGE / 64];
static _Atomic size_t huge_budget;	/* bytes that may still be made */
static size_t huge_total;
static int always;			/* SMARTMAP_MALLOC=huge: no doubts, only the limit */

/* The last guess. Threads that find it taken do without. */
static struct {
	atomic_flag taken;
	uintptr_t lo, hi;		/* not known yet whether it was right; lo 0: nothing in doubt */
	unsigned skipped;
	double pause, until;		/* seconds; CLOCK_MONOTONIC */
} guess = { .taken = ATOMIC_FLAG_INIT };

static double seconds(void)		/* of our own work: others on the processor do not count */
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int budget_take(size_t len)
{
	size_t b = huge_budget;

	while (b >= len)
		if (atomic_compare_exchange_weak(&huge_budget, &b, b - len))
			return 1;
	return 0;
}

static void budget_give(size_t len)
{
	huge_budget += len;
}

static _Atomic uint64_t *huge_word(uintptr_t a, uint64_t *bit)
{
	size_t page = (a - arena_lo) / HUGE_PAGE;

	*bit = (uint64_t)1 << page % 64;
	return &huge_map[page / 64 % (sizeof(huge_map) / 8)];
}

static int huge_is(uintptr_t a)
{
	uint64_t bit;
	_Atomic uint64_t *w = huge_word(a, &bit);

	return (atomic_load_explicit(w, memory_order_relaxed) & bit) != 0;
}

static void huge_set(uintptr_t a)
{
	uint64_t bit;
	_Atomic uint64_t *w = huge_word(a, &bit);

	atomic_fetch_or(w, bit);
}

/* Was it set? */
static int huge_clear(uintptr_t a)
{
	uint64_t bit;
	_Atomic uint64_t *w = huge_word(a, &bit);

	return (atomic_fetch_and(w, ~bit) & bit) != 0;
}

static double wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Collapse [lo, hi). False: no more of it. */
static int huge_run(uintptr_t lo, uintptr_t hi)
{
	double t = seconds();
	int slow;

	if (!budget_take(hi - lo))
		return 0;
	for (uintptr_t a = lo; a < hi; a += HUGE_PAGE)
		(void)*(volatile char *)a;	/* a pure hole cannot be collapsed: EINVAL */
	slow = syscall(SYS_madvise, lo, hi - lo, MADV_COLLAPSE_) != 0;
	if (slow)
		budget_give(hi - lo);
	else
		for (uintptr_t a = lo; a < hi; a += HUGE_PAGE)
			huge_set(a);
	if (slow || (!always && seconds() - t > SLOW * (double)(hi - lo))) {
		guess.pause = guess.pause ? 2 * guess.pause : PAUSE;
		guess.until = wall() + guess.pause;
		return 0;
	}
	return 1;
}

/*
 * Has most of the last guess been written by now? Zeros that were written count as nothing: then it goes on without.
 * The block is the program's, which may have protected it: the kernel looks, and there is no signal. [guess.taken]
 */
static int huge_proven(void)
{
	static uint64_t seen[SAMPLES][512];
	size_t step = (guess.hi - guess.lo) / SAMPLES & ~63UL;
	struct iovec to = { seen, sizeof(seen) }, from[SAMPLES];
	unsigned n = 0, written = 0;
	ssize_t got;

	for (unsigned k = 0; k < SAMPLES; k++) {
		uintptr_t w = guess.lo + k * step + step / 2;

		if (huge_is(w))
			from[n++] = (struct iovec){ (void *)w, sizeof(seen[0]) };
	}
	got = n ? syscall(SYS_process_vm_readv, getpid(), &to, 1, from, n, 0) : 0;
	for (unsigned k = 0; k < n && got >= (ssize_t)((k + 1) * sizeof(seen[0])); k++)
		for (unsigned i = 0; i < 512; i++)
			if (seen[k][i]) {
				written++;
				break;
			}
	return written >= SAMPLES / 2;
}

static void __attribute__((noinline)) huge_make(char *p, size_t len)
{
	uintptr_t lo = ((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1), hi = ((uintptr_t)p + len) & ~(HUGE_PAGE - 1);
	int first = 1, e = errno;

	while (lo < hi && huge_is(lo))
		lo += HUGE_PAGE;
	if (lo < arena_lo || hi > arena_hi || lo >= hi || !smap_range_any || !smap_huge_ok ||
	    !smap_range_any(arena_lo, arena_lo + 1) || !smap_huge_ok() || atomic_flag_test_and_set(&guess.taken))
		return;
	if (!always && ((guess.until && wall() < guess.until) ||
			(guess.lo && !huge_proven() && ++guess.skipped < UNTOUCHED)))
		goto out;
	guess.skipped = 0;
	guess.lo = 0;
	while (lo < hi) {
		uintptr_t end = lo;

		while (end < hi && end - lo < SEGMENT && !huge_is(end)) {
			end += HUGE_PAGE;
			if (first)	/* to see what it costs */
				break;
		}
		first = 0;
		if (end == lo) {
			end += HUGE_PAGE;
		} else {
			if (!huge_run(lo, end))
				goto out;
			if (!guess.lo)
				guess.lo = lo;
			guess.hi = end;
		}
		lo = end;
	}
	guess.pause = 0;
out:
	atomic_flag_clear(&guess.taken);
	errno = e;
}

/* [from, to) has been given back to the kernel. */
static void huge_gone(uintptr_t from, uintptr_t to)
{
	if (from < guess.hi && guess.lo < to && guess.lo && !atomic_flag_test_and_set(&guess.taken)) {
		if (guess.lo && huge_proven())
			guess.lo = 0;		/* else it stays in doubt: nobody can prove it any more */
		atomic_flag_clear(&guess.taken);
	}
	for (uintptr_t a = from & ~(HUGE_PAGE - 1); a < to; a += HUGE_PAGE)
		if (a >= arena_lo && a < arena_hi && huge_is(a) && huge_clear(a))
			budget_give(HUGE_PAGE);
}

static void *arena_malloc(size_t n)
{
	void *p;

	if (__builtin_expect(n >= WRITTEN, 0)) {
		if (n > most)
			return refuse();
		p = mi_malloc(n);
		if (p)
			huge_make(p, n);
		return p;
	}
	return mi_malloc(n);
}

/*
 * mimalloc 2.0.9 takes a block of a power-of-two size for one that is aligned to its size, which is not so for 256 to
 * 1024 bytes. One byte more leads it around that.
 */
static void *aligned(size_t a, size_t n, void *(*get)(size_t, size_t))
{
	void *p;

	if (n > most)
		return refuse();
	p = get(a, n);
	if (__builtin_expect(p && (uintptr_t)p & (a - 1), 0)) {
		mi_free(p);
		p = get(a, n + 1);
	}
	return p;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void *arena_valloc(size_t n)
{
	return aligned(page_size(), n, mi_memalign);
}

static void *arena_pvalloc(size_t n)
{
	size_t page = page_size();

	return n > most ? refuse() : aligned(page, (n + page - 1) & ~(page - 1), mi_memalign);
}

/* As glibc's: an alignment that is none is made one. */
static void *arena_memalign(size_t a, size_t n)
{
	size_t up = sizeof(void *);

	while (up < a && up <= most)
		up *= 2;
	return up > most ? refuse() : aligned(up, n, mi_memalign);
}

static void *arena_aligned_alloc(size_t a, size_t n)
{
	return aligned(a, n, mi_memalign);	/* glibc's takes any size, too */
}

static int arena_posix_memalign(void **p, size_t a, size_t n)
{
	void *q;

	if (a % sizeof(void *) || !a || a & (a - 1))
		return EINVAL;
	q = aligned(a, n, mi_memalign);
	if (!q)
		return ENOMEM;
	*p = q;
	return 0;
}

/* The number in @path, or SIZE_MAX. */
static size_t number_in(const char *path, const char *key)
{
	char buf[4096], *p = buf;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return SIZE_MAX;
	buf[n] = 0;
	if (key && !(p = strstr(buf, key)))
		return SIZE_MAX;
	p += key ? strlen(key) : 0;
	while (*p == ' ')
		p++;
	return *p >= '0' && *p <= '9' ? strtoul(p, NULL, 10) : SIZE_MAX;	/* "max" */
}

/*
 * What may be made huge: a quarter of what is free, or of what our cgroup may have, for all ranks together. How many
 * there are is not known here; a launcher's variable tells, else there are as many as processors.
 */
static size_t huge_part(void)
{
	const char *e = getenv("SMARTMAP_MALLOC"), *size = getenv("PMI_SIZE");
	size_t kb = number_in("/proc/meminfo", "MemAvailable:"), room = kb == SIZE_MAX ? 0 : kb << 10;
	size_t limit = number_in("/sys/fs/cgroup/memory.max", NULL);
	long n = sysconf(_SC_NPROCESSORS_ONLN), ranks = size ? atol(size) : 0;

	if (e && !strcmp(e, "small"))
		return 0;
	always = e && !strcmp(e, "huge");
	if (limit == SIZE_MAX)
		limit = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", NULL);
	if (room > limit)
		room = limit;
	n = ranks > n ? ranks : n;
	return room / 4 / (size_t)(n < 1 ? 1 : n);
}

static size_t most_at_once(void)
{
	struct sysinfo si;
	char c = '0';
	int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, &c, 1) != 1)
			c = '0';
		close(fd);
	}
	if (c == '1' || sysinfo(&si))
		return PTRDIFF_MAX;
	return (si.totalram + si.totalswap) * (size_t)si.mem_unit;
}

/*
 * Large blocks. mimalloc clears them by writing (memory becomes resident that the program may never touch), keeps
 * them resident when they are freed (and takes the next from elsewhere in the arena, so the process grows), and
 * copies to grow them. glibc maps, unmaps and moves pages; these functions give the same result on the arena.
 */

/* Give [p, p+len)'s whole pages back; they read zero afterwards. MADV_REMOVE works while the arena is shared (where
 * MADV_DONTNEED would keep the bytes) and fails while it is private, so the two together are right in both states.
 * The kernel is called directly: a libsmartmap in front of madvise would have nothing to add. */
static int pages_drop(char *p, size_t len, char **from, char **to)
{
	int e = errno, failed;

	*from = (char *)(((uintptr_t)p + 4095) & ~4095UL);
	*to = (char *)((uintptr_t)(p + len) & ~4095UL);
	huge_gone((uintptr_t)*from, (uintptr_t)*to);
	failed = syscall(SYS_madvise, *from, *to - *from, MADV_REMOVE) &&
		 syscall(SYS_madvise, *from, *to - *from, MADV_DONTNEED);
	errno = e;		/* free() keeps it */
	return failed;
}

/* Blocks of half a segment and more have a segment of their own and begin near its start: a cheap first test. */
static size_t huge_size(void *p)
{
	size_t n;

	if (((uintptr_t)p & (SEGMENT - 1)) >= SEGMENT_HEAD || !p)
		return 0;
	n = mi_usable_size(p);
	return n >= HUGE ? n : 0;
}

static void *arena_calloc(size_t n, size_t s)
{
	char *p, *lo, *hi;
	size_t len;

	if (__builtin_mul_overflow(n, s, &len) || len > most)
		return refuse();
	if (len < LARGE)
		return mi_calloc(n, s);
	p = mi_malloc(len);
	if (!p)
		return NULL;
	if (pages_drop(p, len, &lo, &hi))
		return memset(p, 0, len);
	memset(p, 0, (size_t)(lo - p));
	memset(hi, 0, (size_t)(p + len - hi));
	return p;
}

static void __attribute__((noinline)) huge_free(void *p, size_t len)
{
	char *lo, *hi;

	pages_drop(p, len, &lo, &hi);	/* when it fails they stay resident: no more than that */
	mi_free(p);
}

static void arena_free(void *p)
{
	size_t len = huge_size(p);

	if (__builtin_expect(len != 0, 0))
		huge_free(p, len);
	else
		mi_free(p);
}

/* Growing takes half as much again, of addresses, not of memory: the copies of a growing array stay linear. */
static void *arena_realloc(void *p, size_t n)
{
	size_t len = huge_size(p);
	void *q;

	if (n > most)
		return refuse();
	if (p && !n) {			/* as glibc's */
		arena_free(p);
		return NULL;
	}
	if (!len)
		return mi_realloc(p, n);
	if (n <= len && n >= len / 2)
		return p;
	q = n > len && n + n / 2 <= most ? mi_malloc(n + n / 2) : NULL;
	if (!q)
		q = mi_malloc(n);
	if (!q)
		return NULL;
	memcpy(q, p, n < len ? n : len);
	huge_free(p, len);
	return q;
}

static void *arena_reallocarray(void *p, size_t n, size_t s)
{
	size_t len;

	if (__builtin_mul_overflow(n, s, &len))
		return refuse();
	return arena_realloc(p, len);
}

static const struct heap_ops heap_mimalloc = {
	.malloc = arena_malloc, .calloc = arena_calloc, .realloc = arena_realloc, .free = arena_free,
	.memalign = arena_memalign, .aligned_alloc = arena_aligned_alloc, .posix_memalign = arena_posix_memalign,
	.valloc = arena_valloc, .pvalloc = arena_pvalloc, .reallocarray = arena_reallocarray, .usable = mi_usable,
};

static void *first_malloc(size_t n);
static void *first_calloc(size_t n, size_t s);
static void *first_realloc(void *p, size_t n);
static void first_free(void *p);
static void *first_memalign(size_t a, size_t n);
static void *first_aligned_alloc(size_t a, size_t n);
static int first_posix_memalign(void **p, size_t a, size_t n);
static void *first_valloc(size_t n);
static void *first_pvalloc(size_t n);
static void *first_reallocarray(void *p, size_t n, size_t s);
static size_t first_usable(void *p);

/* Each call is one jump through this table: no branch for the life of the process, whichever allocator was chosen. */
static struct heap_ops heap = {
	.malloc = first_malloc, .calloc = first_calloc, .realloc = first_realloc, .free = first_free,
	.memalign = first_memalign, .aligned_alloc = first_aligned_alloc, .posix_memalign = first_posix_memalign,
	.valloc = first_valloc, .pvalloc = first_pvalloc, .reallocarray = first_reallocarray, .usable = first_usable,
};

/* ---- glibc's malloc, found without the dynamic linker's help (its own lock and malloc may be in use) ---- */

/* Symbol @name of the object @m by its GNU hash table; NULL when it has none. First match of any version. */
static void *elf_symbol(const struct link_map *m, const char *name)
{
	const ElfW(Sym) *sym = NULL;
	const char *str = NULL;
	const uint32_t *gh = NULL, *bucket, *chain;
	const ElfW(Addr) *bloom;
	uint32_t h = 5381, i;

	for (const ElfW(Dyn) *d = m->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			sym = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			str = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_GNU_HASH)
			gh = (const void *)d->d_un.d_ptr;
	}
	if (!sym || !str || !gh || !gh[0])
		return NULL;
	for (const unsigned char *s = (const unsigned char *)name; *s; s++)
		h = h * 33 + *s;
	bloom = (const void *)(gh + 4);
	bucket = (const uint32_t *)(bloom + gh[2]);
	chain = bucket + gh[0];
	i = bucket[h % gh[0]];
	if (i < gh[1])
		return NULL;
	for (;; i++) {
		uint32_t c = chain[i - gh[1]];

		if ((c | 1) == (h | 1) && sym[i].st_shndx != SHN_UNDEF && !strcmp(str + sym[i].st_name, name))
			return (void *)(m->l_addr + sym[i].st_value);
		if (c & 1)
			return NULL;
	}
}

/* Fill @o with glibc's functions. They keep the names that we override, so a symbol search would find ourselves. */
static int heap_glibc(struct heap_ops *o)
{
	const struct link_map *m = _r_debug.r_map;

	for (; m; m = m->l_next) {
		const char *base = m->l_name ? strrchr(m->l_name, '/') : NULL;

		if (!strcmp(base ? base + 1 : m->l_name ? m->l_name : "", "libc.so.6"))
			break;
	}
	if (!m)
		return -ENOENT;
#define FIND(field, name) if (!(*(void **)&o->field = elf_symbol(m, name))) return -ENOENT
	FIND(malloc, "malloc");
	FIND(calloc, "calloc");
	FIND(realloc, "realloc");
	FIND(free, "free");
	FIND(memalign, "memalign");
	FIND(aligned_alloc, "aligned_alloc");
	FIND(posix_memalign, "posix_memalign");
	FIND(valloc, "valloc");
	FIND(pvalloc, "pvalloc");
	FIND(reallocarray, "reallocarray");
	FIND(usable, "malloc_usable_size");
#undef FIND
	return 0;
}

/* ---- the arena's place ---- */

#define MAX_MAPS 512

struct range {
	uintptr_t lo, hi;
};

static uintptr_t hex(const char **s)
{
	uintptr_t v = 0;

	for (;; (*s)++) {
		unsigned d = **s - '0';

		if (d > 9) {
			d = **s - 'a' + 10u;
			if (d < 10 || d > 15)
				return v;
		}
		v = v << 4 | d;
	}
}

/*
 * Read /proc/self/maps into @r without allocating; neighbours are joined. The main stack is taken with the room it
 * may be adopted with: 1 GiB and a guard. Return: number of ranges; 0 when it cannot be read.
 */
static int read_maps(struct range *r)
{
	char buf[4096], line[128];
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), n = 0;
	size_t col = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	while ((got = read(fd, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < got; i++) {
			const char *s = line;
			struct range m;

			if (buf[i] != '\n') {
				if (col < sizeof(line) - 1)
					line[col++] = buf[i];
				continue;
			}
			line[col] = 0;
			col = 0;
			m.lo = hex(&s);
			s++;
			m.hi = hex(&s);
			if (strstr(s, "[stack]"))
				m.lo = m.hi - GIB - (2UL << 20);
			if (n && (r[n - 1].hi >= m.lo || n == MAX_MAPS))
				r[n - 1].hi = m.hi;	/* a neighbour; or one too many: errs on the safe side */
			else
				r[n++] = m;
		}
	close(fd);
	return n;
}

/* Does [lo, lo+len) overlap a mapping, or does its image in the low bits overlap the image of one? */
static int place_taken(const struct range *r, int n, uintptr_t lo, size_t len)
{
	uintptr_t off = lo & SMAP_MASK;

	if (off + len > SMAP_SPAN)
		return 1;
	for (int i = 0; i < n; i++) {
		uintptr_t o = r[i].lo & SMAP_MASK, l = r[i].hi - r[i].lo;

		if (r[i].hi >> 56)			/* vsyscall: never adopted */
			continue;
		if (lo < r[i].hi + GAP && r[i].lo < lo + len + GAP)
			return 1;
		if (o < off + len && off < o + l)
			return 1;
		if (o + l > SMAP_SPAN && off < o + l - SMAP_SPAN)	/* crosses a window line */
			return 1;
	}
	return 0;
}

/*
 * Reserve @len bytes. Near the libraries, in a 512-GiB slot that is in use already: slots are what windows of peers
 * need. The lowest bytes of the window are libsmartmap's own.
 */
static void *reserve(const struct range *r, int n, size_t len)
{
	uintptr_t near = (uintptr_t)&heap & ~SMAP_MASK;
	int width = 64 - __builtin_clzll((uintptr_t)&heap);	/* libraries lie in the upper half of the addresses */

	for (int slot = 0; slot < 4; slot++) {
		uintptr_t base = near - (uintptr_t)slot * SMAP_SPAN;

		if (base > near || !base)
			break;
		for (uintptr_t off = SMAP_SPAN - len; off >= 4 * GIB && off < SMAP_SPAN; off -= ARENA_ALIGN) {
			void *p;

			if ((base + off + len) >> width || place_taken(r, n, base + off, len))
				continue;
			p = mmap((void *)(base + off), len, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
			if (p == (void *)(base + off))
				return p;
			if (p != MAP_FAILED)		/* a kernel before 4.17 took it as a hint */
				munmap(p, len);
			else if (errno == ENOMEM)
				return NULL;
		}
	}
	return NULL;
}

/* How much to reserve at first: what the machine could ever fill, within the window and the limits. */
static size_t arena_size(void)
{
	size_t want = ARENA_USUAL;
	struct sysinfo si;
	struct rlimit rl;

	if (!sysinfo(&si))
		while (want < ARENA_LARGE && want < si.totalram * (size_t)si.mem_unit)
			want *= 2;
	if (!getrlimit(RLIMIT_AS, &rl) && rl.rlim_cur != RLIM_INFINITY)
		while (want >= ARENA_LEAST && want > rl.rlim_cur / 4)
			want /= 2;	/* the rest is the program's: libraries, stacks, its own mmap */
	return want;
}

/* ---- the decision ---- */

static void say(const char *why)
{
	static const char a[] = "smartmap-malloc: ", b[] = "; glibc's malloc serves, and peers reach heap memory "
		"through the kernel. SMARTMAP_MALLOC=quiet keeps this quiet.\n";
	const char *e = getenv("SMARTMAP_MALLOC");

	if (e && !strcmp(e, "quiet"))
		return;
	if (write(2, a, sizeof(a) - 1) < 0 || write(2, why, strlen(why)) < 0 || write(2, b, sizeof(b) - 1) < 0)
		return;		/* nothing to say it on */
}

/* Choose the allocator and fill the table. Runs once, at the first allocation, with no allocation of its own. */
static void heap_setup(void)
{
	static int state;	/* 0, 1 busy, 2 done */
	static struct range maps[MAX_MAPS];
	const char *e = getenv("SMARTMAP_MALLOC");
	struct heap_ops o = heap_mimalloc;
	void *arena = NULL;
	mi_arena_id_t id;
	size_t len;
	int n;

	if (state == 2)
		return;
	if (state == 1) {	/* mimalloc's own start-up allocated (its verbose mode does): serve it, then go on */
		heap = heap_mimalloc;
		return;
	}
	state = 1;
	if (e && !strcmp(e, "no")) {
		if (!heap_glibc(&o))
			goto out;
		o = heap_mimalloc;
	}
	n = read_maps(maps);
	for (len = arena_size(); n && len >= ARENA_LEAST && !arena; len /= 4)
		if ((arena = reserve(maps, n, len)))
			break;
	if (!arena) {
		if (!heap_glibc(&o)) {
			say(!n ? "/proc/self/maps is not readable" : "no address space for an arena (ulimit -v, or "
			    "vm.overcommit_memory 2)");
			goto out;
		}
		goto out;	/* no glibc here: mimalloc on its own memory */
	}
	arena_lo = (uintptr_t)arena;
	arena_hi = arena_lo + len;
	huge_total = huge_part();
	huge_budget = huge_total;
	most = most_at_once();
	mi_option_set(mi_option_allow_decommit, 0);
	mi_option_set(mi_option_page_reset, 0);
	if (!mi_manage_os_memory_ex(arena, len, true, false, true, -1, false, &id)) {
		munmap(arena, len);
		if (!heap_glibc(&o))
			say("mimalloc refused the arena");
		goto out;
	}
	if (smap_heap_register)
		smap_heap_register((uintptr_t)arena, (uintptr_t)arena + len);
out:
	heap = o;
	state = 2;
}

__attribute__((constructor(101))) static void heap_start(void)
{
	heap_setup();
}

/* ---- the first call of each ---- */

static void *first_malloc(size_t n)
{
	heap_setup();
	return heap.malloc(n);
}

static void *first_calloc(size_t n, size_t s)
{
	heap_setup();
	return heap.calloc(n, s);
}

static void *first_realloc(void *p, size_t n)
{
	heap_setup();
	return heap.realloc(p, n);
}

static void first_free(void *p)
{
	if (!p)
		return;
	heap_setup();
	heap.free(p);
}

static void *first_memalign(size_t a, size_t n)
{
	heap_setup();
	return heap.memalign(a, n);
}

static void *first_aligned_alloc(size_t a, size_t n)
{
	heap_setup();
	return heap.aligned_alloc(a, n);
}

static int first_posix_memalign(void **p, size_t a, size_t n)
{
	heap_setup();
	return heap.posix_memalign(p, a, n);
}

static void *first_valloc(size_t n)
{
	heap_setup();
	return heap.valloc(n);
}

static void *first_pvalloc(size_t n)
{
	heap_setup();
	return heap.pvalloc(n);
}

static void *first_reallocarray(void *p, size_t n, size_t s)
{
	heap_setup();
	return heap.reallocarray(p, n, s);
}

static size_t first_usable(void *p)
{
	heap_setup();
	return heap.usable(p);
}

/* ---- what the program calls. operator new is libstdc++'s own: it calls these, and throws when they fail ---- */

EXPORT void *malloc(size_t n)
{
	return heap.malloc(n);
}

EXPORT void *calloc(size_t n, size_t s)
{
	return heap.calloc(n, s);
}

EXPORT void *realloc(void *p, size_t n)
{
	return heap.realloc(p, n);
}

EXPORT void free(void *p)
{
	if (p)			/* programs that free what they may not have do it often: MPICH twice a request */
		heap.free(p);
}

EXPORT void cfree(void *p);
EXPORT void cfree(void *p)
{
	heap.free(p);
}

EXPORT void *memalign(size_t a, size_t n)
{
	return heap.memalign(a, n);
}

EXPORT void *aligned_alloc(size_t a, size_t n)
{
	return heap.aligned_alloc(a, n);
}

EXPORT int posix_memalign(void **p, size_t a, size_t n)
{
	return heap.posix_memalign(p, a, n);
}

EXPORT void *valloc(size_t n)
{
	return heap.valloc(n);
}

EXPORT void *pvalloc(size_t n)
{
	return heap.pvalloc(n);
}

EXPORT void *reallocarray(void *p, size_t n, size_t s)
{
	return heap.reallocarray(p, n, s);
}

EXPORT size_t malloc_usable_size(void *p)
{
	return heap.usable(p);
}
