/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * leftovers.c - what a test program left on the machine
 *
 * A snapshot is a list of names: files in /dev/shm and names in /proc/net/unix (abstract ones start with '@'). After
 * the test every new name counts unless a living process holds it: our own descendants are dead by then, so the
 * holder is a program that has nothing to do with the test.
 */
#include "leftovers.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Is a descriptor or a mapping of any living process on @it? */
static int held_by_pid(const char *pid, const struct item *it)
{
	char path[320], want[64], got[300];
	struct dirent *e;
	FILE *f;
	DIR *d;
	int held = 0;

	snprintf(want, sizeof(want), "socket:[%lu]", it->inode);
	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	d = opendir(path);
	while (d && !held && (e = readdir(d))) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%s/fd/%s", pid, e->d_name);
		n = readlink(path, got, sizeof(got) - 1);
		if (n <= 0)
			continue;
		got[n] = 0;
		held = !strcmp(got, want) || !strcmp(got, it->name);
	}
	if (d)
		closedir(d);
	if (held || it->name[0] != '/')
		return held;
	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	f = fopen(path, "r");
	while (f && !held && fgets(got, sizeof(got), f))
		held = strstr(got, it->name) != NULL;
	if (f)
		fclose(f);
	return held;
}

static int held(const struct item *it)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int yes = 0;

	while (d && !yes && (e = readdir(d)))
		yes = isdigit((unsigned char)e->d_name[0]) && held_by_pid(e->d_name, it);
	if (d)
		closedir(d);
	return yes;
}

int leftovers_after(const struct leftovers *before, FILE *out)
{
	struct leftovers *now = scan();
	int found = 0;

	for (size_t i = 0; now && before && i < now->n; i++) {
		size_t j;

		for (j = 0; j < before->n; j++)
			if (before->v[j].inode == now->v[i].inode && !strcmp(before->v[j].name, now->v[i].name))
				break;
		if (j < before->n)
			continue;
		/* connections that wait to be accepted carry the listener's name and are in nobody's table */
		for (j = 0; j < now->n; j++)
			if (!strcmp(now->v[j].name, now->v[i].name) && held(&now->v[j]))
				break;
		if (j < now->n)
			continue;
		if (out)
			fprintf(out, "# left behind: %s\n", now->v[i].name);
		found++;
	}
	if (now)
		free(now->v);
	free(now);
	return found;
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
