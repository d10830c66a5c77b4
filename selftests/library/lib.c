// SPDX-License-Identifier: GPL-2.0-only
/*
 * libdxk as a DX application uses it: settings, policy, executive, the log, Runnables
 * that post and collect. Built a second time with the address sanitizer.
 */
#include "lib/dxt.h"

#include <dx.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>

/* --- settings, a policy, an executive of them ------------------------------ */

#define LOG	"/tmp/dxk-lib-test.log"

static void settings_init(RunSettings *settings)
{
	static char *argv[] = { "lib", NULL };

	RunSettingsInit(settings, "lib", 1, argv);
	settings->LogPath = LOG;
}

static int policy_init(ThreadManagerPolicy *policy, unsigned int threads)
{
	int rc = ThreadManagerPolicyInit(policy);

	policy->TPMaxThreads = threads;
	policy->TPDispatch = dxt_mode();
	return rc;
}

/* DX-1: AppRunSettings, then the policy, then the executive, whose constructor
 * starts the Thread Manager.
 */
static MTExecutive *executive(unsigned int threads)
{
	struct AppRunSettings {
		RunSettings base;
		unsigned int pages;
	} settings = { .pages = 7 };
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	MTExecutive *mte;

	settings_init(&settings.base);
	if (policy_init(&policy, threads))
		return NULL;
	mte = MTExecutiveCreate(&settings.base, &policy, &error);
	if (!mte)
		fprintf(stderr, "# %s %s: %d\n", error.Step, error.Field, error.Error);
	return mte;
}

/* --- construction ------------------------------------------------------------ */

/* DX-1, DX-22, DX-23: who is who after construction. */
TEST(construction)
{
	unsigned int fds = dxt_fds(), before = dxt_contexts();
	ThreadManagerPolicy policy;
	MTExecutive *mte;
	struct dxt t = { 0 };
	int id;

	EXPECT_EQ(-ENXIO, MTExecutiveThreadId(NULL));
	EXPECT_EQ(0, MTExecutiveElapsed(NULL));
	mte = executive(3);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(before + 1, dxt_contexts());
	EXPECT_EQ(0, MTExecutiveThreadId(mte));
	EXPECT_EQ(0, MTExecutiveThreadId(NULL));
	EXPECT_LT(0, MTExecutiveElapsed(NULL));
	id = MTExecutiveContextId(NULL);
	ASSERT_LE(0, id);
	t.id = (unsigned int)id;
	EXPECT_TRUE(DXT_UNTIL(&t, dxt_num(&t, "pools/thread_use") == 3));
	ASSERT_EQ(0, MTExecutiveGetPolicy(NULL, &policy));
	EXPECT_EQ(3, policy.TPMaxThreads);
	EXPECT_EQ(dxt_mode(), policy.TPDispatch);
	EXPECT_EQ(1024, policy.TPReadyEntries);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_POLICY, -1));
	EXPECT_TRUE(DXT_SOON(dxt_contexts() == before));
	EXPECT_EQ(fds, dxt_fds());
	EXPECT_EQ(-ENXIO, MTExecutiveThreadId(NULL));
	EXPECT_EQ(0, MTExecutiveDestroy(NULL, DXK_STOP_POLICY, -1));
}

/* DX-12, DX-115: what the context tells of itself, by the names that sysfs has. */
TEST(state)
{
	static const char *const wrong[] = { "", "/state", "../0/state", "threads//state",
					     "threads/", "./state" };
	MTExecutive *mte;
	char text[16];
	unsigned int i;

	EXPECT_EQ(-ENXIO, MTExecutiveGetState(NULL, "state", text, sizeof(text)));
	mte = executive(2);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(7, MTExecutiveGetState(NULL, "state", text, sizeof(text)));
	EXPECT_STREQ("running", text);
	EXPECT_EQ(1, MTExecutiveGetState(mte, "policy/max_threads", text, 2 + 1));
	EXPECT_STREQ("2", text);
	EXPECT_EQ(7, MTExecutiveGetState(mte, "threads/500/role", text, sizeof(text)));
	EXPECT_STREQ("monitor", text);
	EXPECT_EQ(-EMSGSIZE, MTExecutiveGetState(mte, "state", text, 7));
	EXPECT_EQ(-EMSGSIZE, MTExecutiveGetState(mte, "state", NULL, 0));
	EXPECT_EQ(-ENOENT, MTExecutiveGetState(mte, "nothing", text, sizeof(text)));
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(-EINVAL, MTExecutiveGetState(mte, wrong[i], text, sizeof(text))) {
			TH_LOG("%s", wrong[i]);
		}
	}
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_POLICY, -1));
	EXPECT_EQ(7, MTExecutiveGetState(mte, "state", text, sizeof(text)));
	EXPECT_STREQ("stopped", text);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_POLICY, -1));
}

/*
 * DX-2: timer, platform, message queue of an add-in, log; then DX-1: context,
 * policy, start. Each trial has the next things wrong, too: the first wrong one in
 * that order is what the error names. Nothing is left of any.
 */
TEST(construction_order)
{
	unsigned int fds = dxt_fds(), before = dxt_contexts();
	struct rlimit old, none;
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;

	ASSERT_EQ(0, policy_init(&policy, 2));
	settings_init(&settings);
	settings.IsAddin = true;
	settings.AppName = "no/name";
	settings.LogPath = "/no/such/directory/log";
	policy.TPReadyEntries = 0;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(NULL, MTExecutiveCreate(&settings, &policy, &error));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	EXPECT_STREQ("platform", error.Step);
	EXPECT_EQ(-EMFILE, error.Error);

	EXPECT_EQ(NULL, MTExecutiveCreate(&settings, &policy, &error));
	EXPECT_STREQ("message queue", error.Step);
	EXPECT_EQ(-EINVAL, error.Error);
	settings.AppName = "dxk-lib-test";
	EXPECT_EQ(NULL, MTExecutiveCreate(&settings, &policy, &error));
	EXPECT_STREQ("log", error.Step);
	EXPECT_EQ(-ENOENT, error.Error);
	settings.LogPath = LOG;
	EXPECT_EQ(NULL, MTExecutiveCreate(&settings, &policy, &error));
	EXPECT_STREQ("policy", error.Step);
	EXPECT_STREQ("TPReadyEntries", error.Field);
	EXPECT_EQ(-EINVAL, error.Error);
	EXPECT_EQ(fds, dxt_fds());
	EXPECT_TRUE(DXT_SOON(dxt_contexts() == before));
	EXPECT_EQ(-ENXIO, MTExecutiveThreadId(NULL));
}

/* DX-5, DX-8: the error names the field by its DX name. */
TEST(bad_fields)
{
	static const struct {
		const char *name;
		size_t at;
		uint32_t value;
		int err;
	} bad[] = {
#define BAD(f, v, e) { #f, offsetof(ThreadManagerPolicy, f), v, e }
		BAD(TPSchedMode, 8, EOPNOTSUPP),
		BAD(TPPrioPolicy, 8, EOPNOTSUPP),
		BAD(TPMaxThreads, 0, EINVAL),
		BAD(TPMaxThreads, 500, EINVAL),
		BAD(TPKernelThreads, 3, EINVAL),
		BAD(TPReadyEntries, 0, EINVAL),
		BAD(TPRejoinEntries, 0, EINVAL),
		BAD(TPLogEntries, 3, EINVAL),
		BAD(TPHandleEntries, 1 << 20, EINVAL),
		BAD(TPMaxRequests, 1, EINVAL),
		BAD(TPDataSize, 4097, EINVAL),
		BAD(TPLanePct[0], 101, EINVAL),
		BAD(TPLanePct[1], 101, EINVAL),
		BAD(TPLanePct[2], 101, EINVAL),
		BAD(TPBoostValue, 1 << 20, EINVAL),
		BAD(TPSchedInterval, 0, EINVAL),
		BAD(TPMonitorInterval, 0, EINVAL),
		BAD(TPDispatchInterval, 3600001, EINVAL),
		BAD(TPDispatch, 2, EOPNOTSUPP),
		BAD(TPLogFull, 3, EOPNOTSUPP),
		BAD(TPRejoinFull, 3, EOPNOTSUPP),
		BAD(TPShutdown, 0, EINVAL),
		BAD(TPOnBlock, 3, EOPNOTSUPP),
		BAD(TPHelpDepth, 0, EINVAL),
		BAD(TPHelpDepth, 65, EINVAL),
		BAD(TPMaxSpares, 500, EINVAL),
		BAD(TPOrder, 1, EOPNOTSUPP),
		BAD(TPFetchMax, 0, EINVAL),
		BAD(TPFetchMax, 65, EINVAL),
#undef BAD
	};
	unsigned int fds = dxt_fds(), before = dxt_contexts(), i;
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;

	settings_init(&settings);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ASSERT_EQ(0, policy_init(&policy, 2));
		memcpy((char *)&policy + bad[i].at, &bad[i].value, sizeof(uint32_t));
		memset(&error, DXT_POISON, sizeof(error));
		EXPECT_EQ(NULL, MTExecutiveCreate(&settings, &policy, &error));
		EXPECT_STREQ(bad[i].name, error.Field);
		EXPECT_EQ(-bad[i].err, error.Error) TH_LOG("%s", bad[i].name);
		/* in words, too (DX-5) */
		EXPECT_NE('\0', *error.Reason) TH_LOG("%s", bad[i].name);
	}
	EXPECT_EQ(fds, dxt_fds());
	EXPECT_TRUE(DXT_SOON(dxt_contexts() == before));
}

/* DX-9: dynamic fields through the library; others name themselves. */
TEST(change_policy)
{
	ThreadManagerPolicy policy, now;
	MTExecutiveError error;
	MTExecutive *mte = executive(2);
	struct dxt t = { 0 };

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	ASSERT_EQ(0, MTExecutiveGetPolicy(mte, &policy));
	policy.TPBoostValue = 5;
	EXPECT_EQ(0, MTExecutiveSetPolicy(mte, &policy, &error));
	EXPECT_TRUE(DXT_UNTIL(&t, !MTExecutiveGetPolicy(mte, &now) &&
				  now.TPBoostValue == 5));
	policy.TPReadyEntries = 5;
	EXPECT_EQ(-EBUSY, MTExecutiveSetPolicy(mte, &policy, &error));
	EXPECT_STREQ("TPReadyEntries", error.Field);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_POLICY, -1));
}

/* --- what errors say ----------------------------------------------------------- */

/* No executive is made of @settings; what the error says. */
static const char *said(const RunSettings *settings, uint32_t entries)
{
	static char text[DX_ERROR_TEXT];
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	MTExecutive *mte;

	policy_init(&policy, 2);
	policy.TPReadyEntries = entries;
	mte = MTExecutiveCreate(settings, &policy, &error);
	if (!mte)
		return MTExecutiveErrorText(&error, text, sizeof(text));
	MTExecutiveDestroy(mte, DXK_STOP_CANCEL, -1);
	return "";
}

#define INVALID	": Invalid argument"

TEST(error_texts)
{
	RunSettings settings, first;
	struct rlimit old, none;
	MTExecutiveError error;
	MTExecutive *mte;
	const char *text;
	char small[9];

	settings_init(&settings);
	settings.AppName = NULL;
	EXPECT_STREQ("settings AppName" INVALID, said(&settings, 8));
	settings_init(&settings);
	settings.Reserved[0] = &settings;
	EXPECT_STREQ("settings Reserved" INVALID, said(&settings, 8));
	settings_init(&settings);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	text = said(&settings, 8);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	EXPECT_STREQ("platform /dev/dxk: Too many open files; dxkctl doctor tells why", text);
	settings.IsAddin = true;
	settings.AppName = "no/name";
	EXPECT_STREQ("message queue AppName" INVALID, said(&settings, 8));
	settings_init(&settings);
	settings.LogPath = "/no/such/directory/log";
	EXPECT_STREQ("log LogPath: No such file or directory", said(&settings, 8));
	settings_init(&settings);
	settings.ContextMode = 01000;
	EXPECT_STREQ("context ContextMode" INVALID "; it is at most 0777", said(&settings, 8));
	settings.ContextMode = 0;
	settings.ContextName = "";
	EXPECT_STREQ("context ContextName" INVALID
		     "; it has 1 to 31 visible ASCII characters, and no slash", said(&settings, 8));
	settings.ContextName = "dxk-lib-test";
	first = settings;
	mte = MTExecutiveCreate(&first, NULL, &error);
	ASSERT_NE(NULL, mte);
	EXPECT_STREQ("context ContextName: File exists; another context has the name",
		     said(&settings, 8));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_STREQ("policy TPReadyEntries" INVALID "; 0 is not in 1..1048576",
		     said(&settings, 0));

	/* what is cut is a text as well */
	error = (MTExecutiveError){ .Error = -ENOENT, .Step = "log" };
	EXPECT_STREQ("log: No ", MTExecutiveErrorText(&error, small, sizeof(small)));
}

/* --- settings from a file and the environment -------------------------------- */

#define CONF	"/tmp/dxk-lib-test.conf"

/* What a file of that text does, in words; "" if it is read. */
static const char *reads(const char *text, RunSettings *settings, ThreadManagerPolicy *policy)
{
	static char said[DX_ERROR_TEXT];
	MTExecutiveError error;
	FILE *f = fopen(CONF, "we");

	if (!f || fputs(text, f) < 0 || fclose(f))
		return "no file";
	if (!RunSettingsRead(settings, policy, CONF, &error))
		return "";
	return MTExecutiveErrorText(&error, said, sizeof(said));
}

TEST(settings_are_read)
{
	ThreadManagerPolicy policy;
	RunSettings settings;
	MTExecutive *mte;

	settings_init(&settings);
	ASSERT_EQ(0, policy_init(&policy, 3));
	EXPECT_STREQ("", reads("# of a test\n\n  LogPath = /tmp/a log \nContextName=dxk-lib-conf\n"
			       "ContextMode = 0700\nTPMaxThreads = 0x5\nTPStackSize = 262144\n"
			       "TPSchedMode = TPOOL_MODE_CMLS\nTPLanePct[1] = 40\n"
			       "TPOnBlock = DXK_ON_BLOCK_HELP\nTPHelpScope = DXK_HELP_OWN\n"
			       "TPPrioPolicy=PRIO_POLICY_AGERQS|PRIO_POLICY_BOOST",
			       &settings, &policy));
	EXPECT_STREQ("/tmp/a log", settings.LogPath);
	EXPECT_STREQ("dxk-lib-conf", settings.ContextName);
	EXPECT_EQ(0700, settings.ContextMode);
	EXPECT_EQ(5, policy.TPMaxThreads);
	EXPECT_EQ(262144, policy.TPStackSize);
	EXPECT_EQ(TPOOL_MODE_CMLS, policy.TPSchedMode);
	EXPECT_EQ(40, policy.TPLanePct[1]);
	EXPECT_EQ(DXK_ON_BLOCK_HELP, policy.TPOnBlock);
	EXPECT_EQ(DXK_HELP_OWN, policy.TPHelpScope);
	EXPECT_EQ(PRIO_POLICY_AGERQS | PRIO_POLICY_BOOST, policy.TPPrioPolicy);

	/* the environment comes after the file, and does without one */
	setenv("DX_TPLanePct1", "20", 1);
	setenv("DX_ContextName", "", 1);
	EXPECT_STREQ("", reads("TPLanePct[1] = 30\n", &settings, &policy));
	EXPECT_EQ(20, policy.TPLanePct[1]);
	EXPECT_EQ(NULL, settings.ContextName);
	EXPECT_EQ(5, policy.TPMaxThreads);
	setenv("DX_TPMaxThreads", "4", 1);
	EXPECT_EQ(0, RunSettingsRead(&settings, NULL, NULL, NULL));
	EXPECT_EQ(5, policy.TPMaxThreads);
	EXPECT_EQ(0, RunSettingsRead(&settings, &policy, NULL, NULL));
	EXPECT_EQ(4, policy.TPMaxThreads);
	unlink(settings.LogPath);
	mte = MTExecutiveCreate(&settings, &policy, NULL);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(0, MTExecutiveGetPolicy(mte, &policy));
	EXPECT_EQ(20, policy.TPLanePct[1]);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, unlink("/tmp/a log"));
	unsetenv("DX_TPLanePct1");
	unsetenv("DX_ContextName");
	unsetenv("DX_TPMaxThreads");
	unlink(CONF);
}

/* It says where, and of several that are right nothing is taken with one that is wrong. */
TEST(settings_that_are_wrong)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "TPMaxThreads = 7\nTPMaxThread = 7\n", " TPMaxThread" INVALID "; " CONF
		  ":2: there is no such setting" },
		{ "TPMaxThreads = 7\nTPLanePct[3] = 7\n", " TPLanePct[3]" INVALID "; " CONF
		  ":2: there is no such setting" },
		{ "TPMaxThreads = 7\n\nTPMaxThreads\n", INVALID "; " CONF
		  ":3: a line is NAME = VALUE, or begins with #" },
		{ "TPMaxThreads = 7\nContextMode = 08\n", " ContextMode" INVALID "; " CONF
		  ":2: it is not an octal number in 0..777" },
		{ "TPMaxThreads = 7\nContextMode = 1000\n", " ContextMode" INVALID "; " CONF
		  ":2: it is not an octal number in 0..777" },
		{ "TPMaxThreads = 7\nTPDispatch = -1\n", " TPDispatch" INVALID "; " CONF
		  ":2: its value is no number or name, or too large" },
		{ "TPMaxThreads = 7\nTPDispatch = 4294967296\n", " TPDispatch" INVALID "; " CONF
		  ":2: its value is no number or name, or too large" },
		{ "TPMaxThreads = 7\nTPDispatch = DXK_DISPATCH\n", " TPDispatch" INVALID "; " CONF
		  ":2: its value is no number or name, or too large" },
		{ "TPMaxThreads = 7\nTPDispatch =\n", " TPDispatch" INVALID "; " CONF
		  ":2: its value is no number or name, or too large" },
	};
	ThreadManagerPolicy policy;
	char text[DX_ERROR_TEXT];
	MTExecutiveError error;
	RunSettings settings;
	unsigned int i;

	settings_init(&settings);
	ASSERT_EQ(0, policy_init(&policy, 3));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "settings%s", cases[i].says);
		EXPECT_STREQ(text, reads(cases[i].text, &settings, &policy));
		EXPECT_EQ(3, policy.TPMaxThreads);
	}
	EXPECT_STREQ("settings TPMaxThreads" INVALID "; " CONF ":2: a policy is not read here",
		     reads("LogPath = x\nTPMaxThreads = 7", &settings, NULL));
	EXPECT_STREQ(LOG, settings.LogPath);
	EXPECT_EQ(-ENOENT, RunSettingsRead(&settings, &policy, "/no/such/file", &error));
	EXPECT_STREQ("settings: No such file or directory; /no/such/file: it cannot be opened",
		     MTExecutiveErrorText(&error, text, sizeof(text)));
	EXPECT_EQ(-EISDIR, RunSettingsRead(&settings, &policy, "/tmp", NULL));
	setenv("DX_TPRedoMax", "many", 1);
	EXPECT_EQ(-EINVAL, RunSettingsRead(&settings, &policy, NULL, &error));
	EXPECT_STREQ("settings TPRedoMax" INVALID "; DX_TPRedoMax: its value is no number or name, "
		     "or too large", MTExecutiveErrorText(&error, text, sizeof(text)));
	unsetenv("DX_TPRedoMax");
	unlink(CONF);
}

/* Each reason has a text of its own, and what stands for an errno has that. */
TEST(post_error_texts)
{
	static const int reasons[] = {
		PXR_POOL_FULL, PXR_LANE_FULL, PXR_LANE_CLOSED, PXR_REJOIN_FULL, PXR_NO_SPACE,
		-ESHUTDOWN, -ENXIO, -EINVAL, -EDEADLK, -ENODEV, -EOPNOTSUPP, 0, 77,
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		char text[80];

		snprintf(text, sizeof(text), "%s", PostErrorText(reasons[i]));
		EXPECT_NE('\0', *text);
		for (j = 0; j < i; j++)
			EXPECT_STRNE(text, PostErrorText(reasons[j]));
	}
	EXPECT_STREQ(PostErrorText(PXR_NO_SPACE), PostErrorText(-ENOSPC));
	EXPECT_EQ(0, PXR_LANE3 & (PXR_LANE0 | PXR_LANE1 | PXR_LANE2));
}

/* --- the log ----------------------------------------------------------------- */

static size_t log_read(char *text, size_t room)
{
	int fd = open(LOG, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);

	if (fd >= 0)
		close(fd);
	text[n < 0 ? 0 : n] = 0;
	return n < 0 ? 0 : (size_t)n;
}

#define LOGGERS		4
#define MESSAGES	50

static void *logger(void *arg)
{
	long i, wrong = 0, who = (long)(intptr_t)arg;

	for (i = 0; i < MESSAGES; i++)
		wrong += LogMessage("logger %ld message %ld", who, i) != 0;
	return (void *)wrong;
}

/* Is the text in the file, soon? */
static bool logged(const char *text)
{
	static char log[65536];

	return DXT_SOON((log_read(log, sizeof(log)), strstr(log, text)));
}

/*
 * DX-97, DX-99, DX-3: what LogMessage() said is in the file soon, after Stop when
 * it returns. Lines of many threads are whole, in the order of their sequence
 * numbers.
 */
TEST(log_in_order)
{
	static char text[65536];
	char message[2000], *line, *save = NULL;
	uint64_t created = dxt_now(), timer;
	unsigned long long seq, last = 0;
	pthread_t thread[LOGGERS];
	MTExecutive *mte;
	int i, next[LOGGERS] = { 0 }, lines = 0;
	void *wrong;

	unlink(LOG);
	EXPECT_EQ(-ENXIO, LogMessage("nobody hears it"));
	mte = executive(1);
	ASSERT_NE(NULL, mte);
	/* DX-2: the elapsed timer begins first, before there is a log */
	timer = dxt_now() - MTExecutiveElapsed(mte);
	EXPECT_LE(created, timer);
	for (i = 0; i < 10; i++) {
		snprintf(message, sizeof(message), "message %d of the test", i);
		EXPECT_EQ(0, LogMessage("%s", message));
		EXPECT_TRUE(logged(message));
	}
	/* one line, whatever is in it; not longer than it may be */
	memset(message, 'x', sizeof(message));
	message[0] = '\n';
	message[sizeof(message) - 1] = 0;
	EXPECT_EQ(0, LogMessage("%s", message));
	EXPECT_TRUE(logged("xxx [cut]\n"));

	for (i = 0; i < LOGGERS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, logger,
					    (void *)(intptr_t)i));
	for (i = 0; i < LOGGERS; i++) {
		pthread_join(thread[i], &wrong);
		EXPECT_EQ(NULL, wrong);
	}
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_DRAIN, -1));
	for (i = 0; i < 3; i++) {
		snprintf(message, sizeof(message), "message %d after the stop", i);
		EXPECT_EQ(0, LogMessage("%s", message));
		log_read(text, sizeof(text));
		EXPECT_NE(NULL, strstr(text, message));
	}
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));

	log_read(text, sizeof(text));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		int who, what, at = 0;
		long long sec, nsec;

		ASSERT_LE(3, sscanf(line, "%llu %lld.%lld %n", &seq, &sec, &nsec, &at))
			TH_LOG("%s", line);
		EXPECT_EQ(last + 1, seq);
		EXPECT_LE(timer, (uint64_t)(sec * DXT_SEC + nsec));
		last = seq;
		EXPECT_GT(350, strlen(line));
		if (strstr(line, "logger ") &&
		    sscanf(strstr(line, "logger "), "logger %d message %d", &who, &what) == 2) {
			ASSERT_TRUE(who >= 0 && who < LOGGERS);
			EXPECT_EQ(next[who], what);
			next[who]++;
			lines++;
		}
	}
	EXPECT_EQ(LOGGERS * MESSAGES, lines);
	unlink(LOG);
}

/* --- Start again ----------------------------------------------------------------- */

static int echo_size(Runnable *self, void *request)
{
	const RQElement *me = CurrentRequest();

	(void)self;
	(void)request;
	SetRequestResult(me->pData, me->RQEDataLen);
	LogMessage("a request of %u bytes", me->RQEDataLen);
	return (int)me->RQEDataLen;
}

static int answer(CommandHandler *self, const char *command, char *reply, size_t room)
{
	(void)self;
	if (strcmp(command, "hello"))
		return -ENOENT;
	snprintf(reply, room, "world");
	return 0;
}

/* The lines of the log are numbered without a gap; how many there are. */
static long numbered(void)
{
	FILE *f = fopen(LOG, "r");
	char line[512];
	long nr = 0;

	while (f && fgets(line, sizeof(line), f))
		if (atol(line) != ++nr)
			nr = -1000000;
	if (f)
		fclose(f);
	return nr;
}

/* Posts a request of so many bytes and gets it back. */
static int round_trip(uint32_t size)
{
	static Runnable echoer = { echo_size };
	static char data[4096], back[4096];
	RQPost post = {
		.pOObject = &echoer,
		.pXObject = &echoer,
		.RQEAttrs = PXR_REJOIN,
		.pData = data,
		.RQEDataLen = size,
		.RQEResultRoom = size,
	};
	RQElement e;
	int rc;

	memset(data, (int)size, size);
	rc = PostRequests(&post, 1, 0, NULL);
	if (rc != 1)
		return rc;
	rc = GetRejoinElement(&echoer, &e, back, sizeof(back), dxt_late_ns());
	if (rc != RJR_RETURNED)
		return -1;
	return memcmp(data, back, size) ? -2 : e.RQEStatus;
}

/*
 * DX-112: Start after Stop, with what the policy became meanwhile; the handler, the
 * members and the log go on.
 */
static int start_again(unsigned int writer)
{
	CommandHandler handler = { .HandleCommand = answer };
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;
	unsigned int i, fds;
	MTExecutive *mte;
	char reply[16];
	long lines = 0;

	unlink(LOG);
	settings_init(&settings);
	if (policy_init(&policy, 2))
		return __LINE__;
	policy.TPLogWriter = writer;
	fds = dxt_fds();
	mte = MTExecutiveCreate(&settings, &policy, &error);
	if (!mte || AttachCommandHandler(&handler))
		return __LINE__;
	for (i = 0; i < 4; i++) {
		if (MTExecutiveStart(mte, &error) != -EBUSY || strcmp(error.Step, "start"))
			return __LINE__;
		if (round_trip(512 + i) != 512 + (int)i)
			return __LINE__;
		if (SendCommand("hello", reply, sizeof(reply), -1) != 5)
			return __LINE__;
		if (MTExecutiveThreadId(mte))
			return __LINE__;
		if (MTExecutiveStop(mte, DXK_STOP_DRAIN, -1))
			return __LINE__;
		LogMessage("stopped %u", i);
		if (round_trip(1) != -ESHUTDOWN)
			return __LINE__;
		if (numbered() <= lines)
			return __LINE__;
		lines = numbered();
		/* fields that only a Start can change */
		if (MTExecutiveGetPolicy(mte, &policy))
			return __LINE__;
		policy.TPDataSize++;
		policy.TPReadyEntries++;
		policy.TPMaxThreads++;
		policy.TPOnBlock = i % 3;
		if (MTExecutiveSetPolicy(mte, &policy, &error))
			return __LINE__;
		if (MTExecutiveStart(mte, &error))
			return __LINE__;
	}
	if (MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1))
		return __LINE__;
	if (numbered() <= lines)
		return __LINE__;
	return dxt_fds() == fds ? 0 : __LINE__;
}

TEST(start_after_stop)
{
	EXPECT_EQ(0, start_again(DX_LOG_WRITER_LIBRARY));
	EXPECT_EQ(0, start_again(DX_LOG_WRITER_KERNEL));
}

/* --- the sequence of the DX document ----------------------------------------- */

#define SUBS	8

struct request {
	struct request *top;	/* NULL: it is the top one */
	int number;
	int status;
	bool done;
};

struct worker_object {
	Runnable base;
	Runnable *helper;
	struct request sub[SUBS];
	_Atomic int inside, most;	/* sub-requests in execution */
	_Atomic int wrong;
	_Atomic unsigned int ran[1000];	/* by thread id */
};

static void check(struct worker_object *o, bool ok)
{
	if (!ok)
		o->wrong++;
}

/* Keep it in execution until another one is, so that they overlap if they can. */
static void overlap(struct worker_object *o)
{
	int inside = ++o->inside, most = o->most;

	while (inside > most && !atomic_compare_exchange_weak(&o->most, &most, inside))
		;
	DXT_SOON(o->most >= 2);
	o->inside--;
}

static int execute(Runnable *self, void *request)
{
	struct worker_object *o = (struct worker_object *)self;
	const RQElement *current = CurrentRequest();
	struct request *r = request;
	void *got;
	int i, rc;

	check(o, current && current->pPObject == request && current->pXObject == self &&
		 current->RQEState == RQE_BUSY);
	rc = MTExecutiveThreadId(NULL);
	check(o, rc >= 1 && rc <= 499);
	o->ran[rc]++;
	if (r->top) {
		check(o, current->pOObject == r->top && current->RQEPriority == 10);
		overlap(o);
		r->done = true;
		return 100 + r->number;
	}

	/* DX-105: post for this Runnable and for another one, while executing. */
	check(o, GetRejoinRequest(r, &got) == RJR_NONE_EXIST && !got);
	for (i = 0; i < SUBS; i++) {
		o->sub[i] = (struct request){ .top = r, .number = i };
		rc = PostARequest(&o->sub[i], i == SUBS - 1 ? o->helper : self, r, 10,
				  PXR_REJOIN | PXR_WAITIF_BUSY);
		check(o, rc == 0);
	}
	for (i = 0; i < SUBS; i++) {
		RQElement e;

		rc = GetRejoinElement(r, &e, NULL, 0, dxt_late_ns());
		check(o, rc == RJR_RETURNED);
		if (rc != RJR_RETURNED)
			break;
		check(o, ((struct request *)e.pPObject)->done);
		check(o, e.RQEStatus == 100 + ((struct request *)e.pPObject)->number);
		check(o, e.RQEState == RQE_REJOIN && e.pOObject == r);
		((struct request *)e.pPObject)->status = e.RQEStatus;
	}
	check(o, GetRejoinRequest(r, &got) == RJR_NONE_EXIST);
	/* after the sub-requests the current request is still the top one */
	check(o, CurrentRequest() == current && current->pPObject == request);
	return 42;
}

static int help(Runnable *self, void *request)
{
	struct request *r = request;

	(void)self;
	r->done = true;
	return 100 + r->number;
}

/*
 * DX-104, DX-105, DX-106: main posts the top request, a worker runs it, it posts
 * sub-requests for the same Runnable, which run in parallel, collects them all and
 * gets NONE_EXIST; it ends, main collects it and gets NONE_EXIST.
 */
TEST(sequence)
{
	Runnable helper = { .ExecuteThisRequest = help };
	struct worker_object *o;
	struct request top = { 0 };
	MTExecutive *mte;
	RQElement e;
	void *got;
	int i, owner;

	o = calloc(1, sizeof(*o));
	ASSERT_NE(NULL, o);
	o->base.ExecuteThisRequest = execute;
	o->helper = &helper;
	mte = executive(4);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(NULL, CurrentRequest());
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(&owner, &got));
	ASSERT_EQ(0, PostARequest(&top, &o->base, &owner, 1, PXR_REJOIN));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&owner, &e, NULL, 0,
						 dxt_late_ns()));
	EXPECT_EQ(&top, e.pPObject);
	EXPECT_EQ(&o->base, e.pXObject);
	EXPECT_EQ(&owner, e.pOObject);
	EXPECT_EQ(42, e.RQEStatus);
	EXPECT_EQ(1, e.RQEPriority);
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(&owner, &got));
	EXPECT_EQ(NULL, got);
	EXPECT_EQ(0, o->wrong);
	EXPECT_LE(2, o->most) TH_LOG("sub-requests did not run in parallel");
	for (i = 0; i < SUBS; i++)
		EXPECT_EQ(100 + i, o->sub[i].status);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	free(o);
}

struct gated {
	Runnable base;
	struct dxt_gate *gate;
	MTExecutive *mte;
	_Atomic int stop_answer;
};

static int execute_gated(Runnable *self, void *request)
{
	struct gated *g = (struct gated *)self;

	(void)request;
	g->stop_answer = MTExecutiveStop(g->mte, DXK_STOP_DRAIN, 0);
	dxt_gate_pass(g->gate, 0);
	return 5;
}

/* DX-107, DX-110: Stop while a Runnable executes. */
TEST(stop_while_executing)
{
	struct gated g = { .base.ExecuteThisRequest = execute_gated };
	char owner, request[3];
	MTExecutive *mte;
	struct dxt t = { 0 };
	RQElement e;
	void *got;
	int i;

	g.gate = dxt_gate_new();
	g.mte = mte = executive(1);
	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, PostARequest(&request[i], &g.base, &owner, 0, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&t, g.gate->entered == 1));
	EXPECT_EQ(-ETIMEDOUT, MTExecutiveStop(mte, DXK_STOP_CANCEL, 10 * DXT_MS));
	/* a worker cannot wait for itself */
	EXPECT_EQ(-EDEADLK, g.stop_answer);
	EXPECT_EQ(-ESHUTDOWN, PostARequest(&request[0], &g.base, &owner, 0, PXR_REJOIN));
	for (i = 1; i < 3; i++) {
		EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&owner, &e, NULL, 0, 0));
		EXPECT_EQ(&request[i], e.pPObject);
		EXPECT_EQ(-ECANCELED, e.RQEStatus);
		EXPECT_EQ(0, e.RQEWorker);
	}
	EXPECT_EQ(RJR_NONE_READY, GetRejoinRequest(&owner, &got));
	EXPECT_EQ(-ETIMEDOUT, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, 10 * DXT_MS));
	dxt_gate_open(g.gate);
	EXPECT_EQ(0, MTExecutiveStop(mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&owner, &e, NULL, 0, 0));
	EXPECT_EQ(5, e.RQEStatus);
	EXPECT_EQ(RJR_NONE_EXIST, GetRejoinRequest(&owner, &got));
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(g.gate);
}

/* The third one fails, the fifth one as well. Who waits for itself is told. */
static int fail_some(Runnable *self, void *request)
{
	int nr = *(int *)request;

	(void)self;
	if (nr == 7)
		return RejoinAll(CurrentRequest()->pOObject, NULL);
	return nr == 2 ? -7 : nr == 4 ? -8 : 0;
}

static struct dxt_gate *gate;

/* Opens it after twenty waits that were interrupted. */
static void interrupts(int sig)
{
	static int nr;

	(void)sig;
	if (++nr == 20)
		dxt_gate_open(gate);
}

/* DX-51, DX-54: all are collected, whatever ends a wait between. */
TEST(rejoin_all)
{
	Runnable executor = { .ExecuteThisRequest = fail_some };
	struct gated g = { .base.ExecuteThisRequest = execute_gated };
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction sa = { .sa_handler = interrupts }, old;
	int i, status = 1, owner, number[6] = { 0, 1, 2, 3, 4, 5 }, itself = 7;
	MTExecutive *mte = executive(1);
	struct dxt t = { 0 };

	ASSERT_NE(NULL, mte);
	t.id = (unsigned int)MTExecutiveContextId(mte);
	EXPECT_EQ(0, RejoinAll(&owner, &status));
	EXPECT_EQ(0, status);
	for (i = 0; i < 6; i++)
		ASSERT_EQ(0, PostARequest(&number[i], &executor, &owner, 0, PXR_REJOIN));
	EXPECT_EQ(0, RejoinAllOf(mte, &owner, &status));
	EXPECT_EQ(-7, status);
	EXPECT_EQ(0, RejoinAll(&owner, NULL));
	ASSERT_EQ(0, PostARequest(&itself, &executor, &owner, 0, PXR_REJOIN));
	EXPECT_EQ(0, RejoinAll(&owner, &status));
	EXPECT_EQ(-EDEADLK, status);

	/* Signals come all the time; then a Stop, which it outlives, too. */
	g.gate = gate = dxt_gate_new();
	g.mte = mte;
	sigaction(SIGALRM, &sa, &old);
	ASSERT_EQ(0, PostARequest(&number[0], &g.base, &owner, 0, PXR_REJOIN));
	ASSERT_TRUE(DXT_UNTIL(&t, g.gate->entered == 1));
	ASSERT_EQ(0, PostARequest(&number[1], &executor, &owner, 0, PXR_REJOIN));
	EXPECT_EQ(-ETIMEDOUT, MTExecutiveStop(mte, DXK_STOP_CANCEL, 10 * DXT_MS));
	setitimer(ITIMER_REAL, &often, NULL);
	EXPECT_EQ(0, RejoinAll(&owner, &status));
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &old, NULL);
	EXPECT_EQ(-ECANCELED, status);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
	dxt_gate_free(g.gate);
}

static int execute_data(Runnable *self, void *request)
{
	const RQElement *current = CurrentRequest();
	char text[64];

	(void)self;
	(void)request;
	if (SetRequestResult(current, current->RQEResultRoom + 1) != -EMSGSIZE)
		return 1;
	snprintf(text, sizeof(text), "%.*s!", (int)current->RQEDataLen,
		 (const char *)current->pData);
	return SetRequestResult(text, strlen(text) + 1);
}

/* Data there and back; a result without room for it stays. */
TEST(data)
{
	Runnable runnable = { .ExecuteThisRequest = execute_data };
	MTExecutive *mte = executive(2);
	char owner, room[64] = "";
	RQPost post = {
		.pOObject = &owner, .pXObject = &runnable, .RQEAttrs = PXR_REJOIN,
		.pData = "hello", .RQEDataLen = 5, .RQEResultRoom = 16,
	};
	unsigned int reason;
	RQElement e;

	ASSERT_NE(NULL, mte);
	EXPECT_EQ(-EPERM, SetRequestResult("", 0));
	EXPECT_EQ(-EPERM, TakeRequestFd());
	ASSERT_EQ(1, PostRequests(&post, 1, 0, &reason));
	EXPECT_EQ(-EMSGSIZE, GetRejoinElement(&owner, &e, room, 2,
					      dxt_late_ns()));
	EXPECT_EQ(RJR_RETURNED, GetRejoinElement(&owner, &e, room, sizeof(room), 0));
	EXPECT_EQ(0, e.RQEStatus);
	EXPECT_EQ(7, e.RQEDataLen);
	EXPECT_TRUE(e.pData == room);
	EXPECT_STREQ("hello!", room);
	EXPECT_EQ(0, MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1));
}

TEST_HARNESS_MAIN
