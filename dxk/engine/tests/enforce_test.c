// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * A policy that comes into force and closes a lane or a kind of workers: what could never
 * run any more ends (DX-9, DX-46, DX-108).
 */
#include "engine/enforce.h"
#include "engine/more.h"
#include "engine/tests/keyed.h"

#define MANY	(2 * DXK_BATCH_MAX + 6)

static struct puppets *start(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(4);

	p.sched_mode = TPOOL_MODE_CMLS;
	p.lane_pct[1] = 25;
	p.lane_pct[2] = 25;
	return puppets_start(test, &p);
}

static s32 status_of(struct puppets *ps, u64 owner)
{
	struct dxk_rejoin_op *r = puppet_rejoin(ps, ps->main, owner, 1, 0);

	EXPECT_IS(r->nr, 1);
	return r->nr ? puppet_result(r)->status : 0;
}

/* A lane is closed: its Ready requests end, those of others stay. */
static void enforce_closes_lane(struct kunit *test)
{
	struct puppets *ps = start(test);
	struct dxk_policy p = ps->e->policy;
	struct dxk_rejoin_op *r;
	struct dxk_post_op *last;
	u32 i;

	for (i = 0; i < 2; i++)
		puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 8, PXR_LANE1 | PXR_REJOIN);
	puppet_post_nr(ps, ps->main, 5, 8, PXR_LANE1);
	puppet_post(ps, 8, 0, PXR_LANE1 | PXR_REJOIN | PXR_BOOST);
	puppet_post(ps, 9, 0, PXR_LANE2 | PXR_REJOIN);
	r = puppet_rejoin(ps, puppet_client(ps), 8, 1, 1);
	/* the share of a higher lane is for lower ones, too */
	p.lane_pct[0] = 25;
	p.lane_pct[1] = 0;
	dxk_enforce(ps->e, &p);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], MANY + 1);
	EXPECT_IS(puppet_post(ps, 10, 0, PXR_LANE1 | PXR_REJOIN)->err, 0);
	p.lane_pct[0] = 0;
	dxk_enforce(ps->e, &p);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	EXPECT_IS(ps->e->stats.cancelled, MANY + 1);
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT_IS(puppet_result(r)->status, -EPERM);
	EXPECT_IS(status_of(ps, 10), -EPERM);
	for (i = 0; i < MANY - 6; i++)
		EXPECT_IS(status_of(ps, 8), -EPERM);
	EXPECT_IS(puppet_poll(ps, 8), RJR_NONE_EXIST);
	last = puppet_post(ps, 8, 0, PXR_LANE1);
	EXPECT_IS(last->err, -EPERM);
	EXPECT_IS(last->reason, PXR_LANE_CLOSED);
	/* with what is left a drain ends */
	puppet_work(ps, puppet_worker(ps));
	dxk_stop_begin(ps->e, 0, false, false);
	EXPECT_IS(puppet_end(ps, ps->member[2], 0, 1)->err, -ESHUTDOWN);
	EXPECT_IS(puppet_stop_wait(ps), 0);
}

/* One that waits in a closed lane ends, whichever lane it is; one in another lane does not. */
static void enforce_closes_lane_of_a_wait(struct kunit *test)
{
	static const struct dxk_post_more for_2 = {
		.wait = { .wait = DXK_WAIT_JOIN, .owner = 2 },
	};
	u32 lane;

	for (lane = 0; lane < DXK_LANES - 1; lane++) {
		struct dxk_policy p = puppet_policy(4);
		struct dxk_post_op *post;
		struct puppets *ps;
		u32 i;

		p.sched_mode = TPOOL_MODE_CMLS;
		p.lane_pct[lane] = 25;
		ps = keyed_start(test, &p, 1);
		puppet_post(ps, 2, 0, PXR_REJOIN);
		puppet_work(ps, keyed_worker(ps, 0));
		for (i = 0; i < 2; i++) {
			post = puppet_poster(ps, ps->main);
			keyed_add(ps, post, 8 + i, 0, PXR_WAIT | PXR_REJOIN |
				  (i ? PXR_LANE3 : PXR_LANE0 << lane), &for_2);
			puppet_posts(ps, post);
		}
		EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 2);
		p.lane_pct[lane] = 0;
		dxk_enforce(ps->e, &p);
		EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 1);
		EXPECT_IS(status_of(ps, 8), -EPERM);
		puppet_end(ps, keyed_worker(ps, 0), 0, 0);
		EXPECT(puppet_work(ps, keyed_worker(ps, 0)));
		puppet_end(ps, keyed_worker(ps, 0), 0, 0);
		keyed_end(ps);
		if (lane < DXK_LANES - 2)
			puppets_end(test);
	}
}

/* A Stop that comes between its lock holds is over with the last one. */
static void enforce_meets_stop(struct kunit *test)
{
	struct puppets *ps = start(test);
	struct dxk_policy p = ps->e->policy;
	struct dxk_enforce_op op = { .policy = &p };
	struct puppet_stop *stop;

	p.lane_pct[1] = 0;
	INIT_LIST_HEAD(&op.ended);
	puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 8, PXR_LANE1);
	puppet_do(ps, &op.op, dxk_enforce_run);
	EXPECT(op.more);
	/* it is in force once and for all */
	ps->e->policy.redo_max = 77;
	dxk_stop_begin(ps->e, 0, false, false);
	stop = puppet_stopper(ps);
	EXPECT(ASLEEP(stop));
	puppet_do(ps, &op.op, dxk_enforce_run);
	EXPECT(!op.more);
	EXPECT_IS(ps->e->policy.redo_max, 77);
	EXPECT(!ASLEEP(stop));
	dxk_rqe_drop_all(NULL, &op.ended);
}

/* One lock hold ends no more than it can afford. */
static void enforce_in_holds(struct kunit *test)
{
	struct puppets *ps = start(test);
	struct dxk_policy p = ps->e->policy;
	struct dxk_enforce_op op = { .policy = &p };
	u32 i, holds = 0;

	p.lane_pct[1] = 0;
	INIT_LIST_HEAD(&op.ended);
	for (i = 0; i < 2; i++)
		puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 8, PXR_LANE1);
	do {
		puppet_do(ps, &op.op, dxk_enforce_run);
		dxk_rqe_drop_all(NULL, &op.ended);
		/* refused from the first one on */
		EXPECT_IS(puppet_post(ps, 8, 0, PXR_LANE1)->err, -EPERM);
		holds++;
	} while (op.more);
	EXPECT_IS(holds, DIV_ROUND_UP(2 * DXK_BATCH_MAX, DXK_HOLD_BUDGET));
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
}

/* One that had its turn gives it up to a more urgent one between two holds: it ends as well. */
static void enforce_meets_yield(struct kunit *test)
{
	static const struct dxk_post_more key_7 = { .key = 7 };
	struct dxk_policy p = puppet_policy(4);
	struct dxk_enforce_op op = { .policy = &p };
	struct dxk_rqe *yields, *comes;
	struct dxk_post_op *post;
	struct puppets *ps;

	p.sched_mode = TPOOL_MODE_CMLS;
	p.lane_pct[0] = p.lane_pct[2] = 25;
	ps = keyed_start(test, &p, 1);
	INIT_LIST_HEAD(&op.ended);
	puppet_post_nr(ps, ps->main, DXK_BATCH_MAX, 8, PXR_LANE0);
	post = puppet_poster(ps, ps->main);
	yields = keyed_add(ps, post, 9, -9, PXR_REJOIN | PXR_KEY | PXR_LANE0, &key_7);
	puppet_posts(ps, post);
	EXPECT_IS(yields->state, DXK_READY);
	p.lane_pct[0] = 0;
	puppet_do(ps, &op.op, dxk_enforce_run);
	EXPECT(op.more && yields->state == DXK_READY);
	post = puppet_poster(ps, ps->main);
	comes = keyed_add(ps, post, 10, 9, PXR_KEY | PXR_LANE2, &key_7);
	puppet_posts(ps, post);
	keyed_is_held(ps, yields);
	while (op.more)
		puppet_do(ps, &op.op, dxk_enforce_run);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 0);
	EXPECT_IS(status_of(ps, 9), -EPERM);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == comes);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	dxk_rqe_drop_all(NULL, &op.ended);
	keyed_end(ps);
}

/*
 * One that waits becomes Held between two holds, behind those that were looked at: it ends as well,
 * and does not hold up its key.
 */
static void enforce_meets_held(struct kunit *test)
{
	static const struct dxk_post_more for_2 = {
		.wait = { .wait = DXK_WAIT_JOIN, .owner = 2 },
	}, named = { .name = 77, .key = 7 }, key_7 = { .key = 7 };
	static const struct dxk_wait call = { .wait = DXK_WAIT_CALL };
	const u64 name = 77;
	struct dxk_policy p = puppet_policy(4);
	struct dxk_enforce_op op = { .policy = &p };
	struct dxk_names_op n = { .names = &name, .nr = 1 };
	struct dxk_rqe *held, *next;
	struct dxk_post_op *post;
	struct puppets *ps;
	u32 i;

	p.sched_mode = TPOOL_MODE_CMLS;
	p.lane_pct[1] = 50;
	ps = keyed_start(test, &p, 2);
	INIT_LIST_HEAD(&op.ended);
	INIT_LIST_HEAD(&n.ended);
	n.m = ps->main;
	puppet_post(ps, 2, 0, PXR_REJOIN);
	puppet_work(ps, keyed_worker(ps, 0));
	for (i = 0; i < 80; i++) {
		post = puppet_poster(ps, ps->main);
		keyed_add(ps, post, 8, 0, PXR_WAIT, &for_2);
		puppet_posts(ps, post);
	}
	post = puppet_poster(ps, ps->main);
	held = keyed_add(ps, post, 9, 0, PXR_REJOIN | PXR_KEY | PXR_NAMED | PXR_LANE1, &named);
	puppet_posts(ps, post);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == held);
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 1), held, &call), 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_send(ps, ps->main, 7, 3, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 1));
	p.lane_pct[1] = 0;
	puppet_do(ps, &op.op, dxk_enforce_run);
	EXPECT(op.more);
	puppet_do(ps, &n.op, dxk_wake_names_run);
	keyed_is_held(ps, held);
	post = puppet_poster(ps, ps->main);
	next = keyed_add(ps, post, 10, 0, PXR_KEY, &key_7);
	puppet_posts(ps, post);
	for (i = 0; op.more && i < 20; i++)
		puppet_do(ps, &op.op, dxk_enforce_run);
	EXPECT(!op.more);
	EXPECT_IS(status_of(ps, 9), -EPERM);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(next->state, DXK_READY);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	for (i = 0; i < 81; i++) {
		puppet_work(ps, keyed_worker(ps, 0));
		puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	}
	dxk_rqe_drop_all(NULL, &op.ended);
	keyed_end(ps);
}

/* The last worker of a kind is not wanted any more, be it of the one or the other. */
static void enforce_closes_kind(struct kunit *test)
{
	u32 kind;

	for (kind = 0; kind < DXK_KINDS; kind++) {
		u32 attrs = PXR_REJOIN | PXR_WAITIF_BUSY | (kind ? PXR_KERNEL : 0);
		struct puppets *ps = start(test);
		struct dxk_policy p = ps->e->policy;
		struct dxk_post_op *post[2], *other;

		p.ready_entries = ps->e->policy.ready_entries = 1;
		p.sched_mode = ps->e->policy.sched_mode = 0;
		puppet_post(ps, 8, 0, attrs);
		post[0] = puppet_post(ps, 9, 0, attrs);
		other = puppet_post(ps, 9, 0, attrs ^ PXR_KERNEL);
		post[1] = puppet_post(ps, 9, 0, attrs);
		p.kernel_threads = kind ? 0 : p.max_threads;
		dxk_enforce(ps->e, &p);
		EXPECT_IS(status_of(ps, 8), -ENODEV);
		EXPECT_IS(post[0]->err, -ENODEV);
		EXPECT_IS(post[0]->reason, 0);
		/* who stood between them got the entry; the last one is told in its turn */
		EXPECT_IS(other->taken, 1);
		EXPECT(!ASLEEP(post[1]));
		EXPECT_IS(post[1]->err, -ENODEV);
		EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
		/* a post that was looked at before the policy came */
		EXPECT_IS(puppet_post(ps, 8, 0, attrs)->err, -ENODEV);
		puppets_end(test);
	}
	test->priv = NULL;
}

/* What comes back to the pool ends there as well; what executes goes on. */
static void enforce_meets_work(struct kunit *test)
{
	struct puppets *ps = start(test);
	struct dxk_member *m[3] = {
		puppet_worker(ps), puppet_worker(ps), puppet_worker(ps),
	};
	struct dxk_policy p = ps->e->policy;
	struct dxk_next_op *n;
	u32 i;

	p.lane_pct[1] = p.lane_pct[2] = 0;
	ps->e->policy.lane_pct[1] = ps->e->policy.lane_pct[2] = 40;
	spin_lock(&ps->e->lock);
	dxk_crew_set_lanes(ps->e);
	spin_unlock(&ps->e->lock);
	for (i = 8; i < 11; i++)
		puppet_post(ps, i, 0, (i == 9 ? PXR_LANE1 : PXR_LANE2) | PXR_REJOIN | PXR_REDO);
	puppet_work(ps, m[0]);
	n = puppet_turn(ps, m[1], 1);
	EXPECT_IS(n->nr, 1);
	dxk_enforce(ps->e, &p);
	EXPECT_IS(ps->e->stats.cancelled, 1);
	EXPECT_IS(ps->e->nr[DXK_AT_WORK], 2);
	puppet_return(ps, n);
	EXPECT_IS(status_of(ps, 9), -EPERM);
	EXPECT_IS(ps->e->stats.cancelled, 2);
	/* nobody could run it again */
	puppet_dies(ps, m[0]);
	EXPECT_IS(ps->e->stats.redone, 0);
	EXPECT_IS(status_of(ps, 8), -EOWNERDEAD);
	EXPECT_IS(dxk_live(ps->e), 1);
	EXPECT_IS(status_of(ps, 10), -EPERM);
}

/* What is Ready for its last turn in a Stop(cancel) has it, though its lane, or its kind, is closed. */
static void enforce_meets_last_turn(struct kunit *test)
{
	static const struct dxk_wait for_2 = { .wait = DXK_WAIT_JOIN, .owner = 2 };
	u32 kind;

	for (kind = 0; kind < 2; kind++) {
		struct dxk_policy p = puppet_policy(4);
		struct dxk_member *m;
		struct puppets *ps;
		struct dxk_rqe *rqe;

		p.sched_mode = TPOOL_MODE_CMLS;
		p.lane_pct[1] = 25;
		ps = keyed_start(test, &p, 1);
		m = keyed_worker(ps, 0);
		puppet_post(ps, 8, 0, PXR_REJOIN | PXR_LANE1);
		rqe = puppet_work(ps, m);
		puppet_post(ps, 2, 0, 0);
		EXPECT_IS(dxk_wait_set(m, rqe, &for_2), 0);
		puppet_end(ps, m, 0, 0);
		EXPECT_IS(rqe->state, DXK_WAITING);
		dxk_stop_begin(ps->e, 0, true, false);
		EXPECT_IS(rqe->state, DXK_READY);
		if (kind)
			p.kernel_threads = p.max_threads;
		else
			p.lane_pct[1] = 0;
		dxk_enforce(ps->e, &p);
		EXPECT(puppet_work(ps, m) == rqe);
		EXPECT_IS(rqe->more->wake, DXK_WAKE_CANCEL);
		puppet_end(ps, m, 5, 0);
		EXPECT_IS(status_of(ps, 8), 5);
		keyed_end(ps);
		puppets_end(test);
	}
	test->priv = NULL;
}

static struct kunit_case enforce_cases[] = {
	KUNIT_CASE(enforce_closes_lane),
	KUNIT_CASE(enforce_closes_lane_of_a_wait),
	KUNIT_CASE(enforce_in_holds),
	KUNIT_CASE(enforce_meets_stop),
	KUNIT_CASE(enforce_meets_yield),
	KUNIT_CASE(enforce_meets_held),
	KUNIT_CASE(enforce_closes_kind),
	KUNIT_CASE(enforce_meets_work),
	KUNIT_CASE(enforce_meets_last_turn),
	{ }
};

static struct kunit_suite enforce_suite = {
	.name = "dxk_enforce",
	.exit = puppets_end,
	.test_cases = enforce_cases,
};

kunit_test_suite(enforce_suite);
