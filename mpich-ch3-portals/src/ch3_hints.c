/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * MPICH_MPIIO_HINTS: pattern:hint=value:hint=value,pattern:hint=value
 *
 * Apart from ch3_io.c, so that the check at the start does not bring MPI_File_open into a static program.
 */
#include "mpidi_ch3_impl.h"
#include <fnmatch.h>

static size_t entry_len(const char *entry)
{
    return strcspn(entry, ",");
}

/* From hint to hint of an entry: what is behind the next colon, or NULL. */
static const char *next_colon(const char *p, const char *end)
{
    p = memchr(p, ':', end - p);
    return p ? p + 1 : NULL;
}

static int split(const char *p, const char *end, MPIDI_PTL_Hint_t * hint)
{
    const char *colon = memchr(p, ':', end - p), *eq;

    if (colon != NULL)
        end = colon;
    eq = memchr(p, '=', end - p);
    if (eq == NULL || eq == p || eq + 1 == end)
        return 0;
    hint->key = p;
    hint->key_len = eq - p;
    hint->value = eq + 1;
    hint->value_len = end - eq - 1;
    return hint->key_len < MPI_MAX_INFO_KEY && hint->value_len < MPI_MAX_INFO_VAL;
}

int MPIDI_PTL_Hints_good(const char *hints)
{
    MPIDI_PTL_Hint_t hint;

    for (;; hints++) {
        const char *end = hints + entry_len(hints), *p = next_colon(hints, end);

        if (p == NULL || p == hints + 1)
            return 0;
        for (; p != NULL; p = next_colon(p, end))
            if (!split(p, end, &hint))
                return 0;
        hints = end;
        if (*hints == '\0')
            return 1;
    }
}

static int fits(const char *entry, const char *colon, const char *filename)
{
    char pattern[PATH_MAX];
    int len = colon - 1 - entry;

    if (len >= (int) sizeof(pattern))
        return 0;
    memcpy(pattern, entry, len);
    pattern[len] = '\0';
    return fnmatch(pattern, filename, 0) == 0;
}

/*
 * The next hint for a file. *at is the place in the text, its start at first; 0 when there is none any more. A place is
 * the start of an entry, or the colon before a hint of an entry that fits.
 */
int MPIDI_PTL_Hints_next(const char **at, const char *filename, MPIDI_PTL_Hint_t * hint)
{
    const char *p = *at;

    while (p != NULL && *p != '\0') {
        const char *end = p + entry_len(p), *next;

        if (*p != ':') {
            next = next_colon(p, end);
            if (next == NULL || !fits(p, next, filename)) {
                p = *end == ',' ? end + 1 : NULL;
                continue;
            }
            p = next - 1;
        }
        p++;
        next = next_colon(p, end);
        *at = next ? next - 1 : *end == ',' ? end + 1 : NULL;
        return split(p, end, hint);
    }
    *at = NULL;
    return 0;
}
