/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The context: one runtime with its engine, its services, its control threads and crew.
 *
 * Locking. Beside those of engine/engine.h there are these letters:
 *
 *   N  dxk_sessions_lock: which contexts can be joined, see session.c
 *   M  dxk_ctx.mutex: what control calls and the Monitor change
 *   H  dxk_handles.lock: the Handle Table
 *
 * Order: dxk_sessions_lock, dxk_ctx.mutex, dxk_handles.lock, dxk_engine.lock. The log has
 * locks of its own, see services/log.h: dxk_ctx.mutex, then dxk_log.drain; dxk_log.lock
 * inside of whatever its caller holds.
 */
#ifndef _DXK_RUNTIME_CONTEXT_H
#define _DXK_RUNTIME_CONTEXT_H

#include <linux/completion.h>
#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/wait.h>
#include <linux/xarray.h>

#include "engine/engine.h"
#include "runtime/control.h"
#include "runtime/identity.h"
#include "runtime/report.h"
#include "services/command.h"
#include "services/handle.h"
#include "services/log.h"
#include "services/sample.h"

/**
 * struct dxk_ctx - a context
 */
struct dxk_ctx {
	/** @engine: what requests are, and every move that they make */
	struct dxk_engine engine;

	/** @mutex: see above */
	struct mutex mutex;
	/** @next_policy: (M) what the Monitor's next review puts into force */
	struct dxk_policy next_policy;
	/** @policy_changed: (M) @next_policy differs from the engine's policy */
	bool policy_changed;
	/** @crew_wanted: (M) Start asks the Monitor for the workers */
	bool crew_wanted;
	/** @crew_err: (M) result of the Monitor's start of the workers */
	int crew_err;
	/** @crew_up: the Monitor has started the workers, or failed */
	struct completion crew_up;
	/** @control: threads 500, 600 and 700, by enum dxk_control_id */
	struct dxk_control control[DXK_CONTROLS];
	/** @members: (M) struct dxk_member by thread id */
	struct xarray members;
	/** @shown: (M) it has the files that come with the first Start */
	bool shown;
	/** @threads: (C) directory of the members in sysfs */
	struct kobject *threads;
	/** @work_wait: user workers in poll(2) sleep here */
	wait_queue_head_t work_wait;

	/** @report: the Monitor's watch for stalls */
	struct dxk_report report;
	/** @samples: of the instrumentation package */
	struct dxk_samples samples;
	/** @log: the Log Pool */
	struct dxk_log log;
	/** @handles: the Handle Table */
	struct dxk_handles handles;
	/** @commands: the command handler and what waits for it */
	struct dxk_commands commands;

	/** @who: (C) name, owner and permissions */
	struct dxk_identity who;
	/** @joinable: (N) in the list of contexts */
	struct list_head joinable;
	/** @descriptors: (N) open context descriptors; read by anybody */
	u32 descriptors;
	/** @id: (C) name below /sys/kernel/dxk */
	u32 id;
	/** @closed: (M) the context descriptor is gone */
	bool closed;
	/** @kobj: holds the object; members hold it through their parent directory */
	struct kobject kobj;
};

static inline struct dxk_ctx *dxk_ctx_of(struct dxk_engine *e)
{
	return container_of(e, struct dxk_ctx, engine);
}

static inline struct dxk_ctx *dxk_member_ctx(const struct dxk_member *m)
{
	return dxk_ctx_of(m->engine);
}

struct dxk_ctx *dxk_ctx_make(const struct dxk_ctx_create *a);

void dxk_ctx_init(struct kobject *parent, const struct sysfs_ops *ops,
		  const struct attribute_group **groups);
void dxk_ctx_exit(void);

#endif /* _DXK_RUNTIME_CONTEXT_H */
