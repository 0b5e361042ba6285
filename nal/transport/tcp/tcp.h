/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tcp.h - frames between the processes of a job, over TCP
 *
 * A process listens at one port, and connects to another when it has a frame for it, unless that has connected to it.
 * A connection carries frames both ways, so that what acknowledges bytes to the kernel there goes along with an answer
 * and is no packet of its own. Before the first frame both sides prove that they have the job's key (tcp_auth.c); a
 * process without it learns nothing and delivers nothing.
 *
 * Everything runs in the caller's libev loop, under the caller's lock: the loop gives the lock up while it sleeps,
 * and tcp_send() is called with it held, from any thread. Nothing here blocks.
 *
 * A borrower is another process that moves frames over connections that are made, under the same lock: it has the same
 * struct tcp_out[] mapped at the same address (tcp.room), descriptors of its own for the same sockets, and no loop.
 * What is more than moving frames, it leaves to the owner: connections that are to be made (wanted), that wait for room
 * (full), or that have ended (hurt).
 */
#ifndef TCP_H
#define TCP_H

#include <ev.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/wire.h"

#define TCP_ADDRS 4
#define TCP_WHY_TEXT 160
#define TCP_SEGS 9			/* pieces of memory that one frame is read from, or written to, at once */

/* Where a process can be reached. */
struct tcp_place {
	uint16_t port;
	uint32_t n;
	struct in6_addr addr[TCP_ADDRS];	/* IPv4: ::ffff:a.b.c.d */
};

/* Where one listens: in6addr_any alone: everywhere. */
struct tcp_bind {
	uint32_t n;
	struct in6_addr addr[TCP_ADDRS];
};

struct tcp_user {
	/* Bytes of one frame from @rank; false: they make no sense, close. */
	bool (*frame)(void *ctx, uint32_t rank, const uint8_t *bytes, uint32_t n);
	/*
	 * The header of a frame has come, its payload has not. TCP_WHOLE: frame() when it is all there; TCP_NO: close;
	 * TCP_PIECES: piece(), as it comes, @part being what stands in *@part now. Before each read where() says where
	 * the next bytes are wanted: so many entries of @v, at most @max; 0: bring them. piece() gets @n bytes, or NULL
	 * when they have been put there; unplaced() hears that they could not be.
	 */
	int (*begin)(void *ctx, uint32_t rank, const uint8_t *hdr, uint64_t *part);
	uint32_t (*where)(void *ctx, uint64_t part, struct wire_vec *v, uint32_t max);
	void (*piece)(void *ctx, uint64_t part, const uint8_t *bytes, uint32_t n);
	void (*unplaced)(void *ctx, uint64_t part);
	void (*fault)(void *ctx, void *whose, uint64_t tag);	/* of a frame that stays: zeroes went instead */
	void (*writable)(void *ctx, uint32_t rank);	/* tcp_send() has room again */
	/* likewise, over a new connection: all that has not been acknowledged is to be sent again */
	void (*resumed)(void *ctx, uint32_t rank);
	/* it will never be there again; all that it sent has been delivered. tcp.out[rank] says why: met, err, addr */
	void (*gone)(void *ctx, uint32_t rank);
	bool (*known)(void *ctx, uint32_t rank);	/* may this rank send to us? */
	void (*warn)(void *ctx, const char *text);	/* the user of this process should know; NULL: nobody will */
	const struct tcp_place *(*place)(void *ctx, uint32_t rank);
	/* A borrower: may it take this frame, of which the header is there; this part? Else it leaves what has come. */
	bool (*ours)(void *ctx, const uint8_t *hdr);
	bool (*ours_part)(void *ctx, uint64_t part);
	/* The owner: where memory that process @by has named @at is here; NULL: it is not to be had any more. */
	void *(*there)(void *ctx, uint32_t by, void *at, size_t len);
};

enum { TCP_NO, TCP_WHOLE, TCP_PIECES };		/* as enum fr_way */

struct tcp_in;

struct tcp_out {
	struct tcp *t;
	uint32_t rank;
	int fd;
	uint8_t state;			/* enum tcp_state */
	uint8_t tried;			/* addresses */
	uint8_t again;			/* handshakes that have failed, AGAIN at most */
	bool watched;
	ev_io io;
	ev_timer timer;			/* until it is connected, or tried again */
	bool ready;			/* frames have been sent over one */
	bool resuming;			/* for an end that has come, @broke, until: */
	double until;			/* a handshake is tried again, or a connection that has ended */
	int broke;
	uint8_t nonce[16], hello[128];	/* handshake */
	uint32_t got;
	/* Of a frame that went half: bytes of our own, then those that stay where they are, or (they did not) zeroes */
	uint8_t *rest;
	uint32_t rest_len, rest_at;
	struct wire_vec late[TCP_SEGS];
	uint32_t n_late;
	uint32_t zeroes;
	void *whose;
	uint64_t tag;
	uint32_t by;			/* tcp.id of whoever has named their memory */
	struct tcp_in *in;		/* what comes over it, while there is one (TCP_READY) */
	struct tcp_in *seat;		/* where that stands, for good */
	uint32_t serial;		/* of what a borrower would get: changes with each descriptor; 0: nothing yet */
	bool wanted;			/* a borrower has a frame for it, and there is no connection */
	bool full;			/* a frame found no room */
	uint8_t hurt;			/* a borrower has read to its end (errno, or 0), or nonsense */
	int in_err;
	bool waits;			/* a borrower has left something that has come */
	bool met;			/* there has been a connection, either way */
	uint8_t refused;		/* handshakes that have ended after our hello, */
	bool turned;			/* and one at an address before the one that is tried */
	uint8_t why;			/* enum tcp_why, and what came instead */
	uint32_t why_is;
	int err;			/* why there is none (any more); 0: it was closed */
	struct in6_addr addr;		/* the last that was tried */
};
/* BROKEN: it cannot be reached, which the loop is still to tell. */
enum tcp_state { TCP_IDLE, TCP_CONNECTING, TCP_GREETING, TCP_WELCOME, TCP_READY, TCP_AGAIN, TCP_BROKEN, TCP_GONE };

/* What a handshake that has failed has found. */
enum tcp_why {
	TCP_WHY_ERR,			/* tcp_out.err says it */
	TCP_WHY_CLOSED,			/* an end before anything was said */
	TCP_WHY_FULL,			/* the other process has no room: why_is its errno */
	TCP_WHY_STRANGE,		/* no greeting: why_is its first bytes */
	TCP_WHY_VERSION,		/* a greeting of version why_is */
	TCP_WHY_REFUSED,		/* an end after our hello */
	TCP_WHY_KEY			/* a wrong proof of the key */
};

struct tcp_lent {
	uint32_t serial;		/* as in tcp_out when it was lent; 0: not */
	int fd;				/* or -1 */
};

struct tcp {
	struct ev_loop *loop;		/* NULL: a borrower */
	const struct tcp_user *user;
	void *ctx;
	uint8_t key[16];
	uint32_t rank, size;
	double patience;		/* seconds for a connection */
	uint32_t listens;		/* so many of these */
	int fd[TCP_ADDRS];
	ev_io listener[TCP_ADDRS];
	ev_async async;
	ev_timer pulse;
	bool accepting;
	ev_timer pause;			/* until the listeners are looked at again */
	int reserve;			/* a descriptor for whoever must hear that there is none left; or -1 */
	uint32_t strangers;		/* connections that have proved nothing yet */
	struct tcp_in *ins;
	struct tcp_out *out;		/* [size] */
	/* Zeroed memory for what borrowers see, which stays; NULL: there is none left. No function: no borrowers. */
	void *(*room)(void *arg, size_t n);
	void *room_arg;
	struct tcp_lent *lent;		/* [size] a borrower's descriptors */
	uint32_t id;			/* of this process, where there are borrowers */
	uint32_t changes;		/* of any serial */
	uint64_t refused;		/* connections without the key */
	uint8_t warned;			/* user->warn() has been called for these: of each kind once */
};

/*
 * Listen at @at, at the first one of @n @ports (host order; 0: any) that is free on all of these: how many descriptors,
 * in @fds, or -errno. The port goes to *@port.
 */
int tcp_listen(const struct tcp_bind *at, const uint16_t *ports, int n, uint16_t *port, int fds[TCP_ADDRS]);
/*
 * Likewise: 0 or -errno; or, where t->fd[] are there (t->listens), at these. Who takes the place of a process that has
 * died gives t->out as that has left it: what was connected is connected to anew, and user->resumed() follows.
 */
int tcp_start(struct tcp *t, const struct tcp_bind *at, const uint16_t *ports, int n, uint16_t *port);
/* Let others in, or leave them waiting in the kernel. */
void tcp_accepting(struct tcp *t, bool on);
/* Can anybody here reach @addr, one of this machine's? 0, or an errno. */
int tcp_reach(const struct in6_addr *addr);
/*
 * Give the link frames for @rank, in order: how many it took; less than all: no room now, tcp_user.writable() or gone()
 * follows. What does not stay is the caller's again, and at most WIRE_PAYLOAD bytes. *@fault: bytes of the first one
 * that was not taken are not there.
 */
uint32_t tcp_send_some(struct tcp *t, uint32_t rank, const struct wire_frame *f, uint32_t n, bool *fault);
/* Give the link a frame for @rank: 0, or 1: no room now; tcp_user.writable() or gone() follows. The payload is
 * there. */
int tcp_send(struct tcp *t, uint32_t rank, const void *hdr, const void *payload, uint32_t len);
void tcp_stop(struct tcp *t);

/* Bytes that tcp.room() is asked for at most, each to a whole line. */
uint64_t tcp_room(uint32_t size);
/* To borrowers: what @rank's connection is now. The descriptor stays the owner's. */
struct tcp_lent tcp_lend(const struct tcp *t, uint32_t rank);
/* The owner reads nothing any more, or again: somebody else does. */
void tcp_rest(struct tcp *t, bool on);
/* The owner does what borrowers have left to it. */
void tcp_serve(struct tcp *t);
/* A borrower has died amid a look, or a send: all that is half done is given up. */
void tcp_cut(struct tcp *t);
/* A borrower has the descriptor that @rank's connection is now. */
static inline bool tcp_has(const struct tcp *t, uint32_t rank)
{
	return t->lent[rank].serial == t->out[rank].serial;
}
/* Is there something that only the owner can do? */
bool tcp_due(const struct tcp *t);
/* A borrower that has them: read what has come from @rank, send what could not go. True: something has moved. */
bool tcp_look(struct tcp *t, uint32_t rank);

/* In the child of a fork: the connections are the parent's. */
void tcp_forget(struct tcp *t);

/* Why there is no connection to @o: half a sentence. */
const char *tcp_why(const struct tcp_out *o, char text[TCP_WHY_TEXT]);

/* tcp_addr.c */
bool tcp_addr_parse(const char *text, struct in6_addr *a);
const char *tcp_addr_text(const struct in6_addr *a, char text[INET6_ADDRSTRLEN]);
bool tcp_addr_loopback(const struct in6_addr *a);
struct in6_addr tcp_addr_four(struct in_addr four);
bool tcp_addr_in(const struct in6_addr *a, const struct in6_addr *net, unsigned bits);
bool tcp_addr_of(const struct sockaddr_storage *sa, struct in6_addr *a, uint16_t *port);
socklen_t tcp_addr_socket(const struct in6_addr *a, uint16_t port, struct sockaddr_storage *to);

/* tcp_auth.c: proof of the key, @n bytes of @msg: 16 bytes to @mac */
void tcp_mac(const uint8_t key[16], const void *msg, size_t n, uint8_t mac[16]);
bool tcp_same(const uint8_t a[16], const uint8_t b[16]);	/* in the same time, equal or not */
uint64_t tcp_siphash(const uint8_t key[16], const void *msg, size_t n);

#endif
