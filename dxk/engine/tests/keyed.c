// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Puppets with keys, see keyed.h.
 */
#include "engine/alarm.h"
#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/rejoin.h"
#include "engine/tests/keyed.h"

/** keyed_start - puppets whose requests may have keys; the workers are behind the main one */
struct puppets *keyed_start(struct kunit *test, struct dxk_policy *policy, u32 workers)
{
	struct puppets *ps;

	policy->max_waiting = 512;
	ps = puppets_start(test, policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	while (workers--)
		puppet_worker(ps);
	return ps;
}

/** keyed_end - nothing is left that begins waiting, or is held back */
void keyed_end(struct puppets *ps)
{
	EXPECT_IS(ps->e->waits.unbegun, 0);
	dxk_names_unstart(ps->e);
}

struct dxk_member *keyed_worker(struct puppets *ps, u32 i)
{
	return ps->member[1 + i];
}

/** keyed_add - one more request for a post, with what @p says beside the usual */
struct dxk_rqe *keyed_add(struct puppets *ps, struct dxk_post_op *post, u64 owner, s32 prio,
			  u32 attrs, const struct dxk_post_more *p)
{
	struct dxk_rqe *rqe;

	puppet_add(ps, post, owner, prio, attrs);
	rqe = list_last_entry(&post->rqes, struct dxk_rqe, link);
	ASSERT_IS(dxk_more_make(post->m, rqe, p), 0);
	return rqe;
}

/** keyed_send - a message to whoever has a key; its answer is of the owner */
struct dxk_rqe *keyed_send(struct puppets *ps, struct dxk_member *m, u64 key, u64 owner,
			   u32 reentry)
{
	const struct dxk_post_more p = { .key = key, .reentry = reentry };
	struct dxk_post_op *post = puppet_poster(ps, m);
	struct dxk_rqe *rqe = keyed_add(ps, post, owner, 0, PXR_REJOIN | PXR_KEY, &p);

	puppet_posts(ps, post);
	EXPECT_IS(post->err, 0);
	return rqe;
}

/** keyed_call - a worker waits; @nest: it can execute what its call waits for */
struct dxk_rejoin_op *keyed_call(struct puppets *ps, struct dxk_member *m, u64 owner, u32 min,
				 bool nest, bool timed)
{
	struct dxk_rejoin_op *r = puppet_poller(ps, m, owner, min, min);

	r->nest = nest;
	r->timed = timed;
	puppet_do(ps, &r->op, dxk_rejoin_run);
	return r;
}

/** keyed_then - the worker's request ends, and it is given that one */
void keyed_then(struct puppets *ps, struct dxk_member *m, const struct dxk_rqe *rqe)
{
	puppet_end(ps, m, 0, 0);
	EXPECT(puppet_work(ps, m) == rqe);
}

/** keyed_drain - the worker ends all that it executes, the newest first */
void keyed_drain(struct puppets *ps, struct dxk_member *m)
{
	while (!list_empty(&m->busy))
		puppet_end(ps, m, 0, 0);
}

void keyed_is_held(struct puppets *ps, const struct dxk_rqe *rqe)
{
	EXPECT_IS(rqe->state, DXK_WAITING);
	EXPECT_IS(rqe->more->at_key, DXK_KEY_HELD);
}

/** keyed_expires - the time has come at which a request is to end */
void keyed_expires(struct puppets *ps, struct dxk_rqe *rqe)
{
	struct dxk_wakes wakes = { };

	spin_lock(&ps->e->lock);
	rqe->more->expire = 1;
	dxk_alarm_set(ps->e, rqe->more, 1, &wakes);
	spin_unlock(&ps->e->lock);
	dxk_sweep(ps->e, true);
	puppets_count(ps);
}

/** keyed_anybody - a call on a key that needs no request of it */
int keyed_anybody(struct puppets *ps, dxk_op_fn *run, u64 key, bool refuse)
{
	struct dxk_key_op k = { .m = ps->main, .cookie = key, .refuse = refuse };

	ASSERT_IS(dxk_key_reserve(ps->main, 1), 0);
	INIT_LIST_HEAD(&k.ended);
	do {
		puppet_do(ps, &k.op, run);
		dxk_rqe_drop_all(NULL, &k.ended);
	} while (k.more);
	return k.ret;
}
