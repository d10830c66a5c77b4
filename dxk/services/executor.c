// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registry of kernel executors, shared by all contexts.
 *
 * A request that names an executor holds two references from its post to its
 * end: one on the module, so that it cannot be unloaded, and one in users. The
 * call of dxk_executor_unregister() waits for the latter, so that a module which
 * fails to initialise after it has registered is safe as well. Ids are assigned
 * in a cycle, so that an old id is not soon reused for another executor.
 */
#include <linux/export.h>
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/wait_bit.h>
#include <linux/xarray.h>

#include "dxk_api.h"
#include "services/executor.h"

static DEFINE_XARRAY_ALLOC1(dxk_executors);
static DEFINE_MUTEX(dxk_executors_lock);	/* register, unregister, by name */
static struct kobject *dxk_executors_dir;
static u32 dxk_executors_next;

static ssize_t dxk_executor_show(struct kobject *kobj, struct kobj_attribute *attr,
				 char *buf)
{
	struct dxk_executor *exec = container_of(attr, struct dxk_executor, attr);

	return sysfs_emit(buf, "%u\n", exec->id);
}

static struct dxk_executor *dxk_executor_by_name(const char *name)
{
	struct dxk_executor *exec;
	unsigned long id;

	lockdep_assert_held(&dxk_executors_lock);

	xa_for_each(&dxk_executors, id, exec)
		if (!strcmp(exec->name, name))
			return exec;
	return NULL;
}

/**
 * dxk_executor_register - offer an executor to PXR_KERNEL requests
 * @exec: see struct dxk_executor
 *
 * Requests may come before this returns. The executor's id is also the content
 * of /sys/kernel/dxk/executors/<name>.
 * Return: 0, -EINVAL for an incomplete @exec, -EEXIST when the name is taken, or
 * -ENOMEM.
 */
int dxk_executor_register(struct dxk_executor *exec)
{
	int err;

	if (!exec->name || !*exec->name || strchr(exec->name, '/') ||
	    strlen(exec->name) >= DXK_NAME_LEN || !exec->execute_this_request)
		return -EINVAL;

	atomic_set(&exec->users, 0);
	sysfs_attr_init(&exec->attr.attr);
	exec->attr.attr.name = exec->name;
	exec->attr.attr.mode = 0444;
	exec->attr.show = dxk_executor_show;

	guard(mutex)(&dxk_executors_lock);
	if (dxk_executor_by_name(exec->name))
		return -EEXIST;
	err = xa_alloc_cyclic(&dxk_executors, &exec->id, exec, xa_limit_31b,
			      &dxk_executors_next, GFP_KERNEL);
	if (err < 0)
		return err;
	err = sysfs_create_file(dxk_executors_dir, &exec->attr.attr);
	if (err)
		xa_erase(&dxk_executors, exec->id);
	return err;
}
EXPORT_SYMBOL_GPL(dxk_executor_register);

/**
 * dxk_executor_unregister - withdraw an executor
 * @exec: registered
 *
 * New posts get ENOENT. Waits until the last request that names it has ended and
 * has been collected.
 */
void dxk_executor_unregister(struct dxk_executor *exec)
{
	mutex_lock(&dxk_executors_lock);
	sysfs_remove_file(dxk_executors_dir, &exec->attr.attr);
	xa_erase(&dxk_executors, exec->id);
	mutex_unlock(&dxk_executors_lock);

	/* After this nobody can find it, and each finder counts as a user. */
	synchronize_rcu();
	wait_var_event(&exec->users, !atomic_read(&exec->users));
}
EXPORT_SYMBOL_GPL(dxk_executor_unregister);

/**
 * dxk_executor_find - find the id of an executor
 * @name: its name
 * @id: out
 *
 * Return: 0 or -ENOENT.
 */
int dxk_executor_find(const char *name, u64 *id)
{
	struct dxk_executor *exec;

	guard(mutex)(&dxk_executors_lock);
	exec = dxk_executor_by_name(name);
	if (!exec)
		return -ENOENT;
	*id = exec->id;
	return 0;
}
EXPORT_SYMBOL_GPL(dxk_executor_find);

/**
 * dxk_executor_get - reference an executor by its id
 * @id: its id
 * @held: an executor to which the caller has a reference, or NULL. If it is the
 *	requested one, no lookup is needed
 *
 * Return: the executor, or NULL when there is none.
 */
struct dxk_executor *dxk_executor_get(u64 id, struct dxk_executor *held)
{
	struct dxk_executor *exec;

	if (held && held->id == id) {
		__module_get(held->owner);
		atomic_inc(&held->users);
		return held;
	}
	if (id > U32_MAX)
		return NULL;
	rcu_read_lock();
	exec = xa_load(&dxk_executors, id);
	if (exec && !try_module_get(exec->owner))
		exec = NULL;
	if (exec)
		atomic_inc(&exec->users);
	rcu_read_unlock();
	return exec;
}

void dxk_executor_put(struct dxk_executor *exec)
{
	/*
	 * The module first: it stays as long as @exec has users, for which unregister()
	 * waits. Once the last of them has gone, both may be gone.
	 */
	module_put(exec->owner);
	if (atomic_dec_and_test(&exec->users))
		wake_up_var(&exec->users);
}

/**
 * dxk_executor_name - get the name with which an executor was registered
 * @id: its id
 * @name: out: of %DXK_NAME_LEN bytes; empty when there is none
 */
void dxk_executor_name(u64 id, char *name)
{
	const struct dxk_executor *exec;

	*name = '\0';
	if (id > U32_MAX)
		return;
	rcu_read_lock();
	exec = xa_load(&dxk_executors, id);
	if (exec)
		strscpy(name, exec->name, DXK_NAME_LEN);
	rcu_read_unlock();
}

int dxk_executors_init(struct kobject *parent)
{
	dxk_executors_dir = kobject_create_and_add("executors", parent);
	return dxk_executors_dir ? 0 : -ENOMEM;
}

void dxk_executors_exit(void)
{
	kobject_put(dxk_executors_dir);
}
