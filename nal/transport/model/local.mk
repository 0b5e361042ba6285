# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Links between virtual nodes with a latency and a bandwidth; for any NAL on the frame engine.
model_sources = nal/transport/model/model.h nal/transport/model/model.c
