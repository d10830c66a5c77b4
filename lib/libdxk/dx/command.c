// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The command handler and its thread, and the sending of commands.
 *
 * The thread is a member of the Thread Pool that sleeps in poll(2) on its member and on an eventfd,
 * which a detach uses to wake it. It exists while a handler is attached.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "internal.h"

static const char rotate[] = "log rotate";

/* --- the thread ------------------------------------------------------------ */

/* The handler for one call, NULL if there is none, or it is no longer called. */
static CommandHandler *call_begin(struct dx_commander *c)
{
	CommandHandler *handler;

	pthread_mutex_lock(&c->lock);
	/* A thread that attaches has waited for the previous call: it goes first. */
	while (c->attaching && !c->quit)
		pthread_cond_wait(&c->changed, &c->lock);
	handler = c->quit ? NULL : c->handler;
	c->calling = handler;
	pthread_mutex_unlock(&c->lock);
	return handler;
}

static void call_end(struct dx_commander *c)
{
	pthread_mutex_lock(&c->lock);
	c->calling = false;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void tick(struct dx_commander *c)
{
	CommandHandler *handler = call_begin(c);

	if (!handler)
		return;
	if (handler->Tick)
		handler->Tick(handler);
	call_end(c);
}

/* Return: a status that the module accepts: 0 or a negative errno. */
static int handle(MTExecutive *mte, const char *text, char *reply, size_t room)
{
	CommandHandler *handler = call_begin(&mte->commander);
	int status = -ENOENT;

	*reply = '\0';
	if (!handler)
		return status;
	if (handler->HandleCommand)
		status = handler->HandleCommand(handler, text, reply, room);
	call_end(&mte->commander);
	if (status == -ENOENT && !strcmp(text, rotate))
		status = LogRotateOf(mte);
	if (status > 0)
		return 0;
	return status < -4095 ? -EINVAL : status;
}

static bool quits(struct dx_commander *c)
{
	bool quit;

	pthread_mutex_lock(&c->lock);
	quit = c->quit;
	pthread_mutex_unlock(&c->lock);
	return quit;
}

static void pause_for_event(const struct dx_commander *c, int member)
{
	struct pollfd p[] = {
		{ .fd = member, .events = POLLIN },
		{ .fd = c->wake, .events = POLLIN },
	};

	poll(p, 2, -1);
}

/* Return: 0 when the handler was detached, else the error that ended it. */
static int command_loop(MTExecutive *mte, int member)
{
	char text[DXK_COMMAND_MAX + 1], reply[DXK_COMMAND_MAX + 1];
	struct dx_commander *c = &mte->commander;
	size_t len, reply_len = 0;
	int rc, status = 0;

	while (!quits(c)) {
		rc = dxk_command_next(member, status, reply, reply_len, text, &len, 0);
		switch (rc) {
		case DXK_COMMAND_TICK:
			reply_len = 0;
			tick(c);
			continue;
		case DXK_COMMAND_TEXT:
			text[len] = '\0';
			status = handle(mte, text, reply, sizeof(reply));
			reply_len = strnlen(reply, DXK_COMMAND_MAX);
			continue;
		case -ETIMEDOUT:
			reply_len = 0;
			pause_for_event(c, member);
			continue;
		case -EINTR:
			reply_len = 0;
			continue;
		case -ENOMEM:	/* a temporary shortage; the answer is still to be sent */
			poll(NULL, 0, 10);
			continue;
		}
		return rc;
	}
	return 0;
}

static void commander_tell(struct dx_commander *c, int state)
{
	pthread_mutex_lock(&c->lock);
	c->state = state;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

static void *commander_main(void *arg)
{
	MTExecutive *mte = arg;
	struct dx_commander *c = &mte->commander;
	struct dx_member *member;
	int rc;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &(int){ 0 });
	rc = dx_member_join(mte, DXK_MEMBER_CLIENT, &member);
	if (!rc)
		rc = dxk_command_attach(member->fd, 1);
	if (rc) {
		commander_tell(c, rc);
		return NULL;
	}
	dx_commanding = mte;
	commander_tell(c, COMMANDER_UP);
	rc = command_loop(mte, member->fd);
	if (rc == -ESTALE)
		dx_log_own(mte, DX_LOG_WARNING, "another command handler was attached to context %u",
			   mte->id);
	else if (rc && rc != -ESHUTDOWN)
		dx_log_own(mte, DX_LOG_WARNING, "command handler ends: %s", strerror(-rc));
	/* Detach: a command that is not answered goes to the context's builtin commands. */
	dxk_command_attach(member->fd, 0);
	dx_commanding = NULL;
	commander_tell(c, COMMANDER_ENDED);
	return NULL;
}

/* --- start and end ---------------------------------------------------------- */

void dx_commander_init(struct dx_commander *c)
{
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	c->wake = -1;
}

void dx_commander_exit(struct dx_commander *c)
{
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
}

static int wake_open(struct dx_commander *c)
{
	int cancel = dx_lock(), fd = c->wake;

	if (fd < 0) {
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		fd = c->wake = dx_fd(fd < 0 ? -errno : fd);
	}
	dx_unlock(cancel);
	return fd < 0 ? fd : 0;
}

/* Ends the thread and waits for that. The caller holds the lock and attaches. */
static void commander_stop(struct dx_commander *c)
{
	uint64_t count = 1;

	if (c->state == COMMANDER_NONE)
		return;
	c->quit = true;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	while (write(c->wake, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	pthread_join(c->thread, NULL);
	while (read(c->wake, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&c->lock);
	c->quit = false;
	c->state = COMMANDER_NONE;
}

/* The caller holds the lock and attaches. */
static int commander_start(MTExecutive *mte)
{
	struct dx_commander *c = &mte->commander;
	sigset_t old;
	int rc;

	if (c->state == COMMANDER_UP)
		return 0;
	/* The previous thread ended on its own: the context stopped, or it was replaced. */
	commander_stop(c);
	rc = wake_open(c);
	if (rc)
		return rc;
	c->state = COMMANDER_STARTS;
	dx_block_signals(&old);
	rc = -pthread_create(&c->thread, NULL, commander_main, mte);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc) {
		c->state = COMMANDER_NONE;
		return rc;
	}
	while (c->state == COMMANDER_STARTS)
		pthread_cond_wait(&c->changed, &c->lock);
	rc = c->state < 0 ? c->state : 0;
	if (rc)
		commander_stop(c);
	return rc;
}

/* Sets the handler once no call is in progress, and starts or ends its thread. */
static int commander_set(MTExecutive *mte, CommandHandler *handler)
{
	struct dx_commander *c = &mte->commander;
	int rc = 0, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&c->lock);
	while (c->attaching)
		pthread_cond_wait(&c->changed, &c->lock);
	c->attaching = true;
	while (c->calling)
		pthread_cond_wait(&c->changed, &c->lock);
	c->handler = handler;
	if (handler)
		rc = commander_start(mte);
	if (!handler || rc) {
		c->handler = NULL;
		commander_stop(c);
	}
	c->attaching = false;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	pthread_setcancelstate(cancel, NULL);
	return rc;
}

/** dx_commander_end - the executive ends: detach the handler, end the thread */
void dx_commander_end(MTExecutive *mte)
{
	commander_set(mte, NULL);
}

/* The context runs again: its handler needs a new thread, and stays set even without one. */
int dx_commander_restart(MTExecutive *mte)
{
	CommandHandler *handler = mte->commander.handler;
	int rc;

	if (!handler)
		return 0;
	dx_commander_end(mte);
	rc = commander_set(mte, handler);
	mte->commander.handler = handler;
	return rc;
}

int AttachCommandHandlerOf(MTExecutive *mte, CommandHandler *handler)
{
	int rc = dx_context(&mte);

	if (rc)
		return rc;
	if (dx_commanding == mte)
		return -EDEADLK;	/* it would wait for its own call */
	return commander_set(mte, handler);
}

int AttachCommandHandler(CommandHandler *handler)
{
	return AttachCommandHandlerOf(NULL, handler);
}

/* --- sending ---------------------------------------------------------------- */

static int executive_for(MTExecutive **mte, const char *command)
{
	int rc = dx_context(mte);

	if (rc)
		return rc;
	return command ? 0 : -EINVAL;
}

/* Return: whether this process executes commands that are sent to the context. */
static bool handles(struct dx_commander *c)
{
	bool up;

	pthread_mutex_lock(&c->lock);
	up = c->state == COMMANDER_UP;
	pthread_mutex_unlock(&c->lock);
	return up;
}

int SendCommandOf(MTExecutive *mte, const char *command, char *reply, size_t room,
		  int64_t timeout_ns)
{
	int status, rc = executive_for(&mte, command);
	size_t most = reply && room ? room - 1 : 0;

	if (rc)
		return rc;
	if (reply && room)
		*reply = '\0';
	rc = dxk_command_send(mte->ctx, command, strlen(command), reply, most, &status,
			      timeout_ns);
	if (rc < 0)
		return rc;
	if (reply && room)
		reply[(size_t)rc < most ? (size_t)rc : most] = '\0';
	if (strcmp(command, rotate))
		return status < 0 ? status : rc;
	/* Without a wait it is unknown whether another process took it: one more does no harm. */
	if (timeout_ns ? status == -EOPNOTSUPP : !handles(&mte->commander)) {
		/* No handler of this or another process took it, and the module cannot. */
		if (reply && room)
			*reply = '\0';
		return LogRotateOf(mte);
	}
	return status < 0 ? status : rc;
}

int SendCommand(const char *command, char *reply, size_t room, int64_t timeout_ns)
{
	return SendCommandOf(NULL, command, reply, room, timeout_ns);
}

int SendCommandAtOf(MTExecutive *mte, const char *command, uint64_t at_ns)
{
	int rc = executive_for(&mte, command);

	/* 0 is a time in the past like any other. */
	return rc ? rc : dxk_command_schedule(mte->ctx, command, strlen(command),
					      at_ns ? at_ns : 1, 0);
}

int SendCommandAt(const char *command, uint64_t at_ns)
{
	return SendCommandAtOf(NULL, command, at_ns);
}

int SendCommandEveryOf(MTExecutive *mte, const char *command, uint64_t every_ns)
{
	int rc = executive_for(&mte, command);

	return rc ? rc : dxk_command_schedule(mte->ctx, command, strlen(command), 0,
					      every_ns);
}

int SendCommandEvery(const char *command, uint64_t every_ns)
{
	return SendCommandEveryOf(NULL, command, every_ns);
}

int CancelCommandOf(MTExecutive *mte, int id)
{
	int rc = executive_for(&mte, "");

	return rc ? rc : dxk_command_cancel(mte->ctx, id);
}

int CancelCommand(int id)
{
	return CancelCommandOf(NULL, id);
}
