// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tenants of a context: three clients of unequal load have of its workers what their weights
 * say; what one has posted does not stand before what the others post; each has no more
 * entries of the Ready Pool than it was let in with; and nobody makes himself a tenant.
 */
#include "join.h"

#include <unistd.h>

#define TENANTS		3
#define FLOOD		100000

static const unsigned int weight[TENANTS] = { 1, 2, 4 };
/* Of the one that weighs least there is most. */
static const unsigned int load[TENANTS] = { FLOOD, 2400, 6000 };

FIXTURE(tenants)
{
	struct dxt t;
	int fd[TENANTS];
	int worker;
	unsigned int had[TENANTS];
};

FIXTURE_SETUP(tenants)
{
	int i;

	for (i = 0; i < TENANTS; i++)
		self->fd[i] = -1;
	self->worker = -1;
	ASSERT_EQ(0, open_named(&self->t, NAME, 0666));
	self->t.policy.space_weight = 1;
	self->t.policy.max_threads = 1;
	self->t.policy.ready_entries = 1 << 17;
	self->t.policy.max_requests = 1 << 18;
}

FIXTURE_TEARDOWN(tenants)
{
	int i;

	for (i = 0; i < TENANTS; i++)
		if (self->fd[i] >= 0)
			close(self->fd[i]);
	if (self->worker >= 0)
		close(self->worker);
	dxt_down(&self->t);
}

static int let_in(struct dxt *t, unsigned int flags, unsigned int weight_, unsigned int entries)
{
	struct dxk_ctx_join j = {
		.flags = flags, .access = DXK_ACCESS_WRITE, .name = NAME,
		.weight = weight_, .ready_entries = entries,
	};

	return dxk_ctx_join_as(t->ctl, &j);
}

/* The client of a tenant posts all it has, in batches. Return: how many were not taken. */
static int post_all(int fd, unsigned int who, unsigned int nr)
{
	struct dxk_post_entry e[DXK_BATCH_MAX];
	int m = dxk_member_create(fd, DXK_MEMBER_CLIENT, NULL), i, batch, rc;

	if (m < 0)
		return -1;
	while (nr) {
		batch = nr < DXK_BATCH_MAX ? (int)nr : DXK_BATCH_MAX;
		for (i = 0; i < batch; i++)
			e[i] = dxt_entry(1, DXT_NOP, who, 0);
		rc = dxk_post(m, e, (unsigned int)batch, 0, NULL);
		if (rc <= 0)
			break;
		nr -= (unsigned int)rc;
	}
	close(m);
	return (int)nr;
}

static struct {
	int fd;
	unsigned int who, nr;
} client;

static int be_client(struct dxt *t)
{
	(void)t;
	return !!post_all(client.fd, client.who, client.nr);
}

/* The worker executes so many, and counts whose they were. */
static unsigned int serve(int worker, unsigned int nr, unsigned int batch, unsigned int *had)
{
	struct dxk_done done[DXK_BATCH_MAX];
	struct dxk_work work[DXK_BATCH_MAX];
	unsigned int left = nr, nr_done = 0, max;
	int got, i;

	while (left) {
		max = left < batch ? left : batch;
		got = dxk_next(worker, done, nr_done, NULL, work, max, NULL, 0, 0);
		nr_done = 0;
		if (got <= 0)
			break;
		for (i = 0; i < got; i++) {
			had[work[i].param]++;
			done[nr_done++] = (struct dxk_done){ .ticket = work[i].ticket };
		}
		left -= (unsigned int)got;
	}
	dxk_next(worker, done, nr_done, NULL, NULL, 0, NULL, 0, 0);
	return nr - left;
}

#define BEGIN() ({								\
	ASSERT_EQ(0, dxt_start(&self->t));					\
	self->worker = dxk_member_create(self->t.ctx, DXK_MEMBER_WORKER, NULL);	\
	ASSERT_LE(0, self->worker);						\
})

/* Processes of their own; while each has something, a worker's time is theirs by weight. */
TEST_F(tenants, shares)
{
	unsigned int i, batch, all = 0, sum;

	BEGIN();
	for (i = 0; i < TENANTS; i++) {
		self->fd[i] = let_in(&self->t, 0, weight[i], 0);
		ASSERT_LE(0, self->fd[i]);
		client.fd = self->fd[i];
		client.who = i;
		client.nr = load[i];
		ASSERT_EQ(0, as(0, 0, 0, be_client, &self->t));
	}
	/* one by one, and in batches */
	for (batch = 1; batch <= DXK_BATCH_MAX; batch += DXK_BATCH_MAX - 1) {
		memset(self->had, 0, sizeof(self->had));
		ASSERT_EQ(3500, serve(self->worker, 3500, batch, self->had));
		for (i = 0; i < TENANTS; i++) {
			TH_LOG("weight %u: %u of 3500", weight[i], self->had[i]);
			/* within 5 % of its weight */
			EXPECT_LE(500 * weight[i] * 95, self->had[i] * 100);
			EXPECT_LE(self->had[i] * 100, 500 * weight[i] * 105);
		}
		all += 3500;
	}
	/* who is left has all */
	for (i = 0, sum = 0; i < TENANTS; i++)
		sum += load[i];
	EXPECT_EQ(sum - all, serve(self->worker, sum, DXK_BATCH_MAX, self->had));
	EXPECT_EQ(sum, dxt_num(&self->t, "stats/completions"));
}

/* 10^5 requests of one client stand before one of another for a round, not for all. */
TEST_F(tenants, flood)
{
	unsigned int before = 0;

	BEGIN();
	self->fd[0] = let_in(&self->t, 0, 3, 0);
	self->fd[1] = let_in(&self->t, 0, 1, 0);
	ASSERT_EQ(0, post_all(self->fd[0], 0, FLOOD));
	ASSERT_EQ(100, serve(self->worker, 100, 1, self->had));
	ASSERT_EQ(0, post_all(self->fd[1], 1, 1));
	while (!self->had[1] && serve(self->worker, 1, 1, self->had))
		before++;
	EXPECT_GE(4, before);
	/* the owner of the context, with the policy's weight, as well */
	ASSERT_EQ(0, post_all(self->t.ctx, 2, 1));
	before = 0;
	while (!self->had[2] && serve(self->worker, 1, 1, self->had))
		before++;
	EXPECT_GE(4, before);
	/* and what is left is served without a pause */
	before = self->had[0];
	EXPECT_EQ(FLOOD - before, serve(self->worker, FLOOD, DXK_BATCH_MAX, self->had));
}

/* Entries of the Ready Pool: no more than it was let in with, whatever is free. */
TEST_F(tenants, quota)
{
	self->t.policy.space_weight = 0;
	BEGIN();
	self->fd[0] = let_in(&self->t, 0, 0, 10);
	ASSERT_LE(0, self->fd[0]);
	EXPECT_EQ(FLOOD - 10, post_all(self->fd[0], 0, FLOOD));
	EXPECT_EQ(10, dxt_num(&self->t, "pools/ready_use"));
	EXPECT_EQ(0, post_all(self->t.ctx, 1, 100));
	ASSERT_EQ(4, serve(self->worker, 4, 1, self->had));
	EXPECT_EQ(6, post_all(self->fd[0], 0, 10));
	ASSERT_EQ(110, serve(self->worker, 1000, 1, self->had) + 0);
}

static int lets_itself_in(struct dxt *t)
{
	if (let_in(t, 0, 1, 0) != -EPERM || let_in(t, 0, 0, 1) != -EPERM)
		return 1;
	return let_in(t, 0, 0, 0) < 0;
}

/* Whoever may join may not say what is due to him; the owner may, and root. */
TEST_F(tenants, rights)
{
	int fd[DXK_BATCH_MAX], i;

	EXPECT_EQ(0, as(OTHER, OTHER, 0, lets_itself_in, &self->t));
	EXPECT_EQ(1, as(UID, GID, 0, lets_itself_in, &self->t));
	EXPECT_EQ(-EINVAL, let_in(&self->t, DXK_JOIN_SHARED, 1, 0));
	EXPECT_EQ(-EINVAL, let_in(&self->t, 0, DXK_WEIGHT_MAX + 1, 0));
	EXPECT_EQ(-EINVAL, let_in(&self->t, 0, 0, (1 << 20) + 1));
	for (i = 0; i < 30; i++) {
		fd[i] = let_in(&self->t, 0, DXK_WEIGHT_MAX, 1 << 20);
		ASSERT_LE(0, fd[i]);
	}
	EXPECT_EQ(-ENOSPC, let_in(&self->t, 0, 1, 0));
	/* others may join, and so may one when one has gone */
	EXPECT_EQ(0, as(OTHER, OTHER, 0, lets_itself_in, &self->t));
	close(fd[7]);
	fd[7] = let_in(&self->t, 0, 1, 0);
	EXPECT_LE(0, fd[7]);
	while (i--)
		close(fd[i]);
}

/* Rounds and homes exclude each other. */
TEST_F(tenants, policy)
{
	self->t.policy.homes = 2;
	self->t.policy.min_threads = 0;
	EXPECT_EQ(-EINVAL, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
}

TEST_HARNESS_MAIN
