// SPDX-License-Identifier: GPL-2.0-only
/*
 * Helpers and spares of kernel workers (policy on_block): what stalls under STRICT
 * finishes, nothing is executed beyond its lane, and nothing of it is left behind
 * (D-4, D-5, DX-25, DX-75).
 */
#include "runtime/tests/rig.h"

#define PARENTS		10

struct parent {
	struct dxk_job *child;
	u32 children;
	u32 attrs;
	u32 posted;
	u32 returned;
	int err;
};

static s32 child_fn(struct dxk_job *job, struct dxk_call *call)
{
	return 7;
}

/* Posts its children one by one, then waits for all. */
static s32 parent_fn(struct dxk_job *job, struct dxk_call *call)
{
	u64 deadline = dxk_in_ms(DXK_RIG_MS);
	struct parent *p = job->arg;
	struct dxk_answer a = { };
	u32 answer = 0;
	int n;

	while (p->posted < p->children) {
		struct dxk_request req = dxk_rig_request(p->child, (uintptr_t)p, 0,
							 PXR_REJOIN | PXR_WAITIF_BUSY |
							 p->attrs);

		n = dxk_post(call->self, &req, 1, deadline, NULL);
		if (n != 1) {
			p->err = n;
			return 1;
		}
		p->posted++;
	}
	for (;;) {
		n = dxk_rejoin(call->self, (uintptr_t)p, &a, 1, 1, deadline, &answer);
		if (n != 1)
			break;
		p->returned += a.status == 7;
	}
	p->err = n ?: answer == RJR_NONE_EXIST ? 0 : -ETIMEDOUT;
	return 0;
}

/* Have @nr parents executing, then let all post. */
static void families(struct kunit *test, struct dxk_policy *policy, u32 nr, u32 children,
		     u32 parent_attrs, u32 child_attrs)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job[PARENTS];
	struct parent *p;
	u32 i;

	p = kunit_kcalloc(test, nr, sizeof(*p), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, p);
	dxk_rig_start(rig, policy);
	for (i = 0; i < nr; i++) {
		p[i].children = children;
		p[i].attrs = child_attrs;
		p[i].child = dxk_rig_job(rig);
		p[i].child->fn = child_fn;
		job[i] = dxk_rig_job(rig);
		job[i]->gated = true;
		job[i]->fn = parent_fn;
		job[i]->arg = &p[i];
		KUNIT_ASSERT_EQ(test, 1, dxk_rig_post(job[i], 1, 0,
						      PXR_REJOIN | parent_attrs, NULL));
	}
	for (i = 0; i < nr; i++)
		dxk_rig_entered(job[i]);
	for (i = 0; i < nr; i++)
		complete(&job[i]->leave);
	for (i = 0; i < nr; ) {
		u32 answer;
		int n = dxk_rig_rejoin(rig, 1, &answer);

		KUNIT_ASSERT_GT(test, n, 0);
		i += n;
	}
	for (i = 0; i < nr; i++) {
		KUNIT_EXPECT_EQ(test, p[i].err, 0);
		KUNIT_EXPECT_EQ(test, p[i].returned, children);
	}
}

static void expect_clean(struct kunit *test, const struct dxk_policy *policy)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = rig->ctx[0];

	KUNIT_EXPECT_TRUE(test, DXK_SOON(!READ_ONCE(ctx->engine.crew.extra[DXK_KERNEL])));
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.stalls, 0);
	KUNIT_EXPECT_EQ(test, ctx->engine.crew.asleep[DXK_KERNEL], 0);
	KUNIT_EXPECT_TRUE(test, list_empty(&ctx->engine.crew.helpers[DXK_KERNEL]));
	if (policy->on_block == DXK_ON_BLOCK_HELP) {
		KUNIT_EXPECT_GT(test, ctx->engine.stats.helps, 0);
		KUNIT_EXPECT_EQ(test, ctx->engine.stats.spare_runs, 0);
		KUNIT_EXPECT_EQ(test, ctx->engine.crew.spares[DXK_KERNEL], 0);
	} else {
		KUNIT_EXPECT_EQ(test, ctx->engine.stats.helps, 0);
		KUNIT_EXPECT_GT(test, ctx->engine.stats.spare_runs, 0);
		KUNIT_EXPECT_LE(test, ctx->engine.crew.spares[DXK_KERNEL], policy->max_spares);
		/* none has work, so all park */
		KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(ctx->engine.crew.nr_parked[DXK_KERNEL]) ==
						 ctx->engine.crew.spares[DXK_KERNEL]));
	}
}

static struct dxk_policy policy_of(struct kunit *test, u32 workers)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, workers);
	p.on_block = *(const u32 *)test->param_value & 1 ? DXK_ON_BLOCK_SPARE :
							   DXK_ON_BLOCK_HELP;
	p.dispatch = *(const u32 *)test->param_value >> 1;
	return p;
}

/* D-4: both workers sleep for room in the Ready Pool */
static void relief_pool_full(struct kunit *test)
{
	struct dxk_policy p = policy_of(test, 2);

	p.ready_entries = 4;
	p.max_requests = 64;
	families(test, &p, 2, 10, 0, 0);
	expect_clean(test, &p);
}

/* D-5: lane 3 that waits for lane 3, with CMLS */
static void relief_lane3(struct kunit *test)
{
	struct dxk_policy p = policy_of(test, PARENTS);
	struct dxk_rig *rig = test->priv;

	p.sched_mode = TPOOL_MODE_CMLS;
	p.lane_pct[1] = 20;
	p.lane_pct[2] = 20;
	p.ready_entries = 100;
	families(test, &p, PARENTS, 11, 0, 0);
	expect_clean(test, &p);
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.crew.lanes[DXK_KERNEL].quota[3], PARENTS);
}

struct chain {
	u32 deep;
	u32 deepest;
	int err;
	bool over;
};

/*
 * Each posts the next of its chain and waits for it, for as long as it takes: in short
 * sleeps, so that the last one, whose next nobody executes, can be told to end.
 */
static s32 chain_fn(struct dxk_job *job, struct dxk_call *call)
{
	struct chain *c = job->arg;
	u64 owner = 100 + c->deep;
	struct dxk_request req = dxk_rig_request(job, owner, 0, PXR_REJOIN);
	struct dxk_answer a = { };
	u32 answer = 0;
	int n = 0;

	c->deepest = max(c->deepest, ++c->deep);
	if (c->deep < 40 && !READ_ONCE(c->over)) {
		n = dxk_post(call->self, &req, 1, 0, NULL);
		if (n == 1)
			do
				n = dxk_rejoin(call->self, owner, &a, 1, 1, dxk_in_ms(20),
					       &answer);
			while (!n && !READ_ONCE(c->over));
		if (n < 0)
			c->err = n;
	}
	c->deep--;
	return 0;
}

/* Does the worker sleep though there is a request that it could help with? */
static bool does_not_help(struct dxk_ctx *ctx, const struct dxk_member *worker)
{
	bool asleep;

	spin_lock(&ctx->engine.lock);
	asleep = worker->state == DXK_M_REJOINING && ctx->engine.nr[DXK_AT_READY];
	spin_unlock(&ctx->engine.lock);
	return asleep;
}

/* A kernel worker has a stack to keep: it stops helping before help_depth does. */
static void relief_stack(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	struct dxk_member *worker;
	struct chain c = { };
	struct dxk_policy p;
	struct dxk_ctx *ctx;
	u32 answer;

	dxk_rig_policy(test, &p, 1);
	p.on_block = DXK_ON_BLOCK_HELP;
	p.help_depth = 64;
	ctx = dxk_rig_start(rig, &p);
	worker = dxk_rig_worker(rig, ctx, 1);
	job->fn = chain_fn;
	job->arg = &c;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(job, 1, 0, PXR_REJOIN, NULL), 1);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(does_not_help(ctx, worker)));
	WRITE_ONCE(c.over, true);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 1, &answer), 1);
	KUNIT_EXPECT_EQ(test, c.err, 0);
	KUNIT_EXPECT_GT(test, c.deepest, 1);
	KUNIT_EXPECT_LT(test, c.deepest, 40);
	/* the one that it did not come to runs, as the last, when the worker is free */
	KUNIT_EXPECT_TRUE(test, DXK_SOON(!READ_ONCE(ctx->engine.nr[DXK_AT_READY]) &&
					 !READ_ONCE(ctx->engine.nr[DXK_AT_WORK])));
}

static const u32 relief_params[] = { 0, 1, 2, 3 };

static void relief_param_name(const u32 *param, char *name)
{
	snprintf(name, KUNIT_PARAM_DESC_SIZE, "%s, %s", *param & 1 ? "spare" : "help",
		 *param >> 1 ? "thread" : "direct");
}

KUNIT_ARRAY_PARAM(relief, relief_params, relief_param_name);

static struct kunit_case dxk_relief_cases[] = {
	KUNIT_CASE_PARAM(relief_pool_full, relief_gen_params),
	KUNIT_CASE_PARAM(relief_lane3, relief_gen_params),
	KUNIT_CASE(relief_stack),
	{ }
};

static struct kunit_suite dxk_relief_suite = {
	.name = "dxk_relief",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = dxk_relief_cases,
};
kunit_test_suite(dxk_relief_suite);
