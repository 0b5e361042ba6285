/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * portals/reserved_ptls.h - portal table entries of this project's own libraries
 *
 * PtlMEAttachAny never chooses them. Programs written for Portals use 0 to 39.
 */
#ifndef PORTALS_RESERVED_PTLS_H
#define PORTALS_RESERVED_PTLS_H

#define PTL_PT_RESERVED_FIRST_NP	112
#define PTL_PT_MPI_FIRST_NP		112
#define PTL_PT_MPI_LAST_NP		119
#define PTL_PT_SHMEM_FIRST_NP		120
#define PTL_PT_SHMEM_LAST_NP		123
#define PTL_PT_DMAPP_FIRST_NP		124
#define PTL_PT_DMAPP_LAST_NP		127
#define PTL_PT_RESERVED_LAST_NP		127

#endif
