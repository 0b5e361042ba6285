/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* The copy routine for long copies. */
#include "mpidi_ch3_impl.h"

static void libc_copy(void *dst, const void *src, size_t len)
{
    memcpy(dst, src, len);
}

void (*MPIDI_PTL_long_copy) (void *dst, const void *src, size_t len) = libc_copy;
