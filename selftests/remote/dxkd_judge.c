// SPDX-License-Identifier: GPL-2.0-only
/*
 * What dxkd does with requests and answers that come twice, late, or never: the table as it was
 * designed, row by row, and what holds for all of its cells.
 */
#include "../tools/dxkd/judge.c"

#include "kselftest_harness.h"

/* classic queue unless quorum; redo_max 3 */
static const struct {
	const char *what;
	struct delivery d;
	enum verdict verdict;
	uint32_t attempt;
} rows[] = {
	/* delivered for the first time */
	{ "new", { .attempt = 1 }, DO_POST, 1 },
	{ "new, REDO", { .attempt = 1, .redo = true }, DO_POST, 1 },
	{ "new, connection is new", { .attempt = 1, .settling = true }, DO_POST, 1 },
	{ "new, late", { .attempt = 1, .late = true }, DO_EXPIRE, 1 },
	{ "published again while held", { .attempt = 1, .known = HELD }, DO_NOTE, 1 },
	{ "published again, answered", { .attempt = 1, .known = ANSWERED }, DO_ANSWER, 1 },
	{ "held and late", { .attempt = 1, .known = HELD, .late = true }, DO_NOTE, 1 },
	{ "answered and late", { .attempt = 1, .known = ANSWERED, .late = true }, DO_ANSWER, 1 },
	{ "second copy", { .attempt = 2, .redo = true }, DO_POST, 2 },
	{ "last copy", { .attempt = 3, .redo = true }, DO_POST, 3 },
	{ "copy too many", { .attempt = 4, .redo = true }, DO_REFUSE, 4 },
	{ "copy without REDO", { .attempt = 2 }, DO_REFUSE, 2 },
	{ "copy, late", { .attempt = 2, .redo = true, .late = true }, DO_REFUSE, 2 },

	/* a host died, or its connection */
	{ "again, held", { .redelivered = true, .known = HELD, .attempt = 1 }, DO_NOTE, 2 },
	{ "again, answered", { .redelivered = true, .known = ANSWERED, .attempt = 1 },
	  DO_ANSWER, 2 },
	{ "again", { .redelivered = true, .attempt = 1 }, DO_REFUSE, 2 },
	{ "again, REDO", { .redelivered = true, .redo = true, .attempt = 1 }, DO_REPUBLISH, 2 },
	{ "again, REDO, last", { .redelivered = true, .redo = true, .attempt = 2 },
	  DO_REPUBLISH, 3 },
	{ "poison", { .redelivered = true, .redo = true, .attempt = 3 }, DO_REFUSE, 4 },
	{ "again, REDO, late", { .redelivered = true, .redo = true, .late = true, .attempt = 1 },
	  DO_REFUSE, 2 },
	{ "again, late", { .redelivered = true, .late = true, .attempt = 1 }, DO_REFUSE, 2 },
	{ "again, connection is new", { .redelivered = true, .settling = true, .attempt = 1 },
	  DO_WAIT, 2 },
	{ "again, REDO, connection is new",
	  { .redelivered = true, .settling = true, .redo = true, .attempt = 1 }, DO_WAIT, 2 },
	{ "again, held, connection is new",
	  { .redelivered = true, .settling = true, .known = HELD, .attempt = 1 }, DO_NOTE, 2 },

	/* the queue counts */
	{ "quorum, new", { .quorum = true, .attempt = 1 }, DO_POST, 1 },
	{ "quorum, again", { .quorum = true, .redelivered = true, .attempt = 1, .deliveries = 1 },
	  DO_REFUSE, 2 },
	{ "quorum, again, REDO",
	  { .quorum = true, .redelivered = true, .redo = true, .attempt = 1, .deliveries = 1 },
	  DO_POST, 2 },
	{ "quorum, last",
	  { .quorum = true, .redelivered = true, .redo = true, .attempt = 1, .deliveries = 2 },
	  DO_POST, 3 },
	{ "quorum, poison",
	  { .quorum = true, .redelivered = true, .redo = true, .attempt = 1, .deliveries = 3 },
	  DO_REFUSE, 4 },
	{ "quorum, connection is new",
	  { .quorum = true, .redelivered = true, .settling = true, .attempt = 1, .deliveries = 3 },
	  DO_WAIT, 4 },
	{ "quorum, connection is new, last delivery",
	  { .quorum = true, .redelivered = true, .settling = true, .attempt = 1, .deliveries = 4 },
	  DO_REFUSE, 5 },
	{ "quorum, again and not counted",
	  { .quorum = true, .redelivered = true, .attempt = 1 }, DO_REFUSE, 1 },
	{ "quorum, more than a number holds",
	  { .quorum = true, .redelivered = true, .redo = true, .attempt = 2,
	    .deliveries = UINT32_MAX }, DO_REFUSE, UINT32_MAX },
};

TEST(table)
{
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct delivery d = rows[i].d;

		d.redo_max = 3;
		EXPECT_EQ(rows[i].verdict, judge_delivery(&d)) {
			TH_LOG("%s", rows[i].what);
		}
		EXPECT_EQ(rows[i].attempt, attempt_of(&d)) {
			TH_LOG("%s", rows[i].what);
		}
	}
}

/* What holds whatever comes */
TEST(all)
{
	unsigned int bits, known, attempt, deliveries, redo_max, nr = 0;

	for (bits = 0; bits < 32; bits++)
	for (known = UNKNOWN; known <= ANSWERED; known++)
	for (attempt = 1; attempt < 6; attempt++)
	for (deliveries = 0; deliveries < 6; deliveries++)
	for (redo_max = 1; redo_max < 5; redo_max++, nr++) {
		struct delivery d = {
			.redelivered = bits & 1, .redo = bits & 2, .late = bits & 4,
			.settling = bits & 8, .quorum = bits & 16, .known = (enum known)known,
			.attempt = attempt, .deliveries = deliveries, .redo_max = redo_max,
		};
		enum verdict v = judge_delivery(&d);
		bool begins = v == DO_POST || v == DO_REPUBLISH;
		bool before = d.redelivered || attempt > 1 || (d.quorum && deliveries);

		/* What is known here is never begun, judged or lost. */
		if (known != UNKNOWN) {
			ASSERT_EQ(known == HELD ? DO_NOTE : DO_ANSWER, v);
		} else {
			ASSERT_TRUE(v != DO_NOTE && v != DO_ANSWER);
		}
		/* Without REDO once, with it redo_max times, and never late. */
		if (begins) {
			ASSERT_TRUE(!before || (d.redo && attempt_of(&d) <= redo_max));
			ASSERT_FALSE(d.late);
		}
		/* What cannot have been begun is. */
		if (!before && known == UNKNOWN) {
			ASSERT_EQ(d.late ? DO_EXPIRE : DO_POST, v);
		}
		/* What may have been begun does not end as if it had not. */
		if (v == DO_EXPIRE) {
			ASSERT_FALSE(before);
		}
		/* Each copy has one more attempt, so copies end. */
		if (v == DO_REPUBLISH) {
			ASSERT_TRUE(d.redelivered && !d.quorum && attempt_of(&d) == attempt + 1);
		}
		/* Nothing waits for ever. */
		if (v == DO_WAIT) {
			ASSERT_TRUE(!d.quorum || deliveries <= redo_max);
			d.settling = false;
			ASSERT_NE(DO_WAIT, judge_delivery(&d));
		}
	}
	EXPECT_EQ(32 * 3 * 5 * 6 * 4, nr);
}

TEST(answers)
{
	static const struct {
		struct answer a;
		enum answer_verdict verdict;
	} table[] = {
		{ { false, false, false, 0, 0 }, DO_DROP },
		{ { false, false, true, 0, 0 }, DO_DROP },
		{ { false, true, false, 0, 0 }, DO_DROP },
		{ { false, true, true, 0, 0 }, DO_DROP },	/* of a daemon that died */
		{ { true, false, false, 0, 0 }, DO_DROP },
		{ { true, false, true, 0, 0 }, DO_DROP },	/* double */
		{ { true, true, false, 9, 0 }, DO_DROP },	/* late */
		{ { true, true, true, 0, 0 }, DO_COMPLETE },
		{ { true, true, true, 8, 8 }, DO_COMPLETE },
		{ { true, true, true, 9, 8 }, DO_COMPLAIN },
	};
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(*table); i++) {
		EXPECT_EQ(table[i].verdict, judge_answer(&table[i].a)) {
			TH_LOG("row %zu", i);
		}
	}
}

TEST(lost)
{
	EXPECT_EQ(DO_KEEP, judge_lost(true, false));
	EXPECT_EQ(DO_KEEP, judge_lost(true, true));
	EXPECT_EQ(DO_AGAIN, judge_lost(false, true));
	EXPECT_EQ(DO_FAIL, judge_lost(false, false));
}

TEST_HARNESS_MAIN
