// SPDX-License-Identifier: GPL-2.0-only
/*
 * The modules' own init with its first allocation failing, then with its second, and
 * so on until it succeeds (debug kernel). After each failure nothing of the module is
 * left, and the next attempt is not hindered by the one before. Of dxk.ko each third
 * point is tried: every step of its init has several. What the loader does around
 * init is the kernel's. With DXK_LONG=1 it fails, too, and at each point.
 *
 * The modules that run.sh loaded are loaded again at the end.
 */
#include "lib/dxt.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NR_MAX		3000
#define TELL		(3 * DXT_SEC)	/* how often to say where it is */

static int open_module(const char *const *names)
{
	const char *dir = getenv("DXK_MODULES");
	char path[512];
	int fd = -1;

	for (; *names && fd < 0; names++) {
		snprintf(path, sizeof(path), "%s/%s", dir ? dir : "dxk", *names);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd;
}

static int load(int fd)
{
	return syscall(SYS_finit_module, fd, "", 0) ? -errno : 0;
}

static int unload(const char *name)
{
	uint64_t end = dxt_in((int64_t)dxt_stall_ns());
	int rc;

	/* the last reference to a file is dropped a moment after its close */
	do {
		rc = syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
	} while (rc == -EWOULDBLOCK && dxt_now() < end && (dxt_sleep_ms(1), true));
	return rc;
}

/* --- what a module leaves ---------------------------------------------------------- */

static bool file_names(const char *path, const char *what)
{
	char line[256];
	bool found = false;
	FILE *f = fopen(path, "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, what);
	if (f)
		fclose(f);
	return found;
}

/* NULL, or what is there of dxk that should not. */
static const char *left(void)
{
	static const char *const gone[] = {
		"/sys/module/dxk", DXK_DEVICE, "/sys/kernel/dxk", "/sys/class/misc/dxk",
		"/sys/devices/virtual/misc/dxk", "/sys/kernel/slab/dxk_rqe",
		"/sys/kernel/slab/dxk_owner", "/sys/kernel/tracing/events/dxk",
		"/sys/kernel/debug/dxk", "/sys/module/dxk_executors",
	};
	unsigned int i;

	for (i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		if (!access(gone[i], F_OK))
			return gone[i];
	if (file_names("/proc/misc", "dxk"))
		return "/proc/misc";
	if (file_names("/proc/slabinfo", "dxk_"))
		return "/proc/slabinfo";
	if (file_names("/proc/modules", "dxk"))
		return "/proc/modules";
	return NULL;
}

/* Of the executors: their module and their names, dxk stays. */
static const char *left_of_executors(void)
{
	static const char *const gone[] = {
		"/sys/module/dxk_executors", "/sys/kernel/dxk/executors/nop",
		"/sys/kernel/dxk/executors/echo", "/sys/kernel/dxk/executors/sleep",
		"/sys/kernel/dxk/executors/sha256",
	};
	unsigned int i;

	for (i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		if (!access(gone[i], F_OK))
			return gone[i];
	return NULL;
}

/* A udev, or the kernel's own thread for device files, may be a moment late. */
static const char *left_soon(const char *(*look)(void))
{
	uint64_t end = dxt_in((int64_t)dxt_stall_ns());
	const char *what;

	while ((what = look()) && dxt_now() < end)
		dxt_sleep_ms(1);
	return what;
}

/* n = 1.. until init succeeds; the module is loaded then. */
static void sweep(struct __test_metadata *_metadata, const char *name, int fd,
		  const char *(*look)(void), unsigned int least, unsigned int step)
{
	unsigned int n, points = 0;
	uint64_t told = dxt_now();
	const char *what;
	bool hit = true;
	int rc = 0, kmsg;

	for (n = 1; hit && n < NR_MAX; n += step) {
		if (dxt_now() - told > TELL) {
			told = dxt_now();
			printf("# init of %s: at point %u\n", name, n);
			fflush(stdout);
		}
		/* when there is no slab cache the kernel prints for whom */
		kmsg = dxt_log_hold();
		dxt_fail_nth(n);
		rc = load(fd);
		hit = dxt_fail_hit();
		dxt_log_release(kmsg, "kmem_cache_create");
		if (hit)
			points = n;
		if (!hit)
			break;
		/* one that is not needed: loaded nevertheless */
		if (!rc) {
			ASSERT_EQ(0, unload(name)) TH_LOG("point %u", n);
		} else {
			/* the loader copies the module's parameters */
			EXPECT_TRUE(rc == -ENOMEM || (rc == -EFAULT && getenv("DXK_LONG")))
				TH_LOG("%s, point %u: %d", name, n, rc);
		}
		what = left_soon(look);
		EXPECT_EQ(NULL, what) TH_LOG("%s, point %u: %s is left", name, n, what);
	}
	ASSERT_EQ(0, rc) TH_LOG("%s, point %u", name, n);
	EXPECT_TRUE(DXT_SOON(!dxt_kthreads(NULL)));
	EXPECT_LE(least, points);
	printf("# init of %s: %u points\n", name, points);
	fflush(stdout);
}

FIXTURE(modules) {
	int unused;
};

FIXTURE_SETUP(modules)
{
	self->unused = 0;
}

FIXTURE_TEARDOWN(modules)
{
	(void)self;
}

TEST_F(modules, init)
{
	static const char *const dxk[] = { "dxk/dxk.ko", "dxk.ko", NULL };
	static const char *const executors[] = {
		"dxk/executors/dxk_executors.ko", "executors/dxk_executors.ko", NULL,
	};
	struct dxt t;
	int fd[2];

	if (dxt_mode() == DXK_DISPATCH_THREAD)
		SKIP(return, "the same in both modes");
	if (!dxt_faults())
		SKIP(return, "this kernel cannot make allocations fail");
	fd[0] = open_module(dxk);
	fd[1] = open_module(executors);
	ASSERT_LE(0, fd[0]);
	ASSERT_LE(0, fd[1]);

	ASSERT_EQ(0, unload("dxk_executors"));
	ASSERT_EQ(0, unload("dxk"));
	EXPECT_EQ(NULL, left_soon(left));
	if (!getenv("DXK_LONG"))
		ASSERT_TRUE(dxt_faults_within("do_one_initcall"));
	sweep(_metadata, "dxk", fd[0], left, 15,
	      getenv("DXK_LONG") ? 1 : 3);
	sweep(_metadata, "dxk_executors", fd[1], left_of_executors, 4, 1);
	dxt_faults_within(NULL);

	/* It works. */
	EXPECT_EQ(0, dxt_up(&t, 1));
	EXPECT_EQ(1, dxt_post1(t.member, 1, DXT_NOP, 0, PXR_REJOIN, 0, NULL));
	EXPECT_EQ(1, dxt_drain(&t, t.member, 1));
	dxt_down(&t);
}

TEST_HARNESS_MAIN
