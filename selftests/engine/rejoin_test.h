/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of rejoin share: puppet workers, a second client, one poll. */
#ifndef REJOIN_TEST_H
#define REJOIN_TEST_H

#include "engine_test.h"

#define OWNER	0x1234

FIXTURE(rejoin) {
	struct dxt t;
	struct puppet *w[4];	/* workers */
	struct puppet *p;	/* a second client */
};

FIXTURE_SETUP(rejoin)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	no_periods(&self->t);
	puppet_signals(false);
}

FIXTURE_TEARDOWN(rejoin)
{
	int i;

	if (self->p)
		puppet_free(self->p);
	for (i = 0; i < 4; i++)
		if (self->w[i])
			puppet_free(self->w[i]);
	dxt_down(&self->t);
}

#define START(workers) ({						\
	ASSERT_EQ(0, dxt_start(&self->t));				\
	puppets_new(&self->t, self->w, workers, DXK_MEMBER_WORKER);	\
	self->p = puppet_new(&self->t, DXK_MEMBER_CLIENT);		\
	ASSERT_NE(NULL, self->p);					\
})

static inline int post(struct dxt *t, uint64_t owner, uint64_t param, uint32_t attrs)
{
	return dxt_post1(t->member, owner, 0, param, attrs, 0, NULL);
}

/* One poll: the answer, and the request that came back. */
static inline uint32_t rejoin(struct dxt *t, uint64_t owner, struct dxk_result *r)
{
	uint32_t answer = 0;
	int rc = dxt_rejoin(t->member, owner, r, 1, 1, 0, &answer);

	return rc == (answer == RJR_RETURNED) ? answer : 0;
}

#endif /* REJOIN_TEST_H */
