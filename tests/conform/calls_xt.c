/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* calls_xt.c - the calls as programs for the XT make them */
#include <portals/portals3.h>
#define T_CALLS calls_xt
#include "calls.h"
