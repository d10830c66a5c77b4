// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What puppets stand on in user space: nothing is asked there of what is around them.
 */
#include "engine/tests/puppet.h"

struct dxk_engine *stage_engine(struct kunit *test)
{
	return kunit_kzalloc(test, sizeof(struct dxk_engine), GFP_KERNEL);
}

struct dxk_member *stage_member(struct kunit *test)
{
	return kunit_kzalloc(test, sizeof(struct dxk_member), GFP_KERNEL);
}

struct task_struct *stage_task(struct kunit *test)
{
	static struct task_struct task = {
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.woken = PTHREAD_COND_INITIALIZER,
	};

	return &task;
}
