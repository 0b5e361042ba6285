/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * gptl_eth.h - what stands in an Ethernet frame of ours; between gptl_eth.c (the wire) and gptl_far.c (an NI's engine)
 *
 * After the Ethernet header, with the ethertype of the module's parameter (0x88b5, IEEE's for local use), all numbers
 * little-endian:
 *
 *	0	version, 1
 *	1	kind: GPTL_ETH_FRAME, GPTL_ETH_NOBODY
 *	2	bytes behind this head (2 bytes): Ethernet fills short frames up
 *	4	0 (4 bytes)
 *	8	name of the job and round (8 bytes): SipHash of them with the job's key; it says nothing of the key
 *	16	seal (8 bytes): SipHash with the job's key of bytes 0 to 15 and the first 128 behind the head
 *	24	GPTL_ETH_FRAME: a frame of portals/doc/WIRE-FORMAT.md, with a checksum of its payload
 *		GPTL_ETH_NOBODY: source nid, pid, target nid, pid (4 bytes each) and seal of a frame whose target is
 *		not here. Its own seal is 0: whoever sends it has no key; that it knows the other seal shows that it got
 *		that frame.
 *
 * So nobody without the job's key can make a frame that is taken, and nobody who does not see the wire can end a
 * peer. Payloads are protected against errors, not against people.
 */
#ifndef GPTL_ETH_H
#define GPTL_ETH_H

#include <linux/netdevice.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include "gptl.h"
#include "frame/frame.h"

#define GPTL_ETH_VERSION	1
#define GPTL_ETH_FRAME		1
#define GPTL_ETH_NOBODY		2
#define GPTL_ETH_HEAD		24
#define GPTL_ETH_LOST		24		/* bytes of GPTL_ETH_NOBODY */
#define GPTL_ETH_MOST		8192U		/* payload of a frame, where the device takes so much */

/* Where an NI stands on the wire: found by job, nid and pid. */
struct gptl_place {
	struct hlist_node node;			/* [places' lock], RCU */
	struct gptl_ni *ni;
	struct net_device *dev;			/* [far's lock] with a reference; NULL: it has gone */
	siphash_key_t key;
	u64 job;
	atomic64_t bad;				/* frames with another seal */
};

/* gptl_eth.c */
int gptl_eth_start(void);
void gptl_eth_stop(void);
long gptl_eth_bind(struct gptl_ni *ni, struct gptl_place *at, struct gptl_net *a);	/* 0: it can be found now */
void gptl_eth_leave(struct gptl_place *at);	/* once: not found any more. The device is the caller's to give back */
/* Send a frame: its seal; 0: lost. far's lock held */
u64 gptl_eth_send(const struct gptl_place *at, const u8 *mac, const u8 *hdr, const void *payload, u32 len);

/* gptl_far.c; in a softirq */
void gptl_far_input(struct gptl_place *at, struct sk_buff *skb, const struct wire_ids *ids);	/* takes the frame */
void gptl_far_nobody(struct gptl_place *at, u32 nid, u32 pid, u64 seal);
void gptl_far_unplug(struct gptl_place *at, struct net_device *dev);

#endif
