// SPDX-License-Identifier: GPL-2.0-only
/*
 * Homes, seen from programs: who executes what, and on which CPUs. The order within them, and
 * what happens when their workers go, is proved by the engine's own tests (dxk_home) and by the
 * simulator.
 */
#define _GNU_SOURCE
#include "lib/puppet.h"

#include <sched.h>

#define OWNER	1
#define HOMES	2

FIXTURE(home) {
	struct dxt t;
};

FIXTURE_SETUP(home)
{
	ASSERT_EQ(0, dxt_open(&self->t));
	self->t.policy.max_waiting = 1024;
	self->t.policy.max_threads = 4;
	self->t.policy.homes = HOMES;
	no_periods(&self->t);
}

FIXTURE_TEARDOWN(home)
{
	EXPECT_EQ(0, dxt_num(&self->t, "stats/missed_wakeups"));
	dxt_down(&self->t);
}

static int send(struct dxt *t, uint32_t home, uint32_t attrs, uint64_t executor, uint64_t param)
{
	struct dxk_post_more e = {
		.post = dxt_entry(OWNER, executor, param, PXR_REJOIN | PXR_HOME | attrs),
		.home = home,
	};

	return dxk_post_more(t->member, &e, 1, 0, NULL);
}

/* A worker that joins with a home; the home that it has got. */
static unsigned int joins(struct dxt *t, unsigned int home, int *fd)
{
	*fd = dxk_member_create_home(t->ctx, DXK_MEMBER_WORKER, &home, NULL);
	return home;
}

/* FO-1: who joins is dealt to the home that is in need; what is wrong is refused */
TEST_F(home, joins)
{
	unsigned int home = HOMES + 1;
	int fd[4], i;

	ASSERT_EQ(0, dxt_start(&self->t));
	EXPECT_EQ(-EINVAL, dxk_member_create_home(self->t.ctx, DXK_MEMBER_WORKER, &home, NULL));
	home = 1;
	EXPECT_EQ(-EINVAL, dxk_member_create_home(self->t.ctx, DXK_MEMBER_CLIENT, &home, NULL));
	EXPECT_EQ(-EINVAL, dxk_member_create_home(self->t.ctx, DXK_MEMBER_SPARE, &home, NULL));
	EXPECT_EQ(2, joins(&self->t, 2, &fd[0]));
	EXPECT_EQ(1, joins(&self->t, DXK_HOME_ANY, &fd[1]));
	EXPECT_EQ(1, joins(&self->t, DXK_HOME_ANY, &fd[2]));
	EXPECT_EQ(2, joins(&self->t, DXK_HOME_ANY, &fd[3]));
	for (i = 0; i < 4; i++) {
		EXPECT_LE(0, fd[i]);
		close(fd[i]);
	}
	EXPECT_EQ(-EINVAL, send(&self->t, 0, 0, DXT_NOP, 0));
	EXPECT_EQ(-EINVAL, send(&self->t, 1, PXR_LANE0, DXT_NOP, 0));
	EXPECT_EQ(-EINVAL, send(&self->t, 1, PXR_BOOST, DXT_NOP, 0));
}

/* The kernel worker of an id, or 0. */
static pid_t kernel_worker(struct dxt *t, unsigned int id)
{
	char path[64], name[32], comm[32] = "";
	pid_t pids[16];
	int nr = dxt_kthread_pids(t, pids, 16);
	FILE *f;

	snprintf(name, sizeof(name), "dxk%u/%u\n", t->id, id);
	while (nr-- > 0) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pids[nr]);
		f = fopen(path, "r");
		if (f && fgets(comm, sizeof(comm), f) && !strcmp(comm, name)) {
			fclose(f);
			return pids[nr];
		}
		if (f)
			fclose(f);
	}
	return 0;
}

/* FO-1, FO-2: kernel workers are dealt to homes, and bound to the CPUs of theirs */
TEST_F(home, kernel_workers)
{
	struct dxk_result r[1];
	unsigned int worker[HOMES + 1] = { 0 }, i;
	cpu_set_t cpus, may;
	uint64_t nop;
	pid_t tid;

	self->t.policy.kernel_threads = self->t.policy.max_threads = HOMES;
	ASSERT_EQ(0, dxt_start(&self->t));
	ASSERT_EQ(0, dxk_executor_find(self->t.ctl, "nop", &nop));
	for (i = 0; i < 200; i++) {
		unsigned int home = 1 + i % HOMES;

		ASSERT_EQ(1, send(&self->t, home + HOMES * (i % 7), PXR_KERNEL, nop, 0));
		ASSERT_EQ(1, dxt_rejoin(self->t.member, OWNER, r, 1, 1, dxt_late(), NULL));
		if (!worker[home])
			worker[home] = r[0].worker;
		ASSERT_EQ(worker[home], r[0].worker);
	}
	EXPECT_NE(worker[1], worker[2]);
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(may), &may));
	for (i = 1; i <= HOMES; i++) {
		tid = kernel_worker(&self->t, worker[i]);
		ASSERT_LT(0, tid);
		ASSERT_EQ(0, sched_getaffinity(tid, sizeof(cpus), &cpus));
		for (int cpu = 0; cpu < 8; cpu++)
			if (CPU_ISSET(cpu, &cpus) && CPU_COUNT(&may) >= HOMES)
				EXPECT_EQ(i, 1 + cpu % HOMES);
	}
}

/* All of one home: one worker without steal, all with it */
static void one_home(struct __test_metadata *_metadata, struct dxt *t, bool steal)
{
	struct puppet *p[2];
	unsigned int i;

	t->policy.steal = steal;
	ASSERT_EQ(0, dxt_start(t));
	for (i = 0; i < 2; i++)
		p[i] = puppet_new_home(t, 1 + i);
	EXPECT_TRUE(puppet_ask(p[0]));
	EXPECT_TRUE(puppet_ask(p[1]));
	ASSERT_EQ(1, send(t, 1, 0, DXT_NOP, 1));
	EXPECT_EQ(1, puppet_end(p[0]));
	ASSERT_EQ(1, send(t, 1, 0, DXT_NOP, 2));
	if (steal) {
		EXPECT_EQ(1, puppet_end(p[1]));
		EXPECT_EQ(0, puppet_finish(p[1], 0));
	} else {
		EXPECT_EQ(1, dxt_num(t, "pools/ready_use"));
		EXPECT_TRUE(puppet_sleeps(p[1]));
		EXPECT_EQ(0, puppet_finish(p[0], 0));
		EXPECT_EQ(1, puppet_fetch(p[0]));
	}
	EXPECT_EQ(0, puppet_finish(p[0], 0));
	puppets_free(p, 2);
	EXPECT_EQ(2, dxt_drain(t, t->member, OWNER));
}

/* FO-9, S-12: only the worker of its home has it */
TEST_F(home, no_steal)
{
	one_home(_metadata, &self->t, false);
}

/* FO-9, S-12: all have it */
TEST_F(home, steal)
{
	one_home(_metadata, &self->t, true);
}

/* A home whose last worker is killed: others do its work. */
TEST_F(home, is_left)
{
	struct puppet *p[2];
	unsigned int i;

	ASSERT_EQ(0, dxt_start(&self->t));
	for (i = 0; i < 2; i++)
		p[i] = puppet_new_home(&self->t, 1 + i);
	for (i = 0; i < 10; i++)
		ASSERT_EQ(1, send(&self->t, 1, 0, DXT_NOP, i));
	EXPECT_TRUE(puppet_ask(p[1]));
	puppet_free(p[0]);
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(1, i ? puppet_fetch(p[1]) : puppet_end(p[1]));
		EXPECT_EQ(i, p[1]->work[0].param);
		EXPECT_EQ(0, puppet_finish(p[1], 0));
	}
	EXPECT_EQ(10, dxt_num(&self->t, "stats/homeless"));
	puppet_free(p[1]);
	EXPECT_EQ(10, dxt_drain(&self->t, self->t.member, OWNER));
}

TEST_HARNESS_MAIN
