/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Processes of other jobs: none are reached yet, and the calls for them say so. */
#include "mpidi_ch3_impl.h"

int MPIDI_CH3_PortFnsInit(MPIDI_PortFns * port_fns)
{
    port_fns->OpenPort = NULL;
    port_fns->ClosePort = NULL;
    port_fns->CommAccept = NULL;
    port_fns->CommConnect = NULL;
    return MPI_SUCCESS;
}

int MPIDI_CH3_Get_business_card(int rank ATTRIBUTE((unused)), char *value, int length)
{
    MPL_snprintf(value, length, "%s", "");
    return MPI_SUCCESS;
}

int MPIDI_CH3_Connect_to_root(const char *port_name ATTRIBUTE((unused)), MPIDI_VC_t ** vc ATTRIBUTE((unused)))
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_PORT, "**ch3|conn_info",
                                NULL);
}
