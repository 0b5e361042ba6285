/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* pctmbox.h - where the first Linux releases of the XT have it */
#ifndef PCTMBOX_H
#define PCTMBOX_H

#include <cnos_mpi_os.h>

#endif
