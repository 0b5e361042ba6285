/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3api/api.h - the calls of Portals 3.3; included by <portals3.h>
 *
 * For all of them: objects belong to the process, handles may be used from any thread, each call is atomic with
 * respect to other threads and to incoming messages. Only PtlEQWait and PtlEQPoll block. None may be called from a
 * signal handler. Output arguments are written only on success, except where stated. Every call but PtlInit returns
 * PTL_NO_INIT before PtlInit, after PtlFini, and in the child of a fork().
 *
 * Manual pages are made from the comments that begin with two stars (portals/man/README.md says how).
 *
 * Return of all but PtlInit:
 *   PTL_OK: success
 *   PTL_NO_INIT: before PtlInit, after PtlFini, or in the child of a fork(2)
 */
#ifndef P3API_API_H
#define P3API_API_H

#include <p3api/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * PtlInit - initialise the library
 * @max_interfaces: out, number of interfaces that one process can open; NULL only on a repeated call
 *
 * Must have succeeded before any other call. May be called again, from any thread, and then has no effect. It reads
 * the settings (portals-knobs(7)) and the description of the job: from the launcher where there is one, otherwise
 * from the variables PTL_MY_RID, PTL_NIDMAP, PTL_PIDMAP and PTL_MY_JID, otherwise the process is a job of one. With
 * a launcher the first call is collective over all processes of the job, and one that has failed fails for good;
 * without one it may be called again.
 *
 * Return:
 *   PTL_OK: the library is ready
 *   PTL_FAIL: a setting is bad, or the description of the job is incomplete or contradicts itself: one sentence on
 *	standard error says which and what to do
 *   PTL_SEGV: @max_interfaces is NULL in the first call
 * Example:
 *	ptl_handle_ni_t ni;
 *	int n, rc;
 *
 *	if (PtlInit(&n) != PTL_OK)
 *		return 1;
 *	rc = PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
 *	if (rc != PTL_OK) {
 *		fprintf(stderr, "PtlNIInit: %s\n", PtlErrorStr(rc));
 *		return 1;
 *	}
 *	...
 *	PtlNIFini(ni);
 *	PtlFini();
 * Source: Portals 3.3, section 3.4. That a repeated call fills @max_interfaces is our choice.
 * See: PtlGetRank
 */
int PtlInit(int *max_interfaces);

/**
 * PtlFini - close every interface and the library
 *
 * Closes every interface that is still open, whatever the number of PtlNIInit calls, and ends the library. It is no
 * error to call it without PtlInit, which may be called again afterwards. Blocks until the copies of the other
 * processes of this node have ended, as PtlNIFini does.
 *
 * It is no error to exit without calling it: a process that exits with status 0 has left the job, and what the
 * others send to it fails from then on. One that exits with another status and has not called it has failed: it
 * says so, and the launcher ends the job with that status. An MPI program that exits before MPI_Finalize ends its
 * job with any status. What the process has printed is written out first, unless another thread holds the lock of a
 * stream for more than a second.
 *
 * In the child of a fork(2) the library counts as not initialised: the interfaces are the parent's.
 *
 * Source: Portals 3.3, section 3.4.
 */
void PtlFini(void);

/**
 * PtlNIInit - open a network interface
 * @interface: PTL_IFACE_DEFAULT. The numbers of the reference implementation's and the XT's interfaces
 *	(ptl_interface_t) are names of the same
 * @pid: PTL_PID_ANY: the one that the runtime has assigned (PtlGetRankId); otherwise the Portals process id wanted,
 *	0 to 0x3fffff (4194303), unused on this node
 * @desired: NULL, or the limits wanted: a smaller value than the library's own is honoured, a larger one cut down
 * @actual: out, limits in force (ptl_ni_limits_t); NULL allowed
 * @ni: out, handle
 *
 * The portal table of a new interface is empty, every status register is 0, and the access control table admits the
 * processes of the same user (PtlACEntry). All its memory comes from pools of the sizes in @actual, made here; no
 * other call allocates for the objects of Portals. The pools take memory as they are used. The slots of all event
 * queues and the copies of all iovecs share 64 MiB.
 *
 * The first call joins the processes of the job on this node and is collective over them: it blocks until all of
 * them have called it, or PTL_INIT_TIMEOUT_S seconds have passed, which is an error. In a job of several nodes it
 * is collective over all of them. A repeated call ignores @interface, @pid and @desired, returns the interface that
 * is open, and is counted.
 *
 * After a failure it may be called again: by all ranks of the node after PTL_NO_SPACE and PTL_FAIL, which all of
 * them get; after PTL_PID_INVALID by the refused one alone, with another pid. That one still belongs to the job
 * until it gives up with PtlFini: the others' PtlNIFini waits for that.
 *
 * Return:
 *   PTL_IFACE_INVALID: @interface is not known
 *   PTL_PID_INVALID: @pid is out of range, or another process on this node has it
 *   PTL_NO_SPACE: no memory or no address space for the interface; a sentence on standard error says how much was
 *	asked
 *   PTL_FAIL: the job could not be joined: a process did not come, or died, or belongs to another user; a sentence
 *	on standard error
 *   PTL_SEGV: @ni is NULL
 *   PTL_IFACE_DUP: only to programs for the XT: it was open already; the handle is good
 * XT: a second call returns PTL_IFACE_DUP, with a good handle. A @pid of 0xffff is PTL_PID_ANY.
 * Source: Portals 3.3, section 3.5. Counting the calls is our choice.
 * See: PtlGetId, PtlNIStatus
 */
int PtlNIInit(ptl_interface_t interface, ptl_pid_t pid, ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
	      ptl_handle_ni_t *ni);

/**
 * PtlNIFini - close a network interface
 * @ni: handle of an open interface
 *
 * Undoes one PtlNIInit. The last one closes the interface and everything that belongs to it; all its handles are
 * invalid then. It blocks until every other process of the job on this node has closed its interface or has ended,
 * since they may be copying out of, or into, this one's memory: let all ranks call it. Threads of this process that
 * wait in PtlEQWait or PtlEQPoll get PTL_EQ_INVALID; none may be in, or begin, any other call. What is under way to and
 * from other nodes is waited for, ten seconds at most. Outgoing operations that had completed locally are not lost.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 * Source: Portals 3.3, section 3.5.
 */
int PtlNIFini(ptl_handle_ni_t ni);

/**
 * PtlNIStatus - read a status register of an interface
 * @ni: handle of an open interface
 * @index: register, PTL_SR_DROP_COUNT for instance; all of them are listed under ptl_sr_index_t
 * @status: out, its value
 *
 * Registers start at 0, count up and cannot be reset. Those that say how much of a pool is in use are read off the
 * pools when asked for, which takes microseconds.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_SR_INDEX_INVALID: there is no such register
 *   PTL_SEGV: @status is NULL
 * Source: Portals 3.3, sections 3.2.7 and 3.5. Only PTL_SR_DROP_COUNT and PTL_SR_DROP_LENGTH are of wider use.
 * See: ptl_info(1)
 */
int PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t index, ptl_sr_value_t *status);

/**
 * PtlNIDist - distance to a process
 * @ni: handle of an open interface
 * @process: node and process id
 * @distance: out: 0 this process, 1 another one of this node, more elsewhere
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_PROCESS_INVALID: nobody can be reached there; @distance is written all the same: ULONG_MAX
 *   PTL_SEGV: @distance is NULL
 * Source: Portals 3.3, section 3.5.
 */
int PtlNIDist(ptl_handle_ni_t ni, ptl_process_id_t process, unsigned long *distance);

/**
 * PtlNIHandle - the interface to which any object belongs
 * @handle: of an interface, match entry, memory descriptor or event queue
 * @ni: out, handle of its interface
 *
 * Looks at the interface part of the handle only, not whether the object still exists.
 *
 * Return:
 *   PTL_HANDLE_INVALID: not a handle of an open interface
 *   PTL_SEGV: @ni is NULL
 * Source: Portals 3.3, sections 3.2.2 and 3.5.
 * See: PtlHandleIsEqual, PtlNIInit
 */
int PtlNIHandle(ptl_handle_any_t handle, ptl_handle_ni_t *ni);

/**
 * PtlGetUid, PtlGetId, PtlGetJid - who this process is on an interface
 * @ni: handle of an open interface
 * @uid: out, the effective user id
 * @id: out, node and process id by which others name this process: as target of PtlPut, and as initiator in their
 *	events
 * @jid: out, the id of the job, which all its processes share and which is never 0 (PTL_JID_NONE)
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_SEGV: the output is NULL
 * Source: Portals 3.3, sections 3.6 to 3.8.
 * See: PtlGetRank, PtlNIInit
 */
int PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid);
int PtlGetId(ptl_handle_ni_t ni, ptl_process_id_t *id);
int PtlGetJid(ptl_handle_ni_t ni, ptl_jid_t *jid);

/**
 * PtlHandleIsEqual - do two handles name the same object?
 * @a: a handle, or PTL_INVALID_HANDLE
 * @b: another
 *
 * Note that equality is PTL_OK, which is 0: the result is no truth value. Handles are integers, and comparing them
 * with == does the same.
 *
 * Return:
 *   PTL_OK: they are equal
 *   PTL_FAIL: they are not
 * Source: Portals 3.3, section 3.14.1.
 * See: PtlNIHandle
 */
int PtlHandleIsEqual(ptl_handle_any_t a, ptl_handle_any_t b);

/**
 * PtlMEAttach - add a match entry to one end of a match list
 * @ni: handle of an open interface
 * @pt_index: entry of the portal table, 0 to limits.max_pt_index (127)
 * @match_id: who may match: node and process id, each exact or a wildcard (PTL_NID_ANY, PTL_PID_ANY)
 * @match_bits: a request with bits m passes when ((m ^ match_bits) & ~ignore_bits) == 0
 * @ignore_bits: a 1 leaves that bit out of the comparison
 * @unlink: PTL_UNLINK: the entry goes when its descriptor goes, by itself or by PtlMDUnlink; PTL_RETAIN: it stays,
 *	and takes another descriptor
 * @pos: PTL_INS_BEFORE: head of the list; PTL_INS_AFTER: tail
 * @me: out, handle
 *
 * A match entry (ME) stands in the match list of one portal table entry and says which requests its memory
 * descriptor (MD) may take. A new one has no MD and matches nothing until PtlMDAttach gives it one. Blocks no longer
 * than a peer holds the entry's lock: for a moment, unless that peer is stopped just then.
 *
 * A request walks the list from the head. The first ME passes that matches source and bits, has an active MD, whose
 * MD allows the operation, and into whose MD the request fits; a test that fails means "the next one". A request
 * that no ME takes is dropped and counted (PtlNIStatus); its initiator is not told. This call, and each that
 * changes a list, is one step for incoming requests: they see the list before or after it.
 *
 * A request that has looked at more than PTL_INDEX_FROM entries gives the list an index, so that its length costs
 * nothing from then on where entries compare the same bits; the order is the list's.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_PT_INDEX_INVALID: @pt_index is beyond limits.max_pt_index
 *   PTL_ME_LIST_TOO_LONG: the list has limits.max_me_list entries
 *   PTL_NO_SPACE: limits.max_mes entries exist: unlink one and call again
 *   PTL_SEGV: @me is NULL
 * XT: 0xffff in @match_id is PTL_PID_ANY.
 * Source: Portals 3.3, section 3.9.2. PTL_PROCESS_INVALID is never returned: any @match_id may come to exist.
 * See: PtlMDAttach, PtlMEMDPost
 */
int PtlMEAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id,
		ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos,
		ptl_handle_me_t *me);

/**
 * PtlMEAttachAny - add a match entry to a portal table entry whose list is empty
 * @pt_index: out, the index; looked for from 111 downwards. Those from 112 on belong to the libraries of this
 *	project (PTL_PT_RESERVED_FIRST_NP) and are never chosen
 * Arguments: PtlMEAttach
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_PT_FULL: no list is empty
 *   PTL_NO_SPACE: limits.max_mes entries exist: unlink one and call again
 *   PTL_SEGV: @pt_index or @me is NULL
 * XT: 0xffff in @match_id is PTL_PID_ANY.
 * Source: Portals 3.3, section 3.9.3.
 */
int PtlMEAttachAny(ptl_handle_ni_t ni, ptl_pt_index_t *pt_index, ptl_process_id_t match_id,
		   ptl_match_bits_t match_bits, ptl_match_bits_t ignore_bits, ptl_unlink_t unlink,
		   ptl_handle_me_t *me);

/**
 * PtlMEInsert - add a match entry beside another
 * @base: an entry of any list, which the new one joins
 * @pos: PTL_INS_BEFORE: directly before @base; PTL_INS_AFTER: directly after it
 * Arguments: PtlMEAttach
 *
 * Return:
 *   PTL_ME_INVALID: @base does not exist; it may have unlinked itself
 *   PTL_ME_LIST_TOO_LONG: the list has limits.max_me_list entries
 *   PTL_NO_SPACE: limits.max_mes entries exist: unlink one and call again
 *   PTL_SEGV: @me is NULL
 * XT: 0xffff in @match_id is PTL_PID_ANY.
 * Source: Portals 3.3, section 3.9.4.
 */
int PtlMEInsert(ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_handle_me_t *me);

/**
 * PtlMEUnlink - remove a match entry and its memory descriptor
 * @me: handle of the entry
 *
 * The descriptor goes, too, if there is one, whatever its own unlink rule. There is no event.
 *
 * Return:
 *   PTL_ME_INVALID: @me does not exist; it may have unlinked itself
 *   PTL_ME_IN_USE: operations on its descriptor are in progress: fetch events and call again
 * XT: an UNLINK event is logged where the descriptor has PTL_MD_EVENT_MANUAL_UNLINK_ENABLE.
 * Source: Portals 3.3, section 3.9.5.
 * See: PtlMDUnlink, PtlMEAttach
 */
int PtlMEUnlink(ptl_handle_me_t me);

/**
 * PtlMDAttach - make a memory descriptor and hang it on a match entry
 * @me: an entry that has no descriptor
 * @md: region, operations, threshold, queue (ptl_md_t). It is copied, with its iovec: both may be changed after the
 *	call
 * @unlink_op: PTL_UNLINK: the descriptor unlinks itself when operations have used it up and the last of them has
 *	ended; the event PTL_EVENT_UNLINK is its last. PTL_RETAIN: it stays, inactive
 * @handle: out, handle; may be NULL
 *
 * A memory descriptor (MD) is a region of memory with the rules for using it. One on a match entry is reached by
 * requests of others; it may be used for own operations, too. A region of any length, the whole process included,
 * may be given: it is not touched before an operation does. Blocks no longer than a peer holds the entry's lock: for a
 * moment, unless that peer is stopped just then.
 *
 * Return:
 *   PTL_ME_INVALID: @me does not exist; it may have unlinked itself
 *   PTL_ME_IN_USE: @me has a descriptor already
 *   PTL_MD_ILLEGAL: the region wraps around the end of the address space; a NULL buffer of less than 4096 bytes but
 *	not 0; more than limits.max_md_iovecs entries, or entries whose sum overflows; an option that does not
 *	exist; a queue of another interface
 *   PTL_EQ_INVALID: @md.eq_handle is no queue
 *   PTL_NO_SPACE: limits.max_mds descriptors exist, or unread events still name as many: fetch events and call
 *	again; or no room for the iovec
 * XT: an UNLINK event is logged only where PTL_MD_EVENT_AUTO_UNLINK_ENABLE is set.
 * Source: Portals 3.3, section 3.10.3.
 * See: PtlEQAlloc, PtlMDUpdate, PtlMEAttach, PtlMEMDPost, PtlPut
 */
int PtlMDAttach(ptl_handle_me_t me, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *handle);

/**
 * PtlMDBind - make a free-floating memory descriptor
 * @ni: handle of an open interface
 * @handle: out, handle
 * Arguments: PtlMDAttach
 *
 * It hangs on no match entry: the source of own puts, the destination of own gets.
 *
 * Return: as PtlMDAttach without PTL_ME_INVALID, PTL_ME_IN_USE, and
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_SEGV: @handle is NULL
 * XT: an UNLINK event is logged only where PTL_MD_EVENT_AUTO_UNLINK_ENABLE is set.
 * Source: Portals 3.3, section 3.10.4.
 * See: PtlGet, PtlMDUnlink, PtlPut
 */
int PtlMDBind(ptl_handle_ni_t ni, ptl_md_t md, ptl_unlink_t unlink_op, ptl_handle_md_t *handle);

/**
 * PtlMDUnlink - remove a memory descriptor
 * @md: handle of the descriptor, free-floating or not
 *
 * Its match entry goes, too, if that was made with PTL_UNLINK. There is no event. The memory is the caller's again.
 * An acknowledgement or a reply that is still to come is dropped and counted.
 *
 * Return:
 *   PTL_MD_INVALID: @md does not exist; the usual answer after it has unlinked itself
 *   PTL_MD_IN_USE: operations are in progress: fetch events and call again
 * XT: an UNLINK event is logged where the descriptor has PTL_MD_EVENT_MANUAL_UNLINK_ENABLE.
 * Source: Portals 3.3, section 3.10.5.
 * See: PtlMDAttach, PtlMEUnlink
 */
int PtlMDUnlink(ptl_handle_md_t md);

/**
 * PtlMDUpdate - read, and replace if a queue is empty, a memory descriptor
 * @md: handle of the descriptor
 * @old_md: NULL, or out: values now; also filled on PTL_MD_NO_UPDATE. For an iovec back: PTL_MD_IOVEC in its
 *	options, a buffer as its start, and the number of entries that fit as its length
 * @new_md: NULL (read only), or the new values
 * @eq: the test queue. PTL_EQ_NONE: the update is always made. Else only when that queue holds no event, none has
 *	been promised to it by an operation that has matched but not ended, and no operation on this descriptor is
 *	in progress. It need not be the queue of the descriptor
 *
 * Both are done in one step, with respect to incoming requests and to other threads. This is the one means against
 * a race with the network: look through the queue of unexpected messages; then activate the receive under the
 * condition that nothing has come meanwhile. After a refusal an event will be readable; fetch it and try again.
 * Blocks no longer than a peer holds the entry's lock: for a moment, unless that peer is stopped just then.
 *
 * An update replaces all members of ptl_md_t and returns the local offset to 0. A threshold other than 0 makes an
 * inactive descriptor active; 0 makes it inactive without unlinking it. Operations in progress go on with the
 * region that they began with. An event shows the descriptor as it was when its operation was charged, also when it
 * is read after an update, or comes after it. The unlink rule stays.
 *
 * Return:
 *   PTL_MD_INVALID: @md does not exist
 *   PTL_EQ_INVALID: @eq or @new_md->eq_handle is no queue
 *   PTL_MD_ILLEGAL: the new values are not acceptable (PtlMDAttach)
 *   PTL_MD_NO_UPDATE: the queue is not empty; nothing has changed
 *   PTL_NO_SPACE: no room for the copy of the new iovec, or no free descriptor for the old values, which are kept
 *	until the events that show them have been read; nothing has changed
 * Source: Portals 3.3, section 3.10.6.
 * See: PtlMEMDPost
 */
int PtlMDUpdate(ptl_handle_md_t md, ptl_md_t *old_md, ptl_md_t *new_md, ptl_handle_eq_t eq);

/**
 * PtlMEMDPost - insert a match entry with its descriptor if a queue is empty
 * @ni: handle of the interface of @base
 * @unlink: the rule of the entry: PTL_UNLINK: it goes when its descriptor goes; PTL_RETAIN: it stays
 * @me_handle: out, handle of the entry
 * @md_handle: out, handle of the descriptor; may be NULL
 * Arguments: PtlMEInsert, PtlMDAttach, PtlMDUpdate
 *
 * Does in one step what PtlMEInsert before or after @base, PtlMDAttach and a conditional PtlMDUpdate would do in
 * three: posts a receive, unless the queue @eq holds an event or has been promised one. No message ever sees the
 * entry without its descriptor, and when the call fails neither is left behind.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_ME_INVALID: @base does not exist in it; it may have unlinked itself
 *   PTL_EQ_INVALID: @eq or @md.eq_handle is no queue
 *   PTL_MD_ILLEGAL: @md is not acceptable (PtlMDAttach)
 *   PTL_MD_NO_UPDATE: the queue is not empty
 *   PTL_ME_LIST_TOO_LONG: the list has limits.max_me_list entries
 *   PTL_NO_SPACE: limits.max_mes entries or limits.max_mds descriptors exist, or unread events still name as many;
 *	or no room for the iovec
 *   PTL_SEGV: @me_handle is NULL
 * Source: Not in Portals 3.3; an extension of Cray's.
 */
int PtlMEMDPost(ptl_handle_ni_t ni, ptl_handle_me_t base, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_md_t md,
		ptl_unlink_t unlink_op, ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle, ptl_handle_eq_t eq);

/**
 * PtlEQAlloc - make an event queue
 * @ni: handle of an open interface
 * @count: events it holds at least; rounded up to a power of two, 4 at least: as many as one operation may log. 0
 *	gives PTL_OK and PTL_EQ_NONE
 * @handler: PTL_EQ_HANDLER_NONE, or a function that is run once for each event, in the thread that fetches the
 *	event, before PtlEQGet, PtlEQWait or PtlEQPoll returns. The events must still be fetched. It must not call
 *	those three
 * @eq: out, handle
 *
 * Any number of memory descriptors may use one queue. It is a ring: when it is not read in time, newer events
 * overwrite older ones, and PtlEQGet says so. A full queue never makes a message be refused, with one exception:
 * PtlPTPolled_np.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_NO_SPACE: limits.max_eqs queues exist, or the 64 MiB for all queues of the interface (64 bytes for each
 *	event) are used up; a queue that was freed counts as long as an operation may be about to log to it
 *   PTL_SEGV: @eq is NULL
 * Source: Portals 3.3, sections 3.11.5 to 3.11.7.
 * See: PtlEQFree, PtlEQGet, PtlMDAttach
 */
int PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_eq_handler_t handler, ptl_handle_eq_t *eq);

/**
 * PtlEQFree - free an event queue
 * @eq: handle
 *
 * The events in it are lost. A thread that waits for one gets PTL_EQ_INVALID. Memory descriptors that still name it
 * live on and log nothing from then on. Its place is used again for queues and vectors, as soon as no operation is
 * under way to one of these.
 *
 * Return:
 *   PTL_EQ_INVALID: @eq is not a queue
 * Source: Portals 3.3, section 3.11.9.
 * See: PtlEQAlloc
 */
int PtlEQFree(ptl_handle_eq_t eq);

/**
 * PtlEQGet - fetch the next event, if there is one
 * @eq: the queue
 * @event: out (ptl_event_t)
 *
 * When the queue is empty this call, as the others that fetch, looks at what others have left for this process, and
 * completes it: small messages in its inbox and copies that only it can make. Operations that others have completed
 * in this process's memory need no call. Never blocks.
 *
 * Return:
 *   PTL_OK: an event
 *   PTL_EQ_EMPTY: there is none; @event is as it was
 *   PTL_EQ_DROPPED: an event, the oldest that survives; earlier ones were lost because the queue was too small
 *   PTL_EQ_INVALID: @eq is not a queue
 *   PTL_SEGV: @event is NULL
 * Source: Portals 3.3, section 3.11.10.
 * See: PtlEQAlloc, PtlEQPeek, PtlEQPoll, PtlEQWait, PtlEventKindStr, PtlPTPolled_np
 */
int PtlEQGet(ptl_handle_eq_t eq, ptl_event_t *event);

/**
 * PtlEQWait - wait for the next event and fetch it
 * Arguments: PtlEQGet
 *
 * Blocks until there is one: spins (PTL_SPIN), then yields the processor (PTL_YIELD), then sleeps. When another thread
 * frees the queue meanwhile (PtlEQFree), or closes the interface (PtlNIFini), it returns PTL_EQ_INVALID.
 *
 * Return: as PtlEQGet without PTL_EQ_EMPTY
 * Source: Portals 3.3, section 3.11.11.
 */
int PtlEQWait(ptl_handle_eq_t eq, ptl_event_t *event);

/**
 * PtlEQPoll - fetch an event from any of several queues of one interface
 * @eqs: the queues
 * @size: how many, at least 1
 * @timeout: milliseconds; 0 looks once; PTL_TIME_FOREVER has no limit
 * @event: out (ptl_event_t)
 * @which: out, index of the queue that gave the event; on PTL_EQ_INVALID the index of the bad handle
 *
 * Blocks for @timeout at most: spins (PTL_SPIN), yields (PTL_YIELD), then sleeps; a call that goes on at once with a
 * wait that has slept sleeps after one look. The search starts at another queue each time, so that a busy one does not
 * starve the others.
 *
 * Return:
 *   PTL_OK: an event
 *   PTL_EQ_EMPTY: time is up; @event is as it was
 *   PTL_EQ_DROPPED: an event, the oldest that survives; earlier ones were lost because the queue was too small
 *   PTL_EQ_INVALID: not a queue, or none any more, since another thread has freed it meanwhile or closes the
 *	interface; @size is below 1; the queues are of different interfaces
 *   PTL_SEGV: an argument is NULL
 * Source: Portals 3.3, section 3.11.12.
 * See: PtlEQGet
 */
int PtlEQPoll(ptl_handle_eq_t *eqs, int size, ptl_time_t timeout, ptl_event_t *event, int *which);

/**
 * PtlEQPeek - look at the next event and leave it in the queue
 * Arguments: PtlEQGet
 *
 * As PtlEQGet otherwise.
 *
 * Return: as PtlEQGet
 * Source: Not in Portals 3.3; an extension of Cray's.
 */
int PtlEQPeek(ptl_handle_eq_t eq, ptl_event_t *event);

/**
 * PtlACEntry - rewrite an access control entry
 * @ni: handle of an open interface
 * @ac_index: entry, 0 to limits.max_ac_index (7)
 * @match_id: who is admitted; PTL_NID_ANY and PTL_PID_ANY are wildcards
 * @uid: user that is admitted, or PTL_UID_ANY
 * @jid: job that is admitted, or PTL_JID_ANY. May be left out, as in programs for Portals 3.2 and the XT: with five
 *	arguments it is PTL_JID_ANY
 * @pt_index: portal that is open to them, or PTL_PT_INDEX_ANY
 *
 * Each request names an entry of the target's access control table (its ac_index). It is dropped and counted unless
 * that entry admits its initiator, user, job and portal index. When an interface is opened all entries admit every
 * process of the same user to every portal.
 *
 * On the node the initiator itself looks at the table: it keeps order among the ranks of a job, which trust each
 * other. What keeps others out is that they cannot attach. Change entries before peers send, since the change of a
 * whole entry is not one step.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_AC_INDEX_INVALID: @ac_index is beyond limits.max_ac_index
 *   PTL_PT_INDEX_INVALID: @pt_index is beyond limits.max_pt_index
 * XT: programs leave @jid out. 0xffff in @match_id is PTL_PID_ANY.
 * Source: Portals 3.3, section 3.12.1.
 * See: PtlNIStatus, PtlPut
 */
int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id, ptl_uid_t uid, ptl_jid_t jid,
	       ptl_pt_index_t pt_index);
#ifdef __cplusplus
extern "C++" {
static __inline__ int PtlACEntry(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id, ptl_uid_t uid,
				 ptl_pt_index_t pt_index)
{
	return PtlACEntry(ni, ac_index, match_id, uid, PTL_JID_ANY, pt_index);
}
}
#else
static __inline__ int p3_acentry5(ptl_handle_ni_t ni, ptl_ac_index_t ac_index, ptl_process_id_t match_id, ptl_uid_t uid,
				  ptl_pt_index_t pt_index)
{
	return PtlACEntry(ni, ac_index, match_id, uid, PTL_JID_ANY, pt_index);
}
#define P3_ACENTRY5	p3_acentry5
#define P3_ACENTRY6	PtlACEntry
#include <p3api/acentry.h>
#endif

/**
 * PtlPut, PtlPutRegion - send bytes to a portal of another process
 * @md: descriptor whose bytes are sent: PtlPut sends all, PtlPutRegion those from @local_offset on
 * @local_offset: first byte, counted from the descriptor's
 * @length: number of bytes
 * @ack_req: PTL_ACK_REQ: an ACK event is wanted, which the target's descriptor may refuse; PTL_NO_ACK_REQ
 * @target: a process; no wildcards. The own process is a target as any other
 * @pt_index: entry of the target's portal table. A bad one is found out at the target: the message is dropped there
 * @ac_index: entry of the target's access control table; a bad one likewise
 * @match_bits: selects the match entry (PtlMEAttach)
 * @remote_offset: place in the target's descriptor, if that is PTL_MD_MANAGE_REMOTE
 * @hdr_data: 64 bits that come in the target's event
 *
 * The call begins the operation and does not block; events on the queue of @md tell its result: SEND_START,
 * SEND_END when the buffer may be reused, and ACK. A put of up to PTL_INLINE_MAX_NP (8192) bytes has ended locally
 * when the call returns, events or not: its buffer may be reused. PTL_OK does not mean that anybody accepted the
 * data. If the target does not exist, or has closed its interface, SEND_END carries PTL_NI_FAIL. If it ends, on
 * another node, before it has acknowledged a put whose SEND_END has come, the ACK comes with PTL_NI_DIED_NP and a
 * length of 0: nobody knows whether it had the data, or would have acknowledged them.
 *
 * Two operations of one process to the same target are matched there in the order of the calls. They may end in
 * another order. Each send, and each ACK, costs @md one unit of its threshold.
 *
 * Return:
 *   PTL_OK: begun; the result is an event
 *   PTL_MD_INVALID: @md does not exist, or is inactive: its threshold is used up
 *   PTL_MD_ILLEGAL: the bytes are not inside the descriptor; or more than PTL_INLINE_MAX_NP bytes for a polled
 *	portal (PtlPTPolled_np)
 *   PTL_PROCESS_INVALID: @target has a wildcard
 *   PTL_NO_SPACE: a polled portal has no room, 8 operations on memory that only the target can copy are under way
 *	to it, or thousands to another node have not been taken there: fetch events and call again. Nothing has been
 *	charged, and no event logged
 * XT: the other value of @ack_req is spelt PTL_NOACK_REQ; both names exist everywhere. rlength of the ACK is its
 * mlength.
 * Source: Portals 3.3, sections 3.13.2 and 3.13.3. PTL_NO_SPACE is an extension.
 * See: PtlEQGet, PtlGet, PtlMDBind
 */
int PtlPut(ptl_handle_md_t md, ptl_ack_req_t ack_req, ptl_process_id_t target, ptl_pt_index_t pt_index,
	   ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);
int PtlPutRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
		 ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		 ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/**
 * PtlGet, PtlGetRegion - fetch bytes from a portal of another process
 * @md: descriptor that takes them. PtlGet asks for as many bytes as it holds and writes them to its beginning;
 *	PtlGetRegion asks for @length bytes and writes them at @local_offset
 * Arguments: PtlPutRegion
 *
 * Does not block. The request makes no event at the initiator and costs no threshold; the reply makes REPLY_START
 * and REPLY_END and costs one unit. REPLY_END has the match bits of the request, and an mlength shorter than
 * rlength when the target had less to give. The target logs GET_START and GET_END.
 *
 * A request that the target drops is never answered, and neither is one to a process that does not exist: there is
 * no time limit. A polled portal (PtlPTPolled_np) takes no gets: they are dropped and counted.
 *
 * Return:
 *   PTL_OK: begun; the result is an event
 *   PTL_MD_INVALID: @md does not exist, or is inactive: its threshold is used up
 *   PTL_MD_ILLEGAL: PtlGetRegion: the bytes are not inside the descriptor
 *   PTL_PROCESS_INVALID: @target has a wildcard
 *   PTL_NO_SPACE: 8 operations on memory that only the target can copy are under way to it, or thousands to another
 *	node have not been taken there: fetch events and call again
 * XT: the request makes SEND_START and SEND_END and costs a unit, too.
 * Source: Portals 3.3, sections 3.13.4 and 3.13.5. PTL_NO_SPACE is an extension.
 * See: PtlEQGet, PtlMDBind, PtlPut
 */
int PtlGet(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
	   ptl_match_bits_t match_bits, ptl_size_t remote_offset);
int PtlGetRegion(ptl_handle_md_t md, ptl_size_t local_offset, ptl_size_t length, ptl_process_id_t target,
		 ptl_pt_index_t pt_index, ptl_ac_index_t ac_index, ptl_match_bits_t match_bits,
		 ptl_size_t remote_offset);

/**
 * PtlGetPut - exchange bytes with a portal of another process in one step
 * @get_md: receives what was there, from its first byte on (a REPLY); what does not fit is cut off
 * @put_md: all of its bytes are sent; at most limits.max_getput_md (64), 8 are enough for a lock or a counter
 * Arguments: PtlPut
 *
 * The target stores the bytes where they match, and what stood there comes back. The exchange is one step for other
 * exchanges with that process, whatever descriptors they match: not for its own loads and stores, nor for puts and
 * gets. Aligned words change whole. The call begins it and does not block.
 *
 * The descriptor that matches must have both PTL_MD_OP_PUT and PTL_MD_OP_GET. With PTL_MD_TRUNCATE fewer bytes
 * move, both ways. Without PTL_MD_MANAGE_REMOTE each exchange advances its offset.
 *
 * Events: SEND_START and SEND_END at @put_md, REPLY_START and REPLY_END at @get_md, one unit of the threshold each;
 * both may be the same descriptor, which then needs two. GETPUT_START and GETPUT_END, with @hdr_data, at the
 * target. There is no acknowledgement. A request that the target drops is never answered.
 *
 * Return:
 *   PTL_OK: begun; the result is an event
 *   PTL_MD_INVALID: @get_md or @put_md does not exist, or is used up
 *   PTL_MD_ILLEGAL: more than limits.max_getput_md bytes; a region outside its descriptor; descriptors of two
 *	interfaces
 *   PTL_PROCESS_INVALID: a wildcard in @target
 *   PTL_NO_SPACE: eight operations that the target has to finish itself are under way there, or thousands to another
 *	node have not been taken: fetch events and call again
 * Source: Portals 3.3, section 3.13.6.
 * See: PtlGet, PtlPut
 */
int PtlGetPut(ptl_handle_md_t get_md, ptl_handle_md_t put_md, ptl_process_id_t target, ptl_pt_index_t pt_index,
	      ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
	      ptl_hdr_data_t hdr_data);

/*
 * Calls that are not in 3.3 and that programs use.
 */

/**
 * PtlGetPutRegion - exchange a part of a descriptor with a portal of another process in one step
 * @get_md: receives what was there, from @get_offset on; what does not fit is cut off
 * @get_offset: first byte of the reply, counted from the descriptor's
 * @put_md: its bytes from @put_offset on are sent
 * @put_offset: first byte that is sent
 * @length: number of bytes; at most limits.max_getput_md (64)
 * Arguments: PtlPut
 *
 * As PtlGetPut otherwise.
 *
 * Return: as PtlGetPut
 * Source: Not in Portals 3.3; an extension of the XT.
 */
int PtlGetPutRegion(ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
		    ptl_size_t length, ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		    ptl_match_bits_t match_bits, ptl_size_t remote_offset, ptl_hdr_data_t hdr_data);

/**
 * PtlMDMDCopy - fetch bytes from a portal of another process of this node
 * @md: descriptor that takes them, from its beginning on
 * Arguments: PtlPut
 *
 * PtlGet, but refused where @target is on another node.
 *
 * Return: as PtlGet without PTL_PROCESS_INVALID, PTL_MD_ILLEGAL, and
 *   PTL_PROCESS_INVALID: @target has a wildcard, or is on another node
 * Source: Not in Portals 3.3; an extension of the XT.
 */
int PtlMDMDCopy(ptl_handle_md_t md, ptl_process_id_t target, ptl_pt_index_t pt_index, ptl_ac_index_t ac_index,
		ptl_match_bits_t match_bits, ptl_size_t remote_offset);

/**
 * PtlMEMDAttach - add a match entry with its descriptor to one end of a match list
 * @unlink: the rule of the entry: PTL_UNLINK: it goes when its descriptor goes; PTL_RETAIN: it stays
 * @me_handle: out, handle of the entry
 * @md_handle: out, handle of the descriptor; may be NULL
 * Arguments: PtlMEAttach, PtlMDAttach
 *
 * PtlMEAttach and PtlMDAttach in one step: no message ever sees the entry without its descriptor, and when the call
 * fails neither is left behind.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_PT_INDEX_INVALID: @pt_index is beyond limits.max_pt_index
 *   PTL_MD_ILLEGAL: @md is not acceptable (PtlMDAttach)
 *   PTL_EQ_INVALID: @md.eq_handle is no queue
 *   PTL_ME_LIST_TOO_LONG: the list has limits.max_me_list entries
 *   PTL_NO_SPACE: limits.max_mes entries or limits.max_mds descriptors exist, or unread events still name as many;
 *	or no room for the iovec
 *   PTL_SEGV: @me_handle is NULL
 * Source: Not in Portals 3.3; an extension of the XT.
 * See: PtlMEMDPost
 */
int PtlMEMDAttach(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, ptl_process_id_t match_id, ptl_match_bits_t match_bits,
		  ptl_match_bits_t ignore_bits, ptl_unlink_t unlink, ptl_ins_pos_t pos, ptl_md_t md,
		  ptl_unlink_t unlink_op, ptl_handle_me_t *me_handle, ptl_handle_md_t *md_handle);

/**
 * PtlMEMDInsert - add a match entry with its descriptor beside another entry
 * Arguments: PtlMEInsert, PtlMEMDAttach, PtlMDAttach
 *
 * PtlMEInsert and PtlMDAttach in one step; as PtlMEMDPost without a test queue.
 *
 * Return: as PtlMEMDAttach without PTL_NI_INVALID, PTL_PT_INDEX_INVALID, and
 *   PTL_ME_INVALID: @base does not exist; it may have unlinked itself
 * Source: Not in Portals 3.3; an extension of the XT.
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
 * @ni: handle of an open interface
 * @pt_index: the portal
 * @on: 1: puts to it wait in the owner's inbox until it calls PtlEQGet, PtlEQWait or PtlEQPoll. 0, the default:
 *	initiators complete puts themselves when the owner does not poll (application bypass)
 *
 * Saves initiators a fence and a look at the target's state for each message; a message of up to 56 bytes with its
 * optional fields is one cache line. What is given up:
 *
 * - application bypass: while the owner makes no call, its messages wait, also while the entry's list is empty or
 *   its descriptors are used up;
 * - puts are at most PTL_INLINE_MAX_NP (8192) bytes, else PTL_MD_ILLEGAL;
 * - a full inbox makes PtlPut return PTL_NO_SPACE, and so does, in the end, a full event queue: for a polled portal
 *   events are never overwritten;
 * - gets are dropped and counted;
 * - order between portals: a put to a polled one waits for the owner, and what its sender puts to, or gets from, an
 *   ordinary one on the same node afterwards goes past it. Among polled ones, and among ordinary ones, order is kept.
 *
 * May be changed at any time, best before peers send, for instance before a barrier: a put that is under way
 * meanwhile, and is too long for the inbox or finds it full, fails (SEND_END with PTL_NI_FAIL), and the call waits
 * for copies that peers are making there.
 *
 * Return:
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_PT_INDEX_INVALID: @pt_index is beyond limits.max_pt_index
 * Source: An extension of this library.
 * See: PtlEQGet, PtlPut
 */
int PtlPTPolled_np(ptl_handle_ni_t ni, ptl_pt_index_t pt_index, int on);

/**
 * PtlNISerial_np - promise that calls come one by one, though the process has several threads
 * @ni: handle of an open interface
 * @on: 1: no call for this interface and its objects is made while another is under way. 0, the default: any thread
 *	may make any call at any time
 * @hold: NULL, or a function that keeps the caller's own calls out and lets them in again: it takes, and gives up, the
 *	lock by which they come one by one. It is called in other threads; in one that has the lock already it must not
 *	wait. It must stay callable until @on was set to 0
 *
 * For a library that has a lock of its own around its calls, as MPI with MPI_THREAD_MULTIPLE, or whose users promise
 * as much: in a process with threads calls take locks among these, and some ways are closed to them (PtlMEMDTake_np,
 * events straight from the inbox). With this promise they do as in a process with one thread. What one thread does
 * must be visible to the next, as locks see to.
 *
 * The promise is only for who has the interface alone. It ends when another library opens it (PtlNIInit); this library
 * calls @hold around that, and around the turns of a PtlRtBarrier_np in which it works for the interface. Without
 * @hold no call may be under way meanwhile.
 *
 * Return:
 *   PTL_OK
 *   PTL_NI_INVALID: @ni is not an open interface
 *   PTL_FAIL: it has been opened twice, or has a thread or a kernel of its own (several nodes by way of the interrupt
 *	thread, PTL_NAL=gp): nothing has changed, and nothing would be gained
 * Source: An extension of this library. What MPI calls MPI_THREAD_SERIALIZED.
 * See: PtlMEMDTake_np, PtlNIInit, ptl_hold_np_t
 */
int PtlNISerial_np(ptl_handle_ni_t ni, int on, ptl_hold_np_t hold);

/**
 * PtlMEMDTake_np - take the message that an entry would get, if it is the next one
 * @base: the entry in front of which such an entry would be posted; in the list of a polled portal
 * @eq: the queue of its events, and of those of whatever stands in the list
 * @take: which message, where to; what it was
 * @looks: how often to look, at least once (0 is as 1); about 10 ns each, and the call returns as soon as there is a
 *	message
 *
 * A receive that is posted when its message is in the inbox already, or waited for at once, needs no entry. The call
 * does what PtlMEMDPost in front of @base (an entry and a descriptor for one message, both of which unlink themselves,
 * no START event, no PTL_MD_TRUNCATE) and PtlEQGet of its PUT_END would have done together, without the entry, the
 * descriptor and the event: it matches, copies, counts and frees the inbox's line. Or it does nothing at all.
 *
 * It takes nothing unless @base is the first entry of its list, the portal is a polled one (PtlPTPolled_np), access
 * control lets everybody put there, the process has one thread (or PtlNISerial_np), @eq is empty, and the message is
 * the next of its initiator's, with the bits and header data that are asked for, no remote offset, no acknowledgement
 * asked, and no longer than take->length. It makes no progress: a program that calls nothing else is to fetch events
 * now and then.
 *
 * Return:
 *   PTL_OK: the message is at take->start
 *   PTL_EQ_EMPTY: no message of that initiator has come
 *   PTL_MD_NO_UPDATE: it cannot be had so, now or at all; post an entry (PtlMEMDPost)
 *   PTL_ME_INVALID: @base does not exist
 *   PTL_EQ_INVALID: @eq is not a queue of that interface
 *   PTL_SEGV: @take is NULL
 * Source: An extension of this library. PtlMESearch of Portals 4 does the like with unexpected messages.
 * See: PtlMEMDPost, PtlPTPolled_np, ptl_take_np_t
 */
int PtlMEMDTake_np(ptl_handle_me_t base, ptl_handle_eq_t eq, ptl_take_np_t *take, unsigned looks);

/**
 * PtlAtomic_np - an atomic operation on a word of another process
 * @get_md: receives what was there, from @get_offset on (a REPLY)
 * @get_offset: first byte of the reply, counted from the descriptor's
 * @put_md: holds the operand, at @put_offset
 * @put_offset: first byte of the operand
 * @op: what is done: ptl_atomic_np_t
 * @length: bytes of the word: 2, 4 or 8
 * @other: what the word is compared with (PTL_ATOMIC_CSWAP_NP), or the mask (PTL_ATOMIC_MSWAP_NP), in its low bits; any
 *	other operation does not look at it. It is the header data of the target's events
 * Arguments: PtlPut
 *
 * A PtlGetPutRegion that does not exchange a word but operates on it. It is one step for all atomic operations of
 * processors on the same word and of the same size, those of the target's own threads, and of other processes of its
 * node through SMARTMAP, among them; for exchanges; and for other calls of this, from whatever node. The target has no
 * part in it, unless its memory is in no window of the process that begins the operation on the same node: then its
 * next call does it. The call begins it and does not block.
 *
 * The descriptor that matches must have both PTL_MD_OP_PUT and PTL_MD_OP_GET. The word must be whole in it, in one
 * piece, and on a boundary of its size in the target's memory; with PTL_NAL=ap it must be in the target's window
 * (PTL_ADOPT), since the engine is another process.
 *
 * Events: as those of PtlGetPut. Where the word is not what it must be, REPLY_END and GETPUT_END have PTL_NI_FAULT_NP,
 * and nothing has changed.
 *
 * Return: as PtlGetPut, and
 *   PTL_MD_ILLEGAL: also where @length or @op is none of these
 * Source: An extension of this library.
 * See: PtlGetPut, PtlGetPutRegion, ptl_atomic_np_t
 */
int PtlAtomic_np(ptl_handle_md_t get_md, ptl_size_t get_offset, ptl_handle_md_t put_md, ptl_size_t put_offset,
		 ptl_atomic_np_t op, ptl_size_t length, ptl_process_id_t target, ptl_pt_index_t pt_index,
		 ptl_ac_index_t ac_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
		 ptl_hdr_data_t other);

#ifdef __cplusplus
}
#endif
#endif
