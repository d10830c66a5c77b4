// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the importing side of dxkd does with a context, and with what is posted there and does not
 * go to the broker. There is none.
 */
/* link.c has another one */
#define grow grow_array
#include "../tools/dxkd/config.c"
#undef grow
#include "../tools/dxkd/judge.c"
#include "../tools/dxkd/message.c"
#include "../tools/dxkd/link.c"
#include "../tools/dxkd/payload.c"
#include "../tools/dxkd/closer.c"
#include "../tools/dxkd/import.c"

#include "lib/fuse.h"

#include <sys/resource.h>

#define NAME	"dxkd-context-test"

const char *tool = "dxkd";

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC_PER_SEC + (uint64_t)ts.tv_nsec;
}

FIXTURE(context) {
	struct broker broker;
	struct service cfg;
	struct import *m;
	struct fusefs *fs;
	int ctl, ctx, me;
};

FIXTURE_SETUP(context)
{
	self->ctx = self->me = -1;
	self->cfg = (struct service){
		.name = "test", .broker = &self->broker, .context = NAME,
		.window = CLOSER_MAX + 2, .mode = 0600, .data_size = 64, .payload_max = 4096,
	};
	self->m = (struct import *)import_new(&self->cfg);
	self->ctl = dxk_open();
	ASSERT_LE(0, self->ctl);
}

FIXTURE_TEARDOWN(context)
{
	int fds[] = { self->me, self->ctx, self->ctl };

	if (self->fs)
		fuse_down(self->fs);
	import_close(&self->m->task);
	for (unsigned int i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* The daemon has it, and a program is there that posts. Return: 0 or a negative errno */
static int context_up(FIXTURE_DATA(context) *self)
{
	context_try(self->m, now_ns());
	if (!self->m->places)
		return self->m->said;
	self->ctx = dxk_ctx_join(self->ctl, NAME, DXK_ACCESS_WRITE, 0, NULL);
	self->me = dxk_member_create(self->ctx, DXK_MEMBER_CLIENT, NULL);
	return self->me < 0 ? self->me : 0;
}

/*
 * Files that do not travel are refused, and who has passed them decides when their close returns:
 * dxkd goes on meanwhile, until there are too many, and then again.
 */
TEST_F(context, refused_files)
{
	struct dxk_post_entry e = { .owner = 1, .attrs = PXR_REJOIN | PXR_FD };
	struct import *m = self->m;
	struct dxk_result result;
	uint64_t now = now_ns();
	unsigned int i, answer;

	self->fs = fuse_up(false);
	if (!self->fs)
		SKIP(return, "this kernel has no FUSE");
	ASSERT_EQ(0, context_up(self));
	e.fd = open(FUSE_FILE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, e.fd);
	self->fs->hang = FUSE_FLUSH;
	for (i = 0; i < CLOSER_MAX + 1; i++)
		ASSERT_EQ(1, dxk_post(self->me, &e, 1, 0, NULL));
	fetch(m);
	EXPECT_EQ(CLOSER_MAX, m->counts.refused);
	for (i = 0; i < CLOSER_MAX; i++) {
		ASSERT_EQ(1, dxk_rejoin(self->me, 1, &result, 1, 0, NULL, 0, 0, &answer));
		EXPECT_EQ(-EOPNOTSUPP, result.status);
	}
	EXPECT_TRUE(held_up(m, now));
	EXPECT_EQ(now + CLOSED_LATE, m->full);
	EXPECT_TRUE(held_up(m, m->full));
	EXPECT_EQ(NEVER, m->full);
	fetch(m);
	EXPECT_EQ(CLOSER_MAX, m->counts.refused);
	EXPECT_TRUE(DXT_SOON(self->fs->hung == 1));

	fuse_down(self->fs);
	self->fs = NULL;
	EXPECT_TRUE(DXT_SOON(!held_up(m, now)));
	EXPECT_EQ(0, m->full);
	fetch(m);
	EXPECT_EQ(CLOSER_MAX + 1, m->counts.refused);
	close(e.fd);
}

/* Who posts what cannot be sent, faster than it is refused, keeps the daemon from nothing. */
TEST_F(context, refused_for_ever)
{
	struct dxk_post_entry e = { .owner = 1, .attrs = PXR_REJOIN };
	struct dxk_result result;
	unsigned int i, answer;

	ASSERT_EQ(0, context_up(self));
	self->m->nowhere = true;
	for (i = 0; i < 100; i++)
		ASSERT_EQ(1, dxk_post(self->me, &e, 1, 0, NULL));
	for (i = 1; i <= 2; i++) {
		turn(self->m, &self->m->places[0], NULL);
		EXPECT_EQ(IDLE, self->m->places[0].at);
		EXPECT_EQ(i, self->m->counts.refused);
		ASSERT_EQ(1, dxk_rejoin(self->me, 1, &result, 1, 0, NULL, 0, 0, &answer));
		EXPECT_EQ(-EHOSTUNREACH, result.status);
		EXPECT_EQ(0, dxk_rejoin(self->me, 1, &result, 1, 0, NULL, 0, 0, &answer));
	}
}

/* Without a descriptor for a request's file the daemon waits a little, and does not spin. */
TEST_F(context, no_descriptor)
{
	struct dxk_post_entry e = { .owner = 1, .attrs = PXR_REJOIN | PXR_FD };
	struct task *task = &self->m->task;
	struct pollfd fds[TASK_FDS];
	struct rlimit few, all;
	uint64_t now = now_ns();
	int free_one;

	ASSERT_EQ(0, context_up(self));
	e.fd = payload_make("content", 7);
	ASSERT_LE(0, e.fd);
	ASSERT_EQ(1, dxk_post(self->me, &e, 1, 0, NULL));
	free_one = dup(e.fd);
	close(free_one);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &all));
	few = all;
	few.rlim_cur = (rlim_t)free_one;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
	self->m->in.retry = self->m->out.retry = NEVER;
	EXPECT_EQ(now + FETCH_AGAIN, import_run(task, now));
	import_poll(task, fds);
	EXPECT_EQ(-1, fds[2].fd);
	EXPECT_EQ(0, self->m->nr_unsent);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &all));
	import_run(task, now);
	import_poll(task, fds);
	EXPECT_EQ(self->m->epoll, fds[2].fd);
	EXPECT_EQ(1, self->m->nr_unsent);
	close(e.fd);
}

/*
 * A context that somebody has made is run with the policy of the service, also where that has no
 * word of its own. Of one that runs the workers must not have to wait.
 */
TEST_F(context, of_others)
{
	struct dxk_ctx_create create = { .name = NAME, .mode = 0600 };
	struct dxk_policy policy;

	self->cfg.max_waiting = 9;
	self->ctx = dxk_ctx_create_as(self->ctl, &create);
	ASSERT_LE(0, self->ctx);
	ASSERT_EQ(0, dxk_policy_get(self->ctx, &policy));
	policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	policy.sched_mode = TPOOL_MODE_CMLS;
	ASSERT_EQ(0, dxk_policy_set(self->ctx, &policy, NULL));
	context_try(self->m, now_ns());
	EXPECT_EQ(0, self->m->said);
	ASSERT_EQ(0, dxk_policy_get(self->ctx, &policy));
	EXPECT_EQ(self->cfg.window, policy.max_threads);
	EXPECT_EQ(9, policy.max_waiting);
	EXPECT_EQ(DXK_REJOIN_GROW, policy.rejoin_full);
	EXPECT_EQ(0, policy.sched_mode);

	/* as after the death of a daemon: it runs, and is joined */
	context_close(self->m);
	context_try(self->m, now_ns());
	EXPECT_EQ(0, self->m->said);
	context_close(self->m);

	ASSERT_EQ(0, dxk_ctx_stop(self->ctx, DXK_STOP_DRAIN, -1));
	policy.rejoin_full = DXK_REJOIN_BLOCK_WORKER;
	ASSERT_EQ(0, dxk_policy_set(self->ctx, &policy, NULL));
	ASSERT_EQ(0, dxk_ctx_start(self->ctx));
	context_try(self->m, now_ns());
	EXPECT_EQ(-EOPNOTSUPP, self->m->said);
	EXPECT_EQ(NULL, self->m->places);
}

TEST_HARNESS_MAIN
