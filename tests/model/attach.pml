/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * attach.pml - the ranks of a node begin and end together, and one may die (nal_start.c, smap_sync.c)
 *
 * Begin: each says which pid it wants, or that it cannot start; a barrier; nobody starts if one cannot, else each publishes its
 * region; a barrier. Then they use each other's regions, with a barrier of the program's own now and then, which it may call
 * again when it has failed. End: not up any more; two barriers; the region is freed if both say that all have come.
 * Barrier: one counter, one generation, and per rank which generation it has arrived at; who waits gives up when somebody is
 * dead that has not arrived. A process dies at any step; what it has stored reaches memory before others see its death.
 *
 * Checked: nobody touches a region that has been freed; who passes a barrier knows that all have arrived there; all start, or
 * none, unless one dies; everybody who lives comes to the end.
 */
#ifndef RANKS
#define RANKS	2
#endif
#ifndef CALLS
#define CALLS	1			/* of the program's barrier */
#endif
#ifndef AGAIN
#define AGAIN	1			/* calls after one that has failed */
#endif

#define COUNT	0
#define GEN	1
#define FAILED	2
#define PID	3
#define ROOT	(PID + RANKS)
#define UP	(ROOT + RANKS)		/* in the region */
#define ARRIVED	(UP + RANKS)
#define LEFT	(ARRIVED + RANKS)
#define CELLS	(LEFT + RANKS)
#define PROCS	RANKS
#define DEPTH	2
#include "tso.pml"

#define MADE	1
#define FREED	2
byte region[RANKS];
byte deaths;
bool dead[RANKS];
byte been[RANKS];			/* barriers that it has arrived at */
byte started, refused;

/* smartmap_alive(); the kernel clears the robust mutex behind all stores */
#define ALIVE(me_, r) (!(dead[r] && len(buf[r]) == 0) && !LOAD(me_, LEFT + (r)))

/* smartmap_barrier(); ok: 0 was returned. @number_: the how-manieth of this rank, an attempt that is repeated included */
inline barrier() {
	gen = LOAD(me, GEN);				/* M:attach.bar-gen */
#ifdef BUG_COUNTED_AGAIN
	ok = 1;
#else
	ok = (LOAD(me, ARRIVED + me) != gen + 1);	/* M:attach.bar-again */
#endif
	n = 0;
	if
	:: ok ->
		been[me] = gen + 1;
		ADD(me, COUNT, 1, n)			/* M:attach.bar-count */
	:: else
	fi;
#ifdef BUG_ARRIVED_FIRST			/* the last one may die with it, before it has opened */
	STORE(me, ARRIVED + me, gen + 1);
#endif
	if
	:: n + 1 >= RANKS ->
#ifdef BUG_GEN_FIRST
		STORE(me, GEN, gen + 1);
		STORE(me, COUNT, 0);
#else
		STORE(me, COUNT, 0);			/* M:attach.bar-reset */
		STORE(me, GEN, gen + 1);		/* M:attach.bar-open */
#endif
		ok = 1
	:: else ->
#ifndef BUG_ARRIVED_FIRST
		STORE(me, ARRIVED + me, gen + 1);	/* M:attach.bar-arrived */
#endif
		do
		:: LOAD(me, GEN) != gen -> ok = 1; break	/* M:attach.bar-wait */
		:: (!ALIVE(me, 0) && LOAD(me, ARRIVED) != gen + 1) ||	/* M:attach.alive M:attach.bar-dead */
		   (!ALIVE(me, 1) && LOAD(me, ARRIVED + 1) != gen + 1) || /* M:attach.alive M:attach.bar-dead */
		   (!ALIVE(me, RANKS - 1) && LOAD(me, ARRIVED + RANKS - 1) != gen + 1) -> /* M:attach.alive M:attach.bar-dead */
			if
			:: LOAD(me, GEN) == gen -> ok = 0; break	/* M:attach.bar-still */
			:: else
			fi
		od
	fi;
	if
	:: ok ->
		d_step {			/* all have come to it */
			n = 0;
			do
			:: n < RANKS -> assert(been[n] >= gen + 1); n++
			:: else -> break
			od
		}
	:: else
	fi;
	atomic { gen = 0; n = 0 }
}

proctype rank(byte me) {
	byte gen, n, k, peer;
	bool ok, rc, have;

	{
		STORE(me, PID + me, 1);				/* M:attach.pid */
		region[me] = MADE;
		STORE(me, UP + me, 1);				/* M:attach.up */
		if
		:: deaths == 0 && refused == 0 ->		/* it cannot start */
			refused = 1;
			CAS(me, FAILED, 0, 1, ok)		/* M:attach.failed */
		:: skip
		fi;
		barrier();
		if
		:: !ok -> goto leave
		:: else
		fi;
#ifdef BUG_OWN_OPINION
		rc = 0;
#else
		rc = LOAD(me, FAILED);				/* M:attach.all-failed */
#endif
		if
		:: !rc -> STORE(me, ROOT + me, 1)		/* M:attach.publish */
		:: else -> STORE(me, PID + me, 0)		/* M:attach.no-pid */
		fi;
#ifndef BUG_ONE_BARRIER
		barrier();
		if
		:: !ok -> goto leave
		:: else
		fi;
#endif
		if
		:: rc -> goto leave
		:: else
		fi;
		atomic { started++; assert(!refused || deaths) };
		/* a peer is looked up once, and used until we end */
		peer = (me + 1) % RANKS;
		if
		:: LOAD(me, ROOT + peer) ->			/* M:attach.lookup */
			assert(deaths || region[peer] == MADE);
			have = 1
		:: else -> assert(deaths); have = 0
		fi;
		k = 0;
		do
		:: k < CALLS ->
			k++;
			barrier();
			if
			:: !ok && AGAIN -> barrier()
			:: else
			fi
		:: else -> break
		od;
		if
		:: have ->
			atomic {
				assert(region[peer] != FREED);
				have = LOAD(me, UP + peer)		/* M:attach.is-up */
			};
			if
			:: have -> assert(region[peer] != FREED)	/* the operation */
			:: else
			fi
		:: else
		fi;
		STORE(me, UP + me, 0);				/* M:attach.down */
#ifdef BUG_FREE_AT_ONCE
		ok = 1;
#else
		barrier();			/* behind it all are down */
		if
		:: ok -> barrier()
		:: else
		fi;
#endif
leave:		STORE(me, ROOT + me, 0);			/* M:attach.unpublish */
		if
		:: ok -> region[me] = FREED
		:: else
		fi;
		STORE(me, LEFT + me, 1);			/* M:attach.left */
		empty(buf[me])
	} unless { dead[me] }
}

active proctype death() {
	byte v;

end:	do
	:: deaths == 0 ->
		if
		:: v = 0
#if RANKS > 2
		:: v = 1
#endif
		:: v = RANKS - 1
		fi;
		atomic { deaths++; dead[v] = 1 }
	od
}

init {
	byte k;

	atomic {
		do
		:: k < RANKS -> run rank(k); k++
		:: else -> break
		od
	}
}
