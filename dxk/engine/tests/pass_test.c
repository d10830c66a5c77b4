// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * More who wait for owners than one lock hold may look at: a pass looks at all, and what
 * changes meanwhile is not missed.
 */
#include "engine/rejoin.h"
#include "engine/stop.h"
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
		EXPECT(list_empty(&ps->e->owners.owed) && !ps->e->owners.nr_owed);
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
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT(!ps->e->owners.pass);
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(r[i]));
		EXPECT_IS(r[i]->err, -ESHUTDOWN);
	}
	dxk_sweep(ps->e, true);
	EXPECT(list_empty(&ps->e->owners.owed));
	dxk_sweep_end(ps->e);
}

/* DX-107: Stop waits for the passes that it owes, not for all that are owed later. */
static void pass_and_stop_go_on(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(4);
	struct dxk_member *m, *worker;
	struct dxk_stop_op stop = { };
	struct dxk_rejoin_op *last;
	struct puppets *ps;
	u32 i;

	/* few enough that one lock hold finds all who sleep */
	policy.ready_entries = 64;
	policy.max_requests = 64;
	ps = puppets_start(test, &policy);
	ps->e->swept = true;
	m = puppet_client(ps);
	worker = puppet_worker(ps);
	puppet_post_nr(ps, ps->main, 60, 8, PXR_REJOIN);
	puppet_post_nr(ps, ps->main, 1, 9, PXR_REJOIN);
	puppet_work(ps, worker);
	for (i = 0; i < MANY; i++)
		last = puppet_rejoin(ps, m, 9, 1, 1);
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	EXPECT(stop.more);
	/* who comes later stays asleep; two owners have more of them than a hold reaches */
	for (i = 0; i < 2 * MANY; i++)
		puppet_rejoin(ps, m, 8 + i % 2, 60, 60)->w.since = ps->e->stopped + 1;
	for (i = 0; i < 58 && stop.more; i++) {
		/* and change all the time */
		puppet_end(ps, worker, 0, 0);
		puppet_work(ps, worker);
		puppet_do(ps, &stop.op, dxk_stop_begin_run);
		EXPECT(!list_empty(&ps->e->owners.owed));
	}
	EXPECT(!stop.more);
	EXPECT(!ASLEEP(last));
	EXPECT_IS(last->err, -ESHUTDOWN);
	puppet_end(ps, worker, 0, 0);
	while (ps->e->nr[DXK_AT_READY]) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	for (i = 0; i < 64 && ps->e->owing; i++)
		dxk_sweep(ps->e, true);
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

/*
 * The last request ends in a hold that can look at nobody, and the pass that is under way
 * gives its result away: those who were looked at before it are told that nothing is left.
 */
static void pass_last_result(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 4);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	struct dxk_member *other = puppet_worker(ps);
	struct dxk_next_op n = { .m = puppet_worker(ps) };
	u32 i, taken = 0;

	INIT_LIST_HEAD(&n.done);
	INIT_LIST_HEAD(&n.ended);
	INIT_LIST_HEAD(&n.work);
	dxk_waiter_init(&n.w);
	puppet_post(ps, 8, 0, PXR_REJOIN);
	puppet_work(ps, other);
	for (i = 0; i < DXK_BATCH_MAX; i++) {
		u64 owner = i < DXK_BATCH_MAX - 1 ? 100 + i : 8;

		puppet_post(ps, owner, 0, PXR_REJOIN);
		puppet_work(ps, n.m);
		if (owner != 8)
			puppet_rejoin(ps, ps->main, owner, 1, 1);
	}
	for (i = 0; i < MANY; i++)
		r[i] = puppet_rejoin(ps, ps->main, 8, 2, 2);
	ps->e->swept = true;
	puppet_end(ps, other, 0, 0);
	for (i = 0; i < 2; i++)
		dxk_sweep(ps->e, true);
	EXPECT(ps->e->owners.pass);
	list_splice_init(&n.m->busy, &n.done);
	dxk_perform(ps->e, &n.op, dxk_next_run);
	EXPECT(ps->e->owners.again);
	for (i = 0; i < 16 && ps->e->owing; i++)
		dxk_sweep(ps->e, true);
	EXPECT(!ps->e->owing);
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(r[i]));
		EXPECT_IS(r[i]->answer, r[i]->nr ? RJR_RETURNED : RJR_NONE_EXIST);
		taken += r[i]->nr;
	}
	EXPECT_IS(taken, 2);
	dxk_sweep_end(ps->e);
}

/* More who watch an owner than a lock hold may tell: all see the result that lies there. */
static void pass_many_watchers(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *m[20], *worker = puppet_worker(ps);
	u32 i;

	puppet_post(ps, 8, 0, PXR_REJOIN);
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		m[i] = puppet_client(ps);
		EXPECT_IS(puppet_rejoin(ps, m[i], 8, 1, 0)->answer, RJR_NONE_READY);
	}
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		EXPECT(m[i]->readable);
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
}

static struct kunit_case pass_cases[] = {
	KUNIT_CASE(pass_many_pollers),
	KUNIT_CASE(pass_many_watchers),
	KUNIT_CASE(pass_begins_anew),
	KUNIT_CASE(pass_and_stop),
	KUNIT_CASE(pass_and_stop_go_on),
	KUNIT_CASE(pass_many_owners),
	KUNIT_CASE(pass_keeps_the_order),
	KUNIT_CASE(pass_last_result),
	{ }
};

static struct kunit_suite pass_suite = {
	.name = "dxk_pass",
	.exit = puppets_end,
	.test_cases = pass_cases,
};

kunit_test_suite(pass_suite);
