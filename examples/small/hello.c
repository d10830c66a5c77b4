// SPDX-License-Identifier: LGPL-2.1-or-later
/* hello: one request, executed by a worker thread of this process, and its result. */
#include <stdio.h>

#include <dx.h>

static int Answer(Runnable *self, void *request)
{
	const int *factors = request;

	(void)self;
	return factors[0] * factors[1];	/* the status, which the owner gets */
}

int main(int argc, char **argv)
{
	Runnable answer = { .ExecuteThisRequest = Answer };
	int factors[] = { 6, 7 }, rc;
	char text[DX_ERROR_TEXT];
	MTExecutiveError error;
	RunSettings settings;
	RQElement element;
	MTExecutive *mte;

	RunSettingsInit(&settings, "hello", argc, argv);
	mte = MTExecutiveCreate(&settings, NULL, &error);
	if (!mte) {
		fprintf(stderr, "hello: %s\n", MTExecutiveErrorText(&error, text, sizeof(text)));
		return 1;
	}
	rc = PostARequest(factors, &answer, factors, 10, PXR_REJOIN);
	if (rc)
		fprintf(stderr, "hello: %s\n", PostErrorText(rc));
	else if (GetRejoinElement(factors, &element, NULL, 0, -1) == RJR_RETURNED)
		printf("hello: the answer is %d\n", element.RQEStatus);
	else
		rc = 1;
	/* the worker that may still execute it uses what is on this stack */
	return MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1) || rc;
}
