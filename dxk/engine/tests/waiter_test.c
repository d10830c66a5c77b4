// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * What a lock hold collects for its end, and what a sleep counts for.
 */
#include "engine/tests/puppet.h"

/* Of os_now(): longer than any test takes. */
#define AGES	(1000000ULL * NSEC_PER_MSEC)

/* A member that is told several things in a row is woken once. */
static void waiter_members(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *m[2] = { puppet_client(ps), puppet_client(ps) };
	struct dxk_wakes wakes;

	dxk_wakes_init(&wakes);
	/* behind the end there is anything */
	wakes.member[0] = m[0];
	wakes.member[1] = m[1];
	dxk_wake_member(&wakes, m[0]);
	EXPECT_IS(wakes.nr_members, 1);
	dxk_wake_member(&wakes, m[0]);
	EXPECT_IS(wakes.nr_members, 1);
	dxk_wake_member(&wakes, m[1]);
	EXPECT_IS(wakes.nr_members, 2);
	dxk_wake_member(&wakes, m[1]);
	EXPECT_IS(wakes.nr_members, 2);
	EXPECT(wakes.member[0] == m[0] && wakes.member[1] == m[1]);
	dxk_wakes_flush(ps->e, &wakes);
}

/* Each sort of sleep has a counter, and one of the time, however it ends. */
static void waiter_counts_sleeps(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_stats *stats = &ps->e->stats;
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r;
	struct dxk_next_op *n;
	struct dxk_post_op *p;

	ps->e->policy.ready_entries = 1;
	puppet_post(ps, 8, 0, PXR_REJOIN);
	p = puppet_post_nr(ps, puppet_client(ps), 1, 8, PXR_WAITIF_BUSY | PXR_REJOIN);
	r = puppet_rejoin(ps, puppet_client(ps), 8, 2, 2);
	EXPECT(ASLEEP(p) && ASLEEP(r));
	EXPECT_IS(stats->post_blocks, 1);
	EXPECT_IS(stats->rejoin_blocks, 1);
	EXPECT_IS(stats->post_block_ns + stats->rejoin_block_ns, 0);
	p->w.since -= AGES;
	r->w.since -= 3 * AGES;
	puppet_work(ps, worker);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(stats->post_block_ns / AGES, 1);
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	EXPECT_IS(stats->rejoin_block_ns / AGES, 3);
	ps->e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ps->e->owners.entries = 0;
	n = puppet_end(ps, worker, 0, 0);
	EXPECT(ASLEEP(n));
	n->w.since -= 2 * AGES;
	ps->e->owners.entries = 1;
	dxk_sweep(ps->e, false);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(stats->complete_blocks, 1);
	EXPECT_IS(stats->complete_block_ns / AGES, 2);
	/* a sleep for work is none of them, not even behind one of them */
	puppet_work(ps, worker);
	n = puppet_end(ps, worker, 0, 1);
	EXPECT(ASLEEP(n));
	ps->e->owners.entries = 2;
	dxk_sweep(ps->e, false);
	EXPECT(ASLEEP(n));
	EXPECT_IS(ps->e->crew.nr_idle[DXK_USER], 1);
	EXPECT_IS(stats->complete_blocks, 2);
	n->w.since -= AGES;
	EXPECT_IS(puppet_time_up(ps, &n->w), -ETIMEDOUT);
	EXPECT_IS(stats->complete_block_ns / AGES, 2);
	EXPECT_IS(stats->post_blocks + stats->rejoin_blocks + stats->complete_blocks, 4);
	dxk_sweep_end(ps->e);
}

/* Whose own operation makes its move is not woken. */
static void waiter_of_the_caller(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_wakes wakes;
	struct dxk_waiter w;

	dxk_wakes_init(&wakes);
	/* on a stack there is anything */
	memset(&w, 0xff, sizeof(w));
	dxk_waiter_init(&w);
	EXPECT(list_empty(&w.link));
	EXPECT(!w.count && !w.helper && !w.blocked && !w.done);
	dxk_waiter_finish(&w, &wakes);
	EXPECT(w.done);
	EXPECT_IS(wakes.nr, 0);
}

/* A vacant member begins now. */
static void waiter_member_begins(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 2);
	struct dxk_member *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	m->since = os_clock() - 1000000;
	dxk_member_init(m, ps->e, 7);
	EXPECT(os_clock() - m->since < 1000000);
	EXPECT_IS(m->id, 7);
	EXPECT(m->engine == ps->e);
	EXPECT(m->space == &ps->e->home);
}

static struct kunit_case waiter_cases[] = {
	KUNIT_CASE(waiter_members),
	KUNIT_CASE(waiter_counts_sleeps),
	KUNIT_CASE(waiter_of_the_caller),
	KUNIT_CASE(waiter_member_begins),
	{ }
};

static struct kunit_suite waiter_suite = {
	.name = "dxk_waiter",
	.exit = puppets_end,
	.test_cases = waiter_cases,
};

kunit_test_suite(waiter_suite);
