/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The channel's settings: one row says everything about each. ch3_env.c reads them, and intro_mpi(3) is made from this
 * table, so a row is written for the reader of that page.
 *
 * field, kind, variable, lowest, highest, default, default of the papers (Cray's MPT), unit or words, help
 *
 *      NUM     a decimal number
 *      BYTES   the same, K, M and G allowed
 *      FLAG    as Cray's: set at all is yes, also to nothing; 0, no, off and false are no
 *      WORD    one of the words, separated by |; its value is its number from 0 on. Other names of a word follow it,
 *              behind commas; one that is empty stands for a variable that is set to nothing.
 *      TEXT    what the check of ch3_env.c that has the field's name accepts; NULL where it is not set
 *
 * OWN(value) stands for a default of the papers where there is none: the setting is this project's own, and the value
 * is what MPICH_PTL_PAPER_DEFAULTS gives it.
 *
 * Each is in MPIDI_PTL_env.field, the same in all ranks of a job: the first process of the launcher decides. A variable
 * is also read as MPIR_CVAR_ and the rest of its name, which wins, as with MPICH's own.
 */
#ifndef MPIDI_PTL_ENV_H_INCLUDED
#define MPIDI_PTL_ENV_H_INCLUDED

#define MPIDI_PTL_SETTINGS(X)                                                                                       \
    X(eager_max_size, BYTES, "MPICH_PTL_EAGER_MAX_SIZE", 0, 8160, 4096, OWN(4096), "",                              \
      "Messages of up to this many bytes travel with their envelope; the receiver fetches larger ones. Between "    \
      "nodes, where fetching takes longer, twice as many (8160 at most).")                                           \
    X(max_short_size, BYTES, "MPICH_MAX_SHORT_MSG_SIZE", 0, 1 << 30, 0, 128000, "",                                 \
      "Messages of up to this many bytes do not wait for their receive: what is too long to travel with its envelope " \
      "is fetched when its receiver looks, into its own memory where no receive was posted (of which "              \
      "MPICH_UNEX_BUFFER_SIZE is the limit). 0: only those that travel with their envelope.")                       \
    X(copies, WORD, "MPICH_PTL_COPIES", 0, 2, 0, OWN(0), "auto|one|two",                                            \
      "The transports that the SMARTMAP paper compares. one: every message waits until its receiver copies it from " \
      "the sender's buffer. two: it goes into the receiver's inbox and out again, a long one in pieces. auto: "     \
      "short ones take two copies, long ones one. With PTL_SMARTMAP=no the kernel makes that one.")                 \
    X(match_off, WORD, "MPICH_PTL_MATCH_OFF", 0, 2, 0, 0, "0,no,off,false|1,yes,on,true,|hybrid",                   \
      "1: messages are matched in CH3's queues instead of Portals' match list. hybrid: the short ones are.")        \
    X(bypass, FLAG, "MPICH_PTL_BYPASS", 0, 1, 0, OWN(0), "",                                                        \
      "Match messages in Portals' list while their receiver is not in MPI, too (application bypass).")              \
    X(eager_long, FLAG, "MPICH_PTL_EAGER_LONG", 0, 1, 0, 0, "",                                                     \
      "Longer messages travel with their data, too, straight into the memory of a receive that is posted (as with "  \
      "MPICH_PTL_BYPASS, which this includes); for any other the data are left out, and fetched later.")             \
    X(direct_recv, FLAG, "MPICH_PTL_DIRECT_RECV", 0, 1, 1, OWN(0), "",                                              \
      "A receive whose short message has come already, or comes while MPI_Recv looks for it, takes it from the inbox " \
      "(PtlMEMDTake_np); 0: each receive is posted first, in Portals' match list or in CH3's queue.")                \
    X(unex_buffer_size, BYTES, "MPICH_UNEX_BUFFER_SIZE", 65536, 1L << 32, 8 << 20, 60 << 20, "",                    \
      "How much of the messages that no receive was posted for is kept, with their data, whoever matches them; those " \
      "of others stay with their senders. MPI_T's ptl_unex_bytes and ptl_unex_bytes_most say how much is and was.") \
    X(unex_events, NUM, "MPICH_PTL_UNEX_EVENTS", 64, 1 << 20, 20480, 20480, "events",                               \
      "How many messages may be on their way to a rank that does not look.")                                        \
    X(send_credits, NUM, "MPICH_PTL_SEND_CREDITS", 0, 65536, 0, 0, "messages",                                      \
      "How many of them may be of one sender; 0: the events, shared out.")                                          \
    X(other_events, NUM, "MPICH_PTL_OTHER_EVENTS", 8, 65536, 256, 2048, "events",                                   \
      "Events of other kinds than messages that may come at once: so many fetches of long messages may be under way " \
      "to a rank, the others wait.")                                                                                \
    X(spin, NUM, "MPICH_PTL_SPIN", 1, 1000000000, 2000, OWN(2000), "looks",                                         \
      "How many times a blocking call looks for a message before it gives up the core "                             \
      "(at most 20 where the node has more ranks than cores).")                                                     \
    X(fast_memcpy, FLAG, "MPICH_FAST_MEMCPY", 0, 1, 0, 0, "",                                                       \
      "Copies of 32 KiB and more are made by the routine that was found to be the fastest for their size, of "      \
      "the C library's, the processor's string copy and stores that go past the caches.")                           \
    X(rank_reorder_display, FLAG, "MPICH_RANK_REORDER_DISPLAY", 0, 1, 0, 0, "",                                     \
      "Rank 0 prints which rank is on which node.")                                                                 \
    X(env_display, FLAG, "MPICH_ENV_DISPLAY", 0, 1, 0, 0, "",                                                       \
      "Rank 0 prints all settings of this table as they are, and where each comes from.")                           \
    X(version_display, FLAG, "MPICH_VERSION_DISPLAY", 0, 1, 0, 0, "",                                               \
      "Rank 0 prints the versions of MPICH, of this channel and of Portals.")                                       \
    X(abort_on_error, FLAG, "MPICH_ABORT_ON_ERROR", 0, 1, 0, 0, "",                                                 \
      "An error that ends the job, or MPI_Abort, dumps core first (where ulimit -c allows it).")                    \
    X(dbmask, WORD, "MPICH_DBMASK", 0, 1, 0, 0, "0,0x0|0x200,512",                                                  \
      "0x200: as MPICH_ABORT_ON_ERROR, whose older name this is.")                                                  \
    X(mpiio_hints, TEXT, "MPICH_MPIIO_HINTS", 0, 0, 0, 0, "pattern:hint=value:hint=value,pattern:hint=value",        \
      "Hints for files that MPI_File_open opens under a name that fits the pattern (of fnmatch). They come "        \
      "before those of the program.")                                                                               \
    X(mpiio_hints_display, FLAG, "MPICH_MPIIO_HINTS_DISPLAY", 0, 1, 0, 0, "",                                       \
      "Rank 0 of the communicator prints the hints of each file that is opened.")                                   \
    X(coll_smartmap, FLAG, "MPICH_COLL_SMARTMAP", 0, 1, 1, OWN(1), "",                                              \
      "Collectives among ranks of one node by access to each other's memory; 0: MPICH's own, by messages.")         \
    X(coll_barrier, WORD, "MPICH_COLL_BARRIER", 0, 3, 0, OWN(0), "auto|counter|dissemination|flat",                 \
      "Barrier of a node: all count at one place; in log n rounds; each looks at all the others.")                  \
    X(coll_bcast, WORD, "MPICH_COLL_BCAST", 0, 3, 0, OWN(0), "auto|staged|direct|both",                             \
      "Broadcast on a node: by way of a buffer (up to 8 KiB; longer ones are direct); each rank from the root's "   \
      "memory; with two ranks, each copies one half.")                                                              \
    X(coll_reduce, WORD, "MPICH_COLL_REDUCE", 0, 2, 0, OWN(0), "auto|serial|parallel",                              \
      "Reduction on a node by the root; or (MPICH's own operators) by all ranks, each a slice of the vector.")      \
    X(coll_reduce_switch, BYTES, "MPICH_COLL_REDUCE_SWITCH", 0, 1L << 40, 1024, 1024, "",                           \
      "Vectors of up to this many bytes are reduced by the root alone.")                                            \
    X(coll_allreduce, WORD, "MPICH_COLL_ALLREDUCE", 0, 2, 0, OWN(0), "auto|reduce_bcast|direct",                    \
      "Allreduce on a node: a reduction, then a broadcast; or at once, by all.")                                    \
    X(coll_alltoall, WORD, "MPICH_COLL_ALLTOALL", 0, 2, 0, OWN(0), "auto|turns|direct",                             \
      "Alltoall on a node: in turns, in which nobody has two partners; or each as fast as it can.")                 \
    X(coll_opt_on, FLAG, "MPI_COLL_OPT_ON", 0, 1, 0, 0, "",                                                         \
      "Collectives of several nodes are made node by node: on each, between one rank of each, on each again.")      \
    X(coll_plugin, TEXT, "MPICH_COLL_PLUGIN", 0, 0, 0, OWN(0),                                                      \
      "the path of a shared library with mpich_coll_plugin()",                                                      \
      "A library with collectives to take before the own ones: see mpich_coll.h.")                                  \
    X(paper_defaults, FLAG, "MPICH_PTL_PAPER_DEFAULTS", 0, 1, 0, OWN(0), "",                                        \
      "What is not set takes the default of the papers instead of ours.")

#define MPIDI_PTL_TYPE_NUM      int64_t
#define MPIDI_PTL_TYPE_BYTES    int64_t
#define MPIDI_PTL_TYPE_FLAG     int64_t
#define MPIDI_PTL_TYPE_WORD     int64_t
#define MPIDI_PTL_TYPE_TEXT     const char *

typedef struct {
#define X(field_, kind_, ...) MPIDI_PTL_TYPE_##kind_ field_;
    MPIDI_PTL_SETTINGS(X)
#undef X
} MPIDI_PTL_Env_t;
extern MPIDI_PTL_Env_t MPIDI_PTL_env;

int MPIDI_PTL_Env_init(void);           /* rank 0 of the launcher reads, before PtlInit */
int MPIDI_PTL_Env_shared(void);         /* the others learn of it, after PtlInit */
int MPIDI_PTL_Env_display(void);        /* what rank 0 prints at the start */

int MPIDI_PTL_Coll_plugin_good(const char *name);       /* ch3_coll_net.c: is it a library with that function? */

/* ch3_hints.c: one hint that MPICH_MPIIO_HINTS has for a file; its parts are not terminated. */
typedef struct {
    const char *key, *value;
    int key_len, value_len;
} MPIDI_PTL_Hint_t;
int MPIDI_PTL_Hints_good(const char *hints);
int MPIDI_PTL_Hints_next(const char **at, const char *filename, MPIDI_PTL_Hint_t * hint);

#endif /* MPIDI_PTL_ENV_H_INCLUDED */
