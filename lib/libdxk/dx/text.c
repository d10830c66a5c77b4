// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Texts that describe errors.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/**
 * dx_field_of - the setting that made a step fail
 * @step: the step
 * @rc: negative errno
 * @settings: they were checked
 *
 * Return: its name, or %NULL.
 */
const char *dx_field_of(const char *step, int rc, const RunSettings *settings)
{
	if (!strcmp(step, "log"))
		return "LogPath";
	if (!strcmp(step, "log writer"))
		return rc == -EINVAL ? "LogPath" : NULL;
	if (!strcmp(step, "message queue"))
		return rc == -EINVAL || rc == -EEXIST || rc == -ENAMETOOLONG ? "AppName" : NULL;
	if (strcmp(step, "context"))
		return NULL;
	if (rc == -EEXIST || rc == -ENOENT || rc == -EPERM)
		return "ContextName";
	if (rc != -EINVAL)
		return NULL;
	return settings->ContextMode & ~0777U ? "ContextMode" : "ContextName";
}

/* Of the environment: why it, or an executive from it, could not be made. */
static const char *advice_on_environment(int rc)
{
	switch (rc) {
	case -EEXIST:
		return "the process has one";
	case -EALREADY:
		return "it has become an executive";
	case -EBUSY:
		return "there are results to collect";
	case -EDEADLK:
		return "the caller is a request of it";
	case -EPERM:
		return "another thread or process has made it";
	}
	return NULL;
}

/* Text that strerror(3) lacks, or has for another meaning. NULL: nothing to add. */
static const char *advice_on(const MTExecutiveError *e)
{
	if (!strcmp(e->Step, "platform"))
		return e->Error == -EPROTONOSUPPORT ?
		       "the module is older than the library" : "dxkctl doctor tells why";
	if (!strcmp(e->Step, "environment"))
		return advice_on_environment(e->Error);
	if (!strcmp(e->Step, "context") && e->Error == -EEXIST)
		return "another context has the name";
	if (!strcmp(e->Step, "context") && e->Error == -EPERM)
		return "the context is another user's";
	if (!strcmp(e->Step, "context") && e->Error == -EINVAL && !strcmp(e->Field, "ContextMode"))
		return "it is at most 0777";
	if (!strcmp(e->Step, "context") && e->Error == -EINVAL && *e->Field)
		return "it has 1 to 31 visible ASCII characters, and no slash";
	if (!strcmp(e->Step, "message queue") && e->Error == -EEXIST)
		return "another add-in has the name";
	if (!strcmp(e->Step, "log writer") && *e->Field)
		return "the kernel writes to regular files only";
	if (!strcmp(e->Step, "start") && e->Error == -EBUSY)
		return "it runs or stops still";
	return *e->Reason ? e->Reason : NULL;
}

const char *MTExecutiveErrorText(const MTExecutiveError *error, char *text, size_t room)
{
	const char *advice = advice_on(error);
	bool platform = !strcmp(error->Step, "platform");

	snprintf(text, room, "%s%s%s: %s%s%s", error->Step,
		 *error->Field || platform ? " " : "",
		 platform ? DXK_DEVICE : error->Field, strerror(-error->Error),
		 advice ? "; " : "", advice ? advice : "");
	return text;
}

const char *PostErrorText(int rc)
{
	switch (rc) {
	case 0:
		return "the request was taken";
	case PXR_POOL_FULL:
		return "the Ready Pool is full";
	case PXR_LANE_FULL:
		return "the lane is full";
	case PXR_LANE_CLOSED:
		return "the lane has no share";
	case PXR_REJOIN_FULL:
		return "the Rejoin Pool is full";
	case PXR_NO_SPACE:
	case -ENOSPC:
	case -EDQUOT:
		return "there are as many requests as there may be";
	case -ENXIO:
		return "there is no executive";
	case -ESHUTDOWN:
		return "the executive does not run";
	case -ENODEV:
		return "the policy has no workers of this kind";
	case -EOPNOTSUPP:
		return "an attribute that is not known, or needs TPMaxWaiting";
	}
	return rc < 0 ? strerror(-rc) : "unknown reason";
}
