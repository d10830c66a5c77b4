// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands of user space: texts in and out.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "abi/args.h"
#include "runtime/context.h"
#include "runtime/thread.h"

static struct dxk_command *dxk_command_get(const struct dxk_command_send *a)
{
	struct dxk_command *cmd;

	if (!a->text_len)
		return ERR_PTR(-EINVAL);
	if (a->text_len > DXK_COMMAND_MAX)
		return ERR_PTR(-EMSGSIZE);
	cmd = dxk_command_new(NULL, a->text_len);
	if (IS_ERR(cmd))
		return cmd;
	if (copy_from_user(cmd->text, u64_to_user_ptr(a->text), a->text_len)) {
		dxk_command_put(cmd);
		return ERR_PTR(-EFAULT);
	}
	if (memchr(cmd->text, 0, a->text_len)) {
		dxk_command_put(cmd);
		return ERR_PTR(-EINVAL);
	}
	return cmd;
}

long dxk_command_send_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_command_send *a = &c->args.command_send;
	struct dxk_command *cmd;
	struct dxk_ctx *ctx = obj;
	int err;

	if (a->id && !a->text_len)
		return dxk_command_cancel(&ctx->commands, a->id);
	cmd = dxk_command_get(a);
	if (IS_ERR(cmd))
		return PTR_ERR(cmd);
	a->reply_len = 0;
	a->status = 0;
	a->id = 0;
	if (a->at || a->every_ns) {
		err = dxk_command_schedule(&ctx->commands, cmd, a->at, a->every_ns, &a->id);
		if (err)
			goto out_put;
		if (!dxk_ucall_reply(c, sizeof(*a)))
			return 0;
		/* Without its id nobody could ever cancel it. */
		dxk_command_cancel(&ctx->commands, a->id);
		return -EFAULT;
	}
	/* The reply first: a command that was sent cannot be taken back. */
	err = dxk_ucall_reply(c, sizeof(*a)) ?: dxk_command_send(&ctx->commands, cmd, a->deadline);
	if (err || !a->deadline)
		goto out_put;
	a->status = cmd->status;
	a->reply_len = cmd->reply_len;
	if (copy_to_user(u64_to_user_ptr(a->reply), cmd->reply,
			 min(a->reply_len, a->reply_room)))
		err = -EFAULT;
	else
		err = dxk_ucall_reply(c, sizeof(*a));
out_put:
	dxk_command_put(cmd);
	return err;
}

long dxk_command_attach_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_member *m = obj;

	if (c->args.command_attach.attach > 1)
		return -EOPNOTSUPP;
	return dxk_command_attach(&dxk_thread_of(m)->handler, c->args.command_attach.attach);
}

/* Accept the answer to the handler's last command. On error it is still owed. */
static int dxk_command_settle(struct dxk_member *m, const struct dxk_command_next *a)
{
	char *reply = NULL;

	if (a->status > 0 || a->status < -MAX_ERRNO)
		return -EINVAL;
	if (a->reply_len > DXK_COMMAND_MAX)
		return -EMSGSIZE;
	if (a->reply_len) {
		/* memdup_user() would not charge it; it stays until the sender has it */
		reply = kmalloc(a->reply_len, GFP_KERNEL_ACCOUNT);
		if (!reply)
			return -ENOMEM;
		if (copy_from_user(reply, u64_to_user_ptr(a->reply), a->reply_len)) {
			kfree(reply);
			return -EFAULT;
		}
	}
	dxk_command_answer(&dxk_thread_of(m)->handler, a->status, reply, a->reply_len);
	return 0;
}

long dxk_command_next_ioctl(void *obj, struct dxk_ucall *c)
{
	struct dxk_member *m = obj;
	struct dxk_command_next *a = &c->args.command_next;
	struct dxk_command_op op;
	int err;

	if (a->text_room < DXK_COMMAND_MAX)
		return -EMSGSIZE;
	err = dxk_command_holds(&dxk_thread_of(m)->handler);
	if (err > 0)
		err = dxk_command_settle(m, a);
	if (!err)
		err = dxk_command_next(&dxk_thread_of(m)->handler, &op, a->deadline);
	if (err)
		return err;

	a->kind = op.kind;
	a->text_len = op.cmd ? op.cmd->len : 0;
	if ((op.cmd && copy_to_user(u64_to_user_ptr(a->text), op.cmd->text, op.cmd->len)) ||
	    dxk_ucall_reply(c, sizeof(*a))) {
		err = -EFAULT;
		dxk_command_return(&dxk_thread_of(m)->handler, &op);
	}
	if (op.cmd)
		dxk_command_put(op.cmd);
	return err;
}
