// SPDX-License-Identifier: GPL-2.0-only
/*
 * Add-ins: what is told to their message queue reaches the command handler, whoever
 * sends it, lives, dies or says nothing. Built a second time with the address
 * sanitizer.
 */
#include "lib/dxt.h"

#include <dx.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAME	"dxk-addin-test"
#define DIR_	"/run/dxk"
#define PATH	DIR_ "/" NAME
#define STALL	dxt_late_ns()
#define USER	4205

static bool there(const char *path)
{
	struct stat st;

	return !lstat(path, &st);
}

static MTExecutive *addin(const char *name, MTExecutiveError *error)
{
	ThreadManagerPolicy policy;
	RunSettings settings;

	RunSettingsInit(&settings, name, 0, NULL);
	settings.LogPath = "/dev/null";
	settings.IsAddin = true;
	if (ThreadManagerPolicyInit(&policy))
		return NULL;
	policy.TPMaxThreads = 2;
	policy.TPDispatch = dxt_mode();
	return MTExecutiveCreate(&settings, &policy, error);
}

static int refused(const char *name)
{
	MTExecutiveError error;
	MTExecutive *mte = addin(name, &error);

	if (mte)
		return MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	return strcmp(error.Step, "message queue") ? 1 : error.Error;
}

static int end(MTExecutive *mte)
{
	return MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
}

/* --- a handler ------------------------------------------------------------------ */

struct handler {
	CommandHandler base;
	const char *name;
	struct dxt_gate *gate;		/* "hold" waits here */
	_Atomic unsigned int counted;
	_Atomic unsigned int quits;
	char got[DXK_COMMAND_MAX + 1];	/* by the last command that is not known */
};

static int handle(CommandHandler *self, const char *text, char *reply, size_t room)
{
	struct handler *h = (struct handler *)self;

	if (!strcmp(text, "who"))
		return snprintf(reply, room, "%s", h->name) < 0;
	if (!strcmp(text, "hold")) {
		dxt_gate_pass(h->gate, 0);
		return 0;
	}
	if (!strcmp(text, "count"))
		return h->counted++ & 0;
	if (!strcmp(text, "long")) {
		memset(reply, 'x', room - 1);
		reply[room - 1] = '\0';
		return 0;
	}
	if (!strcmp(text, "fail")) {
		snprintf(reply, room, "it cannot be done");
		return -EXDEV;
	}
	h->quits += !strcmp(text, "quit");
	snprintf(h->got, sizeof(h->got), "%s", text);
	return -ENOENT;
}

static struct handler *handler_new(MTExecutive *mte, const char *name)
{
	struct handler *h = calloc(1, sizeof(*h));

	h->base.HandleCommand = handle;
	h->name = name;
	h->gate = dxt_gate_new();
	if (AttachCommandHandlerOf(mte, &h->base))
		abort();
	return h;
}

static void handler_free(struct handler *h)
{
	dxt_gate_free(h->gate);
	free(h);
}

static char reply[DXK_COMMAND_MAX + 1];

static int tell_to(const char *name, const char *text)
{
	dxt_poison(reply, sizeof(reply));
	return SendCommandTo(name, text, reply, sizeof(reply), STALL);
}

static int tell(const char *text)
{
	return tell_to(NAME, text);
}

/* Does the add-in @name answer with its handler's name? */
static bool answers(const char *name, const char *with)
{
	return tell_to(name, "who") == (int)strlen(with) && !strcmp(reply, with);
}

/* --- commands ---------------------------------------------------------------------- */

/* DX-2: an add-in hears that it shall quit. It can start again, and leaves nothing. */
TEST(quit)
{
	unsigned int fds = dxt_fds();
	MTExecutiveError error;
	struct handler *h;
	MTExecutive *mte;
	int i;

	EXPECT_EQ(-ENXIO, tell("quit"));
	mte = addin(NAME, &error);
	ASSERT_NE(NULL, mte);
	EXPECT_TRUE(there(PATH));
	h = handler_new(mte, "H");
	for (i = 1; i <= 2; i++) {
		EXPECT_EQ(0, ShouldStop(0));
		EXPECT_EQ(0, tell("quit"));
		/* the handler has heard it first, and now all who ask */
		EXPECT_EQ(i, h->quits);
		EXPECT_EQ(1, ShouldStop(STALL));
		EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_DRAIN, STALL));
		EXPECT_EQ(-ESHUTDOWN, tell("who"));
		ASSERT_EQ(0, MTExecutiveStart(mte, &error));
		EXPECT_TRUE(answers(NAME, "H"));
	}
	EXPECT_EQ(0, end(mte));
	EXPECT_FALSE(there(PATH));
	EXPECT_EQ(-ENXIO, tell("who"));
	EXPECT_EQ(fds, dxt_fds());
	handler_free(h);
}

/* DX-2, DX-30: replies and errors of the handler and of the executive's own commands */
static int replies(void)
{
	if (!answers(NAME, "H") || !answers(PATH, "H"))
		return 1;
	if (SendCommandTo(NAME, "who", reply, 1, STALL) != 1 || *reply ||
	    SendCommandTo(NAME, "who", NULL, 7, STALL) != 1)
		return 2;
	if (tell("long") != DXK_COMMAND_MAX || strspn(reply, "x") != DXK_COMMAND_MAX)
		return 3;
	if (tell("fail") != -EXDEV || strcmp(reply, "it cannot be done"))
		return 4;
	if (tell("show pools") < 100 || !strstr(reply, "high_water"))
		return 5;
	if (tell("set boost_value x") != -EINVAL || !strstr(reply, "x is no number"))
		return 6;
	if (tell("nobody's") != -ENOENT)
		return 7;
	return SendCommandTo(NAME, "count", reply, sizeof(reply), 0) || *reply ? 8 : 0;
}

TEST(a_reply)
{
	unsigned int threads = dxt_threads();
	struct handler *h;
	MTExecutive *mte;
	pid_t pid;

	/* of another process, too, which has no executive */
	mte = addin(NAME, NULL);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(-ENOENT, tell("who"));
	h = handler_new(mte, "H");
	EXPECT_EQ(0, replies());
	EXPECT_TRUE(DXT_SOON(h->counted == 1));
	pid = dxt_fork();
	if (!pid)
		_exit(replies());
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_TRUE(DXT_SOON(h->counted == 2));
	EXPECT_EQ(0, end(mte));
	EXPECT_TRUE(DXT_SOON(dxt_threads() == threads));
	handler_free(h);
}

TEST(two)
{
	MTExecutive *mte[2] = { addin(NAME, NULL), addin(NAME "2", NULL) };
	struct handler *h[2];

	ASSERT_NE(NULL, mte[0]);
	ASSERT_NE(NULL, mte[1]);
	h[0] = handler_new(mte[0], "one");
	h[1] = handler_new(mte[1], "two");
	EXPECT_TRUE(answers(NAME, "one"));
	EXPECT_TRUE(answers(NAME "2", "two"));
	EXPECT_EQ(0, end(mte[0]));
	EXPECT_EQ(-ENXIO, tell("who"));
	EXPECT_TRUE(answers(NAME "2", "two"));
	EXPECT_EQ(0, end(mte[1]));
	handler_free(h[0]);
	handler_free(h[1]);
}

/* --- names -------------------------------------------------------------------------- */

TEST(names)
{
	static const char *const bad[] = {
		"", ".", "..", ".x", "a/b", "/x", "a b", "\tx", "caf\xc3\xa9",
		"12345678901234567890123456789012",
	};
	static const char longest[] = "1234567890123456789012345678901";
	unsigned int fds = dxt_fds(), contexts = dxt_contexts();
	MTExecutiveError error;
	RunSettings settings;
	struct handler *h;
	MTExecutive *mte;
	pid_t pid;
	size_t i;
	int fd;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, refused(bad[i])) TH_LOG("%s", bad[i]);
	}
	EXPECT_EQ(-EINVAL, tell_to("", "who"));
	EXPECT_EQ(-EINVAL, tell_to("a b", "who"));
	EXPECT_EQ(-EINVAL, tell_to(NULL, "who"));
	EXPECT_EQ(-EINVAL, tell_to(NAME, NULL));
	EXPECT_EQ(-EINVAL, tell_to(NAME, ""));
	EXPECT_EQ(0, refused(longest));

	mte = addin(NAME, NULL);
	ASSERT_NE(NULL, mte);
	h = handler_new(mte, "first");
	EXPECT_EQ(-EEXIST, refused(NAME));
	pid = dxt_fork();
	if (!pid)
		_exit(refused(NAME) != -EEXIST);
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_TRUE(answers(NAME, "first"));
	EXPECT_EQ(0, end(mte));
	handler_free(h);

	/* what is no socket is somebody's */
	fd = open(PATH, O_CREAT | O_EXCL | O_WRONLY, 0600);
	ASSERT_LE(0, fd);
	close(fd);
	EXPECT_EQ(-EEXIST, refused(NAME));
	EXPECT_EQ(-ENXIO, tell("who"));
	EXPECT_EQ(0, unlink(PATH));

	/* a client of another one's context cannot command it */
	RunSettingsInit(&settings, NAME, 0, NULL);
	settings.ContextName = NAME;
	settings.IsAddin = true;
	EXPECT_EQ(NULL, MTExecutiveJoin(&settings, DX_ANY_OWNER, &error));
	EXPECT_STREQ("settings", error.Step);
	EXPECT_EQ(-EINVAL, error.Error);
	EXPECT_FALSE(there(PATH));
	EXPECT_EQ(fds, dxt_fds());
	EXPECT_TRUE(DXT_SOON(dxt_contexts() == contexts));
}

/* In a child: an add-in until it is killed, with a child of its own or without. */
static void live(const int ready[2], bool child)
{
	struct pollfd reader = { .fd = ready[1] };
	MTExecutive *mte = addin(NAME, NULL);
	bool fails;

	close(ready[0]);
	fails = !mte || (child && fork() < 0) || write(ready[1], "x", 1) < 0;
	/* until the test closes its end, or ends */
	_exit(fails || poll(&reader, 1, -1) < 0);
}

/*
 * A killed add-in leaves its name behind, which is free for exactly one of those who
 * want it, also when a child of it lives on.
 */
TEST(killed)
{
	struct takers { _Atomic int there, won, lost, wrong; } *t = dxt_shared(sizeof(*t));
	pid_t pid, taker[6];
	struct handler *h;
	MTExecutive *mte;
	int ready[2], i, round;
	char c;

	for (round = 0; round < 12; round++) {
		struct dxt_gate *gate = dxt_gate_new();

		ASSERT_EQ(0, pipe(ready));
		pid = dxt_fork();
		if (!pid)
			live(ready, round & 1);
		for (i = 0; i <= (round & 1); i++)
			ASSERT_EQ(1, read(ready[0], &c, 1));
		EXPECT_EQ(-EEXIST, refused(NAME));
		kill(pid, SIGKILL);
		dxt_reap(pid);
		EXPECT_TRUE(there(PATH));
		EXPECT_EQ(-ENXIO, tell("who"));

		*t = (struct takers){ 0 };
		for (i = 0; i < (int)ARRAY_SIZE(taker); i++) {
			MTExecutiveError error;

			taker[i] = dxt_fork();
			if (taker[i])
				continue;
			/* all at once */
			t->there++;
			while (t->there < (int)ARRAY_SIZE(taker))
				;
			mte = addin(NAME, &error);
			t->won += mte != NULL;
			t->lost += !mte && error.Error == -EEXIST;
			t->wrong += !mte && error.Error != -EEXIST;
			dxt_gate_pass(gate, 0);
			_exit(mte ? end(mte) : 0);
		}
		EXPECT_TRUE(DXT_SOON(gate->entered == ARRAY_SIZE(taker)));
		EXPECT_EQ(1, t->won);
		EXPECT_EQ(0, t->wrong);
		EXPECT_TRUE(there(PATH));
		dxt_gate_open(gate);
		for (i = 0; i < (int)ARRAY_SIZE(taker); i++)
			EXPECT_EQ(0, dxt_reap(taker[i]));
		dxt_gate_free(gate);
		close(ready[0]);
		close(ready[1]);
	}
	mte = addin(NAME, NULL);
	ASSERT_NE(NULL, mte);
	h = handler_new(mte, "next");
	EXPECT_TRUE(answers(NAME, "next"));
	/* Somebody has removed the file and taken the name: it is not ours any more. */
	EXPECT_EQ(0, unlink(PATH));
	pid = dxt_fork();
	if (!pid) {
		mte = addin(NAME, NULL);
		_exit(!mte || tell("show pools") < 100 || raise(SIGSTOP) || end(mte));
	}
	EXPECT_EQ(pid, waitpid(pid, NULL, WUNTRACED));
	EXPECT_EQ(0, end(mte));
	EXPECT_TRUE(there(PATH));
	kill(pid, SIGCONT);
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_FALSE(there(PATH));
	handler_free(h);
}

/* --- users ---------------------------------------------------------------------------- */

static int as_user(int (*what)(void))
{
	pid_t pid = dxt_fork();

	if (!pid) {
		if (setresgid(USER, USER, USER) || setresuid(USER, USER, USER))
			_exit(99);
		_exit(what());
	}
	return dxt_reap(pid);
}

static int tell_path_access(void)
{
	return tell_to(PATH, "count") != -EACCES;
}

static int tell_path_permission(void)
{
	return tell_to(PATH, "count") != -EPERM;
}

/* A user tells by the name only what is the user's. */
static int tell_name_none(void)
{
	return tell("count") != -ENXIO;
}

static struct dxt_gate *user_gate;

static int user_addin(void)
{
	MTExecutive *mte;
	struct handler *h;

	mte = addin(NAME, NULL);
	if (!mte)
		return 1;
	h = handler_new(mte, "user's");
	if (!answers(NAME, "user's"))
		return 2;
	dxt_gate_pass(user_gate, 0);
	return h->counted != 1 || end(mte) ? 3 : 0;
}

/* DX-2: only the user of an add-in, and root, can tell it something. */
TEST(users)
{
	static const char home[] = "/tmp/dxk-addin-test";
	mode_t mask = umask(0);
	MTExecutive *mte = addin(NAME, NULL);
	struct stat device;
	struct handler *h;
	pid_t pid;

	umask(mask);
	ASSERT_NE(NULL, mte);
	h = handler_new(mte, "root's");
	EXPECT_EQ(0, as_user(tell_path_access));
	ASSERT_EQ(0, chmod(DIR_, 0755));
	EXPECT_EQ(0, as_user(tell_path_access));
	ASSERT_EQ(0, chmod(PATH, 0666));
	EXPECT_EQ(0, as_user(tell_path_permission));
	EXPECT_EQ(0, as_user(tell_name_none));
	EXPECT_EQ(0, h->counted);
	/* a directory in which anybody could put a socket */
	ASSERT_EQ(0, chmod(DIR_, 01777));
	EXPECT_EQ(-EPERM, refused(NAME "2"));
	ASSERT_EQ(0, chmod(DIR_, 0755));
	EXPECT_EQ(0, refused(NAME "2"));
	ASSERT_EQ(0, chmod(DIR_, 0700));

	/* A user's is elsewhere, where the user and root reach it. */
	ASSERT_EQ(0, stat("/dev/dxk", &device));
	ASSERT_EQ(0, chmod("/dev/dxk", 0666));
	mkdir(home, 0700);
	ASSERT_EQ(0, chown(home, USER, USER));
	ASSERT_EQ(0, setenv("XDG_RUNTIME_DIR", home, 1));
	user_gate = dxt_gate_new();
	pid = dxt_fork();
	if (!pid)
		_exit(as_user(user_addin));
	EXPECT_TRUE(DXT_SOON(user_gate->entered || dxt_gone(pid)));
	EXPECT_TRUE(answers("/tmp/dxk-addin-test/dxk/" NAME, "user's"));
	EXPECT_EQ(0, tell_to("/tmp/dxk-addin-test/dxk/" NAME, "count"));
	EXPECT_TRUE(answers(NAME, "root's"));
	dxt_gate_open(user_gate);
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_EQ(0, rmdir("/tmp/dxk-addin-test/dxk"));
	EXPECT_EQ(0, rmdir(home));
	EXPECT_EQ(0, chmod("/dev/dxk", device.st_mode & 07777));
	EXPECT_EQ(0, end(mte));
	dxt_gate_free(user_gate);
	handler_free(h);
}

/* --- messages of any kind ----------------------------------------------------------------- */

static int raw(int flags)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX, .sun_path = PATH };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0), err;

	if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

static int raw_reply(int fd)
{
	int32_t status = -EBADMSG;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, dxt_late_ms()) != 1)
		status = -ETIMEDOUT;
	else if (recv(fd, &status, sizeof(status), MSG_TRUNC) < 4)
		status = -ESHUTDOWN;
	close(fd);
	return status;
}

/* A packet with @head bytes of a timeout, and a text. */
static int raw_begin(int64_t timeout, size_t head, const void *text, size_t len)
{
	static char packet[65536];
	int fd = raw(0);

	memcpy(packet, &timeout, head);
	memcpy(packet + head, text, len);
	if (fd < 0 || send(fd, packet, head + len, MSG_NOSIGNAL) < 0)
		return fd < 0 ? fd : -errno;
	return fd;
}

static int raw_send(int64_t timeout, size_t head, const void *text, size_t len)
{
	int fd = raw_begin(timeout, head, text, len);

	return fd < 0 ? fd : raw_reply(fd);
}

static bool raw_read(int fd)
{
	int unread = 1;

	return !ioctl(fd, SIOCOUTQ, &unread) && !unread;
}

TEST(odd_messages)
{
	static char text[65536 - 8], told[DXK_COMMAND_MAX + 1];
	MTExecutive *mte = addin(NAME, NULL);
	struct handler *h;
	int fd, i;

	ASSERT_NE(NULL, mte);
	h = handler_new(mte, "H");
	memset(text, 'y', sizeof(text));
	EXPECT_EQ(-EMSGSIZE, raw_send(-1, 8, text, sizeof(text)));
	EXPECT_EQ(-EMSGSIZE, raw_send(-1, 8, text, DXK_COMMAND_MAX + 2));
	EXPECT_EQ(-EMSGSIZE, raw_send(-1, 8, text, DXK_COMMAND_MAX + 1));
	EXPECT_STREQ("", h->got);
	EXPECT_EQ(-ENOENT, raw_send(-1, 8, text, DXK_COMMAND_MAX));
	EXPECT_EQ(DXK_COMMAND_MAX, strspn(h->got, "y"));
	*h->got = '\0';
	memset(told, 'y', sizeof(told));
	text[DXK_COMMAND_MAX + 1] = '\0';
	EXPECT_EQ(-EMSGSIZE, tell(text));
	text[DXK_COMMAND_MAX] = '\0';
	EXPECT_EQ(-ENOENT, tell(text));
	*h->got = '\0';

	for (i = 0; i < 8; i++)
		EXPECT_EQ(-EINVAL, raw_send(-1, (size_t)i, "", i == 0));
	EXPECT_EQ(-EINVAL, raw_send(-1, 8, "", 0));
	EXPECT_EQ(-EINVAL, raw_send(-1, 8, "co\0unt", 6));
	EXPECT_EQ(-EINVAL, raw_send(-1, 8, "count", 6));
	EXPECT_STREQ("", h->got);
	EXPECT_EQ(0, h->counted);
	/* any other byte is the handler's */
	for (i = 1; i < 256; i++)
		told[i - 1] = (char)i;
	told[255] = '\0';
	EXPECT_EQ(-ENOENT, tell(told));
	EXPECT_STREQ(told, h->got);
	/* absurd timeouts, and who goes before the reply */
	EXPECT_EQ(1, raw_send(INT64_MIN, 8, "who", 3));
	EXPECT_EQ(1, raw_send(INT64_MAX, 8, "who", 3));
	EXPECT_EQ(0, raw_send(0, 8, "count", 5));
	EXPECT_TRUE(DXT_SOON(h->counted == 1));
	fd = raw(0);
	EXPECT_LE(0, fd);
	close(fd);
	EXPECT_TRUE(answers(NAME, "H"));
	EXPECT_EQ(0, end(mte));
	handler_free(h);
}

/* --- crowds ---------------------------------------------------------------------------------- */

/* Those who connect and say nothing keep nobody out. */
TEST(silent)
{
	MTExecutive *mte = addin(NAME, NULL);
	int fd[80], i, refused_nr = 0;
	struct handler *h;

	ASSERT_NE(NULL, mte);
	h = handler_new(mte, "H");
	for (i = 0; i < (int)ARRAY_SIZE(fd); i++) {
		fd[i] = raw(0);
		ASSERT_LE(0, fd[i]);
	}
	EXPECT_TRUE(answers(NAME, "H"));
	/* the oldest ones have gone, and know why */
	for (i = 0; i < (int)ARRAY_SIZE(fd); i++) {
		struct pollfd p = { .fd = fd[i], .events = POLLIN };

		if (!poll(&p, 1, 0)) {
			close(fd[i]);
			continue;
		}
		EXPECT_EQ(refused_nr++, i);
		EXPECT_EQ(-EAGAIN, raw_reply(fd[i]));
	}
	EXPECT_LT(40, refused_nr);
	EXPECT_GT((int)ARRAY_SIZE(fd), refused_nr);
	EXPECT_TRUE(answers(NAME, "H"));
	EXPECT_EQ(0, end(mte));
	handler_free(h);
}

/*
 * While the handler hangs the queue fills up. Senders give up when they like; what they
 * have given up is not executed, what nobody waits for is.
 */
TEST(flood)
{
	MTExecutive *mte = addin(NAME, NULL);
	int fd[400], nr, who;
	struct handler *h;

	ASSERT_NE(NULL, mte);
	h = handler_new(mte, "H");
	EXPECT_EQ(0, SendCommandTo(NAME, "hold", NULL, 0, 0));
	ASSERT_TRUE(DXT_SOON(h->gate->entered));
	/* the thread of the queue has this one, and waits */
	who = raw_begin(-1, 8, "who", 3);
	ASSERT_LE(0, who);
	EXPECT_TRUE(DXT_SOON(raw_read(who)));
	EXPECT_EQ(-ETIMEDOUT, SendCommandTo(NAME, "count", NULL, 0, 20 * DXT_MS));
	EXPECT_EQ(0, SendCommandTo(NAME, "count", NULL, 0, 0));
	for (nr = 0; nr < (int)ARRAY_SIZE(fd); nr++) {
		fd[nr] = raw(SOCK_NONBLOCK);
		if (fd[nr] < 0)
			break;
	}
	ASSERT_GT((int)ARRAY_SIZE(fd), nr);
	EXPECT_EQ(-EAGAIN, fd[nr]);
	EXPECT_EQ(-EAGAIN, SendCommandTo(NAME, "count", NULL, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, SendCommandTo(NAME, "count", NULL, 0, 20 * DXT_MS));
	while (nr)
		close(fd[--nr]);
	dxt_gate_open(h->gate);
	EXPECT_EQ(1, raw_reply(who));
	EXPECT_TRUE(answers(NAME, "H"));
	EXPECT_EQ(1, h->counted);
	EXPECT_EQ(0, end(mte));
	handler_free(h);
}

struct crowd {
	_Atomic int stop, told, ended, wrong;
};

static void *crowd_thread(void *arg)
{
	struct crowd *c = arg;
	char text[8];
	int rc;

	while (!c->stop) {
		rc = SendCommandTo(NAME, "who", text, sizeof(text), STALL);
		if (rc == 1 && !strcmp(text, "H"))
			c->told++;
		else if (rc == -ESHUTDOWN || rc == -ENXIO || rc == -ENOENT)
			c->ended++;	/* no handler before it is attached, and after */
		else
			c->wrong = rc ? rc : 1;
	}
	return NULL;
}

/* Constructions, Stops and Destroys while messages come, and forks beside them. */
TEST(destroy)
{
	unsigned int fds = dxt_fds();
	struct crowd c = { 0 };
	pthread_t thread[6];
	struct handler *h;
	MTExecutive *mte;
	int i, told;

	for (i = 0; i < (int)ARRAY_SIZE(thread); i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, crowd_thread, &c));
	for (i = 0; i < 12; i++) {
		mte = addin(NAME, NULL);
		ASSERT_NE(NULL, mte);
		h = handler_new(mte, "H");
		told = c.told;
		EXPECT_TRUE(DXT_SOON(c.told > told + i));
		if (i & 1) {
			pid_t pid = dxt_fork();

			if (!pid)
				_exit(MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1) != -EPERM ||
				      !there(PATH));
			EXPECT_EQ(0, dxt_reap(pid));
		}
		EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1));
		handler_free(h);
	}
	c.stop = 1;
	for (i = 0; i < (int)ARRAY_SIZE(thread); i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(0, c.wrong);
	EXPECT_LT(0, c.ended);
	EXPECT_EQ(fds, dxt_fds());
}

TEST_HARNESS_MAIN
