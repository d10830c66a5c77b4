// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of a context: it is stopped, started again, closed by hand or by death. How it
 * is started is in ctx.c.
 */
#include "ctx.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

/* --- Stop and close ---------------------------------------------------------- */

/* DX-112: Stop of what does not run is 0, Stop twice is, Start after Stop works. */
TEST(start_stop)
{
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_open(&t));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 0));
	EXPECT_TRUE(state_is(&t, "new"));
	EXPECT_EQ(-ESHUTDOWN, dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, dxt_start(&t));
		EXPECT_TRUE(state_is(&t, "running"));
		EXPECT_TRUE(kthreads_are(&t, 3));
		ASSERT_EQ(0, dxt_workers_start(&t, 2));
		EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
		EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
		EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_POLICY, dxt_late_ns()));
		EXPECT_TRUE(state_is(&t, "stopped"));
		EXPECT_TRUE(kthreads_are(&t, 0));
		EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, dxt_late_ns()));
		EXPECT_EQ(-ESHUTDOWN,
			  dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
		EXPECT_EQ(-ESHUTDOWN, dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
		/* the workers were told */
		while (t.workers)
			EXPECT_EQ(-ESHUTDOWN, dxt_worker_ended(t.workers));
		EXPECT_STREQ("0", ids(&t));
	}
	dxt_down(&t);
}

/*
 * DX-107: Stop refuses new posts and wakes all who sleep in a post or a rejoin.
 * DX-110: the results stay until they are collected.
 */
TEST(stop_wakes_sleepers)
{
	struct sleeper poster, poller;
	pthread_t thread[2];
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result[4];
	uint32_t answer;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.ready_entries = 1;
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0,
			       NULL));
	ASSERT_TRUE(DXT_UNTIL(&t, gate->entered == 1));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));

	poster = (struct sleeper){ .t = &t, .owner = 2, .post = true };
	poller = (struct sleeper){ .t = &t, .owner = 1 };
	ASSERT_EQ(0, pthread_create(&thread[0], NULL, sleeper_thread, &poster));
	ASSERT_EQ(0, pthread_create(&thread[1], NULL, sleeper_thread, &poller));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/post_blocks") == 1 &&
				  dxt_num(&t, "stats/rejoin_blocks") == 1));
	EXPECT_EQ(1, dxt_num(&t, "lanes/ready_lane3_waiters"));

	/* one executes: the time is over before it ends */
	EXPECT_EQ(-ETIMEDOUT, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, 20 * DXT_MS));
	EXPECT_TRUE(state_is(&t, "stopping"));
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	EXPECT_EQ(-ESHUTDOWN, poster.rc);
	EXPECT_EQ(-ESHUTDOWN, poller.rc);
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(-EBUSY, dxk_ctx_start(t.ctx));
	EXPECT_EQ(0, dxt_rejoin(t.member, 1, result, 4, 1, 0, &answer));
	EXPECT_EQ(RJR_NONE_READY, answer);

	dxt_gate_open(gate);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_TRUE(state_is(&t, "stopped"));
	EXPECT_EQ(2, dxt_num(&t, "pools/rejoin_use"));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, result, 1, 1, 0, &answer));
	EXPECT_EQ(0, result[0].status);

	/* a further Start does not throw the other one away */
	ASSERT_EQ(0, dxt_start(&t));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, result, 4, 1, DXK_FOREVER, &answer));
	EXPECT_EQ(0, dxt_rejoin(t.member, 1, result, 4, 1, DXK_FOREVER, &answer));
	EXPECT_EQ(RJR_NONE_EXIST, answer);
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* --- a Start among Stops ------------------------------------------------------- */

/* More than are told in one lock hold that their run is over. */
#define STOPS	200

struct stopper {
	pthread_t thread;
	const struct dxt *t;
	_Atomic int tid;
	int err;
};

static void *stopper_thread(void *arg)
{
	struct stopper *s = arg;

	s->tid = (int)syscall(SYS_gettid);
	s->err = dxk_ctx_stop(s->t->ctx, DXK_STOP_DRAIN, -1);
	return NULL;
}

/* Once its tid is known it sleeps nowhere but in Stop. */
static bool stopper_sleeps(const struct stopper *s)
{
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", s->tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'S';
}

static bool stoppers_sleep(const struct stopper *s)
{
	int i;

	for (i = 0; i < STOPS; i++)
		if (!stopper_sleeps(&s[i]))
			return false;
	return true;
}

/* DX-112: a run that begins as soon as it can, while Stops of the one before still return. */
TEST(start_among_stops)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct stopper *s = calloc(STOPS, sizeof(*s));
	int i, rc, round;
	struct dxt t;

	ASSERT_TRUE(s);
	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxt_start(&t));
	for (round = 0; round < 10; round++) {
		dxt_gate_close(gate);
		gate->entered = 0;
		ASSERT_EQ(0, dxt_workers_start(&t, 1));
		ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), 0, 0, NULL));
		ASSERT_TRUE(DXT_UNTIL(&t, gate->entered == 1));
		for (i = 0; i < STOPS; i++) {
			s[i] = (struct stopper){ .t = &t };
			ASSERT_EQ(0, pthread_create(&s[i].thread, NULL, stopper_thread, &s[i]));
		}
		ASSERT_TRUE(DXT_SOON(stoppers_sleep(s)));
		dxt_gate_open(gate);
		while ((rc = dxk_ctx_start(t.ctx)) == -EBUSY)
			;
		EXPECT_EQ(0, rc);
		for (i = 0; i < STOPS; i++) {
			pthread_join(s[i].thread, NULL);
			EXPECT_EQ(0, s[i].err);
		}
		/* all of them began before this run did */
		ASSERT_TRUE(state_is(&t, "running"));
		dxt_worker_end(t.workers);
	}
	dxt_down(&t);
	dxt_gate_free(gate);
	free(s);
}

/* DX-108, DX-110: cancelled requests are results, too, and no one's executes. */
TEST(stop_cancels)
{
	struct dxk_result result[8];
	_Atomic unsigned int *ran = dxt_shared(sizeof(*ran));
	uint32_t answer;
	struct dxt t;
	int i;

	ASSERT_EQ(0, dxt_open(&t));
	ASSERT_EQ(0, dxt_start(&t));
	for (i = 0; i < 5; i++)
		ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_COUNT, DXT_PTR(ran),
				       i < 4 ? PXR_REJOIN : 0, 0, NULL));
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_CANCEL, dxt_late_ns()));
	EXPECT_EQ(5, dxt_num(&t, "stats/cancelled"));
	EXPECT_EQ(0, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(4, dxt_rejoin(t.member, 1, result, 8, 1, 0, &answer));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(-ECANCELED, result[i].status);
		EXPECT_EQ(0, result[i].worker);
	}
	EXPECT_EQ(0, *ran);
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	dxt_down(&t);
}

/*
 * DX-113: the last close is a Stop(cancel): no thread and no entry is left. Copies
 * of the descriptor count, members do not.
 */
TEST(close_is_stop)
{
	struct dxt t;
	int copy;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.kernel_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	ASSERT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	copy = dup(t.ctx);
	close(t.ctx);
	EXPECT_TRUE(state_is(&t, "running"));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	t.ctx = -1;
	close(copy);
	EXPECT_TRUE(DXT_SOON(!context_dir(t.id)));
	EXPECT_TRUE(kthreads_are(&t, 0));
	/* members know */
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(t.member, 1, DXT_NOP, 0, 0, 0, NULL));
	while (t.workers)
		EXPECT_EQ(-ESHUTDOWN, dxt_worker_ended(t.workers));
	dxt_close(&t);
}

/* DX-113: the death of the process is one, too, whatever it was doing. */
TEST(death_is_stop)
{
	struct shared { _Atomic unsigned int id, up; } *s = dxt_shared(sizeof(*s));
	struct dxt_gate *gate = dxt_gate_new();
	struct dxt none = { .id = 0 };
	pid_t pid = dxt_fork();
	int status;

	ASSERT_LE(0, pid);
	if (!pid) {
		struct dxk_result result;
		struct dxt t;

		if (dxt_up(&t, 3))
			_exit(1);
		dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL);
		dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL);
		s->id = t.id;
		if (DXT_UNTIL(&t, gate->entered == 2))
			s->up = 1;
		dxt_rejoin(t.member, 1, &result, 1, 1, DXK_FOREVER, NULL);
		_exit(2);
	}
	while (!s->up) {
		ASSERT_EQ(0, waitpid(pid, &status, WNOHANG));
		dxt_sleep_ms(1);
	}
	none.id = s->id;
	EXPECT_TRUE(state_is(&none, "running"));
	EXPECT_TRUE(kthreads_are(&none, 3));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	status = dxt_reap(pid);
	EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* the reaper can be faster than the last close of the last thread */
	EXPECT_TRUE(DXT_UNTIL(&none, !context_dir(none.id)));
	EXPECT_TRUE(DXT_UNTIL(&none, !dxt_kthreads(&none)));
	dxt_gate_free(gate);
}

/* DX-113: the module cannot go while anything of it is open. */
TEST(module_is_held)
{
	struct dxt t;
	int member;

	ASSERT_EQ(0, dxt_up(&t, 0));
	member = t.member;
	EXPECT_EQ(-1, syscall(SYS_delete_module, "dxk", O_NONBLOCK));
	EXPECT_TRUE(errno == EWOULDBLOCK || errno == EBUSY);
	t.member = -1;
	dxt_down(&t);
	/* the member alone */
	EXPECT_EQ(-1, syscall(SYS_delete_module, "dxk", O_NONBLOCK));
	EXPECT_TRUE(errno == EWOULDBLOCK || errno == EBUSY);
	EXPECT_EQ(-ESHUTDOWN, dxt_post1(member, 1, DXT_NOP, 0, 0, 0, NULL));
	close(member);
}

TEST_HARNESS_MAIN
