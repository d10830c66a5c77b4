// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of an in-kernel client's context: nobody but the client can read it (DX-97, DX-103).
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/shmem_fs.h>

#include "runtime/tests/rig.h"

#define NR	4

static s32 says_hello(struct dxk_job *job, struct dxk_call *call)
{
	dxk_log(call, "hello %d", 7);
	return 0;
}

static struct dxk_ctx *start(struct kunit *test)
{
	struct dxk_policy p;

	dxk_rig_policy(test, &p, 1);
	return dxk_rig_start(test->priv, &p);
}

static void hello(struct kunit *test)
{
	struct dxk_rig *rig = test->priv;
	struct dxk_job *job = dxk_rig_job(rig);
	u32 answer;

	job->fn = says_hello;
	KUNIT_ASSERT_EQ(test, dxk_rig_post(job, 1, 0, PXR_REJOIN, NULL), 1);
	KUNIT_EXPECT_EQ(test, dxk_rig_rejoin(rig, 1, &answer), 1);
}

static void log_client_reads(struct kunit *test)
{
	struct dxk_log_record *recs = kunit_kcalloc(test, NR, sizeof(*recs), GFP_KERNEL);
	struct dxk_ctx *ctx = start(test);
	u64 seq;

	KUNIT_ASSERT_NOT_NULL(test, recs);
	KUNIT_ASSERT_EQ(test, dxk_ctx_log_read(ctx, recs, NR, dxk_in_ms(DXK_RIG_MS)), 1);
	KUNIT_EXPECT_STREQ(test, recs[0].text, "started");
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_read(ctx, recs, NR, 0), 0);
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_read(ctx, recs, NR, dxk_in_ms(1)), 0);
	seq = recs[0].seq;
	hello(test);
	KUNIT_ASSERT_EQ(test, dxk_ctx_log_read(ctx, recs, NR, DXK_FOREVER), 1);
	KUNIT_EXPECT_STREQ(test, recs[0].text, "hello 7");
	KUNIT_EXPECT_EQ(test, recs[0].thread, 1);
	KUNIT_EXPECT_EQ(test, recs[0].seq, seq + 1);
	/* what was accepted before Stop stays readable, one at a time if so wanted */
	hello(test);
	KUNIT_EXPECT_EQ(test, dxk_ctx_stop(ctx, DXK_STOP_DRAIN, dxk_in_ms(DXK_RIG_MS)), 0);
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_read(ctx, recs, 1, DXK_FOREVER), 1);
	KUNIT_EXPECT_STREQ(test, recs[0].text, "hello 7");
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_read(ctx, recs, NR, DXK_FOREVER), 1);
	KUNIT_EXPECT_STREQ(test, recs[0].text, "stopped");
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_read(ctx, recs, NR, DXK_FOREVER), -ESHUTDOWN);
}

static void put(void *file)
{
	fput(file);
}

static void log_client_file(struct kunit *test)
{
	struct file *file = shmem_file_setup("dxk-kunit-log", 0, 0);
	struct dxk_ctx *ctx = start(test);
	struct dxk_log_record rec;
	char text[200] = "";
	loff_t pos = 0;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, put, file), 0);
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_file(ctx, file), -EINVAL);
	KUNIT_EXPECT_EQ(test, file_count(file), 1);
	file->f_flags |= O_APPEND;
	KUNIT_ASSERT_EQ(test, dxk_ctx_log_file(ctx, file), 0);
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_read(ctx, &rec, 1, 0), -EBUSY);
	hello(test);
	/* until the file has all */
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_file(ctx, NULL), 0);
	KUNIT_EXPECT_EQ(test, file_count(file), 1);
	KUNIT_EXPECT_GT(test, kernel_read(file, text, sizeof(text) - 1, &pos), 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "started"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(text, "hello 7"));
	KUNIT_EXPECT_EQ(test, dxk_ctx_log_read(ctx, &rec, 1, 0), 0);
}

static struct kunit_case log_client_cases[] = {
	KUNIT_CASE(log_client_reads),
	KUNIT_CASE(log_client_file),
	{ }
};

static struct kunit_suite log_client_suite = {
	.name = "dxk_log_client",
	.init = dxk_rig_init,
	.exit = dxk_rig_exit,
	.test_cases = log_client_cases,
};

kunit_test_suite(log_client_suite);
