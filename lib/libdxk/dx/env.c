// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * ExecEnvironment: elapsed timer, platform run time, message queue of an add-in,
 * synchronous log (log.c) - brought up in this order (DX-2). An application that makes
 * the environment itself has no platform until it has an executive.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <time.h>

#include "internal.h"

uint64_t dx_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/** dx_env_setup - set up the timer; nothing else is up yet */
void dx_env_setup(struct ExecEnvironment *env)
{
	env->started = dx_now();
	env->ctl = -1;
	dx_addin_setup(&env->addin);
	dx_log_setup(&env->log);
}

int dx_env_platform(struct ExecEnvironment *env)
{
	struct dxk_version version;
	int rc, cancel;

	cancel = dx_lock();
	rc = env->ctl = dx_fd(dxk_open());
	dx_unlock(cancel);
	if (rc < 0)
		return rc;
	rc = dxk_version(env->ctl, &version);
	if (rc < 0)
		return rc;
	/* A newer module serves older programs, an older one cannot serve us. */
	if (version.abi < DXK_ABI_VERSION || !(version.capabilities & DXK_CAP_POSTER))
		return -EPROTONOSUPPORT;
	return 0;
}

/*
 * Services that came up before a failure are taken down by dx_addin_end(),
 * dx_executive_remove(), which closes the descriptors, and dx_env_exit().
 */
int dx_env_init(struct ExecEnvironment *env, const RunSettings *settings,
		const char **step)
{
	int rc;

	*step = "message queue";
	rc = settings->IsAddin ? dx_addin_init(&env->addin, settings->AppName) : 0;
	if (rc)
		return rc;

	*step = "log";
	return dx_log_init(&env->log, settings->LogPath);
}

void dx_env_exit(struct ExecEnvironment *env)
{
	dx_log_exit(&env->log);
}

/* --- timers ---------------------------------------------------------------- */

void ElapsedTimerStart(ElapsedTimer *timer)
{
	timer->Started = timer->Lapped = dx_now();
}

uint64_t ElapsedTimerLap(ElapsedTimer *timer)
{
	uint64_t lapped = timer->Lapped;

	timer->Lapped = dx_now();
	return timer->Lapped - lapped;
}

uint64_t ElapsedTimerRead(const ElapsedTimer *timer)
{
	return dx_now() - timer->Started;
}
