/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_exch.c - the last words of a rank at start are heard, whenever it closes its end
 *
 * A message is read from a real socket. What the other end does happens while the reader is in its system call, between
 * the kernel's look at the queue and its look whether the other end is open: there recvmsg() says "end of file" though
 * a message has come. (By chance that takes some thousand tries.)
 */
#include "tap.h"

#include <fcntl.h>

#include "../../nal/smartmap/smap_exch_msg.c"

struct smap_state smap;

static int ours, theirs;
static void (*amid)(void);		/* happens in the reader's next call */

static void say(enum msg_type type, int fd)
{
	struct smap_msg m;

	smap_exch_msg(&m, type);
	if (smap_send_fds(theirs, &m, sizeof(m), &fd, fd >= 0) != sizeof(m))
		bail("send");
}

static void say_go_and_close(void)
{
	say(M_GO, -1);
	close(theirs);
}

static void give_and_close(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	say(M_MAIL, fd);
	close(fd);
	close(theirs);
}

static void only_close(void)
{
	close(theirs);
}

/* As the kernel does it, with everybody at his worst moment. */
ssize_t smap_recv_fds(int sock, void *buf, size_t len, int *fds, int *n, int flags)
{
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE(4 * sizeof(int))];
	struct iovec iov = { buf, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t r;

	if (amid) {
		void (*act)(void) = amid;

		amid = NULL;
		r = recv(sock, buf, len, flags);
		if (r >= 0 || errno != EAGAIN)
			bail("there is something in the queue");
		act();
		if (n)
			*n = 0;
		return 0;
	}
	if (n && *n) {
		m.msg_control = ctl;
		m.msg_controllen = CMSG_LEN((size_t)*n * sizeof(int));
	}
	r = recvmsg(sock, &m, flags | MSG_CMSG_CLOEXEC);
	if (r < 0)
		return -errno;
	c = m.msg_control ? CMSG_FIRSTHDR(&m) : NULL;
	if (n)
		*n = c ? (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
	if (c)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return r;
}

ssize_t smap_send_fds(int sock, const void *buf, size_t len, const int *fds, int n)
{
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n == 1) {
		struct cmsghdr *c = (struct cmsghdr *)ctl;

		m.msg_control = ctl;
		m.msg_controllen = sizeof(ctl);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				       .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(c), fds, sizeof(int));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

uint64_t smap_mac(const uint8_t key[16], const void *data, size_t len)
{
	return 0;
}

int smap_why_nofile(void)
{
	return -ENOMEM;
}

void smap_why_set(enum smartmap_feature f, const char *fmt, ...)
{
}

static void pair(void)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		bail("socketpair");
	ours = sv[0];
	theirs = sv[1];
}

static void t_a_message_and_its_end_at_once(void)
{
	struct smap_msg m;

	pair();
	amid = say_go_and_close;
	CHECK_INT(smap_exch_get(ours, &m, NULL, NULL), 1);
	CHECK_INT(m.type, M_GO);
	CHECK_INT(smap_exch_get(ours, &m, NULL, NULL), -ESRCH);
	close(ours);
}

static void t_its_file_comes_with_it(void)
{
	struct smap_msg m;
	int fds[2], n = 2;

	pair();
	amid = give_and_close;
	CHECK_INT(smap_exch_get(ours, &m, fds, &n), 1);
	CHECK_INT(m.type, M_MAIL);
	if (CHECK_INT(n, 1))
		CHECK(!close(fds[0]));
	close(ours);
}

static void t_unread_words_of_ours(void)
{
	struct smap_msg m;

	pair();
	smap_exch_msg(&m, M_READY);
	CHECK_INT(smap_send_fds(ours, &m, sizeof(m), NULL, 0), sizeof(m));
	say_go_and_close();
	CHECK_INT(smap_exch_get(ours, &m, NULL, NULL), 1);
	CHECK_INT(m.type, M_GO);
	close(ours);
}

static void t_an_end_is_an_end(void)
{
	struct smap_msg m;
	int fds[2], n = 2;

	pair();
	CHECK_INT(smap_exch_get(ours, &m, fds, &n), 0);
	n = 2;
	amid = only_close;
	CHECK_INT(smap_exch_get(ours, &m, fds, &n), -ESRCH);
	CHECK_INT(n, 0);
	close(ours);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_a_message_and_its_end_at_once), T(t_its_file_comes_with_it), T(t_unread_words_of_ours),
		T(t_an_end_is_an_end), { 0 }
	};

	return t_run(cases);
}
