// SPDX-License-Identifier: GPL-2.0-only
/*
 * The crew of an executive: worker threads that come and go with the policy, whoever
 * changes it, that are replaced when a Runnable ends them, and services that end with
 * Stop.
 */
#include "lib/dxt.h"

#include <dx.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static ThreadManagerPolicy policy_of(unsigned int threads, unsigned int kernel)
{
	ThreadManagerPolicy policy;

	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = threads;
	policy.TPKernelThreads = kernel;
	policy.TPMonitorInterval = 10;
	policy.TPDispatch = dxt_mode();
	return policy;
}

static MTExecutive *made(const ThreadManagerPolicy *policy)
{
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	RunSettingsInit(&settings, "libcrew", 0, NULL);
	settings.LogPath = "/dev/null";
	mte = MTExecutiveCreate(&settings, policy, &error);
	if (!mte)
		fprintf(stderr, "# %s %s: %d\n", error.Step, error.Field, error.Error);
	return mte;
}

static MTExecutive *executive(unsigned int threads)
{
	ThreadManagerPolicy policy = policy_of(threads, 0);

	return made(&policy);
}

#define MANY_THREADS	200

static int resize(MTExecutive *mte, unsigned int threads)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	int rc = MTExecutiveGetPolicy(mte, &policy);

	policy.TPMaxThreads = threads;
	if (!rc)
		rc = MTExecutiveSetPolicy(mte, &policy, &error);
	if (rc)
		fprintf(stderr, "# %s %s: %d\n", error.Step, error.Field, error.Error);
	return rc;
}

struct hold {
	Runnable base;
	struct dxt_gate *gate;
};

static int hold(Runnable *self, void *request)
{
	struct hold *h = (struct hold *)self;

	(void)request;
	dxt_gate_pass(h->gate, CurrentRequest()->RQEWorker);
	return 0;
}

/* Post @nr requests that all execute at once, if the crew is large enough. */
static bool fills(struct hold *h, const struct dxt *t, unsigned int nr)
{
	unsigned int i;
	bool full;

	h->gate->entered = h->gate->left = 0;
	dxt_gate_close(h->gate);
	for (i = 0; i < nr; i++)
		if (PostARequest(h, &h->base, h, 0, PXR_REJOIN))
			return false;
	full = DXT_UNTIL(t, h->gate->entered == nr);
	dxt_gate_open(h->gate);
	while (RejoinWait(h, NULL, -1) == RJR_RETURNED)
		;
	return full;
}

/*
 * DX-9, R-17: the crew grows before the call returns and shrinks as workers end
 * what they execute; nobody is interrupted.
 */
TEST(grow_and_shrink)
{
	struct hold h = { { hold }, dxt_gate_new() };
	MTExecutive *mte = executive(2);
	struct dxt t = { 0 };
	unsigned int i;

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	EXPECT_TRUE(fills(&h, &t, 2));
	EXPECT_EQ(0, resize(mte, 5));
	EXPECT_EQ(5, dxt_num(&t, "pools/thread_use"));
	EXPECT_TRUE(fills(&h, &t, 5));

	/* all five execute while the crew shrinks to one */
	h.gate->entered = h.gate->left = 0;
	dxt_gate_close(h.gate);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, PostARequest(&h, &h.base, &h, 0, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&t, h.gate->entered == 5));
	EXPECT_EQ(0, resize(mte, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 1));
	EXPECT_EQ(5, dxt_num(&t, "pools/thread_busy"));
	dxt_gate_open(h.gate);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(RJR_RETURNED, RejoinWait(&h, NULL, -1));
	EXPECT_EQ(0, dxt_num(&t, "stats/owner_dead"));
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_exists(&t, "threads/2")));
	EXPECT_TRUE(fills(&h, &t, 1));

	/* larger again before those who are to go have gone */
	EXPECT_EQ(0, resize(mte, 5));
	h.gate->entered = h.gate->left = 0;
	dxt_gate_close(h.gate);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(0, PostARequest(&h, &h.base, &h, 0, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&t, h.gate->entered == 5));
	EXPECT_EQ(0, resize(mte, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 1));
	EXPECT_EQ(0, resize(mte, 3));
	dxt_gate_open(h.gate);
	for (i = 0; i < 5; i++)
		EXPECT_EQ(RJR_RETURNED, RejoinWait(&h, NULL, -1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 3));
	EXPECT_TRUE(fills(&h, &t, 3));

	/* and again, many times */
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, resize(mte, 1 + i % 4));
	EXPECT_EQ(0, resize(mte, 3));
	EXPECT_TRUE(fills(&h, &t, 3));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
}

/* Of so many threads so many begin. */
static MTExecutive *executive_of(unsigned int least, unsigned int most)
{
	ThreadManagerPolicy policy = policy_of(most, 0);

	policy.TPMinThreads = least;
	policy.TPSpareIdle = 50;
	return made(&policy);
}

static int set_least(MTExecutive *mte, unsigned int least)
{
	ThreadManagerPolicy policy;
	int rc = MTExecutiveGetPolicy(mte, &policy);

	policy.TPMinThreads = least;
	return rc ? rc : MTExecutiveSetPolicy(mte, &policy, NULL);
}

static bool posted(struct hold *h, unsigned int nr)
{
	while (nr--)
		if (PostARequest(h, &h->base, h, 0, PXR_REJOIN))
			return false;
	return true;
}

/*
 * AG-32, AG-33, R-15: worker threads begin with TPMinThreads, grow by need up to TPMaxThreads
 * and no further; what is beyond waits, and is executed when one returns. They leave once they
 * are idle for long.
 */
TEST(grow_by_need)
{
	enum { LEAST = 10, SOME = 50, MOST = 100 };
	struct hold h = { { hold }, dxt_gate_new() }, one = { { hold }, dxt_gate_new() };
	MTExecutive *mte = executive_of(LEAST, MOST);
	struct dxt t = { 0 };

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	EXPECT_EQ(LEAST, dxt_num(&t, "pools/thread_use"));
	ASSERT_TRUE(posted(&one, 1));
	ASSERT_TRUE(posted(&h, SOME - 1));
	EXPECT_TRUE(DXT_UNTIL(&t, h.gate->entered == SOME - 1));
	EXPECT_EQ(SOME, dxt_num(&t, "pools/thread_use"));
	ASSERT_TRUE(posted(&h, MOST - SOME + 1));
	EXPECT_TRUE(DXT_UNTIL(&t, h.gate->entered == MOST - 1));
	EXPECT_EQ(MOST, dxt_num(&t, "pools/thread_use"));
	EXPECT_EQ(MOST, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	dxt_gate_open(one.gate);
	EXPECT_TRUE(DXT_UNTIL(&t, h.gate->entered == MOST));
	EXPECT_EQ(MOST, dxt_num(&t, "pools/thread_use"));
	dxt_gate_open(h.gate);
	while (RejoinWait(&h, NULL, -1) == RJR_RETURNED)
		;
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == LEAST));
	/* the policy may ask for more of them, and for fewer */
	EXPECT_EQ(0, set_least(mte, LEAST + 2));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == LEAST + 2));
	EXPECT_EQ(0, set_least(mte, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 1));
	EXPECT_TRUE(fills(&h, &t, 5));
	EXPECT_EQ(0, dxt_num(&t, "stats/missed_wakeups"));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
	dxt_gate_free(one.gate);
}

static int leave(Runnable *self, void *request)
{
	unsigned int *die = request;

	(void)self;
	if (CurrentRequest()->RQEAttempts <= *die)
		pthread_exit(NULL);
	return 42;
}

/*
 * DX-25, DX-20: a Runnable that ends its thread: the owner gets -EOWNERDEAD, or
 * the request is run again; another worker takes the place, every time.
 */
TEST(replaced)
{
	struct hold h = { { hold }, dxt_gate_new() };
	MTExecutive *mte = executive(2);
	Runnable leaver = { leave };
	struct dxt t = { 0 };
	unsigned int die, i;
	RQElement e;

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	for (i = 0; i < 5; i++) {
		die = 1;
		EXPECT_EQ(0, PostARequest(&die, &leaver, &die, 0, PXR_REJOIN));
		EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&die, &e, NULL, 0, -1));
		EXPECT_EQ(-EOWNERDEAD, e.RQEStatus);
		EXPECT_EQ(1, e.RQEAttempts);
		EXPECT_TRUE(fills(&h, &t, 2));

		die = 2;
		EXPECT_EQ(0, PostARequest(&die, &leaver, &die, 0, PXR_REJOIN | PXR_REDO));
		EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&die, &e, NULL, 0, -1));
		EXPECT_EQ(42, e.RQEStatus);
		EXPECT_EQ(3, e.RQEAttempts);
		EXPECT_TRUE(fills(&h, &t, 2));
	}
	EXPECT_EQ(5, dxt_num(&t, "stats/owner_dead"));
	EXPECT_EQ(10, dxt_num(&t, "stats/redone"));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
}

/* AG-33, DX-25: one of a crew that cannot grow dies: what waits for it is executed. */
TEST(dies_at_most)
{
	struct hold h = { { hold }, dxt_gate_new() };
	MTExecutive *mte = executive_of(1, 3);
	Runnable leaver = { leave };
	unsigned int die = 1;
	struct dxt t = { 0 };
	RQElement e;

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	ASSERT_TRUE(posted(&h, 2));
	ASSERT_EQ(0, PostARequest(&die, &leaver, &die, 0, PXR_REJOIN));
	ASSERT_TRUE(posted(&h, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, h.gate->entered == 3));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&die, &e, NULL, 0, -1));
	EXPECT_EQ(-EOWNERDEAD, e.RQEStatus);
	dxt_gate_open(h.gate);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
}

/* A Stop at any moment of the crew's growth, and of its leaving, ends it. */
TEST(stop_while_growing)
{
	struct hold h = { { hold }, dxt_gate_new() };
	MTExecutive *mte;
	unsigned int i;

	dxt_gate_open(h.gate);
	for (i = 0; i < 12; i++) {
		dxt_tell("%u rounds", i);
		mte = executive_of(1, 20);
		ASSERT_NE(NULL, mte);
		ASSERT_TRUE(posted(&h, 2 * i));
		if (i % 3 == 2)
			dxt_sleep_ms(45 + i);
		ASSERT_EQ(0, MTExecutiveDestroy(mte, i % 2 ? DXK_STOP_DRAIN :
							     DXK_STOP_CANCEL, -1));
	}
	dxt_gate_free(h.gate);
}

/* A crew that dies to the last one while the executive is being destroyed. */
TEST(dies_while_stopping)
{
	unsigned int die = 1000, i;
	Runnable leaver = { leave };
	MTExecutive *mte;

	for (i = 0; i < 10; i++) {
		dxt_tell("%u rounds", i);
		mte = executive(3);
		ASSERT_NE(NULL, mte);
		ASSERT_EQ(0, PostARequest(&die, &leaver, &die, 0, PXR_REDO));
		ASSERT_EQ(0, PostARequest(&die, &leaver, &die, 0, 0));
		ASSERT_EQ(0, MTExecutiveDestroy(mte, i % 2 ? DXK_STOP_DRAIN :
							     DXK_STOP_CANCEL, -1));
	}
}

static int serve(Runnable *self, void *request)
{
	_Atomic unsigned int *turns = request;
	int rc;

	(void)self;
	while (!(rc = ShouldStop(DXT_MS)))
		++*turns;
	return rc;
}

/* DX-109: a service for the duration of the application ends with Stop(drain). */
TEST(service)
{
	_Atomic unsigned int turns = 0;
	MTExecutive *mte = executive(2);
	Runnable server = { serve };
	RQElement e;

	ASSERT_NE(NULL, mte);
	EXPECT_EQ(0, ShouldStop(0));
	ASSERT_EQ(0, PostARequest((void *)&turns, &server, &server, 0,
				  PXR_REJOIN | PXR_LANE0));
	while (!turns)
		dxt_sleep_ms(1);
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&server, &e, NULL, 0, 0));
	EXPECT_EQ(1, e.RQEStatus);
	EXPECT_EQ(1, ShouldStop(0));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
}

/*
 * The threads end while MTExecutiveDestroy() looks which of them are gone without a
 * word: none that has just said so is taken for one of those.
 */
TEST(ends_at_any_moment)
{
	int i, rounds = dxt_debug_kernel() ? 5 : 15;

	for (i = 0; i < rounds; i++) {
		MTExecutive *mte = executive(8);

		ASSERT_NE(NULL, mte);
		EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
		dxt_tell("%d rounds", i);
	}
}

/* --- what nobody told the library --------------------------------------------- */

/* DX-9, DX-29: "set max_threads" as a command and through sysfs moves the crew. */
TEST(set_by_others)
{
	struct hold h = { { hold }, dxt_gate_new() };
	MTExecutive *mte = executive(2);
	struct dxt t = { 0 };
	char reply[100];
	unsigned int i;

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	EXPECT_LE(0, SendCommand("set max_threads 5", reply, sizeof(reply), -1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 5));
	EXPECT_TRUE(fills(&h, &t, 5));
	EXPECT_EQ(0, dxt_store(&t, "policy/max_threads", "1"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 1));
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_exists(&t, "threads/2")));
	EXPECT_EQ(0, dxt_store(&t, "policy/max_threads", "4"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 4));
	EXPECT_TRUE(fills(&h, &t, 4));
	for (i = 0; i < 20; i++)
		ASSERT_EQ(0, dxt_store(&t, "policy/max_threads", i & 1 ? "4" : "2"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 4));
	EXPECT_TRUE(fills(&h, &t, 4));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
}

static int vanish(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	syscall(SYS_exit, 0);
	return 0;
}

/* DX-9: there are places for all as soon as anybody can know that there are to be some. */
TEST(grows_at_once)
{
	MTExecutive *mte = executive(2);
	struct dxt t = { 0 };
	unsigned int i;

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	for (i = 3; i <= MANY_THREADS; i++) {
		EXPECT_EQ(0, resize(mte, i));
		EXPECT_EQ(i, dxt_num(&t, "pools/thread_use"));
	}
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
}

/*
 * DX-25: a thread that ends by a bare system call, so that neither the library nor
 * the C library notices: the module does, another one takes the place, and what it
 * held is given back.
 */
TEST(vanished)
{
	struct hold h = { { hold }, dxt_gate_new() };
	MTExecutive *mte = executive(2);
	Runnable goner = { vanish };
	unsigned int i, fds = 0;
	struct dxt t = { 0 };
	RQElement e;

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, PostARequest(&goner, &goner, &goner, 0, PXR_REJOIN));
		ASSERT_EQ(RJR_RETURNED, GetRejoinElement(&goner, &e, NULL, 0,
							 dxt_late_ns()));
		EXPECT_EQ(-EOWNERDEAD, e.RQEStatus);
		EXPECT_TRUE(fills(&h, &t, 2));
		if (i == 1)
			fds = dxt_fds();
	}
	/* the last of them leaves its descriptor until somebody looks again, now or then */
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_fds() <= fds + 1));
	EXPECT_EQ(5, dxt_num(&t, "stats/owner_dead"));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
}

static void *own_id(void *arg)
{
	*(long *)arg = syscall(SYS_gettid);
	return NULL;
}

/* An id that the kernel gives to a new thread: they are counted up. */
static long next_id(void)
{
	pthread_t thread;
	long id = 0;

	if (!pthread_create(&thread, NULL, own_id, &id))
		pthread_join(thread, NULL);
	return id;
}

/*
 * D-18: while no worker can be made the library tries again, but not all the time;
 * once it can, the crew is whole. Destroy does not wait for that.
 */
TEST(no_worker_to_be_had)
{
	struct hold h = { { hold }, dxt_gate_new() };
	MTExecutive *mte = executive(2);
	struct rlimit old, none;
	int max_threads, fd;
	struct dxt t = { 0 };
	char path[64];
	long id;
	unsigned int i;

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = 0;
	for (i = 0; i < 2; i++) {
		/* opened before: the change itself needs a descriptor */
		snprintf(path, sizeof(path), "/sys/kernel/dxk/%u/policy/max_threads", t.id);
		max_threads = open(path, O_WRONLY | O_CLOEXEC);
		ASSERT_LE(0, max_threads);
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
		id = next_id();
		ASSERT_EQ(1, write(max_threads, i ? "4" : "3", 1));
		dxt_sleep_ms(500);
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		EXPECT_EQ(-1, fd);
		close(max_threads);
		/* some tries, not hundreds */
		EXPECT_GT(100, next_id() - id);
		if (i)
			break;
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
		EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 3));
		EXPECT_TRUE(fills(&h, &t, 3));
	}
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	dxt_gate_free(h.gate);
}

/*
 * An executive that begins without worker threads gets some all the same, whoever asks
 * for them.
 */
TEST(nobody_to_manage)
{
	unsigned int before = dxt_threads();
	struct hold h = { { hold }, dxt_gate_new() };
	ThreadManagerPolicy policy = policy_of(2, 2);
	struct dxt t = { 0 };
	MTExecutive *mte;

	mte = made(&policy);
	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	/* the log's, and the one that starts workers */
	EXPECT_EQ(before + 2, dxt_threads());
	ASSERT_EQ(0, dxt_store(&t, "policy/max_threads", "4"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 4));
	EXPECT_TRUE(fills(&h, &t, 2));
	EXPECT_EQ(before + 4, dxt_threads());
	EXPECT_EQ(0, resize(mte, 5));
	/* so may one for which there was no place any more */
	EXPECT_TRUE(DXT_SOON(dxt_threads() == before + 5));
	EXPECT_TRUE(fills(&h, &t, 3));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	/* one that was joined may be shown a little longer */
	EXPECT_TRUE(DXT_SOON(dxt_threads() == before));
	dxt_gate_free(h.gate);
}

/* Posts @nr requests with a file each, and collects them. */
static bool takes_files(Runnable *executor, unsigned int nr)
{
	unsigned int always = 100;
	RQPost post = {
		.pOObject = executor,
		.pXObject = executor,
		.pPObject = &always,
		.RQEAttrs = PXR_REJOIN | PXR_FD,
	};
	bool right = true;
	unsigned int i;
	RQElement e;

	post.RQEFd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	for (i = 0; i < nr; i++)
		right &= PostRequests(&post, 1, 0, NULL) == 1;
	close(post.RQEFd);
	for (i = 0; i < nr; i++)
		right &= GetRejoinElement(executor, &e, NULL, 0,
					  dxt_late_ns()) == RJR_RETURNED &&
			 e.RQEStatus == -EOWNERDEAD;
	return right;
}

/* The files of requests whose Runnable ends the thread, and of those fetched with them. */
TEST(files_of_the_dead)
{
	Runnable leavers[] = { { leave }, { vanish } };
	struct hold h = { { hold }, dxt_gate_new() };
	ThreadManagerPolicy policy = policy_of(2, 0);
	struct dxt t = { 0 };
	unsigned int i, fds;
	MTExecutive *mte;

	policy.TPFetchMax = 4;
	mte = made(&policy);
	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	for (i = 0; i < ARRAY_SIZE(leavers); i++) {
		EXPECT_TRUE(fills(&h, &t, 2));
		fds = dxt_fds();
		EXPECT_TRUE(takes_files(&leavers[i], 20));
		/* one alone would fetch both */
		EXPECT_TRUE(DXT_SOON(dxt_num(&t, "pools/thread_use") == 2));
		EXPECT_TRUE(fills(&h, &t, 2));
		/* one that vanished leaves what it had until somebody looks again */
		EXPECT_TRUE(DXT_SOON(dxt_fds() <= fds + 5));
	}
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
}

/* Another process stops the context and starts it: the library's threads are gone. */
TEST(restarted_by_others)
{
	unsigned int before = dxt_threads(), i;
	struct hold h = { { hold }, dxt_gate_new() };
	ThreadManagerPolicy policy = policy_of(2, 0);
	struct dxt t = { 0 };
	MTExecutive *mte;

	policy.TPLogEntries = 8;
	mte = made(&policy);
	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	t.ctx = MTExecutiveContextFd(mte);
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
		ASSERT_TRUE(DXT_SOON(dxt_threads() == before));
		ASSERT_EQ(0, dxk_ctx_start(t.ctx));
		/* who logs does not wait for somebody who is not there */
		EXPECT_TRUE(DXT_SOON(LogMessage("to nobody") == -ETIMEDOUT));
		EXPECT_EQ(0, MTExecutiveStart(mte, NULL));
		EXPECT_EQ(-EBUSY, MTExecutiveStart(mte, NULL));
		EXPECT_TRUE(DXT_SOON(!LogMessage("to the log")));
		EXPECT_TRUE(fills(&h, &t, 2));
		EXPECT_EQ(0, dxt_store(&t, "policy/max_threads", "3"));
		EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 3));
		EXPECT_TRUE(fills(&h, &t, 3));
		EXPECT_EQ(0, resize(mte, 2));
	}
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
}

static int answer(CommandHandler *self, const char *command, char *reply, size_t room)
{
	(void)self;
	snprintf(reply, room, "to %s", command);
	return 0;
}

static bool answers(void)
{
	char reply[32];

	return SendCommand("who", reply, sizeof(reply), dxt_late_ns()) == 6 &&
	       !strcmp(reply, "to who");
}

/* From here on there are @nr descriptors more; @old: the limit before. */
static bool descriptors_limit(unsigned int nr, struct rlimit *old)
{
	struct rlimit few;
	int fd[8], last = -1;
	unsigned int i;

	/* the lowest that are free */
	for (i = 0; i <= nr; i++)
		last = fd[i] = dup(STDERR_FILENO);
	while (i--)
		close(fd[i]);
	if (last < 0 || getrlimit(RLIMIT_NOFILE, old))
		return false;
	few = *old;
	few.rlim_cur = (rlim_t)last;
	return !setrlimit(RLIMIT_NOFILE, &few);
}

/* A Start of which a step fails leaves a context that is stopped, whoever has started it. */
TEST(start_fails)
{
	static CommandHandler handler = { .HandleCommand = answer };
	static const char *const step[] = { "workers", "workers", "command handler" };
	unsigned int before = dxt_threads(), i;
	struct hold h = { { hold }, dxt_gate_new() };
	MTExecutive *mte = executive(2);
	MTExecutiveError error;
	struct rlimit old;
	struct dxt t = { 0 };
	char state[16];

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	t.ctx = MTExecutiveContextFd(mte);
	ASSERT_EQ(0, AttachCommandHandler(&handler));
	for (i = 0; i < 2 * ARRAY_SIZE(step); i++) {
		ASSERT_TRUE(answers());
		ASSERT_EQ(0, MTExecutiveStop(mte, DXK_STOP_DRAIN, -1));
		/* each thread closes its descriptors before it ends */
		ASSERT_TRUE(DXT_SOON(dxt_threads() == before));
		if (i & 1)
			ASSERT_EQ(0, dxk_ctx_start(t.ctx));
		ASSERT_TRUE(descriptors_limit(i / 2, &old));
		EXPECT_EQ(-EMFILE, MTExecutiveStart(mte, &error));
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
		EXPECT_STREQ(step[i / 2], error.Step)
			TH_LOG("Start %u, %u descriptors", i, i / 2);
		EXPECT_TRUE(dxt_text(&t, state, sizeof(state), "state"));
		EXPECT_STREQ("stopped", state);
		EXPECT_EQ(-ESHUTDOWN, PostARequest(&h, &h.base, &h, 0, PXR_REJOIN));
		EXPECT_EQ(0, MTExecutiveStart(mte, &error));
		EXPECT_TRUE(fills(&h, &t, 2));
	}
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(h.gate);
}

/* A crew that others change while it is stopped. */
TEST(set_while_stopping)
{
	struct dxt t = { 0 };
	MTExecutive *mte;
	unsigned int i;

	for (i = 0; i < 12; i++) {
		dxt_tell("%u rounds", i);
		mte = executive(1 + i % 3);
		ASSERT_NE(NULL, mte);
		t.id = (unsigned int)MTExecutiveContextId(mte);
		ASSERT_EQ(0, dxt_store(&t, "policy/max_threads", "9"));
		if (i & 1)
			EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 9));
		ASSERT_EQ(0, MTExecutiveDestroy(mte, i & 2 ? DXK_STOP_DRAIN :
							     DXK_STOP_CANCEL, -1));
	}
}

TEST_HARNESS_MAIN
