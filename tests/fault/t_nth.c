/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_nth.c - the n-th call that asks the system for something fails, for every n, over the life of a job of two ranks
 *
 *	t_nth SCENE [CLASS...]		SCENE: node (SMARTMAP), far (the same, memory out of reach: process_vm_*),
 *					nodes (two virtual nodes, TCP), loop (PTL_NAL=loop); no CLASS: all but kill
 *
 * For each class of calls and each rank: n = 1, 2, 3 ... until a life in which no n-th call was made any more. Each
 * call of Portals in which one fails answers what its manual says, and nothing then hangs: neither the rank itself nor
 * the other. What was refused works when it is asked for again, since the failure was one: the interface opens, and the
 * life goes on to its end. Afterwards the process has the descriptors, threads, mappings and blocks of memory that it
 * has after a life without failures.
 *
 * Class kill: instead of failing, the n-th call ends its process (SIGKILL). The other ends each of its own calls in
 * bounded time, has a SEND_END for each put, closes, and leaves nothing.
 *
 * malloc and its kin are defined here, in front of the C library's. System calls are failed by this process, to whom
 * the kernel hands them (SECCOMP_RET_USER_NOTIF, Linux 5.5): those of the C library's inside and of syscall() as well.
 * Not failed: what gives back (munmap, close); what cannot fail (getpid, write to an eventfd); the locks of the C
 * library (futex), who would end the process; epoll_ctl, of which libev says nothing to us (CAVEATS).
 */
#include "../common/tap.h"

#include <dirent.h>
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <p3rt/p3rt.h>
#include <portals3.h>

#define CTL_FD	99			/* the filter lets calls on it pass */
#define RANKS	2
#define BOUND	4.0			/* seconds for a life, and less than PTL_INIT_TIMEOUT_S */
#define PT	4

/* ---- what can fail ---- */

struct call {
	const char *name;
	long nr;
	int err;
};
#define C(name, err) { #name, SYS_##name, err }

static const struct call map_calls[] = {
	C(mmap, ENOMEM), C(mremap, ENOMEM), C(mprotect, ENOMEM), C(madvise, ENOMEM), C(memfd_create, EMFILE),
	C(ftruncate, ENOMEM), C(fallocate, ENOMEM), C(mincore, EAGAIN), { 0 }
};
static const struct call attach_calls[] = {
	C(socket, EMFILE), C(socketpair, EMFILE), C(connect, ENOMEM), C(bind, ENOMEM), C(listen, ENOMEM),
	C(accept4, EMFILE), C(recvmsg, ENOMEM), C(sendmsg, ENOBUFS), C(getsockopt, ENOMEM), C(setsockopt, ENOMEM),
	C(openat, EMFILE), C(pread64, EIO), C(dup, EMFILE), C(fcntl, ENOMEM), C(process_vm_readv, ENOMEM),
	C(process_vm_writev, ENOMEM), C(getrandom, EAGAIN), C(membarrier, EPERM), C(prctl, EINVAL),
	C(getsockname, ENOBUFS), { 0 }
};
static const struct call make_calls[] = {
	C(clone, EAGAIN), C(clone3, EAGAIN), C(epoll_create1, EMFILE), C(eventfd2, EMFILE), C(timerfd_create, EMFILE),
	C(pipe2, EMFILE), { 0 }
};
static const struct call send_calls[] = {
	C(writev, ENOBUFS), C(sendto, ENOBUFS), C(sendmsg, ENOBUFS), C(recvfrom, ENOMEM), C(read, EIO), { 0 }
};
/* a signal: what waits is interrupted, and goes on */
static const struct call wait_calls[] = {
#ifdef SYS_poll		/* arm64 has only the others */
	C(poll, EINTR), C(epoll_wait, EINTR),
#endif
	C(ppoll, EINTR), C(epoll_pwait, EINTR), C(nanosleep, EINTR),
	C(clock_nanosleep, EINTR), C(accept4, EINTR), C(recvmsg, EINTR), C(sendmsg, EINTR), C(recvfrom, EINTR),
	C(sendto, EINTR), C(writev, EINTR), C(read, EINTR), { 0 }
};

/* where the process is killed instead: the steps of attaching, of the network, and of leaving */
static const struct call kill_calls[] = {
	C(socket, 0), C(connect, 0), C(bind, 0), C(listen, 0), C(accept4, 0), C(recvmsg, 0), C(sendmsg, 0),
	C(memfd_create, 0), C(ftruncate, 0), C(process_vm_readv, 0), C(process_vm_writev, 0), C(membarrier, 0),
	C(clone, 0), C(clone3, 0), C(epoll_create1, 0), C(eventfd2, 0), C(recvfrom, 0), C(sendto, 0), C(writev, 0),
	C(read, 0), C(munmap, 0), { 0 }
};

static const struct class {
	const char *name;
	const struct call *calls;	/* NULL: malloc and its kin */
	int kills;
} classes[] = {
	{ "alloc", NULL, 0 }, { "map", map_calls, 0 }, { "attach", attach_calls, 0 }, { "make", make_calls, 0 },
	{ "send", send_calls, 0 }, { "wait", wait_calls, 0 }, { "kill", kill_calls, 1 },
};

/* ---- what the processes share ---- */

struct state {				/* of a process, at the end of its life */
	int fds, threads, lines;
	long vm_mb, blocks;
};

static struct shared {
	_Atomic int armed, count, at;	/* victim's calls: counted, and which one fails */
	int victim, by_malloc;
	int nr;				/* what failed */
	_Atomic int step[RANKS];	/* of the life */
	_Atomic int done[RANKS];
	int aborted;			/* libev has ended the victim */
	int kills, killed;		/* we are to, we have */
	_Atomic int broken;		/* a rank is gone, or one thinks so */
	char where[RANKS][64];		/* in which call it is */
	char what[RANKS][300];		/* what was wrong */
	struct state end[RANKS];
} *sh;

static const char *scene;
static int me = -1;			/* rank; -1: the parent */
static int nodes, alone, aborted;
static _Atomic long blocks;

/* ---- malloc ---- */

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);
#pragma GCC visibility push(default)

static int fails(void)
{
	if (me < 0 || !sh->by_malloc || sh->victim != me || !atomic_load(&sh->armed))
		return 0;
	if (atomic_fetch_add(&sh->count, 1) + 1 != sh->at)
		return 0;
	if (getenv("T_STOP"))
		raise(SIGSTOP);
	errno = ENOMEM;
	return 1;
}

static void *got(void *p)
{
	if (p)
		atomic_fetch_add(&blocks, 1);
	return p;
}

void *malloc(size_t n)
{
	return fails() ? NULL : got(__libc_malloc(n));
}

void *calloc(size_t n, size_t k)
{
	return fails() ? NULL : got(__libc_calloc(n, k));
}

void *realloc(void *p, size_t n)
{
	void *q;

	if (n && fails())
		return NULL;
	q = __libc_realloc(p, n);
	if (!p)
		got(q);
	else if (!n)
		atomic_fetch_sub(&blocks, 1);
	return q;
}

int posix_memalign(void **p, size_t align, size_t n)
{
	*p = fails() ? NULL : got(__libc_memalign(align, n));
	return *p ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t n)
{
	return fails() ? NULL : got(__libc_memalign(align, n));
}

void free(void *p)
{
	if (p)
		atomic_fetch_sub(&blocks, 1);
	__libc_free(p);
}
#pragma GCC visibility pop

/* ---- the life of a rank ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void wrong(const char *fmt, ...)
{
	va_list ap;

	if (sh->what[me][0])
		return;
	va_start(ap, fmt);
	vsnprintf(sh->what[me], sizeof(sh->what[me]), fmt, ap);
	va_end(ap);
}

/* In which call; between the calls nothing fails. */
static void in(const char *call)
{
	snprintf(sh->where[me], sizeof(sh->where[me]), "%s", call);
	if (me == sh->victim)
		atomic_store(&sh->armed, 1);
}

static int out(int rc)
{
	if (me == sh->victim)
		atomic_store(&sh->armed, 0);
	return rc;
}

static int gone(void)
{
	return !alone && sh->done[!me];
}

static ptl_handle_eq_t eq, idle;

/* Both have come so far, or the other is gone. */
static void meet(void)
{
	int s = atomic_fetch_add(&sh->step[me], 1) + 1;
	double until = now() + 2 * BOUND;
	ptl_event_t ev;

	while (!alone && sh->step[!me] < s && !gone() && now() < until) {
		if (idle)		/* an owner may have to help */
			PtlEQGet(idle, &ev);
		usleep(50);
	}
}

/* @rc is PTL_OK or one of @codes (ended by 0). Return: not PTL_OK. */
static int failed(int rc, const char *call, const int *codes)
{
	if (rc == PTL_OK)
		return 0;
	for (; *codes; codes++)
		if (rc == *codes)
			return 1;
	wrong("%s: %s, which its manual does not have", call, PtlErrorStr((unsigned)rc));
	return 1;
}
#define CODES(...) (const int[]){ __VA_ARGS__, 0 }

static struct state look(void)
{
	struct state s = { 0 };
	char line[512];
	double until = now() + 1;
	DIR *d;
	FILE *f;

	dlerror();
	dlerror();	/* gives the C library's text about a failure back */
	do {		/* a thread that has ended may still be seen for a moment */
		s.threads = -2;
		d = opendir("/proc/self/task");
		while (readdir(d))
			s.threads++;
		closedir(d);
	} while (s.threads > 1 && now() < until);
	d = opendir("/proc/self/fd");
	while (readdir(d))
		s.fds++;
	closedir(d);
	f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), f)) {
		unsigned long a, b;

		if (sscanf(line, "%lx-%lx", &a, &b) == 2)
			s.vm_mb += (long)((b - a) >> 10);
		s.lines++;
	}
	fclose(f);
	s.vm_mb >>= 10;
	s.blocks = atomic_load(&blocks);
	return s;
}

static ptl_handle_ni_t ni;
static ptl_handle_me_t match;
static ptl_handle_md_t target, source, sink;
static char window[300000], from[300000], to[300000];

static int open_ni(void)
{
	int rc, most;

	in("PtlInit");
	rc = out(PtlInit(&most));
	if (failed(rc, "PtlInit", CODES(PTL_FAIL)) && PtlInit(&most) != PTL_OK) {
		wrong("PtlInit fails the second time, too");
		return PTL_FAIL;
	}
	in("PtlNIInit");
	rc = out(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	failed(rc, "PtlNIInit", CODES(PTL_FAIL, PTL_NO_SPACE));
	return rc;
}

/* Calls that make something: what is refused once is had the second time. */
#define AGAIN(call, ...) do {									\
	int rc_;										\
	in(#call);										\
	rc_ = out(call(__VA_ARGS__));								\
	if (failed(rc_, #call, CODES(PTL_NO_SPACE)) && call(__VA_ARGS__) != PTL_OK)		\
		wrong("%s fails the second time, too", #call);					\
} while (0)

static void set_up(void)
{
	ptl_md_t md = { .start = window, .length = sizeof(window), .threshold = PTL_MD_THRESH_INF,
			.options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE };
	ptl_process_id_t any = { PTL_NID_ANY, PTL_PID_ANY };

	AGAIN(PtlEQAlloc, ni, 64, PTL_EQ_HANDLER_NONE, &eq);
	if (PtlEQAlloc(ni, 4, PTL_EQ_HANDLER_NONE, &idle) != PTL_OK)
		wrong("PtlEQAlloc");
	md.eq_handle = eq;
	AGAIN(PtlMEAttach, ni, PT, any, 5, 0, PTL_RETAIN, PTL_INS_AFTER, &match);
	AGAIN(PtlMDAttach, match, md, PTL_RETAIN, &target);
	md.start = from;
	AGAIN(PtlMDBind, ni, md, PTL_RETAIN, &source);
	md.start = to;
	AGAIN(PtlMDBind, ni, md, PTL_RETAIN, &sink);
}

/* Events until one of @kind that is not of the other's operations; its ni_fail_type, or -1: none comes. */
static int await(ptl_event_kind_t kind, int *theirs)
{
	double until = now() + BOUND / 2;
	int must = sh->kills && kind == PTL_EVENT_SEND_END;	/* of a put to the dead, too */
	ptl_event_t ev;
	int rc;

	in("PtlEQGet");
	do {
		rc = PtlEQGet(eq, &ev);
		if (rc == PTL_EQ_EMPTY) {
			usleep(20);
			if (sh->broken && !must && now() + 0.3 < until)	/* it need not come */
				until = now() + 0.3;
			continue;
		}
		if (rc != PTL_OK)
			wrong("PtlEQGet: %s", PtlErrorStr((unsigned)rc));
		if (ev.ni_fail_type != PTL_NI_OK)
			sh->broken = 1;
		if (ev.type == PTL_EVENT_PUT_END && theirs)
			++*theirs;
		if (ev.type == kind)
			return out((int)ev.ni_fail_type);
	} while (now() < until && (must || !gone()));
	return out(-1);
}

/* Put and get of @n bytes, each until it has worked, but not for ever. */
static void exchange(size_t n, int *puts)
{
	ptl_process_id_t id = { 0, 0 };
	int rc, fail, tries;

	if (PtlGetRankId(ni, alone ? 0 : (unsigned)!me, &id) != PTL_OK)
		wrong("PtlGetRankId");
	memset(from, 'a' + me, n);
	for (tries = 0; tries < 2; tries++) {
		in("PtlPut");
		rc = out(PtlPutRegion(source, 0, n, PTL_ACK_REQ, id, PT, 0, 5, 0, 0));
		if (failed(rc, "PtlPut", CODES(PTL_NO_SPACE)))
			continue;
		fail = await(PTL_EVENT_SEND_END, puts);
		if (fail < 0 && (sh->kills || !gone()))
			wrong("no SEND_END");
		if (fail)
			continue;
		fail = await(PTL_EVENT_ACK, puts);
		if (fail < 0 && !gone() && !sh->broken)
			wrong("no ACK");
		if (!fail)
			break;
	}
	if (tries == 2 && !sh->broken && !gone())
		wrong("put of %zu bytes fails twice", n);
	for (tries = 0; tries < 2; tries++) {
		memset(to, 0, n);
		in("PtlGet");
		rc = out(PtlGetRegion(sink, 0, n, id, PT, 0, 5, 0));
		if (failed(rc, "PtlGet", CODES(PTL_NO_SPACE)))
			continue;
		fail = await(PTL_EVENT_REPLY_END, puts);
		if (fail < 0 && !gone() && !sh->broken)
			wrong("no REPLY_END");
		if (!fail)
			break;
	}
	if (tries == 2 && !sh->broken && !gone())
		wrong("get of %zu bytes fails twice", n);
	meet();
	while (!*puts && !sh->broken && !gone())
		if (await(PTL_EVENT_PUT_END, puts) < 0)
			break;
	meet();
	for (size_t i = 0; i < n && !sh->broken && *puts; i++)
		if (window[i] != 'a' + (alone ? me : !me))
			wrong("byte %zu of %zu is wrong", i, n);
	meet();
}

static void live(void)
{
	double until;
	int rc, puts;

	sh->where[me][0] = 0;
	if (open_ni() != PTL_OK) {
		/* The one that failed has told the other. Each closes what it has, and they begin again. */
		sh->broken = 1;
		PtlFini();
	}
	meet();
	if (sh->broken) {
		if (ni != PTL_INVALID_HANDLE)
			PtlFini();
		ni = PTL_INVALID_HANDLE;
		meet();
		sh->broken = 0;
		meet();
		if (gone())
			return;
		rc = open_ni();
		if (rc != PTL_OK)
			wrong("a second PtlNIInit: %s", PtlErrorStr((unsigned)rc));
		if (rc != PTL_OK)
			return;
	}
	set_up();
	meet();
	puts = 0;
	exchange(100, &puts);
	puts = 0;
	exchange(sizeof(from), &puts);
	until = now() + BOUND / 2;
	in("PtlMDUnlink");
	while ((rc = PtlMEUnlink(match)) == PTL_ME_IN_USE && now() < until)
		PtlEQGet(eq, &(ptl_event_t){ 0 });
	out(0);
	if (rc != PTL_OK)
		wrong("PtlMEUnlink: %s", PtlErrorStr((unsigned)rc));
	while ((rc = PtlMDUnlink(source)) == PTL_MD_IN_USE && now() < until)
		PtlEQGet(eq, &(ptl_event_t){ 0 });
	if (rc != PTL_OK)
		wrong("PtlMDUnlink: %s", PtlErrorStr((unsigned)rc));
	in("PtlEQFree");
	if (out(PtlEQFree(eq)) != PTL_OK)
		wrong("PtlEQFree");
	idle = 0;
	in("PtlNIFini");
	if (out(PtlNIFini(ni)) != PTL_OK)
		wrong("PtlNIFini");
	in("PtlFini");
	PtlFini();
	out(0);
}

/* Calls of class @c are handed to the holder of the descriptor that is returned. */
static int hand_over(const struct class *c)
{
	struct sock_filter f[64];
	struct sock_fprog p = { 0, f };
	unsigned n = 0;

#define ST(code, k) f[n++] = (struct sock_filter)BPF_STMT(code, k)
#define JP(code, k, t, e) f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | (code) | BPF_K, k, t, e)
	ST(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args));
	JP(BPF_JEQ, CTL_FD, 0, 1);
	ST(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	JP(BPF_JGT, 2, 4, 0);		/* what is written to 0, 1, 2 is for people */
	ST(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	JP(BPF_JEQ, (unsigned)SYS_write, 0, 1);
	ST(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	JP(BPF_JEQ, 0xffffffff, 0, 0);
	ST(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (const struct call *k = c->calls; k->name; k++) {
		JP(BPF_JEQ, (unsigned)k->nr, 0, 1);
		ST(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	ST(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	p.len = (unsigned short)n;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p);
}

static int pass_fd(int sock, int fd)
{
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE(sizeof(int))] = { 0 };
	char c = fd < 0 ? 'n' : 'y';
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = ctl;
		m.msg_controllen = sizeof(ctl);
		*CMSG_FIRSTHDR(&m) = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	}
	return sendmsg(sock, &m, 0) == 1 ? 0 : -1;
}

static int take_fd(int sock)
{
	_Alignas(struct cmsghdr) char ctl[CMSG_SPACE(sizeof(int))] = { 0 };
	char c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof(ctl) };
	int fd = -1;

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	return fd;
}

static __attribute__((noreturn)) void rank(int r, int sock, const struct class *c, int serial)
{
	char text[32];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(text, sizeof(text), "%d", r);
	setenv("PTL_MY_RID", text, 1);
	snprintf(text, sizeof(text), "%d", (int)getppid() * 1000 + serial % 1000);
	setenv("PTL_MY_JID", text, 1);
	setenv("PTL_NIDMAP", nodes ? "1:4" : !alone ? "1:1" : "1", 1);
	setenv("PTL_PIDMAP", !alone ? "300:307" : "300", 1);
	if (c->kills)		/* who has not come yet is not missed sooner: there is no launcher to see it */
		setenv("PTL_INIT_TIMEOUT_S", "1", 1);
	me = r;
	ni = PTL_INVALID_HANDLE;
	if (c->calls && r == sh->victim) {
		int fd;

		dup2(sock, CTL_FD);
		close(sock);
		fd = hand_over(c);
		if (pass_fd(CTL_FD, fd) || fd < 0)
			_exit(77);
		close(fd);
		close(CTL_FD);
	} else {
		close(sock);
	}
	live();
	sh->end[me] = look();
	sh->done[me] = 1;
	_exit(0);
}

/* ---- the parent ---- */

static const char *call_name(const struct class *c, int nr)
{
	for (const struct call *k = c->calls; k && k->name; k++)
		if (k->nr == nr)
			return k->name;
	return "malloc";
}

/* One call of the victim: it fails, or is made. */
static void serve(int fd, const struct class *c)
{
	struct seccomp_notif req;
	struct seccomp_notif_resp resp;

	memset(&req, 0, sizeof(req));
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &req))
		return;
	resp = (struct seccomp_notif_resp){ .id = req.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	if (atomic_load(&sh->armed) && atomic_fetch_add(&sh->count, 1) + 1 == sh->at) {
		const struct call *k = c->calls;

		while (k->nr != req.data.nr)
			k++;
		sh->nr = req.data.nr;
		if (c->kills) {
			kill((pid_t)req.pid, SIGKILL);
			return;
		}
		resp.flags = 0;
		resp.error = -k->err;
		if (getenv("T_STOP")) {
			diag("%s fails in process %d; SIGCONT goes on", k->name, (int)req.pid);
			kill((pid_t)req.pid, SIGSTOP);
		}
	}
	ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

/* One life; the @n-th call of @victim fails. Return: 1 one did, 0 there were fewer calls, -1 something was wrong, -2:
 * none can be handed over here. */
static int life(const struct class *c, int victim, int n, struct state *end)
{
	int ranks = alone ? 1 : RANKS, left = ranks, listener = -1, bad = 0, none = 0, sv[2];
	double until = now() + BOUND + (getenv("T_STOP") ? 1000 : 0), t0 = now();
	static int serial;
	pid_t pid[RANKS];

	memset(sh, 0, sizeof(*sh));
	sh->victim = victim;
	sh->by_malloc = !c->calls;
	sh->kills = c->kills;
	sh->at = n;
	sh->nr = -1;
	serial++;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		bail("socketpair");
	fflush(stdout);
	for (int r = 0; r < ranks; r++) {
		pid[r] = fork();
		if (!pid[r]) {
			close(sv[0]);
			rank(r, sv[1], c, serial);
		}
	}
	close(sv[1]);
	if (c->calls) {
		listener = take_fd(sv[0]);
		none = listener < 0;
	}
	close(sv[0]);
	while (left) {
		struct pollfd p = { listener, POLLIN, 0 };

		if (poll(&p, listener >= 0, 1) > 0 && (p.revents & POLLIN))
			serve(listener, c);
		for (int r = 0; r < ranks; r++) {
			int status;

			if (!pid[r] || waitpid(pid[r], &status, WNOHANG) != pid[r])
				continue;
			pid[r] = 0;
			left--;
			if (!sh->done[r])
				sh->broken = 1;
			sh->done[r] = 1;
			sh->killed |= c->kills && r == victim && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
			if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && nodes && !c->calls && r == victim) {
				aborted++;		/* libev has said a sentence; the launcher ends the others */
				if (pid[!r] && now() + 0.3 < until)
					until = now() + 0.3;
				sh->aborted = 1;
			} else if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
				snprintf(sh->what[r], sizeof(sh->what[r]), "died of signal %d", WTERMSIG(status));
		}
		for (int r = 0; r < ranks && now() > until; r++)
			if (pid[r] && kill(pid[r], SIGKILL) == 0 && !sh->aborted)
				snprintf(sh->what[r], sizeof(sh->what[r]), "hangs");
	}
	if (listener >= 0)
		close(listener);
	if (none)
		return -2;
	for (int r = 0; r < ranks; r++) {
		const struct state *is = &sh->end[r], *want = &end[r];

		if (n && !sh->what[r][0] && !sh->aborted && !(sh->killed && r == victim) &&
		    (is->fds > want->fds || is->threads != want->threads || is->vm_mb > want->vm_mb + 8 ||
		     is->blocks > want->blocks))
			snprintf(sh->what[r], sizeof(sh->what[r]), "leaves %d descriptors, %d threads, %ld MiB mapped, "
				 "%ld blocks; without failures %d, %d, %ld, %ld", is->fds, is->threads, is->vm_mb,
				 is->blocks, want->fds, want->threads, want->vm_mb, want->blocks);
		if (sh->what[r][0]) {
			bad = 1;
			diag("%s call %d of rank %d (%s): rank %d in %s: %s", c->name, n, victim,
			     call_name(c, sh->nr), r, sh->where[r], sh->what[r]);
		}
		if (!n)
			end[r] = *is;
	}
	if (getenv("T_SHOW"))
		diag("%s call %d of rank %d (%s) in %s: %.0f ms", c->name, n, victim, call_name(c, sh->nr),
		     sh->where[victim], 1e3 * (now() - t0));
	return bad ? -1 : sh->count >= n;
}

static void all(const struct class *c, int victim)
{
	const char *only = getenv("T_N");
	struct state end[RANKS];
	int n, rc, bad = 0;
	double t0 = now();

	rc = life(c, victim, 0, end);
	if (rc == -2) {
		skip(1, "the kernel hands no calls over (seccomp with user notification)");
		return;
	}
	bad = rc < 0;
	for (n = only ? atoi(only) : 1; !bad || n < 400; n++) {
		rc = life(c, victim, n, end);
		if (rc < 0)
			bad++;
		if (!rc || only || (rc < 0 && sh->count < n) || bad > 20)
			break;
	}
	ok(!bad, "%s: %s, rank %d: %d calls %s, one at a time", scene, c->name, victim, n - 1,
	   c->kills ? "kill it" : "fail");
	if (aborted)
		diag("%d of them end the process by abort(), in libev, who has no other answer", aborted);
	aborted = 0;
	diag("%.1f s", now() - t0);
}

int main(int argc, char **argv)
{
	scene = argc > 1 ? argv[1] : "node";
	nodes = !strcmp(scene, "nodes");
	alone = !strcmp(scene, "loop");
	if (alone)
		setenv("PTL_NAL", "loop", 1);
	if (!strcmp(scene, "far"))
		setenv("PTL_ADOPT", "none", 1);
	setenv("PTL_INIT_TIMEOUT_S", "30", 1);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (sh == MAP_FAILED)
		bail("mmap");
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		for (int v = 0; v < (alone ? 1 : RANKS); v++) {
			int asked = argc < 3 && !classes[i].kills;

			for (int k = 2; k < argc; k++)
				asked |= !strcmp(argv[k], classes[i].name);
			if (asked && (!getenv("T_VICTIM") || atoi(getenv("T_VICTIM")) == v))
				all(&classes[i], v);
		}
	return exit_status();
}
