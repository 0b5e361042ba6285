/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* dart.h - DART, the typed interface (3.2 to 0.4 of DASH and later): everything. Link with -ldart3. */
#ifndef DART_H_
#define DART_H_
#include <dash/dart/if/dart.h>
#endif
