/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of posting share: a context whose pool is as full as they want it. */
#ifndef POST_TEST_H
#define POST_TEST_H

#include "engine_test.h"

#define WAIT	PXR_WAITIF_BUSY

FIXTURE(post) {
	struct dxt t;
	struct puppet *worker;
};

FIXTURE_SETUP(post)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	/* nothing but the calls themselves moves a request */
	no_periods(&self->t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(post)
{
	if (self->worker)
		puppet_free(self->worker);
	dxt_down(&self->t);
}

/* A pool of @entries, no lanes, one puppet worker that has not asked yet. */
#define START(entries) ({						\
	self->t.policy.ready_entries = entries;				\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	self->worker = puppet_new(&self->t, DXK_MEMBER_WORKER);		\
	ASSERT_NE(NULL, self->worker);					\
})

static inline int post(struct dxt *t, uint64_t param, uint32_t attrs,
		       uint32_t *reason)
{
	return dxt_post1(t->member, 1, 0, param, attrs, 0, reason);
}

static inline long long ready(struct dxt *t)
{
	return dxt_num(t, "pools/ready_use");
}

static inline long long sleepers(struct dxt *t, unsigned int lane)
{
	return dxt_num(t, "lanes/ready_lane%u_waiters", lane);
}

#endif /* POST_TEST_H */
