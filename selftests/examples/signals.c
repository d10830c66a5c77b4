// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the examples take signals, built with the address sanitizer: a thread that waits for one ends
 * without one, and leaves nothing that it complains of.
 */
#include "../examples/common.c"

#include "kselftest_harness.h"

struct program program = { .name = "signals" };

static atomic_int called;

static void note(int sig, void *data)
{
	(void)data;
	atomic_fetch_add(&called, sig);
}

TEST(none)
{
	signals_block();
	/* The thread has begun to wait, or has not. */
	for (int i = 0; i < 20; i++) {
		uint64_t count;

		signals_call(note, NULL);
		if (i % 2)
			usleep(1000);
		signals_end();
		ASSERT_EQ(0, eventfd_read(signals.over, &count));
	}
	EXPECT_EQ(0, called);
}

TEST(one)
{
	signals_block();
	signals_call(note, NULL);
	ASSERT_EQ(0, kill(getpid(), SIGTERM));
	pthread_join(signals.thread, NULL);
	EXPECT_EQ(SIGTERM, called);
}

TEST(ignored)
{
	signal(SIGHUP, SIG_IGN);
	signals_block();
	ASSERT_EQ(0, kill(getpid(), SIGHUP));
	ASSERT_EQ(0, kill(getpid(), SIGINT));
	EXPECT_EQ(SIGINT, signals_wait());
	signals_over();
	EXPECT_EQ(0, signals_wait());
	EXPECT_EQ(0, signals_wait());
}

TEST_HARNESS_MAIN
