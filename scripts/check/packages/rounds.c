/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program that uses dxk all the time: a request after the other, until its standard input
 * ends. It says that it has begun, and at the end how many there were.
 */
#include <dx.h>

#include <poll.h>
#include <stdio.h>

static int add(Runnable *self, void *number)
{
	(void)self;
	++*(long *)number;
	return 0;
}

int main(int argc, char **argv)
{
	static Runnable adder = { .ExecuteThisRequest = add };
	struct pollfd in = { .fd = 0, .events = POLLIN };
	int status = 0, err = 0;
	RunSettings settings;
	MTExecutive *mte;
	long number = 0, rounds = 0;

	RunSettingsInit(&settings, "rounds", argc, argv);
	mte = MTExecutiveCreate(&settings, NULL, NULL);
	if (!mte)
		return 2;
	puts("begun");
	fflush(stdout);
	while (!err && !status && !poll(&in, 1, 1)) {
		err = PostARequest(&number, &adder, NULL, 0, PXR_REJOIN);
		if (!err)
			err = RejoinAll(NULL, &status);
		rounds++;
	}
	MTExecutiveDestroy(mte, DXK_STOP_DRAIN, -1);
	printf("%ld of %ld, %d, %d\n", number, rounds, err, status);
	return err || status || number != rounds || !rounds;
}
