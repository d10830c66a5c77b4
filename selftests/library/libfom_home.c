// SPDX-License-Identifier: GPL-2.0-only
/*
 * Foms whose localities have workers and CPUs of their own (FO-1, FO-2, FO-9).
 */
#define _GNU_SOURCE
#include "library/libfom.h"

#include <sched.h>

#define HOMES	2

/* What is executed where: threads and CPUs of each locality's turns. */
static struct seen {
	_Atomic unsigned long cpus;
	_Atomic pid_t thread;
	_Atomic unsigned int threads;	/* times that it was another one than before */
} seen[MOST_LOCALITIES];

static bool can_have_homes(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) >= HOMES;
}

static int place_with_homes(struct place *p, unsigned int steal, unsigned int localities)
{
	ThreadManagerPolicy policy = fom_policy_of(HOMES, 1000);
	struct fom_domain_options options = options_of(localities);

	policy.TPHomes = HOMES;
	policy.TPSteal = steal;
	memset(seen, 0, sizeof(seen));
	return place_up_with(p, &policy, &options);
}

/* Notes where it is, 50 times, for a moment each. */
static int looks_round(struct test_fom *t)
{
	struct seen *s = &seen[fom_locality(&t->fom)];

	s->cpus |= 1UL << sched_getcpu();
	s->threads += atomic_exchange(&s->thread, gettid()) != gettid();
	for (volatile unsigned int i = 0; i < 5000; i++)
		;
	if (t->ticks == 50)
		return ends(t);
	fom_wakeup(&t->fom);
	return FSO_WAIT;
}

static int adds_one(void *data)
{
	return *(int *)data + (sched_getcpu() % HOMES ? 1 : 2);
}

/* FO-1, FO-2: the turns of a locality, and calls there, are on CPUs of its own, by its one worker */
TEST(own_cpus)
{
	struct test_fom t[8];
	struct place p;
	int zero = 0;

	if (!can_have_homes())
		SKIP(return, "there is one CPU");
	ASSERT_EQ(0, place_with_homes(&p, 0, HOMES));
	for (unsigned int i = 0; i < 8; i++) {
		make(&p, &t[i], looks_round);
		t[i].home = i;
		ASSERT_EQ(0, fom_queue_wait(&t[i].fom, -1));
	}
	for (unsigned int i = 0; i < 8; i++)
		EXPECT_TRUE(ENDS(&t[i]));
	for (unsigned int i = 0; i < HOMES; i++) {
		EXPECT_NE(0, seen[i].cpus);
		for (unsigned int cpu = 0; cpu < 64; cpu++)
			if (seen[i].cpus & 1UL << cpu)
				EXPECT_EQ(i, cpu % HOMES);
		EXPECT_EQ(1, seen[i].threads);
	}
	EXPECT_NE(seen[0].thread, seen[1].thread);
	EXPECT_EQ(2, locality_call(p.d, 0, adds_one, &zero));
	EXPECT_EQ(1, locality_call(p.d, 1, adds_one, &zero));
	EXPECT_EQ(0, place_down(&p));
}

/* Blocks until it is let go. */
static int blocks_first(struct test_fom *t)
{
	leaves(t);
	t->wrong += fom_block_enter(&t->fom) != 0;
	t->entered++;
	while (t->closed)
		usleep(100);
	t->wrong += fom_block_leave(&t->fom) != 0;
	enters(t);
	return ends(t);
}

/* FO-9, FO-35: a spare worker has the home of the one that blocks */
TEST(spare_at_home)
{
	struct test_fom a, b;
	struct place p;

	if (!can_have_homes())
		SKIP(return, "there is one CPU");
	ASSERT_EQ(0, place_with_homes(&p, 0, HOMES));
	for (unsigned int home = 0; home < HOMES; home++) {
		make(&p, &a, blocks_first);
		a.home = home;
		a.closed = true;
		ASSERT_EQ(0, fom_queue(&a.fom));
		ASSERT_TRUE(DXT_SOON(a.entered));
		make(&p, &b, looks_round);
		b.home = home;
		ASSERT_EQ(0, fom_queue(&b.fom));
		EXPECT_TRUE(ENDS(&b));
		a.closed = false;
		EXPECT_TRUE(ENDS(&a));
		EXPECT_EQ(0, a.wrong);
	}
	EXPECT_EQ(0, place_down(&p));
}

/* 8 foms in 4 localities, all of the first home. Return: how many threads have ticked them. */
static unsigned int crowded_home(struct __test_metadata *_metadata, unsigned int steal)
{
	pid_t threads[2] = { 0, 0 };
	struct test_fom t[8];
	unsigned int nr = 0;
	struct place p;

	EXPECT_EQ(0, place_with_homes(&p, steal, 4 * HOMES));
	for (unsigned int i = 0; i < 8; i++) {
		make(&p, &t[i], looks_round);
		t[i].home = i % 4 * HOMES;
		EXPECT_EQ(0, fom_queue_wait(&t[i].fom, -1));
	}
	for (unsigned int i = 0; i < 8; i++) {
		EXPECT_TRUE(ENDS(&t[i]));
		EXPECT_EQ(t[i].home, fom_locality(&t[i].fom));
		EXPECT_EQ(0, t[i].wrong);
	}
	for (unsigned int i = 0; i < 4; i++) {
		struct seen *s = &seen[i * HOMES];
		pid_t last = s->thread;

		nr += s->threads > 1;
		if (last != threads[0] && last != threads[1])
			threads[!!threads[0]] = last;
	}
	EXPECT_EQ(0, place_down(&p));
	return nr || threads[1] ? 2 : 1;
}

/*
 * FO-9, S-12: localities of an idle home have no work while those of another one have much: its worker
 * takes some of it, if it may. A fom's locality is the same, and it is as serial as before
 */
TEST(steal)
{
	if (!can_have_homes())
		SKIP(return, "there is one CPU");
	EXPECT_EQ(1, crowded_home(_metadata, 0));
	EXPECT_EQ(2, crowded_home(_metadata, 1));
}

TEST_HARNESS_MAIN
