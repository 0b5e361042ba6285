# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# MPI over Portals: our own programs, and MPICH's test suite. Both need the MPICH that ./mpt builds. The folder is
# distributed whole.
EXTRA_DIST += tests/mpich
P3_TESTS += mpich/own:tests/mpich/own:limit=900 mpich/env:tests/mpich/env:limit=300
P3_TESTS += mpich/wrappers:tests/mpich/wrappers:limit=400
P3_TESTS += mpich/abi:tests/mpich/abi:limit=500 mpich/pgas:tests/mpich/pgas:limit=600
# Of MPICH's suite what there is time for; the whole of it, in all modes: tests/mpich/suite --full
P3_TESTS += mpich/suite:tests/mpich/suite:limit=900,args=pt2pt+rma
mpich_modes = --quick+--mode+default+--mode+off+--mode+hybrid+--mode+nodes+--mode+kernel
P3_TESTS += mpich/modes:tests/mpich/suite:limit=900,args=$(mpich_modes)
P3_TESTS += mpich/programs:tests/mpich/programs:limit=1900
P3_TESTS += mpich/gdb:tests/mpich/gdb:limit=200
