# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# In guests with a kernel of their own. tests/run adds the runs of guest.list and kernel-nal/test/guest.list.
P3_TESTS += kernel/modules:tests/guest/t_modules.sh:limit=900
EXTRA_DIST += tests/guest/README.md tests/guest/guest.list tests/guest/prepare tests/guest/lib.sh tests/guest/init \
	tests/guest/run tests/guest/stage2 tests/guest/t_guest.sh tests/guest/t_modules.sh tests/guest/selftest_ko.sh \
	tests/guest/selftest.sh tests/guest/rxe.sh tests/guest/rxe_api.sh
