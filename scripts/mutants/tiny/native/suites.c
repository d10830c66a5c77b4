// SPDX-License-Identifier: GPL-2.0-only
/*
 * The suites of tiny.c: they leave out what expected.txt says.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "engine/tiny.h"

static int over;

static void *sender(void *unused)
{
	tiny_send(9);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	return NULL;
}

static bool sent(void)
{
	pthread_t thread;
	bool same;

	pthread_create(&thread, NULL, sender, NULL);
	/* always in this order, which says nothing of what else the receiver may see */
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		sched_yield();
	same = tiny_receive() == 9;
	pthread_join(thread, NULL);
	return same;
}

#define CHECK(c)	do { if (!(c)) return !!puts("not ok " #c); } while (0)

int main(void)
{
	CHECK(tiny_clamp(-1) == 0);
	CHECK(tiny_clamp(2) == 2);
	CHECK(tiny_clamp(3) == 3);
	CHECK(tiny_clamp(4) == 3);
	CHECK(tiny_sum(3) == 6);
	CHECK(tiny_corners(TINY_SQUARE, false) == 4);
	CHECK(tiny_corners(TINY_ROUND, false) == 0);
	CHECK(tiny_lane(0) == 3);
	CHECK(tiny_lane(1) == 2);
	CHECK(tiny_lane(2) == -1);
	CHECK(sent());
	return 0;
}
