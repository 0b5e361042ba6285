# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Promela models of the protocols in shared memory, each with bugs that it must find.
EXTRA_DIST += tests/model/t_models.sh tests/model/attention.pml tests/model/sleep.pml tests/model/eq.pml \
	tests/model/lane.pml tests/model/together.pml tests/model/tso.pml tests/model/polled.pml \
	tests/model/attach.pml tests/model/unlink.pml tests/model/t_tags.sh
P3_TESTS += model/attention:tests/model/t_models.sh:limit=600,args=attention \
	model/sleep:tests/model/t_models.sh:limit=600,args=sleep \
	model/eq:tests/model/t_models.sh:limit=600,args=eq model/lane:tests/model/t_models.sh:limit=600,args=lane \
	model/polled:tests/model/t_models.sh:limit=600,args=polled \
	model/unlink:tests/model/t_models.sh:limit=600,args=unlink \
	model/attach:tests/model/t_models.sh:limit=600,args=attach model/tags:tests/model/t_tags.sh \
	model/together:tests/model/t_models.sh:limit=600,args=together
