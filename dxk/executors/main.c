// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxk_executors: kernel executors that are of use to anybody who has dxk.
 *
 * A client asks for the id of one by its name and posts requests with PXR_KERNEL
 * and that id. The comment above an executor's function describes its input and output.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>

#include "executors.h"

#define EXECUTOR(_name) {					\
	.name			= #_name,			\
	.owner			= THIS_MODULE,			\
	.execute_this_request	= exe_##_name,			\
}

static struct dxk_executor executors[] = {
	EXECUTOR(nop),
	EXECUTOR(echo),
	EXECUTOR(sleep),
	EXECUTOR(block),
	EXECUTOR(sha256),
	EXECUTOR(aread),
};

static void unregister_first(unsigned int nr)
{
	while (nr--)
		dxk_executor_unregister(&executors[nr]);
}

static int __init executors_init(void)
{
	unsigned int i;
	int err;

	/* A request may come with the first registration: be ready before it. */
	err = exe_sha256_setup();
	if (err)
		return err;

	for (i = 0; i < ARRAY_SIZE(executors); i++) {
		err = dxk_executor_register(&executors[i]);
		if (err) {
			pr_err("dxk_executors: cannot register \"%s\": %pe\n",
			       executors[i].name, ERR_PTR(err));
			goto err_unregister;
		}
	}
	return 0;

err_unregister:
	unregister_first(i);
	exe_sha256_teardown();
	return err;
}

static void __exit executors_exit(void)
{
	unregister_first(ARRAY_SIZE(executors));
	exe_sha256_teardown();
}

module_init(executors_init);
module_exit(executors_exit);

MODULE_DESCRIPTION("Kernel executors for the work dispatcher dxk");
MODULE_LICENSE("GPL");
MODULE_VERSION(DXK_RELEASE);
