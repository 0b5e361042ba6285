/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals/reserved_ptls.h - portal table entries of this project's own libraries
 */
#ifndef PORTALS_RESERVED_PTLS_H
#define PORTALS_RESERVED_PTLS_H

/**
 * PTL_PT_RESERVED_FIRST_NP, PTL_PT_RESERVED_LAST_NP, PTL_PT_MPI_FIRST_NP, PTL_PT_MPI_LAST_NP,
 * PTL_PT_SHMEM_FIRST_NP, PTL_PT_SHMEM_LAST_NP, PTL_PT_DMAPP_FIRST_NP, PTL_PT_DMAPP_LAST_NP - portal table entries
 * of this project's libraries
 *
 * PtlMEAttachAny never chooses them. Programs written for Portals use 0 to 39.
 *
 * Source: An extension of this library.
 */
#define PTL_PT_RESERVED_FIRST_NP	112	/* the first of all */
#define PTL_PT_MPI_FIRST_NP		112	/* the first of MPI */
#define PTL_PT_MPI_LAST_NP		119	/* the last of MPI */
#define PTL_PT_SHMEM_FIRST_NP		120	/* the first of SHMEM */
#define PTL_PT_SHMEM_LAST_NP		123	/* the last of SHMEM */
#define PTL_PT_DMAPP_FIRST_NP		124	/* the first of DMAPP */
#define PTL_PT_DMAPP_LAST_NP		127	/* the last of DMAPP */
#define PTL_PT_RESERVED_LAST_NP		127	/* the last of all */

#endif
