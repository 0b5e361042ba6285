/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * fuzz_card.c - what tells ranks where others listen: a line of a process, a bundle of such lines, lists of ports
 *
 * The first byte chooses. What is accepted as a line is printed and read again to the same.
 */
#include <sys/mman.h>
#include "../../nal/gp/gp_card.c"
#include "fuzz.h"

static const char boot[] = "0a1b2c3d-0000-4000-8000-000000000001";

static void card(const char *line)
{
	struct gp_far a, b;
	char again[512];
	int rc;

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	rc = gp_card_parse(line, boot, &a);
	must(rc >= -1 && rc < 100);
	if (rc)
		return;
	must(a.place.n && a.place.n <= TCP_ADDRS && a.place.port);
	must(!gp_card_print(again, sizeof(again), "another-machine", a.id.pid, a.uid, a.jid, &a.place));
	rc = gp_card_parse(again, boot, &b);
	if (rc) {		/* only a loopback: not to be reached from another machine */
		for (uint32_t i = 0; i < a.place.n; i++)
			must(tcp_addr_loopback(&a.place.addr[i]));
		return;
	}
	must(a.id.pid == b.id.pid && a.uid == b.uid && a.jid == b.jid && a.place.port == b.place.port);
	must(b.place.n == a.place.n || tcp_addr_loopback(&a.place.addr[0]));
}

/* Each of the ranks finds its line or none; together they are no more than the bundle. */
static void bundle(const char *text, size_t len)
{
	static struct gp_cards c;
	char line[512];
	size_t sum = 0;

	c.bundle_of = 3 + 1;
	snprintf(c.bundle, sizeof(c.bundle), "%s", text);
	for (uint32_t r = 3 * BUNDLE; r < 4 * BUNDLE; r++)
		if (bundle_get(&c, r, line, sizeof(line))) {
			must(strlen(line) < sizeof(line) && !strchr(line, ';'));
			sum += strlen(line) + 1;
			card(line);
		}
	must(sum <= len + 1);
}

static void portlist(const char *list, uint8_t some)
{
	int max = 1 + some % 40, n;
	uint16_t *port = malloc((size_t)max * sizeof(*port));
	char why[200] = "";

	must(port);
	n = gp_ports("none", list, 7, port, max, why, sizeof(why));
	must(n >= -1 && n <= max && (n >= 0 || why[0]));
	for (int i = 0; i < n; i++)
		must(port[i] || !strcmp(list, "any"));
	free(port);
}

static void portfile(const uint8_t *data, size_t n)
{
	static int fd = -1;
	static char name[40];
	uint16_t port[8];
	char why[200] = "";
	int rc;

	if (fd < 0) {
		fd = memfd_create("ports", MFD_CLOEXEC);
		must(fd >= 0);
		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	}
	must(!ftruncate(fd, 0) && pwrite(fd, data, n, 0) == (ssize_t)n);
	rc = gp_ports(name, "any", 7, port, 8, why, sizeof(why));
	must(rc == 1 || (rc == -1 && why[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_in in;

	if (!fuzz_in(&in, data, n))
		return 0;
	switch (in.kind % 4) {
	case 0: card(in.text); break;
	case 1: bundle(in.text, in.n); break;
	case 2: portlist(in.text, in.some); break;
	case 3: portfile(in.data, in.n); break;
	}
	free(in.text);
	return 0;
}
