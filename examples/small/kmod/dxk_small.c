// SPDX-License-Identifier: GPL-2.0-only
/*
 * dxk_small: a module with an executor, a context of its own, and requests to it. With visit=NAME
 * it has the workers of a program do something instead, whose context has that name.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/string.h>

#include <dxk_api.h>

static char *visit;
module_param(visit, charp, 0);
MODULE_PARM_DESC(visit, "name of a program's context");

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

/* Post to a program's worker, with the rights of who loads the module. */
static int ask(struct dxk_member *me)
{
	char text[] = "visitor";
	struct dxk_request r = {
		.owner = 1, .attrs = PXR_REJOIN,
		.data = text, .data_len = strlen(text), .result_len = strlen(text),
	};
	struct dxk_answer a = { .data = text, .data_room = strlen(text) };
	u64 deadline = ktime_get_ns() + 10 * NSEC_PER_SEC;	/* it is in the program's hands */
	u32 answer;
	int n = dxk_post(me, &r, 1, deadline, NULL);

	if (n == 1)
		n = dxk_rejoin(me, r.owner, &a, 1, 1, deadline, &answer);
	if (n == 1)
		pr_info("dxk_small: the answer is %s\n", text);
	return n == 1 ? 0 : n ?: -ETIME;
}

static int small_visit(const char *name)
{
	struct dxk_ctx_join join = { .abi = DXK_ABI_VERSION, .access = DXK_ACCESS_WRITE };
	struct dxk_session *session;
	struct dxk_member *me;
	int rc;

	strscpy(join.name, name, sizeof(join.name));
	session = dxk_ctx_join(&join);
	if (IS_ERR(session))
		return PTR_ERR(session);
	me = dxk_session_client(session);
	rc = IS_ERR(me) ? PTR_ERR(me) : ask(me);
	if (!IS_ERR(me))
		dxk_client_destroy(me);
	dxk_session_close(session);
	return rc;
}

static int __init small_init(void)
{
	struct dxk_policy policy;
	struct dxk_member *me;
	struct dxk_ctx *ctx;
	int rc = dxk_executor_register(&executor);

	if (rc)
		return rc;
	if (visit) {
		rc = small_visit(visit);
		goto err_executor;
	}
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
	else if (!visit)
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
