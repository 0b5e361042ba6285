/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fortran.h - what the Fortran bindings share: types of a default INTEGER and REAL, names
 *
 * The bindings are compiled twice: into libsma, where a default INTEGER and REAL have 4 bytes, and with
 * SHMEMI_FORTRAN64 into libsma_d64, where both have 8. The names are the same: a program of 8 bytes is linked with
 * -lsma_d64 before -lsma (oshfort -default64). So these files use public routines only.
 */
#ifndef SHMEMI_FORTRAN_H
#define SHMEMI_FORTRAN_H

#include <pshmem.h>
#include <pshmemx.h>

#ifdef SHMEMI_FORTRAN64
typedef int64_t fint;
typedef double freal;
#else
typedef int32_t fint;
typedef float freal;
#endif

/* A binding: pNAME_ is the routine, NAME_ the weak name. All arguments by reference. The body follows. */
#define BINDING(R, name, ...)									\
	R p##name##_(__VA_ARGS__) __attribute__((visibility("default")));			\
	R name##_(__VA_ARGS__) __attribute__((weak, visibility("default"), alias("p" #name "_")));	\
	R p##name##_(__VA_ARGS__)

#endif
