/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart.h - DART, interface 3.2 (byte counts): everything. Link with -ldart. */
#ifndef DART_H_
#define DART_H_
#include <dash/dart/if/dart.h>
#endif
