// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/dxk/<context>/threads/<id>: one slot in the Thread Pool. Documentation/ABI describes
 * the files.
 */
#include <linux/jiffies.h>
#include <linux/kobject.h>
#include <linux/pid.h>
#include <linux/sysfs.h>

#include "abi/sysfs.h"
#include "engine/os.h"
#include "runtime/context.h"
#include "runtime/slot.h"

static struct dxk_slot *dxk_slot_of(struct kobject *kobj)
{
	return container_of(kobj, struct dxk_slot, kobj);
}

static struct dxk_slot_seen dxk_slot_seen(struct kobject *kobj)
{
	struct dxk_slot *slot = dxk_slot_of(kobj);
	struct dxk_slot_seen seen;

	spin_lock(&slot->ctx->engine.lock);
	dxk_slot_look(slot, &seen);
	spin_unlock(&slot->ctx->engine.lock);
	return seen;
}

static ssize_t state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", dxk_slot_seen(kobj).state);
}

static ssize_t role_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", dxk_slot_seen(kobj).role);
}

static ssize_t age_ms_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", dxk_slot_seen(kobj).age_ms);
}

static ssize_t executed_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%llu\n", dxk_slot_seen(kobj).executed);
}

static ssize_t pid_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", dxk_slot_seen(kobj).pid);
}

/* Owners with their space: equal numbers of two processes are two owners. */
static ssize_t executes_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct dxk_labels *labels = &dxk_slot_of(kobj)->ctx->labels;
	struct dxk_sleeper does = dxk_slot_seen(kobj).does;
	char label[DXK_LABEL_TEXT];
	int len;

	if (!does.held)
		return sysfs_emit(buf, "\n");
	len = sysfs_emit(buf, "lane %d owner %u:%#llx executor %#llx%s",
			 dxk_lane_of(does.work.attrs), does.work_space, does.work.owner,
			 does.work.executor,
			 dxk_label_text(labels, does.work_space, does.work.executor,
					does.work.attrs, label));
	if (does.held > 1)
		len += sysfs_emit_at(buf, len, " last of %u", does.held);
	return len + sysfs_emit_at(buf, len, "\n");
}

static ssize_t awaits_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct dxk_sleeper does = dxk_slot_seen(kobj).does;

	switch (does.state) {
	case DXK_M_REJOINING:
		return sysfs_emit(buf, "owner %u:%#llx\n", does.space, does.awaits);
	case DXK_M_ENTERING:
	case DXK_M_CONDITION:
		return sysfs_emit(buf, "key %u:%#llx\n", does.work_space, does.awaits);
	case DXK_M_POSTING:
		return sysfs_emit(buf, "lane %llu\n", does.awaits);
	case DXK_M_COMPLETING:
		return sysfs_emit(buf, "Rejoin Pool\n");
	case DXK_M_LOGGING:
		return sysfs_emit(buf, "Log Pool\n");
	default:
		return sysfs_emit(buf, "\n");
	}
}

static struct kobj_attribute dxk_slot_state_attr = __ATTR_RO(state);
static struct kobj_attribute dxk_slot_role_attr = __ATTR_RO(role);
static struct kobj_attribute dxk_slot_age_attr = __ATTR_RO(age_ms);
static struct kobj_attribute dxk_slot_executed_attr = __ATTR_RO(executed);
static struct kobj_attribute dxk_slot_pid_attr = __ATTR_RO(pid);
static struct kobj_attribute dxk_slot_executes_attr = __ATTR_RO(executes);
static struct kobj_attribute dxk_slot_awaits_attr = __ATTR_RO(awaits);

static struct attribute *dxk_slot_attrs[] = {
	&dxk_slot_state_attr.attr,
	&dxk_slot_role_attr.attr,
	&dxk_slot_age_attr.attr,
	&dxk_slot_executed_attr.attr,
	&dxk_slot_pid_attr.attr,
	&dxk_slot_executes_attr.attr,
	&dxk_slot_awaits_attr.attr,
	NULL
};

static umode_t dxk_slot_attr_mode(struct kobject *kobj, struct attribute *attr, int i)
{
	return dxk_sysfs_mode(dxk_slot_of(kobj)->ctx, attr);
}

static const struct attribute_group dxk_slot_group = {
	.attrs = dxk_slot_attrs,
	.is_visible = dxk_slot_attr_mode,
};

const struct attribute_group *dxk_slot_groups[] = {
	&dxk_slot_group,
	NULL
};

static ssize_t dxk_slot_attr_show(struct kobject *kobj, struct attribute *attr,
				    char *buf)
{
	struct kobj_attribute *a = container_of(attr, struct kobj_attribute, attr);
	ssize_t n = dxk_sysfs_permit(dxk_slot_of(kobj)->ctx);

	if (n)
		return n;
	os_turn_begin(OS_SHOW);
	n = a->show(kobj, a, buf);
	os_turn_end(OS_SHOW);
	return n;
}

const struct sysfs_ops dxk_slot_sysfs_ops = {
	.show = dxk_slot_attr_show,
};
