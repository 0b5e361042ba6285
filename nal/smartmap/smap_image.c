/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_image.c - the same object in another process: addresses of images, which ASLR makes differ
 *
 * Each process writes (id, lo, hi) of its images into its control page before anyone sees it; the id is a hash of the
 * GNU build id, or of the name and the size where there is none. An address in one of ours is moved by the distance
 * of the two images with the same id.
 */
#include "smap_image.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "smap_own.h"
#include "smap_window.h"

static const uint8_t no_key[16];

static uint64_t note_id(const char *p, size_t len)
{
	const char *end = p + len;

	while (end - p >= (long)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)p;
		const char *name = p + sizeof(*n), *desc = name + ((n->n_namesz + 3) & ~3u);

		if (desc > end || (size_t)(end - desc) < n->n_descsz)
			break;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && !memcmp(name, "GNU", 4))
			return smap_mac(no_key, desc, n->n_descsz);
		p = desc + ((n->n_descsz + 3) & ~3u);
	}
	return 0;
}

static int one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct smap_ctl *c = arg;
	struct smap_image im = { 0, UINT64_MAX, 0 };
	const char *name = strrchr(info->dlpi_name, '/');
	int i;

	if (c->nimages >= SMAP_IMAGES)
		return 1;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t lo = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD) {
			if (lo < im.lo)
				im.lo = lo;
			if (lo + p->p_memsz > im.hi)
				im.hi = lo + p->p_memsz;
		} else if (p->p_type == PT_NOTE && !im.id && info->dlpi_phnum && lo) {
			im.id = note_id((const char *)lo, p->p_memsz);
		}
	}
	if (im.hi <= im.lo)
		return 0;
	if (!im.id) {
		name = name ? name + 1 : info->dlpi_name;
		im.id = smap_mac(no_key, name, strlen(name)) + (im.hi - im.lo);
	}
	c->image[c->nimages++] = im;
	return 0;
}

void smap_images_publish(void)
{
	smap.ctl->nimages = 0;
	dl_iterate_phdr(one, smap.ctl);
}

SMAP_EXPORT void *smartmap_symmetric(int peer, const void *addr)
{
	uint64_t a = (uintptr_t)addr;
	struct smap_ctl *c;
	uint32_t i, k, n;

	if (peer == smap.rank || (unsigned)peer >= (unsigned)smap.size || smartmap_attach(peer))
		return (void *)addr;
	for (i = 0; i < smap.ctl->nimages; i++)
		if (a >= smap.ctl->image[i].lo && a < smap.ctl->image[i].hi)
			break;
	if (i == smap.ctl->nimages)
		return (void *)addr;
	c = smap_peer_ctl(peer);
	n = c->nimages < SMAP_IMAGES ? c->nimages : SMAP_IMAGES;
	/* The same libraries are most often in the same order. */
	for (k = 0; k < n; k++) {
		const struct smap_image *im = &c->image[(i + k) % n];

		if (im->id == smap.ctl->image[i].id)
			return (void *)(uintptr_t)(a - smap.ctl->image[i].lo + im->lo);
	}
	return (void *)addr;
}
