/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * Is a wait part of a circle? This is checked under the lock when the wait would begin. So exactly
 * one of all that close a circle together gets the error.
 *
 * The search goes from the owner that is to be waited for, over those of its requests that
 * are still to end and cannot go on, along what each of them waits for:
 *   WAITING for an owner, and for nothing else      -> that owner
 *   Held                                            -> the request that has the key
 *   executed by a worker that sleeps in a rejoin    -> that owner
 *   executed by a worker that sleeps for a key      -> the request that has it
 * A request that runs, is Ready, or may be woken by a time, a call, a file or a RELEASE goes on
 * without help. A wait for results is dead if too few requests are left that go on; a wait for
 * all that an owner has coming is dead if one of them does not go on.
 *
 * A request that is about to be ended goes on as well: by a Stop(cancel), by a policy that closes
 * its lane, or by a cancel of all of its owner, which may take several lock holds.
 *
 * A worker that sleeps while it executes several requests, as helpers do, is in the list of the
 * last one's owner. Of the others those without a struct dxk_more count as ones that go on.
 *
 * A request for which the search has no looks left counts as one that goes on; the search then
 * records in dxk_waits.unsure that it has given up, see circle.h. So it does where the stack is
 * low: an owner takes some 200 bytes of it, a key 100, and a worker that helps has had half before.
 *
 * A sleeper that is met a second time does not go on because of itself, so it counts as one that
 * does not go on. No finding is kept: what holds on one path may be wrong on another.
 */
#ifndef _DXK_ENGINE_CYCLE_H
#define _DXK_ENGINE_CYCLE_H

#include "engine/os.h"

struct dxk_engine;
struct dxk_member;
struct dxk_more;
struct dxk_owner;
struct dxk_rejoin_op;
struct dxk_rqe;
struct dxk_wakes;

/* The most that a search looks at under the lock; and the longest path that it follows. */
#define DXK_CYCLE_STEPS	64
#define DXK_CYCLE_DEPTH	32

/**
 * struct dxk_lack - what a wait for an owner still lacks
 */
struct dxk_lack {
	/** @m: the member whose own requests it does not wait for, or NULL */
	const struct dxk_member *m;
	/** @coming: how many of the others are still to end */
	u32 coming;
	/** @want: how many of these it waits for */
	u32 want;
};

struct dxk_lack dxk_lack_results(const struct dxk_member *m, const struct dxk_owner *owner,
				 u32 nr, u32 own);
struct dxk_lack dxk_lack_wait(const struct dxk_rqe *rqe, const struct dxk_owner *owner);
u32 dxk_plain_ones(struct dxk_engine *e, const struct dxk_member *m,
		   const struct dxk_owner *owner, u32 *looks);

u32 dxk_rejoin_min(const struct dxk_engine *e, const struct dxk_rejoin_op *r);
bool dxk_rejoin_is_dead(struct dxk_engine *e, struct dxk_owner *owner,
			const struct dxk_rejoin_op *r);
struct dxk_more *dxk_rejoin_nests(struct dxk_engine *e, struct dxk_owner *owner,
				  const struct dxk_rejoin_op *r);
bool dxk_wait_is_dead(struct dxk_engine *e, const struct dxk_rqe *rqe,
		      struct dxk_owner *owner, const struct dxk_owner *home);

#endif /* _DXK_ENGINE_CYCLE_H */
