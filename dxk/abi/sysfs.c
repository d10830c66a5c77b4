// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/dxk/<context>: policy, pools, lanes, threads and counters, one value
 * a file; and the requests that wait, as many as there is room for in one file, a line each.
 * Documentation/ABI describes them.
 */
#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/jiffies.h>
#include <linux/kobject.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/stringify.h>
#include <linux/sysfs.h>

#include "abi/sysfs.h"
#include "dxk_api.h"
#include "engine/os.h"
#include "runtime/context.h"
#include "runtime/cpus.h"
#include "runtime/figures.h"
#include "runtime/policy.h"
#include "runtime/waiting.h"

static struct dxk_ctx *dxk_kobj_ctx(struct kobject *kobj)
{
	return container_of(kobj, struct dxk_ctx, kobj);
}

/* An attribute of the context, with a number that selects it. */
struct dxk_attr {
	struct attribute attr;
	ssize_t (*show)(struct dxk_ctx *ctx, u32 which, char *buf);
	ssize_t (*store)(struct dxk_ctx *ctx, u32 which, const char *buf, size_t n);
	u32 which;
};

#define DXK_ATTR(_name, _which, _mode, _show, _store)			\
	(&((struct dxk_attr) {						\
		.attr = { .name = _name, .mode = _mode },		\
		.show = _show, .store = _store, .which = _which,	\
	}).attr)

/** dxk_sysfs_permit - check the namespace, in addition to the permissions of the context */
int dxk_sysfs_permit(const struct dxk_ctx *ctx)
{
	return dxk_identity_here(&ctx->who) || capable(CAP_SYS_ADMIN) ? 0 : -EACCES;
}

/** dxk_sysfs_mode - files have the permissions of the context */
umode_t dxk_sysfs_mode(const struct dxk_ctx *ctx, const struct attribute *attr)
{
	/* Its mode decides who may read it; the owner has control in any case. */
	return attr->mode & (ctx->who.mode | 0600);
}

static umode_t dxk_ctx_attr_mode(struct kobject *kobj, struct attribute *attr, int i)
{
	return dxk_sysfs_mode(dxk_kobj_ctx(kobj), attr);
}

static ssize_t dxk_ctx_attr_show(struct kobject *kobj, struct attribute *attr,
				 char *buf)
{
	struct dxk_attr *a = container_of(attr, struct dxk_attr, attr);
	ssize_t n = dxk_sysfs_permit(dxk_kobj_ctx(kobj));

	if (n)
		return n;
	os_turn_begin(OS_SHOW);
	n = a->show(dxk_kobj_ctx(kobj), a->which, buf);
	os_turn_end(OS_SHOW);
	return n;
}

static ssize_t dxk_ctx_attr_store(struct kobject *kobj, struct attribute *attr,
				  const char *buf, size_t n)
{
	struct dxk_attr *a = container_of(attr, struct dxk_attr, attr);
	int err = dxk_sysfs_permit(dxk_kobj_ctx(kobj));
	ssize_t stored = -EIO;

	if (err)
		return err;
	os_turn_begin(OS_SHOW);
	if (a->store)
		stored = a->store(dxk_kobj_ctx(kobj), a->which, buf, n);
	os_turn_end(OS_SHOW);
	return stored;
}

const struct sysfs_ops dxk_ctx_sysfs_ops = {
	.show = dxk_ctx_attr_show,
	.store = dxk_ctx_attr_store,
};

/* --- policy ---------------------------------------------------------------- */

static ssize_t dxk_policy_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	struct dxk_policy policy;

	dxk_policy_get(ctx, &policy);
	return sysfs_emit(buf, "%u\n", *dxk_field_of(&policy, &dxk_fields[which]));
}

static ssize_t dxk_policy_store(struct dxk_ctx *ctx, u32 which, const char *buf,
				size_t n)
{
	u32 value;
	int err;

	err = kstrtou32(buf, 0, &value);
	if (!err)
		err = dxk_policy_set_field(ctx, &dxk_fields[which], value, NULL);
	return err ?: n;
}

/* struct dxk_policy has no room for a list; a page has room for the maximum number of CPUs. */
static ssize_t dxk_cpus_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	cpumask_var_t cpus;
	ssize_t n;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	dxk_cpus_get(ctx, cpus);
	n = cpumap_print_to_pagebuf(true, buf, cpus);
	free_cpumask_var(cpus);
	return n;
}

/* Return: 0; -EINVAL: it is no list; -ENODEV: it has CPUs that cannot exist here. */
static int dxk_cpus_parse(const char *buf, size_t n, struct cpumask *cpus)
{
	const char *end = strchr(buf, '\n');
	int err;

	/* Its parser would not read beyond the first line. */
	if (strlen(buf) != n || (end && end[1]))
		return -EINVAL;
	err = cpulist_parse(buf, cpus);
	return err == -ERANGE || err == -EOVERFLOW ? -ENODEV : err;
}

static ssize_t dxk_cpus_store(struct dxk_ctx *ctx, u32 which, const char *buf, size_t n)
{
	cpumask_var_t cpus;
	int err;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL_ACCOUNT))
		return -ENOMEM;
	err = dxk_cpus_parse(buf, n, cpus) ?: dxk_ctx_set_cpus(ctx, cpus);
	free_cpumask_var(cpus);
	return err ?: n;
}

static struct dxk_attr dxk_cpus_attr = {
	.attr = { .name = "cpus", .mode = 0644 },
	.show = dxk_cpus_show, .store = dxk_cpus_store,
};

/* Filled from the table of fields; the last one is of the CPUs. */
#define DXK_POLICY_ATTRS	48
static struct dxk_attr dxk_policy_attr[DXK_POLICY_ATTRS];
static struct attribute *dxk_policy_attrs[DXK_POLICY_ATTRS + 2];

static const struct attribute_group dxk_policy_group = {
	.name = "policy",
	.is_visible = dxk_ctx_attr_mode,
	.attrs = dxk_policy_attrs,
};

/* --- pools ----------------------------------------------------------------- */

static ssize_t dxk_pool_size_show(struct dxk_ctx *ctx, u32 pool, char *buf)
{
	return sysfs_emit(buf, "%u\n", dxk_pool_size(ctx, pool));
}

static ssize_t dxk_pool_use_show(struct dxk_ctx *ctx, u32 pool, char *buf)
{
	return sysfs_emit(buf, "%u\n", dxk_pool_use(ctx, pool));
}

static ssize_t dxk_pool_high_show(struct dxk_ctx *ctx, u32 pool, char *buf)
{
	return sysfs_emit(buf, "%u\n", dxk_pool_high(ctx, pool));
}

static ssize_t dxk_pool_busy_show(struct dxk_ctx *ctx, u32 pool, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ctx->engine.nr[DXK_AT_WORK]));
}

static ssize_t dxk_pool_spares_show(struct dxk_ctx *ctx, u32 pool, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ctx->engine.crew.spares[DXK_USER]) +
				       READ_ONCE(ctx->engine.crew.spares[DXK_KERNEL]));
}

/* The result of policy autotune. */
static ssize_t dxk_pool_target_show(struct dxk_ctx *ctx, u32 pool, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ctx->engine.autotune.tune.target));
}

static ssize_t dxk_pool_rate_show(struct dxk_ctx *ctx, u32 pool, char *buf)
{
	return sysfs_emit(buf, "%llu\n", div_u64(READ_ONCE(ctx->engine.autotune.tune.rate), 1000));
}

/* Counters of the Log Pool, which has its own lock. */
static ssize_t dxk_log_counter(struct dxk_log *log, const u64 *counter, char *buf)
{
	unsigned long flags;
	u64 value;

	spin_lock_irqsave(&log->lock, flags);
	value = *counter;
	spin_unlock_irqrestore(&log->lock, flags);
	return sysfs_emit(buf, "%llu\n", value);
}

static ssize_t dxk_log_lost_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return dxk_log_counter(&ctx->log, &ctx->log.lost, buf);
}

static ssize_t dxk_log_unwritten_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return sysfs_emit(buf, "%llu\n", dxk_log_unwritten(&ctx->log));
}

static ssize_t dxk_log_blocks_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return dxk_log_counter(&ctx->log, &ctx->log.blocks, buf);
}

static ssize_t dxk_log_block_ns_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return dxk_log_counter(&ctx->log, &ctx->log.block_ns, buf);
}

#define DXK_POOL(_name, _pool)							\
	DXK_ATTR(_name "_size", _pool, 0444, dxk_pool_size_show, NULL),		\
	DXK_ATTR(_name "_use", _pool, 0444, dxk_pool_use_show, NULL),		\
	DXK_ATTR(_name "_high_water", _pool, 0444, dxk_pool_high_show, NULL)

static struct attribute *dxk_pool_attrs[] = {
	DXK_POOL("thread", DXK_POOL_THREAD),
	DXK_ATTR("thread_busy", DXK_POOL_THREAD, 0444, dxk_pool_busy_show, NULL),
	DXK_ATTR("thread_spares", DXK_POOL_THREAD, 0444, dxk_pool_spares_show, NULL),
	DXK_ATTR("thread_target", DXK_POOL_THREAD, 0444, dxk_pool_target_show, NULL),
	DXK_ATTR("thread_rate", DXK_POOL_THREAD, 0444, dxk_pool_rate_show, NULL),
	DXK_POOL("ready", DXK_POOL_READY),
	DXK_POOL("rejoin", DXK_POOL_REJOIN),
	DXK_POOL("wait", DXK_POOL_WAIT),
	DXK_POOL("log", DXK_POOL_LOG),
	DXK_ATTR("log_lost", 0, 0444, dxk_log_lost_show, NULL),
	DXK_ATTR("log_unwritten", 0, 0444, dxk_log_unwritten_show, NULL),
	DXK_ATTR("log_blocks", 0, 0444, dxk_log_blocks_show, NULL),
	DXK_ATTR("log_block_ns", 0, 0444, dxk_log_block_ns_show, NULL),
	DXK_POOL("handle", DXK_POOL_HANDLE),
	NULL
};

static const struct attribute_group dxk_pool_group = {
	.name = "pools",
	.is_visible = dxk_ctx_attr_mode,
	.attrs = dxk_pool_attrs,
};

/* --- lanes ----------------------------------------------------------------- */

static ssize_t dxk_lane_use_show(struct dxk_ctx *ctx, u32 key, char *buf)
{
	return sysfs_emit(buf, "%u\n", dxk_lane_use(ctx, key));
}

static ssize_t dxk_lane_limit_show(struct dxk_ctx *ctx, u32 key, char *buf)
{
	return sysfs_emit(buf, "%u\n", dxk_lane_limit(ctx, key));
}

static ssize_t dxk_lane_waiters_show(struct dxk_ctx *ctx, u32 key, char *buf)
{
	return sysfs_emit(buf, "%u\n", dxk_lane_waiters(ctx, key));
}

#define DXK_LANE(_name, _res, _lane)						\
	DXK_ATTR(_name "_lane" #_lane "_in_use", DXK_LANE_KEY(_res, _lane),	\
		 0444, dxk_lane_use_show, NULL),				\
	DXK_ATTR(_name "_lane" #_lane "_limit", DXK_LANE_KEY(_res, _lane),	\
		 0444, dxk_lane_limit_show, NULL),				\
	DXK_ATTR(_name "_lane" #_lane "_waiters", DXK_LANE_KEY(_res, _lane),	\
		 0444, dxk_lane_waiters_show, NULL)
#define DXK_RESOURCE(_name, _res)						\
	DXK_LANE(_name, _res, 0), DXK_LANE(_name, _res, 1),			\
	DXK_LANE(_name, _res, 2), DXK_LANE(_name, _res, 3)

static struct attribute *dxk_lane_attrs[] = {
	DXK_RESOURCE("ready", DXK_RES_READY),
	DXK_RESOURCE("user", DXK_RES_USER),
	DXK_RESOURCE("kernel", DXK_RES_KERNEL),
	NULL
};

static const struct attribute_group dxk_lane_group = {
	.name = "lanes",
	.is_visible = dxk_ctx_attr_mode,
	.attrs = dxk_lane_attrs,
};

/* --- counters -------------------------------------------------------------- */

static ssize_t dxk_counter(struct dxk_engine *e, const u64 *counter, char *buf)
{
	u64 value;

	spin_lock(&e->lock);
	value = *counter;
	spin_unlock(&e->lock);
	return sysfs_emit(buf, "%llu\n", value);
}

#define DXK_STAT_SHOW(_name)							\
static ssize_t dxk_stat_##_name##_show(struct dxk_ctx *ctx, u32 which, char *buf)	\
{										\
	return dxk_counter(&ctx->engine, &ctx->engine.stats._name, buf);	\
}

DXK_STATS(DXK_STAT_SHOW)

#define DXK_STAT_ATTR(_name)							\
	DXK_ATTR(#_name, 0, 0444, dxk_stat_##_name##_show, NULL),

static struct attribute *dxk_stat_attrs[] = {
	DXK_STATS(DXK_STAT_ATTR)
	NULL
};

static const struct attribute_group dxk_stat_group = {
	.name = "stats",
	.is_visible = dxk_ctx_attr_mode,
	.attrs = dxk_stat_attrs,
};

/* --- the context ----------------------------------------------------------- */

static ssize_t dxk_state_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	static const char * const name[] = {
		[DXK_CTX_NEW] = "new",
		[DXK_CTX_STARTING] = "starting",
		[DXK_CTX_RUNNING] = "running",
		[DXK_CTX_STOPPING] = "stopping",
		[DXK_CTX_STOPPED] = "stopped",
	};

	/* It has no descriptor any more, but parts of it have not ended. */
	if (READ_ONCE(ctx->engine.run.closed))
		return sysfs_emit(buf, "dead\n");
	return sysfs_emit(buf, "%s\n", name[dxk_run_state(&ctx->engine)]);
}

static ssize_t dxk_owners_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ctx->engine.owners.nr));
}

static ssize_t dxk_waiting_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	struct dxk_waiting *seen __free(kfree) = NULL;
	char words[DXK_WAITING_TEXT];
	u32 i, nr, all;
	int len = 0;

	seen = kcalloc(DXK_WAITING_MAX, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	if (!seen)
		return -ENOMEM;
	nr = dxk_waiting_look(&ctx->engine, seen, DXK_WAITING_MAX, &all);
	for (i = 0; i < nr && len < PAGE_SIZE - 2 * DXK_WAITING_TEXT; i++) {
		dxk_waiting_text(&ctx->labels, &seen[i], words);
		len += sysfs_emit_at(buf, len, "age_ms %u %s\n", dxk_waiting_age_ms(&seen[i]),
				     words);
	}
	return len;
}

static ssize_t dxk_keys_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	struct dxk_key_seen *seen __free(kfree) = NULL;
	char words[DXK_WAITING_TEXT];
	int len = 0;
	u32 i, nr;

	seen = kcalloc(DXK_KEYS_MAX, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	if (!seen)
		return -ENOMEM;
	nr = dxk_keys_look(&ctx->engine, seen, DXK_KEYS_MAX);
	for (i = 0; i < nr && len < PAGE_SIZE - DXK_WAITING_TEXT; i++) {
		dxk_key_text(&ctx->labels, &seen[i], words);
		len += sysfs_emit_at(buf, len, "%s\n", words);
	}
	return len;
}

static ssize_t dxk_instruments_file_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return dxk_instruments_show(&ctx->instruments, buf);
}

static ssize_t dxk_labels_file_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return dxk_labels_show(&ctx->labels, buf);
}

static ssize_t dxk_name_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	/* The name of a dead context may be another one's by now. */
	return sysfs_emit(buf, "%s\n",
			  READ_ONCE(ctx->engine.run.closed) ? "" : ctx->who.name);
}

static ssize_t dxk_uid_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return sysfs_emit(buf, "%u\n", from_kuid_munged(current_user_ns(), ctx->who.uid));
}

static ssize_t dxk_gid_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return sysfs_emit(buf, "%u\n", from_kgid_munged(current_user_ns(), ctx->who.gid));
}

static ssize_t dxk_mode_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return sysfs_emit(buf, "%04o\n", ctx->who.mode);
}

static ssize_t dxk_descriptors_show(struct dxk_ctx *ctx, u32 which, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(ctx->descriptors));
}

static struct attribute *dxk_ctx_attrs[] = {
	DXK_ATTR("name", 0, 0444, dxk_name_show, NULL),
	DXK_ATTR("uid", 0, 0444, dxk_uid_show, NULL),
	DXK_ATTR("gid", 0, 0444, dxk_gid_show, NULL),
	DXK_ATTR("mode", 0, 0444, dxk_mode_show, NULL),
	DXK_ATTR("descriptors", 0, 0444, dxk_descriptors_show, NULL),
	DXK_ATTR("state", 0, 0444, dxk_state_show, NULL),
	DXK_ATTR("owners", 0, 0444, dxk_owners_show, NULL),
	DXK_ATTR("waiting", 0, 0444, dxk_waiting_show, NULL),
	DXK_ATTR("keys", 0, 0444, dxk_keys_show, NULL),
	DXK_ATTR("instruments", 0, 0444, dxk_instruments_file_show, NULL),
	DXK_ATTR("labels", 0, 0444, dxk_labels_file_show, NULL),
	NULL
};

static const struct attribute_group dxk_ctx_group = {
	.is_visible = dxk_ctx_attr_mode,
	.attrs = dxk_ctx_attrs,
};

/* From its creation on... */
const struct attribute_group *dxk_ctx_groups[] = {
	&dxk_ctx_group,
	&dxk_policy_group,
	NULL
};

/* ...and from its first Start on. */
const struct attribute_group *dxk_run_groups[] = {
	&dxk_pool_group,
	&dxk_lane_group,
	&dxk_stat_group,
	NULL
};

/** dxk_sysfs_init - make the policy's files from the table of its fields */
void dxk_sysfs_init(void)
{
	u32 i;

	BUILD_BUG_ON(sizeof(struct dxk_policy) / sizeof(u32) > DXK_POLICY_ATTRS);
	for (i = 0; i < dxk_fields_nr; i++) {
		struct dxk_attr *a = &dxk_policy_attr[i];

		a->attr.name = dxk_fields[i].name;
		a->attr.mode = dxk_fields[i].dynamic ? 0644 : 0444;
		a->show = dxk_policy_show;
		a->store = dxk_fields[i].dynamic ? dxk_policy_store : NULL;
		a->which = i;
		dxk_policy_attrs[i] = &a->attr;
	}
	dxk_policy_attrs[i] = &dxk_cpus_attr.attr;
}
