// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * All requests of an owner are cancelled, by a call or because one has failed.
 */
#include "engine/alarm.h"
#include "engine/doom.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/purge.h"
#include "engine/rejoin.h"
#include "engine/tests/puppet.h"

#define OWNER		1
#define OTHER		2
#define MANY		(5 * DXK_BATCH_MAX)

static struct puppets *start(struct kunit *test, u32 workers)
{
	struct dxk_policy policy = puppet_policy(8);
	struct puppets *ps;

	policy.max_waiting = 16;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	while (workers--)
		puppet_worker(ps);
	return ps;
}

static struct dxk_member *worker(struct puppets *ps, u32 i)
{
	return ps->member[1 + i];
}

/* One request that has struct dxk_more; @wait: it begins waiting. */
static struct dxk_rqe *post_more(struct puppets *ps, u64 owner, u32 attrs,
				 const struct dxk_wait *wait)
{
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe;

	puppet_add(ps, p, owner, 0, attrs | (wait ? PXR_WAIT : 0));
	rqe = list_last_entry(&p->rqes, struct dxk_rqe, link);
	KUNIT_ASSERT_NOT_NULL(ps->test, dxk_more_of(ps->main, rqe));
	if (wait)
		rqe->more->wait = *wait;
	puppet_posts(ps, p);
	EXPECT_IS(p->err, 0);
	return rqe;
}

static void park(struct puppets *ps, struct dxk_member *m, const struct dxk_wait *wait)
{
	struct dxk_rqe *rqe = list_last_entry(&m->busy, struct dxk_rqe, link);

	EXPECT_IS(dxk_wait_set(m, rqe, wait), 0);
	puppet_end(ps, m, 0, 0);
}

/* Until nothing is left to do. Return: in how many holds. */
static u32 purge(struct puppets *ps, u64 owner, u32 *nr)
{
	struct dxk_purge_op p = { .m = ps->main, .cookie = owner, .nr = nr };
	u32 holds = 0;

	INIT_LIST_HEAD(&p.ended);
	do {
		puppet_do(ps, &p.op, dxk_purge_run);
		dxk_rqe_drop_all(NULL, &p.ended);
		holds++;
	} while (p.more);
	return holds;
}

/* How many results with a status an owner has; it has no others. */
static u32 results(struct puppets *ps, u64 owner, s32 status)
{
	struct dxk_rejoin_op *r;
	struct dxk_rqe *rqe;
	u32 nr = 0;

	do {
		r = puppet_rejoin(ps, ps->main, owner, DXK_BATCH_MAX, 0);
		list_for_each_entry(rqe, &r->rqes, link)
			EXPECT_IS(rqe->status, status);
		nr += r->nr;
	} while (r->nr);
	return nr;
}

/* Whatever an owner has ends, or is told; nothing of others; what comes later lives. */
static void purge_all(struct kunit *test)
{
	static const struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = 1ULL << 62 };
	struct puppets *ps = start(test, 3);
	struct dxk_rqe *begun;
	u32 nr[DXK_PLACES];

	begun = post_more(ps, OWNER, PXR_REJOIN, NULL);
	puppet_work(ps, worker(ps, 0));
	park(ps, worker(ps, 0), &late);
	EXPECT_IS(begun->state, DXK_WAITING);
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	puppet_work(ps, worker(ps, 0));
	puppet_post(ps, OTHER, 0, PXR_REJOIN);
	puppet_work(ps, worker(ps, 1));
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	puppet_work(ps, worker(ps, 2));
	puppet_end(ps, worker(ps, 2), 7, 0);
	post_more(ps, OWNER, PXR_REJOIN, &late);
	puppet_post(ps, OWNER, 5, PXR_REJOIN | PXR_BOOST);
	puppet_post(ps, OTHER, 3, PXR_REJOIN);
	puppet_post(ps, OWNER, 0, PXR_LANE1);
	EXPECT_IS(results(ps, OWNER, 7), 1);

	purge(ps, OWNER, nr);
	EXPECT_IS(nr[DXK_AT_READY], 2);
	EXPECT_IS(nr[DXK_AT_WORK], 1);
	EXPECT_IS(nr[DXK_AT_WAIT], 2);
	EXPECT_IS(nr[DXK_AT_REJOIN], 0);
	EXPECT_IS(results(ps, OWNER, -ECANCELED), 2);
	EXPECT(worker(ps, 0)->told);
	EXPECT(!worker(ps, 1)->told);
	EXPECT_IS(begun->state, DXK_READY);
	EXPECT_IS(begun->more->wake, DXK_WAKE_CANCEL);
	/* what is posted now is not meant */
	puppet_post(ps, OWNER, 9, PXR_REJOIN);
	puppet_work(ps, worker(ps, 2));
	EXPECT(!worker(ps, 2)->told);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 2);

	purge(ps, 99, nr);
	EXPECT_IS(nr[DXK_AT_READY], 0);
}

/* Nothing was ever Ready here: all that there is waits. With the last one the owner goes. */
static void purge_waiting(struct kunit *test)
{
	static const struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = 1ULL << 62 };
	struct puppets *ps = start(test, 0);
	u32 nr[DXK_PLACES], i;

	for (i = 0; i < 3; i++)
		post_more(ps, OWNER, 0, &late);
	purge(ps, OWNER, nr);
	EXPECT_IS(nr[DXK_AT_WAIT], 3);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 0);
	EXPECT(list_empty(&ps->e->purges.owners));
	EXPECT_IS(puppet_poll(ps, OWNER), RJR_NONE_EXIST);
}

/* What waits ends in the order of the posts. */
static void purge_in_order(struct kunit *test)
{
	static const struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = 1ULL << 62 };
	struct puppets *ps = start(test, 0);
	u64 first = ps->params + 1;
	u32 nr[DXK_PLACES], i;
	struct dxk_rejoin_op *r;
	struct dxk_rqe *rqe;

	for (i = 0; i < 3; i++)
		post_more(ps, OWNER, PXR_REJOIN, &late);
	purge(ps, OWNER, nr);
	r = puppet_rejoin(ps, ps->main, OWNER, 3, 0);
	EXPECT_IS(r->nr, 3);
	list_for_each_entry(rqe, &r->rqes, link)
		EXPECT_IS(rqe->param, first++);
}

/* What is looked at next goes, for another reason. Return: was it the other owner's? */
static bool lose_next(struct puppets *ps)
{
	struct dxk_rqe *rqe = ps->e->ready.cursor;
	struct dxk_wakes wakes = { };
	LIST_HEAD(ended);
	bool others;

	if (!rqe)
		return false;
	others = rqe->cookie == OTHER;
	spin_lock(&ps->e->lock);
	dxk_end_ready(ps->e, rqe, -ECANCELED, &ended, &wakes);
	spin_unlock(&ps->e->lock);
	dxk_rqe_drop_all(NULL, &ended);
	return others;
}

/* A pool of several holds, in rows and in the tree; it changes between them. */
static void purge_in_holds(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	u32 nr[DXK_PLACES], i, left = 0, last = 0, holds;
	struct dxk_purge_op p = { .m = ps->main, .cookie = OWNER, .nr = nr };
	struct dxk_rqe *rqe;

	for (i = 0; i < MANY; i++) {
		/* every third is of another owner; some keys have no row */
		EXPECT_IS(puppet_post(ps, i % 3 ? OWNER : OTHER, i % 7 * 100,
				      PXR_REJOIN | (i % 2 ? PXR_BOOST : 0))->err, 0);
		left += i % 3 == 0;
	}
	INIT_LIST_HEAD(&p.ended);
	for (holds = 0; !holds || p.more; holds++) {
		puppet_do(ps, &p.op, dxk_purge_run);
		left -= lose_next(ps);
		EXPECT_IS(puppet_post(ps, OWNER, i % 7 * 100, 0)->err, 0);
		last++;
	}
	EXPECT(holds > 1);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], left + last);
	/* no place in the order has changed */
	for (i = 1000; (rqe = ps->e->nr[DXK_AT_READY] ? puppet_work(ps, worker(ps, 0)) : NULL);) {
		EXPECT(rqe->prio <= (s32)i);
		i = rqe->prio;
		puppet_end(ps, worker(ps, 0), 0, 0);
	}
}

/* Two that begin in one hold are over in the next one: nothing of either is left over. */
static void purge_two(struct kunit *test)
{
	struct puppets *ps = start(test, 0);
	u64 owner;

	for (owner = OWNER; owner <= OTHER; owner++) {
		puppet_post_nr(ps, ps->main, 2, owner, PXR_REJOIN);
		spin_lock(&ps->e->lock);
		dxk_purge_begin(ps->e, dxk_owner_find(&ps->e->owners, ps->main->space, owner));
		spin_unlock(&ps->e->lock);
	}
	dxk_sweep_end(ps->e);
	EXPECT(list_empty(&ps->e->purges.owners));
	EXPECT_IS(results(ps, OWNER, -ECANCELED), 2);
	EXPECT_IS(results(ps, OTHER, -ECANCELED), 2);
}

/* One begins while a hold has left another one in the middle: that one is gone on with first. */
static void purge_amid_another(struct kunit *test)
{
	static const struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = 1ULL << 62 };
	struct dxk_wakes wakes = { .spent = DXK_HOLD_BUDGET };
	struct puppets *ps = start(test, 0);
	struct dxk_owner *owner[2];
	LIST_HEAD(ended);
	u32 i;

	for (i = 0; i < 2; i++)
		post_more(ps, OWNER + i, PXR_REJOIN, &late);
	ps->e->swept = true;
	spin_lock(&ps->e->lock);
	for (i = 0; i < 2; i++)
		owner[i] = dxk_owner_find(&ps->e->owners, ps->main->space, OWNER + i);
	dxk_purge_begin(ps->e, owner[0]);
	dxk_purge_some(ps->e, &ended, &wakes);
	dxk_purge_begin(ps->e, owner[1]);
	EXPECT(dxk_purges_first(&ps->e->purges) == owner[0]);
	spin_unlock(&ps->e->lock);
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
	dxk_sweep_end(ps->e);
	EXPECT_IS(results(ps, OWNER, -ECANCELED), 1);
	EXPECT_IS(results(ps, OWNER + 1, -ECANCELED), 1);
}

/* Given to a worker that cannot fetch it, or dies: it does not begin again. */
static void purge_put_back(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	u32 nr[DXK_PLACES];
	struct dxk_next_op *n;

	puppet_post(ps, OWNER, 0, PXR_REJOIN | PXR_REDO);
	puppet_work(ps, worker(ps, 0));
	puppet_post(ps, OWNER, 0, PXR_REJOIN | PXR_REDO);
	n = puppet_turn(ps, worker(ps, 1), 1);
	purge(ps, OWNER, nr);
	EXPECT_IS(nr[DXK_AT_WORK], 2);
	puppet_return(ps, n);
	EXPECT_IS(results(ps, OWNER, -ECANCELED), 1);
	puppet_dies(ps, worker(ps, 0));
	EXPECT_IS(results(ps, OWNER, -EOWNERDEAD), 1);
}

/* One that only begins to have more while it is cancelled waits no more. */
static void purge_before_wait(struct kunit *test)
{
	static const struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = 1ULL << 62 };
	struct puppets *ps = start(test, 1);
	u32 nr[DXK_PLACES];
	struct dxk_rqe *rqe;

	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	rqe = puppet_work(ps, worker(ps, 0));
	purge(ps, OWNER, nr);
	park(ps, worker(ps, 0), &late);
	EXPECT_IS(rqe->state, DXK_READY);
	EXPECT_IS(rqe->more->wake, DXK_WAKE_CANCEL);
	puppet_work(ps, worker(ps, 0));
	puppet_end(ps, worker(ps, 0), 0, 0);
}

/* Its worker has died as its first wait was to begin: it is told, however late it is cancelled. */
static void purge_redo_before_wait(struct kunit *test)
{
	static const struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = 1ULL << 62 };
	struct puppets *ps = start(test, 2);
	u32 nr[DXK_PLACES];
	struct dxk_rqe *rqe;

	ps->e->policy.redo_max = 2;
	puppet_post(ps, OWNER, 0, PXR_REJOIN | PXR_REDO);
	rqe = puppet_work(ps, worker(ps, 0));
	EXPECT_IS(dxk_wait_set(worker(ps, 0), rqe, &late), 0);
	puppet_dies(ps, worker(ps, 0));
	EXPECT_IS(rqe->state, DXK_READY);
	purge(ps, OWNER, nr);
	EXPECT_IS(rqe->more->wake, DXK_WAKE_CANCEL);
	EXPECT(puppet_work(ps, worker(ps, 1)) == rqe);
	EXPECT(worker(ps, 1)->told);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(results(ps, OWNER, 0), 1);
}

/* Only those that are there when the order is given end, also if it is carried out later. */
static void purge_as_ordered(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_rqe *before, *after;
	struct dxk_owner *owner;

	before = post_more(ps, OWNER, PXR_REJOIN, NULL);
	owner = before->owner;
	spin_lock(&ps->e->lock);
	dxk_purge_begin(ps->e, owner);
	spin_unlock(&ps->e->lock);
	after = post_more(ps, OWNER, PXR_REJOIN, NULL);
	EXPECT_IS(before->state, DXK_READY);
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
	EXPECT_IS(results(ps, OWNER, -ECANCELED), 1);
	EXPECT_IS(after->state, DXK_READY);
	EXPECT(list_empty(&owner->doomed));
	/* a second order, before the first was carried out, is for all of them */
	spin_lock(&ps->e->lock);
	dxk_purge_begin(ps->e, owner);
	spin_unlock(&ps->e->lock);
	post_more(ps, OWNER, PXR_REJOIN, NULL);
	spin_lock(&ps->e->lock);
	dxk_purge_begin(ps->e, owner);
	spin_unlock(&ps->e->lock);
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
	EXPECT_IS(results(ps, OWNER, -ECANCELED), 2);
}

/* The first that fails takes the others along, without anybody's call. */
static void purge_fail_fast(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	u32 i;

	for (i = 0; i < MANY; i++)
		post_more(ps, OWNER, PXR_REJOIN | PXR_FAIL_FAST, NULL);
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	puppet_work(ps, worker(ps, 0));
	puppet_work(ps, worker(ps, 1));
	/* an error that is none, and one that only says that it was cancelled */
	puppet_end(ps, worker(ps, 0), 5, 0);
	EXPECT_IS(results(ps, OWNER, 5), 1);
	puppet_work(ps, worker(ps, 0));
	puppet_end(ps, worker(ps, 0), -ECANCELED, 0);
	EXPECT_IS(results(ps, OWNER, -ECANCELED), 1);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], MANY - 3 + 1);

	puppet_work(ps, worker(ps, 0));
	puppet_end(ps, worker(ps, 0), -EIO, 0);
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
	EXPECT(worker(ps, 1)->told);
	EXPECT_IS(puppet_result(puppet_rejoin(ps, ps->main, OWNER, 1, 0))->status, -EIO);
}

/* So does one whose worker dies. The last one takes none along. */
static void purge_fail_fast_death(struct kunit *test)
{
	struct puppets *ps = start(test, 2);

	post_more(ps, OWNER, PXR_FAIL_FAST, NULL);
	puppet_post(ps, OWNER, 0, 0);
	puppet_post(ps, OTHER, 0, 0);
	puppet_work(ps, worker(ps, 0));
	puppet_dies(ps, worker(ps, 0));
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	post_more(ps, OWNER, PXR_FAIL_FAST, NULL);
	puppet_work(ps, worker(ps, 1));
	puppet_end(ps, worker(ps, 1), 0, 0);
	puppet_work(ps, worker(ps, 1));
	puppet_end(ps, worker(ps, 1), -EIO, 0);
	EXPECT(list_empty(&ps->e->purges.owners));
}

/* posted after the order and executed before it is carried out: its worker is not told */
static void purge_not_later_work(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	u32 i;

	for (i = 0; i < 2; i++)
		post_more(ps, OWNER, PXR_REJOIN | PXR_FAIL_FAST, NULL);
	puppet_work(ps, worker(ps, 0));
	puppet_work(ps, worker(ps, 1));
	ps->e->swept = true;
	puppet_end(ps, worker(ps, 0), -EIO, 0);
	EXPECT(!list_empty(&ps->e->purges.owners));
	/* the retry */
	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	puppet_work(ps, worker(ps, 2));
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
	EXPECT(worker(ps, 1)->told);
	EXPECT(!worker(ps, 2)->told);
	dxk_sweep_end(ps->e);
}

/* The worker waits for another owner's result, and is called for the request that gives it. */
static void calls_for_help(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_rejoin_op *r = puppet_poller(ps, m, OTHER, 1, 1);

	puppet_post(ps, OTHER, 0, PXR_REJOIN);
	r->help = true;
	r->wait = true;
	puppet_do(ps, &r->op, dxk_rejoin_run);
	EXPECT(r->helper.called);
}

/* told before it helps, or while it does: it is told when it is back */
static void purge_helper(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 1, false);
	struct dxk_member *m = puppet_worker(ps);
	u32 nr[DXK_PLACES], i;

	for (i = 0; i < 2; i++) {
		puppet_post(ps, OWNER, 0, PXR_REJOIN);
		puppet_work(ps, m);
		if (!i) {
			purge(ps, OWNER, nr);
			EXPECT(m->told);
		}
		calls_for_help(ps, m);
		puppet_help(ps, m);
		if (i)
			purge(ps, OWNER, nr);
		puppet_end(ps, m, 0, 0);
		EXPECT_IS(m->held, 1);
		EXPECT_IS(m->work.owner, OWNER);
		EXPECT(m->told);
		puppet_end(ps, m, 0, 0);
		EXPECT_IS(results(ps, OWNER, 0), 1);
		EXPECT_IS(results(ps, OTHER, 0), 1);
	}
}

/* an order that is given again and again keeps no other one from its end */
static void purge_again_and_again(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_owner *owner[2];
	u32 i;

	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	owner[0] = puppet_work(ps, worker(ps, 0))->owner;
	puppet_post(ps, OTHER, 0, PXR_REJOIN);
	owner[1] = dxk_owner_find(&ps->e->owners, ps->main->space, OTHER);
	for (i = 0; i < MANY; i++)
		puppet_post(ps, 10 + i % 2, 0, 0);
	puppet_post(ps, OWNER, -5, PXR_REJOIN);
	spin_lock(&ps->e->lock);
	dxk_purge_begin(ps->e, owner[0]);
	dxk_purge_begin(ps->e, owner[1]);
	for (i = 0; i < 100 && !list_empty(&owner[1]->purge); i++) {
		struct dxk_wakes wakes = { .spent = DXK_HOLD_BUDGET - 4 };
		LIST_HEAD(ended);

		dxk_purge_some(ps->e, &ended, &wakes);
		EXPECT(list_empty(&ended));
		dxk_purge_begin(ps->e, owner[0]);
	}
	EXPECT(list_empty(&owner[1]->purge));
	spin_unlock(&ps->e->lock);
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
}

/* further orders do not change the order of the ends */
static void purge_ordered_twice(struct kunit *test)
{
	static const struct dxk_wait late = { .wait = DXK_WAIT_TIME, .deadline = 1ULL << 62 };
	struct puppets *ps = start(test, 0);
	u64 first = ps->params + 1;
	struct dxk_rejoin_op *r;
	struct dxk_owner *owner;
	struct dxk_rqe *rqe;
	u32 i;

	for (i = 0; i < 3; i++) {
		owner = post_more(ps, OWNER, PXR_REJOIN, &late)->owner;
		spin_lock(&ps->e->lock);
		dxk_purge_begin(ps->e, owner);
		spin_unlock(&ps->e->lock);
	}
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
	r = puppet_rejoin(ps, ps->main, OWNER, 3, 0);
	EXPECT_IS(r->nr, 3);
	list_for_each_entry(rqe, &r->rqes, link)
		EXPECT_IS(rqe->param, first++);
}

/* Ready only after the order, told, and its worker dies: it is not begun again */
static void purge_redo_late(struct kunit *test)
{
	struct dxk_wait join = { .wait = DXK_WAIT_JOIN, .owner = OTHER };
	struct puppets *ps = start(test, 2);
	struct dxk_rqe *rqe;

	ps->e->policy.redo_max = 2;
	puppet_post(ps, OTHER, 0, 0);
	puppet_work(ps, worker(ps, 0));
	rqe = post_more(ps, OWNER, PXR_REJOIN | PXR_REDO, &join);
	EXPECT_IS(rqe->state, DXK_WAITING);
	ps->e->swept = true;
	spin_lock(&ps->e->lock);
	dxk_purge_begin(ps->e, rqe->owner);
	spin_unlock(&ps->e->lock);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 0)) == rqe);
	while (!list_empty(&ps->e->purges.owners))
		dxk_sweep(ps->e, true);
	EXPECT(worker(ps, 0)->told);
	EXPECT(rqe->more->cancelled);
	EXPECT(rqe->more->doomed);
	puppet_dies(ps, worker(ps, 0));
	EXPECT_IS(rqe->state, DXK_REJOIN);
	if (rqe->state == DXK_READY) {
		EXPECT(puppet_work(ps, worker(ps, 1)) == rqe);
		puppet_end(ps, worker(ps, 1), 0, 0);
	}
	dxk_sweep_end(ps->e);
}

/* a helper that puts back what it was called for is told of what it executes */
static void purge_helper_puts_back(struct kunit *test)
{
	struct puppets *ps = puppets_on_block(test, DXK_ON_BLOCK_HELP, 1, false);
	struct dxk_member *m = puppet_worker(ps);
	u32 nr[DXK_PLACES];

	puppet_post(ps, OWNER, 0, PXR_REJOIN);
	puppet_work(ps, m);
	calls_for_help(ps, m);
	puppet_return(ps, puppet_turn(ps, m, 1));
	EXPECT_IS(m->held, 1);
	EXPECT_IS(m->work.owner, OWNER);
	purge(ps, OWNER, nr);
	EXPECT_IS(nr[DXK_AT_WORK], 1);
	EXPECT(m->told);
	puppet_end(ps, m, 0, 0);
}

static struct kunit_case purge_cases[] = {
	KUNIT_CASE(purge_all),
	KUNIT_CASE(purge_waiting),
	KUNIT_CASE(purge_in_order),
	KUNIT_CASE(purge_in_holds),
	KUNIT_CASE(purge_two),
	KUNIT_CASE(purge_amid_another),
	KUNIT_CASE(purge_put_back),
	KUNIT_CASE(purge_before_wait),
	KUNIT_CASE(purge_redo_before_wait),
	KUNIT_CASE(purge_as_ordered),
	KUNIT_CASE(purge_helper_puts_back),
	KUNIT_CASE(purge_redo_late),
	KUNIT_CASE(purge_not_later_work),
	KUNIT_CASE(purge_helper),
	KUNIT_CASE(purge_again_and_again),
	KUNIT_CASE(purge_ordered_twice),
	KUNIT_CASE(purge_fail_fast),
	KUNIT_CASE(purge_fail_fast_death),
	{ }
};

static struct kunit_suite purge_suite = {
	.name = "dxk_purge",
	.exit = puppets_end,
	.test_cases = purge_cases,
};

kunit_test_suite(purge_suite);
