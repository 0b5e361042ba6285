/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* Settings: defaults, values, ranges, unknown names; each set of variables in a process of its own. */
#include "p3_knobs.h"
#include "p3_log.h"
#include "scenario.h"

static int print_all(void *arg)
{
	const char *err = "none";
	const struct p3_knobs *k = p3_knobs_get(&err);

	if (!k) {
		printf("%s", err);
		return 1;
	}
	printf("smartmap=%ld adopt=%ld cma=%ld spin=%ld yield=%ld inbox=%ld lane=%ld sig=%ld hang=%ld init=%ld log=%ld "
	       "method=%ld file=%s", k->smartmap, k->adopt, k->cma, k->spin, k->yield, k->inbox_max, k->lane_kb,
	       k->dump_signal, k->hang_dump_s, k->init_timeout_s, k->log, k->reorder_method, k->reorder_file);
	return p3_knobs_get(NULL) == k ? 0 : 2;
}

static struct scenario s;

#define RUN(...) scenario_run(&s, print_all, NULL, (const char *const[]){ __VA_ARGS__ __VA_OPT__(,) NULL })

static void t_defaults(void)
{
	CHECK_INT(RUN(), 0);
	CHECK_HAS(s.out_text, "smartmap=1 adopt=7 cma=1 spin=2000 yield=200 inbox=512 lane=64 sig=0 hang=0 init=30 log=1 "
		  "method=1 file=MPICH_RANK_ORDER");
	CHECK(!s.err_text[0]);
}

static void t_values(void)
{
	CHECK_INT(RUN("PTL_SMARTMAP=no", "PTL_ADOPT=heap,stack", "PTL_CMA=YES", "PTL_SPIN=0", "PTL_INBOX_MAX=4k",
		      "PTL_DUMP_SIGNAL=SIGUSR2", "PTL_LOG=debug", "MPICH_RANK_REORDER_METHOD=3",
		      "MPICH_RANK_REORDER_FILE=/a b"), 0);
	CHECK_HAS(s.out_text, "smartmap=0 adopt=6 cma=2 spin=0 yield=200 inbox=4096 lane=64 sig=12 hang=0 init=30 log=4 "
		  "method=3 file=/a b");
	CHECK_INT(RUN("PTL_ADOPT=none", "PTL_INBOX_MAX=8K", "PTL_DUMP_SIGNAL=10", "PTL_SMARTMAP=Try"), 0);
	CHECK_HAS(s.out_text, "smartmap=1 adopt=0");
	CHECK_HAS(s.out_text, "inbox=8192");
	CHECK_HAS(s.out_text, "sig=10");
}

static void bad(const char *setting, const char *must)
{
	char part[200];

	CHECK_INT(RUN(setting), 1);
	snprintf(part, sizeof(part), "%s: must be %s", setting, must);
	CHECK_HAS(s.out_text, part);
}

static void t_bad_values_name_the_range(void)
{
	bad("PTL_SMARTMAP=maybe", "no, try or yes");
	bad("PTL_SMARTMAP=", "no, try or yes");
	bad("PTL_SPIN=-1", "a number from 0 to 1000000000");
	bad("PTL_SPIN=1000000001", "a number from 0 to 1000000000");
	bad("PTL_SPIN=99999999999999999999999999", "a number from 0 to 1000000000");
	bad("PTL_SPIN=2k", "a number from 0");
	bad("PTL_INBOX_MAX=2M", "bytes from 0 to 8192 (K, M, G allowed)");
	bad("PTL_INBOX_MAX=999999999999G", "bytes from 0");
	bad("PTL_INBOX_MAX=1KB", "bytes from 0");
	bad("PTL_LANE_KB=3", "a number from 32 to 256");
	bad("PTL_ADOPT=heap,", "some of heap,data,stack");
	bad("PTL_ADOPT=heaps", "some of heap,data,stack");
	bad("PTL_ADOPT=hea", "some of heap,data,stack");
	bad("PTL_DUMP_SIGNAL=KILLER", "none, a signal's number");
	bad("PTL_DUMP_SIGNAL=65", "none, a signal's number");
	bad("PTL_LOG=loud", "error, warn, diag, info or debug");
	bad("PTL_INIT_TIMEOUT_S=0", "a number from 1");
	bad("MPICH_RANK_REORDER_METHOD=4", "a number from 0 to 3");
	bad("MPICH_RANK_REORDER_FILE=", "a file name");
}

static void t_unknown_names_are_warned_about_with_the_nearest(void)
{
	CHECK_INT(RUN("PTL_SPNI=3", "PTL_MY_RANK=4"), 0);
	CHECK_HAS(s.err_text, "warn: PTL_SPNI is not a setting of this library; the nearest is PTL_SPIN");
	CHECK_HAS(s.err_text, "PTL_MY_RANK is not a setting of this library; the nearest is PTL_MY_RID");
	CHECK_INT(RUN("PTL_SPNI=3", "PMI_RANK=1", "PMI_SIZE=4"), 0);
	CHECK(!s.err_text[0]);
	CHECK_INT(RUN("PTL_SPNI=3", "PMI_RANK=0", "PMI_SIZE=4"), 0);
	CHECK_HAS(s.err_text, "(and 3 more ranks)");
}

static void t_known_names_that_are_no_settings_are_left_alone(void)
{
	CHECK_INT(RUN("PTL_MY_RID=0", "PTL_NIDMAP=1", "PTL_PIDMAP=1", "PTL_MY_JID=1", "PTL_IFACE=eth0",
		      "PTL_DEF_PORTLIST=1:2", "PTLX=3"), 0);
	CHECK(!s.err_text[0]);
}

static int print_table(void *arg)
{
	p3_knobs_print(stdout);
	return 0;
}

static void t_table_shows_value_default_source_and_help(void)
{
	static const char *const env[] = { "PTL_SPIN=7", "PTL_CMA=perhaps", NULL };

	CHECK_INT(scenario_run(&s, print_table, NULL, env), 0);
	CHECK_HAS(s.out_text, "PTL_SPIN=7  (default 2000, from: environment)");
	CHECK_HAS(s.out_text, "PTL_YIELD=200  (default 200, from: default)");
	CHECK_HAS(s.out_text, "PTL_CMA=perhaps  (BAD: must be no, try or yes)");
#define K(field, var, type, def, min, max, unit, help, where) CHECK_HAS(s.out_text, var); CHECK_HAS(s.out_text, help);
	P3_KNOBS(K)
#undef K
}

static int log_lines(void *arg)
{
	p3_log_threshold = P3_LOG_DIAG;
	p3_info("not said");
	p3_warn("disk %d is %s", 3, "full");
	p3_log_identify(3, 1, 8);
	p3_diag("chosen");
	for (int i = 0; i < 3; i++)
		p3_once_per_job(P3_LOG_WARN, "never by rank 3");
	p3_log_identify(0, 0, 8);
	for (int i = 0; i < 3; i++)
		p3_once_per_job(P3_LOG_WARN, "once");
	errno = 77;
	p3_error("%0*d", 5000, 1);
	return errno != 77;
}

static void t_log_lines(void)
{
	char want[200], *at;
	int n = 0;

	CHECK_INT(scenario_run(&s, log_lines, NULL, NULL), 0);
	CHECK(!strstr(s.err_text, "not said") && !strstr(s.err_text, "never"));
	snprintf(want, sizeof(want), "ptl[rank 0 pid %d] warn: disk 3 is full\nptl[rank 3 node 1 pid %d] diag: chosen\n"
		 "ptl[rank 0 node 0 pid %d] warn: once (and 7 more ranks)\nptl[rank 0 node 0 pid %d] error: 0000", s.pid, s.pid,
		 s.pid, s.pid);
	CHECK_HAS(s.err_text, want);
	for (at = s.err_text; (at = strchr(at, '\n')); at++)
		n++;
	CHECK_INT(n, 4);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_defaults), T(t_values), T(t_bad_values_name_the_range), T(t_unknown_names_are_warned_about_with_the_nearest),
		T(t_known_names_that_are_no_settings_are_left_alone), T(t_table_shows_value_default_source_and_help),
		T(t_log_lines), { 0 }
	};

	for (char **e = environ; *e;) {		/* settings of whoever runs the tests */
		char name[80];
		size_t n = strcspn(*e, "=");

		if (!strncmp(*e, "PTL_", 4) && n < sizeof(name)) {
			snprintf(name, sizeof(name), "%.*s", (int)n, *e);
			unsetenv(name);
			e = environ;
		} else {
			e++;
		}
	}
	return t_run(cases);
}
