/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * t_reg.c - registrations of users' memory: used again while they are good, never longer, and not without bound
 *
 * vb_reg.c with a card that only counts.
 */
#include "tap.h"

#include "../../nal/transport/verbs/vb_reg.c"

#include <stdlib.h>

struct vb_lib vb_lib;

static uint64_t now, next_now;		/* what the stamp is; and from the second look on, if not 0 */
static unsigned live, made;
static uint64_t bytes;
static struct verbs v;

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *at, size_t len, int access)
{
	struct ibv_mr *m = calloc(1, sizeof(*m));

	m->addr = at;
	m->length = len;
	live++;
	made++;
	bytes += len;
	return m;
}

static int dereg_mr(struct ibv_mr *m)
{
	live--;
	bytes -= m->length;
	free(m);
	return 0;
}

static uint64_t stamp(void *ctx, const void *at, size_t len)
{
	uint64_t is = now;

	if (next_now)
		now = next_now;
	next_now = 0;
	return is;
}

static void fresh(void)
{
	vb_reg_end(&v);
	memset(&v, 0, sizeof(v));
	v.stamp = stamp;
	vb_lib.reg_mr = reg_mr;
	vb_lib.dereg_mr = dereg_mr;
	now = 7;
	next_now = 0;
	live = made = 0;
	bytes = 0;
}

static void *at(uint64_t page)
{
	return (void *)(uintptr_t)(0x100000 + page * 4096);
}

static void t_used_again_while_nothing_has_changed(void)
{
	struct vb_reg *a, *b;

	fresh();
	a = vb_reg_get(&v, at(0), 100000);
	vb_reg_put(&v, a, false);
	b = vb_reg_get(&v, (char *)at(1) + 5, 4096);	/* part of it */
	CHECK(a == b);
	CHECK_INT(made, 1);
	vb_reg_put(&v, b, false);
	CHECK_INT(live, 1);
}

static void t_another_stamp_is_another_registration(void)
{
	struct vb_reg *a, *b;

	fresh();
	a = vb_reg_get(&v, at(0), 100000);
	vb_reg_put(&v, a, false);
	now = 9;
	b = vb_reg_get(&v, at(0), 100000);
	CHECK_INT(made, 2);
	CHECK_INT(live, 1);			/* the one before is gone at once */
	now = 11;
	a = vb_reg_get(&v, at(0), 100000);	/* and while it is in use, when that has ended */
	CHECK_INT(made, 3);
	CHECK_INT(live, 2);
	vb_reg_put(&v, b, false);
	CHECK_INT(live, 1);
	vb_reg_put(&v, a, false);
	CHECK_INT(live, 1);
}

static void t_changed_while_it_was_made_is_not_kept(void)
{
	struct vb_reg *a;

	fresh();
	next_now = 9;
	a = vb_reg_get(&v, at(0), 4096);
	vb_reg_put(&v, a, false);
	CHECK_INT(live, 0);
	now = 9;
	a = vb_reg_get(&v, at(0), 4096);
	vb_reg_put(&v, a, false);
	CHECK_INT(made, 2);
	CHECK_INT(live, 1);
}

static void t_without_a_stamp_for_one_operation(void)
{
	struct vb_reg *a;

	fresh();
	v.stamp = NULL;
	a = vb_reg_get(&v, at(0), 4096);
	CHECK_INT(live, 1);
	vb_reg_put(&v, a, false);
	CHECK_INT(live, 0);
	v.stamp = stamp;
	now = 0;
	vb_reg_put(&v, vb_reg_get(&v, at(0), 4096), false);
	CHECK_INT(live, 0);
}

static void t_a_bad_one_is_not_used_again(void)
{
	fresh();
	vb_reg_put(&v, vb_reg_get(&v, at(0), 4096), true);
	CHECK_INT(live, 0);
}

static void t_bounded_in_number_and_bytes(void)
{
	struct vb_reg *a[VB_REGS];

	fresh();
	for (uint64_t i = 0; i < 3 * VB_REGS; i++) {
		vb_reg_put(&v, vb_reg_get(&v, at(2 * i), 4096), false);
		CHECK(live <= VB_REGS);
	}
	made = 0;
	vb_reg_put(&v, vb_reg_get(&v, at(2 * (3 * VB_REGS - 1)), 4096), false);
	CHECK_INT(made, 0);			/* the last one is still there */
	vb_reg_put(&v, vb_reg_get(&v, at(0), 4096), false);
	CHECK_INT(made, 1);			/* the first is not */
	for (uint64_t i = 0; i < 40; i++) {
		vb_reg_put(&v, vb_reg_get(&v, at(1000000 + i * 100000), VB_PINNED / 10), false);
		CHECK(bytes <= VB_PINNED);
	}
	fresh();
	for (uint64_t i = 0; i < VB_REGS; i++)
		a[i] = vb_reg_get(&v, at(2 * i), 4096);
	CHECK(!vb_reg_get(&v, at(5000), 4096));	/* all are in use */
	vb_reg_put(&v, a[3], false);
	CHECK(vb_reg_get(&v, at(5000), 4096) == a[3]);
}

int main(void)
{
	static const struct t_case cases[] = {
		T(t_used_again_while_nothing_has_changed), T(t_another_stamp_is_another_registration),
		T(t_changed_while_it_was_made_is_not_kept), T(t_without_a_stamp_for_one_operation),
		T(t_a_bad_one_is_not_used_again), T(t_bounded_in_number_and_bytes), { 0 }
	};

	return t_run(cases);
}
