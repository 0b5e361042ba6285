# SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
# Manual pages of the calls: a page per group, and one line (.so) for each further name in it.
dist_man_MANS += portals/man/portals.7 \
	portals/man/PtlACEntry.3 \
	portals/man/PtlEQAlloc.3 \
	portals/man/PtlEQFree.3 \
	portals/man/PtlEQGet.3 \
	portals/man/PtlEQPeek.3 \
	portals/man/PtlEQPoll.3 \
	portals/man/PtlEQWait.3 \
	portals/man/PtlErrorStr.3 \
	portals/man/PtlEventKindStr.3 \
	portals/man/PtlFini.3 \
	portals/man/PtlGet.3 \
	portals/man/PtlGetId.3 \
	portals/man/PtlGetJid.3 \
	portals/man/PtlGetNIDMap.3 \
	portals/man/PtlGetNodeMap_np.3 \
	portals/man/PtlGetPIDMap.3 \
	portals/man/PtlGetRank.3 \
	portals/man/PtlGetRankId.3 \
	portals/man/PtlGetRegion.3 \
	portals/man/PtlGetUid.3 \
	portals/man/PtlHandleIsEqual.3 \
	portals/man/PtlInit.3 \
	portals/man/PtlMDAttach.3 \
	portals/man/PtlMDBind.3 \
	portals/man/PtlMDUnlink.3 \
	portals/man/PtlMDUpdate.3 \
	portals/man/PtlMEAttach.3 \
	portals/man/PtlMEAttachAny.3 \
	portals/man/PtlMEInsert.3 \
	portals/man/PtlMEMDPost.3 \
	portals/man/PtlMEUnlink.3 \
	portals/man/PtlNIDist.3 \
	portals/man/PtlNIFailStr.3 \
	portals/man/PtlNIFini.3 \
	portals/man/PtlNIHandle.3 \
	portals/man/PtlNIInit.3 \
	portals/man/PtlNIStatus.3 \
	portals/man/PtlOversubscribed_np.3 \
	portals/man/PtlPTPolled_np.3 \
	portals/man/PtlPut.3 \
	portals/man/PtlPutRegion.3 \
	portals/man/PtlRtPmiShared_np.3 \
	portals/man/PtlSetRank.3 \
	portals/man/ptl_err_str.3 \
	portals/man/ptl_event_str.3
