// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * What time does to requests: those that wait age, and while samples are taken it is
 * counted how long they waited and ran.
 */
#include "engine/name.h"
#include "engine/tests/puppet.h"
#include "engine/wait.h"

/* DX-36, DX-59, DX-60, DX-63, DX-65: what ticks add is what is told */
static void times_ageing(struct kunit *test)
{
	static const struct { s32 prio; u32 attrs; s32 want; } rows[] = {
		{ S32_MAX - 1, 0, S32_MAX }, { 100, 0, 103 }, { 50, PXR_BOOST, 65 },
		{ S32_MIN, 0, S32_MIN + 3 },
	};
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	struct dxk_rqe *rqe = NULL;
	u32 i;

	ps->e->policy.prio_policy = PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST;
	ps->e->policy.boost_value = 4;
	dxk_tick(ps->e);
	for (i = 0; i < ARRAY_SIZE(rows); i++)
		puppet_post(ps, 2, rows[i].prio, rows[i].attrs);
	for (i = 0; i < 3; i++)
		dxk_tick(ps->e);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		rqe = puppet_work(ps, worker);
		EXPECT_IS(rqe->param, i + 1);
		EXPECT_IS(rqe->prio, rows[i].want);
		EXPECT_IS(rqe->inspect, 3);
	}
	/* frozen at the dispatch */
	dxk_tick(ps->e);
	EXPECT_IS(rqe->prio, rows[3].want);
	EXPECT_IS(rqe->inspect, 3);
	/* without the bits it is only seen */
	ps->e->policy.prio_policy = 0;
	puppet_post(ps, 2, 7, PXR_BOOST);
	dxk_tick(ps->e);
	rqe = puppet_work(ps, worker);
	EXPECT_IS(rqe->prio, 7);
	EXPECT_IS(rqe->inspect, 1);
	/* boosting alone does nothing (DX-62) */
	ps->e->policy.prio_policy = PRIO_POLICY_BOOST;
	puppet_post(ps, 2, 7, PXR_BOOST);
	dxk_tick(ps->e);
	EXPECT_IS(puppet_work(ps, worker)->prio, 7);
	ps->e->policy.prio_policy = PRIO_POLICY_AGERQS;
	puppet_post(ps, 2, 7, PXR_BOOST);
	dxk_tick(ps->e);
	EXPECT_IS(puppet_work(ps, worker)->prio, 8);
}

static u64 counted(const u64 *bucket)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < DXK_LATENCY_BUCKETS; i++)
		sum += bucket[i];
	return sum;
}

/* While samples are taken: how long requests waited and ran, by lane. */
static void times_latencies(struct kunit *test)
{
	static const u64 waited[] = { 0, 1, 1023, 1024, U64_MAX };
	static const u32 bucket[] = { 0, 0, 9, 10, DXK_LATENCY_BUCKETS - 1 };
	struct puppets *ps = puppets_workers(test, 1);
	struct dxk_member *worker = puppet_worker(ps);
	u64 (*ns)[DXK_LANES][DXK_LATENCY_BUCKETS] = ps->e->latencies.ns;
	struct dxk_rqe *rqe;
	u32 i;

	puppet_post(ps, 0, 0, 0);
	EXPECT_IS(puppet_work(ps, worker)->posted, 0);
	puppet_end(ps, worker, 0, 0);
	ps->e->policy.sample_interval_ms = 1;
	for (i = 0; i < ARRAY_SIZE(waited); i++) {
		u64 before = ns[DXK_LATENCY_WAIT][2][bucket[i]], now = os_now();

		puppet_post(ps, 0, 0, PXR_LANE2);
		rqe = puppet_work(ps, worker);
		EXPECT(rqe->posted >= now);
		rqe->started = os_now() - (3ULL << 36);
		rqe->posted = rqe->started - waited[i];
		puppet_end(ps, worker, 0, 0);
		EXPECT_IS(ns[DXK_LATENCY_WAIT][2][bucket[i]], before + 1);
	}
	EXPECT_IS(counted(ns[DXK_LATENCY_WAIT][2]), ARRAY_SIZE(waited));
	EXPECT_IS(ns[DXK_LATENCY_RUN][2][37], ARRAY_SIZE(waited));
	EXPECT_IS(counted(ns[DXK_LATENCY_RUN][2]), ARRAY_SIZE(waited));
	EXPECT_IS(counted(ns[DXK_LATENCY_WAIT][3]) + counted(ns[DXK_LATENCY_RUN][3]), 0);
}

/* Who has begun with a wait waits for a worker only from its end on. */
static void times_after_wait(struct kunit *test)
{
	struct dxk_policy p = puppet_policy(1);
	struct puppets *ps;
	struct dxk_member *worker;
	u64 now;
	u32 i;

	p.max_waiting = 1;
	ps = puppets_start(test, &p);
	ASSERT_IS(dxk_names_start(ps->e), 0);
	worker = puppet_worker(ps);
	for (i = 0; i < 2; i++) {
		const struct dxk_wait wait = { .wait = DXK_WAIT_TIME, .deadline = 1 };
		struct dxk_rqe *rqe;

		ps->e->policy.sample_interval_ms = i;
		puppet_post(ps, 0, 0, 0);
		rqe = puppet_work(ps, worker);
		EXPECT_IS(dxk_wait_set(worker, rqe, &wait), 0);
		rqe->started = rqe->posted;
		now = os_now();
		puppet_end(ps, worker, 0, 0);
		EXPECT(puppet_work(ps, worker) == rqe);
		if (i)
			EXPECT(rqe->posted >= now);
		else
			EXPECT_IS(rqe->posted, 0);
		puppet_end(ps, worker, 0, 0);
	}
}

static struct kunit_case times_cases[] = {
	KUNIT_CASE(times_ageing),
	KUNIT_CASE(times_latencies),
	KUNIT_CASE(times_after_wait),
	{ }
};

static struct kunit_suite times_suite = {
	.name = "dxk_times",
	.exit = puppets_end,
	.test_cases = times_cases,
};

kunit_test_suite(times_suite);
