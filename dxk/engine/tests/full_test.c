// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * A full Rejoin Pool (DX-96), more pollers than one lock hold may look at, and spaces of
 * owners that nobody can ask for any more.
 */
#include "engine/space.h"
#include "engine/tests/puppet.h"

#define MANY	150

static struct puppets *two_entries(struct kunit *test, enum dxk_rejoin_full full)
{
	struct dxk_policy p = puppet_policy(4);

	p.rejoin_entries = 2;
	p.rejoin_full = full;
	return puppets_start(test, &p);
}

static void post_nr(struct puppets *ps, u32 nr)
{
	EXPECT_IS(puppet_post_nr(ps, ps->main, nr, 8, PXR_REJOIN)->taken, nr);
}

/* DX-96: it grows, the worker goes on, the overflow is counted */
static void full_grows(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_GROW);
	struct dxk_member *worker = puppet_worker(ps);
	u32 i;

	post_nr(ps, 5);
	for (i = 0; i < 5; i++) {
		EXPECT_IS(ps->e->stats.rejoin_overflow, i < 3 ? 0 : i - 2);
		puppet_work(ps, worker);
		EXPECT(!ASLEEP(puppet_end(ps, worker, 0, 0)));
	}
	EXPECT_IS(ps->e->stats.rejoin_overflow, 3);
	EXPECT_IS(ps->e->stats.complete_blocks, 0);
	EXPECT_IS(puppet_rejoin(ps, ps->main, 8, 64, 64)->nr, 5);
}

/* DX-96: the worker waits with its result, which still counts as executing */
static void full_blocks_worker(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_next_op *n;
	u32 i;

	post_nr(ps, 4);
	puppet_post(ps, 9, 0, 0);
	puppet_post(ps, 9, 0, 0);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	puppet_work(ps, worker);
	n = puppet_end(ps, worker, 7, 1);
	EXPECT(ASLEEP(n));
	EXPECT_IS(n->taken, 0);
	EXPECT_IS(dxk_member_state(worker), DXK_M_COMPLETING);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 1);
	EXPECT_IS(ps->e->stats.complete_blocks, 1);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 2);
	EXPECT_IS(ps->e->nr[DXK_AT_WORK], 1);
	EXPECT_IS(worker->held, 1);
	/* a poll lets it in, and it takes the fourth one */
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->taken, 1);
	EXPECT_IS(n->nr, 1);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 0);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 2);
	puppet_fetch(n);
	n = puppet_end(ps, worker, 0, 1);
	EXPECT(ASLEEP(n));
	/* as its deadline passes it has completed nothing */
	EXPECT_IS(puppet_time_up(ps, &n->w), -ETIMEDOUT);
	EXPECT_IS(n->taken, 0);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 0);
	list_splice_init(&n->done, &worker->busy);
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	EXPECT(!ASLEEP(puppet_end(ps, worker, 0, 0)));
	/* who is not to be collected needs no entry, and neither does one of a helper */
	puppet_work(ps, worker);
	n = puppet_end(ps, worker, 0, 1);
	EXPECT(!ASLEEP(n));
	EXPECT_IS(n->nr, 1);
	puppet_fetch(n);
	EXPECT_IS(puppet_rejoin(ps, ps->main, 8, 64, 0)->nr, 2);
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);
	EXPECT_IS(ps->e->stats.rejoin_overflow, 0);
}

/* DX-96: who waits for more than the pool can hold gets what there is */
static void full_wait_for_more(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r;

	post_nr(ps, 5);
	r = puppet_rejoin(ps, ps->main, 8, 5, 5);
	EXPECT(ASLEEP(r));
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->nr, 1);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	r = puppet_rejoin(ps, ps->main, 8, 5, 5);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->nr, 1);
}

/* Many workers that wait for entries: a few in each lock hold, in order of arrival. */
static void full_many_blocked(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_next_op *n[20];
	u32 i, got, swept;

	for (swept = 0; swept < 2; swept++) {
		ps->e->swept = false;
		for (i = 0; i < 22; i++) {
			struct dxk_member *m = puppet_worker(ps);

			post_nr(ps, 1);
			puppet_work(ps, m);
			if (i >= 2)
				n[i - 2] = puppet_end(ps, m, 0, 0);
			else
				puppet_end(ps, m, 0, 0);
		}
		/* two go on with each poll for two; those who wait return theirs, too */
		ps->e->swept = swept;
		for (got = 0; got < 22; ) {
			struct dxk_rejoin_op *r = puppet_rejoin(ps, ps->main, 8, 2, 0);

			EXPECT_IS(r->nr, 2);
			got += r->nr;
			for (i = 0; i < 20; i++)
				EXPECT_IS(ASLEEP(n[i]), i >= got);
		}
		EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);
	}
	dxk_sweep_end(ps->e);
	EXPECT(!ps->e->owners.freed);
}

/* DX-96: the entry is taken at the post, which waits or is refused without one */
static void full_reserves(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_RESERVE);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_post_op *p;
	u32 i;

	post_nr(ps, 2);
	p = puppet_post(ps, 8, 0, PXR_REJOIN);
	EXPECT_IS(p->err, -EAGAIN);
	EXPECT_IS(p->reason, PXR_REJOIN_FULL);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	/* also when both are finished: it is collecting that frees an entry */
	p = puppet_post(ps, 8, 0, PXR_REJOIN | PXR_WAITIF_BUSY);
	EXPECT(ASLEEP(p));
	EXPECT_IS(puppet_poll(ps, 8), RJR_RETURNED);
	EXPECT(!ASLEEP(p));
	EXPECT_IS(p->taken, 1);
	/* who is not to be collected needs none */
	EXPECT_IS(puppet_post(ps, 8, 0, 0)->taken, 1);
	EXPECT_IS(ps->e->owners.reserved, 2);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	EXPECT_IS(puppet_rejoin(ps, ps->main, 8, 64, 64)->nr, 2);
	EXPECT_IS(ps->e->owners.reserved, 0);
}

/* More pollers of one owner than a lock hold may look at: a pass looks at all. */
static void full_many_pollers(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_GROW);
	struct dxk_member **m = puppet_array(ps, MANY);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY + 1);
	struct dxk_member *worker = puppet_worker(ps);
	u32 i, swept, asleep;

	for (i = 0; i < MANY; i++)
		m[i] = puppet_client(ps);
	for (swept = 0; swept < 2; swept++) {
		ps->e->swept = swept;
		post_nr(ps, 2);
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
static void full_pass_begins_anew(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_GROW);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	struct dxk_member *m = puppet_client(ps), *watcher[9];
	struct dxk_member *worker = puppet_worker(ps), *other = puppet_worker(ps);
	struct dxk_owner *pass;
	u32 i, behind = DXK_HOLD_BUDGET + 10;

	ps->e->swept = true;
	puppet_post(ps, 9, 0, 0);
	puppet_work(ps, other);
	post_nr(ps, 4);
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
	for (i = 0; i < 16 && ps->e->owing; i++)
		dxk_sweep(ps->e, true);
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
static void full_pass_and_stop(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_GROW);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	struct dxk_member *worker = puppet_worker(ps), *m = puppet_client(ps);
	u32 i;

	ps->e->swept = true;
	post_nr(ps, 4);
	for (i = 0; i < MANY; i++)
		r[i] = puppet_rejoin(ps, m, 8, 3, 3);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
	dxk_sweep(ps->e, true);
	EXPECT(ps->e->owners.pass);
	dxk_stop_begin(ps->e, false, false);
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(r[i]));
		EXPECT_IS(r[i]->err, -ESHUTDOWN);
	}
	dxk_sweep(ps->e, true);
	EXPECT(list_empty(&ps->e->owners.owed));
	dxk_sweep_end(ps->e);
}

/* Pollers take all that a lock hold can afford: who watches is told by the next. */
static void full_pollers_before_watchers(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_GROW);
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
static void full_many_owners(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_GROW);
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
static void full_minimum_of_many(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_GROW);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r;
	u32 i;

	post_nr(ps, DXK_BATCH_MAX);
	r = puppet_rejoin(ps, ps->main, 8, DXK_BATCH_MAX, DXK_BATCH_MAX);
	for (i = 0; i < DXK_BATCH_MAX; i++) {
		EXPECT(ASLEEP(r));
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->nr, DXK_BATCH_MAX);
}

/* DX-113: a private space ends with its last user: results go, the rest vanishes */
static void full_space_closes(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_RESERVE);
	struct dxk_space *space = dxk_space_new(ps->e), *other = dxk_space_new(ps->e);
	struct dxk_member *worker = puppet_worker(ps), *m = puppet_client(ps);
	struct dxk_close_op c = { .space = space };
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(space));
	KUNIT_ASSERT_FALSE(test, IS_ERR(other));
	EXPECT(space->id != other->id);
	EXPECT(space->id > max(ps->e->home.id, ps->e->shared.id));
	ps->e->owners.entries = 200;
	m->space = space;
	dxk_space_join(ps->e, space);
	EXPECT_IS(space->users, 2);
	/* owner 8 of the space has many results, 9 one that executes, 10 one Ready */
	for (i = 0; i < 130; i++) {
		puppet_post_nr(ps, m, 1, i < 100 ? 8 : 100 + i, PXR_REJOIN);
		puppet_work(ps, worker);
		puppet_end(ps, worker, 0, 0);
	}
	/* an equal cookie of others is another owner */
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);
	EXPECT_IS(puppet_rejoin(ps, m, 8, 1, 0)->answer, RJR_RETURNED);
	puppet_post_nr(ps, m, 2, 9, PXR_REJOIN);
	puppet_work(ps, worker);
	puppet_post_nr(ps, m, 1, 10, PXR_REJOIN);
	EXPECT_IS(ps->e->owners.reserved, 132);

	dxk_space_leave(ps->e, space);
	EXPECT(!space->closed);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 129);
	/* a lock hold drops no more than it can afford */
	INIT_LIST_HEAD(&c.ended);
	puppet_do(ps, &c.op, dxk_space_close_run);
	EXPECT(c.more);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 129 - (DXK_HOLD_BUDGET - 1));
	dxk_rqe_drop_all(NULL, &c.ended);
	dxk_space_leave(ps->e, space);
	EXPECT_IS(ps->e->nr[DXK_AT_REJOIN], 0);
	EXPECT_IS(ps->e->stats.vanished, 129);
	EXPECT_IS(ps->e->owners.nr, 2);
	EXPECT_IS(ps->e->owners.reserved, 3);
	m->space = &ps->e->home;
	for (i = 0; i < 3; i++) {
		puppet_end(ps, worker, 0, 0);
		if (i < 2)
			puppet_work(ps, worker);
	}
	EXPECT_IS(ps->e->owners.nr, 0);
	EXPECT_IS(ps->e->stats.vanished, 132);
	/* an empty one; and those that are not private stay */
	dxk_space_leave(ps->e, other);
	dxk_space_join(ps->e, &ps->e->home);
	dxk_space_leave(ps->e, &ps->e->home);
	EXPECT(!ps->e->home.closed);
	EXPECT_IS(ps->e->home.users, 0);
}

/* There is room for all who wait: each lock hold serves as many as it can afford. */
static void full_serves_many(struct kunit *test)
{
	struct puppets *ps = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *first = puppet_worker(ps);
	struct dxk_next_op *n[40];
	u32 i, k;

	puppet_post(ps, 9, 0, PXR_REJOIN);
	puppet_work(ps, first);
	puppet_end(ps, first, 0, 0);
	ps->e->owners.entries = 1;
	for (i = 0; i < ARRAY_SIZE(n); i++) {
		struct dxk_member *m = puppet_worker(ps);

		for (k = 0; k < 5; k++) {
			puppet_post(ps, 8, 0, PXR_REJOIN);
			puppet_work(ps, m);
		}
		n[i] = puppet_end(ps, m, 0, 0);
		EXPECT(ASLEEP(n[i]));
		list_splice_tail_init(&m->busy, &n[i]->done);
	}
	ps->e->owners.entries = 5 * ARRAY_SIZE(n);
	EXPECT_IS(puppet_poll(ps, 9), RJR_RETURNED);
	/*
	 * Two units for five moves and one for the look: a turn begins while a whole batch
	 * can be afforded. The collector is woken, too.
	 */
	EXPECT_IS(ps->woken, (DXK_HOLD_BUDGET - (DXK_BATCH_MAX / 2 + 1)) / 3 + 1 + 1);
	EXPECT_IS(ps->kick, BIT(DXK_MYSELF));
	for (i = 0; i < ARRAY_SIZE(n); i++)
		EXPECT_IS(n[i]->taken, 5);
	EXPECT(!ps->e->owing);
}

static struct kunit_case full_cases[] = {
	KUNIT_CASE(full_grows),
	KUNIT_CASE(full_blocks_worker),
	KUNIT_CASE(full_wait_for_more),
	KUNIT_CASE(full_many_blocked),
	KUNIT_CASE(full_reserves),
	KUNIT_CASE(full_many_pollers),
	KUNIT_CASE(full_pass_begins_anew),
	KUNIT_CASE(full_pass_and_stop),
	KUNIT_CASE(full_pollers_before_watchers),
	KUNIT_CASE(full_many_owners),
	KUNIT_CASE(full_minimum_of_many),
	KUNIT_CASE(full_space_closes),
	KUNIT_CASE(full_serves_many),
	{ }
};

static struct kunit_suite full_suite = {
	.name = "dxk_full",
	.exit = puppets_end,
	.test_cases = full_cases,
};

kunit_test_suite(full_suite);
