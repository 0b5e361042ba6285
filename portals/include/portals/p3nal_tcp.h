/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* portals/p3nal_tcp.h - the reference's header, below portals/ */
#ifndef PORTALS_P3NAL_TCP_H
#define PORTALS_P3NAL_TCP_H

#include <p3nal_utcp.h>

#endif
