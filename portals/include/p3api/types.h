/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/types.h - types and constants of Portals 3.3 (sections 3.2 to 3.11 of SAND2006-0420)
 */
#ifndef P3API_TYPES_H
#define P3API_TYPES_H

#include <stdint.h>
#include <limits.h>
#include <p3/nal_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 3.2: base types. Handles are integers: clients compare them with == and print them. */
typedef uint64_t ptl_size_t;
typedef uint32_t ptl_handle_any_t;
typedef ptl_handle_any_t ptl_handle_ni_t;
typedef ptl_handle_any_t ptl_handle_me_t;
typedef ptl_handle_any_t ptl_handle_md_t;
typedef ptl_handle_any_t ptl_handle_eq_t;
typedef uint32_t ptl_pt_index_t;
typedef uint32_t ptl_ac_index_t;
typedef uint64_t ptl_match_bits_t;
typedef uint32_t ptl_interface_t;
typedef uint32_t ptl_nid_t;
typedef uint32_t ptl_pid_t;
typedef uint32_t ptl_uid_t;
typedef uint32_t ptl_jid_t;
typedef uint32_t ptl_sr_index_t;
typedef int64_t ptl_sr_value_t;
typedef uint64_t ptl_hdr_data_t;
typedef uint32_t ptl_seq_t;
typedef uint32_t ptl_ni_fail_t;
typedef uint32_t ptl_time_t;		/* milliseconds */

#define PTL_INVALID_HANDLE	((ptl_handle_any_t)0xffffffffU)
#define PTL_EQ_NONE		((ptl_handle_eq_t)0xbfffffffU)
#define PTL_HANDLE_NONE		((ptl_handle_any_t)0x7fffffffU)
#define PTL_MD_NONE		PTL_HANDLE_NONE

#define PTL_NID_ANY		((ptl_nid_t)0xffffffffU)
#define PTL_PID_ANY		((ptl_pid_t)0xffffffffU)
#define PTL_UID_ANY		((ptl_uid_t)0xffffffffU)
#define PTL_JID_ANY		((ptl_jid_t)0xffffffffU)
#define PTL_JID_NONE		((ptl_jid_t)0)
#define PTL_PT_INDEX_ANY	((ptl_pt_index_t)0xffffffffU)
#define PTL_TIME_FOREVER	((ptl_time_t)-1)
#define PTL_MD_THRESH_INF	(-1)

#define PTL_NI_OK		((ptl_ni_fail_t)0)
#define PTL_NI_FAIL		((ptl_ni_fail_t)1)
#define PTL_NI_DIED_NP		((ptl_ni_fail_t)2)	/* the other side died while data moved */
#define PTL_NI_FAULT_NP		((ptl_ni_fail_t)3)	/* memory of the MD could not be reached */

typedef enum { PTL_RETAIN = 0, PTL_UNLINK = 1 } ptl_unlink_t;
typedef enum { PTL_INS_BEFORE = 0, PTL_INS_AFTER = 1 } ptl_ins_pos_t;
/* 3.3 spells the second PTL_NO_ACK_REQ, 3.2 and the XT PTL_NOACK_REQ. No macros: programs define one as the other. */
typedef enum { PTL_ACK_REQ = 0, PTL_NO_ACK_REQ = 1, PTL_NOACK_REQ = PTL_NO_ACK_REQ } ptl_ack_req_t;

/* 3.10.1: options of a memory descriptor */
#define PTL_MD_OP_PUT			0x001U
#define PTL_MD_OP_GET			0x002U
#define PTL_MD_MANAGE_REMOTE		0x004U
#define PTL_MD_TRUNCATE			0x008U
#define PTL_MD_ACK_DISABLE		0x010U
#define PTL_MD_IOVEC			0x020U
#define PTL_MD_MAX_SIZE			0x040U
#define PTL_MD_EVENT_START_DISABLE	0x080U
#define PTL_MD_EVENT_END_DISABLE	0x100U
/*
 * Extensions. <portals/portals3.h> sets PTL_MD_XT_NP in all that its programs make; a program may also set it itself.
 * Such a descriptor follows the rules of the XT: UNLINK is logged only where PTL_MD_UNLINK_EVENT_NP is set; a get costs a
 * unit of the threshold and logs SEND_START and SEND_END for its request; rlength of an ACK is its mlength.
 */
#define PTL_MD_UNLINK_EVENT_NP		0x10000U	/* XT rules: log UNLINK when it unlinks itself */
#define PTL_MD_UNLINK_EVENT_MANUAL_NP	0x20000U	/* log UNLINK on PtlMDUnlink and PtlMEUnlink, too */
#define PTL_MD_XT_NP			0x80000000U	/* never seen in what the library gives back */

/*
 * 3.2.7: status registers. The specification has only the first. DROP to SEND, and the numbers in use now (CUR) and at
 * most so far (MAX): see PtlNIStatus(3), also for those that this library does not keep (PTL_SR_INDEX_INVALID).
 */
#define PTL_SR_DROP_COUNT	0
#define PTL_SR_DROP_LENGTH	1
#define PTL_SR_RECV_COUNT	2
#define PTL_SR_RECV_LENGTH	3
#define PTL_SR_SEND_COUNT	4
#define PTL_SR_SEND_LENGTH	5
#define PTL_SR_PTLS_MAX		6
#define PTL_SR_PTLS_CUR		7
#define PTL_SR_MSGS_ALLOC	8
#define PTL_SR_MSGS_FREED	9
#define PTL_SR_MSGS_MAX		10
#define PTL_SR_MSGS_CUR		11
#define PTL_SR_MES_ALLOC	12
#define PTL_SR_MES_FREED	13
#define PTL_SR_MES_MAX		14
#define PTL_SR_MES_CUR		15
#define PTL_SR_MDS_ALLOC	16
#define PTL_SR_MDS_FREED	17
#define PTL_SR_MDS_MAX		18
#define PTL_SR_MDS_CUR		19
#define PTL_SR_EQS_ALLOC	20
#define PTL_SR_EQS_FREED	21
#define PTL_SR_EQS_MAX		22
#define PTL_SR_EQS_CUR		23
#define PTL_SR_MD_ALIGN_128	24
#define PTL_SR_MD_ALIGN_64	25
#define PTL_SR_MD_ALIGN_32	26
#define PTL_SR_MD_ALIGN_16	27
#define PTL_SR_MD_ALIGN_8	28
#define PTL_SR_NAL_REGS_START	29
#define PTL_SR_CORRUPT_NP	64	/* entries in shared memory that made no sense and were dropped */
#define PTL_SR_MLIST_LEN(pt)	((ptl_sr_index_t)(pt) << 16 | PTL_SR_MES_CUR | (ptl_sr_index_t)1 << 31)
#define PTL_SR_MLIST_MAX(pt)	((ptl_sr_index_t)(pt) << 16 | PTL_SR_MES_MAX | (ptl_sr_index_t)1 << 31)

/* 3.5.1 */
typedef struct {
	int max_mes;		/* match entries at one time */
	int max_mds;		/* memory descriptors */
	int max_eqs;		/* event queues */
	int max_ac_index;	/* largest valid access control index */
	int max_pt_index;	/* largest valid portal index */
	int max_md_iovecs;	/* entries in one MD's iovec */
	int max_me_list;	/* length of one match list */
	int max_getput_md;	/* bytes in one atomic swap */
} ptl_ni_limits_t;

/* 3.7.1 */
typedef struct {
	ptl_nid_t nid;
	ptl_pid_t pid;
} ptl_process_id_t;

/* 3.10.1 */
typedef struct {
	void *start;			/* region, or address of the iovec array */
	ptl_size_t length;		/* bytes, or number of iovec entries */
	int threshold;			/* operations left, or PTL_MD_THRESH_INF */
	ptl_size_t max_size;		/* meaningful only with PTL_MD_MAX_SIZE */
	unsigned int options;		/* PTL_MD_* */
	void *user_ptr;			/* opaque; returned in events */
	ptl_handle_eq_t eq_handle;	/* or PTL_EQ_NONE */
} ptl_md_t;

/* 3.10.2: the layout of struct iovec */
typedef struct {
	void *iov_base;
	ptl_size_t iov_len;
} ptl_md_iovec_t;

/* 3.11.1 */
typedef enum {
	PTL_EVENT_GET_START, PTL_EVENT_GET_END,
	PTL_EVENT_PUT_START, PTL_EVENT_PUT_END,
	PTL_EVENT_GETPUT_START, PTL_EVENT_GETPUT_END,
	PTL_EVENT_REPLY_START, PTL_EVENT_REPLY_END,
	PTL_EVENT_SEND_START, PTL_EVENT_SEND_END,
	PTL_EVENT_ACK, PTL_EVENT_UNLINK
} ptl_event_kind_t;

/* 3.11.4 */
typedef struct {
	ptl_event_kind_t type;
	ptl_process_id_t initiator;
	ptl_uid_t uid;
	ptl_jid_t jid;
	ptl_pt_index_t pt_index;
	ptl_match_bits_t match_bits;
	ptl_size_t rlength;		/* bytes asked */
	ptl_size_t mlength;		/* bytes moved */
	ptl_size_t offset;		/* inside the MD of this event */
	ptl_handle_md_t md_handle;	/* may be stale when the MD unlinked itself */
	ptl_md_t md;			/* after the operation was charged */
	ptl_hdr_data_t hdr_data;
	ptl_seq_t link;			/* same in START, END and UNLINK of one operation */
	ptl_ni_fail_t ni_fail_type;
	int unlinked;			/* not in 3.3: 1 in UNLINK events, else 0 */
	volatile ptl_seq_t sequence;	/* consecutive in one EQ; a gap shows lost events */
} ptl_event_t;

/* 3.11.6. Programs for the XT define PTL_EQ_HANDLER_NONE, which its headers lack: there it must not be a macro. */
typedef void (*ptl_eq_handler_t)(ptl_event_t *event);
#ifdef P3_XT_RULES
static const ptl_eq_handler_t PTL_EQ_HANDLER_NONE __attribute__((__unused__)) = 0;
#else
#define PTL_EQ_HANDLER_NONE	((ptl_eq_handler_t)0)
#endif

#include <p3/errno.h>

#ifdef __cplusplus
}
#endif
#endif
