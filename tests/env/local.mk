# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# One job in each environment of tests/env/table; doc/environments.md is the same table.
check_PROGRAMS += tests/env/env_rank tests/env/with_filter
tests_env_env_rank_SOURCES = tests/env/env_rank.c
tests_env_env_rank_CPPFLAGS = $(T_CPPFLAGS)
tests_env_env_rank_LDADD = $(T_LIBS)
tests_env_with_filter_SOURCES = tests/env/with_filter.c
tests_env_with_filter_CPPFLAGS = $(T_CPPFLAGS)
EXTRA_DIST += tests/env/t_env.sh tests/env/table
P3_TESTS += env/table:tests/env/t_env.sh:nosan,warns,limit=300
