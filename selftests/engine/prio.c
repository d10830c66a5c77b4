// SPDX-License-Identifier: GPL-2.0-only
/*
 * Priority, ageing and boosting with the Scheduler's own ticks (DX-36, DX-56..
 * DX-66, DX-86, S-1..S-4).
 *
 * Ticks come when they come. How many a request has seen is in its inspect_count,
 * and what is expected is computed from that; a test only waits long enough for
 * the count it wants to be likely, and tries again when it missed it.
 */
#include "lib/puppet.h"

FIXTURE(prio) {
	struct dxt t;
	struct puppet *worker;
};

FIXTURE_SETUP(prio)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.sched_interval_ms = 20;
	puppet_signals(false);
}

FIXTURE_TEARDOWN(prio)
{
	if (self->worker)
		puppet_free(self->worker);
	dxt_down(&self->t);
}

#define START(prio_policy_, boost_value_) ({				\
	self->t.policy.prio_policy = prio_policy_;			\
	self->t.policy.boost_value = boost_value_;			\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	self->worker = puppet_new(&self->t, DXK_MEMBER_WORKER);		\
	ASSERT_NE(NULL, self->worker);					\
})

/* All in one lock hold: they have seen the same ticks for ever. */
static int post(struct dxt *t, const struct dxk_post_entry *e, unsigned int nr)
{
	struct dxk_post p;

	return dxt_post(t->member, e, nr, 0, &p);
}

static int post1(struct dxt *t, uint64_t param, int prio, uint32_t attrs)
{
	struct dxk_post_entry e = prio_entry(1, param, prio, attrs);

	return post(t, &e, 1);
}

/* The next request of the worker, which ends at once. */
static struct dxk_work *next(struct puppet *worker)
{
	static struct dxk_work none = { .param = ~0ULL };

	if (puppet_fetch(worker) != 1)
		return &none;
	/* stays readable there */
	if (puppet_finish(worker, 0))
		return &none;
	return &worker->work[0];
}

static int cmp_prio(const void *a, const void *b)
{
	const struct dxk_post_entry *x = a, *y = b;

	if (x->prio != y->prio)
		return x->prio > y->prio ? -1 : 1;
	return x->param < y->param ? -1 : 1;
}

/* DX-56, DX-57, DX-86: order of execution is order of priority, ties FIFO. */
TEST_F(prio, one_worker_executes_in_order_of_priority)
{
	enum { NR = 200 };
	struct dxk_post_entry e[NR];
	uint64_t seed = dxt_now();
	struct dxt *t = &self->t;
	unsigned int i;

	START(0, 1);
	TH_LOG("seed %llu", (unsigned long long)seed);
	for (i = 0; i < NR; i++)
		e[i] = prio_entry(1, i, (int)(rnd(&seed) % 21) - 10,
				  rnd(&seed) & 1 ? PXR_BOOST : 0);
	e[17].prio = INT32_MAX;
	e[18].prio = INT32_MIN;
	for (i = 0; i < NR; i += 50)
		ASSERT_EQ(50, post(t, e + i, 50));
	qsort(e, NR, sizeof(e[0]), cmp_prio);
	for (i = 0; i < NR; i++) {
		struct dxk_work *w = next(self->worker);

		ASSERT_EQ(e[i].param, w->param);
		EXPECT_EQ(e[i].prio, w->prio);
	}
}

/* DX-36, DX-59: 0 before the first tick, and neither more nor less than there were. */
TEST_F(prio, inspect_count_is_the_ticks_seen)
{
	struct dxt *t = &self->t;
	uint64_t interval, begin, end;
	struct dxk_work *w;
	unsigned int i;

	START(0, 1);
	interval = t->policy.sched_interval_ms * DXT_MS;
	/* dispatched in the lock hold of its post */
	ASSERT_TRUE(puppet_ask(self->worker));
	ASSERT_EQ(1, post1(t, 0, 0, 0));
	ASSERT_EQ(1, puppet_end(self->worker));
	EXPECT_EQ(0, self->worker->work[0].inspect_count);
	ASSERT_EQ(0, puppet_finish(self->worker, 0));

	for (i = 0; i < 5; i++) {
		begin = dxt_now();
		ASSERT_EQ(1, post1(t, 1, 0, 0));
		dxt_sleep_ms(i * 30);
		w = next(self->worker);
		end = dxt_now();
		ASSERT_EQ(1, w->param);
		/* the grid has so many points in that time, or one more */
		EXPECT_LE(w->inspect_count, (end - begin) / interval + 1);
	}
	/* and each comes in its time, if the guest is let run: ten intervals have ten */
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(1, post1(t, 2, 0, 0));
		begin = dxt_now();
		dxt_sleep_ms(10 * t->policy.sched_interval_ms);
		end = dxt_now();
		w = next(self->worker);
		if (w->inspect_count >= (end - begin) / interval)
			break;
	}
	EXPECT_LT(i, 100);
	EXPECT_GE(w->inspect_count, 10);
}

/* Waits until a request that is posted now has seen @ticks ticks. */
static bool wait_ticks(struct dxt *t, struct puppet *worker, unsigned int ticks)
{
	unsigned int i;

	/* the probe is first in the pool as soon as it is asked for */
	for (i = 0; i < 200; i++) {
		struct dxk_work *w;

		if (post1(t, 12345, INT32_MAX, 0) != 1)
			return false;
		dxt_sleep_ms(t->policy.sched_interval_ms * (ticks + 1));
		w = next(worker);
		if (w->param != 12345)
			return false;
		if (w->inspect_count >= ticks)
			return true;
	}
	return false;
}

FIXTURE(ageing) {
	struct dxt t;
	struct puppet *worker;
};

FIXTURE_VARIANT(ageing) {
	unsigned int policy, boost;
	int plain, boosted;	/* gain per tick */
};

#define VARIANT(_name, _policy, _boost, _plain, _boosted)		\
	FIXTURE_VARIANT_ADD(ageing, _name) {				\
		.policy = _policy, .boost = _boost,			\
		.plain = _plain, .boosted = _boosted,			\
	}

VARIANT(off, 0, 4, 0, 0);
VARIANT(boost_alone, PRIO_POLICY_BOOST, 4, 0, 0);
VARIANT(ageing, PRIO_POLICY_AGERQS, 4, 1, 1);
VARIANT(ageing_and_boost, PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, 4, 1, 5);
VARIANT(boost_value_0, PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, 0, 1, 1);
VARIANT(boost_value_max, PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, 65536, 1, 65537);

FIXTURE_SETUP(ageing)
{
	struct dxt *t = &self->t;

	ASSERT_EQ(0, dxt_open(t));
	t->policy.sched_interval_ms = 10;
	t->policy.prio_policy = variant->policy;
	t->policy.boost_value = variant->boost;
	ASSERT_EQ(0, dxt_start(t));
	self->worker = puppet_new(t, DXK_MEMBER_WORKER);
}

FIXTURE_TEARDOWN(ageing)
{
	puppet_free(self->worker);
	dxt_down(&self->t);
}

/* DX-59, DX-60, DX-61, DX-62: what a request gains in a tick; nothing else. */
TEST_F(ageing, gain_per_tick)
{
	struct dxk_post_entry e[2] = {
		prio_entry(1, 0, -3, PXR_REJOIN),
		prio_entry(1, 1, -3, PXR_REJOIN | PXR_BOOST),
	};
	struct dxt *t = &self->t;
	struct dxk_result r[2];
	int i;

	ASSERT_EQ(2, post(t, e, 2));
	ASSERT_TRUE(wait_ticks(t, self->worker, 5));
	for (i = 0; i < 2; i++) {
		struct dxk_work *w = next(self->worker);
		int gain = w->param ? variant->boosted : variant->plain;

		ASSERT_LE(w->param, 1);
		EXPECT_GE(w->inspect_count, 5);
		EXPECT_EQ(-3 + (int64_t)gain * w->inspect_count, w->prio);
		/* DX-63: frozen; the same at the rejoin */
		ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r[i], 1, 1, 0, NULL));
		EXPECT_EQ(w->prio, r[i].prio);
		EXPECT_EQ(w->inspect_count, r[i].inspect_count);
	}
}

/* DX-63: neither the wait for room nor the execution ages a request. */
TEST_F(prio, only_time_in_the_ready_pool_counts)
{
	struct puppet *p, *helper;
	struct dxt *t = &self->t;
	struct dxk_result r;
	uint64_t begin, end;
	int prio;

	t->policy.ready_entries = 1;
	START(PRIO_POLICY_AGERQS, 1);
	p = puppet_new(t, DXK_MEMBER_CLIENT);
	helper = puppet_new(t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, post1(t, 0, 0, 0));
	p->entry[0] = prio_entry(1, 1, 100, PXR_REJOIN | PXR_WAITIF_BUSY);
	ASSERT_TRUE(puppet_post(p, 1, DXK_FOREVER));
	ASSERT_TRUE(dxt_ticks(t, 10));
	begin = dxt_now();
	ASSERT_EQ(1, puppet_fetch(helper));
	EXPECT_GE(helper->work[0].inspect_count, 2);
	ASSERT_EQ(1, puppet_end(p));
	ASSERT_EQ(1, puppet_fetch(self->worker));
	end = dxt_now();
	EXPECT_EQ(1, self->worker->work[0].param);
	/* it was let in by that fetch: had the wait aged it, it had ten more */
	EXPECT_LE(self->worker->work[0].inspect_count,
		  (end - begin) / DXT_MS / t->policy.sched_interval_ms + 1);
	prio = self->worker->work[0].prio;
	EXPECT_EQ(100 + (int)self->worker->work[0].inspect_count, prio);

	/* ticks go on while something is Ready, and do not touch what executes */
	ASSERT_EQ(1, post1(t, 2, 0, 0));
	ASSERT_TRUE(dxt_ticks(t, 10));
	ASSERT_EQ(0, puppet_finish(self->worker, 0));
	ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
	EXPECT_EQ(prio, r.prio);
	ASSERT_EQ(1, puppet_fetch(self->worker));
	EXPECT_GE(self->worker->work[0].inspect_count, 2);
	puppet_free(p);
	puppet_free(helper);
}

/* S-3: who goes first after k ticks. */
struct boost_row {
	bool seen;
	bool boosted_first;
	unsigned int inspect[2];	/* of the first and the second to go */
	int prio[2];
};

/*
 * Fills @row[k] for k < @rows: a boosted request of priority 0 and a plain one of
 * 10, posted together, the worker comes when both have seen k ticks. Which k it
 * was is told by the request itself; what comes too late counts for its own k.
 */
static bool boost_table(struct dxt *t, struct puppet *worker,
			       struct boost_row *row, unsigned int rows)
{
	struct dxk_post_entry e[2] = {
		prio_entry(1, 0, 0, PXR_BOOST),
		prio_entry(1, 1, 10, 0),
	};
	unsigned int want = 0, try, i, k = 0;
	struct dxk_post post;

	memset(row, 0, rows * sizeof(*row));
	for (try = 0; want < rows && try < 300; try++) {
		struct dxk_work w[2];

		if (dxt_post(t->member, e, 2, 0, &post) != 2)
			return false;
		if (want)
			dxt_sleep_ms(want * t->policy.sched_interval_ms -
				     t->policy.sched_interval_ms / 2);
		for (i = 0; i < 2; i++) {
			if (puppet_fetch(worker) != 1)
				return false;
			w[i] = worker->work[0];
			if (puppet_finish(worker, 0))
				return false;
		}
		k = w[0].inspect_count;
		if (k < rows && !row[k].seen) {
			row[k].seen = true;
			row[k].boosted_first = !w[0].param;
			for (i = 0; i < 2; i++) {
				row[k].inspect[i] = w[i].inspect_count;
				row[k].prio[i] = w[i].prio;
			}
		}
		for (want = 0; want < rows && row[want].seen; want++)
			;
	}
	return want == rows;
}

/* S-3, DX-60: boosted 0 against plain 10, boost 4: exact at every tick. */
TEST_F(prio, boost_table)
{
	struct boost_row row[6];
	unsigned int k;

	START(PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, 4);
	ASSERT_TRUE(boost_table(&self->t, self->worker, row, 6));
	for (k = 0; k < 6; k++) {
		bool boosted_first = 5 * k > 10 + k;

		EXPECT_EQ(boosted_first, row[k].boosted_first);
		EXPECT_EQ(k, row[k].inspect[0]);
		EXPECT_EQ(boosted_first ? 5 * k : 10 + k, row[k].prio[0]);
		EXPECT_EQ(boosted_first ? 10 + row[k].inspect[1] :
					  5 * row[k].inspect[1], row[k].prio[1]);
	}
}

/* A stream of requests of a priority that always keeps two Ready. */
static bool stream(struct dxt *t, struct puppet *worker, unsigned int steps, int prio,
		   uint64_t *took, struct dxk_work *low)
{
	uint64_t stamp[4] = { 0 };
	unsigned int i;

	*took = 0;
	for (i = 0; i < steps; i++) {
		struct dxk_work *w;

		stamp[i % 4] = dxt_now();
		w = next(worker);
		if (!w->param) {
			*low = *w;
			*took = dxt_now() - stamp[(i + 1) % 4];
			return true;
		}
		if (post1(t, i + 1, prio, 0) != 1)
			return false;
		dxt_sleep_ms(2);
	}
	return false;
}

/* S-2, DX-64: with ageing what comes 5 ticks later passes no more. */
TEST_F(prio, ageing_ends_starvation)
{
	struct dxt *t = &self->t;
	struct dxk_work low;
	uint64_t took;
	int i;

	t->policy.sched_interval_ms = 10;
	START(PRIO_POLICY_AGERQS, 1);
	ASSERT_EQ(1, post1(t, 0, 0, 0));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, post1(t, 1000 + i, 5, 0));
	ASSERT_TRUE(stream(t, self->worker, 5000, 5, &took, &low));
	EXPECT_EQ((int)low.inspect_count, low.prio);
	/* it waited until those of its age had no lead any more */
	EXPECT_GE(low.inspect_count, 5);
	/*
	 * From the sixth tick on only those two go before it that were Ready
	 * then: three turns of the worker, however many ticks they took.
	 */
	EXPECT_LE(low.inspect_count, 7 + took / DXT_MS / t->policy.sched_interval_ms);
}

/* S-1, DX-61: without it, never; Stop(cancel) works all the same. */
TEST_F(prio, starvation_without_ageing)
{
	struct dxt *t = &self->t;
	struct dxk_work low;
	uint64_t took;
	int i;

	START(0, 1);
	ASSERT_EQ(1, post1(t, 0, 0, PXR_REJOIN));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, post1(t, 1000 + i, 1, 0));
	EXPECT_FALSE(stream(t, self->worker, 100, 1, &took, &low));
	EXPECT_EQ(3, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	EXPECT_EQ(3, dxt_num(t, "stats/cancelled"));
	EXPECT_EQ(RJR_RETURNED, poll_owner(t, 1));
}

/* DX-65: no wrap at either end; the order beyond the ends is kept. */
TEST_F(prio, priorities_saturate)
{
	static const unsigned int order[] = { 1, 0, 2, 3, 4 };
	struct dxk_post_entry e[] = {
		prio_entry(1, 0, INT32_MAX, 0),
		/* overtakes above the largest number: 64 bits inside */
		prio_entry(1, 1, INT32_MAX - 1, PXR_BOOST),
		prio_entry(1, 2, 0, 0),
		prio_entry(1, 3, INT32_MIN + 1, 0),
		prio_entry(1, 4, INT32_MIN, 0),
	};
	struct dxt *t = &self->t;
	unsigned int i;

	START(PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, 65536);
	ASSERT_EQ(5, post(t, e, 5));
	ASSERT_TRUE(dxt_ticks(t, 5));
	for (i = 0; i < 5; i++) {
		struct dxk_work *w = next(self->worker);

		ASSERT_GE(w->inspect_count, 1);
		ASSERT_EQ(order[i], w->param);
		switch (w->param) {
		case 0:
		case 1:
			EXPECT_EQ(INT32_MAX, w->prio);
			break;
		case 3:
		case 4:
			EXPECT_EQ(e[order[i]].prio + (int)w->inspect_count, w->prio);
			break;
		}
	}
}

static int set_policy(struct dxt *t, unsigned int prio_policy, unsigned int boost)
{
	t->policy.prio_policy = prio_policy;
	t->policy.boost_value = boost;
	if (dxk_policy_set(t->ctx, &t->policy, NULL))
		return -1;
	/* in force from the Monitor's review on */
	return DXT_UNTIL(t, dxt_num(t, "policy/prio_policy") == prio_policy &&
			    dxt_num(t, "policy/boost_value") == boost) ? 0 : -1;
}

/* DX-66, S-4: a change acts on later ticks; what was gained stays. */
TEST_F(prio, switching_keeps_what_was_gained)
{
	struct dxk_post_entry e[] = {
		prio_entry(1, 0, 1000000, 0),
		prio_entry(1, 1, 0, 0),
		prio_entry(1, 2, 0, PXR_BOOST),
		prio_entry(1, 3, -100000, 0),
	};
	struct dxt *t = &self->t;
	struct dxk_work w;
	int64_t on, boost;

	START(PRIO_POLICY_AGERQS, 1);
	ASSERT_EQ(4, post(t, e, 4));
	ASSERT_TRUE(wait_ticks(t, self->worker, 3));
	w = *next(self->worker);
	ASSERT_EQ(0, w.param);
	ASSERT_GE(w.inspect_count, 3);
	EXPECT_EQ(1000000 + (int)w.inspect_count, w.prio);
	on = w.inspect_count;

	ASSERT_EQ(0, set_policy(t, 0, 1));
	ASSERT_TRUE(wait_ticks(t, self->worker, 3));
	/* plain and boosted have gained the same: the first post goes first */
	w = *next(self->worker);
	ASSERT_EQ(1, w.param);
	EXPECT_GE(w.prio, on);
	EXPECT_GE((int64_t)w.inspect_count - w.prio, 3);
	on = w.prio;

	ASSERT_EQ(0, set_policy(t, PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, 6));
	ASSERT_TRUE(wait_ticks(t, self->worker, 3));
	w = *next(self->worker);
	ASSERT_EQ(2, w.param);
	/* 7 a tick since, on top of what it had */
	boost = w.prio - on;
	EXPECT_EQ(0, boost % 7);
	boost /= 7;
	EXPECT_GE(boost, 3);
	EXPECT_GE((int64_t)w.inspect_count, on + boost + 3);

	/* the plain one gained 1 a tick in the first and the last stretch */
	w = *next(self->worker);
	ASSERT_EQ(3, w.param);
	EXPECT_GE(w.prio, -100000 + on + boost);
	EXPECT_LE(w.prio, -100000 + (int)w.inspect_count - 3);
}

/* --- a tree of requests ---------------------------------------------------- */

#define FAN	6

static _Atomic unsigned int tree_executed, tree_refused;

/* Posts its children and ends. @executor also says which way priorities go. */
static int tree_grow(struct dxt_call *call, int step)
{
	unsigned int depth = call->work.param;
	struct dxk_post_entry e[FAN];
	struct dxk_post p;
	int i;

	tree_executed++;
	if (depth == 3)
		return 0;
	for (i = 0; i < FAN; i++) {
		e[i] = prio_entry(1, depth + 1, call->work.prio + step, 0);
		e[i].executor = call->work.executor;
	}
	if (dxt_post(call->worker->member, e, FAN, 0, &p) != FAN)
		tree_refused++;
	return 0;
}

static int tree_down(struct dxt_call *call)
{
	return tree_grow(call, 1);
}

static int tree_up(struct dxt_call *call)
{
	return tree_grow(call, -1);
}

static long long tree_run(struct dxt *t, unsigned int workers, uint64_t exec)
{
	const unsigned int nodes = 1 + FAN + FAN * FAN + FAN * FAN * FAN;

	tree_executed = 0;
	tree_refused = 0;
	if (dxt_up(t, workers) ||
	    dxt_post1(t->member, 1, exec, 0, 0, 0, NULL) != 1)
		return -1;
	if (!DXT_UNTIL(t, tree_executed == nodes && !dxt_num(t, "owners")))
		return -1;
	return tree_refused ? -1 : dxt_num(t, "pools/ready_high_water");
}

/* DX-58: children above their parents: live requests go with depth x fan-out. */
TEST(children_above_parents_bound_what_is_live)
{
	const unsigned int workers = 2;
	long long high;
	struct dxt t;

	high = tree_run(&t, workers, DXT_FN(tree_down));
	TH_LOG("children above parents: at most %lld Ready", high);
	EXPECT_GE(high, FAN);
	EXPECT_LE(high, 3 * FAN * (int)workers);
	dxt_down(&t);
	/* the other way round most of the leaves stand in the pool at once */
	high = tree_run(&t, workers, DXT_FN(tree_up));
	TH_LOG("children below parents: at most %lld Ready", high);
	EXPECT_GE(high, FAN * FAN * FAN / 2);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
