// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Calls that come back: what executes within another request's turn, and who goes on after it.
 */
#include "engine/cancel.h"
#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/keys.h"
#include "engine/more.h"
#include "engine/rejoin.h"
#include "engine/stop.h"
#include "engine/tests/keyed.h"

/* More than a lock hold looks at. */
#define MANY		140

static struct puppets *start(struct kunit *test, u32 workers)
{
	struct dxk_policy policy = puppet_policy(workers);

	return keyed_start(test, &policy, workers);
}

/*
 * A on the first worker calls B on the second, which calls A: that is nested in A, on the thread
 * of B. The call of A is *@outer, what it calls *@b.
 */
static struct dxk_rqe *chain(struct puppets *ps, struct dxk_rejoin_op **outer, struct dxk_rqe **b)
{
	struct dxk_rqe *inner;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	puppet_work(ps, keyed_worker(ps, 0));
	*b = keyed_send(ps, keyed_worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	*outer = keyed_call(ps, keyed_worker(ps, 0), 2, 1, true, false);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == *b);
	inner = keyed_send(ps, keyed_worker(ps, 1), 7, 3, DXK_REENTRY_CHAIN);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false)->answer, RJR_HELP);
	return inner;
}

/* D-12, AG-18: a call to itself is executed by itself, before all others */
static void nest_self(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_rqe *a = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF), *other, *inner;
	struct dxk_rejoin_op *r;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	other = keyed_send(ps, ps->main, 7, 2, DXK_REENTRY_SELF);
	inner = keyed_send(ps, keyed_worker(ps, 0), 7, 3, DXK_REENTRY_SELF);
	/* only for who can */
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 3, 1, false, false)->err, -EDEADLK);
	r = keyed_call(ps, keyed_worker(ps, 0), 3, 1, true, false);
	EXPECT_IS(r->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 0)) == inner);
	EXPECT_IS(inner->more->at_key, DXK_KEY_NESTED);
	EXPECT_IS(ps->e->stats.nested, 1);
	/* the key is in use below */
	EXPECT_IS(puppet_key_of(ps, keyed_worker(ps, 0), a, DXK_KEY_LEAVE)->ret, -EBUSY);
	EXPECT_IS(puppet_key_of(ps, keyed_worker(ps, 0), a, DXK_KEY_NOTIFY)->ret, -EBUSY);
	/* and who uses it there does not give it up, or ask for it */
	EXPECT_IS(puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_LEAVE)->ret, -EBUSY);
	EXPECT_IS(puppet_key(ps, keyed_worker(ps, 0), DXK_KEY_ENTER)->ret, -EBUSY);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 3, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == other);
	/* not if it must not be */
	keyed_send(ps, keyed_worker(ps, 0), 7, 3, DXK_REENTRY_NONE);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 3, 1, true, false)->err, -EDEADLK);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* AG-18: a call within a call: who has the key is the innermost */
static void nest_twice(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_key_seen seen;
	u64 owner;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF);
	puppet_work(ps, m);
	for (owner = 2; owner < 4; owner++) {
		keyed_send(ps, m, 7, owner, DXK_REENTRY_SELF);
		EXPECT_IS(keyed_call(ps, m, owner, 1, true, false)->answer, RJR_HELP);
		puppet_help(ps, m);
	}
	while (owner-- > 1) {
		EXPECT_IS(dxk_keys_look(ps->e, &seen, 1), 1);
		EXPECT_IS(seen.owner, owner);
		puppet_end(ps, m, 0, 0);
	}
	EXPECT_IS(dxk_keys_look(ps->e, &seen, 1), 0);
	keyed_end(ps);
}

/*
 * AG-20: A calls B, which calls A, and B waits first: what A waits for is not that, so it is
 * refused as if it had waited first
 */
static void nest_self_alone(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rqe *a = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF), *b, *inner;
	struct dxk_rejoin_op *r;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	b = keyed_send(ps, keyed_worker(ps, 0), 8, 2, DXK_REENTRY_SELF);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	inner = keyed_send(ps, keyed_worker(ps, 1), 7, 3, DXK_REENTRY_SELF);
	r = keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false);
	EXPECT(ASLEEP(r));
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 2, 1, true, false)->err, -EDEADLK);
	EXPECT_IS(ps->e->stats.nested, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == inner);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT_IS(r->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/*
 * D-13, AG-20: A calls B, which calls A: nested in A, on the thread of B. A's own thread does
 * not go on beside it, though its time is over (Y-5).
 */
static void nest_chain(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rqe *a = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN), *b, *inner;
	struct dxk_rejoin_op *outer, *r;

	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	b = keyed_send(ps, keyed_worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	outer = keyed_call(ps, keyed_worker(ps, 0), 2, 1, true, true);
	EXPECT(ASLEEP(outer));
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	/* it is not its own: refused, for it waits without a time */
	inner = keyed_send(ps, keyed_worker(ps, 1), 7, 3, DXK_REENTRY_SELF);
	r = keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, true);
	EXPECT(ASLEEP(r));
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	inner->more->reentry = DXK_REENTRY_CHAIN;
	r = keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, true);
	EXPECT_IS(r->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 1)) == inner);
	EXPECT_IS(keyed_worker(ps, 0)->outer, 1);
	/* the time of the outer call is over */
	EXPECT_IS(puppet_time_up(ps, &outer->w), -ETIMEDOUT);
	outer->w.done = false;
	outer->wait = false;
	puppet_do(ps, &outer->op, dxk_rejoin_run);
	EXPECT(ASLEEP(outer));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(keyed_worker(ps, 0)->outer, 0);
	EXPECT(!ASLEEP(outer));
	EXPECT_IS(outer->answer, RJR_NONE_READY);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 2, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* K-4: the key is free only when what is nested has ended as well, whoever ends first */
static void nest_death(struct kunit *test)
{
	struct puppets *ps = start(test, 4);
	struct dxk_rejoin_op *outer;
	struct dxk_rqe *inner, *next;
	u32 first;

	for (first = 0; first < 2; first++) {
		struct dxk_member *a = keyed_worker(ps, 2 * first);
		struct dxk_member *b = keyed_worker(ps, 2 * first + 1);

		keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
		puppet_work(ps, a);
		keyed_send(ps, a, 8, 20 + first, DXK_REENTRY_CHAIN);
		outer = keyed_call(ps, a, 20 + first, 1, true, false);
		puppet_work(ps, b);
		inner = keyed_send(ps, b, 7, 30 + first, DXK_REENTRY_CHAIN);
		keyed_call(ps, b, 30 + first, 1, true, false);
		EXPECT(puppet_help(ps, b) == inner);
		next = keyed_send(ps, ps->main, 7, 4, DXK_REENTRY_NONE);
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
		EXPECT(puppet_work(ps, keyed_worker(ps, 2)) == next);
		puppet_end(ps, keyed_worker(ps, 2), 0, 0);
		if (!first)
			puppet_end(ps, b, 0, 0);
	}
	keyed_end(ps);
}

/* AG-2, AG-20: two calls that both come back are nested one after the other */
static void nest_again(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *outer, *second;
	struct dxk_rqe *inner[2];
	u32 i;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_send(ps, keyed_worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	keyed_send(ps, keyed_worker(ps, 0), 9, 2, DXK_REENTRY_CHAIN);
	outer = keyed_call(ps, keyed_worker(ps, 0), 2, 2, true, false);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, keyed_worker(ps, 1 + i));
		inner[i] = keyed_send(ps, keyed_worker(ps, 1 + i), 7, 30 + i, DXK_REENTRY_CHAIN);
	}
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 1), 30, 1, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 1)) == inner[0]);
	second = keyed_call(ps, keyed_worker(ps, 2), 31, 1, true, false);
	EXPECT(ASLEEP(second));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	/* whoever of the chain is looked at first executes it: here its caller */
	EXPECT(ASLEEP(outer));
	EXPECT_IS(second->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 2)) == inner[1]);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(outer->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/*
 * AG-2, AG-20: the same if the outer one cannot execute a request while it waits: the caller of the
 * second one does, wherever that stands among those that are Held. Nobody is refused.
 */
static void nest_again_by_caller(struct kunit *test)
{
	static const struct dxk_post_more key_7 = { .key = 7 };
	u32 among;

	for (among = 0; among < 2; among++) {
		struct puppets *ps = start(test, 3);
		struct dxk_rejoin_op *outer, *second;
		struct dxk_rqe *inner[2];
		u32 i;

		keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
		puppet_work(ps, keyed_worker(ps, 0));
		for (i = 0; among && i < 2; i++) {
			struct dxk_post_op *post = puppet_poster(ps, ps->main);

			keyed_add(ps, post, 4, i ? -9 : 9, PXR_KEY, &key_7);
			puppet_posts(ps, post);
		}
		keyed_send(ps, keyed_worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
		keyed_send(ps, keyed_worker(ps, 0), 9, 2, DXK_REENTRY_CHAIN);
		outer = keyed_call(ps, keyed_worker(ps, 0), 2, 2, false, false);
		for (i = 0; i < 2; i++) {
			puppet_work(ps, keyed_worker(ps, 1 + i));
			inner[i] = keyed_send(ps, keyed_worker(ps, 1 + i), 7, 30 + i,
					      DXK_REENTRY_CHAIN);
		}
		EXPECT_IS(keyed_call(ps, keyed_worker(ps, 1), 30, 1, true, false)->answer,
			  RJR_HELP);
		EXPECT(puppet_help(ps, keyed_worker(ps, 1)) == inner[0]);
		second = keyed_call(ps, keyed_worker(ps, 2), 31, 1, true, false);
		EXPECT(ASLEEP(second));
		puppet_end(ps, keyed_worker(ps, 1), 0, 0);
		EXPECT(ASLEEP(outer));
		EXPECT(!ASLEEP(second));
		EXPECT_IS(second->answer, RJR_HELP);
		EXPECT(puppet_help(ps, keyed_worker(ps, 2)) == inner[1]);
		puppet_end(ps, keyed_worker(ps, 2), 0, 0);
		puppet_end(ps, keyed_worker(ps, 2), 0, 0);
		puppet_end(ps, keyed_worker(ps, 1), 0, 0);
		EXPECT_IS(outer->answer, RJR_RETURNED);
		puppet_end(ps, keyed_worker(ps, 0), 0, 0);
		for (i = 0; among && i < 2; i++) {
			puppet_work(ps, keyed_worker(ps, 0));
			puppet_end(ps, keyed_worker(ps, 0), 0, 0);
		}
		keyed_end(ps);
		if (!among)
			puppets_end(test);
	}
}

/* K-4: run again, it comes to its key only after what is nested in it */
static void nest_redo(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *outer;
	struct dxk_rqe *a, *inner;

	a = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	a->attrs |= PXR_REDO;
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_send(ps, keyed_worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	outer = keyed_call(ps, keyed_worker(ps, 0), 2, 1, true, false);
	puppet_work(ps, keyed_worker(ps, 1));
	inner = keyed_send(ps, keyed_worker(ps, 1), 7, 3, DXK_REENTRY_CHAIN);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 1)) == inner);
	EXPECT_IS(puppet_time_up(ps, &outer->w), -ETIMEDOUT);
	puppet_dies(ps, keyed_worker(ps, 0));
	EXPECT_IS(a->state, DXK_WAITING);
	EXPECT_IS(inner->more->outer == NULL, true);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(a->state, DXK_READY);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == a);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_end(ps);
}

/* What is nested and cannot be fetched is Held again, and nested again */
static void nest_back(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_rqe *inner;
	struct dxk_next_op *n;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF);
	puppet_work(ps, keyed_worker(ps, 0));
	inner = keyed_send(ps, keyed_worker(ps, 0), 7, 3, DXK_REENTRY_SELF);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 3, 1, true, false)->answer, RJR_HELP);
	n = puppet_turn(ps, keyed_worker(ps, 0), 1);
	EXPECT_IS(n->nr, 1);
	puppet_return(ps, n);
	EXPECT_IS(inner->state, DXK_WAITING);
	EXPECT_IS(inner->more->at_key, DXK_KEY_HELD);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 3, 1, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 0)) == inner);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 3, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* The same for one of a chain: the outer request's thread may go on as if it had never begun. */
static void nest_back_of_chain(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *outer;
	struct dxk_rqe *inner;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_send(ps, keyed_worker(ps, 0), 8, 2, DXK_REENTRY_CHAIN);
	outer = keyed_call(ps, keyed_worker(ps, 0), 2, 1, true, false);
	puppet_work(ps, keyed_worker(ps, 1));
	inner = keyed_send(ps, keyed_worker(ps, 1), 7, 3, DXK_REENTRY_CHAIN);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false)->answer, RJR_HELP);
	EXPECT(inner->more->outer == keyed_worker(ps, 0));
	puppet_return(ps, puppet_turn(ps, keyed_worker(ps, 1), 1));
	EXPECT(!inner->more->outer);
	EXPECT_IS(keyed_worker(ps, 0)->outer, 0);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 1)) == inner);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(outer->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* DX-36: one that ends without having begun has spent no intervals before its begin. */
static void nest_back_and_end(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_rqe *inner;
	struct dxk_next_op *n;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF);
	puppet_work(ps, keyed_worker(ps, 0));
	inner = keyed_send(ps, keyed_worker(ps, 0), 7, 3, DXK_REENTRY_SELF);
	dxk_ready_tick(&ps->e->ready, true, false, 0);
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 3, 1, true, false)->answer, RJR_HELP);
	n = puppet_turn(ps, keyed_worker(ps, 0), 1);
	EXPECT_IS(inner->inspect, 1);
	EXPECT_IS(inner->prio, inner->own_prio + 1);
	puppet_return(ps, n);
	EXPECT_IS(keyed_anybody(ps, dxk_key_cancel_run, 7, false), 1);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT_IS(inner->inspect, 0);
	EXPECT_IS(inner->prio, inner->own_prio);
	keyed_end(ps);
}

/* The same, and whose turn it was nested in waits meanwhile: the more urgent one comes first. */
static void nest_back_alone(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	const struct dxk_post_more p = { .key = 7, .reentry = DXK_REENTRY_SELF };
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rqe *outer, *inner;
	struct dxk_post_op *post;
	struct dxk_next_op *n;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF);
	outer = puppet_work(ps, m);
	post = puppet_poster(ps, m);
	inner = keyed_add(ps, post, 3, 5, PXR_REJOIN | PXR_KEY, &p);
	puppet_posts(ps, post);
	EXPECT_IS(keyed_call(ps, m, 3, 1, true, false)->answer, RJR_HELP);
	EXPECT_IS(dxk_wait_set(m, outer, &again), 0);
	n = puppet_end(ps, m, 0, 1);
	EXPECT_IS(n->nr, 1);
	puppet_return(ps, n);
	keyed_is_held(ps, outer);
	EXPECT(puppet_work(ps, m) == inner);
	puppet_end(ps, m, 0, 0);
	EXPECT(puppet_work(ps, m) == outer);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* DX-63: what is nested and was cancelled ages anew, as its intervals say */
static void nest_cancelled(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rqe *inner = keyed_send(ps, m, 7, 3, DXK_REENTRY_SELF), *outer;

	EXPECT(puppet_work(ps, m) == inner);
	outer = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF);
	EXPECT_IS(dxk_wait_set(m, inner, &again), 0);
	keyed_then(ps, m, outer);
	keyed_is_held(ps, inner);
	dxk_ready_tick(&ps->e->ready, true, false, 0);
	EXPECT_IS(keyed_anybody(ps, dxk_key_cancel_run, 7, false), 1);
	dxk_ready_tick(&ps->e->ready, true, false, 0);
	EXPECT_IS(keyed_call(ps, m, 3, 1, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, m) == inner);
	EXPECT_IS(inner->prio - inner->own_prio, 0);
	EXPECT_IS(inner->inspect, 0);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(keyed_call(ps, m, 3, 1, true, false)->answer, RJR_RETURNED);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* K-4: the owner for whom the outer call waits goes meanwhile: it is told, when it may go on */
static void nest_owner_goes(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *outer;
	struct dxk_rqe *b, *inner = chain(ps, &outer, &b);

	EXPECT(puppet_help(ps, keyed_worker(ps, 1)) == inner);
	/* the call ends before what is nested, and somebody else has its result */
	list_move_tail(&b->link, &keyed_worker(ps, 1)->busy);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(puppet_rejoin(ps, ps->main, 2, 1, 1)->answer, RJR_RETURNED);
	EXPECT(ASLEEP(outer));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(!ASLEEP(outer));
	EXPECT_IS(outer->answer, RJR_NONE_EXIST);
	keyed_drain(ps, keyed_worker(ps, 0));
	keyed_end(ps);
}

/* K-4: a turn ends with a wait beside what is nested in it: its thread is held up no more */
static void nest_outer_parks(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = start(test, 2);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rejoin_op *outer, *r;
	struct dxk_rqe *a, *b, *inner = chain(ps, &outer, &b);

	EXPECT(puppet_help(ps, keyed_worker(ps, 1)) == inner);
	EXPECT_IS(m->outer, 1);
	EXPECT_IS(puppet_time_up(ps, &outer->w), -ETIMEDOUT);
	a = list_first_entry(&m->busy, struct dxk_rqe, link);
	EXPECT_IS(dxk_wait_set(m, a, &again), 0);
	puppet_end(ps, m, 0, 0);
	keyed_is_held(ps, a);
	EXPECT_IS(m->outer, 0);
	EXPECT(!inner->more->outer);
	r = puppet_rejoin(ps, m, 2, 1, 0);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->answer, RJR_NONE_READY);
	keyed_drain(ps, keyed_worker(ps, 1));
	EXPECT(puppet_work(ps, m) == a);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* No worker of its kind is left, but those that are at something */
static void close_kind(struct puppets *ps)
{
	struct dxk_policy p = ps->e->policy;

	p.kernel_threads = p.max_threads;
	dxk_enforce(ps->e, &p);
}

/* DX-9: what is nested, was begun, and cannot be fetched ends if no worker will ever take it */
static void nest_back_closed(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_rqe *inner = keyed_send(ps, ps->main, 7, 3, DXK_REENTRY_SELF), *a;
	struct dxk_rejoin_op *r;
	struct dxk_next_op *n;

	EXPECT(puppet_work(ps, m) == inner);
	a = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF);
	EXPECT_IS(dxk_wait_set(m, inner, &again), 0);
	keyed_then(ps, m, a);
	EXPECT_IS(keyed_call(ps, m, 3, 1, true, false)->answer, RJR_HELP);
	n = puppet_turn(ps, m, 1);
	EXPECT_IS(n->nr, 1);
	close_kind(ps);
	puppet_return(ps, n);
	r = keyed_call(ps, m, 3, 1, true, true);
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT_IS(puppet_result(r)->status, -ENODEV);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* the same of one that was cancelled, its key free by now: it has no turn */
static void nest_back_cancelled(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_wakes wakes = { };
	struct dxk_rejoin_op *outer, *r;
	struct dxk_rqe *b, *inner = chain(ps, &outer, &b);
	struct dxk_next_op *n = puppet_turn(ps, keyed_worker(ps, 1), 1);
	LIST_HEAD(ended);

	EXPECT_IS(n->nr, 1);
	EXPECT_IS(puppet_time_up(ps, &outer->w), -ETIMEDOUT);
	puppet_dies(ps, keyed_worker(ps, 0));
	spin_lock(&ps->e->lock);
	EXPECT_IS(dxk_tell(ps->e, inner, DXK_WAKE_CANCEL, &ended, &wakes), DXK_CANCEL_TOLD);
	spin_unlock(&ps->e->lock);
	puppet_return(ps, n);
	r = keyed_call(ps, keyed_worker(ps, 1), 3, 1, true, false);
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT_IS(puppet_result(r)->status, -ECANCELED);
	keyed_drain(ps, keyed_worker(ps, 1));
	keyed_end(ps);
}

/*
 * D-13: A calls B and C, for a time, and they both call A: when the one that is nested ends, the
 * other one is.
 */
static void nest_next_of_another(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *outer, *r;
	struct dxk_rqe *inner[2];
	u32 i;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_CHAIN);
	puppet_work(ps, keyed_worker(ps, 0));
	for (i = 0; i < 2; i++)
		keyed_send(ps, keyed_worker(ps, 0), 8 + i, 2, DXK_REENTRY_CHAIN);
	outer = keyed_call(ps, keyed_worker(ps, 0), 2, 2, false, true);
	for (i = 0; i < 2; i++) {
		puppet_work(ps, keyed_worker(ps, 1 + i));
		inner[i] = keyed_send(ps, keyed_worker(ps, 1 + i), 7, 3 + i, DXK_REENTRY_CHAIN);
		r = keyed_call(ps, keyed_worker(ps, 1 + i), 3 + i, 1, true, false);
		EXPECT_IS(!ASLEEP(r), !i);
	}
	EXPECT(puppet_help(ps, keyed_worker(ps, 1)) == inner[0]);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(!ASLEEP(r));
	EXPECT_IS(r->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 2)) == inner[1]);
	EXPECT(ASLEEP(outer));
	for (i = 2; i; i--)
		keyed_drain(ps, keyed_worker(ps, i));
	EXPECT_IS(outer->answer, RJR_RETURNED);
	EXPECT_IS(outer->nr, 2);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/*
 * D-12, DX-38: where workers wait for room in the Rejoin Pool one result ends a call for two.
 * So it is not dead, and nothing is nested, as long as one can come.
 */
static void nest_one_is_enough(struct kunit *test)
{
	struct puppets *ps = start(test, 3);
	struct dxk_rejoin_op *r, *other;
	struct dxk_rqe *a, *inner;

	ps->e->policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	a = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	puppet_post(ps, 3, 0, PXR_REJOIN);
	puppet_work(ps, keyed_worker(ps, 1));
	inner = keyed_send(ps, keyed_worker(ps, 0), 7, 3, DXK_REENTRY_SELF);
	r = keyed_call(ps, keyed_worker(ps, 0), 3, 2, true, false);
	EXPECT(ASLEEP(r));
	EXPECT_IS(ps->e->stats.nested, 0);
	/* nor does another one take it for dead that sleeps so */
	puppet_post(ps, 5, 0, PXR_REJOIN);
	puppet_work(ps, keyed_worker(ps, 2));
	other = keyed_call(ps, keyed_worker(ps, 2), 1, 1, false, false);
	EXPECT(ASLEEP(other));
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(r->answer, RJR_RETURNED);
	EXPECT_IS(r->nr, 1);
	/* that one is the last that can come: it executes it */
	EXPECT_IS(keyed_call(ps, keyed_worker(ps, 0), 3, 2, true, false)->answer, RJR_HELP);
	EXPECT(puppet_help(ps, keyed_worker(ps, 0)) == inner);
	keyed_drain(ps, keyed_worker(ps, 0));
	EXPECT_IS(other->answer, RJR_RETURNED);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	keyed_end(ps);
}

/* A worker's call sleeps, and nothing is nested; then its time is over. */
static void sleeps(struct puppets *ps, struct dxk_member *m)
{
	struct dxk_rejoin_op *r = keyed_call(ps, m, 3, 1, true, true);

	EXPECT(ASLEEP(r));
	EXPECT_IS(ps->e->stats.nested, 0);
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
}

/*
 * AG-29, DX-107: what may not begin a turn does not within another one's: of a key that is held
 * back, of a kind that has no workers any more, in a Stop(cancel) which has not yet come to it
 */
static void nest_not_begun(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_stop_op stop = { .gen = ps->e->run.gen, .cancel = true };
	struct dxk_rqe *inner;
	u32 kernel = ps->e->policy.kernel_threads;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_SELF);
	puppet_work(ps, m);
	inner = keyed_send(ps, m, 7, 3, DXK_REENTRY_SELF);
	EXPECT_IS(keyed_anybody(ps, dxk_key_hold_run, 7, false), 0);
	sleeps(ps, m);
	EXPECT_IS(keyed_anybody(ps, dxk_key_release_run, 7, false), 0);
	/* between two lock holds in which the policy comes into force */
	ps->e->policy.kernel_threads = ps->e->policy.max_threads;
	sleeps(ps, m);
	ps->e->policy.kernel_threads = kernel;
	puppet_do(ps, &stop.op, dxk_stop_begin_run);
	sleeps(ps, m);
	keyed_is_held(ps, inner);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(inner->status, -ECANCELED);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* DX-90: however many are held up so, a lock hold looks at as many as it may, and none is left */
static void nest_many_outers(struct kunit *test)
{
	struct puppets *ps = start(test, 2 + MANY);
	struct dxk_rejoin_op *outer[MANY], *r;
	struct dxk_rqe *b, *inner = chain(ps, &r, &b);
	struct dxk_member *m;
	u32 i;

	EXPECT(puppet_help(ps, keyed_worker(ps, 1)) == inner);
	/* as if each had something nested in its work, and did not wait for what is there */
	for (i = 0; i < MANY; i++) {
		m = keyed_worker(ps, 2 + i);
		m->outer = 1;
		outer[i] = keyed_call(ps, m, 100 + i, 1, false, false);
		EXPECT(ASLEEP(outer[i]));
	}
	/* one of them rises: the others are looked at, and sleep on */
	keyed_worker(ps, 2 + MANY - 1)->outer = 0;
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(outer[MANY - 1]->answer, RJR_NONE_EXIST);
	for (i = 0; i < MANY - 1; i++) {
		EXPECT(ASLEEP(outer[i]));
		keyed_worker(ps, 2 + i)->outer = 0;
	}
	EXPECT(list_empty(&ps->e->waits.rising));
	list_splice_tail_init(&ps->e->waits.outers, &ps->e->waits.rising);
	ps->e->owners.freed = true;
	keyed_drain(ps, keyed_worker(ps, 1));
	for (i = 0; i < MANY; i++)
		EXPECT_IS(outer[i]->answer, RJR_NONE_EXIST);
	keyed_drain(ps, keyed_worker(ps, 0));
	keyed_end(ps);
}

static struct kunit_case nest_cases[] = {
	KUNIT_CASE(nest_self),
	KUNIT_CASE(nest_twice),
	KUNIT_CASE(nest_self_alone),
	KUNIT_CASE(nest_chain),
	KUNIT_CASE(nest_death),
	KUNIT_CASE(nest_again),
	KUNIT_CASE(nest_again_by_caller),
	KUNIT_CASE(nest_redo),
	KUNIT_CASE(nest_back),
	KUNIT_CASE(nest_back_of_chain),
	KUNIT_CASE(nest_back_and_end),
	KUNIT_CASE(nest_back_alone),
	KUNIT_CASE(nest_owner_goes),
	KUNIT_CASE(nest_outer_parks),
	KUNIT_CASE(nest_back_closed),
	KUNIT_CASE(nest_back_cancelled),
	KUNIT_CASE(nest_cancelled),
	KUNIT_CASE(nest_next_of_another),
	KUNIT_CASE(nest_one_is_enough),
	KUNIT_CASE(nest_not_begun),
	KUNIT_CASE(nest_many_outers),
	{}
};

static struct kunit_suite nest_suite = {
	.name = "dxk_nest",
	.exit = puppets_end,
	.test_cases = nest_cases,
};
kunit_test_suite(nest_suite);
