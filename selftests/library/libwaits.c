// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests that wait, through libdxk: turns that end with a wait, posts that begin with one,
 * names, cancels, times (R-3, R-4, R-5, W-1..W-3).
 */
#include "library/libwait.h"

#include <fcntl.h>
#include <poll.h>

static int all;		/* the owner of most requests */

/* A Runnable that notes its turns, and does what the test says in each. */
struct job {
	Runnable base;
	int (*turn)(struct job *job, const RQElement *me);
	_Atomic unsigned int turns;
	unsigned int wrong;
	uint32_t wake[64];
	uint64_t at[64];
	RQWait wait;
	uint64_t period;
	unsigned int until;
	int fd, owner;
	size_t got;
};

static int take_turn(Runnable *self, void *request)
{
	struct job *job = (struct job *)self;
	const RQElement *me = CurrentRequest();
	unsigned int i = job->turns;

	(void)request;
	job->wrong += me->RQETurn != i;
	job->wake[i % 64] = me->RQEWake;
	job->at[i % 64] = dxt_now();
	job->turns++;
	return job->turn(job, me);
}

static struct job job_of(int (*turn)(struct job *job, const RQElement *me))
{
	return (struct job){ .base = { take_turn }, .turn = turn };
}

FIXTURE(waits) {
	struct dxt t;
	MTExecutive *mte;
};

static MTExecutive *start(struct dxt *t, unsigned int threads, unsigned int fetch,
			  unsigned int waiting, unsigned int on_block)
{
	ThreadManagerPolicy policy = policy_of(on_block, threads);

	policy.TPMaxWaiting = waiting;
	policy.TPFetchMax = fetch;
	policy.TPDataSize = 64;
	return executive(&policy, t);
}

FIXTURE_SETUP(waits)
{
	self->mte = start(&self->t, 2, 1, 1000, DXK_ON_BLOCK_STRICT);
	ASSERT_NE(NULL, self->mte);
}

FIXTURE_TEARDOWN(waits)
{
	EXPECT_EQ(0, dxt_num(&self->t, "pools/wait_use"));
	MTExecutiveDestroy(self->mte, DXK_STOP_CANCEL, -1);
}

/* The status of one result; 4711: there is none. */
static int status_of(void *owner)
{
	RQElement e;

	return GetRejoinElement(owner, &e, NULL, 0, dxt_late_ns()) == RJR_RETURNED ?
	       e.RQEStatus : 4711;
}

static int ends_at_once(struct job *job, const RQElement *me)
{
	(void)me;
	return (int)job->until;
}

/* --- times ---------------------------------------------------------------------- */

/* a delayed request: not before, and not much later. */
TEST_F(waits, delayed)
{
	RQOptions o = { .Wait = { .Sources = DXK_WAIT_TIME, .TimeoutNs = 30 * DXT_MS } };
	struct job job = job_of(ends_at_once);
	uint64_t begin = dxt_now();

	job.until = 5;
	ASSERT_EQ(0, PostARequestWith(NULL, &job.base, &all, 0, PXR_REJOIN, &o));
	EXPECT_EQ(RJR_NONE_READY, GetRejoinRequest(&all, NULL));
	EXPECT_EQ(5, status_of(&all));
	EXPECT_LE(begin + 30 * DXT_MS, job.at[0]);
	EXPECT_EQ(DXK_WAKE_TIME, job.wake[0]);
	EXPECT_EQ(0, job.wrong);
}

static int again_and_again(struct job *job, const RQElement *me)
{
	unsigned int nr = 0;

	if (me->RQETurn) {
		job->wrong += me->RQEDataLen != sizeof(nr) || me->RQEWaitState != 1000 + job->turns - 1;
		nr = *(const unsigned int *)me->pData;
		job->wrong += nr != job->turns - 1;
	}
	nr++;
	if (job->turns == job->until)
		return 7;
	job->wait = (RQWait){
		.Sources = DXK_WAIT_TIME, .Deadline = job->wait.Deadline + job->period,
		.State = 1000 + job->turns, .pData = &nr, .DataLen = sizeof(nr),
	};
	return WaitRequest(&job->wait);
}

/* A period that does not drift; each turn has the state and the data of the one before. */
TEST_F(waits, periodic)
{
	struct job job = job_of(again_and_again);
	RQPost post = { .pOObject = &all, .pXObject = &job.base, .RQEAttrs = PXR_REJOIN,
			.RQEResultRoom = sizeof(unsigned int) };
	uint64_t begin = dxt_now();
	unsigned int i;

	job.period = 2 * DXT_MS;
	job.until = 50;
	job.wait.Deadline = begin;
	ASSERT_EQ(1, PostRequests(&post, 1, -1, NULL));
	EXPECT_EQ(7, status_of(&all));
	EXPECT_EQ(50, job.turns);
	EXPECT_EQ(0, job.wrong);
	for (i = 1; i < 50; i++)
		EXPECT_LE(begin + i * job.period, job.at[i]);
}

TEST_F(waits, expires)
{
	RQOptions o = { .ExpireNs = 20 * DXT_MS, .pName = &all,
			.Wait = { .Sources = DXK_WAIT_CALL } };
	struct job job = job_of(ends_at_once);

	ASSERT_EQ(0, PostARequestWith(NULL, &job.base, &all, 0, PXR_REJOIN, &o));
	EXPECT_EQ(-ETIME, status_of(&all));
	EXPECT_EQ(0, job.turns);
	EXPECT_EQ(-ENOENT, WakeRequest(&all));
}

/* --- calls ---------------------------------------------------------------------- */

static int for_calls(struct job *job, const RQElement *me)
{
	RQWait wait = { .Sources = DXK_WAIT_CALL };

	job->wrong += me->pName != job;
	return job->turns < job->until ? WaitRequest(&wait) : 0;
}

/* R-3, W-1: each accepted call is a turn, or one with others; none is lost. */
TEST_F(waits, calls)
{
	struct job job = job_of(for_calls);
	RQOptions o = { .pName = &job };
	unsigned int i;

	job.until = 1001;
	ASSERT_EQ(0, PostARequestWith(NULL, &job.base, &all, 0, PXR_REJOIN, &o));
	EXPECT_EQ(-EEXIST, PostARequestWith(NULL, &job.base, &all, 0, PXR_REJOIN, &o));
	for (i = 1; i <= 1000; i++) {
		ASSERT_EQ(0, WakeRequest(&job));
		ASSERT_TRUE(DXT_UNTIL(&self->t, job.turns > i));
	}
	EXPECT_EQ(0, status_of(&all));
	EXPECT_EQ(0, job.wrong);
	EXPECT_EQ(-ENOENT, WakeRequest(&job));
}

static int until_told(struct job *job, const RQElement *me)
{
	RQWait wait = { .Sources = DXK_WAIT_CALL };

	(void)job;
	return me->RQEWake == DXK_WAKE_CANCEL ? 9 : WaitRequest(&wait);
}

/* W-3: what waits and was begun has a last turn; what never was ends; and all of an owner. */
TEST_F(waits, cancels)
{
	struct job job[3] = { job_of(until_told), job_of(until_told), job_of(ends_at_once) };
	RQOptions o[3] = {
		{ .pName = &job[0] }, { .pName = &job[1] },
		{ .pName = &job[2], .Wait = { .Sources = DXK_WAIT_CALL } },
	};
	unsigned int round, i, left;

	EXPECT_EQ(-ENOENT, CancelRequest(&job[0]));
	EXPECT_EQ(-ENOENT, CancelRequests(&all));
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 3; i++) {
			job[i].turns = 0;
			ASSERT_EQ(0, PostARequestWith(NULL, &job[i].base, &all, 0, PXR_REJOIN,
						      &o[i]));
		}
		ASSERT_TRUE(DXT_UNTIL(&self->t, dxt_num(&self->t, "pools/wait_use") == 3));
		if (round) {
			EXPECT_EQ(3, CancelRequests(&all));
		} else {
			EXPECT_EQ(DXK_CANCEL_TOLD, CancelRequest(&job[0]));
			EXPECT_EQ(DXK_CANCEL_TOLD, CancelRequest(&job[1]));
			EXPECT_EQ(DXK_CANCEL_ENDED, CancelRequest(&job[2]));
		}
		for (i = 0, left = 0; i < 3; i++) {
			int status = status_of(&all);

			EXPECT_TRUE(status == 9 || status == -ECANCELED);
			left += status == 9;
		}
		EXPECT_EQ(2, left);
		EXPECT_EQ(0, job[2].turns);
	}
}

/* --- where requests are ----------------------------------------------------------- */

static _Atomic bool go;

static int held_up(struct job *job, const RQElement *me)
{
	(void)me;
	(void)job;
	while (!go)
		usleep(1000);
	return 3;
}

/* DX-34: a request is Ready, busy, or waits; and nowhere before its post and after its end. */
TEST_F(waits, states)
{
	RQOptions o = { .Wait = { .Sources = DXK_WAIT_CALL } };
	struct job job[2] = { job_of(held_up), job_of(held_up) }, late = job_of(ends_at_once);
	unsigned int i;
	RQElement e;
	int other;

	go = false;
	EXPECT_EQ(RQE_FREE, RequestState(&all, &job[0], &e));
	EXPECT_EQ(RQE_FREE, e.RQEState);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, PostARequest(&job[i], &job[i].base, &all, 0, PXR_REJOIN));
	ASSERT_TRUE(DXT_SOON(job[0].turns && job[1].turns));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(RQE_BUSY, RequestState(&all, &job[i], &e));
		EXPECT_EQ(RQE_BUSY, e.RQEState);
		EXPECT_EQ(&job[i].base, e.pXObject);
		EXPECT_LE(1, e.RQEWorker);
	}
	ASSERT_EQ(0, PostARequest(&late, &late.base, &all, -7, PXR_REJOIN | PXR_LANE2));
	EXPECT_EQ(RQE_READY, RequestStateOf(self->mte, &all, &late, &e));
	EXPECT_EQ(&all, e.pOObject);
	EXPECT_EQ(&late, e.pPObject);
	EXPECT_EQ(-7, e.RQEPriority);
	EXPECT_EQ(PXR_REJOIN | PXR_LANE2, e.RQEAttrs);
	o.pName = &o;
	ASSERT_EQ(0, PostARequestWith(&o, &late.base, &all, 0, PXR_REJOIN, &o));
	EXPECT_EQ(RQE_WAITING, RequestState(&all, &o, NULL));
	EXPECT_EQ(RQE_FREE, RequestState(&other, &late, NULL));
	EXPECT_EQ(0, WakeRequest(&o));
	EXPECT_EQ(RQE_READY, RequestState(&all, &o, NULL));

	/* there are more than it can be told of */
	for (i = 0; i < 70; i++)
		ASSERT_EQ(0, PostARequest(&i, &late.base, &other, -9, PXR_REJOIN));
	EXPECT_EQ(-EAGAIN, RequestState(&other, &late, NULL));
	EXPECT_EQ(RQE_READY, RequestState(&other, &i, NULL));
	go = true;
	for (i = 0; i < 4; i++)
		EXPECT_NE(4711, status_of(&all));
	EXPECT_EQ(0, RejoinAll(&other, NULL));
	EXPECT_EQ(RQE_FREE, RequestState(&all, &late, NULL));
}

/* --- files ---------------------------------------------------------------------- */

static int reads(struct job *job, const RQElement *me)
{
	RQWait wait = { .Sources = DXK_WAIT_FILE, .Fd = job->fd, .Events = POLLIN };
	char buf[100];
	ssize_t n;

	job->wrong += me->RQETurn && me->RQEWake != DXK_WAKE_FILE;
	while ((n = read(job->fd, buf, sizeof(buf))) > 0)
		job->got += (size_t)n;
	return n < 0 && errno == EAGAIN ? WaitRequest(&wait) : (int)n;
}

/* NI-4: what a pipe brings, piece by piece, until its end. */
TEST_F(waits, reads_a_pipe)
{
	struct job job = job_of(reads);
	unsigned int i;
	int p[2];

	ASSERT_EQ(0, pipe2(p, O_NONBLOCK));
	job.fd = p[0];
	ASSERT_EQ(0, PostARequest(NULL, &job.base, &all, 0, PXR_REJOIN));
	for (i = 0; i < 200; i++) {
		EXPECT_EQ(3, write(p[1], "abc", 3));
		if (i % 10 == 0)
			ASSERT_TRUE(DXT_UNTIL(&self->t,
					      dxt_num(&self->t, "pools/wait_use") == 1));
	}
	close(p[1]);
	EXPECT_EQ(0, status_of(&all));
	EXPECT_EQ(600, job.got);
	EXPECT_EQ(0, job.wrong);
	close(p[0]);
}

/* --- owners --------------------------------------------------------------------- */

static int parent(struct job *job, const RQElement *me)
{
	RQWait wait = { .Sources = DXK_WAIT_JOIN, .pOObject = &job->owner };
	static struct job child[5];
	unsigned int i;

	if (!me->RQETurn) {
		for (i = 0; i < 5; i++) {
			child[i] = job_of(ends_at_once);
			job->wrong += PostARequest(NULL, &child[i].base, &job->owner, 1,
						   PXR_REJOIN) != 0;
		}
		return WaitRequest(&wait);
	}
	for (i = 0; GetRejoinRequest(&job->owner, NULL) == RJR_RETURNED; i++)
		;
	return (int)i;
}

/* D-1 without a thread: a request that waits for those that it posts; one worker does all. */
TEST(continuation)
{
	struct job job = job_of(parent);
	struct dxt t;
	MTExecutive *mte = start(&t, 1, 1, 10, DXK_ON_BLOCK_STRICT);

	ASSERT_NE(NULL, mte);
	ASSERT_EQ(0, PostARequest(NULL, &job.base, &all, 0, PXR_REJOIN));
	EXPECT_EQ(5, status_of(&all));
	EXPECT_EQ(2, job.turns);
	EXPECT_EQ(0, job.wrong);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

static int waits_below(struct job *job, const RQElement *me)
{
	static struct job below;

	(void)me;
	below = job_of(again_and_again);
	below.period = DXT_MS;
	below.until = 1;
	below.turn = ends_at_once;
	job->wrong += PostARequest(NULL, &below.base, &job->owner, 1, PXR_REJOIN) != 0;
	return RejoinWait(&job->owner, NULL, -1) == RJR_RETURNED ? (int)below.turns : -1;
}

/* A worker that helps executes, within its wait, a request that waits. */
TEST(helper)
{
	RQOptions o = { .Wait = { .Sources = DXK_WAIT_TIME, .TimeoutNs = DXT_MS } };
	struct job job = job_of(waits_below), other = job_of(again_and_again);
	struct dxt t;
	MTExecutive *mte = start(&t, 1, 1, 10, DXK_ON_BLOCK_HELP);

	ASSERT_NE(NULL, mte);
	other.until = 1;
	ASSERT_EQ(0, PostARequestWith(NULL, &other.base, &all, 0, PXR_REJOIN, &o));
	ASSERT_EQ(0, PostARequest(NULL, &job.base, &job, 0, PXR_REJOIN));
	EXPECT_EQ(1, status_of(&job));
	EXPECT_EQ(7, status_of(&all));
	EXPECT_EQ(0, job.wrong);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

/* --- what is refused -------------------------------------------------------------- */

static int no_such_file(struct job *job, const RQElement *me)
{
	RQWait wait = { .Sources = DXK_WAIT_FILE, .Fd = 9999, .Events = POLLIN };

	(void)job;
	(void)me;
	return WaitRequest(&wait);
}

static int another_value(struct job *job, const RQElement *me)
{
	RQWait wait = { .Sources = DXK_WAIT_TIME, .TimeoutNs = -1, .pData = "x", .DataLen = 1 };

	job->wrong += WaitRequest(&wait) != RQ_WAITS;
	job->wrong += me->RQEResultRoom != 1;
	return 7;
}

static int only_says_so(struct job *job, const RQElement *me)
{
	(void)job;
	(void)me;
	return RQ_WAITS;
}

static int too_much(struct job *job, const RQElement *me)
{
	RQWait wait = { .Sources = DXK_WAIT_AGAIN, .pData = "xxxx", .DataLen = 4 };

	(void)job;
	(void)me;
	return WaitRequest(&wait);
}

/* Several fetched at a time: who is refused its wait ends, and nobody else. */
TEST(refused)
{
	static const struct {
		int (*turn)(struct job *job, const RQElement *me);
		int status;
	} row[] = {
		{ no_such_file, -EBADF }, { another_value, 7 }, { only_says_so, -EPROTO },
		{ too_much, -EMSGSIZE }, { ends_at_once, 0 },
	};
	struct job job[5];
	RQPost post[5];
	struct dxt t;
	MTExecutive *mte = start(&t, 1, 8, 10, DXK_ON_BLOCK_STRICT);
	RQWait wait = { .Sources = DXK_WAIT_AGAIN };
	unsigned int i;
	RQElement e;
	char data[64];

	ASSERT_NE(NULL, mte);
	EXPECT_EQ(-EPERM, WaitRequest(&wait));
	for (i = 0; i < 5; i++) {
		job[i] = job_of(row[i].turn);
		post[i] = (RQPost){ .pOObject = &job[i], .pXObject = &job[i].base,
				    .RQEAttrs = PXR_REJOIN, .RQEResultRoom = 1 };
	}
	ASSERT_EQ(5, PostRequests(post, 5, -1, NULL));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(RJR_RETURNED, GetRejoinElement(&job[i], &e, data, sizeof(data),
							 dxt_late_ns()));
		EXPECT_EQ(row[i].status, e.RQEStatus);
		EXPECT_EQ(0, e.RQEDataLen);
		EXPECT_EQ(0, job[i].wrong);
		EXPECT_EQ(1, job[i].turns);
	}
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

/* Without TPMaxWaiting there is nothing of this, but the cancel of all of an owner. */
TEST(off)
{
	struct job job = job_of(again_and_again);
	RQOptions o = { .pName = &job };
	struct dxt t;
	MTExecutive *mte = start(&t, 1, 1, 0, DXK_ON_BLOCK_STRICT);

	ASSERT_NE(NULL, mte);
	job.until = 5;
	ASSERT_EQ(0, PostARequest(NULL, &job.base, &all, 0, PXR_REJOIN));
	EXPECT_EQ(-EOPNOTSUPP, status_of(&all));
	EXPECT_EQ(-EOPNOTSUPP, PostARequestWith(NULL, &job.base, &all, 0, PXR_REJOIN, &o));
	EXPECT_EQ(-EOPNOTSUPP, WakeRequest(&job));
	EXPECT_EQ(-EOPNOTSUPP, CancelRequest(&job));
	EXPECT_EQ(-ENOENT, CancelRequests(&all));
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

TEST_HARNESS_MAIN
