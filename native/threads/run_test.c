// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The life of a context: which run a Stop is about, how a run ends, what a close begins.
 * The test is the walker: it asks what to do, and does it when it likes, which a kernel in
 * which the real one is kicked leaves no room for.
 */
#include "run.h"

/* DX-107, DX-112, DX-114: one run after the other; a Stop that gave up ends its own. */
static void run_runs(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	u32 i;

	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, true, 0), 0);
	EXPECT_IS(ps->e->state, DXK_CTX_NEW);
	for (i = 1; i <= 3; i++) {
		struct dxk_member *worker;

		start(ps);
		worker = puppet_worker(ps);
		EXPECT_IS(ps->e->run.gen, i);
		puppet_post(ps, 8, 0, 0);
		puppet_work(ps, worker);
		/* the wish "drain" ends no thread */
		EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, false, 0), -ETIMEDOUT);
		EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
		EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, true, 0), -ETIMEDOUT);
		EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
		puppet_end(ps, worker, 0, 0);
		ends(ps);
		EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
		EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_CANCEL, true, 0), 0);
		puppet_dies(ps, worker);
	}
}

/* A drain of which nobody wants the threads ended; then somebody does. */
static void run_wish_only(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);

	start(ps);
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, false, 0), 0);
	EXPECT_IS(ps->e->state, DXK_CTX_STOPPING);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
	spin_lock(&ps->e->lock);
	EXPECT(dxk_run_welcomes(ps->e));
	ps->e->run.want_down = true;
	spin_unlock(&ps->e->lock);
	ends(ps);
	spin_lock(&ps->e->lock);
	EXPECT(!dxk_run_welcomes(ps->e));
	spin_unlock(&ps->e->lock);
}

/* DX-107, DX-108: a drain may become a cancel, and never the other way round */
static void run_only_grows(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	struct dxk_member *worker;
	u32 i;

	start(ps);
	worker = puppet_worker(ps);
	for (i = 0; i < 3; i++)
		puppet_post(ps, 8, 0, 0);
	puppet_work(ps, worker);
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, true, 0), -ETIMEDOUT);
	EXPECT_IS(ps->e->stats.cancelled, 0);
	EXPECT(dxk_run_drains(ps->e));
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_CANCEL, true, 0), -ETIMEDOUT);
	EXPECT_IS(ps->e->stats.cancelled, 2);
	EXPECT(!dxk_run_drains(ps->e));
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, true, 0), -ETIMEDOUT);
	EXPECT_IS(ps->e->run.how, DXK_CANCEL);
	EXPECT(ps->e->cancelling);
	puppet_end(ps, worker, 0, 0);
	ends(ps);
}

/* A Stop of the run before, held back until now, does nothing to this one. */
static void run_late_stop(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	struct dxk_rejoin_op *r;

	start(ps);
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_CANCEL, false, 0), 0);
	ps->e->run.want_down = true;
	ends(ps);
	start(ps);
	puppet_post(ps, 8, 0, PXR_REJOIN);
	r = puppet_rejoin(ps, puppet_client(ps), 8, 1, 1);
	dxk_stop_begin(ps->e, ps->e->run.gen - 1, true, true);
	EXPECT_IS(ps->e->state, DXK_CTX_RUNNING);
	EXPECT(ASLEEP(r));
	EXPECT_IS(ps->e->stats.cancelled, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, true);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(ps->e->stats.cancelled, 1);
	dxk_run_over(ps->e);
}

/* DX-113: a close begins the end, and waits neither for requests nor for pins. */
static void run_close(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	struct dxk_policy policy = ps->e->policy;
	struct dxk_member *worker;

	start(ps);
	worker = puppet_worker(ps);
	puppet_post(ps, 8, 0, 0);
	puppet_post(ps, 8, 0, 0);
	puppet_work(ps, worker);
	dxk_pin(ps->e);
	dxk_run_close(ps->e);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_SHUT);
	dxk_run_shut(ps->e);
	EXPECT_IS(ps->e->stats.cancelled, 1);
	ends(ps);
	EXPECT_IS(ps->e->nr[DXK_AT_WORK], 1);
	EXPECT_IS(claim(ps, &policy), -ESHUTDOWN);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_LEAVE);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
	dxk_unpin(ps->e);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_BURY);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
	puppet_end(ps, worker, 0, 0);
}

/* What a worker has of a context that is closed ends, also if it could not fetch it. */
static void run_close_then_put_back(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	struct dxk_next_op *n;

	start(ps);
	n = puppet_turn(ps, puppet_worker(ps), 1);
	puppet_post(ps, 8, 0, PXR_REJOIN);
	EXPECT_IS(n->nr, 1);
	dxk_run_close(ps->e);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_SHUT);
	dxk_run_shut(ps->e);
	ends(ps);
	puppet_return(ps, n);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
	EXPECT_IS(ps->e->stats.cancelled, 1);
}

/* One that never ran: whoever waits to be asked to end is asked. */
static void run_close_of_a_new_one(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	struct dxk_should_op *s = puppet_asks(ps, ps->main, true);

	EXPECT(ASLEEP(s));
	dxk_run_close(ps->e);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_SHUT);
	dxk_run_shut(ps->e);
	EXPECT(!ASLEEP(s) && s->answer);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_LEAVE);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_BURY);
}

static bool walker_is_kicked(void)
{
	bool kicked = os_kicked & BIT(DXK_WALKER);

	os_kicked = 0;
	return kicked;
}

/* Whoever changes what the walker is to do kicks it, and nobody else. */
static void run_kicks(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);

	os_kicked = 0;
	start(ps);
	dxk_pin(ps->e);
	dxk_unpin(ps->e);
	EXPECT(!walker_is_kicked());
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, false, 0), 0);
	EXPECT(walker_is_kicked());
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_PARK);
	ps->e->run.want_down = true;
	ends(ps);
	os_kicked = 0;
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, true, 0), 0);
	EXPECT(!walker_is_kicked());
	start(ps);
	EXPECT(!walker_is_kicked());
	dxk_run_close(ps->e);
	EXPECT(walker_is_kicked());
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_SHUT);
	ends(ps);
	dxk_pin(ps->e);
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_LEAVE);
	os_kicked = 0;
	dxk_unpin(ps->e);
	EXPECT(walker_is_kicked());
	EXPECT_IS(dxk_run_look(ps->e), DXK_WALK_BURY);
}

/* The last request that ends has the walker look. */
static void run_quiet_kicks(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	struct dxk_member *worker;

	start(ps);
	worker = puppet_worker(ps);
	puppet_post(ps, 8, 0, 0);
	puppet_work(ps, worker);
	EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_DRAIN, true, 0), -ETIMEDOUT);
	os_kicked = 0;
	puppet_end(ps, worker, 0, 0);
	EXPECT(ps->kick & BIT(DXK_WALKER));
	ends(ps);
}

/* DX-108: what the policy says of a Stop that does not say it */
static void run_as_the_policy_says(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	u32 i;

	for (i = 0; i < 2; i++) {
		start(ps);
		ps->e->policy.shutdown = i ? DXK_STOP_DRAIN : DXK_STOP_CANCEL;
		puppet_post(ps, 8, 0, 0);
		EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_POLICY, false, 0), i ? -ETIMEDOUT : 0);
		EXPECT_IS(ps->e->run.how, i ? DXK_DRAIN : DXK_CANCEL);
		EXPECT_IS(ps->e->stats.cancelled, 1);
		stops(ps, DXK_STOP_CANCEL);
	}
}

/* Each run ends its own sleepers, whatever the one before did. */
static void run_shuts_anew(struct kunit *test)
{
	struct puppets *ps = new_context(test, 1);
	struct dxk_rejoin_op *r;
	u32 i;

	for (i = 0; i < 2; i++) {
		start(ps);
		puppet_post(ps, i, 0, PXR_REJOIN);
		r = puppet_rejoin(ps, ps->main, i, 1, 1);
		EXPECT(ASLEEP(r));
		EXPECT_IS(dxk_run_halt(ps->e, DXK_STOP_CANCEL, false, 0), 0);
		EXPECT(!ASLEEP(r));
		EXPECT(ps->e->cancelling);
		stops(ps, DXK_STOP_CANCEL);
	}
	start(ps);
	EXPECT(!ps->e->cancelling);
	puppet_taken(ps, puppet_post(ps, 8, 0, 0), 1);
	stops(ps, DXK_STOP_CANCEL);
}

static struct kunit_case run_cases[] = {
	KUNIT_CASE(run_kicks),
	KUNIT_CASE(run_quiet_kicks),
	KUNIT_CASE(run_as_the_policy_says),
	KUNIT_CASE(run_shuts_anew),
	KUNIT_CASE(run_runs),
	KUNIT_CASE(run_wish_only),
	KUNIT_CASE(run_only_grows),
	KUNIT_CASE(run_late_stop),
	KUNIT_CASE(run_close),
	KUNIT_CASE(run_close_then_put_back),
	KUNIT_CASE(run_close_of_a_new_one),
	{ }
};

static struct kunit_suite run_suite = {
	.name = "dxk_run",
	.exit = puppets_end,
	.test_cases = run_cases,
};

kunit_test_suite(run_suite);
