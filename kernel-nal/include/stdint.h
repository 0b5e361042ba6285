/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* stdint.h - as stddef.h here */
#ifndef GPTL_STDINT_H
#define GPTL_STDINT_H

#include <linux/types.h>
#include <linux/limits.h>

#ifndef UINT64_MAX
#define UINT64_MAX U64_MAX
#endif
#ifndef INT64_MAX
#define INT64_MAX S64_MAX
#endif
#ifndef UINT32_MAX
#define UINT32_MAX U32_MAX
#endif

#endif
