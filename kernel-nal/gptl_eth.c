// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_eth.c - frames to and from other nodes, by Ethernet
 *
 * Owns the table of interfaces that can be found from the wire, and what stands before a frame (gptl_eth.h). A frame
 * may get lost here for any reason, at any place, and nobody is told: the engine (nal/frame) sends it again. What
 * comes is anybody's bytes until its seal has been compared; before that nothing of it is believed but where to look
 * for the key.
 *
 * A frame for nobody is answered, so that its source need not wait until it gives up: its process has ended, or has
 * never been. Only frames to this machine's own address are, from one machine, on the device that is ours, and not too
 * many of them: anybody can make them.
 *
 * Locks: places' own, which is innermost but for RCU: gptl_far.c's lock is never taken inside.
 */
#include <linux/etherdevice.h>
#include <linux/hashtable.h>
#include <linux/if_arp.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/ratelimit.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <linux/string.h>
#if __has_include(<linux/unaligned.h>)		/* since 6.12 */
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif
#include "gptl_eth.h"

static char netdev[IFNAMSIZ + 1];		/* with what echo writes behind it */
module_param_string(netdev, netdev, sizeof(netdev), 0644);
MODULE_PARM_DESC(netdev, "Ethernet device to other nodes (none: jobs have one node)");
static ushort ethertype = 0x88b5;
module_param(ethertype, ushort, 0444);
MODULE_PARM_DESC(ethertype, "of our frames (0x88b5)");

static DEFINE_SPINLOCK(places_lock);
static DEFINE_HASHTABLE(places, 8);		/* [places_lock] struct gptl_place */

static DEFINE_RATELIMIT_STATE(nobody_rate, HZ / 50, 64);	/* answers for nobody: at most so many in 20 ms */

/* Of our device, in @buf, without space around it. */
static const char *device_name(char buf[static sizeof(netdev)])
{
	strscpy(buf, netdev, sizeof(netdev));
	return strim(buf);
}

static u32 place_hash(u64 job, u32 nid, u32 pid)
{
	return (u32)hash_64(job ^ (u64)nid << 32 ^ pid, 32);
}

/* With a reference to its NI, or NULL. */
static struct gptl_place *find(u64 job, u32 nid, u32 pid, struct net_device *dev)
{
	struct gptl_place *at, *found = NULL;

	rcu_read_lock();
	hash_for_each_possible_rcu(places, at, node, place_hash(job, nid, pid))
		if (at->job == job && at->ni->l->nid == nid && READ_ONCE(at->ni->l->pid) == pid &&
		    READ_ONCE(at->dev) == dev && kref_get_unless_zero(&at->ni->ref)) {
			found = at;
			break;
		}
	rcu_read_unlock();
	return found;
}

/* ---- out ---- */

static void put_head(u8 *b, u8 kind, u32 len, u64 job)
{
	b[0] = GPTL_ETH_VERSION;
	b[1] = kind;
	put_unaligned_le16((u16)len, b + 2);
	put_unaligned_le32(0, b + 4);
	put_unaligned_le64(job, b + 8);
}

static u64 seal_of(const siphash_key_t *key, const u8 *head, const u8 *wire)
{
	u8 b[16 + WIRE_HDR] __aligned(8);

	memcpy(b, head, 16);
	memcpy(b + 16, wire, WIRE_HDR);
	return siphash(b, sizeof(b), key);
}

/* Room for a frame of @len bytes to @mac, head included; *@at is where they go. */
static struct sk_buff *make(struct net_device *dev, const u8 *mac, u32 len, u8 **at)
{
	struct sk_buff *skb = alloc_skb(LL_RESERVED_SPACE(dev) + len + dev->needed_tailroom, GFP_ATOMIC | __GFP_NOWARN);

	if (!skb)
		return NULL;
	skb_reserve(skb, LL_RESERVED_SPACE(dev));
	skb_reset_network_header(skb);
	skb->dev = dev;
	skb->protocol = htons(ethertype);
	*at = skb_put(skb, len);
	if (dev_hard_header(skb, dev, ethertype, mac, dev->dev_addr, len) < 0) {
		kfree_skb(skb);
		return NULL;
	}
	return skb;
}

u64 gptl_eth_send(const struct gptl_place *at, const u8 *mac, const u8 *hdr, const void *payload, u32 len)
{
	struct sk_buff *skb;
	u64 seal;
	u8 *b;

	if (!at->dev)
		return 0;
	skb = make(at->dev, mac, GPTL_ETH_HEAD + WIRE_HDR + len, &b);
	if (!skb)
		return 0;
	put_head(b, GPTL_ETH_FRAME, WIRE_HDR + len, at->job);
	seal = seal_of(&at->key, b, hdr);
	put_unaligned_le64(seal, b + 16);
	memcpy(b + GPTL_ETH_HEAD, hdr, WIRE_HDR);
	memcpy(b + GPTL_ETH_HEAD + WIRE_HDR, payload, len);
	dev_queue_xmit(skb);
	return seal;
}

/* May @skb be answered by whoever has no key to know it by? */
static bool one_may_tell(const struct sk_buff *skb)
{
	const u8 *from = eth_hdr(skb)->h_source;
	char buf[sizeof(netdev)];

	if (!is_valid_ether_addr(from) && !(skb->dev->flags & IFF_LOOPBACK && is_zero_ether_addr(from)))
		return false;
	return !strcmp(skb->dev->name, device_name(buf)) && __ratelimit(&nobody_rate);
}

/* To whoever has sent @skb: there is no such process here. */
static void tell_nobody(const struct sk_buff *skb, const u8 *head, const struct wire_ids *ids)
{
	struct sk_buff *answer;
	u8 *b;

	if (!one_may_tell(skb))
		return;
	answer = make(skb->dev, eth_hdr(skb)->h_source, GPTL_ETH_HEAD + GPTL_ETH_LOST, &b);
	if (!answer)
		return;
	put_head(b, GPTL_ETH_NOBODY, GPTL_ETH_LOST, get_unaligned_le64(head + 8));
	put_unaligned_le64(0, b + 16);
	b += GPTL_ETH_HEAD;
	put_unaligned_le32(ids->src_nid, b);
	put_unaligned_le32(ids->src_pid, b + 4);
	put_unaligned_le32(ids->dst_nid, b + 8);
	put_unaligned_le32(ids->dst_pid, b + 12);
	put_unaligned_le64(get_unaligned_le64(head + 16), b + 16);
	dev_queue_xmit(answer);
}

/* ---- in ---- */

/* A frame of an engine, with its header at least. True: @skb has been taken. */
static bool frame_in(struct sk_buff *skb, struct net_device *dev, const u8 *head, u32 len)
{
	struct gptl_place *at;
	struct wire_ids ids;

	wire_ids(head + GPTL_ETH_HEAD, &ids);
	at = find(get_unaligned_le64(head + 8), ids.dst_nid, ids.dst_pid, dev);
	if (!at) {
		if (!(ids.flags & WIRE_F_BYE))
			tell_nobody(skb, head, &ids);
		return false;
	}
	if (seal_of(&at->key, head, head + GPTL_ETH_HEAD) != get_unaligned_le64(head + 16)) {
		atomic64_inc(&at->bad);
		gptl_ni_put(at->ni);
		return false;
	}
	skb_pull(skb, GPTL_ETH_HEAD);
	skb_trim(skb, len);
	gptl_far_input(at, skb, &ids);
	gptl_ni_put(at->ni);
	return true;
}

static void nobody_in(struct net_device *dev, const u8 *head)
{
	const u8 *b = head + GPTL_ETH_HEAD;
	struct gptl_place *at;

	at = find(get_unaligned_le64(head + 8), get_unaligned_le32(b), get_unaligned_le32(b + 4), dev);
	if (!at)
		return;
	gptl_far_nobody(at, get_unaligned_le32(b + 8), get_unaligned_le32(b + 12), get_unaligned_le64(b + 16));
	gptl_ni_put(at->ni);
}

static int receive(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig)
{
	const u8 *head;
	u32 len;

	if (skb->pkt_type != PACKET_HOST)
		goto drop;
	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	if (skb->len < GPTL_ETH_HEAD || skb_linearize(skb))
		goto drop;
	head = skb->data;
	len = get_unaligned_le16(head + 2);
	if (head[0] != GPTL_ETH_VERSION || get_unaligned_le32(head + 4) || len > skb->len - GPTL_ETH_HEAD)
		goto drop;
	if (head[1] == GPTL_ETH_FRAME && len >= WIRE_HDR) {
		if (frame_in(skb, dev, head, len))
			return NET_RX_SUCCESS;
	} else if (head[1] == GPTL_ETH_NOBODY && len == GPTL_ETH_LOST) {
		nobody_in(dev, head);
	}
drop:
	kfree_skb(skb);
	return NET_RX_DROP;
}

static struct packet_type packets = {
	.func = receive,
};

/* ---- binding ---- */

long gptl_eth_bind(struct gptl_ni *ni, struct gptl_place *at, struct gptl_net *a)
{
	char buf[sizeof(netdev)];
	const char *name = device_name(buf);
	struct net_device *dev;
	struct {
		char what[8];
		u32 round, jid;
	} job = { "portals", a->round, ni->l->jid };

	dev = name[0] ? dev_get_by_name(current->nsproxy->net_ns, name) : NULL;
	if (!dev)
		return -ENODEV;
	rtnl_lock();			/* not while it goes: unplug() would miss us */
	if (dev->reg_state != NETREG_REGISTERED || !(dev->flags & IFF_UP) ||
	    (dev->type != ARPHRD_ETHER && dev->type != ARPHRD_LOOPBACK) ||
	    dev->mtu < GPTL_ETH_HEAD + WIRE_HDR + FR_SMALL) {
		rtnl_unlock();
		dev_put(dev);
		return -ENODEV;
	}
	memcpy(&at->key, ni->job->key, sizeof(at->key));
	at->job = siphash(&job, sizeof(job), &at->key);
	at->ni = ni;
	at->dev = dev;
	a->most = min(dev->mtu - GPTL_ETH_HEAD - WIRE_HDR, GPTL_ETH_MOST) & ~7U;
	memcpy(a->mac, dev->dev_addr, sizeof(a->mac));
	spin_lock_bh(&places_lock);
	hash_add_rcu(places, &at->node, place_hash(at->job, ni->l->nid, ni->l->pid));
	spin_unlock_bh(&places_lock);
	rtnl_unlock();
	return 0;
}

void gptl_eth_leave(struct gptl_place *at)
{
	spin_lock_bh(&places_lock);
	hash_del_rcu(&at->node);
	spin_unlock_bh(&places_lock);
}

/* With a reference to its NI: one on @dev, or NULL. */
static struct gptl_place *one_on(struct net_device *dev)
{
	struct gptl_place *at, *found = NULL;
	int i;

	rcu_read_lock();
	hash_for_each_rcu(places, i, at, node)
		if (!found && READ_ONCE(at->dev) == dev && kref_get_unless_zero(&at->ni->ref))
			found = at;
	rcu_read_unlock();
	return found;
}

/* A device goes: whoever is on it has no other nodes any more. */
static int unplug(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct gptl_place *at;

	while (event == NETDEV_UNREGISTER && (at = one_on(dev)) != NULL) {
		gptl_far_unplug(at, dev);
		gptl_ni_put(at->ni);
	}
	return NOTIFY_DONE;
}

static struct notifier_block devices = {
	.notifier_call = unplug,
};

int gptl_eth_start(void)
{
	int rc = register_netdevice_notifier(&devices);

	if (rc)
		return rc;
	ratelimit_set_flags(&nobody_rate, RATELIMIT_MSG_ON_RELEASE);	/* that is, none: it is not released */
	packets.type = htons(ethertype);
	dev_add_pack(&packets);
	return 0;
}

void gptl_eth_stop(void)
{
	dev_remove_pack(&packets);
	unregister_netdevice_notifier(&devices);
}
