/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/types.h - types and constants of Portals 3.3 (sections 3.2 to 3.11 of SAND2006-0420)
 */
#ifndef P3API_TYPES_H
#define P3API_TYPES_H

#include <stdint.h>
#include <limits.h>

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

#define PTL_IFACE_DEFAULT	((ptl_interface_t)0xf0f0e000U)

typedef enum { PTL_RETAIN = 0, PTL_UNLINK = 1 } ptl_unlink_t;
typedef enum { PTL_INS_BEFORE = 0, PTL_INS_AFTER = 1 } ptl_ins_pos_t;
typedef enum { PTL_ACK_REQ = 0, PTL_NO_ACK_REQ = 1 } ptl_ack_req_t;
#define PTL_NOACK_REQ PTL_NO_ACK_REQ

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

/* 3.2.7: status registers */
#define PTL_SR_DROP_COUNT	0
#define PTL_SR_DROP_LENGTH	1
#define PTL_SR_RECV_COUNT	2
#define PTL_SR_RECV_LENGTH	3
#define PTL_SR_SEND_COUNT	4
#define PTL_SR_SEND_LENGTH	5
#define PTL_SR_CORRUPT_NP	64	/* entries in shared memory that made no sense and were dropped */

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
	volatile ptl_seq_t sequence;	/* consecutive in one EQ; a gap shows lost events */
} ptl_event_t;

/* 3.11.6 */
typedef void (*ptl_eq_handler_t)(ptl_event_t *event);
#define PTL_EQ_HANDLER_NONE	((ptl_eq_handler_t)0)

/* 3.3: return codes; those from PTL_IFACE_DUP on are not in the specification */
typedef enum {
	PTL_OK = 0,
	PTL_AC_INDEX_INVALID = 1,
	PTL_EQ_DROPPED = 2,
	PTL_EQ_EMPTY = 3,
	PTL_EQ_INVALID = 4,
	PTL_FAIL = 5,
	PTL_HANDLE_INVALID = 6,
	PTL_IFACE_INVALID = 7,
	PTL_MD_ILLEGAL = 8,
	PTL_MD_INVALID = 9,
	PTL_MD_IN_USE = 10,
	PTL_MD_NO_UPDATE = 11,
	PTL_ME_INVALID = 12,
	PTL_ME_IN_USE = 13,
	PTL_ME_LIST_TOO_LONG = 14,
	PTL_NI_INVALID = 15,
	PTL_NO_INIT = 16,
	PTL_NO_SPACE = 17,
	PTL_PID_INVALID = 18,
	PTL_PROCESS_INVALID = 19,
	PTL_PT_FULL = 20,
	PTL_PT_INDEX_INVALID = 21,
	PTL_SEGV = 22,
	PTL_SR_INDEX_INVALID = 23,
	PTL_UNKNOWN_ERROR = 24,
	PTL_MAX_ERRNO = 25
} ptl_err_t;

#ifdef __cplusplus
}
#endif
#endif
