// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Runs the engine's suites and prints TAP. What a test does not free is a failure.
 */
#include <stdarg.h>

#include <kunit/test.h>

#include "engine/owner.h"
#include "engine/pool.h"

struct kunit_undo {
	struct kunit_undo *next;
	void (*fn)(void *arg);
	void *arg;
};

extern struct kunit_suite *const __start_kunit_suites[];
extern struct kunit_suite *const __stop_kunit_suites[];

static u32 passed, failed;
/* The first one that fails ends it. */
static bool brief;

void kunit_fail(struct kunit *test, bool abort, const char *file, int line,
		const char *cond, const char *fmt, ...)
{
	va_list args;

	printf("# %s: %s:%d: not %s: ", test->name, file, line, cond);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	test->failed = true;
	if (abort)
		longjmp(test->abort, 1);
}

/* A warning of the engine fails the test that runs. */
static struct kunit *running;

void os_warn(const char *file, int line, const char *fmt, ...)
{
	va_list args;

	printf("# warning at %s:%d: ", file, line);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	if (running)
		running->failed = true;
	else
		exit(1);
}

int kunit_add_action_or_reset(struct kunit *test, void (*fn)(void *), void *arg)
{
	struct kunit_undo *undo = malloc(sizeof(*undo));

	*undo = (struct kunit_undo) { .next = test->undo, .fn = fn, .arg = arg };
	test->undo = undo;
	return 0;
}

void *kunit_kzalloc(struct kunit *test, size_t size, gfp_t gfp)
{
	void *ptr = calloc(1, size);

	kunit_add_action_or_reset(test, free, ptr);
	return ptr;
}

static void kunit_run(const struct kunit_suite *suite, const struct kunit_case *c,
		      const void *param, const char *desc)
{
	struct kunit test = { .name = c->name, .param_value = param };
	long before = os_allocated;

	running = &test;
	if (suite->init && suite->init(&test))
		test.failed = true;
	else if (!setjmp(test.abort))
		c->run_case(&test);
	if (suite->exit && !setjmp(test.abort))
		suite->exit(&test);
	while (test.undo) {
		struct kunit_undo *undo = test.undo;

		test.undo = undo->next;
		undo->fn(undo->arg);
		free(undo);
	}
	if (os_allocated != before) {
		printf("# %s: %ld objects are left\n", c->name, os_allocated - before);
		test.failed = true;
	}
	running = NULL;
	printf("%sok %u %s.%s%s%s\n", test.failed ? "not " : "", passed + failed + 1,
	       suite->name, c->name, desc ? " " : "", desc ?: "");
	test.failed ? failed++ : passed++;
	if (test.failed && brief)
		exit(1);
}

static void kunit_run_params(const struct kunit_suite *suite, const struct kunit_case *c)
{
	char desc[KUNIT_PARAM_DESC_SIZE];
	const void *param = NULL;

	while ((param = c->generate_params(param, desc)))
		kunit_run(suite, c, param, desc);
}

/* suites [--brief]: to the end, or to the first test that fails */
int main(int argc, char **argv)
{
	struct kunit_suite *const *suite;

	brief = argc > 1 && !strcmp(argv[1], "--brief");
	/* A crash is to show where it was. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (dxk_rqe_init() || dxk_owner_init())
		return 1;
	for (suite = __start_kunit_suites; suite < __stop_kunit_suites; suite++) {
		const struct kunit_case *c;

		for (c = (*suite)->test_cases; c->run_case; c++)
			if (c->generate_params)
				kunit_run_params(*suite, c);
			else
				kunit_run(*suite, c, NULL, NULL);
	}
	printf("1..%u\n", passed + failed);
	dxk_owner_exit();
	dxk_rqe_exit();
	WARN_ONCE(os_allocated, "%ld objects are left", os_allocated);
	return failed || !passed;
}
