// SPDX-License-Identifier: GPL-2.0-only
/*
 * DX-16, DX-26..DX-28: the Handle Table of the library, through Runnables. Built a
 * second time with the address sanitizer.
 */
#include "lib/dxt.h"

#include <dx.h>
#include <unistd.h>

#define LOG	"/tmp/dxk-handle-test.log"

/* A worker's own handle. */
struct own {
	pthread_t thread;
	void *native;
	_Atomic bool open;
};

/* A class whose handles know what is done to them. */
struct class {
	HandleClass base;
	struct dxt t;			/* for its numbers */
	_Atomic unsigned int opens, closes, wrong;
	_Atomic int fail, fail_in;	/* opens fail with it, in that thread; 0: all */
	_Atomic int closed_by;		/* thread id */
	_Atomic long long rejoin;	/* Rejoin Pool in use when one was closed */
	_Atomic bool available;		/* its worker was available then */
};

static int open_own(HandleClass *base, void *native, void **out)
{
	struct class *c = (struct class *)base;
	int thread = MTExecutiveThreadId(NULL);
	struct own *own;

	if (c->fail && (!c->fail_in || c->fail_in == thread))
		return c->fail;
	if (!CurrentRequest())
		c->wrong++;
	own = malloc(sizeof(*own));
	*own = (struct own){ pthread_self(), native, true };
	c->opens++;
	*out = own;
	return 0;
}

static void close_own(HandleClass *base, void *arg)
{
	struct class *c = (struct class *)base;
	int thread = MTExecutiveThreadId(NULL);
	struct own *own = arg;

	if (CurrentRequest() || !own->open || !pthread_equal(own->thread, pthread_self()))
		c->wrong++;
	own->open = false;
	c->rejoin = dxt_num(&c->t, "pools/rejoin_use");
	c->available = dxt_member_is(&c->t, (unsigned int)thread, "available");
	c->closed_by = thread;
	free(own);
	c->closes++;
}

/* A request that uses a handle. */
struct job {
	struct class *class;
	void *native;
	unsigned int times;
	struct dxt_gate *before, *after;
	bool release, again, quit;
	int rc, thread;
	int late;			/* asked once more behind @after */
	unsigned int closes;		/* what the class had when it began */
	void *own;
};

static int use(Runnable *self, void *request)
{
	struct job *j = request;
	unsigned int i;
	void *own;

	(void)self;
	j->thread = MTExecutiveThreadId(NULL);
	j->closes = j->class->closes;
	if (j->before)
		dxt_gate_pass(j->before, (unsigned int)j->thread);
	for (i = 0; i < j->times && !j->rc; i++) {
		j->rc = GetThreadHandle(j->native, &own);
		if (j->rc)
			break;
		if (!((struct own *)own)->open || ((struct own *)own)->native != j->native ||
		    (j->own && j->own != own))
			j->class->wrong++;
		j->own = own;
	}
	if (j->release && !j->rc)
		j->rc = ReleaseThreadHandle(j->native);
	if (j->again && !j->rc)
		j->rc = GetThreadHandle(j->native, &own);
	if (j->after) {
		dxt_gate_pass(j->after, (unsigned int)j->thread);
		j->late = GetThreadHandle(j->native, &own);
	}
	if (!j->rc && j->own && !((struct own *)j->own)->open)
		j->class->wrong++;
	if (j->quit)
		pthread_exit(NULL);
	return j->rc;
}

static Runnable user = { use };

FIXTURE(library)
{
	ThreadManagerPolicy policy;
	MTExecutive *mte;
	struct class class;
};

FIXTURE_SETUP(library)
{
	ThreadManagerPolicyInit(&self->policy);
	self->policy.TPMaxThreads = 2;
	self->policy.TPDispatch = dxt_mode();
	self->class.base = (HandleClass){ open_own, close_own };
}

static MTExecutive *begin(ThreadManagerPolicy *policy, struct class *class)
{
	static char *argv[] = { "handle", NULL };
	RunSettings settings;
	MTExecutive *mte;

	RunSettingsInit(&settings, "handle", 1, argv);
	settings.LogPath = LOG;
	mte = MTExecutiveCreate(&settings, policy, NULL);
	if (mte)
		class->t.id = (unsigned int)MTExecutiveContextId(mte);
	return mte;
}

#define BEGIN()		ASSERT_NE(NULL, self->mte = begin(&self->policy, &self->class))

FIXTURE_TEARDOWN(library)
{
	if (self->mte)
		EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_CANCEL, -1));
	/* whatever was opened is closed, by its thread, once */
	EXPECT_EQ(self->class.opens, self->class.closes);
	EXPECT_EQ(0, self->class.wrong);
	unlink(LOG);
}

static int post(struct job *j, unsigned int attrs)
{
	return PostARequest(j, &user, j, 0, attrs);
}

/* Runs it; what it got. */
static int run(struct job *j)
{
	int rc = post(j, PXR_REJOIN);

	if (rc)
		return rc;
	rc = RejoinWait(j, NULL, dxt_late_ns());
	return rc == RJR_RETURNED ? j->rc : -ETIME;
}

static bool done(struct job *j)
{
	return RejoinWait(j, NULL, dxt_late_ns()) == RJR_RETURNED;
}

/* DX-16, DX-26: worker 3 uses H twice and worker 4 once: exactly two opens. */
TEST_F(library, two_opens)
{
	struct dxt_gate *gate[4];
	struct job job[4], again;
	int i, by[5] = { 0 }, h;

	self->policy.TPMaxThreads = 4;
	BEGIN();
	ASSERT_EQ(0, HandleTableAdd(&self->class.base, &h));
	/* one request in each of the four workers, held before it uses H */
	for (i = 0; i < 4; i++) {
		gate[i] = dxt_gate_new();
		job[i] = (struct job){ .class = &self->class, .native = &h,
				       .before = gate[i] };
		ASSERT_EQ(0, post(&job[i], PXR_REJOIN));
		ASSERT_TRUE(DXT_UNTIL(&self->class.t, gate[i]->entered));
		ASSERT_TRUE(gate[i]->last >= 1 && gate[i]->last <= 4);
		by[gate[i]->last] = i;
	}
	job[by[3]].times = 1;
	job[by[4]].times = 1;
	dxt_gate_open(gate[by[3]]);
	ASSERT_TRUE(done(&job[by[3]]));
	again = (struct job){ .class = &self->class, .native = &h, .times = 1 };
	EXPECT_EQ(0, run(&again));
	EXPECT_EQ(3, again.thread);
	EXPECT_EQ(job[by[3]].own, again.own);
	EXPECT_EQ(1, self->class.opens);
	dxt_gate_open(gate[by[4]]);
	ASSERT_TRUE(done(&job[by[4]]));
	EXPECT_EQ(0, job[by[4]].rc);
	EXPECT_NE(again.own, job[by[4]].own);
	EXPECT_EQ(2, self->class.opens);
	EXPECT_EQ(0, self->class.closes);
	for (i = 1; i <= 2; i++) {
		dxt_gate_open(gate[by[i]]);
		ASSERT_TRUE(done(&job[by[i]]));
	}
	EXPECT_EQ(2, self->class.opens);
	EXPECT_EQ(2, HandleTableRemove(&h));
	for (i = 0; i < 4; i++)
		dxt_gate_free(gate[i]);
}

/*
 * DX-27, DX-28, DX-82: removed while one worker uses it and the other sleeps for
 * work. Each closes its own: after its result is there, before it is available; without
 * a request for it.
 */
TEST_F(library, removed_in_use)
{
	struct class *c = &self->class;
	struct dxt_gate *gate = dxt_gate_new(), *gate2 = dxt_gate_new();
	struct job held = { .class = c, .times = 1, .after = gate };
	struct job idle = { .class = c, .times = 1 }, next;
	int h;

	BEGIN();
	held.native = idle.native = &h;
	ASSERT_EQ(0, HandleTableAdd(&c->base, &h));
	ASSERT_EQ(0, post(&held, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&c->t, gate->entered));
	ASSERT_EQ(0, run(&idle));
	ASSERT_EQ(2, c->opens);
	EXPECT_EQ(2, HandleTableRemove(&h));
	EXPECT_EQ(-ENOENT, HandleTableRemove(&h));
	EXPECT_TRUE(DXT_SOON(c->closes));

	/* the other one has closed its own, and is then held by this */
	next = (struct job){ .class = c, .native = &h, .times = 1, .before = gate2 };
	ASSERT_EQ(0, post(&next, 0));
	ASSERT_TRUE(DXT_UNTIL(&c->t, gate2->entered));
	EXPECT_EQ(1, next.closes);
	EXPECT_EQ(idle.thread, next.thread);
	EXPECT_EQ(idle.thread, c->closed_by);
	EXPECT_EQ(1, c->closes);

	dxt_gate_open(gate);
	ASSERT_TRUE(DXT_UNTIL(&c->t, c->closes == 2));
	EXPECT_EQ(held.thread, c->closed_by);
	EXPECT_EQ(1, c->rejoin);
	EXPECT_FALSE(c->available);
	EXPECT_TRUE(done(&held));
	EXPECT_EQ(-ENOENT, held.late);
	dxt_gate_open(gate2);
	EXPECT_TRUE(DXT_UNTIL(&c->t, gate2->left));
	EXPECT_TRUE(DXT_UNTIL(&c->t, !dxt_num(&c->t, "pools/thread_busy")));
	EXPECT_EQ(-ENOENT, next.rc);
	/* both go on */
	EXPECT_EQ(-ENOENT, run(&idle));
	dxt_gate_free(gate);
	dxt_gate_free(gate2);
}

/* The same when a worker fetches several at a time: none is closed in between. */
TEST_F(library, removed_in_a_batch)
{
	struct class *c = &self->class;
	struct dxt_gate *gate = dxt_gate_new();
	struct job first = { .class = c, .times = 1, .after = gate };
	struct job warm = { .class = c, .times = 1 }, job[6];
	RQPost posts[6];
	int h, i;

	self->policy.TPMaxThreads = 1;
	self->policy.TPFetchMax = 8;
	BEGIN();
	first.native = warm.native = &h;
	ASSERT_EQ(0, HandleTableAdd(&c->base, &h));
	ASSERT_EQ(0, run(&warm));
	memset(posts, 0, sizeof(posts));
	for (i = 0; i < 6; i++) {
		job[i] = i ? (struct job){ .class = c, .native = &h, .times = 1 } : first;
		posts[i].pOObject = &h;
		posts[i].pXObject = &user;
		posts[i].pPObject = &job[i];
		posts[i].RQEAttrs = PXR_REJOIN;
	}
	ASSERT_EQ(6, PostRequests(posts, 6, 0, NULL));
	ASSERT_TRUE(DXT_UNTIL(&c->t, gate->entered));
	EXPECT_EQ(1, HandleTableRemove(&h));
	dxt_gate_open(gate);
	for (i = 0; i < 6; i++)
		ASSERT_EQ(RJR_RETURNED, RejoinWait(&h, NULL, dxt_late_ns()));
	EXPECT_EQ(0, job[0].rc);
	for (i = 1; i < 6; i++)
		EXPECT_EQ(-ENOENT, job[i].rc);
	EXPECT_TRUE(DXT_UNTIL(&c->t, c->closes == 1));
	EXPECT_EQ(1, c->opens);
	dxt_gate_free(gate);
}

/* An open that fails in one worker is that call's error; it is tried again. */
TEST_F(library, open_fails)
{
	struct class *c = &self->class;
	struct dxt_gate *gate = dxt_gate_new();
	struct job held = { .class = c, .times = 1, .after = gate };
	struct job other = { .class = c, .times = 1 };
	int h;

	self->policy.TPHandleEntries = 3;
	BEGIN();
	held.native = other.native = &h;
	ASSERT_EQ(0, HandleTableAdd(&c->base, &h));
	ASSERT_EQ(0, post(&held, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&c->t, gate->entered));
	c->fail = -EMEDIUMTYPE;
	c->fail_in = 3 - (int)gate->last;
	EXPECT_EQ(-EMEDIUMTYPE, run(&other));
	other.rc = 0;
	EXPECT_EQ(-EMEDIUMTYPE, run(&other));
	EXPECT_EQ(c->fail_in, other.thread);
	EXPECT_EQ(1, c->opens);
	/* nothing was kept: there is room for it now */
	c->fail = 0;
	other.rc = 0;
	EXPECT_EQ(0, run(&other));
	EXPECT_EQ(2, c->opens);
	dxt_gate_open(gate);
	EXPECT_TRUE(done(&held));
	EXPECT_EQ(0, held.rc);
	EXPECT_EQ(0, held.late);
	EXPECT_EQ(2, HandleTableRemove(&h));
	dxt_gate_free(gate);
}

/* TPHandleEntries counts native handles and own ones. */
TEST_F(library, full)
{
	struct class *c = &self->class;
	struct job one = { .class = c, .times = 1 }, two = one;
	int h[3];

	self->policy.TPMaxThreads = 1;
	self->policy.TPHandleEntries = 3;
	BEGIN();
	one.native = &h[0];
	two.native = &h[1];
	EXPECT_EQ(0, HandleTableAdd(&c->base, &h[0]));
	EXPECT_EQ(0, HandleTableAdd(&c->base, &h[1]));
	EXPECT_EQ(0, run(&one));
	EXPECT_EQ(-ENOSPC, HandleTableAdd(&c->base, &h[2]));
	EXPECT_EQ(-ENOSPC, run(&two));
	two.rc = 0;
	/* the one that was closed makes room when its worker has closed it, too */
	EXPECT_EQ(1, HandleTableRemove(&h[0]));
	EXPECT_EQ(0, run(&two));
	EXPECT_EQ(0, HandleTableAdd(&c->base, &h[2]));
	EXPECT_EQ(1, c->closes);
}

/*
 * DX-28, DX-82: not needed any more: closed at the end of the request, when its result is
 * there and the worker is not yet available, unless asked for again.
 */
TEST_F(library, release)
{
	struct class *c = &self->class;
	struct job job = { .class = c, .times = 2, .release = true };
	int h;

	self->policy.TPMaxThreads = 1;
	BEGIN();
	job.native = &h;
	ASSERT_EQ(0, HandleTableAdd(&c->base, &h));
	ASSERT_EQ(0, post(&job, PXR_REJOIN));
	EXPECT_TRUE(DXT_UNTIL(&c->t, c->closes == 1));
	EXPECT_EQ(1, c->rejoin);
	EXPECT_FALSE(c->available);
	EXPECT_TRUE(done(&job));
	EXPECT_EQ(0, job.rc);
	job.own = NULL;
	EXPECT_EQ(0, run(&job));
	EXPECT_TRUE(DXT_UNTIL(&c->t, c->closes == 2));
	job.own = NULL;
	job.again = true;
	EXPECT_EQ(0, run(&job));
	job.release = job.again = false;
	EXPECT_EQ(0, run(&job));
	EXPECT_EQ(3, c->opens);
	EXPECT_EQ(2, c->closes);
	/* one that it does not have */
	job = (struct job){ .class = c, .native = &job, .release = true };
	EXPECT_EQ(-ENOENT, run(&job));
}

/* A thousand of them; wrong calls; one that is removed and added again. */
TEST_F(library, thousand)
{
	struct class *c = &self->class;
	static char h[1000];
	struct job job = { .class = c, .times = 1 };
	HandleClass none = { NULL, close_own };
	void *own;
	pid_t pid;
	int i;

	EXPECT_EQ(-ENXIO, HandleTableAdd(&c->base, h));
	EXPECT_EQ(-ENXIO, HandleTableRemove(h));
	self->policy.TPMaxThreads = 1;
	self->policy.TPHandleEntries = 1011;
	BEGIN();
	EXPECT_EQ(-EPERM, GetThreadHandle(h, &own));
	EXPECT_EQ(-EPERM, ReleaseThreadHandle(h));
	EXPECT_EQ(-EINVAL, HandleTableAdd(NULL, h));
	EXPECT_EQ(-EINVAL, HandleTableAdd(&none, h));
	EXPECT_EQ(-EINVAL, HandleTableAdd(&c->base, NULL));
	for (i = 0; i < 1000; i++)
		ASSERT_EQ(0, HandleTableAddOf(self->mte, &c->base, &h[i]));
	EXPECT_EQ(-EEXIST, HandleTableAdd(&c->base, &h[500]));
	for (i = 0; i < 1000; i += 100) {
		job = (struct job){ .class = c, .native = &h[i], .times = 2 };
		EXPECT_EQ(0, run(&job));
		EXPECT_EQ(1, HandleTableRemoveOf(self->mte, &h[i]));
		EXPECT_EQ(0, HandleTableAdd(&c->base, &h[i]));
		job.own = NULL;
		EXPECT_EQ(0, run(&job));
	}
	EXPECT_EQ(20, c->opens);
	EXPECT_EQ(10, c->closes);
	pid = dxt_fork();
	if (!pid)
		_exit(HandleTableAddOf(self->mte, &c->base, &job) != -EPERM ||
		      HandleTableRemoveOf(self->mte, &h[1]) != -EPERM ||
		      HandleTableAdd(&c->base, &job) != -ENXIO);
	EXPECT_EQ(0, dxt_reap(pid));
	/* half of them are left to the destructor */
	for (i = 1; i < 1000; i += 2)
		EXPECT_EQ(0, HandleTableRemove(&h[i]));
}

/* A Runnable that ends its thread: what that had is closed on its way out. */
TEST_F(library, worker_ends)
{
	struct class *c = &self->class;
	struct job job = { .class = c, .times = 1, .quit = true };
	int h;

	BEGIN();
	job.native = &h;
	ASSERT_EQ(0, HandleTableAdd(&c->base, &h));
	ASSERT_EQ(0, post(&job, PXR_REJOIN));
	ASSERT_TRUE(done(&job));
	EXPECT_EQ(1, c->opens);
	EXPECT_EQ(1, c->closes);
	EXPECT_EQ(0, HandleTableRemove(&h));
}

/* Handles come and go while four workers use them. */
TEST_F(library, race)
{
	enum { N = 8 };
	struct class *c = &self->class;
	static struct job job[N];
	static char h[N];
	unsigned int i, rounds = dxt_debug_kernel() ? 60 : 300;
	int rc;

	self->policy.TPMaxThreads = 4;
	BEGIN();
	for (i = 0; i < rounds * N; i++) {
		unsigned int k = i % N;

		if (i >= N) {
			ASSERT_EQ(RJR_RETURNED, RejoinWait(&job[k], NULL,
							   dxt_late_ns()));
			ASSERT_TRUE(!job[k].rc || job[k].rc == -ENOENT);
		}
		/* once: removed and added again, it is another one */
		job[k] = (struct job){ .class = c, .native = &h[i / 3 % N], .times = 1,
				       .release = i % 5 == 0 };
		ASSERT_EQ(0, post(&job[k], PXR_REJOIN));
		rc = HandleTableRemove(&h[i * 7 % N]);
		ASSERT_TRUE(rc >= 0 || rc == -ENOENT);
		rc = HandleTableAdd(&c->base, &h[i * 5 % N]);
		ASSERT_TRUE(!rc || rc == -EEXIST);
	}
	for (i = 0; i < N; i++)
		EXPECT_TRUE(done(&job[i]));
	EXPECT_LT(0, c->opens);
}

TEST_HARNESS_MAIN
