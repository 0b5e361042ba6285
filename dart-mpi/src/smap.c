/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap.c - libsmartmap, where the MPI library has brought it into this process
 *
 * It is looked for at run time, so that one build of DART runs with any MPI. MPI has joined the job of this node; DART
 * only asks where memory of the others is seen. Never linked with: a process must not have two of it.
 */
#include "dartc.h"

#include <dlfcn.h>

static struct {
	int (*rank)(void);
	int (*size)(void);
	int (*pid)(int);
	int (*has)(int);
	int (*reachable)(int, const void *, size_t);
	int (*attach)(int);
	void *(*remote)(int, const volatile void *);
	void *(*alloc)(size_t, size_t);
	void (*release)(void *, size_t);
} smap;

/* Is it there, and are others of this node's job mapped? */
bool dartc_smap_open(void)
{
	static const struct { const char *name; void *to; } want[] = {
		{ "smartmap_rank", &smap.rank }, { "smartmap_size", &smap.size }, { "smartmap_pid", &smap.pid },
		{ "smartmap_has", &smap.has },
		{ "smartmap_reachable", &smap.reachable }, { "smartmap_attach", &smap.attach },
		{ "smartmap_remote_slow_", &smap.remote }, { "smartmap_alloc", &smap.alloc },
		{ "smartmap_free", &smap.release },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		void *f = dlsym(RTLD_DEFAULT, want[i].name);

		if (!f)
			return false;
		memcpy(want[i].to, &f, sizeof(f));
	}
	return smap.size() == 1 || (smap.size() > 1 && smap.has(0 /* SMARTMAP_F_WINDOWS */));
}

int dartc_smap_rank(void)
{
	return smap.rank();
}

int dartc_smap_pid(int peer)
{
	return peer >= 0 && peer < smap.size() ? smap.pid(peer) : -1;
}

bool dartc_smap_reachable(int peer, const void *addr, size_t len)
{
	return peer == smap.rank() || (!smap.attach(peer) && smap.reachable(peer, addr, len));
}

void *dartc_smap_remote(int peer, const void *addr)
{
	void *p = NULL;

	if (peer == smap.rank())
		memcpy(&p, &addr, sizeof(p));
	else if (!smap.attach(peer))
		p = smap.remote(peer, addr);
	return p;
}

void *dartc_smap_alloc(size_t len)
{
	return smap.alloc(len, len >= 4096 ? 4096 : 64);
}

void dartc_smap_free(void *p, size_t len)
{
	smap.release(p, len);
}
