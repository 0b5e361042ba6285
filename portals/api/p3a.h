/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3a.h - the user-side library: handles, the interface table, entering and leaving a call
 *
 * A handle is 32 bits: kind (3), interface (3), generation (10), index (16). Kinds are chosen so that no handle equals
 * PTL_INVALID_HANDLE, PTL_EQ_NONE or PTL_HANDLE_NONE. There is one interface at a time, and each has the next place in
 * the table: a handle of one that was closed finds nobody there. When the places have been through, generations are
 * counted from elsewhere (nal_ni.base).
 */
#ifndef P3A_H
#define P3A_H

#include <portals3.h>
#include <errno.h>
#include <sys/single_threaded.h>
#include "p3l.h"
#include "nal.h"

#define P3A_API __attribute__((visibility("default")))
#define P3A_MAX_NI 8

enum p3a_kind { P3A_NI = 1, P3A_ME = 2, P3A_MD = 4, P3A_EQ = 6 };

/* dump.c */
void p3a_dump(int fd);
void p3a_dump_setup(void);
void p3a_waits(struct p3l_wait *w);
void p3a_dump_list(int fd, const struct p3l_ni *l, uint32_t pt);
void p3a_dump_me(int fd, const struct p3l_ni *l, uint32_t me);
void p3a_dump_eqs(int fd, const struct p3l_ni *l);

/* eq.c: the event of slot @s of queue @eq. True: its descriptor has been updated since. */
bool p3a_event_show(struct nal_ni *ni, uint32_t eq, const struct p3l_slot *s, ptl_event_t *ev);
/* Waiting calls in the midst of other threads: how many there are; whoever sleeps looks again; all have left */
extern uint32_t p3a_waiting;
void p3a_wake(struct nal_ni *ni);
void p3a_send_home(struct nal_ni *ni);

/* move.c */
nal_put_fn p3a_put_any, p3a_put_long;

/* look.c: the page that says where our state is; who waits for whom, as far as we see it */
void p3a_look_open(struct nal_ni *ni, const struct p3l_setup *s);
void p3a_look_phase(struct nal_ni *ni, uint32_t phase);
void p3a_look_close(void);
void p3a_look_forked(void);
void p3a_look_dump(int fd, const struct nal_ni *ni);

/* traffic.c: PTL_TRAFFIC. Open: before any rank can have closed. Close: while the counters are still there. */
void p3a_traffic_open(void);
void p3a_traffic_close(const struct nal_ni *ni);

/* md.c: the core's arguments from the user's; asks the NAL about the memory. PTL_OK or a code. */
int p3a_md_args(struct nal_ni *ni, const ptl_md_t *md, struct p3l_md_args *a);

/* debug.c: mask of PtlNIDebug for interfaces opened from now on; what is told of one that opens or closes */
void p3a_debug_open(struct nal_ni *ni);
void p3a_debug_close(struct nal_ni *ni);

/* iface.c: interface numbers */
bool p3a_iface_ok(ptl_interface_t iface);
bool p3a_iface_xt(ptl_interface_t iface);		/* of a program for the XT */
uint32_t p3a_iface_pid_offset(ptl_interface_t iface);

/* status.c: registers that are computed when asked for. False: no such register. */
bool p3a_status(const struct p3l_ni *l, ptl_sr_index_t index, uint64_t *value);

extern struct nal_ni *p3a_table[P3A_MAX_NI];
/* p3a_open_ni: the one that is in it (nal.h) */
extern struct nal_ni *p3a_kernel;	/* the same, where its state is in the kernel; not in the table then (kern.h) */
extern bool p3a_up;			/* between PtlInit and PtlFini, in this process */
extern uint32_t p3a_lock_;		/* table, init, fini */

static inline ptl_handle_any_t p3a_handle(const struct nal_ni *ni, enum p3a_kind kind, uint32_t idx, uint32_t gen)
{
	return ((uint32_t)kind << 29 | (gen & P3L_GEN_MASK) << 16 | idx) ^ ni->base;
}

static inline struct p3l_ref p3a_ref(const struct nal_ni *ni, ptl_handle_any_t h)
{
	return nal_ref(ni, h);
}

/* May locks among threads be left out? Asked in each call. */
static inline uint8_t p3a_single(const struct nal_ni *ni)
{
	return (uint8_t)((uint8_t)__libc_single_threaded | ni->one_by_one);
}

/* What keeps the one out who promised that calls come one by one; NULL: nobody did, or gave nothing for that. */
static inline ptl_hold_np_t p3a_serial_hold(void)
{
	const struct nal_ni *ni = p3_load_acq(&p3a_open_ni);

	return ni && p3_load_acq(&ni->one_by_one) ? ni->hold : NULL;
}

/* The interface of a handle of @kind, or NULL. */
static inline struct nal_ni *p3a_ni_of(ptl_handle_any_t h, enum p3a_kind kind)
{
	struct nal_ni *ni;

	if (p3_unlikely(h >> 29 != (uint32_t)kind))
		return NULL;
	ni = p3a_table[h >> 26 & 7];
	if (p3_unlikely(!ni) || (kind == P3A_NI && p3_unlikely((h & 0xffff) != ni->serial)))
		return NULL;
	ni->env.single = p3a_single(ni);
	return ni;
}

/* The interface of a handle of @kind, if its state is in the kernel. */
static inline struct nal_ni *p3a_kernel_of(ptl_handle_any_t h, enum p3a_kind kind)
{
	struct nal_ni *ni = p3_load_acq(&p3a_kernel);

	if (!ni || h >> 29 != (uint32_t)kind || (h >> 26 & 7) != ni->index ||
	    (kind == P3A_NI && (h & 0xffff) != ni->serial))
		return NULL;
	return ni;
}

static inline ptl_handle_ni_t p3a_ni_handle(const struct nal_ni *ni)
{
	return p3a_handle(ni, P3A_NI, ni->serial, 0);
}

/* An operation that is over, as its event or the other side has said, may not have been left by its thread. True: now. */
static inline bool p3a_settled(struct nal_ni *ni)
{
	if (!ni->nal->settle)
		return false;
	ni->nal->settle(ni);
	return true;
}

/* What keeps an MD in use may be a copy that waits for us: who calls again and again, and nothing else, must get on. */
static inline void p3a_in_use(struct nal_ni *ni)
{
	ni->nal->progress(ni, NAL_EQ_GONE, NULL);
}

/* Is @h, of interface @ni, a queue that exists? */
static inline bool p3a_eq_valid(const struct nal_ni *ni, ptl_handle_eq_t h)
{
	const struct nal_eq *e = &ni->eq[h & 0xffff];

	return (h & 0xffff) < (uint32_t)ni->limits.max_eqs && e->ring && e->gen == (h >> 16 & P3L_GEN_MASK);
}

/* A queue handle as the core keeps it in MDs: index + 1, generation. 0 for none; false: bad. */
static inline bool p3a_eq_pack(const struct nal_ni *ni, ptl_handle_eq_t h, uint32_t *packed)
{
	*packed = 0;
	if (h == PTL_EQ_NONE)
		return true;
	if (h >> 29 != P3A_EQ || (h >> 26 & 7) != ni->index || !p3a_eq_valid(ni, h))
		return false;
	*packed = ni->eq[h & 0xffff].packed;
	return true;
}

static inline ptl_handle_eq_t p3a_eq_unpack(const struct nal_ni *ni, uint32_t packed)
{
	return packed ? p3a_handle(ni, P3A_EQ, (packed & 0xffff) - 1, packed >> 16) : PTL_EQ_NONE;
}

/* Set by the atfork handler in a child: the inherited state is another process's. */
#define P3A_CHECK_UP()					\
	do {						\
		if (p3_unlikely(!p3a_up))		\
			return PTL_NO_INIT;		\
	} while (0)

/* What most calls ask first: somewhere to write, the library up, an interface of this handle. PTL_OK and *@ni, or a code. */
static inline int p3a_enter(const void *out, ptl_handle_ni_t h, struct nal_ni **ni)
{
	if (p3_unlikely(!out))
		return PTL_SEGV;
	P3A_CHECK_UP();
	*ni = p3a_ni_of(h, P3A_NI);
	return p3_likely(*ni != NULL) ? PTL_OK : PTL_NI_INVALID;
}

#endif
