// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Calls as threads make them: what they do beside the operations that other suites perform.
 */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "engine/key.h"
#include "engine/key_call.h"
#include "engine/more.h"
#include "engine/tests/keyed.h"

#define KEY	7
#define MANY	(3 * DXK_HOLD_BUDGET)

static struct puppets *waits(struct kunit *test)
{
	struct dxk_policy policy = puppet_policy(4);

	policy.on_block = DXK_ON_BLOCK_SPARE;
	policy.max_spares = 1;
	return keyed_start(test, &policy, 2);
}

/* One more request. Return: the error of its post. */
static int post(struct puppets *ps, u32 attrs, const struct dxk_post_more *p)
{
	struct dxk_post_op *post = puppet_poster(ps, ps->main);

	keyed_add(ps, post, 1, 0, attrs, p);
	puppet_posts(ps, post);
	return post->err;
}

/* R-4, AG-29: nothing may wait under the policy, so nothing has a name or a key. */
static void calls_without_waits(struct kunit *test)
{
	struct puppets *ps = puppets_workers(test, 1);
	u64 name = 5;

	EXPECT_IS(dxk_key_hold_back(ps->main, KEY, false), -EOPNOTSUPP);
	EXPECT_IS(dxk_wake_names(ps->main, &name, 1), -EOPNOTSUPP);
	EXPECT_IS(dxk_cancel_names(ps->main, &name, 1, NULL), -EOPNOTSUPP);
}

/* as many names as a call takes, which are more than a lock hold can afford */
static void calls_names(struct kunit *test)
{
	struct dxk_post_more p = { .wait = { .wait = DXK_WAIT_CALL } };
	struct puppets *ps = waits(test);
	u32 state[DXK_BATCH_MAX], i;
	u64 name[DXK_BATCH_MAX];

	for (i = 0; i < DXK_BATCH_MAX; i++) {
		p.name = name[i] = 1 + i;
		EXPECT_IS(post(ps, PXR_NAMED | PXR_WAIT, &p), 0);
	}
	EXPECT_IS(dxk_wake_names(ps->main, name, 1), 1);
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 1);
	EXPECT_IS(dxk_cancel_names(ps->main, name, DXK_BATCH_MAX, state), DXK_BATCH_MAX);
	for (i = 0; i < DXK_BATCH_MAX; i++)
		EXPECT_IS(state[i], DXK_CANCEL_ENDED);
	EXPECT_IS(dxk_live(ps->e), 0);
	EXPECT_IS(dxk_wake_names(ps->main, name, DXK_BATCH_MAX), -ENOENT);
	keyed_end(ps);
}

/* AG-29, AG-30, AG-31: a key is held back, released, and what waits for it is cancelled */
static void calls_on_keys(struct kunit *test)
{
	static const struct dxk_post_more p = { .key = KEY };
	struct puppets *ps = waits(test);
	struct dxk_engine *e = ps->e;
	u32 i;

	os_failing = 1;
	EXPECT_IS(dxk_key_hold_back(ps->main, KEY, false), -ENOMEM);
	os_failing = 0;
	EXPECT_IS(dxk_key_hold_back(ps->main, KEY, false), 0);
	EXPECT_IS(post(ps, PXR_KEY, &p), 0);
	EXPECT_IS(e->nr[DXK_AT_WAIT], 1);
	EXPECT_IS(dxk_key_release(ps->main, KEY + 1), -ENOENT);
	EXPECT_IS(dxk_key_release(ps->main, KEY), 0);
	EXPECT_IS(e->nr[DXK_AT_READY], 1);
	EXPECT_IS(dxk_key_cancel(ps->main, KEY + 1), -ENOENT);
	for (i = 0; i < MANY; i++)
		EXPECT_IS(post(ps, PXR_KEY, &p), 0);
	EXPECT_IS(dxk_key_cancel(ps->main, KEY), MANY + 1);
	EXPECT_IS(dxk_live(e), 0);
	/* posts are refused, too */
	EXPECT_IS(dxk_key_hold_back(ps->main, KEY, true), 0);
	EXPECT_IS(post(ps, PXR_KEY, &p), -ECANCELED);
	dxk_stop_begin(e, e->run.gen, true, false);
	EXPECT_IS(dxk_key_hold_back(ps->main, KEY, false), -ESHUTDOWN);
	keyed_end(ps);
}

struct pair {
	struct puppets *ps;
	struct dxk_member *holder;
	sem_t holds;
	u64 sleeps;	/* stats.key_blocks when the other one sleeps for the key */
};

static u64 sleeps_of(struct dxk_engine *e)
{
	u64 nr;

	spin_lock(&e->lock);
	nr = e->stats.key_blocks;
	spin_unlock(&e->lock);
	return nr;
}

/* Who has the key ends when the other one sleeps for it. */
static void *ends(void *arg)
{
	struct pair *p = arg;
	struct dxk_next_op n = { .m = p->holder };

	sem_wait(&p->holds);
	while (sleeps_of(p->ps->e) < p->sleeps)
		usleep(1000);
	INIT_LIST_HEAD(&n.done);
	list_splice_init(&p->holder->busy, &n.done);
	dxk_next(&n, DXK_FOREVER);
	return NULL;
}

static void begins(void *arg)
{
	struct pair *p = arg;

	puppet_work(p->ps, p->holder);
	sem_post(&p->holds);
}

static int ask(struct dxk_member *m, u32 what, u64 deadline)
{
	struct dxk_key_op k = {
		.m = m, .what = what, .patient = true, .timed_out = true,
		.rqe = list_last_entry(&m->busy, struct dxk_rqe, link),
	};

	return dxk_key_ask(&k, deadline);
}

/* AG-23: only a wait has a deadline, and only until that has come */
static void calls_key_ask(struct kunit *test)
{
	struct puppets *ps = waits(test);
	struct dxk_member *m = keyed_worker(ps, 0);
	struct pair pair = { .ps = ps, .holder = keyed_worker(ps, 1) };
	pthread_t thread;

	keyed_send(ps, ps->main, KEY, 1, DXK_REENTRY_NONE);
	keyed_send(ps, ps->main, KEY, 1, DXK_REENTRY_NONE);
	puppet_work(ps, m);
	EXPECT_IS(ask(m, DXK_KEY_LEAVE, 1), 0);
	EXPECT_IS(sem_init(&pair.holds, 0, 0), 0);
	begins(&pair);
	os_interrupt(os_self());
	EXPECT_IS(ask(m, DXK_KEY_ENTER, 1), -ERESTARTSYS);
	EXPECT_IS(dxk_member_state(m), DXK_M_BUSY);
	pair.sleeps = sleeps_of(ps->e) + 1;
	EXPECT_IS(pthread_create(&thread, NULL, ends, &pair), 0);
	EXPECT_IS(ask(m, DXK_KEY_ENTER, 1), 0);
	pthread_join(thread, NULL);
	EXPECT_IS(dxk_member_state(m), DXK_M_BUSY);
	EXPECT_IS(ask(m, DXK_KEY_WAIT, 1), -ETIMEDOUT);
	/* another one has it when the deadline comes: it sleeps once more */
	keyed_send(ps, ps->main, KEY, 1, DXK_REENTRY_NONE);
	pair.sleeps = sleeps_of(ps->e) + 2;
	os_late_arg = &pair;
	os_late = begins;
	EXPECT_IS(pthread_create(&thread, NULL, ends, &pair), 0);
	EXPECT_IS(ask(m, DXK_KEY_WAIT, 1), -ETIMEDOUT);
	pthread_join(thread, NULL);
	EXPECT_IS(ps->e->stats.key_blocks, pair.sleeps);
	sem_destroy(&pair.holds);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* FO-36: a patient mark has a deadline, and a signal ends its sleep */
static void calls_mark(struct kunit *test)
{
	struct puppets *ps = waits(test);
	struct dxk_member *m = keyed_worker(ps, 0);

	puppet_manager(ps, true);
	puppet_post(ps, 1, 0, 0);
	puppet_work(ps, m);
	EXPECT_IS(ask(m, DXK_KEY_BLOCK, 1), -EAGAIN);
	os_interrupt(os_self());
	EXPECT_IS(ask(m, DXK_KEY_BLOCK, DXK_FOREVER), -ERESTARTSYS);
	EXPECT_IS(ps->e->stats.place_blocks, 2);
	EXPECT_IS(ask(m, DXK_KEY_UNBLOCK, 1), -EPERM);
	EXPECT_IS(dxk_member_state(m), DXK_M_BUSY);
	puppet_end(ps, m, 0, 0);
	keyed_end(ps);
}

/* A request that is Ready can be had back, one that executes cannot. */
static void calls_take_back(struct kunit *test)
{
	struct puppets *ps = waits(test);
	struct dxk_post_op *p = puppet_poster(ps, ps->main);
	struct dxk_rqe *rqe;

	puppet_add(ps, p, 1, 0, 0);
	rqe = list_first_entry(&p->rqes, struct dxk_rqe, link);
	puppet_posts(ps, p);
	EXPECT(dxk_take_back(ps->e, rqe));
	EXPECT_IS(rqe->status, -ECANCELED);
	EXPECT_IS(dxk_live(ps->e), 0);
	dxk_rqe_drop(ps->main, rqe);
	puppet_post(ps, 1, 0, 0);
	rqe = puppet_work(ps, keyed_worker(ps, 0));
	EXPECT(!dxk_take_back(ps->e, rqe));
	puppet_end(ps, keyed_worker(ps, 0), 0, 0);
	keyed_end(ps);
}

static struct kunit_case calls_cases[] = {
	KUNIT_CASE(calls_without_waits),
	KUNIT_CASE(calls_names),
	KUNIT_CASE(calls_on_keys),
	KUNIT_CASE(calls_key_ask),
	KUNIT_CASE(calls_mark),
	KUNIT_CASE(calls_take_back),
	{ }
};

static struct kunit_suite calls_suite = {
	.name = "native_calls",
	.exit = puppets_end,
	.test_cases = calls_cases,
};

kunit_test_suite(calls_suite);
