/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_own.h - the own memory file, its registry, and descriptors in socket queues */
#ifndef SMAP_OWN_H
#define SMAP_OWN_H

#include "smap_int.h"

#include <sys/resource.h>

/* Make smap.base and the control page. memfile 0: anonymous, for a job of one. The descriptor, or -errno. */
int smap_own_make(int bits);
int smap_own_make_single(void);
void smap_own_drop(void);		/* undo, while no one else has it and nothing was adopted */

/* Put @fds into the queue of a new socket: the reading end, or -errno (-ETOOMANYREFS: refused by RLIMIT_NOFILE). */
int smap_box_make(const int *fds, int n);
/* Take a copy of descriptor @index out of the queue, which keeps them all; or -errno. */
int smap_box_get(int box, int index);

/* The queue hands out many at a time for a moment: 1 when the limit was raised to @want or what is allowed: restore. */
int smap_nofile_raise(uint32_t want, struct rlimit *old);
/* The sentence for EMFILE and what follows from it. Return: -ENOMEM. */
int smap_why_nofile(void);

/* SCM_RIGHTS in one message. Return: bytes, or -errno. recv fills @fds with at most *@n and sets *@n. */
ssize_t smap_send_fds(int sock, const void *buf, size_t len, const int *fds, int n);
ssize_t smap_recv_fds(int sock, void *buf, size_t len, int *fds, int *n, int flags);

/* List of ranges, with smap.lock held. add returns 0, -ENOSPC, -EBUSY (low bits taken). publish tells the peers. */
int smap_range_free(uintptr_t lo, uintptr_t hi);	/* 1: low bits free, and no line crossed */
/* The first part of [lo, hi) whose low bits are free and that crosses no line. 0: none. */
int smap_range_fit(uintptr_t lo, uintptr_t hi, uintptr_t *out_lo, uintptr_t *out_hi);
int smap_range_add(uintptr_t lo, uintptr_t hi, enum smap_kind kind, int prot);
void smap_ranges_publish(void);
/* Cut [lo, hi) out of the visible (or of all) ranges. 1 when anything changed. */
int smap_ranges_hide(uintptr_t lo, uintptr_t hi);

/* Reader side, on any process's control page. */
int smap_registry_has(struct smap_ctl *ctl, uint32_t *hint, uintptr_t lo, uintptr_t hi, uint64_t mask);

/* Random bytes that only need be different, and a keyed hash (SipHash-2-4). */
uint64_t smap_random(void);
uint64_t smap_mac(const uint8_t key[16], const void *data, size_t len);

#endif
