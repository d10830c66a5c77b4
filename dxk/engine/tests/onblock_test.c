// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Workers that sleep in a call help (policy on_block): what stalls under STRICT goes on,
 * and nothing is executed beyond its lane.
 */
#include "engine/tests/puppet.h"

/* D-5: lane 3 that waits for lane 3: the sleeper executes its child, nested */
static void onblock_help(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 2, true);
	struct dxk_lanes *lanes = &ps->e->crew.lanes[DXK_USER];
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_rejoin_op *r[2];
	struct dxk_rqe *rqe;

	r[0] = puppet_parent(ps, m[0], 10);
	/* there is another one that is awake, and there is room for it in the lanes */
	EXPECT(!ASLEEP(r[0]));
	EXPECT(r[0]->helper.called);
	EXPECT_IS(m[0]->extra, 1);
	EXPECT_IS(m[0]->held, 2);
	EXPECT_IS(ps->e->crew.asleep[DXK_USER], 0);
	EXPECT(list_empty(&ps->e->crew.helpers[DXK_USER]));
	/* it brings a thread: a place more in all, none in the shares */
	EXPECT_IS(lanes->quota[2], 2);
	EXPECT_IS(lanes->quota[3], 3);
	rqe = puppet_help(ps, m[0]);
	EXPECT_IS(rqe->cookie, 10);
	EXPECT(rqe->extra);
	EXPECT_IS(m[0]->work.owner, 10);
	puppet_end(ps, m[0], 3, 0);
	EXPECT(!rqe->extra);
	EXPECT_IS(m[0]->extra, 0);
	EXPECT_IS(lanes->quota[3], 2);
	EXPECT_IS(ps->e->stats.helps, 1);
	EXPECT_IS(ps->e->stats.spare_runs, 0);
	/* it is back at the one that waits */
	EXPECT_IS(m[0]->work.owner, 1);
	r[1] = puppet_rejoin(ps, m[0], 10, 1, 1);
	EXPECT_IS(r[1]->answer, RJR_RETURNED);
	puppet_end(ps, m[0], 0, 0);
}

/* Helpers nest no deeper than help_depth; the last one that fell asleep is first. */
static void onblock_help_depth(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 2, false);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_rejoin_op *r;
	struct dxk_post_op *p;
	u32 i;

	r = puppet_parent(ps, m[0], 10);
	for (i = 0; i < 2; i++) {
		EXPECT(r->helper.called);
		EXPECT_IS(puppet_help(ps, m[0])->cookie, 10 + i);
		EXPECT_IS(m[0]->extra, i + 1);
		puppet_post_nr(ps, m[0], 1, 11 + i, PXR_REJOIN);
		r = puppet_rejoin(ps, m[0], 11 + i, 1, 1);
	}
	EXPECT(ASLEEP(r));
	EXPECT(!r->helper.called);
	/* clients and those who cannot are not called */
	EXPECT(ASLEEP(puppet_rejoin(ps, ps->main, 12, 1, 1)));
	EXPECT_IS(puppet_work(ps, m[1])->cookie, 12);
	puppet_post_nr(ps, m[1], 1, 20, PXR_REJOIN);
	r = puppet_poller(ps, m[1], 20, 1, 1);
	r->help = false;
	puppet_do(ps, &r->op, dxk_rejoin_run);
	EXPECT(ASLEEP(r));
	/* it can in the next call: in a post, for want of room */
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	ps->e->policy.ready_entries = 1;
	p = puppet_poster(ps, m[1]);
	p->help = false;
	puppet_add(ps, p, 21, 0, PXR_WAITIF_BUSY);
	puppet_posts(ps, p);
	EXPECT(ASLEEP(p));
	EXPECT_IS(puppet_time_up(ps, &p->w), -ETIMEDOUT);
	p = puppet_post_nr(ps, m[1], 1, 21, PXR_WAITIF_BUSY);
	EXPECT(!ASLEEP(p));
	EXPECT(p->helper.called);
	EXPECT_IS(p->taken, 0);
	EXPECT_IS(puppet_help(ps, m[1])->cookie, 20);
	puppet_end(ps, m[1], 0, 0);
	EXPECT_IS(m[1]->extra, 0);
	EXPECT(list_empty(&ps->e->crew.helpers[DXK_USER]));
}

/* D-4: both workers sleep for room in the Ready Pool; the younger sleeper helps first */
static void onblock_help_order(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 2, false);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_post_op *p[2], call = { .help = true };
	struct dxk_rejoin_op *r[2], again = { .max = 1, .min = 1, .wait = true };
	struct dxk_post_entry req = { .owner = 7, .attrs = PXR_WAITIF_BUSY };
	u32 i;

	/* a kernel request is for no user worker, asleep or not */
	for (i = 0; i < 2; i++) {
		puppet_post(ps, 1, 0, 0);
		puppet_work(ps, m[i]);
	}
	for (i = 0; i < 2; i++) {
		puppet_post(ps, 5 + i, 0, PXR_KERNEL | PXR_REJOIN);
		r[i] = puppet_rejoin(ps, m[i], 5 + i, 1, 1);
		EXPECT(ASLEEP(r[i]));
	}
	puppet_post(ps, 2, 0, 0);
	EXPECT(ASLEEP(r[0]));
	EXPECT(r[1]->helper.called);
	EXPECT_IS(ps->woken, 2);
	puppet_post(ps, 3, 0, 0);
	EXPECT(r[0]->helper.called);
	EXPECT_IS(puppet_help(ps, m[1])->cookie, 2);
	EXPECT_IS(puppet_help(ps, m[0])->cookie, 3);

	/* the pool is full: each sleep makes room, and who makes it goes first */
	ps->e->policy.ready_entries = 3;
	EXPECT_IS(puppet_post(ps, 4, 0, 0)->taken, 1);
	p[0] = puppet_post_nr(ps, m[0], 1, 7, PXR_WAITIF_BUSY);
	EXPECT(p[0]->helper.called);
	EXPECT_IS(p[0]->taken, 0);
	EXPECT_IS(puppet_help(ps, m[0])->cookie, 4);
	EXPECT_IS(puppet_post(ps, 4, 0, 0)->taken, 1);
	/* two extra ones have no third */
	p[0] = puppet_post_nr(ps, m[0], 1, 7, PXR_WAITIF_BUSY);
	EXPECT(ASLEEP(p[0]));
	/* as threads do it */
	call.m = m[1];
	EXPECT_IS(dxk_client_begin(&call, 1), 0);
	list_add_tail(&dxk_rqe_make(&m[1]->rqes, &req, NULL)->link, &call.rqes);
	EXPECT_IS(dxk_client_post(&call, 0), -EAGAIN);
	EXPECT_IS(call.reason, PXR_HELP);
	EXPECT_IS(dxk_member_state(m[1]), DXK_M_BUSY);
	dxk_rqe_drop_all(m[1], &call.rqes);
	EXPECT(!ASLEEP(p[0]));
	EXPECT_IS(p[0]->taken, 1);
	EXPECT_IS(puppet_help(ps, m[1])->cookie, 4);
	puppet_end(ps, m[1], 0, 0);
	again.m = m[1];
	again.help = true;
	again.cookie = 6;
	EXPECT_IS(dxk_client_rejoin(&again, 0), 0);
	EXPECT_IS(again.answer, RJR_HELP);
	EXPECT_IS(puppet_help(ps, m[1])->cookie, 7);
}

/* What a helper was called for it may die with, or give back. */
static void onblock_help_ends(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 2, true);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_rejoin_op *r;
	struct dxk_next_op *n;

	puppet_parent(ps, m[0], 10);
	n = puppet_turn(ps, m[0], 1);
	puppet_return(ps, n);
	EXPECT_IS(m[0]->extra, 0);
	EXPECT_IS(ps->e->crew.lanes[DXK_USER].quota[3], 2);
	r = puppet_rejoin(ps, m[0], 10, 1, 1);
	EXPECT(r->helper.called);
	EXPECT(!list_empty(&m[0]->called));
	/* what only completes does not take it */
	n = puppet_turn(ps, m[0], 0);
	EXPECT_IS(n->nr, 0);
	puppet_dies(ps, m[0]);
	EXPECT_IS(ps->e->stats.put_back, 2);
	EXPECT_IS(ps->e->stats.owner_dead, 1);
	EXPECT_IS(ps->e->crew.extra[DXK_USER], 0);
	EXPECT_IS(puppet_work(ps, m[1])->cookie, 10);
	EXPECT_IS(puppet_poll(ps, 1), RJR_RETURNED);
	puppet_end(ps, m[1], 0, 0);
	/* and so does one with an extra request that it has begun */
	r = puppet_parent(ps, m[1], 11);
	puppet_help(ps, m[1]);
	puppet_dies(ps, m[1]);
	EXPECT_IS(ps->e->crew.extra[DXK_USER], 0);
	EXPECT_IS(ps->e->stats.owner_dead, 3);
}

/* A helper is not to wait for a Rejoin Pool entry that it may itself be to free. */
static void onblock_help_never_blocks(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 1, false);
	struct dxk_member *m = puppet_worker(ps);

	ps->e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ps->e->owners.entries = 0;
	puppet_parent(ps, m, 10);
	puppet_help(ps, m);
	EXPECT(!ASLEEP(puppet_end(ps, m, 0, 0)));
	EXPECT_IS(ps->e->stats.complete_blocks, 0);
	EXPECT_IS(puppet_poll(ps, 10), RJR_RETURNED);
	/* a worker does */
	EXPECT(ASLEEP(puppet_end(ps, m, 0, 0)));
}

/* Not under STRICT, and not for one more than there are of a lane. */
static void onblock_not(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_STRICT, 1, false);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_crew_op *c;

	EXPECT(ASLEEP(puppet_parent(ps, m, 10)));
	EXPECT(list_empty(&ps->e->crew.helpers[DXK_USER]));
	EXPECT_IS(dxk_spares_wanted(ps->e, DXK_USER), 0);
	c = puppet_manager(ps, true);
	EXPECT(ASLEEP(c));
}

/* The same as threads do it: the answer is to help, whatever the call was used for. */
static void onblock_help_call(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 2, true);
	struct dxk_member *m[2] = { puppet_worker(ps), puppet_worker(ps) };
	struct dxk_rejoin_op r = {
		.m = m[0], .cookie = 10, .max = 1, .min = 1, .wait = true, .help = true,
		.free = true, .nr = 9, .err = -EINVAL,
	};

	puppet_post(ps, 1, 0, PXR_REJOIN);
	puppet_work(ps, m[0]);
	puppet_post_nr(ps, m[0], 1, 10, PXR_REJOIN);
	EXPECT_IS(dxk_client_rejoin(&r, 0), 0);
	EXPECT_IS(r.answer, RJR_HELP);
	EXPECT_IS(r.nr, 0);
	puppet_help(ps, m[0]);
}

/* A lane is as full for a helper as for others: then it sleeps on. */
static void onblock_help_lanes(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 10, true);
	struct dxk_member *m[10];
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
	EXPECT(!list_empty(&ps->e->crew.helpers[DXK_USER]));
	EXPECT(!ps->e->owing);
	puppet_end(ps, m[1], 0, 0);
	EXPECT(r->helper.called);
	EXPECT_IS(puppet_help(ps, m[0])->cookie, 10);
}

/* More helpers than a lock hold may call, and work for all at once. */
static void onblock_many_helpers(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, DXK_BATCH_MAX, false);
	struct dxk_member **m = puppet_array(ps, DXK_BATCH_MAX);
	struct dxk_rejoin_op *r[DXK_BATCH_MAX];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(r); i++) {
		m[i] = puppet_worker(ps);
		puppet_post(ps, 1, 0, 0);
		puppet_work(ps, m[i]);
	}
	/* for a kernel worker, of which there is none */
	puppet_post(ps, 10, 0, PXR_KERNEL | PXR_REJOIN);
	for (i = 0; i < ARRAY_SIZE(r); i++)
		r[i] = puppet_rejoin(ps, m[i], 10, 1, 1);
	ps->e->swept = true;
	puppet_post_nr(ps, ps->main, ARRAY_SIZE(r), 2, 0);
	EXPECT_IS(ps->woken, DXK_HOLD_BUDGET + 1);
	EXPECT(ps->e->owing);
	dxk_sweep(ps->e, true);
	for (i = 0; i < ARRAY_SIZE(r); i++)
		EXPECT(r[i]->helper.called);
	dxk_sweep_end(ps->e);
}

/* A helper dies that was called for more than a lock hold may put back. */
static void onblock_help_dies(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 1, false);
	struct dxk_member *m = puppet_worker(ps);
	struct dxk_list_op died = { .m = m };
	u32 i, nr = DXK_HOLD_BUDGET + 2;

	ps->e->policy.help_depth = nr;
	puppet_post(ps, 1, 0, 0);
	puppet_work(ps, m);
	for (i = 0; i < nr; i++) {
		puppet_post(ps, 10, 0, PXR_REJOIN);
		EXPECT(puppet_rejoin(ps, m, 10, 1, 1)->helper.called);
	}
	INIT_LIST_HEAD(&died.ended);
	puppet_do(ps, &died.op, dxk_died_run);
	EXPECT(died.more);
	EXPECT_IS(ps->e->stats.put_back, DXK_HOLD_BUDGET);
	puppet_dies(ps, m);
	EXPECT_IS(ps->e->stats.put_back, nr);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], nr);
	EXPECT(list_empty(&m->called));
}

/* A helper that is done is back at the request for which it helped, in reports too. */
static void onblock_help_notes(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 1, false);
	struct dxk_member *m = puppet_worker(ps);
	u32 i;

	puppet_parent(ps, m, 10);
	puppet_help(ps, m);
	puppet_post_nr(ps, m, 1, 11, PXR_REJOIN);
	puppet_rejoin(ps, m, 11, 1, 1);
	puppet_help(ps, m);
	EXPECT_IS(m->work.owner, 11);
	for (i = 0; i < 2; i++) {
		puppet_end(ps, m, 0, 0);
		EXPECT_IS(m->work.owner, i ? 1 : 10);
	}
	puppet_end(ps, m, 0, 0);
}

static struct kunit_case onblock_cases[] = {
	KUNIT_CASE(onblock_help),
	KUNIT_CASE(onblock_help_depth),
	KUNIT_CASE(onblock_help_notes),
	KUNIT_CASE(onblock_help_order),
	KUNIT_CASE(onblock_help_ends),
	KUNIT_CASE(onblock_help_never_blocks),
	KUNIT_CASE(onblock_not),
	KUNIT_CASE(onblock_help_call),
	KUNIT_CASE(onblock_help_lanes),
	KUNIT_CASE(onblock_many_helpers),
	KUNIT_CASE(onblock_help_dies),
	{ }
};

static struct kunit_suite onblock_suite = {
	.name = "dxk_onblock",
	.exit = puppets_end,
	.test_cases = onblock_cases,
};

kunit_test_suite(onblock_suite);
