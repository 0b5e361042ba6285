/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* stdbool.h - as stddef.h here */
#ifndef GPTL_STDBOOL_H
#define GPTL_STDBOOL_H

#include <linux/types.h>
#include <linux/stddef.h>

#endif
