// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keys through libdxk: requests one at a time, the key given up and held back, calls that come
 * back.
 */
#define _GNU_SOURCE
#include "library/libwait.h"

#define KEY	0x1234567800000001ULL

static int all;		/* the owner of most requests */

/* A Runnable that does what the test says. */
struct job {
	Runnable base;
	int (*run)(struct job *job, const RQElement *me);
	_Atomic unsigned int ran, inside, wrong, nested;
	_Atomic bool closed;
	int rc;
	struct job *within;
};

static int run(Runnable *self, void *request)
{
	struct job *job = (struct job *)self;
	int rc;

	(void)request;
	rc = job->run(job, CurrentRequest());
	job->ran++;
	return rc;
}

static struct job job_of(int (*fn)(struct job *job, const RQElement *me))
{
	return (struct job){ .base = { run }, .run = fn };
}

FIXTURE(keys) {
	struct dxt t;
	MTExecutive *mte;
};

FIXTURE_SETUP(keys)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 3);

	policy.TPMaxWaiting = 2000;
	self->mte = executive(&policy, &self->t);
	ASSERT_NE(NULL, self->mte);
}

FIXTURE_TEARDOWN(keys)
{
	EXPECT_TRUE(DXT_SOON(!dxt_num(&self->t, "pools/wait_use")));
	MTExecutiveDestroy(self->mte, DXK_STOP_CANCEL, -1);
}

static int post(struct job *job, void *owner, int priority, uint64_t key, unsigned int reentry)
{
	RQOptions o = { .Key = key, .Reentry = reentry };

	return PostARequestWith(NULL, &job->base, owner, priority, PXR_REJOIN, &o);
}

/* The status of one result; 4711: there is none. */
static int status_of(void *owner)
{
	RQElement e;

	return GetRejoinElement(owner, &e, NULL, 0, dxt_late_ns()) == RJR_RETURNED ?
	       e.RQEStatus : 4711;
}

static int alone(struct job *job, const RQElement *me)
{
	job->wrong += job->inside++ != 0 || me->RQEKey != KEY || me->RQENested;
	job->inside--;
	return 0;
}

/* AG-2: one at a time, whoever executes it */
TEST_F(keys, one_at_a_time)
{
	struct job job = job_of(alone);

	for (unsigned int i = 0; i < 1000; i++)
		ASSERT_EQ(0, post(&job, &all, 0, KEY, DXK_REENTRY_NONE));
	for (unsigned int i = 0; i < 1000; i++)
		ASSERT_EQ(0, status_of(&all));
	EXPECT_EQ(0, job.wrong);
}

static int waits_for_another(struct job *job, const RQElement *me)
{
	job->nested += me->RQENested;
	job->wrong += me->RQEKey != KEY;
	if (!job->within)
		return 0;
	job->rc = post(job->within, job, 0, KEY, DXK_REENTRY_SELF);
	if (!job->rc)
		job->rc = RejoinWait(job, NULL, -1);
	/* It is the outer one again. */
	job->wrong += CurrentRequest() != me || me->RQENested;
	return job->rc == RJR_RETURNED ? 0 : job->rc;
}

/* AG-18: what it waits for is executed within it, and says so */
TEST_F(keys, within)
{
	struct job inner = job_of(waits_for_another), outer = job_of(waits_for_another);

	outer.within = &inner;
	ASSERT_EQ(0, post(&outer, &all, 0, KEY, DXK_REENTRY_SELF));
	EXPECT_EQ(0, status_of(&all));
	EXPECT_EQ(1, inner.nested);
	EXPECT_EQ(0, outer.nested);
	EXPECT_EQ(0, inner.wrong + outer.wrong);
}

static int refused(struct job *job, const RQElement *me)
{
	job->rc = post(job->within, job, 0, me->RQEKey, DXK_REENTRY_NONE);
	job->wrong += RejoinWait(job, NULL, -1) != -EDEADLK;
	return 0;
}

/* AG-20: or it is not, and who would wait for ever is told */
TEST_F(keys, not_within)
{
	struct job inner = job_of(alone), outer = job_of(refused);

	outer.within = &inner;
	ASSERT_EQ(0, post(&outer, &all, 0, KEY, DXK_REENTRY_NONE));
	EXPECT_EQ(0, status_of(&all));
	EXPECT_EQ(0, status_of(&outer));
	EXPECT_EQ(0, outer.wrong + inner.wrong);
}

static int leaves(struct job *job, const RQElement *me)
{
	(void)me;
	job->wrong += UseKey(DXK_KEY_ENTER, 0) != -EALREADY;
	job->wrong += UseKey(DXK_KEY_WAIT, DXT_MS) != -ETIMEDOUT;
	job->wrong += UseKey(DXK_KEY_NOTIFY, 0) != 0;
	job->wrong += UseKey(DXK_KEY_LEAVE, 0) != 0;
	job->wrong += UseKey(DXK_KEY_LEAVE, 0) != -EPERM;
	job->wrong += UseKey(DXK_KEY_NOTIFY, 0) != -EPERM;
	job->wrong += UseKey(DXK_KEY_NOTIFY_ALL, 0) != -EPERM;
	job->wrong += UseKey(DXK_KEY_WAIT, 0) != -EPERM;
	job->inside = 1;
	while (job->closed)
		usleep(100);
	job->wrong += UseKey(DXK_KEY_ENTER, 0) != 0;
	job->wrong += UseKey(DXK_KEY_ENTER, 0) != -EALREADY;
	job->wrong += UseKey(DXK_KEY_HOLD, 0) != -EINVAL;
	return 0;
}

static int keyless(struct job *job, const RQElement *me)
{
	job->wrong += me->RQEKey != 0 || UseKey(DXK_KEY_NOTIFY, 0) != -EINVAL;
	return 0;
}

/* AG-21, AG-26: who has its key gives it up, and has it again; nobody else, and not twice */
TEST_F(keys, leaves)
{
	struct job job = job_of(leaves), next = job_of(alone), other = job_of(keyless);

	EXPECT_EQ(-EPERM, UseKey(DXK_KEY_LEAVE, 0));
	job.closed = true;
	ASSERT_EQ(0, post(&job, &all, 0, KEY, DXK_REENTRY_NONE));
	ASSERT_TRUE(DXT_SOON(job.inside));
	ASSERT_EQ(0, post(&next, &next, 0, KEY, DXK_REENTRY_NONE));
	EXPECT_EQ(0, status_of(&next));
	job.closed = false;
	EXPECT_EQ(0, status_of(&all));
	ASSERT_EQ(0, post(&other, &all, 0, 0, DXK_REENTRY_NONE));
	EXPECT_EQ(0, status_of(&all));
	EXPECT_EQ(0, job.wrong + next.wrong + other.wrong);
}

/* AG-29, AG-31: a key is held back, refuses, is released; what waits for it is cancelled */
TEST_F(keys, held_back)
{
	struct job job = job_of(alone);

	EXPECT_EQ(-ENOENT, ControlKey(KEY, DXK_KEY_RELEASE, 0));
	EXPECT_EQ(-ENOENT, ControlKey(KEY, DXK_KEY_CANCEL, 0));
	EXPECT_EQ(-EINVAL, ControlKey(KEY, DXK_KEY_LEAVE, 0));
	EXPECT_EQ(0, ControlKey(KEY, DXK_KEY_HOLD, 0));
	for (unsigned int i = 0; i < 10; i++)
		ASSERT_EQ(0, post(&job, &all, 0, KEY, DXK_REENTRY_NONE));
	EXPECT_EQ(RJR_NONE_READY, RejoinWait(&all, NULL, 20 * DXT_MS));
	EXPECT_EQ(0, job.ran);
	EXPECT_EQ(10, ControlKey(KEY, DXK_KEY_CANCEL, 0));
	for (unsigned int i = 0; i < 10; i++)
		EXPECT_EQ(-ECANCELED, status_of(&all));
	ASSERT_EQ(0, post(&job, &all, 0, KEY, DXK_REENTRY_NONE));
	EXPECT_EQ(0, ControlKey(KEY, DXK_KEY_HOLD, DXK_KEY_REFUSE));
	EXPECT_EQ(-ECANCELED, post(&job, &all, 0, KEY, DXK_REENTRY_NONE));
	EXPECT_EQ(0, ControlKey(KEY, DXK_KEY_RELEASE, 0));
	EXPECT_EQ(0, status_of(&all));
	EXPECT_EQ(1, job.ran);
	EXPECT_EQ(0, job.wrong);
}

static int moves(struct job *job, const RQElement *me)
{
	RQWait wait = { .Sources = DXK_WAIT_AGAIN };

	job->wrong += me->RQEKey != (me->RQETurn == 2 ? 0 : KEY + me->RQETurn);
	if (me->RQETurn == 2)
		return 7;
	wait.Sources |= me->RQETurn ? DXK_WAIT_ALONE : DXK_WAIT_MOVE;
	wait.Key = me->RQETurn ? 0 : KEY + 1;
	return WaitRequest(&wait);
}

/* AG-14, AG-16: another key with the next turn, and then none */
TEST_F(keys, moves)
{
	struct job job = job_of(moves);

	ASSERT_EQ(0, post(&job, &all, 0, KEY, DXK_REENTRY_NONE));
	EXPECT_EQ(7, status_of(&all));
	EXPECT_EQ(3, job.ran);
	EXPECT_EQ(0, job.wrong);
}

static int goes_away(struct job *job, const RQElement *me)
{
	(void)me;
	job->wrong += LeaveBlock() != -EPERM;
	job->wrong += EnterBlock(DXK_KEY_REFUSE, 0) != -EINVAL;
	job->wrong += EnterBlock(0, -1) != 0;
	job->wrong += EnterBlock(0, 0) != -EBUSY;
	job->wrong += UseKey(DXK_KEY_ENTER, 0) != -EBUSY;
	job->inside = 1;
	while (job->closed)
		usleep(100);
	job->wrong += LeaveBlock() != 0;
	job->wrong += UseKey(DXK_KEY_ENTER, 0) != -EALREADY;
	job->wrong += LeaveBlock() != -EPERM;
	return 0;
}

/* FO-35, FO-36, FO-38, FO-39: the one worker blocks; a spare comes, and has the key meanwhile */
TEST(blocks)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_SPARE, 1);
	struct job job = job_of(goes_away), next = job_of(alone);
	MTExecutive *mte;
	struct dxt t;

	EXPECT_EQ(-EPERM, EnterBlock(0, 0));
	EXPECT_EQ(-EPERM, LeaveBlock());
	policy.TPMaxWaiting = 64;
	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	job.closed = true;
	ASSERT_EQ(0, post(&job, &all, 0, KEY, DXK_REENTRY_NONE));
	ASSERT_TRUE(DXT_SOON(job.inside));
	ASSERT_EQ(0, post(&next, &next, 0, KEY, DXK_REENTRY_NONE));
	EXPECT_EQ(0, status_of(&next));
	job.closed = false;
	EXPECT_EQ(0, status_of(&all));
	EXPECT_EQ(0, job.wrong + next.wrong);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
}

/* Without TPMaxWaiting there are no keys. */
TEST(off)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 1);
	struct job job = job_of(alone);
	MTExecutive *mte;
	struct dxt t;

	mte = executive(&policy, &t);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(-EOPNOTSUPP, post(&job, &all, 0, KEY, DXK_REENTRY_NONE));
	EXPECT_EQ(-EOPNOTSUPP, ControlKey(KEY, DXK_KEY_HOLD, 0));
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

TEST_HARNESS_MAIN
