/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * Processes of other jobs: started by MPI_Comm_spawn, or met by MPI_Comm_connect, MPI_Comm_accept, MPI_Comm_join.
 *
 * What their jobs must know of us, the name of each rank's socket, follows from the name of our job and the rank: none
 * of it has to be published, and a job that never meets another has no socket. See ch3_wire.c for the sockets.
 */
#include "mpidi_ch3_impl.h"

int MPIDI_CH3_PortFnsInit(MPIDI_PortFns * port_fns ATTRIBUTE((unused)))
{
    return MPI_SUCCESS;         /* all of CH3's own */
}

static int card(const MPIDI_PG_t * pg, int rank, char *value, int length)
{
    char name[MPIDI_PTL_WIRE_NAME];

    MPIDI_PTL_Wire_name(pg, rank, name, sizeof(name));
    if (MPL_str_add_string_arg(&value, &length, MPIDI_PTL_WIRE_KEY, name) != MPL_SUCCESS)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_OTHER, "**buscard",
                                    NULL);
    return MPI_SUCCESS;
}

/* Part of a port's name: whoever has it may connect to us. */
int MPIDI_CH3_Get_business_card(int rank, char *value, int length)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIDI_PTL_Wire_listen();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = card(MPIDI_Process.my_pg, rank, value, length);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int get_card(int rank, char *buf, int size, MPIDI_PG_t * pg)
{
    return card(pg, rank, buf, size);
}

/* Our job as it is told to others: its name, its size, and each rank's card, all with their final 0. */
static int all_cards(char **text, int *length, MPIDI_PG_t * pg)
{
    int mpi_errno = MPI_SUCCESS, i, n;
    int size = strlen(pg->id) + 16 + pg->size * (MPIDI_PTL_WIRE_NAME + 64);
    char *s = MPL_malloc(size, MPL_MEM_STRINGS);

    MPIR_ERR_CHKANDJUMP(!s, mpi_errno, MPI_ERR_OTHER, "**nomem");
    n = snprintf(s, size, "%s%c%d", (char *) pg->id, 0, pg->size) + 1;
    for (i = 0; i < pg->size; i++) {
        mpi_errno = card(pg, i, s + n, size - n);
        if (mpi_errno != MPI_SUCCESS)
            MPL_free(s);
        MPIR_ERR_CHECK(mpi_errno);
        n += strlen(s + n) + 1;
    }
    *text = s;
    *length = n;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* MPIDI_PG_InitConnKVS() has filled the rest: nobody tells us about our own job. */
void MPIDI_PTL_Dynamic_pg(MPIDI_PG_t * pg)
{
    pg->getConnInfo = get_card;
    pg->connInfoToString = all_cards;
}

int MPIDI_CH3_Connect_to_root(const char *port_name, MPIDI_VC_t ** new_vc)
{
    int mpi_errno = MPI_SUCCESS, tag;
    char name[MPIDI_PTL_WIRE_NAME];
    MPIDI_VC_t *vc = NULL;

    *new_vc = NULL;
    MPIR_ERR_CHKANDJUMP(MPL_str_get_string_arg(port_name, MPIDI_PTL_WIRE_KEY, name, sizeof(name)) != MPL_SUCCESS,
                        mpi_errno, MPI_ERR_PORT, "**ch3|conn_info");
    mpi_errno = MPIDI_GetTagFromPort(port_name, &tag);
    MPIR_ERR_CHKANDJUMP(mpi_errno != MPL_SUCCESS, mpi_errno, MPI_ERR_PORT, "**ch3|conn_info");
    vc = MPL_calloc(1, sizeof(*vc), MPL_MEM_ADDRESS);   /* freed by FreeNewVC() in ch3u_port.c */
    MPIR_ERR_CHKANDJUMP(!vc, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIDI_VC_Init(vc, NULL, 0);
    mpi_errno = MPIDI_PTL_Wire_root(vc, name, tag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_CHANGE_VC_STATE(vc, ACTIVE);
    *new_vc = vc;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(vc);
    goto fn_exit;
}
