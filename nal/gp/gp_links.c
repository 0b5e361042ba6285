/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * gp_links.c - PTL_LINKS: links between virtual nodes with a latency and a bandwidth, for the network NAL
 *
 * nal/transport/model holds frames back; here is what it needs: the words that all ranks of the node share, and a timer
 * that is more exact than the event loop's own, which counts in milliseconds. All of it runs under gp->lock.
 *
 * The words stand in a file of shared memory. It has a name from the start of the job's first rank on this node until
 * the last one has opened it: gp_links_met().
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "gp.h"
#include "p3_knobs.h"
#include "p3_log.h"

struct gp_links {
	struct model m;
	struct model_link *link;	/* [nodes] */
	int64_t *busy;			/* [nodes] shared, or ours alone */
	size_t len;
	char name[180];			/* of the file; empty: it has none any more */
	int fd;				/* the timer */
	ev_io io;
};

/* The shared words, or NULL with errno. Whoever comes first makes them; they begin as zero: free. */
static int64_t *shared(struct gp_links *s)
{
	struct rlimit most;
	struct stat st;
	void *at = MAP_FAILED;
	int fd, err;

	/* beyond ulimit -f the kernel would end us by a signal */
	if (!getrlimit(RLIMIT_FSIZE, &most) && most.rlim_cur < s->len) {
		errno = EFBIG;
		return NULL;
	}
	fd = open(s->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		errno = EPERM;
	else if (!ftruncate(fd, (off_t)s->len))
		at = mmap(NULL, s->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	err = errno;
	close(fd);
	errno = err;
	return at == MAP_FAILED ? NULL : at;
}

static void on_time(struct ev_loop *loop, ev_io *w, int events)
{
	uint64_t n;

	if (read(w->fd, &n, sizeof(n)) < 0)	/* what is due is delivered before the loop sleeps again */
		return;
}

int gp_links_start(struct gp *gp, char *why, size_t len)
{
	const char *text = p3_knobs_get(NULL)->links;
	const struct p3_rt_job *job = gp->job;
	struct gp_links *s;

	if (!strcmp(text, "none"))
		return PTL_OK;
	s = gp->links = calloc(1, sizeof(*s));
	if (s) {
		s->fd = -1;
		s->len = job->nodes * sizeof(*s->busy);
		s->link = calloc(job->nodes, sizeof(*s->link));
	}
	if (!s || !s->link) {
		snprintf(why, len, "PTL_LINKS: no memory");
		return PTL_NO_SPACE;
	}
	snprintf(why, len, "PTL_LINKS: ");
	if (model_parse(text, job->nodes, job->node, s->link, why + strlen(why), len - strlen(why)))
		return PTL_FAIL;
	why[0] = 0;
	snprintf(s->name, sizeof(s->name), "/dev/shm/%s-links", job->name);
	s->busy = shared(s);
	if (!s->busy) {
		p3_warn("PTL_LINKS: %s: %m. Each rank has its links to itself, instead of sharing them with "
			"the others of its node", s->name);
		s->name[0] = 0;
		s->busy = mmap(NULL, s->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (s->busy == MAP_FAILED)
			s->busy = NULL;
	}
	s->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!s->busy || s->fd < 0 || model_start(&s->m, job->nodes, s->link, s->busy)) {
		snprintf(why, len, "PTL_LINKS: no memory or no timer: %s", strerror(errno));
		return PTL_NO_SPACE;
	}
	ev_io_init(&s->io, on_time, s->fd, EV_READ);
	ev_io_start(gp->loop, &s->io);
	return PTL_OK;
}

void gp_links_met(struct gp *gp)
{
	if (gp->links && gp->links->name[0])
		unlink(gp->links->name);	/* another rank of the node may have been faster */
	if (gp->links)
		gp->links->name[0] = 0;
}

int gp_links_take(struct gp *gp, uint32_t rank, const uint8_t *bytes, uint32_t n)
{
	return gp->links ? model_take(&gp->links->m, gp->job->node_of[rank], rank, bytes, n, gp->e->now) : 1;
}

void gp_links_run(struct gp *gp, model_deliver *deliver)
{
	struct itimerspec t = { 0 };
	int64_t next;

	if (!gp->links || !gp->links->m.held)
		return;
	next = model_run(&gp->links->m, gp->e->now, deliver, gp);
	t.it_value = (struct timespec){ next / 1000000000, next % 1000000000 };
	timerfd_settime(gp->links->fd, TFD_TIMER_ABSTIME, &t, NULL);	/* 0: off */
}

void gp_links_stop(struct gp *gp)
{
	struct gp_links *s = gp->links;

	if (!s)
		return;
	gp_links_met(gp);
	if (s->m.q)
		p3_debug("links: %llu frames with %llu bytes were held back, %llu are given up",
			 (unsigned long long)s->m.frames, (unsigned long long)s->m.bytes,
			 (unsigned long long)s->m.held);
	model_stop(&s->m);
	if (ev_is_active(&s->io))
		ev_io_stop(gp->loop, &s->io);
	if (s->fd >= 0)
		close(s->fd);
	if (s->busy)
		munmap(s->busy, s->len);
	free(s->link);
	free(s);
	gp->links = NULL;
}
