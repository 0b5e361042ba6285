/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* mpp/pshmemx.h - the header's older place */
#include <pshmemx.h>
