// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatch and execution: when a request is given to whom, of which kind, how often,
 * and what a Runnable does in it (DX-77, DX-79..DX-85, DX-104..DX-106).
 */
#include "work_test.h"

#include <limits.h>

/* --- when ------------------------------------------------------------------ */

/*
 * DX-77: the worker has it when the post returns, and begins no later than its
 * wake-up takes. With every period an hour long a single move that is left to a
 * period would last for an hour; the bound for all is a minute.
 */
TEST_F(work, dispatch_takes_no_period)
{
	struct dxt *t = &self->t;
	uint64_t begin = dxt_now();
	struct dxk_result r;
	int i;

	START(2);
	for (i = 0; i < times_of(100); i++) {
		/* the worker is there first */
		ASSERT_TRUE(puppet_ask(self->w[0]));
		ASSERT_EQ(1, post(t, i, PXR_REJOIN));
		EXPECT_EQ(0, dxt_num(t, "pools/ready_use"));
		EXPECT_EQ(1, dxt_num(t, "pools/thread_busy"));
		ASSERT_EQ(1, puppet_end(self->w[0]));
		/* the request is there first */
		ASSERT_EQ(1, post(t, i, 0));
		EXPECT_EQ(1, dxt_num(t, "pools/ready_use"));
		ASSERT_FALSE(puppet_ask(self->w[1]));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
		ASSERT_EQ(0, puppet_finish(self->w[1], 0));
		ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
	}
	EXPECT_LT(dxt_now() - begin, 60 * DXT_SEC);
	EXPECT_EQ(0, dxt_num(t, "stats/missed_wakeups"));
}

/* DX-19: what is posted before there is any worker waits for one. */
TEST_F(work, post_before_any_worker)
{
	struct dxt *t = &self->t;
	int i;

	START(0);
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, post(t, i, PXR_REJOIN));
	ASSERT_EQ(0, dxt_workers_start(t, 2));
	EXPECT_EQ(20, dxt_drain(t, t->member, 1));
}

/* DX-79, DX-82: the states of a worker; results are there before it is free. */
TEST_F(work, states_of_a_worker)
{
	struct dxt *t = &self->t;
	struct puppet *w;

	START(1);
	w = self->w[0];
	EXPECT_TRUE(dxt_member_is(t, w->id, "away"));
	ASSERT_TRUE(puppet_ask(w));
	EXPECT_TRUE(dxt_member_is(t, w->id, "available"));
	ASSERT_EQ(1, post(t, 0, PXR_REJOIN));
	ASSERT_EQ(1, post(t, 1, 0));
	ASSERT_EQ(1, puppet_end(w));
	EXPECT_TRUE(dxt_member_is(t, w->id, "busy"));
	/* completes one and gets the other in one call */
	ASSERT_FALSE(puppet_next(w, 1, 0, 1, DXK_FOREVER));
	EXPECT_EQ(1, w->work[0].param);
	EXPECT_TRUE(dxt_member_is(t, w->id, "busy"));
	EXPECT_EQ(1, dxt_num(t, "pools/rejoin_use"));
	ASSERT_TRUE(puppet_next(w, 1, 0, 1, DXK_FOREVER));
	EXPECT_TRUE(dxt_member_is(t, w->id, "available"));
	/* the other asked for no rejoin */
	EXPECT_EQ(1, dxt_num(t, "stats/vanished"));
	EXPECT_EQ(1, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(2, dxt_num(t, "threads/%u/executed", w->id));
}

/* The worker that fell idle last is woken first. */
TEST_F(work, idle_workers_are_woken_last_in_first_out)
{
	static const int idle[] = { 2, 0, 3, 1 };
	struct dxt *t = &self->t;
	int i;

	START(4);
	for (i = 0; i < 4; i++)
		ASSERT_TRUE(puppet_ask(self->w[idle[i]]));
	for (i = 3; i >= 0; i--) {
		ASSERT_EQ(1, post(t, i, 0));
		ASSERT_EQ(1, puppet_end(self->w[idle[i]]));
		EXPECT_EQ(i, self->w[idle[i]]->work[0].param);
	}
}

/* A fetch that ends without work: deadline, signal, Stop. */
TEST_F(work, fetch_that_finds_nothing)
{
	struct dxt *t = &self->t;
	struct puppet *w;
	uint64_t begin;

	START(1);
	w = self->w[0];
	puppet_next(w, 0, 0, 1, 0);
	EXPECT_EQ(-ETIMEDOUT, puppet_end(w));
	begin = dxt_now();
	puppet_next(w, 0, 0, 1, dxt_in(50 * DXT_MS));
	EXPECT_EQ(-ETIMEDOUT, puppet_end(w));
	EXPECT_GE(dxt_now() - begin, 45 * DXT_MS);
	ASSERT_TRUE(puppet_ask(w));
	puppet_signal(w);
	EXPECT_EQ(-EINTR, puppet_end(w));
	/* whoever left is not given anything */
	ASSERT_EQ(1, post(t, 0, 0));
	EXPECT_EQ(1, dxt_num(t, "pools/ready_use"));
	ASSERT_EQ(1, puppet_fetch(w));
	ASSERT_EQ(0, puppet_finish(w, 0));
	ASSERT_TRUE(puppet_ask(w));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	EXPECT_EQ(-ESHUTDOWN, puppet_end(w));
}

/* --- how often, by whom ---------------------------------------------------- */

#define MANY	600

static _Atomic unsigned int times[MANY], by[5];

static int exe_times(struct dxt_call *call)
{
	times[call->work.param]++;
	by[call->worker->id]++;
	return (int)call->work.param;
}

/* DX-80, DX-84, DX-81, DX-85: once per post, by any worker, status kept. */
TEST_F(work, each_post_is_one_execution)
{
	struct dxk_result r[64];
	struct dxt *t = &self->t;
	int i, rc, got = 0;
	uint32_t answer;

	memset((void *)times, 0, sizeof(times));
	START(0);
	ASSERT_EQ(0, dxt_workers_start(t, 4));
	for (i = 0; i < 2 * MANY; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, DXT_FN(exe_times), i % MANY,
				       PXR_REJOIN | PXR_WAITIF_BUSY, DXK_FOREVER,
				       NULL));
	while ((rc = dxt_rejoin(t->member, 1, r, 64, 1, DXK_FOREVER, &answer)) > 0) {
		for (i = 0; i < rc; i++)
			EXPECT_EQ((int)r[i].param, r[i].status);
		got += rc;
	}
	EXPECT_EQ(RJR_NONE_EXIST, answer);
	EXPECT_EQ(2 * MANY, got);
	/* two posts of the same object are two executions */
	for (i = 0; i < MANY; i++)
		EXPECT_EQ(2, times[i]);
	EXPECT_EQ(2 * MANY, by[1] + by[2] + by[3] + by[4]);
}

/* DX-85: any status. */
TEST_F(work, status_is_delivered)
{
	static const int status[] = { 0, 1, -1, -5, INT_MAX, INT_MIN, -ECANCELED };
	struct dxt *t = &self->t;
	struct dxk_result r;
	unsigned int i;

	START(1);
	for (i = 0; i < sizeof(status) / sizeof(status[0]); i++) {
		ASSERT_EQ(1, post(t, i, PXR_REJOIN));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		ASSERT_EQ(0, puppet_finish(self->w[0], status[i]));
		ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, 0, NULL));
		EXPECT_EQ(status[i], r.status);
	}
}

/* --- two kinds of worker --------------------------------------------------- */

/* One pool for both kinds; a request is executed by the kind it asks for. */
TEST_F(work, kernel_and_user_workers)
{
	struct dxt *t = &self->t;
	struct dxk_post_entry e;
	struct dxk_result r[40];
	unsigned char data[40][8];
	struct dxk_post p;
	unsigned int answer, i;
	uint64_t echo;

	if (dxk_executor_find(t->ctl, "echo", &echo))
		SKIP(return, "no executors loaded");
	t->policy.kernel_threads = 2;
	START(0);
	ASSERT_EQ(0, dxt_workers_start(t, 2));
	for (i = 0; i < 40; i++) {
		e = dxt_entry(1, i & 1 ? echo : DXT_ECHO, i,
			      PXR_REJOIN | (i & 1 ? PXR_KERNEL : 0));
		e.data = DXT_PTR(&i);
		e.data_len = sizeof(i);
		e.result_len = 8;
		ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &p));
	}
	ASSERT_EQ(40, dxk_rejoin(t->member, 1, r, 40, 40, data, 8, -1, &answer));
	for (i = 0; i < 40; i++) {
		unsigned int k;

		EXPECT_EQ(4, r[i].data_len);
		memcpy(&k, data[i], 4);
		EXPECT_EQ(r[i].param, k);
		EXPECT_EQ(0, r[i].status);
		/* ids: 1, 2 are kernel workers, 3, 4 user workers */
		EXPECT_EQ(!!(r[i].attrs & PXR_KERNEL), r[i].worker <= 2);
		EXPECT_GE(r[i].worker, 1);
		EXPECT_LE(r[i].worker, 4);
	}
}

/* Requests of one kind that find no worker do not stand in the other's way. */
TEST_F(work, kinds_do_not_block_each_other)
{
	struct dxt *t = &self->t;
	uint64_t nop;
	int i;

	if (dxk_executor_find(t->ctl, "nop", &nop))
		SKIP(return, "no executors loaded");
	t->policy.kernel_threads = 1;
	START(1);
	/* nobody fetches these */
	for (i = 0; i < 5; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 2, 0, i, 0, 0, NULL));
	for (i = 0; i < 50; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, nop, i, PXR_KERNEL | PXR_REJOIN,
				       0, NULL));
	EXPECT_EQ(50, dxt_drain(t, t->member, 1));
	EXPECT_EQ(5, dxt_num(t, "pools/ready_use"));
	/* an idle user worker takes user requests only */
	EXPECT_EQ(-ENOENT, dxt_post1(t->member, 1, ~0ULL, 0, PXR_KERNEL, 0, NULL));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		EXPECT_EQ(i, self->w[0]->work[0].param);
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	}
}

/* --- runnable objects ------------------------------------------------------ */

#define SUBS	4

static pthread_barrier_t together;
static _Atomic unsigned int collected, wrong;

/* One executor for the top-level request and its parts, told by the param. */
static int exe_run(struct dxt_call *call)
{
	struct dxk_result r[SUBS];
	uint32_t answer;
	int i, rc, got = 0;

	if (call->work.param) {
		/* passes only while all parts execute at once */
		pthread_barrier_wait(&together);
		return (int)call->work.param;
	}
	for (i = 1; i <= SUBS; i++)
		wrong += dxt_post1(call->worker->member, 77, call->work.executor, i,
				   PXR_REJOIN, 0, NULL) != 1;
	do {
		rc = dxt_rejoin(call->worker->member, 77, r, SUBS, 1, DXK_FOREVER,
				&answer);
		for (i = 0; i < rc; i++)
			wrong += r[i].status != (int)r[i].param;
		got += rc > 0 ? rc : 0;
	} while (rc > 0);
	wrong += rc < 0 || answer != RJR_NONE_EXIST;
	collected = got;
	return 0;
}

/*
 * DX-104, DX-105, DX-106: main posts the top, it posts parts for itself, they run
 * in parallel, it collects them and hears that none is left, and so does main.
 */
TEST_F(work, sequence_of_a_runnable)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	uint32_t answer;

	t->policy.max_threads = SUBS + 1;
	pthread_barrier_init(&together, NULL, SUBS);
	START(0);
	ASSERT_EQ(0, dxt_workers_start(t, SUBS + 1));
	ASSERT_EQ(1, dxt_post1(t->member, 1, DXT_FN(exe_run), 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, dxt_rejoin(t->member, 1, &r, 1, 1, dxt_late(),
				&answer));
	EXPECT_EQ(0, r.status);
	EXPECT_EQ(SUBS, collected);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(RJR_NONE_EXIST, poll_owner(t, 1));
	EXPECT_EQ(SUBS + 1, dxt_num(t, "pools/thread_high_water"));
}

TEST_HARNESS_MAIN
