// SPDX-License-Identifier: GPL-2.0-only
/* The cases (calls.h) of commands. */
#define DXT_NO_HARNESS
#include "lib/calls/calls.h"

/* --- commands ------------------------------------------------------------------------ */

static int tell(struct env *e, const char *text)
{
	return dxk_command_send(e->t.ctx, text, strlen(text), NULL, 0, NULL, 0);
}

/* The handler gets @want next, NULL is nothing. */
static bool gets(struct env *e, const char *want)
{
	char text[DXK_COMMAND_MAX];
	size_t len;
	int rc = dxk_command_next(e->me, 0, "", 0, text, &len, 0);

	if (!want)
		return rc == -ETIMEDOUT;
	return rc == DXK_COMMAND_TEXT && len == strlen(want) && !memcmp(text, want, len);
}

static const char *set_send(struct env *e)
{
	if (dxk_command_attach(e->me, 1))
		return "no handler";
	e->arg.command_send.text_len = 5;
	memcpy(e->text, "hello", 5);
	use_buf(e, &e->arg.command_send.text, e->text, 5, false, WHOLE, 0);
	return NULL;
}

static const char *end_send(struct env *e, int rc)
{
	if ((!rc && !gets(e, "hello")) || !gets(e, NULL))
		return "the command";
	return dxk_command_attach(e->me, 0) ? "no handler any more" : NULL;
}

/* The context's own, with a reply. */
static const char *set_show(struct env *e)
{
	e->arg.command_send.text_len = 10;
	e->arg.command_send.deadline = DXK_FOREVER;
	e->arg.command_send.reply_room = 20;
	memcpy(e->text, "show lanes", 10);
	use_buf(e, &e->arg.command_send.text, e->text, 10, false, WHOLE, 0);
	use_buf(e, &e->arg.command_send.reply, e->reply, 20, true, WHOLE, 0);
	return NULL;
}

static const char *end_show(struct env *e, int rc)
{
	if (rc)
		return NULL;
	/* its memory may be what fails: then that is its status */
	if (e->arg.command_send.status == -ENOMEM)
		return e->arg.command_send.reply_len ? "a reply of nothing" : NULL;
	if (!e->arg.command_send.status && !memcmp(e->reply, "resource", 8))
		return NULL;
	return "another reply";
}

static const char *set_timed(struct env *e)
{
	e->arg.command_send.text_len = 5;
	e->arg.command_send.at = dxt_in(1000 * DXT_SEC);
	memcpy(e->text, "later", 5);
	use_buf(e, &e->arg.command_send.text, e->text, 5, false, WHOLE, 0);
	return NULL;
}

/* One that was not made, or whose id nobody got, is none. */
static const char *end_timed(struct env *e, int rc)
{
	char reply[DXK_COMMAND_MAX + 1] = "";
	int status;

	if (!rc && dxk_command_cancel(e->t.ctx, (int)e->arg.command_send.id))
		return "no timed command";
	if (dxk_command_send(e->t.ctx, "show commands", 13, reply, sizeof(reply) - 1,
			     &status, -1) < 0 || strstr(reply, "later"))
		return "a timed command is left";
	return NULL;
}

static const char *set_cancel(struct env *e)
{
	int id = dxk_command_schedule(e->t.ctx, "later", 5, dxt_in(1000 * DXT_SEC), 0);

	e->arg.command_send.id = (uint32_t)id;
	e->handle = (uint64_t)id;
	return id > 0 ? NULL : "no timed command";
}

static const char *end_cancel(struct env *e, int rc)
{
	return dxk_command_cancel(e->t.ctx, (int)e->handle) == (rc ? 0 : -ESRCH) ?
	       NULL : "the timed command";
}

static const char *set_attach(struct env *e)
{
	e->arg.command_attach.attach = 1;
	return NULL;
}

static bool handles(struct env *e)
{
	char text[DXK_COMMAND_MAX];
	size_t len;

	return dxk_command_next(e->me, 0, "", 0, text, &len, 0) != -EPERM;
}

static const char *end_attach(struct env *e, int rc)
{
	if (handles(e) != !rc)
		return "the handler";
	return dxk_command_attach(e->me, 0) ? "no handler any more" : NULL;
}

static const char *set_detach(struct env *e)
{
	return dxk_command_attach(e->me, 1) ? "no handler" : NULL;
}

static const char *end_detach(struct env *e, int rc)
{
	if (handles(e) != !!rc)
		return "the handler";
	return dxk_command_attach(e->me, 0) ? "no handler any more" : NULL;
}

/* Owes the answer to "first" and gets "second". */
static const char *set_command(struct env *e)
{
	if (dxk_command_attach(e->me, 1) || tell(e, "first") || tell(e, "second") ||
	    !gets(e, "first"))
		return "no command";
	e->arg.command_next.reply_len = 6;
	e->arg.command_next.text_room = sizeof(e->text);
	memcpy(e->reply, "answer", 6);
	use_buf(e, &e->arg.command_next.reply, e->reply, 6, false, WHOLE, 0);
	use_buf(e, &e->arg.command_next.text, e->text, 6, true, WHOLE, 0);
	return NULL;
}

static const char *end_command(struct env *e, int rc)
{
	if (!rc && (e->arg.command_next.kind != DXK_COMMAND_TEXT ||
		    e->arg.command_next.text_len != 6 || memcmp(e->text, "second", 6)))
		return "another command";
	if ((rc && !gets(e, "second")) || !gets(e, NULL))
		return "the second command";
	return dxk_command_attach(e->me, 0) ? "no handler any more" : NULL;
}

const struct row command_rows[] = {
	ROW("COMMAND_SEND", COMMAND_SEND, ON_CONTEXT, dxk_command_send, set_send, end_send,
	    0, -EFAULT),
	ROW("COMMAND_SEND show", COMMAND_SEND, ON_CONTEXT, dxk_command_send, set_show,
	    end_show, 0, -EFAULT),
	ROW("COMMAND_SEND timed", COMMAND_SEND, ON_CONTEXT, dxk_command_send, set_timed,
	    end_timed, 0, -EFAULT),
	ROW("COMMAND_SEND cancel", COMMAND_SEND, ON_CONTEXT, dxk_command_send, set_cancel,
	    end_cancel, 0, 0),
	ROW("COMMAND_ATTACH", COMMAND_ATTACH, MEMBER, dxk_command_attach, set_attach,
	    end_attach, 0, 0),
	ROW("COMMAND_ATTACH off", COMMAND_ATTACH, MEMBER, dxk_command_attach, set_detach,
	    end_detach, 0, 0),
	ROW("COMMAND_NEXT", COMMAND_NEXT, MEMBER, dxk_command_next, set_command,
	    end_command, 0, -EFAULT),
	{ 0 },
};
