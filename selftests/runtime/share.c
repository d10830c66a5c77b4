// SPDX-License-Identifier: GPL-2.0-only
/*
 * What one user can have of a context that many may post into: whatever it takes, and
 * never gives back, the others find something.
 */
#include "join.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#define ENTRIES	64

/* What came of posting until that is refused. */
struct greed {
	uint32_t attrs;		/* in */
	int nr, err;
	uint32_t reason;
};

FIXTURE(share)
{
	struct dxt t;
};

static struct greed *greed;	/* of the child that runs */

/* No worker comes, so what is posted stays. Of the users only UID owns the context. */
FIXTURE_SETUP(share)
{
	greed = dxt_shared(sizeof(*greed));
	ASSERT_EQ(0, open_named(&self->t, NAME, 0666));
	self->t.policy.ready_entries = ENTRIES;
	self->t.policy.rejoin_entries = ENTRIES;
	self->t.policy.max_requests = 2 * ENTRIES;
}

FIXTURE_TEARDOWN(share)
{
	dxt_down(&self->t);
}

static int take_all(struct dxt *t)
{
	int fd = join(t, DXK_ACCESS_WRITE);
	int m = fd < 0 ? fd : dxk_member_create(fd, DXK_MEMBER_CLIENT, NULL);
	int rc;

	if (m < 0)
		return 1;
	for (greed->nr = 0;; greed->nr++) {
		rc = dxt_post1(m, 1, DXT_NOP, 0, greed->attrs, 0, &greed->reason);
		if (rc != 1)
			break;
	}
	greed->err = rc;
	/* closing the last descriptor of a space ends its results, not what is Ready */
	return 0;
}

/* How many requests a user gets in; @err: what ends it. */
static int taken_by(struct dxt *t, uid_t uid, uint32_t attrs, int err, uint32_t reason)
{
	*greed = (struct greed){ .attrs = attrs };
	if (as(uid, OTHER, 0, take_all, t))
		return -1;
	return greed->err == err && greed->reason == reason ? greed->nr : -2;
}

/* Entries of the Ready Pool: 3/4 of all, 3/4 of what is left, the owner the rest. */
TEST_F(share, ready_pool)
{
	ASSERT_EQ(0, dxt_start(&self->t));
	EXPECT_EQ(48, taken_by(&self->t, OTHER, 0, -EAGAIN, PXR_POOL_FULL));
	EXPECT_EQ(0, taken_by(&self->t, OTHER, 0, -EAGAIN, PXR_POOL_FULL));
	EXPECT_EQ(12, taken_by(&self->t, OTHER + 1, 0, -EAGAIN, PXR_POOL_FULL));
	EXPECT_EQ(3, taken_by(&self->t, OTHER + 2, 0, -EAGAIN, PXR_POOL_FULL));
	EXPECT_EQ(1, taken_by(&self->t, UID, 0, -EAGAIN, PXR_POOL_FULL));
	EXPECT_EQ(ENTRIES, dxt_num(&self->t, "pools/ready_use"));
}

/* The owner may have all, and so may the administrator. */
TEST_F(share, owner)
{
	ASSERT_EQ(0, dxt_start(&self->t));
	EXPECT_EQ(ENTRIES, taken_by(&self->t, UID, 0, -EAGAIN, PXR_POOL_FULL));
	ASSERT_EQ(0, dxk_ctx_stop(self->t.ctx, DXK_STOP_CANCEL, -1));
	ASSERT_EQ(0, dxt_start(&self->t));
	EXPECT_EQ(ENTRIES, taken_by(&self->t, 0, 0, -EAGAIN, PXR_POOL_FULL));
}

/* Live requests: an error that no waiting cures. */
TEST_F(share, live_requests)
{
	self->t.policy.max_requests = ENTRIES;
	ASSERT_EQ(0, dxt_start(&self->t));
	EXPECT_EQ(48, taken_by(&self->t, OTHER, PXR_WAITIF_BUSY, -EDQUOT, PXR_NO_SPACE));
	EXPECT_EQ(12, taken_by(&self->t, OTHER + 1, 0, -EDQUOT, PXR_NO_SPACE));
	EXPECT_EQ(4, taken_by(&self->t, 0, 0, -ENOSPC, PXR_NO_SPACE));
}

/* Entries of the Rejoin Pool, where each post reserves its own. */
TEST_F(share, rejoin_pool)
{
	self->t.policy.rejoin_full = DXK_REJOIN_RESERVE;
	self->t.policy.rejoin_entries = 16;
	ASSERT_EQ(0, dxt_start(&self->t));
	EXPECT_EQ(12, taken_by(&self->t, OTHER, PXR_REJOIN, -EAGAIN, PXR_REJOIN_FULL));
	EXPECT_EQ(3, taken_by(&self->t, OTHER + 1, PXR_REJOIN, -EAGAIN, PXR_REJOIN_FULL));
	EXPECT_EQ(1, taken_by(&self->t, UID, PXR_REJOIN, -EAGAIN, PXR_REJOIN_FULL));
}

/* The owner can change it at any time. */
TEST_F(share, dynamic)
{
	ASSERT_EQ(0, dxt_start(&self->t));
	EXPECT_EQ(48, taken_by(&self->t, OTHER, 0, -EAGAIN, PXR_POOL_FULL));
	ASSERT_EQ(0, dxt_store(&self->t, "policy/user_share", "100"));
	EXPECT_EQ(16, taken_by(&self->t, OTHER, 0, -EAGAIN, PXR_POOL_FULL));
}

/* --- the log -------------------------------------------------------------------- */

static int write_all(struct dxt *t)
{
	int fd = join(t, DXK_ACCESS_WRITE);
	int m = fd < 0 ? fd : dxk_member_create(fd, DXK_MEMBER_CLIENT, NULL);
	int rc;

	if (m < 0)
		return 1;
	for (greed->nr = 0;; greed->nr++) {
		rc = dxk_log_write(m, "me", 2, DXK_LOG_WAIT, 1000000);
		if (rc)
			break;
	}
	greed->err = rc;
	return 0;
}

/* Messages that nobody reads: who waits for room waits for that of its share. */
TEST_F(share, log)
{
	self->t.policy.log_entries = ENTRIES;
	ASSERT_EQ(0, dxt_start(&self->t));
	EXPECT_EQ(0, as(OTHER, OTHER, 0, write_all, &self->t));
	EXPECT_EQ(-ETIMEDOUT, greed->err);
	/* but for what the control threads wrote */
	EXPECT_LE(44, greed->nr);
	EXPECT_LE(greed->nr, 48);
	EXPECT_EQ(0, as(OTHER + 1, OTHER, 0, write_all, &self->t));
	EXPECT_EQ(-ETIMEDOUT, greed->err);
	EXPECT_LE(10, greed->nr);
	EXPECT_EQ(0, as(UID, OTHER, 0, write_all, &self->t));
	EXPECT_LE(1, greed->nr);
	EXPECT_EQ(ENTRIES, dxt_num(&self->t, "pools/log_use"));
}

/* --- users of a namespace ------------------------------------------------------- */

/* Two of the users that one has made count as that one. */
static int namespace_maker(struct dxt *t, int up, int down)
{
	char c = 0;
	int first;

	if (leave_chroot())
		return 1;
	become(OTHER, OTHER, 0);
	if (unshare(CLONE_NEWUSER))
		return 2;
	if (write(up, &c, 1) != 1 || read(down, &c, 1) != 1)
		return 3;
	if (setresuid(0, 0, 0))
		return 4;
	first = taken_by(t, 7, 0, -EAGAIN, PXR_POOL_FULL);
	if (first != 48)
		return 5;
	return taken_by(t, 8, 0, -EAGAIN, PXR_POOL_FULL) ? 6 : 0;
}

static int map(const char *file, pid_t pid)
{
	char path[64];
	int fd, rc;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	rc = write(fd, "0 100000 10000\n", 15) == 15 ? 0 : -errno;
	close(fd);
	return rc;
}

TEST_F(share, namespace)
{
	int up[2], down[2];
	char c = 0;
	pid_t pid;

	ASSERT_EQ(0, dxt_start(&self->t));
	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(down));
	pid = fork();
	if (!pid)
		_exit(namespace_maker(&self->t, up[1], down[0]));
	close(up[1]);
	if (read(up[0], &c, 1) == 1) {
		/* as newuidmap(1) does */
		EXPECT_EQ(0, map("uid_map", pid));
		EXPECT_EQ(0, map("gid_map", pid));
	}
	EXPECT_EQ(1, write(down[1], &c, 1));
	EXPECT_EQ(0, dxt_reap(pid));
}

TEST_HARNESS_MAIN
