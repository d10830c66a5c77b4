// SPDX-License-Identifier: GPL-2.0-only
/*
 * exec(2) by another thread than the first one of its process, which gives it the pid
 * of that one: whose is a member then (DX-23, DX-25)?
 */
#include "fd.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TOLD	"DXK_FD_EXEC"

/* A worker that executes a request, and its member that outlives exec(2). */
struct keeper {
	int member;
	unsigned long long ticket;
};

struct family {
	const struct dxt *t;
	struct keeper first;
	struct keeper second;
	int self;
	_Atomic int fetched;
};

static int complete(int member, unsigned long long ticket)
{
	struct dxk_done done = { .ticket = ticket };

	return dxk_next(member, &done, 1, NULL, NULL, 0, NULL, 0, 0);
}

/* In the program that exec(2) starts: bits for what is not as it should be. */
static void __attribute__((constructor)) after_exec(void)
{
	const char *told = getenv(TOLD);
	struct keeper first, second;

	if (!told || sscanf(told, "%d %llu %d %llu", &first.member, &first.ticket,
			    &second.member, &second.ticket) != 4)
		return;
	_exit((complete(first.member, first.ticket) == -EPERM ? 0 : 1) |
	      (complete(second.member, second.ticket) == 0 ? 0 : 2) |
	      (all_refused(first.member, true) == -EPERM ? 0 : 4));
}

static void fetch(const struct dxt *t, struct keeper *k)
{
	struct dxk_work work;

	k->member = dxk_member_create(t->ctx, DXK_MEMBER_WORKER, NULL);
	if (dxk_next(k->member, NULL, 0, NULL, &work, 1, NULL, 0, -1) != 1 ||
	    fcntl(k->member, F_SETFD, 0))
		_exit(100);
	k->ticket = work.ticket;
}

/* It is the first thread afterwards, whether that has ended yet or not. */
static void *fetch_and_exec(void *arg)
{
	struct family *f = arg;
	char told[100];

	fetch(f->t, &f->second);
	snprintf(told, sizeof(told), "%d %llu %d %llu", f->first.member, f->first.ticket,
		 f->second.member, f->second.ticket);
	setenv(TOLD, told, 1);
	f->fetched = 1;
	fexecve(f->self, (char *[]){ "fd_exec", NULL }, environ);
	_exit(102);
}

static void first_thread(const struct dxt *t)
{
	struct family f = { .t = t };
	pthread_t thread;

	f.self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	fetch(t, &f.first);
	if (pthread_create(&thread, NULL, fetch_and_exec, &f))
		_exit(101);
	while (!f.fetched)
		sched_yield();
	syscall(SYS_exit, 0);
}

/*
 * What the first thread executed ends with it, and nobody speaks for it any more, be the
 * pid now that of the other one. The other one's member goes on, for its thread does.
 */
TEST(exec_by_the_second_thread)
{
	struct dxk_result r[2];
	struct dxt t;
	pid_t pid;

	ASSERT_EQ(0, dxt_open(&t));
	t.policy.max_threads = 2;
	t.policy.monitor_interval_ms = 20;
	ASSERT_EQ(0, dxt_start(&t));
	ASSERT_EQ(1, post_one(&t, 0, 0));
	ASSERT_EQ(1, post_one(&t, 0, 0));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid)
		first_thread(&t);
	EXPECT_EQ(0, dxt_reap(pid));
	ASSERT_EQ(2, dxt_rejoin(t.member, OWNER, r, 2, 2, dxt_late(), NULL));
	EXPECT_EQ(-EOWNERDEAD, r[0].status + r[1].status);
	EXPECT_TRUE(!r[0].status || !r[1].status);
	SOON(&t, dxt_num(&t, "pools/thread_use") == 0);
	dxt_down(&t);
}

TEST_HARNESS_MAIN
