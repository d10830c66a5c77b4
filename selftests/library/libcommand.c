// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands as a DX application uses them: AttachCommandHandler, SendCommand and
 * its timed forms (DX-29..DX-32, R-18). Built a second time with the address
 * sanitizer.
 */
#include "lib/command.h"

#include <dx.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOG	"/tmp/dxk-libcommand-test.log"
#define STALL	dxt_late_ns()

static MTExecutive *executive(unsigned int tick_ms)
{
	ThreadManagerPolicy policy;
	RunSettings settings;

	RunSettingsInit(&settings, "libcommand", 0, NULL);
	settings.LogPath = LOG;
	if (ThreadManagerPolicyInit(&policy))
		return NULL;
	policy.TPMaxThreads = 2;
	policy.TPDispatch = dxt_mode();
	policy.TPMonitorInterval = tick_ms;
	return MTExecutiveCreate(&settings, &policy, NULL);
}

/* --- a handler --------------------------------------------------------------- */

struct handler {
	CommandHandler base;
	MTExecutive *mte;
	const char *name;
	struct dxt_gate *gate;		/* "hold" waits here */
	_Atomic unsigned int ticks;
	_Atomic unsigned int texts;
	_Atomic int in;			/* calls in progress */
	_Atomic int gone;		/* detached: a call is wrong */
	_Atomic unsigned int wrong;
	_Atomic int inner[3];		/* of "inside" */
	_Atomic int id;
	sigset_t mask;
};

static void call_begins(struct handler *h)
{
	h->wrong += h->in++ != 0 || h->gone;
}

static void call_ends(struct handler *h)
{
	h->wrong += h->gone;
	h->in--;
}

static void tick(CommandHandler *self)
{
	struct handler *h = (struct handler *)self;

	call_begins(h);
	h->ticks++;
	call_ends(h);
}

static int handle_text(struct handler *h, const char *text, char *reply, size_t room)
{
	if (!strcmp(text, "who")) {
		h->id = MTExecutiveThreadId(NULL);
		pthread_sigmask(SIG_SETMASK, NULL, &h->mask);
		snprintf(reply, room, "%s", h->name);
		return 0;
	}
	if (!strcmp(text, "hold")) {
		dxt_gate_pass(h->gate, 0);
		return 0;
	}
	if (!strcmp(text, "inside")) {
		h->inner[0] = AttachCommandHandlerOf(h->mte, NULL);
		h->inner[1] = AttachCommandHandler(&h->base);
		h->inner[2] = MTExecutiveDestroy(h->mte, DXK_STOP_CANCEL, 0);
		return 0;
	}
	if (!strcmp(text, "show pools")) {
		int len = SendCommand(text, reply, room, -1);

		if (len < 0)
			return len;
		strncat(reply, "and more\n", room - 1 - strlen(reply));
		return 0;
	}
	if (!strcmp(text, "long")) {
		memset(reply, 'x', room);	/* forgets the zero */
		return 0;
	}
	if (!strcmp(text, "positive"))
		return 7;
	if (!strcmp(text, "absurd"))
		return -123456;
	return strcmp(text, "fail") ? -ENOENT : -EXDEV;
}

static int handle(CommandHandler *self, const char *text, char *reply, size_t room)
{
	struct handler *h = (struct handler *)self;
	int rc;

	call_begins(h);
	h->texts++;
	rc = handle_text(h, text, reply, room);
	call_ends(h);
	return rc;
}

static struct handler *handler_new(MTExecutive *mte, const char *name)
{
	struct handler *h = calloc(1, sizeof(*h));

	h->base = (CommandHandler){ .Tick = tick, .HandleCommand = handle };
	h->mte = mte;
	h->name = name;
	h->gate = dxt_gate_new();
	return h;
}

static void handler_free(struct handler *h)
{
	dxt_gate_free(h->gate);
	free(h);
}

/* --- sending ------------------------------------------------------------------ */

/* DX-30: own commands, errors, replies that do not fit */
TEST(send)
{
	char reply[DXK_COMMAND_MAX + 1], text[DXK_COMMAND_MAX + 2];
	unsigned int fds = dxt_fds();
	MTExecutive *mte;
	int len;

	EXPECT_EQ(-ENXIO, SendCommand("show pools", reply, sizeof(reply), -1));
	EXPECT_EQ(-ENXIO, AttachCommandHandler(NULL));
	EXPECT_EQ(-ENXIO, SendCommandAt("show pools", 1));
	EXPECT_EQ(-ENXIO, CancelCommand(1));
	mte = executive(1000);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(0, AttachCommandHandler(NULL));
	len = SendCommand("show pools", reply, sizeof(reply), STALL);
	EXPECT_LT(100, len);
	EXPECT_EQ(len, strlen(reply));
	dxt_poison(reply, sizeof(reply));
	EXPECT_EQ(len, SendCommandOf(mte, "show pools", reply, 5, STALL));
	EXPECT_STREQ("pool", reply);
	EXPECT_TRUE(dxt_poisoned(reply + 5, sizeof(reply) - 5));
	EXPECT_EQ(len, SendCommand("show pools", reply, 1, STALL));
	EXPECT_STREQ("", reply);
	EXPECT_EQ(len, SendCommand("show pools", NULL, 7, STALL));
	EXPECT_EQ(0, SendCommand("show pools", reply, sizeof(reply), 0));
	EXPECT_STREQ("", reply);
	EXPECT_EQ(-EINVAL, SendCommand("set boost_value x", reply, sizeof(reply), STALL));
	EXPECT_STREQ("boost_value: x is no number\n", reply);
	EXPECT_EQ(-ENOENT, SendCommand("who", reply, sizeof(reply), STALL));
	EXPECT_EQ(-EINVAL, SendCommand("", reply, sizeof(reply), STALL));
	EXPECT_EQ(-EINVAL, SendCommand(NULL, reply, sizeof(reply), STALL));
	EXPECT_EQ(-EINVAL, SendCommandAt(NULL, 1));
	EXPECT_EQ(-EINVAL, SendCommandEvery("x", 0));
	EXPECT_EQ(-EINVAL, CancelCommand(0));
	EXPECT_EQ(-EINVAL, CancelCommand(-1));
	EXPECT_EQ(-ESRCH, CancelCommand(1));
	memset(text, 'x', sizeof(text));
	text[DXK_COMMAND_MAX + 1] = '\0';
	EXPECT_EQ(-EMSGSIZE, SendCommand(text, reply, sizeof(reply), STALL));
	text[DXK_COMMAND_MAX] = '\0';
	EXPECT_EQ(-ENOENT, SendCommand(text, reply, sizeof(reply), STALL));
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(-ESHUTDOWN, SendCommand("show pools", reply, sizeof(reply), STALL));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(fds, dxt_fds());
}

/* Has the file a line that ends with @text? */
static bool logged(const char *path, const char *text)
{
	char line[512];
	bool found = false;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		found |= strlen(line) >= strlen(text) &&
			 !strcmp(line + strlen(line) - strlen(text), text);
	}
	if (f)
		fclose(f);
	return found;
}

/*
 * DX-30: "log rotate" is the library's own, with a handler that does not know it,
 * without one, and as a timed command.
 */
TEST(log_rotate)
{
	static const char *const old[] = { LOG ".0", LOG ".1", LOG ".2" };
	MTExecutive *mte = executive(10);
	struct handler *h;
	unsigned int i;
	char text[16];

	ASSERT_NE(NULL, mte);
	h = handler_new(mte, "H");
	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "before %u", i);
		EXPECT_EQ(0, LogMessage("%s", text));
		ASSERT_EQ(0, rename(LOG, old[i]));
		if (i == 1) {
			ASSERT_EQ(0, AttachCommandHandler(&h->base));
		}
		if (i < 2) {
			EXPECT_EQ(0, SendCommand("log rotate", NULL, 0, STALL));
		} else {
			EXPECT_LT(0, SendCommandAt("log rotate", 1));
		}
		/* a timed command has its own time */
		EXPECT_TRUE(DXT_SOON(!LogMessage("after") && logged(LOG, "after")));
		/* what was logged before is in one of the files */
		EXPECT_NE(logged(old[i], text), logged(LOG, text));
		unlink(old[i]);
	}
	EXPECT_EQ(2, h->texts);
	EXPECT_EQ(0, AttachCommandHandler(NULL));
	/* without a wait, and without a handler */
	ASSERT_EQ(0, rename(LOG, old[0]));
	EXPECT_EQ(0, SendCommand("log rotate", NULL, 0, 0));
	EXPECT_EQ(0, access(LOG, F_OK));
	unlink(old[0]);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	handler_free(h);
}

/* --- handling ----------------------------------------------------------------- */

/* DX-29, DX-30: one thread of the library, there while a handler is */
TEST(handler)
{
	unsigned int fds = dxt_fds(), threads;
	char reply[DXK_COMMAND_MAX + 1];
	MTExecutive *mte = executive(5);
	struct handler *h = handler_new(mte, "one");

	ASSERT_NE(NULL, mte);
	threads = dxt_threads();
	EXPECT_EQ(0, AttachCommandHandler(&h->base));
	EXPECT_EQ(threads + 1, dxt_threads());
	EXPECT_TRUE(DXT_SOON(h->ticks >= 3));
	EXPECT_EQ(3, SendCommand("who", reply, sizeof(reply), STALL));
	EXPECT_STREQ("one", reply);
	EXPECT_LE(1000, h->id);
	EXPECT_EQ(1, sigismember(&h->mask, SIGTERM));
	EXPECT_EQ(0, sigismember(&h->mask, SIGSEGV));
	EXPECT_LT(100, SendCommand("show pools", reply, sizeof(reply), STALL));
	EXPECT_NE(NULL, strstr(reply, "high_water"));
	EXPECT_NE(NULL, strstr(reply, "and more\n"));
	EXPECT_LT(100, SendCommand("show lanes", reply, sizeof(reply), STALL));
	EXPECT_EQ(DXK_COMMAND_MAX, SendCommand("long", reply, sizeof(reply), STALL));
	EXPECT_EQ(DXK_COMMAND_MAX, strlen(reply));
	EXPECT_EQ(-EXDEV, SendCommand("fail", reply, sizeof(reply), STALL));
	EXPECT_EQ(0, SendCommand("positive", reply, sizeof(reply), STALL));
	EXPECT_EQ(-EINVAL, SendCommand("absurd", reply, sizeof(reply), STALL));
	EXPECT_EQ(-ENOENT, SendCommand("nobody's", reply, sizeof(reply), STALL));
	/* in a call it would wait for itself */
	EXPECT_EQ(0, SendCommand("inside", reply, sizeof(reply), STALL));
	EXPECT_EQ(-EDEADLK, h->inner[0]);
	EXPECT_EQ(-EDEADLK, h->inner[1]);
	EXPECT_EQ(-EDEADLK, h->inner[2]);

	EXPECT_EQ(0, AttachCommandHandler(NULL));
	h->gone = 1;
	EXPECT_TRUE(DXT_SOON(dxt_threads() == threads));
	EXPECT_EQ(-ENOENT, SendCommand("who", reply, sizeof(reply), STALL));
	h->gone = 0;
	EXPECT_EQ(0, AttachCommandHandlerOf(mte, &h->base));
	EXPECT_EQ(3, SendCommand("who", reply, sizeof(reply), STALL));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, h->wrong);
	handler_free(h);
	EXPECT_EQ(fds, dxt_fds());
}

/* A handler without call-backs; one that comes after Stop */
TEST(handler_empty)
{
	char reply[DXK_COMMAND_MAX + 1];
	MTExecutive *mte = executive(1);
	CommandHandler none = { 0 };
	struct handler *h = handler_new(mte, "one");

	ASSERT_NE(NULL, mte);
	EXPECT_EQ(0, AttachCommandHandler(&none));
	dxt_sleep_ms(20);
	EXPECT_EQ(-ENOENT, SendCommand("who", reply, sizeof(reply), STALL));
	EXPECT_LT(100, SendCommand("show pools", reply, sizeof(reply), STALL));
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, AttachCommandHandler(&h->base));
	EXPECT_EQ(0, AttachCommandHandler(&none));
	EXPECT_EQ(-ESHUTDOWN, SendCommand("who", reply, sizeof(reply), STALL));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, h->ticks + h->texts);
	handler_free(h);
}

struct attacher {
	pthread_t thread;
	CommandHandler *handler;
	_Atomic int done;
	int rc;
};

static void *attacher_thread(void *arg)
{
	struct attacher *a = arg;

	a->rc = AttachCommandHandler(a->handler);
	a->done = 1;
	return NULL;
}

/*
 * DX-31, DX-32: replace and detach wait for the call in progress, and only they:
 * requests run, senders give up when they like, Stop ends.
 */
TEST(handler_blocks)
{
	char reply[DXK_COMMAND_MAX + 1];
	MTExecutive *mte = executive(2);
	struct handler *h[2] = { handler_new(mte, "one"), handler_new(mte, "two") };
	struct attacher a;
	int i;

	ASSERT_NE(NULL, mte);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, AttachCommandHandler(&h[i]->base));
		EXPECT_EQ(0, SendCommand("hold", NULL, 0, 0));
		ASSERT_TRUE(DXT_SOON(h[i]->gate->entered));
		EXPECT_EQ(-ETIMEDOUT, SendCommand("who", reply, sizeof(reply), DXT_MS));
		a = (struct attacher){ .handler = i ? NULL : &h[1]->base };
		ASSERT_EQ(0, pthread_create(&a.thread, NULL, attacher_thread, &a));
		dxt_sleep_ms(20);
		EXPECT_EQ(0, a.done);
		EXPECT_EQ(-ETIMEDOUT, SendCommand("who", reply, sizeof(reply), DXT_MS));
		dxt_gate_open(h[i]->gate);
		pthread_join(a.thread, NULL);
		h[i]->gone = 1;
		EXPECT_EQ(0, a.rc);
		EXPECT_TRUE(i || DXT_SOON(h[1]->ticks));
	}
	EXPECT_EQ(-ENOENT, SendCommand("who", reply, sizeof(reply), STALL));

	h[0]->gone = 0;
	dxt_gate_close(h[0]->gate);
	EXPECT_EQ(0, AttachCommandHandler(&h[0]->base));
	EXPECT_EQ(0, SendCommand("hold", NULL, 0, 0));
	ASSERT_TRUE(DXT_SOON(h[0]->gate->entered == 2));
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_DRAIN, STALL));
	dxt_gate_open(h[0]->gate);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, h[i]->wrong);
		handler_free(h[i]);
	}
}

/* Another handler of the context: ours ends, and can be attached again. */
TEST(handler_of_others)
{
	char reply[DXK_COMMAND_MAX + 1];
	MTExecutive *mte = executive(2);
	struct handler *h = handler_new(mte, "one");
	int fd;

	ASSERT_NE(NULL, mte);
	EXPECT_EQ(0, AttachCommandHandler(&h->base));
	fd = MTExecutiveMemberFd(NULL);
	EXPECT_EQ(0, dxk_command_attach(fd, 1));
	h->ticks = 0;
	/* this thread is the handler now: it asks the context */
	EXPECT_EQ(-ENOENT, SendCommand("who", reply, sizeof(reply), STALL));
	/* ours has gone; its detach does not touch the other */
	EXPECT_EQ(0, AttachCommandHandler(NULL));
	EXPECT_NE(-EPERM, dxk_command_next(fd, 0, NULL, 0, reply, &(size_t){ 0 }, 0));
	EXPECT_NE(-ESTALE, dxk_command_next(fd, 0, NULL, 0, reply, &(size_t){ 0 }, 0));
	EXPECT_EQ(0, AttachCommandHandler(&h->base));
	EXPECT_EQ(-ESTALE, dxk_command_next(fd, 0, NULL, 0, reply, &(size_t){ 0 }, 0));
	EXPECT_EQ(3, SendCommand("who", reply, sizeof(reply), STALL));
	EXPECT_TRUE(DXT_SOON(h->ticks));
	EXPECT_EQ(0, dxk_command_attach(fd, 1));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, h->wrong);
	handler_free(h);
}

/* Timed commands */
TEST(timed)
{
	char reply[DXK_COMMAND_MAX + 1];
	MTExecutive *mte = executive(2);
	struct handler *h = handler_new(mte, "one");
	uint64_t due = dxt_in(30 * DXT_MS);
	unsigned int nr;
	int id;

	ASSERT_NE(NULL, mte);
	EXPECT_EQ(0, AttachCommandHandler(&h->base));
	EXPECT_LT(0, SendCommandAt("who", due));
	EXPECT_LT(0, SendCommandAt("who", 0));
	EXPECT_TRUE(DXT_SOON(h->texts == 2));
	EXPECT_LE(due, dxt_now());
	id = SendCommandEvery("who", DXT_MS);
	EXPECT_LT(0, id);
	EXPECT_TRUE(DXT_SOON(h->texts > 5));
	EXPECT_EQ(0, CancelCommand(id));
	EXPECT_EQ(-ESRCH, CancelCommandOf(mte, id));
	/* what was on its way is over after this one */
	EXPECT_EQ(3, SendCommand("who", reply, sizeof(reply), STALL));
	nr = h->texts;
	dxt_sleep_ms(30);
	EXPECT_EQ(nr, h->texts);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, h->wrong);
	handler_free(h);
}

/* The child of a fork has no handler; the parent's goes on. */
TEST(fork_child)
{
	char reply[DXK_COMMAND_MAX + 1];
	MTExecutive *mte = executive(2);
	struct handler *h = handler_new(mte, "one");
	unsigned int ticks;
	pid_t pid;

	ASSERT_NE(NULL, mte);
	EXPECT_EQ(0, AttachCommandHandler(&h->base));
	pid = dxt_fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		int bad = AttachCommandHandler(NULL) != -ENXIO;

		bad |= (AttachCommandHandlerOf(mte, NULL) != -EPERM) << 1;
		bad |= (SendCommandOf(mte, "who", NULL, 0, 0) != -EPERM) << 2;
		bad |= (SendCommandEveryOf(mte, "who", 1) != -EPERM) << 3;
		bad |= (CancelCommandOf(mte, 1) != -EPERM) << 4;
		_exit(bad);
	}
	EXPECT_EQ(0, dxt_reap(pid));
	ticks = h->ticks;
	EXPECT_TRUE(DXT_SOON(h->ticks > ticks));
	EXPECT_EQ(3, SendCommand("who", reply, sizeof(reply), STALL));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, h->wrong);
	handler_free(h);
}

/* no call after a detach or a replace has returned */
static void *send_thread(void *arg)
{
	_Atomic int *over = arg;
	char reply[64];
	int rc = 0;

	while (!*over && (rc >= 0 || rc == -EAGAIN || rc == -ENOENT))
		rc = SendCommand("who", reply, sizeof(reply), STALL);
	return (void *)(intptr_t)(rc >= 0 || rc == -ENOENT ? 0 : rc);
}

TEST(race)
{
	MTExecutive *mte = executive(1);
	struct handler *h[2] = { handler_new(mte, "one"), handler_new(mte, "two") };
	unsigned int i, rounds = dxt_debug_kernel() ? 150 : 500;
	_Atomic int over = 0;
	pthread_t thread;
	void *rc;

	ASSERT_NE(NULL, mte);
	ASSERT_EQ(0, pthread_create(&thread, NULL, send_thread, (void *)&over));
	for (i = 0; i < rounds; i++) {
		struct handler *now = h[i & 1], *before = h[~i & 1];

		dxt_tell("%u rounds", i);
		now->gone = 0;
		ASSERT_EQ(0, AttachCommandHandler(&now->base));
		before->gone = 1;
		if (i % 32 == 0) {
			unsigned int ticks = now->ticks;

			EXPECT_TRUE(DXT_SOON(now->ticks != ticks));
		}
		if (i % 3)
			continue;
		ASSERT_EQ(0, AttachCommandHandler(NULL));
		now->gone = 1;
	}
	ASSERT_EQ(0, AttachCommandHandler(NULL));
	over = 1;
	pthread_join(thread, &rc);
	EXPECT_EQ(NULL, rc);
	EXPECT_LT(0, h[0]->texts + h[1]->texts);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, h[i]->wrong);
		handler_free(h[i]);
	}
}

TEST_HARNESS_MAIN
