// SPDX-License-Identifier: GPL-2.0-only
/*
 * Conformance probes: five tables that tell at a glance whether this is dxk.
 *
 *   1 ids and states of the Thread Pool       2 CMLS, 19 profiles
 *   3 boosting, tick by tick                  4 the cases of a rejoin
 *   5 the blocking points of a post
 *
 * Each line is what was expected; one that differs ends in what came instead.
 */
#include "lib/puppet.h"
#include "boost.h"

#define say(...)	printf("# " __VA_ARGS__)

/* --- 1: ids and states (DX-22) --------------------------------------------- */

TEST(ids_and_states)
{
	static const struct {
		unsigned int id;
		const char *role, *state;
	} want[] = {
		{ 0, "client", "running" },
		{ 1, "kernel-worker", "available" },
		{ 2, "user-worker", "available" },
		{ 3, "user-worker", "away" },
		{ 4, "worker", "vacant" },
		{ 500, "monitor", "running" },
		{ 600, "scheduler", "running" },
		{ 700, "dispatcher", "running" },
	};
	struct puppet *w[2];
	char role[32], state[32];
	unsigned int i, id, listed = 0;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.kernel_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	puppets_new(&t, w, 2, DXK_MEMBER_WORKER);
	ASSERT_TRUE(puppet_ask(w[0]));
	ASSERT_TRUE(DXT_UNTIL(&t, dxt_member_is(&t, 1, "available")));
	say("  id  role           state\n");
	for (i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		ASSERT_TRUE(dxt_text(&t, role, sizeof(role), "threads/%u/role",
				     want[i].id));
		ASSERT_TRUE(dxt_text(&t, state, sizeof(state), "threads/%u/state",
				     want[i].id));
		say("%4u  %-13s  %s\n", want[i].id, role, state);
		EXPECT_STREQ(want[i].role, role);
		EXPECT_STREQ(want[i].state, state);
	}
	/* and no others */
	for (id = 0; id < 1100; id++) {
		char path[32];

		snprintf(path, sizeof(path), "threads/%u", id);
		listed += dxt_exists(&t, path);
	}
	EXPECT_EQ(8, listed);
	puppets_free(w, 2);
	dxt_down(&t);
}

/* --- 2: CMLS (DX-67..DX-73) ------------------------------------------------ */

struct profile {
	unsigned int u[4];
	bool legal;
};

static const struct profile of_workers[] = {
	{ { 0, 2, 2, 6 }, true }, { { 0, 1, 3, 6 }, true },
	{ { 0, 0, 4, 6 }, true }, { { 0, 0, 0, 10 }, true },
	{ { 0, 3, 0, 0 }, false }, { { 0, 2, 3, 0 }, false },
	{ { 0, 2, 4, 0 }, false }, { { 0, 0, 5, 0 }, false },
	{ { 0, 0, 4, 7 }, false }, { { 1, 0, 0, 0 }, false },
};

static const struct profile of_pool[] = {
	{ { 0, 20, 20, 60 }, true }, { { 0, 0, 40, 60 }, true },
	{ { 0, 10, 30, 60 }, true }, { { 0, 0, 0, 100 }, true },
	{ { 0, 21, 0, 0 }, false }, { { 0, 20, 21, 0 }, false },
	{ { 0, 10, 31, 0 }, false }, { { 0, 0, 41, 0 }, false },
	{ { 0, 0, 40, 61 }, false },
};

/* The orders in which lanes 1, 2, 3 come. */
static const unsigned int orders[6][3] = {
	{ 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 }, { 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 },
};

/* An order without the lanes that have no request: equal ones need one try. */
static unsigned int effective(const struct profile *p, unsigned int k)
{
	unsigned int code = 0, i;

	for (i = 0; i < 3; i++)
		if (p->u[orders[k][i]])
			code = code * 4 + orders[k][i];
	return code;
}

static bool tried(const struct profile *p, unsigned int k)
{
	unsigned int j;

	for (j = 0; j < k; j++)
		if (effective(p, j) == effective(p, k))
			return true;
	return false;
}

static unsigned int post_lane(struct dxt *t, unsigned int lane, unsigned int nr)
{
	struct dxk_post_entry e[DXK_BATCH_MAX];
	unsigned int i, taken = 0;
	struct dxk_post p;

	for (i = 0; i < DXK_BATCH_MAX; i++)
		e[i] = dxt_entry(1, 0, lane, lane_attr(lane));
	while (taken < nr) {
		unsigned int n = nr - taken < DXK_BATCH_MAX ? nr - taken : DXK_BATCH_MAX;
		int rc = dxt_post(t->member, e, n, 0, &p);

		if (rc <= 0)
			break;
		taken += rc;
	}
	return taken;
}

/* Posts a profile in an order; does the resource hold exactly it? */
static bool reaches(struct dxt *t, const char *resource, const struct profile *p,
		    const unsigned int *order, unsigned int *broken)
{
	static const unsigned int quota_workers[4] = { 0, 2, 4, 10 };
	unsigned int scale = !strcmp(resource, "ready") ? 10 : 1, sum = 0, i;
	bool same = true;

	post_lane(t, 0, p->u[0]);
	for (i = 0; i < 3; i++)
		post_lane(t, order[i], p->u[order[i]]);
	for (i = 0; i < 4; i++) {
		long long used = dxt_num(t, "lanes/%s_lane%u_in_use", resource, i);

		same &= used == p->u[i];
		sum += used;
		*broken += sum > quota_workers[i] * scale;
	}
	return same;
}

static bool cmls_context(struct dxt *t, struct puppet **w, unsigned int workers)
{
	unsigned int i;

	if (dxt_open(t))
		return false;
	no_periods(t);
	use_cmls(t);
	t->policy.max_threads = 10;
	t->policy.ready_entries = 100;
	if (dxt_start(t))
		return false;
	puppets_new(t, w, workers, DXK_MEMBER_WORKER);
	for (i = 0; i < workers; i++)
		if (!puppet_ask(w[i]))
			return false;
	return true;
}

/*
 * A legal profile is reached when its lanes come in the order 1, 2, 3. One that is
 * not is reached in no order, nor is a limit broken on the way; the debug kernel,
 * where ten workers take seconds to make, tries one order.
 */
static unsigned int cmls_table(const char *resource, const struct profile *p,
			       unsigned int nr, unsigned int workers)
{
	const unsigned int orders_nr = dxt_debug_kernel() ? 1 : 6;
	unsigned int wrong = 0, i, k;

	for (i = 0; i < nr; i++) {
		unsigned int reached = 0, broken = 0;
		bool first = false;

		for (k = 0; k < (p[i].legal ? 1U : orders_nr); k++) {
			struct puppet *w[10];
			struct dxt t;

			if (tried(&p[i], k))
				continue;
			if (!cmls_context(&t, w, workers))
				return ~0U;
			if (reaches(&t, resource, &p[i], orders[k], &broken)) {
				reached++;
				first |= !k;
			}
			puppets_free(w, workers);
			dxt_down(&t);
		}
		say("%-7s (%u,%2u,%2u,%3u)  %s%s\n", resource, p[i].u[0], p[i].u[1],
		    p[i].u[2], p[i].u[3], p[i].legal ? "ok" : "refused",
		    broken ? "  BROKEN" : first == p[i].legal ? "" : "  NOT SO");
		wrong += broken || (p[i].legal ? !first : reached);
	}
	return wrong;
}

TEST(cmls_profiles)
{
	EXPECT_EQ(0, cmls_table("user", of_workers,
				sizeof(of_workers) / sizeof(of_workers[0]), 10));
	EXPECT_EQ(0, cmls_table("ready", of_pool,
				sizeof(of_pool) / sizeof(of_pool[0]), 0));
}

/* --- 3: boosting (S-3, DX-60) ---------------------------------------------- */

TEST(boosting)
{
	struct boost_row row[6];
	struct puppet *w;
	struct dxt t;
	unsigned int k;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.sched_interval_ms = 20;
	t.policy.prio_policy = PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST;
	t.policy.boost_value = 4;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_TRUE(boost_table(&t, w, row, 6));
	say("ticks  boosted 0  plain 10  first\n");
	for (k = 0; k < 6; k++) {
		say("%5u  %9u  %8u  %s\n", k, 5 * k, 10 + k,
		    row[k].boosted_first ? "boosted" : "plain");
		EXPECT_EQ(k >= 3, row[k].boosted_first);
		EXPECT_EQ(k >= 3 ? 5 * k : 10 + k, row[k].prio[0]);
	}
	puppet_free(w);
	dxt_down(&t);
}

/* --- 4: rejoin (DX-87..DX-90) ---------------------------------------------- */

static const char *answer_name(uint32_t answer)
{
	static const char *const name[] = {
		"error", "RJR_RETURNED", "RJR_NONE_READY", "RJR_NONE_EXIST",
	};

	return name[answer <= 3 ? answer : 0];
}

TEST(rejoin_cases)
{
	static const struct {
		const char *what;
		uint32_t want;
	} step[] = {
		{ "3   nothing posted", RJR_NONE_EXIST },
		{ "2b  in the Ready Pool", RJR_NONE_READY },
		{ "2a  executing", RJR_NONE_READY },
		{ "1   completed", RJR_RETURNED },
		{ "3   collected", RJR_NONE_EXIST },
	};
	struct puppet *w;
	struct dxt t;
	unsigned int i;

	ASSERT_EQ(0, dxt_up(&t, 0));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	for (i = 0; i < 5; i++) {
		uint32_t answer;

		switch (i) {
		case 1:
			ASSERT_EQ(1, dxt_post1(t.member, 1, 0, 0, PXR_REJOIN, 0, NULL));
			break;
		case 2:
			ASSERT_EQ(1, puppet_fetch(w));
			break;
		case 3:
			ASSERT_EQ(0, puppet_finish(w, 0));
			break;
		}
		answer = poll_owner(&t, 1);
		say("%-22s  %s\n", step[i].what, answer_name(answer));
		EXPECT_EQ(step[i].want, answer);
	}
	puppet_free(w);
	dxt_down(&t);
}

/* --- 5: blocking points (DX-37..DX-40, DX-44, DX-46) ----------------------- */

enum { POINT1, POINT2, CLOSED, POINT3 };
enum { NOWAIT, ROOM, SIGNAL, DEADLINE, STOP, ENDINGS };

static const char *const point_name[] = {
	"1 pool full", "2 lane full", "  lane closed", "3 back to back",
};
static const char *const ending_name[] = {
	"no flag", "room", "signal", "time-out", "stop",
};

/* What the post returns, and its reason. */
static long blocking_point(unsigned int point, unsigned int ending, uint32_t *reason)
{
	struct puppet *w, *p;
	uint32_t attrs = ending == NOWAIT ? 0 : PXR_WAITIF_BUSY;
	unsigned int fill = point == POINT1 ? 10 : point == POINT2 ? 2 : 1, i;
	unsigned int lane = point == POINT2 ? 1 : 3;
	struct dxt t;
	bool sleeps;
	long ret;

	if (dxt_open(&t))
		return -ENXIO;
	no_periods(&t);
	use_cmls(&t);
	puppet_signals(false);
	t.policy.max_threads = 10;
	t.policy.ready_entries = 10;
	if (dxt_start(&t))
		return -ENXIO;
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	p = puppet_new(&t, DXK_MEMBER_CLIENT);
	for (i = 0; i < fill; i++) {
		p->entry[0] = dxt_entry(1, 0, 0, lane_attr(lane));
		puppet_post(p, 1, 0);
		if (puppet_end(p) != 1)
			return -ENXIO;
	}
	p->entry[0] = dxt_entry(1, 0, 0, lane_attr(point == CLOSED ? 0 : lane) | attrs);
	sleeps = puppet_post(p, 1, ending == DEADLINE ? dxt_in(100 * DXT_MS) :
							DXK_FOREVER);
	if (sleeps && ending == ROOM)
		puppet_fetch(w);
	else if (sleeps && ending == SIGNAL)
		puppet_signal(p);
	else if (sleeps && ending == STOP)
		dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0);
	ret = puppet_end(p);
	*reason = p->post.reason;
	puppet_free(w);
	puppet_free(p);
	dxt_down(&t);
	return ret;
}

TEST(blocking_points)
{
	static const long full[ENDINGS] = {
		-EAGAIN, 1, -EINTR, -ETIMEDOUT, -ESHUTDOWN,
	};
	unsigned int point, ending;

	say("%-15s", "point");
	for (ending = 0; ending < ENDINGS; ending++)
		printf("  %-12s", ending_name[ending]);
	printf("\n");
	for (point = POINT1; point <= POINT3; point++) {
		say("%-15s", point_name[point]);
		for (ending = 0; ending < ENDINGS; ending++) {
			long want = point == POINT3 ? 1 :
				    point == CLOSED ? -EPERM : full[ending];
			uint32_t why = 0, want_why = 0;
			long ret = blocking_point(point, ending, &why);

			if (want == -EPERM)
				want_why = PXR_LANE_CLOSED;
			else if (want == -EAGAIN)
				want_why = point == POINT1 ? PXR_POOL_FULL : PXR_LANE_FULL;
			printf("  %-12s", ret == 1 ? "taken" :
			       ret < 0 ? strerrorname_np(-ret) : "?");
			EXPECT_EQ(want, ret);
			/* a call that took all leaves the reason alone */
			if (ret < 0)
				EXPECT_EQ(want_why, why);
		}
		printf("\n");
	}
}

TEST_HARNESS_MAIN
