/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * The PMI-1 client against a launcher made of a socketpair for each rank: jobs of several ranks, what goes over the
 * wire, and launchers that misbehave.
 */
#include "p3_pmi.h"
#include "p3_rt.h"
#include "scenario.h"

#include <p3rt/p3rt.h>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#define MAXR 6

/* ---- the launcher ---- */

struct fake {
	int size, fd[MAXR];
	const char *mapping;		/* NULL: nobody put it */
	const char *bad_cmd, *bad_answer;	/* answer to this command; "" closes, NULL keeps silent */
	int dribble;			/* answers come byte by byte */
	struct { char key[64], value[1100]; } kv[64];
	int nkv, in_barrier;
	int inits, finalizes, aborts, abort_code, barriers;
	char log[16384];
	struct scenario rank[MAXR];
};

static void reply(struct fake *f, int fd, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i += f->dribble ? 1 : n)
		if (write(fd, text + i, f->dribble ? 1 : n) < 0)
			return;
}

static void field(const char *line, const char *key, char *to, size_t len)
{
	if (p3_pmi_field(line, ' ', key, to, len))
		bail("the client's line has no %s: %s", key, line);
}

static void put(struct fake *f, const char *line, int fd)
{
	char key[64];

	field(line, "key", key, sizeof(key));
	for (int i = 0; i < f->nkv; i++)
		if (!strcmp(f->kv[i].key, key)) {
			reply(f, fd, "cmd=put_result rc=-1 msg=duplicate_key\n");
			return;
		}
	if (f->nkv == 64)
		bail("too many keys");
	strcpy(f->kv[f->nkv].key, key);
	field(line, "value", f->kv[f->nkv].value, sizeof(f->kv[0].value));
	f->nkv++;
	reply(f, fd, "cmd=put_result rc=0 msg=success\n");
}

static void get(struct fake *f, const char *line, int fd)
{
	char key[64], text[1300];

	field(line, "key", key, sizeof(key));
	if (!strcmp(key, "PMI_process_mapping") && f->mapping) {
		snprintf(text, sizeof(text), "cmd=get_result rc=0 msg=success value=%s\n", f->mapping);
		reply(f, fd, text);
		return;
	}
	for (int i = 0; i < f->nkv; i++)
		if (!strcmp(f->kv[i].key, key)) {
			snprintf(text, sizeof(text), "cmd=get_result rc=0 msg=success value=%s\n", f->kv[i].value);
			reply(f, fd, text);
			return;
		}
	reply(f, fd, "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
}

/* 0: the connection is to be closed. */
static int command(struct fake *f, int r, char *line)
{
	char cmd[64], number[20];
	size_t n = strlen(f->log);
	int fd = f->fd[r];

	snprintf(f->log + n, sizeof(f->log) - n, "%d:%s\n", r, line);
	field(line, "cmd", cmd, sizeof(cmd));
	if (f->bad_cmd && !strcmp(cmd, f->bad_cmd)) {
		if (f->bad_answer)
			reply(f, fd, f->bad_answer);
		return !f->bad_answer || f->bad_answer[0];
	}
	if (!strcmp(cmd, "init")) {
		f->inits++;
		reply(f, fd, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
	} else if (!strcmp(cmd, "get_maxes")) {
		reply(f, fd, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n");
	} else if (!strcmp(cmd, "get_my_kvsname")) {
		reply(f, fd, "cmd=my_kvsname kvsname=kvs_42_0_x\n");
	} else if (!strcmp(cmd, "put")) {
		put(f, line, fd);
	} else if (!strcmp(cmd, "get")) {
		get(f, line, fd);
	} else if (!strcmp(cmd, "barrier_in")) {
		if (++f->in_barrier == f->size) {
			f->in_barrier = 0;
			f->barriers++;
			for (int i = 0; i < f->size; i++)
				if (f->fd[i] >= 0)
					reply(f, f->fd[i], "cmd=barrier_out\n");
		}
	} else if (!strcmp(cmd, "finalize")) {
		f->finalizes++;
		reply(f, fd, "cmd=finalize_ack\n");
		return 0;
	} else if (!strcmp(cmd, "abort")) {
		f->aborts++;
		field(line, "exitcode", number, sizeof(number));
		f->abort_code = atoi(number);
		for (int i = 0; i < f->size; i++) {	/* a launcher would kill: here all connections end */
			close(f->fd[i]);
			f->fd[i] = -1;
		}
	} else {
		bail("the client sent: %s", line);
	}
	return 1;
}

static void serve(struct fake *f)
{
	static char buf[MAXR][P3_PMI_LINE];
	size_t have[MAXR] = { 0 };

	for (;;) {
		struct pollfd p[MAXR];
		int open = 0;

		for (int i = 0; i < f->size; i++) {
			p[i] = (struct pollfd){ f->fd[i], POLLIN, 0 };
			open += f->fd[i] >= 0;
		}
		if (!open)
			return;
		if (poll(p, (nfds_t)f->size, 20000) <= 0)
			bail("the clients are silent:\n%s", f->log);
		for (int i = 0; i < f->size; i++) {
			if (f->fd[i] < 0 || !p[i].revents)
				continue;
			ssize_t n = read(f->fd[i], buf[i] + have[i], 1);	/* our speed does not matter */

			if (n > 0 && buf[i][have[i]] != '\n') {
				have[i]++;
				continue;
			}
			buf[i][have[i]] = 0;
			have[i] = 0;
			if (n <= 0 || !command(f, i, buf[i])) {
				if (f->fd[i] >= 0)
					close(f->fd[i]);
				f->fd[i] = -1;
			}
		}
	}
}

/* Start @f->size ranks that run @fn with @env besides the launcher's variables, serve them, collect their output. */
static void launch(struct fake *f, int (*fn)(void *), const char *const *env)
{
	int sv[MAXR][2];

	f->log[0] = 0;
	for (int i = 0; i < f->size; i++)
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv[i]))
			bail("socketpair");
	for (int i = 0; i < f->size; i++) {
		char fd[32], rank[32], size[32];
		const char *all[12] = { fd, rank, size };

		snprintf(fd, sizeof(fd), "PMI_FD=%d", sv[i][1]);
		snprintf(rank, sizeof(rank), "PMI_RANK=%d", i);
		snprintf(size, sizeof(size), "PMI_SIZE=%d", f->size);
		for (int n = 0; env && env[n]; n++)
			all[3 + n] = env[n];
		scenario_start(&f->rank[i], fn, sv, all);
	}
	for (int i = 0; i < f->size; i++) {
		close(sv[i][1]);
		f->fd[i] = sv[i][0];
	}
	serve(f);
	for (int i = 0; i < f->size; i++)
		scenario_end(&f->rank[i]);
}

/* ---- what the ranks do ---- */

/* The children hold each other's ends; a rank's death must close its connection, so drop the others'. */
static void drop_others(void *arg)
{
	int (*sv)[2] = arg, mine = atoi(getenv("PMI_FD"));

	for (int i = 0; i < atoi(getenv("PMI_SIZE")); i++) {
		close(sv[i][0]);
		if (sv[i][1] != mine)
			close(sv[i][1]);
	}
}

static int describe(void *arg)
{
	const struct p3_rt_job *j;
	const char *err;

	drop_others(arg);
	j = p3_rt_get(&err);
	if (!j) {
		printf("%s", err);
		return 1;
	}
	if (p3_rt_get(NULL) != j)
		return 2;
	printf("rank %u/%u launch %u node %u/%u local %u/%u jid %u source %d\nmaps", j->rank, j->size, j->launch_rank, j->node,
	       j->nodes, j->local_rank, j->local_size, j->jid, j->source);
	for (uint32_t r = 0; r < j->size; r++)
		printf(" %u:%u:%u", j->nid[r], j->pid[r], j->launch_of[r]);
	printf("\nname %s key ", j->name);
	for (int i = 0; i < 16; i++)
		printf("%02x", j->key[i]);
	printf("\n");
	return 0;
}

/* From the line with name and key on: the same in all ranks. */
static const char *tail(const struct scenario *s)
{
	const char *at = strstr(s->out_text, "name ");

	return at ? at : "";
}

static struct fake f;

static void reset(int size, const char *mapping)
{
	memset(&f, 0, sizeof(f));
	f.size = size;
	f.mapping = mapping;
}

static void t_ranks_form_a_job(void)
{
	char want[120];

	reset(3, "(vector,(0,1,3))");
	launch(&f, describe, NULL);
	for (int i = 0; i < 3; i++) {
		CHECK_INT(f.rank[i].status, 0);
		snprintf(want, sizeof(want), "rank %d/3 launch %d node 0/1 local %d/3 jid", i, i, i);
		CHECK_HAS(f.rank[i].out_text, want);
		CHECK_HAS(f.rank[i].out_text, "maps 1:256:0 1:257:1 1:258:2\n");
		CHECK(!strcmp(tail(&f.rank[i]), tail(&f.rank[0])));
		CHECK(!f.rank[i].err_text[0]);
	}
	CHECK_HAS(f.rank[0].out_text, "name p3-pmi-");
	CHECK_INT(f.inits, 3);
	CHECK_INT(f.barriers, 1);
	CHECK_INT(f.finalizes, 3);
	CHECK_INT(f.aborts, 0);
}

static void t_answers_may_come_in_pieces(void)
{
	reset(2, "(vector,(0,1,2))");
	f.dribble = 1;
	launch(&f, describe, NULL);
	CHECK_INT(f.rank[0].status, 0);
	CHECK(!strcmp(tail(&f.rank[1]), tail(&f.rank[0])));
}

static void t_key_differs_from_job_to_job(void)
{
	char first[300];

	reset(2, "(vector,(0,1,2))");
	launch(&f, describe, NULL);
	snprintf(first, sizeof(first), "%s", strstr(tail(&f.rank[0]), "key"));
	reset(2, "(vector,(0,1,2))");
	launch(&f, describe, NULL);
	CHECK(strlen(first) > 30 && strcmp(first, strstr(tail(&f.rank[0]), "key")));
}

static void t_key_is_not_in_the_environment(void)
{
	reset(1, NULL);
	launch(&f, describe, NULL);
	CHECK_INT(f.rank[0].status, 0);
	CHECK(!strstr(f.log, "key=p3-key"));	/* a rank alone tells nobody */
}

static void t_job_id_of_the_environment_wins(void)
{
	static const char *const env[] = { "PTL_MY_JID=4711", NULL }, *const bad[] = { "PTL_MY_JID=x", NULL };

	reset(2, "(vector,(0,1,2))");
	launch(&f, describe, env);
	CHECK_HAS(f.rank[1].out_text, "jid 4711 ");
	reset(2, "(vector,(0,1,2))");
	launch(&f, describe, bad);
	CHECK_HAS(f.rank[1].out_text, "PTL_MY_JID=x: must be a decimal number");
}

static void order_file(const char *text)
{
	FILE *o = fopen("MPICH_RANK_ORDER", "w");

	if (!o || fputs(text, o) < 0 || fclose(o))
		bail("cannot write a file here");
}

static void t_order_of_rank_0_holds_for_all(void)
{
	static const char *const env[] = { "MPICH_RANK_REORDER_METHOD=3", NULL };

	order_file("2,0,3,1");
	reset(4, "(vector,(0,1,4))");
	launch(&f, describe, env);
	CHECK_HAS(f.rank[0].out_text, "rank 2/4 launch 0 node 0/1 local 2/4");
	CHECK_HAS(f.rank[1].out_text, "rank 0/4 launch 1 node 0/1 local 0/4");
	CHECK_HAS(f.rank[2].out_text, "rank 3/4 launch 2 node 0/1 local 3/4");
	CHECK_HAS(f.rank[3].out_text, "rank 1/4 launch 3 node 0/1 local 1/4");
	CHECK_HAS(f.rank[3].out_text, "maps 1:256:1 1:257:3 1:258:0 1:259:2");
	unlink("MPICH_RANK_ORDER");
}

static void t_bad_order_file_is_one_line_and_ends_the_job(void)
{
	static const char *const env[] = { "MPICH_RANK_REORDER_METHOD=3", NULL };
	int lines = 0;

	order_file("0-2\n2\n");
	reset(4, "(vector,(0,1,4))");
	launch(&f, describe, env);
	CHECK_HAS(f.rank[0].err_text, "error: MPICH_RANK_ORDER:2: rank 2 appears twice (first on line 1)");
	for (int i = 0; i < 4; i++) {
		CHECK_INT(f.rank[i].status, 1);		/* the launcher would have killed it */
		for (const char *c = f.rank[i].err_text; *c; c++)
			lines += *c == '\n';
	}
	CHECK_INT(lines, 1);
	CHECK_INT(f.aborts, 1);
	CHECK_INT(f.abort_code, 1);
	unlink("MPICH_RANK_ORDER");
}

static void t_several_nodes_are_refused_in_one_line(void)
{
	static const char *const env[] = { "PTL_NAL=smartmap", NULL };
	int lines = 0;

	reset(4, "(vector,(0,2,2))");
	launch(&f, describe, env);
	CHECK_HAS(f.rank[0].err_text, "4 ranks on 2 (virtual) nodes; ranks of different nodes need a network transport");
	for (int i = 0; i < 4; i++)
		for (const char *c = f.rank[i].err_text; *c; c++)
			lines += *c == '\n';
	CHECK_INT(lines, 1);
	CHECK_INT(f.aborts, 1);
}

/* Seen by PTL_LOG=debug, whether or not there is a network that joins them. */
static void node_map(const char *mapping, const char *method, const char *want)
{
	const char *env[] = { "PTL_LOG=debug", method, NULL };

	reset(4, mapping);
	launch(&f, describe, env);
	CHECK_HAS(f.rank[0].err_text, want);
	CHECK(!strstr(f.rank[1].err_text, "rank map"));
}

static void t_maps_of_several_nodes(void)
{
	static const char two[] = "(vector,(0,2,2))", cyclic[] = "(vector,(0,2,1))";

	node_map("(vector,(0,1,4))", "PTL_PES_PER_NODE=2", "rank map: 0=0@0.0 1=1@0.1 2=2@1.0 3=3@1.1 ");
	node_map("(vector,(0,1,4))", "PTL_PES_PER_NODE=3", "rank map: 0=0@0.0 1=1@0.1 2=2@0.2 3=3@1.0 ");
	node_map(two, "PTL_PES_PER_NODE=1", "rank map: 0=0@0.0 1=1@0.1 2=2@1.0 3=3@1.1 ");
	node_map(two, NULL, "rank map: 0=0@0.0 1=1@0.1 2=2@1.0 3=3@1.1 ");
	node_map(two, "MPICH_RANK_REORDER_METHOD=0", "rank map: 0=0@0.0 1=2@1.0 2=1@0.1 3=3@1.1 ");
	node_map(two, "MPICH_RANK_REORDER_METHOD=2", "rank map: 0=0@0.0 1=2@1.0 2=3@1.1 3=1@0.1 ");
	node_map(cyclic, NULL, "rank map: 0=0@0.0 1=2@0.1 2=1@1.0 3=3@1.1 ");
	node_map(cyclic, "MPICH_RANK_REORDER_METHOD=0", "rank map: 0=0@0.0 1=1@1.0 2=2@0.1 3=3@1.1 ");
	order_file("3-0");
	node_map(two, "MPICH_RANK_REORDER_METHOD=3", "rank map: 0=3@1.0 1=2@1.1 2=1@0.0 3=0@0.1 ");
	unlink("MPICH_RANK_ORDER");
}

static int exit_3(void *arg) { return describe(arg) ? 9 : 3; }

static int exit_3_done(void *arg)
{
	int rc = describe(arg);

	p3_rt_done(1);
	return rc ? 9 : 3;
}

static int shared(void *arg)
{
	int bad;

	drop_others(arg);
	PtlRtPmiShared_np();
	bad = !p3_rt_get(NULL);
	p3_rt_done(1);
	return bad;
}

/* Rank 0 alone: the first one ends the job, and with it the words of the others. */
static int shared_not_done(void *arg)
{
	const struct p3_rt_job *j;

	drop_others(arg);
	PtlRtPmiShared_np();
	j = p3_rt_get(NULL);
	if (!j || p3_rt_barrier())
		return 9;
	p3_rt_done(j->rank != 0);
	printf("still in a buffer");
	return 0;
}

static int fork_and_exit(void *arg)
{
	int st;

	if (describe(arg))
		return 9;
	fflush(stdout);
	if (!fork())
		exit(p3_rt_put("a", "b") == -EPIPE ? 5 : 6);	/* the child is no rank */
	wait(&st);
	return WEXITSTATUS(st) == 5 ? 0 : 8;
}

static int reuse_fd(void *arg)
{
	int fd = atoi(getenv("PMI_FD")), p[2];

	if (describe(arg) || pipe(p) || dup2(p[1], fd) != fd)	/* as if MPI_Finalize had closed it, and a file taken it */
		return 9;
	return 0;
}

/* A program that the rank starts: must not find the connection open. */
static int start_another(void *arg)
{
	char cmd[60];

	if (describe(arg))
		return 9;
	snprintf(cmd, sizeof(cmd), "test ! -e /proc/self/fd/%s", getenv("PMI_FD"));
	return system(cmd) ? 7 : 0;
}

static int die(void *arg)
{
	describe(arg);
	fflush(stdout);
	raise(SIGKILL);
	return 0;
}

static void t_failing_rank_ends_the_job_with_its_status(void)
{
	reset(1, NULL);
	launch(&f, exit_3, NULL);
	CHECK_INT(f.rank[0].status, 3);
	CHECK_INT(f.aborts, 1);
	CHECK_INT(f.abort_code, 3);
	CHECK_HAS(f.rank[0].err_text, "error: this rank exits with status 3 without PtlFini");
}

static void t_rank_that_has_closed_may_exit_as_it_likes(void)
{
	reset(1, NULL);
	launch(&f, exit_3_done, NULL);
	CHECK_INT(f.rank[0].status, 3);
	CHECK_INT(f.aborts, 0);
	CHECK_INT(f.finalizes, 1);
}

static void t_killed_rank_says_nothing(void)
{
	reset(1, NULL);
	launch(&f, die, NULL);
	CHECK_INT(f.rank[0].status, 128 + SIGKILL);
	CHECK_INT(f.finalizes + f.aborts, 0);
}

static void t_shared_connection_is_not_finalized(void)
{
	reset(2, "(vector,(0,1,2))");
	launch(&f, shared, NULL);
	CHECK_INT(f.rank[0].status, 0);
	CHECK_INT(f.inits, 0);	/* the other client's business */
	CHECK_INT(f.finalizes, 0);
}

static void t_other_client_that_is_not_closed_ends_the_job(void)
{
	reset(2, "(vector,(0,1,2))");
	launch(&f, shared_not_done, NULL);
	CHECK_INT(f.aborts, 1);
	CHECK_INT(f.abort_code, 1);
	CHECK_INT(f.finalizes, 0);
	CHECK_HAS(f.rank[0].err_text, "error: this rank exits with status 0 without MPI_Finalize");
	CHECK_HAS(f.rank[0].out_text, "still in a buffer");
	reset(1, NULL);		/* alone in its job: nobody waits */
	launch(&f, shared_not_done, NULL);
	CHECK_INT(f.aborts, 0);
	CHECK(!f.rank[0].err_text[0]);
}

static void t_forked_child_is_silent(void)
{
	reset(1, NULL);
	launch(&f, fork_and_exit, NULL);
	CHECK_INT(f.rank[0].status, 0);
	CHECK_INT(f.finalizes, 1);
}

static void t_programs_that_a_rank_starts_do_not_inherit_the_connection(void)
{
	reset(1, NULL);
	launch(&f, start_another, NULL);
	CHECK_INT(f.rank[0].status, 0);
	CHECK_INT(f.finalizes, 1);
}

static void t_reused_descriptor_is_not_written_to(void)
{
	reset(1, NULL);
	launch(&f, reuse_fd, NULL);
	CHECK_INT(f.rank[0].status, 0);
	CHECK_INT(f.finalizes, 0);
}

static int exchange(void *arg)
{
	const struct p3_rt_job *j;
	char key[32], value[80], long_value[1100];
	int rc = 0;

	drop_others(arg);
	j = p3_rt_get(NULL);
	if (!j)
		return 1;
	snprintf(key, sizeof(key), "mine-%u", j->rank);
	snprintf(value, sizeof(value), "value-of-%u", j->rank);
	memset(long_value, 'x', sizeof(long_value));
	long_value[1099] = 0;
	rc |= p3_rt_put(key, value);
	rc |= p3_rt_put(key, value) != -EIO;			/* twice */
	rc |= p3_rt_put("a b", "c") != -EINVAL;
	rc |= p3_rt_put("k", "two words") != -EINVAL;
	rc |= p3_rt_put("k", "a=b") != -EINVAL;
	rc |= p3_rt_put("k", "line\ncmd=abort") != -EINVAL;
	rc |= p3_rt_put("", "x") != -EINVAL;
	rc |= p3_rt_put("k", "") != -EINVAL;
	rc |= p3_rt_put("k", long_value) != -EINVAL;
	rc |= p3_rt_barrier();
	snprintf(key, sizeof(key), "mine-%u", (j->rank + 1) % j->size);
	rc |= p3_rt_get_value(key, value, sizeof(value));
	rc |= p3_rt_get_value(key, value, 4) != -ENOSPC;
	rc |= p3_rt_get_value("nobody", value, sizeof(value)) != -ENOENT;
	p3_rt_get_value(key, value, sizeof(value));
	printf("%s", value);
	return rc ? 2 : 0;
}

static void t_put_and_get(void)
{
	reset(2, "(vector,(0,1,2))");
	launch(&f, exchange, NULL);
	CHECK_INT(f.rank[0].status, 0);
	CHECK_INT(f.rank[1].status, 0);
	CHECK_HAS(f.rank[0].out_text, "value-of-1");
	CHECK_HAS(f.rank[1].out_text, "value-of-0");
}

/* One misbehaviour: the sentence, and no crash. */
static void misbehave(const char *cmd, const char *answer, const char *want)
{
	static const char *const env[] = { "PTL_INIT_TIMEOUT_S=1", NULL };

	reset(2, "(vector,(0,1,2))");
	f.bad_cmd = cmd;
	f.bad_answer = answer;
	launch(&f, describe, env);
	CHECK_INT(f.rank[0].status, 1);
	CHECK_HAS(f.rank[0].out_text, want);
}

static void t_misbehaving_launchers(void)
{
	static char endless[5000];

	memset(endless, 'x', sizeof(endless) - 1);
	misbehave("init", "", "the launcher closed the PMI connection");
	misbehave("init", NULL, "the launcher did not answer 'response_to_init' within 1000 ms");
	misbehave("init", "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n", "does not speak PMI version 1");
	misbehave("init", "hello\n", "the launcher answered 'hello' where PMI-1 has 'response_to_init'");
	misbehave("init", "\n", "the launcher answered ''");
	misbehave("get_maxes", endless, "too long");
	misbehave("get_maxes", "cmd=maxes kvsname_max=256 keylen_max=-4 vallen_max=1024\n", "limits make no sense");
	misbehave("get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64x vallen_max=1024\n", "limits make no sense");
	misbehave("get_my_kvsname", "cmd=my_kvsname\n", "no name of its key space");
	misbehave("put", "cmd=put_result rc=-1 msg=no\n", "refused to store");
	misbehave("barrier_in", NULL, "has every rank called PtlInit or MPI_Init?");
	misbehave("barrier_in", "", "the launcher closed the PMI connection");
	misbehave("get", "cmd=get_result rc=-1 msg=no value=unknown\n", "does not say which rank is on which node");
	misbehave("get", "cmd=get_result rc=0 msg=success value=(vector,(9,\n", "makes no sense");
}

static int say_error(void *arg)
{
	const char *err = "no error";

	if (p3_rt_get(&err))
		return 0;
	printf("%s", err);
	return 1;
}

static void t_half_set_launcher_variables(void)
{
	static const struct { const char *env[4], *want; } list[] = {
		{ { "PMI_FD=5" }, "PMI_FD is set but PMI_RANK and PMI_SIZE are not" },
		{ { "PMI_FD=5", "PMI_SIZE=2" }, "PMI_FD is set but PMI_RANK is not" },
		{ { "PMI_FD=5", "PMI_RANK=0" }, "PMI_FD is set but PMI_SIZE is not" },
		{ { "PMI_RANK=0", "PMI_SIZE=2" }, "does not speak PMI-1" },
		{ { "PMI_RANK=0" }, "PMI_RANK is set but PMI_SIZE and PMI_FD or PMI_PORT are not: start the job with aprun or" },
		{ { "PMI_SIZE=2" }, "PMI_SIZE is set but PMI_RANK and PMI_FD or PMI_PORT are not: " },
		{ { "PMI_ID=0" }, "PMI_ID is set but PMI_PORT is not: " },
		{ { "PMI_ID=0", "PMI_RANK=0" }, "PMI_RANK (and PMI_ID) is set but PMI_SIZE and PMI_FD or PMI_PORT are not: " },
		{ { "PMI_ID=0", "PMI_SIZE=1", "PTL_MY_RID=0" }, "PMI_SIZE (and PMI_ID) is set but " },
		{ { "PMI_PORT=localhost:1" }, "PMI_PORT is set but PMI_ID is not" },
		{ { "PMI_PORT=nonsense", "PMI_ID=0" }, "PMI_PORT is not of the form host:port" },
		{ { "PMI_PORT=127.0.0.1:1", "PMI_ID=0" }, "could not connect to PMI_PORT" },
		{ { "PMI_FD=777", "PMI_RANK=0", "PMI_SIZE=1" }, "PMI_FD is not an open socket" },
		{ { "PMI_FD=1", "PMI_RANK=0", "PMI_SIZE=1" }, "PMI_FD is not an open socket" },	/* a pipe */
		{ { "PMI_FD=x", "PMI_RANK=0", "PMI_SIZE=1" }, "PMI_FD is not a number" },
		{ { "PMI_FD=1", "PMI_RANK=2", "PMI_SIZE=2" }, "rank is outside 0 .. size-1" },
		{ { "PMI_FD=1", "PMI_RANK=0", "PMI_SIZE=0" }, "rank is outside 0 .. size-1" },
		{ { "PMI_FD=1", "PMI_RANK=0", "PMI_SIZE=2x" }, "PMI_RANK or PMI_SIZE is not a number" },
	};
	static struct scenario s;

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		CHECK_INT(scenario_run(&s, say_error, NULL, list[i].env), 1);
		CHECK_HAS(s.out_text, list[i].want);
	}
}

static void t_fields(void)
{
	char v[8];

	CHECK(!p3_pmi_field("cmd=get_x rc=0 msg=ok", ' ', "rc", v, sizeof(v)) && !strcmp(v, "0"));
	CHECK(!p3_pmi_field("  cmd=a   rc=", ' ', "rc", v, sizeof(v)) && !strcmp(v, ""));
	CHECK(p3_pmi_field("cmd=a xrc=1", ' ', "rc", v, sizeof(v)));
	CHECK(p3_pmi_field("cmd=a rcx=1", ' ', "rc", v, sizeof(v)));
	CHECK(p3_pmi_field("cmd=a rc", ' ', "rc", v, sizeof(v)));
	CHECK(p3_pmi_field("", ' ', "rc", v, sizeof(v)));
	CHECK(p3_pmi_field("rc=12345678", ' ', "rc", v, sizeof(v)));
	CHECK(!p3_pmi_field("rc=1234567", ' ', "rc", v, sizeof(v)));
}

static void t_random_answers_do_not_break_the_parser(void)
{
	static const char alphabet[] = "cmd=get rc=0 value key\t=";
	unsigned seed = getenv("T_SEED") ? (unsigned)atoi(getenv("T_SEED")) : 1;
	char v[9];

	diag("T_SEED=%u", seed);
	srand(seed);
	for (int i = 0; i < 50000; i++) {
		size_t n = (size_t)rand() % 40;
		char *line = malloc(n + 1);	/* exact, for the sanitizers */

		for (size_t k = 0; k < n; k++)
			line[k] = rand() % 8 ? alphabet[(unsigned)rand() % (sizeof(alphabet) - 1)] : (char)(1 + rand() % 255);
		line[n] = 0;
		memset(v, 'E', sizeof(v));
		if (!p3_pmi_field(line, ' ', "rc", v, sizeof(v)))
			CHECK(memchr(v, 0, sizeof(v)) && !strchr(v, ' ') && strstr(line, v));
		else
			CHECK(v[0] == 'E');	/* outputs only on success */
		free(line);
	}
}

/* A launcher that answers one command with random bytes: a sentence or a job, never a crash or a hang. */
static void t_random_launchers(void)
{
	static const char *const env[] = { "PTL_INIT_TIMEOUT_S=1", NULL };
	static const char *const cmds[] = { "init", "get_maxes", "get_my_kvsname", "put", "get", "barrier_in" };

	for (int i = 0; i < 24; i++) {
		char answer[64];
		int n = 1 + rand() % 60;

		for (int k = 0; k < n; k++)
			answer[k] = (char)(1 + rand() % 255);
		answer[n] = 0;
		strcpy(answer + n - 1, "\n");
		reset(1, "(vector,(0,1,1))");
		f.bad_cmd = cmds[i % 6];
		f.bad_answer = answer;
		launch(&f, describe, env);
		CHECK(f.rank[0].status <= 1);
		CHECK(f.rank[0].out_text[0]);
	}
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_fields), T(t_ranks_form_a_job), T(t_answers_may_come_in_pieces), T(t_key_differs_from_job_to_job),
		T(t_key_is_not_in_the_environment), T(t_job_id_of_the_environment_wins), T(t_order_of_rank_0_holds_for_all),
		T(t_bad_order_file_is_one_line_and_ends_the_job), T(t_several_nodes_are_refused_in_one_line), T(t_maps_of_several_nodes),
		T(t_failing_rank_ends_the_job_with_its_status), T(t_rank_that_has_closed_may_exit_as_it_likes),
		T(t_killed_rank_says_nothing), T(t_shared_connection_is_not_finalized),
		T(t_other_client_that_is_not_closed_ends_the_job), T(t_forked_child_is_silent),
		T(t_reused_descriptor_is_not_written_to),
		T(t_programs_that_a_rank_starts_do_not_inherit_the_connection), T(t_put_and_get), T(t_misbehaving_launchers),
		T(t_random_answers_do_not_break_the_parser), T(t_random_launchers),
		T(t_half_set_launcher_variables), { 0 }
	};

	signal(SIGPIPE, SIG_IGN);
	return t_run(cases);
}
