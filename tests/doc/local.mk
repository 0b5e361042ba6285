# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# The documents agree with the code.
EXTRA_DIST += tests/doc/t_man.sh tests/doc/t_man_shmem.sh tests/doc/t_man_dmapp.sh tests/doc/t_codes.pl \
	tests/doc/t_knobs.pl
P3_TESTS += unit/man:tests/doc/t_man.sh:nosan unit/man-shmem:tests/doc/t_man_shmem.sh:nosan \
	unit/man-dmapp:tests/doc/t_man_dmapp.sh:nosan \
	unit/codes:tests/doc/t_codes.pl:nosan unit/knobs:tests/doc/t_knobs.pl:nosan
# The core is freestanding, and compiles as a kernel module.
P3_TESTS += unit/kernel-core:kernel-nal/test/t_core.sh:limit=180
