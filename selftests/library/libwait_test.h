/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of workers that wait share: an executive that says how they do. */
#ifndef LIBWAIT_TEST_H
#define LIBWAIT_TEST_H

#include "dxk_test.h"

#include <dx.h>
#include <stdio.h>
#include <unistd.h>

#define LOG		"/tmp/dxk-libwait-test.log"

static inline MTExecutive *executive(const ThreadManagerPolicy *policy,
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

static inline ThreadManagerPolicy policy_of(unsigned int on_block,
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

#endif /* LIBWAIT_TEST_H */
