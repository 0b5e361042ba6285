/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * MPI-IO's copies: ROMIO, which includes nothing of MPICH's inside, calls memcpy. build-mpich puts this file beside its
 * adioi.h and lets that include it, so that long ones go where MPIR_Memcpy's go: see ch3_memcpy.c.
 */
#ifndef MPIDI_PTL_ROMIO_H_INCLUDED
#define MPIDI_PTL_ROMIO_H_INCLUDED

#include <string.h>

extern void (*MPIDI_PTL_long_copy) (void *dst, const void *src, size_t len);

static inline void *MPIDI_PTL_Io_copy(void *dst, const void *src, size_t len)
{
    if (len < 32 * 1024)        /* MPIDI_PTL_LONG_COPY */
        return memcpy(dst, src, len);
    MPIDI_PTL_long_copy(dst, src, len);
    return dst;
}

#define memcpy MPIDI_PTL_Io_copy

#endif /* MPIDI_PTL_ROMIO_H_INCLUDED */
