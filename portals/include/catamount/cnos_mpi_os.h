/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* catamount/cnos_mpi_os.h - where Catamount has it */
#ifndef CATAMOUNT_CNOS_MPI_OS_H
#define CATAMOUNT_CNOS_MPI_OS_H

#include <cnos_mpi_os.h>

#endif
