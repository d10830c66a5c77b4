// SPDX-License-Identifier: GPL-2.0-only
/*
 * The environment of libdxk: services and requests without an executive, and the way from a
 * single thread to many (DX-2, DX-3). All but the latter needs no module. Built a second time
 * with the address sanitizer.
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dx.h>

#define JOBS	8

FIXTURE(env) {
	RunSettings settings;
	MTExecutiveError error;
	ExecEnvironment *env;
	char log[64];
};

FIXTURE_SETUP(env)
{
	int fd;

	strcpy(self->log, "/tmp/dxk-env.XXXXXX");
	fd = mkstemp(self->log);
	ASSERT_GE(fd, 0);
	close(fd);
	RunSettingsInit(&self->settings, "libenv", 0, NULL);
	self->settings.LogPath = self->log;
	self->env = ExecEnvironmentCreate(&self->settings, &self->error);
	ASSERT_NE(NULL, self->env);
}

FIXTURE_TEARDOWN(env)
{
	EXPECT_EQ(0, ExecEnvironmentDestroy(self->env));
	EXPECT_EQ(-ENXIO, LogMessage("nobody"));
	unlink(self->log);
}

/* How many lines the log has, -1 when their numbers are not in order or @text is in none. */
static int lines(const char *path, const char *text)
{
	FILE *f = fopen(path, "r");
	unsigned long long seq;
	bool found = false;
	char line[512];
	int nr = 0;

	while (f && fgets(line, sizeof(line), f)) {
		found |= !!strstr(line, text);
		if (sscanf(line, "%llu", &seq) != 1 || seq != (unsigned int)++nr)
			found = false, nr = -1000;
	}
	if (f)
		fclose(f);
	return found ? nr : -1;
}

/* --- services ---------------------------------------------------------------------- */

static int sink(void *arg, const LogRecord *record)
{
	unsigned int *calls = arg;

	*calls += record->Thread == -1 && !record->Executive &&
		  record->Severity == DX_LOG_WARNING && !strcmp(record->Text, "seen");
	return 1;
}

TEST_F(env, log_and_timer)
{
	uint64_t ns = ExecEnvironmentElapsed(self->env);
	unsigned int calls = 0;
	ElapsedTimer timer;

	ASSERT_EQ(0, LogMessage("message %d", 1));
	EXPECT_EQ(1, lines(self->log, " - message 1"));
	ASSERT_EQ(0, LogMessageAt(DX_LOG_ERROR, "broken"));
	ASSERT_EQ(0, LogMessageAt(DX_LOG_DEBUG, "left out"));
	EXPECT_EQ(2, lines(self->log, " error: broken"));
	ASSERT_EQ(0, LogSink(sink, &calls));
	EXPECT_EQ(0, LogMessageAt(DX_LOG_WARNING, "seen"));
	ASSERT_EQ(0, LogSink(NULL, NULL));
	EXPECT_EQ(1, calls);
	EXPECT_EQ(0, LogRotate());
	EXPECT_EQ(0, LogMessage("more"));
	EXPECT_EQ(3, lines(self->log, " more"));

	ElapsedTimerStart(&timer);
	dxt_sleep_ms(2);
	EXPECT_GE(ElapsedTimerLap(&timer), 2 * DXT_MS);
	EXPECT_LT(ElapsedTimerLap(&timer), ElapsedTimerRead(&timer));
	EXPECT_GE(ExecEnvironmentElapsed(self->env), ns + 2 * DXT_MS);
	EXPECT_GE(MTExecutiveElapsed(NULL), ns + 2 * DXT_MS);
	EXPECT_GE(ExecEnvironmentElapsed(NULL), ns + 2 * DXT_MS);
}

TEST_F(env, one_of_a_process)
{
	RunSettings wrong = self->settings;
	char text[DX_ERROR_TEXT];
	int status;
	pid_t pid;

	EXPECT_EQ(NULL, ExecEnvironmentCreate(&self->settings, &self->error));
	EXPECT_EQ(-EEXIST, self->error.Error);
	EXPECT_STREQ("environment: File exists; the process has one",
		     MTExecutiveErrorText(&self->error, text, sizeof(text)));
	EXPECT_EQ(NULL, ExecEnvironmentCreate(NULL, &self->error));
	EXPECT_STREQ("settings", self->error.Step);
	wrong.LogPath = "/proc/none/log";
	EXPECT_EQ(NULL, ExecEnvironmentCreate(&wrong, &self->error));
	EXPECT_STREQ("log", self->error.Step);
	EXPECT_STREQ("LogPath", self->error.Field);
	EXPECT_EQ(0, ExecEnvironmentDestroy(NULL));

	pid = fork();
	if (!pid) {
		bool good = LogMessage("child") == -ENXIO &&
			    ExecEnvironmentDestroy(self->env) == -EPERM &&
			    !MTExecutiveCreateIn(self->env, NULL, NULL);
		ExecEnvironment *own = ExecEnvironmentCreate(&self->settings, NULL);

		good &= own && !LogMessage("child") && !ExecEnvironmentDestroy(own);
		_exit(!good);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(1, lines(self->log, " child"));
}

/* --- requests ---------------------------------------------------------------------- */

struct job {
	struct job *top;
	unsigned int number;
};

static unsigned int wrong;

/* As in the DX document: one Runnable executes the top-level request and its parts. */
static int execute(Runnable *self, void *request)
{
	const RQElement *me = CurrentRequest();
	struct job *job = request, parts[JOBS];
	void *got;

	wrong += !me || me->pPObject != request || me->pXObject != self || me->RQEAttempts != 1;
	if (job->top)
		return (int)job->number;
	for (unsigned int i = 0; i < JOBS; i++) {
		parts[i] = (struct job){ .top = job, .number = i };
		wrong += PostARequest(&parts[i], self, job, 0, PXR_REJOIN | PXR_LANE1) != 0;
	}
	wrong += CurrentRequest() != me || me->pPObject != request;
	for (unsigned int i = 0; i < JOBS; i++)
		wrong += RejoinWait(job, &got, -1) != RJR_RETURNED || got != &parts[i];
	wrong += GetRejoinRequest(job, &got) != RJR_NONE_EXIST || got;
	/* It exists, but does not end while it waits for itself. */
	if (!job->number && me->RQEAttrs & PXR_REJOIN) {
		wrong += GetRejoinRequest(me->pOObject, &got) != RJR_NONE_READY;
		wrong += RejoinWait(me->pOObject, &got, -1) != -EDEADLK;
	}
	return 77;
}

static Runnable runnable = { execute };

TEST_F(env, requests_and_their_parts)
{
	struct job top[3] = { { .number = 0 }, { .number = 1 }, { .number = 2 } };
	RQElement element;
	void *got;
	int status;

	wrong = 0;
	EXPECT_EQ(RJR_NONE_EXIST, RejoinWait(self, &got, -1));
	for (unsigned int i = 0; i < 3; i++)
		ASSERT_EQ(0, PostARequest(&top[i], &runnable, self, 0, PXR_REJOIN));
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(NULL, CurrentRequest());
	ASSERT_EQ(RJR_RETURNED, GetRejoinElement(self, &element, NULL, 0, 0));
	EXPECT_EQ(&top[0], element.pPObject);
	EXPECT_EQ(self, element.pOObject);
	EXPECT_EQ(77, element.RQEStatus);
	EXPECT_EQ(RQE_REJOIN, element.RQEState);
	EXPECT_EQ(1, element.RQEAttempts);
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(&top[0], &got));
	ASSERT_EQ(0, RejoinAll(self, &status));
	EXPECT_EQ(77, status);
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(self, &got));
	/* nothing comes back of one without PXR_REJOIN */
	EXPECT_EQ(0, PostARequest(&top[0], &runnable, &top, 0, 0));
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(&top, &got));
}

static int reverse(Runnable *self, void *request)
{
	const RQElement *me = CurrentRequest();
	char text[16];
	uint32_t i;
	int fd;

	(void)self;
	(void)request;
	for (i = 0; i < me->RQEDataLen; i++)
		text[i] = ((const char *)me->pData)[me->RQEDataLen - 1 - i];
	if (me->RQEAttrs & PXR_FD) {
		fd = TakeRequestFd();
		if (fd != -ENOENT)
			close(fd);
		if (fd < 0 || me->RQEFd != -1)
			return -EBADF;
	}
	if (SetRequestResult(text, me->RQEResultRoom + 1) != -EMSGSIZE)
		return -EINVAL;
	return SetRequestResult(text, me->RQEDataLen);
}

TEST_F(env, data_and_files)
{
	Runnable runs = { reverse };
	RQPost posts[3] = {
		{ .pOObject = self, .pXObject = &runs, .RQEAttrs = PXR_REJOIN, .pData = "one",
		  .RQEDataLen = 3, .RQEResultRoom = 4 },
		{ .pOObject = self, .pXObject = &runs, .RQEAttrs = PXR_REJOIN, .pData = "two",
		  .RQEDataLen = 3, .RQEResultRoom = 16 },
		{ .pOObject = self, .pXObject = &runs, .RQEAttrs = PXR_REJOIN | PXR_FD },
	};
	RQElement elements[4];
	unsigned int answer;
	char data[4][4];

	posts[2].RQEFd = open(self->log, O_RDONLY);
	ASSERT_EQ(3, PostRequests(posts, 3, -1, &answer));
	close(posts[2].RQEFd);
	EXPECT_EQ(0, answer);
	/* the second needs more room, and stays */
	ASSERT_EQ(1, GetRejoinRequests(self, elements, 4, 4, data, 4, -1, &answer));
	EXPECT_EQ(RJR_RETURNED, answer);
	EXPECT_EQ(0, memcmp(elements[0].pData, "eno", 3));
	EXPECT_EQ(3, elements[0].RQEDataLen);
	EXPECT_EQ(-EMSGSIZE, GetRejoinElement(self, elements, data, 4, -1));
	ASSERT_EQ(RJR_RETURNED, GetRejoinElement(self, elements, data, sizeof(data), -1));
	EXPECT_EQ(0, memcmp(data, "owt", 3));
	ASSERT_EQ(RJR_RETURNED, GetRejoinElement(self, elements, NULL, 0, -1));
	EXPECT_EQ(0, elements[0].RQEStatus);

	posts[0].RQEDataLen = 5000;
	EXPECT_EQ(-EMSGSIZE, PostRequests(posts, 1, -1, NULL));
	posts[2].RQEFd = -1;
	EXPECT_EQ(-EBADF, PostRequests(&posts[2], 1, -1, NULL));
	EXPECT_EQ(-EPERM, SetRequestResult("", 0));
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinElement(self, elements, NULL, 0, 0));
}

static int operate(const RQElement *me)
{
	/* what a Runnable cannot have here */
	return ShouldStop(0) == -EOPNOTSUPP && EnterBlock(0, 0) == -EOPNOTSUPP &&
	       UseKey(DXK_KEY_LEAVE, 0) == -EOPNOTSUPP && WaitRequest(&(RQWait){ .Sources =
	       DXK_WAIT_TIME }) == -EOPNOTSUPP && !me->RQEWorker ? 5 : -EINVAL;
}

TEST_F(env, operations)
{
	static const Operation table[] = { NULL, operate };
	const OperationTable operations = { .Count = 2, .Operations = table };
	RunSettings settings = self->settings;
	RQElement element;

	settings.Operations = &operations;
	ASSERT_EQ(0, ExecEnvironmentDestroy(self->env));
	self->env = ExecEnvironmentCreate(&settings, NULL);
	ASSERT_NE(NULL, self->env);
	ASSERT_EQ(0, PostARequest(NULL, DX_OPERATION(1), self, 0, PXR_REJOIN));
	ASSERT_EQ(0, PostARequest(NULL, DX_OPERATION(2), self, 0, PXR_REJOIN));
	ASSERT_EQ(RJR_RETURNED, GetRejoinElement(self, &element, NULL, 0, -1));
	EXPECT_EQ(5, element.RQEStatus);
	ASSERT_EQ(RJR_RETURNED, GetRejoinElement(self, &element, NULL, 0, -1));
	EXPECT_EQ(-ENOSYS, element.RQEStatus);
}

static void *other_thread(void *arg)
{
	void *got;

	*(bool *)arg = PostARequest(NULL, &runnable, arg, 0, 0) == -EPERM &&
		       GetRejoinRequest(arg, &got) == -EPERM && !LogMessage("other");
	return NULL;
}

static int handle_open(HandleClass *self, void *native, void **own)
{
	(void)self;
	*own = native;
	return 0;
}

static void handle_close(HandleClass *self, void *own)
{
	(void)self;
	(void)own;
}

static HandleClass handles = { handle_open, handle_close };

TEST_F(env, what_is_not_there)
{
	RQOptions options = { .Key = 1 };
	ThreadManagerPolicy policy;
	struct job job = { 0 };
	bool refused = false;
	pthread_t thread;
	char text[8];

	EXPECT_EQ(-EOPNOTSUPP, PostARequest(&job, &runnable, self, 0, PXR_KEY));
	EXPECT_EQ(-EINVAL, PostARequest(&job, &runnable, self, 0, 1U << 31));
	EXPECT_EQ(-EINVAL, PostARequest(&job, NULL, self, 0, 0));
	EXPECT_EQ(-EOPNOTSUPP, PostARequestWith(&job, &runnable, self, 0, 0, &options));
	EXPECT_EQ(-EOPNOTSUPP, CancelRequests(self));
	EXPECT_EQ(-EOPNOTSUPP, RequestState(self, &job, NULL));
	EXPECT_EQ(-EOPNOTSUPP, MTExecutiveContextFd(NULL));
	EXPECT_EQ(-EOPNOTSUPP, MTExecutiveContextId(NULL));
	EXPECT_EQ(-EOPNOTSUPP, MTExecutiveThreadId(NULL));
	EXPECT_EQ(-EOPNOTSUPP, MTExecutiveGetState(NULL, "state", text, sizeof(text)));
	EXPECT_EQ(-EOPNOTSUPP, MTExecutiveGetPolicy(NULL, &policy));
	EXPECT_EQ(-EOPNOTSUPP, MTExecutiveSetPolicy(NULL, &policy, &self->error));
	EXPECT_EQ(-EOPNOTSUPP, self->error.Error);
	EXPECT_EQ(-EOPNOTSUPP, SendCommand("show policy", NULL, 0, -1));
	EXPECT_EQ(-EOPNOTSUPP, AttachCommandHandler(NULL));
	EXPECT_EQ(-EOPNOTSUPP, InstrumentAdd("posts", 1));
	EXPECT_EQ(-EOPNOTSUPP, LabelObject(self, "self"));
	EXPECT_EQ(-ENOSPC, HandleTableAdd(&handles, &job));
	ASSERT_EQ(0, pthread_create(&thread, NULL, other_thread, &refused));
	pthread_join(thread, NULL);
	EXPECT_TRUE(refused);
}

static int end_within(Runnable *self, void *request)
{
	MTExecutiveError error;

	(void)self;
	if (MTExecutiveCreateIn(request, NULL, &error) || error.Error != -EDEADLK)
		return -EINVAL;
	return ExecEnvironmentDestroy(request);
}

/* What was not collected goes with the environment. */
TEST_F(env, no_end_within)
{
	Runnable runs = { end_within };
	RQElement element;

	ASSERT_EQ(0, PostARequest(self->env, &runs, self, 0, PXR_REJOIN));
	ASSERT_EQ(RJR_RETURNED, GetRejoinElement(self, &element, NULL, 0, -1));
	EXPECT_EQ(-EDEADLK, element.RQEStatus);
	ASSERT_EQ(0, PostARequest(self->env, &runs, self, 0, PXR_REJOIN));
	EXPECT_EQ(NULL, MTExecutiveCreateIn(self->env, NULL, &self->error));
	EXPECT_EQ(-EBUSY, self->error.Error);
	EXPECT_EQ(NULL, MTExecutiveCreateIn(NULL, NULL, &self->error));
	EXPECT_EQ(-EINVAL, self->error.Error);
}

/* --- from one thread to many ------------------------------------------------------- */

static int post_one(struct job *job, void *owner)
{
	RQElement element;
	int rc = PostARequest(job, &runnable, owner, 0, PXR_REJOIN);

	if (!rc)
		rc = GetRejoinElement(owner, &element, NULL, 0, -1);
	return rc == RJR_RETURNED ? element.RQEStatus : -EINVAL;
}

/* Without the module nothing has changed; with it a wrong policy has not either. */
TEST_F(env, stays_what_it_was)
{
	bool module = !access("/dev/dxk", F_OK);
	ThreadManagerPolicy policy;
	struct job job = { 0 };

	wrong = 0;
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = 0;
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(NULL, MTExecutiveCreateIn(self->env, &policy, &self->error));
		EXPECT_STREQ(module ? "policy" : "platform", self->error.Step);
		EXPECT_EQ(77, post_one(&job, self));
	}
	EXPECT_EQ(0, LogMessage("goes on"));
	EXPECT_EQ(3, lines(self->log, " goes on"));
	EXPECT_EQ(0, wrong);
}

TEST_F(env, becomes_an_executive)
{
	uint64_t ns = ExecEnvironmentElapsed(self->env);
	static Runnable reverses = { reverse };
	ThreadManagerPolicy policy;
	struct job job = { 0 };
	MTExecutive *mte;
	char text[64];

	if (access("/dev/dxk", F_OK))
		SKIP(return, "no /dev/dxk");
	wrong = 0;
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = 2;
	policy.TPDispatch = dxt_mode();
	EXPECT_EQ(77, post_one(&job, self));
	EXPECT_EQ(0, LogMessage("alone"));
	mte = MTExecutiveCreateIn(self->env, &policy, &self->error);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(-EALREADY, ExecEnvironmentDestroy(self->env));
	EXPECT_EQ(NULL, MTExecutiveCreateIn(self->env, &policy, NULL));
	EXPECT_EQ(0, MTExecutiveThreadId(NULL));
	EXPECT_EQ(0, LogMessage("together"));
	EXPECT_GT(MTExecutiveElapsed(mte), ns);
	EXPECT_GT(ExecEnvironmentElapsed(self->env), ns);
	EXPECT_EQ(0, PostARequest(&job.number, &reverses, self, 0, PXR_REJOIN));
	EXPECT_EQ(0, RejoinAll(self, NULL));
	EXPECT_EQ(0, InstrumentAdd("posts", 2));
	EXPECT_EQ(0, InstrumentAddOf(mte, "posts", -5));
	EXPECT_EQ(0, InstrumentSet("pages", 9));
	EXPECT_LT(0, MTExecutiveGetState(mte, "instruments", text, sizeof(text)));
	EXPECT_STREQ("posts -3\npages 9", text);
	EXPECT_EQ(0, LabelObject(&reverses, "reverses"));
	EXPECT_LT(0, MTExecutiveGetState(mte, "labels", text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, " reverses"));

	/* There may be another environment, which is nobody's as long as there is an executive. */
	self->env = ExecEnvironmentCreate(&self->settings, &self->error);
	ASSERT_NE(NULL, self->env);
	EXPECT_EQ(0, MTExecutiveThreadId(NULL));
	ASSERT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_GE(lines(self->log, " together"), 4);
	EXPECT_EQ(77, post_one(&job, self));
	EXPECT_EQ(0, wrong);
}

TEST_HARNESS_MAIN
