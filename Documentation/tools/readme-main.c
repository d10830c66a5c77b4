/* SPDX-License-Identifier: GPL-2.0-only */
/* What makes a program of the example in README.md: see programs.py. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct part parts[8] = { { 0 } };
	struct job job = { .part = parts, .parts = 8 };
	Runnable square = { .ExecuteThisRequest = Square };
	Runnable execute = { .ExecuteThisRequest = Execute };
	ThreadManagerPolicy policy;
	RunSettings settings;
	MTExecutive *mte;
	int rc;

	for (int i = 0; i < job.parts; i++)
		parts[i].number = i;
	job.executor = &square;
	RunSettingsInit(&settings, "readme", argc, argv);
	ThreadManagerPolicyInit(&policy);
	policy.TPMaxThreads = 4;
	policy.TPSchedMode = TPOOL_MODE_CMLS;
	policy.TPLanePct[1] = 25;
	mte = MTExecutiveCreate(&settings, &policy, NULL);
	if (!mte)
		return 2;
	/* The same again for the level above: its one request is the job. */
	rc = PostARequest(&job, &execute, NULL, 10, PXR_REJOIN | PXR_LANE1);
	if (!rc)
		rc = Collect(NULL);
	if (rc)
		fprintf(stderr, "the job failed: %d\n", rc);
	for (int i = 0; !rc && i < job.parts; i++)
		printf("%d\n", parts[i].square);
	if (fflush(stdout))
		return 2;
	return MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1) ? 2 : rc != 0;
}
