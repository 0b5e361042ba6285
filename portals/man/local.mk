# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Manual pages: those of calls, types, constants and settings are made from the headers' comments, into man/ of the
# build, beside copies of those written by hand: MANPATH=man man PtlPut. Further names of the latter get a page of one
# line, by aliases. DMAPP's header has a plainer markup and a generator of its own.
dist_man_MANS += portals/man/portals.7 portals/man/portals-xt.7
EXTRA_DIST += portals/man/generate portals/man/aliases portals/man/README.md
i = portals/include
man_from = portals/man/generate portals/man/aliases portals/rt/p3_knobs.h mpich-ch3-portals/include/mpidi_ptl_env.h \
	nal/smartmap/smartmap.h $i/p3api/types.h $i/p3api/api.h \
	$i/p3api/misc.h $i/p3api/debug.h $i/p3/errno.h $i/p3/nal_types.h $i/p3rt/p3rt.h $i/p3nal_utcp.h \
	$i/p3nal_ibng.h $i/portals/nal.h $i/portals/xt.h $i/portals/reserved_ptls.h $i/portals/p3api/debug.h \
	$i/cnos_mpi_os.h $i/pmi.h
noinst_DATA += man/stamp
dmapp_man = dmapp-portals/man/generate dmapp-portals/include/dmapp.h
man/stamp: $(man_from) $(dmapp_man) $(dist_man_MANS)
	$(AM_V_GEN)rm -rf man && perl $(srcdir)/portals/man/generate --src $(srcdir) -o man && \
	perl $(srcdir)/dmapp-portals/man/generate $(srcdir)/dmapp-portals/include/dmapp.h man >> man/made && \
	for p in $(dist_man_MANS); do \
		d=man/man$${p##*.}; test -f $$p || p=$(srcdir)/$$p; \
		$(MKDIR_P) $$d && cp $$p $$d || exit 1; \
	done && sh $(srcdir)/portals/man/aliases man $(dist_man_MANS) >> man/made && touch $@
man: man/stamp

install-data-local: install-made-man
install-made-man: man/stamp
	for s in 3 7; do \
		$(MKDIR_P) $(DESTDIR)$(mandir)/man$$s && for p in `sed -n "s,^\(man$$s/.*\),\1,p" man/made`; do \
			$(INSTALL_DATA) man/$$p $(DESTDIR)$(mandir)/man$$s || exit 1; \
		done; \
	done
uninstall-local: uninstall-made-man
uninstall-made-man:
	test ! -f man/made || for p in `cat man/made`; do rm -f $(DESTDIR)$(mandir)/$$p; done
clean-local: clean-man
clean-man:
	rm -rf man
.PHONY: man install-made-man uninstall-made-man clean-man
