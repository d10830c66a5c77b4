// SPDX-License-Identifier: GPL-2.0-only
/*
 * What must not keep a process from going on: a thread that is cancelled in any call
 * of the library, a log that takes no line, and a FIFO that nobody opens or reads. The calls of
 * the system that the library makes go through this program. Built a second time with
 * the address sanitizer.
 */
#include "lib/dxt.h"

#include <dlfcn.h>
#include <dx.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOG	"/tmp/dxk-libhang-test.log"
#define FIFO	"/tmp/dxk-libhang-test.fifo"
#define NAME	"libhang"

/* --- between the library and the system -------------------------------------- */

/* The calling thread is cancelled in its so-manieth call from now on; 0: in none. */
static _Thread_local unsigned int fuse;
/* Every call is a place where a thread can be cancelled, not only those that have to be. */
static _Atomic bool everywhere;
/* What a write of a line to the log comes to, but of one that tells of lost ones. */
static _Atomic int write_error;
static _Atomic bool opening;		/* somebody begins to open the FIFO */
static _Atomic bool manager_held;	/* it does not come to its wait for places */
static _Atomic unsigned int found_full;	/* how often a look found that a file takes nothing */

static void before_call(void)
{
	int state;

	if (!fuse || --fuse)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_setcancelstate(state, NULL);
	if (everywhere && state == PTHREAD_CANCEL_ENABLE)
		pthread_exit(PTHREAD_CANCELED);
	pthread_cancel(pthread_self());
}

#define NEXT(name, ...) ({						\
	__typeof__(&name) _next = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
	before_call();							\
	_next(__VA_ARGS__);						\
})

#define ARGUMENT(last, type) ({						\
	va_list _args;							\
	va_start(_args, last);						\
	type _arg = va_arg(_args, type);				\
	va_end(_args);							\
	_arg;								\
})

int open(const char *path, int flags, ...)
{
	mode_t mode = flags & O_CREAT ? ARGUMENT(flags, mode_t) : 0;

	if (!strcmp(path, FIFO))
		opening = true;
	return NEXT(open, path, flags, mode);
}

int ioctl(int fd, unsigned long request, ...)
{
	void *arg = ARGUMENT(request, void *);

	while (manager_held && request == DXK_IOC_CREW_WAIT &&
	       ((struct dxk_crew_wait *)arg)->deadline == DXK_FOREVER)
		dxt_sleep_ms(1);
	return NEXT(ioctl, fd, request, arg);
}

int close(int fd)
{
	return NEXT(close, fd);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	return NEXT(nanosleep, time, left);
}

int poll(struct pollfd *fds, nfds_t nr, int timeout)
{
	int rc = NEXT(poll, fds, nr, timeout);

	found_full += !rc && nr == 1 && fds->events == POLLOUT;
	return rc;
}

int eventfd(unsigned int count, int flags)
{
	return NEXT(eventfd, count, flags);
}

ssize_t read(int fd, void *data, size_t size)
{
	return NEXT(read, fd, data, size);
}

ssize_t write(int fd, const void *data, size_t size)
{
	if (write_error && !memmem(data, size, " lost\n", 6)) {
		errno = write_error;
		return -1;
	}
	return NEXT(write, fd, data, size);
}

/* --- what may hang ------------------------------------------------------------ */

struct deed {
	bool (*f)(void *arg);
	void *arg;
	bool right;
	_Atomic bool done;
};

static void *deed_main(void *arg)
{
	struct deed *d = arg;

	d->right = d->f(d->arg);
	d->done = true;
	return NULL;
}

/* Did it come to an end, and was it right? One that hangs is left alone with its deed. */
static bool ends(bool (*f)(void *arg), void *arg)
{
	struct deed *d = calloc(1, sizeof(*d));
	pthread_t thread;
	bool right;

	d->f = f;
	d->arg = arg;
	if (pthread_create(&thread, NULL, deed_main, d) || !DXT_SOON(d->done))
		return false;
	pthread_join(thread, NULL);
	right = d->right;
	free(d);
	return right;
}

static bool forks(void *arg)
{
	pid_t pid = dxt_fork();

	(void)arg;
	if (!pid)
		_exit(0);
	return pid > 0 && !dxt_reap(pid);
}

static bool is_destroyed(void *mte)
{
	return !MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
}

static bool rotates(void *mte)
{
	return !LogRotateOf(mte);
}

static bool times_out(void *mte)
{
	return MTExecutiveStop(mte, DXK_STOP_DRAIN, 10 * DXT_MS) == -ETIMEDOUT;
}

static MTExecutive *executive(const char *log, const char *name)
{
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	RunSettingsInit(&settings, "libhang", 0, NULL);
	settings.LogPath = log;
	settings.ContextName = name;
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = 2;
	policy.TPMonitorInterval = 10;
	policy.TPLogEntries = 8;
	policy.TPDispatch = dxt_mode();
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte)
		fprintf(stderr, "# %s %s: %d\n", error.Step, error.Field, error.Error);
	return mte;
}

/* --- a thread that is cancelled ------------------------------------------------ */

static int nothing(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	return 0;
}

static Runnable runnable = { nothing };
static CommandHandler handler;

static void ask_defaults(MTExecutive *mte)
{
	ThreadManagerPolicy policy;

	(void)mte;
	ThreadManagerPolicyInit(&policy);
}

static void resize(MTExecutive *mte)
{
	ThreadManagerPolicy policy;

	MTExecutiveGetPolicy(mte, &policy);
	policy.TPMaxThreads = policy.TPMaxThreads == 2 ? 4 : 2;
	MTExecutiveSetPolicy(mte, &policy, NULL);
}

static void post_and_collect(MTExecutive *mte)
{
	int owner;

	if (PostARequestOf(mte, NULL, &runnable, &owner, 0, PXR_REJOIN))
		return;
	RejoinWaitOf(mte, &owner, NULL, dxt_late_ns());
}

static void make_another(MTExecutive *mte)
{
	MTExecutive *other = executive(LOG, NULL);

	(void)mte;
	MTExecutiveDestroy(other, DXK_STOP_DRAIN, -1);
}

static void visit(MTExecutive *mte)
{
	RunSettings settings;

	(void)mte;
	RunSettingsInit(&settings, "visitor", 0, NULL);
	settings.ContextName = NAME;
	settings.LogPath = LOG;
	MTExecutiveDestroy(MTExecutiveJoin(&settings, DX_ANY_OWNER, NULL),
			   DXK_STOP_DRAIN, -1);
}

static void stop_and_start(MTExecutive *mte)
{
	MTExecutiveStop(mte, DXK_STOP_DRAIN, -1);
	LogMessageOf(mte, "stopped");
	MTExecutiveStart(mte, NULL);
}

static void use_log(MTExecutive *mte)
{
	LogMessageOf(mte, "message");
	LogRotateOf(mte);
}

static void use_commands(MTExecutive *mte)
{
	char reply[100];

	AttachCommandHandlerOf(mte, &handler);
	SendCommandOf(mte, "show pools", reply, sizeof(reply), -1);
	AttachCommandHandlerOf(mte, NULL);
}

static const struct act {
	const char *name;
	void (*run)(MTExecutive *mte);
} acts[] = {
	{ "ask_defaults", ask_defaults },	{ "resize", resize },
	{ "post_and_collect", post_and_collect }, { "make_another", make_another },
	{ "visit", visit },			{ "stop_and_start", stop_and_start },
	{ "use_log", use_log },			{ "use_commands", use_commands },
};

struct victim {
	MTExecutive *mte;
	const struct act *act;
	unsigned int fuse;
	bool hit;		/* there were that many calls */
};

static void victim_ends(void *arg)
{
	struct victim *v = arg;

	v->hit = !fuse;
	fuse = 0;
}

static void *victim_main(void *arg)
{
	struct victim *v = arg;

	pthread_cleanup_push(victim_ends, v);
	fuse = v->fuse;
	v->act->run(v->mte);
	pthread_cleanup_pop(1);
	return NULL;
}

/* Return: whether the process can go on. */
static bool survives(struct victim *v)
{
	pthread_t thread;
	void *end;

	if (!v->mte)
		v->mte = executive(LOG, NAME);
	if (!v->mte || pthread_create(&thread, NULL, victim_main, v))
		return false;
	pthread_join(thread, &end);
	if (end != PTHREAD_CANCELED)
		return true;
	if (!ends(forks, NULL) || !ends(is_destroyed, v->mte))
		return false;
	v->mte = NULL;
	return true;
}

/* A thread that is cancelled in any call leaves no lock behind, and nobody waiting. */
TEST(cancelled_anywhere)
{
	struct victim v = { 0 };
	unsigned int i, calls = 0;

	for (i = 0; i < 2 * ARRAY_SIZE(acts); i++) {
		v.act = &acts[i / 2];
		everywhere = i & 1;
#ifdef __SANITIZE_ADDRESS__
		/* It does not see which functions a thread leaves elsewhere. */
		if (!everywhere)
			continue;
#endif
		/* waiting for others may take any number of calls */
		for (v.fuse = 1, v.hit = true; v.hit && v.fuse <= 60; v.fuse++, calls++) {
			ASSERT_TRUE(survives(&v))
				TH_LOG("%s, call %u", v.act->name, v.fuse);
			dxt_tell("%s, call %u", v.act->name, v.fuse);
		}
		EXPECT_LT(2, v.fuse);
	}
	EXPECT_LT(50, calls);
	EXPECT_TRUE(ends(is_destroyed, v.mte));
}

/* --- a log that takes no line --------------------------------------------------- */

/* The lines "N lost" of the log, and whether the numbers of all lines are without a gap. */
static unsigned int lost(const char *path, unsigned int *lines, bool *right)
{
	unsigned long long seq, next = 0;
	unsigned int n, sum = 0;
	FILE *f = fopen(path, "r");
	char line[512], word[8];

	*lines = 0;
	*right = f;
	while (f && fgets(line, sizeof(line), f)) {
		++*lines;
		n = 0;
		*right &= sscanf(line, "%llu", &seq) == 1 && (!next || seq == next);
		if (sscanf(line, "%*s %*s %*s - %u %7s", &n, word) == 2 &&
		    !strcmp(word, "lost"))
			sum += n;
		else
			n = 1;
		next = seq + n;
	}
	if (f)
		fclose(f);
	return sum;
}

struct talker {
	MTExecutive *mte;
	unsigned int nr;
	unsigned int said;
};

static bool talks(void *arg)
{
	struct talker *t = arg;
	unsigned int i;
	bool right = true;

	for (i = 0; i < t->nr; i++)
		right &= !LogMessageOf(t->mte, "message %u", t->said++);
	return right;
}

static void *talk(void *arg)
{
	talks(arg);
	return NULL;
}

struct hold {
	Runnable base;
	struct dxt_gate *gate;
};

static int hold(Runnable *self, void *request)
{
	(void)request;
	dxt_gate_pass(((struct hold *)self)->gate, 0);
	return 0;
}

/* What Stop reports does not wait for room in the log. */
TEST(stop_with_a_full_log)
{
	struct hold h = { { hold }, dxt_gate_new() };
	struct talker talker = { .nr = 100 };
	struct dxt t = { 0 };
	pthread_t thread;

	unlink(LOG);
	talker.mte = executive(LOG, NULL);
	ASSERT_NE(NULL, talker.mte);
	t.id = (unsigned int)MTExecutiveContextId(talker.mte);
	ASSERT_EQ(0, PostARequest(&h, &h.base, &h, 0, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&t, h.gate->entered == 1));
	write_error = ENOSPC;
	ASSERT_EQ(0, pthread_create(&thread, NULL, talk, &talker));
	ASSERT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/log_use") == 8));
	ASSERT_TRUE(ends(times_out, talker.mte));
	dxt_gate_open(h.gate);
	EXPECT_EQ(0, MTExecutiveStop(talker.mte, DXK_STOP_DRAIN, -1));
	write_error = 0;
	pthread_join(thread, NULL);
	EXPECT_TRUE(ends(is_destroyed, talker.mte));
	dxt_gate_free(h.gate);
}

/* What the destructor could not write it tells of. */
TEST(last_words)
{
	struct talker talker = { .nr = 5 };
	unsigned int lines;
	bool right;

	unlink(LOG);
	talker.mte = executive(LOG, NULL);
	ASSERT_NE(NULL, talker.mte);
	ASSERT_TRUE(DXT_SOON(!lost(LOG, &lines, &right) && lines > 0));
	write_error = ENOSPC;
	EXPECT_TRUE(talks(&talker));
	EXPECT_TRUE(ends(is_destroyed, talker.mte));
	write_error = 0;
	EXPECT_LE(5, lost(LOG, &lines, &right));
	EXPECT_TRUE(right);
}

/* What no file will ever take is dropped and counted, and nobody waits for that. */
TEST(reader_gone)
{
	struct talker talker = { .nr = 100 };
	struct dxt t = { 0 };
	unsigned int lines;
	bool right;
	int reader;

	unlink(FIFO);
	ASSERT_EQ(0, mkfifo(FIFO, 0600));
	reader = open(FIFO, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_LE(0, reader);
	talker.mte = executive(FIFO, NULL);
	ASSERT_NE(NULL, talker.mte);
	t.id = (unsigned int)MTExecutiveContextId(talker.mte);
	ASSERT_TRUE(DXT_UNTIL(&t, !dxt_num(&t, "pools/log_use")));
	close(reader);
	ASSERT_TRUE(ends(talks, &talker));
	ASSERT_TRUE(DXT_UNTIL(&t, !dxt_num(&t, "pools/log_use")));
	unlink(FIFO);
	EXPECT_EQ(0, LogRotate());
	EXPECT_EQ(0, LogMessage("last"));
	EXPECT_TRUE(ends(is_destroyed, talker.mte));
	EXPECT_LT(0, lost(FIFO, &lines, &right));
	EXPECT_LE(2, lines);
	EXPECT_TRUE(right);
	unlink(FIFO);
}

/* --- a reader who does not read ------------------------------------------------- */

#define PAGE	4096

/*
 * An executive whose log is a pipe that is full: all that it logs is in the pipe or waits.
 * Return: the pipe's end to read.
 */
static int log_into_full_pipe(struct talker *talker, struct dxt *t)
{
	int reader;

	unlink(FIFO);
	if (mkfifo(FIFO, 0600))
		return -1;
	reader = open(FIFO, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (reader < 0 || fcntl(reader, F_SETPIPE_SZ, PAGE) != PAGE)
		return -1;
	talker->mte = executive(FIFO, NULL);
	if (!talker->mte)
		return -1;
	*t = (struct dxt){ .id = (unsigned int)MTExecutiveContextId(talker->mte) };
	/* the writer has taken others, which nobody makes room for */
	found_full = 0;
	while (dxt_num(t, "pools/log_use") < 5 || !found_full)
		if (dxt_num(t, "pools/log_use") < 5 && !talks(talker))
			return -1;
	return reader;
}

/* How many lines there are, and whether each is whole and has its number. */
static unsigned int lines_read(int reader, bool *right)
{
	unsigned long long seq, next = 0;
	unsigned int lines = 0;
	FILE *f = fdopen(reader, "r");
	char line[512];

	*right = f;
	while (f && fgets(line, sizeof(line), f)) {
		*right &= strchr(line, '\n') && sscanf(line, "%llu", &seq) == 1 &&
			  (!next || seq == next);
		next = seq + 1;
		lines++;
	}
	if (f)
		fclose(f);
	return lines;
}

static bool is_stopped(void *mte)
{
	return !MTExecutiveStop(mte, DXK_STOP_DRAIN, -1);
}

/* Neither Stop nor another log nor the destructor waits for him. */
TEST(reader_sleeps)
{
	struct talker talker = { .nr = 1 };
	unsigned int lines;
	struct dxt t;
	bool right;
	int reader;

	reader = log_into_full_pipe(&talker, &t);
	ASSERT_LE(0, reader);
	EXPECT_TRUE(ends(is_stopped, talker.mte));
	EXPECT_EQ(0, MTExecutiveStart(talker.mte, NULL));
	EXPECT_TRUE(ends(is_destroyed, talker.mte));
	lines = lines_read(reader, &right);
	EXPECT_LT(0, lines);
	EXPECT_TRUE(right);
	unlink(FIFO);
}

/* In the pipe's place comes a file: it gets what waits, in order. */
TEST(reader_replaced)
{
	struct talker talker = { .nr = 1 };
	unsigned int lines;
	struct dxt t;
	bool right;
	int reader;

	reader = log_into_full_pipe(&talker, &t);
	ASSERT_LE(0, reader);
	unlink(FIFO);
	EXPECT_TRUE(ends(rotates, talker.mte));
	EXPECT_TRUE(ends(is_destroyed, talker.mte));
	EXPECT_EQ(0, lost(FIFO, &lines, &right));
	EXPECT_LE(5, lines);
	EXPECT_TRUE(right);
	close(reader);
	unlink(FIFO);
}

struct late {
	int reader;
	struct dxt t;
	unsigned int lines;
	_Atomic bool destroyed;
	bool right;
};

/* Begins to read when the context has gone down and the writer has looked for it. */
static void *read_late(void *arg)
{
	struct late *l = arg;
	char state[16];

	while (!l->destroyed && dxt_text(&l->t, state, sizeof(state), "state") &&
	       strcmp(state, "stopped"))
		dxt_sleep_ms(1);
	for (found_full = 0; !l->destroyed && found_full < 20;)
		dxt_sleep_ms(1);
	fcntl(l->reader, F_SETFL, 0);
	l->lines = lines_read(l->reader, &l->right);
	return NULL;
}

/* One who is slow gets everything. */
TEST(reader_is_late)
{
	struct talker talker = { .nr = 1 };
	struct late late = { 0 };
	pthread_t thread;

	late.reader = log_into_full_pipe(&talker, &late.t);
	ASSERT_LE(0, late.reader);
	ASSERT_EQ(0, pthread_create(&thread, NULL, read_late, &late));
	EXPECT_TRUE(ends(is_destroyed, talker.mte));
	late.destroyed = true;
	pthread_join(thread, NULL);
	EXPECT_LE(talker.said, late.lines);
	EXPECT_TRUE(late.right);
	unlink(FIFO);
}

/* --- a reader who does not come --------------------------------------------------- */

static bool starts(void *mte)
{
	return !MTExecutiveStart(mte, NULL);
}

/*
 * Others have stopped the context and started it while the manager, which tries to start
 * a worker now and then, did not look. The log is gone all the same.
 */
TEST(manager_elsewhere)
{
	MTExecutive *mte;
	int ctx;

	unlink(LOG);
	manager_held = true;
	mte = executive(LOG, NULL);
	ASSERT_NE(NULL, mte);
	ctx = MTExecutiveContextFd(mte);
	ASSERT_EQ(0, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, -1));
	/* behind what the log's writer has written, which is at its end */
	ASSERT_EQ(0, LogMessage("stopped"));
	ASSERT_EQ(0, dxk_ctx_start(ctx));
	EXPECT_TRUE(ends(starts, mte));
	EXPECT_EQ(-EBUSY, MTExecutiveStart(mte, NULL));
	EXPECT_EQ(0, LogMessage("to the log"));
	manager_held = false;
	EXPECT_TRUE(ends(is_destroyed, mte));
}

static bool opens_fifo(void *arg)
{
	MTExecutive *mte = executive(FIFO, NULL);

	(void)arg;
	return mte && is_destroyed(mte);
}

/* While one thread waits for the reader of its log the others go on. */
TEST(fifo)
{
	struct deed d = { .f = opens_fifo };
	pthread_t thread;
	int reader;

	unlink(FIFO);
	ASSERT_EQ(0, mkfifo(FIFO, 0600));
	ASSERT_EQ(0, pthread_create(&thread, NULL, deed_main, &d));
	ASSERT_TRUE(DXT_SOON(opening));
	ASSERT_TRUE(ends(forks, NULL));
	EXPECT_FALSE(d.done);
	reader = open(FIFO, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, reader);
	pthread_join(thread, NULL);
	EXPECT_TRUE(d.right);
	close(reader);
	unlink(FIFO);
}

TEST_HARNESS_MAIN
