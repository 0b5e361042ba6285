/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* limits.h - as stddef.h here */
#ifndef GPTL_LIMITS_H
#define GPTL_LIMITS_H

#include <linux/limits.h>

#endif
