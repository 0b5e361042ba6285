/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/types.h - types and constants of Portals 3.3 (SAND2006-0420); included by <portals3.h>
 */
#ifndef P3API_TYPES_H
#define P3API_TYPES_H

#include <stdint.h>
#include <limits.h>
#include <p3/nal_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * ptl_size_t, ptl_pt_index_t, ptl_ac_index_t, ptl_match_bits_t, ptl_nid_t, ptl_pid_t, ptl_uid_t, ptl_jid_t,
 * ptl_sr_value_t, ptl_hdr_data_t, ptl_seq_t, ptl_time_t - base types of Portals
 *
 * XT: process ids have 16 bits there, and programs print them with %hu, which earns a warning here.
 * Source: Portals 3.3, section 3.2.
 * See: ptl_handle_any_t, ptl_interface_t, ptl_ni_fail_t, ptl_sr_index_t
 */
typedef uint64_t ptl_size_t;		/* bytes, or a number of things */
typedef uint32_t ptl_pt_index_t;	/* entry of a portal table */
typedef uint32_t ptl_ac_index_t;	/* entry of an access control table */
typedef uint64_t ptl_match_bits_t;	/* bits that select a match entry */
typedef uint32_t ptl_nid_t;		/* node id */
typedef uint32_t ptl_pid_t;		/* process id of Portals: 0 to 0x3fffff */
typedef uint32_t ptl_uid_t;		/* user id */
typedef uint32_t ptl_jid_t;		/* job id, from 1 on */
typedef int64_t ptl_sr_value_t;		/* value of a status register */
typedef uint64_t ptl_hdr_data_t;	/* the user's word in each put */
typedef uint32_t ptl_seq_t;		/* number of an event, or what its operation's events share; wraps */
typedef uint32_t ptl_time_t;		/* milliseconds */

/**
 * ptl_handle_any_t, ptl_handle_ni_t, ptl_handle_me_t, ptl_handle_md_t, ptl_handle_eq_t - handles
 *
 * Handles are integers: programs compare them with == and print them. Each names its object and the interface of
 * that. A handle whose object is gone is recognised as stale, for 1023 reuses of its place.
 *
 * Source: Portals 3.3, section 3.2.2.
 * See: PtlHandleIsEqual, PtlNIHandle
 */
typedef uint32_t ptl_handle_any_t;		/* holds any of the others */
typedef ptl_handle_any_t ptl_handle_ni_t;	/* network interface */
typedef ptl_handle_any_t ptl_handle_me_t;	/* match entry */
typedef ptl_handle_any_t ptl_handle_md_t;	/* memory descriptor */
typedef ptl_handle_any_t ptl_handle_eq_t;	/* event queue */

#define PTL_INVALID_HANDLE	((ptl_handle_any_t)0xffffffffU)	/* no object; also "no interface yet" */
#define PTL_EQ_NONE		((ptl_handle_eq_t)0xbfffffffU)	/* no queue; of PtlMDUpdate: no condition */
#define PTL_HANDLE_NONE		((ptl_handle_any_t)0x7fffffffU)	/* null handle of any kind */
#define PTL_MD_NONE		PTL_HANDLE_NONE			/* the same, of a descriptor */

/**
 * PTL_NID_ANY, PTL_PID_ANY, PTL_UID_ANY, PTL_JID_ANY, PTL_JID_NONE, PTL_PT_INDEX_ANY, PTL_TIME_FOREVER,
 * PTL_MD_THRESH_INF - wildcards and special values
 *
 * XT: 0xffff is PTL_PID_ANY as well.
 * Source: Portals 3.3, section 3.2.
 * See: PtlACEntry, PtlEQPoll, PtlMEAttach, PtlNIInit, ptl_md_t
 */
#define PTL_NID_ANY		((ptl_nid_t)0xffffffffU)	/* any node */
#define PTL_PID_ANY		((ptl_pid_t)0xffffffffU)	/* any process; of PtlNIInit: the runtime chooses */
#define PTL_UID_ANY		((ptl_uid_t)0xffffffffU)	/* any user, in an access control entry */
#define PTL_JID_ANY		((ptl_jid_t)0xffffffffU)	/* any job, in an access control entry */
#define PTL_JID_NONE		((ptl_jid_t)0)			/* no job; never the id of one here */
#define PTL_PT_INDEX_ANY	((ptl_pt_index_t)0xffffffffU)	/* any portal, in an access control entry */
#define PTL_TIME_FOREVER	((ptl_time_t)-1)		/* without a limit, of PtlEQPoll */
#define PTL_MD_THRESH_INF	(-1)				/* a threshold that is never used up */

/**
 * ptl_ni_fail_t - how an operation ended
 *
 * Member ni_fail_type of each event. When it is not PTL_NI_OK the contents of memory are undefined.
 *
 * Source: Portals 3.3, section 3.11.3; names in _NP are of this library.
 * See: PtlNIFailStr, ptl_event_t
 */
typedef uint32_t ptl_ni_fail_t;
#define PTL_NI_OK		((ptl_ni_fail_t)0)	/* no failure */
#define PTL_NI_FAIL		((ptl_ni_fail_t)1)	/* the target does not exist or has closed its interface */
#define PTL_NI_DIED_NP		((ptl_ni_fail_t)2)	/* the other side died while data moved, or before it acknowledged */
#define PTL_NI_FAULT_NP		((ptl_ni_fail_t)3)	/* memory of the descriptor could not be reached */

/**
 * ptl_unlink_t - what happens to an entry or descriptor that is used up
 *
 * Source: Portals 3.3, section 3.9.1.
 * See: PtlMDAttach, PtlMEAttach
 */
typedef enum {
	PTL_RETAIN = 0,		/* it stays; a descriptor is then inactive */
	PTL_UNLINK = 1		/* it goes: a descriptor when it is used up, an entry when its descriptor goes */
} ptl_unlink_t;

/**
 * ptl_ins_pos_t - where an entry is put into a match list
 *
 * Source: Portals 3.3, section 3.9.1.
 * See: PtlMEAttach, PtlMEInsert
 */
typedef enum {
	PTL_INS_BEFORE = 0,	/* before the entry named, or at the head */
	PTL_INS_AFTER = 1	/* behind the entry named, or at the tail */
} ptl_ins_pos_t;

/**
 * ptl_atomic_np_t - what is done to a word of the target in one step
 *
 * x: the word; v: the operand; o: the other operand. Sums are modulo the word's size; floating-point numbers are bits.
 *
 * Source: An extension of this library.
 * See: PtlAtomic_np
 */
typedef enum {
	PTL_ATOMIC_FETCH_NP,	/* x stays */
	PTL_ATOMIC_SET_NP,	/* x = v */
	PTL_ATOMIC_SWAP_NP,	/* x = v; the same, for who wants what was there */
	PTL_ATOMIC_CSWAP_NP,	/* x = v if x is o */
	PTL_ATOMIC_ADD_NP,	/* x = x + v, signed or not */
	PTL_ATOMIC_AND_NP,	/* x = x & v */
	PTL_ATOMIC_OR_NP,	/* x = x | v */
	PTL_ATOMIC_XOR_NP,	/* x = x ^ v */
	PTL_ATOMIC_MSWAP_NP	/* bits of x that are set in o become those of v */
} ptl_atomic_np_t;

/**
 * ptl_ack_req_t - is an acknowledgement wanted?
 *
 * The last two are names of the same. They are no macros: programs define one as the other.
 *
 * Source: Portals 3.3, section 3.13.1; PTL_NOACK_REQ is of 3.2 and the XT.
 * See: PtlPut
 */
typedef enum {
	PTL_ACK_REQ = 0,		/* an ACK event is wanted, where the target's descriptor allows it */
	PTL_NO_ACK_REQ = 1,		/* none */
	PTL_NOACK_REQ = PTL_NO_ACK_REQ	/* none, as 3.2 and the XT spell it */
} ptl_ack_req_t;

/**
 * PTL_MD_OP_PUT, PTL_MD_OP_GET, PTL_MD_MANAGE_REMOTE, PTL_MD_TRUNCATE, PTL_MD_ACK_DISABLE, PTL_MD_IOVEC,
 * PTL_MD_MAX_SIZE, PTL_MD_EVENT_START_DISABLE, PTL_MD_EVENT_END_DISABLE - options of a memory descriptor
 *
 * Any of them together, in the member options of ptl_md_t. ACK and UNLINK events come whatever the two that switch
 * events off say.
 *
 * Source: Portals 3.3, section 3.10.1.
 * See: PtlMDAttach, ptl_md_t
 */
#define PTL_MD_OP_PUT			0x001U	/* puts are allowed */
#define PTL_MD_OP_GET			0x002U	/* gets are allowed; both: exchanges (PtlGetPut) */
#define PTL_MD_MANAGE_REMOTE		0x004U	/* the initiator says the offset; else each operation goes behind the last */
#define PTL_MD_TRUNCATE			0x008U	/* a request that is too long is cut, not refused */
#define PTL_MD_ACK_DISABLE		0x010U	/* no acknowledgements are sent */
#define PTL_MD_IOVEC			0x020U	/* start is an array of ptl_md_iovec_t, length its number of entries */
#define PTL_MD_MAX_SIZE			0x040U	/* used up when less than max_size is left behind the local offset */
#define PTL_MD_EVENT_START_DISABLE	0x080U	/* no START events */
#define PTL_MD_EVENT_END_DISABLE	0x100U	/* no END events */

/**
 * PTL_MD_UNLINK_EVENT_NP, PTL_MD_UNLINK_EVENT_MANUAL_NP, PTL_MD_XT_NP - options that give a descriptor the rules of
 * the XT
 *
 * <portals/portals3.h> sets PTL_MD_XT_NP in all that its programs make; a program may also set it itself. Such a
 * descriptor follows the rules of the XT, to its end: UNLINK is logged only where PTL_MD_UNLINK_EVENT_NP is set; a
 * get costs a unit of the threshold and logs SEND_START and SEND_END for its request; rlength of an ACK is its
 * mlength.
 *
 * XT: programs use the names PTL_MD_EVENT_AUTO_UNLINK_ENABLE, PTL_MD_FLAG_AUTO_UNLINK and
 * PTL_MD_EVENT_MANUAL_UNLINK_ENABLE for the first two.
 * Source: An extension of this library.
 * See: portals-xt(7), ptl_md_t
 */
#define PTL_MD_UNLINK_EVENT_NP		0x10000U	/* by the rules of the XT: log UNLINK when it unlinks itself */
#define PTL_MD_UNLINK_EVENT_MANUAL_NP	0x20000U	/* log UNLINK on PtlMDUnlink and PtlMEUnlink, too */
#define PTL_MD_XT_NP			0x80000000U	/* never seen in what the library gives back */

/**
 * ptl_sr_index_t - status registers
 *
 * The specification has only PTL_SR_DROP_COUNT; the others are names of the reference implementation. Those that
 * are not kept answer PTL_SR_INDEX_INVALID. PTL_SR_MLIST_LEN and PTL_SR_MLIST_MAX make the index of a register from
 * that of a portal.
 *
 * Source: Portals 3.3, section 3.2.7; names in _NP are of this library.
 * See: PtlNIStatus
 */
typedef uint32_t ptl_sr_index_t;
#define PTL_SR_DROP_COUNT	0	/* messages dropped: nothing matched, access denied, a bad index, an ack
					   or reply whose descriptor was gone or inactive */
#define PTL_SR_DROP_LENGTH	1	/* bytes that dropped requests asked for */
#define PTL_SR_RECV_COUNT	2	/* puts accepted here */
#define PTL_SR_RECV_LENGTH	3	/* bytes of them that were taken */
#define PTL_SR_SEND_COUNT	4	/* puts begun here that have ended locally */
#define PTL_SR_SEND_LENGTH	5	/* their bytes */
#define PTL_SR_PTLS_MAX		6	/* portal table entries that there are */
#define PTL_SR_PTLS_CUR		7	/* those whose list is not empty */
#define PTL_SR_MSGS_ALLOC	8	/* not kept */
#define PTL_SR_MSGS_FREED	9	/* not kept */
#define PTL_SR_MSGS_MAX		10	/* not kept */
#define PTL_SR_MSGS_CUR		11	/* operations in progress here */
#define PTL_SR_MES_ALLOC	12	/* match entries made so far */
#define PTL_SR_MES_FREED	13	/* match entries freed so far */
#define PTL_SR_MES_MAX		14	/* match entries in use at one time, at most */
#define PTL_SR_MES_CUR		15	/* match entries in use now */
#define PTL_SR_MDS_ALLOC	16	/* memory descriptors made so far */
#define PTL_SR_MDS_FREED	17	/* memory descriptors freed so far */
#define PTL_SR_MDS_MAX		18	/* memory descriptors in use at one time, at most */
#define PTL_SR_MDS_CUR		19	/* memory descriptors in use now */
#define PTL_SR_EQS_ALLOC	20	/* event queues made so far */
#define PTL_SR_EQS_FREED	21	/* event queues freed so far */
#define PTL_SR_EQS_MAX		22	/* event queues in use at one time, at most */
#define PTL_SR_EQS_CUR		23	/* event queues in use now */
#define PTL_SR_MD_ALIGN_128	24	/* not kept */
#define PTL_SR_MD_ALIGN_64	25	/* not kept */
#define PTL_SR_MD_ALIGN_32	26	/* not kept */
#define PTL_SR_MD_ALIGN_16	27	/* not kept */
#define PTL_SR_MD_ALIGN_8	28	/* not kept */
#define PTL_SR_NAL_REGS_START	29	/* the first of the network's own; there are none */
#define PTL_SR_CORRUPT_NP	64	/* entries in shared memory that made no sense and were dropped: a
					   process of the job writes where it should not */
#define PTL_SR_MLIST_LEN(pt) /* length of the match list of portal pt now */ \
	((ptl_sr_index_t)(pt) << 16 | PTL_SR_MES_CUR | (ptl_sr_index_t)1 << 31)
#define PTL_SR_MLIST_MAX(pt) /* and at most so far */ \
	((ptl_sr_index_t)(pt) << 16 | PTL_SR_MES_MAX | (ptl_sr_index_t)1 << 31)

/**
 * ptl_interface_t - which interface
 *
 * Whatever its number, it is the one interface that there is. PTL_IFACE_DEFAULT is what a program should use;
 * PTL_IFACE_UTCP and PTL_IFACE_IBNG of the reference implementation, and CRAY_USER_NAL and its fellows of the XT
 * (portals/nal.h), are names of the same. The number says which rules a program expects: those of the XT are
 * 0xc0000000 and above up to 0xc0ffffff.
 *
 * Source: Portals 3.3, section 3.2.5.
 * See: PtlNIInit, portals-xt(7)
 */
typedef uint32_t ptl_interface_t;

/**
 * ptl_ni_limits_t - limits of an interface
 *
 * Values in brackets are those that PtlNIInit gives when nothing else is asked for.
 *
 * Source: Portals 3.3, section 3.5.1.
 * See: PtlNIInit
 */
typedef struct {
	int max_mes;		/* match entries at one time (65536) */
	int max_mds;		/* memory descriptors (65536) */
	int max_eqs;		/* event queues (1024) */
	int max_ac_index;	/* largest valid access control index (7) */
	int max_pt_index;	/* largest valid portal index (127) */
	int max_md_iovecs;	/* entries in one descriptor's iovec (256) */
	int max_me_list;	/* length of one match list (65536) */
	int max_getput_md;	/* bytes in one atomic swap (64) */
} ptl_ni_limits_t;

/**
 * ptl_process_id_t - a process
 *
 * Source: Portals 3.3, section 3.7.1.
 * See: PtlGetId, PtlGetRankId
 */
typedef struct {
	ptl_nid_t nid;		/* its node, or PTL_NID_ANY */
	ptl_pid_t pid;		/* its process id, or PTL_PID_ANY */
} ptl_process_id_t;

/**
 * ptl_md_t - a memory descriptor
 *
 * A structure that is given to a call is copied, its iovec too. A region of any length may be given: it is not
 * touched before an operation does. At threshold 0 the descriptor is inactive. Each put, get, acknowledgement and
 * reply costs one; a put that is acknowledged costs its initiator two.
 *
 * XT: the request of a get costs one, too.
 * Source: Portals 3.3, section 3.10.1.
 * See: PTL_MD_OP_PUT, PtlMDAttach, PtlMDBind, PtlMDUpdate
 */
typedef struct {
	void *start;			/* region; with PTL_MD_IOVEC the address of an array of ptl_md_iovec_t */
	ptl_size_t length;		/* bytes; with PTL_MD_IOVEC the number of entries */
	int threshold;			/* operations that it still takes, or PTL_MD_THRESH_INF */
	ptl_size_t max_size;		/* with PTL_MD_MAX_SIZE: used up when less is left behind the local offset */
	unsigned int options;		/* PTL_MD_OP_PUT and others */
	void *user_ptr;			/* comes back in each event */
	ptl_handle_eq_t eq_handle;	/* queue for its events, or PTL_EQ_NONE */
} ptl_md_t;

/**
 * ptl_md_iovec_t - a piece of a memory descriptor; the layout of struct iovec
 *
 * Source: Portals 3.3, section 3.10.2.
 * See: ptl_md_t
 */
typedef struct {
	void *iov_base;			/* first byte */
	ptl_size_t iov_len;		/* bytes; 0 is allowed */
} ptl_md_iovec_t;

/**
 * ptl_event_kind_t - kinds of events
 *
 * XT: the request of a get logs SEND_START and SEND_END. UNLINK comes only where PTL_MD_EVENT_AUTO_UNLINK_ENABLE is
 * set, and with PTL_MD_EVENT_MANUAL_UNLINK_ENABLE on PtlMDUnlink and PtlMEUnlink, too.
 * Source: Portals 3.3, section 3.11.1.
 * See: PtlEventKindStr, ptl_event_t
 */
typedef enum {
	PTL_EVENT_GET_START,	/* target of a get: matched */
	PTL_EVENT_GET_END,	/* target of a get: the data have been read */
	PTL_EVENT_PUT_START,	/* target of a put: matched */
	PTL_EVENT_PUT_END,	/* target of a put: the data are there */
	PTL_EVENT_GETPUT_START,	/* target of an exchange: matched */
	PTL_EVENT_GETPUT_END,	/* target of an exchange: done */
	PTL_EVENT_REPLY_START,	/* initiator of a get or an exchange: the data arrive */
	PTL_EVENT_REPLY_END,	/* initiator of a get or an exchange: the data have arrived */
	PTL_EVENT_SEND_START,	/* initiator of a put or an exchange: begun */
	PTL_EVENT_SEND_END,	/* initiator of a put or an exchange: the buffer may be reused */
	PTL_EVENT_ACK,		/* initiator of a put: the data are in the target's memory; mlength says how many (0: all cut) */
	PTL_EVENT_UNLINK	/* last event of a descriptor that unlinked itself */
} ptl_event_kind_t;

/**
 * ptl_event_t - an event
 *
 * XT: rlength of an ACK is its mlength.
 * Source: Portals 3.3, section 3.11.4; unlinked is of the XT.
 * See: PtlEQGet, ptl_event_kind_t, ptl_ni_fail_t
 */
typedef struct {
	ptl_event_kind_t type;		/* what has happened */
	ptl_process_id_t initiator;	/* who began the operation */
	ptl_uid_t uid;			/* the initiator's user */
	ptl_jid_t jid;			/* the initiator's job */
	ptl_pt_index_t pt_index;	/* portal that the request named */
	ptl_match_bits_t match_bits;	/* bits of the request; of a REPLY and an ACK, too */
	ptl_size_t rlength;		/* bytes asked */
	ptl_size_t mlength;		/* bytes moved */
	ptl_size_t offset;		/* inside the descriptor of this event */
	ptl_handle_md_t md_handle;	/* the descriptor; stale when it has unlinked itself */
	ptl_md_t md;			/* the descriptor after the operation was charged */
	ptl_hdr_data_t hdr_data;	/* the user's word of the put */
	ptl_seq_t link;			/* same in START, END and UNLINK of one operation */
	ptl_ni_fail_t ni_fail_type;	/* PTL_NI_OK, or why the operation failed */
	int unlinked;			/* not in 3.3: 1 in UNLINK events, else 0 */
	volatile ptl_seq_t sequence;	/* consecutive in one queue; a gap shows lost events */
} ptl_event_t;

/**
 * ptl_take_np_t - which message PtlMEMDTake_np takes, where to, and what it was
 *
 * The call writes the last four, and only when it returns PTL_OK.
 *
 * Source: An extension of this library.
 * See: PtlMEMDTake_np
 */
typedef struct {
	ptl_process_id_t match_id;	/* its initiator: a process, or PTL_NID_ANY with PTL_PID_ANY */
	ptl_match_bits_t match_bits;	/* its match bits, */
	ptl_match_bits_t ignore_bits;	/* but for these */
	ptl_hdr_data_t hdr_data;	/* its header data, */
	ptl_hdr_data_t ignore_hdr;	/* but for these bits */
	void *start;			/* where its bytes go */
	ptl_size_t length;		/* bytes there; a longer message is not taken */
	ptl_process_id_t initiator;	/* who has sent it */
	ptl_match_bits_t bits;		/* its match bits */
	ptl_hdr_data_t hdr;		/* its header data */
	ptl_size_t mlength;		/* its bytes */
} ptl_take_np_t;

/**
 * ptl_hold_np_t - function that keeps a library's own calls of Portals out, and lets them in again
 *
 * Source: An extension of this library.
 * See: PtlNISerial_np
 */
typedef void (*ptl_hold_np_t)(int on);	/* on: 1: out; 0: in again */

/**
 * ptl_eq_handler_t - function that is run for each event of a queue
 *
 * Source: Portals 3.3, section 3.11.6.
 * See: PtlEQAlloc
 */
typedef void (*ptl_eq_handler_t)(ptl_event_t *event);	/* event: it is valid during the call */
/* Programs for the XT define PTL_EQ_HANDLER_NONE, which its headers lack: there it must not be a macro. */
#ifdef P3_XT_RULES
static const ptl_eq_handler_t PTL_EQ_HANDLER_NONE __attribute__((__unused__)) = 0;
#else
#define PTL_EQ_HANDLER_NONE	((ptl_eq_handler_t)0)	/* none */
#endif

#include <p3/errno.h>

#ifdef __cplusplus
}
#endif
#endif
