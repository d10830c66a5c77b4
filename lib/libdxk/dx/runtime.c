// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * MTExecutive: constructor, Stop and destructor.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

void RunSettingsInit(RunSettings *settings, const char *name, int argc,
		     char **argv)
{
	*settings = (RunSettings){ .AppName = name, .argc = argc, .argv = argv };
}

/* Return: the name of the first that is invalid, or %NULL. */
static const char *settings_check(const RunSettings *settings)
{
	size_t i;

	if (!settings || !settings->AppName)
		return "AppName";
	for (i = 0; i < sizeof(settings->Reserved) / sizeof(*settings->Reserved); i++)
		if (settings->Reserved[i])
			return "Reserved";
	if (settings->Operations && (settings->Operations->Count > DX_OPERATIONS ||
				     settings->Operations->Reserved))
		return "Operations";
	return NULL;
}

static int name_copy(char to[DXK_NAME_LEN], const char *name)
{
	size_t len = strnlen(name, DXK_NAME_LEN);

	if (!len || len == DXK_NAME_LEN)
		return -EINVAL;
	memcpy(to, name, len);
	return 0;
}

static int context_create(MTExecutive *mte, const RunSettings *settings)
{
	struct dxk_ctx_create create = {
		.mode = settings->ContextMode ? settings->ContextMode : DXK_MODE_DEFAULT,
	};
	int fd, cancel;

	if (settings->ContextName && name_copy(create.name, settings->ContextName))
		return -EINVAL;
	cancel = dx_lock();
	fd = mte->ctx = dx_fd(dxk_ctx_create_as(mte->env.ctl, &create));
	dx_unlock(cancel);
	mte->id = create.id;
	return fd < 0 ? fd : 0;
}

static int context_join(MTExecutive *mte, const RunSettings *settings, int64_t owner)
{
	struct dxk_ctx_join join = {
		.flags = owner == DX_ANY_OWNER ? 0 : DXK_JOIN_OWNER,
		.access = DXK_ACCESS_WRITE,
		.uid = (uint32_t)owner,
	};
	int fd, cancel;

	if (!settings->ContextName || name_copy(join.name, settings->ContextName) ||
	    owner < DX_ANY_OWNER || owner > UINT32_MAX)
		return -EINVAL;
	cancel = dx_lock();
	fd = mte->ctx = dx_fd(dxk_ctx_join_as(mte->env.ctl, &join));
	dx_unlock(cancel);
	mte->id = join.id;
	return fd < 0 ? fd : 0;
}

/* Ends a start that failed. Nothing was posted, so there is nothing to wait for. */
static void context_cancel(MTExecutive *mte)
{
	while (dxk_ctx_stop(mte->ctx, DXK_STOP_CANCEL, -1) == -EINTR)
		;
}

/* Return: 0, or the error of @step. An environment that the executive takes over is up. */
static int services_init(MTExecutive *mte, const RunSettings *settings, const char **step)
{
	int rc;

	*step = "platform";
	rc = dx_env_platform(&mte->env);
	return rc || mte->env.log.fd >= 0 ? rc : dx_env_init(&mte->env, settings, step);
}

static void executive_free(MTExecutive *mte)
{
	dx_addin_end(&mte->env.addin);
	dx_executive_remove(mte);
	dx_env_exit(&mte->env);
	dx_handles_exit(mte);
	dx_commander_exit(&mte->commander);
	dx_crew_exit(mte);
	free(mte);
}

/* Return: 0, or an error that @error describes. */
static int executive_start(MTExecutive *mte, const RunSettings *settings,
			   const ThreadManagerPolicy *policy,
			   MTExecutiveError *error)
{
	struct dx_member *member;
	char text[DXK_LOG_TEXT] = "";
	const char *step;
	int rc, nr;

	/* service initialisation */
	rc = services_init(mte, settings, &step);
	if (rc)
		goto err;

	/* the Thread Manager and its Start */
	step = "context";
	rc = context_create(mte, settings);
	if (rc)
		goto err;
	rc = nr = dx_policy_start(mte, policy, error);
	if (rc < 0)
		goto err_told;
	step = "log writer";
	rc = mte->env.log.kernel ? dx_log_hand_over(mte) : 0;
	if (rc)
		goto err;
	step = "start";
	rc = dxk_ctx_start(mte->ctx);
	if (rc < 0)
		goto err;
	step = "log writer";
	rc = dx_log_start(mte);
	if (rc)
		goto err_stop;

	/* the threads of this process: the caller comes first and is thread 0 */
	step = "member";
	rc = dx_member_join(mte, DXK_MEMBER_CLIENT, &member);
	if (rc)
		goto err_stop;
	step = "workers";
	rc = dx_crew_start(mte);
	if (rc)
		goto err_stop;
	step = "message queue";
	rc = dx_addin_start(mte);
	if (rc)
		goto err_stop;

	if (policy && policy->TPMinThreads)
		snprintf(text, sizeof(text), "%u to ", policy->TPMinThreads);
	dx_log_own(mte, DX_LOG_INFO, "%s: context %u runs with %s%d workers in the process",
		   settings->AppName, mte->id, text, nr);
	dx_policy_tell_idle(mte, policy);
	return 0;

err_stop:
	context_cancel(mte);
	dx_crew_join(mte);
err:
	dx_error_set(error, rc, step, dx_field_of(step, rc, settings));
err_told:
	dx_log_stop(mte);
	/* Not open so far, or it cannot be: then standard error gets the line. */
	if (mte->env.log.fd < 0)
		dx_log_init(&mte->env.log, mte->env.log.path ? NULL : settings->LogPath);
	if (mte->env.log.fd >= 0)
		dx_log_own(mte, DX_LOG_ERROR, "%s: %s", settings->AppName,
			   MTExecutiveErrorText(error, text, sizeof(text)));
	return rc;
}

/* Return: 0, or an error that @error describes. */
static int executive_join(MTExecutive *mte, const RunSettings *settings, int64_t owner,
			  MTExecutiveError *error)
{
	struct dx_member *member;
	const char *step;
	int rc;

	rc = services_init(mte, settings, &step);
	if (rc)
		goto err;
	step = "context";
	rc = context_join(mte, settings, owner);
	if (rc)
		goto err;
	step = "member";
	rc = dx_member_join(mte, DXK_MEMBER_CLIENT, &member);
	if (rc)
		goto err;
	return 0;

err:
	dx_error_set(error, rc, step, dx_field_of(step, rc, settings));
	return rc;
}

/* Starts the threads of this process again. The context runs. */
static int executive_follow(MTExecutive *mte, const char **step)
{
	int rc, nr;

	*step = "policy";
	rc = nr = dx_policy_restart(mte);
	if (rc < 0)
		return rc;
	*step = "log writer";
	rc = dx_log_start(mte);
	if (rc)
		return rc;
	*step = "workers";
	rc = dx_crew_start(mte);
	if (rc)
		return rc;
	*step = "command handler";
	rc = dx_commander_restart(mte);
	if (rc)
		return rc;
	dx_log_own(mte, DX_LOG_INFO, "context %u runs again with %d workers in the process",
		   mte->id, nr);
	return 0;
}

/* The context is stopped, so all of its threads are about to end. */
static int context_restart(MTExecutive *mte)
{
	int rc;

	dx_crew_join(mte);
	rc = dxk_ctx_start(mte->ctx);
	return rc < 0 ? rc : 0;
}

/*
 * @runs: another process has started the context. After an error the context is stopped in any
 * case: without everything that this process has for it, requests could wait without end.
 */
static int executive_restart(MTExecutive *mte, bool runs, const char **step)
{
	int rc = runs ? 0 : context_restart(mte);

	if (rc)
		return rc;
	rc = executive_follow(mte, step);
	if (rc)
		context_cancel(mte);
	return rc;
}

/* Whether another process has stopped the context and started it, so that threads are gone. */
static bool left_behind(MTExecutive *mte)
{
	return dx_crew_left(mte) || dx_log_left(&mte->env.log);
}

int MTExecutiveStart(MTExecutive *mte, MTExecutiveError *error)
{
	const char *step = "start";
	bool runs = false;
	int rc = 0, cancel;

	if (!mte)
		rc = -EINVAL;
	else if (atomic_load(&mte->foreign))
		rc = -EPERM;
	else if (mte->joined)
		rc = -EACCES;
	else if (dx_commanding == mte || (dx_current && dx_current->mte == mte))
		rc = -EDEADLK;	/* it would wait for its own end */
	else
		runs = dxk_crew_wait(mte->ctx, 0, NULL, NULL) != -ESHUTDOWN;
	if (runs && !left_behind(mte))
		rc = -EBUSY;
	if (!rc) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		rc = executive_restart(mte, runs, &step);
		pthread_setcancelstate(cancel, NULL);
	}
	dx_error_set(error, rc, step, NULL);
	return rc;
}

/* Return: an empty executive, or NULL and an error that @error describes. */
static MTExecutive *executive_new(const RunSettings *settings, MTExecutiveError *error)
{
	const char *bad = settings_check(settings);
	int rc = bad ? -EINVAL : dx_library_init();
	MTExecutive *mte;

	mte = rc ? NULL : calloc(1, sizeof(*mte));
	dx_error_set(error, rc || mte ? rc : -ENOMEM, "settings", bad);
	if (!mte)
		return NULL;
	mte->ctx = -1;
	dx_env_setup(&mte->env);
	mte->operations = settings->Operations;
	dx_crew_init(mte);
	dx_handles_init(mte);
	dx_commander_init(&mte->commander);
	dx_executive_add(mte);
	return mte;
}

/* @rc: 0 if it is complete. */
static MTExecutive *executive_made(MTExecutive *mte, int rc)
{
	if (!rc) {
		dx_executive_offer(mte);
		return mte;
	}
	executive_free(mte);
	return NULL;
}

MTExecutive *MTExecutiveCreate(const RunSettings *settings,
			       const ThreadManagerPolicy *policy,
			       MTExecutiveError *error)
{
	MTExecutiveError unused;
	MTExecutive *mte;
	int cancel;

	if (!error)
		error = &unused;
	/* A cancellation would leave an incomplete executive without an owner. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	mte = executive_new(settings, error);
	if (mte)
		mte = executive_made(mte, executive_start(mte, settings, policy, error));
	pthread_setcancelstate(cancel, NULL);
	return mte;
}

MTExecutive *MTExecutiveJoin(const RunSettings *settings, int64_t owner,
			     MTExecutiveError *error)
{
	MTExecutiveError unused;
	MTExecutive *mte;
	int cancel;

	if (!error)
		error = &unused;
	if (settings && settings->IsAddin) {
		/* Messages to an add-in are commands, and these are for the owner. */
		dx_error_set(error, -EINVAL, "settings", "IsAddin");
		return NULL;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	mte = executive_new(settings, error);
	if (mte) {
		mte->joined = true;
		mte = executive_made(mte, executive_join(mte, settings, owner, error));
	}
	pthread_setcancelstate(cancel, NULL);
	return mte;
}

/* --- the environment, before there is an executive ----------------------------- */

_Static_assert(!offsetof(MTExecutive, env), "the address of both is one");

/* An executive that is only an environment. */
static MTExecutive *executive_of(ExecEnvironment *env)
{
	return (MTExecutive *)env;
}

/* Return: 0, or an error that @error describes. */
static int environment_start(MTExecutive *mte, const RunSettings *settings,
			     MTExecutiveError *error)
{
	const char *step = "environment";
	int rc = dx_single_begin(mte, settings);

	if (!rc)
		rc = dx_env_init(&mte->env, settings, &step);
	if (!rc && !dx_executive_offer(mte)) {
		step = "environment";
		rc = -EEXIST;
	}
	dx_error_set(error, rc, step, dx_field_of(step, rc, settings));
	return rc;
}

static void environment_free(MTExecutive *mte)
{
	struct dx_single *single = mte->single;

	executive_free(mte);
	dx_single_free(single);
}

ExecEnvironment *ExecEnvironmentCreate(const RunSettings *settings, MTExecutiveError *error)
{
	MTExecutiveError unused;
	MTExecutive *mte;
	int cancel;

	if (!error)
		error = &unused;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	mte = executive_new(settings, error);
	if (mte && environment_start(mte, settings, error)) {
		environment_free(mte);
		mte = NULL;
	}
	pthread_setcancelstate(cancel, NULL);
	return mte ? &mte->env : NULL;
}

int ExecEnvironmentDestroy(ExecEnvironment *env)
{
	int rc = env ? dx_single_idle(executive_of(env)) : 0;
	int cancel;

	/* Results that nobody has collected are discarded with it. */
	if (!env || (rc && rc != -EBUSY))
		return rc;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	environment_free(executive_of(env));
	pthread_setcancelstate(cancel, NULL);
	return 0;
}

uint64_t ExecEnvironmentElapsed(const ExecEnvironment *env)
{
	return env ? dx_now() - env->started : MTExecutiveElapsed(NULL);
}

/* Return: 0, or an error that @error describes, and @mte is the environment that it was. */
static int environment_raise(MTExecutive *mte, const ThreadManagerPolicy *policy,
			     MTExecutiveError *error)
{
	struct dx_single *single = mte->single;
	int rc;

	mte->single = NULL;
	rc = executive_start(mte, dx_single_settings(single), policy, error);
	if (rc) {
		dx_executive_retreat(mte);
		dx_log_retreat(&mte->env.log);
		dx_single_reset(mte, single);
	} else {
		dx_executive_offer(mte);
		dx_single_free(single);
	}
	return rc;
}

MTExecutive *MTExecutiveCreateIn(ExecEnvironment *env, const ThreadManagerPolicy *policy,
				 MTExecutiveError *error)
{
	MTExecutive *mte = executive_of(env);
	int rc = env ? dx_single_idle(mte) : -EINVAL;
	MTExecutiveError unused;
	int cancel;

	if (!error)
		error = &unused;
	dx_error_set(error, rc, "environment", NULL);
	if (rc)
		return NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	rc = environment_raise(mte, policy, error);
	pthread_setcancelstate(cancel, NULL);
	return rc ? NULL : mte;
}

/* --- Stop and the destructor ------------------------------------------------- */

/* Stop; after a time-out, report which thread executes what, and what waits (DX-114). */
static int context_stop(MTExecutive *mte, unsigned int mode, int64_t timeout_ns)
{
	struct dxk_running running[64];
	unsigned int nr, i;
	int rc;

	rc = dxk_ctx_stop_report(mte->ctx, mode, timeout_ns, running, 64, &nr);
	for (i = 0; i < nr && i < 64; i++) {
		const struct dxk_running *r = &running[i];
		unsigned long long executor = r->executor, owner = r->owner;
		unsigned long long ms = r->age_ns / 1000000;

		if (r->thread)
			dx_log_own(mte, DX_LOG_WARNING,
				   "worker %u still executes a request of %#llx for %#llx, "
				   "since %llu ms", r->thread, executor, owner, ms);
		else
			dx_log_own(mte, DX_LOG_WARNING,
				   "a request of %#llx for %#llx waits, since %llu ms",
				   executor, owner, ms);
	}
	if (nr > 64)
		dx_log_own(mte, DX_LOG_WARNING, "and there are %u others", nr - 64);
	return rc < 0 ? rc : 0;
}

int MTExecutiveStop(MTExecutive *mte, unsigned int mode, int64_t timeout_ns)
{
	if (!mte)
		return -EINVAL;
	if (atomic_load(&mte->foreign))
		return -EPERM;
	if (dx_current && dx_current->mte == mte)
		return -EDEADLK;	/* it would wait for its own request */
	return context_stop(mte, mode, timeout_ns);
}

int MTExecutiveDestroy(MTExecutive *mte, unsigned int mode, int64_t timeout_ns)
{
	int rc, cancel;

	if (!mte)
		return 0;
	if (dx_commanding == mte)
		return -EDEADLK;	/* it would wait for its own call */
	/* The process that has made the context stops it. */
	rc = mte->joined && !atomic_load(&mte->foreign) ?
	     0 : MTExecutiveStop(mte, mode, timeout_ns);
	if (rc)
		return rc;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	dx_crew_join(mte);
	dx_commander_end(mte);
	dx_log_stop(mte);
	if (!mte->joined)
		dx_log_own(mte, DX_LOG_INFO, "context %u ends", mte->id);
	executive_free(mte);
	pthread_setcancelstate(cancel, NULL);
	return 0;
}

/* --- queries --------------------------------------------------------------- */

uint64_t MTExecutiveElapsed(MTExecutive *mte)
{
	mte = dx_executive(mte);
	return mte ? dx_now() - mte->env.started : 0;
}

int MTExecutiveContextFd(MTExecutive *mte)
{
	int rc = dx_context(&mte);

	return rc ? rc : mte->ctx;
}

int MTExecutiveContextId(MTExecutive *mte)
{
	mte = dx_executive(mte);
	if (!mte)
		return -ENXIO;
	return mte->single ? -EOPNOTSUPP : (int)mte->id;
}

int MTExecutiveMemberFd(MTExecutive *mte)
{
	struct dx_member *member;
	int rc = dx_self(&mte, &member);

	return rc ? rc : member->fd;
}

int MTExecutiveThreadId(MTExecutive *mte)
{
	struct dx_member *member;
	int rc = dx_self(&mte, &member);

	return rc ? rc : (int)member->id;
}

/* Names of files below a directory; none may lead out of it. */
static bool is_below(const char *name)
{
	bool begins = true;

	for (; *name; begins = *name++ == '/')
		if (begins && (*name == '/' || *name == '.'))
			return false;
	return !begins;
}

static int read_value(int fd, char *text, size_t room)
{
	size_t len = 0;
	ssize_t rc;

	while ((rc = read(fd, text + len, room - len)) > 0) {
		len += (size_t)rc;
		if (len == room)
			return -EMSGSIZE;
	}
	if (rc)
		return -errno;
	while (len && text[len - 1] == '\n')
		len--;
	text[len] = '\0';
	return (int)len;
}

int MTExecutiveGetState(MTExecutive *mte, const char *name, char *text, size_t room)
{
	int fd, rc, id = MTExecutiveContextId(mte);
	char path[128];

	if (id < 0)
		return id;
	if (!is_below(name))
		return -EINVAL;
	if (!room)
		return -EMSGSIZE;
	if (snprintf(path, sizeof(path), "/sys/kernel/dxk/%d/%s", id, name) >= (int)sizeof(path))
		return -ENOENT;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = read_value(fd, text, room);
	close(fd);
	return rc;
}
