/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * conform.h - values of the script language, and the table of calls
 *
 * calls_ref.c and calls_xt.c give the same table, compiled with the headers of the reference implementation and with
 * those of the XT (calls.h): a script says which of them its calls go through.
 */
#ifndef T_CONFORM_H
#define T_CONFORM_H

#include <stddef.h>
#include <stdint.h>

#define MAX_ARGS 13
#define MAX_OUTS 2
#define MAX_VARS 400

enum kind { V_NONE, V_NUM, V_MEM, V_ID, V_MD, V_EVENT, V_LIMITS };

struct val {
	enum kind kind;
	uint64_t n;			/* V_NUM: numbers, handles, constants; functions, too */
	unsigned char *p;		/* V_MEM */
	uint64_t len;
	union {
		ptl_process_id_t id;
		ptl_md_t md;
		ptl_event_t ev;
		ptl_ni_limits_t lim;
	};
};

/* Where a call writes its result: NULL when the script names nothing for it. */
union out {
	uint64_t word;
	ptl_process_id_t id;
	ptl_md_t md;
	ptl_event_t ev;
	ptl_ni_limits_t lim;
	unsigned char raw[sizeof(ptl_event_t)];
};

/*
 * @args: n number or handle, p process id, m descriptor (by value), d descriptor (by address; NULL), b memory.
 * @outs: w 32-bit word, u 64-bit word, p process id, e event, d descriptor (what the name held before goes in),
 *        l limits.
 * @keeps: a failure leaves the results alone.
 */
struct call {
	const char *name, *args, *outs;
	int keeps;
	int (*fn)(struct val *a, union out *const *o);
};
extern const struct call calls_ref[], calls_xt[];

#endif
