# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
P3_TESTS += unit/harness:tests/unit/t_harness.sh:limit=60
EXTRA_DIST += tests/unit/t_harness.sh
