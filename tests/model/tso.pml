/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * tso.pml - memory as x86 shows it, for the models
 *
 * Each process has a buffer, from which its stores reach memory in their order, at any time later. A load looks there
 * first. A locked instruction (CAS, XCHG, ADD), and a FENCE, waits until the own buffer is empty. Before the #include:
 * PROCS, CELLS (addresses), DEPTH (of a buffer). All of these are one step; in a model each line that has one carries
 * the tag of its line in the source (portals/doc/MODELS.md).
 */
byte mem[CELLS];
byte newest[PROCS * CELLS];		/* value in the own buffer */
byte held[PROCS * CELLS];		/* how many of that address are there */
chan buf[PROCS] = [DEPTH] of { byte, byte };

#define LOAD(who_t, at_t)	(held[(who_t) * CELLS + (at_t)] > 0 -> newest[(who_t) * CELLS + (at_t)] : mem[at_t])

inline STORE(who_t, at_t, val_t) {
	d_step {
		nfull(buf[who_t]) ->
		buf[who_t]!(at_t), (val_t);
		newest[(who_t) * CELLS + (at_t)] = (val_t);
		held[(who_t) * CELLS + (at_t)]++
	}
}

inline CAS(who_t, at_t, from_t, to_t, ok_t) {	/* ok_t: has it been swapped? */
	d_step {
		empty(buf[who_t]) ->
		ok_t = (mem[at_t] == (from_t));
		if
		:: ok_t -> mem[at_t] = (to_t)
		:: else
		fi
	}
}

inline XCHG(who_t, at_t, val_t, was_t) {
	d_step { empty(buf[who_t]) -> was_t = mem[at_t]; mem[at_t] = (val_t) }
}

inline ADD(who_t, at_t, by_t, was_t) {
	d_step { empty(buf[who_t]) -> was_t = mem[at_t]; mem[at_t] = mem[at_t] + (by_t) }
}

inline FENCE(who_t) {
	empty(buf[who_t])
}

/* membarrier(): each process passes a full barrier somewhere between its begin and its end */
inline MEMBARRIER() {
	empty(buf[0]);
	empty(buf[1]);
#if PROCS > 2
	empty(buf[2]);
#endif
#if PROCS > 3
	empty(buf[3]);
#endif
	skip
}

inline reach(p) {
	d_step {
		buf[p]?a, v ->
		mem[a] = v;
		held[p * CELLS + a]--;
		if
		:: held[p * CELLS + a] == 0 -> newest[p * CELLS + a] = 0
		:: else
		fi;
		a = 0;
		v = 0
	}
}

active proctype memory() {
	byte a, v;

end:	do
	:: reach(0)
	:: reach(1)
#if PROCS > 2
	:: reach(2)
#endif
#if PROCS > 3
	:: reach(3)
#endif
	od
}
