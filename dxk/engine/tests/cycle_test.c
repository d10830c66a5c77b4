// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Waits that wait for themselves, and calls that come back.
 */
#include "engine/cycle.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/name.h"
#include "engine/nest.h"
#include "engine/rejoin.h"
#include "engine/tests/puppet.h"

#define MANY		40

static struct puppets *start(struct kunit *test, u32 workers)
{
	struct dxk_policy policy = puppet_policy(workers);
	struct puppets *ps;

	policy.max_waiting = 64;
	ps = puppets_start(test, &policy);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	while (workers--)
		puppet_worker(ps);
	return ps;
}

static void end(struct puppets *ps)
{
	dxk_names_unstart(ps->e);
}

static struct dxk_member *worker(struct puppets *ps, u32 i)
{
	return ps->member[1 + i];
}

static void post(struct puppets *ps, struct dxk_member *m, u64 owner)
{
	struct dxk_post_op *p = puppet_poster(ps, m);

	puppet_add(ps, p, owner, 0, PXR_REJOIN);
	puppet_posts(ps, p);
	EXPECT_IS(p->err, 0);
}

/* A message to whoever has a key; its answer is of the owner. */
static struct dxk_rqe *send(struct puppets *ps, struct dxk_member *m, u64 key, u64 owner,
			    u32 reentry)
{
	const struct dxk_post_more p = { .key = key, .reentry = reentry };
	struct dxk_post_op *post = puppet_poster(ps, m);
	struct dxk_rqe *rqe;

	puppet_add(ps, post, owner, 0, PXR_REJOIN | PXR_KEY);
	rqe = list_last_entry(&post->rqes, struct dxk_rqe, link);
	ASSERT_IS(dxk_more_make(m, rqe, &p), 0);
	puppet_posts(ps, post);
	EXPECT_IS(post->err, 0);
	return rqe;
}

/* A worker waits; @nest: it can execute what its call waits for. */
static struct dxk_rejoin_op *call(struct puppets *ps, struct dxk_member *m, u64 owner, u32 min,
				  bool nest, bool timed)
{
	struct dxk_rejoin_op *r = puppet_poller(ps, m, owner, min, min);

	r->nest = nest;
	r->timed = timed;
	puppet_do(ps, &r->op, dxk_rejoin_run);
	return r;
}

/* D-14 without keys: of two that wait for each other the second is told */
static void cycle_crossed(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *a, *b;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	puppet_work(ps, worker(ps, 0));
	puppet_work(ps, worker(ps, 1));
	a = call(ps, worker(ps, 0), 2, 1, false, false);
	EXPECT(ASLEEP(a));
	b = call(ps, worker(ps, 1), 1, 1, false, false);
	EXPECT_IS(b->err, -EDEADLK);
	EXPECT_IS(ps->e->stats.deadlocks, 1);
	/* it ends by itself if it has a time */
	b = call(ps, worker(ps, 1), 1, 1, false, true);
	EXPECT(ASLEEP(b));
	EXPECT_IS(puppet_time_up(ps, &b->w), -ETIMEDOUT);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(a->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* Y-1: a ring, as long as a search goes; the next longer one is not told */
static void cycle_ring(struct kunit *test)
{
	struct puppets *ps = start(test, MANY);
	struct dxk_rejoin_op *r;
	u32 nr, i;

	for (nr = 3; nr <= MANY; nr += nr == 3 ? 5 : DXK_CYCLE_DEPTH) {
		for (i = 0; i < nr; i++) {
			post(ps, ps->main, 1 + i);
			puppet_work(ps, worker(ps, i));
		}
		for (i = 0; i < nr - 1; i++)
			EXPECT(ASLEEP(call(ps, worker(ps, i), 2 + i, 1, false, false)));
		r = call(ps, worker(ps, nr - 1), 1, 1, false, false);
		if (nr <= DXK_CYCLE_DEPTH)
			EXPECT_IS(r->err, -EDEADLK);
		else
			EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
		for (i = nr; i--;)
			puppet_end(ps, worker(ps, i), 0, 0);
		EXPECT_IS(puppet_rejoin(ps, ps->main, 1, 1, 1)->answer, RJR_RETURNED);
	}
	end(ps);
}

/* Y-2: as long as one can come that is no part of the circle nothing is told */
static void cycle_or(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *a, *b;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	post(ps, ps->main, 1);
	puppet_work(ps, worker(ps, 0));
	puppet_work(ps, worker(ps, 1));
	a = call(ps, worker(ps, 0), 2, 1, false, false);
	/* one of owner 1 is Ready, then executes */
	b = call(ps, worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(b));
	EXPECT_IS(puppet_time_up(ps, &b->w), -ETIMEDOUT);
	puppet_work(ps, worker(ps, 2));
	b = call(ps, worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(b));
	puppet_end(ps, worker(ps, 2), 0, 0);
	EXPECT_IS(b->answer, RJR_RETURNED);
	/* for two results there is one too few, and no result is lost */
	b = call(ps, worker(ps, 1), 1, 1, false, false);
	EXPECT_IS(b->err, -EDEADLK);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(a->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* Y-2, D-23: it waits for two of three, and two cannot come */
static void cycle_min(struct kunit *test)
{
	struct puppets *ps = start(test, 4);
	struct dxk_rejoin_op *r;
	u32 i;

	for (i = 0; i < 3; i++)
		post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	for (i = 0; i < 4; i++)
		puppet_work(ps, worker(ps, i));
	EXPECT(ASLEEP(call(ps, worker(ps, 0), 2, 1, false, false)));
	r = call(ps, worker(ps, 3), 1, 2, false, false);
	EXPECT(ASLEEP(r));
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	EXPECT_IS(call(ps, worker(ps, 3), 1, 3, false, false)->err, -EDEADLK);
	EXPECT(ASLEEP(call(ps, worker(ps, 1), 2, 1, false, false)));
	EXPECT_IS(call(ps, worker(ps, 3), 1, 2, false, false)->err, -EDEADLK);
	for (i = 4; i--;)
		puppet_end(ps, worker(ps, i), 0, 0);
	end(ps);
}

/* D-12, AG-18: a call to itself is executed by itself, before all others */
static void cycle_nests_self(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_rqe *a = send(ps, ps->main, 7, 1, DXK_REENTRY_SELF), *other, *inner;
	struct dxk_rejoin_op *r;

	EXPECT(puppet_work(ps, worker(ps, 0)) == a);
	other = send(ps, ps->main, 7, 2, DXK_REENTRY_SELF);
	inner = send(ps, worker(ps, 0), 7, 3, DXK_REENTRY_SELF);
	/* only for who can */
	EXPECT_IS(call(ps, worker(ps, 0), 3, 1, false, false)->err, -EDEADLK);
	r = call(ps, worker(ps, 0), 3, 1, true, false);
	EXPECT_IS(r->answer, RJR_HELP);
	EXPECT(puppet_help(ps, worker(ps, 0)) == inner);
	EXPECT_IS(inner->more->at_key, DXK_KEY_NESTED);
	EXPECT_IS(ps->e->stats.nested, 1);
	/* the key is in use below */
	EXPECT_IS(puppet_key_of(ps, worker(ps, 0), a, DXK_KEY_LEAVE)->ret, -EBUSY);
	EXPECT_IS(puppet_key_of(ps, worker(ps, 0), a, DXK_KEY_NOTIFY)->ret, -EBUSY);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT_IS(call(ps, worker(ps, 0), 3, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 0)) == other);
	/* not if it must not be */
	send(ps, worker(ps, 0), 7, 3, DXK_REENTRY_NONE);
	EXPECT_IS(call(ps, worker(ps, 0), 3, 1, true, false)->err, -EDEADLK);
	puppet_end(ps, worker(ps, 0), 0, 0);
	puppet_work(ps, worker(ps, 0));
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/*
 * AG-20: A calls B, which calls A, and B waits first: what A waits for is not that, so it is
 * refused as if it had waited first
 */
static void cycle_self_alone(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rqe *a = send(ps, ps->main, 7, 1, DXK_REENTRY_SELF), *b, *inner;
	struct dxk_rejoin_op *r;

	EXPECT(puppet_work(ps, worker(ps, 0)) == a);
	b = send(ps, worker(ps, 0), 8, 2, DXK_REENTRY_SELF);
	EXPECT(puppet_work(ps, worker(ps, 1)) == b);
	inner = send(ps, worker(ps, 1), 7, 3, DXK_REENTRY_SELF);
	r = call(ps, worker(ps, 1), 3, 1, true, false);
	EXPECT(ASLEEP(r));
	EXPECT_IS(call(ps, worker(ps, 0), 2, 1, true, false)->err, -EDEADLK);
	EXPECT_IS(ps->e->stats.nested, 0);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 0)) == inner);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT_IS(r->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 1), 0, 0);
	end(ps);
}

/*
 * D-13, AG-20: A calls B, which calls A: nested in A, on the thread of B. A's own thread does
 * not go on beside it, though its time is over (Y-5).
 */
static void cycle_nests_chain(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rqe *a = send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN), *b, *inner;
	struct dxk_rejoin_op *outer, *r;

	EXPECT(puppet_work(ps, worker(ps, 0)) == a);
	b = send(ps, worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	outer = call(ps, worker(ps, 0), 2, 1, true, true);
	EXPECT(ASLEEP(outer));
	EXPECT(puppet_work(ps, worker(ps, 1)) == b);
	/* it is not its own: refused, for it waits without a time */
	inner = send(ps, worker(ps, 1), 7, 3, DXK_REENTRY_SELF);
	r = call(ps, worker(ps, 1), 3, 1, true, true);
	EXPECT(ASLEEP(r));
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	inner->more->reentry = DXK_REENTRY_CHAIN;
	r = call(ps, worker(ps, 1), 3, 1, true, true);
	EXPECT_IS(r->answer, RJR_HELP);
	EXPECT(puppet_help(ps, worker(ps, 1)) == inner);
	EXPECT_IS(worker(ps, 0)->outer, 1);
	/* the time of the outer call is over */
	EXPECT_IS(puppet_time_up(ps, &outer->w), -ETIMEDOUT);
	outer->w.done = false;
	outer->wait = false;
	puppet_do(ps, &outer->op, dxk_rejoin_run);
	EXPECT(ASLEEP(outer));
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(worker(ps, 0)->outer, 0);
	EXPECT(!ASLEEP(outer));
	EXPECT_IS(outer->answer, RJR_NONE_READY);
	EXPECT_IS(call(ps, worker(ps, 1), 3, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(call(ps, worker(ps, 0), 2, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* D-14: two that call each other: nothing is nested, exactly one is told, the other goes on */
static void cycle_crossed_keys(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rqe *a = send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	struct dxk_rqe *b = send(ps, ps->main, 8, 1, DXK_REENTRY_CHAIN), *to_a, *to_b;
	struct dxk_rejoin_op *first;

	EXPECT(puppet_work(ps, worker(ps, 0)) == a);
	EXPECT(puppet_work(ps, worker(ps, 1)) == b);
	to_b = send(ps, worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	to_a = send(ps, worker(ps, 1), 7, 3, DXK_REENTRY_CHAIN);
	first = call(ps, worker(ps, 0), 2, 1, true, false);
	EXPECT(ASLEEP(first));
	EXPECT_IS(call(ps, worker(ps, 1), 3, 1, true, false)->err, -EDEADLK);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 1)) == to_b);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(first->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 0)) == to_a);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* K-4: the key is free only when what is nested has ended as well, whoever ends first */
static void cycle_nested_death(struct kunit *test)
{
	struct puppets *ps = start(test, 4);
	struct dxk_rejoin_op *outer;
	struct dxk_rqe *inner, *next;
	u32 first;

	for (first = 0; first < 2; first++) {
		struct dxk_member *a = worker(ps, 2 * first), *b = worker(ps, 2 * first + 1);

		send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
		puppet_work(ps, a);
		send(ps, a, 8, 20 + first, DXK_REENTRY_CHAIN);
		outer = call(ps, a, 20 + first, 1, true, false);
		puppet_work(ps, b);
		inner = send(ps, b, 7, 30 + first, DXK_REENTRY_CHAIN);
		call(ps, b, 30 + first, 1, true, false);
		EXPECT(puppet_help(ps, b) == inner);
		next = send(ps, ps->main, 7, 4, DXK_REENTRY_NONE);
		if (first) {
			puppet_dies(ps, b);
			EXPECT_IS(a->outer, 0);
			EXPECT_IS(outer->answer, RJR_RETURNED);
			EXPECT_IS(next->state, DXK_WAITING);
			puppet_end(ps, a, 0, 0);
		} else {
			EXPECT_IS(puppet_time_up(ps, &outer->w), -ETIMEDOUT);
			puppet_dies(ps, a);
			EXPECT_IS(next->state, DXK_WAITING);
			puppet_end(ps, b, 0, 0);
		}
		EXPECT_IS(next->state, DXK_READY);
		EXPECT(puppet_work(ps, worker(ps, 2)) == next);
		puppet_end(ps, worker(ps, 2), 0, 0);
		if (!first)
			puppet_end(ps, b, 0, 0);
	}
	end(ps);
}

/* AG-2, AG-20: two calls that both come back are nested one after the other */
static void cycle_nested_again(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *outer, *second;
	struct dxk_rqe *inner[2];
	u32 i;

	send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	puppet_work(ps, worker(ps, 0));
	send(ps, worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	send(ps, worker(ps, 0), 9, 2, DXK_REENTRY_CHAIN);
	outer = call(ps, worker(ps, 0), 2, 2, true, false);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, worker(ps, 1 + i));
		inner[i] = send(ps, worker(ps, 1 + i), 7, 30 + i, DXK_REENTRY_CHAIN);
	}
	EXPECT_IS(call(ps, worker(ps, 1), 30, 1, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, worker(ps, 1)) == inner[0]);
	second = call(ps, worker(ps, 2), 31, 1, true, false);
	EXPECT(ASLEEP(second));
	puppet_end(ps, worker(ps, 1), 0, 0);
	/* whoever of the chain is looked at first executes it: here the one that has the key */
	EXPECT(ASLEEP(second));
	EXPECT_IS(outer->answer, RJR_HELP);
	EXPECT(puppet_help(ps, worker(ps, 0)) == inner[1]);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT_IS(second->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 2), 0, 0);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(call(ps, worker(ps, 0), 2, 2, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* K-4: run again, it comes to its key only after what is nested in it */
static void cycle_nested_redo(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *outer;
	struct dxk_rqe *a, *inner;

	a = send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	a->attrs |= PXR_REDO;
	puppet_work(ps, worker(ps, 0));
	send(ps, worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	outer = call(ps, worker(ps, 0), 2, 1, true, false);
	puppet_work(ps, worker(ps, 1));
	inner = send(ps, worker(ps, 1), 7, 3, DXK_REENTRY_CHAIN);
	EXPECT_IS(call(ps, worker(ps, 1), 3, 1, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, worker(ps, 1)) == inner);
	EXPECT_IS(puppet_time_up(ps, &outer->w), -ETIMEDOUT);
	puppet_dies(ps, worker(ps, 0));
	EXPECT_IS(a->state, DXK_WAITING);
	EXPECT_IS(inner->more->outer == NULL, true);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT_IS(a->state, DXK_READY);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 1)) == a);
	puppet_end(ps, worker(ps, 1), 0, 0);
	end(ps);
}

/* Y-1: one that comes back to its key closes the circle; the other one, which sleeps, is told */
static void cycle_enter(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *r;
	struct dxk_key_op *k;

	send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	send(ps, ps->main, 7, 2, DXK_REENTRY_NONE);
	puppet_work(ps, worker(ps, 0));
	EXPECT_IS(puppet_key(ps, worker(ps, 0), DXK_KEY_LEAVE)->ret, 0);
	puppet_work(ps, worker(ps, 1));
	r = call(ps, worker(ps, 1), 1, 1, false, false);
	EXPECT(ASLEEP(r));
	k = puppet_key(ps, worker(ps, 0), DXK_KEY_ENTER);
	EXPECT(ASLEEP(k));
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->err, -EDEADLK);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT(!ASLEEP(k));
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* What is nested and cannot be fetched is Held again, and nested again */
static void cycle_nested_back(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_rqe *inner;
	struct dxk_next_op *n;

	send(ps, ps->main, 7, 1, DXK_REENTRY_SELF);
	puppet_work(ps, worker(ps, 0));
	inner = send(ps, worker(ps, 0), 7, 3, DXK_REENTRY_SELF);
	EXPECT_IS(call(ps, worker(ps, 0), 3, 1, true, false)->answer, RJR_HELP);
	n = puppet_turn(ps, worker(ps, 0), 1);
	EXPECT_IS(n->nr, 1);
	puppet_return(ps, n);
	EXPECT_IS(inner->state, DXK_WAITING);
	EXPECT_IS(inner->more->at_key, DXK_KEY_HELD);
	EXPECT_IS(call(ps, worker(ps, 0), 3, 1, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, worker(ps, 0)) == inner);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT_IS(call(ps, worker(ps, 0), 3, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, worker(ps, 0), 0, 0);
	end(ps);
}

/* Y-1 through joins: a request that would wait for itself, posted or at the end of a turn */
static void cycle_joins(struct kunit *test)
{
	static const struct dxk_wait for_2 = { .wait = DXK_WAIT_JOIN, .owner = 2 };
	static const struct dxk_wait for_1 = { .wait = DXK_WAIT_JOIN, .owner = 1 };
	struct puppets *ps = start(test, 2);
	struct dxk_rqe *a, *b;

	post(ps, ps->main, 1);
	post(ps, ps->main, 2);
	a = puppet_work(ps, worker(ps, 0));
	b = puppet_work(ps, worker(ps, 1));
	EXPECT_IS(dxk_wait_set(worker(ps, 0), a, &for_2), 0);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT_IS(a->state, DXK_WAITING);
	EXPECT_IS(dxk_wait_set(worker(ps, 1), b, &for_1), 0);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 1)) == b);
	EXPECT_IS(b->more->wake, DXK_WAKE_DEADLOCK);
	puppet_end(ps, worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, worker(ps, 1)) == a);
	EXPECT_IS(a->more->wake, DXK_WAKE_JOIN);
	puppet_end(ps, worker(ps, 1), 0, 0);
	end(ps);
}

static int post_joining(struct puppets *ps, u64 owner, u64 joined)
{
	const struct dxk_post_more p = { .wait = { .wait = DXK_WAIT_JOIN, .owner = joined } };
	struct dxk_post_op *post = puppet_poster(ps, ps->main);

	puppet_add(ps, post, owner, 0, PXR_WAIT);
	ASSERT_IS(dxk_more_make(ps->main, list_first_entry(&post->rqes, struct dxk_rqe, link),
				&p), 0);
	puppet_posts(ps, post);
	return post->err;
}

/* Y-1: what only waits for room waits for no owner any more, be that used again */
static void cycle_ripe(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	u32 i;

	ps->e->policy.ready_entries = 1;
	post(ps, ps->main, 2);
	puppet_work(ps, worker(ps, 0));
	EXPECT_IS(post_joining(ps, 1, 2), 0);
	post(ps, ps->main, 9);
	puppet_end(ps, worker(ps, 0), 0, 0);
	EXPECT_IS(post_joining(ps, 2, 9), 0);
	EXPECT_IS(post_joining(ps, 2, 1), 0);
	EXPECT_IS(ps->e->stats.deadlocks, 0);
	for (i = 0; i < 4; i++) {
		EXPECT(puppet_work(ps, worker(ps, 0)));
		puppet_end(ps, worker(ps, 0), 0, 0);
	}
	end(ps);
}

static struct kunit_case cycle_cases[] = {
	KUNIT_CASE(cycle_crossed),
	KUNIT_CASE(cycle_ring),
	KUNIT_CASE(cycle_or),
	KUNIT_CASE(cycle_min),
	KUNIT_CASE(cycle_nests_self),
	KUNIT_CASE(cycle_self_alone),
	KUNIT_CASE(cycle_nests_chain),
	KUNIT_CASE(cycle_crossed_keys),
	KUNIT_CASE(cycle_nested_death),
	KUNIT_CASE(cycle_nested_again),
	KUNIT_CASE(cycle_nested_redo),
	KUNIT_CASE(cycle_enter),
	KUNIT_CASE(cycle_nested_back),
	KUNIT_CASE(cycle_joins),
	KUNIT_CASE(cycle_ripe),
	{}
};

static struct kunit_suite cycle_suite = {
	.name = "dxk_cycle",
	.exit = puppets_end,
	.test_cases = cycle_cases,
};
kunit_test_suite(cycle_suite);
