/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/p3nal_ibng.h - the reference's header, below portals/ */
#ifndef PORTALS_P3NAL_IBNG_H
#define PORTALS_P3NAL_IBNG_H

#include <p3nal_ibng.h>

#endif
