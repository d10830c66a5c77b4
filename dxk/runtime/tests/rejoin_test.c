// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rejoin through the in-kernel API, in both dispatch modes: requests that post
 * and collect requests of their own, and the policies for a full Rejoin Pool.
 */
#include "runtime/tests/rig.h"

#define SUBS	3

/* What a parent and its children tell the test. */
struct family {
	struct dxk_job *sub[SUBS];
	atomic_t inside;
	struct completion all_inside;
	int posted, nr, answer, then, poll, wait;
};

static struct family *family_of(struct kunit *test, struct dxk_job *parent)
{
	struct family *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	init_completion(&f->all_inside);
	parent->arg = f;
	return f;
}

/* Ends only when all of its kind execute at once (DX-104). */
static s32 sub_fn(struct dxk_job *job, struct dxk_call *call)
{
	struct family *f = job->arg;

	if (atomic_inc_return(&f->inside) == SUBS)
		complete_all(&f->all_inside);
	return wait_for_completion_timeout(&f->all_inside,
					   msecs_to_jiffies(DXK_RIG_MS)) ? 0 : -ETIME;
}

static s32 parent_fn(struct dxk_job *job, struct dxk_call *call)
{
	struct dxk_answer a[SUBS] = { };
	struct family *f = job->arg;
	u64 owner = (uintptr_t)f;
	u32 i, answer = 0;

	for (i = 0; i < SUBS; i++) {
		struct dxk_request req = dxk_rig_request(f->sub[i], owner, 10,
							 PXR_REJOIN);

		f->posted += dxk_post(call->self, &req, 1, 0, NULL);
	}
	f->nr = dxk_rejoin(call->self, owner, a, SUBS, SUBS, dxk_in_ms(DXK_RIG_MS),
			   &answer);
	f->answer = answer;
	for (i = 0; i < SUBS; i++)
		f->wait = f->wait ?: a[i].status;
	f->then = dxk_rejoin(call->self, owner, a, 1, 0, 0, &answer);
	f->poll = answer;
	return 42;
}

/* DX-51, DX-104, DX-105, DX-106: a parent, its children, and main */
static void rejoin_hierarchy(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *parent = dxk_rig_job(rig);
	struct family *f = family_of(test, parent);
	struct dxk_policy p;
	u32 i, answer;

	dxk_rig_policy(test, &p, SUBS + 1);
	dxk_rig_start(rig, &p);
	parent->fn = parent_fn;
	for (i = 0; i < SUBS; i++) {
		f->sub[i] = dxk_rig_job(rig);
		f->sub[i]->fn = sub_fn;
		f->sub[i]->arg = f;
	}
	KUNIT_ASSERT_EQ(test, dxk_rig_post(parent, 8, 0, PXR_REJOIN, NULL), 1);
	KUNIT_ASSERT_EQ(test, dxk_rig_rejoin(rig, 8, &answer), 1);
	KUNIT_EXPECT_EQ(test, rig->answer[0].status, 42);
	KUNIT_EXPECT_EQ(test, f->posted, SUBS);
	KUNIT_EXPECT_EQ(test, f->nr, SUBS);
	KUNIT_EXPECT_EQ(test, f->answer, RJR_RETURNED);
	KUNIT_EXPECT_EQ(test, f->wait, 0);
	/* nothing is left for the parent, though it runs itself: it is main's */
	KUNIT_EXPECT_EQ(test, f->then, 0);
	KUNIT_EXPECT_EQ(test, f->poll, RJR_NONE_EXIST);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 8), RJR_NONE_EXIST);
}

static s32 selfish_fn(struct dxk_job *job, struct dxk_call *call)
{
	struct family *f = job->arg;
	struct dxk_answer a = { };
	u32 answer = 0;

	f->then = dxk_rejoin(call->self, call->owner, &a, 1, 0, 0, &answer);
	f->poll = answer;
	f->wait = dxk_rejoin(call->self, call->owner, &a, 1, 1, DXK_FOREVER, &answer);
	return 0;
}

/* DX-52: who asks for the owner that it belongs to would wait for itself */
static void rejoin_own_owner(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	struct family *f = family_of(test, job);
	struct dxk_policy p;
	u32 answer;

	dxk_rig_policy(test, &p, 1);
	dxk_rig_start(rig, &p);
	job->fn = selfish_fn;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(job, 8, 0, PXR_REJOIN, NULL), 1);
	KUNIT_ASSERT_EQ(test, dxk_rig_rejoin(rig, 8, &answer), 1);
	KUNIT_EXPECT_EQ(test, f->then, 0);
	KUNIT_EXPECT_EQ(test, f->poll, RJR_NONE_READY);
	KUNIT_EXPECT_EQ(test, f->wait, -EDEADLK);
	KUNIT_EXPECT_EQ(test, rig->ctx[0]->engine.stats.self_poll, 2);
}

/* DX-91, DX-94: a deadline ends the wait as a poll; one result, one poller */
static void rejoin_pollers(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_errand *first, *second;
	struct dxk_job *gate;
	struct dxk_policy p;
	u32 answer;

	dxk_rig_policy(test, &p, 1);
	dxk_rig_start(rig, &p);
	gate = dxk_rig_gate(rig, 8, PXR_REJOIN);
	KUNIT_EXPECT_EQ(test, dxk_rejoin(rig->m[0], 8, rig->answer, 1, 1,
					 dxk_in_ms(20), &answer), 0);
	KUNIT_EXPECT_EQ(test, answer, RJR_NONE_READY);
	first = dxk_rig_poller(rig, 8, DXK_FOREVER);
	second = dxk_rig_poller(rig, 8, DXK_FOREVER);
	KUNIT_EXPECT_FALSE(test, completion_done(&first->done));
	complete(&gate->leave);
	dxk_rig_finished(first);
	dxk_rig_finished(second);
	KUNIT_EXPECT_EQ(test, first->ret, 1);
	KUNIT_EXPECT_EQ(test, first->answer, RJR_RETURNED);
	/* the second one is told that nothing can come any more */
	KUNIT_EXPECT_EQ(test, second->ret, 0);
	KUNIT_EXPECT_EQ(test, second->answer, RJR_NONE_EXIST);
}

/* --- a full Rejoin Pool (DX-96) --------------------------------------------- */

static struct dxk_ctx *two_entries(struct kunit *test, enum dxk_rejoin_full full)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, 1);
	p.rejoin_entries = 2;
	p.rejoin_full = full;
	return dxk_rig_start(test->priv, &p);
}

static void post_nr(struct dxk_rig *rig, u32 nr)
{
	while (nr--)
		KUNIT_ASSERT_EQ(rig->test, dxk_rig_post(dxk_rig_job(rig), 8, 0,
							PXR_REJOIN, NULL), 1);
}

static u32 results(const struct dxk_ctx *ctx)
{
	return READ_ONCE(ctx->engine.nr[DXK_AT_REJOIN]);
}

/* DX-96: it grows, the worker goes on, the overflow is counted */
static void rejoin_full_grows(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = two_entries(test, DXK_REJOIN_GROW);
	u32 answer;

	post_nr(rig, 5);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(results(ctx) == 5));
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.rejoin_overflow, 3);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.complete_blocks, 0);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 8, &answer), 5);
}

/* DX-96: the worker waits with its result, which still counts as executing */
static void rejoin_full_blocks_worker(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_member *worker = dxk_rig_worker(rig, ctx, 1);
	u32 answer;

	post_nr(rig, 4);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(worker->state) == DXK_M_COMPLETING));
	KUNIT_EXPECT_EQ(test, results(ctx), 2);
	KUNIT_EXPECT_EQ(test, ctx->engine.nr[DXK_AT_WORK], 1);
	KUNIT_EXPECT_EQ(test, ctx->engine.nr[DXK_AT_READY], 1);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 8), RJR_RETURNED);
	/* that let the third one in; the fourth one runs, and waits in its turn */
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(ctx->engine.stats.complete_blocks) == 2));
	KUNIT_EXPECT_EQ(test, results(ctx), 2);
	KUNIT_EXPECT_EQ(test, ctx->engine.nr[DXK_AT_READY], 0);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 8), RJR_RETURNED);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(!READ_ONCE(ctx->engine.nr[DXK_AT_WORK])));
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 8, &answer), 2);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 8), RJR_NONE_EXIST);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.rejoin_overflow, 0);
}

/*
 * DX-96: a wait for more results than the pool can hold at once would wait for
 * the worker that waits for it: it gets what there is.
 */
static void rejoin_full_wait_for_more(struct kunit *test)
{
	struct dxk_ctx *ctx = two_entries(test, DXK_REJOIN_BLOCK_WORKER);
	struct dxk_rig *rig = test->priv;
	u32 answer, reason, got = 0;

	/* one of the two entries is another owner's, which nobody collects */
	KUNIT_ASSERT_EQ(test, dxk_rig_post(dxk_rig_job(rig), 9, 0, PXR_REJOIN, &reason), 1);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(results(ctx) == 1));
	post_nr(rig, 5);
	while (got < 5) {
		u64 until = dxk_in_ms(DXK_RIG_MS);
		int n = dxk_rejoin(rig->m[0], 8, rig->answer, 5, 5, until, &answer);

		KUNIT_ASSERT_GT(test, n, 0);
		KUNIT_ASSERT_LT(test, ktime_get_ns(), until);
		got += n;
	}
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 8), RJR_NONE_EXIST);
}

/* DX-96: the entry is taken at the post, which waits or is refused without one */
static void rejoin_full_reserves(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = two_entries(test, DXK_REJOIN_RESERVE);
	struct dxk_errand *e;
	u32 answer, reason;

	post_nr(rig, 2);
	KUNIT_EXPECT_EQ(test, dxk_rig_post(dxk_rig_job(rig), 8, 0, PXR_REJOIN, &reason),
			-EAGAIN);
	KUNIT_EXPECT_EQ(test, reason, PXR_REJOIN_FULL);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(results(ctx) == 2));
	/* also when both are finished: it is collecting that frees an entry */
	e = dxk_rig_poster(dxk_rig_job(rig), PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER);
	KUNIT_EXPECT_FALSE(test, completion_done(&e->done));
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 8), RJR_RETURNED);
	dxk_rig_finished(e);
	KUNIT_EXPECT_EQ(test, e->ret, 1);
	/* who is not to be collected needs none */
	KUNIT_EXPECT_EQ(test, dxk_rig_post(dxk_rig_job(rig), 8, 0, 0, &reason), 1);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 8, &answer), 1);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 0, &answer), 1);
	KUNIT_EXPECT_EQ(test, ctx->engine.owners.reserved, 0);
}

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

static struct kunit_case rejoin_cases[] = {
	KUNIT_CASE_PARAM(rejoin_hierarchy, mode_gen_params),
	KUNIT_CASE_PARAM(rejoin_own_owner, mode_gen_params),
	KUNIT_CASE_PARAM(rejoin_pollers, mode_gen_params),
	KUNIT_CASE_PARAM(rejoin_full_grows, mode_gen_params),
	KUNIT_CASE_PARAM(rejoin_full_blocks_worker, mode_gen_params),
	KUNIT_CASE_PARAM(rejoin_full_wait_for_more, mode_gen_params),
	KUNIT_CASE_PARAM(rejoin_full_reserves, mode_gen_params),
	{ }
};

static struct kunit_suite rejoin_suite = {
	.name = "dxk_rejoin",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = rejoin_cases,
};

kunit_test_suite(rejoin_suite);
