/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* calls_ref.c - the calls as programs for the reference implementation make them */
#include <portals3.h>
#include <p3nal_utcp.h>
#define T_CALLS calls_ref
#include "calls.h"
