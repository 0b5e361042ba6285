/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The copy routine for long copies: every MPIR_Memcpy of MPIDI_PTL_LONG_COPY bytes and more, so also those of packed
 * datatypes, of MPI-IO and of messages to self. Without MPICH_FAST_MEMCPY it is smartmap_copy(),
 * the C library's but for the places where that is slow.
 *
 * With it, the fastest is found by the copies that the program makes anyway: for each size (a power of two) every
 * routine gets TRIES of them in turn, and then the one with the best time has it. The best time, not the mean: a first
 * copy into new memory also counts page faults. A size is tried again after AGAIN copies, since what was in a cache
 * then may not be now.
 *
 * The routines: that one; the processor's string copy, which needs no read of the lines that it overwrites; and
 * stores that go past the caches, with the source fetched ahead. The last is only tried where source and destination
 * together do not fit the last cache: below, whoever reads the copy next would find it in memory instead, and the
 * measurement of the copy alone does not show that.
 */
#include "mpidi_ch3_impl.h"
#include <smartmap.h>
#if defined(__x86_64__)
#include <emmintrin.h>
#include <x86intrin.h>
#endif

static void usual_copy(void *dst, const void *src, size_t len)
{
    smartmap_copy(dst, src, len);
}

/* Visible, so that a test can see which copies go this way. */
__attribute__((visibility("default"))) void (*MPIDI_PTL_long_copy) (void *, const void *, size_t) = usual_copy;

#if defined(__x86_64__)

#define CLASSES 32              /* powers of two, from MPIDI_PTL_LONG_COPY on */
#define TRIES   3
#define AGAIN   4096
#define AHEAD   512             /* bytes of the source that are fetched before they are needed */

static void string_copy(void *dst, const void *src, size_t len)
{
    __asm__ __volatile__("rep movsb":"+D"(dst), "+S"(src), "+c"(len)::"memory");
}

/* Lines of the destination are written whole, so nothing of them is read; its ends by the C library. */
static void stream_copy(void *dst, const void *src, size_t len)
{
    char *to = dst;
    const char *from = src;
    size_t head = -(uintptr_t) to % 64;

    memcpy(to, from, head);
    for (to += head, from += head, len -= head; len >= 64; to += 64, from += 64, len -= 64) {
        __m128i a = _mm_loadu_si128((const __m128i *) from), b = _mm_loadu_si128((const __m128i *) (from + 16));
        __m128i c = _mm_loadu_si128((const __m128i *) (from + 32)), d = _mm_loadu_si128((const __m128i *) (from + 48));

        _mm_prefetch(from + AHEAD, _MM_HINT_NTA);
        _mm_stream_si128((__m128i *) to, a);
        _mm_stream_si128((__m128i *) (to + 16), b);
        _mm_stream_si128((__m128i *) (to + 32), c);
        _mm_stream_si128((__m128i *) (to + 48), d);
    }
    _mm_sfence();               /* they are ordered with the stores that follow: "the data are there" */
    memcpy(to, from, len);
}

static void (*const routines[]) (void *, const void *, size_t) = { usual_copy, string_copy, stream_copy };
enum { USUAL, STRING, STREAM, N_ROUTINES };

/* Copies are made under MPICH's lock, but for those of a thread inside MPI-IO: a lost count does no harm. */
static struct {
    uint32_t count;
    uint8_t chosen;             /* 0: not yet, or the routine + 1 */
    float best[N_ROUTINES];     /* ticks per byte */
} classes[CLASSES];

static size_t past_caches;      /* bytes of a copy from which on source and destination leave no cache warm */

static void measured_copy(int i, int routine, void *dst, const void *src, size_t len)
{
    uint64_t t = __rdtsc();
    float cost;

    routines[routine] (dst, src, len);
    cost = (float) (__rdtsc() - t) / (float) len;
    if (classes[i].best[routine] == 0 || cost < classes[i].best[routine])
        classes[i].best[routine] = cost;
}

static int choose(int i, int n)
{
    int best = USUAL, r;

    for (r = 1; r < n; r++)
        if (classes[i].best[r] < classes[i].best[best])
            best = r;
    return classes[i].chosen = best + 1;
}

static void fast_copy(void *dst, const void *src, size_t len)
{
    int i = MPL_MIN(63 - __builtin_clzll(len | MPIDI_PTL_LONG_COPY) - __builtin_ctz(MPIDI_PTL_LONG_COPY), CLASSES - 1);
    int n = (size_t) MPIDI_PTL_LONG_COPY << i >= past_caches ? N_ROUTINES : STREAM;     /* the same for the class */
    uint32_t count = classes[i].count++;

    if (count >= AGAIN) {
        memset(&classes[i], 0, sizeof(classes[i]));
        count = 0;
    }
    if (count < TRIES * N_ROUTINES) {
        measured_copy(i, count % n, dst, src, len);
    } else {
        int chosen = classes[i].chosen;

        if (chosen == 0)
            chosen = choose(i, n);
        routines[chosen - 1] (dst, src, len);
    }
}

static size_t cache_size(void)
{
    long n = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);

    n = MPL_MAX(n, l2);
    return n > 0 ? n : 8 << 20;
}

void MPIDI_PTL_Memcpy_init(void)
{
    past_caches = MPL_MIN(cache_size() / 2, 32 << 20);  /* a shared cache says more than one process gets */
    MPIDI_PTL_long_copy = MPIDI_PTL_env.fast_memcpy ? fast_copy : usual_copy;
}

#else /* no other processor's routines were measured yet */

void MPIDI_PTL_Memcpy_init(void)
{
}

#endif
