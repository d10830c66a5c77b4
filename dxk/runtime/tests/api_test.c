// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of the in-kernel API needs a whole context: policies that change, data that is
 * copied, a Monitor that sleeps, and the stack of a kernel worker.
 */
#include <linux/file.h>
#include <linux/shmem_fs.h>

#include "engine/policy.h"
#include "runtime/policy.h"
#include "runtime/tests/rig.h"
#include "services/gate.h"

static struct dxk_ctx *start(struct kunit *test, u32 workers)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, workers);
	return dxk_rig_start(test->priv, &p);
}

/* --- policies --------------------------------------------------------------- */

/* DX-5: a refused policy leaves the context as it was */
static void policy_refused_changes_nothing(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_policy p, before;
	struct dxk_ctx *ctx = dxk_rig_create(rig);

	dxk_policy_get(ctx, &before);
	p = before;
	p.max_threads = 0;
	KUNIT_EXPECT_EQ(test, dxk_ctx_set_policy(ctx, &p), -EINVAL);
	KUNIT_EXPECT_EQ(test, p.bad_field, offsetof(struct dxk_policy, max_threads));
	dxk_policy_get(ctx, &p);
	KUNIT_EXPECT_EQ(test, memcmp(&p, &before, sizeof(p)), 0);
	KUNIT_EXPECT_TRUE(test, xa_empty(&ctx->slots));
	KUNIT_EXPECT_EQ(test, ctx->engine.state, DXK_CTX_NEW);
}

/* DX-9: which fields can change while it runs; in force after the review */
static void policy_dynamic_fields(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	const struct dxk_field *f;
	struct dxk_policy p, now;
	struct dxk_ctx *ctx;

	dxk_rig_policy(test, &p, 4);
	/* fewer threads are to be enough */
	p.kernel_threads = 0;
	ctx = dxk_rig_start(rig, &p);
	for (f = dxk_fields; f < dxk_fields + dxk_fields_nr; f++) {
		u32 value;

		if (f->min == f->max)
			continue;
		dxk_policy_get(ctx, &p);
		value = *dxk_field_of(&p, f);
		value = value == f->min ? f->min + 1 : value > 2 ? value / 2 : f->min;
		*dxk_field_of(&p, f) = value;
		/* beside homes there are no others */
		if (!f->dynamic)
			p.min_threads = 0;
		KUNIT_EXPECT_EQ_MSG(test, dxk_ctx_set_policy(ctx, &p),
				    f->dynamic ? 0 : -EBUSY, "%s", f->name);
		KUNIT_EXPECT_EQ(test, p.bad_field, f->dynamic ? 0 : f->offset);
		if (f->dynamic)
			KUNIT_EXPECT_TRUE_MSG(test, DXK_SOON(
				(dxk_policy_get(ctx, &now),
				 *dxk_field_of(&now, f) == value)), "%s", f->name);
	}
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(rig->ctx[0], DXK_STOP_DRAIN,
					   dxk_in_ms(DXK_RIG_MS)), 0);
}

/* --- posts ------------------------------------------------------------------ */

/* One malformed request refuses all. */
static void post_refuses_all(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct dxk_request req[2], good;

	good = dxk_rig_request(dxk_rig_job(rig), 2, 0, 0);
	req[0] = good;
	req[1] = good;
	req[1].attrs |= PXR_LANE0 | PXR_LANE2;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 2, 0, NULL), -EINVAL);
	req[1].attrs = PXR_KERNEL | 1U << 31;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 2, 0, NULL), -EOPNOTSUPP);
	/* no place for user workers */
	req[1].attrs = 0;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 2, 0, NULL), -ENODEV);
	req[1] = good;
	req[1].result_len = ctx->engine.policy.data_size + 1;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 2, 0, NULL), -EMSGSIZE);
	req[1] = good;
	req[1].executor ^= 1U << 30;
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 2, 0, NULL), -ENOENT);
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, 0, 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, dxk_post(rig->m[0], req, DXK_BATCH_MAX + 1, 0, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.posts, 0);
}

static s32 reverse(struct dxk_job *job, struct dxk_call *call)
{
	u8 *data = call->data;
	u32 i;

	for (i = 0; i < call->data_len / 2; i++)
		swap(data[i], data[call->data_len - 1 - i]);
	call->result_len = call->result_room;
	return -1234;
}

/* DX-33, DX-36, DX-85: all fields come back, with status and result */
static void post_status_and_data(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	struct dxk_request req = dxk_rig_request(job, 5, -9, PXR_REJOIN | PXR_BOOST |
						 PXR_LANE1);
	struct dxk_answer *a = rig->answer;
	char out[8];
	u32 answer;

	start(test, 1);
	job->fn = reverse;
	req.data = "abcde";
	req.data_len = 5;
	req.result_len = 4;
	memset(out, '#', sizeof(out));
	a->data = out;
	a->data_room = 3;
	KUNIT_ASSERT_EQ(test, dxk_post(rig->m[0], &req, 1, 0, NULL), 1);
	KUNIT_ASSERT_EQ(test, dxk_rig_rejoin(rig, 5, &answer), 1);
	KUNIT_EXPECT_EQ(test, a->executor, req.executor);
	KUNIT_EXPECT_EQ(test, a->param, req.param);
	KUNIT_EXPECT_EQ(test, a->attrs, req.attrs);
	KUNIT_EXPECT_EQ(test, a->status, -1234);
	KUNIT_EXPECT_EQ(test, a->prio, -9);
	KUNIT_EXPECT_EQ(test, a->worker, 1);
	KUNIT_EXPECT_EQ(test, a->inspect_count, 0);
	/* four bytes, of which three had room */
	KUNIT_EXPECT_EQ(test, a->data_len, 4);
	KUNIT_EXPECT_EQ(test, memcmp(out, "edc#####", sizeof(out)), 0);
	a->data = NULL;
}

/* It says that it wrote all that there is room for. */
static s32 claim_all(struct dxk_job *job, struct dxk_call *call)
{
	call->result_len = call->result_room;
	return 0;
}

/* What an executor does not write is no memory of others. */
static void post_result_is_zeroed(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	struct dxk_request req = dxk_rig_request(job, 5, 0, PXR_REJOIN);
	struct dxk_answer *a = rig->answer;
	char out[64];

	start(test, 1);
	job->fn = claim_all;
	req.data = "ab";
	req.data_len = 2;
	req.result_len = sizeof(out);
	a->data = out;
	a->data_room = sizeof(out);
	KUNIT_ASSERT_EQ(test, dxk_post(rig->m[0], &req, 1, 0, NULL), 1);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(dxk_rig_poll(rig, 5) == RJR_RETURNED));
	KUNIT_EXPECT_EQ(test, a->data_len, sizeof(out));
	KUNIT_EXPECT_EQ(test, memcmp(out, "ab", 2), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(out + 2, 0, sizeof(out) - 2));
	a->data = NULL;
}

/* Is it told who posted? The kernel, or whom the test has put there. */
static s32 tell_poster(struct dxk_job *job, struct dxk_call *call)
{
	const struct dxk_poster *who = job->arg;

	return __kuid_val(call->uid) == who->uid && __kgid_val(call->gid) == who->gid &&
	       call->pid == who->pid;
}

static void post_tells_poster(struct kunit *test)
{
	static const struct dxk_poster posters[] = {
		{ }, { .uid = 1000, .gid = 100, .pid = 42 },
	};
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct dxk_engine *e = &ctx->engine;
	struct dxk_job *gate, *job;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(posters); i++) {
		gate = dxk_rig_gate(rig, 1, 0);
		job = dxk_rig_job(rig);
		job->fn = tell_poster;
		job->arg = (void *)&posters[i];
		KUNIT_ASSERT_EQ(test, dxk_rig_post(job, 2, 0, PXR_REJOIN, NULL), 1);
		spin_lock(&e->lock);
		/* as if a process had posted it */
		if (i)
			dxk_ready_first(&e->ready)->poster = posters[i];
		spin_unlock(&e->lock);
		complete(&gate->leave);
		KUNIT_ASSERT_TRUE(test, DXK_SOON(dxk_rig_poll(rig, 2) == RJR_RETURNED));
		KUNIT_EXPECT_EQ(test, rig->answer[0].status, 1);
	}
}

/* --- stalls ----------------------------------------------------------------- */

static u64 stalls(struct dxk_rig *rig)
{
	u64 nr;

	spin_lock(&rig->ctx[0]->engine.lock);
	nr = rig->ctx[0]->engine.stats.stalls;
	spin_unlock(&rig->ctx[0]->engine.lock);
	return nr;
}

/* A parent: it posts a child and sleeps until that has ended. */
static s32 wait_for_child(struct dxk_job *job, struct dxk_call *call)
{
	struct dxk_job *child = job->arg;
	struct dxk_request req = dxk_rig_request(child, (uintptr_t)job, 0, PXR_REJOIN);
	struct dxk_answer a = { };
	u32 answer;
	int ret;

	ret = dxk_post(call->self, &req, 1, 0, NULL);
	if (ret != 1)
		return ret;
	ret = dxk_rejoin(call->self, (uintptr_t)job, &a, 1, 1, DXK_FOREVER, &answer);
	return ret == 1 ? a.status : ret;
}

/*
 * One worker, parent and child: told in time though the Monitor's interval is an
 * hour. A second worker joins, and it is over.
 */
static void stall_of_kernel_workers(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *child = dxk_rig_job(rig), *parent = dxk_rig_job(rig);
	struct dxk_policy p;
	u32 answer;

	dxk_rig_policy(test, &p, 1);
	p.monitor_interval_ms = 3600000;
	dxk_rig_start(rig, &p);
	child->status = 7;
	parent->fn = wait_for_child;
	parent->arg = child;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(parent, 1, 0, PXR_REJOIN, NULL), 1);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(stalls(rig) == 1));

	p = rig->ctx[0]->engine.policy;
	p.max_threads = 2;
	p.kernel_threads = 2;
	KUNIT_ASSERT_EQ(test, dxk_ctx_set_policy(rig->ctx[0], &p), 0);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 1, &answer), 1);
	KUNIT_EXPECT_EQ(test, rig->answer[0].status, 7);
	KUNIT_EXPECT_EQ(test, stalls(rig), 1);
}

static s32 until_should_stop(struct dxk_job *job, struct dxk_call *call)
{
	while (!dxk_should_stop(call))
		usleep_range(500, 1000);
	return 9;
}

/* It is woken by Stop, and by nothing else. */
static s32 sleep_until_should_stop(struct dxk_job *job, struct dxk_call *call)
{
	int err = dxk_wait_should_stop(call, dxk_in_ms(2));

	if (!err)
		err = dxk_wait_should_stop(call, DXK_FOREVER);
	return err == 1 && dxk_wait_should_stop(call, 0) == 1 ? 9 : err;
}

/* DX-109: Stop(drain) ends a service of lane 0; Stop(cancel) asks others, too */
static void stop_asks_executors(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1);
	struct dxk_job *job;
	u32 i;

	for (i = 0; i < 4; i++) {
		if (i)
			KUNIT_ASSERT_EQ(test, dxk_ctx_start(ctx), 0);
		job = dxk_rig_job(rig);
		job->fn = i < 2 ? until_should_stop : sleep_until_should_stop;
		KUNIT_ASSERT_EQ(test, dxk_rig_post(job, 1, 0, PXR_REJOIN |
						   (i & 1 ? 0 : PXR_LANE0), NULL), 1);
		dxk_rig_entered(job);
		KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, i & 1 ? DXK_STOP_CANCEL :
						   DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)),
				0);
		KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 1), RJR_RETURNED);
		KUNIT_EXPECT_EQ(test, rig->answer[0].status, 9);
	}
}

/* --- files ------------------------------------------------------------------- */

/* One read of the file, whose length is the status. */
static s32 read_once(struct dxk_job *job, struct dxk_call *call)
{
	loff_t pos = 0;
	char buf[8];

	return dxk_file_read(call->file, buf, sizeof(buf), &pos);
}

/* One that does not wait */
struct reading {
	struct dxk_async_read read;
	long result;
	char buf[8];
};

static void reading_done(struct dxk_async_read *read, long result)
{
	container_of(read, struct reading, read)->result = result;
}

/* The file is in memory: the read has ended when the call returns. */
static s32 read_once_async(struct dxk_job *job, struct dxk_call *call)
{
	struct reading *r = job->arg;

	r->read.done = reading_done;
	dxk_file_read_async(&r->read, call->file, r->buf, sizeof(r->buf), 0);
	return r->result;
}

static void put(void *file)
{
	fput(file);
}

static bool came_back(struct dxk_rig *rig)
{
	return dxk_rig_poll(rig, 1) == RJR_RETURNED;
}

static void suspend_holds(struct kunit *test, s32 (*fn)(struct dxk_job *job, struct dxk_call *call),
			  struct reading *r)
{
	struct file *file = shmem_file_setup("dxk-kunit", 5, 0);
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job;
	struct dxk_request req;
	u32 i;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put, file), 0);
	start(test, 1);
	for (i = 0; i < 2; i++) {
		job = dxk_rig_job(rig);
		job->fn = fn;
		job->arg = r;
		req = dxk_rig_request(job, 1, 0, PXR_REJOIN | PXR_FD);
		req.file = file;
		KUNIT_ASSERT_EQ(test, dxk_gate_close(DXK_GATE_TIME), 0);
		KUNIT_ASSERT_EQ(test, dxk_post(rig->m[0], &req, 1, 0, NULL), 1);
		dxk_rig_entered(job);
		msleep(50);
		KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, 1), RJR_NONE_READY);
		if (!i) {
			dxk_gate_open();
			KUNIT_EXPECT_TRUE(test, DXK_SOON(came_back(rig)));
			KUNIT_EXPECT_EQ(test, rig->answer[0].status, 5);
		}
	}
	/* the second one is still at the gate */
	dxk_client_destroy(rig->m[--rig->nr_m]);
	dxk_ctx_destroy(rig->ctx[--rig->nr_ctx]);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(file_count(file) == 1));
	dxk_gate_open();
}

/* A worker reads no file while the system is suspended, and a close does not wait for that. */
static void suspend_holds_readers(struct kunit *test)
{
	suspend_holds(test, read_once, NULL);
}

static void suspend_holds_async_readers(struct kunit *test)
{
	struct reading *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	suspend_holds(test, read_once_async, r);
	KUNIT_EXPECT_EQ(test, r->result, -ERESTARTSYS);
}

/* --- helpers ---------------------------------------------------------------- */

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
static void help_keeps_a_stack(struct kunit *test)
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

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

static struct kunit_case api_cases[] = {
	KUNIT_CASE(policy_refused_changes_nothing),
	KUNIT_CASE(policy_dynamic_fields),
	KUNIT_CASE_PARAM(post_refuses_all, mode_gen_params),
	KUNIT_CASE_PARAM(post_status_and_data, mode_gen_params),
	KUNIT_CASE(post_result_is_zeroed),
	KUNIT_CASE(post_tells_poster),
	KUNIT_CASE(stall_of_kernel_workers),
	KUNIT_CASE_PARAM(stop_asks_executors, mode_gen_params),
	KUNIT_CASE(suspend_holds_readers),
	KUNIT_CASE(suspend_holds_async_readers),
	KUNIT_CASE(help_keeps_a_stack),
	{ }
};

static struct kunit_suite api_suite = {
	.name = "dxk_api",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = api_cases,
};

kunit_test_suite(api_suite);
