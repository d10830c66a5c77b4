// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * dispatch=thread: thread 700 runs what callers publish, some operations per lock hold.
 */
#include "engine/tests/puppet.h"

#define SOME	30

/* dispatch=thread: published operations run in their order, some in each lock hold */
static void inbox_order(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rejoin_op *r;
	struct dxk_post_op *p[40];
	struct dxk_next_op *n;
	u32 i, k, batch;

	ps->e->direct = false;
	/* single ones, and batches that each are more than half of a lock hold */
	for (batch = 1; batch <= 51; batch += 50) {
		u32 nr = batch == 1 ? 40 : 5;
		u64 posts = ps->e->stats.posts, first = ps->params + 1;

		for (i = 0; i < nr; i++) {
			p[i] = puppet_poster(ps, ps->main);
			for (k = 0; k < batch; k++)
				puppet_add(ps, p[i], batch, 0, PXR_REJOIN);
			puppet_publish(ps, &p[i]->op, dxk_post_run);
		}
		r = puppet_poller(ps, ps->main, batch, 1, 0);
		puppet_publish(ps, &r->op, dxk_rejoin_run);
		dxk_inbox_run(ps->e);
		EXPECT(list_empty(&r->rqes));
		EXPECT(r->op.ran);
		EXPECT_IS(r->answer, RJR_NONE_READY);
		EXPECT_IS(ps->e->stats.posts, posts + nr * batch);
		for (i = 0; i < nr; i++) {
			EXPECT(p[i]->op.ran);
			EXPECT_IS(p[i]->taken, batch);
		}
		for (i = 0; i < nr * batch; i++) {
			EXPECT_IS(puppet_work(ps, worker)->param, first + i);
			puppet_end(ps, worker, 0, 0);
		}
	}
	EXPECT(!ps->e->inbox.first);
	dxk_inbox_run(ps->e);
	/* of what comes together the more urgent one is given away */
	n = puppet_turn(ps, worker, 1);
	for (i = 0; i < 2; i++) {
		p[i] = puppet_poster(ps, ps->main);
		puppet_add(ps, p[i], 0, i, 0);
		puppet_publish(ps, &p[i]->op, dxk_post_run);
	}
	dxk_inbox_run(ps->e);
	EXPECT_IS(puppet_fetch(n)->param, ps->params);
	puppet_end(ps, worker, 0, 0);
	/* callers have the role again: nothing is published */
	ps->e->direct = true;
	r = puppet_poller(ps, ps->main, 1, 1, 0);
	EXPECT(!dxk_publish(ps->e, &r->op, dxk_rejoin_run));
	EXPECT(!ps->e->inbox.first);
	EXPECT_IS(puppet_poll(ps, 1), RJR_RETURNED);
	r->w.done = true;
}

/* Is what comes before and after an operation done in one lock hold with it? */
static void together(struct puppets *ps, struct dxk_member *worker, struct dxk_op *op,
		     dxk_op_fn *run)
{
	struct dxk_next_op *idle = puppet_turn(ps, worker, 1);
	struct dxk_post_op *p[2];
	u32 i;

	EXPECT(ASLEEP(idle));
	for (i = 0; i < 2; i++) {
		p[i] = puppet_poster(ps, ps->main);
		puppet_add(ps, p[i], 0, i, 0);
		puppet_publish(ps, &p[i]->op, dxk_post_run);
		if (!i)
			puppet_publish(ps, op, run);
	}
	dxk_inbox_run(ps->e);
	/* the more urgent one came last */
	EXPECT_IS(puppet_fetch(idle)->param, ps->params);
	puppet_end(ps, worker, 0, 0);
	puppet_work(ps, worker);
	puppet_end(ps, worker, 0, 0);
}

/* dispatch=thread: a lock hold goes on after an operation that has made some moves. */
static void inbox_goes_on(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_member *kernel = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	struct dxk_next_op n = { .m = kernel, .max = SOME }, end = { .m = kernel };
	struct dxk_list_op back = { .m = kernel };
	struct dxk_rejoin_op *r;
	u32 i;

	INIT_LIST_HEAD(&n.done);
	INIT_LIST_HEAD(&n.ended);
	INIT_LIST_HEAD(&n.work);
	INIT_LIST_HEAD(&end.done);
	INIT_LIST_HEAD(&end.ended);
	INIT_LIST_HEAD(&end.work);
	INIT_LIST_HEAD(&back.rqes);
	INIT_LIST_HEAD(&back.ended);
	puppet_post_nr(ps, ps->main, SOME, 8, PXR_KERNEL | PXR_REJOIN);
	/* they are taken, put back, taken again, completed, and collected */
	for (i = 0; i < 2; i++) {
		dxk_waiter_init(&n.w);
		n.nr = 0;
		together(ps, worker, &n.op, dxk_next_run);
		EXPECT_IS(n.nr, SOME);
		if (!i) {
			list_splice_init(&n.work, &back.rqes);
			together(ps, worker, &back.op, dxk_return_run);
			EXPECT_IS(ps->e->stats.put_back, SOME);
		}
	}
	puppet_fetch(&n);
	list_splice_init(&kernel->busy, &end.done);
	dxk_waiter_init(&end.w);
	together(ps, worker, &end.op, dxk_next_run);
	EXPECT_IS(end.taken, SOME);
	r = puppet_poller(ps, ps->main, 8, SOME, 0);
	together(ps, worker, &r->op, dxk_rejoin_run);
	EXPECT_IS(r->nr, SOME);
}

/* dispatch=thread: what has used up the budget of a lock hold, and no less, ends it. */
static void inbox_budget(struct kunit *test)
{
	/* Requests of a first post, and of a second; is a third in the same hold? */
	static const struct { u32 first, then; bool last; } rows[] = {
		{ 60, 54, true }, { 60, 56, false },
	};
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	u32 row, i, k;

	for (row = 0; row < ARRAY_SIZE(rows); row++) {
		u32 nr[3] = { rows[row].first, rows[row].then, 1 };
		struct dxk_next_op *n = puppet_turn(ps, worker, 1);
		u64 first = ps->params + 1;

		for (i = 0; i < ARRAY_SIZE(nr); i++) {
			struct dxk_post_op *p = puppet_poster(ps, ps->main);

			for (k = 0; k < nr[i]; k++)
				puppet_add(ps, p, 0, i == 2, 0);
			puppet_publish(ps, &p->op, dxk_post_run);
		}
		dxk_inbox_run(ps->e);
		/* the last one is the most urgent of those that it came with */
		EXPECT_IS(puppet_fetch(n)->param, rows[row].last ? ps->params : first);
		for (i = 0; i < nr[0] + nr[1]; i++) {
			puppet_end(ps, worker, 0, 0);
			puppet_work(ps, worker);
		}
		puppet_end(ps, worker, 0, 0);
	}
}

/* dispatch=thread: where thread 700 does not come, a caller runs what was published until then. */
static void inbox_late(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_rejoin_op *r = puppet_poller(ps, ps->main, 8, 1, 0);
	struct dxk_post_op *p[SOME];
	u32 i;

	ps->e->direct = false;
	for (i = 0; i < SOME; i++) {
		p[i] = puppet_poster(ps, ps->main);
		puppet_add(ps, p[i], 8, 0, PXR_REJOIN);
		puppet_publish(ps, &p[i]->op, dxk_post_run);
	}
	EXPECT(dxk_publish(ps->e, &r->op, dxk_rejoin_run));
	ps->e->direct = true;
	for (i = 0; i < SOME; i++)
		EXPECT(p[i]->op.ran);
	EXPECT_IS(r->answer, RJR_NONE_READY);
	EXPECT(!ps->e->inbox.first && !ps->e->taken);
}

/* ... and whoever has many operations waits for thread 700 in one of them, not in each. */
static void inbox_late_once(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	u64 begun = os_now();
	u32 i;

	ps->e->direct = false;
	for (i = 0; i < 100; i++) {
		struct dxk_rejoin_op *r = puppet_poller(ps, ps->main, 8, 1, 0);

		EXPECT(dxk_publish(ps->e, &r->op, dxk_rejoin_run));
		EXPECT_IS(r->answer, RJR_NONE_EXIST);
	}
	ps->e->direct = true;
	EXPECT(os_now() - begun < 5 * NSEC_PER_SEC);
}

static struct kunit_case inbox_cases[] = {
	KUNIT_CASE(inbox_order),
	KUNIT_CASE(inbox_goes_on),
	KUNIT_CASE(inbox_budget),
	KUNIT_CASE(inbox_late),
	KUNIT_CASE(inbox_late_once),
	{ }
};

static struct kunit_suite inbox_suite = {
	.name = "dxk_inbox",
	.exit = puppets_end,
	.test_cases = inbox_cases,
};

kunit_test_suite(inbox_suite);
