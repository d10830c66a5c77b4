// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * Circles of waits that are too long for the search when they close: the Monitor finds them.
 */
#include "engine/circle.h"
#include "engine/cycle.h"
#include "engine/doom.h"
#include "engine/purge.h"
#include "engine/key.h"
#include "engine/more.h"
#include "engine/rejoin.h"
#include "engine/tests/keyed.h"

/* More than a search goes along. */
#define MANY	(DXK_CYCLE_DEPTH + 8)

static struct puppets *start(struct kunit *test, u32 workers)
{
	struct dxk_policy policy = puppet_policy(workers);

	/* a hash in which owners stand behind each other */
	policy.max_requests = 128;
	return keyed_start(test, &policy, workers);
}

/* The looks of the Monitor, after it has been told that a search has given up for long. */
static enum dxk_circles_found look(struct puppets *ps, struct dxk_circles *c)
{
	enum dxk_circles_found found = dxk_circles_look(ps->e, c);
	u32 i;

	if (found != DXK_CIRCLES_AGAIN || c->pass || c->tries)
		return found;
	/* not yet */
	EXPECT_IS(dxk_circles_look(ps->e, c), DXK_CIRCLES_AGAIN);
	EXPECT(ps->e->waits.unsure);
	c->since = os_now() - NSEC_PER_SEC;
	for (i = 0; i < 10; i++) {
		found = dxk_circles_look(ps->e, c);
		if (found != DXK_CIRCLES_AGAIN || !(c->pass || c->tries))
			break;
	}
	EXPECT(!ps->e->waits.unsure);
	return found;
}

/* How many of them are told of, and how many are workers. */
static u32 told(struct puppets *ps, struct dxk_circles *c, u32 *workers)
{
	struct dxk_link links[7];
	u32 nr, i, all = 0;

	*workers = 0;
	while ((nr = dxk_circle_links(ps->e, c, links, 7)) && all < 4 * MANY) {
		all += nr;
		for (i = 0; i < nr; i++)
			*workers += !!links[i].worker;
	}
	return all;
}

/* The first look finds so many, a second one nothing new. */
static void finds(struct puppets *ps, u32 nr, u32 workers)
{
	struct dxk_circles c = { };
	u32 of_these;

	EXPECT_IS(look(ps, &c), DXK_CIRCLES_FOUND);
	EXPECT_IS(told(ps, &c, &of_these), nr);
	EXPECT_IS(of_these, workers);
	EXPECT_IS(c.nr, ps->e->stats.circles);
	EXPECT_IS(ps->e->stats.circles, 1);
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_NONE);
	ps->e->waits.unsure = true;
	EXPECT_IS(look(ps, &c), DXK_CIRCLES_FOUND);
	EXPECT_IS(told(ps, &c, &of_these), 0);
	EXPECT_IS(ps->e->stats.circles, 1);
}

static void finds_none(struct puppets *ps)
{
	struct dxk_circles c = { };

	EXPECT_IS(look(ps, &c), DXK_CIRCLES_AGAIN);
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_NONE);
	EXPECT_IS(ps->e->stats.circles, 0);
}

/* Each worker but the last one waits for the next one's owner. @key: the first has it, or 0 */
static void chain_with(struct puppets *ps, struct dxk_rejoin_op **r, u64 key)
{
	u32 i;

	for (i = 0; i < MANY; i++) {
		if (!i && key)
			keyed_send(ps, ps->main, key, 1, DXK_REENTRY_NONE);
		else
			puppet_post(ps, 1 + i, 0, PXR_REJOIN);
		puppet_work(ps, keyed_worker(ps, i));
	}
	for (i = MANY - 1; i--;) {
		r[i] = keyed_call(ps, keyed_worker(ps, i), 2 + i, 1, false, false);
		EXPECT(ASLEEP(r[i]));
	}
}

static void chain(struct puppets *ps, struct dxk_rejoin_op **r)
{
	chain_with(ps, r, 0);
}

/* Y-1: the Monitor is called, and finds it; Stop ends it */
static void circle_ring(struct kunit *test)
{
	struct puppets *ps = start(test, MANY + 1);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	u32 i;

	chain(ps, r);
	/* it is no stall */
	puppet_post(ps, 99, 0, 0);
	puppet_work(ps, keyed_worker(ps, MANY));
	ps->e->waits.unsure = false;
	ps->e->dormant[DXK_MONITOR] = true;
	r[MANY - 1] = keyed_call(ps, keyed_worker(ps, MANY - 1), 1, 1, false, false);
	EXPECT(ASLEEP(r[MANY - 1]));
	EXPECT(ps->e->waits.unsure);
	EXPECT(ps->kick & BIT(DXK_MONITOR));
	finds(ps, MANY, MANY);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	for (i = 0; i < MANY; i++) {
		EXPECT_IS(r[i]->err, -ESHUTDOWN);
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	}
	puppet_end(ps, keyed_worker(ps, MANY), 0, 0);
	keyed_end(ps);
}

/*
 * D-23, Y-2: who waits for an owner does not wait for its own requests of that, so one that may
 * be given the result of another one is no part of it, though a third stands behind the circle
 */
static void circle_own(struct kunit *test)
{
	struct puppets *ps = start(test, MANY + 3);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY), *behind, *other;
	u32 i;

	chain(ps, r);
	r[MANY - 1] = keyed_call(ps, keyed_worker(ps, MANY - 1), 1, 1, false, false);
	for (i = 0; i < 3; i++) {
		puppet_post(ps, 99, 0, PXR_REJOIN);
		puppet_work(ps, keyed_worker(ps, MANY + i));
	}
	behind = keyed_call(ps, keyed_worker(ps, MANY), 1, 1, false, false);
	EXPECT(ASLEEP(behind));
	other = keyed_call(ps, keyed_worker(ps, MANY + 1), 99, 1, false, false);
	EXPECT(ASLEEP(other));
	finds(ps, MANY + 1, MANY + 1);
	puppet_end(ps, keyed_worker(ps, MANY + 2), 0, 0);
	EXPECT_IS(other->answer, RJR_RETURNED);
	EXPECT_IS(puppet_time_up(ps, &r[MANY - 1]->w), -ETIMEDOUT);
	for (i = MANY + 2; i--;)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* Y-2: one executes: nobody is told of */
static void circle_none(struct kunit *test)
{
	struct puppets *ps = start(test, MANY);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	u32 i;

	chain(ps, r);
	EXPECT(ps->e->waits.unsure);
	finds_none(ps);
	for (i = MANY; i--;)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* Y-2: one of them is Held, was never begun, and ends by its time: nobody is told of */
static void circle_expires(struct kunit *test)
{
	const struct dxk_post_more p = { .key = 7, .expire = os_now() + 3600ULL * NSEC_PER_SEC };
	struct puppets *ps = start(test, MANY);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	struct dxk_post_op *post = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe;
	u32 i;

	chain_with(ps, r, p.key);
	rqe = keyed_add(ps, post, 99, 0, PXR_REJOIN | PXR_KEY | PXR_EXPIRE, &p);
	puppet_posts(ps, post);
	keyed_is_held(ps, rqe);
	r[MANY - 1] = keyed_call(ps, keyed_worker(ps, MANY - 1), 99, 1, false, false);
	EXPECT(ASLEEP(r[MANY - 1]));
	finds_none(ps);
	keyed_expires(ps, rqe);
	EXPECT_IS(r[MANY - 1]->answer, RJR_RETURNED);
	for (i = MANY; i--;)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* A chain; a further worker executes a second request of the owner that the last one waits for. */
static void chain_beside_another(struct puppets *ps, struct dxk_rejoin_op **r)
{
	chain(ps, r);
	puppet_post(ps, 1, 0, PXR_REJOIN);
	puppet_work(ps, keyed_worker(ps, MANY));
}

/* The last one closes the chain, but is not known to. */
static void closes(struct puppets *ps, struct dxk_rejoin_op **r)
{
	r[MANY - 1] = keyed_call(ps, keyed_worker(ps, MANY - 1), 1, 1, false, false);
	EXPECT(ASLEEP(r[MANY - 1]));
	ps->e->waits.unsure = true;
	finds_none(ps);
}

/* Now it is; then its sleep ends, and so do all. */
static void is_closed(struct puppets *ps, struct dxk_rejoin_op **r)
{
	u32 i;

	finds(ps, MANY, MANY);
	EXPECT_IS(puppet_time_up(ps, &r[MANY - 1]->w), -ETIMEDOUT);
	for (i = MANY; i--;)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* Y-2: another request of an owner executes, one that waits for any of its results goes on */
static void circle_or(struct kunit *test)
{
	struct puppets *ps = start(test, MANY + 1);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY), *two;
	u32 i;

	chain_beside_another(ps, r);
	r[MANY - 1] = keyed_call(ps, keyed_worker(ps, MANY - 1), 1, 1, false, false);
	finds_none(ps);
	/* and none that waits for both */
	EXPECT_IS(puppet_time_up(ps, &r[MANY - 1]->w), -ETIMEDOUT);
	two = keyed_call(ps, keyed_worker(ps, MANY - 1), 1, 2, false, false);
	finds(ps, MANY, MANY);
	EXPECT_IS(puppet_time_up(ps, &two->w), -ETIMEDOUT);
	for (i = MANY + 1; i--;)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* Y-2: the last of them waits for a result that another one copies out, and that may come back */
static void circle_comes_back(struct kunit *test)
{
	struct puppets *ps = start(test, MANY + 1);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY), *copies;

	chain_beside_another(ps, r);
	puppet_end(ps, keyed_worker(ps, MANY), 0, 0);
	copies = puppet_poller(ps, ps->main, 1, 1, 1);
	copies->free = false;
	puppet_do(ps, &copies->op, dxk_rejoin_run);
	EXPECT_IS(copies->nr, 1);
	closes(ps, r);
	/* it does not: now there is one */
	puppet_settle(ps, copies, 1);
	is_closed(ps, r);
}

/* Y-1: the result that the last of them waits for goes to another one, which came before */
static void circle_outrun(struct kunit *test)
{
	struct puppets *ps = start(test, MANY + 1);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY), *first;

	chain_beside_another(ps, r);
	first = puppet_rejoin(ps, ps->main, 1, 1, 1);
	EXPECT(ASLEEP(first));
	closes(ps, r);
	puppet_end(ps, keyed_worker(ps, MANY), 0, 0);
	EXPECT(!ASLEEP(first));
	is_closed(ps, r);
}

/* A worker waits for results: one that another worker executes, and perhaps a second one. */
static struct dxk_rejoin_op *waits_for_two(struct puppets *ps)
{
	struct dxk_rejoin_op *r;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_post(ps, 2, 0, PXR_REJOIN);
	puppet_work(ps, keyed_worker(ps, 1));
	r = keyed_call(ps, keyed_worker(ps, 0), 2, 2, false, false);
	EXPECT(ASLEEP(r));
	EXPECT(!ps->e->waits.unsure);
	return r;
}

/* The second request comes to be Held behind its own. */
static struct dxk_rqe *comes_behind(struct puppets *ps)
{
	struct dxk_rqe *rqe = keyed_send(ps, ps->main, 7, 2, DXK_REENTRY_NONE);

	keyed_is_held(ps, rqe);
	return rqe;
}

static void two_end(struct puppets *ps, struct dxk_rejoin_op *r)
{
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

/* Y-1: a worker waits for two results, and the second request comes to be Held behind its own */
static void circle_held(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *r = waits_for_two(ps);

	comes_behind(ps);
	finds(ps, 2, 1);
	two_end(ps, r);
}

/* Y-2: a first pass finds nothing, whatever the last one before it has met */
static void circle_first_pass(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *r = waits_for_two(ps);
	struct dxk_circles c = { .tries = 1, .before = 1 };

	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_AGAIN);
	comes_behind(ps);
	two_end(ps, r);
}

/* Who is met first in a second pass is not of this round: new, or doubted in an earlier round. */
static void circle_earlier(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *r = waits_for_two(ps);
	struct dxk_rqe *rqe = comes_behind(ps);
	struct dxk_circles c = { .round = 5, .pass = 2, .before = 2 };

	ps->e->waits.unsure = false;
	keyed_worker(ps, 0)->doubt = 3;
	rqe->more->doubt = 3;
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_AGAIN);
	EXPECT_IS(c.pass, 0);
	/* the numbers have begun again */
	c.round = 1;
	c.pass = 2;
	c.before = 2;
	keyed_worker(ps, 0)->doubt = 0;
	rqe->more->doubt = 0;
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_AGAIN);
	EXPECT_IS(c.pass, 0);
	/* and they do so without 0 */
	rqe->owner->toured = 0;
	list_first_entry(&keyed_worker(ps, 0)->busy, struct dxk_rqe, link)->owner->toured = 0;
	c.round = DXK_DOUBT_TOLD - 1;
	c.tries = 1;
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_FOUND);
	two_end(ps, r);
}

/* One that a pass has missed costs one more pass, and no more than that. */
static void circle_missed(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *r = waits_for_two(ps);
	struct dxk_rqe *rqe = comes_behind(ps);
	struct dxk_circles c = { .round = 5, .pass = 3, .before = 2 };

	keyed_worker(ps, 0)->doubt = 3;
	rqe->more->doubt = 4;
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_FOUND);
	EXPECT_IS(c.round, 6);
	two_end(ps, r);
}

/* Y-2: a client, or who has a time limit, waits for no circle: nothing is doubted for them */
static void circle_no_doubt(struct kunit *test)
{
	struct puppets *ps = start(test, 4);
	struct dxk_rejoin_op *r[2];
	u32 i;

	for (i = 0; i < 4; i++) {
		puppet_post(ps, 1 + i / 2, 0, i & 1 ? PXR_REJOIN : 0);
		puppet_work(ps, keyed_worker(ps, i));
	}
	/* one of its two vanishes */
	r[0] = puppet_rejoin(ps, ps->main, 1, 1, 1);
	r[1] = keyed_call(ps, keyed_worker(ps, 1), 2, 1, false, true);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(ASLEEP(r[0]) && !ps->e->waits.unsure);
	puppet_end(ps, keyed_worker(ps, 2), 0, 0);
	EXPECT(ASLEEP(r[1]) && !ps->e->waits.unsure);
	EXPECT_IS(puppet_time_up(ps, &r[1]->w), -ETIMEDOUT);
	EXPECT_IS(puppet_time_up(ps, &r[0]->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	puppet_end(ps, keyed_worker(ps, 3), 0, 0);
	keyed_end(ps);
}

/* Who wakes between two passes, or has a time limit, is no part of one */
static void circle_wakes(struct kunit *test)
{
	struct puppets *ps = start(test, MANY);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY), *last;
	struct dxk_circles c = { .tries = 1, .pass = 1 };
	u32 i;

	chain(ps, r);
	last = keyed_call(ps, keyed_worker(ps, MANY - 1), 1, 1, false, true);
	EXPECT(ASLEEP(last));
	finds_none(ps);
	EXPECT_IS(puppet_time_up(ps, &last->w), -ETIMEDOUT);
	last = keyed_call(ps, keyed_worker(ps, MANY - 1), 1, 1, false, false);
	/* the first pass of a round has met all */
	for (i = 0; i < MANY; i++)
		keyed_worker(ps, i)->doubt = 1;
	c.round = 2;
	c.pass = 2;
	c.before = MANY;
	EXPECT_IS(puppet_time_up(ps, &last->w), -ETIMEDOUT);
	last = keyed_call(ps, keyed_worker(ps, MANY - 1), 1, 1, false, false);
	ps->e->waits.unsure = false;
	/* a new sleep: it is found by the next round */
	c.tries = 0;
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_AGAIN);
	c.tries = 1;
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_FOUND);
	EXPECT_IS(puppet_time_up(ps, &last->w), -ETIMEDOUT);
	for (i = MANY; i--;)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* FO-2, Y-1: requests that wait for each other, without a worker */
static void circle_joins(struct kunit *test)
{
	struct dxk_post_more p = { .wait = { .wait = DXK_WAIT_JOIN } };
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_post_op *post;
	struct dxk_rqe *last;
	u32 i;

	puppet_post(ps, MANY, 0, PXR_REJOIN);
	last = puppet_work(ps, m);
	for (i = MANY; --i;) {
		p.wait.owner = i + 1;
		post = puppet_poster(ps, ps->main);
		keyed_add(ps, post, i, 0, PXR_WAIT, &p);
		puppet_posts(ps, post);
		EXPECT_IS(post->err, 0);
	}
	finds_none(ps);
	p.wait.owner = 1;
	EXPECT_IS(dxk_wait_set(m, last, &p.wait), 0);
	ps->e->dormant[DXK_MONITOR] = true;
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(last->state, DXK_WAITING);
	EXPECT(ps->kick & BIT(DXK_MONITOR));
	finds(ps, MANY, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(ps->e->nr[DXK_AT_WAIT], 0);
	EXPECT(puppet_work(ps, m) == last);
	EXPECT_IS(last->more->wake, DXK_WAKE_CANCEL);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* Y-1: one owner has more that sleep than a lock hold looks after */
#define CROWD		12

static void circle_crowd(struct kunit *test)
{
	struct puppets *ps = start(test, CROWD);
	u32 i;

	for (i = 0; i < CROWD; i++) {
		puppet_post(ps, 1, 0, PXR_REJOIN);
		puppet_work(ps, keyed_worker(ps, i));
	}
	for (i = 0; i < CROWD; i++)
		EXPECT(ASLEEP(keyed_call(ps, keyed_worker(ps, i), 1, 1, false, false)));
	finds(ps, CROWD, CROWD);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	for (i = 0; i < CROWD; i++)
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	keyed_end(ps);
}

/* R-3, Y-2: a wait that its time ends as well is no part of one */
static void circle_joins_timed(struct kunit *test)
{
	static const struct dxk_post_more for_2 = {
		.wait = { .wait = DXK_WAIT_JOIN, .owner = 2 },
	};
	const struct dxk_wait for_1 = {
		.wait = DXK_WAIT_JOIN | DXK_WAIT_TIME, .owner = 1,
		.deadline = os_now() + 3600ULL * NSEC_PER_SEC,
	};
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_post_op *post = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe;

	puppet_post(ps, 2, 0, PXR_REJOIN);
	rqe = puppet_work(ps, m);
	keyed_add(ps, post, 1, 0, PXR_WAIT, &for_2);
	puppet_posts(ps, post);
	EXPECT_IS(dxk_wait_set(m, rqe, &for_1), 0);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(rqe->state, DXK_WAITING);
	ps->e->waits.unsure = true;
	finds_none(ps);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT(puppet_work(ps, m) == rqe);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* D-14, Y-1: each has a key, and calls who has the next one */
static void circle_keys(struct kunit *test)
{
	struct puppets *ps = start(test, MANY);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	u32 i;

	for (i = 0; i < MANY; i++) {
		keyed_send(ps, ps->main, i, 1 + i, DXK_REENTRY_NONE);
		puppet_work(ps, keyed_worker(ps, i));
	}
	for (i = 0; i < MANY; i++)
		keyed_send(ps, keyed_worker(ps, i), (i + 1) % MANY, 100 + i, DXK_REENTRY_NONE);
	for (i = MANY; i--;) {
		r[i] = keyed_call(ps, keyed_worker(ps, i), 100 + i, 1, false, false);
		EXPECT(ASLEEP(r[i]));
	}
	finds(ps, 2 * MANY, MANY);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	for (i = 0; i < MANY; i++) {
		EXPECT(!ASLEEP(r[i]));
		puppet_end(ps, keyed_worker(ps, i), 0, 0);
	}
	keyed_end(ps);
}

/* Y-1: who comes back to its key is a part of one, and what only stands behind one, too */
static void circle_enters(struct kunit *test)
{
	struct puppets *ps = start(test, MANY + 1);
	struct dxk_rejoin_op **r = puppet_array(ps, MANY);
	struct dxk_member *m = keyed_worker(ps, MANY);
	struct dxk_key_op *k;
	u32 i;

	/* has left its key, which the first one of a chain has */
	keyed_send(ps, ps->main, 7, 90, DXK_REENTRY_NONE);
	puppet_work(ps, m);
	EXPECT_IS(puppet_key(ps, m, DXK_KEY_LEAVE)->ret, 0);
	chain_with(ps, r, 7);
	r[MANY - 1] = keyed_call(ps, keyed_worker(ps, MANY - 1), 90, 1, false, false);
	EXPECT(ASLEEP(r[MANY - 1]));
	k = puppet_key(ps, m, DXK_KEY_ENTER);
	EXPECT(ASLEEP(k));
	finds(ps, MANY + 1, MANY + 1);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT_IS(k->ret, -ECANCELED);
	for (i = 0; i <= MANY; i++)
		keyed_drain(ps, keyed_worker(ps, i));
	keyed_end(ps);
}

/* Y-1: likewise, if a request waits for all of that owner, and the worker for that request */
static void circle_held_joined(struct kunit *test)
{
	static const struct dxk_post_more all_of_3 = {
		.wait = { .wait = DXK_WAIT_JOIN, .owner = 3 },
	};
	struct puppets *ps = start(test, 2);
	struct dxk_post_op *post;
	struct dxk_rejoin_op *r;

	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_post(ps, 3, 0, PXR_REJOIN);
	puppet_work(ps, keyed_worker(ps, 1));
	post = puppet_poster(ps, ps->main);
	keyed_add(ps, post, 2, 0, PXR_REJOIN | PXR_WAIT, &all_of_3);
	puppet_posts(ps, post);
	r = keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false);
	EXPECT(ASLEEP(r));
	EXPECT(!ps->e->waits.unsure);
	keyed_is_held(ps, keyed_send(ps, ps->main, 7, 3, DXK_REENTRY_NONE));
	finds(ps, 3, 1);
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	keyed_drain(ps, keyed_worker(ps, 1));
	keyed_drain(ps, keyed_worker(ps, 0));
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_drain(ps, keyed_worker(ps, 0));
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_drain(ps, keyed_worker(ps, 0));
	keyed_end(ps);
}

/* Y-1: a worker comes back to a key; who has it sleeps for a request that waits for that worker */
static void enters_joined(struct kunit *test, u32 wait)
{
	const struct dxk_post_more of_90 = {
		.wait = { .wait = wait, .owner = 90 },
	};
	struct puppets *ps = start(test, 2);
	struct dxk_post_op *post;
	struct dxk_rejoin_op *r;
	struct dxk_key_op *k;

	keyed_send(ps, ps->main, 7, 90, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 1));
	EXPECT_IS(puppet_key(ps, keyed_worker(ps, 1), DXK_KEY_LEAVE)->ret, 0);
	keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	post = puppet_poster(ps, ps->main);
	keyed_add(ps, post, 2, 0, PXR_REJOIN | PXR_WAIT, &of_90);
	puppet_posts(ps, post);
	r = keyed_call(ps, keyed_worker(ps, 0), 2, 1, false, false);
	EXPECT(ASLEEP(r));
	EXPECT(!ps->e->waits.unsure);
	k = puppet_key(ps, keyed_worker(ps, 1), DXK_KEY_ENTER);
	EXPECT(ASLEEP(k));
	finds(ps, 3, 2);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	keyed_drain(ps, keyed_worker(ps, 0));
	keyed_drain(ps, keyed_worker(ps, 1));
	keyed_end(ps);
}

static void circle_enters_joined(struct kunit *test)
{
	enters_joined(test, DXK_WAIT_JOIN);
}

static void circle_enters_result(struct kunit *test)
{
	enters_joined(test, DXK_WAIT_RESULT);
}

/* Y-1: a request without a call is given its key back, and its worker sleeps for who is Held */
static void circle_given_back(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_rejoin_op *r;
	struct dxk_key_op *k;

	keyed_send(ps, ps->main, 7, 90, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 1));
	k = puppet_key(ps, keyed_worker(ps, 1), DXK_KEY_WAIT);
	keyed_send(ps, ps->main, 7, 91, DXK_REENTRY_NONE);
	puppet_work(ps, keyed_worker(ps, 0));
	k->why = -ERESTARTSYS;
	puppet_do(ps, &k->op, dxk_key_awake_run);
	EXPECT_IS(k->ret, -EINTR);
	keyed_is_held(ps, keyed_send(ps, ps->main, 7, 92, DXK_REENTRY_NONE));
	r = keyed_call(ps, keyed_worker(ps, 1), 92, 1, false, false);
	EXPECT(ASLEEP(r));
	EXPECT(!ps->e->waits.unsure);
	ps->e->dormant[DXK_MONITOR] = true;
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(ps->kick & BIT(DXK_MONITOR));
	finds(ps, 2, 1);
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	keyed_drain(ps, keyed_worker(ps, 1));
	puppet_work(ps, keyed_worker(ps, 0));
	keyed_drain(ps, keyed_worker(ps, 0));
	keyed_end(ps);
}

static u32 bucket_of(struct puppets *ps, u64 cookie)
{
	return os_hash(cookie, ps->main->space->id, ps->e->owners.seed) >>
	       (32 - ps->e->owners.bits);
}

/* The first cookie from there on that is of the bucket. */
static u64 in_bucket(struct puppets *ps, u32 bucket, u64 cookie)
{
	while (bucket_of(ps, cookie) != bucket)
		cookie++;
	return cookie;
}

static struct dxk_rqe *joins(struct puppets *ps, u64 owner, u64 other)
{
	const struct dxk_post_more p = {
		.wait = { .wait = DXK_WAIT_JOIN, .owner = other },
	};
	struct dxk_post_op *post = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe = keyed_add(ps, post, owner, 0, PXR_WAIT, &p);

	puppet_posts(ps, post);
	EXPECT_IS(rqe->state, DXK_WAITING);
	return rqe;
}

/* Y-2: what ends between two holds of a pass is no link for those that it meets next: no circle */
static void circle_hidden(struct kunit *test)
{
	struct puppets *ps = start(test, 2);
	struct dxk_circles c = { .round = 2, .pass = 2, .before = 4 };
	struct dxk_rqe *rqe[4];
	u64 owner[3];
	u32 i;

	for (i = 0; i < 3; i++)
		owner[i] = in_bucket(ps, i + 1, 1000);
	puppet_post(ps, 2, 0, 0);
	puppet_work(ps, keyed_worker(ps, 0));
	puppet_post(ps, 3, 0, 0);
	puppet_work(ps, keyed_worker(ps, 1));
	/* two of the same owner; one waits for the next, and so on, until one that executes */
	rqe[3] = joins(ps, owner[2], 2);
	rqe[2] = joins(ps, owner[1], owner[2]);
	rqe[0] = joins(ps, owner[0], 3);
	rqe[1] = joins(ps, owner[0], owner[1]);
	/* a pass has met all, and the first hold of the next one has met the first */
	for (i = 1; i < 4; i++)
		rqe[i]->more->doubt = 1;
	rqe[0]->more->doubt = c.round;
	c.bucket = bucket_of(ps, owner[0]);
	/* which ends then */
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == rqe[0]);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_AGAIN);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	keyed_drain(ps, keyed_worker(ps, 0));
	keyed_end(ps);
}

/* Y-1: nor does it hide from it who stands behind: the last round finds the circle */
static void circle_not_hidden(struct kunit *test)
{
	struct dxk_circles c = { .round = 1, .pass = 1, .met = 1 };
	struct dxk_wait wait = { .wait = DXK_WAIT_JOIN };
	struct puppets *ps = start(test, 2);
	struct dxk_member *m = keyed_worker(ps, 0), *other = keyed_worker(ps, 1);
	struct dxk_rqe *first, *last;
	u64 owner[MANY], beside;
	u32 i, workers;

	owner[0] = in_bucket(ps, 0, 1);
	for (i = 1, beside = 1; i <= MANY; beside++) {
		if (!bucket_of(ps, beside))
			continue;
		if (i < MANY)
			owner[i] = beside;
		i++;
	}
	beside--;
	puppet_post(ps, beside, 0, 0);
	puppet_work(ps, other);
	first = joins(ps, owner[0], beside);
	puppet_post(ps, owner[MANY - 1], 0, PXR_REJOIN);
	last = puppet_work(ps, m);
	for (i = MANY - 1; i--;)
		joins(ps, owner[i], owner[i + 1]);
	wait.owner = owner[0];
	EXPECT_IS(dxk_wait_set(m, last, &wait), 0);
	puppet_end(ps, m, 0, 0);
	/* the first hold of the first pass has met the first one, which ends then */
	first->more->doubt = c.round;
	puppet_end(ps, other, 0, 0);
	EXPECT(puppet_work(ps, other) == first);
	puppet_end(ps, other, 0, 0);
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_FOUND);
	EXPECT_IS(told(ps, &c, &workers), MANY);
	EXPECT_IS(workers, 0);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT(puppet_work(ps, m) == last);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* So many requests of an owner wait for a time. */
static void wait_for_time(struct puppets *ps, u64 owner, u32 nr)
{
	const struct dxk_post_more p = {
		.wait = { .wait = DXK_WAIT_TIME, .deadline = DXK_FOREVER - 1 },
	};

	while (nr--) {
		struct dxk_post_op *post = puppet_poster(ps, ps->main);

		keyed_add(ps, post, owner, 0, PXR_WAIT, &p);
		puppet_posts(ps, post);
		EXPECT_IS(post->err, 0);
	}
}

/* Owners of which many wait for a time: a hold that looks at them has its bound: dxk_hold_end() */
static void circle_bounded(struct kunit *test)
{
	struct puppets *ps = start(test, 1);
	struct dxk_circles c = { .tries = 1 };
	u32 i;

	ps->e->policy.max_requests = 4096;
	ps->e->policy.max_waiting = 4096;
	for (i = 0; i < 64; i++)
		wait_for_time(ps, 1 + i, DXK_CIRCLE_LOOKS);
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_AGAIN);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	keyed_end(ps);
}

/*
 * The same, with one owner of which as many sleep for a time as well, behind another one in its
 * bucket, and where a hold has no look but for these. It would make more than it has in a row.
 */
static void circle_bounded_at_end(struct kunit *test)
{
	struct puppets *ps = start(test, DXK_CIRCLE_LOOKS + 1);
	struct dxk_circles c = { .round = 1, .pass = 1, .bucket = 1 };
	u32 left = DXK_CIRCLE_HOLD - 2 * DXK_CIRCLE_LOOKS, i;
	u64 first = in_bucket(ps, 0, 1), owner = in_bucket(ps, 4, 1);

	ps->e->policy.max_requests = 4096;
	ps->e->policy.max_waiting = 4096;
	puppet_post(ps, first, 0, PXR_REJOIN);
	puppet_work(ps, keyed_worker(ps, DXK_CIRCLE_LOOKS));
	for (i = 0; i < DXK_CIRCLE_LOOKS; i++) {
		puppet_post(ps, owner, 0, 0);
		puppet_work(ps, keyed_worker(ps, i));
		EXPECT(ASLEEP(keyed_call(ps, keyed_worker(ps, i), first, 1, false, true)));
	}
	wait_for_time(ps, owner, DXK_CIRCLE_LOOKS);
	/* an owner costs a look, too, and the buckets before the eighth one none */
	for (i = 1; i < 4; i++, left -= 1 + DXK_CIRCLE_LOOKS)
		wait_for_time(ps, in_bucket(ps, i, 1), DXK_CIRCLE_LOOKS);
	wait_for_time(ps, in_bucket(ps, 4, owner + 1), left - 1);
	for (i = 5; i < 16; i++)
		wait_for_time(ps, in_bucket(ps, i, 1), DXK_CIRCLE_LOOKS);
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_AGAIN);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	for (i = 0; i <= DXK_CIRCLE_LOOKS; i++)
		keyed_drain(ps, keyed_worker(ps, i));
	keyed_end(ps);
}

/* More than a lock hold reports */
#define LONG	140

/* Y-1: all of a long circle are reported, in lock holds that keep to their bound */
static void circle_reported(struct kunit *test)
{
	static const struct dxk_wait for_1 = { .wait = DXK_WAIT_JOIN, .owner = 1 };
	struct dxk_link *links = kunit_kcalloc(test, LONG, sizeof(*links), GFP_KERNEL);
	struct puppets *ps = start(test, 1);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct dxk_circles c = { .tries = 1 };
	u32 i, nr, all = 0;
	struct dxk_rqe *last;

	KUNIT_ASSERT_NOT_NULL(test, links);
	ps->e->policy.max_requests = 4096;
	puppet_post(ps, LONG, 0, PXR_REJOIN);
	last = puppet_work(ps, m);
	for (i = LONG; --i;)
		joins(ps, i, i + 1);
	EXPECT_IS(dxk_wait_set(m, last, &for_1), 0);
	puppet_end(ps, m, 0, 0);
	EXPECT_IS(dxk_circles_look(ps->e, &c), DXK_CIRCLES_FOUND);
	while ((nr = dxk_circle_links(ps->e, &c, links, LONG))) {
		/* each costs a look, and its owner another one */
		EXPECT(nr <= (DXK_CIRCLE_HOLD - 2 * DXK_CIRCLE_LOOKS) / 2);
		all += nr;
	}
	EXPECT_IS(all, LONG);
	dxk_stop_begin(ps->e, ps->e->run.gen, true, false);
	EXPECT(puppet_work(ps, m) == last);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* the looks meet a purge that has still to look at one of the circle: one more look follows */
static void circle_amid_purge(struct kunit *test)
{
	static const struct dxk_wait again = { .wait = DXK_WAIT_AGAIN };
	struct puppets *ps = start(test, 2);
	struct dxk_circles c = { };
	struct dxk_rqe *a, *b;
	struct dxk_rejoin_op *r;
	u32 nr[DXK_PLACES], i;

	b = keyed_send(ps, ps->main, 7, 3, DXK_REENTRY_NONE);
	EXPECT(puppet_work(ps, keyed_worker(ps, 1)) == b);
	a = keyed_send(ps, ps->main, 7, 1, DXK_REENTRY_NONE);
	EXPECT_IS(dxk_wait_set(keyed_worker(ps, 1), b, &again), 0);
	puppet_end(ps, keyed_worker(ps, 1), 0, 0);
	keyed_is_held(ps, b);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == a);
	spin_lock(&ps->e->lock);
	dxk_purge_begin(ps->e, b->owner);
	spin_unlock(&ps->e->lock);
	r = keyed_call(ps, keyed_worker(ps, 0), 3, 1, false, false);
	EXPECT(ASLEEP(r));
	EXPECT(ps->e->waits.unsure);
	c.since = 1;
	for (i = 0; i < 10; i++)
		dxk_circles_look(ps->e, &c);
	/* the purge is over, and what it has told still waits */
	dxk_purge_owner(ps->main, 3, nr);
	keyed_is_held(ps, b);
	EXPECT(ASLEEP(r));
	EXPECT_IS(look(ps, &c), DXK_CIRCLES_FOUND);
	EXPECT_IS(told(ps, &c, nr), 2);
	EXPECT_IS(puppet_time_up(ps, &r->w), -ETIMEDOUT);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	EXPECT(puppet_work(ps, keyed_worker(ps, 0)) == b);
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

static struct kunit_case circle_cases[] = {
	KUNIT_CASE(circle_ring),
	KUNIT_CASE(circle_none),
	KUNIT_CASE(circle_expires),
	KUNIT_CASE(circle_or),
	KUNIT_CASE(circle_comes_back),
	KUNIT_CASE(circle_outrun),
	KUNIT_CASE(circle_held),
	KUNIT_CASE(circle_first_pass),
	KUNIT_CASE(circle_earlier),
	KUNIT_CASE(circle_missed),
	KUNIT_CASE(circle_no_doubt),
	KUNIT_CASE(circle_wakes),
	KUNIT_CASE(circle_own),
	KUNIT_CASE(circle_joins),
	KUNIT_CASE(circle_joins_timed),
	KUNIT_CASE(circle_crowd),
	KUNIT_CASE(circle_keys),
	KUNIT_CASE(circle_enters),
	KUNIT_CASE(circle_held_joined),
	KUNIT_CASE(circle_enters_joined),
	KUNIT_CASE(circle_enters_result),
	KUNIT_CASE(circle_given_back),
	KUNIT_CASE(circle_hidden),
	KUNIT_CASE(circle_not_hidden),
	KUNIT_CASE(circle_bounded),
	KUNIT_CASE(circle_bounded_at_end),
	KUNIT_CASE(circle_reported),
	KUNIT_CASE(circle_amid_purge),
	{}
};

static struct kunit_suite circle_suite = {
	.name = "dxk_circle",
	.exit = puppets_end,
	.test_cases = circle_cases,
};
kunit_test_suite(circle_suite);
