// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Handle Table through the in-kernel API, in both dispatch modes. The native
 * file is one whose opens and releases are counted and can be made to fail or to
 * wait: what is proved is how often, when and by whom it is opened and closed.
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/list.h>
#include <linux/shmem_fs.h>

#include "runtime/tests/rig.h"
#include "runtime/thread.h"

#define OWNER	5
#define GATED	6	/* of requests that go on */

/* What the file under test has seen. */
static struct probe {
	struct dxk_ctx *ctx;
	atomic_t opens;
	atomic_t releases;
	bool watch;		/* note the next release */
	u32 rejoin;		/* requests in the Rejoin Pool then */
	bool available;		/* a worker was available then */
	struct task_struct *by;
	int fail;		/* opens fail with this ... */
	u32 fail_in;		/* ... in the worker with this id, 0: all */
	bool hold;
	struct completion entered;
	struct completion leave;
} probe;

/* What a job did with a handle. A test that fails may leave the job running. */
static struct use {
	u64 id;
	u32 times;
	struct file *file;
	u32 worker;
	bool same;
	struct dxk_job *other;	/* that it waits for */
} use[4];

static u32 thread_id(struct dxk_ctx *ctx)
{
	struct dxk_thread *t;
	unsigned long id;
	u32 found = 0;

	for (id = 1; !found && (t = dxk_thread_next(ctx, &id, DXK_ID_WORKER_MAX)); id++) {
		if (t->task == current)
			found = id;
		dxk_thread_put(t);
	}
	return found;
}

static int probe_open(struct inode *inode, struct file *file)
{
	if (probe.hold) {
		complete(&probe.entered);
		wait_for_completion_timeout(&probe.leave,
					    msecs_to_jiffies(DXK_RIG_MS));
	}
	if (probe.fail && (!probe.fail_in || probe.fail_in == thread_id(probe.ctx)))
		return probe.fail;
	atomic_inc(&probe.opens);
	return 0;
}

static int probe_release(struct inode *inode, struct file *file)
{
	struct dxk_ctx *ctx = probe.ctx;

	if (probe.watch) {
		spin_lock(&ctx->engine.lock);
		probe.rejoin = ctx->engine.nr[DXK_AT_REJOIN];
		probe.available = !list_empty(&ctx->engine.crew.idle[DXK_KERNEL]);
		spin_unlock(&ctx->engine.lock);
		probe.by = current;
		probe.watch = false;
	}
	/* Last: whoever waits for the count looks at the rest; value-returning is ordered. */
	atomic_inc_return(&probe.releases);
	return 0;
}

static const struct file_operations probe_fops = {
	.owner = THIS_MODULE,
	.open = probe_open,
	.release = probe_release,
};

static void native_put(void *file)
{
	fput(file);
	flush_delayed_fput();
}

static struct dxk_ctx *start_with(struct kunit *test, struct dxk_policy *p)
{
	struct dxk_ctx *ctx = dxk_rig_start(test->priv, p);

	memset(&probe, 0, sizeof(probe));
	memset(use, 0, sizeof(use));
	probe.ctx = ctx;
	init_completion(&probe.entered);
	init_completion(&probe.leave);
	return ctx;
}

static struct dxk_ctx *start(struct kunit *test, u32 workers, u32 entries)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, workers);
	p.handle_entries = entries;
	return start_with(test, &p);
}

static struct file *native(struct kunit *test)
{
	struct file *file = shmem_file_setup("dxk-kunit", PAGE_SIZE, 0);

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, native_put, file), 0);
	file_inode(file)->i_fop = &probe_fops;
	return file;
}

static u64 table_open(struct kunit *test, struct dxk_ctx *ctx)
{
	u64 id = 0;

	KUNIT_ASSERT_EQ(test, dxk_handle_open(ctx, native(test), &id), 0);
	KUNIT_ASSERT_NE(test, id, 0);
	return id;
}

static s32 job_use(struct dxk_job *job, struct dxk_call *call)
{
	struct use *u = job->arg;
	u32 i;

	u->worker = call->self->id;
	u->same = true;
	for (i = 0; i < u->times; i++) {
		struct file *file = dxk_handle_file(call, u->id);

		if (IS_ERR(file))
			return PTR_ERR(file);
		u->same &= !i || file == u->file;
		u->file = file;
	}
	return 0;
}

static struct dxk_job *use_job(struct kunit *test, struct use *u)
{
	struct dxk_job *job = dxk_rig_job(test->priv);

	u->times = u->times ?: 1;
	job->fn = job_use;
	job->arg = u;
	return job;
}

/* Let a worker use a handle; the status of the request. */
static int use_handle(struct kunit *test, struct use *u)
{
	struct dxk_rig *rig = test->priv;
	u32 answer;

	KUNIT_ASSERT_EQ(test, dxk_rig_post(use_job(test, u), OWNER, 0, PXR_REJOIN,
					   NULL), 1);
	KUNIT_ASSERT_EQ(test, dxk_rig_rejoin(rig, OWNER, &answer), 1);
	return rig->answer[0].status;
}

/* Once it was entered; the second time says that it has the file. */
static s32 job_stay(struct dxk_job *job)
{
	complete(&job->entered);
	while (!READ_ONCE(job->rig->over))
		if (wait_for_completion_timeout(&job->leave, HZ / 20))
			break;
	return 0;
}

static s32 job_use_gated(struct dxk_job *job, struct dxk_call *call)
{
	return job_use(job, call) ?: job_stay(job);
}

/* A worker that has used a handle in a request which goes on. */
static struct dxk_job *use_gated(struct kunit *test, struct use *u)
{
	struct dxk_job *job = use_job(test, u);

	job->fn = job_use_gated;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(job, GATED, 0, PXR_REJOIN, NULL), 1);
	dxk_rig_entered(job);
	dxk_rig_entered(job);
	return job;
}

static void collect(struct kunit *test, u64 owner, int status)
{
	struct dxk_rig *rig = test->priv;
	u32 answer;

	KUNIT_ASSERT_EQ(test, dxk_rig_rejoin(rig, owner, &answer), 1);
	KUNIT_EXPECT_EQ(test, rig->answer[0].status, status);
}

static struct dxk_job *job_of(struct kunit *test, struct dxk_member *m)
{
	struct dxk_rqe *rqe = list_first_entry_or_null(&m->busy, struct dxk_rqe, link);

	KUNIT_ASSERT_NOT_NULL(test, rqe);
	return (struct dxk_job *)(uintptr_t)rqe->param;
}

/* DX-16, DX-26: worker 3 uses H twice and worker 4 once: exactly two opens */
static void handle_one_open_per_worker(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 4, 8);
	struct dxk_member *m[5];
	struct dxk_job *job;
	u32 i, answer;
	u64 id = table_open(test, ctx);

	for (i = 0; i < 4; i++)
		dxk_rig_gate(rig, 1, PXR_REJOIN);
	for (i = 1; i <= 4; i++)
		m[i] = dxk_rig_worker(rig, ctx, i);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.opens), 0);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 1);

	/* twice in worker 3, in two requests: all others are held */
	use[0].id = use[1].id = use[2].id = id;
	job = job_of(test, m[3]);
	job->fn = job_use;
	job->arg = &use[0];
	use[0].times = 1;
	complete(&job->leave);
	KUNIT_ASSERT_EQ(test, use_handle(test, &use[1]), 0);
	KUNIT_EXPECT_EQ(test, use[0].worker, 3);
	KUNIT_EXPECT_EQ(test, use[1].worker, 3);
	KUNIT_EXPECT_PTR_EQ(test, use[0].file, use[1].file);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.opens), 1);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 2);

	job = job_of(test, m[4]);
	job->fn = job_use;
	job->arg = &use[2];
	use[2].times = 3;
	complete(&job->leave);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(ctx->engine.nr[DXK_AT_REJOIN]) == 2));
	KUNIT_EXPECT_EQ(test, use[2].worker, 4);
	KUNIT_EXPECT_TRUE(test, use[2].same);
	KUNIT_EXPECT_PTR_NE(test, use[2].file, use[0].file);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.opens), 2);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 3);
	KUNIT_EXPECT_EQ(test, ctx->handles.high, 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.releases), 0);

	for (i = 1; i <= 2; i++)
		complete(&job_of(test, m[i])->leave);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 1, &answer), 4);
	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, id), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == 2));
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 0);
	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, id), -ENOENT);
}

/*
 * DX-27, DX-28, DX-82: of two workers one uses the file and one is idle. The idle
 * one's is closed with the handle, the other after its Rejoin write, by its worker,
 * before that is available.
 */
static void handle_closed_in_use(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 2, 8);
	struct dxk_member *m;
	struct dxk_job *job, *gate;
	u64 id;

	use[0].id = use[1].id = id = table_open(test, ctx);
	job = use_gated(test, &use[0]);
	KUNIT_ASSERT_EQ(test, use_handle(test, &use[1]), 0);
	KUNIT_EXPECT_NE(test, use[0].worker, use[1].worker);
	m = dxk_rig_worker(rig, ctx, use[0].worker);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(!list_empty(&ctx->engine.crew.idle[DXK_KERNEL])));

	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, id), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == 1));
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 1);
	KUNIT_EXPECT_EQ(test, file_count(use[0].file), 1);
	/* nobody gets it any more, the one that has it included */
	KUNIT_EXPECT_EQ(test, use_handle(test, &use[1]), -ENOENT);

	/* keep the other one busy: whoever is available then is the stale one */
	gate = dxk_rig_gate(rig, 1, 0);
	probe.watch = true;
	complete(&job->leave);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == 2));
	KUNIT_EXPECT_PTR_EQ(test, probe.by, dxk_thread_of(m)->task);
	KUNIT_EXPECT_EQ(test, probe.rejoin, 1);
	KUNIT_EXPECT_FALSE(test, probe.available);
	collect(test, GATED, 0);
	KUNIT_ASSERT_TRUE(test, DXK_SOON(READ_ONCE(ctx->handles.use) == 0));
	/* and it goes on */
	KUNIT_EXPECT_EQ(test, use_handle(test, &use[0]), -ENOENT);
	complete(&gate->leave);
}

/* The same with work waiting: the next request begins after the close. */
static void handle_closed_before_next(struct kunit *test)
{
	struct dxk_ctx *ctx = start(test, 1, 8);
	struct dxk_job *job;

	use[0].id = table_open(test, ctx);
	use[1].id = table_open(test, ctx);
	/* opened in a request before the one that uses it */
	KUNIT_ASSERT_EQ(test, use_handle(test, &use[0]), 0);
	job = use_gated(test, &use[0]);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.opens), 1);
	KUNIT_ASSERT_EQ(test, dxk_rig_post(use_job(test, &use[1]), 1, 0, 0, NULL), 1);
	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, use[0].id), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.releases), 0);
	probe.watch = true;
	/* the open in the next request waits, and shows what was before it */
	probe.hold = true;
	complete(&job->leave);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&probe.entered,
							     msecs_to_jiffies(DXK_RIG_MS)));
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == 1));
	KUNIT_EXPECT_EQ(test, probe.rejoin, 1);
	probe.hold = false;
	complete(&probe.leave);
	collect(test, GATED, 0);
}

/* A busy worker's file that its running request has not asked for: at once. */
static void handle_closed_not_in_use(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1, 8);
	struct dxk_job *gate;

	use[0].id = table_open(test, ctx);
	KUNIT_ASSERT_EQ(test, use_handle(test, &use[0]), 0);
	gate = dxk_rig_gate(rig, OWNER, PXR_REJOIN);
	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, use[0].id), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == 1));
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 0);
	complete(&gate->leave);
	collect(test, OWNER, 0);
}

/* A job that uses a handle, waits for a request that its own worker helps with, and goes on. */
static s32 job_use_waiting(struct dxk_job *job, struct dxk_call *call)
{
	struct use *u = job->arg;
	struct dxk_request req = dxk_rig_request(u->other, OWNER, 0, PXR_REJOIN);
	struct dxk_answer a = { };
	u32 answer;
	s32 err;

	err = job_use(job, call);
	if (!err && (dxk_post(call->self, &req, 1, 0, NULL) != 1 ||
		     dxk_rejoin(call->self, OWNER, &a, 1, 1, DXK_FOREVER, &answer) != 1))
		err = -EIO;
	return err ?: job_stay(job);
}

/* DX-27: the file of a request that goes on after others that its worker helped with. */
static void handle_closed_after_help(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_policy p;
	struct dxk_ctx *ctx;
	struct dxk_job *job;

	dxk_rig_policy(test, &p, 1);
	p.handle_entries = 8;
	p.on_block = DXK_ON_BLOCK_HELP;
	ctx = start_with(test, &p);
	use[0].id = table_open(test, ctx);
	use[0].other = dxk_rig_job(rig);
	job = use_job(test, &use[0]);
	job->fn = job_use_waiting;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(job, GATED, 0, PXR_REJOIN, NULL), 1);
	dxk_rig_entered(job);
	dxk_rig_entered(job);
	KUNIT_EXPECT_EQ(test, ctx->engine.stats.helps, 1);
	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, use[0].id), 0);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 1);
	complete(&job->leave);
	collect(test, GATED, 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == 1));
	KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(ctx->handles.use) == 0));
}

/* An open that fails in one worker is that request's error and nobody else's. */
static void handle_open_fails(struct kunit *test)
{
	struct dxk_ctx *ctx = start(test, 2, 8);
	struct dxk_job *job;

	use[0].id = use[1].id = table_open(test, ctx);
	probe.fail = -EMEDIUMTYPE;
	KUNIT_EXPECT_EQ(test, use_handle(test, &use[0]), -EMEDIUMTYPE);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 1);
	probe.fail = 0;
	job = use_gated(test, &use[0]);
	/* now the other one */
	probe.fail = -EMEDIUMTYPE;
	probe.fail_in = 3 - use[0].worker;
	KUNIT_EXPECT_EQ(test, use_handle(test, &use[1]), -EMEDIUMTYPE);
	KUNIT_EXPECT_EQ(test, use[1].worker, probe.fail_in);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 2);
	complete(&job->leave);
	collect(test, GATED, 0);
	/* tried again */
	probe.fail = 0;
	job = use_gated(test, &use[0]);
	KUNIT_EXPECT_EQ(test, use_handle(test, &use[1]), 0);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 3);
	complete(&job->leave);
	collect(test, GATED, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.opens), 2);
}

/* The size counts natives and workers' own files together. */
static void handle_table_full(struct kunit *test)
{
	struct dxk_ctx *ctx = start(test, 2, 2);
	u64 id, more;

	use[0].id = use[1].id = id = table_open(test, ctx);
	KUNIT_ASSERT_EQ(test, use_handle(test, &use[0]), 0);
	KUNIT_EXPECT_EQ(test, dxk_handle_open(ctx, native(test), &more), -ENOSPC);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 2);
	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, id), 0);
	/* a native each, no room for own ones */
	use[0].id = table_open(test, ctx);
	use[1].id = table_open(test, ctx);
	KUNIT_EXPECT_GT(test, use[0].id, id);
	KUNIT_EXPECT_EQ(test, use_handle(test, &use[0]), -ENOSPC);
	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, use[1].id), 0);
	KUNIT_EXPECT_EQ(test, use_handle(test, &use[0]), 0);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 2);
	KUNIT_EXPECT_EQ(test, ctx->handles.high, 2);
}

/* Closed while a worker opens it: that worker finds no handle, and keeps none. */
static void handle_closed_while_opened(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_ctx *ctx = start(test, 1, 8);

	use[0].id = table_open(test, ctx);
	probe.hold = true;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(use_job(test, &use[0]), OWNER, 0, PXR_REJOIN,
					   NULL), 1);
	KUNIT_ASSERT_NE(test, 0, wait_for_completion_timeout(&probe.entered,
							     msecs_to_jiffies(DXK_RIG_MS)));
	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, use[0].id), 0);
	complete(&probe.leave);
	collect(test, OWNER, -ENOENT);
	KUNIT_EXPECT_EQ(test, atomic_read(&probe.opens), 1);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == 1));
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 0);
	KUNIT_EXPECT_EQ(test, dxk_rig_poll(rig, OWNER), RJR_NONE_EXIST);
}

/* Stop closes all; a restart has an empty table, and the ids go on. */
static void handle_stop_closes(struct kunit *test)
{
	struct dxk_ctx *ctx = start(test, 2, 8);
	struct file *file = native(test);
	u64 last = 0;
	u32 round;

	for (round = 0; round < 3; round++) {
		u64 unused;

		KUNIT_ASSERT_EQ(test, dxk_handle_open(ctx, file, &unused), 0);
		KUNIT_ASSERT_EQ(test, dxk_handle_open(ctx, file, &use[0].id), 0);
		KUNIT_EXPECT_GT(test, unused, last);
		KUNIT_EXPECT_GT(test, use[0].id, unused);
		KUNIT_EXPECT_EQ(test, file_count(file), 3);
		KUNIT_ASSERT_EQ(test, use_handle(test, &use[0]), 0);
		KUNIT_EXPECT_EQ(test, ctx->handles.use, 3);
		KUNIT_ASSERT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN,
						   dxk_in_ms(DXK_RIG_MS)), 0);
		KUNIT_EXPECT_EQ(test, ctx->handles.use, 0);
		KUNIT_EXPECT_TRUE(test, DXK_SOON(file_count(file) == 1));
		KUNIT_EXPECT_EQ(test, atomic_read(&probe.opens), round + 1);
		KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == round + 1));
		KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, use[0].id), -ENOENT);
		KUNIT_EXPECT_EQ(test, dxk_handle_open(ctx, file, &unused), -ESHUTDOWN);
		last = use[0].id;
		KUNIT_ASSERT_EQ(test, dxk_ctx_start(ctx), 0);
		KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, last), -ENOENT);
		KUNIT_EXPECT_EQ(test, use_handle(test, &use[0]), -ENOENT);
	}
}

/* A worker that leaves the crew closes its own files. */
static void handle_worker_leaves(struct kunit *test)
{
	struct dxk_ctx *ctx = start(test, 2, 8);
	struct dxk_policy p;
	struct dxk_job *job;
	u64 id;

	use[0].id = use[1].id = id = table_open(test, ctx);
	job = use_gated(test, &use[0]);
	KUNIT_ASSERT_EQ(test, use_handle(test, &use[1]), 0);
	complete(&job->leave);
	collect(test, GATED, 0);
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 3);

	dxk_rig_policy(test, &p, 1);
	p.handle_entries = 8;
	KUNIT_ASSERT_EQ(test, dxk_ctx_set_policy(ctx, &p), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(READ_ONCE(ctx->handles.use) == 2));
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == 1));
	KUNIT_EXPECT_EQ(test, dxk_handle_close(ctx, id), 0);
	KUNIT_EXPECT_TRUE(test, DXK_SOON(atomic_read(&probe.releases) == 2));
	KUNIT_EXPECT_EQ(test, ctx->handles.use, 0);
}

KUNIT_ARRAY_PARAM(mode, dxk_rig_modes, dxk_rig_mode_name);

static struct kunit_case handle_cases[] = {
	KUNIT_CASE_PARAM(handle_one_open_per_worker, mode_gen_params),
	KUNIT_CASE_PARAM(handle_closed_in_use, mode_gen_params),
	KUNIT_CASE_PARAM(handle_closed_before_next, mode_gen_params),
	KUNIT_CASE_PARAM(handle_closed_not_in_use, mode_gen_params),
	KUNIT_CASE(handle_closed_after_help),
	KUNIT_CASE_PARAM(handle_open_fails, mode_gen_params),
	KUNIT_CASE_PARAM(handle_table_full, mode_gen_params),
	KUNIT_CASE_PARAM(handle_closed_while_opened, mode_gen_params),
	KUNIT_CASE_PARAM(handle_stop_closes, mode_gen_params),
	KUNIT_CASE_PARAM(handle_worker_leaves, mode_gen_params),
	{ }
};

static struct kunit_suite handle_suite = {
	.name = "dxk_handle",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = handle_cases,
};

kunit_test_suite(handle_suite);
