/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/* smap_exch_msg.h - what the files of the meeting (smap_exch*.c) share: messages, connections, each side's steps */
#ifndef SMAP_EXCH_MSG_H
#define SMAP_EXCH_MSG_H

#include "smap_exch.h"

#include <sys/socket.h>
#include <sys/un.h>

enum msg_type { M_CHALLENGE = 1, M_HELLO, M_START, M_JOIN, M_MAIL, M_FILES, M_TAKEN, M_READY, M_GO, M_ABORT };

struct smap_msg {
	uint32_t magic, version;	/* these two stay first in every version */
	uint32_t type;
	uint32_t rank, size;
	int32_t code;			/* ABORT: -errno */
	uint32_t bits;
	uint32_t flags;			/* READY, GO */
	int32_t pid;
	uint32_t first, count;		/* FILES: ranks whose files come with this message */
	uint32_t pad;
	uint64_t pid_ns, ctl_addr, nonce, mac;
	char text[256];			/* ABORT: a sentence */
};

#define NAMES		4		/* a stranger may sit on a name: then the next is taken */
#define FILES_AT_ONCE	16

struct smap_conn {
	int fd;				/* -1: none */
	int rank;			/* -1: has not said HELLO yet */
	int pid;
	int done;			/* has answered in this step */
	uint64_t nonce, their_nonce;
	int memfd;
	struct smap_msg msg;
};

/* smap_exch_msg.c, with comments there */
int64_t smap_exch_now(void);
int smap_exch_left(const struct smap_exch *x);
void smap_exch_nap(int ms);
socklen_t smap_exch_name(struct sockaddr_un *sa, const char *job, int i);
uint64_t smap_exch_proof(const struct smap_exch *x, char who, uint64_t nonce0, uint64_t nonce_r, uint32_t rank,
			 uint32_t v);
int smap_exch_same(uint64_t a, uint64_t b);
void smap_exch_msg(struct smap_msg *m, enum msg_type type);
int smap_exch_put(const struct smap_exch *x, int fd, const struct smap_msg *m, const int *fds, int n);
void smap_exch_drop(const int *fds, int *n);
int smap_exch_get(int fd, struct smap_msg *m, int *fds, int *n);
int smap_exch_is_no(const struct smap_exch *x, const struct smap_msg *m);
int smap_exch_cred(int fd, int *pid);
void smap_exch_say_no(const struct smap_exch *x, int fd, int code);
void smap_exch_abort(int fd, int code);
int smap_exch_fail_all(struct smap_exch *x, int code);
int smap_exch_refused(int e);
int smap_exch_why_refused(const char *call, int e);
int smap_exch_no_socket(void);
int smap_exch_code(int code);

/* smap_exch_up.c: ranks other than 0 */
int smap_up_wait(struct smap_exch *x, enum msg_type want, enum msg_type also, struct smap_msg *m, int *fds,
		 int *n);
int smap_up_put(struct smap_exch *x, const struct smap_msg *m, const int *fds, int n);
int smap_up_meet(struct smap_exch *x, int *bits);
int smap_up_share(struct smap_exch *x, int memfd, const struct smap_facts *own, int *box,
		  int (*got)(int rank, int fd));

/* smap_exch_all.c: rank 0 */
int smap_all_wait(struct smap_exch *x, enum msg_type want, int files);
int smap_all_listen(struct smap_exch *x);
int smap_all_meet(struct smap_exch *x, int *bits);
int smap_all_share(struct smap_exch *x, int memfd, const struct smap_facts *own, struct smap_member *member,
		   int *box, int (*got)(int rank, int fd));

#endif
