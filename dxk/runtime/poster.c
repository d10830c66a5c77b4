// SPDX-License-Identifier: GPL-2.0-only
/*
 * The poster of a request, as far as its executor may know it.
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "runtime/poster.h"

/* The number of a process in a pid namespace; 0: none, or the process has gone. */
static u32 dxk_pid_in(u32 pid, struct pid_namespace *ns)
{
	u32 nr;

	if (ns == &init_pid_ns)
		return pid;
	rcu_read_lock();
	nr = pid_nr_ns(find_pid_ns(pid, &init_pid_ns), ns);
	rcu_read_unlock();
	return nr;
}

/** dxk_poster_tell - report the poster of a request to the calling worker */
void dxk_poster_tell(const struct dxk_poster *who, struct dxk_work *w)
{
	const struct dxk_poster self = dxk_poster_self();
	struct user_namespace *ns = current_user_ns();

	/* Most users are those of the initial namespace, whose ids are the kernel's. */
	w->uid = ns == &init_user_ns ? who->uid : from_kuid(ns, KUIDT_INIT(who->uid));
	w->gid = ns == &init_user_ns ? who->gid : from_kgid(ns, KGIDT_INIT(who->gid));
	w->pid = dxk_pid_in(who->pid, task_active_pid_ns(current));
	w->origin = dxk_poster_origin(who, &self);
}
