/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_interpose.h - libc's functions that libsmartmap has its own of
 *
 * Each is a hidden function smap_NAME and an exported alias NAME. Inside the library the hidden name is used: where
 * libc comes first in the search order, NAME would be libc's even here.
 */
#ifndef SMAP_INTERPOSE_H
#define SMAP_INTERPOSE_H

#include "smap_int.h"		/* first: it has config.h */

#include <sys/ioctl.h>
#include <termios.h>

#define SMAP_OURS(name, ours) \
	extern __typeof(ours) name __attribute__((alias(#ours), visibility("default")))

pid_t smap_fork(void);
pid_t smap__Fork(void);
int smap_daemon(int nochdir, int noclose);
int smap_forkpty(int *master, char *name, const struct termios *term, const struct winsize *win);
int smap_munmap(void *a, size_t n);
void *smap_mmap(void *a, size_t n, int prot, int flags, int fd, off_t off);
int smap_mprotect(void *a, size_t n, int prot);
int smap_mlockall(int flags);
int smap_madvise(void *a, size_t n, int adv);
void *smap_mremap(void *old, size_t from, size_t to, int flags, ...);

/**
 * smap_interpose_ready - see to it that the program's calls come to the functions above
 *
 * They do where libsmartmap stands before libc in the search order. Where it does not (it is only a dependency of a
 * library), the calls of all objects that are loaded now are redirected. Return: 0; -ENOTSUP.
 */
int smap_interpose_ready(void);

/* libc's own @name, whatever the search order is; NULL. */
void *smap_libc_symbol(const char *name);

#endif
