/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _DXK_RUNTIME_POSTER_H
#define _DXK_RUNTIME_POSTER_H

#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/user_namespace.h>

#include "engine/request.h"

struct dxk_work;

/**
 * dxk_poster_self - identify the caller
 *
 * The image is the time at which the process began, plus one for each exec(2). A process
 * that gets the same pid later begins later than that, so its images are larger.
 */
static inline struct dxk_poster dxk_poster_self(void)
{
	const struct cred *cred = current_cred();

	return (struct dxk_poster) {
		/* While this thread lives, no other thread of its process completes an exec. */
		.image = current->group_leader->start_boottime + current->self_exec_id,
		.pid = current->tgid,
		.uid = __kuid_val(cred->euid),
		.gid = __kgid_val(cred->egid),
	};
}

/** dxk_poster_origin - the bits that describe @who to the process of @self */
static inline u32 dxk_poster_origin(const struct dxk_poster *who, const struct dxk_poster *self)
{
	return who->pid == self->pid && who->image == self->image ? DXK_POSTED_HERE : 0;
}

/** dxk_poster_numbers - are the caller's user and process ids those of the kernel? */
static inline bool dxk_poster_numbers(void)
{
	return current_user_ns() == &init_user_ns &&
	       task_active_pid_ns(current) == &init_pid_ns;
}

void dxk_poster_tell(const struct dxk_poster *who, struct dxk_work *w);

#endif /* _DXK_RUNTIME_POSTER_H */
