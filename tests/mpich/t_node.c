/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_node - node communicators and direct access of mpi_smartmap.h
 *
 * PTL_PES_PER_NODE says how many ranks a virtual node has. With PTL_SMARTMAP=no nothing of a peer's is reached, and the
 * communicators are the same.
 */
#include "m.h"
#include <mpi_smartmap.h>

static int per_node, smartmap;
static uint64_t data[512];		/* of the program: adopted where the process allows it */

static int node_of(int rank)
{
	return rank / per_node;
}

/* The world's ranks of @comm. */
static void ranks_of(MPI_Comm comm, int *world)
{
	MPI_Group g, w;
	int n, *r;

	MPI_Comm_group(comm, &g);
	MPI_Comm_group(MPI_COMM_WORLD, &w);
	MPI_Group_size(g, &n);
	r = malloc(n * sizeof(*r));
	for (int i = 0; i < n; i++)
		r[i] = i;
	MPI_Group_translate_ranks(g, n, r, w, world);
	free(r);
	MPI_Group_free(&g);
	MPI_Group_free(&w);
}

static void check_comms(MPI_Comm comm)
{
	int all[64], some[64], n, k = 0, me, at = 0, size;
	MPI_Comm node, net;

	MPI_Comm_size(comm, &size);
	ranks_of(comm, all);
	CHECK(MPIX_Comm_node(comm, &node) == MPI_SUCCESS);
	CHECK(MPIX_Comm_net(comm, &net) == MPI_SUCCESS);

	MPI_Comm_size(node, &n);
	ranks_of(node, some);
	MPI_Comm_rank(node, &me);
	CHECK(some[me] == m_rank, "(%d)", some[me]);
	for (int i = 0; i < size; i++)
		if (node_of(all[i]) == node_of(m_rank)) {
			CHECK(k < n && some[k] == all[i], "(rank %d of the node)", k);
			k++;
		}
	CHECK(k == n, "(%d ranks of %d)", n, k);

	/* on each node that has so many: the one at my place */
	MPI_Comm_size(net, &n);
	ranks_of(net, some);
	k = 0;
	for (int i = 0; i < size; i++) {
		int place = 0;

		for (int j = 0; j < i; j++)
			place += node_of(all[j]) == node_of(all[i]);
		if (place != me)
			continue;
		CHECK(k < n && some[k] == all[i], "(rank %d of the network)", k);
		at += all[i] == m_rank;
		k++;
	}
	CHECK(k == n && at == 1, "(%d ranks of %d)", n, k);
	MPI_Barrier(net);
	MPI_Comm_free(&node);
	MPI_Comm_free(&net);
}

static void check_access(MPI_Comm comm)
{
	void *addr[64], *mine = data;
	int world[64], size, peer;

	MPI_Comm_size(comm, &size);
	ranks_of(comm, world);
	for (int i = 0; i < 512; i++)
		data[i] = m_word(m_rank + 1, i);
	MPI_Allgather(&mine, sizeof(mine), MPI_BYTE, addr, sizeof(mine), MPI_BYTE, comm);
	for (int r = 0; r < size; r++) {
		uint64_t *p;

		CHECK(MPIX_Smartmap_rank(comm, r, &peer) == MPI_SUCCESS);
		if (node_of(world[r]) != node_of(m_rank)) {
			CHECK(peer == MPI_UNDEFINED, "(rank %d is peer %d)", r, peer);
			CHECK(MPIX_Smartmap_remote(peer, addr[r], sizeof(data)) == NULL);
			continue;
		}
		CHECK(peer >= 0 && peer < smartmap_size(), "(rank %d is peer %d)", r, peer);
		CHECK(world[r] != m_rank || peer == smartmap_rank());
		p = MPIX_Smartmap_remote(peer, addr[r], sizeof(data));
		CHECK((p != NULL) == (smartmap || world[r] == m_rank), "(rank %d)", r);
		for (int i = 0; p && i < 512; i++)
			CHECK(p[i] == m_word(world[r] + 1, i), "(word %d of rank %d)", i, r);
	}
	MPI_Barrier(comm);

	/* everyone counts in everyone's first word of its node; itself too */
	data[0] = 0;
	MPI_Barrier(comm);
	for (int r = 0; r < size; r++) {
		uint64_t *p;

		MPIX_Smartmap_rank(comm, r, &peer);
		p = MPIX_Smartmap_remote(peer, addr[r], 8);
		if (p)
			__atomic_fetch_add(p, 1, __ATOMIC_ACQ_REL);
	}
	MPI_Barrier(comm);
	for (int r = 0; r < size; r++)
		data[0] -= smartmap ? node_of(world[r]) == node_of(m_rank) : world[r] == m_rank;
	CHECK(data[0] == 0, "(%d)", (int)data[0]);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	CHECK(MPIX_Smartmap_rank(comm, size, &peer) == MPI_ERR_RANK);
	CHECK(MPIX_Smartmap_rank(comm, -1, &peer) == MPI_ERR_RANK);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
	const char *off = getenv("PTL_SMARTMAP"), *pes = getenv("PTL_PES_PER_NODE");
	MPI_Comm back, some;

	m_start(&argc, &argv);
	smartmap = !off || strcmp(off, "no");
	per_node = pes ? atoi(pes) : m_size;
	MPI_Comm_split(MPI_COMM_WORLD, 0, -m_rank, &back);		/* the other way round */
	MPI_Comm_split(MPI_COMM_WORLD, m_rank > 0, m_rank, &some);	/* nodes of different sizes */
	check_comms(MPI_COMM_WORLD);
	check_comms(back);
	check_comms(some);
	check_access(MPI_COMM_WORLD);
	check_access(back);
	check_access(some);
	MPI_Comm_free(&back);
	MPI_Comm_free(&some);
	return m_finish();
}
