/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * nal_together.c - one copy, two processors
 *
 * The mover announces a job in its row of the peer's NI (struct p3l_job) and rings; both then take chunks from a common
 * counter until none is left. The job's word holds its generation and the next chunk in 64 bits, so that a chunk is
 * taken by one atomic add that also says which job it belongs to:
 *
 *	mover	word = generation << 32 | closed; fields; word = generation << 32 (release)
 *	taker	w = word++; a new generation in w: read the fields, then look whether the word still has that
 *		generation. It has: a chunk below n is ours, and the fields stand still until it is done, since the job
 *		cannot end before. It has not: the job of w had ended, and w's chunk was beyond its end.
 *
 * Before the mover changes the fields it closes the word: new generation, chunk beyond any end. So fields are never
 * read as those of a job that they do not belong to, and a chunk is never taken of a job whose fields are not
 * complete.
 *
 * helped counts the chunks that the helper has finished, with release order; the mover leaves when its own and these
 * are all. Only what a helper took and did not copy, because it died or could not reach the mover's memory, is
 * copied again.
 */
#include <string.h>

#include "nal_together.h"
#include "smartmap.h"

#define CHUNK_MIN (20u << 10)
#define CHUNK_MAX (64u << 10)

/*
 * Few chunks: each costs both sides a line that the other has just written. But more than two, since the owner begins
 * later than the mover, by as much as it takes to hear of the job.
 */
static uint64_t chunk_of(uint64_t n)
{
	uint64_t chunk = n / 4;

	return chunk < CHUNK_MIN ? CHUNK_MIN : chunk > CHUNK_MAX ? CHUNK_MAX : (chunk + 4095) / 4096 * 4096;
}

static void copy_chunk(void *to, const void *from, uint64_t at, uint64_t chunk, uint64_t n)
{
	smartmap_copy((char *)to + at, (const char *)from + at, n - at < chunk ? n - at : chunk);
}

bool nal_together_copy(struct nal_ni *ni, uint32_t slot, struct p3l_ni *l, bool put, uint64_t theirs, uint64_t ours,
		       void *far, uint64_t n)
{
	struct p3l_job *job = &p3l_row(l, ni->l->slot)->job;
	void *own = (void *)(uintptr_t)ours, *to = put ? far : own;
	const void *from = put ? own : far;
	uint64_t chunk = chunk_of(n), gen = (job->word >> 32) + 1, mine[P3L_JOB_MAX / 64] = { 0 };
	uint32_t k, chunks, done = 0;
	struct p3l_wait w = { 0 };
	unsigned spins = 0;

	while ((n + chunk - 1) / chunk > P3L_JOB_MAX)
		chunk *= 2;
	chunks = (uint32_t)((n + chunk - 1) / chunk);
	P3_PROBE3(copy, P3_WAY_TOGETHER, put, n);
	P3_TRACE_BEGAN(began);
	P3_TRACED(job(l, ni->l->slot, (uint32_t)gen));
	/* closed: whoever read the fields of the last job finds another generation behind them */
	p3_store(&job->word, gen << 32 | P3L_JOB_CLOSED);	/* M:together.close */
	p3_fence_rel();
	job->theirs = theirs;	/* M:together.fields-plain */
	job->ours = ours;
	job->len = n;
	job->chunk = chunk;
	job->chunks = chunks;
	job->put = put;
	p3_store(&job->helped, 0);	/* M:together.reset */
	p3_store(&job->refused, 0);
	p3_store_rel(&job->word, gen << 32);	/* M:together.open pairs with the acquire in nal_together_help() */
	p3_fetch_add(&l->handed, 1);
	while ((k = (uint32_t)p3_fetch_add(&job->word, 1)) < chunks) {	/* M:together.take */
		copy_chunk(to, from, k * chunk, chunk, n);
		mine[k / 64] |= (uint64_t)1 << (k % 64);
		done++;
	}
	while (done + p3_load_acq(&job->helped) < chunks) {	/* M:together.wait for nal_together_help() */
		ni->env.relax(++spins);
		if (p3_unlikely(spins % 4096 == 0)) {
			if (w.what)
				p3l_wait_on(&ni->env, l, &w);
			else
				p3l_wait_begin(&ni->env, l, P3L_WAIT_COPY, slot, 1, &w);
		}
		if (!p3_load_acq(&job->refused) && (spins % 4096 || smartmap_alive((int)slot)))
			continue;
		for (k = 0; k < chunks; k++)
			if (!(mine[k / 64] >> (k % 64) & 1))
				copy_chunk(to, from, k * chunk, chunk, n);
		break;
	}
	p3l_wait_end(&ni->env, l, &w);
	P3_TRACED(copy(began, P3_WAY_TOGETHER, put, n));
	return done < chunks;
}

void nal_together_help(struct nal_ni *ni, uint32_t slot)
{
	struct p3l_job *job = &p3l_row(ni->l, slot)->job;
	uint64_t gen = 0, chunk = 0, n = 0;
	uint32_t chunks = 0;
	void *own = NULL, *far = NULL;
	bool put = false;

	if ((uint32_t)p3_load(&job->word) >= p3_load(&job->chunks))	/* M:together.look */
		return;
	for (;;) {
		uint64_t w = p3_load_acq(&job->word);
		uint32_t k;

		if ((uint32_t)w >= p3_load(&job->chunks))
			return;
		w = p3_fetch_add(&job->word, 1);	/* M:together.help */
		k = (uint32_t)w;
		if (w >> 32 != gen) {		/* each value is read once and checked: a peer wrote it */
			gen = w >> 32;
			chunks = p3_load(&job->chunks);	/* M:together.read */
			chunk = p3_load(&job->chunk);
			n = p3_load(&job->len);
			put = p3_load(&job->put);
			own = (void *)(uintptr_t)p3_load(&job->theirs);
			far = smartmap_remote((int)slot, (void *)(uintptr_t)p3_load(&job->ours));
			p3_fence_acq();
			if (p3_load(&job->word) >> 32 != gen)	/* M:together.other */
				return;		/* fields of another job than the chunk, which is past its end */
		}
		if (k >= chunks || k >= P3L_JOB_MAX)
			return;
		if (chunks > P3L_JOB_MAX || !chunk || n / chunk > chunks || k * chunk >= n || !far ||
		    !smartmap_reachable((int)slot, (void *)(uintptr_t)p3_load(&job->ours), n)) {
			p3l_count(&ni->env, &p3l_row(ni->l, ni->l->slot)->stats.corrupt, 1);
			p3_store_rel(&job->refused, 1);
			return;
		}
		P3_TRACED(help(ni->l, slot, (uint32_t)gen));
		P3_TRACE_BEGAN(began);
		copy_chunk(put ? own : far, put ? far : own, k * chunk, chunk, n);
		P3_TRACED(copy(began, P3_WAY_TOGETHER, put, n - k * chunk < chunk ? n - k * chunk : chunk));
		P3_TRACED(pop());
		__atomic_fetch_add(&job->helped, 1, __ATOMIC_RELEASE);	/* M:together.helped */
	}
}
