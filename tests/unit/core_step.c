/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * core_step.c - what p3l_swap_bytes() does to a word that is written meanwhile, at any of its instructions
 *
 * A child exchanges one word, stepped by ptrace. After its k-th step the word is written, as by a put of somebody else;
 * then it runs on. Whatever k is, nothing may be lost: either the exchange came first, and the word holds what was
 * written, or it came last, and brings back what was written.
 */
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core_env.h"
#include "../common/tap.h"

#define OLD 0x1111111111111111ull
#define NEW 0x2222222222222222ull
#define PUT 0x3333333333333333ull

static struct page { uint64_t word, buf; } *page;
enum { MANY = 5000 };

/* The child: stops, exchanges, stops. */
static void child(unsigned size)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(77);
	raise(SIGSTOP);
	p3l_swap_bytes(&page->word, &page->buf, size);
	raise(SIGSTOP);
	_exit(0);
}

static bool stopped(pid_t pid, int sig)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == sig;
}

/* One exchange, with a put after @k steps. Returns the steps made, fewer if it was over before; -1: cannot. */
static int one(unsigned size, int k)
{
	uint64_t mask = size == 8 ? ~0ull : 0xffffffffull, old, left;
	int n, status, sig = 0;
	pid_t pid;

	*page = (struct page){ OLD, NEW };
	pid = fork();
	if (!pid)
		child(size);
	if (!stopped(pid, SIGSTOP)) {
		kill(pid, SIGKILL);
		return -1;
	}
	for (n = 0; n < k; n++) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status))
			bail("the child does not step: status %x", status);
		sig = WSTOPSIG(status);
		if (sig == SIGSTOP)
			break;
	}
	__atomic_store_n(&page->word, PUT, __ATOMIC_SEQ_CST);
	if (sig != SIGSTOP && (ptrace(PTRACE_CONT, pid, NULL, NULL) || !stopped(pid, SIGSTOP)))
		bail("the child does not come to its end");
	old = page->buf & mask;
	left = page->word & mask;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (!(old == (OLD & mask) && left == (PUT & mask)) && !(old == (PUT & mask) && left == (NEW & mask))) {
		CHECK(!"a put is lost");
		diag("%u bytes, after %d steps: the exchange brought %llx and left %llx", size, n,
		     (unsigned long long)old, (unsigned long long)left);
	}
	return n;
}

static void at_each_instruction(unsigned size)
{
	int k = 0, n;

	do {
		n = one(size, k);
		if (n < 0)
			SKIP("ptrace is refused here");
		REQUIRE(k < MANY);
	} while (n == k++);
	CHECK(n > 10);			/* it has been stepped through */
}

static void t_a_put_of_a_word_is_never_lost_in_an_exchange(void)
{
	at_each_instruction(8);
}

static void t_a_put_of_half_a_word_is_never_lost_in_an_exchange(void)
{
	at_each_instruction(4);
}

int main(void)
{
	static const struct t_case cases[] = { T(t_a_put_of_a_word_is_never_lost_in_an_exchange),
					       T(t_a_put_of_half_a_word_is_never_lost_in_an_exchange), { 0 } };

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		bail("no memory");
	return t_run(cases);
}
