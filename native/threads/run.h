/* SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later */
/*
 * For tests of runs: a context that is started and ends, with the test as its walker.
 */
#ifndef _DXK_NATIVE_RUN_H
#define _DXK_NATIVE_RUN_H

#include "engine/life.h"
#include "engine/tests/puppet.h"

/* A context that was not started yet, though the rest is as if it ran. */
static inline struct puppets *new_context(struct kunit *test, u32 workers)
{
	struct puppets *ps = puppets_workers(test, workers);

	ps->e->state = DXK_CTX_NEW;
	return ps;
}

static inline int claim(struct puppets *ps, const struct dxk_policy *policy)
{
	int err;

	spin_lock(&ps->e->lock);
	err = dxk_run_claim(ps->e, policy);
	spin_unlock(&ps->e->lock);
	return err;
}

static inline void start(struct puppets *ps)
{
	struct dxk_policy policy = ps->e->policy;

	/* of the run before */
	ps->e->stalled = true;
	EXPECT_IS(claim(ps, &policy), 0);
	EXPECT(!ps->e->stalled);
	EXPECT_IS(ps->e->state, DXK_CTX_STARTING);
	EXPECT_IS(claim(ps, &policy), -EBUSY);
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_CANCEL, true, 0), -EBUSY);
	dxk_run_open(ps->e);
	EXPECT_IS(dxk_run_state(ps->e), DXK_CTX_RUNNING);
	EXPECT_IS(claim(ps, &policy), -EBUSY);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
}

static inline void ends(struct puppets *ps)
{
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_DOWN);
	EXPECT(!dxk_run_is_over(ps->e));
	/* else it would go round and round until the last worker has gone */
	os_kicked = 0;
	dxk_run_shut(ps->e);
	EXPECT(!(os_kicked & BIT(DXK_WALKER)));
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_DOWN);
	EXPECT_IS(ps->e->state, DXK_CTX_STOPPED);
	EXPECT_IS(dxk_run_state(ps->e), DXK_CTX_STOPPING);
	dxk_run_over(ps->e);
	EXPECT_IS(dxk_run_state(ps->e), DXK_CTX_STOPPED);
	EXPECT(dxk_run_is_over(ps->e));
	EXPECT_IS(ps->e->state, DXK_CTX_STOPPED);
}

/* As Stop does it, but for the wait until the threads have ended. */
static inline void stops(struct puppets *ps, enum dxk_stop_mode mode)
{
	EXPECT_IS(dxk_run_halt(ps->e, mode, false, 0), 0);
	spin_lock(&ps->e->lock);
	ps->e->run.want_down = true;
	spin_unlock(&ps->e->lock);
	ends(ps);
}

#endif /* _DXK_NATIVE_RUN_H */
