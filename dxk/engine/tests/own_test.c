// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Workers that help only whom they wait for (policy help_scope).
 */
#include "engine/own.h"
#include "engine/more.h"
#include "engine/tests/keyed.h"

static struct puppets *start(struct kunit *test, u32 workers, bool cmls)
{
	struct dxk_policy p = puppet_policy(workers);
	struct puppets *ps;

	p.on_block = DXK_ON_BLOCK_HELP;
	p.help_scope = DXK_HELP_OWN;
	p.help_depth = 2;
	if (cmls) {
		p.sched_mode = TPOOL_MODE_CMLS;
		p.lane_pct[1] = 20;
		p.lane_pct[2] = 20;
	}
	ps = puppets_start(test, &p);
	ASSERT_IS(dxk_owns_start(ps->e), 0);
	return ps;
}

/* A worker that executes a request of owner 1. */
static struct dxk_member *begun(struct puppets *ps)
{
	struct dxk_member *m = puppet_worker(ps);

	puppet_post(ps, 1, 100, 0);
	EXPECT_IS(puppet_work(ps, m)->cookie, 1);
	return m;
}

/* What is called for is of the owner, whatever else is Ready. */
static void own_helps_only_own(struct kunit *test)
{
	struct puppets *ps = start(test, 1, false);
	struct dxk_member *m = begun(ps);
	struct dxk_rejoin_op *r;
	u32 i;

	puppet_post_nr(ps, ps->main, 2, 9, 0);
	puppet_post(ps, 9, 50, 0);
	puppet_post_nr(ps, m, 2, 8, PXR_REJOIN);
	for (i = 0; i < 2; i++) {
		r = puppet_rejoin(ps, m, 8, 2, 2);
		EXPECT(r->helper.called);
		EXPECT_IS(puppet_help(ps, m)->cookie, 8);
		puppet_end(ps, m, 0, 0);
	}
	EXPECT_IS(ps->e->stats.helps, 2);
	EXPECT_IS(puppet_rejoin(ps, m, 8, 2, 2)->nr, 2);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 3);
	/* one whose children others execute waits, and strangers with it */
	puppet_post_nr(ps, m, 1, 8, PXR_REJOIN | PXR_KERNEL);
	r = puppet_rejoin(ps, m, 8, 1, 1);
	EXPECT(ASLEEP(r));
	puppet_post(ps, 9, 90, 0);
	EXPECT(ASLEEP(r));
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	/* it is for itself that it does not take them */
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(puppet_work(ps, m)->cookie, 9);
}

/* It is called for the oldest one first, of however many. */
static void own_in_order(struct kunit *test)
{
	struct puppets *ps = start(test, 1, false);
	struct dxk_member *m = begun(ps);
	u64 first = ps->params + 1;
	u32 i;

	puppet_post_nr(ps, m, 4, 8, PXR_REJOIN);
	for (i = 0; i < 4; i++) {
		EXPECT(puppet_rejoin(ps, m, 8, 4, 4)->helper.called);
		EXPECT_IS(puppet_help(ps, m)->param, first + i);
		puppet_end(ps, m, 0, 0);
	}
	EXPECT_IS(puppet_rejoin(ps, m, 8, 4, 4)->nr, 4);
}

/* Of several who wait for one owner the last one is called first, then the one before it. */
static void own_helpers_in_order(struct kunit *test)
{
	struct puppets *ps = start(test, 5, false);
	struct dxk_rejoin_op *r[4];
	struct dxk_member *m[4];
	u32 i;

	puppet_post(ps, 8, 0, PXR_REJOIN | PXR_KERNEL);
	for (i = 0; i < 4; i++) {
		m[i] = begun(ps);
		r[i] = puppet_rejoin(ps, m[i], 8, 4, 4);
		EXPECT(ASLEEP(r[i]));
	}
	for (i = 4; i--;) {
		EXPECT(!r[i]->helper.called);
		puppet_post(ps, 8, 0, PXR_REJOIN);
		EXPECT(r[i]->helper.called);
		EXPECT_IS(puppet_help(ps, m[i])->cookie, 8);
	}
}

/* It is called when there is something, and of several who wait as many as there is. */
static void own_is_called_later(struct kunit *test)
{
	struct puppets *ps = start(test, 4, false);
	struct dxk_member *m[3];
	struct dxk_rejoin_op *r[3];
	u32 i, called = 0;

	/* the child is a kernel worker's, who never comes */
	puppet_post(ps, 8, 0, PXR_REJOIN | PXR_KERNEL);
	puppet_post(ps, 7, 0, PXR_REJOIN | PXR_KERNEL);
	for (i = 0; i < 3; i++) {
		m[i] = begun(ps);
		r[i] = puppet_rejoin(ps, m[i], i < 2 ? 8 : 7, 1, 1);
		EXPECT(ASLEEP(r[i]));
		EXPECT(list_empty(&ps->e->crew.helpers[DXK_USER]));
	}
	puppet_post(ps, 8, 0, PXR_REJOIN);
	for (i = 0; i < 3; i++)
		called += r[i]->helper.called;
	EXPECT_IS(called, 1);
	EXPECT(!r[2]->helper.called);
	/* of those who wait for it the last one */
	i = r[1]->helper.called;
	EXPECT_IS(i, 1);
	EXPECT_IS(puppet_help(ps, m[i])->cookie, 8);
	/* while the other one was looked at for nothing, a third has something */
	puppet_post(ps, 7, 0, PXR_REJOIN);
	EXPECT(r[2]->helper.called);
	EXPECT_IS(puppet_help(ps, m[2])->cookie, 7);
	puppet_end(ps, m[2], 0, 0);
	EXPECT(ASLEEP(r[!i]));
	puppet_end(ps, m[i], 0, 0);
	EXPECT(!ASLEEP(r[!i]));
	EXPECT_IS(r[!i]->nr, 1);
}

/* Who sleeps for room executes nothing. */
static void own_not_for_room(struct kunit *test)
{
	struct puppets *ps = start(test, 1, false);
	struct dxk_member *m = begun(ps);
	struct dxk_post_op *p;

	ps->e->policy.ready_entries = 1;
	p = puppet_post_nr(ps, m, 2, 8, PXR_REJOIN | PXR_WAITIF_BUSY);
	EXPECT(ASLEEP(p));
	EXPECT_IS(p->taken, 1);
	EXPECT(!p->helper.called);
	EXPECT_IS(puppet_time_up(ps, &p->w), -ETIMEDOUT);
	EXPECT(puppet_rejoin(ps, m, 8, 1, 1)->helper.called);
	puppet_help(ps, m);
	puppet_end(ps, m, 0, 0);
}

/* Five workers. The first two execute: one of lane 1, which has room for one, and one of lane 3 */
static struct puppets *lane1_is_full(struct kunit *test, struct dxk_member **m)
{
	struct puppets *ps = start(test, 5, true);
	u32 i;

	for (i = 0; i < 5; i++)
		m[i] = puppet_worker(ps);
	puppet_post(ps, 1, 0, PXR_LANE1);
	EXPECT_IS(puppet_work(ps, m[0])->lane, 1);
	puppet_post(ps, 1, 0, 0);
	EXPECT_IS(puppet_work(ps, m[1])->lane, 3);
	return ps;
}

/* Of its owner's requests the first one whose lane has room; and again when there is. */
static void own_lanes(struct kunit *test)
{
	struct dxk_member *m[5];
	struct puppets *ps = lane1_is_full(test, m);
	struct dxk_rejoin_op *r;

	puppet_post_nr(ps, m[1], 2, 8, PXR_LANE1 | PXR_REJOIN);
	r = puppet_rejoin(ps, m[1], 8, 1, 1);
	EXPECT(ASLEEP(r));
	puppet_post_nr(ps, ps->main, 1, 8, PXR_LANE2 | PXR_REJOIN);
	EXPECT(r->helper.called);
	EXPECT_IS(puppet_help(ps, m[1])->lane, 2);
	puppet_end(ps, m[1], 0, 0);
	EXPECT_IS(puppet_rejoin(ps, m[1], 8, 1, 1)->nr, 1);
	r = puppet_rejoin(ps, m[1], 8, 1, 1);
	EXPECT(ASLEEP(r));
	puppet_end(ps, m[0], 0, 0);
	EXPECT(r->helper.called);
	EXPECT_IS(puppet_help(ps, m[1])->lane, 1);
	puppet_end(ps, m[1], 0, 0);
	/* what Stop cancels nobody executes */
	r = puppet_rejoin(ps, m[1], 8, 2, 2);
	EXPECT(r->helper.called);
	puppet_help(ps, m[1]);
	dxk_stop_begin(ps->e, 0, true, false);
	puppet_end(ps, m[1], 0, 0);
	EXPECT_IS(puppet_rejoin(ps, m[1], 8, 2, 2)->nr, 2);
}

/* Of two owners whose helpers wait for room in a lane the one that called first has it first. */
static void own_lanes_in_order(struct kunit *test)
{
	struct dxk_member *m[5];
	struct puppets *ps = lane1_is_full(test, m);
	struct dxk_rejoin_op *r[2];
	u32 i;

	puppet_post(ps, 1, 0, 0);
	EXPECT_IS(puppet_work(ps, m[2])->lane, 3);
	for (i = 0; i < 2; i++) {
		puppet_post_nr(ps, m[1 + i], 1, 8 + i, PXR_LANE1 | PXR_REJOIN);
		r[i] = puppet_rejoin(ps, m[1 + i], 8 + i, 1, 1);
		EXPECT(ASLEEP(r[i]));
	}
	puppet_end(ps, m[0], 0, 0);
	for (i = 0; i < 2; i++) {
		EXPECT(r[i]->helper.called);
		EXPECT(i || ASLEEP(r[1]));
		EXPECT_IS(puppet_help(ps, m[1 + i])->cookie, 8 + i);
		puppet_end(ps, m[1 + i], 0, 0);
	}
}

/* However many of lanes without room stand before the one that has some. */
static void own_behind_many(struct kunit *test)
{
	struct dxk_member *m[5];
	struct puppets *ps = lane1_is_full(test, m);
	struct dxk_rejoin_op *r;

	puppet_post_nr(ps, m[1], 20, 8, PXR_LANE1 | PXR_REJOIN);
	puppet_post_nr(ps, m[1], 1, 8, PXR_REJOIN);
	r = puppet_rejoin(ps, m[1], 8, 1, 1);
	EXPECT(!ASLEEP(r) && r->helper.called);
	EXPECT_IS(puppet_help(ps, m[1])->lane, 3);
	puppet_end(ps, m[1], 0, 0);
	puppet_end(ps, m[0], 0, 0);
}

/* However many helpers whose owners' requests have no room stand before one whose has some. */
static void own_behind_helpers(struct kunit *test)
{
	struct puppets *ps = start(test, 60, true);
	struct dxk_member *m[60];
	struct dxk_rejoin_op *r;
	u32 i;

	for (i = 0; i < 60; i++)
		m[i] = puppet_worker(ps);
	/* lanes 1 and 2 have twelve each */
	for (i = 0; i < 24; i++) {
		puppet_post(ps, 1, 0, i < 12 ? PXR_LANE1 : PXR_LANE2);
		EXPECT_IS(puppet_work(ps, m[i])->lane, i < 12 ? 1 : 2);
	}
	/* the first one sleeps for one of lane 2, the others of lane 1 for their own lane */
	puppet_post_nr(ps, m[0], 1, 10, PXR_REJOIN | PXR_LANE2);
	r = puppet_rejoin(ps, m[0], 10, 1, 1);
	for (i = 1; i < 12; i++) {
		puppet_post_nr(ps, m[i], 1, 10 + i, PXR_REJOIN | PXR_LANE1);
		EXPECT(ASLEEP(puppet_rejoin(ps, m[i], 10 + i, 1, 1)));
	}
	puppet_post_nr(ps, ps->main, 1, 1, PXR_LANE1);
	puppet_post_nr(ps, ps->main, 1, 1, PXR_LANE1);
	EXPECT(ASLEEP(r));
	/* one of lane 2 ends, and its worker takes no more */
	puppet_end(ps, m[12], 0, 0);
	EXPECT(r->helper.called);
	EXPECT_IS(puppet_help(ps, m[0])->lane, 2);
	puppet_end(ps, m[0], 0, 0);
}

/*
 * A calls B, which calls C, which calls A: that is nested in A, on the thread of C. B does not
 * wait for it, and ends: what A sleeps for is gone, and A is still held up. After that it helps
 * a namesake.
 */
static void whom_is_gone(struct kunit *test, u32 scope)
{
	struct dxk_policy p = puppet_policy(3);
	struct dxk_rejoin_op *a, *b;
	struct dxk_rqe *inner;
	struct puppets *ps;

	p.on_block = DXK_ON_BLOCK_HELP;
	p.help_scope = scope;
	ps = keyed_start(test, &p, 3);
	ASSERT_IS(dxk_owns_start(ps->e), 0);
	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_send(ps, keyed_worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	puppet_work(ps, keyed_worker(ps, 1));
	keyed_send(ps, keyed_worker(ps, 1), 9, 3, DXK_REENTRY_CHAIN);
	puppet_work(ps, keyed_worker(ps, 2));
	a = keyed_call(ps, keyed_worker(ps, 0), 2, 1, true, false);
	b = keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false);
	EXPECT(ASLEEP(a) && ASLEEP(b));
	inner = keyed_send(ps, keyed_worker(ps, 2), 7, 4, DXK_REENTRY_CHAIN);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 2), 4, 1, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 2)) == inner);
	EXPECT_IS(keyed_worker(ps, 0)->outer, 1);
	EXPECT_IS(puppet_time_up(ps, &b->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(puppet_rejoin(ps, ps->main, 2, 1, 1)->nr, 1);
	EXPECT(ASLEEP(a));
	if (scope == DXK_HELP_OWN)
		EXPECT(list_empty(&a->helper.link));
	puppet_post(ps, 2, 0, PXR_REJOIN);
	EXPECT(!a->helper.called);
	keyed_drain(ps, keyed_worker(ps, 2));
	EXPECT_IS(keyed_worker(ps, 0)->outer, 0);
	EXPECT(!ASLEEP(a));
	EXPECT(a->helper.called);
	EXPECT_IS(puppet_help(ps, keyed_worker(ps, 0))->cookie, 2);
	keyed_drain(ps, keyed_worker(ps, 0));
	keyed_end(ps);
}

static void own_of_whom_is_gone(struct kunit *test)
{
	whom_is_gone(test, DXK_HELP_ANY);
	puppets_end(test);
	whom_is_gone(test, DXK_HELP_OWN);
}

/* Another run, another policy: what it has Ready is in no list. */
static void own_of_a_run(struct kunit *test)
{
	struct puppets *ps = start(test, 1, false);
	struct dxk_member *m = begun(ps);

	puppet_end(ps, m, 0, 0);
	EXPECT(ps->e->owns.own);
	ps->e->policy.help_scope = DXK_HELP_ANY;
	ASSERT_IS(dxk_owns_start(ps->e), 0);
	EXPECT(!ps->e->owns.own);
	begun(ps);
	puppet_post(ps, 9, 0, 0);
	ps->e->policy.on_block = DXK_ON_BLOCK_SPARE;
	ps->e->policy.help_scope = DXK_HELP_OWN;
}

static struct kunit_case own_cases[] = {
	KUNIT_CASE(own_helps_only_own),
	KUNIT_CASE(own_in_order),
	KUNIT_CASE(own_helpers_in_order),
	KUNIT_CASE(own_is_called_later),
	KUNIT_CASE(own_not_for_room),
	KUNIT_CASE(own_lanes),
	KUNIT_CASE(own_lanes_in_order),
	KUNIT_CASE(own_behind_many),
	KUNIT_CASE(own_behind_helpers),
	KUNIT_CASE(own_of_whom_is_gone),
	KUNIT_CASE(own_of_a_run),
	{ }
};

static struct kunit_suite own_suite = {
	.name = "dxk_own",
	.exit = puppets_end,
	.test_cases = own_cases,
};

kunit_test_suite(own_suite);
