# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The NAL of several nodes: an interrupt thread over TCP. Needs libev.
tcp_sources = nal/transport/transport.h nal/transport/tcp/tcp.h nal/transport/tcp/tcp_int.h nal/transport/tcp/tcp.c \
	nal/transport/tcp/tcp_listen.c nal/transport/tcp/tcp_conn.c nal/transport/tcp/tcp_move.c \
	nal/transport/tcp/tcp_auth.c nal/transport/tcp/tcp_addr.c
gp_sources = nal/gp/gp.h nal/gp/gp_links.c nal/gp/nal_gp.c nal/gp/gp_card.c nal/gp/gp_port.c \
	nal/kern/kern_far.c nal/kern/kern_far.h
# RDMA, where the headers of libibverbs are; the library is loaded when it is asked for.
verbs_files = nal/transport/verbs/verbs.c nal/transport/verbs/vb_pair.c nal/transport/verbs/vb_ctl.c \
	nal/transport/verbs/vb_dev.c nal/transport/verbs/vb_bulk.c nal/transport/verbs/vb_reg.c
verbs_headers = nal/transport/verbs/verbs.h nal/transport/verbs/vb.h
if HAVE_VERBS
verbs_sources = $(verbs_headers) $(verbs_files)
else
verbs_sources = $(verbs_headers)
EXTRA_DIST += $(verbs_files)
endif
if !HAVE_LIBEV
EXTRA_DIST += $(tcp_sources) $(gp_sources) $(verbs_sources)
endif
