// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxk: the Domino eXplorer's work dispatcher as a kernel service.
 */
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "abi/ioctl.h"
#include "abi/sysfs.h"
#include "engine/os.h"
#include "runtime/context.h"
#include "runtime/cpus.h"
#include "runtime/queue.h"
#include "runtime/run.h"
#include "runtime/slot.h"
#include "services/command.h"
#include "services/executor.h"
#include "services/file.h"
#include "services/gate.h"
#include "services/waker.h"
#include "services/watch.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static struct miscdevice dxk_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "dxk",
	.fops = &dxk_control_fops,
	/* A context can start hundreds of threads: for root unless opened up. */
	.mode = 0600,
};

static struct kobject *dxk_root;

static int __init dxk_init(void)
{
	int err;

	dxk_ioctl_check_abi();
	dxk_sysfs_init();
	os_turns_init();
	err = dxk_rqe_init();
	if (err)
		return err;
	err = dxk_owner_init();
	if (err)
		goto err_rqe;
	err = dxk_gate_init();
	if (err)
		goto err_owner;
	err = dxk_command_init();
	if (err)
		goto err_gate;
	err = dxk_wakers_init();
	if (err)
		goto err_command;
	err = -ENOMEM;
	dxk_root = kobject_create_and_add("dxk", kernel_kobj);
	if (!dxk_root)
		goto err_wakers;
	err = dxk_executors_init(dxk_root);
	if (err)
		goto err_root;
	err = dxk_queue_init();
	if (err)
		goto err_executors;
	dxk_ctx_init(dxk_root, &dxk_ctx_sysfs_ops, dxk_ctx_groups);
	dxk_run_setup(dxk_run_groups);
	dxk_slot_init(&dxk_slot_sysfs_ops, dxk_slot_groups);
	err = dxk_cpus_setup();
	if (err)
		goto err_queue;
	err = misc_register(&dxk_device);
	if (err)
		goto err_cpus;
	return 0;

err_cpus:
	dxk_cpus_exit();
err_queue:
	dxk_queue_exit();
err_executors:
	dxk_executors_exit();
err_root:
	kobject_put(dxk_root);
err_wakers:
	dxk_wakers_exit();
err_command:
	dxk_command_exit();
err_gate:
	dxk_gate_exit();
err_owner:
	dxk_owner_exit();
err_rqe:
	dxk_rqe_exit();
	return err;
}

static void __exit dxk_exit(void)
{
	misc_deregister(&dxk_device);
	dxk_queue_exit();
	dxk_cpus_exit();
	dxk_ctx_exit();
	dxk_executors_exit();
	dxk_wakers_exit();
	dxk_watches_exit();
	dxk_file_exit();
	kobject_put(dxk_root);
	dxk_command_exit();
	dxk_gate_exit();
	dxk_owner_exit();
	dxk_rqe_exit();
}

module_init(dxk_init);
module_exit(dxk_exit);

MODULE_DESCRIPTION("Work dispatcher: priorities with ageing, lanes, authoritative rejoin");
MODULE_AUTHOR("dxk developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(DXK_RELEASE);
