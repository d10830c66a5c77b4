// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * What looks at those who wait cost a lock hold, so that it reaches no more than it may.
 */
#include "engine/rejoin.h"
#include "engine/tests/puppet.h"

#define MANY	150

/* Pollers take all that a lock hold can afford: who watches is told by the next. */
static void pollers_before_watchers(struct kunit *test, bool any)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps), *m = puppet_client(ps);
	struct dxk_rejoin_op *r[DXK_HOLD_BUDGET], *watcher;
	u32 i;

	ps->e->swept = true;
	puppet_post(ps, 9, 0, 0);
	puppet_work(ps, worker);
	for (i = 0; i < DXK_HOLD_BUDGET; i++)
		r[i] = puppet_rejoin(ps, ps->main, 9, 1, 1);
	watcher = puppet_poller(ps, m, any ? 0 : 9, 1, 0);
	watcher->any = any;
	puppet_do(ps, &watcher->op, dxk_rejoin_run);
	EXPECT_IS(watcher->answer, RJR_NONE_READY);
	puppet_end(ps, worker, 0, 0);
	for (i = 0; i < DXK_HOLD_BUDGET; i++)
		EXPECT(!ASLEEP(r[i]));
	EXPECT(!m->readable);
	EXPECT_IS(ps->kick, BIT(DXK_DISPATCHER));
	dxk_sweep(ps->e, true);
	EXPECT(m->readable);
	EXPECT(!ps->e->owing);
	dxk_sweep_end(ps->e);
}

static void cost_pollers_before_watchers(struct kunit *test)
{
	pollers_before_watchers(test, false);
	puppets_end(test);
	/* who watches all owners */
	pollers_before_watchers(test, true);
}

/* Who waits for many results is told whatever they cost. */
static void cost_minimum_of_many(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r;
	u32 i;

	puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 8, PXR_REJOIN);
	r = puppet_rejoin(ps, ps->main, 8, DXK_BATCH_MAX, DXK_BATCH_MAX);
	for (i = 0; i < DXK_BATCH_MAX; i++) {
		EXPECT(ASLEEP(r));
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->nr, DXK_BATCH_MAX);
}

/* A look costs what there is to give, not what there is room for. */
static void cost_of_a_look(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r[4];
	u32 i;

	ps->e->swept = true;
	puppet_post_nr(ps, ps->main, 3, 8, PXR_REJOIN);
	for (i = 0; i < ARRAY_SIZE(r); i++)
		r[i] = puppet_rejoin(ps, ps->main, 8, DXK_BATCH_MAX, i < 3 ? 2 : 1);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	for (i = 0; i < ARRAY_SIZE(r); i++)
		EXPECT_IS(ASLEEP(r[i]), i < 3);
	EXPECT(!ps->e->owing);
	ps->e->swept = false;
}

/* What a look may cost leaves so much less for others: half of what it gives away. */
static void cost_of_results(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *first;
	u32 i;

	ps->e->swept = true;
	puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 8, PXR_REJOIN);
	first = puppet_rejoin(ps, ps->main, 8, DXK_HOLD_BUDGET, DXK_HOLD_BUDGET);
	/* some more than half of a lock hold can look at; each takes one, of more than come */
	for (i = 0; i < DXK_HOLD_BUDGET / 2 + 5; i++)
		puppet_rejoin(ps, ps->main, 8, 1, DXK_BATCH_MAX);
	for (i = 0; i < DXK_HOLD_BUDGET; i++) {
		EXPECT(ASLEEP(first));
		EXPECT(!ps->e->owing);
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	EXPECT(!ASLEEP(first));
	EXPECT(ps->e->owing);
	dxk_sweep_end(ps->e);
	EXPECT(!ps->e->owing);
}

/* A hold that can afford nothing looks at no owner, not even at one for whom nobody waits. */
static void cost_nothing_is_free(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_engine *e = ps->e;
	struct dxk_wakes wakes;
	u32 i;

	e->swept = true;
	puppet_post_nr(ps, ps->main, 4, 8, PXR_REJOIN);
	for (i = 0; i < MANY; i++)
		r[i] = puppet_rejoin(ps, ps->main, 8, 3, 3);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	for (i = 0; i < MANY; i++)
		EXPECT_IS(puppet_time_up(ps, &r[i]->w), -ETIMEDOUT);
	EXPECT(!list_empty(&e->owners.owed));
	for (i = 0; i < 2; i++) {
		dxk_wakes_init(&wakes);
		wakes.spent = DXK_HOLD_BUDGET - i;
		spin_lock(&e->lock);
		e->owing = false;
		dxk_owners_go_on(e, &wakes);
		spin_unlock(&e->lock);
		EXPECT_IS(list_empty(&e->owners.owed), i);
		EXPECT_IS(e->owing, !i);
	}
	dxk_sweep_end(e);
}

/*
 * More idle workers than a lock hold may wake. A periodic sweep that comes before the one for
 * which the poster asks finds the rest: that is no missed wake-up, unless nobody had asked.
 */
static void cost_owed_is_not_missed(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, MANY);
	u32 nr = DXK_BATCH_MAX, left = nr - DXK_HOLD_BUDGET;
	u32 i, missed;

	for (i = 0; i < MANY; i++)
		EXPECT(ASLEEP(puppet_turn(ps, puppet_worker(ps), 1)));
	for (missed = 0; missed < 2; missed++) {
		ps->e->swept = true;
		ps->e->stats.dispatches = 0;
		puppet_post_nr(ps, ps->main, nr, 8, 0);
		EXPECT_IS(ps->e->stats.dispatches, nr - left);
		EXPECT(ps->e->owing);
		ps->e->owing = !missed;
		dxk_sweep(ps->e, false);
		EXPECT_IS(ps->e->stats.dispatches, nr);
		EXPECT_IS(ps->e->stats.missed_wakeups, missed);
	}
	dxk_sweep_end(ps->e);
}

static struct kunit_case cost_cases[] = {
	KUNIT_CASE(cost_pollers_before_watchers),
	KUNIT_CASE(cost_minimum_of_many),
	KUNIT_CASE(cost_of_a_look),
	KUNIT_CASE(cost_of_results),
	KUNIT_CASE(cost_nothing_is_free),
	KUNIT_CASE(cost_owed_is_not_missed),
	{ }
};

static struct kunit_suite cost_suite = {
	.name = "dxk_cost",
	.exit = puppets_end,
	.test_cases = cost_cases,
};

kunit_test_suite(cost_suite);
