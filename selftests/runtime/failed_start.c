// SPDX-License-Identifier: GPL-2.0-only
/*
 * A Start that fails leaves nothing behind (DX-6): no place taken, no state, and no policy
 * that was set meanwhile and would come into force in a later run (DX-9).
 */
#include "runtime/ctx.h"

#include <pthread.h>

/* Each time it starts it fails: a user worker of the run before has the only place. */
#define ROUNDS	200

struct starter {
	struct dxt *t;
	pthread_t thread;
	_Atomic bool over;
	unsigned int failed, odd;
};

static void *starter_fn(void *arg)
{
	struct starter *s = arg;
	int rc;

	while (!s->over) {
		rc = dxk_ctx_start(s->t->ctx);
		s->failed += rc == -EAGAIN;
		s->odd += rc != -EAGAIN;
	}
	return NULL;
}

static bool policy_is(struct dxt *t, uint32_t data_size, uint32_t report_age_ms)
{
	struct dxk_policy now;

	return !dxk_policy_get(t->ctx, &now) && now.data_size == data_size &&
	       now.report_age_ms == report_age_ms;
}

TEST(policy_set_meanwhile)
{
	struct starter s = { 0 };
	struct dxk_policy p;
	struct dxt t;
	int worker, rc;
	unsigned int i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.data_size = 16;
	ASSERT_EQ(0, dxt_start(&t));
	worker = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, worker);
	ASSERT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, -1));
	p = t.policy;
	p.kernel_threads = 1;
	ASSERT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));

	s.t = &t;
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, starter_fn, &s));
	for (i = 0; i < ROUNDS || s.failed < 5; i++) {
		/* taken between two Starts, refused in one, or of the same size as before */
		p.data_size = i & 1 ? 4096 : 16;
		rc = dxk_policy_set(t.ctx, &p, NULL);
		EXPECT_TRUE(!rc || rc == -EBUSY) TH_LOG("%d", rc);
	}
	s.over = true;
	pthread_join(s.thread, NULL);
	EXPECT_EQ(0, s.odd);
	EXPECT_TRUE(state_is(&t, "stopped"));
	EXPECT_STREQ("0 1", ids(&t));

	/* what was set last is what comes into force, and stays so */
	p.data_size = 16;
	ASSERT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	close(worker);
	ASSERT_EQ(0, dxk_ctx_start(t.ctx));
	EXPECT_TRUE(policy_is(&t, 16, p.report_age_ms));
	p.report_age_ms = 4711;
	ASSERT_EQ(0, dxk_policy_set(t.ctx, &p, NULL));
	EXPECT_TRUE(DXT_SOON(policy_is(&t, 16, 4711)));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
