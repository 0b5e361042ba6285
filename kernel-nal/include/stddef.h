/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* stddef.h - the freestanding header for sources that the kernel compiles (it has no C library headers) */
#ifndef GPTL_STDDEF_H
#define GPTL_STDDEF_H

#include <linux/stddef.h>
#include <linux/types.h>

#endif
