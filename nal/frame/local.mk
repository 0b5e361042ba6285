# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The frame engine: freestanding, like the core.
frame_sources = nal/frame/frame.h nal/frame/fr_int.h nal/frame/frame.c nal/frame/fr_out.c nal/frame/fr_in.c
