# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The NAL with an engine: the ranks' side, and ptl-nic. Needs libev.
ap_shared = nal/ap/ap.h nal/ap/ap_card.c nal/ap/ap_bell.c nal/ap/ap_side.h nal/ap/ap_side.c
ap_sources = $(ap_shared) nal/ap/ap_rank.h nal/ap/nal_ap.c nal/ap/ap_poll.c nal/ap/ap_start.c nal/ap/ap_spawn.c \
	nal/ap/ap_local.h nal/ap/ap_local.c
nic_sources = nal/ap/nic.h nal/ap/nic.c nal/ap/ap_local.h nal/ap/nic_local.c \
	nal/ap/nic_links.c
if !HAVE_LIBEV
EXTRA_DIST += $(ap_sources) $(nic_sources)
endif
