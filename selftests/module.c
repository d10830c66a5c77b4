// SPDX-License-Identifier: GPL-2.0-only
/*
 * DX-113: the module goes when the last descriptor is closed, without a trace,
 * and comes again. The modules that run.sh loaded are loaded again at the end.
 */
#include "dxk_test.h"

#include <fcntl.h>
#include <sys/syscall.h>

static int load(const char *name)
{
	const char *dir = getenv("DXK_MODULES");
	char path[512];
	int fd, rc;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "dxk", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
	close(fd);
	return rc;
}

static int load_both(void)
{
	int rc = load("dxk/dxk.ko");

	if (rc == -ENOENT)
		rc = load("dxk.ko");
	if (rc)
		return rc;
	rc = load("dxk/executors/dxk_executors.ko");
	return rc == -ENOENT ? load("executors/dxk_executors.ko") : rc;
}

static int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

/* The last reference to a file is dropped a moment after its close. */
static int unload_soon(const char *name)
{
	uint64_t end = dxt_in((int64_t)dxt_stall_ns());
	int rc;

	while ((rc = unload(name)) == -EWOULDBLOCK && dxt_now() < end)
		dxt_sleep_ms(1);
	return rc;
}

TEST(unload_and_load)
{
	struct dxk_result result;
	struct dxt t;
	uint64_t nop;
	int i, copy;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, dxt_open(&t));
		t.policy.max_threads = 3;
		t.policy.kernel_threads = 1;
		ASSERT_EQ(0, dxt_start(&t));
		ASSERT_EQ(0, dxt_workers_start(&t, 2));
		ASSERT_EQ(0, dxk_executor_find(t.ctl, "nop", &nop));
		EXPECT_EQ(1, dxt_post1(t.member, 1, nop, 0, PXR_KERNEL | PXR_REJOIN, 0,
				       NULL));
		EXPECT_EQ(1, dxt_rejoin(t.member, 1, &result, 1, 1,
					dxt_in((int64_t)dxt_stall_ns()), NULL));
		EXPECT_EQ(0, result.status);
		EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));

		/* refused while a context is open, while the control alone is */
		EXPECT_EQ(-EWOULDBLOCK, unload("dxk"));
		copy = dup(t.ctl);
		dxt_down(&t);
		EXPECT_EQ(0, unload_soon("dxk_executors"));
		EXPECT_EQ(-EWOULDBLOCK, unload("dxk"));
		/* the executors of a module that has gone are gone */
		EXPECT_EQ(-ENOENT, dxk_executor_find(copy, "nop", &nop));
		close(copy);
		ASSERT_EQ(0, unload_soon("dxk"));

		EXPECT_NE(0, access("/sys/module/dxk", F_OK));
		EXPECT_NE(0, access("/sys/kernel/dxk", F_OK));
		EXPECT_NE(0, access(DXK_DEVICE, F_OK));
		EXPECT_EQ(0, dxt_kthreads(NULL));
		EXPECT_GT(0, dxk_open());
		ASSERT_EQ(0, load_both());
		/* made by udev or devtmpfs, soon */
		EXPECT_TRUE(DXT_UNTIL(&t, !access(DXK_DEVICE, F_OK)));
	}
}

TEST_HARNESS_MAIN
