// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands: send, to a context, and tell, to an add-in.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <dx.h>

#include "ctl.h"
#include "../../dxk/engine/text.h"

#define REPLY_NS	10000000000LL

struct command {
	const char *to;
	char text[DXK_COMMAND_MAX + 1];
	size_t len;
	int64_t timeout;
};

/* DONE, or another exit status after a message. */
static int command_args(int argc, char **argv, const char *whom, struct command *c)
{
	static const struct option timeout_option[] = {
		{ "timeout", required_argument, NULL, 't' },
		{ }
	};
	int opt, i;

	*c = (struct command){ .timeout = REPLY_NS };
	/* "+": words after the name belong to the command, even if they look like options */
	while ((opt = options(argc, argv, "+:", timeout_option)) != -1) {
		if (opt == '?')
			return MISUSED;
		if (!parse_seconds(optarg, &c->timeout))
			return misuse("--timeout: '%s' is no number of seconds", optarg);
	}
	if (argc - optind < 2)
		return misuse("%s takes %s and a command", argv[0], whom);
	c->to = argv[optind];
	for (i = optind + 1; i < argc; i++) {
		size_t more = strlen(argv[i]);

		if (c->len + more + 1 > DXK_COMMAND_MAX)
			return fail("shorten it", "a command has at most %d bytes",
				    DXK_COMMAND_MAX);
		if (i > optind + 1)
			c->text[c->len++] = ' ';
		memcpy(c->text + c->len, argv[i], more);
		c->len += more;
	}
	return c->len ? DONE : misuse("%s: the command is empty", argv[0]);
}

static int no_reply(int rc, const char *next)
{
	switch (rc) {
	case -ETIMEDOUT:
	case -EINTR:
		return fail("a longer --timeout; it may still run", "no reply so far");
	case -EAGAIN:
		return fail(next, "too many commands wait");
	}
	return fail("dxkctl doctor", "cannot send: %s", strerror(-rc));
}

/* The exit status for a reply and the status of the command. */
static int tell_reply(char *reply, size_t len, int status, const char *next)
{
	/* another program has written it */
	dxk_text_clean(reply, len, true);
	fwrite(reply, 1, len, stdout);
	if (len && reply[len - 1] != '\n')
		putchar('\n');
	if (status == -ENOENT)
		return fail(next, "neither the application nor dxk knows that command");
	if (status)
		return fail("correct the command, or see the application's log",
			    "the command failed: %s", strerror(-status));
	return DONE;
}

int ctl_send(int argc, char **argv)
{
	char reply[DXK_COMMAND_MAX];
	int ctx, rc, status = 0;
	struct command c;
	unsigned int id;

	rc = command_args(argc, argv, "a context", &c);
	if (rc)
		return rc;
	if (ctx_join(c.to, DXK_ACCESS_CONTROL, &ctx, &id))
		return FAILED;
	signals_catch();
	rc = dxk_command_send(ctx, c.text, c.len, reply, sizeof(reply), &status, c.timeout);
	close(ctx);
	if (rc == -ESHUTDOWN)
		return fail("dxkctl show CTX", "the context does not run");
	if (rc < 0)
		return no_reply(rc, "try again later: dxkctl send CTX show commands");
	if ((size_t)rc > sizeof(reply))
		rc = sizeof(reply);
	return tell_reply(reply, (size_t)rc, status,
			  "dxkctl send CTX show threads, pools, lanes, owners, waiting or "
			  "commands; or see the application's manual");
}

int ctl_tell(int argc, char **argv)
{
	char reply[DXK_COMMAND_MAX + 1];
	struct command c;
	int rc;

	rc = command_args(argc, argv, "an add-in", &c);
	if (rc)
		return rc;
	signals_catch();
	rc = SendCommandTo(c.to, c.text, reply, sizeof(reply), c.timeout);
	switch (rc) {
	case -ENXIO:
	case -ENAMETOOLONG:
		return fail("see its AppName, and start it; root gives the path of a user's",
			    "there is no add-in '%s'", c.to);
	case -EACCES:
	case -EPERM:
		if (!*reply)
			return fail("do it as the user of the add-in, or as root",
				    "you may not tell '%s' anything", c.to);
		break;
	case -ESHUTDOWN:
		return fail("see the application's log", "the add-in has ended");
	case -ETIMEDOUT:
	case -EINTR:
	case -EAGAIN:
		if (!*reply)
			return no_reply(rc, "try again later");
		break;
	}
	return tell_reply(reply, strlen(reply), rc < 0 ? rc : 0,
			  "the application's manual");
}
