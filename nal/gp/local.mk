# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The NAL of several nodes: an interrupt thread over TCP. Needs libev.
tcp_sources = nal/transport/transport.h nal/transport/tcp/tcp.h nal/transport/tcp/tcp.c \
	nal/transport/tcp/tcp_auth.c nal/transport/tcp/tcp_addr.c
gp_sources = nal/gp/gp.h nal/gp/gp_links.c nal/gp/nal_gp.c nal/gp/gp_card.c nal/gp/gp_port.c
if !HAVE_LIBEV
EXTRA_DIST += $(tcp_sources) $(gp_sources)
endif
