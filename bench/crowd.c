// SPDX-License-Identifier: GPL-2.0-only
/*
 * 256 threads sleep for work and one request comes: how many wake up for it. Counted
 * are the sleeps of all threads but the client's, who wakes one by one.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dxk_calls.h"

#define CROWD	256

static int work, reply;

static void crowd(void *(*fn)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < CROWD; i++) {
		errno = pthread_create(&thread, &attr, fn, NULL);
		if (errno)
			die("pthread_create");
	}
}

static long sleeps(void)
{
	struct rusage all, mine;

	getrusage(RUSAGE_SELF, &all);
	getrusage(RUSAGE_THREAD, &mine);
	return all.ru_nvcsw - mine.ru_nvcsw;
}

/* They all sleep when a second brings no further sleep. */
static double per_request(long ops, void (*request)(void))
{
	long before, after;

	do {
		before = sleeps();
		sleep(1);
	} while (sleeps() != before);
	profile_begin();
	for (long i = 0; i < ops; i++)
		request();
	profile_end();
	/* who woke for nothing may not sleep again yet */
	do {
		after = sleeps();
		sleep(1);
	} while (sleeps() != after);
	return (double)(after - before) / ops;
}

/* --- dxk ----------------------------------------------------------------------------- */

static void many(struct dxk_policy *policy, long unused)
{
	(void)unused;
	policy->max_threads = CROWD;
}

static void *dxk_one(void *arg)
{
	dxk_serve(dxk_member(DXK_MEMBER_WORKER), 1);
	return arg;
}

static void dxk_request(void)
{
	struct dxk_post_entry entry = { .owner = OWNER, .attrs = PXR_REJOIN };

	dxk_post_all(&entry, 1);
	MUST(1, dxk_collect(1, 0));
}

static double dxk_measure(const struct variant *v)
{
	dxk_open_ctx(many, 0);
	crowd(dxk_one);
	return per_request(v->ops, dxk_request);
}

const struct kind dxk_crowd = { .measure = dxk_measure };

/* --- eventfd -------------------------------------------------------------------------- */

static void fd_open(int flags)
{
	work = eventfd(0, EFD_SEMAPHORE | flags);
	reply = eventfd(0, 0);
	if (work < 0 || reply < 0)
		die("eventfd");
}

static void fd_request(void)
{
	uint64_t one = 1;

	MUST(sizeof(one), write(work, &one, sizeof(one)));
	MUST(sizeof(one), read(reply, &one, sizeof(one)));
}

static void *eventfd_one(void *arg)
{
	uint64_t one = 1;

	for (;;) {
		MUST(sizeof(one), read(work, &one, sizeof(one)));
		MUST(sizeof(one), write(reply, &one, sizeof(one)));
	}
	return arg;
}

static double eventfd_measure(const struct variant *v)
{
	fd_open(0);
	crowd(eventfd_one);
	return per_request(v->ops, fd_request);
}

const struct kind eventfd_crowd = { .measure = eventfd_measure };

/* --- epoll ---------------------------------------------------------------------------- */

static void *epoll_one(void *arg)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE };
	uint64_t one = 1;
	int epoll = epoll_create1(0);

	MUST(0, epoll_ctl(epoll, EPOLL_CTL_ADD, work, &event));
	for (;;) {
		MUST(1, epoll_wait(epoll, &event, 1, -1));
		/* another one may have been faster */
		if (read(work, &one, sizeof(one)) == sizeof(one))
			MUST(sizeof(one), write(reply, &one, sizeof(one)));
	}
	return arg;
}

static double epoll_measure(const struct variant *v)
{
	fd_open(EFD_NONBLOCK);
	/* the client's end sleeps */
	MUST(0, fcntl(reply, F_SETFL, 0));
	crowd(epoll_one);
	return per_request(v->ops, fd_request);
}

const struct kind epoll_crowd = { .measure = epoll_measure };
