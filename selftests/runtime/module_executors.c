// SPDX-License-Identifier: GPL-2.0-only
/* As module.c: dxk_executors, a module that uses dxk and is itself in use. */
#include "module_test.h"

static int kernel_up(struct dxt *t, unsigned int workers)
{
	int rc = dxt_open(t);

	t->policy.max_threads = t->policy.kernel_threads = workers;
	return rc ? rc : dxt_start(t);
}

/*
 * A module that uses dxk keeps it. It is itself kept by requests that name its
 * executors until they are collected; what runs goes on.
 */
TEST_F(module, executors)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	int i;

	ASSERT_EQ(0, load_all(true));
	STAYS();
	ASSERT_EQ(0, kernel_up(t, 1));
	/* one runs, one is Ready */
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, post_kernel(t, "sleep", 60 * 1000000));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_num(t, "pools/thread_busy") == 1));
	EXPECT_EQ(-EWOULDBLOCK, unload(EXECUTORS));
	STAYS();
	EXPECT_EQ(1, post_kernel(t, "nop", 0));
	EXPECT_EQ(0, dxk_ctx_stop(t->ctx, DXK_STOP_CANCEL, -1));
	/* three results */
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-EWOULDBLOCK, unload(EXECUTORS));
		EXPECT_EQ(1, dxt_rejoin(t->member, OWNER, &r, 1, 1, 0, NULL));
		EXPECT_EQ(-ECANCELED, r.status);
	}
	/* collected: nothing holds it, though the context is there */
	EXPECT_EQ(0, unload_soon(EXECUTORS));
	STAYS();
	EXPECT_EQ(-ENOENT, post_kernel(t, "nop", 0));
	/* never collected, but the context is closed */
	ASSERT_EQ(0, load_all(true));
	EXPECT_EQ(0, dxk_ctx_start(t->ctx));
	ASSERT_EQ(1, post_kernel(t, "nop", 0));
	EXPECT_TRUE(DXT_UNTIL(t, dxt_num(t, "pools/rejoin_use") == 1));
	EXPECT_EQ(-EWOULDBLOCK, unload(EXECUTORS));
	dxt_down(t);
	EXPECT_EQ(0, unload_soon(EXECUTORS));
	GOES();
}

/* Posts in a small burst, collects all, pauses: in the pause nothing holds the module. */
static void *post_on(void *arg)
{
	struct poster *p = arg;
	int member = dxk_member_create(p->t->ctx, DXK_MEMBER_CLIENT, NULL), i, rc;
	struct dxt t = *p->t;
	struct dxk_result r;
	uint32_t answer;

	t.member = member;
	while (!p->stop && !p->error) {
		for (i = 0; i < 8; i++) {
			rc = post_kernel(&t, "nop", 0);
			if (rc == -ENOENT)
				p->missed++;
			else if (rc != 1)
				p->error = rc;
			else
				p->posted++;
		}
		do {
			rc = dxt_rejoin(member, OWNER, &r, 1, 1,
					dxt_late(), &answer);
			p->returned += rc == 1;
			if (rc < 0 || (rc == 1 && r.status))
				p->error = rc < 0 ? rc : r.status;
			if (!rc && answer != RJR_NONE_EXIST)
				p->error = -ETIMEDOUT;
		} while (rc == 1);
		dxt_sleep_ms(5);
	}
	close(member);
	return NULL;
}

/* The executors go and come while they are posted to: each request ends as it should. */
TEST_F(module, executors_under_load)
{
	struct poster p = { .t = &self->t };
	struct dxt *t = &self->t;
	unsigned long before;
	pthread_t thread;
	int i;

	ASSERT_EQ(0, load_all(true));
	ASSERT_EQ(0, kernel_up(t, 2));
	ASSERT_EQ(0, pthread_create(&thread, NULL, post_on, &p));
	for (i = 0; i < times(5); i++) {
		before = p.posted;
		dxt_tell("%lu requests", before);
		EXPECT_TRUE(DXT_UNTIL(t, p.posted > before));
		EXPECT_EQ(0, unload_soon(EXECUTORS));
		ASSERT_EQ(0, load_all(true));
	}
	p.stop = true;
	pthread_join(thread, NULL);
	EXPECT_EQ(0, p.error);
	EXPECT_EQ(p.posted, p.returned);
	TH_LOG("%lu requests, %lu found no executor", p.returned, p.missed);
	dxt_down(t);
	EXPECT_EQ(0, unload_soon(EXECUTORS));
}
