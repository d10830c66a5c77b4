// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * More who wait for owners than one lock hold may look at: a pass looks at all, and what
 * changes meanwhile is not missed.
 */
#include "engine/rejoin.h"
#include "engine/tests/puppet.h"

#define MANY	150

/* More pollers of one owner than a lock hold may look at: a pass looks at all. */
static void pass_many_pollers(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member **m = puppet_array(ps, MANY);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY + 1);
	struct dxk_member *worker = puppet_worker(ps);
	u32 i, swept, asleep;

	for (i = 0; i < MANY; i++)
		m[i] = puppet_client(ps);
	for (swept = 0; swept < 2; swept++) {
		ps->e->swept = swept;
		puppet_post_nr(ps, ps->main, 2, 8, PXR_REJOIN);
		/* all but the last one wait for two */
		for (i = 0; i < MANY; i++)
			r[i] = puppet_rejoin(ps, m[i], 8, 2, i < MANY - 1 ? 2 : 1);
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
		EXPECT_IS(ASLEEP(r[MANY - 1]), swept);
		EXPECT_IS(ps->e->owing, swept);
		EXPECT_IS(list_empty(&ps->e->owners.owed), !swept);
		if (swept) {
			/* who comes during a pass is looked at by it, or after it */
			dxk_sweep(ps->e, true);
			EXPECT(ps->e->owners.pass);
			r[MANY] = puppet_rejoin(ps, ps->main, 8, 2, 2);
			EXPECT(ASLEEP(r[MANY]));
			/* the last request ends during the pass: all are told that, once more */
			puppet_work(ps, worker);
			puppet_end(ps, worker, 0, 0);
			for (i = 0; i < 16 && ps->e->owing; i++)
				dxk_sweep(ps->e, true);
			EXPECT(!ASLEEP(r[MANY]));
		} else {
			puppet_work(ps, worker);
			puppet_end(ps, worker, 0, 0);
		}
		for (i = asleep = 0; i < MANY; i++) {
			asleep += ASLEEP(r[i]);
			EXPECT_IS(r[i]->err, 0);
			EXPECT_IS(r[i]->answer, r[i]->nr ? RJR_RETURNED : RJR_NONE_EXIST);
		}
		EXPECT_IS(asleep, 0);
		EXPECT(list_empty(&ps->e->owners.owed));
		EXPECT_IS(ps->e->owners.nr, 0);
		dxk_sweep_end(ps->e);
	}
	EXPECT_IS(ps->e->stats.collected, 4);
}

/* A change in the midst of a pass: those who were looked at are looked at once more. */
static void pass_begins_anew(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	struct dxk_member *m = puppet_client(ps), *watcher[9];
	struct dxk_member *worker = puppet_worker(ps), *other = puppet_worker(ps);
	struct dxk_owner *pass;
	u32 i, behind = DXK_HOLD_BUDGET + 10;

	ps->e->swept = true;
	puppet_post(ps, 9, 0, 0);
	puppet_work(ps, other);
	puppet_post_nr(ps, ps->main, 4, 8, PXR_REJOIN);
	/* one behind those whom a lock hold reaches waits for less */
	for (i = 0; i < MANY; i++)
		r[i] = puppet_rejoin(ps, m, 8, 3, i == behind ? 2 : 3);
	for (i = 0; i < ARRAY_SIZE(watcher); i++) {
		watcher[i] = puppet_client(ps);
		puppet_rejoin(ps, watcher[i], 9, 1, 0);
	}
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	for (i = 0; i < 2; i++)
		dxk_sweep(ps->e, true);
	pass = ps->e->owners.pass;
	EXPECT(pass);
	EXPECT(ASLEEP(r[behind]));
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	EXPECT(ASLEEP(r[behind]));
	/* another owner changes: it waits for its turn */
	puppet_end(ps, other, 0, 0);
	EXPECT(list_first_entry(&ps->e->owners.owed, struct dxk_owner, owed) == pass);
	for (i = 0; i < 16 && ps->e->owing; i++) {
		dxk_sweep(ps->e, true);
		/* which comes before the next pass of the first one */
		EXPECT(ASLEEP(r[behind]) || watcher[0]->readable);
	}
	EXPECT(!ps->e->owing);
	EXPECT(list_empty(&ps->e->owners.owed));
	for (i = 0; i < MANY; i++)
		EXPECT_IS(ASLEEP(r[i]), i != behind);
	EXPECT_IS(r[behind]->nr, 2);
	for (i = 0; i < ARRAY_SIZE(watcher); i++)
		EXPECT(watcher[i]->readable);
	dxk_sweep_end(ps->e);
}

/* DX-107: Stop comes in the midst of a pass: those who are still to be looked at wake too. */
static void pass_and_stop(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	struct dxk_member *worker = puppet_worker(ps), *m = puppet_client(ps);
	u32 i;

	ps->e->swept = true;
	puppet_post_nr(ps, ps->main, 4, 8, PXR_REJOIN);
	for (i = 0; i < MANY; i++)
		r[i] = puppet_rejoin(ps, m, 8, 3, 3);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	dxk_sweep(ps->e, true);
	EXPECT(ps->e->owners.pass);
	dxk_stop_begin(ps->e, false, false);
	EXPECT(!ps->e->owners.pass);
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(r[i]));
		EXPECT_IS(r[i]->err, -ESHUTDOWN);
	}
	dxk_sweep(ps->e, true);
	EXPECT(list_empty(&ps->e->owners.owed));
	dxk_sweep_end(ps->e);
}

/* Pollers take all that a lock hold can afford: who watches is told by the next. */
static void pass_pollers_before_watchers(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_member *worker = puppet_worker(ps), *m = puppet_client(ps);
	struct dxk_rejoin_op *r[DXK_HOLD_BUDGET];
	u32 i;

	ps->e->swept = true;
	puppet_post(ps, 9, 0, 0);
	puppet_work(ps, worker);
	for (i = 0; i < DXK_HOLD_BUDGET; i++)
		r[i] = puppet_rejoin(ps, ps->main, 9, 1, 1);
	puppet_rejoin(ps, m, 9, 1, 0);
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

/* A turn ends requests of more owners than a lock hold may tell of it. */
static void pass_many_owners(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_next_op n = { .m = puppet_worker(ps) };
	struct dxk_rejoin_op *r[DXK_BATCH_MAX];
	u32 i;

	ps->e->swept = true;
	INIT_LIST_HEAD(&n.done);
	INIT_LIST_HEAD(&n.ended);
	INIT_LIST_HEAD(&n.work);
	dxk_waiter_init(&n.w);
	for (i = 0; i < DXK_BATCH_MAX; i++) {
		puppet_post(ps, i, 0, PXR_REJOIN);
		puppet_work(ps, n.m);
		r[i] = puppet_rejoin(ps, ps->main, i, 1, 1);
	}
	list_splice_init(&n.m->busy, &n.done);
	dxk_perform(ps->e, &n.op, dxk_next_run);
	EXPECT(!ASLEEP(r[DXK_HOLD_BUDGET - 1]));
	EXPECT(ASLEEP(r[DXK_HOLD_BUDGET]));
	EXPECT_IS(ps->e->owners.nr, DXK_BATCH_MAX - DXK_HOLD_BUDGET);
	dxk_sweep(ps->e, true);
	for (i = 0; i < DXK_BATCH_MAX; i++) {
		EXPECT(!ASLEEP(r[i]));
		EXPECT_IS(r[i]->nr, 1);
	}
	EXPECT_IS(ps->e->owners.nr, 0);
	EXPECT(list_empty(&ps->e->owners.owed));
	dxk_sweep_end(ps->e);
}

/* Who waits for many results is told whatever they cost. */
static void pass_minimum_of_many(struct kunit *test)
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

/* Those whom a pass does not answer wait in the order in which they came. */
static void pass_keeps_the_order(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY), *now;
	struct dxk_member *worker = puppet_worker(ps), *m = puppet_client(ps);
	const struct dxk_owner *owner;
	u32 i;

	puppet_post_nr(ps, ps->main, 4, 8, PXR_REJOIN);
	for (i = 0; i < MANY; i++)
		r[i] = puppet_rejoin(ps, m, 8, 3, 3);
	/* the caller does what its hold leaves over */
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	EXPECT(list_empty(&ps->e->owners.owed));
	owner = dxk_owner_find(&ps->e->owners, m->space, 8);
	KUNIT_ASSERT_NOT_NULL(test, owner);
	i = 0;
	list_for_each_entry(now, &owner->pollers, w.link)
		EXPECT(i < MANY && now == r[i++]);
	EXPECT_IS(i, MANY);
}

/* A look costs what there is to give, not what there is room for. */
static void pass_cost_of_a_look(struct kunit *test)
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

/* A hold that can afford nothing looks at no owner, not even at one for whom nobody waits. */
static void pass_nothing_is_free(struct kunit *test)
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

/* What a look may cost leaves so much less for others: half of what it gives away. */
static void pass_cost_of_results(struct kunit *test)
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

static struct kunit_case pass_cases[] = {
	KUNIT_CASE(pass_many_pollers),
	KUNIT_CASE(pass_begins_anew),
	KUNIT_CASE(pass_and_stop),
	KUNIT_CASE(pass_pollers_before_watchers),
	KUNIT_CASE(pass_many_owners),
	KUNIT_CASE(pass_minimum_of_many),
	KUNIT_CASE(pass_keeps_the_order),
	KUNIT_CASE(pass_cost_of_a_look),
	KUNIT_CASE(pass_cost_of_results),
	KUNIT_CASE(pass_nothing_is_free),
	{ }
};

static struct kunit_suite pass_suite = {
	.name = "dxk_pass",
	.exit = puppets_end,
	.test_cases = pass_cases,
};

kunit_test_suite(pass_suite);
