// SPDX-License-Identifier: GPL-2.0-only
/* As deadlock.c: Stop with sleepers, and with services (D-24, D-25). */
#include "deadlock_test.h"

/* --- Stop ---------------------------------------------------------------------- */

/*
 * D-24: Stop(cancel) while posters sleep in points 1 and 2 and pollers for results:
 * all return ESHUTDOWN within a second, and nothing is left.
 */
TEST_F(deadlock, stop_with_sleepers)
{
	struct puppet *lane1[2], *pool[3], *poller[2];
	struct dxt *t = &self->t;
	struct pollfd pfd;
	uint64_t begin;
	int i;

	use_cmls(t);
	t->policy.max_threads = 3;
	t->policy.ready_entries = 10;
	ASSERT_EQ(0, dxt_start(t));
	puppets_new(t, lane1, 2, DXK_MEMBER_CLIENT);
	puppets_new(t, pool, 3, DXK_MEMBER_CLIENT);
	puppets_new(t, poller, 2, DXK_MEMBER_CLIENT);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, 0, i, PXR_LANE1 | PXR_REJOIN, 0,
				       NULL));
	/* two of lane 1 are its share, though eight entries are free */
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(puppet_post1(lane1[i], 100, PXR_LANE1));
	for (i = 2; i < 10; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, 0, i, PXR_REJOIN, 0, NULL));
	for (i = 0; i < 3; i++)
		ASSERT_TRUE(puppet_post1(pool[i], 200, i ? 0 : PXR_LANE2));
	for (i = 0; i < 2; i++)
		ASSERT_TRUE(puppet_rejoin(poller[i], 1, 1, 1, DXK_FOREVER));
	EXPECT_EQ(RJR_NONE_READY, poll_owner(t, 1));
	pfd = (struct pollfd){ .fd = t->member, .events = POLLIN };
	EXPECT_EQ(0, poll(&pfd, 1, 0));

	begin = dxt_now();
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(lane1[i]));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(pool[i]));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(poller[i]));
	EXPECT_EQ(1, poll(&pfd, 1, 0));
	/* within a second; the guest may not have been run for some of the others */
	EXPECT_GT(10 * DXT_SEC, dxt_now() - begin);

	EXPECT_EQ(10, dxt_num(t, "stats/cancelled"));
	EXPECT_EQ(10, dxt_drain(t, t->member, 1));
	EXPECT_EQ(0, dxt_num(t, "owners"));
	EXPECT_EQ(0, dxt_num(t, "pools/ready_use"));
	EXPECT_EQ(0, dxt_num(t, "pools/rejoin_use"));
	EXPECT_EQ(0, dxt_num(t, "pools/thread_busy"));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0, dxt_num(t, "lanes/ready_lane%d_in_use", i));
		EXPECT_EQ(0, dxt_num(t, "lanes/ready_lane%d_waiters", i));
	}
	puppets_free(lane1, 2);
	puppets_free(pool, 3);
	puppets_free(poller, 2);
}

static _Atomic bool obedient;

/* A service: it works until it is told to stop, or, disobedient, until the gate. */
static int exe_service(struct dxt_call *call)
{
	struct dxk_should_stop ask = { .size = sizeof(ask) };
	struct dxt_gate *gate = (void *)(uintptr_t)call->work.param;
	int rc = 0;

	gate->entered++;
	while (obedient && !rc) {
		ask.deadline = dxt_in(20 * DXT_MS);
		rc = dxt_ioctl(call->worker->member, DXK_IOC_SHOULD_STOP, &ask);
	}
	if (!obedient)
		dxt_gate_pass(gate, call->worker->id);
	return rc;
}

static int post_service(struct dxt *t, struct dxt_gate *gate)
{
	return dxt_post1(t->member, 1, DXT_FN(exe_service), DXT_PTR(gate),
			 PXR_LANE0 | PXR_REJOIN, 0, NULL);
}

static void use_lane_zero(struct dxt *t)
{
	t->policy.sched_mode = TPOOL_MODE_CMLS;
	t->policy.lane_pct[0] = 25;
}

/* D-25: Stop(drain) ends a service that asks whether it should stop, and the rest. */
TEST_F(deadlock, drain_with_a_service)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxt *t = &self->t;
	struct dxk_result r[21];
	int i, n, services = 0;

	use_lane_zero(t);
	START(4);
	obedient = true;
	ASSERT_EQ(1, post_service(t, gate));
	ASSERT_TRUE(DXT_UNTIL(t, gate->entered == 1));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(1, dxt_post1(t->member, 1, DXT_PARAM, 5, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_DRAIN, dxt_late_ns()));
	n = dxt_rejoin(t->member, 1, r, 21, 21, 0, NULL);
	EXPECT_EQ(21, n);
	for (i = 0; i < n; i++) {
		services += r[i].param == DXT_PTR(gate);
		EXPECT_EQ(r[i].param == DXT_PTR(gate) ? 1 : 5, r[i].status);
	}
	EXPECT_EQ(1, services);
	EXPECT_EQ(0, dxt_num(t, "stats/stalls"));
	dxt_gate_free(gate);
}

/* D-25: one that does not ask keeps Stop waiting, which then says who it is. */
TEST_F(deadlock, drain_with_a_deaf_service)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_running running[4];
	struct dxt *t = &self->t;
	struct dxk_ctx_stop stop = {
		.size = sizeof(stop), .mode = DXK_STOP_DRAIN,
		.running = DXT_PTR(running), .nr = 4,
		.running_size = sizeof(running[0]),
	};

	use_lane_zero(t);
	START(4);
	obedient = false;
	ASSERT_EQ(1, post_service(t, gate));
	ASSERT_TRUE(DXT_UNTIL(t, gate->entered == 2));
	dxt_poison(running, sizeof(running));
	stop.deadline = dxt_in(200 * DXT_MS);
	EXPECT_EQ(-ETIMEDOUT, dxt_ioctl(t->ctx, DXK_IOC_CTX_STOP, &stop));
	ASSERT_EQ(1, stop.nr_running);
	EXPECT_EQ(gate->last, running[0].thread);
	EXPECT_EQ(DXT_FN(exe_service), running[0].executor);
	EXPECT_EQ(1, running[0].owner);
	EXPECT_EQ(DXT_PTR(gate), running[0].param);
	EXPECT_EQ(PXR_LANE0 | PXR_REJOIN, running[0].attrs);
	/* in jiffies, which the CPU that counts them may owe for as long as it is away */
	EXPECT_LE(10 * DXT_MS, running[0].age_ns);
	EXPECT_GE(20 * DXT_SEC, running[0].age_ns);
	EXPECT_TRUE(dxt_poisoned(&running[1], sizeof(running[1])));

	dxt_gate_open(gate);
	stop.deadline = dxt_late();
	EXPECT_EQ(0, dxt_ioctl(t->ctx, DXK_IOC_CTX_STOP, &stop));
	dxt_gate_free(gate);
}
