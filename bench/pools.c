// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pools of threads in user space: the one that one writes, and GLib's.
 */
#include <glib.h>

#include "pools.h"

struct job jobs[CHUNK];

/* --- waiting for the last ------------------------------------------------------- */

static pthread_mutex_t done_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;
static long to_do;

void jobs_init(void)
{
	for (int i = 0; i < CHUNK; i++)
		jobs[i].prio = i * 5 % 8;
}

void jobs_expect(long nr)
{
	__atomic_store_n(&to_do, nr, __ATOMIC_RELEASE);
}

void job_done(void)
{
	if (__atomic_sub_fetch(&to_do, 1, __ATOMIC_ACQ_REL))
		return;
	pthread_mutex_lock(&done_lock);
	pthread_cond_signal(&done_cond);
	pthread_mutex_unlock(&done_lock);
}

void jobs_wait(void)
{
	pthread_mutex_lock(&done_lock);
	while (__atomic_load_n(&to_do, __ATOMIC_ACQUIRE))
		pthread_cond_wait(&done_cond, &done_lock);
	pthread_mutex_unlock(&done_lock);
}

/* --- a list, a mutex, a condition ------------------------------------------------ */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct job *first, **last;
	void (*execute)(struct job *job);
} pool = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.work = PTHREAD_COND_INITIALIZER,
	.last = &pool.first,
};

static void *list_pool_worker(void *arg)
{
	pthread_mutex_lock(&pool.lock);
	for (;;) {
		struct job *job = pool.first;

		if (!job) {
			pthread_cond_wait(&pool.work, &pool.lock);
			continue;
		}
		pool.first = job->next;
		if (!pool.first)
			pool.last = &pool.first;
		pthread_mutex_unlock(&pool.lock);
		pool.execute(job);
		pthread_mutex_lock(&pool.lock);
	}
	return arg;
}

/* The process of the round ends them. */
void list_pool_start(int threads, void (*execute)(struct job *job))
{
	pool.execute = execute;
	while (threads--)
		partner_start(list_pool_worker, NULL);
}

void list_pool_push(struct job *job)
{
	pthread_mutex_lock(&pool.lock);
	job->next = NULL;
	*pool.last = job;
	pool.last = &job->next;
	pthread_cond_signal(&pool.work);
	pthread_mutex_unlock(&pool.lock);
}

static void count(struct job *job)
{
	(void)job;
	job_done();
}

static void list_pool_setup(const struct variant *v)
{
	(void)v;
	list_pool_start(1, count);
}

static void list_pool_run(long ops)
{
	while (ops) {
		long nr = ops < CHUNK ? ops : CHUNK;

		jobs_expect(nr);
		for (long i = 0; i < nr; i++)
			list_pool_push(&jobs[i]);
		jobs_wait();
		ops -= nr;
	}
}

const struct kind list_pool = { .setup = list_pool_setup, .run = list_pool_run };

/* --- GLib -------------------------------------------------------------------------- */

static GThreadPool *glib;

static void glib_execute(void *job, void *arg)
{
	(void)job;
	(void)arg;
	job_done();
}

/* Larger is more urgent, as in dxk. */
static int by_prio(const void *a, const void *b, void *arg)
{
	const struct job *x = a, *y = b;

	(void)arg;
	return y->prio - x->prio;
}

/* @arg: with a sort function */
static void glib_setup(const struct variant *v)
{
	jobs_init();
	glib = g_thread_pool_new(glib_execute, NULL, 1, TRUE, NULL);
	if (!glib)
		die("g_thread_pool_new");
	if (v->arg)
		g_thread_pool_set_sort_function(glib, by_prio, NULL);
}

static void glib_run(long ops)
{
	while (ops) {
		long nr = ops < CHUNK ? ops : CHUNK;

		jobs_expect(nr);
		for (long i = 0; i < nr; i++)
			g_thread_pool_push(glib, &jobs[i], NULL);
		jobs_wait();
		ops -= nr;
	}
}

const struct kind glib_pool = { .setup = glib_setup, .run = glib_run };
