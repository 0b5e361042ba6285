# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
EXTRA_DIST += portals/doc/ARCHITECTURE.md portals/doc/DATA-STRUCTURES.md portals/doc/MESSAGE-LIFE-CYCLE.md \
	portals/doc/NAL-HOWTO.md portals/doc/PROBES.md portals/doc/WIRE-FORMAT.md portals/doc/CALLS.md \
	portals/doc/CONFORMANCE.md portals/doc/SPEC-NOTES.md portals/doc/MODELS.md
