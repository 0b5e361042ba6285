# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Frames as bytes. Freestanding, like the core.
wire_sources = nal/wire/wire.h nal/wire/wire.c
