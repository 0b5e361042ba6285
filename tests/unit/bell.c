/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * bell.c - an engine's doorbell: descriptors that a stranger sends do not stay
 *
 * Its name follows from the job's key, but any process of the machine can read the names of sockets.
 */
#include "../common/tap.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../nal/ap/ap.h"

static struct ap_card *card;
static int bell, ours;

static int open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	if (!d)
		bail("no /proc");
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* A datagram of one byte with @n descriptors, to the engine. */
static void send_fds(char what, size_t n)
{
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE(8 * sizeof(int))] = { 0 };
	struct iovec iov = { &what, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int fd[8];

	for (size_t i = 0; i < n; i++)
		fd[i] = ours;
	if (n) {
		struct cmsghdr *c = (struct cmsghdr *)(void *)ctl;

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fd, n * sizeof(int));
		m.msg_control = ctl;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	REQUIRE_INT(sendmsg(ours, &m, 0), 1);
}

static void t_descriptors_do_not_stay(void)
{
	struct ap_loan none = { .lent = { .fd = -1 } };
	int before = open_files();

	for (size_t n = 0; n <= 8; n++) {
		send_fds(n % 2 ? '!' : '?', n);
		ap_bell_hear(bell, card, &none);
		CHECK_INT(open_files(), before);
	}
}

static void t_who_is_no_rank_gets_no_answer(void)
{
	struct ap_loan l, some = { .lent = { .fd = bell } };

	send_fds('?', 0);
	ap_bell_hear(bell, card, &some);
	CHECK(!ap_bell_take(ours, &l));
	card->n_local = 1;
	card->rank[0].os_pid = getpid();
	send_fds('?', 0);
	ap_bell_hear(bell, card, &some);
	CHECK(ap_bell_take(ours, &l));
	CHECK(l.lent.fd >= 0 && l.lent.fd != bell);
	close(l.lent.fd);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_descriptors_do_not_stay), T(t_who_is_no_rank_gets_no_answer), { 0 }
	};

	card = calloc(1, sizeof(*card));
	if (!card || !(card->rank = calloc(1, sizeof(*card->rank))))
		bail("no memory");
	card->nodes = 1;
	snprintf(card->job, sizeof(card->job), "unit-bell-%d", (int)getpid());
	bell = ap_bell_open(card);
	ours = ap_bell_find(card);
	if (bell < 0 || ours < 0)
		bail("no sockets");
	return t_run(cases);
}
