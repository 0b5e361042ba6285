/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The channel's settings, from the environment.
 *
 * One table says everything about each: name, range, default, help. MPICH_NAME is read, or MPIR_CVAR_NAME, the name
 * that a control variable of MPICH would have; the latter wins as it does there.
 */
#include "mpidi_ch3_impl.h"

MPIDI_PTL_Env_t MPIDI_PTL_env;

struct setting {
    const char *name;           /* without MPICH_ or MPIR_CVAR_ */
    int64_t *value;
    int64_t min, max, ours;
    const char *unit, *help;
};

static const struct setting settings[] = {
#define X(field_, name_, min_, max_, ours_, unit_, help_) \
    { name_, &MPIDI_PTL_env.field_, min_, max_, ours_, unit_, help_ },
    MPIDI_PTL_SETTINGS(X)
#undef X
};

static const char *find(const struct setting *s, char *name, size_t size)
{
    static const char *const prefixes[] = { "MPIR_CVAR_", "MPICH_" };
    const char *value;
    int i;

    for (i = 0; i < 2; i++) {
        snprintf(name, size, "%s%s", prefixes[i], s->name);
        value = getenv(name);
        if (value != NULL && *value != '\0')
            return value;
    }
    return NULL;
}

int MPIDI_PTL_Env_init(void)
{
    int mpi_errno = MPI_SUCCESS;
    size_t i;

    for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
        const struct setting *s = &settings[i];
        char name[64], msg[200], *end;
        const char *text = find(s, name, sizeof(name));
        long long n;

        *s->value = s->ours;
        if (text == NULL)
            continue;
        errno = 0;
        n = strtoll(text, &end, 10);
        if (errno != 0 || *end != '\0' || n < s->min || n > s->max) {
            snprintf(msg, sizeof(msg), "%s=%.40s: a number of %s from %lld to %lld is needed", name, text, s->unit,
                     (long long) s->min, (long long) s->max);
            MPIR_ERR_SETANDJUMP1(mpi_errno, MPI_ERR_OTHER, "**intern", "**intern %s", msg);
        }
        *s->value = n;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
