/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the engine's suites use of KUnit, for user space: they run as a program. A suite
 * registers itself in a section; kunit.c runs all.
 */
#ifndef _DXK_NATIVE_KUNIT_TEST_H
#define _DXK_NATIVE_KUNIT_TEST_H

#include <setjmp.h>
#include <stdio.h>

#include "world.h"

#define KUNIT_PARAM_DESC_SIZE	128

struct kunit {
	const char *name;
	void *priv;
	const void *param_value;
	bool failed;
	jmp_buf abort;
	struct kunit_undo *undo;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	int (*init)(struct kunit *test);
	void (*exit)(struct kunit *test);
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(fn)			{ fn, #fn, NULL }
#define KUNIT_CASE_PARAM(fn, gen)	{ fn, #fn, gen }

#define KUNIT_ARRAY_PARAM(name, array, describe)				\
	static const void *name##_gen_params(const void *prev, char *desc)	\
	{									\
		__typeof__(&(array)[0]) next = prev ? (__typeof__(next))prev + 1 : (array); \
										\
		if (next - (array) >= (long)ARRAY_SIZE(array))			\
			return NULL;						\
		(describe)(next, desc);						\
		return next;							\
	}

#define kunit_test_suite(suite)							\
	static struct kunit_suite *const kunit_entry				\
		__attribute__((section("kunit_suites"), used)) = &(suite)

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp);
static inline void *kunit_kcalloc(struct kunit *test, size_t nr, size_t size, gfp_t gfp)
{
	return kunit_kzalloc(test, nr * size, gfp);
}

int kunit_add_action_or_reset(struct kunit *test, void (*fn)(void *), void *arg);

void kunit_fail(struct kunit *test, bool abort, const char *file, int line,
		const char *cond, const char *fmt, ...) __printf(6, 7);

#define KUNIT_CHECK(test, abort, cond, ...) do {				\
	if (!(cond))								\
		kunit_fail(test, abort, __FILE__, __LINE__, #cond, __VA_ARGS__);	\
} while (0)
#define KUNIT_COMPARE(test, abort, a, op, b, fmt, ...) do {			\
	__typeof__(a) _left = (a);						\
	__typeof__(b) _right = (b);						\
										\
	if (!(_left op _right))							\
		kunit_fail(test, abort, __FILE__, __LINE__, #a " " #op " " #b,	\
			   "%lld, %lld " fmt, (long long)_left,			\
			   (long long)_right, ##__VA_ARGS__);			\
} while (0)

#define KUNIT_EXPECT_TRUE(test, c)		KUNIT_CHECK(test, false, c, " ")
#define KUNIT_EXPECT_FALSE(test, c)		KUNIT_CHECK(test, false, !(c), " ")
#define KUNIT_EXPECT_TRUE_MSG(test, c, ...)	KUNIT_CHECK(test, false, c, __VA_ARGS__)
#define KUNIT_EXPECT_NULL(test, p)		KUNIT_CHECK(test, false, !(p), " ")
#define KUNIT_EXPECT_NOT_NULL(test, p)		KUNIT_CHECK(test, false, p, " ")
#define KUNIT_EXPECT_PTR_EQ(test, a, b)		KUNIT_CHECK(test, false, (a) == (b), " ")
#define KUNIT_EXPECT_PTR_EQ_MSG(test, a, b, ...) \
	KUNIT_CHECK(test, false, (a) == (b), __VA_ARGS__)
#define KUNIT_EXPECT_STREQ(test, a, b) \
	KUNIT_CHECK(test, false, !strcmp(a, b), " ")
#define KUNIT_ASSERT_TRUE(test, c)		KUNIT_CHECK(test, true, c, " ")
#define KUNIT_ASSERT_FALSE(test, c)		KUNIT_CHECK(test, true, !(c), " ")
#define KUNIT_ASSERT_NOT_NULL(test, p)		KUNIT_CHECK(test, true, p, " ")
#define KUNIT_ASSERT_PTR_EQ(test, a, b)		KUNIT_CHECK(test, true, (a) == (b), " ")

#define KUNIT_EXPECT_EQ(test, a, b)	KUNIT_COMPARE(test, false, a, ==, b, " ")
#define KUNIT_EXPECT_NE(test, a, b)	KUNIT_COMPARE(test, false, a, !=, b, " ")
#define KUNIT_EXPECT_GT(test, a, b)	KUNIT_COMPARE(test, false, a, >, b, " ")
#define KUNIT_EXPECT_GE(test, a, b)	KUNIT_COMPARE(test, false, a, >=, b, " ")
#define KUNIT_EXPECT_LT(test, a, b)	KUNIT_COMPARE(test, false, a, <, b, " ")
#define KUNIT_EXPECT_LE(test, a, b)	KUNIT_COMPARE(test, false, a, <=, b, " ")
#define KUNIT_ASSERT_EQ(test, a, b)	KUNIT_COMPARE(test, true, a, ==, b, " ")
#define KUNIT_ASSERT_GT(test, a, b)	KUNIT_COMPARE(test, true, a, >, b, " ")
#define KUNIT_ASSERT_LT(test, a, b)	KUNIT_COMPARE(test, true, a, <, b, " ")
#define KUNIT_EXPECT_EQ_MSG(test, a, b, ...) \
	KUNIT_COMPARE(test, false, a, ==, b, __VA_ARGS__)
#define KUNIT_ASSERT_EQ_MSG(test, a, b, ...) \
	KUNIT_COMPARE(test, true, a, ==, b, __VA_ARGS__)

#endif /* _DXK_NATIVE_KUNIT_TEST_H */
