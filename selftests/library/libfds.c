// SPDX-License-Identifier: GPL-2.0-only
/*
 * The descriptors of the library, in a process whose standard streams are closed: they
 * must not take their places, where others write to. Built a second time with the address
 * sanitizer.
 */
#include "lib/dxt.h"

#include <dx.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LOG	"/tmp/dxk-libfds-test.log"
#define NAME	"dxk-libfds-test"

static int talk(CommandHandler *self, const char *command, char *reply, size_t room)
{
	(void)self;
	(void)command;
	return snprintf(reply, room, "all right") < 0 ? -EIO : 0;
}

static CommandHandler handler = { .HandleCommand = talk };

static int nothing(Runnable *self, void *request)
{
	(void)self;
	(void)request;
	return 0;
}

static Runnable runnable = { nothing };

static void settings_init(RunSettings *settings)
{
	RunSettingsInit(settings, NAME, 0, NULL);
	settings->IsAddin = true;
	settings->ContextName = NAME;
	settings->LogPath = LOG;
}

static bool closed(void)
{
	int fd;

	for (fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			return false;
	return true;
}

static bool close_streams(void)
{
	int fd;

	for (fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	return closed();
}

/* Uses all that has a descriptor. Return: what was not as it should be, 0 for nothing. */
static int use_all(void)
{
	MTExecutive *mte, *visitor;
	RunSettings settings;
	char reply[32];
	int owner;

	if (!close_streams())
		return 1;
	settings_init(&settings);
	mte = MTExecutiveCreate(&settings, NULL, NULL);
	if (!mte || !closed())
		return 2;
	if (AttachCommandHandler(&handler) || !closed())
		return 3;
	if (SendCommandTo(NAME, "how is it", reply, sizeof(reply), dxt_late_ns()) != 9 ||
	    strcmp(reply, "all right") || !closed())
		return 4;
	if (LogMessage("one") || LogRotate() || LogMessage("two") || !closed())
		return 5;
	settings.IsAddin = false;
	visitor = MTExecutiveJoin(&settings, DX_ANY_OWNER, NULL);
	if (!visitor || !closed())
		return 6;
	if (PostARequest(&owner, &runnable, &owner, 0, PXR_REJOIN) ||
	    RejoinWait(&owner, NULL, dxt_late_ns()) != RJR_RETURNED || !closed())
		return 7;
	if (MTExecutiveDestroy(visitor, DXK_STOP_DRAIN, -1) ||
	    MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1) || !closed())
		return 8;
	return 0;
}

TEST(streams_closed)
{
	pid_t pid;

	unlink(LOG);
	pid = dxt_fork();
	if (!pid)
		_exit(use_all());
	EXPECT_EQ(0, dxt_reap(pid));
	unlink(LOG);
}

/* A log on standard error, which is not there. */
static int log_nowhere(void)
{
	MTExecutiveError error;
	RunSettings settings;

	close(STDERR_FILENO);
	RunSettingsInit(&settings, NAME, 0, NULL);
	if (MTExecutiveCreate(&settings, NULL, &error))
		return 1;
	return strcmp(error.Step, "log") || error.Error != -EBADF;
}

TEST(no_standard_error)
{
	pid_t pid = dxt_fork();

	if (!pid)
		_exit(log_nowhere());
	EXPECT_EQ(0, dxt_reap(pid));
}

TEST_HARNESS_MAIN
