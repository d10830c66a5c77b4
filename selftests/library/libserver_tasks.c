// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server's queues, tasks and join points (CO-1 .. CO-4, CO-11, CO-14 .. CO-21, D-22,
 * R-10 .. R-12).
 */
#define _GNU_SOURCE
#include "library/libwait.h"

#include <dx_server.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>

#define ALL		64	/* most threads of a test */

/* --- the monitor queue --------------------------------------------------------------- */

struct user {
	BoundedQueue *queue;
	pthread_t thread;
	_Atomic pid_t tid;
	void *item;
	int64_t timeout;
	_Atomic bool over;
	int rc;
};

static void *pops(void *arg)
{
	struct user *u = arg;

	u->tid = gettid();
	u->rc = BoundedQueue_pop(u->queue, &u->item, u->timeout);
	u->over = true;
	return NULL;
}

static void *pushes(void *arg)
{
	struct user *u = arg;

	u->tid = gettid();
	u->rc = BoundedQueue_push(u->queue, u->item, u->timeout);
	u->over = true;
	return NULL;
}

/* Does a thread of this process sleep? */
static bool sleeps(pid_t tid)
{
	char path[64], text[256], *state;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = 0;
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

static bool begins(struct user *u, BoundedQueue *q, void *(*what)(void *arg), void *item,
		   int64_t timeout)
{
	*u = (struct user){ .queue = q, .item = item, .timeout = timeout };
	return !pthread_create(&u->thread, NULL, what, u);
}

/* ... and sleeps in there. */
static bool waits(struct user *u, BoundedQueue *q, void *(*what)(void *arg), void *item)
{
	return begins(u, q, what, item, -1) && DXT_SOON(u->tid && sleeps(u->tid)) && !u->over;
}

static char items[10000];

/* CO-1: who pushes to a full queue waits, as who pops from an empty one does. */
TEST(queue_waits)
{
	BoundedQueue *q = BoundedQueue_create(NULL, 2);
	struct user u;
	void *item = &u;

	ASSERT_NE(NULL, q);
	EXPECT_EQ(-EINVAL, BoundedQueue_push(q, NULL, 0));
	EXPECT_EQ(-EAGAIN, BoundedQueue_pop(q, &item, 0));
	EXPECT_EQ(NULL, item);
	EXPECT_EQ(-ETIMEDOUT, BoundedQueue_pop(q, &item, 10 * DXT_MS));
	ASSERT_TRUE(waits(&u, q, pops, NULL));
	EXPECT_EQ(0, BoundedQueue_push(q, &items[1], 0));
	pthread_join(u.thread, NULL);
	EXPECT_EQ(0, u.rc);
	EXPECT_EQ(&items[1], u.item);

	EXPECT_EQ(0, BoundedQueue_push(q, &items[2], 0));
	EXPECT_EQ(0, BoundedQueue_push(q, &items[3], 0));
	EXPECT_EQ(-EAGAIN, BoundedQueue_push(q, &items[4], 0));
	EXPECT_EQ(-ETIMEDOUT, BoundedQueue_push(q, &items[4], 10 * DXT_MS));
	EXPECT_EQ(2, BoundedQueue_size(q));
	ASSERT_TRUE(waits(&u, q, pushes, &items[5]));
	for (int i = 2; i < 6; i++) {
		if (i == 4)
			continue;
		EXPECT_EQ(0, BoundedQueue_pop(q, &item, -1));
		EXPECT_EQ(&items[i], item);
	}
	pthread_join(u.thread, NULL);
	EXPECT_EQ(0, u.rc);
	EXPECT_EQ(0, BoundedQueue_size(q));

	/* Closed: those that wait go on, and what is in there comes out. */
	ASSERT_TRUE(waits(&u, q, pops, NULL));
	BoundedQueue_close(q);
	pthread_join(u.thread, NULL);
	EXPECT_EQ(-ESHUTDOWN, u.rc);
	EXPECT_EQ(-ESHUTDOWN, BoundedQueue_push(q, &items[1], -1));
	EXPECT_EQ(-ESHUTDOWN, BoundedQueue_pop(q, &item, -1));
	BoundedQueue_destroy(q);

	q = BoundedQueue_create(NULL, 1);
	EXPECT_EQ(0, BoundedQueue_push(q, &items[1], 0));
	ASSERT_TRUE(waits(&u, q, pushes, &items[2]));
	BoundedQueue_close(q);
	pthread_join(u.thread, NULL);
	EXPECT_EQ(-ESHUTDOWN, u.rc);
	EXPECT_EQ(0, BoundedQueue_pop(q, &item, -1));
	EXPECT_EQ(&items[1], item);
	BoundedQueue_destroy(q);
}

/*
 * CO-2, R-10: two that wait and two items, or places, that come back to back: both go on, the one
 * that has waited longer first.
 */
TEST(two_waiters_two_wakes)
{
	struct user u[2];
	BoundedQueue *q;
	void *item;

	for (int round = 0; round < 100; round++) {
		q = BoundedQueue_create(NULL, 1);
		ASSERT_TRUE(waits(&u[0], q, pops, NULL) && waits(&u[1], q, pops, NULL));
		EXPECT_EQ(0, BoundedQueue_push(q, &items[1], 0));
		EXPECT_EQ(0, BoundedQueue_push(q, &items[2], 0));
		ASSERT_TRUE(DXT_SOON(u[0].over && u[1].over));
		for (int i = 0; i < 2; i++) {
			pthread_join(u[i].thread, NULL);
			EXPECT_EQ(&items[1 + i], u[i].item);
		}
		BoundedQueue_destroy(q);

		q = BoundedQueue_create(NULL, 2);
		EXPECT_EQ(0, BoundedQueue_push(q, &items[1], 0));
		EXPECT_EQ(0, BoundedQueue_push(q, &items[2], 0));
		ASSERT_TRUE(waits(&u[0], q, pushes, &items[3]) &&
			    waits(&u[1], q, pushes, &items[4]));
		EXPECT_EQ(0, BoundedQueue_pop(q, &item, 0));
		EXPECT_EQ(0, BoundedQueue_pop(q, &item, 0));
		ASSERT_TRUE(DXT_SOON(u[0].over && u[1].over));
		for (int i = 0; i < 2; i++) {
			pthread_join(u[i].thread, NULL);
			EXPECT_EQ(0, u[i].rc);
			EXPECT_EQ(0, BoundedQueue_pop(q, &item, 0));
			EXPECT_EQ(&items[3 + i], item);
		}
		BoundedQueue_destroy(q);
	}
}

/* A stack: the order is the buffer's. */
struct stack {
	QueueBuffer base;
	void *items[100];
	unsigned int nr;
	int full;
};

static int stack_push(QueueBuffer *self, void *item)
{
	struct stack *s = (struct stack *)self;

	if (s->full)
		return -ENOMEM;
	s->items[s->nr++] = item;
	return 0;
}

static void *stack_pop(QueueBuffer *self)
{
	struct stack *s = (struct stack *)self;

	return s->items[--s->nr];
}

static void stack_destroy(QueueBuffer *self)
{
	((struct stack *)self)->nr = 4711;
}

/* Tens first, then whatever came first. */
static int by_tens(const void *a, const void *b)
{
	long x = ((const char *)a - items) / 10, y = ((const char *)b - items) / 10;

	return x < y ? -1 : x > y;
}

/* CO-3, CO-4: in the order in which they came, by priority, or as a buffer of one's own likes */
TEST(orders)
{
	struct stack s = { .base = { stack_push, stack_pop, stack_destroy } };
	BoundedQueue *q = BoundedQueue_create(&s.base, 3);
	unsigned int seed = 4711, in = 0, out = 0;
	char *model[1000];
	struct user u;
	void *item;

	EXPECT_EQ(0, BoundedQueue_push(q, &items[1], 0));
	EXPECT_EQ(0, BoundedQueue_push(q, &items[2], 0));
	EXPECT_EQ(0, BoundedQueue_push(q, &items[3], 0));
	EXPECT_EQ(-EAGAIN, BoundedQueue_push(q, &items[4], 0));
	EXPECT_EQ(0, BoundedQueue_pop(q, &item, 0));
	EXPECT_EQ(&items[3], item);
	s.full = 1;
	EXPECT_EQ(-ENOMEM, BoundedQueue_push(q, &items[3], -1));
	s.full = 0;
	EXPECT_EQ(0, BoundedQueue_push(q, &items[3], -1));
	/* Who waits hears it, too. */
	ASSERT_TRUE(waits(&u, q, pushes, &items[4]));
	s.full = 1;
	EXPECT_EQ(0, BoundedQueue_pop(q, &item, 0));
	pthread_join(u.thread, NULL);
	EXPECT_EQ(-ENOMEM, u.rc);
	EXPECT_EQ(0, BoundedQueue_pop(q, &item, 0));
	EXPECT_EQ(&items[2], item);
	BoundedQueue_destroy(q);
	EXPECT_EQ(4711, s.nr);

	q = BoundedQueue_create(FifoBuffer_create(), 0);
	for (unsigned int i = 0; i < 5000; i++) {
		if (rand_r(&seed) % 3 && in < sizeof(items) - 1) {
			EXPECT_EQ(0, BoundedQueue_push(q, &items[1 + in++], 0));
		} else if (out < in) {
			EXPECT_EQ(0, BoundedQueue_pop(q, &item, 0));
			EXPECT_EQ(&items[1 + out++], item);
		}
	}
	EXPECT_LT(100, out);
	BoundedQueue_destroy(q);

	/* The model: a list that is sorted by insertion. */
	q = BoundedQueue_create(PriorityBuffer_create(by_tens), 0);
	for (unsigned int i = in = out = 0; i < 3000; i++) {
		if (in < 1000 && (rand_r(&seed) % 5 > 1 || !in)) {
			char *new = &items[rand_r(&seed) % 1000];
			unsigned int at = in++;

			for (; at && by_tens(new, model[at - 1]) < 0; at--)
				model[at] = model[at - 1];
			model[at] = new;
			EXPECT_EQ(0, BoundedQueue_push(q, new, 0));
		} else {
			EXPECT_EQ(0, BoundedQueue_pop(q, &item, 0));
			EXPECT_EQ(model[0], item);
			memmove(model, model + 1, --in * sizeof(model[0]));
			out++;
		}
	}
	EXPECT_LT(100, out);
	BoundedQueue_destroy(q);
}

static _Atomic unsigned int taken[sizeof(items)];
static _Atomic unsigned int produced;

static void *produces(void *arg)
{
	struct user *u = arg;
	unsigned int i;

	while ((i = produced++) < sizeof(items))
		u->rc |= BoundedQueue_push(u->queue, &items[i], -1);
	return NULL;
}

static void *consumes(void *arg)
{
	struct user *u = arg;
	void *item;
	int rc;

	/* Short times among the long ones: who gives up takes nothing with it. */
	for (int i = 0; (rc = BoundedQueue_pop(u->queue, &item, i % 3 ? -1 : 1000)) != -ESHUTDOWN; i++)
		if (!rc)
			taken[(char *)item - items]++;
	return NULL;
}

/* CO-1, CO-2: eight threads at a queue of three: each item is taken out once. */
TEST(storm)
{
	BoundedQueue *q = BoundedQueue_create(NULL, 3);
	struct user u[8];
	unsigned int wrong = 0;

	for (int i = 0; i < 8; i++)
		ASSERT_TRUE(begins(&u[i], q, i < 4 ? produces : consumes, NULL, -1));
	for (int i = 0; i < 4; i++) {
		pthread_join(u[i].thread, NULL);
		EXPECT_EQ(0, u[i].rc);
	}
	BoundedQueue_close(q);
	for (int i = 4; i < 8; i++)
		pthread_join(u[i].thread, NULL);
	for (unsigned int i = 0; i < sizeof(items); i++)
		wrong += taken[i] != 1;
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, BoundedQueue_size(q));
	BoundedQueue_destroy(q);
}

/* --- tasks ----------------------------------------------------------------------------- */

/* A task that notes what it is run for. */
struct job {
	Task task;
	TaskQueue *queue;
	JoinPoint join;
	struct job *others;
	int (*does)(struct job *job);
	int result;
	_Atomic unsigned int ran, inside, most;
	_Atomic unsigned int *counter;
	unsigned int order;
	uint64_t thread;
	bool answers, stays;
	unsigned int wrong;
};

static _Atomic unsigned int runs, closed, entered;
static _Atomic uint64_t leaks[8];
static _Atomic unsigned int nr_leaks;

static int run(Task *self, Message *data, void *context)
{
	struct job *job = context;
	unsigned int inside;

	inside = ++job->inside;
	if (inside > job->most)
		job->most = inside;
	entered++;
	job->wrong += data || (self != &job->task && job->others != (struct job *)self) ||
		      !CurrentRequest();
	job->order = runs++;
	job->thread = (uint64_t)pthread_self();
	while (closed & (job->stays ? 2U : 1U))
		usleep(100);
	if (job->counter)
		++*job->counter;
	if (job->answers)
		Task_answered();
	if (job->does)
		job->result = job->does(job);
	job->inside--;
	job->ran++;
	return job->result;
}

static void leaked(void *arg, const void *task, const void *context)
{
	(void)arg;
	(void)context;
	if (nr_leaks < 8)
		leaks[nr_leaks] = (uintptr_t)task;
	nr_leaks++;
}

static struct job *job(TaskQueue *q, struct job *job)
{
	*job = (struct job){ .queue = q, .answers = true };
	Task_init(&job->task, run);
	return job;
}

FIXTURE(tasks) {
	struct dxt t;
	MTExecutive *mte;
	TaskQueue *queue;
	struct job all[ALL];
};

static int up(struct dxt *t, MTExecutive **mte, TaskQueue **queue, unsigned int on_block,
	      unsigned int threads, unsigned int entries)
{
	ThreadManagerPolicy policy = policy_of(on_block, threads);
	TaskQueueOptions o = { .leaked = leaked };

	closed = entered = runs = nr_leaks = 0;
	policy.TPMaxWaiting = 3000;
	policy.TPMaxRequests = 16384;
	policy.TPReadyEntries = entries;
	*mte = executive(&policy, t);
	*queue = *mte ? TaskQueue_create(*mte, &o) : NULL;
	return *queue ? 0 : -1;
}

FIXTURE_SETUP(tasks)
{
	ASSERT_EQ(0, up(&self->t, &self->mte, &self->queue, DXK_ON_BLOCK_STRICT, 2, 4));
	for (int i = 0; i < ALL; i++)
		job(self->queue, &self->all[i]);
}

FIXTURE_TEARDOWN(tasks)
{
	closed = 0;
	for (int i = 0; i < ALL; i++)
		EXPECT_EQ(0, self->all[i].wrong);
	TaskQueue_destroy(self->queue);
	EXPECT_TRUE(DXT_SOON(!dxt_num(&self->t, "pools/wait_use")));
	MTExecutiveDestroy(self->mte, DXK_STOP_CANCEL, -1);
}

static int push(struct job *job)
{
	return TaskQueue_push(job->queue, &job->task, job);
}

/* Both workers are in a task; with @closed 2 one goes on, which then runs one after the other. */
static bool occupied(struct job *first)
{
	first->stays = true;
	closed = 3;
	return !push(&first[0]) && !push(&first[1]) && DXT_SOON(entered == 2);
}

/* CO-11: each of a number of tasks is run once, by workers. */
TEST_F(tasks, run_by_workers)
{
	unsigned int ran = 0;

	for (int round = 0; round < 20; round++)
		for (int i = 0; i < ALL; i++)
			ASSERT_EQ(0, push(&self->all[i]));
	ASSERT_TRUE(DXT_SOON(runs == 20 * ALL));
	for (int i = 0; i < ALL; i++) {
		EXPECT_TRUE(DXT_SOON(self->all[i].ran == 20));
		EXPECT_NE((uint64_t)pthread_self(), self->all[i].thread);
		ran += self->all[i].ran;
	}
	EXPECT_EQ(20 * ALL, ran);
	EXPECT_EQ(0, nr_leaks);
}

static void *pushes_task(void *arg)
{
	struct user *u = arg;

	u->tid = gettid();
	u->rc = push(u->item);
	u->over = true;
	return NULL;
}

/* CO-1: who pushes to a full queue waits; CO-3: the order is by priority, then as they came */
TEST_F(tasks, queue_of_tasks)
{
	struct job *j = self->all;
	struct user u = { .item = &j[6] };

	ASSERT_TRUE(occupied(j));
	for (int i = 2; i < 6; i++) {
		j[i].task.Priority = i == 4 ? 3 : i == 5 ? 1 : 0;
		ASSERT_EQ(0, push(&j[i]));
	}
	EXPECT_EQ(-EAGAIN, TaskQueue_tryPush(self->queue, &j[6].task, &j[6]));
	ASSERT_EQ(0, pthread_create(&u.thread, NULL, pushes_task, &u));
	EXPECT_TRUE(DXT_SOON(u.tid && sleeps(u.tid)));
	EXPECT_FALSE(u.over);
	closed = 2;
	pthread_join(u.thread, NULL);
	EXPECT_EQ(0, u.rc);
	EXPECT_TRUE(DXT_SOON(j[6].ran));
	EXPECT_LT(j[4].order, j[5].order);
	EXPECT_LT(j[5].order, j[2].order);
	EXPECT_LT(j[5].order, j[3].order);
	for (int i = 1; i < 7; i++)
		EXPECT_EQ(1, j[i].ran);
}

/* Of tasks with one key one is run at a time. */
TEST_F(tasks, keys)
{
	struct job *j = self->all;

	j[0].task.Key = 4711;
	for (int i = 0; i < 300; i++)
		ASSERT_EQ(0, push(&j[0]));
	EXPECT_TRUE(DXT_SOON(j[0].ran == 300));
	EXPECT_EQ(1, j[0].most);
}

static int defers(struct job *job)
{
	return push(job->others);
}

/*
 * CO-14: who neither responds nor defers is told by its address; who does, or is joined, is not.
 */
TEST_F(tasks, leaks_are_told)
{
	struct job *j = self->all;

	j[0].answers = false;
	ASSERT_EQ(0, push(&j[0]));
	EXPECT_TRUE(DXT_SOON(nr_leaks == 1));
	EXPECT_EQ((uintptr_t)&j[0].task, leaks[0]);
	EXPECT_EQ(1, TaskQueue_leaks(self->queue));

	j[1].answers = false;
	j[1].does = defers;
	j[1].others = &j[2];
	ASSERT_EQ(0, push(&j[1]));
	EXPECT_TRUE(DXT_SOON(j[2].ran));

	j[3].answers = false;
	JoinPoint_init(&j[3].join, self->queue, &j[4].task, &j[4], JOIN_LAZY);
	ASSERT_EQ(0, JoinPoint_add(&j[3].join, &j[3].task, &j[3]));
	ASSERT_EQ(0, JoinPoint_set(&j[3].join));
	EXPECT_TRUE(DXT_SOON(j[4].ran));
	EXPECT_EQ(1, nr_leaks);

	/* A continuation is a task like others. */
	j[5].answers = false;
	JoinPoint_init(&j[5].join, self->queue, &j[5].task, &j[5], JOIN_LAZY);
	ASSERT_EQ(0, JoinPoint_set(&j[5].join));
	EXPECT_TRUE(DXT_SOON(nr_leaks == 2));
	EXPECT_EQ((uintptr_t)&j[5].task, leaks[1]);
}

/* Without a call-back the log tells of a leak (CO-14). */
TEST(leak_in_log)
{
	ThreadManagerPolicy policy = policy_of(DXK_ON_BLOCK_STRICT, 1);
	char text[4096], wanted[64];
	MTExecutive *mte;
	TaskQueue *q;
	struct job j;
	struct dxt t;
	size_t n;
	FILE *f;

	closed = 0;
	mte = executive(&policy, &t);
	EXPECT_EQ(NULL, TaskQueue_create(mte, NULL));
	EXPECT_EQ(EOPNOTSUPP, errno);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	policy.TPMaxWaiting = 1;
	mte = executive(&policy, &t);
	q = TaskQueue_create(mte, NULL);
	ASSERT_NE(NULL, q);
	job(q, &j)->answers = false;
	ASSERT_EQ(0, push(&j));
	EXPECT_TRUE(DXT_SOON(TaskQueue_leaks(q) == 1));
	TaskQueue_destroy(q);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	snprintf(wanted, sizeof(wanted), "task %p", (void *)&j.task);
	f = fopen(LOG, "r");
	ASSERT_NE(NULL, f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = 0;
	fclose(f);
	EXPECT_NE(NULL, strstr(text, wanted));
}

static void *destroys(void *arg)
{
	struct user *u = arg;

	TaskQueue_destroy(u->item);
	u->over = true;
	return NULL;
}

/* Who has no descriptor left, and so cannot become a member, does not free what workers use. */
TEST(destroyed_without_descriptors)
{
	struct rlimit old, none;
	MTExecutive *mte;
	struct user u;
	TaskQueue *q;
	struct dxt t;
	struct job j;

	ASSERT_EQ(0, up(&t, &mte, &q, DXK_ON_BLOCK_STRICT, 1, 4));
	job(q, &j);
	closed = 1;
	ASSERT_EQ(0, push(&j));
	EXPECT_TRUE(DXT_SOON(entered == 1));
	u = (struct user){ .item = q };
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(0, pthread_create(&u.thread, NULL, destroys, &u));
	dxt_sleep_ms(50);
	EXPECT_FALSE(u.over);
	EXPECT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	dxt_sleep_ms(10);
	EXPECT_FALSE(u.over);
	closed = 0;
	pthread_join(u.thread, NULL);
	EXPECT_EQ(1, j.ran);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
}

/* --- join points --------------------------------------------------------------------------- */

/* Joins one task @n times. */
static int joins(struct job *then, struct job *part, unsigned int n, enum JoinMode mode)
{
	int rc = 0;

	JoinPoint_init(&then->join, then->queue, &then->task, then, mode);
	for (unsigned int i = 0; i < n && !rc; i++)
		rc = JoinPoint_add(&then->join, &part->task, part);
	return rc ? rc : JoinPoint_set(&then->join);
}

static _Atomic unsigned int parts;

static int sees_all(struct job *then)
{
	then->wrong += parts != then->others->order;
	return 0;
}

/* CO-15, CO-18: the continuation is run once, and after the last, be they none or a thousand. */
TEST_F(tasks, join_of_n)
{
	static const unsigned int n[] = { 0, 1, 2, 3, 10, 1000 };
	struct job *then = &self->all[0], *part = &self->all[1];
	struct job wanted;

	for (unsigned int i = 0; i < 6; i++) {
		parts = 0;
		part->counter = &parts;
		wanted.order = n[i];
		then->ran = 0;
		then->others = &wanted;
		then->does = sees_all;
		ASSERT_EQ(0, joins(then, part, n[i], JOIN_LAZY));
		EXPECT_TRUE(DXT_SOON(then->ran == 1));
		EXPECT_EQ(0, then->wrong);
		EXPECT_EQ(0, JoinPoint_status(&then->join, NULL));
	}
	/* Once, and nothing of it comes later. */
	TaskQueue_destroy(self->queue);
	EXPECT_EQ(1, then->ran);
	self->queue = TaskQueue_create(self->mte, NULL);
	for (int i = 0; i < ALL; i++)
		self->all[i].queue = self->queue;
}

/* CO-18: all had ended before the continuation was set. */
TEST_F(tasks, join_set_late)
{
	struct job *then = &self->all[0], *part = &self->all[1];

	JoinPoint_init(&then->join, self->queue, &then->task, then, JOIN_LAZY);
	for (int i = 0; i < 10; i++)
		ASSERT_EQ(0, JoinPoint_add(&then->join, &part->task, part));
	EXPECT_TRUE(DXT_SOON(part->ran == 10));
	EXPECT_EQ(0, then->ran);
	ASSERT_EQ(0, JoinPoint_set(&then->join));
	EXPECT_TRUE(DXT_SOON(then->ran == 1));
}

/*
 * the last two of a join end together, again and again: the continuation is run once, after
 * both.
 */
TEST_F(tasks, last_two_together)
{
	struct job *then = &self->all[0], *part = &self->all[1];
	struct job wanted = { .order = 2 };

	part->counter = &parts;
	then->others = &wanted;
	then->does = sees_all;
	for (unsigned int i = 1; i <= 300; i++) {
		parts = 0;
		ASSERT_EQ(0, joins(then, part, 2, JOIN_LAZY));
		ASSERT_TRUE(DXT_SOON(then->ran == i));
	}
	EXPECT_EQ(600, part->ran);
	EXPECT_EQ(0, then->wrong);
}

static int adds_more(struct job *part)
{
	return part->order < 20 ? JoinPoint_add(&part->others->join, &part->task, part) : 0;
}

/* A task that is joined adds further ones: the continuation waits for these, too (CO-15). */
TEST_F(tasks, join_grows)
{
	struct job *then = &self->all[0], *part = &self->all[1];

	part->others = then;
	part->does = adds_more;
	ASSERT_EQ(0, joins(then, part, 1, JOIN_LAZY));
	EXPECT_TRUE(DXT_SOON(then->ran));
	EXPECT_EQ(21, part->ran);
	EXPECT_EQ(21, then->order);
}

/* CO-19: the continuation sees how many have failed, and how the first. */
TEST_F(tasks, join_status)
{
	struct job *j = self->all;
	unsigned int failed = 0;

	j[2].result = -EDOM;
	j[3].result = 5;
	JoinPoint_init(&j[0].join, self->queue, &j[0].task, &j[0], JOIN_LAZY);
	for (int i = 1; i < 4; i++)
		ASSERT_EQ(0, JoinPoint_add(&j[0].join, &j[i].task, &j[i]));
	ASSERT_EQ(0, JoinPoint_set(&j[0].join));
	ASSERT_TRUE(DXT_SOON(j[0].ran));
	EXPECT_EQ(-EDOM, JoinPoint_status(&j[0].join, &failed));
	EXPECT_EQ(1, failed);
}

static int dies(struct job *job)
{
	(void)job;
	pthread_exit(NULL);
}

/* CO-19: nor is one forgotten that was never run, or that died with its worker. */
TEST_F(tasks, join_without_status)
{
	struct job *j = self->all;
	unsigned int failed = 0;

	ASSERT_TRUE(occupied(j));
	JoinPoint_init(&j[5].join, self->queue, &j[5].task, &j[5], JOIN_EAGER);
	for (int i = 2; i < 5; i++)
		ASSERT_EQ(0, JoinPoint_add(&j[5].join, &j[i].task, &j[i]));
	ASSERT_EQ(0, JoinPoint_set(&j[5].join));
	EXPECT_EQ(3, JoinPoint_cancel(&j[5].join));
	closed = 0;
	ASSERT_TRUE(DXT_SOON(j[5].ran));
	EXPECT_EQ(0, j[2].ran + j[3].ran + j[4].ran);
	EXPECT_EQ(-ECANCELED, JoinPoint_status(&j[5].join, &failed));
	EXPECT_EQ(3, failed);

	j[6].does = dies;
	ASSERT_EQ(0, joins(&j[7], &j[6], 1, JOIN_LAZY));
	ASSERT_TRUE(DXT_SOON(j[7].ran));
	EXPECT_EQ(-EOWNERDEAD, JoinPoint_status(&j[7].join, &failed));
	EXPECT_EQ(1, failed);
}

/*
 * A cancel that drops a continuation which is itself joined leaves that one's tasks, and they use
 * their join point: the outer continuation, which may free it, is run after them (CO-15, CO-20).
 */
TEST_F(tasks, cancel_of_inner)
{
	struct job *j = self->all;
	unsigned int failed = 0;

	closed = 3;
	for (int i = 0; i < 3; i++)
		JoinPoint_init(&j[i].join, self->queue, &j[i].task, &j[i], JOIN_LAZY);
	j[4].stays = true;
	ASSERT_EQ(0, JoinPoint_add(&j[1].join, &j[3].task, &j[3]));
	ASSERT_EQ(0, JoinPoint_add(&j[2].join, &j[4].task, &j[4]));
	ASSERT_TRUE(DXT_SOON(entered == 2));
	ASSERT_EQ(0, JoinPoint_setIn(&j[2].join, &j[1].join));
	ASSERT_EQ(0, JoinPoint_setIn(&j[1].join, &j[0].join));
	ASSERT_EQ(0, JoinPoint_set(&j[0].join));
	EXPECT_EQ(1, JoinPoint_cancel(&j[0].join));
	EXPECT_EQ(2, JoinPoint_cancel(&j[1].join));
	/* Of either one task is at work, and a worker is free for a continuation. */
	closed = 2;
	EXPECT_TRUE(DXT_SOON(j[3].ran));
	dxt_sleep_ms(50);
	EXPECT_EQ(2, entered);
	closed = 0;
	EXPECT_TRUE(DXT_SOON(j[0].ran));
	EXPECT_EQ(1, j[4].ran);
	EXPECT_LT(j[4].order, j[0].order);
	EXPECT_EQ(0, j[1].ran + j[2].ran);
	EXPECT_EQ(-ECANCELED, JoinPoint_status(&j[0].join, &failed));
	EXPECT_EQ(1, failed);
}

/* CO-16: an eager one is run by the worker that has ended the last, before what is more urgent. */
TEST_F(tasks, eager_is_next)
{
	struct job *j = self->all;

	ASSERT_TRUE(occupied(j));
	j[2].task.Priority = 9;
	j[3].task.Priority = 0;
	j[4].task.Priority = 5;
	ASSERT_EQ(0, joins(&j[3], &j[2], 1, JOIN_EAGER));
	ASSERT_EQ(0, push(&j[4]));
	closed = 2;
	EXPECT_TRUE(DXT_SOON(j[3].ran && j[4].ran));
	EXPECT_EQ(j[2].thread, j[3].thread);
	EXPECT_LT(j[2].order, j[3].order);
	EXPECT_LT(j[3].order, j[4].order);
}

static struct {
	_Atomic ptrdiff_t deepest;	/* of any thread's stack, from its first turn on */
	unsigned int left;
} chain;

/* The continuation begins the next join. */
static int joins_on(struct job *then)
{
	static __thread uintptr_t first;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (!first)
		first = here;
	if ((ptrdiff_t)(first - here) > chain.deepest)
		chain.deepest = (ptrdiff_t)(first - here);
	if (!chain.left--) {
		then->others->ran++;
		return 0;
	}
	return joins(then, then->others + 1, 1, JOIN_EAGER);
}

/* CO-20, R-12: a chain of eager continuations needs no stack. */
TEST_F(tasks, eager_chain)
{
	struct job *j = self->all;

	chain.deepest = 0;
	chain.left = 10000;
	j[0].does = joins_on;
	j[0].others = &j[1];
	ASSERT_EQ(0, joins(&j[0], &j[2], 1, JOIN_EAGER));
	ASSERT_TRUE(DXT_UNTIL(&self->t, j[1].ran == 1));
	EXPECT_EQ(10001, j[2].ran);
	EXPECT_GT(4096, chain.deepest);
}

/* CO-17: a lazy continuation goes through the queue: what is more urgent comes first. */
TEST_F(tasks, lazy_is_queued)
{
	struct job *j = self->all;

	ASSERT_TRUE(occupied(j));
	/* the part ends first; then the continuation, of priority 1, is one of four */
	j[2].task.Priority = 9;
	j[3].task.Priority = 1;
	j[4].task.Priority = 2;
	j[5].task.Priority = 0;
	ASSERT_EQ(0, joins(&j[3], &j[2], 1, JOIN_LAZY));
	ASSERT_EQ(0, push(&j[4]));
	ASSERT_EQ(0, push(&j[5]));
	closed = 2;
	EXPECT_TRUE(DXT_SOON(j[3].ran && j[4].ran && j[5].ran));
	EXPECT_LT(j[2].order, j[4].order);
	EXPECT_LT(j[4].order, j[3].order);
	EXPECT_LT(j[3].order, j[5].order);
}

/*
 * CO-21: the queue is full, and others wait for room: neither is the continuation of tasks in it
 * refused, nor that of none, nor who sets it held up.
 */
TEST_F(tasks, full_queue_takes_continuations)
{
	struct job *j = self->all;
	struct user u = { .item = &j[7] };

	ASSERT_TRUE(occupied(j));
	for (int i = 2; i < 5; i++)
		ASSERT_EQ(0, push(&j[i]));
	JoinPoint_init(&j[5].join, self->queue, &j[5].task, &j[5], JOIN_LAZY);
	ASSERT_EQ(0, JoinPoint_tryAdd(&j[5].join, &j[6].task, &j[6]));
	EXPECT_EQ(-EAGAIN, JoinPoint_tryAdd(&j[5].join, &j[6].task, &j[6]));
	ASSERT_EQ(0, pthread_create(&u.thread, NULL, pushes_task, &u));
	EXPECT_TRUE(DXT_SOON(u.tid && sleeps(u.tid)));
	EXPECT_EQ(0, JoinPoint_set(&j[5].join));
	EXPECT_EQ(0, joins(&j[8], NULL, 0, JOIN_LAZY));
	EXPECT_FALSE(u.over);
	closed = 0;
	EXPECT_TRUE(DXT_SOON(j[5].ran && j[8].ran));
	pthread_join(u.thread, NULL);
	EXPECT_TRUE(DXT_SOON(j[7].ran));
	EXPECT_LT(j[6].order, j[5].order);
}

/* CO-15, CO-16: an eager continuation of what both workers are at is run once, after the last. */
TEST_F(tasks, eager_of_both)
{
	struct job *j = self->all;

	for (unsigned int round = 1; round <= 100; round++) {
		ASSERT_EQ(0, joins(&j[0], &j[1], 10, JOIN_EAGER));
		ASSERT_TRUE(DXT_SOON(j[0].ran == round));
		ASSERT_EQ(10 * round, j[1].ran);
	}
}

#define LINKS	2500

static struct link {
	Task task;
	JoinPoint join;
} links[LINKS];

static struct {
	_Atomic unsigned int ran, wrong;
	uintptr_t low, high;
} walk;

/* The n-th continuation is run n-th, and about as deep as the first one. */
static int is_link(Task *self, Message *data, void *context)
{
	char here;
	uintptr_t at = (uintptr_t)&here;

	(void)context;
	walk.wrong += data || self != &links[walk.ran].task;
	if (!walk.ran++)
		walk.low = walk.high = at;
	walk.low = at < walk.low ? at : walk.low;
	walk.high = at > walk.high ? at : walk.high;
	if (walk.ran == LINKS)
		Task_answered();
	return walk.ran % 1000 ? 0 : -EDOM;
}

/*
 * CO-20, R-12: eager continuations, each of which ends the join that the next one waits for: ten
 * thousand one after the other, a hundred thousand if there is time, and none deeper in the stack
 * than the first but for a frame.
 */
TEST(joined_chain)
{
	struct job first;
	MTExecutive *mte;
	TaskQueue *q;
	struct dxt t;
	unsigned int failed, nr = getenv("DXK_LONG") ? 100000 : 10000;

	/* one worker, so one stack */
	ASSERT_EQ(0, up(&t, &mte, &q, DXK_ON_BLOCK_STRICT, 1, 4));
	job(q, &first);
	for (unsigned int round = 0; round < nr / LINKS; round++) {
		memset(&walk, 0, sizeof(walk));
		closed = 1;
		for (unsigned int i = 0; i < LINKS; i++) {
			Task_init(&links[i].task, is_link);
			JoinPoint_init(&links[i].join, q, &links[i].task, NULL, JOIN_EAGER);
		}
		ASSERT_EQ(0, JoinPoint_add(&links[0].join, &first.task, &first));
		for (unsigned int i = 0; i + 1 < LINKS; i++)
			ASSERT_EQ(0, JoinPoint_setIn(&links[i].join, &links[i + 1].join));
		ASSERT_EQ(0, JoinPoint_set(&links[LINKS - 1].join));
		closed = 0;
		ASSERT_TRUE(DXT_SOON(walk.ran == LINKS));
		EXPECT_EQ(0, walk.wrong);
		EXPECT_GT(256, walk.high - walk.low);
		EXPECT_EQ(-EDOM, JoinPoint_status(&links[1000].join, &failed));
		EXPECT_EQ(1, failed);
		EXPECT_EQ(0, JoinPoint_status(&links[1001].join, &failed));
		dxt_tell("%u of %u", (round + 1) * LINKS, nr);
	}
	EXPECT_EQ(0, nr_leaks);
	TaskQueue_destroy(q);
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
}

/* --- tasks that push tasks -------------------------------------------------------------------- */

static int pushes_ten(struct job *job)
{
	int rc = 0;

	/* Both are here, so that none is free to run what is pushed. */
	while (entered < 2)
		usleep(100);
	for (int i = 0; i < 10 && !rc; i++)
		rc = JoinPoint_add(&job->join, &job->others->task, job->others);
	return rc ? rc : JoinPoint_set(&job->join);
}

static bool begin_tens(struct job *j)
{
	for (int i = 0; i < 2; i++) {
		j[i].does = pushes_ten;
		j[i].others = &j[2 + i];
		JoinPoint_init(&j[i].join, j[i].queue, &j[4 + i].task, &j[4 + i], JOIN_LAZY);
	}
	return !push(&j[0]) && !push(&j[1]);
}

/* D-22: a queue of four, two workers, whose tasks push ten each: who executes meanwhile helps. */
TEST(tasks_push_tasks)
{
	static const unsigned int on_block[] = { DXK_ON_BLOCK_HELP, DXK_ON_BLOCK_SPARE };
	struct job j[6];
	MTExecutive *mte;
	TaskQueue *q;
	struct dxt t;

	for (int k = 0; k < 2; k++) {
		ASSERT_EQ(0, up(&t, &mte, &q, on_block[k], 2, 4));
		for (int i = 0; i < 6; i++)
			job(q, &j[i]);
		ASSERT_TRUE(begin_tens(j));
		EXPECT_TRUE(DXT_SOON(j[4].ran == 1 && j[5].ran == 1));
		EXPECT_EQ(10, j[2].ran);
		EXPECT_EQ(10, j[3].ran);
		EXPECT_EQ(0, nr_leaks);
		TaskQueue_destroy(q);
		MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	}

	/* Nobody does: the stall is told, and a Stop ends it. */
	ASSERT_EQ(0, up(&t, &mte, &q, DXK_ON_BLOCK_STRICT, 2, 4));
	for (int i = 0; i < 6; i++)
		job(q, &j[i]);
	ASSERT_TRUE(begin_tens(j));
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "stats/stalls") > 0));
	EXPECT_EQ(0, j[2].ran + j[3].ran);
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_CANCEL, -1));
	EXPECT_EQ(-ESHUTDOWN, j[0].result);
	TaskQueue_destroy(q);
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

TEST_HARNESS_MAIN
