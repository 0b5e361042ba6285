/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * MPI_File_open with the hints of MPICH_MPIIO_HINTS.
 *
 * ROMIO's is a weak name of PMPI_File_open, so this one takes its place in libmpi. It is alone in this file: a static
 * program that has a MPI_File_open of its own, as tools for profiling do, then never meets it, and goes without hints.
 */
#include "mpidi_ch3_impl.h"

static void show(MPI_Comm comm, const char *filename, MPI_File fh)
{
    MPI_Info used;
    int rank = 1, n = 0, i;

    if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || rank != 0 || PMPI_File_get_info(fh, &used) != MPI_SUCCESS)
        return;
    PMPI_Info_get_nkeys(used, &n);
    fprintf(stderr, "PE 0: MPIIO hints for %s:\n", filename);
    for (i = 0; i < n; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int flag = 0;

        PMPI_Info_get_nthkey(used, i, key);
        PMPI_Info_get(used, key, MPI_MAX_INFO_VAL, value, &flag);
        if (flag)
            fprintf(stderr, "PE 0:   %-28s = %s\n", key, value);
    }
    PMPI_Info_free(&used);
}

static int add(MPI_Info info, const MPIDI_PTL_Hint_t * hint)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];

    MPL_snprintf(key, sizeof(key), "%.*s", hint->key_len, hint->key);
    MPL_snprintf(value, sizeof(value), "%.*s", hint->value_len, hint->value);
    return PMPI_Info_set(info, key, value);
}

int MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File * fh)
{
    const char *at = MPIDI_PTL_env.mpiio_hints;
    MPI_Info mine = MPI_INFO_NULL;
    MPIDI_PTL_Hint_t hint;
    int rc = MPI_SUCCESS;

    while (at != NULL && filename != NULL && rc == MPI_SUCCESS && MPIDI_PTL_Hints_next(&at, filename, &hint)) {
        /* not a good handle: ROMIO says so */
        if (mine == MPI_INFO_NULL)
            rc = info == MPI_INFO_NULL ? PMPI_Info_create(&mine) : PMPI_Info_dup(info, &mine);
        if (rc == MPI_SUCCESS)
            rc = add(mine, &hint);
    }
    rc = PMPI_File_open(comm, filename, amode, mine == MPI_INFO_NULL ? info : mine, fh);
    if (mine != MPI_INFO_NULL)
        PMPI_Info_free(&mine);
    if (rc == MPI_SUCCESS && MPIDI_PTL_env.mpiio_hints_display)
        show(comm, filename, *fh);
    return rc;
}
