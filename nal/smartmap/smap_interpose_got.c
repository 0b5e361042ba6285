/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * smap_interpose_got.c - where libsmartmap is loaded behind libc, redirect the calls of what is loaded
 *
 * A program linked with libmpi alone has libc before libsmartmap in its search order: its fork() is libc's. Linking
 * -lsmartmap into the program (as the compiler wrappers and .pc files do) avoids that; for programs that were linked
 * otherwise, every object's table of imported functions is changed where it holds libc's address, or none yet. An
 * object that is loaded later binds to libc again: its fork() gives a child that faults at once, its munmap() leaves
 * the range in the registry. smartmap_why(SMARTMAP_F_FORK) says that this was done.
 *
 * Runs once, in smartmap_init(), before anything is adopted.
 */
#include "smap_interpose.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "smap_space.h"

static struct ours {
	const char *name;
	void *ours, *libc;
} table[] = {
	{ "fork", (void *)smap_fork, NULL }, { "_Fork", (void *)smap__Fork, NULL },
	{ "daemon", (void *)smap_daemon, NULL }, { "forkpty", (void *)smap_forkpty, NULL },
	{ "munmap", (void *)smap_munmap, NULL }, { "mmap", (void *)smap_mmap, NULL },
	{ "mmap64", (void *)smap_mmap, NULL }, { "mprotect", (void *)smap_mprotect, NULL },
	{ "mlockall", (void *)smap_mlockall, NULL }, { "madvise", (void *)smap_madvise, NULL },
	{ "mremap", (void *)smap_mremap, NULL },
};
enum { FUNCTIONS = sizeof(table) / sizeof(table[0]) };

void *smap_libc_symbol(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name), *h;

	if (!p && (h = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD))) {	/* libc stands in front of us */
		p = dlsym(h, name);
		dlclose(h);
	}
	return p;
}

#if defined(__x86_64__)
#define REL_JUMP	R_X86_64_JUMP_SLOT
#define REL_DATA	R_X86_64_GLOB_DAT
#define REL_ADDR	R_X86_64_64
#elif defined(__aarch64__)
#define REL_JUMP	R_AARCH64_JUMP_SLOT
#define REL_DATA	R_AARCH64_GLOB_DAT
#define REL_ADDR	R_AARCH64_ABS64
#endif

struct object {
	ElfW(Addr) base, lo, hi;		/* all of it */
	ElfW(Addr) relro_lo, relro_hi;		/* read-only after start */
	const ElfW(Sym) *sym;
	const char *str;
};

static int set_slot(const struct object *o, void **slot, const struct ours *t)
{
	uintptr_t a = (uintptr_t)slot, page = a & ~(smap_page() - 1);
	int readonly = a >= o->relro_lo && a < o->relro_hi;
	uintptr_t now = (uintptr_t)*slot;

	/* libc's function, or still the object's own stub for lazy binding; somebody else's hook stays */
	if (now != (uintptr_t)t->libc && (now < o->lo || now >= o->hi))
		return 0;
	if (readonly && mprotect((void *)page, smap_page(), PROT_READ | PROT_WRITE))
		return -EPERM;
	__atomic_store_n(slot, t->ours, __ATOMIC_RELAXED);
	if (readonly)
		mprotect((void *)page, smap_page(), PROT_READ);
	return 0;
}

static int patch_rela(const struct object *o, const ElfW(Rela) *r, size_t n)
{
	int ret = 0;

	for (; n; n--, r++) {
		unsigned long type = ELF64_R_TYPE(r->r_info);
		const ElfW(Sym) *s = &o->sym[ELF64_R_SYM(r->r_info)];

		if ((type != REL_JUMP && type != REL_DATA && type != REL_ADDR) || s->st_shndx != SHN_UNDEF)
			continue;
		for (int i = 0; i < FUNCTIONS; i++)
			if (table[i].libc && !strcmp(o->str + s->st_name, table[i].name) &&
			    set_slot(o, (void **)(o->base + r->r_offset), &table[i]))
				ret = -EPERM;
	}
	return ret;
}

static int patch_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct object o = { .base = info->dlpi_addr, .lo = ~(ElfW(Addr))0 };
	const ElfW(Dyn) *d = NULL;
	const ElfW(Rela) *jmp = NULL, *rela = NULL;
	size_t njmp = 0, nrela = 0;
	const char *base = strrchr(info->dlpi_name, '/');

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		ElfW(Addr) lo = o.base + p->p_vaddr, hi = lo + p->p_memsz;

		if (p->p_type == PT_LOAD) {
			o.lo = lo < o.lo ? lo : o.lo;
			o.hi = hi > o.hi ? hi : o.hi;
		} else if (p->p_type == PT_DYNAMIC) {
			d = (const void *)lo;
		} else if (p->p_type == PT_GNU_RELRO) {
			o.relro_lo = lo & ~(ElfW(Addr))4095;
			o.relro_hi = hi & ~(ElfW(Addr))4095;
		}
	}
	base = base ? base + 1 : info->dlpi_name;
	if (!d || ((uintptr_t)table >= o.lo && (uintptr_t)table < o.hi) || !strncmp(base, "libc.so", 7) ||
	    !strncmp(base, "ld-linux", 8) || !strncmp(base, "linux-vdso", 10))
		return 0;
	for (; d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB: o.sym = (const void *)d->d_un.d_ptr; break;
		case DT_STRTAB: o.str = (const void *)d->d_un.d_ptr; break;
		case DT_JMPREL: jmp = (const void *)d->d_un.d_ptr; break;
		case DT_PLTRELSZ: njmp = d->d_un.d_val / sizeof(*jmp); break;
		case DT_RELA: rela = (const void *)d->d_un.d_ptr; break;
		case DT_RELASZ: nrela = d->d_un.d_val / sizeof(*rela); break;
		default: break;
		}
	}
	if (!o.sym || !o.str)
		return 0;
	if (jmp && patch_rela(&o, jmp, njmp))
		*(int *)arg = -ENOTSUP;
	if (rela && patch_rela(&o, rela, nrela))
		*(int *)arg = -ENOTSUP;
	return 0;
}

int smap_interpose_ready(void)
{
	static int done;
	int ret = 0;

	if (done || dlsym(RTLD_DEFAULT, "fork") == (void *)smap_fork)
		return 0;
	for (int i = 0; i < FUNCTIONS; i++) {
		table[i].libc = smap_libc_symbol(table[i].name);
		if (dlsym(RTLD_DEFAULT, table[i].name) != table[i].libc)
			table[i].libc = NULL;	/* a third party stands in front of libc: its calls go on */
	}
	if (!table[0].libc)
		return -ENOTSUP;
	dl_iterate_phdr(patch_object, &ret);
	done = !ret;
	return ret;
}
