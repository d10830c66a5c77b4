// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rejoin: the three answers, what counts for an owner and for how long (DX-49..DX-55,
 * DX-87..DX-95).
 *
 * Puppet workers hold each request where the test wants it.
 */
#include "rejoin_test.h"

/* Posts @nr rejoinable requests and has them executed, statuses 0, 1, .. */
static int complete(struct dxt *t, struct puppet *w, uint64_t owner, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		if (post(t, owner, i, PXR_REJOIN) != 1 || puppet_fetch(w) != 1 ||
		    puppet_finish(w, i))
			return -1;
	return 0;
}

/* --- the answers ----------------------------------------------------------- */

/* Probe 4. DX-89 (case 2b), DX-88 (2a), DX-87 (1), DX-90 (3), DX-91, DX-55. */
TEST_F(rejoin, cases_one_after_the_other)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	int round;

	START(1);
	/* again and again: an owner may be used again and starts from zero */
	for (round = 0; round < 5; round++) {
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, OWNER, &r));
		ASSERT_EQ(1, post(t, OWNER, round, PXR_REJOIN));
		EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
		ASSERT_EQ(0, puppet_finish(self->w[0], round));
		ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r));
		EXPECT_EQ(round, r.param);
		EXPECT_EQ(round, r.status);
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, OWNER, &r));
		EXPECT_EQ(0, dxt_num(t, "owners"));
		EXPECT_EQ(0, dxt_num(t, "pools/rejoin_use"));
	}
	EXPECT_EQ(0, dxt_num(t, "stats/rejoin_blocks"));
	EXPECT_EQ(10, dxt_num(t, "stats/rejoin_none_exist"));
	EXPECT_EQ(10, dxt_num(t, "stats/rejoin_none_ready"));
	EXPECT_EQ(5, dxt_num(t, "stats/rejoin_returned"));
}

/* DX-54, DX-49: any number is an owner, 0 too; a poll does not make one. */
TEST_F(rejoin, owner_is_an_opaque_number)
{
	static const uint64_t owner[] = {
		0, 1, ~0ULL, 0x8000000000000000, 0xffff888000000000, 0x100000001,
	};
	struct dxt *t = &self->t;
	struct dxk_result r;
	unsigned int i;

	START(1);
	for (i = 0; i < 6; i++)
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, owner[i], &r));
	EXPECT_EQ(0, dxt_num(t, "owners"));
	for (i = 0; i < 6; i++)
		ASSERT_EQ(0, complete(t, self->w[0], owner[i], 1));
	EXPECT_EQ(6, dxt_num(t, "owners"));
	for (i = 0; i < 6; i++) {
		EXPECT_EQ(RJR_RETURNED, rejoin(t, owner[i], &r));
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, owner[i], &r));
	}
}

/* DX-50: an owner gets its own requests and no others. */
TEST_F(rejoin, owners_do_not_mix)
{
	struct dxk_result r[16];
	struct dxt *t = &self->t;
	uint32_t answer;
	uint64_t o;
	int i;

	START(1);
	for (i = 0; i < 12; i++)
		ASSERT_EQ(1, post(t, 100 + i % 3, i, PXR_REJOIN));
	for (i = 0; i < 12; i++) {
		ASSERT_EQ(1, puppet_fetch(self->w[0]));
		ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	}
	for (o = 102; o >= 100; o--) {
		ASSERT_EQ(4, dxt_rejoin(t->member, o, r, 16, 1, 0, &answer));
		EXPECT_EQ(RJR_RETURNED, answer);
		for (i = 0; i < 4; i++)
			EXPECT_EQ(o - 100 + 3 * i, r[i].param);
		/* beyond the count nothing was written */
		EXPECT_TRUE(dxt_poisoned(&r[4], 12 * sizeof(r[0])));
		EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, o, r));
	}
}

/* DX-51: a parent's children are counted for it, it itself for its own owner. */
TEST_F(rejoin, parent_does_not_count_for_itself)
{
	enum { CHILDREN = 5 };
	struct dxt *t = &self->t;
	const uint64_t grand = 1, parent = 2;
	struct dxk_result r;
	struct puppet *w;
	int i;

	START(2);
	w = self->w[0];
	ASSERT_EQ(1, post(t, grand, 0, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(w));
	for (i = 0; i < CHILDREN; i++)
		ASSERT_EQ(1, dxt_post1(t->member, parent, 0, i, PXR_REJOIN, 0, NULL));
	for (i = 0; i < CHILDREN; i++) {
		ASSERT_EQ(1, puppet_fetch(self->w[1]));
		ASSERT_EQ(0, puppet_finish(self->w[1], 0));
	}
	/* it polls itself, while it executes */
	for (i = 0; i < CHILDREN; i++) {
		puppet_rejoin(w, parent, 1, 1, 0);
		ASSERT_EQ(1, puppet_end(w));
		EXPECT_EQ(RJR_RETURNED, w->rejoin.answer);
	}
	puppet_rejoin(w, parent, 1, 1, 0);
	ASSERT_EQ(0, puppet_end(w));
	EXPECT_EQ(RJR_NONE_EXIST, w->rejoin.answer);
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, grand, &r));
	EXPECT_EQ(0, dxt_num(t, "stats/self_poll"));
	ASSERT_EQ(0, puppet_finish(w, 0));
	EXPECT_EQ(RJR_RETURNED, rejoin(t, grand, &r));
}

/* DX-52, D-23: who polls the owner it belongs to sees itself; a wait is a deadlock. */
TEST_F(rejoin, poll_of_the_own_owner)
{
	struct dxt *t = &self->t;
	struct puppet *w;
	int i;

	START(2);
	w = self->w[0];
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_EQ(1, puppet_fetch(w));
	for (i = 1; i <= 3; i++) {
		puppet_rejoin(w, OWNER, 1, 1, 0);
		ASSERT_EQ(0, puppet_end(w));
		EXPECT_EQ(RJR_NONE_READY, w->rejoin.answer);
		EXPECT_EQ(i, dxt_num(t, "stats/self_poll"));
	}
	ASSERT_FALSE(puppet_rejoin(w, OWNER, 1, 1, DXK_FOREVER));
	EXPECT_EQ(-EDEADLK, w->ret);

	/* while others of that owner live there is something to wait for */
	ASSERT_EQ(1, post(t, OWNER, 1, 0));
	ASSERT_TRUE(puppet_rejoin(w, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_EQ(1, puppet_fetch(self->w[1]));
	EXPECT_TRUE(puppet_sleeps(w));
	/* it vanishes: only the poller itself is left */
	ASSERT_EQ(0, puppet_finish(self->w[1], 0));
	EXPECT_EQ(-EDEADLK, puppet_end(w));
}

/* DX-53: who asks for no rejoin counts while it lives, and never comes back. */
TEST_F(rejoin, non_rejoinable_counts_while_it_lives)
{
	struct dxt *t = &self->t;
	struct dxk_result r;

	START(2);
	ASSERT_EQ(1, post(t, OWNER, 0, 0));
	ASSERT_EQ(1, post(t, OWNER, 1, 0));
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(1, puppet_fetch(self->w[1]));
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_EQ(0, puppet_finish(self->w[1], 0));
	EXPECT_EQ(RJR_NONE_EXIST, rejoin(t, OWNER, &r));
	EXPECT_EQ(2, dxt_num(t, "stats/vanished"));
	EXPECT_EQ(0, dxt_num(t, "pools/rejoin_high_water"));
}

/* DX-95: oldest completion first, whatever the order of the posts. */
TEST_F(rejoin, order_is_that_of_completion)
{
	static const int order[] = { 2, 0, 3, 1 };
	struct dxt *t = &self->t;
	struct dxk_result r[4];
	int i;

	START(4);
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(1, post(t, OWNER, i, PXR_REJOIN));
		ASSERT_EQ(1, puppet_fetch(self->w[i]));
	}
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, puppet_finish(self->w[order[i]], 0));
	ASSERT_EQ(RJR_RETURNED, rejoin(t, OWNER, &r[0]));
	EXPECT_EQ(2, r[0].param);
	ASSERT_EQ(3, dxt_rejoin(t->member, OWNER, r, 4, 1, 0, NULL));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(order[i + 1], r[i].param);
}

/* DX-94: two pollers, one result: one has it, the other hears what is left. */
TEST_F(rejoin, two_pollers_one_result)
{
	struct dxt *t = &self->t;
	struct dxk_result r;
	struct puppet *q;

	START(2);
	q = puppet_new(t, DXK_MEMBER_CLIENT);
	ASSERT_EQ(1, post(t, OWNER, 0, PXR_REJOIN));
	ASSERT_EQ(1, post(t, OWNER, 1, PXR_REJOIN));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_TRUE(puppet_rejoin(q, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	/* the one who came first; the other sleeps on */
	EXPECT_EQ(1, puppet_end(self->p));
	EXPECT_EQ(0, self->p->result[0].param);
	EXPECT_TRUE(puppet_sleeps(q));
	EXPECT_EQ(RJR_NONE_READY, rejoin(t, OWNER, &r));
	ASSERT_TRUE(puppet_rejoin(self->p, OWNER, 1, 1, DXK_FOREVER));
	ASSERT_EQ(1, puppet_fetch(self->w[0]));
	ASSERT_EQ(0, puppet_finish(self->w[0], 0));
	EXPECT_EQ(1, puppet_end(q));
	EXPECT_EQ(1, q->result[0].param);
	/* nothing is left to wait for */
	EXPECT_EQ(0, puppet_end(self->p));
	EXPECT_EQ(RJR_NONE_EXIST, self->p->rejoin.answer);
	puppet_free(q);
}

/* DX-87: many threads poll, each result comes back once. */
struct crowd {
	struct dxt *t;
	_Atomic int *got;
	_Atomic int odd;
};

static void *crowd_thread(void *arg)
{
	struct crowd *c = arg;
	int fd = dxk_member_create(c->t->ctx, DXK_MEMBER_CLIENT, NULL);
	struct dxk_result r;
	uint32_t answer;

	while (fd >= 0) {
		int rc = dxt_rejoin(fd, OWNER, &r, 1, 1, 0, &answer);

		if (rc == 1 && answer == RJR_RETURNED)
			c->got[r.param]++;
		else if (!rc && answer == RJR_NONE_EXIST)
			break;
		/* the last ones may be on their way to others */
		else if (rc || answer != RJR_NONE_READY)
			c->odd++;
	}
	close(fd);
	return NULL;
}

TEST_F(rejoin, each_result_is_returned_once)
{
	enum { NR = 200, CROWD = 8 };
	_Atomic int got[NR] = { 0 };
	struct crowd c = { .t = &self->t, .got = got };
	pthread_t thread[CROWD];
	int i;

	START(1);
	ASSERT_EQ(0, complete(&self->t, self->w[0], OWNER, NR));
	for (i = 0; i < CROWD; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, crowd_thread, &c));
	for (i = 0; i < CROWD; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, c.odd);
	for (i = 0; i < NR; i++)
		EXPECT_EQ(1, got[i]);
}

/* A result that cannot be copied out stays where it is, at its place. */
TEST_F(rejoin, result_that_is_not_copied_stays)
{
	struct dxk_post_entry e = dxt_entry(OWNER, 0, 0, PXR_REJOIN);
	struct dxt *t = &self->t;
	struct dxk_result r[2];
	struct dxk_post post;
	char slot[2][8];
	struct puppet *w;
	unsigned int answer;
	int i;

	START(1);
	w = self->w[0];
	for (i = 0; i < 2; i++) {
		e.result_len = i ? 16 : 8;
		e.param = i;
		ASSERT_EQ(1, dxt_post(t->member, &e, 1, 0, &post));
		ASSERT_EQ(1, puppet_fetch(w));
		ASSERT_EQ(0, puppet_finish_data(w, "0123456789abcde", e.result_len));
	}
	/* the first fits, the second does not: a short count, then the error */
	ASSERT_EQ(1, dxk_rejoin(t->member, OWNER, r, 2, 1, slot, 8, 0, &answer));
	EXPECT_EQ(0, memcmp(slot[0], "01234567", 8));
	EXPECT_EQ(-EMSGSIZE, dxk_rejoin(t->member, OWNER, r, 1, 1, slot, 8, 0,
					&answer));
	EXPECT_EQ(-EFAULT, dxk_rejoin(t->member, OWNER, (void *)8, 1, 1, NULL, 0, 0,
				      &answer));
	EXPECT_EQ(1, dxt_num(t, "pools/rejoin_use"));
	ASSERT_EQ(1, dxk_rejoin(t->member, OWNER, r, 1, 1, slot, 16, 0, &answer));
	EXPECT_EQ(1, r[0].param);
	EXPECT_EQ(16, r[0].data_len);
	EXPECT_EQ(RJR_NONE_EXIST, poll_owner(t, OWNER));
}

TEST_HARNESS_MAIN
