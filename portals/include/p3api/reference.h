/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/reference.h - this program is written for the reference implementation: the specification's rules
 *
 * Included before <portals/portals3.h> it keeps the rules of the XT out; included after, it takes back what that header
 * has put in front of the calls. See <portals/xt.h>.
 */
#ifndef P3_REFERENCE_RULES
#define P3_REFERENCE_RULES 1

#include <p3/nal_types.h>

#ifdef P3_XT_RULES
#undef P3_XT_RULES
#undef PtlNIInit
#undef PtlMEAttach
#undef PtlMEAttachAny
#undef PtlMEInsert
#undef PtlMDAttach
#undef PtlMDBind
#undef PtlMDUpdate
#undef PtlMEMDPost
#undef PtlMEMDAttach
#undef PtlMEMDInsert
#ifdef __cplusplus
#undef PtlACEntry
#else
#undef P3_ACENTRY5
#undef P3_ACENTRY6
#define P3_ACENTRY5	p3_acentry5
#define P3_ACENTRY6	PtlACEntry
#endif
#undef PTL_MD_EVENT_AUTO_UNLINK_ENABLE
#undef PTL_MD_EVENT_MANUAL_UNLINK_ENABLE
#undef PTL_MD_FLAG_AUTO_UNLINK
#endif

#endif
