/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_knobs.h - every setting that a user can make, described once
 *
 * The list below gives the struct, the parser, "ptl_info -c" and the table of portals-env(7) (a test compares).
 * Read once, by p3_knobs_get(); nothing else calls getenv(), except for the variables by which a launcher describes
 * the job (PMI_*, PTL_MY_RID, PTL_NIDMAP, PTL_PIDMAP, PTL_MY_JID: p3_rt.c, p3_env.c).
 *
 * Types: tri   no|try|yes				size  bytes; K, M, G allowed
 *        num   a decimal number			flags words of heap,data,stack, or all, or none
 *        level error|warn|diag|info|debug		sig   none, a number, or a name such as USR1
 *        path  a file name (kept as given; NULL when unset)	nal   auto|smartmap|gp|loop
 *        text  anything (kept as given; NULL when unset)
 */
#ifndef P3_KNOBS_H
#define P3_KNOBS_H

#include <stdio.h>

enum p3_tri { P3_NO, P3_TRY, P3_YES };
enum p3_nal { P3_NAL_AUTO, P3_NAL_SMARTMAP, P3_NAL_GP, P3_NAL_LOOP };
enum p3_adopt { P3_ADOPT_DATA = 1, P3_ADOPT_STACK = 2, P3_ADOPT_HEAP = 4, P3_ADOPT_ALL = 7 };	/* smartmap.h's bits */

/* field, variable, type, default as the user would write it, min, max, help */
#define P3_KNOBS(K)									\
	K(smartmap, "PTL_SMARTMAP", tri, "try", P3_NO, P3_YES,				\
	  "map peers on this node: no, try (fall back), yes (or fail)")			\
	K(adopt, "PTL_ADOPT", flags, "all", 0, P3_ADOPT_ALL,				\
	  "memory that peers may see directly: heap,data,stack, all or none")		\
	K(cma, "PTL_CMA", tri, "try", P3_NO, P3_YES,					\
	  "process_vm_readv for memory outside the windows: no, try, yes")		\
	K(nal, "PTL_NAL", nal, "auto", P3_NAL_AUTO, P3_NAL_LOOP,				\
	  "what moves messages: smartmap on one node, gp beyond, loop for tests; auto chooses")	\
	K(loop, "PTL_LOOP", text, "delay=1000", 0, 0,					\
	  "PTL_NAL=loop, in thousandths: loss=,dup=,reorder=,flip=; delay= (ns), seed=")	\
	K(pes_per_node, "PTL_PES_PER_NODE", num, "0", 0, 1000000,			\
	  "ranks of each virtual node on one machine; 0: nodes are the launcher's")	\
	K(spin, "PTL_SPIN", num, "2000", 0, 1000000000,					\
	  "polls of a waiting call before it starts to yield the core")			\
	K(yield, "PTL_YIELD", num, "200", 0, 1000000000,				\
	  "yields before a waiting call sleeps")					\
	K(inbox_max, "PTL_INBOX_MAX", size, "512", 0, 8 << 10,				\
	  "longest put in bytes that is left in the inbox of a peer that polls")	\
	K(lane_kb, "PTL_LANE_KB", num, "64", 32, 256,					\
	  "KiB of inbox that each peer has in a process, while it polls")		\
	K(index_from, "PTL_INDEX_FROM", num, "16", 0, 65536,				\
	  "entries of a match list from which on it has an index; 0: it is walked")	\
	K(dump_signal, "PTL_DUMP_SIGNAL", sig, "none", 0, 64,				\
	  "signal that prints queues and messages; none: signals are the application's")	\
	K(hang_dump_s, "PTL_HANG_DUMP_S", num, "0", 0, 1000000,				\
	  "print queues and messages after so many seconds without progress; 0: never")	\
	K(init_timeout_s, "PTL_INIT_TIMEOUT_S", num, "30", 1, 86400,			\
	  "seconds to wait at start for the launcher and the other ranks")		\
	K(log, "PTL_LOG", level, "warn", 0, 4,						\
	  "how much is said on stderr: error, warn, diag, info, debug")			\
	K(reorder_method, "MPICH_RANK_REORDER_METHOD", num, "1", 0, 3,			\
	  "order of ranks: 0 round-robin, 1 node by node, 2 folded, 3 from a file")	\
	K(reorder_file, "MPICH_RANK_REORDER_FILE", path, "MPICH_RANK_ORDER", 0, 0,	\
	  "file for method 3; a list of ranks and ranges such as 0-15, 31-16")

#define P3_KNOB_T_tri	long
#define P3_KNOB_T_num	long
#define P3_KNOB_T_size	long
#define P3_KNOB_T_flags	long
#define P3_KNOB_T_level	long
#define P3_KNOB_T_sig	long
#define P3_KNOB_T_path	const char *
#define P3_KNOB_T_nal	long
#define P3_KNOB_T_text	const char *

struct p3_knobs {
#define K(field, var, type, def, min, max, help) P3_KNOB_T_##type field;
	P3_KNOBS(K)
#undef K
};

/**
 * p3_knobs_get - the settings, read from the environment by the first call (thread-safe)
 * @err: out, one sentence when NULL is returned: a variable has a bad value. NULL allowed.
 *
 * An unknown PTL_* variable is warned about once per job, with the nearest name.
 */
const struct p3_knobs *p3_knobs_get(const char **err);

/* The table of "ptl_info -c": value, default, where it was set, help; bad values are shown as such. */
void p3_knobs_print(FILE *f);

/* The table of the manual page, in man(7) form. */
void p3_knobs_print_man(FILE *f);

#endif
