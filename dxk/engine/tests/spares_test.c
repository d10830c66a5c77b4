// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Spares, and those who start workers and spares (policy on_block): who takes the place of
 * a worker that sleeps, and how many more there is use for.
 */
#include "engine/onblock.h"
#include "engine/tests/puppet.h"

/* More than a lock hold may wake. */
#define MANY	70

/* A spare is parked until a worker sleeps, and executes in its place. */
static void spares_in_place(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_SPARE, 2, true);
	struct dxk_lanes *lanes = &ps->e->crew.lanes[DXK_USER];
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_member *spare = puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true);
	struct dxk_rejoin_op *r[2];
	struct dxk_next_op *n;

	EXPECT_IS(ps->e->crew.workers[DXK_USER], 2);
	EXPECT_IS(ps->e->crew.spares[DXK_USER], 1);
	EXPECT_IS(lanes->quota[3], 2);
	/* it is no idle worker: work is for those */
	n = puppet_turn(ps, spare, 1);
	EXPECT(ASLEEP(n));
	EXPECT_IS(ps->e->crew.nr_parked[DXK_USER], 1);
	EXPECT_IS(ps->e->crew.nr_idle[DXK_USER], 0);
	/* every answer is written, whatever was there */
	n->err = -77;
	puppet_post(ps, 5, 0, 0);
	EXPECT(ASLEEP(n));
	puppet_work(ps, m[1]);
	r[0] = puppet_parent(ps, m[0], 10);
	EXPECT(ASLEEP(r[0]));
	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->err, 0);
	EXPECT_IS(n->nr, 1);
	EXPECT_IS(ps->e->crew.extra[DXK_USER], 1);
	EXPECT_IS(lanes->quota[3], 3);
	EXPECT_IS(lanes->quota[2], 2);
	EXPECT_IS(puppet_fetch(n)->cookie, 10);
	/* no more of them run than workers sleep */
	puppet_post(ps, 5, 0, 0);
	n = puppet_end(ps, spare, 0, 1);
	EXPECT(!ASLEEP(r[0]));
	EXPECT(ASLEEP(n));
	EXPECT_IS(ps->e->stats.spare_runs, 1);
	EXPECT_IS(ps->e->stats.helps, 0);
	EXPECT_IS(ps->e->crew.extra[DXK_USER], 0);
	EXPECT_IS(lanes->quota[3], 2);
	/* a spare that asks while there is use for it does not park */
	EXPECT_IS(puppet_time_up(ps, &n->w), -ETIMEDOUT);
	EXPECT_IS(ps->e->crew.nr_parked[DXK_USER], 0);
	r[0] = puppet_rejoin(ps, m[0], 11, 1, 1);
	EXPECT_IS(r[0]->answer, RJR_NONE_EXIST);
	puppet_post_nr(ps, m[0], 1, 11, PXR_REJOIN);
	r[0] = puppet_rejoin(ps, m[0], 11, 1, 1);
	EXPECT(ASLEEP(r[0]));
	dxk_member_set_state(spare, DXK_M_AWAY);
	n = puppet_turn(ps, spare, 64);
	EXPECT_IS(n->nr, 1);
	EXPECT_IS(dxk_member_state(spare), DXK_M_AWAY);
	EXPECT_IS(ps->e->crew.extra[DXK_USER], 1);
	EXPECT_IS(spare->extra, 1);
	puppet_fetch(n);
	puppet_dies(ps, spare);
	EXPECT_IS(ps->e->crew.spares[DXK_USER], 0);
	EXPECT_IS(ps->e->crew.extra[DXK_USER], 0);
	EXPECT_IS(ps->e->crew.present, 2);
}

/* Who starts spares is told how many there is work for. */
static void spares_asked_for(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_SPARE, 3, false);
	struct dxk_member *m[3] = { puppet_worker(ps), puppet_worker(ps), NULL };
	struct dxk_policy policy = ps->e->policy;
	struct dxk_crew_op *c = puppet_manager(ps, true), *second;
	struct dxk_rejoin_op *r;
	struct dxk_member *spare;
	u32 workers, spares;

	/* a place is free */
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->workers, 1);
	EXPECT_IS(c->spares, 0);
	EXPECT(!ps->e->crew.promised);
	EXPECT_IS(dxk_crew_wait(ps->e, 0, &workers, &spares), 1);
	EXPECT_IS(workers, 1);
	m[2] = puppet_worker(ps);
	c = puppet_manager(ps, false);
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->workers + c->spares, 0);
	EXPECT_IS(c->err, 0);
	c = puppet_manager(ps, true);
	EXPECT(ASLEEP(c));
	second = puppet_manager(ps, true);
	EXPECT(list_first_entry(&ps->e->crew.managers, struct dxk_crew_op, w.link) == c);
	/* one dies */
	puppet_dies(ps, m[2]);
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->workers, 1);
	EXPECT(!ASLEEP(second));
	/* the policy grows; kernel threads have places of their own */
	policy.kernel_threads = 2;
	dxk_enforce(ps->e, &policy);
	c = puppet_manager(ps, true);
	EXPECT(ASLEEP(c));
	policy.max_threads = 6;
	dxk_enforce(ps->e, &policy);
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->workers, 2);
	policy.max_threads = 4;
	dxk_enforce(ps->e, &policy);

	/* a worker sleeps, and there is work: a spare is needed */
	c = puppet_manager(ps, true);
	r = puppet_parent(ps, m[0], 10);
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->spares, 1);
	EXPECT_IS(c->workers, 0);
	EXPECT(ps->e->crew.promised);
	/* it asks again: it could not start one; there is as much to do as before */
	puppet_post(ps, 5, 0, 0);
	c = puppet_manager(ps, true);
	EXPECT_IS(c->spares, 1);
	EXPECT(ps->e->crew.promised);
	/* a place for a worker besides: the answer is the sum */
	policy.max_threads = 7;
	dxk_enforce(ps->e, &policy);
	EXPECT_IS(dxk_crew_wait(ps->e, 0, &workers, &spares), 3 + 1);
	EXPECT_IS(workers, 3);
	EXPECT_IS(spares, 1);
	policy.max_threads = 4;
	dxk_enforce(ps->e, &policy);
	puppet_parent(ps, m[1], 11);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 2);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_KERNEL), 0);
	/* those of the other kind count against the limit */
	spare = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, true);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 1);
	puppet_dies(ps, spare);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 2);
	policy.max_spares = 1;
	dxk_enforce(ps->e, &policy);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 1);
	spare = puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true);
	EXPECT(!ps->e->crew.promised);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 0);
	policy.max_spares = 3;
	dxk_enforce(ps->e, &policy);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 1);
	/* no more than there are requests: the spare takes all but one, then all */
	puppet_work(ps, spare);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 1);
	puppet_time_up(ps, &r->w);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 0);
	/* who asks is promised nothing then */
	ps->e->crew.promised = true;
	puppet_manager(ps, false);
	EXPECT(!ps->e->crew.promised);
}

/* Of parked spares the last one is called first, and none for a lane that is full. */
static void spares_order(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_SPARE, 10, true);
	struct dxk_member *m[10];
	struct dxk_next_op *n[2];
	struct dxk_rejoin_op *r;
	u32 i;

	for (i = 0; i < 10; i++)
		m[i] = puppet_worker(ps);
	for (i = 0; i < 4; i++) {
		puppet_post(ps, 1, 0, PXR_LANE2);
		puppet_work(ps, m[i]);
	}
	puppet_post_nr(ps, m[0], 1, 10, PXR_LANE2 | PXR_REJOIN);
	r = puppet_rejoin(ps, m[0], 10, 1, 1);
	EXPECT(ASLEEP(r));
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 0);
	for (i = 0; i < 2; i++) {
		n[i] = puppet_turn(ps, puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true), 1);
		EXPECT(ASLEEP(n[i]));
	}
	puppet_end(ps, m[1], 0, 0);
	EXPECT(ASLEEP(n[0]));
	EXPECT(!ASLEEP(n[1]));
	EXPECT_IS(puppet_fetch(n[1])->cookie, 10);
}

/* No more spares are wanted while one is parked, nor beyond the policy. */
static void spares_enough(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_STRICT, 2, false);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_member *spare = puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true);
	struct dxk_next_op *n = puppet_turn(ps, spare, 1);
	u32 i;

	for (i = 0; i < 2; i++)
		EXPECT(ASLEEP(puppet_parent(ps, m[i], 10 + i)));
	EXPECT(ASLEEP(n));
	ps->e->policy.on_block = DXK_ON_BLOCK_SPARE;
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 0);
	EXPECT_IS(puppet_time_up(ps, &n->w), -ETIMEDOUT);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 1);
	ps->e->policy.max_spares = 0;
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 0);
}

/* A kernel spare is the Monitor's to start. */
static void spares_kernel(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_SPARE, 3, false);
	struct dxk_member *m = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	struct dxk_next_op *n;

	puppet_post(ps, 1, 0, PXR_KERNEL);
	puppet_work(ps, m);
	puppet_post_nr(ps, m, 1, 10, PXR_REJOIN | PXR_KERNEL);
	EXPECT_IS(ps->kick, 0);
	/* another one is awake, so that it is not the stall which calls */
	puppet_worker(ps);
	ps->e->dormant[DXK_MONITOR] = true;
	EXPECT(ASLEEP(puppet_rejoin(ps, m, 10, 1, 1)));
	EXPECT(!ps->e->stalled);
	EXPECT_IS(ps->kick, BIT(DXK_MONITOR));
	EXPECT(!ps->e->dormant[DXK_MONITOR]);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_KERNEL), 1);
	n = puppet_turn(ps, puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, true), 1);
	EXPECT_IS(n->nr, 1);
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_KERNEL), 0);
}

/* More managers than a lock hold may tell; it goes on in further ones. */
static void spares_many_managers(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_STRICT, 1, false);
	struct dxk_crew_op **c = puppet_array(ps, MANY);
	struct dxk_list_op died = { .m = puppet_worker(ps) };
	u32 i;

	for (i = 0; i < MANY; i++) {
		c[i] = puppet_manager(ps, true);
		EXPECT(ASLEEP(c[i]));
	}
	INIT_LIST_HEAD(&died.ended);
	puppet_do(ps, &died.op, dxk_died_run);
	EXPECT_IS(ps->woken, DXK_HOLD_BUDGET);
	EXPECT_IS(ps->kick, BIT(DXK_MYSELF));
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(c[i]));
		EXPECT_IS(c[i]->workers, 1);
	}
}

/* More wait for a use of threads than a lock hold may tell. */
static void spares_managers_left_over(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_STRICT, 1, false);
	struct dxk_policy policy = ps->e->policy;
	struct dxk_crew_op *c[DXK_HOLD_BUDGET + 9];
	u32 i, swept, workers, spares;

	puppet_worker(ps);
	EXPECT_IS(dxk_crew_wait(ps->e, 1, &workers, &spares), 0);
	for (swept = 0; swept < 2; swept++) {
		ps->e->swept = swept;
		policy.max_threads = 2;
		dxk_enforce(ps->e, &policy);
		for (i = 0; i < ARRAY_SIZE(c); i++)
			c[i] = puppet_manager(ps, true);
		policy.max_threads = 3;
		dxk_enforce(ps->e, &policy);
		EXPECT_IS(ps->e->owing, swept);
		EXPECT(!ASLEEP(c[DXK_HOLD_BUDGET - 1]));
		EXPECT_IS(ASLEEP(c[DXK_HOLD_BUDGET]), swept);
		dxk_sweep(ps->e, true);
		for (i = 0; i < ARRAY_SIZE(c); i++)
			EXPECT(!ASLEEP(c[i]));
	}
	/* what nobody has told them is seen by a look that was not asked for */
	ps->e->policy.max_threads = 2;
	c[0] = puppet_manager(ps, true);
	ps->e->policy.max_threads = 3;
	for (i = 0; i < 2; i++) {
		dxk_sweep(ps->e, !i);
		EXPECT_IS(ASLEEP(c[0]), !i);
	}
	dxk_sweep_end(ps->e);
}

/* The same with parked spares, all of which get use at once. */
static void spares_many(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_STRICT, MANY, false);
	struct dxk_next_op **n = puppet_array(ps, MANY);
	u32 i;

	for (i = 0; i < MANY; i++) {
		n[i] = puppet_turn(ps, puppet_member(ps, DXK_ROLE_WORKER, DXK_USER, true), 1);
		EXPECT(ASLEEP(n[i]));
	}
	for (i = 0; i < MANY; i++)
		EXPECT(ASLEEP(puppet_parent(ps, puppet_worker(ps), 10 + i)));
	EXPECT_IS(ps->e->crew.nr_parked[DXK_USER], MANY);
	ps->e->policy.on_block = DXK_ON_BLOCK_SPARE;
	/* and the one that asks */
	puppet_manager(ps, false);
	EXPECT_IS(ps->woken, DXK_HOLD_BUDGET + 1);
	EXPECT_IS(ps->kick & BIT(DXK_MYSELF), BIT(DXK_MYSELF));
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(n[i]));
		EXPECT_IS(n[i]->nr, 1);
	}
	EXPECT_IS(ps->e->crew.extra[DXK_USER], MANY);
}

/* A worker goes while another one is dismissed for its sake: its place is told. */
static void spares_dismissed_too_many(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 3);
	struct dxk_member *m[3] = { puppet_worker(ps), puppet_worker(ps), puppet_worker(ps) };
	struct dxk_crew_op *manager;

	ps->e->policy.max_threads--;
	manager = puppet_manager(ps, true);
	EXPECT(ASLEEP(manager));
	puppet_dies(ps, m[0]);
	EXPECT(ASLEEP(manager));
	dxk_member_do(m[1], dxk_leave_run);
	EXPECT(!ASLEEP(manager));
	EXPECT_IS(manager->workers, 1);
}

static struct kunit_case spares_cases[] = {
	KUNIT_CASE(spares_dismissed_too_many),
	KUNIT_CASE(spares_in_place),
	KUNIT_CASE(spares_asked_for),
	KUNIT_CASE(spares_order),
	KUNIT_CASE(spares_enough),
	KUNIT_CASE(spares_kernel),
	KUNIT_CASE(spares_many_managers),
	KUNIT_CASE(spares_managers_left_over),
	KUNIT_CASE(spares_many),
	{ }
};

static struct kunit_suite spares_suite = {
	.name = "dxk_spares",
	.exit = puppets_end,
	.test_cases = spares_cases,
};

kunit_test_suite(spares_suite);
