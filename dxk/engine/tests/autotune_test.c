// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * A crew of the size that it does most with: which intervals count, and what becomes of the
 * crew. The search itself is tune_test.c's.
 */
#include "engine/autotune.h"
#include "engine/calls.h"
#include "engine/onblock.h"
#include "engine/policy.h"
#include "engine/tests/puppet.h"

#define OWNER	5
#define SECOND	((u64)NSEC_PER_SEC)

/* So many places, one worker to begin with, and what is enough for all. */
static struct puppets *crew_of(struct kunit *test, u32 places, u32 kernel)
{
	struct dxk_policy p = puppet_policy(places);
	struct puppets *ps;

	p.max_threads = places;
	p.kernel_threads = kernel;
	p.min_threads = 1;
	p.autotune = 1;
	ps = puppets_start(test, &p);
	EXPECT_IS(ps->e->crew.most, U32_MAX);
	return ps;
}

static struct dxk_member *joins(struct puppets *ps)
{
	struct dxk_member *m = puppet_worker(ps);

	puppet_work(ps, m);
	return m;
}

static bool look(struct puppets *ps, struct dxk_tune_step *step)
{
	bool over;

	memset(step, 0xa5, sizeof(*step));
	over = dxk_autotune_look(ps->e, step);
	EXPECT(!dxk_autotune_look(ps->e, step));
	return over;
}

/* As if so much had been done in a second. */
static bool passes(struct puppets *ps, u64 done, struct dxk_tune_step *step)
{
	EXPECT(ps->e->autotune.runs);
	ps->e->autotune.since -= SECOND;
	ps->e->autotune.done -= done;
	return look(ps, step);
}

/* User workers whose process starts them are as many as the search says. */
static void autotune_users(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 4, 0);
	struct dxk_autotune *a = &ps->e->autotune;
	struct dxk_tune_step step;
	struct dxk_member *m[4];
	struct dxk_crew_op *c;
	struct dxk_policy p;

	/* nobody is there yet who would start more */
	EXPECT(!look(ps, &step));
	EXPECT_IS(ps->e->crew.most, 0);
	EXPECT_IS(dxk_crew_most(&ps->e->crew, &ps->e->policy, DXK_USER), 4);
	c = puppet_manager(ps, true);
	EXPECT_IS(c->workers, 1);
	EXPECT(!look(ps, &step));
	EXPECT_IS(ps->e->crew.most, 1);
	puppet_post_nr(ps, ps->main, 60, OWNER, 0);
	EXPECT_IS(dxk_autotune_begin(ps->e), 100 / 8);
	EXPECT(!a->runs);
	m[0] = puppet_worker(ps);
	/* it has not come */
	EXPECT_IS(dxk_autotune_begin(ps->e), 100 / 8);
	EXPECT(!a->runs);
	puppet_work(ps, m[0]);
	EXPECT_IS(dxk_autotune_begin(ps->e), 100);
	EXPECT(a->runs);
	/* there is work for more, and no more are asked for */
	c = puppet_manager(ps, true);
	EXPECT(ASLEEP(c));
	EXPECT(!look(ps, &step));
	EXPECT(passes(ps, 1000, &step));
	EXPECT_IS(step.from, 1);
	EXPECT_IS(step.to, 2);
	EXPECT_IS(ps->e->crew.most, 2);
	EXPECT_IS(ps->e->stats.tune_intervals, 1);
	EXPECT_IS(ps->e->stats.tune_steps, 1);
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->workers, 1);
	m[1] = joins(ps);
	dxk_autotune_begin(ps->e);
	EXPECT(passes(ps, 2000, &step));
	EXPECT(step.kept && !step.settled);
	EXPECT_IS(step.base, 2);
	EXPECT_IS(step.to, 3);
	EXPECT(step.rate > 1900000 && step.rate <= 2000000);
	EXPECT_IS(step.rate, step.best);
	m[2] = joins(ps);
	dxk_autotune_begin(ps->e);
	/* the third is in the way: it is to leave */
	EXPECT(passes(ps, 1500, &step));
	EXPECT(!step.kept);
	EXPECT_IS(step.to, 2);
	EXPECT_IS(dxk_crew_most(&ps->e->crew, &ps->e->policy, DXK_USER), 2);
	dxk_autotune_begin(ps->e);
	EXPECT(!a->runs);
	dxk_member_do(m[2], dxk_leave_run);
	dxk_autotune_begin(ps->e);
	EXPECT(a->runs);
	EXPECT_IS(puppet_end(ps, m[2], 0, 1)->err, -ESHUTDOWN);
	puppet_dies(ps, m[2]);
	c = puppet_manager(ps, true);
	EXPECT(ASLEEP(c));
	/* it is turned off: need alone says */
	p = ps->e->policy;
	p.autotune = 0;
	dxk_enforce(ps->e, &p);
	EXPECT_IS(ps->e->crew.most, U32_MAX);
	EXPECT(!a->on);
	EXPECT(!ASLEEP(c));
	EXPECT_IS(c->workers, 2);
	EXPECT(!look(ps, &step));
}

/* An interval in which a worker had nothing to do, or that ends without a backlog, is none. */
static void autotune_lull(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 4, 0);
	struct dxk_tune_step step;
	struct dxk_next_op *n;
	struct dxk_member *m;

	puppet_manager(ps, true);
	look(ps, &step);
	m = puppet_worker(ps);
	n = puppet_turn(ps, m, 1);
	EXPECT(ASLEEP(n));
	EXPECT_IS(ps->e->crew.lulls[DXK_USER], 1);
	/* nothing is Ready */
	EXPECT_IS(dxk_autotune_begin(ps->e), 100);
	EXPECT(!ps->e->autotune.runs);
	puppet_post_nr(ps, ps->main, 3, OWNER, 0);
	puppet_fetch(n);
	dxk_autotune_begin(ps->e);
	/* what is Ready runs out, and comes again */
	puppet_fetch(puppet_end(ps, m, 0, 1));
	puppet_fetch(puppet_end(ps, m, 0, 1));
	n = puppet_end(ps, m, 0, 1);
	EXPECT(ASLEEP(n));
	puppet_post_nr(ps, ps->main, 3, OWNER, 0);
	puppet_fetch(n);
	EXPECT(passes(ps, 1000, &step));
	EXPECT_IS(step.to, 1);
	EXPECT_IS(ps->e->stats.tune_intervals, 0);
	dxk_autotune_begin(ps->e);
	EXPECT(passes(ps, 1000, &step));
	EXPECT_IS(step.to, 2);
	/* it does not get the second one: it goes back */
	dxk_autotune_begin(ps->e);
	EXPECT(!ps->e->autotune.runs);
	ps->e->autotune.since -= SECOND;
	EXPECT(look(ps, &step));
	EXPECT_IS(step.to, 1);
	EXPECT_IS(ps->e->stats.tune_intervals, 1);
	EXPECT_IS(ps->e->stats.tune_steps, 2);
	/* at the end nothing is Ready */
	dxk_autotune_begin(ps->e);
	puppet_fetch(puppet_end(ps, m, 0, 1));
	puppet_fetch(puppet_end(ps, m, 0, 1));
	EXPECT_IS(ps->e->nr[DXK_AT_READY], 0);
	EXPECT(passes(ps, 1000, &step));
	EXPECT_IS(ps->e->stats.tune_intervals, 1);
	EXPECT_IS(step.from, step.to);
}

/* With few requests an interval lasts until one more or less makes no difference. */
static void autotune_rounds(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 4, 0);
	struct dxk_autotune *a = &ps->e->autotune;
	struct dxk_tune_step step;

	puppet_manager(ps, true);
	look(ps, &step);
	puppet_post_nr(ps, ps->main, 3, OWNER, 0);
	joins(ps);
	dxk_autotune_begin(ps->e);
	EXPECT(!passes(ps, DXK_TUNE_ROUNDS - 1, &step));
	EXPECT_IS(dxk_autotune_begin(ps->e), 100);
	EXPECT(passes(ps, 1, &step));
	/* half the rate of 32 in a second */
	EXPECT(step.rate > 15900 && step.rate <= 16000);
	/* and the Monitor's interval, if there are many */
	joins(ps);
	dxk_autotune_begin(ps->e);
	a->done -= 1000;
	EXPECT(!look(ps, &step));
	EXPECT_IS(step.from, 0xa5a5a5a5);
}

/* Of the kernel's the Monitor starts as many; it is awake while they execute. */
static void autotune_kernel(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 6, 4);
	struct dxk_engine *e = ps->e;
	struct dxk_tune_step step;
	struct dxk_policy p;
	struct dxk_member *m;

	EXPECT(!look(ps, &step));
	EXPECT_IS(e->autotune.tune.hi, 4);
	EXPECT_IS(dxk_workers_wanted(e, DXK_KERNEL), 1);
	m = puppet_member(ps, DXK_ROLE_WORKER, DXK_KERNEL, false);
	EXPECT(dxk_monitor_rest(e, false));
	puppet_post_nr(ps, ps->main, 60, OWNER, PXR_KERNEL);
	puppet_work(ps, m);
	EXPECT_IS(ps->kick & BIT(DXK_MONITOR), BIT(DXK_MONITOR));
	EXPECT(!dxk_monitor_rest(e, false));
	EXPECT_IS(dxk_workers_wanted(e, DXK_KERNEL), 0);
	dxk_autotune_begin(e);
	EXPECT_IS(e->autotune.kinds, BIT(DXK_KERNEL));
	EXPECT(passes(ps, 1000, &step));
	EXPECT_IS(dxk_workers_wanted(e, DXK_KERNEL), 1);
	/* user workers come by themselves, and stay */
	EXPECT_IS(dxk_crew_most(&e->crew, &e->policy, DXK_USER), 2);
	/* fewer than the policy wants are never asked for */
	e->crew.most = 0;
	EXPECT_IS(dxk_crew_most(&e->crew, &e->policy, DXK_KERNEL), 1);
	/* without a number to begin with all stay */
	p = e->policy;
	p.min_threads = 0;
	dxk_enforce(e, &p);
	EXPECT(!look(ps, &step));
	EXPECT_IS(dxk_workers_wanted(e, DXK_KERNEL), 3);
	EXPECT_IS(dxk_autotune_begin(e), 100);
	EXPECT(dxk_monitor_rest(e, false));
}

/* The end of a search is told once; an interval after it ends none. */
static void autotune_settles(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 1, 0);
	struct dxk_tune_step step;

	puppet_manager(ps, true);
	look(ps, &step);
	puppet_post_nr(ps, ps->main, 3, OWNER, 0);
	joins(ps);
	dxk_autotune_begin(ps->e);
	EXPECT(passes(ps, 1000, &step));
	EXPECT_IS(ps->e->autotune.tune.phase, DXK_TUNE_STAY);
	EXPECT_IS(step.settled, true);
	dxk_autotune_begin(ps->e);
	EXPECT(passes(ps, 1000, &step));
	EXPECT_IS(ps->e->autotune.tune.phase, DXK_TUNE_STAY);
	EXPECT_IS(step.settled, false);
}

/* Other limits come into force while it runs, and the next run begins anew. */
static void autotune_limits(struct kunit *test)
{
	struct puppets *ps = crew_of(test, 9, 9);
	struct dxk_engine *e = ps->e;
	struct dxk_tune_step step;

	look(ps, &step);
	EXPECT_IS(e->crew.most, 1);
	e->policy.min_threads = 4;
	look(ps, &step);
	EXPECT_IS(e->crew.most, 4);
	EXPECT_IS(e->autotune.tune.hi, 9);
	e->policy.max_threads = e->policy.kernel_threads = 3;
	look(ps, &step);
	EXPECT_IS(e->crew.most, 3);
	EXPECT_IS(e->stats.tune_steps, 0);
	spin_lock(&e->lock);
	dxk_crew_untune(e);
	spin_unlock(&e->lock);
	EXPECT_IS(e->crew.most, U32_MAX);
	EXPECT_IS(dxk_autotune_begin(e), 100);
}

static struct kunit_case autotune_cases[] = {
	KUNIT_CASE(autotune_users),
	KUNIT_CASE(autotune_lull),
	KUNIT_CASE(autotune_rounds),
	KUNIT_CASE(autotune_kernel),
	KUNIT_CASE(autotune_settles),
	KUNIT_CASE(autotune_limits),
	{ }
};

static struct kunit_suite autotune_suite = {
	.name = "dxk_autotune",
	.exit = puppets_end,
	.test_cases = autotune_cases,
};

kunit_test_suite(autotune_suite);
