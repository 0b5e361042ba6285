/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The channel's settings, from the environment. mpidi_ptl_env.h has the table.
 *
 * The launcher's first process reads them and leaves with the launcher what is set; the others never look at their own
 * environment. So all ranks come to the same decisions, and what is wrong is said once. This costs each of them one
 * question to the launcher and no round: the ranks meet in PtlInit anyway, between MPIDI_PTL_Env_init and _shared.
 *
 * What is set travels as "number:value,number:value", cut into pieces where it is long ("mpich-env-0", ...); before the
 * first comes how many pieces there are. A text is in hexadecimal digits, since the launcher's protocol has blanks and
 * equals signs of its own. The numbers are those of the rows.
 */
#include "mpidi_ch3_impl.h"
#include <ctype.h>
#include <inttypes.h>
#include <sys/ioctl.h>

extern const char MPII_Version_string[], MPII_Version_date[];   /* src/mpi/init/initinfo.c */

MPIDI_PTL_Env_t MPIDI_PTL_env;

enum kind { NUM, BYTES, FLAG, WORD, TEXT };

struct setting {
    const char *name;
    enum kind kind;
    void *value;
    int64_t min, max, ours, paper;
    const char *unit;
};

static const struct setting settings[] = {
#define OWN(value_) value_
#define X(field_, kind_, name_, min_, max_, ours_, paper_, unit_, help_) \
    { name_, kind_, &MPIDI_PTL_env.field_, min_, max_, ours_, paper_, unit_ },
    MPIDI_PTL_SETTINGS(X)
#undef X
#undef OWN
};
#define N_SETTINGS ((int) (sizeof(settings) / sizeof(*settings)))

static char is_set[N_SETTINGS];
static char *message;           /* what is set */

static int parse_number(const char *text, int units, int64_t * n)
{
    static const char letters[] = "KMG";
    const char *letter;
    char *end;
    int shift = 0;

    if (!isdigit((unsigned char) *text))
        return 0;
    errno = 0;
    *n = strtoll(text, &end, 10);
    if (units && *end != '\0' && (letter = strchr(letters, toupper((unsigned char) *end))) != NULL) {
        shift = 10 * (letter - letters + 1);
        end++;
    }
    if (errno != 0 || *end != '\0' || *n > INT64_MAX >> shift)
        return 0;
    *n <<= shift;
    return 1;
}

/* The number of the word, of "word,name|word|word". */
static int parse_word(const char *words, const char *text, int64_t * n)
{
    size_t len = strlen(text);

    for (*n = 0;;) {
        size_t word = strcspn(words, ",|");

        if (word == len && strncasecmp(words, text, len) == 0)
            return 1;
        words += word;
        if (*words == '\0')
            return 0;
        if (*words++ == '|')
            ++*n;
    }
}

/* The value that counts, or NULL. @name: out, under which name. */
static const char *find(const struct setting *s, char *name, size_t size)
{
    const char *value = NULL;
    int64_t n;

    if (strncmp(s->name, "MPICH_", 6) == 0) {
        MPL_snprintf(name, size, "MPIR_CVAR_%s", s->name + 6);
        value = getenv(name);
    }
    if (value == NULL) {
        MPL_snprintf(name, size, "%s", s->name);
        value = getenv(name);
    }
    if (value != NULL && *value == '\0' && s->kind != FLAG && (s->kind != WORD || !parse_word(s->unit, value, &n)))
        value = NULL;
    return value;
}

static int good_text(const void *field, const char *text)
{
    if (field == &MPIDI_PTL_env.mpiio_hints)
        return MPIDI_PTL_Hints_good(text);
    if (field == &MPIDI_PTL_env.coll_plugin)
        return MPIDI_PTL_Coll_plugin_good(text);
    return 1;
}

static int parse(const struct setting *s, const char *text)
{
    int64_t n = 0;
    int good = 0;

    switch (s->kind) {
        case NUM:
        case BYTES:
            good = parse_number(text, s->kind == BYTES, &n);
            break;
        case FLAG:
            good = parse_word("0,no,off,false|1,yes,on,true,", text, &n);     /* also an empty one */
            break;
        case WORD:
            good = parse_word(s->unit, text, &n);
            break;
        case TEXT:
            *(const char **) s->value = text;
            return good_text(s->value, text);
    }
    if (!good || n < s->min || n > s->max)
        return 0;
    *(int64_t *) s->value = n;
    return 1;
}

/* What a good value is: the end of the sentence about a bad one. */
static void describe(const struct setting *s, char *buf, size_t size)
{
    char *p;

    switch (s->kind) {
        case NUM:
            MPL_snprintf(buf, size, "a number of %s from %" PRId64 " to %" PRId64, s->unit, s->min, s->max);
            break;
        case BYTES:
            MPL_snprintf(buf, size, "bytes from %" PRId64 " to %" PRId64 " (K, M, G allowed)", s->min, s->max);
            break;
        case FLAG:
            MPL_snprintf(buf, size, "1 or yes, or 0 or no");
            break;
        case WORD:
            MPL_snprintf(buf, size, "one of %s", s->unit);
            for (p = buf; *p != '\0'; p++)      /* only the first name of each */
                if (*p == '|') {
                    memmove(p + 1, p, strlen(p) + 1);
                    *p = ',', *++p = ' ';
                } else if (*p == ',') {
                    memmove(p, p + strcspn(p, "|"), strlen(p + strcspn(p, "|")) + 1);
                    p--;
                }
            break;
        case TEXT:
            MPL_snprintf(buf, size, "%s", s->unit);
            break;
    }
}

/* The job ends with this sentence: nothing else is to be printed, and mpiexec is to know it from us. */
static void refuse(const char *name, const char *text, const struct setting *s)
{
    char needed[200], msg[400];
    int i, unread = 1;

    describe(s, needed, sizeof(needed));
    MPL_snprintf(msg, sizeof(msg), "%s=%.60s%s: must be %s", name, text, strlen(text) > 60 ? "..." : "", needed);
    fprintf(stderr, "MPICH: error: %s\n", msg);
    fflush(stderr);
    for (i = 0; i < 100 && ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0; i++)
        usleep(1000);           /* mpiexec ends us before it reads it */
    if (MPIR_Process.size > 1)
        PMI_Abort(1, msg);
    exit(1);
}

static void defaults(void)
{
    int i;

    for (i = 0; i < N_SETTINGS; i++)
        if (is_set[i])
            continue;
        else if (settings[i].kind == TEXT)
            *(const char **) settings[i].value = NULL;
        else
            *(int64_t *) settings[i].value = MPIDI_PTL_env.paper_defaults ? settings[i].paper : settings[i].ours;
}

static char *in_hex(char *out, const char *text)
{
    for (; *text != '\0'; text++)
        out += sprintf(out, "%02x", (unsigned char) *text);
    return out;
}

static int write_message(void)
{
    size_t size = 1;
    char *p;
    int i;

    for (i = 0; i < N_SETTINGS; i++)
        if (is_set[i])
            size += 32 + (settings[i].kind == TEXT ? 2 * strlen(*(const char **) settings[i].value) : 0);
    p = message = MPL_malloc(size, MPL_MEM_STRINGS);
    if (message == NULL)
        return 0;
    *p = '\0';
    for (i = 0; i < N_SETTINGS; i++) {
        const struct setting *s = &settings[i];

        if (!is_set[i])
            continue;
        p += sprintf(p, "%s%d:", p == message ? "" : ",", i);
        if (s->kind == TEXT)
            p = in_hex(p, *(const char **) s->value);
        else
            p += sprintf(p, "%" PRId64, *(const int64_t *) s->value);
    }
    return 1;
}

/* A text that goes through MPL_free never, as what getenv() returns. */
static int read_text(const struct setting *s, const char *hex, size_t digits)
{
    char *text = MPL_malloc(digits / 2 + 1, MPL_MEM_STRINGS);
    size_t i;
    unsigned c;

    if (text == NULL)
        return 0;
    for (i = 0; i < digits / 2 && sscanf(hex + 2 * i, "%2x", &c) == 1; i++)
        text[i] = c;
    text[i] = '\0';
    *(char **) s->value = text;
    return i == digits / 2;
}

static int read_message(const char *p)
{
    while (*p != '\0') {
        char *end;
        long i = strtol(p, &end, 10);

        if (*end != ':' || i < 0 || i >= N_SETTINGS)
            return 0;
        p = end + 1;
        is_set[i] = 1;
        if (settings[i].kind == TEXT) {
            size_t digits = strcspn(p, ",");

            if (!read_text(&settings[i], p, digits))
                return 0;
            p += digits;
        } else {
            *(int64_t *) settings[i].value = strtoll(p, &end, 10);
            if (end == p)
                return 0;
            p = end;
        }
        if (*p == ',')
            p++;
    }
    return 1;
}

/* Bytes of a piece, its head included. */
static int piece_size(void)
{
    return MPL_MIN(MPIR_pmi_max_val_size(), 1000) - 1;
}

static int publish(void)
{
    int mpi_errno = MPI_SUCCESS, i, pieces, room = piece_size() - 8, len = strlen(message);
    char key[32], value[1024];

    pieces = (len + room - 1) / room;
    for (i = 0; i < MPL_MAX(pieces, 1); i++) {
        MPL_snprintf(key, sizeof(key), "mpich-env-%d", i);
        MPL_snprintf(value, sizeof(value), "%d/%.*s", pieces, room, message + i * room);
        mpi_errno = MPIR_pmi_kvs_put(key, value);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int collect(void)
{
    int mpi_errno = MPI_SUCCESS, i, pieces = 1;
    char key[32], value[1024], *p, *all = NULL;

    for (i = 0; i < pieces; i++) {
        MPL_snprintf(key, sizeof(key), "mpich-env-%d", i);
        mpi_errno = MPIR_pmi_kvs_get(0, key, value, sizeof(value));
        MPIR_ERR_CHECK(mpi_errno);
        p = strchr(value, '/');
        MPIR_ERR_CHKANDJUMP(p == NULL, mpi_errno, MPI_ERR_OTHER, "**intern");
        if (i == 0) {
            pieces = atoi(value);
            all = MPL_malloc(MPL_MAX(pieces, 1) * (size_t) piece_size() + 1, MPL_MEM_STRINGS);
            MPIR_ERR_CHKANDJUMP(all == NULL, mpi_errno, MPI_ERR_OTHER, "**nomem");
            *all = '\0';
        }
        strncat(all, p + 1, piece_size());
    }
    MPIR_ERR_CHKANDJUMP1(!read_message(all), mpi_errno, MPI_ERR_OTHER, "**intern", "**intern %s",
                         "the first process's settings do not make sense here: do all ranks use the same libmpi?");

  fn_exit:
    MPL_free(all);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Before PtlInit, and before the ranks are put into their order. */
int MPIDI_PTL_Env_init(void)
{
    int mpi_errno = MPI_SUCCESS, i;

    memset(is_set, 0, sizeof(is_set));
    if (MPIR_Process.rank != 0)
        goto fn_exit;
    for (i = 0; i < N_SETTINGS; i++) {
        char name[64];
        const char *text = find(&settings[i], name, sizeof(name));

        if (text == NULL)
            continue;
        is_set[i] = 1;
        if (!parse(&settings[i], text))
            refuse(name, text, &settings[i]);
    }
    defaults();
    if (MPIR_Process.size == 1)
        goto fn_exit;
    MPIR_ERR_CHKANDJUMP(!write_message(), mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = publish();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(message);
    message = NULL;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* After a barrier of the launcher's; the process's number is still that of the launcher. */
int MPIDI_PTL_Env_shared(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIR_Process.rank != 0) {
        mpi_errno = collect();
        MPIR_ERR_CHECK(mpi_errno);
        defaults();
    }
    if (MPIDI_PTL_env.abort_on_error || MPIDI_PTL_env.dbmask)
        MPIR_CVAR_COREDUMP_ON_ABORT = 1;        /* MPICH's own setting for this, tested in MPID_Abort */

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void print_setting(int i)
{
    const struct setting *s = &settings[i];
    const char *origin = is_set[i] ? "set" : MPIDI_PTL_env.paper_defaults ? "default of the papers" : "default";
    char value[128];

    if (s->kind == TEXT) {
        const char *text = *(const char **) s->value;

        fprintf(stderr, "PE 0:   %-28s = %s (%s)\n", s->name, text ? text : "not set", origin);
        return;
    } else if (s->kind == WORD) {
        const char *word = s->unit;
        int64_t n;

        for (n = *(const int64_t *) s->value; n > 0; n--)
            word = strchr(word, '|') + 1;
        MPL_snprintf(value, sizeof(value), "%.*s", (int) strcspn(word, ",|"), word);
    } else {
        MPL_snprintf(value, sizeof(value), "%" PRId64, *(const int64_t *) s->value);
    }
    fprintf(stderr, "PE 0:   %-28s = %s (%s)\n", s->name, value, origin);
}

static int print_ranks(void)
{
    int mpi_errno = MPI_SUCCESS, rc, i;
    ptl_process_id_t id;

    for (i = 0; i < MPIR_Process.size; i++) {
        rc = PtlGetRankId(MPIDI_PTL.ni, i, &id);
        MPIDI_PTL_CHECK(rc, "PtlGetRankId");
        fprintf(stderr, "[PE_0]: rank %d is on nid%05u\n", i, (unsigned) id.nid);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_PTL_Env_display(void)
{
    int mpi_errno = MPI_SUCCESS, i;

    if (MPIR_Process.rank != 0)
        goto fn_exit;
    if (MPIDI_PTL_env.version_display)
        fprintf(stderr, "MPI VERSION    : MPICH %s, device ch3:portals over Portals 3.3\n"
                "BUILD INFO     : MPICH of %s, channel of %s\n", MPII_Version_string, MPII_Version_date, __DATE__);
    if (MPIDI_PTL_env.env_display) {
        fprintf(stderr, "PE 0: MPICH environment settings:\n");
        for (i = 0; i < N_SETTINGS; i++)
            print_setting(i);
    }
    if (MPIDI_PTL_env.rank_reorder_display) {
        mpi_errno = print_ranks();
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
