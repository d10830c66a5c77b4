/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of the module's coming and going share: how it is loaded and
 * unloaded, what it must not leave behind, and requests to its executors.
 */
#ifndef MODULE_TEST_H
#define MODULE_TEST_H

#include "dxk_test.h"

#include <fcntl.h>
#include <sys/syscall.h>

#define OWNER	7
#define EXECUTORS	"dxk_executors"
#define EVENTS	"/sys/kernel/tracing/events/dxk"

static inline int load_file(const char *name)
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

/* The directory is that of a build of all, or of one module. */
static inline int load(const char *name)
{
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "dxk/%s%s.ko",
		 strcmp(name, "dxk") ? "executors/" : "", name);
	rc = load_file(path);
	return rc == -ENOENT ? load_file(path + 4) : rc;
}

static inline bool loaded(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/module/%s", name);
	return !access(path, F_OK);
}

static inline int unload(const char *name)
{
	return syscall(SYS_delete_module, name, O_NONBLOCK) ? -errno : 0;
}

/* The last reference to a file is dropped a moment after its close. */
static inline int unload_soon(const char *name)
{
	int rc;

	DXT_SOON((rc = unload(name)) != -EWOULDBLOCK);
	return rc;
}

static inline bool says(const char *path, const char *word)
{
	FILE *f = fopen(path, "re");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, word);
	if (f)
		fclose(f);
	return found;
}

/* What a module that is gone has left behind, or NULL. */
static inline const char *left_over(void)
{
	static const char *const path[] = {
		"/sys/module/dxk", "/sys/kernel/dxk", DXK_DEVICE, "/sys/class/misc/dxk",
		EVENTS,
	};
	unsigned int i;

	for (i = 0; i < sizeof(path) / sizeof(path[0]); i++)
		if (!access(path[i], F_OK))
			return path[i];
	if (says("/proc/misc", "dxk"))
		return "the device's number";
	if (says("/proc/slabinfo", "dxk"))
		return "a cache of objects";
	return DXT_SOON(!dxt_kthreads(NULL)) ? NULL : "a kernel thread";
}

/* Loads what is not there; made by udev or devtmpfs, the device comes soon. */
static inline int load_all(bool executors)
{
	int rc = 0;

	if (!loaded("dxk"))
		rc = load("dxk");
	if (!rc && executors && !loaded(EXECUTORS))
		rc = load(EXECUTORS);
	DXT_SOON(!access(DXK_DEVICE, F_OK));
	return rc;
}

/* How often: the emulated debug kernel takes seconds for each. */
static inline int times(int n)
{
	return dxt_debug_kernel() ? 2 : n;
}

/* Each test begins without the executors, which are a user of dxk, too. */
FIXTURE(module) {
	bool executors;
	struct dxt t;
};

FIXTURE_SETUP(module)
{
	self->executors = loaded(EXECUTORS);
	self->t = (struct dxt){ .ctl = -1, .ctx = -1, .member = -1 };
	if (self->executors)
		ASSERT_EQ(0, unload_soon(EXECUTORS));
}

FIXTURE_TEARDOWN(module)
{
	EXPECT_EQ(0, load_all(self->executors));
}

#define STAYS()	EXPECT_EQ(-EWOULDBLOCK, unload("dxk"))

#define GOES()	do {							\
	EXPECT_EQ(0, unload_soon("dxk"));				\
	EXPECT_EQ(NULL, left_over()) TH_LOG("%s", left_over());		\
	EXPECT_GT(0, dxk_open());					\
	ASSERT_EQ(0, load_all(false));					\
} while (0)

/* --- dxk_executors ------------------------------------------------------------- */

static inline int post_kernel(const struct dxt *t, const char *name, uint64_t param)
{
	uint64_t id;
	int rc = dxk_executor_find(t->ctl, name, &id);

	return rc ?: dxt_post1(t->member, OWNER, id, param, PXR_KERNEL | PXR_REJOIN, 0,
			       NULL);
}

/* A thread that posts, or opens, until it is told to stop. */
struct poster {
	const struct dxt *t;
	_Atomic bool stop;
	_Atomic unsigned long posted;
	unsigned long returned;
	unsigned long missed;
	int error;
};

#endif /* MODULE_TEST_H */
