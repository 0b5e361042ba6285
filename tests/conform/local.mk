# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Conformance scripts: every rule, on every path. A new path or NAL is one line of CONFORM_PATHS: name and options,
# among them T_PATH, its name in scripts.
CONFORM_FAULTS = loss=200:dup=200:reorder=300:flip=20
CONFORM_PATHS = conform/self:tests/conform/t_conform:env=T_PATH=self \
	conform/direct:tests/conform/t_conform:ranks=2,env=T_PATH=direct \
	conform/inbox:tests/conform/t_conform:ranks=2,env=T_PATH=inbox+T_POLL=1+PTL_SPIN=20000 \
	conform/early:tests/conform/t_conform:ranks=2,env=T_PATH=early+T_POLL=1+T_EARLY=1+PTL_SPIN=20000 \
	conform/far:tests/conform/t_conform:ranks=2,env=T_PATH=far+PTL_ADOPT=none \
	conform/far-inbox:tests/conform/t_conform:ranks=2,env=T_PATH=far-inbox+PTL_ADOPT=none+T_POLL=1 \
	conform/bounce:tests/conform/t_conform:ranks=2,env=T_PATH=bounce+PTL_ADOPT=none+PTL_CMA=no+T_POLL=1 \
	conform/quiet:tests/conform/t_conform:ranks=2,env=T_PATH=quiet+T_ASKED=1+PTL_ADOPT=none+PTL_CMA=no \
	conform/net:tests/conform/t_conform:ranks=2,pernode=1,env=T_PATH=net \
	conform/ap:tests/conform/t_conform:ranks=2,pernode=1,env=T_PATH=ap+PTL_NAL=ap \
	conform/loop:tests/conform/t_conform:env=T_PATH=loop+PTL_NAL=loop \
	conform/loop-faults:tests/conform/t_conform:env=T_PATH=loop-faults+PTL_NAL=loop+PTL_LOOP=$(CONFORM_FAULTS) \
	conform/limits:tests/conform/t_conform:env=T_PATH=limits+T_ASKED=1+T_LIMITS=1

check_PROGRAMS += tests/conform/t_conform
tests_conform_t_conform_SOURCES = tests/conform/t_conform.c tests/conform/events.c tests/conform/statement.c \
	tests/conform/side.h tests/conform/script.c tests/conform/script.h tests/conform/lang.c tests/conform/lang.h \
	tests/conform/conform.h tests/conform/calls.h tests/conform/calls_ref.c tests/conform/calls_xt.c
tests_conform_t_conform_CPPFLAGS = $(T_CPPFLAGS) -I$(top_srcdir)/tests/api
tests_conform_t_conform_LDADD = $(T_LIBS)
P3_TESTS += $(CONFORM_PATHS) conform/table:tests/conform/table:args=--check,nosan \
	conform/mutations:tests/conform/mutate:args=--tap+24,limit=300,nosan
# nal/template, in the place of nal/loop: the scripts, and some of the API suite
P3_TESTS += conform/template:tests/conform/template:limit=120,nosan \
	api/init-template:tests/conform/template:args=tests/api/t_init,nosan \
	api/put-template:tests/conform/template:args=tests/api/t_put,nosan \
	api/get-template:tests/conform/template:args=tests/api/t_get,nosan \
	api/swap-template:tests/conform/template:args=tests/api/t_swap,nosan \
	api/wild-template:tests/conform/template:args=tests/api/t_wild,nosan
EXTRA_DIST += tests/conform/template
EXTRA_DIST += tests/conform/README.md tests/conform/rules tests/conform/04-interface.ptl tests/conform/09-entries.ptl \
	tests/conform/10-descriptors.ptl tests/conform/11-events.ptl tests/conform/12-access.ptl \
	tests/conform/13-moving.ptl tests/conform/42-matching.ptl
EXTRA_DIST += tests/conform/mutate tests/conform/mutations tests/conform/table
# What tests/conform/mutate needs to know to build the library with one file changed.
conform-flags:
	@echo 'cc: $(CC)'
	@echo 'flags: $(DEFS) $(DEFAULT_INCLUDES) $(portals_libportals_la_CPPFLAGS) $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS)'
	@echo 'objects: $(portals_libportals_la_OBJECTS)'
	@echo 'libs: $(portals_libportals_la_LIBADD) $(LIBS)'
.PHONY: conform-flags
