/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of workers that wait share: an executive that says why there is none.
 */
#ifndef DXT_LIBWAIT_H
#define DXT_LIBWAIT_H

#include "lib/dxt.h"

#include <dx.h>
#include <stdio.h>
#include <unistd.h>

#define LOG		"/tmp/dxk-libwait-test.log"

static MTExecutive *executive(const ThreadManagerPolicy *policy,
			      struct dxt *t)
{
	MTExecutiveError error;
	RunSettings settings;
	MTExecutive *mte;

	RunSettingsInit(&settings, "libwait", 0, NULL);
	settings.LogPath = LOG;
	mte = MTExecutiveCreate(&settings, policy, &error);
	if (!mte) {
		fprintf(stderr, "# %s %s: %d\n", error.Step, error.Field, error.Error);
		return NULL;
	}
	*t = (struct dxt){ .id = (unsigned int)MTExecutiveContextId(mte) };
	return mte;
}

static ThreadManagerPolicy policy_of(unsigned int on_block,
				     unsigned int threads)
{
	ThreadManagerPolicy policy;

	unlink(LOG);
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = threads;
	policy.TPMonitorInterval = 10;
	policy.TPDispatch = dxt_mode();
	policy.TPOnBlock = on_block;
	return policy;
}

#endif /* DXT_LIBWAIT_H */
