/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * PMI-2 against a launcher that has its answers ready, one for each request: what goes over the wire, and
 * launchers that say something else, too little or nothing. (Real launchers: t_launchers.sh.)
 */
#include "p3_pmi.h"
#include "p3_rt.h"
#include "scenario.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#define INIT	"cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"
#define FULL	"cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=0;size=1;appnum=0;debugged=FALSE;" \
		"pmiverbose=FALSE;"
#define GETID	"cmd=job-getid-response;rc=0;jobid=1.0;"

static int sv[2];

static int join(void *unused)
{
	const struct p3_rt_job *j;
	const char *err, words[] = "a;b%3B;;c%";
	char value[80];
	int rc;

	close(sv[0]);
	j = p3_rt_get(&err);
	if (!j) {
		printf("%s", err);
		return 1;
	}
	rc = p3_rt_put("key", words);
	if (!rc)
		rc = p3_rt_get_value("key", value, sizeof(value));
	printf("rank %u of %u: %d %s", j->rank, j->size, rc,
	       rc ? "" : strcmp(value, words) ? "other words" : "same words");
	p3_rt_done(1);
	return 0;
}

/* What a barrier says, and how it ends. */
static int fence(void *unused)
{
	struct p3_pmi p = { 0 };
	int rc;

	close(sv[0]);
	if (p3_pmi_open(&p, P3_PMI_2, 0, 1000)) {
		printf("%s", p.err);
		return 1;
	}
	rc = p3_pmi_barrier(&p, 1000);
	printf("barrier %d %s", rc, rc ? p.err : "");
	p3_pmi_finalize(&p);
	return 0;
}

/* @answer: up to NULL; a text without a newline gets its length in front, unless it begins with '!'; "" closes. */
static void serve(const char *const *answer, char *heard, size_t len)
{
	size_t have = 0, from = 0;
	char buf[2200];

	heard[0] = 0;
	for (;;) {
		struct pollfd p = { sv[0], POLLIN, 0 };
		ssize_t n;
		size_t end;

		if (poll(&p, 1, 20000) <= 0)
			bail("the client is silent after: %s", heard);
		n = read(sv[0], heard + have, len - 1 - have);
		if (n <= 0)
			break;
		have += (size_t)n;
		heard[have] = 0;
		for (;;) {		/* each request that is complete */
			char *nl = strchr(heard + from, '\n'), digits[7] = "";

			if (!from) {
				if (!nl)
					break;
				end = (size_t)(nl - heard) + 1;
			} else {
				if (have - from < 6)
					break;
				memcpy(digits, heard + from, 6);
				end = from + 6 + (size_t)atoi(digits);
				if (end > have)
					break;
			}
			from = end;
			if (!*answer)
				continue;
			if (!**answer) {
				close(sv[0]);
				sv[0] = -1;
				return;
			}
			if (**answer == '!')
				snprintf(buf, sizeof(buf), "%s", *answer + 1);
			else if (strchr(*answer, '\n'))
				snprintf(buf, sizeof(buf), "%s", *answer);
			else
				snprintf(buf, sizeof(buf), from & 1 ? "%-6zu%s" : "%6zu%s", strlen(*answer), *answer);
			answer++;
			if (send(sv[0], buf, strlen(buf), MSG_NOSIGNAL) < 0)
				return;
		}
	}
}

static void talk(struct scenario *s, int (*program)(void *), const char *const *answer, char *heard, size_t len)
{
	char fd[24];
	const char *env[] = { fd, "PMI_RANK=0", "PMI_SIZE=1", "PMI_JOBID=1.0", "PTL_PMI=pmi2",
			      "PTL_INIT_TIMEOUT_S=1", NULL };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv))
		bail("socketpair");
	snprintf(fd, sizeof(fd), "PMI_FD=%d", sv[1]);
	scenario_start(s, program, NULL, env);
	close(sv[1]);
	serve(answer, heard, len);
	scenario_end(s);
	if (sv[0] >= 0)
		close(sv[0]);
}

static void t_what_goes_over_the_wire(void)
{
	static const char *const answer[] = {
		INIT, FULL, GETID, "cmd=kvs-put-response;rc=0;",
		"cmd=kvs-get-response;rc=0;found=TRUE;value=a%3Bb%253B%3B%3Bc%25;", "cmd=finalize-response;rc=0;", NULL
	};
	static struct scenario s;
	char heard[2000];

	talk(&s, join, answer, heard, sizeof(heard));
	CHECK_INT(s.status, 0);
	CHECK_HAS(s.out_text, "rank 0 of 1: 0 same words");
	CHECK_HAS(heard,
		"cmd=init pmi_version=2 pmi_subversion=0\n    51cmd=fullinit;pmijobid=1.0;pmirank=0;threaded=FALSE;");
	CHECK_HAS(heard, "    14cmd=job-getid;");
	CHECK_HAS(heard, "cmd=kvs-put;key=key;value=a%3Bb%253B%3B%3Bc%25;");
	CHECK_HAS(heard, "cmd=kvs-get;jobid=1.0;srcid=-1;key=key;");
	CHECK_HAS(heard, "    13cmd=finalize;");
}

/* Hydra answers a fence at once, and lets those wait who ask for what nobody has put. */
static void t_a_barrier_asks_for_what_is_not_there(void)
{
	static const char *const good[] = {
		INIT, FULL, GETID, "cmd=kvs-fence-response;rc=0;", "cmd=kvs-get-response;rc=0;found=FALSE;",
		"cmd=finalize-response;rc=0;", NULL
	}, *const refused[] = {
		INIT, FULL, GETID, "cmd=kvs-fence-response;rc=0;", "cmd=kvs-get-response;rc=22;",
		"cmd=finalize-response;rc=0;", NULL
	}, *const failed[] = {
		INIT, FULL, GETID, "cmd=kvs-fence-response;rc=7;", NULL
	}, *const silent[] = {
		INIT, FULL, GETID, "cmd=kvs-fence-response;rc=0;", NULL
	};
	static struct scenario s;
	char heard[2000], *fence_at;

	talk(&s, fence, good, heard, sizeof(heard));
	CHECK_HAS(s.out_text, "barrier 0 ");
	fence_at = strstr(heard, "cmd=kvs-fence;");
	CHECK(fence_at && strstr(fence_at, "cmd=kvs-get;jobid=1.0;srcid=-1;key=p3-never-put;"));
	talk(&s, fence, refused, heard, sizeof(heard));
	CHECK_HAS(s.out_text, "barrier 0 ");
	talk(&s, fence, failed, heard, sizeof(heard));
	CHECK_HAS(s.out_text, "barrier -32 the launcher's PMI-2 fence failed");
	talk(&s, fence, silent, heard, sizeof(heard));
	CHECK_HAS(s.out_text, "barrier -110 the launcher did not answer 'kvs-get' within 1000 ms");
}

static void t_misbehaving_launchers(void)
{
	static char endless[2100];
	const struct { const char *answer[5], *want; } list[] = {
		{ { "" }, "the launcher closed the PMI connection" },
		{ { NULL }, "the launcher did not answer 'response_to_init' within 1000 ms" },
		{ { "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n" }, "does not speak PMI version 2" },
		{ { "cmd=response_to_init rc=-1\n" }, "does not speak PMI version 2" },
		{ { INIT, NULL }, "the launcher did not answer 'fullinit' within 1000 ms" },
		{ { INIT, "" }, "the launcher closed the PMI connection" },
		{ { INIT, "!12", NULL }, "the launcher did not answer 'fullinit' within 1000 ms" },
		{ { INIT, "!   100cmd=full", NULL }, "the launcher did not answer 'fullinit' within 1000 ms" },
		{ { INIT, "!abcdef" }, "the launcher sent what is not PMI-2" },
		{ { INIT, "!      " }, "the launcher sent what is not PMI-2" },
		{ { INIT, "!1 2   cmd" }, "the launcher sent what is not PMI-2" },
		{ { INIT, "!    -1cmd" }, "the launcher sent what is not PMI-2" },
		{ { INIT, "!999999cmd" }, "the launcher sent what is not PMI-2" },
		{ { INIT, endless }, "the launcher sent what is not PMI-2" },
		{ { INIT, "hello" }, "the launcher answered 'hello' where PMI-2 has 'fullinit-response'" },
		{ { INIT, "cmd=fullinit-response;rc=14;rank=0;size=1;" }, "refused to let this process join by PMI-2" },
		{ { INIT, "cmd=fullinit-response;rc=0;rank=0;" }, "refused to let this process join by PMI-2" },
		{ { INIT, "cmd=fullinit-response;rc=0;rank=1;size=2;" }, "gives another rank or size than PMI_RANK" },
		{ { INIT, FULL, "cmd=job-getid-response;rc=0;" }, "no name of the job" },
		{ { INIT, FULL, "cmd=job-getid-response;rc=0;jobid=;" }, "no name of the job" },
		{ { INIT, FULL, GETID, "cmd=kvs-put-response;rc=9;" }, "rank 0 of 1: -5 " },
		{ { INIT, FULL, GETID, "cmd=kvs-put-response;rc=0;", "cmd=kvs-get-response;rc=0;found=FALSE;" },
		  "rank 0 of 1: -2 " },
		{ { INIT, FULL, GETID, "cmd=kvs-put-response;rc=0;", "cmd=kvs-get-response;rc=0;found=TRUE;" },
		  "rank 0 of 1: -28 " },
		{ { INIT, FULL, GETID, "cmd=kvs-put-response;rc=0;", "" }, "rank 0 of 1: -32 " },
	};
	static struct scenario s;
	char heard[2000];

	memset(endless, 'x', sizeof(endless) - 1);
	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		const char *answer[6] = { NULL };
		int n = 0;

		for (; n < 5 && list[i].answer[n]; n++)
			answer[n] = list[i].answer[n];
		if (n == 5 || (n && *answer[n - 1] && *list[i].want == 'r'))
			answer[n] = "cmd=finalize-response;rc=0;";
		talk(&s, join, answer, heard, sizeof(heard));
		CHECK_HAS(s.out_text, list[i].want);
	}
}

int main(void)
{
	static const struct t_case cases[] = { T(t_what_goes_over_the_wire), T(t_a_barrier_asks_for_what_is_not_there),
					      T(t_misbehaving_launchers), { 0 } };

	signal(SIGPIPE, SIG_IGN);
	return t_run(cases);
}
