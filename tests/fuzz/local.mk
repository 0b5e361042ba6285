# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Frames: their bytes (tests/unit/wire.c), the engine over the loopback network (frame.c, frame_random.c), and what
# parses bytes of a peer with any bytes: the corpus and mutations of it by smoke.c, libFuzzer where clang has it.
frame_test = tests/unit/libframe.a
check_LIBRARIES += $(frame_test)
tests_unit_libframe_a_SOURCES = $(wire_sources) $(frame_sources) $(loop_sources)
tests_unit_libframe_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/portals/lib
T_FRAME_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/portals/lib

check_PROGRAMS += tests/unit/wire tests/unit/frame tests/unit/frame_random tests/unit/frame_stream \
	tests/fuzz/fuzz_wire tests/fuzz/fuzz_frame
tests_unit_wire_LDADD = $(frame_test)
tests_unit_wire_CPPFLAGS = $(T_FRAME_CPPFLAGS)
tests_unit_frame_SOURCES = tests/unit/frame.c tests/unit/frame_env.h
tests_unit_frame_CPPFLAGS = $(T_FRAME_CPPFLAGS)
tests_unit_frame_LDADD = $(frame_test) $(core)
tests_unit_frame_random_SOURCES = tests/unit/frame_random.c tests/unit/frame_env.h
tests_unit_frame_random_CPPFLAGS = $(T_FRAME_CPPFLAGS)
tests_unit_frame_random_LDADD = $(frame_test) $(core)
tests_unit_frame_stream_SOURCES = tests/unit/frame_stream.c tests/unit/frame_env.h
tests_unit_frame_stream_CPPFLAGS = $(T_FRAME_CPPFLAGS)
tests_unit_frame_stream_LDADD = $(frame_test) $(core)
tests_fuzz_fuzz_wire_SOURCES = tests/fuzz/fuzz_wire.c tests/fuzz/smoke.c
tests_fuzz_fuzz_wire_LDADD = $(frame_test)
tests_fuzz_fuzz_frame_SOURCES = tests/fuzz/fuzz_frame.c tests/fuzz/smoke.c
tests_fuzz_fuzz_frame_CPPFLAGS = $(T_FRAME_CPPFLAGS)
tests_fuzz_fuzz_frame_LDADD = $(frame_test) $(core)
P3_TESTS += unit/wire:tests/unit/wire:valgrind unit/frame:tests/unit/frame:valgrind \
	unit/frame_random:tests/unit/frame_random:limit=120 \
	unit/frame_random-7:tests/unit/frame_random:limit=120,args=--seed+7+--calls+3000 \
	unit/frame_stream:tests/unit/frame_stream:valgrind,limit=120

EXTRA_DIST += tests/fuzz/corpus tests/fuzz/t_fuzz.sh tests/fuzz/t_smoke.sh
P3_TESTS += fault/fuzz-wire:tests/fuzz/t_smoke.sh:args=wire fault/fuzz-frame:tests/fuzz/t_smoke.sh:args=frame+300 \
	fault/fuzz:tests/fuzz/t_fuzz.sh:limit=240,args=wire+frame+lane+rt+tcp+card \
	fault/fuzz-here:tests/fuzz/t_fuzz.sh:limit=240,args=exch+trace+look

# The lines of an inbox.
check_PROGRAMS += tests/fuzz/fuzz_lane
tests_fuzz_fuzz_lane_SOURCES = tests/fuzz/fuzz_lane.c tests/fuzz/smoke.c
tests_fuzz_fuzz_lane_CPPFLAGS = $(T_FRAME_CPPFLAGS)
tests_fuzz_fuzz_lane_LDADD = $(core)
P3_TESTS += fault/fuzz-lane:tests/fuzz/t_smoke.sh:args=lane+2000

# What the runtime reads about the job, and what launchers say.
check_PROGRAMS += tests/fuzz/fuzz_rt
tests_fuzz_fuzz_rt_SOURCES = tests/fuzz/fuzz_rt.c tests/fuzz/fuzz.h tests/fuzz/smoke.c
tests_fuzz_fuzz_rt_CPPFLAGS = $(T_FRAME_CPPFLAGS) -I$(top_srcdir)/portals/rt
tests_fuzz_fuzz_rt_LDADD = portals/rt/libp3rt.la
P3_TESTS += fault/fuzz-rt:tests/fuzz/t_smoke.sh:args=rt

# The meeting of the ranks; the files that ptl_trace reads; the memory that ptl_info reads.
check_PROGRAMS += tests/fuzz/fuzz_exch tests/fuzz/fuzz_trace tests/fuzz/fuzz_look
tests_fuzz_fuzz_exch_SOURCES = tests/fuzz/fuzz_exch.c tests/fuzz/fuzz.h tests/fuzz/smoke.c nal/smartmap/smap_own.c
tests_fuzz_fuzz_exch_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/nal/smartmap
tests_fuzz_fuzz_trace_SOURCES = tests/fuzz/fuzz_trace.c tests/fuzz/fuzz.h tests/fuzz/smoke.c portals/api/misc.c
tests_fuzz_fuzz_trace_CPPFLAGS = $(T_FRAME_CPPFLAGS) -DLIBDIR_BASE='"lib"'
tests_fuzz_fuzz_look_SOURCES = tests/fuzz/fuzz_look.c tests/fuzz/fuzz.h tests/fuzz/smoke.c tools/json.c \
	$(portals_look_sources)
tests_fuzz_fuzz_look_CPPFLAGS = $(T_FRAME_CPPFLAGS) -I$(top_srcdir)/portals/look -I$(top_srcdir)/tools
tests_fuzz_fuzz_look_LDADD = $(core)
P3_TESTS += fault/fuzz-exch:tests/fuzz/t_smoke.sh:args=exch+200 fault/fuzz-trace:tests/fuzz/t_smoke.sh:args=trace+300 \
	fault/fuzz-look:tests/fuzz/t_smoke.sh:args=look+50

# The transport, where libev is.
if HAVE_LIBEV
check_PROGRAMS += tests/unit/tcp
tests_unit_tcp_SOURCES = tests/unit/tcp.c $(tcp_sources)
tests_unit_tcp_CPPFLAGS = $(T_CPPFLAGS)
tests_unit_tcp_LDADD = $(frame_test) $(LIBEV_LIBS)
P3_TESTS += unit/tcp:tests/unit/tcp
# an engine's doorbell
check_PROGRAMS += tests/unit/bell
tests_unit_bell_SOURCES = tests/unit/bell.c nal/ap/ap.h nal/ap/ap_bell.c nal/transport/tcp/tcp_auth.c
tests_unit_bell_CPPFLAGS = $(T_FRAME_CPPFLAGS)
tests_unit_bell_LDADD = $(frame_test) $(LIBEV_LIBS)
P3_TESTS += unit/bell:tests/unit/bell
# They are compiled with the source that they look into.
check_PROGRAMS += tests/fuzz/fuzz_tcp tests/fuzz/fuzz_card
tests_fuzz_fuzz_tcp_SOURCES = tests/fuzz/fuzz_tcp.c tests/fuzz/smoke.c nal/transport/tcp/tcp.c \
	nal/transport/tcp/tcp_listen.c nal/transport/tcp/tcp_move.c nal/transport/tcp/tcp_auth.c \
	nal/transport/tcp/tcp_addr.c
tests_fuzz_fuzz_tcp_CPPFLAGS = $(T_FRAME_CPPFLAGS)
tests_fuzz_fuzz_tcp_LDADD = $(frame_test) $(LIBEV_LIBS)
tests_fuzz_fuzz_card_SOURCES = tests/fuzz/fuzz_card.c tests/fuzz/fuzz.h \
	tests/fuzz/smoke.c nal/transport/tcp/tcp_auth.c nal/transport/tcp/tcp_addr.c nal/gp/gp_port.c
tests_fuzz_fuzz_card_CPPFLAGS = $(T_FRAME_CPPFLAGS) -I$(top_srcdir)/portals/rt
tests_fuzz_fuzz_card_LDADD = portals/rt/libp3rt.la $(LIBEV_LIBS)
P3_TESTS += fault/fuzz-tcp:tests/fuzz/t_smoke.sh:args=tcp fault/fuzz-card:tests/fuzz/t_smoke.sh:args=card
endif
