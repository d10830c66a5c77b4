// SPDX-License-Identifier: GPL-2.0-only
/*
 * Orders by priority in user space: an urgent request among many, and one that is not
 * urgent in an endless stream of more urgent ones. dxk's are in kernel/urgent.c.
 */
#include <fcntl.h>
#include <glib.h>
#include <mqueue.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "servers.h"

#define URGENT	20	/* one after the other */
#define TOP	1000
#define STREAMS	8
#define LIMIT	100000	/* more urgent ones, then it is given up */

enum what { LOWER, HIGHER, GATE };

static long started, started_before, streamed, streamed_before, stream_limit;
static bool stream_over;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static bool gate_open, seen;

/* --- what is executed -------------------------------------------------------------- */

static void work(void)
{
	for (int i = 0; i < 2000; i++)
		asm volatile("");
}

static void tell(bool *what)
{
	pthread_mutex_lock(&lock);
	*what = true;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&lock);
}

static void await(bool *what)
{
	pthread_mutex_lock(&lock);
	while (!*what)
		pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
}

static void execute(enum what what)
{
	switch (what) {
	case LOWER:
		__atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
		work();
		break;
	case HIGHER:
		started_before = __atomic_load_n(&started, __ATOMIC_RELAXED);
		tell(&seen);
		break;
	case GATE:
		await(&gate_open);
		break;
	}
}

/* Most lower ones that started between the post and the start of an urgent one. */
static double urgent_rounds(void (*post)(void))
{
	long most = 0;
	uint64_t ns = 0;

	tell(&gate_open);
	for (int i = 0; i < URGENT; i++) {
		uint64_t start;
		long before;

		usleep(100);
		seen = false;
		before = __atomic_load_n(&started, __ATOMIC_RELAXED);
		start = now();
		post();
		ns += now() - start;
		await(&seen);
		if (started_before - before > most)
			most = started_before - before;
	}
	extra("post", (double)ns / URGENT);
	extra("begun", started_before);
	return most;
}

/* 1 = there shall be one more of the stream */
static bool stream_execute(enum what what)
{
	if (what == LOWER) {
		streamed_before = streamed;
		stream_over = true;
		tell(&seen);
		return false;
	}
	work();
	if (++streamed == stream_limit) {
		stream_over = true;
		tell(&seen);
	}
	return !stream_over;
}

static double stream_end(long before)
{
	await(&seen);
	extra("started", streamed_before > 0);
	if (!streamed_before)
		note("not started after %ld more urgent ones", streamed - before);
	return (streamed_before ? streamed_before : streamed) - before;
}

/* --- message queue -------------------------------------------------------------------- */

static mqd_t mq;

static void mq_post(enum what what, unsigned int prio)
{
	char c = what;

	MUST(0, mq_send(mq, &c, 1, prio));
}

static void *mq_worker(void *arg)
{
	char c;

	for (;;) {
		MUST(1, mq_receive(mq, &c, 1, NULL));
		execute(c);
	}
	return arg;
}

static void mq_new(long room)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct mq_attr attr = { .mq_maxmsg = room, .mq_msgsize = 1 };

	MUST(0, setrlimit(RLIMIT_MSGQUEUE, &limit));
	mq = mq_open("/dxk_bench_urgent", O_RDWR | O_CREAT | O_CLOEXEC, 0600, &attr);
	if (mq < 0)
		die("mq_open");
	mq_unlink("/dxk_bench_urgent");
}

static void mq_higher(void)
{
	mq_post(HIGHER, TOP);
}

/* A queue holds 65536 messages at most. */
static double mq_urgent_measure(const struct variant *v)
{
	mq_new(v->ops + 64);
	for (int i = 0; i < 4; i++) {
		partner_start(mq_worker, NULL);
		mq_post(GATE, 0);
	}
	for (long i = 0; i < v->ops; i++)
		mq_post(LOWER, i % TOP);
	return urgent_rounds(mq_higher);
}

const struct kind mq_urgent = { .measure = mq_urgent_measure };

static void *mq_stream_worker(void *arg)
{
	char c;

	for (;;) {
		MUST(1, mq_receive(mq, &c, 1, NULL));
		if (stream_execute(c))
			mq_post(HIGHER, 10);
	}
	return arg;
}

static double mq_stream_measure(const struct variant *v)
{
	stream_limit = v->ops;
	mq_new(64);
	mq_post(LOWER, 0);
	for (int i = 0; i < STREAMS; i++)
		mq_post(HIGHER, 10);
	partner_start(mq_stream_worker, NULL);
	return stream_end(0);
}

const struct kind mq_stream = { .measure = mq_stream_measure };

/* --- GThreadPool ------------------------------------------------------------------------ */

struct job {
	enum what what;
	int prio;
};

static GThreadPool *pool;

static int by_prio(const void *a, const void *b, void *arg)
{
	const struct job *x = a, *y = b;

	(void)arg;
	return y->prio - x->prio;
}

static void glib_new(GFunc fn, int threads)
{
	pool = g_thread_pool_new(fn, NULL, threads, TRUE, NULL);
	if (!pool)
		die("g_thread_pool_new");
	g_thread_pool_set_sort_function(pool, by_prio, NULL);
}

static void glib_execute(void *data, void *arg)
{
	struct job *job = data;

	(void)arg;
	execute(job->what);
}

static void glib_higher(void)
{
	static struct job job = { HIGHER, TOP };

	g_thread_pool_push(pool, &job, NULL);
}

/* All lower ones alike: the list would be searched for the place of each. */
static double glib_urgent_measure(const struct variant *v)
{
	static struct job lower = { LOWER, 0 }, gate = { GATE, 0 };

	glib_new(glib_execute, 4);
	for (int i = 0; i < 4; i++)
		g_thread_pool_push(pool, &gate, NULL);
	for (long i = 0; i < v->ops; i++)
		g_thread_pool_push(pool, &lower, NULL);
	return urgent_rounds(glib_higher);
}

const struct kind glib_urgent = { .measure = glib_urgent_measure };

static void glib_stream_execute(void *data, void *arg)
{
	struct job *job = data;
	static struct job next = { HIGHER, 10 };

	(void)arg;
	if (job->what == GATE)
		await(&gate_open);
	else if (stream_execute(job->what))
		g_thread_pool_push(pool, &next, NULL);
}

static double glib_stream_measure(const struct variant *v)
{
	static struct job lower = { LOWER, 0 }, higher = { HIGHER, 10 }, gate = { GATE, 20 };

	stream_limit = v->ops;
	glib_new(glib_stream_execute, 1);
	g_thread_pool_push(pool, &gate, NULL);
	g_thread_pool_push(pool, &lower, NULL);
	for (int i = 0; i < STREAMS; i++)
		g_thread_pool_push(pool, &higher, NULL);
	tell(&gate_open);
	return stream_end(0);
}

const struct kind glib_stream = { .measure = glib_stream_measure };

/* --- beanstalkd ---------------------------------------------------------------------------- */

/* Its smaller numbers are more urgent. One client is all: put, reserve, delete. */
static double beanstalkd_stream_measure(const struct variant *v)
{
	static struct stream s;
	long ids[BATCH], first;

	server_start((const char *const[]){ BEANSTALKD, "-l", "unix:" SOCKET, NULL });
	stream_open(&s, SOCKET);
	stream_limit = v->ops;
	beanstalkd_put(&s, 1, 20);
	beanstalkd_put(&s, STREAMS, 10);
	for (first = 0; !stream_over;) {
		beanstalkd_reserve(&s, 1, ids);
		/* the one that was put first has the first id */
		if (!first)
			first = ids[0] - 1;
		if (stream_execute(ids[0] == first ? LOWER : HIGHER))
			beanstalkd_put(&s, 1, 10);
		beanstalkd_delete(&s, 1, ids);
	}
	return stream_end(0);
}

const struct kind beanstalkd_stream = { .measure = beanstalkd_stream_measure };
