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

static struct kobj_attribute dxk_slot_state_attr = __ATTR_RO(state);
static struct kobj_attribute dxk_slot_role_attr = __ATTR_RO(role);
static struct kobj_attribute dxk_slot_age_attr = __ATTR_RO(age_ms);
static struct kobj_attribute dxk_slot_executed_attr = __ATTR_RO(executed);
static struct kobj_attribute dxk_slot_pid_attr = __ATTR_RO(pid);

static struct attribute *dxk_slot_attrs[] = {
	&dxk_slot_state_attr.attr,
	&dxk_slot_role_attr.attr,
	&dxk_slot_age_attr.attr,
	&dxk_slot_executed_attr.attr,
	&dxk_slot_pid_attr.attr,
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
	int err = dxk_sysfs_permit(dxk_slot_of(kobj)->ctx);

	return err ?: a->show(kobj, a, buf);
}

const struct sysfs_ops dxk_slot_sysfs_ops = {
	.show = dxk_slot_attr_show,
};
