// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Reports of keys: see keys.h.
 */
#include "engine/engine.h"
#include "engine/key.h"
#include "engine/keys.h"
#include "engine/more.h"
#include "engine/os.h"

/* Buckets of the hash that a lock hold looks at. */
#define DXK_KEY_BUCKETS	128

static void dxk_key_copy(const struct dxk_key *key, struct dxk_key_seen *seen)
{
	const struct dxk_more *holder = dxk_key_holder(key);

	*seen = (struct dxk_key_seen) {
		.key = key->cookie, .space = key->space->id, .users = key->users,
		.held = key->nr_held, .taken = holder, .suspended = key->suspended,
		.refuses = key->refuses,
	};
	if (!holder)
		return;
	seen->owner = holder->rqe->cookie;
	seen->executor = holder->rqe->executor;
	seen->attrs = holder->rqe->attrs;
	seen->worker = holder->worker ? holder->worker->id : 0;
}

/* Report the keys of some buckets. Return: how many are in @seen. */
static u32 dxk_keys_hold(struct dxk_engine *e, u32 *bucket, u32 *size, struct dxk_key_seen *seen,
			 u32 nr, u32 max)
{
	const struct dxk_waits *waits = &e->waits;
	struct dxk_wakes wakes __uninitialized;
	const struct dxk_key *key;
	u32 end;

	dxk_wakes_init(&wakes);
	spin_lock(&e->lock);
	dxk_hold_begin(e);
	*size = waits->bucket ? 1U << waits->bits : 0;
	for (end = min(*bucket + DXK_KEY_BUCKETS, *size); *bucket < end; ++*bucket) {
		dxk_step(e);
		hlist_for_each_entry(key, &waits->bucket[*size + *bucket], hash)
			if (nr < max)
				dxk_key_copy(key, &seen[nr++]);
	}
	dxk_hold_end(e, &wakes);
	spin_unlock(&e->lock);
	os_yield();
	return nr;
}

/**
 * dxk_keys_look - report some of the keys that exist
 * @e: the engine
 * @seen: out
 * @max: room there, at most %DXK_KEYS_MAX
 *
 * The lock is held many times, each for a short time; a Start between two holds may exchange the
 * hash, and then some keys are reported twice, or not at all.
 * Return: how many of them are in @seen.
 */
u32 dxk_keys_look(struct dxk_engine *e, struct dxk_key_seen *seen, u32 max)
{
	u32 bucket = 0, size, nr = 0;

	do
		nr = dxk_keys_hold(e, &bucket, &size, seen, nr, max);
	while (bucket < size && nr < max);
	return nr;
}
