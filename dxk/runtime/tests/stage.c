// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the engine's suites stand on in the kernel: engine and members are parts of
 * objects that the runtime finds from them, of which no more is set up than it touches.
 */
#include <linux/kthread.h>

#include "engine/tests/puppet.h"
#include "runtime/context.h"
#include "runtime/thread.h"

struct dxk_engine *stage_engine(struct kunit *test)
{
	struct dxk_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	u32 i;

	if (!ctx)
		return NULL;
	init_waitqueue_head(&ctx->work_wait);
	init_waitqueue_head(&ctx->item_wait);
	INIT_LIST_HEAD(&ctx->item_cancels);
	for (i = 0; i < DXK_CONTROLS; i++)
		dxk_control_init(&ctx->control[i]);
	return &ctx->engine;
}

struct dxk_member *stage_member(struct kunit *test)
{
	struct dxk_thread *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	/* Never the last one: the memory is the test's. */
	kref_init(&t->ref);
	init_waitqueue_head(&t->wait);
	INIT_LIST_HEAD(&t->outer);
	return &t->m;
}

static int stage_sleep(void *unused)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static void stage_task_end(void *task)
{
	kthread_stop(task);
}

struct task_struct *stage_task(struct kunit *test)
{
	struct task_struct *task = kthread_run(stage_sleep, NULL, "dxk-puppet");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, stage_task_end, task), 0);
	return task;
}
