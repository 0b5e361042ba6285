/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * vb_dev.c - libibverbs, the device, and the queues that all queue pairs share
 *
 * The library is loaded, not linked: a program that does not ask for RDMA does not depend on it. Of the devices the
 * first with a port that is up is taken, or that of PTL_IFACE. Over Ethernet (RoCE) the address is the GID of version 2
 * that stands for an IPv4 address, if there is one. Devices that need another way to connect (iWARP) are passed over.
 */
#include "config.h"

#include "vb.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct vb_lib vb_lib;

static int load(char *why, size_t len)
{
	static void *lib;
	static const struct { const char *name; void *at; } call[] = {
#define X(name, result, args) { "ibv_" #name, &vb_lib.name },
		VB_CALLS(X)
#undef X
	};

	if (lib)
		return 0;
	lib = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(why, len, "%s (Debian: libibverbs1)", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(call) / sizeof(*call); i++) {
		void *f = dlsym(lib, call[i].name);

		if (!f) {
			snprintf(why, len, "libibverbs.so.1 has no %s", call[i].name);
			dlclose(lib);
			lib = NULL;
			return -1;
		}
		memcpy(call[i].at, &f, sizeof(f));
	}
	return 0;
}

/* A line of a file of the device's port in /sys, without its end; "" if there is none. */
static void port_file(const struct verbs *v, const char *what, int index, char *line, size_t len)
{
	char path[256];
	FILE *f;

	line[0] = 0;
	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/ports/%u/gid_attrs/%s/%d", v->name, v->port, what,
		 index);
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(line, (int)len, f))
		line[0] = 0;
	line[strcspn(line, "\n")] = 0;
	fclose(f);
}

/* Which of a port's addresses; -1: none that suits. */
static int choose_gid(struct verbs *v, int n, const char *iface)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff }, zero[16];
	int best = -1, points = 0;

	for (int i = 0; i < n; i++) {
		char type[32], dev[32];
		union ibv_gid g;
		int now = 1;

		if (vb_lib.query_gid(v->dev, v->port, i, &g) || !memcmp(g.raw, zero, 16))
			continue;
		port_file(v, "types", i, type, sizeof(type));
		port_file(v, "ndevs", i, dev, sizeof(dev));
		if (strcmp(iface, "any") && dev[0] && strcmp(iface, dev))
			continue;
		now += strstr(type, "v2") ? 2 : 0;
		now += !memcmp(g.raw, v4, sizeof(v4)) ? 1 : 0;
		if (now > points) {
			best = i;
			points = now;
			v->gid = g;
		}
	}
	return best;
}

static bool take_port(struct verbs *v, const char *iface)
{
	struct ibv_device_attr d;
	struct ibv_port_attr a;

	if (vb_lib.query_device(v->dev, &d))
		return false;
	for (v->port = 1; v->port <= d.phys_port_cnt; v->port++) {
		memset(&a, 0, sizeof(a));
		if (vb_lib.query_port(v->dev, v->port, (struct _compat_ibv_port_attr *)&a) ||
		    a.state != IBV_PORT_ACTIVE)
			continue;
		v->lid = a.lid;
		v->mtu = (uint8_t)a.active_mtu;
		v->link_layer = a.link_layer;
		v->gid_index = choose_gid(v, a.gid_tbl_len, iface);
		if (v->gid_index < 0 && a.link_layer == IBV_LINK_LAYER_ETHERNET)
			continue;
		v->reads_in = (uint8_t)(d.max_qp_rd_atom < 16 ? d.max_qp_rd_atom : 16);
		v->reads_out = (uint8_t)(d.max_qp_init_rd_atom < 16 ? d.max_qp_init_rd_atom : 16);
		if (v->reads_out > v->reads_in)		/* the other side's card is likely to be the same */
			v->reads_out = v->reads_in;
		if ((int)v->n_recvs > d.max_srq_wr)
			v->n_recvs = (uint32_t)d.max_srq_wr;
		return true;
	}
	return false;
}

int vb_dev_open(struct verbs *v, const char *iface, char *why, size_t len)
{
	struct ibv_device **list;
	int n = 0;

	if (load(why, len))
		return -1;
	list = vb_lib.get_device_list(&n);
	if (!list || !n)
		snprintf(why, len, "there is no RDMA device here");
	for (int i = 0; list && i < n && !v->dev; i++) {
		snprintf(v->name, sizeof(v->name), "%s", vb_lib.get_device_name(list[i]));
		if (list[i]->transport_type != IBV_TRANSPORT_IB) {
			snprintf(why, len, "%s is no InfiniBand or RoCE device", v->name);
			continue;
		}
		v->dev = vb_lib.open_device(list[i]);
		if (!v->dev) {
			snprintf(why, len, "%s cannot be opened: %s", v->name, strerror(errno));
		} else if (!take_port(v, iface)) {
			snprintf(why, len, "%s has no port that is up%s%s", v->name,
				 strcmp(iface, "any") ? " with PTL_IFACE=" : "", strcmp(iface, "any") ? iface : "");
			vb_lib.close_device(v->dev);
			v->dev = NULL;
		}
	}
	if (list)
		vb_lib.free_device_list(list);
	if (!v->dev)
		return -1;
	v->pd = vb_lib.alloc_pd(v->dev);
	v->channel = vb_lib.create_comp_channel(v->dev);
	v->recv = vb_memory((size_t)v->n_recvs * VB_SLOT);
	if (v->pd && v->recv)
		v->recv_mr = vb_lib.reg_mr(v->pd, v->recv, (size_t)v->n_recvs * VB_SLOT, IBV_ACCESS_LOCAL_WRITE);
	if (!v->channel || !v->recv_mr) {
		snprintf(why, len, "%s: %u KiB cannot be registered: %s (ulimit -l?)", v->name,
			 v->n_recvs * VB_SLOT / 1024, strerror(errno));
		return -1;
	}
	fcntl(v->channel->fd, F_SETFL, fcntl(v->channel->fd, F_GETFL) | O_NONBLOCK);
	fcntl(v->dev->async_fd, F_SETFL, fcntl(v->dev->async_fd, F_GETFL) | O_NONBLOCK);
	errno = vb_queues(v);
	if (errno) {
		snprintf(why, len, "%s: no completion queues: %s", v->name, strerror(errno));
		return -1;
	}
	snprintf(why, len, "%s, port %u", v->name, v->port);
	return 0;
}

void vb_dev_close(struct verbs *v)
{
	vb_queues_destroy(v);
	if (v->recv_mr)
		vb_lib.dereg_mr(v->recv_mr);
	if (v->recv)
		vb_memory_free(v->recv, (size_t)v->n_recvs * VB_SLOT);
	if (v->channel)
		vb_lib.destroy_comp_channel(v->channel);
	if (v->pd)
		vb_lib.dealloc_pd(v->pd);
	if (v->dev)
		vb_lib.close_device(v->dev);
	v->recv_mr = NULL;
	v->recv = NULL;
	v->channel = NULL;
	v->pd = NULL;
	v->dev = NULL;
}

/* A child of a fork has none of it: cards write to these pages, wherever they are then. */
void *vb_memory(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, n, MADV_DONTFORK);
	return p;
}

void vb_memory_free(void *p, size_t n)
{
	munmap(p, n);
}

void vb_post_recv(struct verbs *v, uint32_t buf)
{
	struct ibv_sge sge = { (uintptr_t)(v->recv + (size_t)buf * VB_SLOT), VB_SLOT, v->recv_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = buf, .sg_list = &sge, .num_sge = 1 }, *bad;

	ibv_post_srq_recv(v->srq, &wr, &bad);
}

/* The queues of all peers, with every place for what comes posted. */
int vb_queues(struct verbs *v)
{
	struct ibv_srq_init_attr s = { .attr = { .max_wr = v->n_recvs, .max_sge = 1 } };
	/* one completion for each that can be under way, and as many of the queue pairs before */
	int sends = (int)(2 * (v->depth + 2 * VB_PIECES) * v->tcp->size), recvs = (int)(2 * v->n_recvs);
	struct ibv_device_attr d;

	if (vb_lib.query_device(v->dev, &d))
		return EIO;
	v->sends = vb_lib.create_cq(v->dev, sends < d.max_cqe ? sends : d.max_cqe, NULL, v->channel, 0);
	v->recvs = vb_lib.create_cq(v->dev, recvs < d.max_cqe ? recvs : d.max_cqe, NULL, v->channel, 0);
	v->srq = v->sends && v->recvs ? vb_lib.create_srq(v->pd, &s) : NULL;
	if (!v->srq)
		return errno ? errno : ENOMEM;
	for (uint32_t i = 0; i < v->n_recvs; i++)
		vb_post_recv(v, i);
	return 0;
}

/* Behind the last queue pair. */
void vb_queues_destroy(struct verbs *v)
{
	if (v->srq)
		vb_lib.destroy_srq(v->srq);
	if (v->sends)
		vb_lib.destroy_cq(v->sends);
	if (v->recvs)
		vb_lib.destroy_cq(v->recvs);
	v->srq = NULL;
	v->sends = v->recvs = NULL;
}
