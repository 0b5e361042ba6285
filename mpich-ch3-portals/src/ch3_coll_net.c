/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
#include "ch3_coll.h"
