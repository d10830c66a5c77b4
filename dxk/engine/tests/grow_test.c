// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * A crew that begins with fewer workers than it has places for (policy min_threads): it grows
 * for what is Ready, up to its places, and shrinks when workers are idle for long (AG-32,
 * AG-33).
 */
#include "engine/calls.h"
#include "engine/onblock.h"
#include "engine/policy.h"
#include "engine/stop.h"
#include "engine/tests/puppet.h"

#define OWNER	5
/* Of os_clock(): longer than any test takes. */
#define AGE	1000000UL
/* More than a lock hold may wake. */
#define MANY	70

/* So many places, so many of which are taken to begin with. */
static struct puppets *crew_of(struct kunit *test, u32 places, u32 kernel, u32 least)
{
	struct dxk_policy p = puppet_policy(places);

	p.max_threads = places;
	p.kernel_threads = kernel;
	p.min_threads = least;
	return puppets_start(test, &p);
}

/* How many user workers are asked for now. */
static u32 asked(struct puppets *ps)
{
	u32 workers = 77, spares = 77;

	EXPECT_IS(dxk_crew_wait(ps->e, 0, &workers, &spares), workers);
	EXPECT_IS(spares, 0);
	EXPECT_IS(dxk_workers_wanted(ps->e, DXK_USER), workers);
	return workers;
}

/* AG-32: it grows by one for each request that no worker is idle or on its way for. */
static void grow_by_need(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 5, 0, 2);
	struct dxk_member *m[5];
	struct dxk_crew_op *c;
	u32 i;

	EXPECT_IS(asked(ps), 2);
	m[0] = puppet_worker(ps);
	EXPECT_IS(asked(ps), 1);
	m[1] = puppet_worker(ps);
	c = puppet_manager(ps, true);
	EXPECT(ASLEEP(c));
	/* both are on their way */
	puppet_post(ps, OWNER, 0, 0);
	puppet_post(ps, OWNER, 0, 0);
	EXPECT(ASLEEP(c));
	puppet_work(ps, m[0]);
	EXPECT(ASLEEP(c));
	puppet_work(ps, m[1]);
	EXPECT(ASLEEP(c));
	/* nobody is */
	puppet_post(ps, OWNER, 0, 0);
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->workers, 1);
	EXPECT_IS(c->spares, 0);
	EXPECT_IS(asked(ps), 1);
	m[2] = puppet_worker(ps);
	EXPECT_IS(asked(ps), 0);
	puppet_post(ps, OWNER, 0, 0);
	EXPECT_IS(asked(ps), 1);
	puppet_work(ps, m[2]);
	EXPECT_IS(asked(ps), 1);
	/* one comes back: it takes what is Ready, and is idle then */
	EXPECT_IS(puppet_end(ps, m[0], 0, 1)->nr, 1);
	EXPECT_IS(asked(ps), 0);
	EXPECT(ASLEEP(puppet_end(ps, m[1], 0, 1)));
	puppet_post(ps, OWNER, 0, 0);
	EXPECT_IS(asked(ps), 0);

	/* AG-33: no more than there are places; what is beyond them waits for one to return */
	for (i = 0; i < 4; i++)
		puppet_post(ps, OWNER, 0, 0);
	EXPECT_IS(asked(ps), 2);
	for (i = 3; i < 5; i++) {
		m[i] = puppet_worker(ps);
		puppet_work(ps, m[i]);
	}
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 2);
	c = puppet_manager(ps, true);
	EXPECT(ASLEEP(c));
	EXPECT_IS(puppet_end(ps, m[4], 0, 1)->nr, 1);
	EXPECT(ASLEEP(c));
	/* one that dies is replaced while there is need */
	puppet_dies(ps, m[3]);
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->workers, 1);
}

/* Without min_threads all places are asked for at once, as many as are free. */
static void grow_not(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 5, 2, 0);

	EXPECT_IS(asked(ps), 3);
	EXPECT_IS(dxk_workers_wanted(ps->e, DXK_KERNEL), 2);
	puppet_worker(ps);
	EXPECT_IS(asked(ps), 2);
	/* nor do more than there are places for */
	ps->e->policy.min_threads = 4;
	EXPECT_IS(asked(ps), 2);
	EXPECT_IS(dxk_workers_wanted(ps->e, DXK_KERNEL), 2);
}

/* The Monitor starts those of the kernel: it is called. */
static void grow_kernel(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 4, 3, 1);
	struct dxk_member *m;

	EXPECT_IS(dxk_workers_wanted(ps->e, DXK_KERNEL), 1);
	m = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	EXPECT_IS(dxk_workers_wanted(ps->e, DXK_KERNEL), 0);
	puppet_post(ps, OWNER, 0, PXR_KERNEL);
	puppet_work(ps, m);
	ps->e->dormant[DXK_MONITOR] = true;
	puppet_post_nr(ps, ps->main, 4, OWNER, PXR_KERNEL);
	EXPECT_IS(ps->kick & BIT(DXK_MONITOR), BIT(DXK_MONITOR));
	EXPECT(!ps->e->dormant[DXK_MONITOR]);
	EXPECT_IS(dxk_workers_wanted(ps->e, DXK_KERNEL), 2);
	/* of the other kind there is no need */
	EXPECT_IS(asked(ps), 1);
}

/* One that was on its way and goes is not counted on. */
static void grow_lost(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 4, 0, 1);
	struct dxk_member *m[3];
	u32 i;

	m[0] = puppet_worker(ps);
	puppet_post(ps, OWNER, 0, 0);
	puppet_work(ps, m[0]);
	puppet_post_nr(ps, ps->main, 2, OWNER, 0);
	for (i = 1; i < 3; i++) {
		EXPECT_IS(asked(ps), 3 - i);
		m[i] = puppet_worker(ps);
	}
	EXPECT_IS(asked(ps), 0);
	puppet_dies(ps, m[1]);
	EXPECT_IS(asked(ps), 1);
	dxk_member_do(m[2], dxk_leave_run);
	EXPECT_IS(asked(ps), 2);
	EXPECT_IS(ps->e->crew.coming[DXK_USER], 0);
	puppet_dies(ps, m[2]);
	EXPECT_IS(asked(ps), 2);
}

/* What lanes hold back beside an idle worker is to wait, and no reason to grow. */
static void grow_not_for_lanes(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(20);
	struct dxk_member *m[10];
	struct puppets *ps;
	u32 i;

	p.sched_mode = TPOOL_MODE_CMLS;
	p.lane_pct[2] = 10;
	p.min_threads = 10;
	ps = puppets_start(test, &p);
	for (i = 0; i < 10; i++)
		m[i] = puppet_worker(ps);
	puppet_post(ps, OWNER, 0, PXR_LANE2);
	puppet_work(ps, m[0]);
	puppet_post(ps, OWNER, 0, PXR_LANE2);
	for (i = 1; i < 10; i++)
		EXPECT(ASLEEP(puppet_turn(ps, m[i], 1)));
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	EXPECT_IS(asked(ps), 0);
}

/* The oldest idle ones leave, down to the least; those that execute stay. */
static void grow_and_shrink(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 6, 0, 2);
	struct dxk_member *m[6];
	struct dxk_next_op *n[6];
	u32 i;

	for (i = 0; i < 6; i++)
		m[i] = puppet_worker(ps);
	puppet_post(ps, OWNER, 0, 0);
	puppet_work(ps, m[0]);
	for (i = 1; i < 6; i++)
		n[i] = puppet_turn(ps, m[i], 1);
	dxk_retire(ps->e, AGE);
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 6);
	/* the Monitor looks as long as one is too many */
	ps->e->policy.spare_idle_ms = 1;
	EXPECT(!dxk_monitor_rest(ps->e, false));
	m[1]->since -= 2 * AGE;
	dxk_retire(ps->e, AGE);
	EXPECT(!ASLEEP(n[1]));
	EXPECT_IS(n[1]->err, -ESHUTDOWN);
	EXPECT(m[1]->leaving);
	EXPECT(ASLEEP(n[2]));
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 5);
	puppet_dies(ps, m[1]);
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 5);
	for (i = 2; i < 6; i++)
		m[i]->since -= 2 * AGE;
	dxk_retire(ps->e, AGE);
	for (i = 2; i < 6; i++)
		EXPECT_IS(ASLEEP(n[i]), i == 5);
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 2);
	EXPECT_IS(asked(ps), 0);
	EXPECT(ASLEEP(puppet_end(ps, m[0], 0, 1)));
	EXPECT(dxk_monitor_rest(ps->e, false));
	/* and grows again */
	puppet_post_nr(ps, ps->main, 3, OWNER, 0);
	EXPECT_IS(asked(ps), 1);
	for (i = 2; i < 5; i++)
		puppet_dies(ps, m[i]);
}

/* The Monitor looks for the surplus of either kind. */
static void grow_surplus_of_each(struct kunit *test)
{
	u32 kind, i;

	for (kind = 0; kind < DXK_KINDS; kind++) {
		struct puppets *ps = crew_of(test, 4, 2, 1);
		struct dxk_next_op *n[2];
		struct dxk_member *m[2];

		ps->e->policy.spare_idle_ms = 1;
		for (i = 0; i < 2; i++) {
			m[i] = puppet_member(ps, DXK_ROLE_WORKER, kind, false);
			n[i] = puppet_turn(ps, m[i], 1);
			EXPECT_IS(dxk_monitor_rest(ps->e, false), !i);
		}
		m[0]->since -= 2 * AGE;
		dxk_retire(ps->e, AGE);
		EXPECT_IS(n[0]->err, -ESHUTDOWN);
		puppet_dies(ps, m[0]);
		EXPECT(ASLEEP(n[1]));
		EXPECT(dxk_monitor_rest(ps->e, false));
		if (!kind)
			puppets_end(test);
	}
}

/* More leave than a lock hold may tell. */
static void grow_shrink_many(struct kunit *test)
{
	struct puppets *ps = crew_of(test, MANY + 1, 0, 1);
	struct dxk_next_op **n = puppet_array(ps, MANY + 1);
	u32 i;

	for (i = 0; i <= MANY; i++) {
		struct dxk_member *m = puppet_worker(ps);

		n[i] = puppet_turn(ps, m, 1);
		m->since -= 2 * AGE;
	}
	dxk_retire(ps->e, AGE);
	for (i = 0; i <= MANY; i++)
		EXPECT_IS(ASLEEP(n[i]), i == MANY);
	EXPECT_IS(ps->e->crew.workers[DXK_USER], 1);
}

/* While a Stop drains there is need as ever; when it cancels there is none. */
static void grow_in_stop(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 4, 0, 1);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_crew_op *c;

	puppet_post_nr(ps, ps->main, 3, OWNER, 0);
	puppet_work(ps, m);
	EXPECT_IS(asked(ps), 2);
	dxk_stop_begin(ps->e, ps->e->run.gen, false, false);
	EXPECT_IS(asked(ps), 2);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(asked(ps), 0);
	c = puppet_manager(ps, true);
	EXPECT(ASLEEP(c));
	puppet_end(ps, m, 0, 1);
	EXPECT(ASLEEP(c));
	puppet_time_up(ps, &c->w);
}

/* The lanes have to find their workers among those that the crew keeps (DX-76). */
static void grow_policy(struct kunit *test)
{
	struct dxk_policy p;

	dxk_policy_default(&p, 10);
	p.sched_mode = TPOOL_MODE_CMLS;
	p.lane_pct[0] = p.lane_pct[1] = p.lane_pct[2] = 20;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), 0);
	KUNIT_EXPECT_EQ(test, p.bad_field, 0);
	p.min_threads = 3;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), -EINVAL);
	KUNIT_EXPECT_EQ(test, p.bad_field, offsetof(struct dxk_policy, min_threads));
	p.min_threads = 4;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), 0);
	KUNIT_EXPECT_EQ(test, p.bad_field, 0);
	p.min_threads = 499;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), 0);
	KUNIT_EXPECT_EQ(test, p.bad_field, 0);
	/* of each kind */
	p.kernel_threads = 5;
	p.min_threads = 3;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), -EINVAL);
	KUNIT_EXPECT_EQ(test, p.bad_field, offsetof(struct dxk_policy, min_threads));
	p.kernel_threads = 3;
	p.min_threads = 4;
	KUNIT_EXPECT_EQ(test, dxk_policy_check(&p), -EINVAL);
	KUNIT_EXPECT_EQ(test, p.bad_field, offsetof(struct dxk_policy, kernel_threads));
}

static struct kunit_case grow_cases[] = {
	KUNIT_CASE(grow_by_need),
	KUNIT_CASE(grow_not),
	KUNIT_CASE(grow_kernel),
	KUNIT_CASE(grow_lost),
	KUNIT_CASE(grow_not_for_lanes),
	KUNIT_CASE(grow_and_shrink),
	KUNIT_CASE(grow_surplus_of_each),
	KUNIT_CASE(grow_shrink_many),
	KUNIT_CASE(grow_in_stop),
	KUNIT_CASE(grow_policy),
	{ }
};

static struct kunit_suite grow_suite = {
	.name = "dxk_grow",
	.exit = puppets_end,
	.test_cases = grow_cases,
};

kunit_test_suite(grow_suite);
