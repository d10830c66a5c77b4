// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block marks, seen from programs: spares and idle workers in the place of requests that sleep
 * elsewhere, those that are kept ready, and workers that the Monitor sees asleep. What they
 * count for is proved by the engine's own tests (dxk_block) and by the simulator.
 */
#include "lib/puppet.h"

#define OWNER	1
#define KEY	77
#define SPARES	5

FIXTURE(block) {
	struct dxt t;
	struct puppet *p[2];	/* a worker, and a client */
	struct puppet *s[SPARES];
	unsigned int nr;	/* spares so far */
};

FIXTURE_SETUP(block)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_waiting = 64;
	self->t.policy.max_threads = 1;
	self->t.policy.on_block = DXK_ON_BLOCK_SPARE;
	self->t.policy.max_spares = SPARES;
	self->t.policy.spare_idle_ms = 0;
	self->t.policy.monitor_interval_ms = 10;
	ASSERT_EQ(0, dxt_start(&self->t));
	self->p[0] = puppet_new(&self->t, DXK_MEMBER_WORKER);
	ASSERT_NE(NULL, self->p[0]);
}

FIXTURE_TEARDOWN(block)
{
	EXPECT_EQ(0, dxt_num(&self->t, "stats/missed_wakeups"));
	EXPECT_EQ(0, dxt_num(&self->t, "stats/stalls"));
	puppets_free(self->s, self->nr);
	puppet_free(self->p[0]);
	dxt_down(&self->t);
}

/* What the puppets say of their requests. */
struct mark {
	uint32_t what, flags;
	uint64_t deadline;
};
static struct mark mark;

static void call_mark(struct puppet *p)
{
	struct dxk_key_call c = {
		.size = sizeof(c), .what = mark.what, .flags = mark.flags,
		.deadline = mark.deadline,
	};

	c.ticket = p->work[p->held - 1].ticket;
	p->ret = dxt_ioctl(p->fd, DXK_IOC_KEY, &c);
}

/* True when it sleeps. */
static bool marks(struct puppet *p, uint32_t what, uint32_t flags, uint64_t deadline)
{
	mark = (struct mark){ what, flags, deadline };
	return puppet_begin(p, call_mark);
}

static long enter(struct puppet *p)
{
	return marks(p, DXK_KEY_BLOCK, 0, 0) ? -EPROTO : puppet_end(p);
}

static long leave(struct puppet *p)
{
	return marks(p, DXK_KEY_UNBLOCK, 0, 0) ? -EPROTO : puppet_end(p);
}

static int send(struct dxt *t, uint64_t param, uint64_t key)
{
	struct dxk_post_more e = {
		.post = dxt_entry(OWNER, 9, param, PXR_REJOIN | (key ? PXR_KEY : 0)), .key = key,
	};

	return dxk_post_more(t->member, &e, 1, 0, NULL);
}

static struct puppet *spare_new(struct dxt *t, struct puppet **s, unsigned int *nr)
{
	s[*nr] = puppet_new(t, DXK_MEMBER_SPARE);
	return s[(*nr)++];
}

/* FO-39: what a call says is wrong, and changes nothing. */
TEST_F(block, bad_input)
{
	struct dxk_key_call c = { .size = sizeof(c), .what = DXK_KEY_BLOCK };
	int fd = self->t.member;

	EXPECT_EQ(-ESTALE, dxt_ioctl(fd, DXK_IOC_KEY, &c));
	c.what = DXK_KEY_UNBLOCK + 1;
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(fd, DXK_IOC_KEY, &c));
	c.what = DXK_KEY_BLOCK;
	c.flags = 4;
	EXPECT_EQ(-EOPNOTSUPP, dxt_ioctl(fd, DXK_IOC_KEY, &c));
	c.flags = DXK_KEY_REFUSE;
	EXPECT_EQ(-EINVAL, dxt_ioctl(fd, DXK_IOC_KEY, &c));
	c.flags = 0;
	c.key = KEY;
	EXPECT_EQ(-EINVAL, dxt_ioctl(fd, DXK_IOC_KEY, &c));
	c.key = 0;
	c.what = DXK_KEY_UNBLOCK;
	c.deadline = 5;
	EXPECT_EQ(-EINVAL, dxt_ioctl(fd, DXK_IOC_KEY, &c));
	c.deadline = 0;
	c.flags = DXK_KEY_FORCE;
	EXPECT_EQ(-EINVAL, dxt_ioctl(fd, DXK_IOC_KEY, &c));
	c.what = DXK_KEY_HOLD;
	EXPECT_EQ(-EINVAL, dxt_ioctl(fd, DXK_IOC_KEY, &c));
	ASSERT_EQ(1, send(&self->t, 0, 0));
	ASSERT_EQ(1, puppet_fetch(self->p[0]));
	EXPECT_EQ(-EPERM, leave(self->p[0]));
	/* D-18, FO-41: nobody could take the place, unless it is forced */
	EXPECT_EQ(-EAGAIN, enter(self->p[0]));
	EXPECT_EQ(-EPERM, leave(self->p[0]));
	EXPECT_EQ(1, dxt_num(&self->t, "stats/block_refused"));
	EXPECT_FALSE(marks(self->p[0], DXK_KEY_BLOCK, DXK_KEY_FORCE, 0));
	EXPECT_EQ(0, puppet_end(self->p[0]));
	EXPECT_EQ(-EBUSY, enter(self->p[0]));
	EXPECT_EQ(0, leave(self->p[0]));
	EXPECT_EQ(-EPERM, leave(self->p[0]));
	EXPECT_EQ(0, puppet_finish(self->p[0], 0));
}

/* FO-35, FO-40, D-17: up to max_spares, one after the other blocks, and the next one runs */
TEST_F(block, spares)
{
	struct puppet *p = self->p[0], *next;
	unsigned int i;
	char state[32];

	ASSERT_EQ(1, send(&self->t, 0, 0));
	ASSERT_EQ(1, puppet_fetch(p));
	for (i = 1; i <= SPARES; i++) {
		next = spare_new(&self->t, self->s, &self->nr);
		ASSERT_NE(NULL, next);
		EXPECT_TRUE(puppet_ask(next));
		ASSERT_EQ(1, send(&self->t, i, 0));
		EXPECT_EQ(0, enter(p));
		EXPECT_TRUE(dxt_text(&self->t, state, sizeof(state), "threads/%u/state", p->id));
		EXPECT_STREQ("blocked", state);
		EXPECT_EQ(1, puppet_end(next));
		EXPECT_EQ(i, next->work[0].param);
		p = next;
	}
	/* there is no further one */
	EXPECT_EQ(-EAGAIN, enter(p));
	EXPECT_EQ(SPARES, dxt_num(&self->t, "stats/blocked"));
	EXPECT_EQ(0, leave(self->p[0]));
	for (i = 0; i < SPARES; i++)
		EXPECT_EQ(0, puppet_finish(self->s[i], 0));
	EXPECT_EQ(0, puppet_finish(self->p[0], 0));
	/* FO-42: and all of them leave */
	self->t.policy.spare_idle_ms = 20;
	EXPECT_EQ(0, dxk_policy_set(self->t.ctx, &self->t.policy, NULL));
	for (i = 0; i < SPARES; i++)
		puppet_ask(self->s[i]);
	for (i = 0; i < SPARES; i++)
		EXPECT_EQ(-ESHUTDOWN, puppet_end(self->s[i]));
}

/* Makes a spare whenever there is a use for one. */
static void *manager_thread(void *arg)
{
	FIXTURE_DATA(block) *self = arg;
	unsigned int spares;
	int rc;

	while ((rc = dxk_crew_wait(self->t.ctx, -1, NULL, &spares)) >= 0 || rc == -EINTR)
		while (rc > 0 && spares--)
			puppet_ask(spare_new(&self->t, self->s, &self->nr));
	return NULL;
}

/* FO-36: it waits for a spare to come, if somebody makes one, and no longer than it said */
TEST_F(block, waits_for_a_spare)
{
	struct puppet *p = self->p[0];
	pthread_t manager;

	ASSERT_EQ(1, send(&self->t, 0, 0));
	ASSERT_EQ(1, puppet_fetch(p));
	EXPECT_FALSE(marks(p, DXK_KEY_BLOCK, 0, dxt_late()));
	EXPECT_EQ(-EAGAIN, puppet_end(p));
	ASSERT_EQ(0, pthread_create(&manager, NULL, manager_thread, self));
	/* it may not be asleep yet, and then there is nobody */
	EXPECT_TRUE(DXT_UNTIL(&self->t, !marks(p, DXK_KEY_BLOCK, 0, dxt_late()) &&
				       !puppet_end(p)));
	EXPECT_EQ(1, dxt_num(&self->t, "stats/place_blocks"));
	EXPECT_EQ(1, dxt_num(&self->t, "stats/blocked"));
	EXPECT_EQ(0, leave(p));
	EXPECT_EQ(0, puppet_finish(p, 0));
	EXPECT_EQ(1, dxt_drain(&self->t, self->t.member, OWNER));
	EXPECT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, pthread_join(manager, NULL));
	EXPECT_EQ(1, self->nr);
}

/* FO-38, S-14, D-19: the key is others', and its own again before all that are Held */
TEST_F(block, key)
{
	struct puppet *p = self->p[0], *s = spare_new(&self->t, self->s, &self->nr);
	unsigned int i;

	ASSERT_NE(NULL, s);
	EXPECT_TRUE(puppet_ask(s));
	ASSERT_EQ(1, send(&self->t, 0, KEY));
	ASSERT_EQ(1, puppet_fetch(p));
	for (i = 1; i < 10; i++)
		ASSERT_EQ(1, send(&self->t, i, KEY));
	EXPECT_EQ(0, enter(p));
	EXPECT_EQ(1, puppet_end(s));
	EXPECT_EQ(1, s->work[0].param);
	EXPECT_TRUE(marks(p, DXK_KEY_UNBLOCK, 0, 0));
	EXPECT_EQ(0, puppet_finish(s, 0));
	EXPECT_EQ(0, puppet_end(p));
	EXPECT_EQ(8, dxt_num(&self->t, "pools/wait_use"));
	for (i = 2; i < 10; i++) {
		EXPECT_EQ(0, puppet_finish(p, 0));
		EXPECT_EQ(1, puppet_fetch(p));
		EXPECT_EQ(i, p->work[0].param);
	}
	EXPECT_EQ(0, puppet_finish(p, 0));
	EXPECT_EQ(10, dxt_drain(&self->t, self->t.member, OWNER));
}

/* B-1: a worker that sleeps elsewhere, and did not say so, is seen and replaced */
TEST_F(block, seen_asleep)
{
	struct puppet *p = self->p[0], *s = spare_new(&self->t, self->s, &self->nr);
	struct dxk_policy policy = self->t.policy;

	ASSERT_NE(NULL, s);
	policy.spare_after_ms = 20;
	ASSERT_EQ(0, dxk_policy_set(self->t.ctx, &policy, NULL));
	EXPECT_TRUE(puppet_ask(s));
	ASSERT_EQ(1, send(&self->t, 0, 0));
	ASSERT_EQ(1, puppet_fetch(p));
	/* the puppet's thread sleeps until it is told what to do */
	ASSERT_EQ(1, send(&self->t, 1, 0));
	EXPECT_EQ(1, puppet_end(s));
	EXPECT_EQ(1, s->work[0].param);
	EXPECT_EQ(1, dxt_num(&self->t, "stats/replaced"));
	EXPECT_EQ(0, puppet_finish(s, 0));
	EXPECT_EQ(0, puppet_finish(p, 0));
	/* it is one of the crew as before */
	ASSERT_EQ(1, send(&self->t, 2, 0));
	ASSERT_EQ(1, puppet_fetch(p));
	EXPECT_EQ(0, puppet_finish(p, 0));
	EXPECT_EQ(3, dxt_drain(&self->t, self->t.member, OWNER));
}

/* FO-36, FO-40, FO-42: kernel workers that block; the Monitor keeps spares ready, and ends them */
TEST(kernel_spares)
{
	enum { MOST = 3 };
	uint64_t block;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = t.policy.kernel_threads = 1;
	t.policy.on_block = DXK_ON_BLOCK_SPARE;
	t.policy.max_spares = MOST;
	t.policy.min_spares = 1;
	t.policy.spare_idle_ms = 20;
	t.policy.monitor_interval_ms = 10;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxk_executor_find(t.ctl, "block", &block));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_spares") == 1));
	for (i = 0; i < MOST; i++)
		ASSERT_EQ(1, dxt_post1(t.member, OWNER, block, 60 * 1000 * 1000, PXR_KERNEL, 0,
				       NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/blocked") == MOST));
	/* the next one is told that there is nobody, and what is behind it runs */
	ASSERT_EQ(1, dxt_post1(t.member, OWNER + 1, block, 0, PXR_KERNEL | PXR_REJOIN, 0, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/block_refused") == 1));
	EXPECT_EQ(0, dxk_cancel_owner(t.member, OWNER, NULL));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_spares") == 1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_kthreads(&t) == 3 + 2));
	EXPECT_EQ(1, dxt_drain(&t, t.member, OWNER + 1));
	EXPECT_EQ(0, dxt_num(&t, "stats/missed_wakeups"));
	dxt_down(&t);
}

/* A process that is killed between the marks: its request ends, and nothing is left. */
TEST(killed_between_marks)
{
	struct dxt t;
	struct puppet *p;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.max_waiting = 8;
	ASSERT_EQ(0, dxt_start(&t));
	p = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(1, send(&t, 0, KEY));
	ASSERT_EQ(1, send(&t, 1, KEY));
	ASSERT_EQ(1, puppet_fetch(p));
	EXPECT_FALSE(marks(p, DXK_KEY_BLOCK, DXK_KEY_FORCE, 0));
	EXPECT_EQ(0, puppet_end(p));
	puppet_free(p);
	EXPECT_EQ(1, dxt_num(&t, "stats/owner_dead"));
	p = puppet_new(&t, DXK_MEMBER_WORKER);
	ASSERT_EQ(1, puppet_fetch(p));
	EXPECT_EQ(1, p->work[0].param);
	EXPECT_EQ(0, puppet_finish(p, 0));
	puppet_free(p);
	EXPECT_EQ(2, dxt_drain(&t, t.member, OWNER));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
