// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/dxk/<context>/threads/<id>: one member. Documentation/ABI describes
 * the files.
 */
#include <linux/jiffies.h>
#include <linux/kobject.h>
#include <linux/pid.h>
#include <linux/sysfs.h>

#include "abi/sysfs.h"
#include "runtime/context.h"
#include "runtime/figures.h"
#include "runtime/thread.h"

static struct dxk_member *dxk_member_of(struct kobject *kobj)
{
	return &container_of(kobj, struct dxk_thread, kobj)->m;
}

static ssize_t state_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	u8 state = dxk_member_state(dxk_member_of(kobj));

	return sysfs_emit(buf, "%s\n", dxk_member_state_name(state));
}

static ssize_t role_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", dxk_member_role_name(dxk_member_of(kobj)));
}

/* Since when a worker is available, or busy with what it took last. */
static ssize_t age_ms_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	unsigned long age = jiffies - READ_ONCE(dxk_member_of(kobj)->since);

	return sysfs_emit(buf, "%u\n", jiffies_to_msecs(age));
}

static ssize_t executed_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%llu\n", READ_ONCE(dxk_member_of(kobj)->executed));
}

static ssize_t pid_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", pid_vnr(dxk_thread_of(dxk_member_of(kobj))->pid));
}

static struct kobj_attribute dxk_member_state_attr = __ATTR_RO(state);
static struct kobj_attribute dxk_member_role_attr = __ATTR_RO(role);
static struct kobj_attribute dxk_member_age_attr = __ATTR_RO(age_ms);
static struct kobj_attribute dxk_member_executed_attr = __ATTR_RO(executed);
static struct kobj_attribute dxk_member_pid_attr = __ATTR_RO(pid);

static struct attribute *dxk_member_attrs[] = {
	&dxk_member_state_attr.attr,
	&dxk_member_role_attr.attr,
	&dxk_member_age_attr.attr,
	&dxk_member_executed_attr.attr,
	&dxk_member_pid_attr.attr,
	NULL
};

static umode_t dxk_member_attr_mode(struct kobject *kobj, struct attribute *attr, int i)
{
	return dxk_sysfs_mode(dxk_member_ctx(dxk_member_of(kobj)), attr);
}

static const struct attribute_group dxk_member_group = {
	.attrs = dxk_member_attrs,
	.is_visible = dxk_member_attr_mode,
};

const struct attribute_group *dxk_member_groups[] = {
	&dxk_member_group,
	NULL
};

static ssize_t dxk_member_attr_show(struct kobject *kobj, struct attribute *attr,
				    char *buf)
{
	struct kobj_attribute *a = container_of(attr, struct kobj_attribute, attr);
	int err = dxk_sysfs_permit(dxk_member_ctx(dxk_member_of(kobj)));

	return err ?: a->show(kobj, a, buf);
}

const struct sysfs_ops dxk_member_sysfs_ops = {
	.show = dxk_member_attr_show,
};
