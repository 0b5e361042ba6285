/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/api.h - the calls of Portals 3.3
 *
 * For all of them: objects belong to the process, handles may be used from any thread, each call is atomic with
 * respect to other threads and to incoming messages. Only PtlEQWait and PtlEQPoll block. None may be called from a
 * signal handler. Output arguments are written only on success, except where stated. Every call but PtlInit returns
 * PTL_NO_INIT before PtlInit, after PtlFini, and in the child of a fork().
 */
#ifndef P3API_API_H
#define P3API_API_H

#include <p3api/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * PtlInit - initialise the library (3.4); may be repeated
 * @max_interfaces: out, interfaces that one process can open; NULL only on a repeated call
 * Return: PTL_OK; PTL_FAIL (the job's description is broken: one sentence on stderr); PTL_SEGV (NULL).
 */
int PtlInit(int *max_interfaces);

/** PtlFini - close every interface and the library (3.4). Blocks until the other local ranks' copies have ended. */
void PtlFini(void);

/**
 * PtlNIInit - open an interface (3.5); joins the job on this node, so the first call is collective over its ranks
 * @interface: PTL_IFACE_DEFAULT, or PTL_IFACE_UTCP.. / PTL_IFACE_IBNG as names of the same
 * @pid:       PTL_PID_ANY, or the pid wanted (at most 0x3fffff, unused on this node)
 * @desired:   NULL, or limits wanted; smaller ones are honoured, larger ones cut down
 * @actual:    out, limits in force; NULL allowed
 * @ni:        out, handle
 * A repeated call returns the open interface and counts. After a failure it may be called again: by all ranks of the
 * node after PTL_NO_SPACE and PTL_FAIL, which all of them get; after PTL_PID_INVALID by the refused one alone, which
 * still belongs to the job until it calls PtlFini (the others' PtlNIFini waits for that).
 * Return: PTL_OK; PTL_IFACE_INVALID; PTL_NO_SPACE (memory: a sentence on stderr); PTL_PID_INVALID (taken or out of
 * range); PTL_SEGV (@ni NULL); PTL_FAIL (the job could not be joined: a sentence on stderr); programs for the XT get
 * PTL_IFACE_DUP when it was open already, and a good handle.
 */
int PtlNIInit(ptl_interface_t interface, ptl_pid_t pid, ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
	      ptl_handle_ni_t *ni);

/** PtlNIFini - close an interface at the last of as many calls as PtlNIInit had. PTL_OK, PTL_NI_INVALID. */
int PtlNIFini(ptl_handle_ni_t ni);

/** PtlNIStatus - read a status register. PTL_OK, PTL_NI_INVALID, PTL_SR_INDEX_INVALID, PTL_SEGV. */
int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t index, ptl_sr_value_t *status);

/**
 * PtlNIDist - distance to a process: 0 itself, 1 same node, more elsewhere
 * Return: PTL_OK; PTL_NI_INVALID; PTL_PROCESS_INVALID (nobody there; @distance is ULONG_MAX); PTL_SEGV.
 */
int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance);

/** PtlNIHandle - the interface of any object; checks that part of the handle only. PTL_HANDLE_INVALID, PTL_SEGV. */
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni);

/** PtlGetUid, PtlGetId, PtlGetJid - who am I on this interface (3.6 to 3.8). PTL_NI_INVALID, PTL_SEGV. */
int PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid);
int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id);
int PtlGetJid(ptl_handle_ni_t ni, ptl_jid_t *jid);

/** PtlHandleIsEqual - PTL_OK: the same object; PTL_FAIL: not (3.14.1). */
int PtlHandleIsEqual(ptl_handle_any_t a, ptl_handle_any_t b);

/**
 * PtlMEAttach - add a match entry to one end of a match list (3.9.2)
 * @pt_index:    0 .. limits.max_pt_index
 * @match_id:    who may match; PTL_NID_ANY and PTL_PID_ANY are wildcards
 * @match_bits:  compared with the bits of each incoming header
 * @ignore_bits: a 1 leaves that bit out of the comparison
 * @unlink:      PTL_UNLINK: goes when its MD goes; PTL_RETAIN: stays
 * @pos:         PTL_INS_BEFORE: head of the list; PTL_INS_AFTER: tail
 * The entry accepts nothing until PtlMDAttach(). Never blocks.
 * Return: PTL_OK; PTL_NI_INVALID, PTL_PT_INDEX_INVALID, PTL_SEGV; PTL_ME_LIST_TOO_LONG (limits.max_me_list);
 * PTL_NO_SPACE (limits.max_mes: unlink one and call again).
 */
int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos,
		ptl_handle_me_t *me);

/**
 * PtlMEAttachAny - the same on a portal table entry with an empty list, from the top down (3.9.3)
 * @pt_index: out
 * Return: PTL_OK; PTL_NI_INVALID; PTL_PT_FULL (no list is empty); PTL_NO_SPACE; PTL_SEGV.
 */
int PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
		   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
		   ptl_handle_me_t *me);

/**
 * PtlMEInsert - the same directly before or after entry @base of any list (3.9.4)
 * Return: PTL_OK; PTL_ME_INVALID (@base); PTL_ME_LIST_TOO_LONG; PTL_NO_SPACE; PTL_SEGV.
 */
int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_handle_me_t *me);

/**
 * PtlMEUnlink - remove an entry and its MD, without an event (3.9.5)
 * Return: PTL_OK; PTL_ME_INVALID; PTL_ME_IN_USE (operations on the MD are in progress: fetch events, call again).
 */
int PtlMEUnlink(ptl_handle_me_t me);

/**
 * PtlMDAttach - make a memory descriptor and hang it on an entry that has none (3.10.3)
 * @md:        copied, with its iovec; see ptl_md_t
 * @unlink_op: PTL_UNLINK: unlinks itself once operations have used it up
 * @handle:    out, may be NULL
 * Return: PTL_OK; PTL_ME_INVALID; PTL_ME_IN_USE (has an MD); PTL_MD_ILLEGAL (region, iovec, unknown option, or EQ of
 * another NI); PTL_EQ_INVALID; PTL_NO_SPACE (limits.max_mds, or no room for the iovec).
 */
int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *handle);

/**
 * PtlMDBind - make a free-floating descriptor, for own puts and gets (3.10.4)
 * Return: PTL_OK; PTL_NI_INVALID; PTL_MD_ILLEGAL, PTL_EQ_INVALID, PTL_NO_SPACE as PtlMDAttach; PTL_SEGV (@handle NULL).
 */
int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *handle);

/** PtlMDUnlink - remove a descriptor, without an event (3.10.5). PTL_MD_IN_USE, PTL_MD_INVALID. */
int PtlMDUnlink(ptl_handle_md_t md);

/**
 * PtlMDUpdate - read, and replace if a queue is empty, in one step (3.10.6)
 * @old_md: NULL, or out: values now; also filled on PTL_MD_NO_UPDATE. For an iovec back: options |= PTL_MD_IOVEC,
 *          start = buffer, length = entries that fit
 * @new_md: NULL (read only), or the new values; the local offset returns to 0
 * @eq:     PTL_EQ_NONE: always; else only if no event is in that queue or promised to it
 * Return: PTL_OK; PTL_MD_INVALID; PTL_EQ_INVALID; PTL_MD_ILLEGAL; PTL_MD_NO_UPDATE (not empty; nothing changed);
 * PTL_NO_SPACE (no room for the new iovec; nothing changed).
 */
int PtlMDUpdate(ptl_handle_md_t md, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t eq);

/**
 * PtlMEMDPost - insert an entry with its descriptor if a queue is empty, in one step (Cray extension)
 * Arguments as PtlMEInsert, PtlMDAttach and PtlMDUpdate; unless it returns PTL_OK nothing is left behind.
 * Return: PTL_OK; PTL_NI_INVALID; PTL_ME_INVALID (@base); PTL_EQ_INVALID; PTL_MD_ILLEGAL; PTL_MD_NO_UPDATE;
 * PTL_ME_LIST_TOO_LONG; PTL_NO_SPACE (limits.max_mes, limits.max_mds, iovec); PTL_SEGV (@me_handle NULL).
 */
int PtlMEMDPost(ptl_handle_ni_t ni, ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_md_t md,
		ptl_unlink_t unlink_op, ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle, ptl_handle_eq_t eq);

/**
 * PtlEQAlloc - make an event queue (3.11.5)
 * @count: events it holds at least; rounded up to a power of two. 0 gives PTL_OK and PTL_EQ_NONE
 * @handler: PTL_EQ_HANDLER_NONE, or run once for each event in the thread that fetches it
 * Return: PTL_OK; PTL_NI_INVALID; PTL_NO_SPACE; PTL_SEGV.
 */
int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler, ptl_handle_eq_t *eq);

/** PtlEQFree - free a queue; descriptors that still name it log nothing from then on. PTL_EQ_INVALID. */
int PtlEQFree(ptl_handle_eq_t eq);

/**
 * PtlEQGet - fetch the next event, if there is one; makes progress (3.11.10)
 * Return: PTL_OK; PTL_EQ_EMPTY (@event untouched); PTL_EQ_DROPPED (an event, and earlier ones were lost);
 * PTL_EQ_INVALID; PTL_SEGV.
 */
int PtlEQGet(ptl_handle_eq_t eq, ptl_event_t *event);

/**
 * PtlEQWait - fetch the next event, wait for it: spins, yields, then sleeps (3.11.11)
 * Return: codes as PtlEQGet without PTL_EQ_EMPTY.
 */
int PtlEQWait(ptl_handle_eq_t eq, ptl_event_t *event);

/**
 * PtlEQPoll - fetch an event from any of several queues of one interface (3.11.12)
 * @timeout: milliseconds; 0 looks once; PTL_TIME_FOREVER
 * @which:   out, index of the queue that gave the event; on PTL_EQ_INVALID the index of the bad handle
 * Return: PTL_OK; PTL_EQ_EMPTY (time is up); PTL_EQ_DROPPED; PTL_EQ_INVALID (also @size below 1); PTL_SEGV.
 */
int PtlEQPoll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *event, int *which);

/** PtlEQPeek - as PtlEQGet, but the event stays in the queue (Cray extension). Codes as PtlEQGet. */
int PtlEQPeek(ptl_handle_eq_t eq, ptl_event_t *event);

/**
 * PtlACEntry - rewrite an access control entry (3.12.1)
 * Programs for 3.2 and the XT leave @jid out: with five arguments it is PTL_JID_ANY.
 * Return: PTL_OK; PTL_NI_INVALID; PTL_AC_INDEX_INVALID; PTL_PT_INDEX_INVALID.
 */
int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id, ptl_uid_t uid, ptl_jid_t jid,
	       ptl_pt_index_t pt_index);
static __inline__ int p3_acentry5(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id, ptl_uid_t uid,
				  ptl_pt_index_t pt_index)
{
	return PtlACEntry(ni, ac_index, match_id, uid, PTL_JID_ANY, pt_index);
}
#define P3_ACENTRY(a, b, c, d, e, f, g, name, ...) name	/* seven: six, one of them { nid, pid } */
#define PtlACEntry(...)	P3_ACENTRY(__VA_ARGS__, PtlACEntry, PtlACEntry, p3_acentry5, 0)(__VA_ARGS__)

/**
 * PtlPut, PtlPutRegion - send the bytes of an MD to a portal of another process (3.13.2, 3.13.3)
 * @ack_req: PTL_ACK_REQ: an ACK event is wanted, where the target's MD allows it
 * Return: PTL_OK (begun; the result is an event); PTL_MD_INVALID (bad, or threshold used up); PTL_PROCESS_INVALID
 * (wildcard in @target); PTL_MD_ILLEGAL (region outside the MD; more than PTL_INLINE_MAX_NP bytes to a polled portal);
 * PTL_NO_SPACE (nothing has happened; fetch events, call again: the target is a polled portal, PtlPTPolled_np, without
 * room; or 8 operations on memory that only the target can copy are under way to it, CAVEATS "user memory").
 * A put of up to PTL_INLINE_MAX_NP bytes is locally complete when the call returns: the buffer may be reused.
 */
int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack_req, ptl_process_id_t target, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);
int PtlPutRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
		 ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		 ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/**
 * PtlGet, PtlGetRegion - fetch bytes of another process into an MD (3.13.4, 3.13.5)
 * Return: codes as PtlPut; PTL_MD_ILLEGAL only for a region, PTL_NO_SPACE only for 8 operations under way.
 */
int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
	   ptl_match_bits_t match_bits, ptl_size_t remote_offset);
int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length, ptl_process_id_t target,
		 ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
		 ptl_size_t remote_offset);

/**
 * PtlGetPut - exchange the bytes of a descriptor with those of a portal of another process, in one step (3.13.6)
 * @get_md: receives what was there, from its first byte on (a REPLY); what does not fit is cut off
 * @put_md: all of its bytes are sent; at most limits.max_getput_md
 * The target's MD must have PTL_MD_OP_PUT and PTL_MD_OP_GET. Atomic with respect to other exchanges with that process,
 * not to its loads and stores, puts and gets. Both descriptors may be the same, which needs two units of its threshold.
 * Never blocks. Return: PTL_OK (begun); PTL_MD_INVALID (either); PTL_MD_ILLEGAL (too long, or not of one interface);
 * PTL_PROCESS_INVALID (wildcard in @target); PTL_NO_SPACE (eight operations that the target has to finish are under way
 * there: fetch events, call again).
 */
int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target, ptl_pt_index_t pt_index,
	      ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
	      ptl_hdr_data_t hdr_data);

/*
 * Calls that are not in 3.3 and that programs use.
 */

/**
 * PtlGetPutRegion - PtlGetPut of @length bytes at @put_offset of @put_md; the reply goes to @get_offset of @get_md
 * Codes as PtlGetPut; PTL_MD_ILLEGAL also for a region outside its descriptor. (XT)
 */
int PtlGetPutRegion(ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
		    ptl_size_t length, ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		    ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/** PtlMDMDCopy - PtlGet from a process of this node (XT). Codes as PtlGet; PTL_PROCESS_INVALID: another node, too. */
int PtlMDMDCopy(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/**
 * PtlMEMDAttach - PtlMEAttach and PtlMDAttach in one step: the entry is never seen without its descriptor (XT)
 * Arguments are theirs; on an error neither is left behind. @md_handle may be NULL.
 * Return: PTL_OK; PTL_NI_INVALID; PTL_PT_INDEX_INVALID; PTL_ME_LIST_TOO_LONG; PTL_MD_ILLEGAL; PTL_EQ_INVALID;
 * PTL_NO_SPACE; PTL_SEGV (@me_handle NULL).
 */
int PtlMEMDAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		  ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_md_t md,
		  ptl_unlink_t unlink_op, ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle);

/**
 * PtlMEMDInsert - PtlMEInsert and PtlMDAttach in one step; as PtlMEMDPost without a test queue (XT)
 * Return: PTL_OK; PTL_ME_INVALID (@base); PTL_ME_LIST_TOO_LONG; PTL_MD_ILLEGAL; PTL_EQ_INVALID; PTL_NO_SPACE; PTL_SEGV.
 */
int PtlMEMDInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		  ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_md_t md,
		  ptl_unlink_t unlink_op, ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle);

/*
 * Extensions of this library (_np).
 */
#define PTL_INLINE_MAX_NP	8192	/* bytes that a put has copied when it returns */

/**
 * PtlPTPolled_np - the owner of a portal table entry promises to poll its event queues
 * @on: 1: puts to @pt_index wait in the owner's inbox until it calls PtlEQGet, PtlEQWait or PtlEQPoll, and a full
 *      inbox makes PtlPut return PTL_NO_SPACE there; puts are at most PTL_INLINE_MAX_NP bytes (PTL_MD_ILLEGAL
 *      beyond). They also wait there while the entry's list is empty, or its MDs are used up.
 *      0: puts are completed by the initiator when the owner does not poll (application bypass; default)
 * Saves the initiator a fence and a remote look for each message. May be changed at any time; best before peers send
 * (e.g. before a barrier): a put that is under way meanwhile, and too long for the inbox or finding it full, fails
 * (SEND_END with PTL_NI_FAIL), and the call waits for copies that peers are making there.
 * Return: PTL_OK, PTL_NI_INVALID, PTL_PT_INDEX_INVALID.
 */
int PtlPTPolled_np(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, int on);

#ifdef __cplusplus
}
#endif
#endif
