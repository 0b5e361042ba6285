/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* mpp/shmemx.h - the header's older place */
#include <shmemx.h>
