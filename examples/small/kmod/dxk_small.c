// SPDX-License-Identifier: GPL-2.0-only
/* dxk_small: a module with an executor, a context of its own, and requests to it. */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>

#include <dxk_api.h>

static s32 square(struct dxk_call *call)
{
	return call->param * call->param;
}

static struct dxk_executor executor = {
	.name = "small_square",
	.owner = THIS_MODULE,
	.execute_this_request = square,
};

/* Return: the sum of what the requests came back with, or a negative errno. */
static int sum_of_squares(struct dxk_member *me)
{
	struct dxk_request r = { .owner = 1, .attrs = PXR_KERNEL | PXR_REJOIN };
	struct dxk_answer a = { };
	u32 answer;
	int i, n = dxk_executor_find("small_square", &r.executor), sum = 0;

	for (i = 0; i < 8 && n >= 0; i++) {
		r.param = i;
		n = dxk_post(me, &r, 1, DXK_FOREVER, NULL);
	}
	while (n >= 0 && (n = dxk_rejoin(me, r.owner, &a, 1, 1, DXK_FOREVER, &answer)) > 0)
		sum += a.status;
	return n < 0 ? n : sum;	/* 0: no request of the owner exists any more */
}

static int __init small_init(void)
{
	struct dxk_policy policy;
	struct dxk_member *me;
	struct dxk_ctx *ctx;
	int rc = dxk_executor_register(&executor);

	if (rc)
		return rc;
	ctx = dxk_ctx_create();
	if (IS_ERR(ctx)) {
		rc = PTR_ERR(ctx);
		goto err_executor;
	}
	dxk_policy_init(&policy);
	policy.kernel_threads = policy.max_threads = 2;
	rc = dxk_ctx_set_policy(ctx, &policy) ?: dxk_ctx_start(ctx);
	if (rc)
		goto err_ctx;
	me = dxk_client_create(ctx);
	rc = IS_ERR(me) ? PTR_ERR(me) : sum_of_squares(me);
	if (!IS_ERR(me))
		dxk_client_destroy(me);
err_ctx:
	dxk_ctx_destroy(ctx);	/* stops it, and waits for what executes */
err_executor:
	if (rc < 0)
		dxk_executor_unregister(&executor);
	else
		pr_info("dxk_small: the sum is %d\n", rc);
	return min(rc, 0);
}

static void __exit small_exit(void)
{
	dxk_executor_unregister(&executor);
}

module_init(small_init);
module_exit(small_exit);
MODULE_DESCRIPTION("An example for dxk's calls for other modules");
MODULE_LICENSE("GPL");
