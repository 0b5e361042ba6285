/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Jobs described by PTL_MY_RID and its fellows, jobs of one, and the rank calls over them. */
#include "p3_rt.h"
#include "scenario.h"

#include <p3rt/p3rt.h>

#include <pthread.h>

static struct scenario s;

static int describe(void *arg)
{
	const struct p3_rt_job *j;
	const char *err;

	j = p3_rt_get(&err);
	if (!j) {
		printf("%s", err);
		return 1;
	}
	printf("source %d rank %u/%u node %u/%u local %u/%u jid %u maps", j->source, j->rank, j->size, j->node, j->nodes,
	       j->local_rank, j->local_size, j->jid);
	for (uint32_t r = 0; r < j->size; r++)
		printf(" %u:%u", j->nid[r], j->pid[r]);
	printf(" name %s key ", j->name);
	for (int i = 0; i < 16; i++)
		printf("%02x", j->key[i]);
	return 0;
}

#define RUN(...) scenario_run(&s, describe, NULL, (const char *const[]){ __VA_ARGS__ __VA_OPT__(,) NULL })

static void t_nothing_set_is_a_job_of_one(void)
{
	char first[sizeof(s.out_text)];

	CHECK_INT(RUN(), 0);
	CHECK_HAS(s.out_text, "source 0 rank 0/1 node 0/1 local 0/1 jid ");
	CHECK_HAS(s.out_text, " maps 1:256 name p3-one-");
	strcpy(first, s.out_text);
	CHECK_INT(RUN(), 0);
	CHECK(strcmp(first, s.out_text));	/* another job: another name and key */
}

static void t_two_processes_by_hand_agree(void)
{
	char first[sizeof(s.out_text)];

	CHECK_INT(RUN("PTL_MY_RID=0", "PTL_NIDMAP=0000000007:7", "PTL_PIDMAP=1234:99999", "PTL_MY_JID=5"), 0);
	CHECK_HAS(s.out_text, "source 1 rank 0/2 node 0/1 local 0/2 jid 5 maps 7:1234 7:99999 name p3-env-");
	strcpy(first, strstr(s.out_text, "maps"));
	CHECK_INT(RUN("PTL_MY_RID=1", "PTL_NIDMAP=7:7", "PTL_PIDMAP=1234:99999", "PTL_MY_JID=5"), 0);
	CHECK_HAS(s.out_text, "source 1 rank 1/2 node 0/1 local 1/2 jid 5 maps");
	CHECK(!strcmp(first, strstr(s.out_text, "maps")));
	CHECK_INT(RUN("PTL_MY_RID=1", "PTL_NIDMAP=7:7", "PTL_PIDMAP=1234:99999", "PTL_MY_JID=6"), 0);
	CHECK(strcmp(first, strstr(s.out_text, "maps")));	/* another job id: another name and key */
	CHECK_INT(RUN("PTL_MY_RID=1", "PTL_NIDMAP=7:7", "PTL_PIDMAP=1234:1235"), 0);
	CHECK(!strstr(s.out_text, "jid 0 "));
}

static void t_half_set_or_bad_variables_are_named(void)
{
	static const struct { const char *env[5], *want; } list[] = {
		{ { "PTL_MY_RID=0" }, "PTL_MY_RID is set but PTL_NIDMAP and PTL_PIDMAP are not: " },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=1" }, "PTL_MY_RID and PTL_NIDMAP are set but PTL_PIDMAP is not" },
		{ { "PTL_MY_RID=0", "PTL_PIDMAP=1" }, "PTL_MY_RID and PTL_PIDMAP are set but PTL_NIDMAP is not" },
		{ { "PTL_NIDMAP=1", "PTL_PIDMAP=1" }, "PTL_NIDMAP and PTL_PIDMAP are set but PTL_MY_RID is not" },
		{ { "PTL_PIDMAP=1" }, "PTL_PIDMAP is set but PTL_MY_RID and PTL_NIDMAP are not" },
		{ { "PTL_MY_JID=4" }, "PTL_MY_JID is set but PTL_MY_RID, PTL_NIDMAP and PTL_PIDMAP are not" },
		{ { "PTL_MY_RID=2", "PTL_NIDMAP=1:1", "PTL_PIDMAP=1:2" }, "PTL_MY_RID=2 is out of range" },
		{ { "PTL_MY_RID=-1", "PTL_NIDMAP=1:1", "PTL_PIDMAP=1:2" }, "PTL_MY_RID=-1: must be a decimal number" },
		{ { "PTL_MY_RID=", "PTL_NIDMAP=1:1", "PTL_PIDMAP=1:2" }, "PTL_MY_RID=: must be a decimal number" },
		{ { "PTL_MY_RID=0x0", "PTL_NIDMAP=1:1", "PTL_PIDMAP=1:2" }, "PTL_MY_RID=0x0: must" },
		{ { "PTL_MY_RID=99999999999", "PTL_NIDMAP=1:1", "PTL_PIDMAP=1:2" }, "PTL_MY_RID=99999999999: must" },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=1:1", "PTL_PIDMAP=1" }, "PTL_NIDMAP has 2 entries but PTL_PIDMAP has 1" },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=1:a", "PTL_PIDMAP=1:2" }, "PTL_NIDMAP=1:a: must be decimal numbers" },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=1:1", "PTL_PIDMAP=1:" }, "PTL_PIDMAP=1:: must be decimal numbers" },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=", "PTL_PIDMAP=1" }, "PTL_NIDMAP=: must be decimal numbers" },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=1:1", "PTL_PIDMAP=3:3" }, "ranks 0 and 1 both are nid 1 pid 3" },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=1:4294967295", "PTL_PIDMAP=3:3" }, "entry of rank 1 is the wildcard" },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=1:1", "PTL_PIDMAP=1:2", "PTL_MY_JID=0" }, "PTL_MY_JID=0: 0 means no job" },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=1:1", "PTL_PIDMAP=1:2", "PTL_MY_JID=j" }, "PTL_MY_JID=j: must" },
		{ { "PTL_MY_RID=0", "PTL_NIDMAP=1:2", "PTL_PIDMAP=1:2", "PTL_NAL=smartmap" }, "2 ranks on 2 (virtual) nodes" },
		{ { "PTL_SPIN=x" }, "PTL_SPIN=x: must be" },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		CHECK_INT(scenario_run(&s, describe, NULL, list[i].env), 1);
		CHECK_HAS(s.out_text, list[i].want);
		CHECK(!strchr(s.out_text, '\n'));
	}
}

static void t_more_ranks_than_windows_are_refused(void)
{
	char nid[900] = "PTL_NIDMAP=1", pid[2000] = "PTL_PIDMAP=1";

	for (int i = 2; i <= 251; i++) {
		strcat(nid, ":1");
		sprintf(pid + strlen(pid), ":%d", i);
	}
	CHECK_INT(RUN("PTL_MY_RID=0", nid, pid), 1);
	CHECK_HAS(s.out_text, "251 ranks on this node; the address space has windows for at most 250");
}

static void *get_it(void *go)
{
	while (!__atomic_load_n((int *)go, __ATOMIC_ACQUIRE))
		;
	return (void *)(uintptr_t)p3_rt_get(NULL);
}

static int threads(void *arg)
{
	pthread_t t[4];
	void *got;
	int go = 0, bad = 0;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, get_it, &go))
			return 2;
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], &got);
		bad |= !got || got != p3_rt_get(NULL);
	}
	return bad;
}

static void t_threads_get_the_same_job(void)
{
	for (int i = 0; i < 20; i++)
		CHECK_INT(scenario_run(&s, threads, NULL, NULL), 0);
}

static int calls(void *arg)
{
	ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
	unsigned rank = 77, size = 77, node[3] = { 9, 9, 9 };
	ptl_process_id_t id = { 77, 77 };
	ptl_nid_t nid[3] = { 0 };
	ptl_pid_t pid[3] = { 0 };
	int bad = 0;

#define WANT(x) do { if (!(x)) { printf("%s\n", #x); bad = 1; } } while (0)
	WANT(PtlGetRank(ni, NULL, &size) == PTL_SEGV && size == 77);
	WANT(PtlGetRank(ni, &rank, NULL) == PTL_SEGV && rank == 77);
	WANT(PtlGetRank(ni, &rank, &size) == PTL_OK && rank == 1 && size == 3);
	WANT(PtlGetRankId(ni, 0, NULL) == PTL_SEGV);
	WANT(PtlGetRankId(ni, 3, &id) == PTL_FAIL && id.nid == 77 && id.pid == 77);
	WANT(PtlGetRankId(ni, 2, &id) == PTL_OK && id.nid == 4 && id.pid == 30);
	WANT(PtlGetNIDMap(ni, NULL, 3) == PTL_SEGV && PtlGetPIDMap(ni, NULL, 3) == PTL_SEGV);
	WANT(PtlGetNIDMap(ni, nid, 2) == PTL_FAIL && PtlGetPIDMap(ni, pid, 4) == PTL_FAIL && !nid[0] && !pid[0]);
	WANT(PtlGetNIDMap(ni, nid, 3) == PTL_OK && nid[0] == 4 && nid[2] == 4);
	WANT(PtlGetPIDMap(ni, pid, 3) == PTL_OK && pid[0] == 10 && pid[1] == 20 && pid[2] == 30);
	WANT(PtlGetNodeMap_np(ni, NULL, 3) == PTL_SEGV && PtlGetNodeMap_np(ni, node, 1) == PTL_FAIL && node[0] == 9);
	WANT(PtlGetNodeMap_np(ni, node, 3) == PTL_OK && !node[0] && !node[1] && !node[2]);
	WANT(PtlOversubscribed_np() == (3 > p3_rt_cores()) || PtlOversubscribed_np() == 0);
	WANT(p3_rt_barrier() == -ENOSYS && p3_rt_put("a", "b") == -ENOSYS && p3_rt_get_value("a", (char *)nid, 4) == -ENOSYS);
	return bad;
}

static int calls_without_job(void *arg)
{
	unsigned rank, size;

	return PtlGetRank(PTL_INVALID_HANDLE, &rank, &size) != PTL_NO_INIT;
}

static void t_rank_calls(void)
{
	static const char *const env[] = { "PTL_MY_RID=1", "PTL_NIDMAP=4:4:4", "PTL_PIDMAP=10:20:30", NULL };
	static const char *const bad[] = { "PTL_MY_RID=1", NULL };

	if (!CHECK_INT(scenario_run(&s, calls, NULL, env), 0))
		diag("%s", s.out_text);
	CHECK_INT(scenario_run(&s, calls_without_job, NULL, bad), 0);
	CHECK_HAS(s.err_text, "error: PTL_MY_RID is set but");
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_nothing_set_is_a_job_of_one), T(t_two_processes_by_hand_agree), T(t_half_set_or_bad_variables_are_named),
		T(t_more_ranks_than_windows_are_refused), T(t_threads_get_the_same_job), T(t_rank_calls), { 0 }
	};

	return t_run(cases);
}
