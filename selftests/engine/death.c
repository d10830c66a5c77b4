// SPDX-License-Identifier: GPL-2.0-only
/*
 * Those who die or leave in the middle: workers at each point of their turn,
 * sleepers, the owner of the context. Nobody may wait for ever, nothing may be executed
 * twice, and late words of the dead must not touch the living.
 */
#include "lib/dxt.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static bool wait_busy(struct dxt *t, struct dxt_gate *gate, unsigned int nr)
{
	return DXT_UNTIL(t, gate->entered == nr);
}

/* Kill and reap; false when it did not die of that. */
static bool kill_process(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	status = dxt_reap(pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* --- workers and sleepers -------------------------------------------------- */

/*
 * R-16, DX-25: a worker process is killed while it executes: its owner gets the request
 * with -EOWNERDEAD, one that nobody rejoins vanishes, the ids are free again.
 */
TEST(killed_while_executing)
{
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result[4];
	struct dxt_worker *w;
	uint32_t answer;
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	pid = dxt_worker_process(&t, 2);
	ASSERT_LT(0, pid);
	EXPECT_EQ(-ENOSPC, dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), 0, 0, NULL));
	ASSERT_TRUE(wait_busy(&t, gate, 2));
	EXPECT_EQ(0, dxt_rejoin(t.member, 1, result, 4, 1, 0, &answer));
	EXPECT_EQ(RJR_NONE_READY, answer);
	EXPECT_TRUE(kill_process(pid));

	/* the rejoin sleeps until the death is noticed */
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, result, 4, 1,
				dxt_late(), &answer));
	EXPECT_EQ(-EOWNERDEAD, result[0].status);
	EXPECT_EQ(DXT_PTR(gate), result[0].param);
	EXPECT_EQ(0, result[0].data_len);
	EXPECT_LE(1, result[0].worker);
	EXPECT_EQ(0, dxt_drain(&t, t.member, 1));
	EXPECT_EQ(2, dxt_num(&t, "stats/owner_dead"));
	EXPECT_EQ(1, dxt_num(&t, "stats/vanished"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(0, dxt_num(&t, "owners"));

	/* the lowest ids again, and they work */
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 0));
	w = dxt_worker_start(&t);
	EXPECT_EQ(1, w->id);
	dxt_gate_open(gate);
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, result, 4, 1,
				dxt_late(), &answer));
	EXPECT_EQ(0, result[0].status);
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* Do all threads of the process sleep? */
static bool all_asleep(pid_t pid)
{
	char path[300], line[256], *end;
	bool asleep = true;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, e->d_name);
		f = fopen(path, "re");
		end = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
		asleep &= end && end[2] == 'S';
		if (f)
			fclose(f);
	}
	if (dir)
		closedir(dir);
	return dir && asleep;
}

static int pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set);
}

static struct {
	_Atomic unsigned int nr;
	uint64_t param[8];
	int32_t prio[8];
} *ran;

static int exe_record(struct dxt_call *call)
{
	unsigned int i = ran->nr++;

	ran->param[i] = call->work.param;
	ran->prio[i] = call->work.prio;
	return 0;
}

/*
 * DX-25: a worker that dies after the dispatch, before it fetched: the request
 * goes back with its old key and is executed once, by another worker, in its place
 * of the order.
 *
 * The poster shares its CPU with the sleeping worker and has the higher class, so
 * that the worker that the post woke cannot run before it is killed.
 */
TEST(killed_before_fetch)
{
	struct sched_param param = { .sched_priority = 1 };
	struct dxk_post_entry e = dxt_entry(1, DXT_FN(exe_record), 5, PXR_REJOIN);
	struct dxk_post post;
	struct dxt t;
	unsigned int i;
	pid_t pid;

	ran = dxt_shared(sizeof(*ran));
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, pin(0));
	pid = dxt_worker_process(&t, 1);
	ASSERT_LT(0, pid);
	ASSERT_TRUE(DXT_UNTIL(&t, dxt_member_is(&t, 1, "available")));
	/* shown as idle under the lock, it may still be on its way to sleep */
	ASSERT_TRUE(DXT_UNTIL(&t, all_asleep(pid)));
	dxt_sleep_ms(20);

	ASSERT_EQ(0, sched_setscheduler(0, SCHED_FIFO, &param));
	e.prio = 5;
	EXPECT_EQ(1, dxt_post(t.member, &e, 1, 0, &post));
	kill(pid, SIGKILL);
	param.sched_priority = 0;
	ASSERT_EQ(0, sched_setscheduler(0, SCHED_OTHER, &param));
	EXPECT_EQ(1, dxt_num(&t, "stats/dispatches"));
	for (i = 3; i <= 7; i += 4) {
		e.prio = (int32_t)i;
		e.param = i;
		EXPECT_EQ(1, dxt_post(t.member, &e, 1, 0, &post));
	}
	dxt_reap(pid);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/put_back") == 1));
	EXPECT_EQ(3, dxt_num(&t, "pools/ready_use"));
	EXPECT_EQ(0, ran->nr);

	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(3, dxt_drain(&t, t.member, 1));
	EXPECT_EQ(3, ran->nr);
	EXPECT_EQ(7, ran->param[0]);
	EXPECT_EQ(5, ran->param[1]);
	EXPECT_EQ(3, ran->param[2]);
	EXPECT_EQ(5, ran->prio[1]);
	EXPECT_EQ(0, dxt_num(&t, "stats/owner_dead"));
	dxt_down(&t);
}

struct deserter {
	struct dxt *t;
	bool fetch;
	_Atomic int tid;
	_Atomic int id;
	_Atomic int fetched;
	_Atomic int may_die;
};

/* Joins, fetches a request if told to, and ends without closing anything. */
static void *desert(void *arg)
{
	struct deserter *d = arg;
	struct dxk_work work;
	unsigned int id;
	int fd = dxk_member_create(d->t->ctx, DXK_MEMBER_WORKER, &id);

	d->tid = (int)syscall(SYS_gettid);
	d->id = fd < 0 ? fd : (int)id;
	if (d->fetch)
		d->fetched = dxk_next(fd, NULL, 0, NULL, &work, 1, NULL, 0, -1);
	while (!d->may_die)
		dxt_sleep_ms(1);
	syscall(SYS_exit, 0);
	return NULL;
}

/*
 * R-16, DX-25: a single thread ends by exit(2) while its process lives on and keeps the
 * descriptor open. The Monitor notices at its next turn.
 */
TEST(thread_exits)
{
	struct deserter *d = dxt_shared(sizeof(*d));
	struct dxk_result result;
	pthread_t thread;
	uint32_t answer;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	t.policy.monitor_interval_ms = 20;
	ASSERT_EQ(0, dxt_start(&t));
	*d = (struct deserter){ .t = &t, .fetch = true };
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, desert, d));
	ASSERT_TRUE(DXT_UNTIL(&t, d->fetched == 1));
	EXPECT_EQ(1, d->id);
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_busy"));
	d->may_die = 1;
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1,
				dxt_late(), &answer));
	EXPECT_EQ(-EOWNERDEAD, result.status);
	EXPECT_EQ(1, result.worker);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 0));
	ASSERT_EQ(0, dxt_workers_start(&t, 2));
	dxt_down(&t);
}

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/*
 * R-16, DX-25: the same for the first thread of a process. It stays a zombie for as
 * long as another thread lives, yet it will never answer.
 */
TEST(first_thread_exits)
{
	struct deserter *d = dxt_shared(sizeof(*d));
	struct dxk_result result;
	uint32_t answer;
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.monitor_interval_ms = 20;
	ASSERT_EQ(0, dxt_start(&t));
	*d = (struct deserter){ .t = &t, .fetch = true };
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		pthread_t thread;

		if (!pthread_create(&thread, NULL, sleep_on, NULL))
			desert(d);
		_exit(1);
	}
	ASSERT_TRUE(DXT_UNTIL(&t, d->fetched == 1));
	d->may_die = 1;
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1,
				dxt_late(), &answer));
	EXPECT_EQ(-EOWNERDEAD, result.status);
	EXPECT_EQ(0, kill(pid, 0));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 0));
	EXPECT_TRUE(kill_process(pid));
	dxt_down(&t);
}

/*
 * R-16, DX-25: a worker closes its descriptor while it executes three requests.
 * Nothing is to be waited for: the owner has them when the close is over.
 */
TEST(closes_while_executing)
{
	struct dxk_result result[4];
	struct dxk_work work[3];
	struct dxk_done done;
	struct dxt t;
	int me, i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.monitor_interval_ms = 3600000;
	ASSERT_EQ(0, dxt_start(&t));
	me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, me);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, (uint64_t)i,
				       i == 1 ? 0 : PXR_REJOIN, 0, NULL));
	ASSERT_EQ(3, dxk_next(me, NULL, 0, NULL, work, 3, NULL, 0, 0));
	EXPECT_EQ(0, close(me));
	EXPECT_EQ(2, dxt_rejoin(t.member, 1, result, 4, 1, 0, NULL));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(2 * i, result[i].param);
		EXPECT_EQ(-EOWNERDEAD, result[i].status);
		EXPECT_EQ(1, result[i].worker);
	}
	EXPECT_EQ(3, dxt_num(&t, "stats/owner_dead"));
	EXPECT_EQ(1, dxt_num(&t, "stats/vanished"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(0, dxt_num(&t, "pools/thread_use"));

	/* the same thread comes again: what it held is not its own any more */
	me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, me);
	done = (struct dxk_done){ .ticket = work[0].ticket };
	EXPECT_EQ(-ESTALE, dxk_next(me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	ASSERT_EQ(1, dxk_next(me, NULL, 0, NULL, work, 1, NULL, 0, 0));
	EXPECT_EQ(3, work[0].param);
	done = (struct dxk_done){ .ticket = work[0].ticket };
	EXPECT_EQ(0, dxk_next(me, &done, 1, NULL, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	close(me);
	dxt_down(&t);
}

/* DX-25: an idle worker that is killed just leaves; the others go on. */
TEST(killed_while_idle)
{
	struct dxt t;
	pid_t pid;
	int i;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 3;
	ASSERT_EQ(0, dxt_start(&t));
	pid = dxt_worker_process(&t, 2);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_member_is(&t, 1, "available") &&
				  dxt_member_is(&t, 2, "available")));
	EXPECT_TRUE(kill_process(pid));
	for (i = 0; i < 20; i++)
		EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(20, dxt_drain(&t, t.member, 1));
	EXPECT_EQ(0, dxt_num(&t, "stats/owner_dead"));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 1));
	dxt_down(&t);
}

/*
 * A poster and a poller are killed in their sleep: nothing of them stays in a
 * queue, what the poster had posted is executed.
 */
TEST(sleepers_are_killed)
{
	struct dxt_gate *gate = dxt_gate_new();
	_Atomic unsigned int *count = dxt_shared(sizeof(*count));
	struct dxk_result result;
	pid_t poster, poller;
	struct dxt t;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	t.policy.ready_entries = 2;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(wait_busy(&t, gate, 1));

	poster = dxt_fork();
	ASSERT_LE(0, poster);
	if (!poster) {
		struct dxk_post_entry e[4];
		struct dxk_post post;
		int i, fd = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL);

		for (i = 0; i < 4; i++)
			e[i] = dxt_entry(2, DXT_COUNT, DXT_PTR(count), PXR_WAITIF_BUSY);
		dxt_post(fd, e, 4, DXK_FOREVER, &post);
		_exit(0);
	}
	poller = dxt_fork();
	ASSERT_LE(0, poller);
	if (!poller) {
		int fd = dxk_member_create(t.ctx, DXK_MEMBER_CLIENT, NULL);

		dxt_rejoin(fd, 1, &result, 1, 1, DXK_FOREVER, NULL);
		_exit(0);
	}
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "lanes/ready_lane3_waiters") == 1));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/rejoin_blocks") == 1));
	EXPECT_EQ(2, dxt_num(&t, "pools/ready_use"));
	EXPECT_TRUE(kill_process(poster));
	EXPECT_TRUE(kill_process(poller));
	EXPECT_EQ(0, dxt_num(&t, "lanes/ready_lane3_waiters"));
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_exists(&t, "threads/1000") &&
				  !dxt_exists(&t, "threads/1001")));

	dxt_gate_open(gate);
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/vanished") == 2));
	EXPECT_EQ(2, *count);
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	EXPECT_EQ(0, dxt_num(&t, "owners"));
	dxt_down(&t);
	dxt_gate_free(gate);
}

/* --- what comes after: late completions, a context without its owner ------- */

/*
 * ESTALE: a made-up ticket, a completion given twice, one of another worker's, one
 * of a dispatch that was taken back. Those before it in the array are taken, what
 * it names is not touched.
 */
TEST(stale_completions)
{
	struct dxk_done done[3] = { 0 };
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result[4];
	struct dxk_work work[4];
	unsigned int taken, i;
	uint32_t answer;
	struct dxt t;
	int me;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	ASSERT_EQ(0, dxt_start(&t));
	close(t.member);
	t.member = me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, me);

	/* another worker's */
	ASSERT_EQ(0, dxt_workers_start(&t, 1));
	EXPECT_EQ(1, dxt_post1(me, 1, DXT_GATE, DXT_PTR(gate), PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(wait_busy(&t, gate, 1));
	for (i = 0; i < 10; i++) {
		done[0] = (struct dxk_done){ .ticket = i, .status = 13 };
		EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));
		EXPECT_EQ(0, taken);
	}
	done[0].ticket = ~0ULL;
	EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, work, 1, NULL, 0, 0));
	EXPECT_EQ(11, dxt_num(&t, "stats/stale"));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_busy"));
	dxt_gate_open(gate);
	EXPECT_EQ(1, dxt_rejoin(me, 1, result, 4, 1, DXK_FOREVER, &answer));
	EXPECT_EQ(0, result[0].status);
	EXPECT_EQ(2, result[0].worker);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(-ESHUTDOWN, dxt_worker_ended(t.workers));
	close(me);
	t.member = -1;
	ASSERT_EQ(0, dxt_start(&t));
	close(t.member);
	t.member = me = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
	ASSERT_LE(0, me);

	/* good, stale, good: the first is taken, nothing is fetched */
	for (i = 0; i < 3; i++)
		EXPECT_EQ(1, dxt_post1(me, 1, DXT_NOP, i, PXR_REJOIN, 0, NULL));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(1, dxk_next(me, NULL, 0, NULL, &work[i], 1, NULL, 0, 0));
	EXPECT_NE(work[0].ticket, work[1].ticket);
	done[0] = (struct dxk_done){ .ticket = work[0].ticket, .status = 100 };
	done[1] = (struct dxk_done){ .ticket = 4711 };
	done[2] = (struct dxk_done){ .ticket = work[1].ticket, .status = 101 };
	dxt_poison(&work[2], sizeof(work[2]));
	EXPECT_EQ(0, dxk_next(me, done, 3, &taken, &work[2], 1, NULL, 0, 0));
	EXPECT_EQ(1, taken);
	EXPECT_TRUE(dxt_poisoned(&work[2], sizeof(work[2])));
	EXPECT_EQ(1, dxt_num(&t, "pools/thread_busy"));
	EXPECT_EQ(1, dxt_num(&t, "pools/ready_use"));
	/* twice, within one array and after */
	done[0] = (struct dxk_done){ .ticket = work[1].ticket, .status = 101 };
	done[1] = (struct dxk_done){ .ticket = work[1].ticket, .status = 102 };
	EXPECT_EQ(0, dxk_next(me, done, 2, &taken, NULL, 0, NULL, 0, 0));
	EXPECT_EQ(1, taken);
	EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));

	/* a dispatch that went back: its address cannot be written */
	EXPECT_EQ(-EFAULT, dxk_next(me, NULL, 0, NULL, (void *)8, 1, NULL, 0, 0));
	done[0].ticket = work[1].ticket + 1;
	EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));
	ASSERT_EQ(1, dxk_next(me, NULL, 0, NULL, &work[2], 1, NULL, 0, 0));
	EXPECT_EQ(work[1].ticket + 2, work[2].ticket);
	EXPECT_EQ(-ESTALE, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));
	done[0] = (struct dxk_done){ .ticket = work[2].ticket, .status = 103 };
	EXPECT_EQ(0, dxk_next(me, done, 1, &taken, NULL, 0, NULL, 0, 0));

	EXPECT_EQ(3, dxt_rejoin(me, 1, result, 4, 3, 0, &answer));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(i, result[i].param);
		EXPECT_EQ(i < 2 ? 100 + (int)i : 103, result[i].status);
	}
	dxt_down(&t);
	dxt_gate_free(gate);
}

/*
 * The context is closed while the workers of another process, which has no
 * descriptor of it, execute: they finish, learn it, and their members are all
 * that is left. The owner of the requests learns it, too.
 */
TEST(context_closed_while_executing)
{
	struct shared { _Atomic int joined, status[2]; } *s = dxt_shared(sizeof(*s));
	struct dxt_gate *gate = dxt_gate_new();
	struct dxk_result result;
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int fd = dxk_member_create(t.ctx, DXK_MEMBER_WORKER, NULL);
		struct dxk_done done = { 0 };
		struct dxk_work work;
		unsigned int taken = 0;

		close(t.ctx);
		close(t.member);
		close(t.ctl);
		s->joined = 1;
		if (dxk_next(fd, NULL, 0, NULL, &work, 1, NULL, 0, -1) != 1)
			_exit(1);
		dxt_gate_pass(gate, 1);
		done.ticket = work.ticket;
		s->status[0] = dxk_next(fd, &done, 1, &taken, &work, 1, NULL, 0, -1);
		s->status[1] = dxk_next(fd, NULL, 0, NULL, &work, 1, NULL, 0, -1);
		_exit(taken == 1 ? 0 : 2);
	}
	ASSERT_TRUE(DXT_UNTIL(&t, s->joined));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	ASSERT_TRUE(wait_busy(&t, gate, 1));
	close(t.ctx);
	t.ctx = -1;
	EXPECT_TRUE(DXT_SOON(!dxt_exists(&t, "state")));
	/* cancelled: collectable; executing: nobody can wait for it any more */
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1, 0, NULL));
	EXPECT_EQ(-ECANCELED, result.status);
	EXPECT_EQ(-ESHUTDOWN, dxt_rejoin(t.member, 1, &result, 1, 1, DXK_FOREVER, NULL));
	dxt_gate_open(gate);
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_EQ(0, s->status[0]);
	EXPECT_EQ(-ESHUTDOWN, s->status[1]);
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1, 0, NULL));
	EXPECT_EQ(0, result.status);
	dxt_down(&t);
	dxt_gate_free(gate);
}

static int send_fd(int sock, int fd)
{
	char c = 'c', room[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	return sendmsg(sock, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int sock)
{
	char c, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = room, .msg_controllen = sizeof(room),
	};
	int fd = -1;

	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/*
 * A context that came over a socket: a process that never opened the device works
 * for it and posts to it, and its copy keeps the context alive (DX-113).
 */
TEST(context_over_a_socket)
{
	struct dxk_result result;
	int pair[2], status;
	uint32_t answer;
	struct dxt t;
	pid_t pid;
	char c;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct dxt_worker w = { .ctx = -1 };
		struct dxt u = { .ctl = -1, .member = -1 };

		close(pair[0]);
		u.ctx = w.ctx = receive_fd(pair[1]);
		u.member = dxk_member_create(u.ctx, DXK_MEMBER_CLIENT, NULL);
		if (u.member < 0 || dxt_post1(u.member, 8, DXT_PARAM, 88, PXR_REJOIN, 0,
					      NULL) != 1)
			_exit(1);
		close(u.member);
		if (write(pair[1], "p", 1) != 1)
			_exit(2);
		/* until the parent stops the context */
		if (dxt_worker_loop(&w) != -ESHUTDOWN || w.executed != 2)
			_exit(3);
		/* the parent has gone: this is the last one */
		if (read(pair[1], &c, 1) != 1)
			_exit(4);
		if (dxk_ctx_start(u.ctx))
			_exit(5);
		_exit(0);
	}
	close(pair[1]);
	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 1;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(0, send_fd(pair[0], t.ctx));
	EXPECT_EQ(1, read(pair[0], &c, 1));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_PARAM, 17, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1,
				dxt_late(), &answer));
	EXPECT_EQ(17, result.status);
	/* posted by a member that is no more */
	EXPECT_EQ(1, dxt_rejoin(t.member, 8, &result, 1, 1,
				dxt_late(), &answer));
	EXPECT_EQ(88, result.status);
	EXPECT_EQ(0, dxk_ctx_stop(t.ctx, DXK_STOP_DRAIN, -1));
	close(t.ctx);
	t.ctx = -1;
	EXPECT_TRUE(dxt_exists(&t, "state"));
	EXPECT_EQ(1, write(pair[0], "g", 1));
	status = dxt_reap(pid);
	EXPECT_EQ(0, status);
	EXPECT_TRUE(DXT_UNTIL(&t, !dxt_exists(&t, "state")));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
