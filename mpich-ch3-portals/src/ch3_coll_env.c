/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Settings of the collectives: which algorithm, and up to which size.
 */
#include "ch3_coll.h"

MPIDI_PTL_Coll_env_t MPIDI_PTL_coll_env;

static int word_of(const char *name, const char *const *words, int *value)
{
    int mpi_errno = MPI_SUCCESS, i;
    const char *text = getenv(name);
    char msg[200], known[120] = "";

    *value = 0;
    if (text == NULL || *text == '\0')
        goto fn_exit;
    for (i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *value = i;
            goto fn_exit;
        }
        snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", i > 0 ? ", " : "", words[i]);
    }
    snprintf(msg, sizeof(msg), "%s=%.40s: one of %s is needed", name, text, known);
    MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_OTHER, "**intern", "**intern %s", msg);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int bytes_of(const char *name, int64_t ours, int64_t max, int64_t * value)
{
    int mpi_errno = MPI_SUCCESS;
    const char *text = getenv(name);
    char msg[200], *end;

    *value = ours;
    if (text == NULL || *text == '\0')
        goto fn_exit;
    *value = strtoll(text, &end, 10);
    if (*end != '\0' || *value < 0 || *value > max) {
        snprintf(msg, sizeof(msg), "%s=%.40s: a number of bytes from 0 to %lld is needed", name, text, (long long) max);
        MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_OTHER, "**intern", "**intern %s", msg);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* All settings of the collectives; nothing else reads the environment for them. */
int MPIDI_PTL_Coll_read_env(void)
{
    static const char *const barrier[] = { "auto", "counter", "dissemination", "flat", NULL };
    static const char *const bcast[] = { "auto", "staged", "direct", "both", NULL };
    static const char *const reduce[] = { "auto", "serial", "parallel", NULL };
    static const char *const allreduce[] = { "auto", "reduce_bcast", "direct", NULL };
    static const char *const alltoall[] = { "auto", "turns", "direct", NULL };
    static const char *const onoff[] = { "yes", "no", NULL };
    const struct {
        const char *name;
        const char *const *words;
        int *value;
    } words[] = {
        { "MPICH_COLL_SMARTMAP", onoff, &MPIDI_PTL_coll_env.off },
        { "MPICH_COLL_BARRIER", barrier, &MPIDI_PTL_coll_env.barrier },
        { "MPICH_COLL_BCAST", bcast, &MPIDI_PTL_coll_env.bcast },
        { "MPICH_COLL_REDUCE", reduce, &MPIDI_PTL_coll_env.reduce },
        { "MPICH_COLL_ALLREDUCE", allreduce, &MPIDI_PTL_coll_env.allreduce },
        { "MPICH_COLL_ALLTOALL", alltoall, &MPIDI_PTL_coll_env.alltoall },
    };
    const struct {
        const char *name;
        int64_t ours, max, *value;
    } sizes[] = {
        { "MPICH_COLL_REDUCE_SWITCH", 1024, MPIDI_PTL_STAGE, &MPIDI_PTL_coll_env.reduce_switch },
        { "MPICH_COLL_BCAST_SWITCH", 2048, MPIDI_PTL_STAGE, &MPIDI_PTL_coll_env.bcast_switch },
        { "MPICH_COLL_BOTH_SWITCH", 8192, INT64_MAX, &MPIDI_PTL_coll_env.both_switch },
        { "MPICH_COLL_ALLREDUCE_SWITCH", 2048, MPIDI_PTL_STAGE, &MPIDI_PTL_coll_env.allreduce_switch },
        { "MPICH_COLL_ALLTOALL_SWITCH", 2048, MPIDI_PTL_STAGE, &MPIDI_PTL_coll_env.alltoall_switch },
    };
    int mpi_errno = MPI_SUCCESS;
    size_t i;

    for (i = 0; i < sizeof(words) / sizeof(*words); i++) {
        mpi_errno = word_of(words[i].name, words[i].words, words[i].value);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        mpi_errno = bytes_of(sizes[i].name, sizes[i].ours, sizes[i].max, sizes[i].value);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_PTL_coll_env.hierarchy = getenv("MPI_COLL_OPT_ON") != NULL;
    MPIDI_PTL_coll_env.plugin = getenv("MPICH_COLL_PLUGIN");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
