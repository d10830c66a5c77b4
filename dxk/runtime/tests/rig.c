// SPDX-License-Identifier: GPL-2.0-only
/*
 * What suites need that run whole contexts, see rig.h.
 *
 * A test may end at any failed assertion: everything it made is noted here, and
 * dxk_rig_exit() undoes it in an order that cannot wait for the test.
 */
#include <linux/kthread.h>

#include "engine/os.h"
#include "runtime/crew.h"
#include "runtime/tests/rig.h"
#include "runtime/thread.h"

const u32 dxk_rig_modes[2] = { DXK_DISPATCH_DIRECT, DXK_DISPATCH_THREAD };

void dxk_rig_mode_name(const u32 *mode, char *name)
{
	strscpy(name, *mode == DXK_DISPATCH_DIRECT ? "direct" : "thread",
		KUNIT_PARAM_DESC_SIZE);
}

/* --- jobs ------------------------------------------------------------------- */

static void dxk_job_wait(struct dxk_job *job)
{
	unsigned long until = jiffies + msecs_to_jiffies(DXK_RIG_MS);

	while (!wait_for_completion_timeout(&job->leave, HZ / 20))
		if (READ_ONCE(job->rig->over) || time_after(jiffies, until))
			return;
}

static s32 dxk_rig_execute(struct dxk_call *call)
{
	struct dxk_job *job = (struct dxk_job *)(uintptr_t)call->param;
	u32 n = atomic_fetch_inc(&job->rig->executed);

	if (n < DXK_RIG_JOBS)
		WRITE_ONCE(job->rig->order[n], job->nr);
	complete(&job->entered);
	if (job->gated)
		dxk_job_wait(job);
	return job->fn ? job->fn(job, call) : job->status;
}

struct dxk_job *dxk_rig_job(struct dxk_rig *rig)
{
	struct dxk_job *job;

	KUNIT_ASSERT_LT(rig->test, rig->nr_jobs, DXK_RIG_JOBS);
	job = &rig->job[rig->nr_jobs];
	job->rig = rig;
	job->nr = rig->nr_jobs++;
	init_completion(&job->entered);
	init_completion(&job->leave);
	return job;
}

struct dxk_request dxk_rig_request(struct dxk_job *job, u64 owner, s32 prio, u32 attrs)
{
	return (struct dxk_request) {
		.owner = owner,
		.executor = job->rig->exec.id,
		.param = (uintptr_t)job,
		.prio = prio,
		.attrs = attrs | PXR_KERNEL,
	};
}

/** dxk_rig_post - post a job to the first context, without sleeping */
int dxk_rig_post(struct dxk_job *job, u64 owner, s32 prio, u32 attrs, u32 *reason)
{
	struct dxk_request req = dxk_rig_request(job, owner, prio, attrs);

	return dxk_post(job->rig->m[0], &req, 1, 0, reason);
}

void dxk_rig_entered(struct dxk_job *job)
{
	KUNIT_ASSERT_NE(job->rig->test, 0,
			wait_for_completion_timeout(&job->entered,
						    msecs_to_jiffies(DXK_RIG_MS)));
}

/** dxk_rig_gate - have a worker execute a job until its leave is completed */
struct dxk_job *dxk_rig_gate(struct dxk_rig *rig, u64 owner, u32 attrs)
{
	struct dxk_job *job = dxk_rig_job(rig);

	job->gated = true;
	KUNIT_ASSERT_EQ(rig->test, dxk_rig_post(job, owner, 0, attrs, NULL), 1);
	dxk_rig_entered(job);
	return job;
}

/** dxk_rig_rejoin - collect all of an owner, or wait until something comes */
int dxk_rig_rejoin(struct dxk_rig *rig, u64 owner, u32 *answer)
{
	return dxk_rejoin(rig->m[0], owner, rig->answer, DXK_BATCH_MAX, DXK_BATCH_MAX,
			  dxk_in_ms(DXK_RIG_MS), answer);
}

/** dxk_rig_poll - the answer of a poll that takes one at most, or an error */
int dxk_rig_poll(struct dxk_rig *rig, u64 owner)
{
	u32 answer = 0;
	int n = dxk_rejoin(rig->m[0], owner, rig->answer, 1, 0, 0, &answer);

	if (n >= 0)
		KUNIT_EXPECT_EQ(rig->test, n, answer == RJR_RETURNED);
	return n < 0 ? n : answer;
}

/* --- errands ---------------------------------------------------------------- */

static int dxk_errand_fn(void *arg)
{
	struct dxk_errand *e = arg;

	e->ret = e->run(e);
	/* ends in the kernel's own code: the module may be removed right after */
	kthread_complete_and_exit(&e->done, 0);
}

static struct dxk_errand *dxk_errand_new(struct dxk_rig *rig,
					 int (*run)(struct dxk_errand *e))
{
	struct dxk_errand *e = &rig->errand[rig->nr_errands];

	KUNIT_ASSERT_LT(rig->test, rig->nr_errands, DXK_RIG_ERRANDS);
	e->rig = rig;
	e->run = run;
	init_completion(&e->done);
	return e;
}

static void dxk_errand_go(struct dxk_errand *e)
{
	struct task_struct *task = kthread_run(dxk_errand_fn, e, "dxk-errand");

	KUNIT_ASSERT_FALSE(e->rig->test, IS_ERR(task));
	e->rig->nr_errands++;
}

/** dxk_rig_errand - any call, of which nothing is known but that it was begun */
struct dxk_errand *dxk_rig_errand(struct dxk_rig *rig, int (*run)(struct dxk_errand *e))
{
	struct dxk_errand *e = dxk_errand_new(rig, run);

	dxk_errand_go(e);
	return e;
}

static int dxk_errand_post(struct dxk_errand *e)
{
	return dxk_post(e->m, &e->req, 1, e->deadline, &e->reason);
}

static int dxk_errand_rejoin(struct dxk_errand *e)
{
	struct dxk_answer answer = { };

	return dxk_rejoin(e->m, e->owner, &answer, 1, 1, e->deadline, &e->answer);
}

static int dxk_errand_stop(struct dxk_errand *e)
{
	return dxk_ctx_stop(e->rig->ctx[0], e->mode, e->deadline);
}

/** dxk_rig_poster - returns when the post sleeps, or is over */
struct dxk_errand *dxk_rig_poster(struct dxk_job *job, u32 attrs, u64 deadline)
{
	struct dxk_rig *rig = job->rig;
	struct dxk_errand *e = dxk_errand_new(rig, dxk_errand_post);

	e->m = dxk_rig_client(rig, rig->ctx[0]);
	e->req = dxk_rig_request(job, 0, 0, attrs);
	e->deadline = deadline;
	dxk_errand_go(e);
	KUNIT_ASSERT_TRUE(rig->test, DXK_SOON(completion_done(&e->done) ||
					      READ_ONCE(e->m->state) == DXK_M_POSTING));
	return e;
}

/** dxk_rig_poller - returns when the rejoin sleeps, or is over */
struct dxk_errand *dxk_rig_poller(struct dxk_rig *rig, u64 owner, u64 deadline)
{
	struct dxk_errand *e = dxk_errand_new(rig, dxk_errand_rejoin);

	e->m = dxk_rig_client(rig, rig->ctx[0]);
	e->owner = owner;
	e->deadline = deadline;
	dxk_errand_go(e);
	KUNIT_ASSERT_TRUE(rig->test, DXK_SOON(completion_done(&e->done) ||
					      READ_ONCE(e->m->state) == DXK_M_REJOINING));
	return e;
}

/** dxk_rig_stopper - returns when the first context stops */
struct dxk_errand *dxk_rig_stopper(struct dxk_rig *rig, enum dxk_stop_mode mode)
{
	struct dxk_errand *e = dxk_errand_new(rig, dxk_errand_stop);

	e->mode = mode;
	e->deadline = dxk_in_ms(DXK_RIG_MS);
	dxk_errand_go(e);
	KUNIT_ASSERT_TRUE(rig->test,
			  DXK_SOON(READ_ONCE(rig->ctx[0]->engine.state) != DXK_CTX_RUNNING));
	return e;
}

void dxk_rig_finished(struct dxk_errand *e)
{
	KUNIT_ASSERT_TRUE(e->rig->test, DXK_SOON(completion_done(&e->done)));
}

/* --- contexts --------------------------------------------------------------- */

/** dxk_rig_policy - a crew of kernel workers, in the mode of the test's parameter */
void dxk_rig_policy(struct kunit *test, struct dxk_policy *p, u32 workers)
{
	const u32 *mode = test->param_value;

	dxk_policy_init(p);
	p->max_threads = workers;
	p->kernel_threads = workers;
	p->dispatch = mode ? *mode : DXK_DISPATCH_DIRECT;
}

struct dxk_ctx *dxk_rig_create(struct dxk_rig *rig)
{
	struct dxk_ctx *ctx = dxk_ctx_create();

	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(ctx));
	rig->ctx[rig->nr_ctx++] = ctx;
	return ctx;
}

static struct dxk_member *dxk_rig_keep(struct dxk_rig *rig, struct dxk_member *m)
{
	KUNIT_ASSERT_NOT_NULL(rig->test, m);
	KUNIT_ASSERT_FALSE(rig->test, IS_ERR(m));
	rig->m[rig->nr_m++] = m;
	return m;
}

struct dxk_member *dxk_rig_client(struct dxk_rig *rig, struct dxk_ctx *ctx)
{
	KUNIT_ASSERT_LT(rig->test, rig->nr_m, DXK_RIG_CLIENTS);
	return dxk_rig_keep(rig, dxk_client_create(ctx));
}

/** dxk_rig_join - a user worker that the test itself plays */
struct dxk_member *dxk_rig_join(struct dxk_rig *rig, struct dxk_ctx *ctx)
{
	struct dxk_member *m;

	KUNIT_ASSERT_LT(rig->test, rig->nr_m, DXK_RIG_CLIENTS);
	m = dxk_member_claim(ctx, NULL, DXK_MEMBER_WORKER, 0, NULL);
	return dxk_rig_keep(rig, m);
}

/** dxk_rig_worker - a worker of the crew, to look at; stays until the test ends */
struct dxk_member *dxk_rig_worker(struct dxk_rig *rig, struct dxk_ctx *ctx, u32 id)
{
	unsigned long at = id;
	struct dxk_thread *t;

	KUNIT_ASSERT_LT(rig->test, rig->nr_seen, ARRAY_SIZE(rig->seen));
	t = dxk_thread_next(ctx, &at, id);
	KUNIT_ASSERT_NOT_NULL(rig->test, t);
	rig->seen[rig->nr_seen++] = &t->m;
	return &t->m;
}

/** dxk_rig_start - a running context with a client */
struct dxk_ctx *dxk_rig_start(struct dxk_rig *rig, struct dxk_policy *p)
{
	struct dxk_ctx *ctx = dxk_rig_create(rig);

	KUNIT_ASSERT_EQ(rig->test, dxk_ctx_set_policy(ctx, p), 0);
	KUNIT_ASSERT_EQ(rig->test, dxk_ctx_start(ctx), 0);
	dxk_rig_client(rig, ctx);
	return ctx;
}

int dxk_rig_init(struct kunit *test)
{
	struct dxk_rig *rig = kzalloc(sizeof(*rig), GFP_KERNEL);
	int err;

	if (!rig)
		return -ENOMEM;
	test->priv = rig;
	rig->test = test;
	rig->exec.name = "kunit";
	rig->exec.owner = THIS_MODULE;
	rig->exec.execute_this_request = dxk_rig_execute;
	err = dxk_executor_register(&rig->exec);
	rig->registered = !err;
	return err;
}

void dxk_rig_exit(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	u32 i;

	if (!rig)
		return;
	WRITE_ONCE(rig->over, true);
	for (i = 0; i < rig->nr_ctx; i++)
		if (dxk_ctx_stop(rig->ctx[i], DXK_STOP_CANCEL, dxk_in_ms(DXK_RIG_MS)))
			KUNIT_FAIL(test, "context %u cannot be stopped", i);
	for (i = 0; i < rig->nr_errands; i++)
		if (!DXK_SOON(completion_done(&rig->errand[i].done))) {
			/* It still uses all of this: better a leak than a crash. */
			KUNIT_FAIL(test, "errand %u does not return", i);
			return;
		}
	for (i = 0; i < rig->nr_seen; i++)
		os_member_put(rig->seen[i]);
	for (i = 0; i < rig->nr_m; i++)
		dxk_client_destroy(rig->m[i]);
	for (i = 0; i < rig->nr_ctx; i++)
		dxk_ctx_destroy(rig->ctx[i]);
	if (rig->registered)
		dxk_executor_unregister(&rig->exec);
	kfree(rig);
	test->priv = NULL;
}
