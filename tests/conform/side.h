/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * side.h - the two sides of a script: what each has made and seen so far, and what the statements need of a run
 *
 * t_conform.c runs the scripts and owns what is here, events.c has the statements about events, statement.c the others.
 */
#ifndef T_SIDE_H
#define T_SIDE_H

#include "lang.h"
#include "script.h"

#define PT_DEFAULT	4		/* the portal of events that do not name one */
#define MAX_QUEUES	8
#define MAX_MDS		160

/* What a side knows of a queue. */
struct queue {
	ptl_handle_eq_t h;
	int seen, stashed;
	ptl_seq_t sequence;
	ptl_event_t stash;		/* an ACK that was read before its SEND_END */
};

/* A descriptor that the script has made, and the links of its operations. */
struct made {
	ptl_handle_md_t h;
	ptl_md_t md;
	ptl_seq_t start[12], seen[32];	/* links of STARTs by kind of END, of all events */
	int started[12], n_seen;
};

struct side {
	const char *name;
	int mine, failed, dirty;
	ptl_process_id_t self, peer;
	struct vars vars;
	struct queue q[MAX_QUEUES];
	int n_q;
	struct made md[MAX_MDS];
	int n_md;
	ptl_sr_value_t base[64];
	uint64_t base_syncs[2];
	long long drops;
	unsigned acs;			/* access control entries to be put right */
	int polled;			/* portals are polled, perhaps */
};

/* t_conform.c */
extern const struct script *script;
extern const struct call *calls;
extern _Thread_local char line_text[600];
extern int early_all;
extern int handler_ran;
extern ptl_event_t handler_event;

void fail(struct side *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int other_failed(void);
int shared(void);
void stop_other(int stop);
double deadline(void);			/* of an event that is awaited from now on */
void own_ids(ptl_uid_t *uid, ptl_jid_t *jid);
ptl_sr_value_t reg(ptl_sr_index_t i);
long long grown(const struct side *s, ptl_sr_index_t i);

/* events.c */
struct queue *queue_of(struct side *s, ptl_handle_eq_t h);
void remember_md(struct side *s, ptl_handle_md_t h, const ptl_md_t *md);
const char *kind_name(ptl_event_kind_t k);
int same(const struct val *a, const struct val *b);
void do_expect(struct side *s, struct scan *in);
void do_noevent(struct side *s, struct scan *in);

/* statement.c: one statement of one side */
void statement(struct side *s, const char *text);
/* What is to be done meanwhile has been done. */
void meanwhile_over(void);
#endif
