# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# A network inside one process, with injection.
loop_sources = nal/loop/loop.h nal/loop/loop.c
EXTRA_DIST += nal/template/README.md nal/template/nal_template.c
