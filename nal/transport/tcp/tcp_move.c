/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tcp_move.c - frames over connections that are made; see tcp.h
 *
 * In. A connection has a buffer; frames that are short, or whose user says so, are delivered from there. The payload of
 * a long one is read where the user wants it, together with the header of the next (user->where): the rest of the frame
 * that is coming is `left`. Where long frames come, no more is read into the buffer than belongs to one frame, or their
 * payloads would be copied out of it.
 *
 * Out. What the kernel does not take of a frame is kept: a copy of it, or, where it stays, where it stands. A page that
 * is not there (EFAULT) is the sending user's affair: zeroes go, and he is told.
 *
 * What moves frames runs in borrowers, too: it takes descriptors from tcp_fd(), its struct tcp from its caller, never
 * from a connection, and leaves libev alone where there is no loop.
 */
#include "tcp_int.h"

#define IN_READ		(64U << 10)	/* bytes of short frames that are read at once */
#define IN_AHEAD	1024U		/* read beyond a header, where long frames come */
#define IN_EXACT	4U		/* frames after a long one for which that holds */
#define OUT_VECS	128U

/* ---- in ---- */

/* The user's answer to a header whose payload has not come, all of it; false: close. */
static bool begin(struct tcp *t, struct tcp_in *c, const uint8_t *frame, uint32_t n, uint32_t here)
{
	switch (t->user->begin(t->ctx, c->rank, frame, &c->part)) {
	case TCP_PIECES:
		c->left = n - here;
		c->exact = IN_EXACT;
		if (here > WIRE_HDR)
			t->user->piece(t->ctx, c->part, frame + WIRE_HDR, here - WIRE_HDR);
		return true;
	case TCP_WHOLE:
		c->whole = true;
		return true;
	}
	return false;
}

/* What is in the buffer is delivered, but for a frame that is not all there. False: no more of it. */
bool tcp_deliver(struct tcp *t, struct tcp_in *c)
{
	uint32_t at = 0;
	bool good = true;

	while (c->have - at >= WIRE_HDR) {
		uint32_t n = wire_frame_len(c->buf + at);

		if (!n || t->out[c->rank].state == TCP_GONE) {	/* nonsense; or it has been given up */
			good = false;
			break;
		}
		if (t->lent && !t->user->ours(t->ctx, c->buf + at)) {
			t->out[c->rank].waits = true;
			break;
		}
		if (c->have - at < n) {
			if (n - WIRE_HDR > IN_LONG && !c->whole && t->user->begin)
				good = begin(t, c, c->buf + at, n, c->have - at);
			if (c->left)
				at = c->have;
			break;
		}
		if (!t->user->frame(t->ctx, c->rank, c->buf + at, n)) {
			good = false;
			break;
		}
		c->whole = false;
		if (c->exact)
			c->exact--;
		at += n;
	}
	memmove(c->buf, c->buf + at, c->have - at);
	c->have -= at;
	return good;
}

/* How much may go to the buffer. */
static uint32_t wanted(const struct tcp_in *c)
{
	uint32_t n = IN_READ;

	if (c->exact && c->have < WIRE_HDR)
		n = WIRE_HDR + IN_AHEAD - c->have;
	else if (c->have >= WIRE_HDR && (c->exact || c->whole))
		n = wire_frame_len(c->buf) - c->have + WIRE_HDR;
	return n < IN_BUF - c->have ? n : IN_BUF - c->have;
}

/* More of the frame that comes in pieces; the header of the next. @all: it was as much as was wanted */
static ssize_t read_pieces(struct tcp *t, struct tcp_in *c, bool *all)
{
	struct wire_vec w[TCP_SEGS];
	struct iovec v[TCP_SEGS + 1];
	uint32_t n = t->user->where(t->ctx, c->part, w, TCP_SEGS), there = 0, mine = 0, most;
	ssize_t got;

	for (uint32_t i = 0; i < n; i++) {
		v[i] = (struct iovec){ w[i].at, w[i].len };
		there += (uint32_t)w[i].len;
	}
	if (!n) {
		mine = c->left < IN_READ ? c->left : IN_READ;
		v[n++] = (struct iovec){ c->buf, mine };
	}
	if (there + mine == c->left)
		v[n++] = (struct iovec){ c->buf + mine, WIRE_HDR };
	most = there + mine + (there + mine == c->left ? WIRE_HDR : 0);
	got = recvmsg(tcp_fd(t, c->rank), &(struct msghdr){ .msg_iov = v, .msg_iovlen = n }, MSG_DONTWAIT);
	if (got < 0 && errno == EFAULT && there) {
		t->user->unplaced(t->ctx, c->part);
		errno = EAGAIN;		/* once more: it goes to the buffer now */
		*all = true;
		return -1;
	}
	*all = got == (ssize_t)most;
	if (got <= 0)
		return got;
	most = (uint32_t)got < there + mine ? (uint32_t)got : there + mine;
	c->left -= most;
	c->have = (uint32_t)got - most;
	t->user->piece(t->ctx, c->part, there ? NULL : c->buf, most);
	if (c->have && mine)
		memmove(c->buf, c->buf + mine, c->have);
	return got;
}

/* Once: READ_*, and for an end, errno or 0 in @err. @more: there may be more, and it is worth a look. */
int tcp_in_read(struct tcp *t, struct tcp_in *c, bool *more, int *err)
{
	struct tcp_out *o = &t->out[c->rank];
	ssize_t n;

	*more = false;
	if (o->waits) {			/* what is there comes first: wanted() counts on there being no whole frame */
		o->waits = false;
		if (!c->left && !tcp_deliver(t, c))
			return READ_BAD;
		if (o->waits)
			return READ_ON;
	}
	if (c->left) {
		if (o->state == TCP_GONE)
			return READ_BAD;
		n = read_pieces(t, c, more);
	} else {
		uint32_t most = wanted(c);

		n = recv(tcp_fd(t, c->rank), c->buf + c->have, most, MSG_DONTWAIT);
		*more = n == (ssize_t)most;
		if (n > 0)
			c->have += (uint32_t)n;
	}
	if (n < 0 && tcp_try_again(errno))
		return READ_ON;
	if (n <= 0) {
		*err = n < 0 ? errno : 0;
		return READ_ENDED;
	}
	c->reads++;
	return c->left || tcp_deliver(t, c) ? READ_ON : READ_BAD;
}

/* ---- out ---- */

/* @n bytes of what is kept have gone. */
static void flushed(struct tcp_out *o, size_t n)
{
	size_t k = o->rest_len - o->rest_at;
	uint32_t i = 0;

	k = n < k ? n : k;
	o->rest_at += (uint32_t)k;
	n -= k;
	for (; i < o->n_late && n >= o->late[i].len; i++)
		n -= o->late[i].len;
	if (i < o->n_late) {
		o->late[i].at = (char *)o->late[i].at + n;
		o->late[i].len -= n;
		n = 0;
	}
	o->n_late -= i;
	memmove(o->late, o->late + i, o->n_late * sizeof(*o->late));
	o->zeroes -= (uint32_t)n;
}

/* What is kept may stand where another process has seen it: find it here. False: it is not to be had any more. */
static bool find_late(struct tcp *t, struct tcp_out *o)
{
	for (uint32_t i = 0; i < o->n_late; i++) {
		o->late[i].at = t->user->there(t->ctx, o->by, o->late[i].at, o->late[i].len);
		if (!o->late[i].at)
			return false;
	}
	o->by = t->id;
	return true;
}

/* What is kept goes on; false: the connection is broken, err says why. */
bool tcp_flush_rest(struct tcp *t, struct tcp_out *o)
{
	static const uint8_t zeroes[4096];

	if (o->n_late && o->by != t->id) {
		if (!t->user->there)
			return true;		/* the owner does it */
		if (!find_late(t, o)) {		/* its process is dead */
			o->err = ESRCH;
			return false;
		}
	}
	while (!tcp_clear(o)) {
		struct iovec v[2 + TCP_SEGS];
		struct msghdr m = { .msg_iov = v };
		ssize_t n;

		if (o->rest_at < o->rest_len)
			v[m.msg_iovlen++] = (struct iovec){ o->rest + o->rest_at, o->rest_len - o->rest_at };
		for (uint32_t i = 0; i < o->n_late; i++)
			v[m.msg_iovlen++] = (struct iovec){ o->late[i].at, o->late[i].len };
		if (o->zeroes)
			v[m.msg_iovlen++] = (struct iovec){ (void *)(uintptr_t)zeroes,
				o->zeroes < sizeof(zeroes) ? o->zeroes : sizeof(zeroes) };
		n = sendmsg(tcp_fd(t, o->rank), &m, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EFAULT && o->n_late) {	/* zeroes go in place of memory that is not there */
			for (uint32_t i = 0; i < o->n_late; i++)
				o->zeroes += (uint32_t)o->late[i].len;
			o->n_late = 0;
			t->user->fault(t->ctx, o->whose, o->tag);
			continue;
		}
		if (n < 0 && tcp_try_again(errno))
			return true;
		if (n < 0) {
			o->err = errno;
			return false;
		}
		flushed(o, (size_t)n);
	}
	o->rest_at = o->rest_len = 0;
	return true;
}

/* Of @f, @went bytes have gone: keep the others, which stand where process @by sees them. */
static void keep(struct tcp_out *o, const struct wire_frame *f, size_t went, uint32_t by)
{
	if (went < WIRE_HDR) {
		memcpy(o->rest, f->hdr + went, WIRE_HDR - went);
		o->rest_len = (uint32_t)(WIRE_HDR - went);
		went = 0;
	} else {
		went -= WIRE_HDR;
	}
	for (uint32_t i = 0; i < f->n; i++) {
		size_t skip = went < f->v[i].len ? went : f->v[i].len, n = f->v[i].len - skip;
		const char *at = (const char *)f->v[i].at + skip;

		went -= skip;
		if (n && f->stays) {
			o->late[o->n_late++] = (struct wire_vec){ (void *)(uintptr_t)at, n };
		} else if (n) {
			memcpy(o->rest + o->rest_len, at, n);
			o->rest_len += (uint32_t)n;
		}
	}
	o->whose = f->whose;
	o->tag = f->tag;
	o->by = by;
}

/* @n frames, or as many as fit into a call, to the kernel: bytes, or -1. */
static ssize_t to_kernel(int fd, const struct wire_frame *f, uint32_t *n)
{
	struct iovec v[OUT_VECS];
	struct msghdr m = { .msg_iov = v };
	uint32_t i;
	ssize_t r;

	for (i = 0; i < *n && m.msg_iovlen + 1 + f[i].n <= OUT_VECS; i++) {
		v[m.msg_iovlen++] = (struct iovec){ (void *)(uintptr_t)f[i].hdr, WIRE_HDR };
		for (uint32_t k = 0; k < f[i].n; k++)
			v[m.msg_iovlen++] = (struct iovec){ f[i].v[k].at, f[i].v[k].len };
	}
	*n = i;
	do
		r = sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (r < 0 && errno == EINTR);
	return r;
}

uint32_t tcp_send_some(struct tcp *t, uint32_t rank, const struct wire_frame *f, uint32_t n, bool *fault)
{
	struct tcp_out *o = &t->out[rank];
	uint32_t took = 0, now;
	ssize_t r;

	if (o->state == TCP_IDLE && !t->loop)
		o->wanted = true;
	else if (o->state == TCP_IDLE)
		tcp_connect_first(o);
	if (o->state != TCP_READY)
		return 0;
	if (!tcp_clear(o) || (t->lent && !tcp_has(t, rank))) {
		o->full = true;
		return 0;
	}
	for (; took < n; took += now) {
		now = n - took;
		r = to_kernel(tcp_fd(t, o->rank), f + took, &now);
		if (r < 0 && errno == EFAULT && now > 1) {	/* whose is it? One at a time */
			now = 1;
			r = to_kernel(tcp_fd(t, o->rank), f + took, &now);
		}
		if (r < 0 && errno == EFAULT) {
			*fault = true;
			return took;
		}
		if (r < 0 && !tcp_try_again(errno)) {
			o->err = errno;		/* whoever reads sees the end, but maybe not why */
			return took;
		}
		for (size_t went = r < 0 ? 0 : (size_t)r; now; now--, took++) {
			if (went < WIRE_HDR + f[took].len) {
				if (went)
					keep(o, &f[took++], went, t->id);
				o->full = true;
				if (t->loop && !o->watched) {
					tcp_watch_room(o);
					tcp_nudge(t);
				}
				return took;
			}
			went -= WIRE_HDR + f[took].len;
		}
	}
	return took;
}

int tcp_send(struct tcp *t, uint32_t rank, const void *hdr, const void *payload, uint32_t len)
{
	struct wire_vec v = { (void *)(uintptr_t)payload, len };
	struct wire_frame f = { .hdr = hdr, .v = &v, .n = len != 0, .len = len };
	bool fault = false;

	return tcp_send_some(t, rank, &f, 1, &fault) != 1;
}

/* ---- a borrower ---- */

/* True: something has come. */
static bool borrower_reads(struct tcp *t, struct tcp_out *o)
{
	struct tcp_in *c = o->in;
	uint32_t reads = c->reads, have = c->have;
	bool more = true;

	for (int i = 0; i < IN_TURNS && more && !o->hurt; i++) {
		if (c->left && !t->user->ours_part(t->ctx, c->part)) {
			o->waits = true;
			break;
		}
		o->hurt = (uint8_t)tcp_in_read(t, c, &more, &o->in_err);
		if (o->waits)
			break;
	}
	return c->reads != reads || c->have != have;
}

bool tcp_look(struct tcp *t, uint32_t rank)
{
	struct tcp_out *o = &t->out[rank];
	bool moved = o->in && o->hurt == READ_ON && borrower_reads(t, o);

	if (o->full && o->state == TCP_READY && tcp_flush_rest(t, o) && tcp_clear(o)) {
		t->user->writable(t->ctx, rank);	/* ours; the owner tells the others */
		moved = true;
	}
	return moved;
}
