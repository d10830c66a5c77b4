// SPDX-License-Identifier: GPL-2.0-only OR LGPL-2.1-or-later
/*
 * The search for the crew size with the best throughput, on workloads of which that is known.
 */
#include <kunit/test.h>

#include "engine/tune.h"

/* Within so many intervals it is to be found. */
#define FOUND		20
/* And kept for so many, in which the search begins anew several times. */
#define KEPT		400
#define ONE		1000	/* what a worker completes in an interval */
#define INTERVAL	(100 * NSEC_PER_MSEC)

/**
 * struct load - a workload, and the search that meets it
 * @done: requests that so many workers complete in an interval
 * @k: workers that it is best with
 * @noise: percent that an interval shows too much or too little, at most
 * @random: where the noise comes from
 * @upset: in this interval, of those from 1, half of what there was is shown; 0: in none
 * @t: the search
 * @intervals: there were so many
 * @steps: of the search
 */
struct load {
	u64 (*done)(u32 k, u32 workers);
	u32 k;
	u32 noise;
	u64 random;
	u32 upset;
	struct dxk_tune t;
	u32 intervals;
	u32 steps;
};

/* More workers gain nothing. */
static u64 knee(u32 k, u32 n)
{
	return ONE * min(k, n);
}

/* More workers hold each other up. */
static u64 peak(u32 k, u32 n)
{
	return n <= k ? (u64)ONE * n : (u64)ONE * k * k / n;
}

/* The number makes no difference. */
static u64 flat(u32 k, u32 n)
{
	return ONE;
}

/* Each one that is added holds up all others more: it is best with 10. */
static u64 slope(u32 k, u32 n)
{
	return (u64)ONE * 100 * n / (100 + n * n);
}

static u64 noisy(struct load *l, u64 done)
{
	l->random = l->random * 6364136223846793005ULL + 1442695040888963407ULL;
	done *= 1000 - 10 * l->noise + (l->random >> 33) % (20 * l->noise + 1);
	return div_u64(done, l->intervals + 1 == l->upset ? 2000 : 1000);
}

static void check(struct kunit *test, const struct load *l, u32 before)
{
	const struct dxk_tune *t = &l->t;
	u32 step = max_t(u32, t->base >> DXK_TUNE_STEP_SHIFT, 1);
	u32 apart = t->target > before ? t->target - before : before - t->target;

	KUNIT_EXPECT_TRUE(test, t->lo <= t->base && t->base <= t->hi);
	KUNIT_EXPECT_TRUE(test, t->lo <= t->target && t->target <= t->hi);
	KUNIT_EXPECT_LE(test, apart, step);
	if (t->phase != DXK_TUNE_PROBE)
		KUNIT_EXPECT_EQ(test, t->target, t->base);
	else
		KUNIT_EXPECT_NE(test, t->target, t->base);
}

/* An interval of a kind. */
static void pass(struct kunit *test, struct load *l, enum dxk_tune_kind kind)
{
	struct dxk_tune_sample s = {
		.kind = kind, .ns = INTERVAL, .done = noisy(l, l->done(l->k, l->t.target)),
	};
	u32 before = l->t.target, base = l->t.base;

	KUNIT_EXPECT_EQ(test, dxk_tune(&l->t, &s), l->t.target);
	l->intervals++;
	l->steps += l->t.target != before;
	check(test, l, before);
	if (l->t.base == base || l->upset)
		return;
	/* A step is kept if it was better, by more than the hysteresis. */
	KUNIT_EXPECT_EQ(test, l->t.base, before);
	KUNIT_EXPECT_GT(test, (1000 + 10 * l->noise) * l->done(l->k, l->t.base) * 16,
			(1000 - 10 * l->noise) * l->done(l->k, base) * 17);
}

static void run(struct kunit *test, struct load *l, u32 intervals)
{
	while (intervals--)
		pass(test, l, DXK_TUNE_WHOLE);
}

/* Until the search is over, which it soon is. */
static void settle(struct kunit *test, struct load *l)
{
	u32 i;

	for (i = 0; i < FOUND && l->t.phase != DXK_TUNE_STAY; i++)
		pass(test, l, DXK_TUNE_WHOLE);
	KUNIT_EXPECT_EQ(test, l->t.phase, DXK_TUNE_STAY);
}

static struct load begin(u64 (*done)(u32 k, u32 n), u32 k, u32 lo, u32 hi)
{
	struct load l = { .done = done, .k = k };

	dxk_tune_init(&l.t, lo, hi);
	return l;
}

static void is_kept(struct kunit *test, struct load *l, u32 best)
{
	u32 i;

	for (i = 0; i < KEPT; i++) {
		pass(test, l, DXK_TUNE_WHOLE);
		KUNIT_EXPECT_EQ_MSG(test, l->t.base, best, "best with %u, after %u", l->k,
				    l->intervals);
	}
	/* most of the time it is not left for a probe */
	l->steps = 0;
	run(test, l, KEPT);
	KUNIT_EXPECT_LE(test, l->steps, KEPT / 6);
}

/* Whether more gain nothing or harm, it is found, and from below only as many as it takes. */
static void tune_finds(struct kunit *test)
{
	u32 k;

	for (k = 1; k <= 16; k++) {
		struct load l = begin(peak, k, 1, 64);

		run(test, &l, FOUND);
		KUNIT_EXPECT_EQ_MSG(test, l.t.base, k, "of a peak");
		is_kept(test, &l, k);
	}
	for (k = 1; k <= 8; k++) {
		struct load l = begin(knee, k, 1, 64);

		run(test, &l, FOUND);
		KUNIT_EXPECT_EQ_MSG(test, l.t.base, k, "of a knee");
		is_kept(test, &l, k);
	}
}

/* Measures that are 3 % off are no gain, and hide none. */
static void tune_finds_in_noise(struct kunit *test)
{
	u32 k, seed;

	for (seed = 1; seed <= 50; seed++) {
		for (k = 1; k <= 8; k++) {
			struct load l = begin(seed % 2 ? peak : knee, k, 1, 32);

			l.noise = 3;
			l.random = seed;
			run(test, &l, FOUND);
			KUNIT_EXPECT_EQ_MSG(test, l.t.base, k, "seed %u", seed);
			is_kept(test, &l, k);
		}
	}
}

/* The limits are sizes as others are, also if they are the best ones. */
static void tune_at_limits(struct kunit *test)
{
	struct load l = begin(peak, 100, 1, 12);

	run(test, &l, FOUND);
	KUNIT_EXPECT_EQ(test, l.t.base, 12);
	is_kept(test, &l, 12);
	l = begin(peak, 2, 5, 12);
	run(test, &l, FOUND);
	KUNIT_EXPECT_EQ(test, l.t.base, 5);
	is_kept(test, &l, 5);
	/* a crew of many: steps grow with it */
	l = begin(knee, 499, 8, 499);
	run(test, &l, 24);
	KUNIT_EXPECT_EQ(test, l.t.base, 499);
	is_kept(test, &l, 499);
}

/* Without a gain it stays where it is, and looks once in a while. */
static void tune_flat(struct kunit *test)
{
	struct load l = begin(flat, 0, 4, 16);
	u32 i;

	for (i = 0; i < KEPT; i++) {
		pass(test, &l, DXK_TUNE_WHOLE);
		KUNIT_EXPECT_EQ(test, l.t.base, 4);
		KUNIT_EXPECT_LE(test, l.t.target, 5);
	}
	/* up and back each time: after 4, 8, 16, 32, and then always 50 */
	KUNIT_EXPECT_LE(test, l.steps, 2 * (KEPT / DXK_TUNE_REST_MOST + 4));
	KUNIT_EXPECT_GE(test, l.steps, 2 * (KEPT / DXK_TUNE_REST_MOST + 2));
}

/* A top that is round: not more than a few steps from it, where they gain little. */
static void tune_round(struct kunit *test)
{
	struct load l = begin(slope, 10, 1, 64);

	run(test, &l, FOUND);
	KUNIT_EXPECT_GE(test, 100 * slope(10, l.t.base), 90 * slope(10, 10));
	is_kept(test, &l, l.t.base);
}

/* One size is all there is. */
static void tune_one_size(struct kunit *test)
{
	struct load l = begin(peak, 1, 7, 7);

	l.noise = 3;
	run(test, &l, KEPT);
	KUNIT_EXPECT_EQ(test, l.t.target, 7);
	KUNIT_EXPECT_EQ(test, l.steps, 0);
}

/* What changes is seen at once, if it changes what is done, else when it looks again. */
static void tune_changes(struct kunit *test)
{
	struct load l = begin(peak, 8, 1, 32);

	l.noise = 3;
	run(test, &l, FOUND);
	KUNIT_EXPECT_EQ(test, l.t.base, 8);
	settle(test, &l);
	l.k = 4;
	run(test, &l, FOUND);
	KUNIT_EXPECT_EQ(test, l.t.base, 4);
	is_kept(test, &l, 4);
	/* four do as much as before */
	l.k = 7;
	run(test, &l, DXK_TUNE_REST_MOST + FOUND);
	KUNIT_EXPECT_EQ(test, l.t.base, 7);
	is_kept(test, &l, 7);
}

/* The search of one size or another: base, up, base. */
static void search(struct kunit *test, struct dxk_tune *t, struct dxk_tune_sample *s)
{
	u32 i;

	s->done = 1000;
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_NE(test, t->phase, DXK_TUNE_STAY);
		dxk_tune(t, s);
	}
	KUNIT_EXPECT_EQ(test, t->phase, DXK_TUNE_STAY);
}

/* It stays for so many intervals, whatever they show, unless it is other by a fifth. */
static void rest(struct kunit *test, struct dxk_tune *t, struct dxk_tune_sample *s, u32 intervals)
{
	u32 i;

	for (i = 0; i < intervals; i++) {
		KUNIT_EXPECT_EQ(test, t->phase, DXK_TUNE_STAY);
		s->done = i % 2 ? 800 : 1200;
		dxk_tune(t, s);
	}
	KUNIT_EXPECT_EQ(test, t->phase, DXK_TUNE_BASE);
}

/* It stays the longer the more often the search has ended alike; a change it looks at. */
static void tune_rests(struct kunit *test)
{
	static const u32 rests[] = { 4, 8, 16, 32, 50, 50 };
	struct dxk_tune_sample s = { .ns = INTERVAL };
	struct dxk_tune t;
	u32 i;

	dxk_tune_init(&t, 1, 2);
	for (i = 0; i < ARRAY_SIZE(rests); i++) {
		search(test, &t, &s);
		KUNIT_EXPECT_EQ(test, t.rate, 1000ULL * 1000 * 1000 * 10 / 1000);
		rest(test, &t, &s, rests[i]);
	}
	search(test, &t, &s);
	s.done = 1201;
	dxk_tune(&t, &s);
	KUNIT_EXPECT_EQ(test, t.phase, DXK_TUNE_BASE);
	/* an interval that is like no other is forgotten: base is measured first */
	s.done = 1000;
	dxk_tune(&t, &s);
	KUNIT_EXPECT_EQ(test, t.best, t.rate);
	KUNIT_EXPECT_EQ(test, t.target, 2);
	dxk_tune(&t, &s);
	dxk_tune(&t, &s);
	/* and what was found before it as well */
	rest(test, &t, &s, 4);
	search(test, &t, &s);
	s.done = 799;
	dxk_tune(&t, &s);
	KUNIT_EXPECT_EQ(test, t.phase, DXK_TUNE_BASE);
}

/* An interval in which the machine did something else misleads it for some more at most. */
static void tune_upset(struct kunit *test)
{
	u32 k, upset;

	for (k = 2; k <= 8; k++) {
		for (upset = 1; upset <= FOUND; upset++) {
			struct load l = begin(peak, k, 1, 8);

			l.upset = upset;
			run(test, &l, 2 * FOUND);
			KUNIT_EXPECT_EQ_MSG(test, l.t.base, k, "upset in %u", upset);
			is_kept(test, &l, k);
		}
	}
}

/* The hysteresis: a 16th more is none, what is more than that is kept. */
static void tune_hysteresis(struct kunit *test)
{
	struct dxk_tune_sample s = { .ns = INTERVAL, .done = 16000 };
	struct dxk_tune t;

	dxk_tune_init(&t, 1, 2);
	KUNIT_EXPECT_EQ(test, dxk_tune(&t, &s), 2);
	s.done = 17000;
	KUNIT_EXPECT_EQ(test, dxk_tune(&t, &s), 1);
	KUNIT_EXPECT_EQ(test, t.base, 1);
	dxk_tune_init(&t, 1, 2);
	s.done = 16000;
	dxk_tune(&t, &s);
	s.done = 17001;
	KUNIT_EXPECT_EQ(test, dxk_tune(&t, &s), 1);	/* the other direction */
	KUNIT_EXPECT_EQ(test, t.base, 2);
}

/* From the size up and down: first by a quarter of it, then by an eighth; then it stays. */
static void tune_steps(struct kunit *test)
{
	static const u32 targets[] = { 80, 64, 48, 64, 72, 64, 56, 64 };
	struct load l = begin(flat, 0, 64, 128);
	u32 i;

	dxk_tune_bound(&l.t, 1, 128);
	for (i = 0; i < ARRAY_SIZE(targets); i++) {
		KUNIT_EXPECT_NE(test, l.t.phase, DXK_TUNE_STAY);
		pass(test, &l, DXK_TUNE_WHOLE);
		KUNIT_EXPECT_EQ_MSG(test, l.t.target, targets[i], "interval %u", i);
	}
	pass(test, &l, DXK_TUNE_WHOLE);
	KUNIT_EXPECT_EQ(test, l.t.phase, DXK_TUNE_STAY);
	KUNIT_EXPECT_EQ(test, l.t.target, 64);
}

/* Without a backlog nothing is learned: no step, and a probe goes back. */
static void tune_lull(struct kunit *test)
{
	struct load l = begin(peak, 5, 2, 16);
	u32 i;

	for (i = 0; i < KEPT; i++)
		pass(test, &l, DXK_TUNE_LULL);
	KUNIT_EXPECT_EQ(test, l.steps, 0);
	KUNIT_EXPECT_EQ(test, l.t.rate, 0);
	pass(test, &l, DXK_TUNE_WHOLE);
	KUNIT_EXPECT_EQ(test, l.t.target, 3);
	pass(test, &l, DXK_TUNE_LULL);
	KUNIT_EXPECT_EQ(test, l.t.target, 2);
	KUNIT_EXPECT_EQ(test, l.t.phase, DXK_TUNE_BASE);
	/* every second probe is interrupted */
	for (i = 0; i < 3 * FOUND; i++) {
		pass(test, &l, DXK_TUNE_WHOLE);
		pass(test, &l, DXK_TUNE_WHOLE);
		pass(test, &l, DXK_TUNE_LULL);
	}
	KUNIT_EXPECT_EQ(test, l.t.base, 5);
	/* and what it knows lasts through a long pause */
	run(test, &l, FOUND);
	for (i = 0; i < KEPT; i++)
		pass(test, &l, DXK_TUNE_LULL);
	KUNIT_EXPECT_EQ(test, l.t.target, 5);
}

/* A size that the crew does not get is no better than what it has. */
static void tune_short(struct kunit *test)
{
	struct load l = begin(peak, 9, 2, 16);
	u32 i;

	/* base is waited for */
	for (i = 0; i < KEPT; i++)
		pass(test, &l, DXK_TUNE_SHORT);
	KUNIT_EXPECT_EQ(test, l.steps, 0);
	for (i = 0; i < KEPT; i++)
		pass(test, &l, l.t.target > 4 ? DXK_TUNE_SHORT : DXK_TUNE_WHOLE);
	KUNIT_EXPECT_EQ(test, l.t.base, 4);
	KUNIT_EXPECT_LE(test, l.t.target, 5);
}

/* Other limits come into force: it goes on from the nearest size. */
static void tune_bound(struct kunit *test)
{
	struct load l = begin(peak, 8, 1, 16);

	run(test, &l, FOUND);
	KUNIT_EXPECT_EQ(test, l.t.base, 8);
	settle(test, &l);
	dxk_tune_bound(&l.t, 1, 16);
	KUNIT_EXPECT_EQ(test, l.t.phase, DXK_TUNE_STAY);
	dxk_tune_bound(&l.t, 1, 6);
	KUNIT_EXPECT_EQ(test, l.t.target, 6);
	run(test, &l, FOUND);
	KUNIT_EXPECT_EQ(test, l.t.base, 6);
	dxk_tune_bound(&l.t, 10, 16);
	KUNIT_EXPECT_EQ(test, l.t.target, 10);
	run(test, &l, FOUND);
	KUNIT_EXPECT_EQ(test, l.t.base, 10);
	dxk_tune_bound(&l.t, 1, 16);
	run(test, &l, FOUND);
	KUNIT_EXPECT_EQ(test, l.t.base, 8);
}

static struct kunit_case tune_cases[] = {
	KUNIT_CASE(tune_finds),
	KUNIT_CASE(tune_finds_in_noise),
	KUNIT_CASE(tune_at_limits),
	KUNIT_CASE(tune_flat),
	KUNIT_CASE(tune_round),
	KUNIT_CASE(tune_one_size),
	KUNIT_CASE(tune_changes),
	KUNIT_CASE(tune_rests),
	KUNIT_CASE(tune_upset),
	KUNIT_CASE(tune_hysteresis),
	KUNIT_CASE(tune_steps),
	KUNIT_CASE(tune_lull),
	KUNIT_CASE(tune_short),
	KUNIT_CASE(tune_bound),
	{ }
};

static struct kunit_suite tune_suite = {
	.name = "dxk_tune",
	.test_cases = tune_cases,
};

kunit_test_suite(tune_suite);
