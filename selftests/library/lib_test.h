/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of the library share: settings, a policy, an executive of them. */
#ifndef LIB_TEST_H
#define LIB_TEST_H

#include "dxk_test.h"

#include <dx.h>

#define LOG	"/tmp/dxk-lib-test.log"

static inline void settings_init(RunSettings *settings)
{
	static char *argv[] = { "lib", NULL };

	RunSettingsInit(settings, "lib", 1, argv);
	settings->LogPath = LOG;
}

static inline int policy_init(ThreadManagerPolicy *policy, unsigned int threads)
{
	int rc = ThreadManagerPolicyInit(policy);

	policy->TPMaxThreads = threads;
	policy->TPDispatch = dxt_mode();
	return rc;
}

/* DX-1: AppRunSettings, then the policy, then the executive, whose constructor
 * starts the Thread Manager.
 */
static inline MTExecutive *executive(unsigned int threads)
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

#endif /* LIB_TEST_H */
