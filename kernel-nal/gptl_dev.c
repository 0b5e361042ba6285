// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * gptl_dev.c - /dev/portals: open, ioctl, mmap, release
 *
 * Owns the way in: what the caller passes is copied once, its padding checked, and nobody but the process that has
 * opened the interface gets further. An interface leaves its job when its process closes the file or ends (flush), and
 * is freed when nobody is in it any more.
 */
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "gptl.h"
#include "gptl_eth.h"

struct workqueue_struct *gptl_wq, *gptl_pages_wq;

struct gptl_file {
	struct mutex lock;		/* GPTL_OPEN */
	struct gptl_ni *ni;		/* set once */
};

union gptl_args {
	struct gptl_hello hello;
	struct gptl_open open;
	struct gptl_meet meet;
	struct gptl_ref ref;
	struct gptl_post post;
	struct gptl_eq eq;
	struct gptl_move move;
	struct gptl_wait wait;
	struct gptl_ac ac;
	struct gptl_stat stat;
	struct gptl_polled polled;
	struct gptl_net net;
	struct gptl_far far;
	struct gptl_drain drain;
};

static long hello(union gptl_args *a)
{
	a->hello = (struct gptl_hello){ .abi = GPTL_ABI, .layout = P3L_VERSION, .max_slots = P3L_MAX_SLOTS };
	return 0;
}

static long open_ni(struct gptl_file *f, union gptl_args *a)
{
	struct gptl_ni *ni;
	long rc = -EBUSY;

	if (mutex_lock_killable(&f->lock))
		return -EINTR;
	if (!f->ni) {
		rc = gptl_ni_open(&a->open, &ni);
		if (!rc)
			smp_store_release(&f->ni, ni);
	}
	mutex_unlock(&f->lock);
	return rc;
}

static long wake(struct gptl_ni *ni)
{
	WRITE_ONCE(ni->wakes, READ_ONCE(ni->wakes) + 1);
	wake_up_all(&ni->wq);
	return 0;
}

static long stat(struct gptl_ni *ni, struct gptl_stat *s)
{
	u32 i;

	s->calls = (u64)atomic64_read(&ni->calls);
	s->sleeps = (u64)atomic64_read(&ni->sleeps);
	s->copies_pinned = (u64)atomic64_read(&ni->copies_pinned);
	for (i = 0; i < GPTL_SLOTS; i++)
		s->copies_pinned += READ_ONCE(ni->copies_now[i]);
	s->copies_looked_up = (u64)atomic64_read(&ni->copies_looked_up);
	s->pinned_pages = (u64)atomic64_read(&ni->pinned_pages);
	s->withdrawn = (u64)atomic64_read(&ni->withdrawn);
	gptl_far_stat(ni, s);
	return 0;
}

/* Padding is for later: what is there must be zero, so that it can mean something one day. */
static bool padded(unsigned int nr, const union gptl_args *a)
{
	switch (nr) {
	case _IOC_NR(GPTL_MOVE):
		return !a->move.pad16;
	case _IOC_NR(GPTL_WAIT):
		return !a->wait.pad;
	case _IOC_NR(GPTL_ME_ATTACH) ... _IOC_NR(GPTL_ME_INSERT):
	case _IOC_NR(GPTL_MD_ATTACH) ... _IOC_NR(GPTL_MD_UPDATE):
	case _IOC_NR(GPTL_MEMD_ATTACH) ... _IOC_NR(GPTL_MEMD_POST):
		return !a->post.pad && !a->post.pad8 && !a->post.md.pad;
	case _IOC_NR(GPTL_NET):
		return !a->net.pad[0] && !a->net.pad[1];
	}
	return true;
}

static long call(struct gptl_ni *ni, unsigned int nr, union gptl_args *a)
{
	switch (nr) {
	case _IOC_NR(GPTL_MOVE): return gptl_move(ni, &a->move);
	case _IOC_NR(GPTL_WAIT): return gptl_wait(ni, &a->wait);
	case _IOC_NR(GPTL_MEET): return gptl_meet(ni, &a->meet);
	case _IOC_NR(GPTL_PID): return gptl_pid(ni, &a->open);
	case _IOC_NR(GPTL_ME_ATTACH): return gptl_me_attach(ni, &a->post);
	case _IOC_NR(GPTL_ME_INSERT): return gptl_me_insert(ni, &a->post);
	case _IOC_NR(GPTL_ME_UNLINK): return gptl_me_unlink(ni, &a->ref);
	case _IOC_NR(GPTL_MD_ATTACH): return gptl_md_attach(ni, &a->post);
	case _IOC_NR(GPTL_MD_BIND): return gptl_md_bind(ni, &a->post);
	case _IOC_NR(GPTL_MD_UPDATE): return gptl_md_update(ni, &a->post);
	case _IOC_NR(GPTL_MD_UNLINK): return gptl_md_unlink(ni, &a->ref);
	case _IOC_NR(GPTL_MEMD_ATTACH): return gptl_memd_attach(ni, &a->post);
	case _IOC_NR(GPTL_MEMD_POST): return gptl_memd_post(ni, &a->post);
	case _IOC_NR(GPTL_EQ_ALLOC): return gptl_eq_alloc(ni, &a->eq);
	case _IOC_NR(GPTL_EQ_FREE): return gptl_eq_free(ni, &a->ref);
	case _IOC_NR(GPTL_WAKE): return wake(ni);
	case _IOC_NR(GPTL_AC): return gptl_ac(ni, &a->ac);
	case _IOC_NR(GPTL_STAT): return stat(ni, &a->stat);
	case _IOC_NR(GPTL_TIDY): return gptl_tidy(ni, &a->ref);
	case _IOC_NR(GPTL_POLLED): return gptl_polled(ni, &a->polled);
	case _IOC_NR(GPTL_PIDS): return gptl_pids(ni, &a->meet);
	case _IOC_NR(GPTL_NET): return gptl_net(ni, &a->net);
	case _IOC_NR(GPTL_FAR): return gptl_far(ni, &a->far);
	case _IOC_NR(GPTL_DRAIN): return gptl_drain(ni, &a->drain);
	}
	return -ENOTTY;
}

static void count_call(struct gptl_ni *ni)
{
	if (likely(gptl_one_thread(ni)))
		atomic64_set(&ni->calls, atomic64_read(&ni->calls) + 1);
	else
		atomic64_inc(&ni->calls);
}

static long dispatch(struct gptl_file *f, unsigned int nr, union gptl_args *a)
{
	struct gptl_ni *ni;

	if (!padded(nr, a))
		return -EINVAL;
	if (nr == _IOC_NR(GPTL_HELLO))
		return hello(a);
	if (nr == _IOC_NR(GPTL_OPEN))
		return open_ni(f, a);
	ni = smp_load_acquire(&f->ni);
	if (!ni)
		return -ENOTCONN;
	if (current->mm != ni->mm)	/* a child, or whoever was given the file */
		return -EPERM;
	count_call(ni);
	return call(ni, nr, a);
}

#define CALL(X) [_IOC_NR(X)] = X

static const unsigned int known[GPTL_CALLS] = {
	CALL(GPTL_HELLO), CALL(GPTL_OPEN), CALL(GPTL_MEET), CALL(GPTL_PID), CALL(GPTL_ME_ATTACH), CALL(GPTL_ME_INSERT),
	CALL(GPTL_ME_UNLINK), CALL(GPTL_MD_ATTACH), CALL(GPTL_MD_BIND), CALL(GPTL_MD_UPDATE), CALL(GPTL_MD_UNLINK),
	CALL(GPTL_MEMD_ATTACH), CALL(GPTL_MEMD_POST), CALL(GPTL_EQ_ALLOC), CALL(GPTL_EQ_FREE), CALL(GPTL_MOVE),
	CALL(GPTL_WAIT), CALL(GPTL_WAKE), CALL(GPTL_AC), CALL(GPTL_STAT), CALL(GPTL_TIDY),
	CALL(GPTL_PIDS), CALL(GPTL_POLLED), CALL(GPTL_NET), CALL(GPTL_FAR), CALL(GPTL_DRAIN),
};

/* The call that is made most, as it is called mostly: all of its argument in one go. */
static long move_call(struct gptl_file *f, const u64 __user *from)
{
	struct gptl_ni *ni = smp_load_acquire(&f->ni);
	union {
		struct gptl_move move;
		u64 word[sizeof(struct gptl_move) / sizeof(u64)];
	} a;
	unsigned int i;

	if (!user_access_begin(from, sizeof(a)))
		return -EFAULT;
	for (i = 0; i < ARRAY_SIZE(a.word); i++)
		unsafe_get_user(a.word[i], from + i, fault);
	user_access_end();
	if (a.move.pad16)
		return -EINVAL;
	if (!ni)
		return -ENOTCONN;
	if (current->mm != ni->mm)
		return -EPERM;
	count_call(ni);
	return gptl_move(ni, &a.move);
fault:
	user_access_end();
	return -EFAULT;
}

/* As copy_struct_from_user(), which older and newer callers than we agree on. */
static noinline long any_call(struct file *file, unsigned int cmd, unsigned long arg)
{
	unsigned int nr = _IOC_NR(cmd), size = _IOC_SIZE(cmd), ours;
	union gptl_args a;
	long rc;

	if (_IOC_TYPE(cmd) != GPTL_MAGIC || nr >= GPTL_CALLS || _IOC_DIR(cmd) != _IOC_DIR(known[nr]))
		return -ENOTTY;
	ours = _IOC_SIZE(known[nr]);
	if (_IOC_DIR(cmd) & _IOC_WRITE) {
		if (likely(size == ours))
			rc = copy_from_user(&a, (void __user *)arg, size) ? -EFAULT : 0;
		else
			rc = size ? copy_struct_from_user(&a, ours, (void __user *)arg, size) : -EINVAL;
		if (rc)
			return rc;
	} else {
		memset(&a, 0, sizeof(a));
	}
	rc = dispatch(file->private_data, nr, &a);
	if (rc >= 0 && (_IOC_DIR(cmd) & _IOC_READ) && copy_to_user((void __user *)arg, &a, min(size, ours)))
		return -EFAULT;
	return rc;
}

static long gptl_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	return likely(cmd == GPTL_MOVE) ? move_call(file->private_data, (const u64 __user *)arg) :
					  any_call(file, cmd, arg);
}

/* Pages of the region come as they are looked at. Who has them keeps them, whatever becomes of the NI. */
static vm_fault_t region_fault(struct vm_fault *vmf)
{
	struct gptl_file *f = vmf->vma->vm_file->private_data;
	u64 off = (u64)vmf->pgoff << PAGE_SHIFT;
	void *at;

	if (off >= GPTL_CLAIMS)
		at = off - GPTL_CLAIMS < PAGE_SIZE ? f->ni->claims : NULL;
	else
		at = off < f->ni->l->size ? (char *)f->ni->l + off : NULL;
	if (!at)
		return VM_FAULT_SIGBUS;
	vmf->page = vmalloc_to_page(at);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct region_ops = {
	.fault = region_fault,
};

static int gptl_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct gptl_file *f = file->private_data;
	struct gptl_ni *ni = smp_load_acquire(&f->ni);
	bool claims = vma->vm_pgoff == GPTL_CLAIMS >> PAGE_SHIFT;
	u64 size = vma->vm_end - vma->vm_start;

	if (!ni || current->mm != ni->mm)
		return -EPERM;
	if (claims ? size != PAGE_SIZE || !(vma->vm_flags & VM_SHARED) : vma->vm_pgoff || size != ni->l->size)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC || (!claims && (vma->vm_flags & VM_WRITE)))
		return -EPERM;
#ifdef GPTL_VM_FLAGS
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYEXEC | (claims ? 0 : VM_MAYWRITE));
#else
	vma->vm_flags |= VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP;
	vma->vm_flags &= ~(VM_MAYEXEC | (claims ? 0 : VM_MAYWRITE));
#endif
	vma->vm_ops = &region_ops;
	return 0;
}

static int gptl_open(struct inode *inode, struct file *file)
{
	struct gptl_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return -ENOMEM;
	mutex_init(&f->lock);
	file->private_data = f;
	return nonseekable_open(inode, file);
}

/* Called for each close(), and for each file of a process that ends: also where a child still has the file. */
static int gptl_flush(struct file *file, fl_owner_t id)
{
	struct gptl_file *f = file->private_data;
	struct gptl_ni *ni = smp_load_acquire(&f->ni);

	if (ni && task_tgid(current) == ni->tgid)
		gptl_ni_leave(ni);
	return 0;
}

static int gptl_release(struct inode *inode, struct file *file)
{
	struct gptl_file *f = file->private_data;

	if (f->ni) {
		gptl_ni_leave(f->ni);
		gptl_ni_put(f->ni);
	}
	mutex_destroy(&f->lock);
	kfree(f);
	return 0;
}

static const struct file_operations gptl_fops = {
	.owner = THIS_MODULE,
	.open = gptl_open,
	.flush = gptl_flush,
	.release = gptl_release,
	.unlocked_ioctl = gptl_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = gptl_mmap,
};

static struct miscdevice gptl_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "portals",
	.mode = 0660,
	.fops = &gptl_fops,
};

static int __init gptl_init(void)
{
	int rc;

	/* as many at a time as there are interfaces: some may wait for what their user never does */
	gptl_wq = alloc_workqueue("portals_gp", WQ_UNBOUND, WQ_MAX_ACTIVE);
	gptl_pages_wq = alloc_workqueue("portals_gp_pages", WQ_UNBOUND, WQ_MAX_ACTIVE);
	rc = -ENOMEM;
	if (!gptl_wq || !gptl_pages_wq)
		goto err_wq;
	rc = gptl_eth_start();
	if (rc)
		goto err_wq;
	rc = misc_register(&gptl_device);
	if (rc)
		goto err_eth;
	return 0;
err_eth:
	gptl_eth_stop();
err_wq:
	if (gptl_pages_wq)
		destroy_workqueue(gptl_pages_wq);
	if (gptl_wq)
		destroy_workqueue(gptl_wq);
	return rc;
}

/* Files hold the module; interfaces may outlive their files until the last operation has left them. */
static void __exit gptl_exit(void)
{
	misc_deregister(&gptl_device);
	gptl_quiesce();
	gptl_eth_stop();
	destroy_workqueue(gptl_pages_wq);
	destroy_workqueue(gptl_wq);
}

module_init(gptl_init);
module_exit(gptl_exit);
MODULE_DESCRIPTION("Portals 3.3: matching in the kernel, a system call for each call");
MODULE_AUTHOR("The Portals for Linux project");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION("1");
