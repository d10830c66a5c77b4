/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of lanes share: a crew of puppets, what executes and what waits of
 * each lane.
 *
 * The standard example: 10 workers, 100 entries, 0/20/20 percent, so that lanes
 * 0..k together may use 0, 2, 4, 10 workers and 0, 20, 40, 100 entries.
 */
#ifndef LANES_H
#define LANES_H

#include "lib/puppet.h"

#define WORKERS	10

FIXTURE(lanes) {
	struct dxt t;
	struct puppet *w[WORKERS];
};

/* The context of the example, not yet started. */
static inline int open_example(struct dxt *t)
{
	int rc = dxt_open(t);

	no_periods(t);
	use_cmls(t);
	t->policy.max_threads = WORKERS;
	t->policy.ready_entries = 100;
	return rc;
}

FIXTURE_SETUP(lanes)
{
	ASSERT_EQ(0, open_example(&self->t));
	puppet_signals(false);
}

FIXTURE_TEARDOWN(lanes)
{
	int i;

	for (i = 0; i < WORKERS; i++)
		if (self->w[i])
			puppet_free(self->w[i]);
	dxt_down(&self->t);
}

#define START() ({							\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	puppets_new(&self->t, self->w, WORKERS, DXK_MEMBER_WORKER);	\
	for (int _i = 0; _i < WORKERS; _i++)				\
		ASSERT_TRUE(puppet_ask(self->w[_i]));			\
})

/* Posts until one is refused; how many were taken. */
static inline int post(struct dxt *t, unsigned int lane, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (dxt_post1(t->member, 1, 0, lane, lane_attr(lane), 0, NULL) != 1)
			break;
	return i;
}

static inline long long working(struct dxt *t, unsigned int lane)
{
	return dxt_num(t, "lanes/user_lane%u_in_use", lane);
}

static inline long long waiting(struct dxt *t, unsigned int lane)
{
	return dxt_num(t, "lanes/ready_lane%u_in_use", lane);
}

#endif /* LANES_H */
