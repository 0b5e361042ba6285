/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3/errno.h - return codes of the Portals calls (3.3); included by <portals3.h>
 */
#ifndef P3_ERRNO_H
#define P3_ERRNO_H

/**
 * ptl_err_t - return codes
 *
 * The first 24 are the specification's, with the reference implementation's numbers. Those behind PTL_MAX_ERRNO are
 * names that the XT and other implementations return; programs have them in their switches. Of these ours returns
 * only PTL_IFACE_DUP, and that only to programs for the XT. The calls return int.
 *
 * Source: Portals 3.3, section 3.3.
 * See: PtlErrorStr, portals-xt(7)
 */
typedef enum {
	PTL_OK = 0,			/* success */
	PTL_AC_INDEX_INVALID = 1,	/* no such access control entry */
	PTL_EQ_DROPPED = 2,		/* an event is returned, and events before it were lost */
	PTL_EQ_EMPTY = 3,		/* no event is there, or time is up */
	PTL_EQ_INVALID = 4,		/* not a queue */
	PTL_FAIL = 5,			/* could not be done; of PtlHandleIsEqual: they differ */
	PTL_HANDLE_INVALID = 6,		/* not a handle */
	PTL_IFACE_INVALID = 7,		/* no such interface */
	PTL_MD_ILLEGAL = 8,		/* contents of a descriptor, or a region outside it */
	PTL_MD_INVALID = 9,		/* not a descriptor, or one that is used up */
	PTL_MD_IN_USE = 10,		/* operations on it are in progress */
	PTL_MD_NO_UPDATE = 11,		/* the test queue is not empty; nothing was changed */
	PTL_ME_INVALID = 12,		/* not a match entry */
	PTL_ME_IN_USE = 13,		/* it has a descriptor, or operations in progress */
	PTL_ME_LIST_TOO_LONG = 14,	/* limits.max_me_list */
	PTL_NI_INVALID = 15,		/* not an open interface */
	PTL_NO_INIT = 16,		/* before PtlInit, after PtlFini, or in the child of a fork */
	PTL_NO_SPACE = 17,		/* memory, or the entries of a pool */
	PTL_PID_INVALID = 18,		/* taken, or out of range */
	PTL_PROCESS_INVALID = 19,	/* a wildcard, or nobody there */
	PTL_PT_FULL = 20,		/* no portal table entry is free */
	PTL_PT_INDEX_INVALID = 21,	/* limits.max_pt_index */
	PTL_SEGV = 22,			/* NULL where a result goes */
	PTL_SR_INDEX_INVALID = 23,	/* no such status register */
	PTL_UNKNOWN_ERROR = 24,		/* never returned: the name of any other number */
	PTL_MAX_ERRNO = 25,		/* number of codes with a name in ptl_err_str[] up to here */

	PTL_IFACE_DUP = 32,		/* the interface was open already; the handle is good */
	PTL_VAL_FAILED,			/* never returned; a check of arguments failed */
	PTL_PT_VAL_FAILED = PTL_VAL_FAILED,	/* never returned; another spelling */
	PTL_NAL_FAILED,			/* never returned; the network failed */
	PTL_NOT_IMPLEMENTED,		/* never returned; not there */
	PTL_NO_ACK,			/* never returned; no acknowledgement came */
	PTL_EQ_IN_USE,			/* never returned; descriptors name the queue */
	PTL_PID_IN_USE,			/* never returned; the process id is taken: here PTL_PID_INVALID */
	PTL_INV_EQ_SIZE,		/* never returned; a queue of no size */
	PTL_AGAIN,			/* never returned; call again: here PTL_NO_SPACE */
	PTL_IOV_INVALID,		/* never returned; a vector that is not one */
	PTL_IOV_TOO_MANY,		/* never returned; a vector of too many entries: here PTL_MD_ILLEGAL */
	PTL_IOV_TOO_SMALL,		/* never returned; a vector of too few entries */
	PTL_ERRNO_END_NP		/* entries of ptl_err_str[]; those from 25 to 31 are PTL_UNKNOWN_ERROR */
} ptl_err_t;

/* So that programs which define what they do not find leave it alone. */
#define PTL_IFACE_DUP		PTL_IFACE_DUP
#define PTL_VAL_FAILED		PTL_VAL_FAILED
#define PTL_PT_VAL_FAILED	PTL_PT_VAL_FAILED
#define PTL_NAL_FAILED		PTL_NAL_FAILED
#define PTL_EQ_IN_USE		PTL_EQ_IN_USE
#define PTL_PID_IN_USE		PTL_PID_IN_USE
#define PTL_IOV_INVALID		PTL_IOV_INVALID

#endif
