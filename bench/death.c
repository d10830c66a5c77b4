// SPDX-License-Identifier: GPL-2.0-only
/*
 * A worker process is killed while it holds requests: the time from the signal until
 * its client has all of them again.
 */
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "dxk_calls.h"
#include "servers.h"

static long held;
static int ready[2];

static double until_back(int worker, long ops, long (*collect)(long ops))
{
	uint64_t start, end;
	long back;
	char byte;

	read_all(ready[0], &byte, 1);
	profile_begin();
	start = now();
	kill(worker, SIGKILL);
	back = collect(ops);
	end = now();
	profile_end();
	child_end(worker, 0);
	extra("lost", ops - back);
	return (double)(end - start) / ops;
}

static void hold_for_ever(void)
{
	write_all(ready[1], "", 1);
	for (;;)
		pause();
}

/* --- dxk ----------------------------------------------------------------------------- */

static void with_room(struct dxk_policy *policy, long unused)
{
	(void)unused;
	policy->ready_entries = policy->rejoin_entries = 1 << 14;
}

static void dxk_holder(void)
{
	struct dxk_work work[BATCH];
	struct dxk_next next = {
		.size = sizeof(next),
		.deadline = DXK_FOREVER,
		.work = (uintptr_t)work,
		.work_size = sizeof(*work),
	};
	int member = dxk_member(DXK_MEMBER_WORKER);

	close(dxk_client);
	for (long left = held; left;) {
		long got;

		next.nr_work = left < BATCH ? left : BATCH;
		got = ioctl(member, DXK_IOC_NEXT, &next);
		if (got <= 0)
			die("DXK_IOC_NEXT gave %ld", got);
		left -= got;
	}
	hold_for_ever();
}

static long dxk_back(long ops)
{
	return dxk_collect(ops, -EOWNERDEAD);
}

static double dxk_measure(const struct variant *v)
{
	struct dxk_post_entry entry[BATCH];

	for (int i = 0; i < BATCH; i++)
		entry[i] = (struct dxk_post_entry){ .owner = OWNER, .attrs = PXR_REJOIN };
	dxk_open_ctx(with_room, 0);
	MUST(0, pipe(ready));
	for (long left = v->ops; left; left -= left < BATCH ? left : BATCH)
		dxk_post_all(entry, left < BATCH ? left : BATCH);
	held = v->ops;
	return until_back(child_start(dxk_holder), v->ops, dxk_back);
}

const struct kind dxk_death = { .measure = dxk_measure };

/* --- beanstalkd ------------------------------------------------------------------------ */

static struct stream stream;

static long some(long left)
{
	return left < BATCH ? left : BATCH;
}

static void beanstalkd_holder(void)
{
	static struct stream mine;
	long ids[BATCH];

	stream_open(&mine, SOCKET);
	for (long left = held; left; left -= some(left))
		beanstalkd_reserve(&mine, some(left), ids);
	hold_for_ever();
}

static long beanstalkd_back(long ops)
{
	long ids[BATCH];

	for (long left = ops; left; left -= some(left))
		beanstalkd_reserve(&stream, some(left), ids);
	return ops;
}

static double beanstalkd_measure(const struct variant *v)
{
	int server = beanstalkd_start(SOCKET);
	double value;

	stream_open(&stream, SOCKET);
	MUST(0, pipe(ready));
	for (long left = v->ops; left; left -= some(left))
		beanstalkd_put(&stream, some(left), 0);
	held = v->ops;
	value = until_back(child_start(beanstalkd_holder), v->ops, beanstalkd_back);
	child_end(server, SIGKILL);
	return value;
}

const struct kind beanstalkd_death = { .measure = beanstalkd_measure };
