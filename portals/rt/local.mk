# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
portals_rt_sources = portals/rt/p3_rt.h
