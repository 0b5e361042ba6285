#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# t_smoke.sh TARGET [MUTATIONS [SEED]] - the committed corpus of a fuzz target, and mutations of it
target=$1
shift
exec "$P3_BUILD/tests/fuzz/fuzz_$target" "$P3_SRC/tests/fuzz/corpus/$target" "$@"
