// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Posters that sleep: in which order they get in, and more of them than one lock hold may
 * let in.
 */
#include "engine/tests/puppet.h"

#define WAIT	PXR_WAITIF_BUSY
#define MANY	100

/* DX-43, DX-45: sleepers get in as they came, each time an entry becomes free */
static void posters_first_come_first_served(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *p[4];
	u32 i, k;

	for (i = 0; i < 4; i++)
		p[i] = puppet_post(ps, 0, 0, WAIT);
	for (i = 0; i < 4; i++) {
		for (k = 0; k < 4; k++)
			EXPECT_IS(ASLEEP(p[k]), k > i);
		/* its entry went to the next sleeper and to no other */
		if (i < 3)
			puppet_refused(ps, 0, -EAGAIN, PXR_POOL_FULL);
		EXPECT_IS(puppet_work(ps, worker)->param, i < 1 ? 1 : i + 1);
		puppet_end(ps, worker, 0, 0);
	}
}

/* DX-45: a sleeper keeps its place as long as its next request is of the same lane */
static void posters_keeps_its_place(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *two, *one;

	puppet_post(ps, 0, 0, 0);
	two = puppet_post_nr(ps, ps->main, 2, 0, WAIT);
	one = puppet_post(ps, 0, 0, WAIT);
	puppet_work(ps, worker);
	EXPECT_IS(two->taken, 1);
	puppet_work(ps, worker);
	puppet_taken(ps, two, 2);
	EXPECT(ASLEEP(one));
}

/* DX-45: of sleepers of several lanes the first one for whose lane there is room */
static void posters_order_between_lanes(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *worker[3];
	struct dxk_post_op *p[4];
	u32 i;

	for (i = 0; i < 3; i++)
		worker[i] = puppet_worker(ps);
	puppet_post_nr(ps, ps->main, 2, 0, PXR_LANE1);
	for (i = 0; i < 8; i++)
		puppet_post(ps, 0, 7, 0);
	p[0] = puppet_post(ps, 0, 0, PXR_LANE1 | WAIT);
	p[1] = puppet_post(ps, 0, 0, WAIT);
	p[2] = puppet_post(ps, 0, 0, PXR_LANE2 | WAIT);
	p[3] = puppet_post(ps, 0, 0, WAIT);
	/* entries of lane 3 become free: not for the first one */
	for (i = 0; i < 3; i++) {
		puppet_turn(ps, worker[i], 1);
		EXPECT(ASLEEP(p[0]));
		EXPECT(!ASLEEP(p[1]));
		EXPECT_IS(ASLEEP(p[2]), i < 1);
		EXPECT_IS(ASLEEP(p[3]), i < 2);
	}
}

/* A sleeper goes from queue to queue, as its requests are of several lanes. */
static void posters_batch_of_lanes(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 10);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_engine *e = ps->e;
	struct dxk_post_op *p, *q;

	puppet_post_nr(ps, ps->main, 2, 0, PXR_LANE2);
	puppet_post_nr(ps, ps->main, 2, 0, PXR_LANE1);
	p = puppet_poster(ps, ps->main);
	puppet_add(ps, p, 0, 0, WAIT | PXR_LANE1);
	puppet_add(ps, p, 0, 0, WAIT | PXR_LANE2);
	puppet_posts(ps, p);
	q = puppet_post(ps, 0, 0, WAIT | PXR_LANE2);
	EXPECT_IS(e->ready.asleep[1], 1);
	EXPECT_IS(e->ready.asleep[2], 1);
	EXPECT_IS(e->crew.clients_asleep, 2);
	/* one of lane 2 ends: for lanes 1 and 2 together there is one more, but not for 1 */
	puppet_work(ps, worker);
	EXPECT(!ASLEEP(q));
	EXPECT(ASLEEP(p));
	puppet_end(ps, worker, 0, 0);
	q = puppet_post(ps, 0, 0, WAIT | PXR_LANE2);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	puppet_taken(ps, q, 1);
	/* of lane 1: it takes the entry, and sleeps on in the other queue */
	puppet_work(ps, worker);
	EXPECT(ASLEEP(p));
	EXPECT_IS(p->taken, 1);
	EXPECT_IS(e->ready.asleep[1], 0);
	EXPECT_IS(e->ready.asleep[2], 1);
	EXPECT_IS(e->crew.clients_asleep, 1);
	/* four in lanes 1 and 2 again: who comes for lane 2 stands behind it */
	q = puppet_post(ps, 0, 0, WAIT | PXR_LANE2);
	puppet_end(ps, worker, 0, 0);
	puppet_work(ps, worker);
	puppet_taken(ps, p, 2);
	EXPECT(ASLEEP(q));
	EXPECT_IS(e->stats.post_blocks, 4);
}

/* DX-45: room, but not for those who sleep: behind them, or not at all */
static void posters_overtakes_nobody(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(1);
	struct dxk_post_op *p, *q;
	struct puppets *ps;

	policy.rejoin_full = DXK_REJOIN_RESERVE;
	policy.rejoin_entries = 1;
	ps = puppets_start(test, &policy);
	puppet_post(ps, 0, 0, PXR_REJOIN);
	puppet_refused(ps, PXR_REJOIN, -EAGAIN, PXR_REJOIN_FULL);
	p = puppet_post(ps, 0, 0, PXR_REJOIN | WAIT);
	EXPECT(ASLEEP(p));
	puppet_refused(ps, 0, -EAGAIN, PXR_REJOIN_FULL);
	q = puppet_post(ps, 0, 0, WAIT);
	EXPECT(ASLEEP(q));
	/* nobody sleeps in other lanes */
	puppet_taken(ps, puppet_post(ps, 0, 0, PXR_LANE2), 1);
	/* the head gives up: the one behind it needs no Rejoin Pool entry */
	EXPECT_IS(puppet_time_up(ps, &p->w), -ETIMEDOUT);
	puppet_taken(ps, q, 1);
}

/* DX-43: room of which nobody told the sleepers is found by the dispatcher's sweep */
static void posters_swept(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(1);
	struct dxk_post_op *p;
	struct puppets *ps;
	u32 asked;

	policy.rejoin_full = DXK_REJOIN_RESERVE;
	policy.rejoin_entries = 1;
	ps = puppets_start(test, &policy);
	puppet_post(ps, 0, 0, PXR_REJOIN);
	for (asked = 0; asked < 2; asked++) {
		p = puppet_post(ps, 0, 0, PXR_REJOIN | WAIT);
		dxk_sweep(ps->e, asked);
		EXPECT(ASLEEP(p));
		ps->e->owners.entries++;
		dxk_sweep(ps->e, asked);
		puppet_taken(ps, p, 1);
	}
	EXPECT_IS(ps->e->stats.missed_wakeups, 0);
	dxk_sweep_end(ps->e);
}

/* The same in each lane. */
static void posters_swept_lanes(struct kunit *test)
{
	static const u32 attrs[DXK_LANES] = { PXR_LANE0, PXR_LANE1, PXR_LANE2, 0 };
	struct puppets *ps = puppets_entries(test, 1);
	u32 lane;

	puppet_post(ps, 0, 0, 0);
	for (lane = 0; lane < DXK_LANES; lane++) {
		struct dxk_post_op *p = puppet_post(ps, 0, 0, attrs[lane] | WAIT);

		EXPECT_IS(ps->e->ready.asleep[lane], 1);
		spin_lock(&ps->e->lock);
		ps->e->policy.ready_entries++;
		dxk_crew_set_lanes(ps->e);
		spin_unlock(&ps->e->lock);
		dxk_sweep(ps->e, true);
		puppet_taken(ps, p, 1);
	}
	dxk_sweep_end(ps->e);
}

/* More sleepers than one lock hold may let in: further ones do, nobody is forgotten. */
static void posters_many(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_policy policy = ps->e->policy;
	struct dxk_member **m = puppet_array(ps, MANY);
	struct dxk_post_op **p = puppet_array(ps, MANY);
	u32 i, swept, first;

	for (i = 0; i < MANY; i++)
		m[i] = puppet_client(ps);
	puppet_post(ps, 0, 0, 0);
	for (swept = 0; swept < 2; swept++) {
		for (i = 0; i < MANY; i++)
			p[i] = puppet_post_nr(ps, m[i], 1, i, WAIT);
		ps->e->swept = swept;
		policy.ready_entries += MANY;
		dxk_enforce(ps->e, &policy);
		for (first = 0; first < MANY && !ASLEEP(p[first]); first++)
			;
		/* while thread 700 runs it is for it */
		EXPECT_IS(first, swept ? DXK_HOLD_BUDGET : MANY);
		EXPECT_IS(ps->e->owing, swept);
		EXPECT_IS(ps->e->ready.left, swept);
		for (i = first; i < MANY; i++)
			EXPECT(ASLEEP(p[i]));
		dxk_sweep(ps->e, true);
		for (i = 0; i < MANY; i++)
			puppet_taken(ps, p[i], 1);
		EXPECT(!ps->e->owing);
		dxk_sweep_end(ps->e);
	}
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 2 * MANY + 1);
}

/* One poster with more than a lock hold may let in; and thread 700 ends meanwhile. */
static void posters_many_at_once(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_policy policy = ps->e->policy;
	struct dxk_post_op *p;

	puppet_post(ps, 0, 0, 0);
	p = puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 0, WAIT);
	ps->e->swept = true;
	policy.ready_entries = MANY;
	dxk_enforce(ps->e, &policy);
	EXPECT(ASLEEP(p));
	EXPECT_IS(p->taken, DXK_HOLD_BUDGET);
	dxk_sweep_end(ps->e);
	puppet_taken(ps, p, DXK_BATCH_MAX);
	EXPECT(!ps->e->swept);
}

/* A hold leaves it before a request that does not wait, and then there is no room. */
static void posters_left_in_a_batch(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_policy policy = ps->e->policy;
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	u32 i;

	puppet_post(ps, 0, 0, 0);
	for (i = 0; i < DXK_HOLD_BUDGET; i++)
		puppet_add(ps, p, 0, 0, WAIT);
	puppet_add(ps, p, 0, 0, 0);
	puppet_posts(ps, p);
	EXPECT(ASLEEP(p));
	policy.ready_entries = 1 + DXK_HOLD_BUDGET;
	dxk_enforce(ps->e, &policy);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->taken, DXK_HOLD_BUDGET);
	EXPECT_IS(p->err, -EAGAIN);
	EXPECT_IS(p->reason, PXR_POOL_FULL);
}

/* All that one lock hold can afford is all there is: nothing is left to another one. */
static void posters_just_as_many(struct kunit *test)
{
	struct puppets *ps = puppets_entries(test, 1);
	struct dxk_post_op *p[DXK_HOLD_BUDGET];
	u32 i;

	puppet_post(ps, 0, 0, 0);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = puppet_post(ps, 0, 0, WAIT);
	spin_lock(&ps->e->lock);
	ps->e->state = DXK_CTX_STOPPING;
	spin_unlock(&ps->e->lock);
	dxk_sweep(ps->e, true);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_IS(p[i]->err, -ESHUTDOWN);
	EXPECT(!ps->e->ready.left);
	EXPECT(!ps->e->owing);
	dxk_sweep_end(ps->e);
}

/* DX-45: one that is left in a batch waits where its next request belongs, and only there */
static void posters_left_for_a_lane(struct kunit *test)
{
	struct puppets *ps = puppets_cmls(test, 200);
	struct dxk_policy policy = ps->e->policy;
	struct dxk_post_op *batch, *behind;
	u32 i;

	for (i = 0; i < 40; i++)
		puppet_post(ps, 0, 0, PXR_LANE1);
	for (i = 0; i < 160; i++)
		puppet_post(ps, 0, 0, 0);
	batch = puppet_poster(ps, ps->main);
	for (i = 0; i < DXK_HOLD_BUDGET; i++)
		puppet_add(ps, batch, 0, 0, WAIT);
	puppet_add(ps, batch, 0, 0, PXR_LANE1 | WAIT);
	puppet_posts(ps, batch);
	behind = puppet_post_nr(ps, puppet_client(ps), 1, 0, WAIT);
	EXPECT_IS(ps->e->ready.asleep[3], 2);
	/* as many entries as a lock hold can fill; lane 1 stays full */
	policy.ready_entries = 300;
	policy.lane_pct[1] = 10;
	dxk_enforce(ps->e, &policy);
	EXPECT_IS(batch->taken, DXK_HOLD_BUDGET);
	EXPECT(ASLEEP(batch));
	EXPECT_IS(ps->e->ready.asleep[1], 1);
	EXPECT(!ASLEEP(behind));
	EXPECT_IS(ps->e->ready.asleep[3], 0);
}

static struct kunit_case posters_cases[] = {
	KUNIT_CASE(posters_left_for_a_lane),
	KUNIT_CASE(posters_first_come_first_served),
	KUNIT_CASE(posters_keeps_its_place),
	KUNIT_CASE(posters_order_between_lanes),
	KUNIT_CASE(posters_batch_of_lanes),
	KUNIT_CASE(posters_overtakes_nobody),
	KUNIT_CASE(posters_swept),
	KUNIT_CASE(posters_swept_lanes),
	KUNIT_CASE(posters_many),
	KUNIT_CASE(posters_many_at_once),
	KUNIT_CASE(posters_left_in_a_batch),
	KUNIT_CASE(posters_just_as_many),
	{ }
};

static struct kunit_suite posters_suite = {
	.name = "dxk_posters",
	.exit = puppets_end,
	.test_cases = posters_cases,
};

kunit_test_suite(posters_suite);
