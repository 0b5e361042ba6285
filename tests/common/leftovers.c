/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * leftovers.c - what a test program left on the machine
 *
 * A snapshot is a list of names: files in /dev/shm and names in /proc/net/unix (abstract ones start with '@'). After
 * the test every new name is a suspect until a living process is seen to hold it: our own descendants are dead by then,
 * so the holder is a program that has nothing to do with the test. Only what is there at the first look is a suspect:
 * what comes later is not ours. Who dies holds no descriptors any more while its sockets are still there for a
 * moment, so a suspect must be there, with nobody who holds it, for as long as we look.
 */
#include "leftovers.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct item {
	char name[256];
	unsigned long inode;
};

struct leftovers {
	struct item *v;
	size_t n, cap;
};

static void add(struct leftovers *l, const char *name, unsigned long inode)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 64;
		struct item *v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return;
		l->v = v;
		l->cap = cap;
	}
	snprintf(l->v[l->n].name, sizeof(l->v[l->n].name), "%s", name);
	l->v[l->n++].inode = inode;
}

static void scan_shm(struct leftovers *l)
{
	DIR *d = opendir("/dev/shm");
	struct dirent *e;

	if (!d)
		return;
	while ((e = readdir(d))) {
		char path[300];
		struct stat st;

		snprintf(path, sizeof(path), "/dev/shm/%s", e->d_name);
		if (e->d_name[0] != '.' && !lstat(path, &st) && st.st_uid == geteuid())
			add(l, path, st.st_ino);
	}
	closedir(d);
}

static void scan_unix(struct leftovers *l)
{
	FILE *f = fopen("/proc/net/unix", "r");
	char line[512];

	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		char path[256] = "";
		unsigned long inode;

		/* Num RefCount Protocol Flags Type St Inode Path; unnamed sockets cannot outlive their holders */
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu %255s", &inode, path) == 2)
			add(l, path, inode);
	}
	fclose(f);
}

static struct leftovers *scan(void)
{
	struct leftovers *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	scan_shm(l);
	scan_unix(l);
	return l;
}

struct leftovers *leftovers_before(void)
{
	return scan();
}

/* What descriptors and mappings of living processes are on: one pass over /proc for all names. */
static void held_by_pid(const char *pid, struct leftovers *h)
{
	char path[320], to[300];
	struct dirent *e;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		unsigned long inode = 0;
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		if (n <= 0)
			continue;
		to[n] = 0;
		if (sscanf(to, "socket:[%lu]", &inode) == 1)
			add(h, "socket", inode);
		else if (!strncmp(to, "/dev/shm/", 9))
			add(h, to, 0);
	}
	if (d)
		closedir(d);
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(to, sizeof(to), f)) {
		char *p = strstr(to, "/dev/shm/");

		if (p) {
			p[strcspn(p, "\n")] = 0;
			add(h, p, 0);
		}
	}
	if (f)
		fclose(f);
}

static struct leftovers *holders(void)
{
	struct leftovers *h = calloc(1, sizeof(*h));
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (h && d && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			held_by_pid(e->d_name, h);
	if (d)
		closedir(d);
	return h;
}

static int find(const struct leftovers *l, const char *name, unsigned long inode, int any_inode)
{
	for (size_t i = 0; l && i < l->n; i++)
		if ((any_inode || l->v[i].inode == inode) && (!name || !strcmp(l->v[i].name, name)))
			return 1;
	return 0;
}

static void drop(struct leftovers *l)
{
	if (l)
		free(l->v);
	free(l);
}

/* Is it held by a process, or a connection that waits to be accepted by one? Those carry its name and are in no table. */
static int is_held(const struct leftovers *held, const struct leftovers *now, const struct item *it)
{
	if (!strncmp(it->name, "/dev/shm/", 9))
		return find(held, it->name, 0, 1);
	for (size_t i = 0; now && i < now->n; i++)
		if (!strcmp(now->v[i].name, it->name) && find(held, "socket", now->v[i].inode, 0))
			return 1;
	return find(held, "socket", it->inode, 0);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int leftovers_after(const struct leftovers *before, double seconds, FILE *out)
{
	struct leftovers *suspect = scan();
	double until = now_s() + seconds;
	size_t n = 0;

	if (!suspect)
		return 0;
	for (size_t i = 0; i < suspect->n; i++)
		if (!find(before, suspect->v[i].name, suspect->v[i].inode, 0))
			suspect->v[n++] = suspect->v[i];
	for (suspect->n = n; suspect->n; nanosleep(&(struct timespec){ 0, 20 * 1000 * 1000 }, NULL)) {
		struct leftovers *held = holders(), *now = scan();	/* in this order: it is there, and was held by nobody */

		n = 0;
		for (size_t i = 0; i < suspect->n; i++)
			if (find(now, suspect->v[i].name, suspect->v[i].inode, 0) &&
			    !is_held(held, now, &suspect->v[i]))
				suspect->v[n++] = suspect->v[i];
		suspect->n = n;
		drop(held);
		drop(now);
		if (now_s() >= until)
			break;
	}
	n = suspect->n;
	for (size_t i = 0; out && i < n; i++)
		fprintf(out, "# left behind: %s (inode %lu)\n", suspect->v[i].name, suspect->v[i].inode);
	drop(suspect);
	return (int)n;
}

static pid_t parent_of(pid_t pid, char *state)
{
	char path[64], line[512], *p;
	FILE *f;
	int ppid = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	/* the name may hold blanks and parentheses: the fields start after the last one */
	if (fgets(line, sizeof(line), f) && (p = strrchr(line, ')')) && sscanf(p + 1, " %c %d", state, &ppid) != 2)
		ppid = 0;
	fclose(f);
	return ppid;
}

int leftovers_descendants(void (*fn)(pid_t pid, void *arg), void *arg)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d))) {
		pid_t pid = (pid_t)atoi(e->d_name), up;
		char state = 0, dummy;

		if (pid <= 1 || pid == getpid())
			continue;
		up = parent_of(pid, &state);
		if (state == 'Z' || state == 'X')
			continue;
		while (up > 1 && up != getpid())
			up = parent_of(up, &dummy);
		if (up != getpid())
			continue;
		n++;
		if (fn)
			fn(pid, arg);
	}
	if (d)
		closedir(d);
	return n;
}
