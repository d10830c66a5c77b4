// SPDX-License-Identifier: GPL-2.0-only
/*
 * Constrained Multi Lane Scheduling of the workers and of the Ready Pool, from the
 * post to the end (DX-47, DX-67..DX-75); the crew's limits, when it shrinks and grows
 * for kernel workers and for both kinds. Parents that wait for their children
 * are in lanes_hierarchy.c.
 */
#include "lanes.h"

static struct puppet *find_with(struct puppet **w, unsigned int lane)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		if (!puppet_busy(w[i]) && w[i]->held && w[i]->work[0].param == lane)
			return w[i];
	return NULL;
}

/*
 * One of those that execute a request of the lane. What was dispatched may not
 * have been fetched yet, but comes.
 */
static struct puppet *one_with(struct puppet **w, unsigned int lane)
{
	struct puppet *p = NULL;

	DXT_UNTIL(w[0]->t, (p = find_with(w, lane)));
	return p;
}

/* It ends its request and asks for the next. */
static bool turn(struct puppet *p)
{
	if (!p)
		return false;
	puppet_next(p, 1, 0, 1, DXK_FOREVER);
	return true;
}

/* --- profiles ---------------------------------------------------------------- */

#define ALL	(1 << 1 | 1 << 2 | 1 << 3)

/*
 * What a resource of ten holds after some lanes have come in that order, and which
 * lanes then take no more; of a hundred, all numbers times ten.
 */
static const struct {
	unsigned int step[3][2];	/* lane, number */
	unsigned int full;		/* 1 << lane */
} profiles[] = {
	{ { { 1, 2 }, { 2, 2 }, { 3, 6 } }, ALL },
	{ { { 3, 6 }, { 2, 2 }, { 1, 2 } }, ALL },
	{ { { 1, 1 }, { 2, 3 }, { 3, 6 } }, ALL },
	{ { { 2, 3 }, { 3, 6 }, { 1, 1 } }, ALL },
	{ { { 2, 4 }, { 3, 6 } }, ALL },
	{ { { 3, 10 } }, ALL },
	{ { { 3, 7 }, { 2, 3 } }, ALL },
	{ { { 1, 2 } }, 1 << 1 },
	{ { { 1, 2 }, { 2, 2 } }, 1 << 1 | 1 << 2 },
	{ { { 2, 2 }, { 1, 2 } }, 1 << 1 | 1 << 2 },
	{ { { 1, 1 }, { 2, 3 } }, 1 << 1 | 1 << 2 },
	{ { { 2, 4 } }, 1 << 1 | 1 << 2 },
};

/* Does the resource hold the profile of that row, and then no more of its full lanes? */
static bool profile_fits(struct dxt *t, unsigned int row, unsigned int scale,
			 long long (*in_use)(struct dxt *t, unsigned int lane))
{
	long long want[4] = { 0 };
	unsigned int i, lane, at;
	bool fits = true;

	for (i = 0; i < 3; i++) {
		lane = profiles[row].step[i][0];
		want[lane] += profiles[row].step[i][1] * scale;
		post(t, lane, (int)(profiles[row].step[i][1] * scale));
	}
	/* lane 0 owns nothing; first all, then once more after each that is refused */
	for (at = 0; at < 4; at++) {
		if (!at || profiles[row].full & 1 << at)
			post(t, at, 1);
		for (lane = 0; lane < 4; lane++)
			fits &= in_use(t, lane) == want[lane];
	}
	if (!fits)
		printf("# row %u: %lld %lld %lld %lld\n", row, in_use(t, 0), in_use(t, 1),
		       in_use(t, 2), in_use(t, 3));
	return fits;
}

/* Ends all that executes and all that waits. */
static bool empty(struct dxt *t, struct puppet **w)
{
	int i;

	return DXT_UNTIL(t, ({
		for (i = 0; i < WORKERS; i++)
			if (!puppet_busy(w[i]) && w[i]->held)
				turn(w[i]);
		!dxt_num(t, "pools/ready_use") && !dxt_num(t, "pools/thread_busy");
	}));
}

/* DX-67..DX-72: what may execute together, and one more of a full lane waits. */
TEST_F(lanes, profiles_of_the_workers)
{
	unsigned int row;

	START();
	for (row = 0; row < ARRAY_SIZE(profiles); row++) {
		EXPECT_TRUE(profile_fits(&self->t, row, 1, working));
		ASSERT_TRUE(empty(&self->t, self->w)) TH_LOG("row %u", row);
	}
}

/* DX-67..DX-72: the same of the entries, where one more is refused. */
TEST_F(lanes, profiles_of_the_ready_pool)
{
	unsigned int row;

	for (row = 0; row < ARRAY_SIZE(profiles); row++) {
		ASSERT_EQ(0, dxt_start(&self->t));
		EXPECT_TRUE(profile_fits(&self->t, row, 10, waiting));
		dxt_down(&self->t);
		ASSERT_EQ(0, open_example(&self->t));
	}
}

/* --- from the post to the end ------------------------------------------------ */

/* DX-67: two of lane 1 execute at once, whatever waits and however many idle. */
TEST_F(lanes, two_of_lane_one_execute)
{
	struct dxt *t = &self->t;
	int i;

	START();
	ASSERT_EQ(20, post(t, 1, 20));
	for (i = 18; i > 0; i--) {
		EXPECT_EQ(2, working(t, 1));
		EXPECT_EQ(i, waiting(t, 1));
		ASSERT_TRUE(turn(one_with(self->w, 1)));
	}
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(0, waiting(t, 1));
	ASSERT_TRUE(turn(one_with(self->w, 1)));
	EXPECT_EQ(1, working(t, 1));
}

/* DX-69: without lane 1, four of lane 2 execute and forty wait, not 41. */
TEST_F(lanes, lane_two_borrows)
{
	struct dxt *t = &self->t;
	uint32_t reason;

	START();
	EXPECT_EQ(44, post(t, 2, 60));
	EXPECT_EQ(4, working(t, 2));
	EXPECT_EQ(40, waiting(t, 2));
	EXPECT_EQ(-EAGAIN, dxt_post1(t->member, 1, 0, 2, PXR_LANE2, 0, &reason));
	EXPECT_EQ(PXR_LANE_FULL, reason);
	/* lane 3 has the rest of both */
	EXPECT_EQ(66, post(t, 3, 100));
	EXPECT_EQ(6, working(t, 3));
	EXPECT_EQ(60, waiting(t, 3));
}

/* DX-70: no lane 1 starts until a borrower ends; then both limits are 4 - u1. */
TEST_F(lanes, what_is_borrowed_is_in_use)
{
	struct dxk_post_entry e = prio_entry(1, 1, 10, PXR_LANE1);
	struct dxt *t = &self->t;
	struct dxk_post p;

	START();
	ASSERT_EQ(5, post(t, 2, 5));
	EXPECT_EQ(4, working(t, 2));
	/* more urgent than the fifth of lane 2, and six workers are idle */
	ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &p));
	ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &p));
	EXPECT_EQ(0, working(t, 1));
	ASSERT_TRUE(turn(one_with(self->w, 2)));
	EXPECT_EQ(1, working(t, 1));
	EXPECT_EQ(3, working(t, 2));
	ASSERT_TRUE(turn(one_with(self->w, 2)));
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(2, working(t, 2));
	EXPECT_EQ(1, waiting(t, 2));
	/* lane 1 never borrows of lane 2 */
	ASSERT_EQ(1, post(t, 1, 1));
	ASSERT_TRUE(turn(one_with(self->w, 2)));
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(2, working(t, 2));
	ASSERT_TRUE(turn(one_with(self->w, 2)));
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(1, working(t, 2));
}

/* DX-71: shares are caps, not reservations: lane 3 fills all, others wait. */
TEST_F(lanes, lane_three_fills_everything)
{
	struct dxt *t = &self->t;
	uint32_t reason;

	START();
	EXPECT_EQ(110, post(t, 3, 200));
	EXPECT_EQ(10, working(t, 3));
	EXPECT_EQ(100, waiting(t, 3));
	EXPECT_EQ(-EAGAIN, dxt_post1(t->member, 1, 0, 1, PXR_LANE1, 0, &reason));
	EXPECT_EQ(PXR_POOL_FULL, reason);
	ASSERT_TRUE(turn(one_with(self->w, 3)));
	EXPECT_EQ(1, post(t, 1, 1));
	EXPECT_EQ(0, working(t, 1));
}

/* DX-73: the first in priority waits, those behind it that may run do. */
TEST_F(lanes, inadmissible_head_is_skipped)
{
	struct dxk_post_entry e[] = {
		prio_entry(1, 1, 100, PXR_LANE1),
		prio_entry(1, 3, 1, 0),
		prio_entry(1, 2, 2, PXR_LANE2),
		prio_entry(1, 3, 3, 0),
	};
	struct dxt *t = &self->t;
	struct dxk_post p;
	int i;

	START();
	ASSERT_EQ(2, post(t, 1, 2));
	/* idle workers take no lane 1, but each of the others at once */
	ASSERT_EQ(1, dxt_post(t->member, e, 1, 0, &p));
	EXPECT_EQ(1, waiting(t, 1));
	ASSERT_EQ(8, post(t, 3, 8));
	EXPECT_EQ(8, working(t, 3));
	/* all busy; now priority decides among the admissible: 3, 2, 1 */
	ASSERT_EQ(3, dxt_post(t->member, e + 1, 3, 0, &p));
	for (i = 0; i < 3; i++) {
		struct puppet *w = one_with(self->w, 3);

		ASSERT_TRUE(turn(w));
		ASSERT_EQ(1, puppet_end(w));
		EXPECT_EQ(3 - i, w->work[0].prio);
		EXPECT_EQ(2, working(t, 1));
		/* its own is no candidate for the next round */
		w->work[0].param = 99;
	}
	EXPECT_EQ(1, waiting(t, 1));
	/* the end of a lane 1 lets the head in */
	ASSERT_TRUE(turn(one_with(self->w, 1)));
	EXPECT_EQ(0, waiting(t, 1));
}

/* DX-75: a request that waits for its children still holds its lane. */
TEST_F(lanes, waiting_for_children_is_executing)
{
	struct dxt *t = &self->t;
	struct puppet *a, *b;

	START();
	ASSERT_EQ(3, post(t, 1, 3));
	ASSERT_EQ(1, dxt_post1(t->member, 7, 0, 3, 0, 0, NULL));
	a = one_with(self->w, 1);
	b = one_with(self->w, 3);
	ASSERT_NE(NULL, a);
	ASSERT_NE(NULL, b);
	ASSERT_TRUE(puppet_rejoin(a, 7, 1, 1, DXK_FOREVER));
	EXPECT_EQ(2, working(t, 1));
	EXPECT_EQ(1, waiting(t, 1));
	ASSERT_EQ(0, puppet_finish(b, 0));
	EXPECT_EQ(0, puppet_end(a));
	EXPECT_EQ(RJR_NONE_EXIST, a->rejoin.answer);
	EXPECT_EQ(2, working(t, 1));
}

/* DX-47: without CMLS lane bits are kept and mean nothing. */
TEST_F(lanes, cmls_off_ignores_lanes)
{
	struct dxt *t = &self->t;
	int i;

	t->policy.sched_mode = 0;
	START();
	/* lane 0 has 0 percent, and lane 1 has 20 */
	ASSERT_EQ(1, dxt_post1(t->member, 1, 0, 0, PXR_LANE0 | PXR_REJOIN, 0, NULL));
	ASSERT_EQ(109, post(t, 1, 200));
	EXPECT_EQ(100, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(10, dxt_num(t, "pools/thread_busy"));
	for (i = 0; i < WORKERS; i++)
		puppet_end(self->w[i]);
	for (i = 0; i < WORKERS; i++)
		if (self->w[i]->held && !self->w[i]->work[0].param) {
			EXPECT_EQ(PXR_LANE0 | PXR_REJOIN,
				  self->w[i]->work[0].attrs);
			break;
		}
	EXPECT_NE(WORKERS, i);
}

/* --- the crew's limits ----------------------------------------------------- */

/* A6: limits follow the workers that live. */
TEST_F(lanes, limits_follow_the_crew)
{
	struct dxt *t = &self->t;
	int i;

	START();
	EXPECT_EQ(2, dxt_num(t, "lanes/user_lane1_limit"));
	EXPECT_EQ(4, dxt_num(t, "lanes/user_lane2_limit"));
	for (i = 5; i < WORKERS; i++) {
		puppet_free(self->w[i]);
		self->w[i] = NULL;
	}
	EXPECT_EQ(1, dxt_num(t, "lanes/user_lane1_limit"));
	EXPECT_EQ(2, dxt_num(t, "lanes/user_lane2_limit"));
	EXPECT_EQ(5, dxt_num(t, "lanes/user_lane3_limit"));
	EXPECT_EQ(20, dxt_num(t, "lanes/ready_lane1_limit"));
}

/* What executes, of each lane. No puppet may be between its calls. */
static void look(struct dxt *t, unsigned int used[4])
{
	unsigned int lane;

	for (lane = 0; lane < 4; lane++)
		used[lane] = (unsigned int)working(t, lane);
}

/*
 * Was anything admitted since @before beyond @limits, which are of lanes 0..k
 * together? @ended: the lane of the request that ended meanwhile.
 */
static bool over_admitted(struct dxt *t, const unsigned int limits[4],
			  const unsigned int before[4], unsigned int ended)
{
	bool admitted = false, bad = false;
	unsigned int now[4], k, sum = 0;

	look(t, now);
	for (k = 0; k < 4; k++) {
		sum += now[k];
		/* the lowest lane that was admitted counts for all behind it */
		admitted |= now[k] + (k == ended) > before[k];
		bad |= admitted && sum > limits[k];
	}
	return bad;
}

static bool resize(struct dxt *t, unsigned int max_threads)
{
	t->policy.max_threads = max_threads;
	return !dxk_policy_set(t->ctx, &t->policy, NULL) &&
	       DXT_UNTIL(t, dxt_num(t, "policy/max_threads") == max_threads);
}

/*
 * the crew shrinks while all ten workers execute and all lanes are full. The
 * limits are those of five from then on: nothing is admitted beyond them, and
 * nobody is interrupted in what he executes.
 */
TEST_F(lanes, crew_shrinks_while_lanes_are_full)
{
	static const unsigned int full[4] = { 0, 2, 2, 6 }, limits[4] = { 0, 1, 2, 5 };
	unsigned int used[4], i, lane, left = 10, ended = 0, turns;
	struct dxt *t = &self->t;

	START();
	for (lane = 1; lane < 4; lane++)
		ASSERT_EQ(full[lane], post(t, lane, full[lane]));
	look(t, used);
	ASSERT_EQ(0, memcmp(used, full, sizeof(full)));
	for (lane = 1; lane < 4; lane++)
		ASSERT_EQ(8, post(t, lane, 8));
	for (i = 0; i < WORKERS; i++)
		ASSERT_EQ(1, puppet_end(self->w[i]));

	ASSERT_TRUE(resize(t, 5));
	/* what each may have beside the others, of 1, 1 and 3 */
	ASSERT_TRUE(DXT_UNTIL(t, dxt_num(t, "lanes/user_lane3_limit") == 1));
	EXPECT_EQ(0, dxt_num(t, "lanes/user_lane2_limit"));
	EXPECT_EQ(0, dxt_num(t, "lanes/user_lane1_limit"));
	look(t, used);
	EXPECT_EQ(0, memcmp(used, full, sizeof(full)));

	/* all end in turn; those who are to go hear of it then, not before */
	for (turns = 0; turns < 200 && left; turns++) {
		struct puppet *p = self->w[turns % WORKERS];

		if (!p || puppet_busy(p))
			continue;
		if (!p->held) {
			/* told to go: its completion was taken, this is the answer */
			EXPECT_FALSE(puppet_ask(p));
			EXPECT_EQ(-ESHUTDOWN, puppet_end(p));
			EXPECT_LT(5, p->id);
			puppet_free(p);
			self->w[turns % WORKERS] = NULL;
			continue;
		}
		lane = (unsigned int)p->work[0].param;
		look(t, used);
		puppet_next(p, 1, 0, 1, DXK_FOREVER);
		/* what this end set free is dispatched, but may not be fetched yet */
		for (i = 0; i < WORKERS; i++)
			if (self->w[i] && puppet_busy(self->w[i]))
				DXT_UNTIL(t, !puppet_busy(self->w[i]) ||
					     puppet_sleeps(self->w[i]));
		EXPECT_EQ(++ended, dxt_num(t, "stats/completions"));
		EXPECT_FALSE(over_admitted(t, limits, used, lane)) {
			TH_LOG("turn %u of worker %u, lane %u", turns, p->id, lane);
		}
		left = (unsigned int)(dxt_num(t, "pools/ready_use") +
				      dxt_num(t, "pools/thread_busy"));
	}
	EXPECT_EQ(0, left);
	EXPECT_EQ(34, dxt_num(t, "stats/completions"));
	EXPECT_EQ(0, dxt_num(t, "stats/owner_dead"));
	EXPECT_EQ(0, dxt_num(t, "stats/put_back"));
	EXPECT_EQ(5, dxt_num(t, "pools/thread_use"));
	EXPECT_EQ(1, dxt_num(t, "lanes/user_lane1_limit"));
	EXPECT_EQ(2, dxt_num(t, "lanes/user_lane2_limit"));
	EXPECT_EQ(5, dxt_num(t, "lanes/user_lane3_limit"));

	/* and grows again: the limits follow those who come */
	ASSERT_TRUE(resize(t, WORKERS));
	EXPECT_EQ(5, dxt_num(t, "lanes/user_lane3_limit"));
	for (i = 0; i < WORKERS; i++)
		if (!self->w[i])
			self->w[i] = puppet_new(t, DXK_MEMBER_WORKER);
	EXPECT_EQ(2, dxt_num(t, "lanes/user_lane1_limit"));
	EXPECT_EQ(4, dxt_num(t, "lanes/user_lane2_limit"));
	EXPECT_EQ(10, dxt_num(t, "lanes/user_lane3_limit"));
}

/* --- kernel workers -------------------------------------------------------- */

static int post_sleep(struct dxt *t, uint64_t exec, unsigned int lane,
		      unsigned int us, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (dxt_post1(t->member, 1, exec, us,
			      lane_attr(lane) | PXR_KERNEL | PXR_REJOIN, 0, NULL) != 1)
			break;
	return i;
}

/* Do kernel workers 1..@nr sleep for work? Start does not wait for that. */
static bool kernel_idle(struct dxt *t, unsigned int nr)
{
	unsigned int id;

	for (id = 1; id <= nr; id++)
		if (!dxt_member_is(t, id, "available"))
			return false;
	return true;
}

/* DX-67, DX-69, DX-71: the same for kernel workers, held by executor "sleep". */
TEST_F(lanes, kernel_workers)
{
	struct dxt *t = &self->t;
	uint64_t sleep, begin;
	struct dxk_result r[5];

	if (dxk_executor_find(t->ctl, "sleep", &sleep))
		SKIP(return, "no executors loaded");
	t->policy.kernel_threads = WORKERS;
	ASSERT_EQ(0, dxt_start(t));
	/* 5 of 100 ms each, two at once: three rounds, never faster */
	begin = dxt_now();
	ASSERT_EQ(5, post_sleep(t, sleep, 1, 100000, 5));
	ASSERT_EQ(5, dxt_rejoin(t->member, 1, r, 5, 5, DXK_FOREVER, NULL));
	EXPECT_GE(dxt_now() - begin, 299 * DXT_MS);

	/* what sleeps a minute is there until the context is closed */
	ASSERT_TRUE(DXT_UNTIL(t, kernel_idle(t, WORKERS)));
	ASSERT_EQ(6, post_sleep(t, sleep, 2, 60000000, 6));
	EXPECT_EQ(4, dxt_num(t, "lanes/kernel_lane2_in_use"));
	ASSERT_EQ(2, post_sleep(t, sleep, 1, 60000000, 2));
	EXPECT_EQ(0, dxt_num(t, "lanes/kernel_lane1_in_use"));
	ASSERT_EQ(9, post_sleep(t, sleep, 3, 60000000, 9));
	EXPECT_EQ(6, dxt_num(t, "lanes/kernel_lane3_in_use"));
	EXPECT_EQ(7, dxt_num(t, "pools/ready_use"));
}

/* A mixed crew: each kind has limits of its own over one Ready Pool. */
TEST_F(lanes, mixed_crew)
{
	struct dxt *t = &self->t;
	uint64_t sleep;
	int i;

	if (dxk_executor_find(t->ctl, "sleep", &sleep))
		SKIP(return, "no executors loaded");
	t->policy.kernel_threads = 5;
	ASSERT_EQ(0, dxt_start(t));
	puppets_new(t, self->w, 5, DXK_MEMBER_WORKER);
	for (i = 0; i < 5; i++)
		ASSERT_TRUE(puppet_ask(self->w[i]));
	ASSERT_TRUE(DXT_UNTIL(t, kernel_idle(t, 5)));
	/* five of a kind: one of lane 1, two of lanes 1 and 2 */
	ASSERT_EQ(3, post_sleep(t, sleep, 1, 60000000, 3));
	EXPECT_EQ(1, dxt_num(t, "lanes/kernel_lane1_in_use"));
	ASSERT_EQ(3, post(t, 1, 3));
	EXPECT_EQ(1, working(t, 1));
	ASSERT_EQ(3, post(t, 2, 3));
	EXPECT_EQ(1, working(t, 2));
	EXPECT_EQ(6, dxt_num(t, "pools/ready_use"));
	/* what waits for one kind keeps neither kind's workers from theirs */
	ASSERT_EQ(6, post(t, 3, 6));
	EXPECT_EQ(3, working(t, 3));
	ASSERT_EQ(6, post_sleep(t, sleep, 3, 60000000, 6));
	EXPECT_EQ(4, dxt_num(t, "lanes/kernel_lane3_in_use"));
	/* the entries are common: 20 of lane 1, of either kind */
	EXPECT_EQ(4, waiting(t, 1));
	EXPECT_EQ(16, post(t, 1, 30));
}

/* --- no thread is bound to a lane ------------------------------------------ */

static _Atomic unsigned int seen[WORKERS + 1][4];

static int exe_seen(struct dxt_call *call)
{
	seen[call->worker->id][call->work.param]++;
	/* the others get their turn */
	dxt_sleep_ms(1);
	return 0;
}

static bool all_seen(void)
{
	unsigned int id, lane;

	for (id = 1; id <= WORKERS; id++)
		for (lane = 1; lane < 4; lane++)
			if (!seen[id][lane])
				return false;
	return true;
}

/* DX-74, DX-81: over a long run every worker has executed every open lane. */
TEST_F(lanes, no_thread_is_bound_to_a_lane)
{
	struct dxt *t = &self->t;
	uint64_t state = dxt_now(), end;

	memset((void *)seen, 0, sizeof(seen));
	TH_LOG("seed %llu", (unsigned long long)state);
	ASSERT_EQ(0, dxt_start(t));
	ASSERT_EQ(0, dxt_workers_start(t, WORKERS));
	end = dxt_in(20 * DXT_SEC);
	while (!all_seen() && dxt_now() < end) {
		struct dxk_post_entry e[16];
		struct dxk_post p;
		int i;

		for (i = 0; i < 16; i++) {
			unsigned int lane = 1 + rnd(&state) % 3;

			e[i] = prio_entry(1, lane, rnd(&state) % 10,
					  lane_attr(lane) | PXR_WAITIF_BUSY);
			e[i].executor = DXT_FN(exe_seen);
		}
		ASSERT_EQ(16, dxt_post(t->member, e, 16, DXK_FOREVER, &p));
	}
	EXPECT_TRUE(all_seen());
}

TEST_HARNESS_MAIN
