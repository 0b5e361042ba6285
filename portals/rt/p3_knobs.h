/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * p3_knobs.h - every setting that a user can make, described once
 *
 * The list below gives the struct, the parser, "ptl_info -c" and portals-knobs(7) (portals/man/generate makes that, a
 * test compares). Read once, by p3_knobs_get(). Nothing else calls getenv() but for the variables of the second list.
 *
 * Types: tri   no|try|yes				size  bytes; K, M, G allowed
 *        num   a decimal number			flags words of heap,data,stack, or all, or none
 *        level error|warn|diag|info|debug		sig   none, a number, or a name such as USR1
 *        path  a file name (kept as given; NULL when unset)	nal   auto|smartmap|gp|ap|loop
 *        pmi   auto|pmi1|pmi2|pmix			locks entry|node|master
 *        text  anything (kept as given; NULL when unset)
 */
#ifndef P3_KNOBS_H
#define P3_KNOBS_H

#include <stdio.h>

enum p3_tri { P3_NO, P3_TRY, P3_YES };
enum p3_nal { P3_NAL_AUTO, P3_NAL_SMARTMAP, P3_NAL_GP, P3_NAL_AP, P3_NAL_LOOP };
enum p3_locks { P3_LOCKS_ENTRY, P3_LOCKS_NODE, P3_LOCKS_MASTER };
enum p3_adopt { P3_ADOPT_DATA = 1, P3_ADOPT_STACK = 2, P3_ADOPT_HEAP = 4, P3_ADOPT_ALL = 7 };	/* smartmap.h's bits */

/* field, variable, type, default as the user would write it, min, max, unit, help, where it is read */
#define P3_KNOBS(K)									\
	K(smartmap, "PTL_SMARTMAP", tri, "try", P3_NO, P3_YES, "",			\
	  "map peers on this node: no, try (fall back), yes (or fail)",			\
	  "nal/smartmap/nal_start.c, tools/ptl_check.c, shmem-portals/src/init.c")	\
	K(adopt, "PTL_ADOPT", flags, "all", 0, P3_ADOPT_ALL, "",			\
	  "memory that peers may see directly: heap,data,stack, all or none",		\
	  "nal/smartmap/nal_start.c, tools/ptl_check.c")				\
	K(cma, "PTL_CMA", tri, "try", P3_NO, P3_YES, "",				\
	  "process_vm_readv for memory outside the windows: no, try, yes",		\
	  "nal/smartmap/nal_start.c, tools/ptl_check.c")				\
	K(nal, "PTL_NAL", nal, "auto", P3_NAL_AUTO, P3_NAL_LOOP, "",			\
	  "what moves messages: smartmap on one node; beyond, gp: a thread in each process, ap: an engine process " \
	  "of the node; loop: for tests; auto: smartmap, and gp where there are several nodes",	\
	  "portals/api/ni.c, portals/rt/p3_rt.c")					\
	K(nic, "PTL_NIC", path, "none", 0, 0, "",					\
	  "PTL_NAL=ap: the program that is the engine; none: ptl-nic as it was installed with the library",	\
	  "nal/ap/ap_spawn.c")								\
	K(nic_poll, "PTL_NIC_POLL", num, "8", 0, 1024, "polls",				\
	  "PTL_NAL=ap: a rank that polls does the engine's work itself, every so many polls (less often while "	\
	  "nothing comes); 0: the engine does all of it",				\
	  "nal/ap/ap_poll.c")								\
	K(nic_heirs, "PTL_NIC_HEIRS", num, "16", 0, 1000000, "",			\
	  "PTL_NAL=ap: how many times an engine that was killed is started again",	\
	  "nal/ap/ap_start.c")								\
	K(locks, "PTL_LOCKS", locks, "entry", P3_LOCKS_ENTRY, P3_LOCKS_MASTER, "",	\
	  "for experiments, what calls to ranks of the node exclude each other by: entry: the lock of the portal " \
	  "table entry; node: one lock for all of the node; master: one process makes them all, the engine of "	\
	  "PTL_NAL=ap",									\
	  "portals/api/ni.c, portals/rt/p3_rt.c, nal/ap/ap_local.c")						\
	K(self_dma_min, "PTL_SELF_DMA_MIN", size, "0", 0, 1099511627776, "",			\
	  "PTL_NAL=ap: shortest get or (above 8192 bytes) put on the node whose copy is left to the engine, while " \
	  "the caller goes on; 0: the caller copies",						\
	  "nal/ap/ap_local.c")								\
	K(loop, "PTL_LOOP", text, "delay=1000", 0, 0, "",				\
	  "PTL_NAL=loop, in thousandths: loss=,dup=,reorder=,flip=; delay= (ns), room=, disconnect= (frames), seed=", \
	  "nal/loop/nal_loop.c")							\
	K(iface, "PTL_IFACE", text, "any", 0, 0, "",					\
	  "where others are let in, comma separated: devices, addresses, networks (10.0.0.0/8, 2001:db8::/32);"	\
	  " p3tcp_my_nid gives the address of such a device; any: all",			\
	  "nal/gp/gp_port.c, portals/api/job.c")						\
	K(verbs, "PTL_VERBS", tri, "no", P3_NO, P3_YES, "",				\
	  "frames between nodes by RDMA (libibverbs): no: by TCP; try: where both sides have a device; yes: "	\
	  "or fail. The same for all ranks of a job",					\
	  "nal/gp/nal_gp.c, nal/ap/ap_start.c")						\
	K(kernel, "PTL_KERNEL", tri, "no", P3_NO, P3_YES, "",				\
	  "Generic Portals in the kernel, by /dev/portals: every call is a system call, and other nodes are "	\
	  "reached by Ethernet frames; try: where the device is, for a job on one node; yes: or fail",		\
	  "portals/api/ni.c, portals/rt/p3_rt.c")						\
	K(portlist, "PTL_DEF_PORTLIST", text, "any", 0, 0, "",				\
	  "TCP ports to listen on, such as 21000:21001 or 21000-21023: the first free one; any: the system's choice", \
	  "nal/gp/nal_gp.c")								\
	K(pid2port, "PTL_PID2PORT_FILE", path, "none", 0, 0, "",			\
	  "file of lines \"pid port\": TCP ports of process ids; those not in it follow PTL_DEF_PORTLIST",	\
	  "nal/gp/nal_gp.c")								\
	K(pes_per_node, "PTL_PES_PER_NODE", num, "0", 0, 1000000, "ranks",		\
	  "ranks of each virtual node on one machine; 0: nodes are the launcher's",	\
	  "portals/rt/p3_rt.c")								\
	K(links, "PTL_LINKS", text, "none", 0, 0, "",					\
	  "links between nodes, as a model for experiments: LATENCY:BANDWIDTH of all (us, MB/s; 0: none, no "	\
	  "limit), or a file of lines NODE NODE LATENCY BANDWIDTH, * for any node; none: as fast as they are",	\
	  "nal/gp/gp_links.c")								\
	K(traffic, "PTL_TRAFFIC", path, "none", 0, 0, "",				\
	  "file for who has sent how much to whom, written as interfaces close, for ptl_rank_order; %j: the "	\
	  "job's id",									\
	  "portals/api/traffic.c")							\
	K(spin, "PTL_SPIN", num, "2000", 0, 1000000000, "polls",			\
	  "polls of a waiting call before it starts to yield the core",			\
	  "portals/api/ni.c")								\
	K(yield, "PTL_YIELD", num, "200", 0, 1000000000, "yields",			\
	  "yields before a waiting call sleeps",					\
	  "portals/api/ni.c")								\
	K(inbox_max, "PTL_INBOX_MAX", size, "512", 0, 8 << 10, "",			\
	  "longest put in bytes that is left in the inbox of a peer that polls",	\
	  "nal/smartmap/nal_start.c")							\
	K(lane_kb, "PTL_LANE_KB", num, "64", 32, 256, "KiB",				\
	  "KiB of inbox that each peer has in a process, while it polls",		\
	  "portals/api/ni.c")								\
	K(index_from, "PTL_INDEX_FROM", num, "16", 0, 65536, "entries",			\
	  "entries of a match list that a search walks before it makes an index; 0: no index",	\
	  "portals/api/ni.c")								\
	K(dump_signal, "PTL_DUMP_SIGNAL", sig, "none", 0, 64, "",			\
	  "signal that prints queues and messages; none: signals are the application's",	\
	  "portals/api/dump.c")								\
	K(hang_dump_s, "PTL_HANG_DUMP_S", num, "0", 0, 1000000, "seconds",		\
	  "print queues and messages after so many seconds without progress; 0: never",	\
	  "portals/api/ni.c")								\
	K(trace, "PTL_TRACE", path, "none", 0, 0, "",					\
	  "folder for the records of ptl_trace, which sets it and loads the recording library",	\
	  "portals/trace/p3_trace.c, portals/api/ni.c")					\
	K(trace_records, "PTL_TRACE_RECORDS", num, "262144", 64, 1 << 26, "records",	\
	  "records that each thread keeps under ptl_trace; what follows is counted only",	\
	  "portals/trace/p3_trace.c")							\
	K(init_timeout_s, "PTL_INIT_TIMEOUT_S", num, "30", 1, 86400, "seconds",		\
	  "seconds to wait at start for the launcher and the other ranks, and later for signs of life of another " \
	  "node's machine (there 30 at most)",						\
	  "portals/rt/p3_rt.c, nal/smartmap/nal_start.c, nal/gp/nal_gp.c")		\
	K(pmi, "PTL_PMI", pmi, "auto", 0, 3, "",					\
	  "how to speak to the launcher: pmi1, pmi2 (both over PMI_FD), pmix; auto: as its variables say", \
	  "portals/rt/p3_rt.c")								\
	K(log, "PTL_LOG", level, "warn", 0, 4, "",					\
	  "how much is said on stderr: error, warn, diag, info, debug",			\
	  "portals/rt/p3_knobs.c, tools/ptl_info.c")					\
	K(reorder_method, "MPICH_RANK_REORDER_METHOD", num, "1", 0, 3, "",		\
	  "order of ranks: 0 round-robin, 1 node by node, 2 folded, 3 from a file",	\
	  "portals/rt/p3_rt.c")								\
	K(reorder_file, "MPICH_RANK_REORDER_FILE", path, "MPICH_RANK_ORDER", 0, 0, "",	\
	  "file for method 3; a list of ranks and ranges such as 0-15, 31-16",		\
	  "portals/rt/p3_rt.c")

/*
 * Variables that are no settings of libportals, or that are read before or without it (the MPICH channel has a table of
 * its own, mpidi_ptl_env.h): what a good value is, default,
 * help, where it is read. tests/doc/t_knobs.pl looks for variables that are read elsewhere.
 */
#define P3_OTHER_VARS(V)								\
	V("PTL_MY_RID", "a number from 0 on", "",					\
	  "rank of this process, of a job without a launcher",				\
	  "portals/rt/p3_env.c, portals/rt/p3_pmi.c, portals/rt/p3_log.c, tools/ptl_check.c")		\
	V("PTL_NIDMAP", "numbers from 0 to 4294967294, colon separated", "",		\
	  "node ids of all ranks, of a job without a launcher; equal ones are on one node",	\
	  "portals/rt/p3_env.c")							\
	V("PTL_PIDMAP", "numbers from 0 to 4294967294, colon separated", "",		\
	  "process ids of all ranks, of a job without a launcher; those of Unix or any others",	\
	  "portals/rt/p3_env.c")							\
	V("PTL_MY_JID", "a number from 1 to 4294967294", "that of the maps or the launcher's",	\
	  "number of the job: two jobs of one user with the same maps at the same time need different ones",	\
	  "portals/rt/p3_env.c")							\
	V("TMPDIR", "a folder", "/tmp",							\
	  "where ptl_trace keeps the records while the command runs",			\
	  "tools/ptl_trace.c")								\
	V("LD_LIBRARY_PATH", "folders, colon separated", "",				\
	  "ptl_trace puts the recording library in front",				\
	  "tools/ptl_trace.c")								\
	V("PMI_FD", "an open socket", "",						\
	  "connection to the launcher, set by it",					\
	  "portals/rt/p3_pmi.c, portals/rt/p3_pmi_wire.c, portals/rt/p3_rt.c")		\
	V("PMI_RANK", "a number from 0 on", "",						\
	  "the launcher's number of this process, set by it",				\
	  "portals/rt/p3_pmi.c, portals/rt/p3_pmi_wire.c, portals/rt/p3_log.c, tools/ptl_check.c")	\
	V("PMI_SIZE", "a number from 1 on", "",						\
	  "number of processes, set by the launcher",					\
	  "portals/rt/p3_pmi.c, portals/rt/p3_pmi_wire.c, portals/rt/p3_log.c, nal/smartmap/heap.c")	\
	V("PMI_PORT", "host:port", "",							\
	  "where the launcher listens, set by it",					\
	  "portals/rt/p3_pmi.c, portals/rt/p3_pmi_wire.c, portals/rt/p3_rt.c")		\
	V("PMI_ID", "a number from 0 on", "",						\
	  "what this process is called there, set by the launcher",			\
	  "portals/rt/p3_pmi.c, portals/rt/p3_pmi_wire.c")				\
	V("PMI_JOBID", "a name", "",							\
	  "name of the job, for PMI-2, set by the launcher",				\
	  "portals/rt/p3_pmi2.c")							\
	V("PMIX_NAMESPACE", "a name", "",						\
	  "name of the job, set by a launcher that speaks PMIx",			\
	  "portals/rt/p3_pmi.c")							\
	V("PMIX_RANK", "a number from 0 on", "",					\
	  "that launcher's number of this process, set by it",				\
	  "portals/rt/p3_pmi.c, portals/rt/p3_log.c, tools/ptl_check.c")		\
	V("SLURM_STEP_ID", "a number from 0 on", "",					\
	  "srun's number of the step, set by it: its tasks without PMI are refused",	\
	  "portals/rt/p3_pmi.c")							\
	V("SLURM_STEP_NUM_TASKS", "a number from 1 on", "",				\
	  "tasks of the step, set by srun",						\
	  "portals/rt/p3_pmi.c")							\
	V("SMARTMAP_MALLOC", "no, or anything else", "",				\
	  "no: libsmartmap-malloc leaves malloc to the C library",			\
	  "nal/smartmap/heap.c")							\
	V("SMARTMAP_FORCE_OFF",								\
	  "words of windows,data,stack,heap,huge,cma,fork,membarrier,pagemap,mincore,mailbox", "",	\
	  "for tests: treat these as if the system did not have them",			\
	  "nal/smartmap/smap_init.c")							\
	V("SMARTMAP_FORCE_SPACE", "a number of bits from 32 to 61", "",		\
	  "for tests: windows are made as if addresses had no more bits",		\
	  "nal/smartmap/smap_space.c")							\
	V("LD_PRELOAD", "libraries", "",						\
	  "the dynamic linker's; looked at to say why memory is not shared, set by ptl_trace -p",	\
	  "nal/smartmap/smap_maps.c, tools/ptl_info.c, tools/ptl_trace.c")		\
	V("SHMEM_SYMMETRIC_SIZE", "bytes, also with a fraction, and k, m, g or t", "256m",	\
	  "symmetric heap of each PE; the same on all",					\
	  "shmem-portals/src/init.c")							\
	V("SMA_SYMMETRIC_SIZE", "as SHMEM_SYMMETRIC_SIZE", "",				\
	  "older name of SHMEM_SYMMETRIC_SIZE",						\
	  "shmem-portals/src/init.c")							\
	V("XT_SYMMETRIC_HEAP_SIZE", "as SHMEM_SYMMETRIC_SIZE", "",			\
	  "older name of SHMEM_SYMMETRIC_SIZE, on the XT",				\
	  "shmem-portals/src/init.c")							\
	V("DMAPP_SHEAP_SIZE", "as SHMEM_SYMMETRIC_SIZE", "",				\
	  "another name of SHMEM_SYMMETRIC_SIZE, looked at last",			\
	  "shmem-portals/src/init.c")							\
	V("DMAPP_MAX_OUTSTANDING_NB", "1 to 65536, also with k", "512",			\
	  "default of the attribute max_outstanding_nb of DMAPP",			\
	  "dmapp-portals/src/env.c")							\
	V("DMAPP_OFFLOAD_THRESHOLD", "bytes, also with k and m", "4096",		\
	  "default of the attribute offload_threshold of DMAPP",			\
	  "dmapp-portals/src/env.c")							\
	V("DMAPP_ENGINE", "yes, no, auto", "auto",					\
	  "a thread of each PE makes DMAPP's long copies; auto: where there are two cores for each PE",	\
	  "dmapp-portals/src/env.c")							\
	V("DMAPP_MAX_LOCKS", "1 to 1023", "128",					\
	  "DMAPP locks that a PE holds at once",					\
	  "dmapp-portals/src/env.c")							\
	V("_DMAPPI_NDREG_ENTRIES", "1 to 1024", "256",					\
	  "ranges that DMAPP has registered at once",					\
	  "dmapp-portals/src/env.c")							\
	V("SHMEM_VERSION", "anything", "",						\
	  "PE 0 prints name and version at the start",					\
	  "shmem-portals/src/init.c")							\
	V("SMA_VERSION", "anything", "",						\
	  "older name of SHMEM_VERSION",						\
	  "shmem-portals/src/init.c")							\
	V("SHMEM_INFO", "anything", "",							\
	  "PE 0 prints the settings of SHMEM at the start",				\
	  "shmem-portals/src/init.c")							\
	V("SMA_INFO", "anything", "",							\
	  "older name of SHMEM_INFO",							\
	  "shmem-portals/src/init.c")							\
	V("SHMEM_DEBUG", "anything", "",						\
	  "each range that SHMEM reads or writes is looked at",				\
	  "shmem-portals/src/init.c")							\
	V("SMA_DEBUG", "anything", "",							\
	  "older name of SHMEM_DEBUG",							\
	  "shmem-portals/src/init.c")							\
	V("SHMEM_HUGE_PAGES", "no", "",							\
	  "no: large blocks of the symmetric heap are made of small pages",		\
	  "shmem-portals/src/heap.c")							\
	V("SHMEM_COLL_OPT_OFF", "1, or names with commas between", "",			\
	  "collectives of SHMEM that go the simple way, for comparison",		\
	  "shmem-portals/src/coll.c")							\
	V("SHMEM_ALLTOALLV_TSIZE_CHK", "none, abort, trunc", "none",			\
	  "what shmemx_alltoallv does with more data than there is room for",		\
	  "shmem-portals/src/coll.c")							\
	V("SHMEM_BARRIER_ALGORITHM", "auto, counter, dissem", "auto",			\
	  "how the PEs of a node meet",							\
	  "shmem-portals/src/coll.c")							\
	V("MPICH_SMARTMAP_MALLOC", "no, or anything else", "",				\
	  "no: mpicc links without libsmartmap-malloc",					\
	  "mpich-ch3-portals/build-mpich")						\
	V("MPT_HYDRA", "a path", "",							\
	  "mpiexec.hydra, or its folder; else beside aprun, then in PATH",		\
	  "tools/aprun")

#define P3_KNOB_T_tri	long
#define P3_KNOB_T_num	long
#define P3_KNOB_T_size	long
#define P3_KNOB_T_flags	long
#define P3_KNOB_T_level	long
#define P3_KNOB_T_sig	long
#define P3_KNOB_T_path	const char *
#define P3_KNOB_T_nal	long
#define P3_KNOB_T_pmi	long
#define P3_KNOB_T_locks	long
#define P3_KNOB_T_text	const char *

struct p3_knobs {
#define K(field, var, type, def, min, max, unit, help, where) P3_KNOB_T_##type field;
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

/* One setting as it stands: @origin default, environment or launcher (an option of aprun); @must: NULL,
	or what a good value is. */
struct p3_knob_told {
	const char *var, *value, *def, *origin, *help, *must;
};
void p3_knobs_each(void (*fn)(void *ctx, const struct p3_knob_told *k), void *ctx);

/* The table of "ptl_info -c": value, default, where it was set, help; bad values are shown as such. */
void p3_knobs_print(FILE *f);

/* What the manual page must say of each: "variable|help|what it must be|default". */
void p3_knobs_print_raw(FILE *f);

#endif
