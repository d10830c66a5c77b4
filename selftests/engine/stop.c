// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stop: what it still waits for is told (DX-114), and who runs for the duration
 * of the application is asked to end (DX-109).
 */
#include "lib/puppet.h"

/* DX-114: thread, cookies and age of each worker that still executes, by id. */
TEST(report)
{
	struct dxk_running run[4];
	struct puppet *w[3];
	unsigned int nr, i;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 3;
	ASSERT_EQ(0, dxt_start(&t));
	puppets_new(&t, w, 3, DXK_MEMBER_WORKER);
	for (i = 0; i < 3; i += 2) {
		ASSERT_EQ(1, dxt_post1(t.member, 40 + i, 50 + i, 60 + i, PXR_LANE1, 0,
				       NULL));
		ASSERT_EQ(1, puppet_fetch(w[i]));
	}
	ASSERT_TRUE(puppet_ask(w[1]));

	/* the ages are in jiffies, which a CPU counts that may be late, also between the two */
	EXPECT_TRUE(DXT_SOON(({
		dxt_poison(run, sizeof(run));
		EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop_report(t.ctx, DXK_STOP_DRAIN, 0, run, 4,
							  &nr));
		ASSERT_EQ(2, nr);
		run[0].age_ns >= 30 * DXT_MS && run[1].age_ns >= 30 * DXT_MS;
	})));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(1 + 2 * i, run[i].thread);
		EXPECT_EQ(40 + 2 * i, run[i].owner);
		EXPECT_EQ(50 + 2 * i, run[i].executor);
		EXPECT_EQ(60 + 2 * i, run[i].param);
		EXPECT_EQ(PXR_LANE1, run[i].attrs);
		EXPECT_LE(30 * DXT_MS, run[i].age_ns);
		EXPECT_GE(100 * DXT_SEC, run[i].age_ns);
	}
	EXPECT_TRUE(dxt_poisoned(&run[2], 2 * sizeof(run[2])));

	/* less room than there is to tell: the count is right all the same */
	dxt_poison(run, sizeof(run));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop_report(t.ctx, DXK_STOP_CANCEL, 0, run, 1, &nr));
	EXPECT_EQ(2, nr);
	EXPECT_EQ(1, run[0].thread);
	EXPECT_TRUE(dxt_poisoned(&run[1], sizeof(run[1])));

	EXPECT_EQ(0, puppet_finish(w[0], 0));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop_report(t.ctx, DXK_STOP_CANCEL, 0, run, 4, &nr));
	EXPECT_EQ(1, nr);
	EXPECT_EQ(3, run[0].thread);
	EXPECT_EQ(0, puppet_finish(w[2], 0));
	EXPECT_EQ(0, dxk_ctx_stop_report(t.ctx, DXK_STOP_CANCEL, -1, run, 4, &nr));
	EXPECT_EQ(0, dxk_ctx_stop_report(t.ctx, DXK_STOP_CANCEL, -1, NULL, 0, NULL));
	EXPECT_EQ(0, nr);
	puppets_free(w, 3);
	dxt_down(&t);
}

/*
 * DX-114: what waits without a worker is told of as well, behind those that execute, with
 * thread 0; of many 64. It holds a drain up, and a cancel ends it.
 */
TEST(report_waiting)
{
	enum { NR = 70 };
	struct dxk_post_more e = {
		.post = dxt_entry(41, 51, 61, PXR_NAMED | PXR_WAIT | PXR_LANE1),
		.wait = { .wait = DXK_WAIT_CALL },
	};
	struct dxk_running run[NR];
	struct puppet *w;
	unsigned int nr;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.max_waiting = NR;
	ASSERT_EQ(0, dxt_start(&t));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, dxt_post1(t.member, 40, 50, 60, 0, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w));
	for (e.name = 1; e.name <= NR; e.name++) {
		e.post.param = e.name;
		ASSERT_EQ(1, dxk_post_more(t.member, &e, 1, 0, NULL));
	}
	dxt_poison(run, sizeof(run));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop_report(t.ctx, DXK_STOP_DRAIN, 0, run, NR, &nr));
	ASSERT_EQ(1 + 64, nr);
	EXPECT_EQ(1, run[0].thread);
	EXPECT_EQ(40, run[0].owner);
	for (nr = 1; nr <= 64; nr++) {
		EXPECT_EQ(0, run[nr].thread);
		EXPECT_EQ(41, run[nr].owner);
		EXPECT_EQ(51, run[nr].executor);
		EXPECT_EQ(nr, run[nr].param);
		EXPECT_EQ(e.post.attrs, run[nr].attrs);
		EXPECT_GE(100 * DXT_SEC, run[nr].age_ns);
	}
	EXPECT_TRUE(dxt_poisoned(&run[65], (NR - 65) * sizeof(run[0])));
	/* with less room */
	dxt_poison(run, sizeof(run));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop_report(t.ctx, DXK_STOP_DRAIN, 0, run, 2, &nr));
	EXPECT_EQ(1 + 64, nr);
	EXPECT_EQ(0, run[1].thread);
	EXPECT_TRUE(dxt_poisoned(&run[2], sizeof(run[0])));
	EXPECT_EQ(0, puppet_finish(w, 0));
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop_report(t.ctx, DXK_STOP_DRAIN, 0, NULL, 0, &nr));
	EXPECT_EQ(64, nr);
	EXPECT_EQ(0, dxk_ctx_stop_report(t.ctx, DXK_STOP_CANCEL, -1, run, 4, &nr));
	EXPECT_EQ(0, nr);
	puppet_free(w);
	dxt_down(&t);
}

/* DX-114: what is wrong with the place for the report. */
TEST(report_refused)
{
	struct dxk_ctx_stop stop = { .size = sizeof(stop), .mode = DXK_STOP_DRAIN };
	struct puppet *w;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	stop.nr = 500;
	stop.running_size = sizeof(struct dxk_running);
	EXPECT_EQ(-EINVAL, dxt_ioctl(t.ctx, DXK_IOC_CTX_STOP, &stop));
	stop.nr = 1;
	stop.running_size = sizeof(struct dxk_running) - 1;
	EXPECT_EQ(-EINVAL, dxt_ioctl(t.ctx, DXK_IOC_CTX_STOP, &stop));
	/* to clear what is beyond this version takes as long as that is large */
	stop.running_size = UINT32_MAX;
	EXPECT_EQ(-E2BIG, dxt_ioctl(t.ctx, DXK_IOC_CTX_STOP, &stop));
	stop.running_size = 1025;
	EXPECT_EQ(-E2BIG, dxt_ioctl(t.ctx, DXK_IOC_CTX_STOP, &stop));
	stop.running_size = sizeof(struct dxk_running);
	stop.reserved = 1;
	EXPECT_EQ(-EINVAL, dxt_ioctl(t.ctx, DXK_IOC_CTX_STOP, &stop));
	/* refused means that it runs on */
	EXPECT_EQ(1, dxt_post1(t.member, 1, 0, 0, 0, 0, NULL));
	w = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, puppet_fetch(w));
	/* an address that cannot be written: no report, but the answer of Stop */
	stop.reserved = 0;
	stop.running = 8;
	stop.nr_running = 77;
	EXPECT_EQ(-ETIMEDOUT, dxt_ioctl(t.ctx, DXK_IOC_CTX_STOP, &stop));
	EXPECT_EQ(77, stop.nr_running);
	EXPECT_EQ(0, puppet_finish(w, 0));
	puppet_free(w);
	dxt_down(&t);
}

static void call_should(struct puppet *p)
{
	p->ret = dxk_should_stop(p->fd, -1);
}

static void ask_should(struct puppet *p)
{
	p->ret = dxk_should_stop(p->fd, 0);
}

static long should(struct puppet *p)
{
	puppet_begin(p, ask_should);
	return puppet_end(p);
}

/* Sends the puppet to sleep until it should stop; shown nowhere, so give it time. */
static void sleep_should(struct puppet *p)
{
	pthread_mutex_lock(&p->lock);
	p->ret = -EINPROGRESS;
	p->call = call_should;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
	dxt_sleep_ms(20);
}

/*
 * DX-109: a service of lane 0 is told, and woken, by any Stop; a request of
 * another lane by Stop(cancel) only; one that executes nothing is a service.
 */
TEST(services_are_asked_to_end)
{
	enum { SERVICE, PLAIN, IDLE, CLIENT, NR };
	struct puppet *p[NR];
	unsigned int i;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 3;
	ASSERT_EQ(0, dxt_start(&t));
	puppets_new(&t, p, 3, DXK_MEMBER_WORKER);
	p[CLIENT] = puppet_new(&t, DXK_MEMBER_CLIENT);
	ASSERT_EQ(1, dxt_post1(t.member, 1, 0, 0, PXR_LANE0 | PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(p[SERVICE]));
	ASSERT_EQ(1, dxt_post1(t.member, 1, 0, 0, PXR_LANE1 | PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(p[PLAIN]));
	for (i = 0; i < NR; i++)
		EXPECT_EQ(0, should(p[i])) TH_LOG("%u", i);
	EXPECT_EQ(0, dxk_should_stop(t.member, DXT_MS));
	for (i = 0; i < NR; i++)
		sleep_should(p[i]);

	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 0));
	EXPECT_EQ(1, puppet_end(p[SERVICE]));
	EXPECT_EQ(1, puppet_end(p[IDLE]));
	EXPECT_EQ(1, puppet_end(p[CLIENT]));
	EXPECT_TRUE(puppet_busy(p[PLAIN]));
	EXPECT_EQ(1, should(p[SERVICE]));
	/* the service ends, so Stop has to wait for the other one only */
	EXPECT_EQ(0, puppet_finish(p[SERVICE], 0));

	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0));
	EXPECT_EQ(1, puppet_end(p[PLAIN]));
	EXPECT_EQ(0, puppet_finish(p[PLAIN], 0));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(1, should(p[CLIENT]));
	EXPECT_EQ(2, dxt_drain(&t, t.member, 1));

	/* DX-112: it starts again, and nobody is to stop */
	ASSERT_EQ(0, dxk_ctx_start(t.ctx));
	EXPECT_EQ(0, should(p[CLIENT]));
	puppets_free(p, NR);
	dxt_down(&t);
}

/* A service that sleeps until Stop hides no stall of the others. */
TEST(stall_beside_a_service)
{
	struct puppet *w[2];
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	puppets_new(&t, w, 2, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, dxt_post1(t.member, 1, 0, 0, PXR_LANE0, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w[0]));
	ASSERT_EQ(1, dxt_post1(t.member, 2, 0, 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(1, puppet_fetch(w[1]));
	ASSERT_EQ(1, dxt_post1(t.member, 3, 0, 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(puppet_rejoin(w[1], 3, 1, 1, DXK_FOREVER));
	EXPECT_EQ(0, dxt_num(&t, "stats/stalls"));
	sleep_should(w[0]);
	EXPECT_TRUE(stall_comes(&t, 0));

	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, 0));
	EXPECT_EQ(1, puppet_end(w[0]));
	EXPECT_EQ(-ESHUTDOWN, puppet_end(w[1]));
	EXPECT_EQ(0, puppet_finish(w[0], 0));
	EXPECT_EQ(0, puppet_finish(w[1], 0));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	puppets_free(w, 2);
	dxt_down(&t);
}

/* DX-109: a signal ends the sleep, a deadline says no. */
TEST(should_stop_sleeps)
{
	struct puppet *p;
	struct dxt t;
	uint64_t before;

	puppet_signals(false);
	ASSERT_EQ(0, dxt_up(&t, 0));
	p = puppet_new(&t, DXK_MEMBER_CLIENT);
	sleep_should(p);
	while (puppet_busy(p)) {
		puppet_signal(p);
		dxt_sleep_ms(1);
	}
	EXPECT_EQ(-EINTR, puppet_end(p));
	before = dxt_now();
	EXPECT_EQ(0, dxk_should_stop(t.member, 30 * DXT_MS));
	EXPECT_LE(30 * DXT_MS, dxt_now() - before);
	puppet_free(p);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
