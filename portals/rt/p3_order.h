/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* p3_order.h - rank orders: parser of MPICH_RANK_ORDER (internal to portals/rt; p3_rt_reorder is in p3_rt.h) */
#ifndef P3_ORDER_H
#define P3_ORDER_H

#include <stddef.h>
#include <stdint.h>

/**
 * p3_order_parse - a list of ranks: numbers and ranges (0-15, 15-0), separated by commas, blanks or newlines
 * @name: file name for messages; @text: @len bytes, any
 * @list: out [size], each rank 0 .. size-1 exactly once; undefined on failure
 *
 * '#' starts a comment. Return: 0, or -1 with one line "NAME:LINE: what" in @err.
 */
int p3_order_parse(const char *name, const char *text, size_t len, uint32_t size, uint32_t *list, char *err,
		   size_t errlen);

#endif
