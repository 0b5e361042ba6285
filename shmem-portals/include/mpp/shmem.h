/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* mpp/shmem.h - the header's older place */
#include <shmem.h>
