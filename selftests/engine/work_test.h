/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of workers share: a context with up to four puppet workers. */
#ifndef WORK_TEST_H
#define WORK_TEST_H

#include "engine_test.h"

FIXTURE(work) {
	struct dxt t;
	struct puppet *w[4];
};

FIXTURE_SETUP(work)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	no_periods(&self->t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(work)
{
	int i;

	for (i = 0; i < 4; i++)
		if (self->w[i])
			puppet_free(self->w[i]);
	dxt_down(&self->t);
}

#define START(workers) ({						\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	puppets_new(&self->t, self->w, workers, DXK_MEMBER_WORKER);	\
	for (int _i = 0; _i < (workers); _i++)				\
		ASSERT_NE(NULL, self->w[_i]);				\
})

static inline int post(struct dxt *t, uint64_t param, uint32_t attrs)
{
	return dxt_post1(t->member, 1, DXT_NOP, param, attrs, 0, NULL);
}

#endif /* WORK_TEST_H */
