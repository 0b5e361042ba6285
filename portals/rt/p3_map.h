/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* p3_map.h - from the launcher's and the user's texts to node numbers (internal to portals/rt) */
#ifndef P3_MAP_H
#define P3_MAP_H

#include <stddef.h>
#include <stdint.h>

/**
 * p3_map_parse - PMI_process_mapping to node numbers
 * @text: "(vector,(first node,nodes,ranks per node),...)"; the list repeats until all ranks are placed
 * @node: out [size], numbered densely from 0 in the launcher's order of nodes
 *
 * Return: number of nodes, or -1 (malformed).
 */
int p3_map_parse(const char *text, uint32_t size, uint32_t *node);

/* Decimal numbers separated by colons. Return: how many (0: empty), or -1 (syntax, above 2^32-1, more than @max). */
int p3_map_list(const char *text, uint32_t *out, uint32_t max);

/* Give equal @id[i] equal numbers: 0.. in rising order of id. Return: how many different, or -1 (no memory). */
int p3_map_dense(const uint32_t *id, uint32_t size, uint32_t *node);

/* 64-bit FNV-1a, for names and ids: not a secret. */
uint64_t p3_map_hash(uint64_t h, const void *p, size_t len);
#define P3_MAP_HASH0 0xcbf29ce484222325ULL

#endif
