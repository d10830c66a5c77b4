// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of libdxk, written by the library or by the kernel. Built a second time
 * with the address sanitizer.
 */
#include "lib/log.h"

#include <dx.h>

FIXTURE(lib) {
	ThreadManagerPolicy policy;
	RunSettings settings;
	MTExecutive *mte;
};

FIXTURE_VARIANT(lib) {
	uint32_t writer;
};

FIXTURE_VARIANT_ADD(lib, library) { .writer = DX_LOG_WRITER_LIBRARY };
FIXTURE_VARIANT_ADD(lib, kernel) { .writer = DX_LOG_WRITER_KERNEL };

FIXTURE_SETUP(lib)
{
	mkdir(DIR_, 0755);
	unlink(LOG);
	ThreadManagerPolicyInit(&self->policy);
	self->policy.TPMaxThreads = 2;
	self->policy.TPDispatch = dxt_mode();
	self->policy.TPLogEntries = 8;
	self->policy.TPLogWriter = variant->writer;
	RunSettingsInit(&self->settings, "log", 0, NULL);
	self->settings.LogPath = LOG;
}

FIXTURE_TEARDOWN(lib)
{
	if (self->mte)
		MTExecutiveDestroy(self->mte, DXK_STOP_CANCEL, -1);
	umount(SMALL);
	unlink(LOG);
}

static struct dxt of_executive(MTExecutive *mte)
{
	struct dxt t = { .ctx = MTExecutiveContextFd(mte),
			 .id = (unsigned int)MTExecutiveContextId(mte) };

	return t;
}

/* The messages "message N" of a log of the library; they must be in order. */
static unsigned int library_lines(const char *path, unsigned int *wrong,
				  unsigned long long *seq)
{
	unsigned int n, messages = 0;
	unsigned long long s;
	char line[512], *p;
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strchr(line, '\n') || sscanf(line, "%llu", &s) != 1 || s != *seq + 1) {
			++*wrong;
			continue;
		}
		*seq = s;
		p = strstr(line, " message ");
		if (p && sscanf(p, " message %u", &n) == 1)
			messages++;
	}
	if (f)
		fclose(f);
	return messages;
}

#define TALKERS	4

static void *lib_talk(void *arg)
{
	unsigned int i, nr = (unsigned int)times_of(250);
	_Atomic unsigned int *done = arg;

	for (i = 0; i < nr; i++)
		*done += !LogMessage("message %u", i);
	return NULL;
}

/*
 * DX-3, DX-97, DX-99: threads log more than the pool has room for; nothing is lost,
 * before Start, between the modes, after Stop.
 */
TEST_F(lib, all_of_it)
{
	unsigned int i, wrong = 0, n;
	_Atomic unsigned int done = 0;
	unsigned long long seq = 0;
	pthread_t thread[TALKERS];
	ThreadManagerPolicy policy;

	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	ASSERT_EQ(0, MTExecutiveGetPolicy(NULL, &policy));
	EXPECT_EQ(variant->writer, policy.TPLogWriter);
	policy.TPLogWriter ^= 1;
	EXPECT_EQ(-EBUSY, MTExecutiveSetPolicy(NULL, &policy, NULL));
	for (i = 0; i < TALKERS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, lib_talk, &done));
	for (i = 0; i < TALKERS; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(TALKERS * times_of(250), done);
	EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
	/* now it is synchronous, and all that was before is there before it */
	for (i = 1; i <= 3; i++) {
		EXPECT_EQ(0, LogMessage("message %u", i));
		seq = 0;
		EXPECT_EQ(done + i, library_lines(LOG, &wrong, &seq));
	}
	EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->mte = NULL;
	seq = 0;
	n = library_lines(LOG, &wrong, &seq);
	EXPECT_EQ(done + 3, n);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(-ENXIO, LogRotate());
}

struct seen {
	pthread_mutex_t lock;
	unsigned int nr, own, wrong, reject;
	char last[DXK_LOG_TEXT];
	LogRecord record;
};

static int see(void *arg, const LogRecord *record)
{
	struct seen *s = arg;
	bool rejected;

	pthread_mutex_lock(&s->lock);
	s->nr++;
	s->own += record->Own;
	s->record = *record;
	strcpy(s->last, record->Text);
	s->wrong += LogSink(NULL, NULL) != -EDEADLK || strlen(record->Text) >= DXK_LOG_TEXT;
	rejected = s->reject && record->Severity >= s->reject;
	pthread_mutex_unlock(&s->lock);
	if (!record->Own && record->Severity == DX_LOG_ERROR)
		s->wrong += LogMessage("of the sink") != 0;
	return rejected;
}

static unsigned int times_in_log(const char *text)
{
	unsigned int n = 0;
	char line[512];
	FILE *f = fopen(LOG, "r");

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, text);
	if (f)
		fclose(f);
	return n;
}

/* DX-102: severities, what the level leaves out, and a sink that sees all and takes some */
TEST_F(lib, severities)
{
	struct seen s = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread[TALKERS];
	_Atomic unsigned int done = 0;
	unsigned int i;

	self->policy.TPLogEntries = 1024;
	EXPECT_EQ(0, LogSink(see, &s));
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	/* the library has told of the start */
	EXPECT_EQ(1, s.own);
	EXPECT_EQ(DX_LOG_INFO, s.record.Severity);
	EXPECT_EQ(self->mte, s.record.Executive);
	EXPECT_EQ(0, LogMessageAt(DX_LOG_ERROR, "fire %d\n", 1));
	EXPECT_STREQ("fire 1", s.last);
	EXPECT_EQ(DX_LOG_ERROR, s.record.Severity);
	EXPECT_EQ(0, s.record.Thread);
	EXPECT_EQ(0, LogMessageAtOf(self->mte, DX_LOG_WARNING, "smoke\t%300d", 2));
	EXPECT_EQ(DXK_LOG_TEXT - 1 - strlen("warning: "), strlen(s.last));
	EXPECT_EQ(0, strncmp(s.last, "smoke ", 6));

	i = s.nr;
	EXPECT_EQ(0, LogMessageAt(DX_LOG_DEBUG, "unheard"));
	EXPECT_EQ(i, s.nr);
	EXPECT_EQ(DX_LOG_INFO, LogLevel(DX_LOG_DEBUG));
	EXPECT_EQ(0, LogMessageAt(DX_LOG_DEBUG, "heard"));
	EXPECT_EQ(i + 1, s.nr);
	EXPECT_EQ(DX_LOG_DEBUG, LogLevel(DX_LOG_ERROR));
	EXPECT_EQ(0, LogMessage("nor this"));
	EXPECT_EQ(i + 1, s.nr);
	EXPECT_EQ(DX_LOG_ERROR, LogLevel(DX_LOG_INFO));
	EXPECT_EQ(DX_LOG_INFO, LogLevel(0));
	EXPECT_EQ(-EINVAL, LogLevel(DX_LOG_DEBUG + 1));
	EXPECT_EQ(-EINVAL, LogMessageAt(0, "no"));
	EXPECT_EQ(-EINVAL, LogMessageAt(DX_LOG_DEBUG + 1, "no"));

	/* what it takes is not in the log; and it may go while others log */
	s.reject = DX_LOG_INFO;
	EXPECT_EQ(0, LogMessage("taken"));
	EXPECT_EQ(0, LogMessageAt(DX_LOG_WARNING, "left"));
	for (i = 0; i < TALKERS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, lib_talk, &done));
	usleep(1000);
	EXPECT_EQ(0, LogSink(NULL, NULL));
	i = s.nr;
	s.reject = 0;
	for (unsigned int t = 0; t < TALKERS; t++)
		pthread_join(thread[t], NULL);
	EXPECT_EQ(i, s.nr);
	EXPECT_EQ(TALKERS * times_of(250), done);
	EXPECT_EQ(0, s.wrong);
	EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->mte = NULL;
	EXPECT_EQ(1, times_in_log(" error: fire 1\n"));
	EXPECT_EQ(1, times_in_log(" of the sink\n"));
	EXPECT_EQ(1, times_in_log(" warning: smoke "));
	EXPECT_EQ(1, times_in_log(" debug: heard\n"));
	EXPECT_EQ(1, times_in_log(" warning: left\n"));
	EXPECT_EQ(0, times_in_log("unheard"));
	EXPECT_EQ(0, times_in_log("nor this"));
	EXPECT_EQ(0, times_in_log("taken"));
}

/* LogRotate(): each line is in one file, and nothing is lost. */
TEST_F(lib, rotate)
{
	unsigned int i, wrong = 0, n = 0;
	int rounds = times_of(10);
	_Atomic unsigned int done = 0;
	unsigned long long seq = 0;
	pthread_t thread;
	char name[64];

	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	ASSERT_EQ(0, pthread_create(&thread, NULL, lib_talk, &done));
	for (i = 0; i < (unsigned int)rounds; i++) {
		snprintf(name, sizeof(name), LOG ".%u", i);
		EXPECT_EQ(0, rename(LOG, name));
		EXPECT_EQ(0, i & 1 ? LogRotate() : LogRotateOf(self->mte));
		EXPECT_LE(0, size_of(LOG));
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(times_of(250), done);
	EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, LogMessage("message 1"));
	for (i = 0; i < (unsigned int)rounds; i++) {
		snprintf(name, sizeof(name), LOG ".%u", i);
		n += library_lines(name, &wrong, &seq);
		unlink(name);
	}
	n += library_lines(LOG, &wrong, &seq);
	EXPECT_EQ(done + 1, n);
	EXPECT_EQ(0, wrong);
}

/* What a terminal might obey is in no line, as it is in none of the module's. */
TEST_F(lib, control_characters)
{
	unsigned int clean = 0;
	char line[512];
	FILE *f;

	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	EXPECT_EQ(0, LogMessage("1\033[3\xc2\x9b" "4\x9b" "5\xc3\x9b"));
	EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, LogMessage("2\033[3\xc2\x9b" "4\x9b" "5\xc3\x9b"));
	f = fopen(LOG, "r");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f))
		clean += strstr(line, " 1 [3  4 5\xc3\x9b\n") ||
			 strstr(line, " 2 [3  4 5\xc3\x9b\n");
	fclose(f);
	EXPECT_EQ(2, clean);
}

/* DX-102: also one whose cut is behind a newline. */
TEST_F(lib, cut)
{
	unsigned int cut = 0;
	char text[300], line[512];
	FILE *f;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[DXK_LOG_TEXT - 2] = '\n';
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	EXPECT_EQ(0, LogMessage("%s", text));
	EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(0, LogMessage("%s", text));
	f = fopen(LOG, "r");
	ASSERT_NE(NULL, f);
	while (fgets(line, sizeof(line), f))
		cut += !!strstr(line, "xx  [cut]\n");
	fclose(f);
	EXPECT_EQ(2, cut);
}

/* Reads up to the end of a line. Return: whether there was one. */
static bool line_read(int fd)
{
	ssize_t n;
	char c;

	do
		n = read(fd, &c, 1);
	while (n == 1 && c != '\n');
	return n == 1;
}

/*
 * DX-100: the log is a pipe that is full, then read line by line. What is not in it, and
 * not in the writer's turn, is in the Log Pool.
 */
TEST_F(lib, batch)
{
	enum { MESSAGES = 100, BATCH = 3, TEXT = 200, PAGE = 4096, OWN = 8 };
	char text[TEXT + 1], page[PAGE];
	long long held, most = 0;
	bool right = true;
	unsigned int i;
	struct dxt t;
	int rd, wr;

	if (variant->writer == DX_LOG_WRITER_KERNEL)
		return;	/* it writes to files only */
	ASSERT_EQ(0, mkfifo(LOG, 0600));
	rd = open(LOG, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	wr = open(LOG, O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, rd);
	ASSERT_EQ(PAGE, fcntl(rd, F_SETPIPE_SZ, PAGE));
	ASSERT_EQ(0, fcntl(rd, F_SETFL, 0));
	memset(page, '\n', PAGE);
	ASSERT_EQ(PAGE, write(wr, page, PAGE));
	close(wr);

	self->policy.TPLogEntries = 256;
	self->policy.TPLogBatch = BATCH;
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	t = of_executive(self->mte);
	memset(text, 'x', TEXT);
	text[TEXT] = '\0';
	for (i = 0; i < MESSAGES; i++)
		ASSERT_EQ(0, LogMessage("%s", text));
	for (i = 0; i < PAGE; i++)
		right &= line_read(rd);
	for (i = 1; i <= MESSAGES; i++) {
		right &= line_read(rd);
		held = MESSAGES - i - dxt_num(&t, "pools/log_use");
		most = held > most ? held : most;
	}
	/* the writer may be in a write(2) that nothing else ends */
	close(rd);
	EXPECT_TRUE(right);
	EXPECT_GE(PAGE / TEXT + OWN + BATCH, most);
}

/* A full disk: kept, tried again, also when another file comes instead. */
TEST_F(lib, disk_full)
{
	unsigned int i, wrong = 0;
	unsigned long long seq = 0;
	struct dxt t;

	ASSERT_EQ(0, small_mount());
	self->settings.LogPath = SMALL "/log";
	self->policy.TPLogEntries = 256;
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	t = of_executive(self->mte);
	for (i = 1; i <= 150; i++)
		ASSERT_EQ(0, LogMessage("message %u fills the disk to its last page", i));
	EXPECT_TRUE(DXT_UNTIL(&t, size_of(SMALL "/log") == 4096));
	/* after Stop the error is the caller's, and Stop does not wait for the disk */
	EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
	EXPECT_EQ(-ENOSPC, LogMessage("message 151"));
	ASSERT_EQ(0, unlink(SMALL "/ballast"));
	EXPECT_TRUE(DXT_UNTIL(&t, !LogMessage("message 151")));
	EXPECT_EQ(151, library_lines(SMALL "/log", &wrong, &seq));
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->mte = NULL;
	small_umount();
}

/* A disk that is full over a Stop and a Start: nothing is lost. */
TEST_F(lib, disk_full_over_restart)
{
	unsigned int i, wrong = 0;
	unsigned long long seq = 0;
	struct dxt t;

	ASSERT_EQ(0, small_mount());
	self->settings.LogPath = SMALL "/log";
	self->policy.TPLogEntries = 256;
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	t = of_executive(self->mte);
	for (i = 1; i <= 150; i++)
		ASSERT_EQ(0, LogMessage("message %u fills the disk to its last page", i));
	EXPECT_TRUE(DXT_UNTIL(&t, size_of(SMALL "/log") == 4096));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
		EXPECT_EQ(-ENOSPC, LogMessage("message 151"));
		EXPECT_EQ(0, MTExecutiveStart(self->mte, NULL));
	}
	ASSERT_EQ(0, LogMessage("message 151"));
	ASSERT_EQ(0, unlink(SMALL "/ballast"));
	EXPECT_EQ(0, MTExecutiveStop(self->mte, DXK_STOP_DRAIN, -1));
	EXPECT_TRUE(DXT_UNTIL(&t, !LogMessage("message 152")));
	EXPECT_EQ(152, library_lines(SMALL "/log", &wrong, &seq));
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->mte = NULL;
	small_umount();
}

/* The destructor does not wait for a disk that stays full. */
TEST_F(lib, disk_stays_full)
{
	unsigned int i;
	struct dxt t;

	ASSERT_EQ(0, small_mount());
	self->settings.LogPath = SMALL "/log";
	self->policy.TPLogEntries = 256;
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	t = of_executive(self->mte);
	for (i = 1; i <= 150; i++)
		ASSERT_EQ(0, LogMessage("message %u fills the disk to its last page", i));
	EXPECT_TRUE(DXT_UNTIL(&t, size_of(SMALL "/log") == 4096));
	EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->mte = NULL;
	small_umount();
}

/* What cannot be a log for the kernel is refused, and says so. */
TEST_F(lib, refused)
{
	MTExecutiveError error;

	self->policy.TPLogWriter = 2;
	EXPECT_EQ(NULL, MTExecutiveCreate(&self->settings, &self->policy, &error));
	EXPECT_EQ(-EINVAL, error.Error);
	EXPECT_STREQ("TPLogWriter", error.Field);
	self->policy.TPLogWriter = variant->writer;
	self->settings.LogPath = "/dev/null";
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, &error);
	if (variant->writer == DX_LOG_WRITER_KERNEL) {
		EXPECT_EQ(NULL, self->mte);
		EXPECT_EQ(-EINVAL, error.Error);
		EXPECT_STREQ("log writer", error.Step);
	} else {
		EXPECT_NE(NULL, self->mte);
		EXPECT_EQ(0, LogMessage("nowhere"));
		EXPECT_EQ(0, LogRotate());
	}
	if (self->mte)
		EXPECT_EQ(0, MTExecutiveDestroy(self->mte, DXK_STOP_DRAIN, -1));
	self->settings.LogPath = NULL;
	self->policy.TPLogWriter = DX_LOG_WRITER_LIBRARY;
	self->mte = MTExecutiveCreate(&self->settings, &self->policy, &error);
	ASSERT_NE(NULL, self->mte);
	EXPECT_EQ(-EINVAL, LogRotate());
}

/* After fork() the child has no log; the parent's goes on. */
TEST_F(lib, fork)
{
	pid_t pid;

	self->mte = MTExecutiveCreate(&self->settings, &self->policy, NULL);
	ASSERT_NE(NULL, self->mte);
	pid = dxt_fork();
	if (!pid)
		_exit(!(LogMessage("no") == -ENXIO && LogRotateOf(self->mte) == -EPERM &&
			LogMessageOf(self->mte, "no") == -EPERM));
	EXPECT_EQ(0, dxt_reap(pid));
	EXPECT_EQ(0, LogMessage("message"));
}

TEST_HARNESS_MAIN
