// SPDX-License-Identifier: GPL-2.0-only
/*
 * libdxk as a DX application uses it: settings, policy, executive, the log. What its
 * Runnables do is in lib_sequence.c. Built a second time with the address sanitizer.
 */
#include "lib_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>

static unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr;
}

static unsigned int contexts(void)
{
	DIR *dir = opendir("/sys/kernel/dxk");
	unsigned int nr = 0;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		nr += e->d_name[0] >= '0' && e->d_name[0] <= '9';
	if (dir)
		closedir(dir);
	return nr;
}

/* --- construction ------------------------------------------------------------ */

/* DX-1, DX-22, DX-23: who is who after construction. */
TEST(construction)
{
	unsigned int fds = descriptors(), before = contexts();
	ThreadManagerPolicy policy;
	MTExecutive *mte;
	struct dxt t = { 0 };
	int id;

	EXPECT_EQ(-ENXIO, MTExecutiveThreadId(NULL));
	EXPECT_EQ(0, MTExecutiveElapsed(NULL));
	mte = executive(3);
	ASSERT_NE(NULL, mte);
	EXPECT_EQ(before + 1, contexts());
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
	EXPECT_EQ(before, contexts());
	EXPECT_EQ(fds, descriptors());
	EXPECT_EQ(-ENXIO, MTExecutiveThreadId(NULL));
	EXPECT_EQ(0, MTExecutiveDestroy(NULL, DXK_STOP_POLICY, -1));
}

/*
 * DX-2: timer, platform, message queue of an add-in, log; then DX-1: context,
 * policy, start. Each trial has the next things wrong, too: the first wrong one in
 * that order is what the error names. Nothing is left of any.
 */
TEST(construction_order)
{
	unsigned int fds = descriptors(), before = contexts();
	struct rlimit old, none;
	ThreadManagerPolicy policy;
	MTExecutiveError error;
	RunSettings settings;

	ASSERT_EQ(0, policy_init(&policy, 2));
	settings_init(&settings);
	settings.IsAddin = true;
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
	EXPECT_EQ(-EOPNOTSUPP, error.Error);
	settings.IsAddin = false;
	EXPECT_EQ(NULL, MTExecutiveCreate(&settings, &policy, &error));
	EXPECT_STREQ("log", error.Step);
	EXPECT_EQ(-ENOENT, error.Error);
	settings.LogPath = LOG;
	EXPECT_EQ(NULL, MTExecutiveCreate(&settings, &policy, &error));
	EXPECT_STREQ("policy", error.Step);
	EXPECT_STREQ("TPReadyEntries", error.Field);
	EXPECT_EQ(-EINVAL, error.Error);
	EXPECT_EQ(fds, descriptors());
	EXPECT_EQ(before, contexts());
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
	unsigned int fds = descriptors(), before = contexts(), i;
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
	}
	EXPECT_EQ(fds, descriptors());
	EXPECT_EQ(before, contexts());
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
	unsigned long long seq, last = 0;
	pthread_t thread[LOGGERS];
	MTExecutive *mte;
	int i, next[LOGGERS] = { 0 }, lines = 0;
	void *wrong;

	unlink(LOG);
	EXPECT_EQ(-ENXIO, LogMessage("nobody hears it"));
	mte = executive(1);
	ASSERT_NE(NULL, mte);
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
	fds = descriptors();
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
	return descriptors() == fds ? 0 : __LINE__;
}

TEST(start_after_stop)
{
	EXPECT_EQ(0, start_again(DX_LOG_WRITER_LIBRARY));
	EXPECT_EQ(0, start_again(DX_LOG_WRITER_KERNEL));
}

TEST_HARNESS_MAIN
