// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who waits how long, where a policy changes, lanes are borrowed or many post at once
 * (S-4, S-5, S-13). The other cases of starvation are in prio.c (S-1, S-2, S-3) and post.c (S-6,
 * S-7).
 *
 * Ticks come when they come. A request tells how many it has seen, and what is
 * expected is computed from that.
 */
#include "lib/puppet.h"

#define WORKERS	10

FIXTURE(starve) {
	struct dxt t;
	struct puppet *w[WORKERS];
};

FIXTURE_SETUP(starve)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.sched_interval_ms = dxt_debug_kernel() ? 100 : 20;
	puppet_signals(false);
}

FIXTURE_TEARDOWN(starve)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		if (self->w[i])
			puppet_free(self->w[i]);
	dxt_down(&self->t);
}

/* --- S-4 ------------------------------------------------------------------------ */

#define NR	60

/*
 * The naive model: ticks are counted from the first post. Ageing is on before tick
 * @off and from @on on, with a boost of 2.
 */
struct model {
	struct dxk_post_entry e[NR];
	unsigned int seen[NR];		/* ticks, as the requests tell */
	unsigned int nr;
	unsigned int end, off, on;	/* ticks */
};

static unsigned int overlap(unsigned int a, unsigned int b, unsigned int c,
			    unsigned int d)
{
	unsigned int from = a > c ? a : c, to = b < d ? b : d;

	return from < to ? to - from : 0;
}

static int model_prio(const struct model *m, unsigned int i)
{
	unsigned int begin = m->end - m->seen[i], boost;

	boost = m->e[i].attrs & PXR_BOOST ? 3 : 1;
	return m->e[i].prio + (int)(overlap(begin, m->end, 0, m->off) +
				    overlap(begin, m->end, m->on, m->end) * boost);
}

/* The next to go: the most urgent, of equal ones the first. */
static unsigned int model_next(const struct model *m, const bool *gone)
{
	unsigned int i, best = NR;

	for (i = 0; i < m->nr; i++)
		if (!gone[i] && (best == NR || model_prio(m, i) > model_prio(m, best)))
			best = i;
	return best;
}

/* Posts @nr in one lock hold: they have seen the same ticks for ever. */
static bool post_group(struct dxt *t, struct model *m, unsigned int nr, uint64_t *seed)
{
	struct dxk_post_entry *e = &m->e[m->nr];
	struct dxk_post post;
	unsigned int i;

	for (i = 0; i < nr; i++)
		e[i] = prio_entry(1, m->nr + i, (int)(rnd(seed) % 25) - 12,
				  rnd(seed) % 2 ? PXR_BOOST : 0);
	m->nr += nr;
	return dxt_post(t->member, e, nr, 0, &post) == (int)nr;
}

/* Some groups in the time that five ticks take. */
static bool five_ticks(struct dxt *t, struct model *m, uint64_t *seed)
{
	uint64_t end = dxt_in((int64_t)(5 * t->policy.sched_interval_ms * DXT_MS));
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (!post_group(t, m, 1 + rnd(seed) % 3, seed))
			return false;
		dxt_sleep_ms(rnd(seed) % (5 * t->policy.sched_interval_ms / 3));
	}
	while (dxt_now() < end)
		dxt_sleep_ms(1);
	return true;
}

/* Changes the policy; @at: the request before which and after which it was done. */
static bool change(struct dxt *t, struct model *m, unsigned int prio_policy,
		   unsigned int boost, unsigned int at[2], uint64_t *seed)
{
	at[0] = m->nr;
	if (!post_group(t, m, 1, seed))
		return false;
	t->policy.prio_policy = prio_policy;
	t->policy.boost_value = boost;
	if (dxk_policy_set(t->ctx, &t->policy, NULL) ||
	    !DXT_UNTIL(t, dxt_num(t, "policy/prio_policy") == prio_policy &&
			  dxt_num(t, "policy/boost_value") == boost))
		return false;
	at[1] = m->nr;
	return post_group(t, m, 1, seed);
}

/*
 * S-4, DX-66: ageing on for five ticks, off for five, with a boost of 2 for five;
 * requests come all the time. Then all are taken in one lock hold, which is one
 * tick: their order and their priorities are those of the model.
 */
TEST_F(starve, policy_changes_while_requests_wait)
{
	unsigned int rounds = dxt_debug_kernel() ? 2 : 4, round = 0, tries, i;
	struct dxt *t = &self->t;
	uint64_t seed = the_seed();
	unsigned int off[2], on[2], order, prios;

	TH_LOG("DXK_SEED=%llu", (unsigned long long)seed);
	t->policy.prio_policy = PRIO_POLICY_AGERQS;
	ASSERT_EQ(0, dxt_start(t));
	self->w[0] = puppet_new(t, DXK_MEMBER_WORKER);
	ASSERT_NE(NULL, self->w[0]);
	for (tries = 0; round < rounds && tries < 20 * rounds; tries++) {
		struct dxk_work *work = self->w[0]->work;
		struct model m = { 0 };
		bool gone[NR] = { 0 };

		dxt_tell("%u of %u rounds", round, rounds);
		ASSERT_TRUE(post_group(t, &m, 1, &seed));
		ASSERT_TRUE(five_ticks(t, &m, &seed));
		ASSERT_TRUE(change(t, &m, 0, 1, off, &seed));
		ASSERT_TRUE(five_ticks(t, &m, &seed));
		ASSERT_TRUE(change(t, &m, PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, 2,
				   on, &seed));
		ASSERT_TRUE(five_ticks(t, &m, &seed));
		puppet_next(self->w[0], 0, 0, NR, DXK_FOREVER);
		ASSERT_EQ(m.nr, puppet_end(self->w[0]));
		for (i = 0; i < m.nr; i++)
			m.seen[work[i].param] = work[i].inspect_count;
		m.end = m.seen[0];
		m.off = m.end - m.seen[off[0]];
		m.on = m.end - m.seen[on[0]];
		/* when a tick fell into a change nobody knows on which side */
		if (m.seen[off[0]] == m.seen[off[1]] && m.seen[on[0]] == m.seen[on[1]]) {
			for (order = prios = i = 0; i < m.nr; i++) {
				unsigned int next = model_next(&m, gone);

				gone[next] = true;
				order += work[i].param != next;
				prios += work[i].prio != model_prio(&m, work[i].param);
			}
			EXPECT_EQ(0, order);
			EXPECT_EQ(0, prios);
			TH_LOG("%u requests, ticks: %u on, %u off, %u boosted", m.nr,
			       m.off, m.on - m.off, m.end - m.on);
			round += m.off >= 3 && m.on >= m.off + 3 && m.end >= m.on + 3;
		}
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
		t->policy.prio_policy = PRIO_POLICY_AGERQS;
		t->policy.boost_value = 1;
		ASSERT_EQ(0, dxk_policy_set(t->ctx, &t->policy, NULL));
		ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "policy/boost_value") == 1));
	}
	EXPECT_EQ(rounds, round);
}

/* --- S-5 ------------------------------------------------------------------------ */

static int post1(struct dxt *t, unsigned int lane, int prio)
{
	struct dxk_post_entry e = prio_entry(1, lane, prio, lane_attr(lane));
	struct dxk_post post;

	return dxt_post(t->member, &e, 1, 0, &post);
}

/*
 * Four execute lane 2, which has borrowed what lane 1 may use, and two more of it
 * always wait. They end in turn. True when one of lane 1 got in within @steps, with
 * the time that the last three turns took.
 */
static bool borrowers(struct dxt *t, struct puppet **w, unsigned int steps,
		      struct dxk_work *got, uint64_t *took, unsigned int *odd)
{
	uint64_t stamp[4] = { 0 };
	unsigned int i;

	for (i = 0; i < steps; i++) {
		struct puppet *p = w[i % 4];

		stamp[i % 4] = dxt_now();
		puppet_next(p, 1, 0, 1, DXK_FOREVER);
		if (puppet_end(p) != 1)
			return false;
		*got = p->work[0];
		*took = dxt_now() - stamp[(i + 1) % 4];
		if (got->param == 1)
			return true;
		*odd += dxt_num(t, "lanes/user_lane2_in_use") != 4 ||
			dxt_num(t, "lanes/user_lane1_in_use") != 0;
		if (post1(t, 2, 5) != 1)
			return false;
		dxt_sleep_ms(2);
	}
	return false;
}

#define BORROW(policy_) ({						\
	use_cmls(t);							\
	t->policy.max_threads = WORKERS;				\
	t->policy.ready_entries = 100;					\
	t->policy.prio_policy = policy_;				\
	ASSERT_EQ(0, dxt_start(t));					\
	puppets_new(t, self->w, WORKERS, DXK_MEMBER_WORKER);		\
	for (i = 0; i < 4; i++) {					\
		ASSERT_EQ(1, post1(t, 2, 5));				\
		ASSERT_EQ(1, puppet_fetch(self->w[i]));			\
	}								\
	/* the rest of the crew is idle, and of no use to lane 1 */	\
	for (; i < WORKERS; i++)					\
		ASSERT_TRUE(puppet_ask(self->w[i]));			\
	ASSERT_EQ(1, post1(t, 1, 0));					\
	for (i = 0; i < 2; i++)						\
		ASSERT_EQ(1, post1(t, 2, 5));				\
	EXPECT_EQ(3, dxt_num(t, "pools/ready_use"));			\
})

/* S-5, DX-70: lane 1 waits for as long as lane 2 has more priority. */
TEST_F(starve, borrowed_lanes_without_ageing)
{
	struct dxt *t = &self->t;
	struct dxk_work got;
	unsigned int i, odd = 0;
	uint64_t took;

	BORROW(0);
	EXPECT_FALSE(borrowers(t, self->w, dxt_debug_kernel() ? 50 : 200, &got, &took,
			       &odd));
	EXPECT_EQ(2, got.param);
	EXPECT_EQ(0, odd);
	EXPECT_EQ(1, dxt_num(t, "lanes/ready_lane1_in_use"));
	/* it is not the lane: one end without more of lane 2, and it is in */
	for (i = 0; i < 2; i++) {
		puppet_next(self->w[i], 1, 0, 1, DXK_FOREVER);
		ASSERT_EQ(1, puppet_end(self->w[i]));
	}
	EXPECT_EQ(1, dxt_num(t, "lanes/ready_lane1_in_use"));
	puppet_next(self->w[2], 1, 0, 1, DXK_FOREVER);
	EXPECT_TRUE(DXT_UNTIL(t, dxt_num(t, "lanes/user_lane1_in_use") == 1));
}

/* S-5, DX-64: with ageing it is the next after five ticks, and not before. */
TEST_F(starve, borrowed_lanes_with_ageing)
{
	struct dxt *t = &self->t;
	struct dxk_work got;
	unsigned int i, odd = 0;
	uint64_t took = 0;

	BORROW(PRIO_POLICY_AGERQS);
	ASSERT_TRUE(borrowers(t, self->w, 5000, &got, &took, &odd));
	EXPECT_EQ(0, odd);
	EXPECT_EQ((int)got.inspect_count, got.prio);
	EXPECT_GE(got.inspect_count, 5);
	/* of lane 2 only those went before it that were Ready by then */
	EXPECT_LE(got.inspect_count, 7 + took / DXT_MS / t->policy.sched_interval_ms);
}

/* --- S-13 ----------------------------------------------------------------------- */

#define POSTERS	16

struct poster {
	struct dxt *t;
	pthread_t thread;
	_Atomic bool *over;
	unsigned int posts, wrong;
	uint64_t longest;	/* running time of a call, ns */
	uint64_t latest;	/* from its begin to its end */
};

static uint64_t running_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * DXT_SEC + (uint64_t)ts.tv_nsec;
}

static void *post_all_the_time(void *arg)
{
	struct poster *p = arg;
	int m = dxk_member_create(p->t->ctx, DXK_MEMBER_CLIENT, NULL);

	while (!*p->over) {
		uint64_t ran = running_ns(), began = dxt_now();

		p->wrong += dxt_post1(m, 1, DXT_NOP, 0, PXR_WAITIF_BUSY, dxt_late(), NULL) != 1;
		ran = running_ns() - ran;
		began = dxt_now() - began;
		if (ran > p->longest)
			p->longest = ran;
		if (began > p->latest)
			p->latest = began;
		p->posts++;
	}
	close(m);
	return NULL;
}

/*
 * S-13: 16 threads post in tight loops. Each comes to its turn, and none is held in its
 * call for the work of others: that would be most of what all do in two seconds.
 */
TEST_F(starve, posters_work_for_themselves)
{
	struct poster p[POSTERS] = { 0 };
	uint64_t longest = 0, latest = 0;
	struct dxt *t = &self->t;
	_Atomic bool over = false;
	int i;

	t->policy.max_threads = 2;
	t->policy.ready_entries = 8;
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxt_workers_start(t, 2));
	for (i = 0; i < POSTERS; i++) {
		p[i].t = t;
		p[i].over = &over;
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, post_all_the_time, &p[i]));
	}
	DXT_WITHIN(2 * DXT_SEC, false);
	over = true;
	for (i = 0; i < POSTERS; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].wrong);
		EXPECT_LT(1, p[i].posts);
		if (p[i].longest > longest)
			longest = p[i].longest;
		if (p[i].latest > latest)
			latest = p[i].latest;
	}
	TH_LOG("a post took at most %llu us, %llu us of them running",
	       (unsigned long long)latest / 1000, (unsigned long long)longest / 1000);
	EXPECT_GT(dxt_stall_ns() / 2, longest);
}

TEST_HARNESS_MAIN
