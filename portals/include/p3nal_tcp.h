/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* p3nal_tcp.h - an older name of the reference implementation's header */
#ifndef P3NAL_TCP_H
#define P3NAL_TCP_H

#include <p3nal_utcp.h>

#endif
